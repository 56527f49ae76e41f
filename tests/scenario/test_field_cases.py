# SPDX-License-Identifier: Apache-2.0
"""What operators met in the field, each as the sentence that must be true here.

The node's own view (`sim show`) and its count of changing driver calls judge; the product's word does not.
"""
import itertools
import json
import subprocess

import pytest


def write(folder, text, name="config.yaml"):
    path = folder / name
    path.write_text("version: v1\nmig-configs:\n" + text)
    return path


def layout(folder, devices, profiles, name="wanted"):
    """A file with one configuration: MIG on, these profiles and counts, in this order of keys."""
    body = ", ".join('"%s": %d' % pair for pair in profiles)
    return write(folder, "  %s:\n    - {devices: %s, mig-enabled: true, mig-devices: {%s}}\n" % (name, devices, body))


def placed(gpu):
    return sorted((i["profile"], i["start"]) for i in gpu["instances"])


def test_f01_any_order_of_keys_gives_the_same_plan_and_applies(bulkhead, node, tmp_path):
    profiles = [("1g.5gb", 2), ("2g.10gb", 1), ("3g.20gb", 1)]
    seen = []
    for order in itertools.permutations(profiles):
        machine = node("a100x2-40gb")
        file = layout(tmp_path, "[0]", order)
        bulkhead("apply", "-f", file, env={"BULKHEAD_STATE": machine.dir + ".state"})
        gpu = machine.show()["gpus"][0]
        assert len(gpu["instances"]) == 4
        seen.append(placed(gpu))
    assert all(one == seen[0] for one in seen), seen


def test_f01_what_cannot_be_placed_is_named_with_the_free_units_and_nothing_is_touched(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    file = layout(tmp_path, "[0]", [("3g.20gb", 2), ("1g.5gb", 1)])
    error = bulkhead("apply", "-f", file, "--json", exit=3).error
    assert error["code"] == "does-not-fit"
    assert "one 1g.5gb is left over and the free units are: none" in error["message"]
    assert machine.show()["changing_calls"] == 0


def test_f02_a_profile_of_the_sibling_board_is_refused_before_the_mode_is_switched(bulkhead, node, tmp_path):
    machine = node("h100x1")
    file = layout(tmp_path, "all", [("1g.5gb", 7)])
    error = bulkhead("apply", "-f", file, "--json", exit=3).error
    assert error["code"] == "profile-not-offered"
    assert "GPU 0 (NVIDIA H100 80GB HBM3) does not offer 1g.5gb" in error["message"]
    for offered in ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"):
        assert offered in error["message"]
    assert "1g.10gb" in error["next"]
    shown = machine.show()
    assert shown["changing_calls"] == 0 and shown["gpus"][0]["mig"]["current"] == 0


def test_f02_on_ampere_with_mig_off_the_catalogue_answers_and_the_sibling_profile_is_refused(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    error = bulkhead("apply", "-f", layout(tmp_path, "all", [("3g.40gb", 1)]), "--json", exit=3).error
    assert error["code"] == "profile-not-offered" and "3g.20gb" in error["next"]
    assert machine.show()["changing_calls"] == 0


def test_f05_indexes_beyond_the_node_are_named_before_any_change(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    file = write(tmp_path, "  c:\n    - {devices: [0,1,2,3], mig-enabled: false}\n"
                           "    - {devices: [7], mig-enabled: true, mig-devices: {\"1g.5gb\": 7}}\n")
    error = bulkhead("apply", "-f", file, "--json", exit=3).error
    assert error["code"] == "no-such-gpu"
    assert "GPU 2-3, 7" in error["message"] and "0-1" in error["message"]
    assert machine.show()["changing_calls"] == 0


def test_f08_a_create_that_reports_success_and_creates_nothing_is_not_applied(bulkhead, node, tmp_path):
    machine = node("h100x1")
    machine.inject("fault", "call=nvmlDeviceCreateGpuInstanceWithPlacement", "error=silent")
    file = layout(tmp_path, "[0]", [("1g.10gb", 4)])
    answer = bulkhead("apply", "-f", file, "--json", exit=1)
    assert answer.error["code"] == "not-applied"
    assert "wanted 4 x 1g.10gb, found 0" in answer.error["message"]
    shown = machine.show()
    assert shown["gpus"][0]["instances"] == [] and shown["gpus"][0]["mig"]["current"] == 0  # taken back whole
    bulkhead("assert", "-f", file, exit=10)


@pytest.mark.parametrize("call", ["nvmlGpuInstanceCreateComputeInstanceWithPlacement", "nvmlGpuInstanceDestroy",
                                  "nvmlComputeInstanceDestroy", "nvmlDeviceSetMigMode"])
def test_f08_no_changing_call_is_believed_without_reading_back(call, bulkhead, node, tmp_path):
    machine = node("h100x1")
    if call != "nvmlDeviceSetMigMode":
        bulkhead("apply", "-f", layout(tmp_path, "[0]", [("3g.40gb", 1)]))
    old = placed(machine.show()["gpus"][0])
    machine.inject("fault", "call=" + call, "error=silent")
    error = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("7g.80gb", 1)]), "--json", exit=(1, 7)).error
    shown = machine.show()["gpus"][0]
    assert error["code"] in ("not-applied", "partial")
    assert ("7g.80gb", 0) not in placed(shown) or error["code"] == "partial"
    machine.inject("clear")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("3g.40gb", 1)]))
    assert len(placed(machine.show()["gpus"][0])) == 1 and (old == [] or old[0][0] == "3g.40gb")


