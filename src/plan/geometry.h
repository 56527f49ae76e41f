/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The geometry of a board: which shapes its profiles have and where each may stand, in units that
 * are as coarse as the board allows. Profiles that stand at the same places ("1g.10gb" and
 * "1g.10gb+me") have one shape. Made once from what the driver (or the catalogue) tells; afterwards
 * every question about one GPU is a look-up by the mask of its occupied units.
 *
 * Known boards come in two kinds, for which a fleet's questions have a closed form (plan/fleet.h).
 * Which kind a board is, is checked against its placements, never concluded from its name.
 */
#ifndef BH_PLAN_GEOMETRY_H
#define BH_PLAN_GEOMETRY_H

#include "gpu/inventory.h"

#define BH_SHAPES_MAX	   16
#define BH_TABLE_UNITS_MAX 8 /* a table by mask has 2 to the power of this rows */

enum bh_geometry_kind {
	BH_GEOMETRY_OTHER,    /* anything: only the generic solver knows it */
	BH_GEOMETRY_EIGHTHS,  /* A100, H100, H200, B200, GH200, ... */
	BH_GEOMETRY_QUARTERS, /* A30, RTX PRO 6000 */
};

/* The shapes of the closed forms, by their names on a seven-slice board. */
enum bh_shape_role {
	BH_ROLE_1,  /* one eighth at 0 to 6; one quarter at 0 to 3 */
	BH_ROLE_1D, /* the double-memory 1g: two eighths at 0, 2, 4, 6 */
	BH_ROLE_2,  /* two eighths at 0, 2, 4; two quarters at 0, 2 */
	BH_ROLE_3,  /* four eighths at 0, 4 */
	BH_ROLE_4,  /* four eighths at 0 */
	BH_ROLE_7,  /* the whole */
	BH_ROLES,
};

struct bh_shape {
	uint32_t size;	 /* coarse units */
	uint32_t slices; /* compute slices of its profiles; the most, if they differ */
	uint32_t n_places;
	uint8_t starts[BH_PLACEMENTS_MAX]; /* coarse units, rising */
	uint64_t masks[BH_PLACEMENTS_MAX]; /* of coarse units */
	enum bh_shape_role role;	   /* where the kind is not OTHER */
};

struct bh_geometry {
	enum bh_geometry_kind kind;
	uint32_t unit;	 /* board units in a coarse one */
	uint32_t units;	 /* coarse units of the board; 0: it has no placements */
	uint32_t slices; /* compute slices of the board: of its largest profile */
	struct bh_shape shapes[BH_SHAPES_MAX]; /* widest first, then fewest places */
	uint32_t n_shapes;
	int8_t shape_of[BH_GI_PROFILES_MAX]; /* of each profile of the board; -1: it has no place */
	int8_t by_role[BH_ROLES];	     /* the shape of a role; -1: the board lacks it */

	/* bh_geometry_most() by mask, then shape; filled where units <= BH_TABLE_UNITS_MAX */
	uint8_t most[1U << BH_TABLE_UNITS_MAX][BH_SHAPES_MAX];
};

/**
 * bh_geometry_init() - work out a board's geometry
 * @gpu:     borrowed; its profiles
 * @ret_geo: written on success
 * @err:     UNSUPPORTED when the board has more shapes than fit here, a profile with placements of
 *           several sizes, or one that lies outside any mask
 */
int bh_geometry_init(const struct bh_gpu *gpu, struct bh_geometry *ret_geo, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_geometry_mask() - the coarse units that a placement covers
 * @geo: borrowed
 * @at:  in the board's units
 *
 * Units that no profile can be placed on are left out.
 */
uint64_t bh_geometry_mask(const struct bh_geometry *geo, const struct bh_placement *at);

/**
 * bh_geometry_occupied() - the coarse units that are taken on a GPU
 * @geo: borrowed; of that board
 * @gpu: borrowed
 */
uint64_t bh_geometry_occupied(const struct bh_geometry *geo, const struct bh_gpu *gpu);

/**
 * bh_geometry_most() - most further instances of one shape beside what is occupied
 * @geo:      borrowed
 * @occupied: coarse units
 * @shape:    below n_shapes
 *
 * A look-up where the board's units are few enough for the table.
 */
uint32_t bh_geometry_most(const struct bh_geometry *geo, uint64_t occupied, uint32_t shape);

/**
 * bh_geometry_place() - a place of a shape in the board's units
 * @geo:   borrowed
 * @shape: below n_shapes
 * @place: below its n_places
 */
static inline struct bh_placement bh_geometry_place(
		const struct bh_geometry *geo, uint32_t shape, uint32_t place)
{
	return (struct bh_placement){geo->shapes[shape].starts[place] * geo->unit,
			geo->shapes[shape].size * geo->unit};
}

#endif
