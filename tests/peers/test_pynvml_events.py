# SPDX-License-Identifier: Apache-2.0
"""pynvml, which nobody here wrote, hears what happens to the GPUs of a simulated node."""
import json
import select
import subprocess
import sys

import pytest

XID = 0x8  # nvmlEventTypeXidCriticalError

# Registers, says so by a line, waits as long as it is told, and prints what it heard.
WAIT = """
import json, sys, time, pynvml as n
n.nvmlInit()
device = n.nvmlDeviceGetHandleByIndex(int(sys.argv[1]))
events = n.nvmlEventSetCreate()
assert n.nvmlDeviceGetSupportedEventTypes(device) & n.nvmlEventTypeXidCriticalError
n.nvmlDeviceRegisterEvents(device, n.nvmlEventTypeXidCriticalError, events)
print("registered", flush=True)
began = time.monotonic()
try:
    data = n.nvmlEventSetWait(events, int(sys.argv[2]))
    heard = {"type": data.eventType, "xid": data.eventData, "gi": data.gpuInstanceId, "ci": data.computeInstanceId,
             "gpu": n.nvmlDeviceGetIndex(data.device)}
except n.NVMLError as failed:
    heard = {"error": failed.value, "timeout": failed.value == n.NVML_ERROR_TIMEOUT}
heard["ms"] = (time.monotonic() - began) * 1000
print(json.dumps(heard))
n.nvmlEventSetFree(events)
n.nvmlShutdown()
"""

HEALTH = """
import json, pynvml as n
n.nvmlInit()
device = n.nvmlDeviceGetHandleByIndex(0)
histogram = n.nvmlDeviceGetRowRemapperHistogram(device)
fields = n.nvmlDeviceGetFieldValues(device, [230, n.NVML_FI_DEV_ECC_DBE_VOL_TOTAL, n.NVML_FI_DEV_PCIE_REPLAY_COUNTER])
print(json.dumps({
    "ecc": n.nvmlDeviceGetEccMode(device), "rows": n.nvmlDeviceGetRemappedRows(device),
    "corrected": n.nvmlDeviceGetTotalEccErrors(device, n.NVML_MEMORY_ERROR_TYPE_CORRECTED, n.NVML_VOLATILE_ECC),
    "uncorrected": n.nvmlDeviceGetMemoryErrorCounter(device, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, n.NVML_AGGREGATE_ECC,
                                                     n.NVML_MEMORY_LOCATION_DEVICE_MEMORY),
    "banks": [histogram.max, histogram.none], "fields": [[f.nvmlReturn, f.value.uiVal] for f in fields]}))
n.nvmlShutdown()
"""


class Waiter:
    """A process that waits for an Xid of one GPU; it has registered when this is made."""

    def __init__(self, env, gpu, timeout_ms):
        self.process = subprocess.Popen([sys.executable, "-c", WAIT, str(gpu), str(timeout_ms)], env=env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "registered\n", self.process.stderr.read()

    def has_answered(self):
        return bool(select.select([self.process.stdout], [], [], 0)[0])

    def answer(self):
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err
        return json.loads(out)


@pytest.fixture
def env(node, pynvml):
    made = node("h100x2")
    return dict(made.nvml_env, PYTHONPATH=pynvml), made


@pytest.fixture
def wait(env):
    waiters = []

    def start(gpu=0, timeout_ms=30000):
        waiters.append(Waiter(env[0], gpu, timeout_ms))
        return waiters[-1]

    yield start
    for waiter in waiters:
        if waiter.process.poll() is None:
            waiter.process.kill()
            waiter.process.communicate()


def run(program, env, *args):
    said = subprocess.run([sys.executable, "-c", program, *args], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


@pytest.mark.heavy
def test_pynvml_hears_an_injected_xid_with_its_instance(env, wait):
    run("import pynvml as n\nn.nvmlInit()\nprint(n.nvmlDeviceSetMigMode(n.nvmlDeviceGetHandleByIndex(0), 1))\n", env[0])
    waiter = wait()
    env[1].inject("xid", "gpu=0", "code=94", "gi=7", "ci=0")
    said = waiter.answer()
    assert (said["type"], said["xid"], said["gi"], said["ci"], said["gpu"]) == (XID, 94, 7, 0, 0)
    assert said["ms"] < 20000


@pytest.mark.heavy
def test_an_xid_of_the_whole_gpu_has_no_instance(env, wait):
    waiter = wait()
    env[1].inject("xid", "gpu=0", "code=79")
    said = waiter.answer()
    assert (said["xid"], said["gi"], said["ci"]) == (79, 0xFFFFFFFF, 0xFFFFFFFF)
    assert "Xid (PCI:0000:17:00): 79, " in env[1].show()["log"][-1]


@pytest.mark.heavy
def test_a_wait_without_an_event_is_a_timeout(wait):
    said = wait(timeout_ms=300).answer()
    assert said["timeout"]
    assert 290 < said["ms"] < 3000


@pytest.mark.heavy
def test_two_programs_both_hear_it_and_one_of_another_gpu_does_not(env, wait):
    first, second, other = wait(), wait(), wait(gpu=1)
    env[1].inject("xid", "gpu=0", "code=48")
    assert first.answer()["xid"] == second.answer()["xid"] == 48
    assert not other.has_answered()
    env[1].inject("xid", "gpu=1", "code=31")
    said = other.answer()
    assert (said["xid"], said["gpu"]) == (31, 1)


@pytest.mark.heavy
def test_pynvml_reads_what_was_injected(env):
    env[1].inject("ecc", "gpu=0", "corrected=3", "uncorrected=2")
    env[1].inject("remap", "gpu=0", "pending=1", "failure=1")
    env[1].inject("recovery", "gpu=0", "action=drain-and-reset")
    said = run(HEALTH, env[0])
    assert said["ecc"] == [1, 1]
    assert (said["corrected"], said["uncorrected"]) == (3, 2)
    assert said["rows"] == [0, 0, 1, 1]
    assert said["banks"] == [639, 1]
    assert said["fields"][:2] == [[0, 4], [0, 2]]
    assert said["fields"][2][0] == 3  # not supported, and the call succeeds
