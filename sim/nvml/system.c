/* SPDX-License-Identifier: Apache-2.0 */
/* The library, the system, and who runs on it. */
#include "nvml/impl.h"

#include <string.h>

#include "model/holder.h"
#include "nvml/process.h"

static nvmlReturn_t open_session(void)
{
	enum sim_result result = sim_process_open();

	return result == SIM_NOT_FOUND ? NVML_ERROR_DRIVER_NOT_LOADED : sim_to_nvml(result);
}

nvmlReturn_t sim_nvmlInit_v2(void)
{
	return open_session();
}

nvmlReturn_t sim_nvmlInitWithFlags(unsigned int flags)
{
	return open_session();
}

nvmlReturn_t sim_nvmlShutdown(void)
{
	return sim_process_close() ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

/* Never changes once the node stands. */
static struct sim_driver driver(void)
{
	struct sim_driver copy;
	struct sim_tx tx;

	sim_process_begin(&tx);
	copy = tx.state->driver;
	(void) sim_tx_end(&tx, SIM_OK);
	return copy;
}

nvmlReturn_t sim_nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	return sim_copy_text(driver().version, version, length);
}

nvmlReturn_t sim_nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
	return sim_copy_text(driver().nvml, version, length);
}

nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion(int *version)
{
	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	*version = (int) driver().cuda;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return sim_nvmlSystemGetCudaDriverVersion(version);
}

nvmlReturn_t sim_nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	char found[SIM_NAME_SIZE] = "";
	struct sim_tx tx;

	sim_process_begin(&tx);
	for (uint32_t g = 0; g < tx.state->n_gpus; g++) {
		for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
			const struct sim_holder *h = &tx.state->gpus[g].holders[i];

			if (h->used && h->kind == SIM_HOLDER_PROCESS &&
					(unsigned int) h->pid == pid)
				memcpy(found, h->name, sizeof(found));
		}
	}
	(void) sim_tx_end(&tx, SIM_OK);
	return found[0] ? sim_copy_text(found, name, length) : NVML_ERROR_NOT_FOUND;
}

/* Fills one process's row; memory is assumed, see model/holder.h. */
static void fill(const struct sim_gpu *gpu, const struct sim_holder *h, nvmlProcessInfo_t *info)
{
	*info = (nvmlProcessInfo_t){.pid = (unsigned int) h->pid,
			.usedGpuMemory = (unsigned long long) SIM_PROCESS_MIB << 20,
			.gpuInstanceId = NVML_NO_INSTANCE_ID,
			.computeInstanceId = NVML_NO_INSTANCE_ID};
	for (uint32_t i = 0; h->gi_generation && i < SIM_GIS_MAX; i++) {
		const struct sim_gi *gi = &gpu->mig.gis[i];

		if (gi->generation != h->gi_generation)
			continue;
		info->gpuInstanceId = gi->id;
		for (uint32_t j = 0; h->ci_generation && j < SIM_CIS_MAX; j++) {
			if (gi->cis[j].generation == h->ci_generation)
				info->computeInstanceId = gi->cis[j].id;
		}
	}
}

/*
 * A GPU's handle lists all its processes, those in instances with their ids; a MIG device's handle
 * only its own. Source: header.
 */
nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses_v3(
		nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	const struct sim_gpu *gpu;
	struct sim_ci_ref ref;
	unsigned int n = 0;
	struct sim_tx tx;
	bool known;

	if (!count || (*count && !infos))
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	known = sim_handle_either(&tx, device, &ref);
	for (uint32_t i = 0; known && i < SIM_HOLDERS_MAX; i++) {
		const struct sim_holder *h;

		gpu = &tx.state->gpus[ref.gpu];
		h = &gpu->holders[i];
		if (!h->used || h->kind != SIM_HOLDER_PROCESS ||
				(ref.generation && h->ci_generation != ref.generation))
			continue;
		if (n < *count)
			fill(gpu, h, &infos[n]);
		n++;
	}
	(void) sim_tx_end(&tx, SIM_OK);
	if (!known)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (n > *count) {
		*count = n;
		return NVML_ERROR_INSUFFICIENT_SIZE;
	}
	*count = n;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses_v2(
		nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
	/* laid out alike, as abi/nvml.h asserts */
	return sim_nvmlDeviceGetComputeRunningProcesses_v3(
			device, count, (nvmlProcessInfo_t *) infos);
}

nvmlReturn_t sim_nvmlDeviceGetComputeRunningProcesses(
		nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos)
{
	nvmlProcessInfo_t full[SIM_HOLDERS_MAX];
	unsigned int n = SIM_HOLDERS_MAX;
	nvmlReturn_t rc;

	if (!count || (*count && !infos))
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = sim_nvmlDeviceGetComputeRunningProcesses_v3(device, &n, full);
	if (rc != NVML_SUCCESS)
		return rc;
	for (unsigned int i = 0; i < n && i < *count; i++)
		infos[i] = (nvmlProcessInfo_v1_t){full[i].pid, full[i].usedGpuMemory};
	rc = n > *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
	*count = n;
	return rc;
}

/* Nobody draws here, and no MPS runs: empty lists. */
static nvmlReturn_t nobody(nvmlDevice_t device, unsigned int *count)
{
	struct sim_ci_ref ref;
	struct sim_tx tx;
	bool known;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	known = sim_handle_either(&tx, device, &ref);
	(void) sim_tx_end(&tx, SIM_OK);
	if (!known)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses_v3(
		nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	return nobody(device, count);
}

nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses_v2(
		nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *infos)
{
	return nobody(device, count);
}

nvmlReturn_t sim_nvmlDeviceGetMPSComputeRunningProcesses_v3(
		nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	return nobody(device, count);
}

nvmlReturn_t sim_nvmlDeviceGetGraphicsRunningProcesses(
		nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v1_t *infos)
{
	return nobody(device, count);
}
