/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/profiles.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "driver/nvml_error.h"

#define PLACEMENT_SLOTS 64
#define VENDOR_PREFIX	"MIG "

/* What an enum says beyond slices and memory; unknown ones have no name that we could compute. */
static const char *suffix_of(uint32_t nvml_enum)
{
	switch (nvml_enum) {
	case NVML_GPU_INSTANCE_PROFILE_1_SLICE:
	case NVML_GPU_INSTANCE_PROFILE_2_SLICE:
	case NVML_GPU_INSTANCE_PROFILE_3_SLICE:
	case NVML_GPU_INSTANCE_PROFILE_4_SLICE:
	case NVML_GPU_INSTANCE_PROFILE_6_SLICE:
	case NVML_GPU_INSTANCE_PROFILE_7_SLICE:
	case NVML_GPU_INSTANCE_PROFILE_8_SLICE:
	case NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2: /* its memory tells it apart */
		return "";
	case NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1:
	case NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1:
		return "+me";
	case NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX:
	case NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX:
	case NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX:
	case NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX:
		return "+gfx";
	case NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME:
	case NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME:
		return "-me";
	case NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME:
	case NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME:
		return "+me.all";
	default:
		return NULL;
	}
}

void bh_profile_name(uint32_t nvml_enum, uint32_t slice_count, uint64_t memory_mib,
		uint64_t board_bytes, char *buffer, size_t size)
{
	const char *suffix = suffix_of(nvml_enum);
	uint64_t eighths, board_gb, gb;

	buffer[0] = '\0';
	if (!suffix || board_bytes == BH_UNKNOWN64 || board_bytes == 0)
		return;
	eighths = (8 * (memory_mib << 20) + board_bytes - 1) / board_bytes;
	board_gb = (board_bytes + (1ull << 30) - 1) >> 30;
	gb = (2 * eighths * board_gb + 8) / 16; /* rounded to the nearest */
	(void) snprintf(buffer, size, "%ug.%llugb%s", slice_count, (unsigned long long) gb, suffix);
}

/* The driver's own name, without the vendor's prefix; empty if it has none. */
static void read_name(const struct bh_board *board, uint32_t nvml_enum, char *buffer, size_t size)
{
	nvmlGpuInstanceProfileInfo_v2_t v2 = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V2};
	nvmlGpuInstanceProfileInfo_v3_t v3 = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V3};
	const char *name = NULL;

	buffer[0] = '\0';
	if (!board->nvml->nvmlDeviceGetGpuInstanceProfileInfoV)
		return;
	/* one of the two is what this driver speaks; both structs have the same size */
	if (board->nvml->nvmlDeviceGetGpuInstanceProfileInfoV(board->device, nvml_enum, &v2) ==
			NVML_SUCCESS) {
		v2.name[sizeof(v2.name) - 1] = '\0';
		name = v2.name;
	} else if (board->nvml->nvmlDeviceGetGpuInstanceProfileInfoV(board->device, nvml_enum,
				   (nvmlGpuInstanceProfileInfo_v2_t *) (void *) &v3) ==
			NVML_SUCCESS) {
		v3.name[sizeof(v3.name) - 1] = '\0';
		name = v3.name;
	}
	if (!name)
		return;
	if (strncmp(name, VENDOR_PREFIX, strlen(VENDOR_PREFIX)) == 0)
		name += strlen(VENDOR_PREFIX);
	(void) snprintf(buffer, size, "%s", name);
	bh_utf8_clean(buffer);
}

static int read_placements(
		const struct bh_board *board, struct bh_gi_profile *profile, struct bh_error *err)
{
	nvmlGpuInstancePlacement_t placements[PLACEMENT_SLOTS];
	unsigned int n = PLACEMENT_SLOTS;
	nvmlReturn_t r = board->nvml->nvmlDeviceGetGpuInstancePossiblePlacements_v2(
			board->device, profile->id, placements, &n);

	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "reading the placements of profile %u", profile->id);
	if (n > BH_PLACEMENTS_MAX)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"profile %u has %u placements, and at most %d are provided for",
				profile->id, n, BH_PLACEMENTS_MAX);
	for (unsigned int i = 0; i < n; i++)
		profile->placements[i] =
				(struct bh_placement){placements[i].start, placements[i].size};
	profile->n_placements = n;
	return 0;
}

int bh_profiles_read(const struct bh_board *board, struct bh_gpu *gpu, struct bh_error *err)
{
	if (bh_board_read_gi_rows(board, err) < 0)
		return -1;
	for (size_t i = 0; i < board->facts->n_gis; i++) {
		const struct bh_gi_row *row = &board->facts->gis[i];
		struct bh_gi_profile *profile = &gpu->profiles[i];

		profile->id = row->id;
		profile->nvml_enum = row->nvml_enum;
		profile->max_instances = row->max_instances;
		profile->slice_count = row->slice_count;
		profile->memory_mib = row->memory_mib;
		profile->sm = row->sm;
		read_name(board, row->nvml_enum, profile->name, sizeof(profile->name));
		if (!profile->name[0])
			bh_profile_name(row->nvml_enum, row->slice_count, row->memory_mib,
					board->facts->memory_bytes, profile->name,
					sizeof(profile->name));
		if (read_placements(board, profile, err) < 0)
			return -1;
		for (size_t k = 0; k < profile->n_placements; k++) {
			uint32_t end = profile->placements[k].start + profile->placements[k].size;

			if (end > gpu->placement_units)
				gpu->placement_units = end;
		}
	}
	gpu->n_profiles = board->facts->n_gis;
	return 0;
}
