# SPDX-License-Identifier: Apache-2.0
"""inventory --fragmentation: what the arrangement of a node costs, and the fewest moves that help."""
import re

import pytest

LAYOUT = """version: v1
mig-configs:
  x:
    - {devices: [0], mig-enabled: true, mig-devices: {"1g.10gb": 1}}
    - {devices: [1], mig-enabled: true, mig-devices: {"2g.20gb": 1, "3g.40gb": 1}}
    - {devices: [2], mig-enabled: true, mig-devices: {"1g.10gb": 7}}
    - {devices: [3], mig-enabled: true, mig-devices: {"3g.40gb": 2}}
"""


@pytest.fixture
def machine(bulkhead, node, tmp_path):
    made = node("h100x8")
    (tmp_path / "layout.yaml").write_text(LAYOUT)
    bulkhead("apply", "-f", tmp_path / "layout.yaml")
    return made


def read(bulkhead):
    boards = bulkhead("inventory", "--fragmentation", "--json").json["fragmentation"]
    assert len(boards) == 1
    return boards[0]


def row(board, name):
    return next(one for one in board["profiles"] if one["name"] == name)


def test_the_report_counts_what_could_be_added_and_what_is_stranded(bulkhead, machine):
    before = machine.show()["changing_calls"]
    board = read(bulkhead)
    assert machine.show()["changing_calls"] == before
    assert board["model"] == "h100-sxm5-80gb"
    assert [gpu["counted"] for gpu in board["gpus"]] == [True] * 4 + [False] * 4
    assert board["gpus"][4]["free_units"] is None and board["gpus"][4]["stranded"] is None
    assert board["free_units"] == 10
    assert board["stranded"]["compute_slices"] == 1
    assert board["gpus"][2]["stranded"] == {"units": [7], "compute_slices": 0}
    assert board["gpus"][3]["stranded"] == {"units": [], "compute_slices": 1}
    whole = row(board, "7g.80gb")
    assert (whole["now"], whole["after_moving_idle"], whole["after_repack"], whole["lost"]) == (0, 1, 1, 1)
    assert row(board, "2g.20gb")["lost"] == 0


def test_the_moves_that_are_named_make_the_room_that_is_promised(bulkhead, machine):
    repack = read(bulkhead)["repack"]
    assert repack["profile"] == "7g.80gb" and repack["outcome"] == "found"
    assert (repack["now"], repack["reached"], repack["minimal"], repack["one_by_one"]) == (0, 1, True, True)
    assert len(repack["moves"]) == 1
    move = repack["moves"][0]
    inventory = bulkhead("inventory", "--json").json
    assert "fragmentation" not in inventory
    source = inventory["gpus"][move["from"]["gpu"]]
    assert source["uuid"] == move["from"]["uuid"]
    there = [one for one in source["instances"] if one["start"] == move["from"]["start"]]
    assert [one["profile"] for one in there] == [move["profile"]] and [one["uuid"] for one in there] == move["ends"]
    target = inventory["gpus"][move["to"]["gpu"]]
    for one in target["instances"]:
        assert one["start"] + one["size"] <= move["to"]["start"] or move["to"]["start"] + move["size"] <= one["start"]
    text = bulkhead("inventory", "--fragmentation").out
    assert re.search(r"1 move of idle instances makes room for 1 instead of 0 \(no fewer do\)", text), text
    assert "new UUIDs" in text and "not counted, MIG mode off: GPU 4-7" in text
    assert "stranded on GPU 3: 1 compute slice\n" in text and "stranded on GPU 2: unit 7\n" in text


def test_an_instance_in_use_stays_and_the_report_says_so(bulkhead, machine):
    for gpu in bulkhead("inventory", "--json").json["gpus"][:4]:
        for one in gpu["instances"]:
            machine.inject("busy", "gpu=%d" % gpu["index"], "start=%d" % one["start"],
                           "pid=%d" % (4000 + 10 * gpu["index"] + one["start"]))
    board = read(bulkhead)
    whole = row(board, "7g.80gb")
    assert (whole["now"], whole["after_moving_idle"], whole["after_repack"], whole["lost"]) == (0, 0, 1, 1)
    assert board["repack"]["moves"] == [] and board["repack"]["reached"] == 0
    assert "in use or not ours" in bulkhead("inventory", "--fragmentation").out


def test_instances_of_others_stay(bulkhead, machine, tmp_path):
    bulkhead.env["BULKHEAD_STATE"] = str(tmp_path / "another-state")
    board = read(bulkhead)
    assert row(board, "7g.80gb")["after_moving_idle"] == 0
    assert board["repack"]["moves"] == []


def test_what_does_not_count_is_not_zero(bulkhead, node):
    node("h100x1")
    board = read(bulkhead)
    assert board["free_units"] is None and row(board, "7g.80gb")["now"] is None
    assert board["repack"] is None
    assert "not counted, MIG mode off: GPU 0" in bulkhead("inventory", "--fragmentation").out


def test_without_a_node_and_with_a_wrong_use_the_exit_status_says_so(bulkhead, node):
    assert bulkhead("inventory", "--fragmentation", "--json", exit=11).error["code"] == "no-driver"
    bulkhead("inventory", "--fragmentation=x", exit=2)
    assert bulkhead("plan", "--fragmentation", "-f", "x", exit=2).err
    machine = node("h100x1")
    machine.inject("fault", "call=nvmlDeviceGetMigMode", "error=NVML_ERROR_UNKNOWN")
    failed = bulkhead("inventory", "--fragmentation", "--json", exit=1)
    assert failed.error["source"] == "nvml" and "fragmentation" not in failed.json
