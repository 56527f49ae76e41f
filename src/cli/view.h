/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs, plans and layouts as JSON for scripts, and words for people. */
#ifndef BH_CLI_VIEW_H
#define BH_CLI_VIEW_H

#include "gpu/inventory_json.h"
#include "plan/plan.h"

/**
 * view_mode() - "enabled", "disabled" or JSON null
 * @mode: any
 *
 * Return: a new reference.
 */
json_t *view_mode(enum bh_mig_mode mode);

/**
 * view_mode_word() - "on", "off" or "unknown"
 * @mode: any
 */
const char *view_mode_word(enum bh_mig_mode mode);

/**
 * view_profile_name() - the name of a GPU instance's profile on its board
 * @gpu:        borrowed
 * @profile_id: NVML's
 *
 * Return: borrowed from @gpu; "?" when the board does not list it.
 */
const char *view_profile_name(const struct bh_gpu *gpu, uint32_t profile_id);

/**
 * view_instances() - one row for each MIG device, and for each GPU instance without any
 * @gpu: borrowed
 *
 * {"gi","ci","profile","profile_id","start","size","ci_start","slices","uuid","memory_mib","busy",
 * "foreign","tenant"}; what is unknown or not there is null.
 * Return: a new reference, NULL when out of memory.
 */
json_t *view_instances(const struct bh_gpu *gpu);

/**
 * view_plan_gpu() - one GPU's part of plan and apply
 * @plan: borrowed
 * @now:  what "final" shows: plan->after, or the reading after it was applied
 *
 * Return: a new reference, NULL when out of memory.
 */
json_t *view_plan_gpu(const struct bh_gpu_plan *plan, const struct bh_gpu *now);

/**
 * view_is_kept() - does no step of a plan touch an instance
 * @plan: borrowed
 * @gi:   of the plan's GPU before
 * @ci:   in it; NULL for the GPU instance alone
 */
bool view_is_kept(const struct bh_gpu_plan *plan, const struct bh_gi *gi, const struct bh_ci *ci);

/**
 * view_is_foreign() - is a GPU instance, or anything in it, not ours
 * @gi: borrowed
 */
bool view_is_foreign(const struct bh_gi *gi);

/* What no profile can use of several GPUs, in all. */
struct view_stranded {
	uint32_t units;
	uint32_t slices; /* compute slices; BH_UNKNOWN where it cannot be told of one of them */
};

/**
 * view_strand() - count it (plan/fragments.h says exactly what)
 * @gpus:         borrowed
 * @n_gpus:       how many
 * @ret_stranded: written on success
 * @err:          NO_MEMORY
 */
int view_strand(const struct bh_gpu *gpus, size_t n_gpus, struct view_stranded *ret_stranded,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * view_stranded_units() - free units that no placement of any profile can reach any more
 * @gpu: borrowed
 *
 * Return: a mask; 0 when MIG is off or the placements are unknown.
 */
uint64_t view_stranded_units(const struct bh_gpu *gpu);

#endif
