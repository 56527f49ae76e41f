/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GPU as a search sees it: what is taken, and whether one more instance may stand at a place. The
 * rules are R1 (no overlap), R2 (a profile's maximum), R3 (one instance with media extensions), R8
 * (beside one with all media engines only those without any) of the catalogue, and the driver's
 * limit on instances. Taking an instance away never makes a room illegal.
 */
#ifndef BH_PLAN_OCCUPANCY_H
#define BH_PLAN_OCCUPANCY_H

#include "plan/media.h"

struct bh_occupancy {
	const struct bh_gpu *gpu;	      /* borrowed; its profiles and names */
	uint64_t occupied;		      /* board units */
	uint8_t standing[BH_GI_PROFILES_MAX]; /* instances, by index of the profile */
	uint32_t n_gis;			      /* those of no profile that the board lists too */
	struct bh_media_counts media;
};

/**
 * bh_occupancy_init() - a GPU with what stands on it
 * @room: written
 * @gpu:  borrowed for as long as the room is used
 */
void bh_occupancy_init(struct bh_occupancy *room, const struct bh_gpu *gpu);

/**
 * bh_occupancy_init_empty() - the same board with nothing on it
 * @room: written
 * @gpu:  borrowed for as long as the room is used
 */
void bh_occupancy_init_empty(struct bh_occupancy *room, const struct bh_gpu *gpu);

/**
 * bh_occupancy_allows() - may one more stand there
 * @room:    borrowed
 * @profile: index into the board's profiles
 * @at:      one of its placements
 */
bool bh_occupancy_allows(
		const struct bh_occupancy *room, size_t profile, const struct bh_placement *at);

/**
 * bh_occupancy_add() - put one there
 * @room:    changed
 * @profile: index into the board's profiles
 * @at:      as bh_occupancy_allows() allows
 */
void bh_occupancy_add(struct bh_occupancy *room, size_t profile, const struct bh_placement *at);

/**
 * bh_occupancy_remove() - take one away
 * @room:    changed
 * @profile: index into the board's profiles
 * @at:      where one of that profile stands
 */
void bh_occupancy_remove(struct bh_occupancy *room, size_t profile, const struct bh_placement *at);

/**
 * bh_occupancy_open() - how many (profile, placement) pairs are still free
 * @room: borrowed
 *
 * What a choice among equals keeps largest.
 */
uint32_t bh_occupancy_open(const struct bh_occupancy *room);

#endif
