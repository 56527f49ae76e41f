# SPDX-License-Identifier: Apache-2.0
"""Help, completion and the manual page say the same, since one table says it."""
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


def test_an_option_that_completion_offers_is_taken_by_its_command(bulkhead):
    for command in commands_in_help(bulkhead):
        for option in options_in_help(bulkhead, command):
            said = bulkhead(command, option, "x", "-f", "no-such-file", exit=None)
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
