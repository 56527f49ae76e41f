# SPDX-License-Identifier: Apache-2.0
"""The documents say what is so: commands exist, the table of rooms is the lint's, examples can be selected."""
import os
import re
import runpy
import subprocess

from conftest import ROOT


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def test_every_command_in_the_readme_exists_and_every_command_is_in_the_readme(build):
    said = subprocess.run([build.product("bulkhead"), "help"], capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  ([a-z]+) ", said.split("commands:")[1].split("\n\n")[0], re.MULTILINE))
    readme = read("README.md")
    used = set(re.findall(r"(?:build/)?bulkhead ([a-z]+)", readme))
    assert used <= listed, used - listed
    assert {c for c in listed if c not in ("help", "version")} <= used | set(re.findall(r"`([a-z]+)`", readme))


def test_the_table_of_rooms_in_the_architecture_is_that_of_the_lint(monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "scripts"))
    rooms = runpy.run_path(os.path.join(ROOT, "scripts", "lint-includes"))["ROOMS"]
    rows = re.findall(r"^\| ((?:`[a-z]+`(?:, )?)+) \| (.+?) \|$", read("docs", "ARCHITECTURE.md"), re.MULTILINE)
    told = {name: "" if allowed == "\u2013" else allowed for names, allowed in rows for name in re.findall(r"`([a-z]+)`", names)}
    assert told, "no table found"
    assert told == {name: rooms[name] for name in told}
    have_code = {d for d in os.listdir(os.path.join(ROOT, "src")) if os.path.isdir(os.path.join(ROOT, "src", d))}
    assert have_code <= set(told), have_code - set(told)


def test_every_folder_with_code_is_on_the_map():
    text = read("docs", "ARCHITECTURE.md")
    for room in os.listdir(os.path.join(ROOT, "src")):
        if os.path.isdir(os.path.join(ROOT, "src", room)):
            assert re.search(r"^src/%s\b" % room, text, re.MULTILINE), room


def test_the_files_that_the_documents_name_are_there():
    for document in ("README.md", "docs/ARCHITECTURE.md"):
        text = read(*document.split("/"))
        links = re.findall(r"\]\(([^)#]+)\)", text)
        for link in links:
            assert os.path.exists(os.path.join(ROOT, os.path.dirname(document), link)), link
        for name in re.findall(r"`((?:node|plan|apply|ledger|base|spec|gpu|driver|worker|cli)/[a-z_]+\.[ch])`", text):
            assert os.path.exists(os.path.join(ROOT, "src", name)), name


def test_the_selections_in_the_readme_are_in_the_example():
    example = read("examples", "mig-config.yaml")
    for name in re.findall(r"--select ([a-z0-9-]+)", read("README.md")):
        assert re.search(r"^  %s:" % name, example, re.MULTILINE), name


def test_exit_statuses_in_readme_and_help_agree(build):
    said = " ".join(subprocess.run([build.product("bulkhead"), "help"], capture_output=True, text=True, check=True).stdout.split())
    table = dict(re.findall(r"\| (\d+) \| ([^|]+?) (?=\|)", read("README.md")))
    assert set(table) == {str(n) for n in range(12)}
    for number in table:
        assert re.search(r"\b%s [a-z]" % number, said.split("exit status:")[1]), number
