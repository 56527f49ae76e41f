/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/observe.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "driver/holders.h"
#include "driver/nvml_error.h"
#include "driver/profiles.h"

#define INSTANCE_SLOTS 32

static void read_identity(const struct bh_board *board)
{
	struct bh_board_facts *facts = board->facts;
	nvmlPciInfo_t pci = {0};
	nvmlMemory_t memory = {0};
	bool complete = true;

	if (facts->has_identity)
		return;
	if (board->nvml->nvmlDeviceGetName(board->device, facts->name, sizeof(facts->name) - 1) !=
			NVML_SUCCESS) {
		facts->name[0] = '\0';
		complete = false;
	}
	bh_utf8_clean(facts->name);
	facts->pci_device_id = facts->pci_subsystem_id = BH_UNKNOWN;
	if (board->nvml->nvmlDeviceGetPciInfo_v3(board->device, &pci) == NVML_SUCCESS) {
		facts->pci_device_id = pci.pciDeviceId;
		facts->pci_subsystem_id = pci.pciSubSystemId;
	} else {
		complete = false;
	}
	facts->memory_bytes = BH_UNKNOWN64;
	if (board->nvml->nvmlDeviceGetMemoryInfo(board->device, &memory) == NVML_SUCCESS &&
			memory.total > 0)
		facts->memory_bytes = memory.total;
	else
		complete = false;
	facts->has_identity = complete; /* else it is tried again the next time */
}

/* ---- Instances ---- */

static int read_cis_of_profile(const struct bh_board *board, nvmlGpuInstance_t handle,
		uint32_t profile_id, struct bh_gi *gi, struct bh_error *err)
{
	nvmlComputeInstance_t handles[INSTANCE_SLOTS];
	unsigned int n = INSTANCE_SLOTS;
	nvmlReturn_t r = board->nvml->nvmlGpuInstanceGetComputeInstances(
			handle, profile_id, handles, &n);

	if (r == NVML_SUCCESS && n > INSTANCE_SLOTS)
		r = NVML_ERROR_INSUFFICIENT_SIZE;
	if (r != NVML_SUCCESS)
		return bh_fail_nvml(
				err, r, "listing the compute instances of profile %u", profile_id);
	for (unsigned int i = 0; i < n; i++) {
		nvmlComputeInstanceInfo_t info = {0};
		bool seen = false;

		r = board->nvml->nvmlComputeInstanceGetInfo_v2(handles[i], &info);
		if (r != NVML_SUCCESS)
			return bh_fail_nvml(err, r, "reading a compute instance of profile %u",
					profile_id);
		for (size_t k = 0; k < gi->n_cis; k++)
			seen |= gi->cis[k].id == info.id;
		if (seen)
			continue;
		if (gi->n_cis == BH_CIS_MAX)
			return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
					"a GPU instance has more than %d compute instances",
					BH_CIS_MAX);
		gi->cis[gi->n_cis++] = (struct bh_ci){
				.id = info.id,
				.profile_id = info.profileId,
				.at = {info.placement.start, info.placement.size},
		};
	}
	return 0;
}

static int compare_cis(const void *a, const void *b)
{
	uint32_t left = ((const struct bh_ci *) a)->at.start;
	uint32_t right = ((const struct bh_ci *) b)->at.start;

	return (left > right) - (left < right);
}

static int compare_gis(const void *a, const void *b)
{
	uint32_t left = ((const struct bh_gi *) a)->at.start;
	uint32_t right = ((const struct bh_gi *) b)->at.start;

	return (left > right) - (left < right);
}

static int read_gi(const struct bh_board *board, nvmlGpuInstance_t handle, struct bh_gi_row *row,
		struct bh_gpu *gpu, struct bh_error *err)
{
	nvmlGpuInstanceInfo_t info = {0};
	nvmlReturn_t r = board->nvml->nvmlGpuInstanceGetInfo(handle, &info);
	struct bh_gi *gi;

	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "reading a GPU instance of profile %u", row->id);
	for (size_t i = 0; i < gpu->n_gis; i++) {
		if (gpu->gis[i].id == info.id)
			return 0; /* listed under two profiles */
	}
	if (gpu->n_gis == BH_GIS_MAX)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"the board has more than %d GPU instances", BH_GIS_MAX);
	gi = &gpu->gis[gpu->n_gis++];
	gi->id = info.id;
	gi->profile_id = info.profileId;
	gi->at = (struct bh_placement){info.placement.start, info.placement.size};
	gi->memory_mib = BH_UNKNOWN64;
	if (bh_board_read_ci_rows(board, handle, row, err) < 0)
		return -1;
	for (size_t i = 0; i < row->n_cis; i++) {
		if (read_cis_of_profile(board, handle, row->cis[i].id, gi, err) < 0)
			return -1;
	}
	qsort(gi->cis, gi->n_cis, sizeof(gi->cis[0]), compare_cis);
	return 0;
}

