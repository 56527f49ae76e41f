# SPDX-License-Identifier: Apache-2.0
"""The bench: that it runs, that its answers agree with those it checks them by, and that it says whether the goals
hold. The figures themselves are never judged by a test."""
import re
import subprocess

import pytest

# section: words that begin a line of its own, and goals that it judges
SECTIONS = {
    "fits": ("   100 GPUs: ", ["whether a demand fits at most", "how many cards are missing at most"]),
    "online": (" 10000 ", ["scarcity at most", "scarcity grows at most"]),
    "acceptance": ("8 GPUs, load 1.20: ", ["scarcity >= FGD", "scarcity strictly best", "at least 40 %"]),
}


def planner(build, *arguments):
    return subprocess.run([build.product("bench/planner"), *arguments], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, check=False)


def test_quick_runs_every_section_and_judges_every_goal(build):
    said = planner(build, "--quick")
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stderr == "" and "WRONG" not in said.stdout
    parts = dict(re.findall(r"^== (\w+): (.*?)^-- \1 took [0-9.]+ s$", said.stdout, re.MULTILINE | re.DOTALL))
    assert set(SECTIONS) <= set(parts)
    for name, (line, goals) in SECTIONS.items():
        assert "\n" + line in parts[name], parts[name]
        for goal in goals:
            assert re.search(r"^goal: %s.*: (holds|MISSED)" % re.escape(goal), parts[name], re.MULTILINE), parts[name]


def test_a_seed_gives_the_same_acceptance_again(build):
    def figures(seed):
        said = planner(build, "--quick", "--seed", seed, "acceptance")
        assert said.returncode == 0, said.stdout + said.stderr
        assert "== fits" not in said.stdout
        return re.sub(r"^(-- .*|planner, .*)\n", "", said.stdout, flags=re.MULTILINE)
    assert figures("3") == figures("3")
    assert figures("3") != figures("4")


@pytest.mark.parametrize("arguments", [["nothing-like-it"], ["--seed"], ["--slow"]])
def test_what_it_does_not_know_it_says(build, arguments):
    said = planner(build, *arguments)
    assert said.returncode == 2 and said.stdout == ""
    assert "usage: planner" in said.stderr and "acceptance" in said.stderr
