# SPDX-License-Identifier: Apache-2.0
"""What an adversary tried: strangers in the middle of a change, answers that cannot be had, odd names and places."""
import os
import shutil
import subprocess
import sys
import time

import pytest

CREATE_GI = "nvmlDeviceCreateGpuInstanceWithPlacement"
CREATE_CI = "nvmlGpuInstanceCreateComputeInstanceWithPlacement"
DESTROY_CI = "nvmlComputeInstanceDestroy"

STRANGER = """
import ctypes as c, os, sys
lib = c.CDLL(os.environ["LD_LIBRARY_PATH"] + "/libnvidia-ml.so.1")
class P(c.Structure):
    _fields_ = [("start", c.c_uint), ("size", c.c_uint)]
class I(c.Structure):
    _fields_ = [("device", c.c_void_p), ("id", c.c_uint), ("profile", c.c_uint), ("at", P)]
assert lib.nvmlInit_v2() == 0
d = c.c_void_p()
assert lib.nvmlDeviceGetHandleByIndex_v2(0, c.byref(d)) == 0
def destroy(start):
    ids = (c.c_void_p * 8)(); n = c.c_uint(); info = I(); cis = (c.c_void_p * 8)(); m = c.c_uint()
    assert lib.nvmlDeviceGetGpuInstances(d, 19, ids, c.byref(n)) == 0
    for i in range(n.value):
        gi = c.c_void_p(ids[i])
        assert lib.nvmlGpuInstanceGetInfo(gi, c.byref(info)) == 0
        if info.at.start != start: continue
        assert lib.nvmlGpuInstanceGetComputeInstances(gi, 0, cis, c.byref(m)) == 0
        for k in range(m.value): assert lib.nvmlComputeInstanceDestroy(c.c_void_p(cis[k])) == 0
        assert lib.nvmlGpuInstanceDestroy(gi) == 0
def create(start, with_ci):
    gi = c.c_void_p(); ci = c.c_void_p()
    assert lib.nvmlDeviceCreateGpuInstanceWithPlacement(d, 19, c.byref(P(start, 1)), c.byref(gi)) == 0
    if with_ci: assert lib.nvmlGpuInstanceCreateComputeInstance(gi, 0, c.byref(ci)) == 0
for word in sys.argv[1:]:
    what, start = word.split("@")
    if what == "swap": destroy(int(start)); create(int(start), True)
    if what == "bare": create(int(start), False)
"""


def layout(folder, devices, profiles, name="config.yaml"):
    path = folder / name
    body = ", ".join('"%s": %d' % pair for pair in profiles.items())
    path.write_text("version: v1\nmig-configs:\n  c:\n    - {devices: %s, mig-enabled: true, mig-devices: {%s}}\n" %
                    (devices, body))
    return path


def stranger(machine, *words):
    subprocess.run(["/usr/bin/python3", "-c", STRANGER, *words], check=True, env=machine.nvml_env)


def uuids(machine, gpu=0):
    return {i["start"]: i["uuid"] for i in machine.show()["gpus"][gpu]["instances"]}


def wait_for_call(machine, call, count, command):
    until = time.monotonic() + 20
    while machine.show()["calls"].get(call, 0) < count:
        assert time.monotonic() < until and command.poll() is None
        time.sleep(0.01)


