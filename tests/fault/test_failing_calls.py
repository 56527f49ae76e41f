# SPDX-License-Identifier: Apache-2.0
"""Each call of the C library that the command line makes fails in turn, once, while it changes a layout.

A clean run counts the calls of each function. Then the n-th of them fails; long counts are sampled evenly. Whatever
fails: no death by a signal, one JSON document, an exit of the table, never 0 unless the node holds what is wanted, and
the next command finds the old layout or the wanted one, and brings the wanted one. The worker is left alone here.
"""
import errno
import json
import os
import shutil
import time

import pytest

from test_kill_matrix import Stage, spread

pytestmark = pytest.mark.heavy

SAMPLES = int(os.environ.get("BULKHEAD_CALL_SAMPLES") or 8)  # of one function with one error
SECONDS = 90 if SAMPLES == 8 else 3600  # cases past this are left out, and the print says how many
EXITS = set(range(12))
FAILURES = {
    "open": ("EMFILE", "EACCES"), "read": ("EIO", "EINTR"), "pread": ("EIO", "EINTR"), "write": ("ENOSPC", "EINTR"),
    "pwrite": ("ENOSPC", "EIO"), "fsync": ("EIO",), "fdatasync": ("EIO", "ENOSPC"), "ftruncate": ("EIO",),
    "flock": ("EINTR", "ENOLCK"), "fstat": ("EIO",), "stat": ("EACCES",), "lstat": ("EACCES",), "statfs": ("EIO",),
    "mkdir": ("ENOSPC", "EACCES"), "unlink": ("EIO",), "pipe2": ("EMFILE",), "socketpair": ("EMFILE",),
    "send": ("ENOMEM", "EINTR"), "recv": ("ENOMEM", "EINTR"), "poll": ("EINTR",), "waitid": ("EINTR",),
    "epoll_create1": ("EMFILE",), "epoll_ctl": ("ENOMEM",), "epoll_wait": ("EINTR",), "timerfd_create": ("EMFILE",),
    "timerfd_settime": ("ENOMEM",), "fcntl": ("EIO", "EMFILE"), "realpath": ("ENOMEM",), "malloc": ("ENOMEM",),
    "calloc": ("ENOMEM",), "realloc": ("ENOMEM",), "posix_spawn": ("ENOMEM", "EMFILE"),
}
USED = ("open", "read", "pread", "pwrite", "fdatasync", "flock", "ftruncate", "fstat", "stat", "mkdir", "fcntl", "socketpair",
        "send", "recv", "malloc", "calloc", "realloc", "posix_spawn", "epoll_ctl", "realpath")


class CallStage(Stage):
    """A stage on which one call fails."""

    def __init__(self, build, folder):
        super().__init__(build, folder)
        self.call_shim, self.counts = build.product("tests/fault/call_shim.so"), {}

    def measure(self):
        super().measure()
        self.reset()
        done = self.apply("after", self.shimmed(CALL_SHIM_COUNTS=str(self.log)))
        assert done.returncode == 0, done.stdout.decode()
        self.counts = {name: int(count) for name, count in map(str.split, self.log.read_text().splitlines())}

    def shimmed(self, **more):
        return dict(LD_PRELOAD=self.call_shim, CALL_SHIM_PROGRAM="bulkhead", **more)

    def check_outcomes(self, document, said):
        """No GPU is called done that does not hold what is wanted."""
        layouts = self.layouts()
        for gpu, outcome in enumerate(document.get("outcomes", [])):
            assert outcome["outcome"] != "done" or layouts[gpu] == self.wanted[gpu], said

    def fail(self, name, n, error):
        self.reset()
        done = self.apply("after", self.shimmed(CALL_SHIM_FAIL="%s:%d:%d" % (name, n, getattr(errno, error))))
        what = "%s %d of %d fails with %s" % (name, n, self.counts[name], error)
        said = "%s: exit %d\n%s%s" % (what, done.returncode, done.stdout.decode(errors="replace"),
                                      done.stderr.decode(errors="replace"))
        assert done.returncode in EXITS, said
        try:
            document = json.loads(done.stdout)
        except ValueError as why:
            raise AssertionError("not one JSON document, " + said) from why
        assert ("error" in document) == (done.returncode != 0), said
        self.check_outcomes(document, said)
        if done.returncode == 0:
            assert self.layouts() == self.wanted, said
        self.check(what)
        return done.returncode


@pytest.fixture
def stages(build, tmp_path):
    made = [CallStage(build, tmp_path / ("stage%d" % i)) for i in range(2)]
    for one in made:
        one.measure()
    yield made
    for one in made:
        shutil.rmtree(one.node.dir, ignore_errors=True)


def sample(count):
    """Which of 1..count: all, or SAMPLES of them, the first and the last too."""
    if count <= SAMPLES:
        return range(1, count + 1)
    return sorted({1 + round(i * (count - 1) / (SAMPLES - 1)) for i in range(SAMPLES)})


def test_any_call_that_fails_leaves_the_old_or_the_wanted_layout_and_says_so(stages):
    counts, ends, began, late = stages[0].counts, {}, time.monotonic(), []
    wrong = []
    assert not [name for name in USED if not counts[name]]

    def play(stage, name, n, error):
        if time.monotonic() - began > SECONDS:
            late.append(name)
            return
        try:
            status = stage.fail(name, n, error)
        except AssertionError as why:
            wrong.append(str(why))
            return
        ends.setdefault(name, {}).setdefault(status, []).append(n)

    # What wants memory last is the writing of the answer.
    answer = [("malloc", n, "ENOMEM") for n in sorted({counts["malloc"] - back for back in (0, 1, 100, 1000)})]
    # Rare functions first: what time cuts off is the long counts' end.
    cases = [(name, n, error) for name in sorted(FAILURES, key=lambda name: counts[name])
             for error in FAILURES[name] for n in sample(counts[name])] + answer
    spread(stages, [lambda stage, case=case: play(stage, *case) for case in cases])
    for name in sorted(counts):
        print("%-16s %6d calls, %3d failed; exits %s" %
              (name, counts[name], sum(map(len, ends.get(name, {}).values())),
               ", ".join("%d: %d" % (status, len(hit)) for status, hit in sorted(ends.get(name, {}).items())) or "-"))
    print("%d cases of %d in %d s" % (len(cases) - len(late), len(cases), time.monotonic() - began))
    assert not wrong, "%d cases went wrong\n%s" % (len(wrong), "\n".join(wrong[:20]))
    assert all(name in ends for name in USED), late
    assert os.path.exists(stages[0].bulkhead.state)
