/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fragmented a node is. Its GPUs are grouped by board (the same profiles); those with MIG mode on
 * count. Exactly:
 *
 * now           how many instances of one profile could be added as things stand, and of no other.
 * after_repack  the same if everything that stands on the GPUs of that board, in use or of others as
 *               well, could be put anew on any of them: a bound that nothing can pass.
 * after_idle    the same if only idle instances of ours could be put anew: what can be had today.
 * lost          after_repack - now: what the arrangement costs, and not what is used.
 *
 * A unit is stranded when it is free, some profile of the board can cover it, and no place of any
 * profile covers it with free units alone. Seven 1g of a seven-slice board strand one of eight units.
 *
 * A compute slice is stranded when it is not of an instance and no layout of the free units, whatever
 * its profiles, brings it in: the board's slices, less those of its instances, less the most that
 * could still be added. Two 3g of a seven-slice board strand one; seven 1g strand none.
 *
 * Both look at places alone, not at media engines. Unknown (BH_UNKNOWN) is what could not be counted
 * exactly: a profile whose places are not told, several GPUs of a board of no known kind, several GPUs
 * with an instance that takes all media engines, or with more ways to place those of media extensions
 * than are tried, a board none of whose GPUs has MIG mode on.
 */
#ifndef BH_PLAN_FRAGMENTS_H
#define BH_PLAN_FRAGMENTS_H

#include "plan/room.h"

/* One profile of a board, over all its GPUs. */
struct bh_fragments_count {
	uint32_t now, after_repack, after_idle, lost;
};

struct bh_fragments_gpu {
	size_t gpu;   /* index into the GPUs that were given */
	bool counted; /* MIG mode is on; all below is 0 if not */
	uint32_t free_units;
	uint64_t stranded_units; /* mask, in the board's units */
	uint32_t n_stranded_units;
	uint32_t stranded_slices;	  /* BH_UNKNOWN with an instance of an unknown profile */
	uint32_t now[BH_GI_PROFILES_MAX]; /* by profile */
};

struct bh_fragments_board {
	const struct bh_gpu *board; /* borrowed: the first of its GPUs */
	struct bh_geometry geo;
	bool has_geometry;	   /* false: its table is so odd that nothing could be counted */
	struct bh_layouts layouts; /* empty where they cannot be listed */
	struct bh_fragments_gpu gpus[BH_NODE_GPUS_MAX];
	size_t n_gpus, n_counted;
	struct bh_fragments_count profiles[BH_GI_PROFILES_MAX];
	uint32_t free_units, stranded_units, stranded_slices; /* of all that count */
};

struct bh_fragments {
	struct bh_fragments_board *boards; /* owned, in the order of their first GPUs */
	size_t n_boards;
};

/**
 * bh_fragments_init() - count
 * @gpus:          borrowed, and for the life of the result; at most BH_NODE_GPUS_MAX
 * @n_gpus:        how many; those without any profile are left out
 * @ret_fragments: written on success, freed with bh_fragments_free()
 * @err:           NO_MEMORY
 */
int bh_fragments_init(const struct bh_gpu *gpus, size_t n_gpus, struct bh_fragments *ret_fragments,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_fragments_free() - free what it owns
 * @fragments: zeroed is fine
 */
void bh_fragments_free(struct bh_fragments *fragments);

/**
 * bh_fragments_profile() - the profile of an instance in the board's table
 * @board:      borrowed
 * @profile_id: NVML's
 *
 * Return: index; SIZE_MAX when it is not there or has no known place.
 */
size_t bh_fragments_profile(const struct bh_fragments_board *board, uint32_t profile_id);

/**
 * bh_fragments_worst() - the profile that loses most
 * @board: borrowed
 *
 * Counted in compute slices, so that a lost 7g is worth more than a lost 1g; the larger of equals.
 * Return: index; SIZE_MAX if none is known to lose anything.
 */
size_t bh_fragments_worst(const struct bh_fragments_board *board);

#endif