@pytest.mark.heavy
@pytest.mark.parametrize("death", [False, True], ids=["in_one_life", "after_a_death"])
def test_devices_that_others_put_in_the_place_of_ours_meanwhile_are_not_destroyed(death, bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    small, whole = layout(tmp_path, "[0]", {"1g.5gb": 3}), layout(tmp_path, "[0]", {"7g.40gb": 1}, "whole.yaml")
    bulkhead("apply", "-f", small)
    starts = sorted(uuids(machine))
    counted = machine.show()["calls"].get(DESTROY_CI, 0)
    machine.inject("delay", "call=" + DESTROY_CI, "nth=1", "ms=1500")
    command = bulkhead.start("apply", "-f", whole, "--json")
    wait_for_call(machine, DESTROY_CI, counted + 1, command)
    if death:
        command.kill()
        command.communicate()
        machine.inject("clear")
    stranger(machine, *("swap@%d" % start for start in starts[1:]))
    theirs = [uuids(machine)[start] for start in starts[1:]]
    if not death:
        command.communicate(timeout=60)
        assert command.returncode in (1, 4, 7)
    bulkhead("apply", "-f", whole, exit=(4, 7))
    assert set(theirs) <= set(uuids(machine).values())


@pytest.mark.heavy
def test_a_create_that_the_driver_refused_is_not_ours_though_the_same_is_there(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", {"2g.10gb": 1}))
    file = layout(tmp_path, "[0]", {"2g.10gb": 1, "1g.5gb": 1})
    start = [s["start"] for s in bulkhead("plan", "-f", file, "--json").json["gpus"][0]["steps"] if s["op"] == "create-gi"][0]
    counted = machine.show()["calls"][CREATE_GI]
    machine.inject("delay", "call=" + CREATE_GI, "nth=1", "ms=1500")
    command = bulkhead.start("apply", "-f", file, "--json")
    wait_for_call(machine, CREATE_GI, counted + 1, command)
    stranger(machine, "bare@%d" % start)
    command.communicate(timeout=60)
    assert command.returncode == 1
    shown = machine.show()
    assert [s["start"] for s in bulkhead("status", "--json").json["gpus"][0]["foreign"]] == [start]
    bulkhead("apply", "-f", layout(tmp_path, "[0]", {"7g.40gb": 1}), exit=4)
    assert machine.show()["changing_calls"] == shown["changing_calls"]


@pytest.mark.parametrize("error", ["NVML_ERROR_NO_PERMISSION", "NVML_ERROR_UNKNOWN", "NVML_ERROR_NOT_SUPPORTED"])
def test_holders_that_cannot_be_read_are_not_nobody(error, bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    file = layout(tmp_path, "[0]", {"1g.5gb": 3})
    call = "call=nvmlDeviceGetComputeRunningProcesses_v3"
    machine.inject("fault", call, "error=" + error)
    assert bulkhead("apply", "-f", file, "--json", exit=4).error["holders"] == [
        {"kind": "unknown", "pid": None, "name": None, "tenant": None}]
    assert machine.show()["changing_calls"] == 0
    machine.inject("clear")
    bulkhead("apply", "-f", file)
    machine.inject("fault", call, "error=" + error)
    before = machine.show()["changing_calls"]
    said = bulkhead("apply", "-f", layout(tmp_path, "[0]", {"7g.40gb": 1}), "--json", exit=4).error
    assert said["code"] == "in-use" and "unknown is not nobody" in said["message"]
    assert machine.show()["changing_calls"] == before
    bulkhead("apply", "-f", layout(tmp_path, "[0]", {"1g.5gb": 4}))  # beside them, nobody is disturbed


def test_a_compute_part_that_is_not_offered_is_refused_before_anything_goes(bulkhead, node, tmp_path):
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, "all", {"1c.7g.80gb": 3}))
    before = machine.show()["changing_calls"]
    said = bulkhead("apply", "-f", layout(tmp_path, "all", {"1c.3g.40gb": 2, "3c.4g.40gb": 1}), "--json", exit=3).error
    assert said["code"] == "profile-not-offered"
    assert "4g.40gb is not offered with a compute instance of 3 slices, only of 1, 2, 4" in said["message"]
    assert machine.show()["changing_calls"] == before


def test_compute_instances_that_are_there_do_not_bar_those_wanted(bulkhead, node, tmp_path):
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, "all", {"1c.3g.40gb": 3}))
    bulkhead("apply", "-f", layout(tmp_path, "all", {"2c.3g.40gb": 1, "1c.3g.40gb": 1}))
    found = sorted((i["ci_start"], i["ci_size"]) for i in machine.show()["gpus"][0]["instances"])
    assert found == [(0, 2), (2, 1)]


