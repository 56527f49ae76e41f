/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/mig.h"

#include <stdio.h>
#include <string.h>

#include "driver/holders.h"
#include "driver/mig_internal.h"
#include "driver/nvml_error.h"

int bh_mig_read_back(
		const struct bh_board *board, struct bh_observation *after, struct bh_error *err)
{
	after->known = false;
	if (!board->device)
		return bh_fail(err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0, "%s is gone", board->uuid);
	after->known = bh_board_observe(board, /* with_profiles= */ false, &after->gpu, err) == 0;
	return after->known ? 0 : bh_while(err, "reading back");
}

int bh_mig_finish(const struct bh_board *board, int r, struct bh_observation *after,
		struct bh_error *err)
{
	if (!after->known)
		(void) bh_mig_read_back(board, after, NULL); /* @err has the cause already */
	if (r < 0 && err)
		(void) snprintf(err->gpu, sizeof(err->gpu), "%s", board->uuid);
	return r;
}

const struct bh_gi *bh_mig_seen_gi(const struct bh_gpu *gpu, const struct bh_gi_name *name)
{
	for (size_t i = 0; i < gpu->n_gis; i++) {
		const struct bh_gi *gi = &gpu->gis[i];

		if (gi->profile_id == name->profile_id && gi->at.start == name->at.start &&
				gi->at.size == name->at.size)
			return gi;
	}
	return NULL;
}

/* ---- The mode ---- */

static const char *mode_word(enum bh_mig_mode mode)
{
	switch (mode) {
	case BH_MIG_ON:
		return "enabled";
	case BH_MIG_OFF:
		return "disabled";
	default:
		return "unknown";
	}
}

static unsigned int mode_number(enum bh_mig_mode mode)
{
	return mode == BH_MIG_ON ? NVML_DEVICE_MIG_ENABLE : NVML_DEVICE_MIG_DISABLE;
}

/*
 * Asks for the mode that is in force, so that nothing is left waiting for the next reset.
 * Return: whether that was read back.
 */
static bool withdraw(struct bh_board *board, struct bh_observation *after)
{
	nvmlReturn_t activation = NVML_SUCCESS;

	if (after->gpu.mig_current == BH_MIG_UNKNOWN)
		return false;
	/* Its result says nothing that the mode does not say better. */
	(void) board->nvml->nvmlDeviceSetMigMode(
			board->device, mode_number(after->gpu.mig_current), &activation);
	if (bh_mig_read_back(board, after, NULL) < 0)
		return false;
	return after->gpu.mig_pending == after->gpu.mig_current;
}

/* The call was accepted, but the mode is not in force: why not, and is it still waiting. */
static int refuse_switch(struct bh_board *board, enum bh_mig_mode wanted, nvmlReturn_t activation,
		struct bh_observation *after, struct bh_error *err)
{
	bool was_pending = after->gpu.mig_pending == wanted;
	enum bh_mig_mode found = after->gpu.mig_current;
	const char *rest = "";

	if (was_pending)
		rest = withdraw(board, after) ? "; the request was withdrawn, which was read back"
					      : "; the request could NOT be withdrawn and is still "
						"waiting for a reset";
	if (activation != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, activation,
				"MIG mode: wanted %s, found %s: the switch was accepted, but not "
				"activated%s",
				mode_word(wanted), mode_word(found), rest);
	} else if (was_pending) {
		(void) bh_fail(err, BH_E_NEEDS_RESET, BH_SRC_SELF, 0,
				"MIG mode: wanted %s, found %s and the switch waiting for a "
				"reset%s",
				mode_word(wanted), mode_word(found), rest);
		bh_error_next(err, "allow a reset, or reset the GPU with `nvidia-smi --gpu-reset "
				   "-i PCI`");
	} else {
		(void) bh_fail(err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
				"MIG mode: wanted %s, found %s although NVML reported success",
				mode_word(wanted), mode_word(found));
	}
	if (activation == NVML_ERROR_IN_USE && after->known) {
		bh_holders_tell(&after->gpu, NULL, err);
		bh_holders_tell_instances(&after->gpu, NULL, err);
	}
	return -1;
}

static int switch_mode(struct bh_board *board, enum bh_mig_mode wanted, bool leave_pending,
		struct bh_observation *after, struct bh_error *err)
{
	nvmlReturn_t activation = NVML_SUCCESS;
	nvmlReturn_t r = board->nvml->nvmlDeviceSetMigMode(
			board->device, mode_number(wanted), &activation);

	if (r != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, r, "switching the MIG mode to %s", mode_word(wanted));
		if (bh_mig_read_back(board, after, NULL) == 0 && r == NVML_ERROR_IN_USE) {
			bh_holders_tell(&after->gpu, NULL, err);
			bh_holders_tell_instances(&after->gpu, NULL, err);
		}
		return -1;
	}
	/* The call may have reset the GPU: the handle is void, and so is what it offered. */
	board->facts->n_gis = 0;
	board->device = NULL;
	if (bh_board_open(board->driver, board->pci, board->uuid, board, err) < 0 ||
			bh_mig_read_back(board, after, err) < 0)
		return bh_while(err,
				"the MIG mode was switched to %s, with what effect is not "
				"known",
				mode_word(wanted));
	if (after->gpu.mig_current == wanted && after->gpu.mig_pending == wanted)
		return 0;
	if (leave_pending && after->gpu.mig_pending == wanted && activation != NVML_ERROR_IN_USE)
		return 0;
	return refuse_switch(board, wanted, activation, after, err);
}

