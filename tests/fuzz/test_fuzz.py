# SPDX-License-Identifier: Apache-2.0
"""The fuzzers find nothing in BULKHEAD_FUZZ_SECONDS each (60; as many side by side as there are processors)."""
import concurrent.futures
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = sorted(name[len("fuzz_"):-2] for name in os.listdir(os.path.dirname(os.path.abspath(__file__)))
               if re.fullmatch(r"fuzz_\w+\.c", name))


def fuzz(*args):
    return subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "fuzz"), *args], capture_output=True, text=True,
                          errors="replace", timeout=int(args[0]) + 600, check=False)


@pytest.fixture(scope="module")
def pool(request):
    """What runs those of them that were selected; the first build is one for all."""
    chosen = [item.callspec.params["name"] for item in request.session.items if item.module is request.module]
    seconds = os.environ.get("BULKHEAD_FUZZ_SECONDS") or "60"
    done = fuzz("1", *chosen)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        yield {name: executor.submit(fuzz, seconds, name) for name in chosen}


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_strange_bytes_do_no_harm(name, pool):
    done = pool[name].result()
    print(done.stdout)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
