/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of a transition in the order that decides, each with the mixes it can come to hold; what
 * the answer and, where there is none, the refusal are found from. GPUs that are alike share theirs.
 */
#ifndef BH_PLAN_DIVISION_H
#define BH_PLAN_DIVISION_H

#include "plan/spread.h"
#include "plan/transition.h"

/* What is known of one GPU; freed with bh_part_free(). */
struct bh_part {
	struct bh_mixes mixes;
	struct bh_geometry geometry;
	bool has_geometry;
	uint64_t fixed; /* coarse units covered by what must stay */
};

struct bh_division {
	const struct bh_transition_problem *problem; /* borrowed */
	struct bh_mix_names names;
	size_t order[BH_NODE_GPUS_MAX]; /* the GPUs of the problem by UUID */
	struct bh_part *parts;		/* owned; of GPUs that differ */
	size_t n_parts;
	const struct bh_part *of[BH_NODE_GPUS_MAX]; /* of each GPU, in that order */
	uint64_t budget;
};

/**
 * bh_division_init() - look at every GPU
 * @problem:      borrowed, and kept
 * @ret_division: written on success, freed with bh_division_free()
 * @err:          PROFILE_NOT_OFFERED, UNSUPPORTED, INTERNAL, NO_MEMORY
 */
int bh_division_init(const struct bh_transition_problem *problem, struct bh_division *ret_division,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_division_free() - free what it owns
 * @division: zeroed is fine
 */
void bh_division_free(struct bh_division *division);

/**
 * bh_division_solve() - divide
 * @division:     borrowed
 * @any:          whether there is an answer is all that is asked
 * @ret_spread:   written when 0 is returned; borrows from @division
 * @ret_shortage: may be NULL
 * @err:          as bh_spread()
 *
 * Return: as bh_spread().
 */
int bh_division_solve(const struct bh_division *division, bool any, struct bh_spread *ret_spread,
		struct bh_shortage *ret_shortage, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_division_fits_with() - would there be an answer if one GPU were another
 * @division: borrowed
 * @place:    in its order
 * @gpu:      what to put there
 *
 * Return: false also where it could not be found out.
 */
bool bh_division_fits_with(
		const struct bh_division *division, size_t place, const struct bh_gpu *gpu);

/**
 * bh_division_refuse() - say why there is no answer
 * @division: one that has none
 * @err:      DOES_NOT_FIT, IN_USE or FOREIGN
 *
 * Return: always -1.
 */
int bh_division_refuse(const struct bh_division *division, struct bh_error *err);

#endif
