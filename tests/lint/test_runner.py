# SPDX-License-Identifier: Apache-2.0
"""What the runner of the tests must not overlook: a crash, a hang, silence, a lost result."""
import importlib.machinery
import importlib.util
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PASSED = '<testsuites><testsuite name="s" tests="1" failures="0" errors="0"><testcase name="a"></testcase></testsuite></testsuites>'


def total(*paths):
    said = subprocess.run([os.path.join(ROOT, "scripts", "sum-junit"), *map(str, paths)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    return said.stdout.splitlines()[-1], said.returncode, said.stdout


@pytest.fixture
def file(tmp_path):
    def write(text, name="a.xml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name
    return write


def test_passes_failures_and_skips_are_summed_with_reasons(file):
    path = file('<?xml version="1.0" ?><testsuites><testsuite name="s" tests="4" failures="1" errors="1" skipped="1">'
                '<testcase name="a"/><testcase name="b"><failure><![CDATA[1 != 2]]></failure></testcase>'
                '<testcase name="c"><skipped message="no GPU here"/></testcase>'
                '<testcase name="d"><error message="boom"/></testcase></testsuite></testsuites>')
    line, status, said = total(path)
    assert (line, status) == ("1 passed, 2 failed, 1 skipped", 1)
    assert "skipped: s::c: no GPU here" in said and "FAILED: s::b\n    1 != 2" in said and "boom" in said


@pytest.mark.parametrize("text, line", [
    (PASSED, "1 passed, 0 failed, 0 skipped"),
    (PASSED[:-20], "0 passed, 1 failed, 0 skipped"),
    ("", "0 passed, 1 failed, 0 skipped"),
    ('<testsuite name="s" tests="0"></testsuite>', "0 passed, 1 failed, 0 skipped"),
    # cmocka: a group set-up that failed; two groups of one name; exceptions counted as errors
    ('<testsuites><testsuite name="s" tests="0" failures="0" errors="1"></testsuite></testsuites>', "0 passed, 1 failed, 0 skipped"),
    (PASSED + PASSED, "2 passed, 0 failed, 0 skipped"),
    ('<testsuite name="s" failures="0" errors="1"><testcase name="a"><failure>x</failure></testcase></testsuite>',
     "0 passed, 1 failed, 0 skipped"),
])
def test_a_file_is_counted_for_what_it_holds_and_silence_fails(file, text, line):
    assert total(file(text))[0] == line


def test_a_missing_file_and_an_empty_folder_fail(tmp_path):
    assert total(tmp_path / "none.xml")[0] == "0 passed, 1 failed, 0 skipped"
    assert total(tmp_path)[0] == "0 passed, 1 failed, 0 skipped"


SKIPS = '<testsuite name="s"><testcase name="a"><skipped message="%s"/></testcase><testcase name="b"/></testsuite>'


@pytest.mark.parametrize("ci", ["true", ""])
@pytest.mark.parametrize("reason, expected", [
    ("no file /x/mig-parted-config.yaml (BULKHEAD_MIG_CONFIGS names the folder)", True),
    ("no mig-parted files at /x (BULKHEAD_MIG_CONFIGS)", True),
    ("peers cannot be had: no apt here", True),
    ("no network file system can be mounted here", True),
    ("no v1 freezer at /sys/fs/cgroup/freezer", True),
    ("only root can become somebody else", True),
    ("this tree does not build bulkhead", False),
    ("codespell is not installed", False),
    ("could not import 'yaml'", False),
    ("no reason given", False),
])
def test_in_continuous_integration_only_expected_skips_pass(file, monkeypatch, reason, expected, ci):
    monkeypatch.setenv("CI", ci)
    said = subprocess.run(runner_module().sum_command([str(file(SKIPS % reason))]), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    passes = expected or not ci
    assert said.stdout.splitlines()[-1] == ("1 passed, 0 failed, 1 skipped" if passes else "1 passed, 1 failed, 0 skipped")
    assert said.returncode == (0 if passes else 1)
    assert passes or "FAILED: s::a\n    skipped, which nothing expects: " + reason in said.stdout


@pytest.mark.parametrize("text, word", [
    ("a: b", "CLASS<tab>PATTERN"), ("\tb", "CLASS<tab>PATTERN"), ("a\t", "CLASS<tab>PATTERN"), ("a\t(", "no regular expression"),
])
def test_a_broken_list_of_expected_skips_is_no_list(file, text, word):
    said = subprocess.run([os.path.join(ROOT, "scripts", "sum-junit"),
                           "--expected-skips=%s" % file("# x\n\n%s\n" % text, "list"), file(PASSED)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert (said.returncode, said.stdout) == (1, "") and word in said.stderr and ":3: " in said.stderr


def test_a_failure_that_the_suite_counts_is_not_outweighed_by_an_unexpected_skip(file):
    text = '<testsuite name="s" failures="0" errors="1"><testcase name="a"><skipped message="x"/></testcase></testsuite>'
    line, status, _ = total("--expected-skips=%s" % file("", "list"), file(text))
    assert (line, status) == ("0 passed, 2 failed, 0 skipped", 1)


def runner_module():
    loader = importlib.machinery.SourceFileLoader("run_tests", os.path.join(ROOT, "scripts", "run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def unit(tmp_path):
    """Runs a shell script as a unit test program and gives the sum of its results."""
    def run(script, cmocka=True, timeout=20):
        runner = runner_module().Runner("asan", None)
        runner.results, runner.sanitizer = str(tmp_path / "results"), str(tmp_path / "sanitizer")
        runner.factor = 1
        os.makedirs(runner.results)
        os.makedirs(runner.sanitizer)
        program = tmp_path / "program"
        program.write_text("#!/bin/sh\n# %s\nF=$(echo \"$CMOCKA_XML_FILE\" | sed s/%%g/s/)\nREPORT=%s/report.1\n%s\n" %
                           ("libcmocka" if cmocka else "", runner.sanitizer, script))
        program.chmod(0o755)
        runner.unit_test({"name": "t", "cmd": [str(program)], "timeout": timeout, "env": {}})
        return total(runner.results)
    return run


@pytest.mark.parametrize("script, line", [
    ("echo '%s' > \"$F\"" % PASSED, "1 passed, 0 failed, 0 skipped"),
    ("exit 0", "0 passed, 1 failed, 0 skipped"),
    ("kill -SEGV $$", "0 passed, 1 failed, 0 skipped"),
    ("echo '%s' > \"$F\"; exit 99" % PASSED, "1 passed, 1 failed, 0 skipped"),
    ("echo '%s' > \"$F\"; kill -ABRT $$" % PASSED, "1 passed, 1 failed, 0 skipped"),
    ("echo '<testsuites>' > \"$F\"", "0 passed, 1 failed, 0 skipped"),
    ("echo '%s' > \"$F\"; echo 'heap-use-after-free' > $REPORT" % PASSED, "1 passed, 1 failed, 0 skipped"),
    ("echo 'skipped: no cgroup2 here'; echo '<testsuite name=\"s\"><testcase name=\"a\"><skipped/></testcase></testsuite>' > \"$F\"",
     "0 passed, 0 failed, 1 skipped"),
])
def test_a_cmocka_program_owes_results_and_a_clean_end(unit, script, line):
    summed, _, said = unit(script)
    assert summed == line, said
    assert "no cgroup2" not in script or "skipped: t (asan)::a: no cgroup2 here" in said


@pytest.mark.parametrize("script, line", [
    ("exit 0", "1 passed, 0 failed, 0 skipped"),
    ("exit 3", "0 passed, 1 failed, 0 skipped"),
    ("echo 'no GPU here'; exit 77", "0 passed, 0 failed, 1 skipped"),
    ("kill -9 $$", "0 passed, 1 failed, 0 skipped"),
])
def test_another_program_is_one_test(unit, script, line):
    assert unit(script, cmocka=False)[0] == line


def test_a_program_that_hangs_is_ended_and_fails_with_its_children(unit, tmp_path):
    summed, _, said = unit("(sleep 1000 & echo $! > %s/pid; wait)" % tmp_path, timeout=1)
    assert summed == "0 passed, 1 failed, 0 skipped"
    assert "did not end within 1 s" in said
    try:
        with open("/proc/%d/stat" % int((tmp_path / "pid").read_text()), encoding="utf-8") as file:
            assert file.read().split()[2] in "ZX"  # ended, not yet collected
    except FileNotFoundError:
        pass