def test_f14_a_compute_instance_that_fails_is_rolled_back_inner_first_with_a_record(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("4g.20gb", 1)]))
    start = placed(machine.show()["gpus"][0])
    machine.inject("fault", "call=nvmlGpuInstanceCreateComputeInstanceWithPlacement", "nth=2",
                   "error=NVML_ERROR_INSUFFICIENT_RESOURCES")
    answer = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("2g.10gb", 3)]), "--json", exit=1)
    assert answer.error["code"] == "not-applied" and answer.error["source"] == "nvml" and answer.error["native"] == 23
    assert placed(machine.show()["gpus"][0]) == start
    run = bulkhead("status", "--json").json["run"]
    assert run["state"] == "rolled-back" and "compute instance" in run["note"]
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("2g.10gb", 3)]))
    assert len(machine.show()["gpus"][0]["instances"]) == 3


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["nvmlDeviceCreateGpuInstanceWithPlacement",
                                  "nvmlGpuInstanceCreateComputeInstanceWithPlacement"])
def test_f14_a_worker_that_dies_between_the_two_creates_costs_nothing(call, when, bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    machine.inject("fault", "call=" + call, "nth=1", "error=kill-" + when)
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("2g.10gb", 3)]), exit=(0, 1, 7))
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("2g.10gb", 3)]))
    assert [p for p, _ in placed(machine.show()["gpus"][0])] == ["2g.10gb"] * 3


def test_f14_if_the_way_back_is_barred_what_is_left_is_said_and_the_next_run_goes_on(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    machine.inject("fault", "call=nvmlGpuInstanceCreateComputeInstanceWithPlacement", "nth=2",
                   "error=NVML_ERROR_INSUFFICIENT_RESOURCES")
    machine.inject("fault", "call=nvmlGpuInstanceDestroy", "error=NVML_ERROR_UNKNOWN")
    error = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("2g.10gb", 3)]), "--json", exit=7).error
    assert error["code"] == "partial" and "still stand" in error["message"] and error["next"]
    assert bulkhead("status", "--json").json["run"]["state"] == "open"
    machine.inject("clear")
    answer = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("2g.10gb", 3)]), "--json").json
    assert [one["outcome"] for one in answer["resumed"]] == ["undone"]
    assert [p for p, _ in placed(machine.show()["gpus"][0])] == ["2g.10gb"] * 3


def busy(machine, gpu, start):
    machine.inject("busy", "gpu=%d" % gpu, "start=%d" % start, "pid=4242")
    return next(i["uuid"] for i in machine.show()["gpus"][gpu]["instances"] if i["start"] == start)


def test_f15_a_slice_is_added_beside_a_busy_one_which_keeps_its_uuid(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("1g.5gb", 1)]))
    start = machine.show()["gpus"][0]["instances"][0]["start"]
    uuid = busy(machine, 0, start)
    before = machine.show()["changing_calls"]
    plan = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("1g.5gb", 2)]), "--json").json
    assert plan["operations"] == 1
    shown = machine.show()
    assert uuid in [i["uuid"] for i in shown["gpus"][0]["instances"]] and len(shown["gpus"][0]["instances"]) == 2
    assert shown["changing_calls"] - before == 2  # one GPU instance, one compute instance, no more


