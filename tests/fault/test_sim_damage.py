# SPDX-License-Identifier: Apache-2.0
"""Random damage to a simulated node's state file: every command on it ends, in words, by itself.

    BULKHEAD_DAMAGE_SEED    of the damages (default 1)
    BULKHEAD_DAMAGE_COUNT   how many (default 300)
"""
import os
import random

SEED = int(os.environ.get("BULKHEAD_DAMAGE_SEED") or 1)
COUNT = int(os.environ.get("BULKHEAD_DAMAGE_COUNT") or 300)
CONFIG = """version: v1
mig-configs:
  some:
    - devices: all
      mig-enabled: true
      mig-devices: {"1g.10gb": 2, "3g.40gb": 1}
"""
VALUES = (0, 1, 2, 7, 0x20, 0x41, 0x7F, 0x80, 0xFF)


def damage(state, picks, places):
    """Some bytes of it, mostly such as are in use: the rest of the file is zeros that nobody reads."""
    for _ in range(picks.randint(1, 6)):
        at = picks.choice(picks.choice(places))
        for i in range(at, min(at + picks.choice((1, 1, 2, 4, 8)), len(state))):
            state[i] = picks.choice(VALUES) if picks.random() < 0.7 else picks.randrange(256)


def test_no_damage_to_the_state_makes_a_command_crash_or_hang(bulkhead, node, tmp_path):
    machine = node("h100x2")
    path = os.path.join(machine.dir, "state")
    with open(path, "rb") as file:
        fresh = file.read()
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    bulkhead("apply", "-f", config)
    machine.inject("busy", "gpu=0", "start=0")
    machine.inject("fault", "call=nvmlDeviceGetSerial", "error=NVML_ERROR_UNKNOWN")
    with open(path, "rb") as file:
        whole = file.read()
    changed = [i for i, byte in enumerate(whole) if byte != fresh[i]]
    late = [i for i in changed if i > changed[-1] // 2]  # behind what is kept for undoing
    places = (changed, late, late, [i for i, byte in enumerate(whole) if byte], range(len(whole)))
    picks = random.Random(SEED)
    refused = survived = unsound = 0
    for _ in range(COUNT):
        state = bytearray(whole)
        damage(state, picks, places)
        with open(path, "r+b") as file:
            file.write(state)
        shown = bulkhead("sim", "show", machine.dir, "--json", exit=(0, 1, 2))
        checked = bulkhead("sim", "check", machine.dir, exit=(0, 1, 2))
        bulkhead("sim", "inject", machine.dir, "holder", "gpu=0", "kind=agent", exit=(0, 1, 2))
        told = bulkhead("inventory", "--json", exit=None)
        assert 0 <= told.exit <= 12 and told.json, "seed %d: %s" % (SEED, told)
        assert shown.exit == 0 or shown.err.startswith("bulkhead sim: "), "seed %d: %s" % (SEED, shown)
        refused += checked.exit == 2
        unsound += checked.exit == 1
        survived += checked.exit == 0
    print("%d damages, seed %d: %d refused, %d found unsound, %d without effect" %
          (COUNT, SEED, refused, unsound, survived))
    assert refused and unsound and survived
    with open(path, "r+b") as file:
        file.write(whole)
    assert bulkhead("sim", "check", machine.dir).out == "sound\n"
