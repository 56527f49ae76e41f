/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One mix for each of several GPUs, so that they add up to wanted totals for the least. This is
 * dynamic programming over (GPU, totals left), done from the top: only states are looked at that an
 * answer of the cost in question can pass. That cost starts at a bound which no answer can be below
 * and rises by what the failed search has shown to be needed; states found hopeless are written
 * down with what they would need, so nothing is searched twice, and GPUs that are alike lead to the
 * same states. The first cost at which there is an answer is the minimum.
 */
#ifndef BH_PLAN_SPREAD_H
#define BH_PLAN_SPREAD_H

#include "plan/fleet.h"
#include "plan/mixes.h"

struct bh_spread_problem {
	const struct bh_mix_names *names;
	/* borrowed; one for each GPU, in the order that decides between answers of equal cost */
	const struct bh_mixes *const *mixes;
	const struct bh_geometry *const *geometry; /* likewise; NULL where the board has none */
	const uint64_t *fixed; /* coarse units covered by what must stay, of each GPU */
	size_t n_gpus;
	uint64_t budget; /* mixes looked at, before a greedy answer has to do */
	bool any;	 /* whether there is an answer is all that is asked */
};

struct bh_spread {
	const struct bh_mix **choice; /* owned; of each GPU; borrowed from the problem's mixes */
	uint32_t operations;
	uint32_t least_operations; /* no answer has fewer; the same number where it is proven */
};

enum {
	BH_SPREAD_NONE = 1, /* no choice of mixes adds up to the totals */
};

/**
 * bh_spread() - find the choice with the fewest operations
 * @problem:      borrowed
 * @ret_spread:   written when 0 is returned, freed with bh_spread_free()
 * @ret_shortage: written when BH_SPREAD_NONE is returned and the closed form says why; else its
 *                `what` is NULL; may be NULL
 * @err:          NO_MEMORY; INTERNAL when the budget ended before any answer was found
 *
 * Among choices of equally many operations the one with the fewest changes of the MIG mode (where
 * the budget lasts for that, too), then
 * the one whose first GPU has the first mix of its list, then the second GPU, and so on.
 *
 * The bound it starts from: for each profile the difference between what is wanted and what stands,
 * over all GPUs, and all that stands of other profiles.
 *
 * Return: 0; BH_SPREAD_NONE; negative on error.
 */
int bh_spread(const struct bh_spread_problem *problem, struct bh_spread *ret_spread,
		struct bh_shortage *ret_shortage, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_spread_free() - free what it owns
 * @spread: zeroed is fine
 */
void bh_spread_free(struct bh_spread *spread);

#endif
