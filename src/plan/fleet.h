/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a demand fit on many partly occupied GPUs, with nothing moved? For the two kinds of boards
 * that are known the answer is exact and follows from six counters, however many GPUs there are:
 * sizes are powers of two on aligned places, so the widest first, each on the place that is worth
 * the least to the others, is optimal. A right half (one pair short of its last eighth) is worth
 * less than a left half, the last pair less than the others, a half-used pair least.
 *
 * Media engines are not counted here: a demand with "+me" profiles, or GPUs with such instances,
 * are the generic solver's (plan/solver.h).
 */
#ifndef BH_PLAN_FLEET_H
#define BH_PLAN_FLEET_H

#include "plan/geometry.h"

/* Summed over GPUs of one kind. Of quarters: wholes, halves as `pairs`, singles. */
struct bh_fleet {
	uint64_t wholes;  /* GPUs with nothing on them */
	uint64_t lefts;	  /* free left halves, those of wholes too */
	uint64_t rights;  /* free right halves, likewise */
	uint64_t pairs;	  /* free pairs of eighths at 0, 2, 4, likewise; free halves of quarters */
	uint64_t lasts;	  /* free pairs at 6: they hold a 1g.20gb or one 1g */
	uint64_t singles; /* free units that only the smallest profile can use */
};

/* How many instances of each role. */
struct bh_demand {
	uint64_t n[BH_ROLES];
};

/* Why a demand does not fit: the first inequality that fails, widest profiles first. */
struct bh_shortage {
	enum bh_shape_role role; /* the profile that finds no place */
	const char *what;	 /* "free left halves (units 0-3)": what it needs */
	uint64_t needs, has;	 /* of those, after all wider profiles have theirs */
};

/**
 * bh_fleet_add() - count a GPU in, or out
 * @fleet:    changed
 * @kind:     EIGHTHS or QUARTERS
 * @occupied: its coarse units that are taken
 * @count:    how many such GPUs; negative takes away what was added before
 */
void bh_fleet_add(struct bh_fleet *fleet, enum bh_geometry_kind kind, uint64_t occupied,
		int64_t count);

/**
 * bh_fleet_fits() - can the demand stand there beside what does
 * @fleet:        borrowed
 * @kind:         as it was added with
 * @demand:       borrowed; only of roles that the board has
 * @ret_shortage: written when it does not; may be NULL
 */
bool bh_fleet_fits(const struct bh_fleet *fleet, enum bh_geometry_kind kind,
		const struct bh_demand *demand, struct bh_shortage *ret_shortage);

/**
 * bh_fleet_cards_missing() - how many empty cards more are needed at least
 * @fleet:  borrowed
 * @kind:   as it was added with
 * @demand: borrowed; in all less than 2^32 instances
 *
 * Return: 0 when it fits. Takes the logarithm of the demand in steps.
 */
uint64_t bh_fleet_cards_missing(const struct bh_fleet *fleet, enum bh_geometry_kind kind,
		const struct bh_demand *demand);

/**
 * bh_fleet_most() - how many of one role fit beside a demand
 * @fleet:  borrowed
 * @kind:   as it was added with
 * @demand: borrowed; what it says of @role is ignored
 * @role:   of the board
 *
 * Return: 0 also when the demand alone does not fit.
 */
uint64_t bh_fleet_most(const struct bh_fleet *fleet, enum bh_geometry_kind kind,
		const struct bh_demand *demand, enum bh_shape_role role);

#endif
