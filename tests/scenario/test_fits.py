# SPDX-License-Identifier: Apache-2.0
"""bulkhead fits: offline by the catalogue, and on a node beside what stands there."""
import itertools

import pytest

H100 = ("--model", "h100-sxm5-80gb")


def places(said):
    return [(p["gpu"], p["profile"], p["start"], p["size"]) for p in said["placements"]]


def layout(folder, devices):
    path = folder / "layout.yaml"
    path.write_text("version: v1\nmig-configs:\n  c:\n" + "".join(
        "    - {devices: [%d], mig-enabled: true, mig-devices: {%s}}\n" % row for row in devices), encoding="utf-8")
    return path


@pytest.mark.parametrize("wish,fits,where", [
    (["3g.40gb=1", "2g.20gb=2"], True, [(0, "2g.20gb", 0, 2), (0, "2g.20gb", 2, 2), (0, "3g.40gb", 4, 4)]),
    (["7g.80gb"], True, [(0, "7g.80gb", 0, 8)]),
    (["1g.10gb=8"], False, []),
    (["1g.20gb=4", "1g.10gb=1"], False, []),
    (["1g.10gb+me=2"], False, []),
    (["4g.40gb=1", "3g.40gb=1"], True, [(0, "4g.40gb", 0, 4), (0, "3g.40gb", 4, 4)]),
])
def test_a_wish_on_a_board_of_the_catalogue(wish, fits, where, bulkhead):
    for order in itertools.permutations(wish):
        said = bulkhead("fits", *H100, *order, "--json", exit=0 if fits else 3).json
        assert (said["fits"], said["model"], places(said)) == (fits, "h100-sxm5-80gb", where)
        assert said["gpus_needed"] == (1 if fits else 2)
        assert (said["certificate"] is None) == fits
        assert ("error" in said) != fits


def test_what_is_stranded_is_counted(bulkhead):
    said = bulkhead("fits", *H100, "1g.10gb=7", "--json").json
    assert said["stranded"] == {"memory_units": 1, "compute_slices": 0}
    said = bulkhead("fits", *H100, "3g.40gb=2", "--json").json
    assert said["stranded"] == {"memory_units": 0, "compute_slices": 1}


def test_beside_what_is_there_a_refusal_names_it_and_the_move_that_would_help(bulkhead):
    have = [word for at in ("1g.10gb@0", "1g.10gb@1", "1g.10gb@5") for word in ("--have", at)]
    said = bulkhead("fits", *H100, *have, "3g.40gb", "--json", exit=3).json
    assert said["certificate"] == {
        "rule": "places", "needs": 1, "has": 0,
        "text": "1 x 3g.40gb: needs 1 free halves (units 0-3 or 4-7), 0 exist; nearest are units 4-7, taken by 1g.10gb at 5 "
                "(idle)"}
    assert said["move"] == {"gpu": 0, "profile": "1g.10gb", "start": 5, "to_gpu": 0, "to_start": 2, "needs_consent": True}
    assert said["error"]["code"] == "does-not-fit"
    assert [row["profiles"] for row in said["alternatives"]] == [{"2g.20gb": 1}]
    text = bulkhead("fits", *H100, *have, "3g.40gb", exit=3)
    assert "one move would make room: 1g.10gb from 5 to 2 on GPU 0" in text.out
    assert "does not fit" not in text.out and text.err.startswith("bulkhead: 1 x 3g.40gb: needs")


def test_several_boards(bulkhead):
    said = bulkhead("fits", *H100, "--gpus", "2", "--have", "7g.80gb@0", "3g.40gb=2", "--json").json
    assert places(said) == [(1, "3g.40gb", 0, 4), (1, "3g.40gb", 4, 4)]
    said = bulkhead("fits", *H100, "--gpus", "2", "7g.80gb=3", "--json", exit=3).json
    assert said["gpus_needed"] == 3


@pytest.mark.parametrize("args,exit_status,code,message", [
    ([], 2, "usage", "nothing is asked for"),
    (["3g.40gb=0"], 2, "usage", "'3g.40gb=0': a count from 1 to 512 behind '=' is wanted"),
    (["3g.40gb=-1"], 2, "usage", "'3g.40gb=-1': a count from 1 to 512 behind '=' is wanted"),
    (["=1"], 2, "usage", "'=1': PROFILE=COUNT, as 3g.40gb=2, is wanted"),
    (["3G.40GB=1"], 2, "usage", "profile '3G.40GB': expected 'g.' or 'c.' at character 2, found 'G'"),
    (["3g=1"], 2, "usage", "profile '3g': expected 'g.' or 'c.' at character 2, found 'g'"),
    (["3g.40gb=1", "3g.40gb=1"], 2, "usage", "3g.40gb is asked for twice"),
    (["1g.10gb", "--have", "3g.40gb"], 2, "usage", "'3g.40gb': PROFILE@START, as 3g.40gb@4, is wanted"),
    (["1g.10gb", "--have", "3g.40gb@3"], 3, "does-not-fit", "--have '3g.40gb@3': 3g.40gb cannot stand at 3 on this board"),
    (["1g.10gb", "--have", "3g.40gb@4", "--have", "3g.40gb@4"], 3, "does-not-fit",
     "--have '3g.40gb@4' cannot stand beside those before it"),
    (["1g.10gb", "--have", "3g.20gb@4"], 3, "profile-not-offered", "--have '3g.20gb@4': h100-sxm5-80gb does not offer 3g.20gb"),
    (["1g.10gb", "--gpus", "65"], 2, "usage", "'65': a number of boards from 1 to 64 is wanted"),
])
def test_wrong_words(args, exit_status, code, message, bulkhead):
    error = bulkhead("fits", *H100, *args, "--json", exit=exit_status).error
    assert (error["code"], error["message"]) == (code, message)


