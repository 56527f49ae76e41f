# SPDX-License-Identifier: Apache-2.0
"""A simulated machine from a file: what it describes is what the driver then tells, and what cannot be meant is
refused with its place."""
import os
import re

import pytest

THIRDS = """\
version: bulkhead-sim/v1
name: odd-rack
driver: {version: 570.86.10, cuda: "12.8"}
boards:
  thirds:
    name: NVIDIA Thirds
    architecture: hopper
    compute-capability: "9.0"
    pci-device: 0x1234
    memory-mib: 30720
    sm: 90
    mig: true
    units: 3
    compute-slices: 3
    profiles:
      - {name: 1g.10gb, enum: 0, id: 14, max-instances: 3, compute-slices: 1, memory-mib: 10000, sm: 30,
         placements: [{start: 0, size: 1}, {start: 1, size: 1}, {start: 2, size: 1}]}
      - {name: 2g.20gb, enum: 1, id: 9, max-instances: 1, compute-slices: 2, memory-mib: 20000, sm: 60,
         placements: [{start: 0, size: 2}, {start: 1, size: 2}]}
gpus:
  - {model: thirds, uuid: GPU-01234567-89ab-cdef-0123-456789abcdef, serial: "42", pci: "0001:3b:00"}
  - {model: t4-16gb}
"""
LAYOUT = "version: v1\nmig-configs:\n  c:\n    - {devices: [0], mig-enabled: true, mig-devices: {2g.20gb: 1, 1g.10gb: 1}}\n"


def write(folder, text, name="machine.yaml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_driver_tells_what_the_file_says(bulkhead, node, tmp_path):
    node(write(tmp_path, THIRDS))
    said = bulkhead("inventory", "--json").json
    assert said["driver"] == "570.86.10"
    gpu = said["gpus"][0]
    assert (gpu["name"], gpu["uuid"], gpu["pci"], gpu["memory_mib"]) == (
        "NVIDIA Thirds", "GPU-01234567-89ab-cdef-0123-456789abcdef", "00000001:3B:00.0", 30720)
    offers = bulkhead("profiles", "--json").json
    assert [(p["name"], p["profile_id"], p["nvml_enum"], p["memory_mib"], p["sm"], p["placements"])
            for p in offers["gi_profiles"]] == [
                ("1g.10gb", 14, 0, 10000, 30, [{"start": s, "size": 1} for s in range(3)]),
                ("2g.20gb", 9, 1, 20000, 60, [{"start": s, "size": 2} for s in range(2)])]


def test_a_board_that_no_table_has_is_divided_by_its_own_geometry(bulkhead, node, tmp_path):
    machine = node(write(tmp_path, THIRDS))
    bulkhead("apply", "-f", write(tmp_path, LAYOUT, "layout.yaml"))
    assert sorted((i["profile"], i["start"]) for i in machine.show()["gpus"][0]["instances"]) == [
        ("1g.10gb", 2), ("2g.20gb", 0)]
    assert bulkhead("sim", "check", machine.dir).out == "sound\n"


def test_the_machine_in_the_manual_is_one(bulkhead, node, tmp_path):
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "simulated-node.md"), encoding="utf-8") as file:
        shown = re.search(r"^```\n(version: bulkhead-sim/v1\n.*?)^```$", file.read(), re.MULTILINE | re.DOTALL).group(1)
    node(write(tmp_path, shown))
    assert [gpu["name"] for gpu in bulkhead("inventory", "--json").json["gpus"]] == [
        "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA Thirds"]


def test_names_of_a_driver_branch(bulkhead, node, tmp_path):
    node(write(tmp_path, "version: bulkhead-sim/v1\nboards:\n  nvl: {like: h100-nvl-94gb, rename: {3g.47gb: 3g.46gb}}\n"
               "gpus: [{model: nvl}]\n"))
    names = [p["name"] for p in bulkhead("profiles", "--json").json["gi_profiles"]]
    assert "3g.46gb" in names and "3g.47gb" not in names


def test_cards_get_slots_beside_those_that_are_given(bulkhead, node, tmp_path):
    node(write(tmp_path, "version: bulkhead-sim/v1\ngpus:\n  - model: t4-16gb\n  - {model: t4-16gb, pci: \"0000:17:00\"}\n"))
    slots = [gpu["pci"] for gpu in bulkhead("inventory", "--json").json["gpus"]]
    assert slots == ["00000000:18:00.0", "00000000:17:00.0"]


