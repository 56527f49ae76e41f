/* SPDX-License-Identifier: Apache-2.0 */
/* What monitors and bindings ask of a GPU beside the rest, and nothing here rests on. */
#include "nvml/impl.h"

#include <string.h>

#include "model/client.h"
#include "nvml/process.h"

nvmlReturn_t sim_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
	enum sim_result result = SIM_NOT_FOUND;
	struct sim_tx tx;

	if (!serial || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	for (uint32_t g = 0; g < tx.state->n_gpus && result != SIM_OK; g++) {
		if (strcmp(tx.state->gpus[g].identity.serial, serial) != 0)
			continue;
		sim_client_opens(&tx, sim_process_slot(), g);
		*device = sim_handle_of_gpu(&tx, g);
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

static bool is_gpu(nvmlDevice_t device, uint32_t *ret_gpu)
{
	struct sim_tx tx;
	bool known;

	sim_process_begin(&tx);
	known = sim_handle_gpu(&tx, device, ret_gpu);
	(void) sim_tx_end(&tx, SIM_OK);
	return known;
}

/* No board here carries more than one GPU. */
nvmlReturn_t sim_nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2, int *same)
{
	uint32_t a, b;

	if (!same || !is_gpu(device1, &a) || !is_gpu(device2, &b))
		return NVML_ERROR_INVALID_ARGUMENT;
	*same = a == b;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int *multi)
{
	uint32_t gpu;

	if (!multi || !is_gpu(device, &gpu))
		return NVML_ERROR_INVALID_ARGUMENT;
	*multi = 0;
	return NVML_SUCCESS;
}

/* Nothing is drawn here. */
static nvmlReturn_t no_display(nvmlDevice_t device, nvmlEnableState_t *on)
{
	uint32_t gpu;

	if (!on || !is_gpu(device, &gpu))
		return NVML_ERROR_INVALID_ARGUMENT;
	*on = NVML_FEATURE_DISABLED;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t *on)
{
	return no_display(device, on);
}

nvmlReturn_t sim_nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t *on)
{
	return no_display(device, on);
}

/* Not simulated, of a GPU; a MIG device has none of it. */
static nvmlReturn_t not_simulated(nvmlDevice_t device)
{
	uint32_t gpu;

	return is_gpu(device, &gpu) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *limit)
{
	return not_simulated(device);
}

nvmlReturn_t sim_nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t *state)
{
	return not_simulated(device);
}

nvmlReturn_t sim_nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
		nvmlProcessUtilizationSample_t *samples, unsigned int *count,
		unsigned long long since)
{
	return not_simulated(device);
}
