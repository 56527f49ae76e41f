/* SPDX-License-Identifier: Apache-2.0 */
/* Compute instances within a GPU instance; info by enum, everything else by profile id. */
#include "nvml/impl.h"

#include <stdio.h>
#include <string.h>

#include "model/rules.h"
#include "nvml/process.h"

/* What calls on a living GPU instance need; false when the handle is stale. */
static bool enter(struct sim_tx *tx, nvmlGpuInstance_t handle, struct sim_gi **ret_gi,
		const struct sim_gi_row **ret_profile)
{
	struct sim_gi_ref ref = sim_handle_gi(handle);

	sim_process_begin(tx);
	*ret_gi = sim_gi_get(tx, ref);
	if (!*ret_gi)
		return false;
	*ret_profile = sim_gi_profile(tx, ref.gpu, *ret_gi);
	return true;
}

static nvmlComputeInstanceProfileInfo_t describe(const struct sim_ci_row *row)
{
	return (nvmlComputeInstanceProfileInfo_t){
			.id = row->id,
			.sliceCount = row->slices,
			.instanceCount = row->max_instances,
			.multiprocessorCount = row->sm,
			.sharedCopyEngineCount = row->engines.copy,
			.sharedDecoderCount = row->engines.decoder,
			.sharedEncoderCount = row->engines.encoder,
			.sharedJpegCount = row->engines.jpeg,
			.sharedOfaCount = row->engines.ofa,
	};
}

