# SPDX-License-Identifier: Apache-2.0
"""What is installed works from any folder, the package holds it all, and its removal leaves the machine as it was.

    BULKHEAD_FRESH_ROOT   the root folder of a Debian system that has what the package depends on, to install it in
"""
import os
import shutil
import subprocess

import pytest

from conftest import run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAYOUT = "version: v1\nmig-configs:\n  c:\n    - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 2, 3g.40gb: 1}}\n"
NEEDED = {
    "usr/bin/bulkhead", "usr/libexec/bulkhead/bulkhead-worker", "usr/libexec/bulkhead/simctl",
    "usr/lib/bulkhead/sim/libnvidia-ml.so.1", "usr/share/bulkhead/examples/mig-config.yaml",
    "usr/share/doc/bulkhead/README.md", "usr/share/doc/bulkhead/copyright",
}
PLACES = ("usr/bin/", "usr/sbin/", "usr/libexec/bulkhead/", "usr/lib/bulkhead/", "usr/lib/systemd/system/", "lib/systemd/system/",
          "usr/share/bulkhead/", "usr/share/doc/bulkhead/", "usr/share/man/", "usr/share/bash-completion/completions/bulkhead",
          "usr/share/zsh/vendor-completions/_bulkhead", "usr/share/fish/vendor_completions.d/bulkhead", "etc/bulkhead/")
FORGETFUL = ("proc", "sys", "dev", "run", "tmp", "var/lib/dpkg", "var/log", "var/cache")  # where a package manager writes


def files_below(folder, leave_out=()):
    found = set()
    for where, folders, names in os.walk(folder):
        inside = os.path.relpath(where, folder)
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(inside, name)) not in leave_out]
        found |= {os.path.normpath(os.path.join(inside, name)) for name in names + folders}
    return found


def plain_env(**more):
    return dict({key: value for key, value in os.environ.items() if not key.startswith("BULKHEAD_")}, **more)


def try_it(program, folder):
    """Make a node, read it and change it, all from a folder that has nothing to do with the program's."""
    folder.mkdir()
    (folder / "layout.yaml").write_text(LAYOUT, encoding="utf-8")
    env = plain_env(BULKHEAD_STATE=str(folder / "state"), BULKHEAD_DRIVER="sim:" + str(folder / "node"))
    run([program, "sim", "create", "h100x1", "--dir", folder / "node"], env, cwd=folder)
    assert run([program, "inventory", "--json"], env, cwd=folder).json["gpus"][0]["instances"] == []
    assert run([program, "apply", "-f", "layout.yaml", "--json"], env, cwd=folder).json["changed"]
    found = run([program, "inventory", "--json"], env, cwd=folder).json["gpus"][0]["instances"]
    assert sorted(instance["profile"] for instance in found) == ["1g.10gb", "1g.10gb", "3g.40gb"]


