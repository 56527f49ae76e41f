/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where GPU instances go: the exact search. A board has a few hundred legal layouts, so all of them
 * that hold the wanted instances are looked at, and the one with the fewest destroyed and created
 * instances wins; among equals the one that keeps most placements open, then the lowest starts.
 * Deterministic, and blind to the order in which things were asked for.
 */
#ifndef BH_PLAN_PLACER_H
#define BH_PLAN_PLACER_H

#include "plan/role.h"

struct bh_place_problem {
	const struct bh_gpu *gpu;	     /* borrowed */
	uint32_t counts[BH_GI_PROFILES_MAX]; /* wanted, by index into the GPU's profiles */
	enum bh_gi_role roles[BH_GIS_MAX];   /* of the GPU's instances */
	uint32_t keep_cost[BH_GIS_MAX]; /* changes inside an idle one that stays; a tie-break */
	uint32_t *budget; /* borrowed; steps of search left to all that share it; NULL = plenty */
};

/* What one plan may search, its refusal included. Known boards need less than 1000. */
#define BH_PLACE_BUDGET 50000U

struct bh_placed_gi {
	size_t profile; /* index into the GPU's profiles */
	struct bh_placement at;
};

struct bh_place_solution {
	bool keep[BH_GIS_MAX]; /* idle ones that stay; pinned and aliens are true as well */
	struct bh_placed_gi creates[BH_GIS_MAX];
	size_t n_creates;
	uint64_t occupied; /* units covered in the end */
};

enum {
	BH_PLACE_NONE = 1, /* there is no such layout */
};

/**
 * bh_place() - find the layout with the fewest operations
 * @problem:      borrowed
 * @ret_solution: written when 0 is returned
 * @err:          INTERNAL when the board is so odd that the search had to be given up; the budget
 *                is 0 then, so nothing that shares it is searched either
 *
 * Return: 0; BH_PLACE_NONE when no legal layout holds what is wanted beside what must stay;
 *         negative on error.
 */
int bh_place(const struct bh_place_problem *problem, struct bh_place_solution *ret_solution,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_place_give_up() - say that the search had to be given up
 * @gpu: borrowed
 * @err: INTERNAL
 *
 * Return: always -1.
 */
int bh_place_give_up(const struct bh_gpu *gpu, struct bh_error *err);

/**
 * bh_slot_is_aligned() - is this start of a compute instance legal on every board
 * @start: in compute slices
 * @size:  likewise, at least 1
 *
 * Such starts are multiples of the size, rounded up to a power of two.
 */
bool bh_slot_is_aligned(uint32_t start, uint32_t size);

/**
 * bh_place_media_rules_hold() - may so many media engines stand on one board
 * @problem: borrowed; aliens count as well
 *
 * plan/media.h has the rules.
 */
bool bh_place_media_rules_hold(const struct bh_place_problem *problem);

/**
 * bh_place_slots() - where compute instances go within one GPU instance
 * @total:  compute slices of the GPU instance
 * @taken:  mask of slices that stay taken
 * @sizes:  wanted sizes in falling order
 * @n:      how many
 * @starts: receives the starts
 *
 * Starts aligned to their size (rounded up to a power of two) are legal on every board and tried
 * first; free starts are what some boards allow beside. Return: true if all found room.
 */
bool bh_place_slots(
		uint32_t total, uint64_t taken, const uint32_t *sizes, size_t n, uint32_t *starts);

#endif