def test_f15_a_layout_in_conflict_with_a_busy_instance_names_it_and_its_holder(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("1g.5gb", 2)]))
    start = machine.show()["gpus"][0]["instances"][0]["start"]
    uuid = busy(machine, 0, start)
    before = machine.show()["changing_calls"]
    error = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("4g.20gb", 1), ("3g.20gb", 1)]), "--json", exit=4).error
    assert error["code"] == "in-use"
    assert "blocked by instance 1g.5gb at %d, used by pid 4242" % start in error["message"]
    assert error["holders"][0]["pid"] == 4242 and error["next"]
    shown = machine.show()
    assert shown["changing_calls"] == before and uuid in [i["uuid"] for i in shown["gpus"][0]["instances"]]


def test_f16_a_process_that_holds_the_gpu_is_named_and_the_mode_is_not_switched(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    machine.inject("holder", "gpu=0", "kind=process", "pid=4243", "name=trainer")
    error = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("1g.5gb", 1)]), "--json", exit=4).error
    assert error["code"] == "in-use" and "held by process trainer (pid 4243)" in error["message"]
    assert error["holders"] == [{"kind": "process", "pid": 4243, "name": "trainer", "tenant": None}]
    assert machine.show()["changing_calls"] == 0


def test_f16_a_switch_refused_because_of_a_hidden_holder_is_withdrawn_not_left_pending(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    machine.inject("holder", "gpu=0", "kind=module", "name=nvidia_drm")
    error = bulkhead("apply", "-f", layout(tmp_path, "[0]", [("1g.5gb", 1)]), "--json", exit=4).error
    assert error["code"] == "in-use" and error["source"] == "nvml"
    shown = machine.show()["gpus"][0]
    assert shown["mig"]["current"] == 0 and shown["mig"]["pending"] == 0 and shown["instances"] == []
    assert bulkhead("status", "--json").json["run"]["state"] == "rolled-back"
    machine.inject("release", "gpu=0")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("1g.5gb", 1)]))


def test_f03_gpus_the_file_does_not_mention_are_listed_and_left_as_found(bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    file = layout(tmp_path, "[1]", [("1g.5gb", 1)])
    plan = bulkhead("plan", "-f", file)
    assert "not in this configuration, left as found (MIG off, 0 instances)" in plan.out
    gpus = bulkhead("plan", "-f", file, "--json").json["gpus"]
    assert gpus[0]["in_scope"] is False
    assert gpus[1]["mig"] == {"current": "disabled", "pending": "disabled", "wanted": "enabled"}  # as it is, not as it will be
    bulkhead("plan", "-f", file, "--strict", exit=10)
    bulkhead("apply", "-f", file)
    assert machine.show()["gpus"][0]["mig"]["current"] == 0


def test_applying_again_makes_no_changing_call_and_says_so(bulkhead, node, tmp_path):
    for name, profiles in (("h100x1", [("1g.10gb", 2), ("2g.20gb", 1), ("3g.40gb", 1)]),
                           ("a100x2-40gb", [("1c.3g.20gb", 3), ("2c.4g.20gb", 1)])):
        machine = node(name)
        state = {"BULKHEAD_STATE": machine.dir + ".state"}
        file = layout(tmp_path, "all", profiles)
        assert bulkhead("apply", "-f", file, "--json", env=state).json["changed"] is True
        before = machine.show()["changing_calls"]
        again = bulkhead("apply", "-f", file, "--json", env=state).json
        assert again["changed"] is False and again["operations"] == 0
        assert machine.show()["changing_calls"] == before
        assert bulkhead("plan", "-f", file, "--check", "--json", env=state).json["changed"] is False
        assert bulkhead("assert", "-f", file, "--json", env=state).json == {"holds": True, "differences": []}


def test_a_foreign_instance_stays_and_one_in_the_way_is_named(bulkhead, node, tmp_path):
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, "all", [("1g.10gb", 1)]), env={"BULKHEAD_STATE": machine.dir + ".other"})
    theirs = machine.show()["gpus"][0]["instances"][0]["uuid"]
    bulkhead("apply", "-f", layout(tmp_path, "all", [("3g.40gb", 1)]))
    shown = machine.show()
    assert theirs in [i["uuid"] for i in shown["gpus"][0]["instances"]] and len(shown["gpus"][0]["instances"]) == 2
    error = bulkhead("apply", "-f", layout(tmp_path, "all", [("7g.80gb", 1)]), "--json", exit=4).error
    assert error["code"] == "foreign" and error["holders"][0]["kind"] == "instance"
    assert machine.show()["changing_calls"] == shown["changing_calls"]
    error = bulkhead("apply", "-f", write(tmp_path, "  off:\n    - {devices: all, mig-enabled: false}\n"), "--json", exit=4).error
    assert error["code"] == "foreign"


