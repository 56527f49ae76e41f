# SPDX-License-Identifier: Apache-2.0
"""What a simulated node has beside NVML: device nodes or the reason why not, the stand-in of nvidia-smi, and the product
on both kinds of node."""
import json
import os
import shutil
import stat
import subprocess
import tempfile

import pytest

LAYOUT = "version: v1\nmig-configs:\n  c:\n    - {devices: [0], mig-enabled: true, mig-devices: {3g.40gb: 1, 1g.10gb: 2}}\n"


def run(*command, exit=0):  # pylint: disable=redefined-builtin
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          text=True, check=False)
    assert done.returncode == exit, "%s\n%s%s" % (command, done.stdout, done.stderr)
    return done.stdout


def without(capability):
    """A prefix that runs a command without that capability; skips where it cannot be dropped."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("a capability can be dropped only by root, with setpriv")
    return ["setpriv", "--bounding-set=-" + capability]


@pytest.fixture
def public():
    """A folder that other users can enter, as those of pytest are not."""
    folder = tempfile.mkdtemp(prefix="bh-sim-nodes-")
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def needs_nodes(machine):
    shown = machine.show()
    if shown["nodes"] == "none":
        pytest.skip("no device nodes here: %s" % shown["nodes_why"])


def capabilities(folder):
    """{"gi2/ci0": minor} of GPU 0, each with a node of that number in DIR/dev."""
    found = {}
    root = os.path.join(folder, "proc/driver/nvidia/capabilities/gpu0/mig")
    for place, _, files in os.walk(root):
        if "access" in files:
            with open(os.path.join(place, "access"), encoding="ascii") as file:
                found[os.path.relpath(place, root)] = int(file.readline().split()[1])
    return found


def test_create_and_show_say_which_nodes_there_are_or_why_none(build, tmp_path):
    simctl = build.product("sim/simctl")
    said = run(simctl, "create", "h100x1", "--dir", tmp_path / "a")
    shown = run(simctl, "show", tmp_path / "a")
    if "(nodes: none: " in said:
        assert "nodes: none: " in shown
        return
    major = os.major(os.stat(tmp_path / "a/dev/nvidiactl").st_rdev)
    assert said.endswith("(nodes: %d-%d)\n" % (major, major + 2))
    assert "nodes: %d-%d\n" % (major, major + 2) in shown


def test_without_the_right_to_make_nodes_there_are_none_and_everything_else_works(bulkhead, build, tmp_path):
    folder = tmp_path / "bare"
    said = run(*without("mknod"), build.product("sim/simctl"), "create", "h100x1", "--dir", folder)
    assert said.endswith("(nodes: none: mknod: Operation not permitted)\n")
    assert not os.path.exists(folder / "dev/nvidiactl")
    with open(folder / "proc/devices", encoding="ascii") as file:
        assert "nvidia" not in file.read()
    (tmp_path / "layout.yaml").write_text(LAYOUT, encoding="utf-8")
    bulkhead.env["BULKHEAD_DRIVER"] = "sim:%s" % folder
    bulkhead("apply", "-f", tmp_path / "layout.yaml")
    shown = bulkhead("sim", "show", folder, "--json").json
    assert (shown["nodes"], shown["nodes_why"]) == ("none", "mknod: Operation not permitted")
    assert len(shown["gpus"][0]["instances"]) == 3
    assert len(capabilities(folder)) == 6


def test_a_file_system_that_takes_no_nodes_is_the_reason(build, tmp_path):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("mounting takes root and unshare")
    script = 'mount -t tmpfs -o nodev,mode=755 none "$1" && exec "$2" create h100x1 --dir "$1/node"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", tmp_path, build.product("sim/simctl")],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no mount here: %s" % done.stderr.strip())
    assert "(nodes: none: the file system takes no device nodes (nodev))" in done.stdout or "mknod" in done.stdout


def test_the_product_divides_a_node_whose_nodes_the_kernel_guards(bulkhead, node, tmp_path):
    machine = node("h100x2")
    needs_nodes(machine)
    (tmp_path / "layout.yaml").write_text(LAYOUT, encoding="utf-8")
    bulkhead("apply", "-f", tmp_path / "layout.yaml")
    ids = {"gi%d" % i["gi"]: i for i in machine.show()["gpus"][0]["instances"]}
    found = capabilities(machine.dir)
    assert {name for name in found if "/" not in name} == set(ids)
    for name, minor in found.items():
        gi = int(name.split("/")[0][2:])
        assert minor == 3 + 9 * gi + (1 if "/" in name else 0)
        status = os.stat(os.path.join(machine.dir, "dev/nvidia-caps/nvidia-cap%d" % minor))
        assert stat.S_ISCHR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o444


def test_a_range_of_minors_that_another_node_has_is_left_to_it_until_it_is_gone(build, node, tmp_path):
    machine = node("h100x1")
    needs_nodes(machine)
    control = os.path.join(machine.dir, "dev/nvidiactl")
    device = os.stat(control).st_rdev
    (tmp_path / "other/dev").mkdir(parents=True)
    os.mknod(tmp_path / "other/dev/nvidiactl", 0o666 | stat.S_IFCHR, device)
    with open("/run/bulkhead-sim/%d" % (os.minor(device) // 256), "w", encoding="ascii") as file:
        file.write(str(tmp_path / "other"))
    again = [build.product("sim/simctl"), "create", "h100x1", "--dir", machine.dir, "--force"]
    run(*again)
    assert os.major(os.stat(control).st_rdev) == os.major(device)
    assert os.minor(os.stat(control).st_rdev) % 256 == 255
    assert os.stat(control).st_rdev != device
    shutil.rmtree(tmp_path / "other")
    run(*again)
    assert os.stat(control).st_rdev == device


def test_making_a_node_anew_keeps_no_files_of_the_old_one(bulkhead, build, node, tmp_path):
    machine = node("h100x2")
    (tmp_path / "layout.yaml").write_text(LAYOUT, encoding="utf-8")
    bulkhead("apply", "-f", tmp_path / "layout.yaml")
    assert capabilities(machine.dir)
    run(build.product("sim/simctl"), "create", "t4x1", "--dir", machine.dir, "--force")
    assert not capabilities(machine.dir)
    assert len(os.listdir(os.path.join(machine.dir, "proc/driver/nvidia/gpus"))) == 1
    assert not os.path.exists(os.path.join(machine.dir, "dev/nvidia1"))


@pytest.mark.parametrize("name", ["dev", "proc"])
def test_a_folder_of_somebody_else_is_not_made_a_node(build, tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "precious").write_text("x", encoding="ascii")
    simctl = build.product("sim/simctl")
    for more in ([], ["--force"]):
        run(simctl, "create", "h100x1", "--dir", tmp_path, *more, exit=2)
    assert sorted(os.listdir(tmp_path)) == [name]
    assert (tmp_path / name / "precious").read_text(encoding="ascii") == "x"


def test_the_tool_of_the_node_is_found_by_what_env_prints(build, node):
    machine = node("a30x2")
    script = 'eval "$("$1" env "$2")"; nvidia-smi -L; nvidia-smi --gpu-reset -i 1'
    said = run("sh", "-c", script, "sh", build.product("sim/simctl"), machine.dir).splitlines()
    gpus = machine.show()["gpus"]
    assert said == ["GPU %d: %s (UUID: %s)" % (gpu["index"], gpu["name"], gpu["uuid"]) for gpu in gpus] + [
        "GPU %s was successfully reset." % gpus[1]["pci"]]
    assert [gpu["resets"] for gpu in machine.show()["gpus"]] == [0, 1]


def test_a_tenant_cannot_reset_or_reach_what_he_is_not_given(build, public):
    simctl = build.product("sim/simctl")
    if "(nodes: none" in run(simctl, "create", "h100x2", "--dir", public):
        pytest.skip("no device nodes here")
    os.chmod(os.path.join(public, "dev/nvidia1"), 0o600)
    tenant = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", os.path.join(public, "bin/nvidia-smi")]
    said = run(*tenant, "-L").splitlines()
    assert said[0].startswith("GPU 0: NVIDIA H100")
    assert said[1:] == ["Unable to determine the device handle for GPU1: Insufficient Permissions"]
    said = run(*tenant, "--gpu-reset", "-i", "0", exit=255)
    assert said.splitlines()[1].endswith(": Insufficient Permissions")
    gpus = json.loads(run(simctl, "show", public, "--json"))["gpus"]
    assert [gpu["resets"] for gpu in gpus] == [0, 0]


def test_env_quotes_a_folder_and_leaves_the_path_as_it_was(bulkhead, tmp_path):
    folder = tmp_path / "a 'b"
    bulkhead("sim", "create", "h100x1", "--dir", folder)
    said = subprocess.run(["bash", "-c", bulkhead("sim", "env", folder).out + "ls -d /; echo \"$PATH\""], capture_output=True,
                          text=True, check=True, env=dict(os.environ, PATH="/usr/bin:/bin"))
    assert said.stdout == "/\n%s/bin:/usr/bin:/bin\n" % folder


def test_a_folder_with_anothers_driver_in_it_is_left_alone(bulkhead, tmp_path):
    (tmp_path / "real" / "lib").mkdir(parents=True)
    (tmp_path / "real" / "lib" / "libnvidia-ml.so.1").write_text("real")
    said = bulkhead("sim", "create", "h100x1", "--dir", tmp_path / "real", "--force", exit=2).err
    assert "has a dev, proc, lib or bin that is no simulated node's" in said
    assert (tmp_path / "real" / "lib" / "libnvidia-ml.so.1").read_text() == "real"
    assert "has a ':'" in bulkhead("sim", "create", "h100x1", "--dir", tmp_path / "a:b", exit=2).err


def test_a_lost_gpu_is_not_reset(node):
    machine = node("h100x1")
    machine.inject("lost", "gpu=0")
    said = subprocess.run([os.path.join(machine.dir, "bin", "nvidia-smi"), "--gpu-reset", "-i", "0"], capture_output=True,
                          text=True, check=False)
    assert said.returncode == 255 and "GPU is lost" in said.stdout


def test_a_name_that_is_no_text_is_refused(node):
    machine = node("h100x1")
    machine.inject("holder", "gpu=0", b"name=\xff\xfe", exit=2)
    machine.inject("holder", "gpu=0", "name=" + "x" * 64, exit=2)
    machine.inject("log", b"text=\xff bad", exit=2)
    assert machine.show()["gpus"][0]["holders"] == []
