/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room on the GPUs of one board: how many more instances of a profile could stand beside things that
 * stay where they are and others that may stand anywhere. On one GPU the answer is exact for every
 * board whose layouts can be listed. On several it is exact for the two kinds of plan/fleet.h: an
 * instance with media extensions, of which a board holds one, is a choice between the few places that
 * differ in worth; all choices are tried, and the rest is the closed form. What neither covers is
 * unknown (BH_UNKNOWN), which is not zero.
 */
#ifndef BH_PLAN_ROOM_H
#define BH_PLAN_ROOM_H

#include "plan/layouts.h"

#define BH_ROOM_INSTANCES_MAX (BH_NODE_GPUS_MAX * BH_GIS_MAX)

/* What stays on one GPU. */
struct bh_room_bin {
	uint64_t occupied;		   /* coarse units */
	uint8_t fixed[BH_GI_PROFILES_MAX]; /* instances by profile; one of no profile is not counted */
};

struct bh_room {
	const struct bh_gpu *board;	  /* borrowed; its profiles count */
	const struct bh_geometry *geo;	  /* borrowed */
	const struct bh_layouts *layouts; /* borrowed; NULL: they cannot be listed */
	struct bh_room_bin bins[BH_NODE_GPUS_MAX];
	size_t n_bins;
	uint32_t loose[BH_GI_PROFILES_MAX]; /* may stand anywhere; by profile, each with a shape */
};

/* Where a loose instance goes. */
struct bh_room_place {
	size_t profile, bin;
	uint32_t shape, place; /* of the geometry */
};

/**
 * bh_room_cap() - most further instances of a profile that the rules allow on a GPU, places aside
 * @board:   borrowed
 * @has:     what it has, by profile
 * @profile: index into the board's profiles
 *
 * The profile's own maximum, the driver's for a board, and those for media extensions.
 */
uint32_t bh_room_cap(
		const struct bh_gpu *board, const uint32_t has[BH_GI_PROFILES_MAX], size_t profile);

/**
 * bh_room_is_exact() - can bh_room_most() and bh_room_place() say something
 * @room:    borrowed
 * @profile: index into the board's profiles
 */
bool bh_room_is_exact(const struct bh_room *room, size_t profile);

/**
 * bh_room_most() - how many more of a profile could stand there
 * @room:    borrowed
 * @profile: index into the board's profiles
 *
 * Return: 0 also when what is loose finds no place; BH_UNKNOWN.
 */
uint32_t bh_room_most(const struct bh_room *room, size_t profile);

/**
 * bh_room_fits() - could so many more of a profile stand there
 * @room:       borrowed; several GPUs, exact for @profile
 * @profile:    index into the board's profiles
 * @count:      how many more
 * @ret_places: a place for each loose one (at most BH_ROOM_INSTANCES_MAX) so that the others fit
 *              beside; written when they do; may be NULL
 * @ret_n:      how many those are; may be NULL with it
 *
 * Return: false also when there are too many choices to try.
 */
bool bh_room_fits(const struct bh_room *room, size_t profile, uint32_t count,
		struct bh_room_place *ret_places, size_t *ret_n);

#endif