def test_mig_off_destroys_what_is_ours_and_switches(bulkhead, node, tmp_path):
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, "all", [("1g.10gb", 7)]))
    bulkhead("apply", "-f", write(tmp_path, "  off:\n    - {devices: all, mig-enabled: false}\n"))
    gpu = machine.show()["gpus"][0]
    assert gpu["mig"]["current"] == 0 and gpu["instances"] == []


def test_after_a_reboot_the_layout_comes_back_on_both_generations(bulkhead, node, tmp_path):
    for name, profile, mode_after in (("h100x1", "3g.40gb", 0), ("a100x2-40gb", "3g.20gb", 1)):
        machine = node(name)
        state = {"BULKHEAD_STATE": machine.dir + ".state"}
        file = layout(tmp_path, "all", [(profile, 2)])
        bulkhead("apply", "-f", file, env=state)
        machine.reboot()
        gpu = machine.show()["gpus"][0]
        assert gpu["instances"] == [] and gpu["mig"]["current"] == mode_after
        assert bulkhead("status", "--json", env=state).json["drift"] is True
        bulkhead("apply", "-f", file, env=state)
        assert placed(machine.show()["gpus"][0]) == [(profile, 0), (profile, 4)]
        assert bulkhead("status", "--json", env=state).json["drift"] is False


def test_an_interrupted_run_does_not_outlive_a_reboot(bulkhead, node, tmp_path):
    machine = node("h100x1")
    machine.inject("fault", "call=nvmlGpuInstanceCreateComputeInstanceWithPlacement", "error=NVML_ERROR_UNKNOWN")
    machine.inject("fault", "call=nvmlGpuInstanceDestroy", "error=NVML_ERROR_UNKNOWN")
    file = layout(tmp_path, "all", [("3g.40gb", 2)])
    bulkhead("apply", "-f", file, exit=7)
    machine.reboot()
    machine.inject("clear")
    bulkhead("apply", "-f", file)
    assert placed(machine.show()["gpus"][0]) == [("3g.40gb", 0), ("3g.40gb", 4)]


def test_every_shipped_configuration_is_applied_or_refused_with_nothing_touched(bulkhead, node, tmp_path, mig_configs):
    """The expectation is computed here from the board files, not by the product."""
    yaml = pytest.importorskip("yaml")
    path = mig_configs + "/mig-parted-config-default.yaml"
    with open(path, encoding="utf-8") as file:
        configs = yaml.safe_load(file)["mig-configs"]
    applied = {}
    for name, slug, words in (("h100x1", "h100-sxm5-80gb", "0x233010DE"), ("a100x2-40gb", "a100-40gb", "0x20B010DE")):
        with open(__file__.rsplit("/tests/", 1)[0] + "/data/gpu-models/%s.json" % slug, encoding="utf-8") as file:
            offered = {p["name"]: p["max_instances"] for p in json.load(file)["gi_profiles"]}
        machine = node(name)
        state = {"BULKHEAD_STATE": machine.dir + ".state"}
        applied[name] = 0
        for config, entries in configs.items():
            wanted = None
            for entry in entries:
                filters = entry.get("device-filter", [])
                filters = [filters] if isinstance(filters, str) else filters
                if not filters or words.lower() in [f.lower() for f in filters]:
                    wanted = entry
            fits = wanted is not None and all(offered.get(p, 0) >= n for p, n in wanted.get("mig-devices", {}).items())
            before = machine.show()["changing_calls"]
            answer = bulkhead("apply", "-f", path, "--select", config, "--json", env=state, exit=0 if fits else 3)
            shown = machine.show()
            if not fits:
                assert shown["changing_calls"] == before, config
                assert answer.error["code"] in ("profile-not-offered", "no-such-gpu", "does-not-fit"), config
                continue
            applied[name] += 1
            for gpu in shown["gpus"]:
                assert gpu["mig"]["current"] == int(wanted["mig-enabled"]), config
                found = {}
                for one in gpu["instances"]:
                    found[one["profile"]] = found.get(one["profile"], 0) + 1
                assert found == wanted.get("mig-devices", {}), config
            assert bulkhead("assert", "-f", path, "--select", config, "--json", env=state).json["holds"] is True
    print(applied)
    assert applied["h100x1"] >= 8 and applied["a100x2-40gb"] >= 8


