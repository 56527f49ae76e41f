/* SPDX-License-Identifier: Apache-2.0 */
/* What online.c keeps and online_choose.c looks at. */
#ifndef BH_PLAN_ONLINE_IMPL_H
#define BH_PLAN_ONLINE_IMPL_H

#include "plan/online.h"
#include "plan/online_kinds.h"

struct bh_online {
	struct bh_geometry geo;
	uint32_t n_gpus;
	double patience; /* k of the potential: a twentieth of the fleet, 1 at least */

	uint8_t *masks;				/* owned; of each GPU */
	uint64_t totals[BH_SHAPES_MAX];		/* C_p */
	struct bh_mask_set present;		/* masks that some GPU has */
	uint32_t lowest[BH_ONLINE_MASKS];	/* the lowest GPU with a mask; where present */
	struct bh_mask_set fits[BH_SHAPES_MAX]; /* masks that leave room for a shape */
	struct bh_mask_set with_free[BH_TABLE_UNITS_MAX + 1]; /* masks by number of free units */

	/* For each mask a set of GPUs: bits, bits of words that are not zero, and once more. */
	uint64_t *words; /* owned; n_words for each mask */
	uint32_t n_low, n_middle, n_words;

	struct bh_online_kinds kinds[BH_SHAPES_MAX]; /* owned */

	double counts[BH_SHAPES_MAX]; /* decayed, without the prior */
	double all_counts;
};

/**
 * bh_online_weight() - the share of a shape, not yet divided by the sum of all
 * @online: borrowed
 * @shape:  of the geometry
 */
static inline double bh_online_weight(const struct bh_online *online, uint32_t shape)
{
	return online->counts[shape] + 1.0 / online->geo.n_shapes;
}

#endif