def test_a_profile_of_another_board_comes_with_the_nearest_and_who_has_it(bulkhead):
    error = bulkhead("fits", *H100, "3g.20gb=1", "--json", exit=3).error
    assert error["code"] == "profile-not-offered"
    assert "offered by: a100-40gb" in error["message"]
    assert error["next"] == "use 3g.40gb, the nearest profile of this board with as much compute"


def test_a_board_whose_placements_nobody_knows_is_no_guess(bulkhead):
    error = bulkhead("fits", "--model", "rtx-pro-5000-blackwell-48gb", "1g.12gb", "--json", exit=(3, 9)).error
    assert error["code"] in ("unsupported", "profile-not-offered")


def test_on_a_node_what_stands_there_stays_and_who_holds_it_is_named(bulkhead, node, tmp_path):
    machine = node("h100x2")
    bulkhead("apply", "-f", layout(tmp_path, [(0, "1g.10gb: 1, 3g.40gb: 1"), (1, "7g.80gb: 1")]))
    before = machine.show()
    starts = {i["profile"]: i["start"] for i in before["gpus"][0]["instances"]}
    machine.inject("busy", "gpu=0", "start=%d" % starts["3g.40gb"], "pid=4242", "name=train")
    machine.inject("busy", "gpu=1", "start=0", "pid=4243", "name=infer")
    said = bulkhead("fits", "2g.20gb=1", "--json").json
    assert said["fits"] and said["placements"][0]["uuid"] == before["gpus"][0]["uuid"]
    said = bulkhead("fits", "7g.80gb=1", "--json", exit=3).json
    assert "taken by 7g.80gb at 0 (used by pid 4243 (infer))" in said["certificate"]["text"]
    assert said["move"] is None and said["gpus_needed"] == 3
    after = machine.show()
    assert after["changing_calls"] == before["changing_calls"]


def test_a_move_to_another_gpu_names_both(bulkhead):
    ask = (*H100, "--gpus", "2", "--have", "1g.10gb@0", "--have", "3g.40gb@4", "4g.40gb=2")
    move = bulkhead("fits", *ask, "--json", exit=3).json["move"]
    assert (move["profile"], move["gpu"], move["start"], move["to_gpu"]) == ("1g.10gb", 0, 0, 1)
    said = bulkhead("fits", *ask, exit=3)
    where = f"1g.10gb from 0 on GPU 0 to {move['to_start']} on GPU 1"
    assert f"one move would make room: {where}" in said.out and f"one move makes room: {where}" in said.err


def test_several_moves_are_pointed_to_only_where_something_can_be_moved(bulkhead, node, tmp_path):
    assert "--fragmentation" not in bulkhead("fits", *H100, "7g.80gb=2", exit=3).out
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, [(0, "7g.80gb: 1")]))
    assert "'inventory --fragmentation'" in bulkhead("fits", "1g.10gb", exit=3).out
    machine.inject("busy", "gpu=0", "start=0", "pid=4243", "name=infer")
    assert "--fragmentation" not in bulkhead("fits", "1g.10gb", exit=3).out


def test_a_need_that_does_not_fit_says_what_it_came_to(bulkhead):
    said = bulkhead("fits", *H100, "--want", "memory=20GiB,count=3", exit=3)
    assert "memory=20GiB,count=3: 3g.40gb, which has" in said.out and "known to have it" not in said.err


def test_gpus_with_mig_off_are_told_not_counted(bulkhead, node, tmp_path):
    node("h100x2")
    error = bulkhead("fits", "1g.10gb", "--json", exit=(3, 9)).error
    assert error["message"] == "no GPU of this node has MIG mode on"
    bulkhead("apply", "-f", layout(tmp_path, [(0, "7g.80gb: 1")]))
    said = bulkhead("fits", "1g.10gb", exit=3)
    assert "not counted: 1 GPU of this node with MIG mode off" in said.out
    assert "next: 1 GPU more like GPU 0 would do, and 1 of this node has MIG mode off" in said.err
    assert "MIG mode off: a layout" not in bulkhead("fits", "7g.80gb=2", exit=3).err  # two more are not there


