/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/step.h"

#include <stdio.h>
#include <string.h>

#include "plan/refuse.h"

/*
 * Deadlines: one GPU instance takes about a second to make or destroy and a whole handle walk up to
 * ten; a mode switch may reset the board inside the call (Ampere).
 */
static const struct bh_step_kind_info kinds[BH_STEP_KIND_COUNT] = {
		[BH_STEP_QUIESCE] = {"quiesce", BH_EXEC_NODE, BH_TARGET_GPU, false, false, 10000,
				BH_STEP_QUIESCE, false, false,
				"readers start again when something is to be read"},
		[BH_STEP_SET_MIG] = {"set-mig", BH_EXEC_DRIVER, BH_TARGET_MODE, false, true, 120000,
				BH_STEP_SET_MIG, true, true, ""},
		[BH_STEP_DESTROY_CI] = {"destroy-ci", BH_EXEC_DRIVER, BH_TARGET_CI, false, true,
				60000, BH_STEP_CREATE_CI, true, false,
				"the new MIG device has another UUID"},
		[BH_STEP_DESTROY_GI] = {"destroy-gi", BH_EXEC_DRIVER, BH_TARGET_GI, false, true,
				60000, BH_STEP_CREATE_GI, true, false,
				"the new instance is alike, not the same"},
		[BH_STEP_CREATE_GI] = {"create-gi", BH_EXEC_DRIVER, BH_TARGET_GI, true, true, 60000,
				BH_STEP_DESTROY_GI, true, true, ""},
		[BH_STEP_CREATE_CI] = {"create-ci", BH_EXEC_DRIVER, BH_TARGET_CI, true, true, 60000,
				BH_STEP_DESTROY_CI, true, true, ""},
};

const struct bh_step_kind_info *bh_step_kind_info(enum bh_step_kind kind)
{
	return &kinds[kind];
}

const struct bh_gi *bh_gpu_find_gi(
		const struct bh_gpu *gpu, uint32_t profile_id, const struct bh_placement *at)
{
	for (size_t i = 0; i < gpu->n_gis; i++) {
		const struct bh_gi *gi = &gpu->gis[i];

		if (gi->profile_id == profile_id && gi->at.start == at->start &&
				gi->at.size == at->size)
			return gi;
	}
	return NULL;
}

const struct bh_ci *bh_gi_find_ci(const struct bh_gi *gi, const struct bh_placement *at)
{
	for (size_t i = 0; i < gi->n_cis; i++) {
		const struct bh_ci *ci = &gi->cis[i];

		if (ci->at.start == at->start && ci->at.size == at->size)
			return ci;
	}
	return NULL;
}

static bool units_are_free(const struct bh_gpu *gpu, const struct bh_placement *at)
{
	for (size_t i = 0; i < gpu->n_gis; i++) {
		if (bh_placement_mask(&gpu->gis[i].at) & bh_placement_mask(at))
			return false;
	}
	return true;
}

static bool slices_are_free(const struct bh_gi *gi, const struct bh_placement *at)
{
	for (size_t i = 0; i < gi->n_cis; i++) {
		if (bh_placement_mask(&gi->cis[i].at) & bh_placement_mask(at))
			return false;
	}
	return true;
}

bool bh_step_was_holds(const struct bh_step *step, const struct bh_gpu *gpu)
{
	const struct bh_gi *gi = bh_gpu_find_gi(gpu, step->profile_id, &step->at);

	switch (step->kind) {
	case BH_STEP_QUIESCE:
		return true;
	case BH_STEP_SET_MIG:
		return gpu->mig_current != BH_MIG_UNKNOWN && gpu->mig_pending != BH_MIG_UNKNOWN &&
		       !bh_step_want_holds(step, gpu) && (step->on || gpu->n_gis == 0);
	case BH_STEP_DESTROY_CI:
		return gi && bh_gi_find_ci(gi, &step->ci);
	case BH_STEP_DESTROY_GI:
		return gi && gi->n_cis == 0;
	case BH_STEP_CREATE_GI:
		return gpu->mig_current == BH_MIG_ON && gpu->n_gis < BH_GIS_MAX &&
		       units_are_free(gpu, &step->at);
	case BH_STEP_CREATE_CI:
		return gi && gi->n_cis < BH_CIS_MAX && slices_are_free(gi, &step->ci);
	case BH_STEP_KIND_COUNT:
		break;
	}
	return false;
}

bool bh_step_want_holds(const struct bh_step *step, const struct bh_gpu *gpu)
{
	enum bh_mig_mode mode = step->on ? BH_MIG_ON : BH_MIG_OFF;
	const struct bh_gi *gi = bh_gpu_find_gi(gpu, step->profile_id, &step->at);

	switch (step->kind) {
	case BH_STEP_QUIESCE:
		return false;
	case BH_STEP_SET_MIG:
		return gpu->mig_current == mode && gpu->mig_pending == mode;
	case BH_STEP_DESTROY_CI:
		return !gi || !bh_gi_find_ci(gi, &step->ci);
	case BH_STEP_DESTROY_GI:
		return !gi;
	case BH_STEP_CREATE_GI:
		return gi;
	case BH_STEP_CREATE_CI:
		return gi && bh_gi_find_ci(gi, &step->ci);
	case BH_STEP_KIND_COUNT:
		break;
	}
	return false;
}

