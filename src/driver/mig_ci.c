/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/mig.h"

#include <stdio.h>
#include <string.h>

#include "driver/holders.h"
#include "driver/mig_internal.h"
#include "driver/nvml_error.h"

#define INSTANCE_SLOTS	32
#define PLACEMENT_SLOTS 64

/* A GPU instance that is being worked in; pointers are borrowed from the board's facts. */
struct place {
	nvmlGpuInstance_t handle;
	struct bh_gi_row *row;
};

static int open_place(const struct bh_board *board, const struct bh_gi_name *gi,
		struct place *ret_place, struct bh_error *err)
{
	if (bh_board_read_gi_rows(board, err) < 0)
		return -1;
	ret_place->row = bh_board_gi_row(board, gi->profile_id);
	if (!ret_place->row)
		return bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
				"the board has no GPU instance profile %u", gi->profile_id);
	if (bh_board_find_gi(board, gi, &ret_place->handle, err) < 0)
		return -1;
	return bh_board_read_ci_rows(board, ret_place->handle, ret_place->row, err);
}

static const struct bh_ci_row *row_by_id(const struct bh_gi_row *gi, uint32_t profile_id)
{
	for (size_t i = 0; i < gi->n_cis; i++) {
		if (gi->cis[i].id == profile_id)
			return &gi->cis[i];
	}
	return NULL;
}

static bool is_variant(uint32_t nvml_enum)
{
	return nvml_enum == NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 ||
	       nvml_enum == NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE_NVL;
}

/* Rows are in order of the enum, so the first that is as good wins. */
static const struct bh_ci_row *choose_profile(const struct bh_gi_row *gi, uint32_t slices)
{
	const struct bh_ci_row *best = NULL;

	for (size_t i = 0; i < gi->n_cis; i++) {
		const struct bh_ci_row *row = &gi->cis[i];

		if (row->slice_count != slices)
			continue;
		if (slices == gi->slice_count) {
			if (!best || row->sm > best->sm)
				best = row;
		} else if (!best && !is_variant(row->nvml_enum)) {
			best = row;
		}
	}
	return best;
}

/*
 * The size that goes with a start, as the driver lists it; drivers that list nothing are asked all
 * the same.
 */
static int check_placement(const struct bh_board *board, const struct place *place,
		const struct bh_ci_row *row, uint32_t start, uint32_t *ret_size,
		struct bh_error *err)
{
	nvmlComputeInstancePlacement_t placements[PLACEMENT_SLOTS];
	unsigned int n = PLACEMENT_SLOTS;
	char listed[160] = "";
	size_t used = 0;

	*ret_size = row->slice_count;
	if (!board->nvml->nvmlGpuInstanceGetComputeInstancePossiblePlacements ||
			board->nvml->nvmlGpuInstanceGetComputeInstancePossiblePlacements(
					place->handle, row->id, placements, &n) != NVML_SUCCESS ||
			n > PLACEMENT_SLOTS)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		if (placements[i].start == start) {
			*ret_size = placements[i].size;
			return 0;
		}
		if (used < sizeof(listed) - 24)
			used += (size_t) snprintf(listed + used, sizeof(listed) - used, "%s%u:%u",
					i ? " " : "", placements[i].start, placements[i].size);
	}
	return bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0, "the driver places it at %s only",
			n ? listed : "no start");
}

static int is_empty(const struct bh_board *board, const struct place *place, bool *ret_empty,
		struct bh_error *err)
{
	*ret_empty = true;
	for (size_t i = 0; i < place->row->n_cis; i++) {
		nvmlComputeInstance_t handles[INSTANCE_SLOTS];
		unsigned int n = INSTANCE_SLOTS;
		nvmlReturn_t r = board->nvml->nvmlGpuInstanceGetComputeInstances(
				place->handle, place->row->cis[i].id, handles, &n);

		if (r != NVML_SUCCESS)
			return bh_fail_nvml(err, r, "listing compute instances");
		if (n > 0)
			*ret_empty = false;
	}
	return 0;
}

/* Return: NVML's answer, or negative with @err filled. */
static int ask_driver(const struct bh_board *board, const struct place *place,
		const struct bh_ci_row *row, nvmlComputeInstancePlacement_t at,
		nvmlComputeInstance_t *ret_handle, bool *ret_placed, struct bh_error *err)
{
	nvmlReturn_t r = NVML_ERROR_FUNCTION_NOT_FOUND;
	bool empty;

	*ret_placed = true;
	if (board->nvml->nvmlGpuInstanceCreateComputeInstanceWithPlacement)
		r = board->nvml->nvmlGpuInstanceCreateComputeInstanceWithPlacement(
				place->handle, row->id, &at, ret_handle);
	if (r != NVML_ERROR_NOT_SUPPORTED && r != NVML_ERROR_FUNCTION_NOT_FOUND)
		return (int) r;

	if (is_empty(board, place, &empty, err) < 0)
		return -1;
	if (!empty)
		return bh_fail_nvml(err, r,
				"this driver cannot place a compute instance beside others");
	*ret_placed = false;
	return (int) board->nvml->nvmlGpuInstanceCreateComputeInstance(
			place->handle, row->id, ret_handle);
}

static const struct bh_ci *seen_ci(const struct bh_gpu *gpu, const struct bh_ci_name *name)
{
	const struct bh_gi *gi = bh_mig_seen_gi(gpu, &name->gi);

	for (size_t i = 0; gi && i < gi->n_cis; i++) {
		if (gi->cis[i].at.start == name->start)
			return &gi->cis[i];
	}
	return NULL;
}

