/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include <stdio.h>
#include <string.h>

#include "plan/fragments.h"

json_t *view_mode(enum bh_mig_mode mode)
{
	if (mode == BH_MIG_UNKNOWN)
		return json_null();
	return json_string(mode == BH_MIG_ON ? "enabled" : "disabled");
}

const char *view_mode_word(enum bh_mig_mode mode)
{
	return mode == BH_MIG_ON ? "on" : mode == BH_MIG_OFF ? "off" : "unknown";
}

const char *view_profile_name(const struct bh_gpu *gpu, uint32_t profile_id)
{
	const struct bh_gi_profile *profile = bh_gpu_find_profile(gpu, profile_id);

	return profile ? profile->name : "?";
}

static json_t *instance(const struct bh_gpu *gpu, const struct bh_gi *gi, const struct bh_ci *ci)
{
	return json_pack("{s:o, s:o, s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:b, s:b, s:n}", "gi",
			bh_number_to_json(gi->id), "ci",
			ci ? bh_number_to_json(ci->id) : json_null(), "profile",
			view_profile_name(gpu, gi->profile_id), "profile_id", gi->profile_id,
			"start", gi->at.start, "size", gi->at.size, "ci_start",
			ci ? json_integer(ci->at.start) : json_null(), "slices",
			ci ? json_integer(ci->at.size) : json_null(), "uuid",
			ci ? bh_json_text_or_null(ci->uuid) : json_null(), "memory_mib",
			bh_number64_to_json(gi->memory_mib), "busy", ci ? ci->busy : gi->busy,
			"foreign", gi->foreign || (ci && ci->foreign), "tenant");
}

json_t *view_instances(const struct bh_gpu *gpu)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		if (gi->n_cis == 0 && json_array_append_new(rows, instance(gpu, gi, NULL)) < 0)
			return NULL;
		for (size_t c = 0; c < gi->n_cis; c++) {
			if (json_array_append_new(rows, instance(gpu, gi, &gi->cis[c])) < 0)
				return NULL;
		}
	}
	return BH_TAKE(rows);
}

bool view_is_kept(const struct bh_gpu_plan *plan, const struct bh_gi *gi, const struct bh_ci *ci)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct bh_step *step = &plan->steps[i];

		if (step->profile_id != gi->profile_id || step->at.start != gi->at.start)
			continue;
		if (step->kind == BH_STEP_DESTROY_GI)
			return false;
		if (step->kind == BH_STEP_DESTROY_CI && ci && step->ci.start == ci->at.start)
			return false;
	}
	return true;
}

static json_t *kept(const struct bh_gpu_plan *plan)
{
	bh_auto_json json_t *rows = json_array();
	const struct bh_gpu *gpu = &plan->before;

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		if (gi->n_cis == 0 && view_is_kept(plan, gi, NULL) &&
				json_array_append_new(rows, instance(gpu, gi, NULL)) < 0)
			return NULL;
		for (size_t c = 0; c < gi->n_cis; c++) {
			if (view_is_kept(plan, gi, &gi->cis[c]) &&
					json_array_append_new(
							rows, instance(gpu, gi, &gi->cis[c])) < 0)
				return NULL;
		}
	}
	return BH_TAKE(rows);
}

static json_t *steps(const struct bh_gpu_plan *plan)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < plan->n_steps; i++) {
		if (json_array_append_new(rows, bh_step_to_json(&plan->steps[i])) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

json_t *view_plan_gpu(const struct bh_gpu_plan *plan, const struct bh_gpu *now)
{
	static const char *const needs[] = {[BH_NEEDS_NONE] = "none",
			[BH_NEEDS_RESET] = "reset",
			[BH_NEEDS_REBOOT] = "reboot"};
	const struct bh_gpu *gpu = &plan->before;
	/* a prediction is no mode that the board has */
	const struct bh_gpu *seen = now == &plan->after ? gpu : now;

	return json_pack("{s:i, s:s, s:s, s:b, s:{s:o, s:o, s:o}, s:s, s:o, s:o, s:o}", "index",
			gpu->index, "uuid", gpu->uuid, "pci", gpu->pci, "in_scope", plan->in_scope,
			"mig", "current", view_mode(seen->mig_current), "pending",
			view_mode(seen->mig_pending), "wanted", view_mode(plan->wanted_mode),
			"needs", needs[plan->needs], "keep", kept(plan), "steps", steps(plan),
			"final", view_instances(now));
}

int view_strand(const struct bh_gpu *gpus, size_t n_gpus, struct view_stranded *ret_stranded,
		struct bh_error *err)
{
	struct view_stranded sum = {0};
	struct bh_fragments fragments;

	if (bh_fragments_init(gpus, n_gpus, &fragments, err) < 0)
		return -1;
	for (size_t b = 0; b < fragments.n_boards; b++) {
		const struct bh_fragments_board *board = &fragments.boards[b];

		sum.units += board->stranded_units;
		if (board->stranded_slices == BH_UNKNOWN || sum.slices == BH_UNKNOWN)
			sum.slices = BH_UNKNOWN;
		else
			sum.slices += board->stranded_slices;
	}
	bh_fragments_free(&fragments);
	*ret_stranded = sum;
	return 0;
}

uint64_t view_stranded_units(const struct bh_gpu *gpu)
{
	uint64_t taken = 0, reachable = 0, all = 0;

	if (gpu->mig_current != BH_MIG_ON || gpu->n_profiles == 0 ||
			gpu->placement_units > BH_UNITS_MAX)
		return 0;
	for (size_t g = 0; g < gpu->n_gis; g++)
		taken |= bh_placement_mask(&gpu->gis[g].at);
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		for (size_t k = 0; k < gpu->profiles[i].n_placements; k++) {
			uint64_t mask = bh_placement_mask(&gpu->profiles[i].placements[k]);

			all |= mask;
			if (!(mask & taken))
				reachable |= mask;
		}
	}
	return all & ~taken & ~reachable;
}

bool view_is_foreign(const struct bh_gi *gi)
{
	bool foreign = gi->foreign;

	for (size_t c = 0; c < gi->n_cis; c++)
		foreign = foreign || gi->cis[c].foreign;
	return foreign;
}
