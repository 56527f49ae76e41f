# SPDX-License-Identifier: Apache-2.0
"""pynvml divides simulated boards without saying where: instances go where published logs and the user guide have them.
Sources of each sequence: data/gpu-models (observed_auto_placement) and the MIG user guide."""
import json
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.heavy

DIVIDE = """
import json, sys, pynvml as n
def text(value):
    return value.decode() if isinstance(value, bytes) else value
n.nvmlInit()
gpu = n.nvmlDeviceGetHandleByIndex(0)
assert n.nvmlDeviceSetMigMode(gpu, 1) == n.NVML_SUCCESS and n.nvmlDeviceGetMigMode(gpu) == [1, 1]
said = {"made": [], "devices": []}
for profile in map(int, sys.argv[1:]):
    try:
        gi = n.nvmlDeviceCreateGpuInstance(gpu, profile)
    except n.NVMLError as error:
        said["made"].append({"error": error.value})
        continue
    info = n.nvmlGpuInstanceGetInfo(gi)
    offered = []
    for enum in range(9):
        try:
            offered.append(n.nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, enum, 0, version=1))
        except (n.NVMLError_NotSupported, n.NVMLError_InvalidArgument):
            continue
    full = max(offered, key=lambda row: row.multiprocessorCount)
    made = n.nvmlComputeInstanceGetInfo_v2(n.nvmlGpuInstanceCreateComputeInstance(gi, full.id))
    said["made"].append({"profile": info.profileId, "gi": info.id, "start": info.placement.start, "size": info.placement.size,
                         "ci": made.id, "ci_profile": made.profileId,
                         "left": n.nvmlDeviceGetGpuInstanceRemainingCapacity(gpu, profile)})
for index in range(n.nvmlDeviceGetMaxMigDeviceCount(gpu)):
    try:
        device = n.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index)
    except n.NVMLError_NotFound:
        continue
    uuid = text(n.nvmlDeviceGetUUID(device))
    memory = n.nvmlDeviceGetMemoryInfo(device)
    parent = n.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device)
    said["devices"].append({
        "uuid": uuid, "mib": memory.total >> 20, "free": memory.free >> 20, "gi": n.nvmlDeviceGetGpuInstanceId(device),
        "ci": n.nvmlDeviceGetComputeInstanceId(device), "name": text(n.nvmlDeviceGetName(device)),
        "attributes_mib": n.nvmlDeviceGetAttributes(device).memorySizeMB,
        "by_uuid": n.nvmlDeviceGetGpuInstanceId(n.nvmlDeviceGetHandleByUUID(uuid.encode())),
        "parent": n.nvmlDeviceGetIndex(parent), "is_mig": n.nvmlDeviceIsMigDeviceHandle(device)})
print(json.dumps(said, default=lambda number: number.value))
n.nvmlShutdown()
"""
NO_ROOM = {"error": 23}


@pytest.fixture
def divide(node, pynvml):
    """divide("h100x1", 19, 14) makes these instances, by profile id, and one compute instance in each."""
    def run(machine, *profiles):
        made = node(machine)
        said = subprocess.run([sys.executable, "-c", DIVIDE, *map(str, profiles)], env=dict(made.nvml_env, PYTHONPATH=pynvml),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        assert said.returncode == 0, said.stderr
        return dict(json.loads(said.stdout), shown=made.show()["gpus"][0]["instances"])
    return run


SEQUENCES = [
    ("a100_40gb_1g_2g_4g", "a100x1-40gb", [(19, 13, 6), (14, 5, 4), (5, 1, 0)]),
    ("a100_40gb_3g_1g_2g_1g", "a100x1-40gb", [(9, 2, 4), (19, 7, 0), (14, 4, 2), (19, 8, 1)]),
    ("h100_sxm_seven_1g", "h100x1", [(19, 7 + start, start) for start in (6, 4, 5, 0, 1, 2, 3)]),
    ("h100_sxm_3g_2g", "h100x1", [(9, 2, 4), (14, 3, 0)]),
    ("h100_pcie_1g_20gb", "h100pciex1", [(15, 6, 6)]),
    ("a30_1g", "a30x1", [(14, 3, 0)]),
]


@pytest.mark.parametrize("machine,rows", [row[1:] for row in SEQUENCES], ids=[row[0] for row in SEQUENCES])
def test_instances_go_where_they_were_seen_to_go(machine, rows, divide):
    said = divide(machine, *[row[0] for row in rows])
    assert [(made.get("profile"), made.get("gi"), made.get("start")) for made in said["made"]] == rows
    assert sorted(device["gi"] for device in said["devices"]) == sorted(row[1] for row in rows)


def test_two_3g_fit_and_a_1g_beside_them_does_not(divide):
    said = divide("a100x1-40gb", 9, 9, 19)
    assert [made.get("gi") for made in said["made"][:2]] == [2, 1]
    assert said["made"][1]["left"] == 0
    assert said["made"][2] == NO_ROOM
    # what stands at 4 has more memory than what stands at 0 (AWS p4d nodes)
    assert sorted((device["gi"], device["mib"]) for device in said["devices"]) == [(1, 20096), (2, 20224)]


def test_an_eighth_1g_is_refused(divide):
    said = divide("h100x1", *[19] * 8)
    assert said["made"][7] == NO_ROOM
    assert len(said["devices"]) == 7


def test_three_double_memory_1g_fit_and_their_full_compute_profile_is_7(divide):
    """That they went to GI 5, 3 and 4 on the node of the log is not simulated."""
    said = divide("gh200x1", 15, 15, 15)
    assert [made["ci_profile"] for made in said["made"]] == [7, 7, 7]
    assert len({made["gi"] for made in said["made"]}) == 3


def test_a_mig_device_is_found_by_its_uuid_and_has_the_memory_of_its_instance(divide):
    said = divide("h100x1", 9, 14, 19)
    devices = said["devices"]
    assert [device["mib"] for device in devices] == [device["attributes_mib"] for device in devices]
    assert {device["uuid"]: device["mib"] for device in devices} == {i["uuid"]: i["memory_mib"] for i in said["shown"]}
    assert len({device["uuid"] for device in devices}) == 3
    for device in devices:
        assert re.fullmatch(r"MIG-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", device["uuid"])
        assert device["by_uuid"] == device["gi"] and device["ci"] == 0
        assert device["parent"] == 0 and device["is_mig"] == 1
        assert device["free"] == device["mib"] > 0
    by_gi = {device["gi"]: device for device in devices}
    with_names = [(made["profile"], by_gi[made["gi"]]["name"], by_gi[made["gi"]]["mib"]) for made in said["made"]]
    assert with_names == [(9, "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40448), (14, "NVIDIA H100 80GB HBM3 MIG 2g.20gb", 20096),
                          (19, "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 9984)]