@pytest.mark.heavy
def test_an_instance_put_in_the_place_of_ours_is_foreign_even_before_it_has_compute_instances(bulkhead, node, tmp_path,
                                                                                              pynvml):
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, "all", [("1g.10gb", 2)]))
    ours = machine.show()["gpus"][0]["instances"]
    # a stranger takes our first one away and makes one of his own there
    code = ("import pynvml as n, ctypes as c\nn.nvmlInit()\nd = n.nvmlDeviceGetHandleByIndex(0)\n"
            "lib = n.nvmlLib\nids = (c.c_void_p * 8)()\nk = c.c_uint()\n"
            "assert lib.nvmlDeviceGetGpuInstances(d, 19, ids, c.byref(k)) == 0 and k.value == 2\n"
            "for i in range(2):\n"
            "    cis = (c.c_void_p * 8)(); m = c.c_uint()\n"
            "    assert lib.nvmlGpuInstanceGetComputeInstances(c.c_void_p(ids[i]), 0, cis, c.byref(m)) == 0\n"
            "    assert lib.nvmlComputeInstanceDestroy(c.c_void_p(cis[0])) == 0\n"
            "    assert lib.nvmlGpuInstanceDestroy(c.c_void_p(ids[i])) == 0\n"
            "class P(c.Structure):\n    _fields_ = [('start', c.c_uint), ('size', c.c_uint)]\n"
            "gi = c.c_void_p()\n"
            "assert lib.nvmlDeviceCreateGpuInstanceWithPlacement(d, 19, c.byref(P(%d, 1)), c.byref(gi)) == 0\n"
            % ours[0]["start"])
    subprocess.run(["/usr/bin/python3", "-c", code], check=True, env=dict(machine.nvml_env, PYTHONPATH=pynvml))
    before = machine.show()["changing_calls"]
    assert bulkhead("status", "--json").json["gpus"][0]["foreign"][0]["start"] == ours[0]["start"]
    assert "|!1g.10gb" in bulkhead("status").out
    error = bulkhead("apply", "-f", layout(tmp_path, "all", [("7g.80gb", 1)]), "--json", exit=4).error
    assert error["code"] == "foreign" and machine.show()["changing_calls"] == before


@pytest.mark.parametrize("kind", ["daemon", "agent", "module", "unknown"])
def test_a_holder_that_no_list_shows_costs_no_instance_in_a_change_of_layout(kind, bulkhead, node, tmp_path):
    machine = node("a100x2-40gb")
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("1g.5gb", 7)]))
    machine.inject("holder", "gpu=0", "kind=" + kind)
    bulkhead("apply", "-f", layout(tmp_path, "[0]", [("3g.20gb", 2)]))  # the board is never empty on the way
    assert placed(machine.show()["gpus"][0]) == [("3g.20gb", 0), ("3g.20gb", 4)]
    # switching off wants it empty: refused by the driver, and what was there comes back where it can
    off = write(tmp_path, "  off:\n    - {devices: [0], mig-enabled: false}\n")
    status = bulkhead("apply", "-f", off, "--json", exit=(1, 7))
    if kind in ("daemon", "agent"):
        assert status.exit == 1 and placed(machine.show()["gpus"][0]) == [("3g.20gb", 0), ("3g.20gb", 4)]
    else:
        assert status.exit == 7 and "steps of this change still stand (destroy " in status.error["message"]
        assert status.json["outcomes"][0]["outcome"] == "left"
        assert "destroy GPU instance 3g.20gb at 0" in status.json["outcomes"][0]["left"]
    machine.inject("release", "gpu=0")
    bulkhead("apply", "-f", off)


def test_what_a_refused_command_resumed_on_its_way_is_told(bulkhead, node, tmp_path):
    machine = node("h100x1")
    machine.inject("fault", "call=nvmlGpuInstanceCreateComputeInstanceWithPlacement", "error=NVML_ERROR_UNKNOWN")
    machine.inject("fault", "call=nvmlGpuInstanceDestroy", "error=NVML_ERROR_UNKNOWN")
    bulkhead("apply", "-f", layout(tmp_path, "all", [("3g.40gb", 1)]), exit=7)
    machine.inject("clear")
    refused = bulkhead("apply", "-f", layout(tmp_path, "all", [("1g.5gb", 1)]), "--json", exit=3)
    assert [one["outcome"] for one in refused.json["resumed"]] == ["undone"]
    assert refused.error["code"] == "profile-not-offered"


