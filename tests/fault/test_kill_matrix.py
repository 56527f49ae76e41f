# SPDX-License-Identifier: Apache-2.0
"""Kill everything everywhere: whatever the moment, the next command finds the old layout or the wanted one.

A clean run counts its durable writes N and its driver calls M. Then the command line is killed before and after
each of the N, also with everything lost that was not synced, and its worker before and after each of the M. What
counts is the simulator's own view of the node, never the product's.
"""
import json
import os
import shutil
import subprocess

import pytest

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

    def __init__(self, bulkhead, node, build, folder):
        self.node, self.bulkhead = node("a100x2-40gb"), bulkhead
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
        self.wanted = None

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


@pytest.fixture
def stage(bulkhead, node, build, tmp_path):
    made = Stage(bulkhead, node, build, tmp_path)
    before = made.show()
    done = made.apply("after", {"LD_PRELOAD": made.shim, "SYNC_SHIM_PROGRAM": "bulkhead", "SYNC_SHIM_LOG": str(made.log)})
    assert done.returncode == 0, done.stdout.decode()
    after = made.show()
    made.wanted = made.layouts(after)
    assert made.wanted[0] != made.old[0] and made.wanted[1] != made.old[1]
    made.n_writes = os.path.getsize(made.log)
    made.calls = {name: n - before["calls"].get(name, 0) for name, n in after["calls"].items()
                  if n > before["calls"].get(name, 0)}
    made.n_calls = sum(made.calls.values())
    assert made.n_writes > 0 and made.n_calls > 0
    return made


def shim_env(stage, kill, shadow=False):
    env = {"LD_PRELOAD": stage.shim, "SYNC_SHIM_PROGRAM": "bulkhead", "SYNC_SHIM_KILL": kill}
    if shadow:
        shutil.rmtree(stage.shadow, ignore_errors=True)
        shutil.copytree(stage.kept / "state", stage.shadow)
        env["SYNC_SHIM_SHADOW"] = str(stage.shadow)
    return env


def test_killed_at_each_durable_write_the_layout_is_the_old_or_the_wanted_one(stage):
    hit = 0
    for n in range(1, stage.n_writes + 1):
        for when in ("before", "after"):
            stage.reset()
            killed = stage.apply("after", shim_env(stage, "%d:%s" % (n, when)))
            assert killed.returncode == -9, "write %d, %s: not killed" % (n, when)
            hit += 1
            stage.check("killed %s durable write %d of %d" % (when, n, stage.n_writes))
    print("durable writes N = %d, kills %d" % (stage.n_writes, hit))
    assert hit == 2 * stage.n_writes > 0


def test_losing_power_at_each_durable_write_loses_nothing_that_was_acted_on(stage):
    hit = 0
    for n in range(1, stage.n_writes + 1):
        for when in ("before", "after"):
            stage.reset()
            killed = stage.apply("after", shim_env(stage, "%d:%s" % (n, when), shadow=True))
            assert killed.returncode == -9, "write %d, %s: not killed" % (n, when)
            # what was never synced is gone
            shutil.rmtree(stage.bulkhead.state)
            shutil.copytree(stage.shadow, stage.bulkhead.state)
            hit += 1
            stage.check("power lost %s durable write %d of %d" % (when, n, stage.n_writes))
    print("durable writes N = %d, power losses %d" % (stage.n_writes, hit))
    assert hit == 2 * stage.n_writes > 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_worker_killed_at_each_driver_call_leaves_the_old_or_the_wanted_layout(stage, when):
    hit = 0
    for name, count in sorted(stage.calls.items()):
        for n in range(1, count + 1):
            stage.reset()
            stage.inject("fault", "call=" + name, "nth=%d" % n, "error=kill-" + when)
            stage.apply("after")
            assert stage.show()["faults"] == 0, "%s %d: nobody was killed" % (name, n)
            hit += 1
            stage.check("worker killed %s %s %d of %d" % (when, name, n, count))
    print("driver calls M = %d, kills %d" % (stage.n_calls, hit))
    assert hit == stage.n_calls > 0
