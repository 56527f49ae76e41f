/* SPDX-License-Identifier: Apache-2.0 */
/* MIG mode and MIG devices: NVML's view of compute instances as devices. */
#include "nvml/impl.h"

#include "model/nodes.h"
#include "nvml/process.h"

nvmlReturn_t sim_give_device(struct sim_ci_ref ref, nvmlDevice_t *ret_device)
{
	uint32_t minor, gi, ci;
	struct sim_tx tx;

	sim_process_begin(&tx);
	minor = tx.state->gpus[ref.gpu].minor;
	gi = tx.state->gpus[ref.gpu].mig.gis[ref.gi_slot].id;
	ci = tx.state->gpus[ref.gpu].mig.gis[ref.gi_slot].cis[ref.slot].id;
	(void) sim_tx_end(&tx, SIM_OK);
	if (!sim_process_has_cap(sim_cap_of_gi(minor, gi)) ||
			!sim_process_has_cap(sim_cap_of_ci(minor, gi, ci)))
		return NVML_ERROR_NOT_FOUND;
	*ret_device = sim_handle_of_device(ref);
	return NVML_SUCCESS;
}

bool sim_may_configure(void)
{
	return sim_process_has_cap(SIM_CAP_CONFIG);
}

bool sim_may_list(void)
{
	return sim_process_has_cap(SIM_CAP_MONITOR) || sim_may_configure();
}

nvmlReturn_t sim_nvmlDeviceGetMigMode(
		nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	uint32_t gpu;

	if (!current || !pending)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		result = tx.map->boards[gpu]->mig_capable ? SIM_OK : SIM_NOT_SUPPORTED;
		if (result == SIM_OK) {
			*current = tx.state->gpus[gpu].mig.current;
			*pending = tx.state->gpus[gpu].mig.pending;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlDeviceSetMigMode(
		nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activation)
{
	enum sim_result result = SIM_INVALID, activated = SIM_OK;
	struct sim_tx tx;
	uint32_t gpu;

	if (!activation || mode > NVML_DEVICE_MIG_ENABLE)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!sim_process_is_admin()) /* source: header, "requires root user" */
		return NVML_ERROR_NO_PERMISSION;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu))
		result = sim_mig_set_mode(&tx, gpu, sim_process_slot(),
				mode == NVML_DEVICE_MIG_ENABLE, &activated);
	result = sim_tx_end(&tx, result);
	sim_process_sync();
	if (result == SIM_OK)
		*activation = sim_to_nvml(activated);
	return sim_to_nvml(result);
}

static uint32_t max_devices(const struct sim_tx *tx, uint32_t gpu)
{
	return tx->state->gpus[gpu].mig.current ? tx->map->boards[gpu]->slices : 0;
}

nvmlReturn_t sim_nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	uint32_t gpu;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		*count = max_devices(&tx, gpu);
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlDeviceGetMigDeviceHandleByIndex(
		nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig_device)
{
	enum sim_result result = SIM_INVALID;
	struct sim_ci_ref ref = {0};
	struct sim_tx tx;
	uint32_t gpu;

	if (!mig_device)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu) && index < max_devices(&tx, gpu)) {
		result = SIM_NOT_FOUND;
		for (uint32_t k = 0; k < SIM_GIS_MAX * SIM_CIS_MAX; k++) {
			uint32_t i = k / SIM_CIS_MAX, j = k % SIM_CIS_MAX;
			const struct sim_ci *ci = &tx.state->gpus[gpu].mig.gis[i].cis[j];

			if (!ci->generation || ci->device_index != index)
				continue;
			ref = (struct sim_ci_ref){gpu, i, j, ci->generation};
			result = SIM_OK;
		}
	}
	result = sim_tx_end(&tx, result);
	return result == SIM_OK ? sim_give_device(ref, mig_device) : sim_to_nvml(result);
}

nvmlReturn_t sim_nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig)
{
	struct sim_ci_ref ref;
	struct sim_tx tx;
	bool known;

	if (!is_mig)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	known = sim_handle_either(&tx, device, &ref);
	(void) sim_tx_end(&tx, SIM_OK);
	if (!known)
		return NVML_ERROR_INVALID_ARGUMENT;
	*is_mig = ref.generation != 0;
	return NVML_SUCCESS;
}

static nvmlReturn_t ids_of(nvmlDevice_t device, unsigned int *gi, unsigned int *ci)
{
	enum sim_result result = SIM_INVALID;
	struct sim_ci_ref ref;
	struct sim_tx tx;

	sim_process_begin(&tx);
	if (sim_handle_device(&tx, device, &ref)) {
		const struct sim_gi *g = &tx.state->gpus[ref.gpu].mig.gis[ref.gi_slot];

		*gi = g->id;
		*ci = g->cis[ref.slot].id;
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	unsigned int ci;

	return id ? ids_of(device, id, &ci) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	unsigned int gi;

	return id ? ids_of(device, &gi, id) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
		nvmlDevice_t mig_device, nvmlDevice_t *device)
{
	enum sim_result result = SIM_INVALID;
	struct sim_ci_ref ref;
	struct sim_tx tx;

	if (!device)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (sim_handle_device(&tx, mig_device, &ref)) {
		*device = sim_handle_of_gpu(&tx, ref.gpu);
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}
