/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a GPU holds and what it shall hold to the steps between: the fewest, with everything
 * that is in use or not ours left in place. Pure: the same inputs give the same plan, and planning
 * against the outcome of a plan gives no steps.
 */
#ifndef BH_PLAN_PLAN_H
#define BH_PLAN_PLAN_H

#include "plan/step.h"
#include "plan/want.h"

/* What stands before the steps can be taken. */
enum bh_plan_needs {
	BH_NEEDS_NONE,
	BH_NEEDS_RESET,
	BH_NEEDS_REBOOT,
};

/* One GPU's part. Freed with bh_gpu_plan_free(). */
struct bh_gpu_plan {
	bool in_scope;
	enum bh_mig_mode wanted_mode; /* UNKNOWN when out of scope */
	enum bh_plan_needs needs;
	struct bh_step *steps; /* in order; owned */
	size_t n_steps;
	struct bh_gpu before, after; /* observed; predicted */
	uint32_t operations;	     /* GPU instances destroyed and created */
};

/**
 * bh_plan_gpu() - plan one GPU
 * @gpu:      borrowed; an observation with profiles, `foreign` marked by the ledger
 * @want:     borrowed; out of scope gives an empty plan
 * @ret_plan: written on success; freed with bh_gpu_plan_free()
 * @err:      MIG_UNSUPPORTED; IN_USE with the holders that would have to go; FOREIGN with the
 *            instances that are not ours; DOES_NOT_FIT with what is left over and which units are
 *            free; NO_MEMORY
 *
 * Order: quiesce, MIG mode on, compute instances destroyed, GPU instances destroyed, GPU instances
 * created with their compute instances, widest first; or down to MIG mode off. Where every old GPU
 * instance goes, one new one comes before the last of them if the units allow it. Every set of
 * instances on the way is legal.
 */
int bh_plan_gpu(const struct bh_gpu *gpu, const struct bh_gpu_want *want,
		struct bh_gpu_plan *ret_plan, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_gpu_plan_free() - free what a plan owns
 * @plan: NULL and zeroed are fine
 */
void bh_gpu_plan_free(struct bh_gpu_plan *plan);

/**
 * bh_want_is_met() - does an observation hold exactly what is wanted
 * @gpu:  borrowed; instances marked foreign do not count, the rest must match
 * @want: borrowed
 * @what: receives the first difference in words; may be NULL
 * @size: bytes in @what
 *
 * Compared are the mode, the number of GPU instances of each profile, and the sizes of the compute
 * instances in them; not where they stand. Out of scope is met.
 */
bool bh_want_is_met(
		const struct bh_gpu *gpu, const struct bh_gpu_want *want, char *what, size_t size);

/**
 * bh_want_to_json() - one GPU's part of a wanted layout, as a generation keeps it
 * @gpu:  borrowed; the board it was filled for
 * @want: borrowed; in scope
 *
 * Return: a new reference, NULL when out of memory.
 */
json_t *bh_want_to_json(const struct bh_gpu *gpu, const struct bh_gpu_want *want);

/**
 * bh_want_from_json() - read what bh_want_to_json() wrote, for the same board
 * @value:    borrowed
 * @gpu:      borrowed; profiles must be known
 * @ret_want: written on success
 * @err:      INTERNAL when malformed, PROFILE_NOT_OFFERED when the board changed
 */
int bh_want_from_json(const json_t *value, const struct bh_gpu *gpu, struct bh_gpu_want *ret_want,
		struct bh_error *err) BH_MUST_CHECK;

#endif