int bh_mig_set_mode(struct bh_board *board, bool on, bool leave_pending,
		struct bh_observation *after, struct bh_error *err)
{
	enum bh_mig_mode current, pending, wanted = on ? BH_MIG_ON : BH_MIG_OFF;
	int r;

	after->known = false;
	r = bh_board_read_mode(board, &current, &pending, err);
	if (r == 0 && (current != wanted || pending != wanted))
		r = switch_mode(board, wanted, leave_pending, after, err);
	else if (r == 0)
		r = bh_mig_read_back(board, after, err);
	return bh_mig_finish(board, r, after, err);
}

/* ---- GPU instances ---- */

static const struct bh_gi *in_the_way(const struct bh_gpu *gpu, struct bh_placement at)
{
	for (size_t i = 0; i < gpu->n_gis; i++) {
		const struct bh_gi *gi = &gpu->gis[i];

		if (gi->at.start < at.start + at.size && at.start < gi->at.start + gi->at.size)
			return gi;
	}
	return NULL;
}

/* Says more about why NVML refused, from what was found after it. */
static int explain_create(const struct bh_gi_name *name, nvmlReturn_t r,
		const struct bh_observation *after, struct bh_error *err)
{
	const struct bh_gi *blocker;

	if (err && r == NVML_ERROR_INVALID_ARGUMENT)
		err->code = BH_E_PROFILE_NOT_OFFERED;
	if (!after->known)
		return -1;
	blocker = in_the_way(&after->gpu, name->at);
	if (r == NVML_ERROR_INSUFFICIENT_RESOURCES && blocker) {
		struct bh_holder holder = {.kind = "instance"};

		(void) snprintf(holder.name, sizeof(holder.name),
				"GPU instance of profile %u at %u:%u", blocker->profile_id,
				blocker->at.start, blocker->at.size);
		bh_error_add_holder(err, &holder);
		return bh_while(err, "%s is in the way", holder.name);
	}
	if (r == NVML_ERROR_IN_USE)
		bh_holders_tell(&after->gpu, NULL, err);
	return -1;
}

static int create_gi(struct bh_board *board, const struct bh_gi_name *name,
		struct bh_observation *after, struct bh_error *err)
{
	const nvmlGpuInstancePlacement_t placement = {name->at.start, name->at.size};
	enum bh_mig_mode current, pending;
	nvmlGpuInstance_t handle = NULL;
	nvmlReturn_t r;

	if (bh_board_read_mode(board, &current, &pending, err) < 0)
		return -1;
	if (current != BH_MIG_ON)
		return bh_fail(err, BH_E_NOT_SO, BH_SRC_SELF, 0,
				"MIG mode: wanted enabled, found %s", mode_word(current));
	r = board->nvml->nvmlDeviceCreateGpuInstanceWithPlacement(
			board->device, name->profile_id, &placement, &handle);
	if (r != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, r, "creating it");
		(void) bh_mig_read_back(board, after, NULL);
		return explain_create(name, r, after, err);
	}
	if (bh_mig_read_back(board, after, err) < 0)
		return bh_while(err, "NVML reported success, with what effect is not known");
	if (!bh_mig_seen_gi(&after->gpu, name))
		return bh_fail(err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
				"NVML reported success: wanted 1, found 0");
	return 0;
}

int bh_mig_create_gi(struct bh_board *board, const struct bh_gi_name *gi,
		struct bh_observation *after, struct bh_error *err)
{
	int r;

	after->known = false;
	r = create_gi(board, gi, after, err);
	if (r < 0)
		(void) bh_while(err, "GPU instance of profile %u at %u:%u", gi->profile_id,
				gi->at.start, gi->at.size);
	return bh_mig_finish(board, r, after, err);
}

static int destroy_gi(struct bh_board *board, const struct bh_gi_name *name,
		struct bh_observation *after, struct bh_error *err)
{
	nvmlGpuInstance_t handle;
	const struct bh_gi *left;
	nvmlReturn_t r;

	if (bh_board_find_gi(board, name, &handle, err) < 0)
		return -1;
	r = board->nvml->nvmlGpuInstanceDestroy(handle);
	if (r != NVML_SUCCESS) {
		(void) bh_fail_nvml(err, r, "destroying it");
		if (bh_mig_read_back(board, after, NULL) < 0 || r != NVML_ERROR_IN_USE)
			return -1;
		left = bh_mig_seen_gi(&after->gpu, name);
		bh_holders_tell(&after->gpu, left, err);
		if (left && left->n_cis > 0) {
			bh_holders_tell_instances(&after->gpu, left, err);
			bh_error_next(err, "destroy its compute instances first");
		}
		return -1;
	}
	if (bh_mig_read_back(board, after, err) < 0)
		return bh_while(err, "NVML reported success, with what effect is not known");
	if (bh_mig_seen_gi(&after->gpu, name))
		return bh_fail(err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
				"NVML reported its end: wanted 0, found 1");
	return 0;
}

int bh_mig_destroy_gi(struct bh_board *board, const struct bh_gi_name *gi,
		struct bh_observation *after, struct bh_error *err)
{
	int r;

	after->known = false;
	r = destroy_gi(board, gi, after, err);
	if (r < 0)
		(void) bh_while(err, "GPU instance of profile %u at %u:%u", gi->profile_id,
				gi->at.start, gi->at.size);
	return bh_mig_finish(board, r, after, err);
}
