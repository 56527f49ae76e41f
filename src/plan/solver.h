/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a wish fit on these GPUs, with nothing moved, and where? The generic search: any boards, mixed
 * as they come, media rules and maxima included. Exact, and it says so when it has to give up. For
 * the two kinds of boards that are known plan/fleet.h answers the plain question in nanoseconds,
 * and tests hold the two against each other.
 */
#ifndef BH_PLAN_SOLVER_H
#define BH_PLAN_SOLVER_H

#include "plan/occupancy.h"

#define BH_ASKS_MAX	32 /* different profiles of one wish */

/* What one search may take: half a second at most. Nodes of known boards need a few hundred. */
#define BH_SOLVE_BUDGET 1000000U

struct bh_ask {
	const char *profile; /* borrowed */
	uint32_t count;
};

struct bh_found {
	size_t room, profile; /* indexes: into the rooms, into that board's profiles */
	struct bh_placement at;
};

struct bh_solution {
	struct bh_found *found; /* owned; one for each instance of the wish, by room, then start */
	size_t n_found;
};

enum {
	BH_SOLVE_NONE = 1, /* it does not fit */
};

/**
 * bh_solve() - find a place for everything that is asked for
 * @rooms:        borrowed; at most BH_NODE_GPUS_MAX
 * @n_rooms:      how many
 * @asks:         borrowed; names differ, counts may be 0
 * @n_asks:       at most BH_ASKS_MAX
 * @budget:       steps left, shared by all searches of one question; 0 afterwards: given up
 * @ret_solution: written when 0 is returned, freed with bh_solution_free(); NULL: not wanted
 * @err:          DEADLINE when the search had to be given up, NO_MEMORY
 *
 * The fullest GPU that can take something is filled first. Neither the order of GPUs with equal
 * occupancy nor that of @asks changes more than which of the equal ones is used.
 * Return: 0, BH_SOLVE_NONE, or negative.
 */
int bh_solve(const struct bh_occupancy *rooms, size_t n_rooms, const struct bh_ask *asks,
		size_t n_asks, uint32_t *budget, struct bh_solution *ret_solution,
		struct bh_error *err) BH_MUST_CHECK;

/** bh_solution_sort() - put what was found in order of room, then start */
void bh_solution_sort(struct bh_solution *solution);

/**
 * bh_solution_free() - free what it owns
 * @solution: zeroed is fine
 */
void bh_solution_free(struct bh_solution *solution);
#define bh_auto_solution BH_CLEANUP(bh_solution_free)

#endif
