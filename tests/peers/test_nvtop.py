# SPDX-License-Identifier: Apache-2.0
"""nvtop, which nobody here wrote, draws the GPUs of a simulated node on a terminal."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="session")
def nvtop(peers):
    """Debian's nvtop, with the libraries that it needs."""
    program = os.path.join(peers, "usr", "bin", "nvtop")
    reason = os.path.join(peers, os.pardir, "without-nvtop")
    if os.path.exists(reason):
        with open(reason, encoding="utf-8") as file:
            pytest.skip(file.read().strip())
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False, timeout=20)
    missing = re.findall(r"(\S+) => not found", said.stdout)
    if said.returncode != 0 or missing:
        pytest.skip("peers cannot be had: nvtop needs %s" % (", ".join(missing) or said.stderr.strip()))
    return program


class Screen:
    """A program on a pseudo-terminal; text() is all that it drew, without how."""

    def __init__(self, program, env, rows=60, columns=200):
        self.data = b""
        self.ended = None
        master, slave = pty.openpty()
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.master = master
        self.child = subprocess.Popen([program], stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True)
        os.close(slave)

    def text(self):
        plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78]", b" ", self.data)
        return re.sub(r"[ \r\n]+", " ", plain.decode(errors="replace"))

    def wait_for(self, words, seconds=15):
        """Reads until all of the patterns were drawn. Return: those that were not."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            missing = [word for word in words if not re.search(word, self.text())]
            if not missing:
                return []
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    self.data += os.read(self.master, 65536)
                except OSError:  # it is gone
                    break
        return missing

    def stop(self):
        if self.child.poll() is None:
            os.kill(self.child.pid, signal.SIGTERM)
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.kill(self.child.pid, signal.SIGKILL)
            self.child.wait(timeout=10)
        os.close(self.master)


@pytest.fixture
def draw(nvtop, tmp_path):
    """draw(node) starts nvtop there."""
    screens = []

    def start(machine):
        env = {key: value for key, value in machine.nvml_env.items() if key not in ("LINES", "COLUMNS")}
        env.update(TERM="xterm", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), LC_ALL="C")
        screens.append(Screen(nvtop, env))
        return screens[-1]

    yield start
    for screen in screens:
        screen.stop()


def test_nvtop_names_each_gpu_with_its_memory(node, draw):
    screen = draw(node("h100-sxm5-80gbx1,t4x1"))
    assert screen.wait_for([r"Device 0 \[NVIDIA H100 80GB HBM3\]", r"Device 1 \[Tesla T4\]", r"/79\.647Gi\]", r"/1[0-9.]+Gi\]"]) \
        == [], screen.text()


def test_nvtop_lists_a_process_that_works_on_a_gpu(node, draw):
    machine = node("h100x2")
    worker = subprocess.Popen(["sleep", "60"])
    try:
        machine.inject("holder", "gpu=1", "kind=process", "pid=%d" % worker.pid, "name=sleep")
        screen = draw(machine)
        # PID, user, device, kind of work, memory and the command, as the kernel tells it
        assert screen.wait_for([r"\b%d \S+ 1 Compute\b.* 256MiB\b.* sleep 60" % worker.pid]) == [], screen.text()
    finally:
        worker.kill()
        worker.wait()
