# SPDX-License-Identifier: Apache-2.0
"""A simulated node that is used from several PID namespaces and from another root folder at once."""
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.heavy

# LIBRARY: opens a session, says its pid and what MIG mode the first GPU has, and waits to be told to end.
USER = """
import ctypes, os, sys
def use(nvml):
    gpu, current, pending = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint()
    for rc in (nvml.nvmlInit_v2(), nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)),
               nvml.nvmlDeviceGetMigMode(gpu, ctypes.byref(current), ctypes.byref(pending))):
        assert rc == 0, rc
    print(os.getpid(), current.value, flush=True)
nvml = ctypes.CDLL(sys.argv[1])
use(nvml)
"""
WAIT = "sys.stdin.readline()\n"
# A child that has its parent's pid, each being the first of a namespace.
SAME_PID_CHILD = """
assert os.getpid() == 1
assert ctypes.CDLL(None).unshare(0x20000000) == 0
child = os.fork()
if child == 0:
    assert os.getpid() == 1
    use(nvml)
sys.stdin.readline()
if child:
    os.kill(child, 9)
    os.waitpid(child, 0)
    use(nvml)
    sys.stdin.readline()
"""


def library_of(folder):
    return os.path.join(folder, "lib", "libnvidia-ml.so.1")


def allowed_or_skip(*command):
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    if done.returncode:
        pytest.skip("no namespaces and mounts here")


class User:
    """A program with a session on a node, until told to end."""

    def __init__(self, command, script, library):
        self.process = subprocess.Popen([*command, sys.executable, "-c", USER + script, library], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def said(self):
        return [int(word) for word in self.process.stdout.readline().split()]

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.go_on()
        assert self.process.wait(timeout=60) == 0


@pytest.fixture
def start():
    made = []

    def make(*args):
        made.append(User(*args))
        return made[-1]

    yield make
    for user in made:
        user.process.kill()
        user.process.wait()


def pids(machine):
    return sorted(client["pid"] for client in machine.show()["clients"])


NEW_PIDS = ("unshare", "--pid", "--fork", "--kill-child")


def test_two_first_processes_of_namespaces_have_a_slot_each_and_the_dead_ones_is_given_back(node, start):
    allowed_or_skip(*NEW_PIDS, "true")
    machine = node("h100x1")
    users = [start(NEW_PIDS, WAIT, library_of(machine.dir)) for _ in range(2)]
    assert [user.said() for user in users] == [[1, 0], [1, 0]]
    outside = start((), WAIT, library_of(machine.dir))
    assert outside.said() == [outside.process.pid, 0]
    assert pids(machine) == [1, 1, outside.process.pid]
    users[0].process.send_signal(signal.SIGKILL)
    users[0].process.wait()
    for _ in range(1000):  # the namespace's first process ends a little later than unshare
        if pids(machine) == [1, outside.process.pid]:
            break
    assert pids(machine) == [1, outside.process.pid]
    users[1].end()
    assert pids(machine) == [outside.process.pid]
    outside.end()
    assert machine.bulkhead("sim", "check", machine.dir).out == "sound\n"


def test_a_child_with_its_parents_pid_gets_a_slot_of_its_own(node, start):
    allowed_or_skip(*NEW_PIDS, "true")
    machine = node("h100x1")
    user = start(NEW_PIDS, SAME_PID_CHILD, library_of(machine.dir))
    assert user.said() == [1, 0]
    assert user.said() == [1, 0]
    assert pids(machine) == [1, 1]
    user.go_on()
    assert user.said() == [1, 0]
    assert pids(machine) == [1]
    user.end()


def test_a_node_works_from_a_root_folder_where_it_is_mounted_elsewhere(node, start, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    mounts = 'mount --bind / "$1" && '
    allowed_or_skip("unshare", "--mount", "sh", "-c", mounts + 'chroot "$1" true', "sh", str(root))
    machine = node("h100x1")
    script = mounts + 'mount --bind "$2" "$1/mnt" && shift 2 && exec chroot "%s" "$@"' % root
    inside = start(("unshare", "--mount", "sh", "-c", script, "sh", str(root), machine.dir), WAIT, "/mnt/lib/libnvidia-ml.so.1")
    assert inside.said()[1] == 0
    assert pids(machine) == [inside.process.pid]
    machine.inject("lost", "gpu=0")
    again = start(("unshare", "--mount", "sh", "-c", script, "sh", str(root), machine.dir), WAIT, "/mnt/lib/libnvidia-ml.so.1")
    assert again.said() == []  # the same state: its GPU is lost
    assert again.process.wait(timeout=60) == 1
    inside.end()
    assert pids(machine) == []
