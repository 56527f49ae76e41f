# SPDX-License-Identifier: Apache-2.0
"""The fuzzers find nothing in BULKHEAD_FUZZ_SECONDS (20) each."""
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = sorted(name[len("fuzz_"):-2] for name in os.listdir(os.path.dirname(os.path.abspath(__file__)))
               if re.fullmatch(r"fuzz_\w+\.c", name))


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_strange_bytes_do_no_harm(name):
    seconds = int(os.environ.get("BULKHEAD_FUZZ_SECONDS") or 20)
    done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "fuzz"), str(seconds), name], capture_output=True,
                          text=True, errors="replace", timeout=seconds + 600, check=False)
    print(done.stdout)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
