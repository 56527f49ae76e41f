/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of places of a shape: (mask, place) are of one kind when they take the same from every
 * shape and change by the same amount what each could not use.
 */
#ifndef BH_PLAN_ONLINE_KINDS_H
#define BH_PLAN_ONLINE_KINDS_H

#include "plan/geometry.h"

#define BH_ONLINE_MASKS (1U << BH_TABLE_UNITS_MAX)
#define BH_MASK_WORDS	(BH_ONLINE_MASKS / 64)

/* A set of masks. */
struct bh_mask_set {
	uint64_t words[BH_MASK_WORDS];
};

struct bh_online_kind {
	int8_t taken[BH_SHAPES_MAX];  /* instances of each shape that fit no more */
	int8_t wasted[BH_SHAPES_MAX]; /* growth of the free units on GPUs where the shape fits not */
	bool as_before;		      /* takes what the kind before it in the list takes */
	struct bh_mask_set masks;     /* that have a place of this kind */
};

struct bh_online_kinds {
	struct bh_online_kind *items; /* owned; in order of taken, then wasted */
	uint32_t n;
	uint16_t *of; /* owned; by place, then mask: the kind; any value where it is not free */
};

/**
 * bh_mask_set_add() - put one mask in
 * @set:  changed
 * @mask: below BH_ONLINE_MASKS
 */
static inline void bh_mask_set_add(struct bh_mask_set *set, uint32_t mask)
{
	set->words[mask / 64] |= UINT64_C(1) << mask % 64;
}

/**
 * bh_online_kinds_init() - find the kinds of one shape
 * @geo:       borrowed; with its tables
 * @shape:     of it
 * @ret_kinds: written on success, freed with bh_online_kinds_free()
 * @err:       NO_MEMORY
 */
int bh_online_kinds_init(const struct bh_geometry *geo, uint32_t shape,
		struct bh_online_kinds *ret_kinds, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_online_kinds_free() - free what it owns
 * @kinds: zeroed is fine
 */
void bh_online_kinds_free(struct bh_online_kinds *kinds);

#endif
