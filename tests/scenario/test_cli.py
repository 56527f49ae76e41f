# SPDX-License-Identifier: Apache-2.0
"""What the command line says of itself, and of boards: one table makes help, completion and the manual page."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

EXAMPLE = os.path.join(ROOT, "examples", "mig-config.yaml")


def commands_in_help(bulkhead):
    text = bulkhead("help").out.split("commands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)


def options_in_help(bulkhead, command):
    """{"--file": "FILE", "-f": "FILE", "--json": None}"""
    found = {}
    if command == "sim":
        return found
    for short, name, argument in re.findall(r"^  (?:-(\w), |   +)--([a-z-]+) ?(\S+)?  ", bulkhead("help", command).out,
                                            re.MULTILINE):
        found["--" + name] = argument or None
        if short:
            found["-" + short] = argument or None
    return found


def options_in_man(bulkhead):
    """{command: {option: argument}}"""
    page = bulkhead("man").out.split(".SH COMMANDS\n")[1].split("\n.SH ")[0]
    commands = {}
    for section in page.split(".SS ")[1:]:
        found = commands[section.split("\n")[0]] = {}
        for line in re.findall(r"^\.TP\n(.+)$", section, re.MULTILINE):
            plain = re.sub(r"\\f[BRI]", "", line).replace("\\-", "-")
            words = plain.replace(",", "").split()
            names = [word for word in words if word.startswith("-")]
            for name in names:
                found[name] = words[-1] if words[-1] not in names else None
    return commands


def complete(bulkhead, *words, cwd=None):
    """What bash offers for the last of these words."""
    script = ('source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bulkhead; '
              '((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, bulkhead.program, bulkhead.program, *words], env=bulkhead.env, text=True,
                          capture_output=True, timeout=60, check=False, cwd=cwd)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split("\n")[:-1]


def test_help_completion_and_man_name_the_same_commands(bulkhead):
    commands = commands_in_help(bulkhead)
    assert {"plan", "apply", "completion", "man"} <= set(commands)
    assert complete(bulkhead, "") == commands
    assert list(options_in_man(bulkhead)) == commands
    described = re.findall(r"^\t\t'([a-z]+):", bulkhead("completion", "zsh").out, re.MULTILINE)
    assert described == commands


def test_help_completion_and_man_give_every_command_the_same_options(bulkhead):
    man, zsh = options_in_man(bulkhead), bulkhead("completion", "zsh").out
    some = 0
    for command in commands_in_help(bulkhead):
        told = options_in_help(bulkhead, command)
        assert man[command] == told, command
        assert set(complete(bulkhead, command, "-")) == set(told), command
        case = zsh.split("\t(%s)\n" % command)[1].split(";;")[0]
        assert set(re.findall(r"^\t\t\t'(?:\([^)]*\))?(--?[a-z-]+)=?\[", case, re.MULTILINE)) == set(told), command
        some += len(told)
    assert some > 30


def test_an_option_that_completion_offers_is_taken_by_its_command(bulkhead, tmp_path):
    for command in commands_in_help(bulkhead):
        for option in options_in_help(bulkhead, command):
            said = bulkhead(command, option, "x", "-f", "no-such-file", exit=None, cwd=tmp_path)
            assert "takes no option '%s'" % option not in said.err, said


def test_bash_completes_what_was_begun(bulkhead):
    assert complete(bulkhead, "pl") == ["plan"]
    assert complete(bulkhead, "plan", "--sel") == ["--select"]
    assert complete(bulkhead, "sim", "cr") == ["create"]
    assert complete(bulkhead, "help", "stat") == ["status"]
    assert complete(bulkhead, "completion", "") == ["bash", "zsh"]
    assert complete(bulkhead, "plan", "--driver", "") == ["nvml", "sim:"]
    assert complete(bulkhead, "plan", "--call-deadline", "") == []


def test_bash_completes_files_folders_and_the_names_in_the_file(bulkhead, tmp_path):
    (tmp_path / "layouts").mkdir()
    (tmp_path / "lay.yaml").write_text("x")
    assert set(complete(bulkhead, "plan", "-f", "lay", cwd=tmp_path)) == {"layouts", "lay.yaml"}
    assert complete(bulkhead, "plan", "--state", "lay", cwd=tmp_path) == ["layouts"]
    assert complete(bulkhead, "plan", "--driver", "sim", ":", "lay", cwd=tmp_path) == ["layouts"]
    assert complete(bulkhead, "plan", "-f", EXAMPLE, "--select", "bal") == ["balanced"]
    assert complete(bulkhead, "apply", "--mig-config", "=", EXAMPLE, "--select", "=", "note") == ["notebooks"]
    assert complete(bulkhead, "plan", "-f", "missing", "--select", "") == []
    assert complete(bulkhead, "plan", "-f", "-", "--select", "") == []


def test_a_file_cannot_make_completion_run_anything(bulkhead, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("version: v1\nmig-configs:\n  '$(touch ran)':\n    - {devices: all, mig-enabled: false}\n")
    offered = complete(bulkhead, "plan", "-f", str(bad), "--select", "$", cwd=tmp_path)
    offered += complete(bulkhead, "plan", "-f", "$(touch ran)", "--select", "", cwd=tmp_path)
    assert not (tmp_path / "ran").exists()
    assert all(re.match(r"\\\$\\\(", one) for one in offered), offered


def test_bash_completes_the_models_of_the_catalogue(bulkhead):
    assert complete(bulkhead, "profiles", "--model", "h100-s") == ["h100-sxm5-80gb"]


def test_zsh_takes_its_script(bulkhead, tmp_path):
    zsh = shutil.which("zsh")
    if not zsh:
        pytest.skip("there is no zsh here")
    script = tmp_path / "_bulkhead"
    script.write_text(bulkhead("completion", "zsh").out)
    subprocess.run([zsh, "-n", str(script)], check=True, timeout=60)


def test_groff_formats_the_manual_page_without_a_warning(bulkhead):
    if not shutil.which("groff"):
        pytest.skip("there is no groff here")
    page = bulkhead("man").out
    done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-c", "-z"], input=page, text=True, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_man_and_help_and_readme_give_every_exit_status_the_same_words(bulkhead):
    page = bulkhead("man").out.split(".SH EXIT STATUS\n")[1].split(".SH ")[0].replace("\\-", "-")
    man = dict(re.findall(r"^\.TP\n\.B (\d+)\n(.+)$", page, re.MULTILINE))
    told = dict(re.findall(r"^ +(\d+) (.+)$", bulkhead("help").out.split("exit status:\n")[1], re.MULTILINE))
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = {n: text.replace("`", "").strip() for n, text in re.findall(r"\| (\d+) \| ([^|]+?) (?=\|)", file.read())}
    assert man == told == readme and len(man) == 12


def test_a_shell_that_is_not_known_is_bad_usage(bulkhead):
    assert json.loads(bulkhead("completion", "fish", "--json", exit=2).out)["error"]["code"] == "usage"
    assert "help completion" in bulkhead("completion", exit=2).err
    assert "takes no argument" in bulkhead("man", "plan", exit=2).err
    assert bulkhead("completion", "--help").out == bulkhead("help", "completion").out


def catalogue():
    for name in sorted(os.listdir(os.path.join(ROOT, "data", "gpu-models"))):
        if name.endswith(".json"):
            with open(os.path.join(ROOT, "data", "gpu-models", name), encoding="utf-8") as file:
                yield name[:-5], json.load(file)


def test_profiles_of_a_model_are_those_of_its_file_and_what_is_unknown_is_null(bulkhead):
    nulls = 0
    for slug, data in catalogue():
        told = bulkhead("profiles", "--model", slug, "--json").json
        assert (told["model"], told["source"]) == (slug, "catalogue")
        assert told["placement_units"] == data.get("placement_units")
        assert told["compute_slices"] == data["compute_slices"]
        assert [p["name"] for p in told["gi_profiles"]] == [p["name"] for p in data["gi_profiles"]]
        for one, file in zip(told["gi_profiles"], data["gi_profiles"]):
            assert set(one) == {"name", "profile_id", "nvml_enum", "max_instances", "slice_count", "memory_mib", "sm",
                                "placements"}
            assert one["placements"] is None or all(set(p) == {"start", "size"} for p in one["placements"])
            assert (one["placements"] is None) == (not file.get("placements"))
            nulls += sum(value is None for value in one.values())
    assert nulls > 20


def test_profiles_of_a_node_come_from_its_driver_once_for_each_kind_of_board(bulkhead, node, tmp_path):
    node("mixed")
    told = bulkhead("profiles", "--json").json
    inventory = bulkhead("inventory", "--json").json["gpus"]
    assert len(told["boards"]) == len({gpu["name"] for gpu in inventory}) > 1
    assert sorted(i for board in told["boards"] for i in board["gpus"]) == [gpu["index"] for gpu in inventory]
    assert {key: told["boards"][0][key] for key in ("model", "gi_profiles")} == {
        key: told[key] for key in ("model", "gi_profiles")}


def test_profiles_say_that_they_are_the_drivers_once_mig_is_on(bulkhead, node):
    node("h100x1")
    bulkhead("apply", "-f", EXAMPLE, "--select", "balanced")
    told = bulkhead("profiles", "--json").json
    assert told["source"] == "driver" and told["model"] == "h100-sxm5-80gb"
    (small,) = [p for p in told["gi_profiles"] if p["name"] == "1g.10gb"]
    assert (small["profile_id"], small["nvml_enum"], small["max_instances"]) == (19, 0, 7)
    assert [p["start"] for p in small["placements"]] == list(range(7))
    text = bulkhead("profiles").out
    assert "from the driver\n" in text
    assert re.search(r"^  1g\.10gb +\|===\|===\|===\|===\|===\|===\|===\|\.\.\.\|$", text, re.MULTILINE), text


def test_profiles_say_in_text_that_they_are_the_catalogues_and_what_it_does_not_know(bulkhead):
    assert "from the catalogue" in bulkhead("profiles", "--model", "a30-24gb").out
    text = bulkhead("profiles", "--model", "thor-igpu").out
    assert "unknown: where 7 of the 7 profiles can stand" in text and "the catalogue is incomplete here" in text


def test_a_board_that_does_not_tell_its_index_has_the_one_it_is_listed_by(bulkhead, node):
    node("h100x2").inject("fault", "call=nvmlDeviceGetIndex", "error=NVML_ERROR_UNKNOWN")
    assert [gpu["index"] for gpu in bulkhead("inventory", "--json").json["gpus"]] == [0, 1]
    assert "GPU 1 NVIDIA H100" in bulkhead("inventory").out


def test_an_unknown_model_is_named_with_the_nearest_and_all_there_are(bulkhead):
    error = bulkhead("profiles", "--model", "h100-sxm-80gb", "--json", exit=2).error
    assert error["code"] == "unknown-name" and "h100-sxm5-80gb" in error["next"]
    assert all(slug in error["message"] for slug, _ in catalogue())
    assert "h100-" in bulkhead("profiles", "--model", "h100", "--json", exit=2).error["next"]


def test_profiles_without_a_driver_point_to_the_catalogue(bulkhead):
    assert bulkhead("profiles", "--json", exit=11).error["code"] == "no-driver"