def test_names_of_any_bytes_and_any_length_still_give_one_document(bulkhead, node, tmp_path):
    machine = node("h100x1")
    folder = os.fsencode(tmp_path)
    good = layout(tmp_path, "all", {"3g.40gb": 1})
    for name in (b"\xff\xfe.yaml", "é".encode() * 110 + b".yaml", "😀".encode() * 60 + b".yaml", b"x" * 200 + b".yaml"):
        path = os.path.join(folder, name)
        shutil.copy(good, path)
        for command in ("plan", "apply", "assert"):
            assert bulkhead(command, "-f", os.fsdecode(path), "--json").json
        assert bulkhead("status", "--json").json["generation"]["number"] >= 1
    long_name = "é" * 100
    good.write_text(good.read_text().replace("  c:", "  %s:" % long_name))
    bulkhead("apply", "-f", good, "--json")
    assert bulkhead("status", "--json").json["generation"]["select"].startswith("é" * 20)
    for arguments in (["--driver", "\udcff"], ["--\udcff"]):
        assert bulkhead("status", *arguments, "--json", exit=(1, 2, 8)).error["message"]
    assert bulkhead("nosuch", "--json", exit=2).error["code"] == "usage"
    assert machine.show()["gpus"][0]["instances"]


def left_open(bulkhead, machine, tmp_path):
    machine.inject("fault", "call=" + CREATE_CI, "nth=2", "error=NVML_ERROR_INSUFFICIENT_RESOURCES")
    machine.inject("fault", "call=" + DESTROY_CI, "error=NVML_ERROR_UNKNOWN")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", {"2g.10gb": 3}), exit=7)