def test_instances_never_take_more_compute_slices_than_the_board_has(bulkhead, node, tmp_path):
    """A file can describe a board on which places alone would allow it."""
    machine = node(write(tmp_path, THIRDS.replace("compute-slices: 3", "compute-slices: 2")))
    said = bulkhead("apply", "-f", write(tmp_path, LAYOUT.replace("2g.20gb: 1, 1g.10gb: 1", "1g.10gb: 3"), "layout.yaml"),
                    "--json", exit=1)
    assert said.error["code"] == "not-applied"
    assert bulkhead("sim", "check", machine.dir).out == "sound\n"


RENAMED = ("version: bulkhead-sim/v1\nboards: {a: {like: a100-40gb, rename: {1g.5gb: 1g.6gb}}}\n"
           "gpus: [{model: h100-sxm5-80gb}, {model: a}]\n")


def test_a_kept_layout_is_found_again_where_the_driver_names_a_profile_otherwise(bulkhead, node, tmp_path):
    """With MIG off the name is the catalogue's, afterwards the driver's."""
    node(write(tmp_path, RENAMED))
    bulkhead("apply", "-f", write(tmp_path, LAYOUT.replace("2g.20gb: 1, 1g.10gb: 1", "1g.5gb: 7").replace("[0]", "[1]"),
                                  "layout.yaml"))
    said = bulkhead("status", "--json").json
    assert said["drift"] is False
    assert len(said["gpus"]) == 2


def test_what_a_board_offers_by_the_catalogue_is_not_called_the_drivers(bulkhead, node, tmp_path):
    node(write(tmp_path, RENAMED))
    said = bulkhead("profiles", "--json").json
    assert [board["source"] for board in said["boards"]] == ["driver", "catalogue"]
    assert "from the catalogue: the driver does not tell while MIG is off" in bulkhead("profiles").out


GPU = "  - {model: t4-16gb}\n"
HEAD = "version: bulkhead-sim/v1\n"
BOARD = HEAD + "boards:\n  b: {%s}\ngpus:\n  - {model: b}\n"
OWN = ("memory-mib: 9999, mig: true, units: 4, compute-slices: 4, profiles: [{name: 1g.1gb, enum: 0, id: 1, max-instances: 1, "
       "compute-slices: %d, memory-mib: 1, sm: 1, placements: [%s]%s}]")

