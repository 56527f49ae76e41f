# SPDX-License-Identifier: Apache-2.0
"""A simulated machine from a file: what it describes is what the driver then tells, and what cannot be meant is
refused with its place."""
import os
import re

import pytest

HEAD = "version: bulkhead-sim/v1\n"
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


def test_the_machines_in_the_manual_are_some(bulkhead, node, tmp_path):
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "simulated-node.md"), encoding="utf-8") as file:
        text = file.read()
    whole = re.search(r"^```\n(version: bulkhead-sim/v1\n.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)
    node(write(tmp_path, whole))
    assert [gpu["name"] for gpu in bulkhead("inventory", "--json").json["gpus"]] == [
        "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA Thirds"]
    linked = re.search(r"^```\n(gpus:\n.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)
    assert len(node(write(tmp_path, HEAD + linked, "linked.yaml")).show()["gpus"]) == 3


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


PAIRS = """\
version: bulkhead-sim/v1
gpus:
  - {model: a100-40gb, count: 2, numa: 0, cpus: "0-3,8-11"}
  - {model: a100-40gb, numa: -1, fabric: {clique: 7, cluster-uuid: 01234567-89ab-cdef-0123-456789abcdef}}
  - {model: a100-40gb, numa: 1}
links:
  - {from: 0, to: 1, nvlinks: 4, back: 2, pcie: single}
  - {from: 2, to: 0, pcie: host-bridge}
  - {from: 1, to: 3, nvlinks: 12}
"""


def test_how_gpus_hang_together_is_shown_as_the_file_says(bulkhead, node, tmp_path):
    machine = node(write(tmp_path, PAIRS))
    said = machine.show()["topology"]
    assert said["matrix"] == [["X", "NV4", "PHB", "SYS"], ["NV2", "X", "SYS", "NV12"],
                              ["PHB", "SYS", "X", "SYS"], ["SYS", "NV12", "SYS", "X"]]
    assert [(gpu["numa"], gpu["cpus"]) for gpu in said["gpus"]] == [
        (0, "0-3,8-11"), (0, "0-3,8-11"), (-1, "0-3,8-11,16-31"), (1, "16-31")]
    assert said["gpus"][2]["fabric"] == {"state": "completed", "cluster": "0123456789abcdef0123456789abcdef", "clique": 7}
    assert said["gpus"][0]["fabric"]["state"] == "not-supported"
    assert said["gpus"][0]["links"] == [0, 4, 0, 0]
    assert said["gpus"][2]["paths"] == ["host-bridge", "system", "self", "system"]
    text = bulkhead("sim", "show", machine.dir).out.splitlines()
    at = next(i for i, line in enumerate(text) if line.startswith("\tGPU0"))
    assert text[at].split("\t") == ["", "GPU0", "GPU1", "GPU2", "GPU3", "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    assert text[at + 2].split() == ["GPU1", "NV2", "X", "SYS", "NV12", "0-3,8-11", "0", "N/A"]
    assert text[at + 3].split() == ["GPU2", "PHB", "SYS", "X", "SYS", "0-3,8-11,16-31", "N/A", "N/A"]


def test_every_pair_is_joined_behind_switches(node, tmp_path):
    said = node(write(tmp_path, HEAD + "gpus: [{model: h200-141gb, count: 3}]\nnvswitch: {nvlinks: 9, switches: 2}\n"
                      "links: [{from: 0, to: 2, pcie: multiple}]\n")).show()["topology"]
    assert said["matrix"] == [["X", "NV9", "NV9"], ["NV9", "X", "NV9"], ["NV9", "NV9", "X"]]
    assert said["nvswitches"] == 2
    assert [gpu["paths"] for gpu in said["gpus"]] == [
        ["self", "node", "multiple"], ["node", "self", "node"], ["multiple", "node", "self"]]


GPU = "  - {model: t4-16gb}\n"
BOARD = HEAD + "boards:\n  b: {%s}\ngpus:\n  - {model: b}\n"
OWN = ("memory-mib: 9999, mig: true, units: 4, compute-slices: 4, profiles: [{name: 1g.1gb, enum: 0, id: 1, max-instances: 1, "
       "compute-slices: %d, memory-mib: 1, sm: 1, placements: [%s]%s}]")

TWO = HEAD + "gpus: [{model: a100-40gb, count: 3}]\n"
NUMA = "a NUMA node from 0 to 63, or -1 where the firmware does not say"
CPUS = "a list as \"0-15,32-47\", in quotes, of CPUs from 0 to 1023"
CLUSTER = "32 lower-case hex digits in groups of 8, 4, 4, 4 and 12"

REFUSED = [
    ("another_version", "version: v1\ngpus:\n" + GPU, "1:10: field 'version' is text 'v1', expected bulkhead-sim/v1"),
    ("no_gpus", HEAD, "1:1: field 'gpus' is missing in a machine file, expected a list"),
    ("an_empty_list", HEAD + "gpus: []\n", "2:7: a node has 1 to 16 GPUs"),
    ("seventeen", HEAD + "gpus: [{model: t4-16gb, count: 16}, {model: t4-16gb}]\n", "2:37: more than 16 GPUs"),
    ("an_unknown_field", HEAD + "gpus: [{model: t4-16gb, cuont: 1}]\n",
     "2:25: unknown field 'cuont' in a GPU, did you mean 'count'? allowed: model, count, uuid, serial, pci, numa, cpus, fabric"),
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
    ("a_numa_node_below_unknown", HEAD + "gpus: [{model: t4-16gb, numa: -2}]\n",
     "2:31: field 'numa' is number -2, expected " + NUMA),
    ("a_numa_node_that_no_mask_has", HEAD + "gpus: [{model: t4-16gb, numa: 64}]\n",
     "2:31: field 'numa' is number 64, expected " + NUMA),
    ("a_numa_node_in_words", HEAD + "gpus: [{model: t4-16gb, numa: left}]\n",
     "2:31: field 'numa' is text 'left', expected " + NUMA),
    ("cpus_that_run_backwards", HEAD + "gpus: [{model: t4-16gb, cpus: \"15-0\"}]\n",
     "2:31: field 'cpus' is text '15-0', expected " + CPUS),
    ("cpus_beyond_the_last", HEAD + "gpus: [{model: t4-16gb, cpus: \"0-1024\"}]\n",
     "2:31: field 'cpus' is text '0-1024', expected " + CPUS),
    ("cpus_with_an_open_end", HEAD + "gpus: [{model: t4-16gb, cpus: \"0,\"}]\n",
     "2:31: field 'cpus' is text '0,', expected " + CPUS),
    ("cpus_without_quotes", HEAD + "gpus: [{model: t4-16gb, cpus: 5}]\n",
     "2:31: field 'cpus' is number 5, expected a list as \"0-15,32-47\", in quotes"),
    ("a_fabric_state_of_no_kind", HEAD + "gpus: [{model: t4-16gb, fabric: {state: ready}}]\n",
     "2:41: field 'state' is text 'ready', expected not-supported, not-started, in-progress or completed"),
    ("a_cluster_that_is_no_uuid", HEAD + "gpus: [{model: t4-16gb, fabric: {cluster-uuid: \"01\"}}]\n",
     "2:48: field 'cluster-uuid' is text '01', expected " + CLUSTER),
    ("a_cluster_in_capitals", HEAD + "gpus: [{model: t4-16gb, fabric: {cluster-uuid: 01234567-89AB-cdef-0123-456789abcdef}}]\n",
     "2:48: field 'cluster-uuid' is text '01234567-89AB-cdef-0123-456789abcdef', expected " + CLUSTER),
    ("a_clique_below_0", HEAD + "gpus: [{model: t4-16gb, fabric: {clique: -1}}]\n",
     "2:42: field 'clique' is number -1, expected a whole number"),
    ("a_clique_of_a_fabric_that_is_not_there", HEAD + "gpus: [{model: t4-16gb, fabric: {state: not-supported, clique: 1}}]\n",
     "2:64: only a fabric that is completed has a cluster and a clique"),
    ("an_unknown_field_of_a_fabric", HEAD + "gpus: [{model: t4-16gb, fabric: {uuid: a}}]\n",
     "2:34: unknown field 'uuid' in a fabric, allowed: state, cluster-uuid, clique"),
    ("switches_for_one", HEAD + "gpus: [{model: h200-141gb}]\nnvswitch: {nvlinks: 18, switches: 4}\n",
     "3:11: one GPU alone is joined to none by switches"),
    ("switches_without_number", TWO + "nvswitch: {nvlinks: 18}\n", "3:11: field 'switches' is missing in the nvswitch"),
    ("more_nvlinks_than_there_are", TWO + "nvswitch: {nvlinks: 19, switches: 4}\n",
     "3:21: field 'nvlinks' is number 19, expected a whole number from 1 to 18"),
    ("a_link_to_itself", TWO + "links: [{from: 1, to: 1, nvlinks: 2}]\n", "3:23: a GPU has no link to itself"),
    ("a_link_to_nobody", TWO + "links: [{from: 0, to: 3, nvlinks: 2}]\n", "3:23: there is no GPU 3, the last is 2"),
    ("a_link_from_nowhere", TWO + "links: [{to: 1, nvlinks: 2}]\n", "3:9: field 'from' is missing in a pair"),
    ("a_link_from_a_name", TWO + "links: [{from: a, to: 1, nvlinks: 2}]\n",
     "3:16: field 'from' is text 'a', expected the index of a GPU"),
    ("a_pair_of_which_nothing_is_said", TWO + "links: [{from: 0, to: 1}]\n", "3:9: a pair has 'nvlinks', 'pcie' or both"),
    ("a_way_back_without_a_way", TWO + "links: [{from: 0, to: 1, back: 2, pcie: node}]\n",
     "3:32: 'back' is how many of 'nvlinks' the other GPU has"),
    ("links_beside_switches", TWO + "nvswitch: {nvlinks: 18, switches: 4}\nlinks: [{from: 0, to: 1, nvlinks: 2}]\n",
     "4:35: 'nvswitch' says how many NVLinks every pair has"),
    ("a_pair_twice", TWO + "links: [{from: 0, to: 1, nvlinks: 2}, {from: 1, to: 0, pcie: node}]\n",
     "3:39: the pair of GPU 1 and GPU 0 stands there twice"),
    ("too_many_links_of_one_gpu", TWO + "links: [{from: 0, to: 1, nvlinks: 12}, {from: 2, to: 0, nvlinks: 4, back: 7}]\n",
     "3:40: GPU 0 has 19 NVLinks now, a GPU has at most 18"),
    ("too_many_links_of_a_pair", TWO + "links: [{from: 0, to: 1, nvlinks: 19}]\n",
     "3:35: field 'nvlinks' is number 19, expected a whole number from 0 to 18"),
    ("too_many_links_back", TWO + "links: [{from: 0, to: 1, nvlinks: 1, back: many}]\n",
     "3:44: field 'back' is text 'many', expected a whole number from 0 to 18"),
    ("a_distance_of_no_kind", TWO + "links: [{from: 0, to: 1, pcie: near}]\n",
     "3:32: field 'pcie' is text 'near', expected single, multiple, host-bridge, node or system"),
    ("an_unknown_field_of_a_pair", TWO + "links: [{from: 0, to: 1, nvlink: 4}]\n",
     "3:26: unknown field 'nvlink' in a pair, did you mean 'nvlinks'?"),
    ("links_that_are_no_list", TWO + "links: {from: 0, to: 1}\n", "3:8: field 'links' is a mapping, expected a list"),
]


@pytest.mark.parametrize("text,message", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_with_the_place(text, message, bulkhead, tmp_path):
    path = write(tmp_path, text)
    said = bulkhead("sim", "create", path, "--dir", tmp_path / "node", exit=2).err
    assert said.startswith("bulkhead sim: %s:" % path)
    assert message in said
    assert not (tmp_path / "node").exists()