@pytest.mark.parametrize("want,profile,memory", [
    ("memory=5GiB", "1g.10gb", 9984),       # a 1g.5gb has 4,864 MiB, whatever its name says
    ("memory=4864MiB", "1g.5gb", 4864),
    ("compute=40%", "3g.20gb", 20096),      # 42 of 98 SMs; 2g has 28
    ("memory=9GiB,compute=20%", "2g.10gb", 9984),
    ("profile=3g.20gb,count=2", "3g.20gb", 20096),
])
def test_a_need_is_answered_with_a_profile_of_true_capacity(want, profile, memory, bulkhead):
    said = bulkhead("fits", "--model", "a100-40gb", "--want", want, "--json").json
    assert (said["chosen"]["profile"], said["chosen"]["memory_mib"], said["chosen"]["of_sm"]) == (profile, memory, 98)
    assert {p["profile"] for p in said["placements"]} == {profile}


def test_a_need_that_no_profile_meets_says_by_how_much_and_which_board_would_do(bulkhead):
    error = bulkhead("fits", "--model", "a100-40gb", "--want", "memory=60GiB", "--json", exit=3).error
    assert error["code"] == "does-not-fit" and "a100-80gb" in error["next"]
    error = bulkhead("fits", "--model", "a100-40gb", "--want", "memory=60", "--json", exit=2).error
    assert error["message"] == "need 'memory=60': expected 'MiB', 'GiB' or 'GB' at character 10, found the end"


def test_a_need_on_a_node_of_several_boards_is_met_where_it_can_be_and_by_nothing_less(bulkhead, node, tmp_path):
    node("mixed")
    bulkhead("apply", "-f", write_all_empty(tmp_path))
    said = bulkhead("fits", "--want", "memory=38GiB,count=3", "--json").json
    assert said["chosen"]["profile"] == "3g.40gb" and said["chosen"]["memory_mib"] >= 38 * 1024
    said = bulkhead("fits", *H100, "--want", "memory=38GiB,compute=40%,count=3", "--json", exit=3).json
    assert [row["profiles"] for row in said["alternatives"]] == [{"3g.40gb": 2}]


def write_all_empty(folder):
    path = folder / "empty.yaml"
    path.write_text("version: v1\nmig-configs:\n  c:\n    - {devices: all, mig-enabled: true, mig-devices: {}}\n",
                    encoding="utf-8")
    return path


def test_profiles_whose_ids_nobody_published_are_told_apart(bulkhead):
    have = ("--model", "gh200-144gb", "--have", "7g.144gb@0")
    said = bulkhead("fits", *have, "1g.36gb", "--json", exit=3).json
    assert "taken by 7g.144gb at 0 (idle)" in said["certificate"]["text"] and said["move"] is None
    said = bulkhead("fits", "--model", "b300-269gb", "--have", "1g.34gb+me@0", "1g.34gb+me", "--json", exit=3).json
    assert said["certificate"]["rule"] == "media-engines"
    said = bulkhead("fits", "--model", "b300-269gb", "1g.34gb", "--json").json
    assert said["placements"][0]["profile_id"] is None


def test_what_stands_idle_and_is_asked_for_is_pointed_to(bulkhead, node, tmp_path):
    node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, [(0, "3g.40gb: 2")]))
    said = bulkhead("fits", "3g.40gb", "--json", exit=3).json
    assert [(row["profile"], row["start"]) for row in said["idle"]] == [("3g.40gb", 0), ("3g.40gb", 4)]
    assert "there already, and idle: 3g.40gb at 4 on GPU 0" in bulkhead("fits", "3g.40gb", exit=3).out


def test_where_nobody_can_tell_who_is_there_nothing_is_called_idle(bulkhead, node, tmp_path):
    machine = node("h100x1")
    bulkhead("apply", "-f", layout(tmp_path, [(0, "1g.10gb: 1")]))
    machine.inject("fault", "call=nvmlDeviceGetComputeRunningProcesses_v3", "error=NVML_ERROR_UNKNOWN")
    said = bulkhead("fits", "7g.80gb", "--json", exit=3).json
    assert "(who uses it cannot be read)" in said["certificate"]["text"]
    assert said["move"] is None and said["idle"] == []


def test_policies_choose_among_the_places_that_fit(bulkhead):
    have = [*H100, "--gpus", "2", "--have", "3g.40gb@4"]
    for policy, gpu in (("pack", 0), ("spread", 1), ("scarcity", 0)):
        said = bulkhead("fits", *have, "1g.10gb", "--placement", policy, "--json").json
        assert (said["placement"], said["placements"][0]["gpu"]) == (policy, gpu)
    assert bulkhead("fits", *have, "1g.10gb", "--placement", "first-fit", "--json", exit=2).error["message"] == (
        "'first-fit': scarcity, pack or spread is wanted")


def test_have_without_a_model_is_no_question(bulkhead, node):
    node("h100x1")
    assert bulkhead("fits", "1g.10gb", "--have", "1g.10gb@0", "--json", exit=2).error["code"] == "usage"
