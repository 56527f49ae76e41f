# SPDX-License-Identifier: Apache-2.0
"""Calls that go on after whoever made them is gone, workers that cannot be killed, and two commands at once."""
import json
import os
import signal
import subprocess
import time

import pytest

CONFIG = """\
version: v1
mig-configs:
  first:
    - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 1}}
  second:
    - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 1, 3g.40gb: 1}}
"""
CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"
FREEZER = "/sys/fs/cgroup/freezer"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def apply(config, name):
    return ("apply", "-f", config, "--select", name, "--json")


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def placed(machine):
    return sorted((i["profile"], i["ci_size"]) for i in machine.show()["gpus"][0]["instances"])


def prepared(bulkhead, node, config):
    machine = node("h100x1")
    bulkhead(*apply(config, "first"))
    busy = machine.show()["gpus"][0]["instances"][0]
    machine.inject("busy", "gpu=0", "start=%d" % busy["start"], "pid=4242")
    return machine, busy["uuid"]


def worker_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        children = [int(word) for word in file.read().split()]
    for child in children:
        with open("/proc/%d/cmdline" % child, "rb") as file:
            if b"bulkhead-worker" in file.read():
                return child
    return None


def test_a_call_that_outlives_its_killed_command_is_over_before_the_next_one_reads(bulkhead, node, config):
    machine, busy = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=2000", "detached=1")
    counted = machine.show()["calls"].get(CREATE, 0)
    command = bulkhead.start(*apply(config, "second"))
    wait_for(lambda: machine.show()["calls"].get(CREATE, 0) > counted)
    started = time.monotonic()
    command.send_signal(signal.SIGKILL)
    command.communicate()
    assert placed(machine) == [("1g.10gb", 1)]  # the call still sleeps
    reads = machine.show()["reads"]
    following = bulkhead.start(*apply(config, "second"))
    time.sleep(0.5)
    assert machine.show()["reads"] == reads, "the next command read the machine while a call was still acting"
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, out + err
    answer = json.loads(out)
    assert time.monotonic() - started > 1.0, "the next command did not wait for the late call"
    assert [one["outcome"] for one in answer["resumed"]] == ["completed"]
    assert placed(machine) == [("1g.10gb", 1), ("3g.40gb", 3)]
    assert busy in [i["uuid"] for i in machine.show()["gpus"][0]["instances"]]


def test_a_call_past_its_deadline_is_waited_out_and_then_looked_at(bulkhead, node, config):
    machine, _ = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=2500", "detached=1")
    answer = bulkhead(*apply(config, "second"), "--call-deadline", "1").json
    assert answer["changed"] is True
    assert placed(machine) == [("1g.10gb", 1), ("3g.40gb", 3)]
    # it was seen to have happened, and was not asked for again
    assert machine.show()["calls"][CREATE] == 2


def test_a_call_past_its_deadline_that_dies_with_its_worker_is_tried_once_more(bulkhead, node, config):
    machine, _ = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=60000")
    bulkhead(*apply(config, "second"), "--call-deadline", "1")
    assert placed(machine) == [("1g.10gb", 1), ("3g.40gb", 3)]


def test_a_call_that_never_answers_is_given_up_and_taken_back(bulkhead, node, config):
    machine, busy = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "ms=60000")
    error = bulkhead(*apply(config, "second"), "--call-deadline", "1", exit=(1, 11)).error
    assert error["code"] == "not-applied"
    assert "create GPU instance 3g.40gb at 0: the driver worker did not answer in time" in error["message"]
    assert placed(machine) == [("1g.10gb", 1)]
    assert busy in [i["uuid"] for i in machine.show()["gpus"][0]["instances"]]
    assert bulkhead("status", "--json").json["run"]["state"] == "rolled-back"


def test_a_worker_that_cannot_be_killed_is_named_and_nobody_acts_beside_it(bulkhead, node, config):
    if not os.access(FREEZER, os.W_OK):
        pytest.skip("no v1 freezer at " + FREEZER)
    machine, _ = prepared(bulkhead, node, config)
    group = os.path.join(FREEZER, "bulkhead-test-%d" % os.getpid())
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=60000")
    counted = machine.show()["calls"].get(CREATE, 0)
    command = bulkhead.start(*apply(config, "second"), "--call-deadline", "1")
    wait_for(lambda: machine.show()["calls"].get(CREATE, 0) > counted)
    worker = worker_of(command.pid)
    os.mkdir(group)
    try:
        for name, text in (("cgroup.procs", str(worker)), ("freezer.state", "FROZEN")):
            with open(os.path.join(group, name), "w", encoding="ascii") as file:
                file.write(text)
        out, _ = command.communicate(timeout=60)
        error = json.loads(out)["error"]
        assert command.returncode in (7, 11) and str(worker) in error["message"] + error["next"], error
        assert os.path.exists("/proc/%d" % worker)
        # the next command neither reads a half-made layout nor acts beside it
        late = bulkhead.start(*apply(config, "second"))
        time.sleep(1)
        assert late.poll() is None and placed(machine) == [("1g.10gb", 1)]
    finally:
        with open(os.path.join(group, "freezer.state"), "w", encoding="ascii") as file:
            file.write("THAWED")
        wait_for(lambda: not os.path.exists("/proc/%d" % worker))
        os.rmdir(group)
    out, err = late.communicate(timeout=60)
    assert late.returncode == 0, out + err
    assert placed(machine) == [("1g.10gb", 1), ("3g.40gb", 3)]


