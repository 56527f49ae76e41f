# SPDX-License-Identifier: Apache-2.0
"""pynvml asks simulated boxes how their GPUs hang together, as job schedulers do."""
import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.heavy

ASK = """
import json, pynvml as n
n.nvmlInit()
gpus = [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
def links(gpu):
    found = []
    for link in range(n.NVML_NVLINK_MAX_LINKS):
        try:
            if n.nvmlDeviceGetNvLinkState(gpu, link) == n.NVML_FEATURE_ENABLED:
                found.append(n.nvmlDeviceGetNvLinkRemotePciInfo(gpu, link).bus)
        except (n.NVMLError_NotSupported, n.NVMLError_InvalidArgument):
            break
    return found
print(json.dumps({
    "buses": [n.nvmlDeviceGetPciInfo(gpu).bus for gpu in gpus],
    "links": [links(gpu) for gpu in gpus],
    "levels": [[n.nvmlDeviceGetTopologyCommonAncestor(a, b) for b in gpus if b is not a] for a in gpus],
    "nvlink": [[n.nvmlDeviceGetP2PStatus(a, b, n.NVML_P2P_CAPS_INDEX_NVLINK) for b in gpus if b is not a] for a in gpus],
    "near": [[n.nvmlDeviceGetIndex(other) for other in n.nvmlDeviceGetTopologyNearestGpus(gpu, n.NVML_TOPOLOGY_NODE)]
             for gpu in gpus],
    "cpus": [list(n.nvmlDeviceGetCpuAffinity(gpu, 4)) for gpu in gpus],
    "cpu0": [n.nvmlDeviceGetIndex(gpu) for gpu in n.nvmlSystemGetTopologyGpuSet(0)],
    "nodes": [list(n.nvmlDeviceGetMemoryAffinity(gpu, 1, n.NVML_AFFINITY_SCOPE_NODE)) for gpu in gpus]}))
n.nvmlShutdown()
"""


@pytest.fixture
def ask(node, pynvml):
    """ask("h100x8") gives what pynvml is told there."""
    def run(machine):
        said = subprocess.run([sys.executable, "-c", ASK], env=dict(node(machine).nvml_env, PYTHONPATH=pynvml),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        assert said.returncode == 0, said.stderr
        return json.loads(said.stdout)
    return run


def test_eight_h100_are_all_joined_and_stand_four_to_a_node(ask):
    said = ask("h100x8")
    assert [len(found) for found in said["links"]] == [18] * 8
    assert said["nvlink"] == [[0] * 7] * 8
    assert said["levels"][0] == [40, 40, 40, 50, 50, 50, 50]
    assert said["near"][5] == [4, 6, 7]
    assert said["nodes"] == [[1]] * 4 + [[2]] * 4
    assert said["cpus"][0][0] == 0x00FFFFFFFFFFFFFF
    assert said["cpu0"] == [0, 1, 2, 3]


def test_a_bridged_pair_finds_each_other(ask):
    said = ask("a100x2-80gb")
    assert said["links"] == [[said["buses"][1]] * 12, [said["buses"][0]] * 12]


def test_t4_have_no_nvlinks(ask):
    said = ask("t4x4")
    assert said["links"] == [[]] * 4
    assert said["nvlink"] == [[5] * 3] * 4
    assert said["near"] == [[1], [0], [3], [2]]