@pytest.mark.heavy
def test_what_is_installed_works_from_any_folder_and_below_any_prefix(build, tmp_path):
    done = subprocess.run(["meson", "install", "-C", build.folder, "--no-rebuild", "--destdir", str(tmp_path / "tree")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    programs = [path for path in files_below(tmp_path / "tree") if path.endswith("bin/bulkhead")]
    assert len(programs) == 1
    prefix = os.path.dirname(os.path.dirname(tmp_path / "tree" / programs[0]))
    try_it(os.path.join(prefix, "bin", "bulkhead"), tmp_path / "first")
    os.rename(prefix, tmp_path / "else where")
    try_it(tmp_path / "else where" / "bin" / "bulkhead", tmp_path / "second")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    for tool in ("dpkg-deb", "dpkg-shlibdeps"):
        if not shutil.which(tool):
            pytest.skip("no %s: this is no Debian system" % tool)
    done = subprocess.run([os.path.join(ROOT, "scripts", "build-deb"), str(tmp_path_factory.mktemp("deb"))],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().split("\n")[-1]


def dpkg_deb(*args):
    return subprocess.run(["dpkg-deb", *map(str, args)], capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.heavy
def test_the_package_holds_what_is_needed_and_nothing_out_of_place(package, tmp_path):
    dpkg_deb("-x", package, tmp_path / "root")
    root = tmp_path / "root"
    files = {path for path in files_below(root) if not os.path.isdir(root / path)}
    assert NEEDED <= files
    assert [path for path in files if not path.startswith(PLACES)] == []
    assert [path for path in files if path.endswith((".h", ".a", ".pc", ".so"))] == []  # nobody builds against it
    assert {line.split()[1] for line in dpkg_deb("-c", package).splitlines()} == {"root/root"}
    assert all(os.stat(root / path).st_mode & 0o7022 == 0 for path in files), "setuid, or writable for others"


@pytest.mark.heavy
def test_the_package_says_who_it_is_and_names_every_library_that_its_programs_load(package):
    fields = dict(line.split(": ", 1) for line in dpkg_deb("-f", package).splitlines() if not line.startswith(" "))
    assert fields["Package"] == "bulkhead" and "@" not in fields["Version"] + fields["Depends"]
    named = {word.split()[0] for word in fields["Depends"].split(",")}
    folder = os.path.join(ROOT, "build-deb", "tree")
    needed = set()
    for path in ("usr/bin/bulkhead", "usr/libexec/bulkhead/bulkhead-worker", "usr/libexec/bulkhead/simctl"):
        said = subprocess.run(["objdump", "-p", os.path.join(folder, path)], capture_output=True, text=True, check=True).stdout
        needed |= {line.split()[1] for line in said.splitlines() if line.strip().startswith("NEEDED")}
    assert needed
    known = {"libc.so.6": "libc6", "libjansson.so.4": "libjansson4", "libsqlite3.so.0": "libsqlite3-0",
             "libyaml-0.so.2": "libyaml-0-2", "libsystemd.so.0": "libsystemd0"}
    assert {known[library] for library in needed if library in known} <= named
    assert not [library for library in needed if "nvidia" in library or "cuda" in library]


@pytest.mark.heavy
def test_what_the_package_holds_works_where_it_is_unpacked(package, tmp_path):
    dpkg_deb("-x", package, tmp_path / "root")
    try_it(tmp_path / "root" / "usr" / "bin" / "bulkhead", tmp_path / "work")


@pytest.mark.parametrize("action", ["remove", "upgrade", "disappear", "failed-upgrade", "purge"])
def test_only_a_purge_forgets_what_was_done_to_the_machine(action):
    """The script itself, with rm on its path that only tells what it is told."""
    script = "rm() { echo \"rm $*\"; }; set -- %s; . %s" % (action, os.path.join(ROOT, "packaging", "deb", "postrm"))
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20, check=True).stdout
    assert said == ("rm -rf /var/lib/bulkhead\n" if action == "purge" else "")


@pytest.mark.heavy
def test_in_a_fresh_system_it_installs_answers_and_goes_without_a_trace(request):
    root = os.environ.get("BULKHEAD_FRESH_ROOT")
    if not root or not os.path.exists(os.path.join(root, "usr", "bin", "dpkg")) or os.geteuid() != 0:
        pytest.skip("no prepared root folder (BULKHEAD_FRESH_ROOT)")
    before = files_below(root, FORGETFUL)
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}

    def inside(command, env, exit=0):  # pylint: disable=redefined-builtin
        mount_and_enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        return run(["unshare", "--mount", "sh", "-c", mount_and_enter, root, *command], env, exit=exit)

    shutil.copy(request.getfixturevalue("package"), os.path.join(root, "tmp", "bulkhead.deb"))
    try:
        inside(["dpkg", "-i", "/tmp/bulkhead.deb"], env)
        assert "usr/bin/bulkhead" in files_below(root, FORGETFUL)
        assert "sim create" in inside(["bulkhead", "help"], env).out
        inside(["bulkhead", "sim", "create", "h100x1", "--dir", "/tmp/bulkhead-node"], env)
        said = inside(["bulkhead", "inventory", "--driver", "sim:/tmp/bulkhead-node"], env)
        assert "H100" in said.out
        os.makedirs(os.path.join(root, "var", "lib", "bulkhead"), exist_ok=True)
        inside(["dpkg", "--remove", "bulkhead"], env)
        assert files_below(root, FORGETFUL) - before == {"var/lib/bulkhead"}
    finally:
        inside(["dpkg", "--purge", "bulkhead"], env, exit=None)
        shutil.rmtree(os.path.join(root, "tmp", "bulkhead-node"), ignore_errors=True)
        os.unlink(os.path.join(root, "tmp", "bulkhead.deb"))
    assert files_below(root, FORGETFUL) == before