def test_every_mark_and_holder_is_shown_on_boards_with_long_names(bulkhead, node, tmp_path):
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, "all", [("1g.10gb", 6), ("1g.10gb+me", 1)]))
    for one in machine.show()["gpus"][0]["instances"]:
        machine.inject("busy", "gpu=0", "start=%d" % one["start"], "pid=%d" % (5000 + one["start"]))
    said = bulkhead("status").out
    assert said.count("|*1g.10gb") == 7
    for start in range(7):
        assert "at %d: in use by process %d" % (start, 5000 + start) in said
    error = bulkhead("apply", "-f", write(tmp_path, "  off:\n    - {devices: all, mig-enabled: false}\n"), "--json", exit=4).error
    assert sorted(h["pid"] for h in error["holders"]) == list(range(5000, 5007))


def test_an_answer_that_could_not_be_printed_is_no_success(bulkhead, node):
    node("h100x1")
    with open("/dev/full", "w", encoding="ascii") as full:
        for extra in ([], ["--json"]):
            done = subprocess.run([bulkhead.program, "status", *extra], stdout=full, stderr=subprocess.PIPE, check=False,
                                  env=bulkhead.env)
            assert done.returncode == 1 and b"could not be printed" in done.stderr
    for closed in (0, 1, 2):
        done = subprocess.run(["sh", "-c", 'exec %d>&-; exec "$0" inventory --json' % closed, bulkhead.program],
                              capture_output=True, check=False, env=bulkhead.env)
        assert done.returncode == (1 if closed == 1 else 0), done


def test_a_live_change_is_told_from_an_interrupted_one(bulkhead, node, tmp_path):
    machine = node("h100x1")
    create = "nvmlDeviceCreateGpuInstanceWithPlacement"
    machine.inject("delay", "call=" + create, "nth=1", "ms=2000")
    first = bulkhead.start("apply", "-f", layout(tmp_path, "all", [("3g.40gb", 1)]), "--json")
    while machine.show()["calls"].get(create, 0) == 0:
        assert first.poll() is None
    said = bulkhead("status", "--json").json
    assert said["writer"] == {"pid": first.pid, "role": "apply"} and said["run_open"] is True
    assert "apply is at work (pid %d)" % first.pid in bulkhead("status").out
    first.communicate(timeout=60)
    assert bulkhead("status", "--json").json["writer"] is None


@pytest.mark.heavy
def test_the_last_reading_finds_what_somebody_else_took_away_after_its_step(bulkhead, node, tmp_path):
    machine = node("h100x1")
    create = "nvmlGpuInstanceCreateComputeInstanceWithPlacement"
    # the third of three is slow; meanwhile a stranger takes the first one away
    machine.inject("delay", "call=" + create, "nth=3", "ms=1500", "detached=1")
    command = bulkhead.start("apply", "-f", layout(tmp_path, "all", [("2g.20gb", 3)]), "--json")
    while machine.show()["calls"].get(create, 0) < 3:
        assert command.poll() is None
    code = """
import ctypes as c, os
lib = c.CDLL(os.environ["LD_LIBRARY_PATH"] + "/libnvidia-ml.so.1")
assert lib.nvmlInit_v2() == 0
d = c.c_void_p(); ids = (c.c_void_p * 8)(); n = c.c_uint(); cis = (c.c_void_p * 8)(); m = c.c_uint()
assert lib.nvmlDeviceGetHandleByIndex_v2(0, c.byref(d)) == 0
assert lib.nvmlDeviceGetGpuInstances(d, 14, ids, c.byref(n)) == 0
for i in range(n.value):
    if lib.nvmlGpuInstanceGetComputeInstances(c.c_void_p(ids[i]), 1, cis, c.byref(m)) == 0 and m.value:
        assert lib.nvmlComputeInstanceDestroy(c.c_void_p(cis[0])) == 0
        assert lib.nvmlGpuInstanceDestroy(c.c_void_p(ids[i])) == 0
        break
"""
    subprocess.run(["/usr/bin/python3", "-c", code], check=True, env=machine.nvml_env)
    out, _ = command.communicate(timeout=60)
    error = json.loads(out)["error"]
    assert command.returncode == 1 and error["code"] == "not-applied"
    assert "wanted 3 x 2g.20gb, found 2" in error["message"] and "somebody else changed it" in error["message"]
