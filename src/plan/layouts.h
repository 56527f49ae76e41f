/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All legal layouts of a geometry: sets of shapes that stand beside each other. There are a few
 * hundred on every board that is known (723 on seven-slice boards, 26 on A30 and RTX PRO 6000), so
 * they are written down once.
 */
#ifndef BH_PLAN_LAYOUTS_H
#define BH_PLAN_LAYOUTS_H

#include "plan/geometry.h"

#define BH_LAYOUTS_MAX 20000 /* no board that is known has more than 723 */

struct bh_layout {
	uint64_t cells; /* bit n = the n-th of all places, shape by shape in the geometry's order */
	uint64_t mask;
	uint8_t counts[BH_SHAPES_MAX];
	bool maximal; /* nothing more can be added */
};

struct bh_layouts {
	struct bh_layout *items; /* owned; the empty one is the first */
	size_t n;
	size_t n_maximal, n_mixes, n_masks; /* maximal ones, different counts, different masks */
};

/**
 * bh_layouts_init() - enumerate
 * @geo:         borrowed
 * @ret_layouts: written on success, freed with bh_layouts_free()
 * @err:         NO_MEMORY; UNSUPPORTED for a geometry with more than BH_LAYOUTS_MAX
 */
int bh_layouts_init(const struct bh_geometry *geo, struct bh_layouts *ret_layouts,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_layouts_free() - free what it owns
 * @layouts: zeroed is fine
 */
void bh_layouts_free(struct bh_layouts *layouts);

#endif