static nvmlReturn_t find_row(nvmlGpuInstance_t gpu_instance, unsigned int profile,
		unsigned int engine_profile, const struct sim_gi_row **ret_profile,
		const struct sim_ci_row **ret_row)
{
	enum sim_result result = SIM_INVALID;
	struct sim_gi *gi;
	struct sim_tx tx;
	uint32_t row;

	if (enter(&tx, gpu_instance, &gi, ret_profile) &&
			profile < NVML_COMPUTE_INSTANCE_PROFILE_COUNT &&
			engine_profile < NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT) {
		result = SIM_NOT_SUPPORTED;
		if (sim_ci_row_by_number(*ret_profile, profile, &row)) {
			*ret_row = &(*ret_profile)->cis[row];
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t gpu_instance,
		unsigned int profile, unsigned int engine_profile,
		nvmlComputeInstanceProfileInfo_t *info)
{
	const struct sim_gi_row *gi;
	const struct sim_ci_row *row;
	nvmlReturn_t rc;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = find_row(gpu_instance, profile, engine_profile, &gi, &row);
	if (rc == NVML_SUCCESS)
		*info = describe(row);
	return rc;
}

/* The v3 struct is the v2 struct with capabilities behind it. */
nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvmlGpuInstance_t gpu_instance,
		unsigned int profile, unsigned int engine_profile,
		nvmlComputeInstanceProfileInfo_v2_t *info)
{
	nvmlComputeInstanceProfileInfo_v3_t full = {0};
	nvmlComputeInstanceProfileInfo_t d;
	const struct sim_gi_row *gi;
	const struct sim_ci_row *row;
	nvmlReturn_t rc;

	if (!info || (info->version != NVML_COMPUTE_INSTANCE_PROFILE_INFO_V2 &&
				     info->version != NVML_COMPUTE_INSTANCE_PROFILE_INFO_V3))
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = find_row(gpu_instance, profile, engine_profile, &gi, &row);
	if (rc != NVML_SUCCESS)
		return rc;
	d = describe(row);
	full.version = info->version;
	memcpy(&full.id, &d, sizeof(d)); /* the same fields in the same order */
	if (row->sm == gi->sm)
		(void) snprintf(full.name, sizeof(full.name), "MIG %s", gi->name);
	else
		(void) snprintf(full.name, sizeof(full.name), "MIG %uc.%s", row->slices, gi->name);
	memcpy(info, &full, info->version & 0xFFFFFF);
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceRemainingCapacity(
		nvmlGpuInstance_t gpu_instance, unsigned int profile_id, unsigned int *count)
{
	enum sim_result result = SIM_INVALID;
	const struct sim_gi_row *profile;
	struct sim_gi *gi;
	struct sim_tx tx;
	uint32_t row;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (enter(&tx, gpu_instance, &gi, &profile)) {
		result = SIM_NOT_SUPPORTED;
		if (sim_ci_row_by_id(profile, profile_id, &row)) {
			*count = sim_ci_capacity(profile, gi, row);
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t gpu_instance,
		unsigned int profile_id, nvmlComputeInstancePlacement_t *placements,
		unsigned int *count)
{
	enum sim_result result = SIM_INVALID;
	const struct sim_gi_row *profile;
	struct sim_gi *gi;
	struct sim_tx tx;
	uint32_t row;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (enter(&tx, gpu_instance, &gi, &profile)) {
		result = SIM_NOT_SUPPORTED;
		if (sim_ci_row_by_id(profile, profile_id, &row)) {
			const struct sim_ci_row *ci = &profile->cis[row];

			for (size_t i = 0; placements && i < ci->n_places; i++)
				placements[i] = (nvmlComputeInstancePlacement_t){
						ci->places[i].start, ci->places[i].size};
			*count = (unsigned int) ci->n_places;
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

static nvmlReturn_t create(nvmlGpuInstance_t gpu_instance, unsigned int profile_id, int start,
		uint32_t size, nvmlComputeInstance_t *compute_instance)
{
	struct sim_ci_ref ref;
	enum sim_result result;
	struct sim_tx tx;

	if (!compute_instance)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!sim_may_configure())
		return NVML_ERROR_NO_PERMISSION;
	sim_process_begin(&tx);
	result = sim_tx_end(&tx, sim_ci_create(&tx, sim_handle_gi(gpu_instance), profile_id, start,
						 size, &ref));
	sim_process_sync();
	if (result == SIM_OK)
		*compute_instance = sim_handle_of_ci(ref);
	return sim_to_nvml(result);
}

nvmlReturn_t sim_nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t gpu_instance,
		unsigned int profile_id, nvmlComputeInstance_t *compute_instance)
{
	return create(gpu_instance, profile_id, /* start= */ -1, 0, compute_instance);
}

nvmlReturn_t sim_nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t gpu_instance,
		unsigned int profile_id, const nvmlComputeInstancePlacement_t *placement,
		nvmlComputeInstance_t *compute_instance)
{
	if (!placement || placement->start > 64)
		return NVML_ERROR_INVALID_ARGUMENT;
	return create(gpu_instance, profile_id, (int) placement->start, placement->size,
			compute_instance);
}

nvmlReturn_t sim_nvmlComputeInstanceDestroy(nvmlComputeInstance_t compute_instance)
{
	enum sim_result result;
	struct sim_tx tx;

	if (!sim_may_configure())
		return NVML_ERROR_NO_PERMISSION;
	sim_process_begin(&tx);
	result = sim_tx_end(&tx, sim_ci_destroy(&tx, sim_handle_ci(compute_instance)));
	sim_process_sync();
	return sim_to_nvml(result);
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gpu_instance,
		unsigned int profile_id, nvmlComputeInstance_t *compute_instances,
		unsigned int *count)
{
	struct sim_gi_ref ref = sim_handle_gi(gpu_instance);
	enum sim_result result = SIM_INVALID;
	const struct sim_gi_row *profile;
	struct sim_gi *gi;
	struct sim_tx tx;
	unsigned int n = 0;
	uint32_t row;

	if (!count || !compute_instances)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (enter(&tx, gpu_instance, &gi, &profile)) {
		result = SIM_NOT_SUPPORTED;
		if (sim_ci_row_by_id(profile, profile_id, &row)) {
			for (uint32_t i = 0; i < SIM_CIS_MAX; i++) {
				if (gi->cis[i].generation && gi->cis[i].row == row)
					compute_instances[n++] = sim_handle_of_ci(
							(struct sim_ci_ref){ref.gpu, ref.slot, i,
									gi->cis[i].generation});
			}
			*count = n;
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gpu_instance,
		unsigned int id, nvmlComputeInstance_t *compute_instance)
{
	struct sim_gi_ref ref = sim_handle_gi(gpu_instance);
	enum sim_result result = SIM_INVALID;
	const struct sim_gi_row *profile;
	struct sim_gi *gi;
	struct sim_tx tx;

	if (!compute_instance)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (enter(&tx, gpu_instance, &gi, &profile)) {
		result = SIM_NOT_FOUND;
		for (uint32_t i = 0; i < SIM_CIS_MAX; i++) {
			if (!gi->cis[i].generation || gi->cis[i].id != id)
				continue;
			*compute_instance = sim_handle_of_ci((struct sim_ci_ref){
					ref.gpu, ref.slot, i, gi->cis[i].generation});
			result = SIM_OK;
		}
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlComputeInstanceGetInfo_v2(
		nvmlComputeInstance_t compute_instance, nvmlComputeInstanceInfo_t *info)
{
	struct sim_ci_ref ref = sim_handle_ci(compute_instance);
	enum sim_result result = SIM_INVALID;
	const struct sim_ci *ci;
	struct sim_tx tx;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	ci = sim_ci_get(&tx, ref);
	if (ci) {
		const struct sim_gi *gi = &tx.state->gpus[ref.gpu].mig.gis[ref.gi_slot];

		*info = (nvmlComputeInstanceInfo_t){
				.device = sim_handle_of_gpu(&tx, ref.gpu),
				.gpuInstance = sim_handle_of_gi(sim_gi_ref_of(&tx, ref)),
				.id = ci->id,
				.profileId = sim_gi_profile(&tx, ref.gpu, gi)->cis[ci->row].id,
				.placement = {ci->start, ci->size},
		};
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}
