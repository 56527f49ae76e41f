# SPDX-License-Identifier: Apache-2.0
"""Layouts that cannot be meant, or not for this node: what is said, where, and that nothing is touched.

A row: what is wrong, the node, the file, the exit and the exact message, with {file} for the file's name.
"""
import os

import pytest

H100, A100, T4 = "h100x1", "a100x2-40gb", "t4x1"
ENTRY = "{devices: all, mig-enabled: true, mig-devices: {3g.40gb: 1}}"
GOOD = "version: v1\nmig-configs:\n  c:\n    - %s\n" % ENTRY


def entry(devices="all", enabled="true", profiles="{3g.40gb: 1}", more=""):
    """A file whose one entry is on line 4, fields from line 4 to 6."""
    return ("version: v1\nmig-configs:\n  c:\n    - devices: %s\n      mig-enabled: %s\n      mig-devices: %s\n%s" %
            (devices, enabled, profiles, more))


def bomb():
    """Nine levels of nine aliases: 9^9 nodes if somebody expanded it."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 9):
        lines.append("a%d: &a%d [%s]" % (n, n, ", ".join(["*a%d" % (n - 1)] * 9)))
    return "\n".join(lines) + "\n"


REFUSED = [
    ("an_unknown_field_of_the_file", H100, GOOD + "mig-config: 1\n", 2,
     "{file}:5:1: unknown field 'mig-config' in a mig-parted file, did you mean 'mig-configs'? allowed: "
     "version, mig-configs"),
    ("an_unknown_field_of_an_entry", H100, entry(more="      mig-enable: true\n"), 2,
     "{file}:7:7: unknown field 'mig-enable' in an entry, did you mean 'mig-enabled'? allowed: device-filter, "
     "devices, mig-enabled, mig-devices"),
    ("an_unknown_field_far_from_any", H100, entry(more="      \"\\e[31mred\": true\n"), 2,
     "{file}:7:7: unknown field '\\x1b[31mred' in an entry, allowed: device-filter, devices, mig-enabled, mig-devices"),
    ("a_version_that_is_a_number", H100, GOOD.replace("v1", "1"), 2,
     "{file}:1:10: field 'version' is number 1, expected 'v1'"),
    ("a_version_that_is_a_list", H100, GOOD.replace("v1", "[v1]"), 2,
     "{file}:1:10: field 'version' is a list, expected 'v1'"),
    ("version_v2", H100, GOOD.replace("v1", "v2"), 2,
     "{file}:1:10: field 'version' is text 'v2', expected 'v1'"),
    ("no_version", H100, GOOD.replace("version: v1\n", ""), 2,
     "{file}:1:1: field 'version' is missing in a mig-parted file, expected 'v1'"),
    ("no_mig_configs", H100, "version: v1\n", 2,
     "{file}:1:1: field 'mig-configs' is missing in a mig-parted file, expected a mapping of names to lists of "
     "entries"),
    ("mig_configs_that_are_a_list", H100, "version: v1\nmig-configs: [c]\n", 2,
     "{file}:2:14: field 'mig-configs' is a list, expected a mapping of names to lists of entries"),
    ("mig_configs_that_are_empty", H100, "version: v1\nmig-configs: {}\n", 2,
     "{file}:2:14: 'mig-configs' is empty, expected at least one configuration"),
    ("mig_configs_that_are_nothing", H100, "version: v1\nmig-configs:\n", 2,
     "{file}:2:13: field 'mig-configs' is nothing, expected a mapping of names to lists of entries"),
    ("a_configuration_that_is_a_mapping", H100, "version: v1\nmig-configs:\n  c: %s\n" % ENTRY, 2,
     "{file}:3:6: configuration 'c' is a mapping, expected a list of entries"),
    ("a_configuration_without_entries", H100, "version: v1\nmig-configs:\n  c: []\n", 2,
     "{file}:3:6: configuration 'c' has no entries, expected at least one"),
    ("a_configuration_without_a_name", H100, "version: v1\nmig-configs:\n  ~: [%s]\n" % ENTRY, 2,
     "{file}:3:3: a configuration without a name"),
    ("an_entry_that_is_a_text", H100, "version: v1\nmig-configs:\n  c: [all]\n", 2,
     "{file}:3:7: an entry is text 'all', expected a mapping"),
    ("devices_that_are_a_number", H100, entry(devices="0"), 2,
     "{file}:4:16: field 'devices' is number 0, expected 'all' or a list of GPU indexes"),
    ("devices_that_are_a_mapping", H100, entry(devices="{0: 1}"), 2,
     "{file}:4:16: field 'devices' is a mapping, expected 'all' or a list of GPU indexes"),
    ("devices_that_are_another_word", H100, entry(devices="every"), 2,
     "{file}:4:16: field 'devices' is text 'every', expected 'all' or a list of GPU indexes"),
    ("an_empty_list_of_devices", H100, entry(devices="[]"), 2,
     "{file}:4:16: the list of 'devices' is empty, expected 'all' or a list of GPU indexes"),
    ("a_device_that_is_a_text", H100, entry(devices="[\"0\"]"), 2,
     "{file}:4:17: an item of 'devices' is text '0', expected a GPU index from 0 to 63"),
    ("a_negative_device", H100, entry(devices="[-1]"), 2,
     "{file}:4:17: an item of 'devices' is number -1, expected a GPU index from 0 to 63"),
    ("a_device_that_no_node_has", H100, entry(devices="[64]"), 2,
     "{file}:4:17: an item of 'devices' is number 64, expected a GPU index from 0 to 63"),
    ("no_devices", H100, "version: v1\nmig-configs:\n  c:\n    - {mig-enabled: true, mig-devices: {3g.40gb: 1}}\n", 2,
     "{file}:4:7: field 'devices' is missing in an entry, expected 'all' or a list of GPU indexes"),
    ("mig_enabled_that_is_a_text", H100, entry(enabled="\"true\""), 2,
     "{file}:5:20: field 'mig-enabled' is text 'true', expected true or false"),
    ("mig_enabled_that_is_yes", H100, entry(enabled="yes"), 2,
     "{file}:5:20: field 'mig-enabled' is text 'yes', expected true or false"),
    ("mig_enabled_that_is_a_number", H100, entry(enabled="1"), 2,
     "{file}:5:20: field 'mig-enabled' is number 1, expected true or false"),
    ("no_mig_enabled", H100, "version: v1\nmig-configs:\n  c:\n    - {devices: all, mig-devices: {3g.40gb: 1}}\n", 2,
     "{file}:4:7: field 'mig-enabled' is missing in an entry, expected true or false"),
    ("mig_devices_that_are_a_list", H100, entry(profiles="[3g.40gb]"), 2,
     "{file}:6:20: field 'mig-devices' is a list, expected a mapping of profile names to counts"),
    ("mig_devices_that_are_a_text", H100, entry(profiles="3g.40gb"), 2,
     "{file}:6:20: field 'mig-devices' is text '3g.40gb', expected a mapping of profile names to counts"),
    ("no_mig_devices", H100, "version: v1\nmig-configs:\n  c:\n    - {devices: all, mig-enabled: true}\n", 2,
     "{file}:4:7: field 'mig-devices' is missing in an entry with 'mig-enabled: true'; write {} for no instances"),
    ("mig_devices_with_mig_disabled", H100, entry(enabled="false"), 2,
     "{file}:6:20: field 'mig-devices' must be empty with 'mig-enabled: false'"),
    ("a_device_filter_that_is_a_number", H100, entry(more="      device-filter: 0x233010DE\n"), 2,
     "{file}:7:22: field 'device-filter' is number 0x233010DE, expected a text in quotes, as \"0x233010DE\", "
     "or a list of them"),
    ("a_device_filter_that_is_a_mapping", H100, entry(more="      device-filter: {a: b}\n"), 2,
     "{file}:7:22: field 'device-filter' is a mapping, expected a text in quotes, as \"0x233010DE\", or a list "
     "of them"),
    ("a_device_filter_that_lost_a_digit", H100, entry(more="      device-filter: \"0x23310DE\"\n"), 2,
     "{file}:7:22: device filter '0x23310DE' is malformed, expected '0xDDDDVVVV' or '0xDDDDVVVV:0xSSSSWWWW' "
     "(device and vendor, of the board and its subsystem)"),
    ("a_device_filter_with_half_a_subsystem", H100, entry(more="      device-filter: [\"0x233010DE:0x16C1\"]\n"), 2,
     "{file}:7:23: device filter '0x233010DE:0x16C1' is malformed, expected '0xDDDDVVVV' or "
     "'0xDDDDVVVV:0xSSSSWWWW' (device and vendor, of the board and its subsystem)"),
    ("a_device_filter_that_is_a_name", H100, entry(more="      device-filter: H100\n"), 2,
     "{file}:7:22: device filter 'H100' is malformed, expected '0xDDDDVVVV' or '0xDDDDVVVV:0xSSSSWWWW' (device "
     "and vendor, of the board and its subsystem)"),
    ("a_device_filter_of_another_board", H100, entry(more="      device-filter: \"0x20B210DE\"\n"), 3,
     "{file}:3:3: configuration 'c' matches no GPU of this node, which has 1"),
    ("a_negative_count", H100, entry(profiles="{3g.40gb: -1}"), 2,
     "{file}:6:30: the count of '3g.40gb' is number -1, expected a whole number from 0 to 1000"),
    ("a_count_beyond_bounds", H100, entry(profiles="{3g.40gb: 1001}"), 2,
     "{file}:6:30: the count of '3g.40gb' is number 1001, expected a whole number from 0 to 1000"),
    ("a_count_beyond_any_number", H100, entry(profiles="{3g.40gb: 18446744073709551617}"), 2,
     "{file}:6:30: the count of '3g.40gb' is number 18446744073709551617, expected a whole number from 0 to 1000"),
    ("a_count_that_is_a_text", H100, entry(profiles="{3g.40gb: two}"), 2,
     "{file}:6:30: the count of '3g.40gb' is text 'two', expected a whole number from 0 to 1000"),
    ("a_count_that_is_a_fraction", H100, entry(profiles="{3g.40gb: 1.5}"), 2,
     "{file}:6:30: the count of '3g.40gb' is number 1.5, expected a whole number from 0 to 1000"),
    ("a_count_that_is_missing", H100, entry(profiles="{3g.40gb: }"), 2,
     "{file}:6:30: the count of '3g.40gb' is nothing, expected a whole number from 0 to 1000"),
    ("counts_that_are_all_zero", H100, entry(profiles="{3g.40gb: 0, 1g.10gb: 0}"), 2,
     "{file}:6:20: all counts in 'mig-devices' are 0; write {} for no instances"),
    ("more_than_the_board_holds", H100, entry(profiles="{3g.40gb: 3}"), 3,
     "{file}:4:7: GPU 0 (NVIDIA H100 80GB HBM3): 3 x 3g.40gb are wanted, this board holds at most 2"),
    ("together_more_than_the_board_holds", H100, entry(profiles="{3g.40gb: 2, 1g.10gb: 1}"), 3,
     "wanted by {file}:4: GPU 0 (NVIDIA H100 80GB HBM3) cannot hold 1 x 1g.10gb, 2 x 3g.40gb: with the others "
     "placed, one 1g.10gb is left over and the free units are: none"),
    ("a_profile_without_memory", H100, entry(profiles="{3g: 1}"), 2,
     "{file}:6:21: profile '3g': expected 'g.' or 'c.' at character 2, found 'g'"),
    ("a_profile_with_a_leading_zero", H100, entry(profiles="{03g.40gb: 1}"), 2,
     "{file}:6:21: profile '03g.40gb': a number of slices at character 1 begins with a zero"),
    ("a_profile_with_an_unknown_attribute", H100, entry(profiles="{1g.10gb+mee: 1}"), 2,
     "{file}:6:21: profile '1g.10gb+mee': unknown attribute '+mee' at character 9, known are +gfx, +me, +me.all, -me"),
    ("a_profile_with_blanks", H100, entry(profiles="{\" 3g.40gb\": 1}"), 2,
     "{file}:6:21: profile ' 3g.40gb': expected a number of slices at character 1, found ' '"),
    ("an_empty_profile", H100, entry(profiles="{\"\": 1}"), 2,
     "{file}:6:21: profile '': expected a number of slices at character 1, found the end"),
    ("more_compute_than_the_profile_has", H100, entry(profiles="{4c.3g.40gb: 1}"), 2,
     "{file}:6:21: profile '4c.3g.40gb': 4c is more than the GPU instance's 3g"),
    ("one_profile_under_two_names", H100, entry(profiles="{1g.10gb+me: 1, 1G.10GB+ME: 1}"), 2,
     "{file}:6:36: profile '1G.10GB+ME': expected 'g.' or 'c.' at character 2, found 'G'"),
    ("a_key_given_twice", H100, entry(profiles="{3g.40gb: 1, 3g.40gb: 1}"), 2,
     "{file}:6:33: key '3g.40gb' stands twice in one mapping, first at line 6"),
    ("a_configuration_given_twice", H100, GOOD + "  c:\n    - %s\n" % ENTRY, 2,
     "{file}:5:3: key 'c' stands twice in one mapping, first at line 3"),
    ("a_profile_of_the_sibling_board", A100, entry(), 3,
     "{file}:4:7: GPU 0 (NVIDIA A100-SXM4-40GB) does not offer 3g.40gb; it offers 1g.5gb, 1g.5gb+me, 1g.10gb, "
     "2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb; offered by: a100-80gb, h100-pcie-80gb, h100-sxm5-80gb"),
    ("a_profile_of_the_elder_board", H100, entry(profiles="{1g.5gb: 7}"), 3,
     "{file}:4:7: GPU 0 (NVIDIA H100 80GB HBM3) does not offer 1g.5gb; it offers 1g.10gb, 2g.20gb, 3g.40gb, "
     "4g.40gb, 7g.80gb, 1g.10gb+me, 1g.20gb; offered by: a100-40gb"),
    ("a_profile_of_no_board", H100, entry(profiles="{3g.41gb: 1}"), 3,
     "{file}:4:7: GPU 0 (NVIDIA H100 80GB HBM3) does not offer 3g.41gb; it offers 1g.10gb, 2g.20gb, 3g.40gb, "
     "4g.40gb, 7g.80gb, 1g.10gb+me, 1g.20gb; offered by: no board of the catalogue"),
    ("an_index_beyond_the_node", A100, entry(devices="[0, 2, 5]", profiles="{3g.20gb: 1}"), 3,
     "{file}:4:16: configuration 'c' names GPU 2, 5; this node has GPU 0-1"),
    ("mig_on_a_board_without_it_by_index", T4, entry(devices="[0]"), 3,
     "{file}:4:7: configuration 'c' wants MIG on GPU 0, which cannot do MIG (Tesla T4)"),
    ("mig_on_a_board_without_it_by_all", T4, entry(), 3,
     "{file}:3:3: configuration 'c' matches no GPU of this node; GPU 0 cannot do MIG"),
    ("an_alias_bomb", H100, bomb(), 2,
     "{file}:6:10: more than 100000 nodes, aliases expanded"),
    ("an_alias_of_itself", H100, "a: &a [*a]\n", 2,
     "{file}:1:8: alias '*a' stands inside what it names"),
    ("an_alias_of_nothing", H100, "a: *b\n", 2,
     "{file}:1:4: alias '*b' without an anchor before it"),
    ("a_merge_key", H100, "<<: {a: 1}\n", 2,
     "{file}:1:1: merge keys ('<<') are not supported: write the fields out"),
    ("a_tag", H100, "version: !!python/object v1\n", 2,
     "{file}:1:10: tag 'tag:yaml.org,2002:python/object' is not supported"),
    ("nesting_in_flows", H100, "[" * 100000, 2,
     "{file}:1:65: nested deeper than 64 levels"),
    ("nesting_in_blocks", H100, "\n".join(" " * n + "a:" for n in range(80)), 2,
     "{file}:64:64: nested deeper than 64 levels"),
    ("a_binary_file", H100, b"\x7fELF\x02\x01\x01" + bytes(range(256)), 2,
     "{file}:1:1: a control character"),
    ("bytes_that_are_no_utf_8", H100, b"version: v1\n# caf\xe9\n", 2,
     "{file}:2:6: byte 0xe9 is not UTF-8"),
    ("utf_16", H100, GOOD.encode("utf-16"), 2,
     "{file}:1:1: byte 0xff is not UTF-8"),
    ("a_nul_byte", H100, GOOD + "\0", 2,
     "{file}:5:1: a NUL byte: this is no text file"),
    ("an_escaped_nul", H100, GOOD.replace("c:", "\"c\\0d\":"), 2,
     "{file}:3:3: a text with a NUL in it"),
    ("an_empty_file", H100, "", 2,
     "{file}:1:1: the file is empty"),
    ("only_blank_lines", H100, "\n\n  \n", 2,
     "{file}:1:1: the file is empty"),
    ("only_comments", H100, "# nothing\n# at all\n", 2,
     "{file}:1:1: the file is empty"),
    ("a_tab_in_the_indentation", H100, "version: v1\nmig-configs:\n\tc: []\n", 2,
     "{file}:3:1: a tab in the indentation; YAML indents with spaces alone"),
    ("two_documents", H100, GOOD + "---\n" + GOOD, 2,
     "{file}:5:1: a second document begins; a file holds one"),
    ("a_list_at_the_top", H100, "- version: v1\n", 2,
     "{file}:1:1: a mig-parted file is a list, expected a mapping"),
    ("a_text_at_the_top", H100, "version v1\n", 2,
     "{file}:1:1: a mig-parted file is text 'version v1', expected a mapping"),
    ("a_bracket_left_open", H100, "version: v1\nmig-configs: {c: [\n", 2,
     "{file}:3:1: syntax: did not find expected node content, while parsing a flow node from line 3 on"),
    ("a_quote_left_open", H100, "version: \"v1\n", 2,
     "{file}:2:1: syntax: found unexpected end of stream, while scanning a quoted scalar from line 1 on"),
]


def write(folder, content, name="layout.yaml"):
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def refused(bulkhead, machine, folder, *args, exit):  # pylint: disable=redefined-builtin
    """plan and apply say the same, and touch nothing. Gives the error."""
    before = machine.show()["changing_calls"]
    said = [bulkhead(command, *args, "--json", exit=exit, cwd=folder).error for command in ("plan", "apply")]
    assert said[0] == said[1]
    assert machine.show()["changing_calls"] == before == 0
    return said[0]


@pytest.mark.parametrize("machine,content,exit_status,message", [row[1:] for row in REFUSED],
                         ids=[row[0] for row in REFUSED])
def test_refused_with_the_place_and_nothing_touched(machine, content, exit_status, message, bulkhead, node, tmp_path):
    error = refused(bulkhead, node(machine), tmp_path, "-f", write(tmp_path, content), exit=exit_status)
    assert error["message"] == message.replace("{file}", "layout.yaml")


def test_a_profile_of_a_sibling_comes_with_the_nearest_of_this_board(bulkhead, node, tmp_path):
    error = refused(bulkhead, node(A100), tmp_path, "-f", write(tmp_path, entry()), exit=3)
    assert error["code"] == "profile-not-offered"
    assert error["next"] == "use 3g.20gb, the nearest profile of this board with as much compute"


def test_a_file_of_100_mb_is_refused_at_once(bulkhead, node, tmp_path):
    machine = node(H100)
    with open(tmp_path / "layout.yaml", "wb") as file:
        file.write(GOOD.encode())
        file.truncate(100 * 1000 * 1000)
    for _ in range(2):
        error = refused(bulkhead, machine, tmp_path, "-f", "layout.yaml", exit=2)
        assert error["message"] == "layout.yaml:1:1: the file is longer than 1048576 bytes"
        write(tmp_path, GOOD + "#" * (1024 * 1024))


def test_a_file_that_is_none_is_refused(bulkhead, node, tmp_path):
    machine = node(H100)
    os.mkfifo(tmp_path / "pipe")
    os.mkdir(tmp_path / "folder")
    for name, message in (("nowhere", "file 'nowhere': No such file or directory"),
                          ("pipe", "file 'pipe' is a pipe ('-' reads standard input), not a regular file"),
                          ("folder", "file 'folder' is a directory, not a regular file"),
                          ("/dev/null", "file '/dev/null' is a device or socket, not a regular file")):
        assert refused(bulkhead, machine, tmp_path, "-f", name, exit=2)["message"] == message


def test_names_that_are_not_there_are_told_with_those_that_are(bulkhead, node, tmp_path):
    machine = node(H100)
    text = "version: v1\nmig-configs:\n" + "".join("  %s: [%s]\n" % (name, ENTRY) for name in ("all-small", "all-large"))
    file = write(tmp_path, text)
    for select, code, message in (
            (["--select", "all-smal"], "unknown-name", "layout.yaml has no configuration 'all-smal', did you mean 'all-small'? "
             "it has: all-small, all-large"),
            (["--select", "ALL-LARGE"], "unknown-name", "layout.yaml has no configuration 'ALL-LARGE', did you mean 'all-large'?"
             " it has: all-small, all-large"),
            (["--select", "x"], "unknown-name", "layout.yaml has no configuration 'x', it has: all-small, all-large"),
            (["--select", ""], "unknown-name", "layout.yaml has no configuration '', it has: all-small, all-large"),
            ([], "usage", "layout.yaml has 2 configurations, one must be selected: all-small, all-large")):
        error = refused(bulkhead, machine, tmp_path, "-f", file, *select, exit=2)
        assert (error["code"], error["message"]) == (code, message)


def test_a_zero_among_positive_counts_is_dropped_with_a_note(bulkhead, node, tmp_path):
    machine = node(H100)
    file = write(tmp_path, entry(profiles="{1g.10gb: 0, 3g.40gb: 1}"))
    for command in ("plan", "apply"):
        said = bulkhead(command, "-f", file, "--json", cwd=tmp_path).json
        assert said["notes"] == ["layout.yaml:6:21: '1g.10gb: 0' beside positive counts is dropped"]
    assert [i["profile"] for i in machine.show()["gpus"][0]["instances"]] == ["3g.40gb"]


def test_a_board_without_mig_is_passed_by_with_a_note(bulkhead, node, tmp_path):
    node("mixed")
    file = write(tmp_path, entry(profiles="{}"))
    said = bulkhead("plan", "-f", file, "--json", cwd=tmp_path).json
    assert said["notes"] == ["layout.yaml:4:16: GPU 6 (NVIDIA L40S) cannot do MIG: 'devices: all' passes it by"]
    assert [gpu["index"] for gpu in said["gpus"] if gpu.get("in_scope", True)] == [0, 1, 2, 3, 4, 5]
