# SPDX-License-Identifier: Apache-2.0
"""The check of the GPU model files is green on ours, and each of its rules is red on a damaged copy."""
import json
import os
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, "data", "gpu-models")


def check(*paths):
    return subprocess.run([os.path.join(ROOT, "scripts", "check-catalogue"), *map(str, paths)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)


def ours():
    return sorted(os.path.join(MODELS, name) for name in os.listdir(MODELS) if name.endswith(".json"))


def model(slug="h100-sxm5-80gb"):
    with open(os.path.join(MODELS, slug + ".json"), encoding="utf-8") as file:
        return json.load(file)


def profile(board, name):
    return next(p for p in board["gi_profiles"] if p["name"] == name)


def red(folder, board, field, words):
    """The damaged board is refused, by file and field, in these words."""
    path = folder / (board["slug"] + ".json")
    path.write_text(json.dumps(board), encoding="utf-8")
    said = check(path)
    assert said.returncode == 1, "the damage was not seen"
    assert any(line.startswith("%s: %s: " % (path, field)) and words in line for line in said.stderr.splitlines()), said.stderr


def test_our_boards_pass():
    said = check(*ours())
    assert (said.returncode, said.stderr) == (0, ""), said.stderr


def test_each_board_is_built_in():
    with open(os.path.join(ROOT, "data", "meson.build"), encoding="utf-8") as file:
        build = file.read()
    for path in ours():
        assert "'gpu-models/%s'" % os.path.basename(path) in build


@pytest.mark.parametrize("change, field, words", [
    (lambda b: profile(b, "2g.20gb").update(nvml_enum=0), "gi_profiles[3].nvml_enum", "is that of gi_profiles[0] too"),
    (lambda b: profile(b, "2g.20gb").update(nvml_enum=2), "gi_profiles[3].nvml_enum", "is not GPU_INSTANCE_PROFILE_2_SLICE"),
    (lambda b: profile(b, "2g.20gb").update(profile_id=19), "gi_profiles[3].profile_id", "is that of gi_profiles[0] too"),
    (lambda b: profile(b, "2g.20gb").update(name="1g.10gb"), "gi_profiles[3].name", "is that of gi_profiles[0] too"),
    (lambda b: profile(b, "2g.20gb").update(name="2g"), "gi_profiles[3].name", "is not Ng.Mgb"),
    (lambda b: profile(b, "2g.20gb").update(slice_count=3), "gi_profiles[3].slice_count", "in a profile named 2g.20gb"),
    (lambda b: profile(b, "7g.80gb")["placements"][0].update(size=9), "gi_profiles[6].placements[0]", "not inside the board's 8"),
    (lambda b: profile(b, "1g.10gb")["placements"][6].update(start=8), "gi_profiles[0].placements[6]", "not inside the board's 8"),
    (lambda b: profile(b, "2g.20gb")["placements"][1].update(start=3), "gi_profiles[3].placements[1]", "no span of the driver's tree"),
    (lambda b: profile(b, "2g.20gb")["placements"][1].update(gi_id=5), "gi_profiles[3].placements[1].gi_id", "span table gives 4"),
    (lambda b: profile(b, "2g.20gb")["placements"][1].update(start=0, gi_id=3), "gi_profiles[3].placements[1]", "listed twice"),
    (lambda b: profile(b, "2g.20gb").update(memory_fraction="half"), "gi_profiles[3].placements[0].size", "is not a half"),
    (lambda b: profile(b, "2g.20gb")["placements"].pop(), "gi_profiles[3].max_instances", "only 2 of its placements are disjoint"),
    (lambda b: profile(b, "3g.40gb").update(max_instances=3), "gi_profiles[4].max_instances", "only 2 of its placements are disjoint"),
    (lambda b: profile(b, "3g.40gb").update(max_instances=1), "gi_profiles[4].max_instances", "but 2 of its placements are disjoint"),
    (lambda b: profile(b, "1g.10gb+me").update(max_instances=2), "gi_profiles[1].max_instances", "rule R3"),
    (lambda b: profile(b, "3g.40gb").update(placements=[]), "gi_profiles[4].placements", "is empty"),
    (lambda b: profile(b, "3g.40gb").update(placements=None), "gi_profiles[4].placements", "is null"),
    (lambda b: profile(b, "3g.40gb").update(profile_id=None), "gi_profiles[4].profile_id", "is null"),
    (lambda b: profile(b, "3g.40gb").update(max_instances=None), "gi_profiles[4].max_instances", "is null"),
    (lambda b: profile(b, "3g.40gb").update(sm="60"), "gi_profiles[4].sm", "is not a whole number"),
    (lambda b: profile(b, "3g.40gb").update(sm=0), "gi_profiles[4].sm", "an unknown value is null"),
    (lambda b: profile(b, "3g.40gb").update(sm=133), "gi_profiles[4].sm", "more than the board's 132"),
    (lambda b: profile(b, "3g.40gb").update(memory_mib=90000), "gi_profiles[4].memory_mib", "more than the board's 81559"),
    (lambda b: profile(b, "3g.40gb").pop("sources"), "gi_profiles[4].sources", "is missing"),
    (lambda b: profile(b, "3g.40gb").update(colour="red"), "gi_profiles[4].colour", "no field of this schema"),
    (lambda b: profile(b, "3g.40gb").update(sources=["hearsay"]), "gi_profiles[4].sources", "'hearsay' is not in source_names"),
    (lambda b: profile(b, "3g.40gb").update(placements_source="hearsay"), "gi_profiles[4].placements_source", "'hearsay'"),
    (lambda b: b["source_names"].pop("driver"), "gi_id_source", "'driver' is not in source_names"),
    (lambda b: b["ci_profiles"][0].update(gi_profile="9g.90gb"), "ci_profiles[0].gi_profile", "no profile '9g.90gb'"),
    (lambda b: b["ci_profiles"][0].update(slice_count=2), "ci_profiles[0].slice_count", "more than its GPU instance has"),
    (lambda b: b["ci_profiles"][0].update(placements=[{"start": 0}]), "ci_profiles[0].placements[0]", "is not {start, size}"),
    (lambda b: b["pci_device_ids"][0].update(device="2330"), "pci_device_ids[0].device", "is not 0xDDDD"),
    (lambda b: b["mig_mode"].update(mode_survives_reboot="no"), "mig_mode.mode_survives_reboot", "is not a true or false"),
    (lambda b: b["sm_total"].update(value="132"), "sm_total.value", "is not a whole number"),
    (lambda b: b.update(placement_units=None), "placement_units", "is null"),
    (lambda b: b.update(placement_units=65), "placement_units", "is 65"),
    (lambda b: b.update(schema="gpu-model/2"), "schema", "is not gpu-model/1"),
    (lambda b: b.update(gi_profiles=[]), "gi_profiles", "is empty"),
    (lambda b: b.pop("rules"), "rules", "is missing"),
])
def test_a_damaged_board_is_refused_by_file_and_field(tmp_path, change, field, words):
    board = model()
    change(board)
    red(tmp_path, board, field, words)


@pytest.mark.parametrize("slug, name, start, right, wrong", [
    ("a30-24gb", "2g.12gb", 2, 2, 4), ("a30-24gb", "1g.6gb", 3, 6, 10), ("rtx-pro-6000-blackwell-96gb", "1g.24gb", 6, 5, 13),
])
def test_instance_ids_follow_the_tree_on_boards_of_quarters_and_twelfths(tmp_path, slug, name, start, right, wrong):
    board = model(slug)
    placement = next(p for p in profile(board, name)["placements"] if p["start"] == start)
    assert placement["gi_id"] == right
    placement["gi_id"] = wrong
    number = board["gi_profiles"].index(profile(board, name))
    index = profile(board, name)["placements"].index(placement)
    red(tmp_path, board, "gi_profiles[%d].placements[%d].gi_id" % (number, index), "span table gives %d" % right)


def test_an_incomplete_board_may_leave_ids_and_placements_unknown(tmp_path):
    board = model()
    board["complete"] = False
    profile(board, "3g.40gb").update(profile_id=None, placements=None, placements_source=None)
    path = tmp_path / "h100-sxm5-80gb.json"
    path.write_text(json.dumps(board), encoding="utf-8")
    said = check(path)
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("key, value, words", [
    ("pci_device_ids", {"device": "0x2335"}, "PCI device id 0x2335 is claimed by"),
    ("nvml_names", {"name": "NVIDIA H200"}, "NVML name NVIDIA H200 is claimed by"),
])
def test_two_boards_may_not_claim_one_identity(tmp_path, key, value, words):
    board = model()
    board[key][0].update(value)
    (tmp_path / "h100-sxm5-80gb.json").write_text(json.dumps(board), encoding="utf-8")
    shutil.copy(os.path.join(MODELS, "h200-141gb.json"), tmp_path)
    said = check(tmp_path / "h100-sxm5-80gb.json", tmp_path / "h200-141gb.json")
    assert said.returncode == 1 and words in said.stderr, said.stderr


def test_a_file_under_another_name_or_without_json_or_left_out_is_refused(tmp_path):
    shutil.copy(os.path.join(MODELS, "a30-24gb.json"), tmp_path / "a31.json")
    said = check(tmp_path / "a31.json")
    assert said.returncode == 1 and "a31.json: slug: " in said.stderr
    (tmp_path / "b.json").write_text("{")
    said = check(tmp_path / "b.json")
    assert said.returncode == 1 and "b.json: file: cannot be read" in said.stderr
    shutil.copy(os.path.join(MODELS, "a30-24gb.json"), tmp_path / "a30-24gb.json")
    said = check("--stamp", tmp_path / "stamp", tmp_path / "a30-24gb.json")
    assert said.returncode == 1 and "a31.json: file: is not in the build" in said.stderr
    assert not (tmp_path / "stamp").exists()