REFUSED = [
    ("another_version", "version: v1\ngpus:\n" + GPU, "1:10: field 'version' is text 'v1', expected bulkhead-sim/v1"),
    ("no_gpus", HEAD, "1:1: field 'gpus' is missing in a machine file, expected a list"),
    ("an_empty_list", HEAD + "gpus: []\n", "2:7: a node has 1 to 16 GPUs"),
    ("seventeen", HEAD + "gpus: [{model: t4-16gb, count: 16}, {model: t4-16gb}]\n", "2:37: more than 16 GPUs"),
    ("an_unknown_field", HEAD + "gpus: [{model: t4-16gb, cuont: 1}]\n",
     "2:25: unknown field 'cuont' in a GPU, did you mean 'count'? allowed: model, count, uuid, serial, pci"),
    ("an_unknown_board", HEAD + "gpus: [{model: h100-sxm5-80g}]\n",
     "2:16: there is no board 'h100-sxm5-80g', did you mean 'h100-sxm5-80gb'?"),
    ("a_board_with_nothing_known", HEAD + "gpus: [{model: thor-igpu}]\n",
     "2:16: board 'thor-igpu' cannot be simulated: nobody has published the"),
    ("one_uuid_for_two", HEAD + "gpus: [{model: t4-16gb, count: 2, serial: \"1\"}]\n",
     "2:8: uuid, serial and pci belong to one GPU, not to 2"),
    ("the_same_slot_twice", HEAD + "gpus: [{model: t4-16gb, pci: \"0000:01:00\"}, {model: t4-16gb, pci: \"0000:01:00\"}]\n",
     "2:67: GPU 0 is in that slot"),
    ("the_same_serial_twice", HEAD + "gpus: [{model: t4-16gb, serial: \"1\"}, {model: t4-16gb, serial: \"1\"}]\n",
     "2:64: GPU 0 has that serial"),
    ("a_slot_that_is_none", HEAD + "gpus: [{model: t4-16gb, pci: \"0000:00:00\"}]\n",
     "2:30: field 'pci' is text '0000:00:00', expected DOMAIN:BUS:DEVICE in hex as \"0000:3b:00\", not bus 0"),
    ("a_uuid_that_is_none", HEAD + "gpus: [{model: t4-16gb, uuid: GPU-1}]\n",
     "2:31: field 'uuid' is text 'GPU-1', expected GPU- and 32 lower-case hex digits in groups of 8, 4, 4, 4 and 12"),
    ("a_cuda_version_without_quotes", HEAD + "driver: {version: 1.2.3, cuda: 12.8}\ngpus:\n" + GPU,
     "2:32: field 'cuda' is number 12.8, expected as \"12.8\", in quotes"),
    ("the_name_of_a_known_board", HEAD + "boards:\n  t4-16gb: {like: l40s-48gb}\ngpus:\n" + GPU,
     "3:3: 't4-16gb' is a board of the simulator's own table"),
    ("mig_without_profiles", BOARD % "memory-mib: 9, mig: true", "3:6: a board with MIG needs 'profiles', or 'like' one that "
     "has them"),
    ("no_memory", BOARD % "sm: 1", "3:6: field 'memory-mib' is missing in a board"),
    ("fewer_units_than_the_profiles_need", BOARD % "like: a100-40gb, units: 4",
     "3:6: units, compute slices and less memory than the board that it is like has need 'profiles' that go with them"),
    ("a_placement_beyond_the_board", BOARD % (OWN % (1, "{start: 3, size: 2}", "")),
     "placement 3:2 ends beyond the 4 placement units"),
    ("placements_of_two_sizes", BOARD % (OWN % (1, "{start: 0, size: 2}, {start: 2, size: 1}", "")),
     "placements of a profile have one size and stand in order of start"),
    ("a_profile_of_more_slices_than_the_board", BOARD % (OWN % (5, "{start: 0, size: 1}", "")),
     "5 compute slices on a board of 4"),
    ("instance_ids_for_some", BOARD % (OWN % (1, "{start: 0, size: 1, gi: 3}, {start: 1, size: 1}", "")),
     "'gi' is given for all placements of a profile or for none"),
    ("a_compute_instance_beyond_its_instance",
     BOARD % (OWN % (1, "{start: 0, size: 1}", ", compute: [{enum: 0, id: 0, compute-slices: 2, sm: 1}]")),
     "2 compute slices in an instance of 1"),
    ("two_places_with_one_instance_id", BOARD % (OWN % (1, "{start: 0, size: 1, gi: 5}, {start: 1, size: 1, gi: 5}", "")),
     "two placements have the instance id 5"),
    ("an_instance_larger_than_the_board", BOARD % (OWN % (1, "{start: 0, size: 1, memory-mib: 10000}", "")),
     "an instance of 10000 MiB on a board of 9999"),
    ("a_compute_profile_without_places",
     BOARD % (OWN % (1, "{start: 0, size: 1}", ", compute: [{enum: 0, id: 0, compute-slices: 1, sm: 1, placements: []}]")),
     "a profile has 1 to 8 placements"),
    ("profiles_without_units", BOARD % "memory-mib: 9, mig: true, profiles: []",
     "'units' and 'compute-slices' of the board come with 'profiles'"),
    ("an_enum_that_no_program_asks_for", BOARD % (OWN % (1, "{start: 0, size: 1}", "")).replace("enum: 0", "enum: 18"),
     "field 'enum' is number 18, expected a whole number from 0 to 17"),
    ("an_id_that_is_too_large", BOARD % (OWN % (1, "{start: 0, size: 1}", "")).replace("id: 1,", "id: 2147483648,"),
     "field 'id' is number 2147483648, expected a whole number from 0 to 2147483647"),
    ("a_name_that_acts_on_the_terminal", HEAD + "name: \"ev\\e[31mil\"\ngpus:\n" + GPU,
     "2:7: field 'name' has a control character"),
    ("a_driver_of_dots", HEAD + "driver: {version: \"..\"}\ngpus:\n" + GPU, "expected as 580.95.05"),
    ("a_new_name_for_nothing", BOARD % "like: a100-40gb, rename: {3g.40gb: 3g.39gb}",
     "3:33: the board has no profile '3g.40gb'"),
]


@pytest.mark.parametrize("text,message", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_with_the_place(text, message, bulkhead, tmp_path):
    path = write(tmp_path, text)
    said = bulkhead("sim", "create", path, "--dir", tmp_path / "node", exit=2).err
    assert said.startswith("bulkhead sim: %s:" % path)
    assert message in said
    assert not (tmp_path / "node").exists()
