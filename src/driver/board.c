/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/board.h"

#include <stdio.h>
#include <string.h>

#include "driver/nvml_error.h"

/* How far the enums are tried on a driver that never says that they end. */
#define ENUM_TRIES     32
#define INSTANCE_SLOTS 32

int bh_board_open(struct bh_driver *driver, const char *pci, const char *uuid,
		struct bh_board *ret_board, struct bh_error *err)
{
	struct bh_board board = {.driver = driver, .nvml = bh_driver_nvml(driver)};
	char found[BH_UUID_SIZE] = "";
	nvmlReturn_t r;

	(void) snprintf(board.uuid, sizeof(board.uuid), "%s", uuid);
	(void) snprintf(board.pci, sizeof(board.pci), "%s", pci);
	r = board.nvml->nvmlDeviceGetHandleByPciBusId_v2(board.pci, &board.device);
	if (r != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, r, "opening the GPU at %s", board.pci);
		if (err && (r == NVML_ERROR_NOT_FOUND || r == NVML_ERROR_INVALID_ARGUMENT))
			err->code = BH_E_NO_SUCH_GPU;
		return -1;
	}
	r = board.nvml->nvmlDeviceGetUUID(board.device, found, sizeof(found) - 1);
	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "reading the UUID of the GPU at %s", board.pci);
	if (strcmp(found, board.uuid) != 0) {
		(void) bh_fail(err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0,
				"the GPU at %s is %.90s, not %s", board.pci, found, board.uuid);
		bh_error_next(err, "read the inventory again: cards were moved");
		return -1;
	}
	board.facts = bh_driver_facts(driver, board.uuid);
	if (!board.facts)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "too many boards");
	*ret_board = board;
	return 0;
}

static enum bh_mig_mode mode_of(unsigned int mode)
{
	switch (mode) {
	case NVML_DEVICE_MIG_DISABLE:
		return BH_MIG_OFF;
	case NVML_DEVICE_MIG_ENABLE:
		return BH_MIG_ON;
	default:
		return BH_MIG_UNKNOWN;
	}
}

int bh_board_read_mode(const struct bh_board *board, enum bh_mig_mode *ret_current,
		enum bh_mig_mode *ret_pending, struct bh_error *err)
{
	unsigned int current = BH_UNKNOWN, pending = BH_UNKNOWN;
	nvmlReturn_t r = board->nvml->nvmlDeviceGetMigMode(board->device, &current, &pending);

	if (r != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, r, "reading the MIG mode");
		if (err && r == NVML_ERROR_NOT_SUPPORTED)
			err->code = BH_E_MIG_UNSUPPORTED;
		return -1;
	}
	*ret_current = mode_of(current);
	*ret_pending = mode_of(pending);
	return 0;
}

int bh_board_read_gi_rows(const struct bh_board *board, struct bh_error *err)
{
	struct bh_board_facts *facts = board->facts;
	size_t n = 0;

	if (facts->n_gis > 0)
		return 0;
	for (unsigned int profile = 0; profile < ENUM_TRIES; profile++) {
		nvmlGpuInstanceProfileInfo_t info = {0};
		nvmlReturn_t r = board->nvml->nvmlDeviceGetGpuInstanceProfileInfo(
				board->device, profile, &info);

		if (r == NVML_ERROR_NOT_SUPPORTED)
			continue;
		if (r == NVML_ERROR_INVALID_ARGUMENT)
			break;
		if (r != NVML_SUCCESS)
			return bh_fail_nvml(err, r, "reading GPU instance profile %u", profile);
		facts->gis[n++] = (struct bh_gi_row){
				.id = info.id,
				.nvml_enum = profile,
				.max_instances = info.instanceCount,
				.slice_count = info.sliceCount,
				.sm = info.multiprocessorCount,
				.memory_mib = info.memorySizeMB,
		};
	}
	facts->n_gis = n;
	return 0;
}
_Static_assert(ENUM_TRIES <= BH_GI_PROFILES_MAX, "every enum has a row");

struct bh_gi_row *bh_board_gi_row(const struct bh_board *board, uint32_t profile_id)
{
	for (size_t i = 0; i < board->facts->n_gis; i++) {
		if (board->facts->gis[i].id == profile_id)
			return &board->facts->gis[i];
	}
	return NULL;
}

int bh_board_read_ci_rows(const struct bh_board *board, nvmlGpuInstance_t gi, struct bh_gi_row *row,
		struct bh_error *err)
{
	size_t n = 0;

	if (row->n_cis > 0)
		return 0;
	for (unsigned int profile = 0; profile < BH_CI_PROFILES_MAX; profile++) {
		nvmlComputeInstanceProfileInfo_t info = {0};
		nvmlReturn_t r = board->nvml->nvmlGpuInstanceGetComputeInstanceProfileInfo(
				gi, profile, NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, &info);

		if (r == NVML_ERROR_NOT_SUPPORTED)
			continue;
		if (r == NVML_ERROR_INVALID_ARGUMENT)
			break;
		if (r != NVML_SUCCESS)
			return bh_fail_nvml(err, r, "reading compute instance profile %u", profile);
		row->cis[n++] = (struct bh_ci_row){
				.id = info.id,
				.nvml_enum = profile,
				.slice_count = info.sliceCount,
				.sm = info.multiprocessorCount,
		};
	}
	row->n_cis = n;
	return 0;
}

int bh_board_find_gi(const struct bh_board *board, const struct bh_gi_name *name,
		nvmlGpuInstance_t *ret_handle, struct bh_error *err)
{
	nvmlGpuInstance_t handles[INSTANCE_SLOTS];
	unsigned int n = INSTANCE_SLOTS;
	nvmlReturn_t r = board->nvml->nvmlDeviceGetGpuInstances(
			board->device, name->profile_id, handles, &n);

	if (r != NVML_SUCCESS || n > INSTANCE_SLOTS) {
		(void) bh_fail_nvml(err, r == NVML_SUCCESS ? NVML_ERROR_INSUFFICIENT_SIZE : r,
				"listing the GPU instances of profile %u", name->profile_id);
		if (err && r == NVML_ERROR_INVALID_ARGUMENT)
			err->code = BH_E_PROFILE_NOT_OFFERED;
		return -1;
	}
	for (unsigned int i = 0; i < n; i++) {
		nvmlGpuInstanceInfo_t info = {0};

		r = board->nvml->nvmlGpuInstanceGetInfo(handles[i], &info);
		if (r != NVML_SUCCESS)
			return bh_fail_nvml(err, r, "reading a GPU instance of profile %u",
					name->profile_id);
		if (info.placement.start == name->at.start &&
				info.placement.size == name->at.size) {
			*ret_handle = handles[i];
			return 0;
		}
	}
	return bh_fail(err, BH_E_NOT_SO, BH_SRC_SELF, 0,
			"there is no GPU instance of profile %u at %u:%u: wanted 1, found 0",
			name->profile_id, name->at.start, name->at.size);
}
