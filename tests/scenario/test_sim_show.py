# SPDX-License-Identifier: Apache-2.0
"""What `sim show` says that the simulated node rests on."""
import collections
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def rows():
    """name -> checked_by, as the symbol list has them."""
    with open(os.path.join(ROOT, "src", "abi", "nvml_symbols.h"), encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"X\((nvml\w+), .*?, (HEADER|BINDINGS|NONE)\)", text, re.DOTALL)
    return {name: checked.lower() for name, checked in found}


def test_each_symbol_says_where_its_signature_was_checked_and_people_get_the_sums(node):
    machine = node("h100x1")
    shown = machine.show()
    assert shown["checked_by"] == rows()
    sums = collections.Counter(shown["checked_by"].values())
    line = "%d symbols: %d checked by the header, %d by bindings, %d by nothing; %d assumptions" % (
        len(shown["checked_by"]), sums["header"], sums["bindings"], sums["none"], shown["assumed"])
    assert line in machine.bulkhead("sim", "show", machine.dir).out.splitlines()


def test_troubles_of_gpus_and_a_clock_that_is_not_real_are_shown(node):
    machine = node("h100x2")
    assert [gpu["trouble"] for gpu in machine.show()["gpus"]] == 2 * [{"lost": False, "slow_ms": 0, "unkillable": False}]
    assert machine.show()["clock"]["real"] is True
    machine.inject("lost", "gpu=1")
    machine.inject("slow", "gpu=0", "ms=70")
    machine.bulkhead("sim", "clock", machine.dir, "scale=2.5")
    shown = machine.show()
    assert [gpu["trouble"] for gpu in shown["gpus"]] == [{"lost": False, "slow_ms": 70, "unkillable": False},
                                                        {"lost": True, "slow_ms": 0, "unkillable": False}]
    assert shown["clock"]["real"] is False and shown["clock"]["scale"] == 2.5
    text = machine.bulkhead("sim", "show", machine.dir).out
    assert "\n  each call takes 70 ms\n" in text and "\n  lost\n" in text