static int create_ci(struct bh_board *board, const struct bh_ci_name *name,
		struct bh_observation *after, struct bh_error *err)
{
	nvmlComputeInstancePlacement_t at = {.start = name->start};
	nvmlComputeInstance_t handle = NULL;
	const struct bh_ci_row *row;
	const struct bh_ci *seen;
	struct place place;
	bool placed;
	int r;

	if (open_place(board, &name->gi, &place, err) < 0)
		return -1;
	row = choose_profile(place.row, name->slices);
	if (!row)
		return bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
				"no compute instance profile has that many slices");
	if (check_placement(board, &place, row, name->start, &at.size, err) < 0)
		return -1;
	r = ask_driver(board, &place, row, at, &handle, &placed, err);
	if (r < 0)
		return -1;
	if (r != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, (nvmlReturn_t) r, "creating it");
		if (bh_mig_read_back(board, after, NULL) == 0 && r == NVML_ERROR_IN_USE)
			bh_holders_tell(&after->gpu, bh_mig_seen_gi(&after->gpu, &name->gi), err);
		else if (after->known && r == NVML_ERROR_INSUFFICIENT_RESOURCES)
			bh_holders_tell_instances(
					&after->gpu, bh_mig_seen_gi(&after->gpu, &name->gi), err);
		return -1;
	}
	if (bh_mig_read_back(board, after, err) < 0)
		return bh_while(err, "NVML reported success, with what effect is not known");
	seen = seen_ci(&after->gpu, name);
	if (seen && seen->profile_id == row->id)
		return 0;
	if (!placed && handle) {
		/* ours, and where nobody wants it */
		(void) board->nvml->nvmlComputeInstanceDestroy(handle);
		(void) bh_mig_read_back(board, after, NULL);
	}
	return bh_fail(err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
			"NVML reported success: wanted 1, found 0%s",
			placed ? "" : " (the driver chose another start)");
}

static int fail_ci(const struct bh_ci_name *ci, struct bh_error *err)
{
	return bh_while(err,
			"compute instance of %u slices at %u in the GPU instance of profile %u at "
			"%u:%u",
			ci->slices, ci->start, ci->gi.profile_id, ci->gi.at.start, ci->gi.at.size);
}

int bh_mig_create_ci(struct bh_board *board, const struct bh_ci_name *ci,
		struct bh_observation *after, struct bh_error *err)
{
	int r;

	after->known = false;
	r = create_ci(board, ci, after, err);
	if (r < 0)
		(void) fail_ci(ci, err);
	return bh_mig_finish(board, r, after, err);
}

/* The handle of the compute instance that starts there. */
static int find_ci(const struct bh_board *board, const struct place *place,
		const struct bh_ci_name *name, nvmlComputeInstance_t *ret_handle,
		struct bh_error *err)
{
	for (size_t i = 0; i < place->row->n_cis; i++) {
		nvmlComputeInstance_t handles[INSTANCE_SLOTS];
		unsigned int n = INSTANCE_SLOTS;
		nvmlReturn_t r;

		if (place->row->cis[i].slice_count != name->slices)
			continue;
		r = board->nvml->nvmlGpuInstanceGetComputeInstances(
				place->handle, place->row->cis[i].id, handles, &n);
		if (r != NVML_SUCCESS || n > INSTANCE_SLOTS)
			return bh_fail_nvml(err, r ? r : NVML_ERROR_INSUFFICIENT_SIZE,
					"listing compute instances");
		for (unsigned int k = 0; k < n; k++) {
			nvmlComputeInstanceInfo_t info = {0};

			r = board->nvml->nvmlComputeInstanceGetInfo_v2(handles[k], &info);
			if (r != NVML_SUCCESS)
				return bh_fail_nvml(err, r, "reading a compute instance");
			if (info.placement.start != name->start)
				continue;
			*ret_handle = handles[k];
			return 0;
		}
	}
	return bh_fail(err, BH_E_NOT_SO, BH_SRC_SELF, 0, "there is none: wanted 1, found 0");
}

static int destroy_ci(struct bh_board *board, const struct bh_ci_name *name,
		struct bh_observation *after, struct bh_error *err)
{
	nvmlComputeInstance_t handle;
	const struct bh_ci_row *row;
	const struct bh_ci *seen;
	struct place place;
	nvmlReturn_t r;

	if (open_place(board, &name->gi, &place, err) < 0 ||
			find_ci(board, &place, name, &handle, err) < 0)
		return -1;
	r = board->nvml->nvmlComputeInstanceDestroy(handle);
	if (r != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, r, "destroying it");
		if (bh_mig_read_back(board, after, NULL) == 0 && r == NVML_ERROR_IN_USE)
			bh_holders_tell(&after->gpu, bh_mig_seen_gi(&after->gpu, &name->gi), err);
		return -1;
	}
	if (bh_mig_read_back(board, after, err) < 0)
		return bh_while(err, "NVML reported success, with what effect is not known");
	seen = seen_ci(&after->gpu, name);
	row = seen ? row_by_id(place.row, seen->profile_id) : NULL;
	if (seen && (!row || row->slice_count == name->slices))
		return bh_fail(err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
				"NVML reported its end: wanted 0, found 1");
	return 0;
}

int bh_mig_destroy_ci(struct bh_board *board, const struct bh_ci_name *ci,
		struct bh_observation *after, struct bh_error *err)
{
	int r;

	after->known = false;
	r = destroy_ci(board, ci, after, err);
	if (r < 0)
		(void) fail_ci(ci, err);
	return bh_mig_finish(board, r, after, err);
}