def test_of_two_commands_at_once_the_second_is_refused_naming_the_first(bulkhead, node, config):
    machine, _ = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=1500")
    counted = machine.show()["calls"].get(CREATE, 0)
    first = bulkhead.start(*apply(config, "second"))
    wait_for(lambda: machine.show()["calls"].get(CREATE, 0) > counted)
    error = bulkhead(*apply(config, "first"), exit=4).error
    assert error["code"] == "state-locked" and error["holders"][0]["pid"] == first.pid
    assert "apply" in error["message"] and error["next"]
    bulkhead("status", "--json")  # readers need no lock
    bulkhead("plan", "-f", config, "--select", "second", "--json")
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, out + err


def test_the_worker_dies_with_its_command(bulkhead, node, config):
    machine, _ = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=60000")
    counted = machine.show()["calls"].get(CREATE, 0)
    command = bulkhead.start(*apply(config, "second"))
    wait_for(lambda: machine.show()["calls"].get(CREATE, 0) > counted)
    worker = worker_of(command.pid)
    assert worker
    command.kill()
    command.communicate()
    wait_for(lambda: not os.path.exists("/proc/%d" % worker), 5)


def test_a_reading_worker_refuses_to_change_and_a_changing_one_wants_its_lock(build, node):
    machine = node("h100x1")
    worker = build.product("bulkhead-worker")
    request = {"id": 1, "op": "set-mig", "gpu": machine.show()["gpus"][0]["uuid"], "deadline_ms": 1000,
               "args": {"pci": machine.show()["gpus"][0]["pci"], "on": True}}
    import socket  # pylint: disable=import-outside-toplevel

    for extra in (["--read-only"], []):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

        def place(fd=theirs.fileno()):
            os.dup2(fd, 3)
            os.closerange(4, 20)

        child = subprocess.Popen([worker, "driver", "--driver", machine.driver, *extra], preexec_fn=place, close_fds=False,
                                 stderr=subprocess.PIPE, env={k: v for k, v in os.environ.items()})
        theirs.close()
        ours.settimeout(10)
        first = json.loads(ours.recv(1 << 17))
        if "hello" in first:
            ours.send(json.dumps(request).encode())
            first = json.loads(ours.recv(1 << 17))
        assert first["error"]["code"] in ("denied", "internal", "usage"), first
        ours.close()
        child.communicate(timeout=10)
    assert machine.show()["changing_calls"] == 0


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_command_takes_its_change_back_and_says_so(sent, bulkhead, node, config):
    machine, busy = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=500")
    counted = machine.show()["calls"].get(CREATE, 0)
    command = bulkhead.start(*apply(config, "second"))
    wait_for(lambda: machine.show()["calls"].get(CREATE, 0) > counted)
    command.send_signal(sent)
    out, _ = command.communicate(timeout=60)
    assert command.returncode == 1
    assert "interrupted by" in json.loads(out)["error"]["message"]
    assert placed(machine) == [("1g.10gb", 1)]
    assert busy in [i["uuid"] for i in machine.show()["gpus"][0]["instances"]]
    assert bulkhead("status", "--json").json["run"]["state"] == "rolled-back"


def test_a_second_interrupt_ends_the_command_and_the_next_one_goes_on(bulkhead, node, config):
    machine, _ = prepared(bulkhead, node, config)
    machine.inject("delay", "call=" + CREATE, "nth=1", "ms=60000")
    counted = machine.show()["calls"].get(CREATE, 0)
    command = bulkhead.start(*apply(config, "second"))
    wait_for(lambda: machine.show()["calls"].get(CREATE, 0) > counted)
    command.send_signal(signal.SIGINT)
    time.sleep(0.3)
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=10)
    assert command.returncode == -signal.SIGINT
    assert len(bulkhead(*apply(config, "second")).json["resumed"]) == 1
    assert placed(machine) == [("1g.10gb", 1), ("3g.40gb", 3)]


def test_a_state_directory_belongs_to_one_machine(bulkhead, node, config):
    machine, _ = prepared(bulkhead, node, config)
    other = node("h100x1")
    for command in (apply(config, "first"), ("status", "--json")):
        error = bulkhead(*command, exit=2).error
        assert "belongs to the machine of driver " + machine.driver in error["message"] and "--state" in error["next"]
    assert other.show()["changing_calls"] == 0


def test_an_interrupt_at_the_end_of_one_gpu_does_not_start_the_next(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    create = "nvmlGpuInstanceCreateComputeInstanceWithPlacement"
    config = tmp_path / "both.yaml"
    config.write_text("version: v1\nmig-configs:\n  c:\n    - {devices: all, mig-enabled: true, mig-devices: {7g.40gb: 1}}\n")
    machine.inject("delay", "call=" + create, "nth=1", "ms=500")
    command = bulkhead.start("apply", "-f", config, "--json")
    wait_for(lambda: machine.show()["calls"].get(create, 0) > 0)
    command.send_signal(signal.SIGINT)
    out, _ = command.communicate(timeout=60)
    assert command.returncode == 7 and "GPU 0 was finished, those after it were not started" in json.loads(out)["error"]["message"]
    assert [one["outcome"] for one in json.loads(out)["outcomes"]] == ["done", "not-started"]
    gpus = machine.show()["gpus"]
    assert len(gpus[0]["instances"]) == 1 and gpus[1]["mig"]["current"] == 0
