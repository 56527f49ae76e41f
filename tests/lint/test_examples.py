# SPDX-License-Identifier: Apache-2.0
"""The example layouts fit the boards they are for, by exact search over the board files' placements."""
import json
import os
import re

import pytest
import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, "data", "gpu-models")
ENTRY_FIELDS = {"device-filter", "devices", "mig-enabled", "mig-devices"}


def boards():
    for name in sorted(os.listdir(MODELS)):
        if name.endswith(".json"):
            with open(os.path.join(MODELS, name), encoding="utf-8") as file:
                yield json.load(file)


def board_of(device_filter):
    device = "0x" + device_filter[2:6]
    assert re.fullmatch(r"0x[0-9A-F]{4}10DE", device_filter)
    return next(b for b in boards() if any(p["device"] == device for p in b["pci_device_ids"]))


def fits(board, counts):
    """Whether the instances can be placed: the largest first, every placement tried."""
    profiles = {p["name"]: p for p in board["gi_profiles"]}
    wanted = []
    for name, count in counts.items():
        match = re.fullmatch(r"(?:(\d)c\.)?(.*)", name)
        profile = profiles[match.group(2)]
        if match.group(1):  # compute instances fill one GPU instance before they open the next
            count = -(-count // (profile["slice_count"] // int(match.group(1))))
        assert count <= profile["max_instances"]
        wanted += [profile] * count
    wanted.sort(key=lambda p: -p["placements"][0]["size"])

    def place(number, taken):
        if number == len(wanted):
            return True
        for p in wanted[number]["placements"]:
            mask = ((1 << p["size"]) - 1) << p["start"]
            if not taken & mask and place(number + 1, taken | mask):
                return True
        return False
    return place(0, 0)


with open(os.path.join(ROOT, "examples", "mig-config.yaml"), encoding="utf-8") as _file:
    EXAMPLE = yaml.safe_load(_file)


@pytest.mark.parametrize("name", sorted(EXAMPLE["mig-configs"]))
def test_the_example_layout_fits_its_boards(name):
    assert EXAMPLE["version"] == "v1"
    for entry in EXAMPLE["mig-configs"][name]:
        assert entry.keys() <= ENTRY_FIELDS and {"devices", "mig-enabled"} <= entry.keys()
        assert bool(entry.get("mig-devices")) <= entry["mig-enabled"]
        for device_filter in entry.get("device-filter", []):
            assert fits(board_of(device_filter), entry["mig-devices"])


def test_the_search_itself_refuses_what_cannot_be_placed():
    h100 = board_of("0x233010DE")
    assert not fits(h100, {"3g.40gb": 2, "1g.10gb": 1})
    assert not fits(h100, {"1g.20gb": 4, "1g.10gb": 1})
    assert fits(h100, {"3g.40gb": 1, "2g.20gb": 2})
