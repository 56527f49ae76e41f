# SPDX-License-Identifier: Apache-2.0
"""pynvml, which nobody here wrote, on the NVML of a simulated H100."""
import json
import os
import re
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LIST = """
import json, pynvml as n
def text(value):
    return value.decode() if isinstance(value, bytes) else value
n.nvmlInit()
found = []
for index in range(n.nvmlDeviceGetCount()):
    device = n.nvmlDeviceGetHandleByIndex(index)
    uuid = text(n.nvmlDeviceGetUUID(device))
    pci = n.nvmlDeviceGetPciInfo(device)
    found.append({
        "name": text(n.nvmlDeviceGetName(device)), "uuid": uuid,
        "memory_mib": n.nvmlDeviceGetMemoryInfo(device).total >> 20,
        "mig": n.nvmlDeviceGetMigMode(device), "index": n.nvmlDeviceGetIndex(device),
        "pci": text(pci.busId), "pci_device_id": pci.pciDeviceId,
        "same": n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(uuid.encode())) == index})
print(json.dumps({"driver": text(n.nvmlSystemGetDriverVersion()), "gpus": found}))
n.nvmlShutdown()
"""

PROFILES = """
import json, pynvml as n
n.nvmlInit()
device = n.nvmlDeviceGetHandleByIndex(0)
found = {}
for enum in range(n.NVML_GPU_INSTANCE_PROFILE_COUNT):
    try:
        info = n.nvmlDeviceGetGpuInstanceProfileInfo(device, enum)
    except (n.NVMLError_NotSupported, n.NVMLError_InvalidArgument):
        continue
    found[enum] = [info.id, info.sliceCount, info.instanceCount, info.multiprocessorCount, info.memorySizeMB]
print(json.dumps({"count": n.NVML_GPU_INSTANCE_PROFILE_COUNT, "found": found}))
n.nvmlShutdown()
"""

SWITCH = """
import json, pynvml as n
n.nvmlInit()
device = n.nvmlDeviceGetHandleByIndex(0)
activation = n.nvmlDeviceSetMigMode(device, 1)
print(json.dumps({"activation": activation, "mig": n.nvmlDeviceGetMigMode(device),
                  "max": n.nvmlDeviceGetMaxMigDeviceCount(device)}))
n.nvmlShutdown()
"""


@pytest.fixture
def h100(build, tmp_path):
    """A simulated node with one H100, made with the simulator's own tool."""
    folder = tmp_path / "node"
    subprocess.run([build.product("sim/simctl"), "create", "h100x1", "--dir", str(folder)], check=True,
                   stdin=subprocess.DEVNULL, timeout=60)
    return str(folder)


@pytest.fixture
def ask(h100, pynvml):
    """Runs a program that uses pynvml and gives the JSON it prints."""
    def run(program):
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(h100, "lib"), PYTHONPATH=pynvml)
        said = subprocess.run([sys.executable, "-c", program], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False)
        assert said.returncode == 0, said.stderr
        return json.loads(said.stdout)
    return run


def test_pynvml_lists_the_simulated_h100(ask):
    said = ask(LIST)
    assert said["driver"]
    (gpu,) = said["gpus"]
    assert gpu["name"] == "NVIDIA H100 80GB HBM3"
    assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", gpu["uuid"])
    assert gpu["memory_mib"] == 81559
    assert gpu["mig"] == [0, 0]
    assert gpu["index"] == 0 and gpu["same"]
    assert gpu["pci_device_id"] == 0x233010DE
    assert re.fullmatch(r"[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.0", gpu["pci"])


def test_pynvml_sees_the_profiles_of_the_board_file(ask):
    with open(os.path.join(ROOT, "data", "gpu-models", "h100-sxm5-80gb.json"), encoding="utf-8") as file:
        board = json.load(file)
    said = ask(PROFILES)
    wanted = {str(p["nvml_enum"]): [p["profile_id"], p["slice_count"], p["max_instances"], p["sm"], p["memory_mib"]]
              for p in board["gi_profiles"] if p["nvml_enum"] < said["count"]}
    assert said["found"] == wanted


def test_pynvml_switches_mig_on(ask):
    said = ask(SWITCH)
    assert said["activation"] == 0
    assert said["mig"] == [1, 1]
    assert said["max"] == 7
    assert ask(LIST)["gpus"][0]["mig"] == [1, 1]