def test_a_card_that_is_gone_does_not_block_the_node(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    left_open(bulkhead, machine, tmp_path)
    bulkhead("sim", "create", "a100x2-40gb", "--dir", machine.dir, "--seed", "99", "--force")
    answer = bulkhead("apply", "-f", layout(tmp_path, "[1]", {"1g.5gb": 1}), "--json").json
    assert [(one["outcome"], "not on this node any more" in one["reason"]) for one in answer["resumed"]] == [("abandoned", True)]
    assert bulkhead("apply", "-f", layout(tmp_path, "[0]", {"1g.5gb": 1}), "--json").json["resumed"] == []


def test_one_gpu_in_trouble_does_not_block_the_others_and_names_who_holds_it(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    left_open(bulkhead, machine, tmp_path)
    machine.inject("clear")
    start = min(uuids(machine))
    machine.inject("busy", "gpu=0", "start=%d" % start, "pid=4343")
    answer = bulkhead("apply", "-f", layout(tmp_path, "[1]", {"1g.5gb": 1}), "--json").json
    assert [one["outcome"] for one in answer["resumed"]] == ["left"]
    said = bulkhead("apply", "-f", layout(tmp_path, "[0]", {"1g.5gb": 1}), "--json", exit=7).error
    assert said["holders"][0]["pid"] == 4343 and said["next"]
    assert start in uuids(machine)
    machine.inject("release", "gpu=0")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", {"1g.5gb": 1}))


def test_a_state_directory_behind_a_link_is_as_good_as_any(bulkhead, node, tmp_path):
    node("h100x1")
    os.makedirs(tmp_path / "real" / "state")
    os.symlink(tmp_path / "real", tmp_path / "link")
    state = {"BULKHEAD_STATE": str(tmp_path / "link" / "state")}
    file = layout(tmp_path, "all", {"3g.40gb": 1})
    for command in (("apply", "-f", file), ("status",), ("plan", "-f", file)):
        bulkhead(*command, env=state)
    assert os.path.exists(tmp_path / "real" / "state" / "ledger.db")


def test_a_ledger_that_is_no_file_or_locked_is_told_and_nobody_hangs(bulkhead, node, tmp_path):
    node("h100x1")
    file = layout(tmp_path, "all", {"3g.40gb": 1})
    os.makedirs(bulkhead.state)
    os.mkfifo(os.path.join(bulkhead.state, "ledger.db"))
    for command in (("apply", "-f", file), ("status",), ("plan", "-f", file)):
        assert bulkhead(*command, "--json", exit=9, timeout=10).error["message"].endswith("is not a regular file")
    os.unlink(os.path.join(bulkhead.state, "ledger.db"))
    bulkhead("apply", "-f", file)
    code = ("import sqlite3, sys, time\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\nc.execute('PRAGMA "
            "locking_mode=EXCLUSIVE')\nc.execute('BEGIN EXCLUSIVE')\nprint('locked', flush=True)\ntime.sleep(60)\n")
    locker = subprocess.Popen([sys.executable, "-c", code, os.path.join(bulkhead.state, "ledger.db")], stdout=subprocess.PIPE)
    try:
        assert locker.stdout.readline() == b"locked\n"
        said = bulkhead("apply", "-f", file, "--json", exit=4).error
        assert said["code"] == "state-locked" and said["source"] == "sqlite" and "fuser" in said["next"]
    finally:
        locker.kill()
        locker.communicate()


def test_what_was_done_but_could_not_be_read_once_more_is_partly_done(bulkhead, node, tmp_path):
    machine = node("h100x1")
    file = layout(tmp_path, "all", {"3g.40gb": 1})
    machine.inject("fault", "call=nvmlDeviceGetCount_v2", "nth=2", "error=NVML_ERROR_UNKNOWN")
    said = bulkhead("apply", "-f", file, "--json", exit=7)
    assert said.error["code"] == "partial" and "the last reading failed" in said.error["message"] and "assert" in said.error["next"]
    assert said.json["outcomes"][0]["outcome"] == "done"
    bulkhead("assert", "-f", file)


@pytest.mark.parametrize("error", ["NVML_ERROR_NOT_FOUND", "NVML_ERROR_INSUFFICIENT_RESOURCES", "NVML_ERROR_INVALID_ARGUMENT"])
def test_odd_words_of_the_driver_at_the_first_call_are_not_applied(error, bulkhead, node, tmp_path):
    machine = node("h100x1")
    machine.inject("fault", "call=nvmlDeviceSetMigMode", "error=" + error)
    said = bulkhead("apply", "-f", layout(tmp_path, "all", {"3g.40gb": 1}), "--json", exit=1).error
    assert said["code"] == "not-applied" and said["source"] == "nvml" and said["next"]


def test_closed_standard_input_is_no_file_of_ours(bulkhead, node, tmp_path):
    node("h100x1")
    for command in ("plan", "apply"):
        done = subprocess.run(["sh", "-c", 'exec "$0" %s -f - --json <&-' % command, bulkhead.program], capture_output=True,
                              env=bulkhead.env, timeout=20, check=False)
        assert done.returncode == 2 and b"lock" not in done.stdout.replace(b"blocked", b"")
    for closed in ("1", "2", "1>&- 2"):
        subprocess.run(["sh", "-c", 'exec "$0" apply -f "$1" --json %s>&-' % closed, bulkhead.program,
                        layout(tmp_path, "all", {"3g.40gb": 1})], env=bulkhead.env, timeout=20, check=False)
        with open(os.path.join(bulkhead.state, "lock"), encoding="ascii") as file:
            assert file.read().startswith("pid=")


def test_a_worker_of_another_version_is_not_asked(bulkhead, build, node, tmp_path):
    machine = node("h100x1")
    folder = tmp_path / "mixed"
    os.makedirs(folder)
    shutil.copy(build.product("bulkhead"), folder)
    worker = folder / "bulkhead-worker"
    worker.write_text("#!/usr/bin/python3\nimport socket, time\ns = socket.socket(fileno=3)\ns.send(b'{\"hello\": \"driver\", "
                      "\"version\": \"9.9.9\", \"driver\": \"%s\"}')\ntime.sleep(20)\n" % machine.driver)
    worker.chmod(0o755)
    done = subprocess.run([folder / "bulkhead", "inventory", "--json"], capture_output=True, env=bulkhead.env, timeout=60,
                          check=False)
    assert done.returncode == 1 and b"another version" in done.stdout