static int read_gis(const struct bh_board *board, struct bh_gpu *gpu, struct bh_error *err)
{
	if (bh_board_read_gi_rows(board, err) < 0)
		return -1;
	if (board->facts->n_gis == 0)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"MIG is enabled, but the driver offers no GPU instance profile");
	for (size_t i = 0; i < board->facts->n_gis; i++) {
		struct bh_gi_row *row = &board->facts->gis[i];
		nvmlGpuInstance_t handles[INSTANCE_SLOTS];
		unsigned int n = INSTANCE_SLOTS;
		nvmlReturn_t r = board->nvml->nvmlDeviceGetGpuInstances(
				board->device, row->id, handles, &n);

		if (r == NVML_SUCCESS && n > INSTANCE_SLOTS)
			r = NVML_ERROR_INSUFFICIENT_SIZE;
		if (r != NVML_SUCCESS)
			return bh_fail_nvml(
					err, r, "listing the GPU instances of profile %u", row->id);
		for (unsigned int k = 0; k < n; k++) {
			if (read_gi(board, handles[k], row, gpu, err) < 0)
				return -1;
		}
	}
	qsort(gpu->gis, gpu->n_gis, sizeof(gpu->gis[0]), compare_gis);
	return 0;
}

/* ---- MIG devices: the UUIDs and the memory of instances ---- */

static struct bh_ci *ci_by_ids(
		struct bh_gpu *gpu, uint32_t gi_id, uint32_t ci_id, struct bh_gi **ret_gi)
{
	for (size_t i = 0; i < gpu->n_gis; i++) {
		struct bh_gi *gi = &gpu->gis[i];

		for (size_t k = 0; gi->id == gi_id && k < gi->n_cis; k++) {
			if (gi->cis[k].id == ci_id) {
				*ret_gi = gi;
				return &gi->cis[k];
			}
		}
	}
	return NULL;
}

/* Return: whether it gave a compute instance its UUID. */
static bool read_mig_device(const struct bh_board *board, nvmlDevice_t device, struct bh_gpu *gpu)
{
	const struct bh_nvml *nvml = board->nvml;
	nvmlDeviceAttributes_t attributes = {0};
	unsigned int gi_id, ci_id;
	struct bh_gi *gi;
	struct bh_ci *ci;

	if (nvml->nvmlDeviceGetGpuInstanceId(device, &gi_id) != NVML_SUCCESS ||
			nvml->nvmlDeviceGetComputeInstanceId(device, &ci_id) != NVML_SUCCESS)
		return false;
	ci = ci_by_ids(gpu, gi_id, ci_id, &gi);
	if (!ci || ci->uuid[0])
		return false;
	if (gi->memory_mib == BH_UNKNOWN64 && nvml->nvmlDeviceGetAttributes_v2 &&
			nvml->nvmlDeviceGetAttributes_v2(device, &attributes) == NVML_SUCCESS &&
			attributes.memorySizeMB > 0)
		gi->memory_mib = attributes.memorySizeMB;
	if (nvml->nvmlDeviceGetUUID(device, ci->uuid, sizeof(ci->uuid) - 1) != NVML_SUCCESS) {
		ci->uuid[0] = '\0';
		return false;
	}
	bh_utf8_clean(ci->uuid);
	return true;
}

/* The handles are sparse: a gap is NOT_FOUND, and the walk goes on. */
static void read_mig_devices(const struct bh_board *board, struct bh_gpu *gpu)
{
	unsigned int max = 0;
	size_t missing = 0;

	for (size_t i = 0; i < gpu->n_gis; i++)
		missing += gpu->gis[i].n_cis;
	if (missing == 0 || board->nvml->nvmlDeviceGetMaxMigDeviceCount(board->device, &max) !=
					    NVML_SUCCESS)
		return;
	for (unsigned int i = 0; i < max && i < BH_GIS_MAX * BH_CIS_MAX && missing > 0; i++) {
		nvmlDevice_t device;

		if (board->nvml->nvmlDeviceGetMigDeviceHandleByIndex(board->device, i, &device) ==
						NVML_SUCCESS &&
				read_mig_device(board, device, gpu))
			missing--;
	}
}

/* ---- All together ---- */

int bh_board_observe(const struct bh_board *board, bool with_profiles, struct bh_gpu *ret_gpu,
		struct bh_error *err)
{
	bh_auto_free struct bh_gpu *gpu = calloc(1, sizeof(*gpu));
	struct bh_error mode_err;
	unsigned int index;

	if (!gpu)
		return bh_fail_memory(err);
	gpu->index = BH_UNKNOWN;
	if (board->nvml->nvmlDeviceGetIndex(board->device, &index) == NVML_SUCCESS)
		gpu->index = index;
	read_identity(board);
	memcpy(gpu->uuid, board->uuid, sizeof(gpu->uuid));
	memcpy(gpu->pci, board->pci, sizeof(gpu->pci));
	memcpy(gpu->name, board->facts->name, sizeof(gpu->name));
	gpu->pci_device_id = board->facts->pci_device_id;
	gpu->pci_subsystem_id = board->facts->pci_subsystem_id;
	gpu->memory_mib = board->facts->memory_bytes == BH_UNKNOWN64
					  ? BH_UNKNOWN64
					  : board->facts->memory_bytes >> 20;

	if (bh_board_read_mode(board, &gpu->mig_current, &gpu->mig_pending, &mode_err) == 0) {
		gpu->mig_capable = true;
	} else if (mode_err.code != BH_E_MIG_UNSUPPORTED) {
		if (err)
			*err = mode_err;
		return bh_while(err, "observing %s", board->uuid);
	}
	if (gpu->mig_current == BH_MIG_ON) {
		if (read_gis(board, gpu, err) < 0)
			return bh_while(err, "observing %s", board->uuid);
		read_mig_devices(board, gpu);
	}
	if (with_profiles && gpu->mig_capable && bh_profiles_read(board, gpu, err) < 0)
		return bh_while(err, "observing %s", board->uuid);
	bh_holders_read(board, gpu);
	*ret_gpu = *gpu;
	return 0;
}
