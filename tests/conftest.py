# SPDX-License-Identifier: Apache-2.0
"""What tests share: the build under test, simulated nodes, the command line, other people's programs.

    BULKHEAD_BUILD        the build folder whose binaries are tested (default build/)
    BULKHEAD_MIG_CONFIGS  a folder with mig-parted's own files (default ../shared/mig-configs)
"""
import functools
import json
import os
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SANITIZER_WORDS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error: ")


def text_of(data):
    return (data or b"").decode(errors="replace")


class Build:
    """A build folder; product("sim/simctl") gives a path and insists that it is there."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)

    @functools.cached_property
    def targets(self):
        said = subprocess.run(["meson", "introspect", "--targets", self.folder], capture_output=True, check=True)
        return {target["name"] for target in json.loads(said.stdout)}

    def product(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            base = os.path.basename(name).split(".so")[0]
            if not {base, base.removeprefix("lib")} & self.targets:
                pytest.skip("this tree does not build %s" % name)
            pytest.fail("%s is missing: build first" % path)
        return path

    def __fspath__(self):
        return self.folder


class Answer:
    """What a command said: exit, out, err; json and error parse stdout when asked for."""

    def __init__(self, command, exit_status, out, err):
        self.command, self.exit, self.out, self.err = command, exit_status, out, err

    @functools.cached_property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            pytest.fail("not one JSON document on stdout:\n%s" % self)

    @property
    def error(self):
        """The error object of a failure."""
        return self.json["error"]

    def __str__(self):
        return "$ %s\nexit %s\n%s%s" % (" ".join(self.command), self.exit, self.out, self.err)


def run(command, env, timeout=60, exit=0, cwd=None):  # pylint: disable=redefined-builtin
    """Run a command to its end. exit: the status that it must have, a tuple of them, or None for any."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=timeout, cwd=cwd,
                              check=False)
    except subprocess.TimeoutExpired as late:
        pytest.fail("no end within %s s:\n%s" % (timeout, Answer(command, "-", text_of(late.stdout), text_of(late.stderr))))
    answer = Answer(command, done.returncode, text_of(done.stdout), text_of(done.stderr))
    if any(word in answer.err for word in SANITIZER_WORDS):
        pytest.fail("a sanitizer's report:\n%s" % answer)
    wanted = exit if isinstance(exit, (tuple, type(None))) else (exit,)
    if wanted is not None and answer.exit not in wanted:
        pytest.fail("exit %s, expected %s:\n%s" % (answer.exit, " or ".join(map(str, wanted)), answer))
    return answer


class Bulkhead:
    """The command line on a state folder of its own: bulkhead("plan", "-f", file, exit=3).json"""

    def __init__(self, build, folder):
        self.program = build.product("bulkhead")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("BULKHEAD_")}
        self.env["BULKHEAD_STATE"] = str(folder / "state")
        self.env["BULKHEAD_SOCKET"] = str(folder / "sock")
        # Until a node is made, no driver: a test never reaches the driver of the machine it runs on.
        self.env["BULKHEAD_DRIVER"] = "sim:%s" % (folder / "no-node")

    @property
    def state(self):
        return self.env["BULKHEAD_STATE"]

    def use(self, node):
        """From now on commands mean this node."""
        self.env["BULKHEAD_DRIVER"] = node.driver

    def __call__(self, *args, exit=0, timeout=60, cwd=None, env=None):  # pylint: disable=redefined-builtin
        return run([self.program, *args], dict(self.env, **(env or {})), timeout, exit, cwd)

    def start(self, *args, env=None):
        """The same, not waited for: a Popen with text pipes; the test ends it."""
        return subprocess.Popen([self.program, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=dict(self.env, **(env or {})), text=True)


class Node:
    """A simulated node in a folder."""

    def __init__(self, bulkhead, machine, folder):
        self.bulkhead, self.dir = bulkhead, str(folder)
        bulkhead("sim", "create", machine, "--dir", folder)

    @property
    def driver(self):
        return "sim:" + self.dir

    def inject(self, *args, exit=0):  # pylint: disable=redefined-builtin
        """inject("busy", "gpu=0", "start=2")"""
        return self.bulkhead("sim", "inject", self.dir, *args, exit=exit)

    def show(self):
        """{"gpus", "calls", "changing_calls", "reads"}"""
        return self.bulkhead("sim", "show", self.dir, "--json").json

    def reboot(self, *args):
        return self.bulkhead("sim", "reboot", self.dir, *args)

    @property
    def nvml_env(self):
        """For programs that load NVML by its usual name."""
        return dict(os.environ, LD_LIBRARY_PATH=os.path.join(self.dir, "lib"))


@pytest.fixture(scope="session")
def build():
    folder = os.environ.get("BULKHEAD_BUILD") or os.path.join(ROOT, "build")
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        pytest.fail("BULKHEAD_BUILD: %s is no build folder" % folder)
    return Build(folder)


@pytest.fixture
def bulkhead(build, tmp_path):
    return Bulkhead(build, tmp_path)


@pytest.fixture
def node(bulkhead, tmp_path):
    """node("h100x1") makes a simulated node, and commands mean the one made last."""
    made = []

    def make(machine="h100x1"):
        new = Node(bulkhead, machine, tmp_path / ("node%d" % len(made)))
        made.append(new)
        bulkhead.use(new)
        return new

    yield make
    for old in made:
        shutil.rmtree(old.dir, ignore_errors=True)


@pytest.fixture(scope="session")
def mig_configs():
    """A folder with mig-parted's own configuration files, which are not part of this project."""
    folder = os.environ.get("BULKHEAD_MIG_CONFIGS") or os.path.join(ROOT, "..", "shared", "mig-configs")
    if not os.path.isdir(folder):
        pytest.skip("no mig-parted files at %s (BULKHEAD_MIG_CONFIGS)" % folder)
    return os.path.abspath(folder)


@pytest.fixture(scope="session")
def peers():
    """The folder that other people's packages are unpacked in."""
    said = subprocess.run([os.path.join(ROOT, "scripts", "fetch-peers")], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=600, check=False)
    if said.returncode == 77:
        pytest.skip(text_of(said.stdout).strip())
    assert said.returncode == 0, text_of(said.stdout) + text_of(said.stderr)
    return os.path.join(ROOT, "build", "peers", "root")


@pytest.fixture(scope="session")
def pynvml(peers):
    """A PYTHONPATH with pynvml, Debian's binding of NVML."""
    folder = os.path.join(peers, "usr", "lib", "python3", "dist-packages")
    assert os.path.exists(os.path.join(folder, "pynvml.py"))
    return folder


@pytest.fixture(scope="session")
def nvml_header(peers):
    """The folder of Debian's nvml.h."""
    folder = os.path.join(peers, "usr", "include")
    assert os.path.exists(os.path.join(folder, "nvml.h"))
    return folder
