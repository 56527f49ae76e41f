/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU instances. Profile info is asked for by the enum and answers with the profile id; everything
 * else takes the profile id. Source: header.
 */
#include "nvml/impl.h"

#include <stdio.h>
#include <string.h>

#include "model/rules.h"
#include "nvml/process.h"

static nvmlGpuInstanceProfileInfo_t describe(const struct sim_gi_row *row)
{
	return (nvmlGpuInstanceProfileInfo_t){
			.id = row->id,
			.isP2pSupported = row->p2p,
			.sliceCount = row->slices,
			.instanceCount = row->max_instances,
			.multiprocessorCount = row->sm,
			.copyEngineCount = row->engines.copy,
			.decoderCount = row->engines.decoder,
			.encoderCount = row->engines.encoder,
			.jpegCount = row->engines.jpeg,
			.ofaCount = row->engines.ofa,
			.memorySizeMB = row->memory_mib,
	};
}

/*
 * Boards before Hopper answer only with MIG on (header); Hopper and later always (facts). A number
 * past the enum is invalid, one that the board lacks is not supported: iterating ends so.
 */
static nvmlReturn_t find_row(nvmlDevice_t device, bool by_id, unsigned int which,
		const struct sim_gi_row **ret_row)
{
	enum sim_result result = SIM_INVALID;
	const struct sim_board *board;
	struct sim_tx tx;
	uint32_t gpu, row;

	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu) &&
			(by_id || which < NVML_GPU_INSTANCE_PROFILE_COUNT)) {
		board = tx.map->boards[gpu];
		result = SIM_NOT_SUPPORTED;
		if ((board->architecture >= SIM_HOPPER || tx.state->gpus[gpu].mig.current) &&
				(by_id ? sim_gi_row_by_id(board, which, &row)
				       : sim_gi_row_by_number(board, which, &row))) {
			*ret_row = &board->gis[row];
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceProfileInfo(
		nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info)
{
	const struct sim_gi_row *row;
	nvmlReturn_t rc;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = find_row(device, /* by_id= */ false, profile, &row);
	if (rc == NVML_SUCCESS)
		*info = describe(row);
	return rc;
}

static void fill_v2(const struct sim_gi_row *row, nvmlGpuInstanceProfileInfo_v2_t *info)
{
	nvmlGpuInstanceProfileInfo_t d = describe(row);

	*info = (nvmlGpuInstanceProfileInfo_v2_t){
			.version = NVML_GPU_INSTANCE_PROFILE_INFO_V2,
			.id = d.id,
			.isP2pSupported = d.isP2pSupported,
			.sliceCount = d.sliceCount,
			.instanceCount = d.instanceCount,
			.multiprocessorCount = d.multiprocessorCount,
			.copyEngineCount = d.copyEngineCount,
			.decoderCount = d.decoderCount,
			.encoderCount = d.encoderCount,
			.jpegCount = d.jpegCount,
			.ofaCount = d.ofaCount,
			.memorySizeMB = d.memorySizeMB,
	};
	(void) snprintf(info->name, sizeof(info->name), "MIG %s", row->name);
}

static void fill_v3(const struct sim_gi_row *row, nvmlGpuInstanceProfileInfo_v3_t *info)
{
	nvmlGpuInstanceProfileInfo_t d = describe(row);

	*info = (nvmlGpuInstanceProfileInfo_v3_t){
			.version = NVML_GPU_INSTANCE_PROFILE_INFO_V3,
			.id = d.id,
			.sliceCount = d.sliceCount,
			.instanceCount = d.instanceCount,
			.multiprocessorCount = d.multiprocessorCount,
			.copyEngineCount = d.copyEngineCount,
			.decoderCount = d.decoderCount,
			.encoderCount = d.encoderCount,
			.jpegCount = d.jpegCount,
			.ofaCount = d.ofaCount,
			.memorySizeMB = d.memorySizeMB,
			.capabilities = (row->p2p ? NVML_GPU_INSTANCE_PROFILE_CAPS_P2P : 0) |
					(row->gfx ? NVML_GPU_INSTANCE_PROFILE_CAPS_GFX : 0),
	};
	(void) snprintf(info->name, sizeof(info->name), "MIG %s", row->name);
}

static nvmlReturn_t versioned(nvmlDevice_t device, bool by_id, unsigned int which, void *info)
{
	const struct sim_gi_row *row;
	unsigned int version;
	nvmlReturn_t rc;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	memcpy(&version, info, sizeof(version));
	if (version != NVML_GPU_INSTANCE_PROFILE_INFO_V2 &&
			version != NVML_GPU_INSTANCE_PROFILE_INFO_V3)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = find_row(device, by_id, which, &row);
	if (rc != NVML_SUCCESS)
		return rc;
	if (version == NVML_GPU_INSTANCE_PROFILE_INFO_V2)
		fill_v2(row, info);
	else
		fill_v3(row, info);
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceProfileInfoV(
		nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_v2_t *info)
{
	return versioned(device, /* by_id= */ false, profile, info);
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceProfileInfoByIdV(
		nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstanceProfileInfo_v2_t *info)
{
	return versioned(device, /* by_id= */ true, profile_id, info);
}

/* A static list, not what is free; answers with MIG off too. Source: facts, header. */
nvmlReturn_t sim_nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device,
		unsigned int profile_id, nvmlGpuInstancePlacement_t *placements,
		unsigned int *count)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	uint32_t gpu, row;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		result = SIM_NOT_SUPPORTED;
		if (sim_gi_row_by_id(tx.map->boards[gpu], profile_id, &row)) {
			const struct sim_gi_row *profile = &tx.map->boards[gpu]->gis[row];

			for (size_t i = 0; placements && i < profile->n_places; i++)
				placements[i] = (nvmlGpuInstancePlacement_t){
						profile->places[i].start, profile->places[i].size};
			*count = (unsigned int) profile->n_places;
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceRemainingCapacity(
		nvmlDevice_t device, unsigned int profile_id, unsigned int *count)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	uint32_t gpu, row;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		const struct sim_mig *mig = &tx.state->gpus[gpu].mig;

		result = SIM_NOT_SUPPORTED;
		if (mig->current && sim_gi_row_by_id(tx.map->boards[gpu], profile_id, &row)) {
			*count = sim_gi_capacity(tx.map->boards[gpu], mig, row);
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

static nvmlReturn_t create(nvmlDevice_t device, unsigned int profile_id, int start, uint32_t size,
		nvmlGpuInstance_t *gpu_instance)
{
	enum sim_result result = SIM_INVALID;
	struct sim_gi_ref ref = {0};
	struct sim_tx tx;
	uint32_t gpu;

	if (!gpu_instance)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!sim_may_configure())
		return NVML_ERROR_NO_PERMISSION;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu))
		result = sim_gi_create(&tx, gpu, profile_id, start, size, &ref);
	result = sim_tx_end(&tx, result);
	sim_process_sync();
	if (result == SIM_OK)
		*gpu_instance = sim_handle_of_gi(ref);
	return sim_to_nvml(result);
}

nvmlReturn_t sim_nvmlDeviceCreateGpuInstance(
		nvmlDevice_t device, unsigned int profile_id, nvmlGpuInstance_t *gpu_instance)
{
	return create(device, profile_id, /* start= */ -1, 0, gpu_instance);
}

nvmlReturn_t sim_nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device,
		unsigned int profile_id, const nvmlGpuInstancePlacement_t *placement,
		nvmlGpuInstance_t *gpu_instance)
{
	if (!placement || placement->start > 64)
		return NVML_ERROR_INVALID_ARGUMENT;
	return create(device, profile_id, (int) placement->start, placement->size, gpu_instance);
}

nvmlReturn_t sim_nvmlGpuInstanceDestroy(nvmlGpuInstance_t gpu_instance)
{
	enum sim_result result;
	struct sim_tx tx;

	if (!sim_may_configure())
		return NVML_ERROR_NO_PERMISSION;
	sim_process_begin(&tx);
	result = sim_tx_end(&tx, sim_gi_destroy(&tx, sim_handle_gi(gpu_instance)));
	sim_process_sync();
	return sim_to_nvml(result);
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profile_id,
		nvmlGpuInstance_t *gpu_instances, unsigned int *count)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	uint32_t gpu, row;
	unsigned int n = 0;

	if (!count || !gpu_instances)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!sim_may_list())
		return NVML_ERROR_NO_PERMISSION;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		const struct sim_mig *mig = &tx.state->gpus[gpu].mig;

		if (!mig->current)
			result = SIM_NOT_SUPPORTED;
		else if (sim_gi_row_by_id(tx.map->boards[gpu], profile_id, &row))
			result = SIM_OK;
		for (uint32_t i = 0; result == SIM_OK && i < SIM_GIS_MAX; i++) {
			if (mig->gis[i].generation && mig->gis[i].row == row)
				gpu_instances[n++] = sim_handle_of_gi((struct sim_gi_ref){
						gpu, i, mig->gis[i].generation});
		}
		if (result == SIM_OK)
			*count = n;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlDeviceGetGpuInstanceById(
		nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *gpu_instance)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	uint32_t gpu;

	if (!gpu_instance)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!sim_may_list())
		return NVML_ERROR_NO_PERMISSION;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		const struct sim_mig *mig = &tx.state->gpus[gpu].mig;

		result = mig->current ? SIM_NOT_FOUND : SIM_NOT_SUPPORTED;
		for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
			if (!mig->gis[i].generation || mig->gis[i].id != id)
				continue;
			*gpu_instance = sim_handle_of_gi(
					(struct sim_gi_ref){gpu, i, mig->gis[i].generation});
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gpu_instance, nvmlGpuInstanceInfo_t *info)
{
	struct sim_gi_ref ref = sim_handle_gi(gpu_instance);
	enum sim_result result = SIM_INVALID;
	const struct sim_gi *gi;
	struct sim_tx tx;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	gi = sim_gi_get(&tx, ref);
	if (gi) {
		*info = (nvmlGpuInstanceInfo_t){
				.device = sim_handle_of_gpu(&tx, ref.gpu),
				.id = gi->id,
				.profileId = sim_gi_profile(&tx, ref.gpu, gi)->id,
				.placement = {gi->start, gi->size},
		};
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}