static void insert_gi(struct bh_gpu *gpu, const struct bh_step *step)
{
	size_t i = gpu->n_gis++;

	for (; i > 0 && gpu->gis[i - 1].at.start > step->at.start; i--)
		gpu->gis[i] = gpu->gis[i - 1];
	gpu->gis[i] = (struct bh_gi){.id = BH_UNKNOWN,
			.profile_id = step->profile_id,
			.at = step->at,
			.memory_mib = BH_UNKNOWN64};
}

static void insert_ci(struct bh_gi *gi, const struct bh_step *step)
{
	size_t i = gi->n_cis++;

	for (; i > 0 && gi->cis[i - 1].at.start > step->ci.start; i--)
		gi->cis[i] = gi->cis[i - 1];
	gi->cis[i] = (struct bh_ci){.id = BH_UNKNOWN, .profile_id = BH_UNKNOWN, .at = step->ci};
}

static int in_use(const struct bh_gpu *gpu, const struct bh_gi *gi, const char *text,
		struct bh_error *err)
{
	bh_fail(err, BH_E_IN_USE, BH_SRC_SELF, 0, "the step '%s' would destroy an instance in use",
			text);
	bh_refuse_add_holders(gpu, gi, err);
	bh_error_next(err, "end that work, or wait for it, then run this again");
	return -1;
}

int bh_step_predict(const struct bh_step *step, struct bh_gpu *gpu, struct bh_error *err)
{
	/* the instances below are reached through pointers into *gpu itself */
	struct bh_gi *gi = (struct bh_gi *) bh_gpu_find_gi(gpu, step->profile_id, &step->at);
	struct bh_ci *ci = gi ? (struct bh_ci *) bh_gi_find_ci(gi, &step->ci) : NULL;
	char text[160];

	bh_step_describe(step, text, sizeof(text));
	if (!bh_step_was_holds(step, gpu))
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"the step '%s' does not apply to the GPU as it is", text);
	if ((step->kind == BH_STEP_DESTROY_CI && ci->busy) ||
			(step->kind == BH_STEP_DESTROY_GI && gi->busy))
		return in_use(gpu, gi, text, err);
	switch (step->kind) {
	case BH_STEP_SET_MIG:
		gpu->mig_current = gpu->mig_pending = step->on ? BH_MIG_ON : BH_MIG_OFF;
		break;
	case BH_STEP_DESTROY_CI:
		memmove(ci, ci + 1, (size_t) (gi->cis + gi->n_cis - (ci + 1)) * sizeof(*ci));
		gi->n_cis--;
		break;
	case BH_STEP_DESTROY_GI:
		memmove(gi, gi + 1, (size_t) (gpu->gis + gpu->n_gis - (gi + 1)) * sizeof(*gi));
		gpu->n_gis--;
		break;
	case BH_STEP_CREATE_GI:
		insert_gi(gpu, step);
		break;
	case BH_STEP_CREATE_CI:
		insert_ci(gi, step);
		break;
	case BH_STEP_QUIESCE:
	case BH_STEP_KIND_COUNT:
		break;
	}
	return 0;
}

bool bh_step_undo(const struct bh_step *step, struct bh_step *ret_undo)
{
	if (!kinds[step->kind].has_undo)
		return false;
	*ret_undo = *step;
	ret_undo->kind = kinds[step->kind].undo;
	ret_undo->on = kinds[step->kind].target == BH_TARGET_MODE && !step->on;
	ret_undo->uuid[0] = '\0';
	(void) snprintf(ret_undo->reason, sizeof(ret_undo->reason), "takes back '%s'",
			kinds[step->kind].name);
	return true;
}

void bh_step_describe(const struct bh_step *step, char *buffer, size_t size)
{
	const char *verb = kinds[step->kind].makes ? "create" : "destroy";

	switch (step->kind) {
	case BH_STEP_QUIESCE:
		(void) snprintf(buffer, size, "end our own readers of this GPU");
		break;
	case BH_STEP_SET_MIG:
		(void) snprintf(buffer, size, "switch MIG mode %s", step->on ? "on" : "off");
		break;
	case BH_STEP_DESTROY_GI:
	case BH_STEP_CREATE_GI:
		(void) snprintf(buffer, size, "%s GPU instance %s at %u", verb, step->profile,
				step->at.start);
		break;
	case BH_STEP_DESTROY_CI:
	case BH_STEP_CREATE_CI:
		(void) snprintf(buffer, size, "%s compute instance of %u slice%s at %u in %s at %u",
				verb, step->ci.size, step->ci.size == 1 ? "" : "s", step->ci.start,
				step->profile, step->at.start);
		break;
	case BH_STEP_KIND_COUNT:
		break;
	}
}
