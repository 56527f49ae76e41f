/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cheapest repack: the fewest idle instances of ours that must be put anew, on the same or another
 * GPU of their board, so that a profile finds as much room as it can. Moving means destroying here and
 * creating there with the same profile: everything in the instance ends, and it gets new UUIDs, so
 * who it belongs to must agree. What is in use or of others never moves. All moves are one change: all
 * that move are destroyed before the first is created, unless the moves can be made one by one.
 *
 * A repack that works is found by taking everything idle out and putting back what can stay; then
 * fewer moves are tried, one more at a time, until there is none with fewer or the budget is spent.
 */
#ifndef BH_PLAN_REPACK_H
#define BH_PLAN_REPACK_H

#include "plan/fragments.h"

/* Steps that one search may take: half-full nodes of eight GPUs are proven within it, larger ones seldom. */
#define BH_REPACK_BUDGET 300000U

struct bh_move {
	size_t from_gpu, to_gpu; /* indices into the GPUs that were given */
	size_t gi;		 /* of the first: index of the instance on it */
	size_t profile;		 /* index into the board's profiles */
	struct bh_placement from, to;
};

enum bh_repack_outcome {
	BH_REPACK_FOUND,
	BH_REPACK_UNREACHABLE, /* no moves of idle instances make so much room */
	BH_REPACK_UNKNOWN,     /* what is not counted (plan/room.h) cannot be searched */
};

struct bh_repack {
	enum bh_repack_outcome outcome;
	uint32_t now, reached; /* room for the profile before, and after the moves; or BH_UNKNOWN */
	uint32_t reachable;    /* after any moves of idle instances; or BH_UNKNOWN */
	struct bh_move moves[BH_ROOM_INSTANCES_MAX];
	size_t n_moves;
	bool minimal;	 /* proven: no fewer moves reach it; else the budget was spent */
	bool one_by_one; /* in this order each finds its place free without the ones after it */
};

/**
 * bh_repack_find() - find the cheapest repack for a profile
 * @gpus:       borrowed; what @board was counted from
 * @board:      borrowed
 * @profile:    index into its profiles
 * @count:      the room that is wanted; 0: the most that can be reached
 * @budget:     sets that may be looked at; 0: BH_REPACK_BUDGET
 * @ret_repack: written on success
 * @err:        NO_MEMORY
 */
int bh_repack_find(const struct bh_gpu *gpus, const struct bh_fragments_board *board,
		size_t profile, uint32_t count, uint32_t budget, struct bh_repack *ret_repack,
		struct bh_error *err) BH_MUST_CHECK;

#endif
