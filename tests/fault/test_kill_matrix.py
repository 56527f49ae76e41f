# SPDX-License-Identifier: Apache-2.0
"""Kill everything everywhere: whatever the moment, the next command finds the old layout or the wanted one.

A clean run counts its durable writes N and its driver calls M. Then the command line is killed before and after
each of the N, also with everything lost that was not synced, and its worker before and after each of the M. What
counts is the simulator's own view of the node, never the product's.
"""
import concurrent.futures
import json
import os
import queue
import shutil
import subprocess

import pytest

from conftest import Bulkhead, Node

pytestmark = pytest.mark.heavy

CONFIG = """\
version: v1
mig-configs:
  before:
    - devices: [0]
      mig-enabled: true
      mig-devices: {1g.5gb: 2, 2g.10gb: 1}
  after:
    - devices: [0]
      mig-enabled: true
      mig-devices: {1g.5gb: 1, 3g.20gb: 1}
    - devices: [1]
      mig-enabled: true
      mig-devices: {1c.3g.20gb: 2, 4g.20gb: 1}
  not-here:
    - devices: [7]
      mig-enabled: false
"""


class Stage:
    """A two-GPU node with a layout and a busy instance, set back to the same start before each case."""

    def __init__(self, build, folder):
        os.makedirs(folder)
        self.bulkhead = Bulkhead(build, folder)
        self.node = Node(self.bulkhead, "a100x2-40gb", folder / "node")
        self.bulkhead.use(self.node)
        self.simctl, self.shim = build.product("sim/simctl"), build.product("tests/fault/sync_shim.so")
        self.config, self.kept = folder / "config.yaml", folder / "kept"
        self.shadow, self.log = folder / "shadow", folder / "sync.log"
        self.config.write_text(CONFIG)
        self.apply("before")
        start = self.show()["gpus"][0]["instances"]
        at = next(i["start"] for i in start if i["profile"] == "1g.5gb")
        self.node.inject("busy", "gpu=0", "start=%d" % at, "pid=4242")
        self.busy = next(i["uuid"] for i in start if i["start"] == at)
        self.old = self.layouts()
        os.makedirs(self.kept)
        shutil.copy(os.path.join(self.node.dir, "state"), self.kept / "node")
        shutil.copytree(self.bulkhead.state, self.kept / "state")
        self.wanted, self.n_writes, self.n_calls, self.calls = None, 0, 0, {}

    def reset(self):
        """The start again; the node's file is written in place, as processes may have it mapped."""
        with open(self.kept / "node", "rb") as kept, open(os.path.join(self.node.dir, "state"), "r+b") as state:
            state.write(kept.read())
        shutil.rmtree(self.bulkhead.state, ignore_errors=True)
        shutil.copytree(self.kept / "state", self.bulkhead.state)

    def apply(self, name, env=None):
        done = subprocess.run([self.bulkhead.program, "apply", "-f", self.config, "--select", name, "--json"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                              env=dict(self.bulkhead.env, **(env or {})), check=False)
        return done

    def inject(self, *args):
        subprocess.run([self.simctl, "inject", self.node.dir, *args], check=True, stdout=subprocess.DEVNULL)

    def show(self):
        said = subprocess.run([self.simctl, "show", self.node.dir, "--json"], check=True, capture_output=True)
        return json.loads(said.stdout)

    def layouts(self, shown=None):
        """Per GPU: the mode, and every instance with its place and its parts."""
        return [(gpu["mig"]["current"], gpu["mig"]["pending"],
                 sorted((i["profile"], i["start"], i["size"], i["ci_start"] or 0, i["ci_size"] or 0)
                        for i in gpu["instances"]))
                for gpu in (shown or self.show())["gpus"]]

    def check(self, what):
        """After the next command: old or wanted, nothing open, the busy one untouched; then it completes."""
        resumed = self.apply("not-here")  # resumes or undoes, then finds nothing to do with GPU 7
        assert resumed.returncode == 3, "%s: exit %d\n%s" % (what, resumed.returncode, resumed.stdout.decode())
        shown = self.show()
        for gpu, layout in enumerate(self.layouts(shown)):
            assert layout in (self.old[gpu], self.wanted[gpu]), "%s: GPU %d has a third layout: %s" % (what, gpu, layout)
        assert self.busy in [i["uuid"] for i in shown["gpus"][0]["instances"]], "%s: the busy instance is gone" % what
        done = self.apply("after")
        assert done.returncode == 0, "%s: then exit %d\n%s" % (what, done.returncode, done.stdout.decode())
        assert json.loads(done.stdout)["resumed"] == [], "%s: a run was still open" % what
        shown = self.show()
        assert self.layouts(shown) == self.wanted, what
        assert self.busy in [i["uuid"] for i in shown["gpus"][0]["instances"]], what


    def measure(self):
        """A clean run: what is wanted, and how many writes and calls there are to kill at."""
        before = self.show()
        done = self.apply("after", {"LD_PRELOAD": self.shim, "SYNC_SHIM_PROGRAM": "bulkhead", "SYNC_SHIM_LOG": str(self.log)})
        assert done.returncode == 0, done.stdout.decode()
        after = self.show()
        self.wanted = self.layouts(after)
        assert self.wanted[0] != self.old[0] and self.wanted[1] != self.old[1]
        self.n_writes = os.path.getsize(self.log)
        self.calls = {name: n - before["calls"].get(name, 0) for name, n in after["calls"].items()
                      if n > before["calls"].get(name, 0)}
        self.n_calls = sum(self.calls.values())
        assert self.n_writes > 0 and self.n_calls > 0

    def kill_at_write(self, n, when, lose_power):
        env = {"LD_PRELOAD": self.shim, "SYNC_SHIM_PROGRAM": "bulkhead", "SYNC_SHIM_KILL": "%d:%s" % (n, when)}
        if lose_power:
            shutil.rmtree(self.shadow, ignore_errors=True)
            shutil.copytree(self.kept / "state", self.shadow)
            env["SYNC_SHIM_SHADOW"] = str(self.shadow)
        self.reset()
        killed = self.apply("after", env)
        assert killed.returncode == -9, "write %d, %s: not killed" % (n, when)
        if lose_power:  # what was never synced is gone
            shutil.rmtree(self.bulkhead.state)
            shutil.copytree(self.shadow, self.bulkhead.state)
        self.check("%s %s durable write %d of %d" % ("power lost" if lose_power else "killed", when, n, self.n_writes))

    def kill_at_call(self, name, n, when):
        self.reset()
        self.inject("fault", "call=" + name, "nth=%d" % n, "error=kill-" + when)
        self.apply("after")
        assert self.show()["faults"] == 0, "%s %d: nobody was killed" % (name, n)
        self.check("worker killed %s %s %d of %d" % (when, name, n, self.calls[name]))


@pytest.fixture
def stages(build, tmp_path):
    """Two stages of the same play, so that two processors are used."""
    made = [Stage(build, tmp_path / ("stage%d" % i)) for i in range(2)]
    for one in made:
        one.measure()
    assert made[0].n_writes == made[1].n_writes and made[0].calls == made[1].calls
    yield made
    for one in made:
        shutil.rmtree(one.node.dir, ignore_errors=True)


def spread(stages, cases):
    """Give each case to a free stage; returns how many were carried out. The first failure is raised."""
    free = queue.Queue()
    for one in stages:
        free.put(one)

    def play(case):
        one = free.get()
        try:
            case(one)
        finally:
            free.put(one)

    with concurrent.futures.ThreadPoolExecutor(len(stages)) as pool:
        return sum(1 for _ in pool.map(play, cases))


@pytest.mark.parametrize("lose_power", [False, True], ids=["killed", "power_lost"])
def test_at_each_durable_write_the_layout_is_the_old_or_the_wanted_one(stages, lose_power):
    n_writes = stages[0].n_writes
    hit = spread(stages, [lambda stage, n=n, when=when: stage.kill_at_write(n, when, lose_power)
                          for n in range(1, n_writes + 1) for when in ("before", "after")])
    print("durable writes N = %d, %s %d times" % (n_writes, "power lost" if lose_power else "killed", hit))
    assert hit == 2 * n_writes > 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_worker_killed_at_each_driver_call_leaves_the_old_or_the_wanted_layout(stages, when):
    n_calls = stages[0].n_calls
    hit = spread(stages, [lambda stage, name=name, n=n: stage.kill_at_call(name, n, when)
                          for name, count in sorted(stages[0].calls.items()) for n in range(1, count + 1)])
    print("driver calls M = %d, the worker killed %s each: %d" % (n_calls, when, hit))
    assert hit == n_calls > 0
