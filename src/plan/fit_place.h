/* SPDX-License-Identifier: Apache-2.0 */
/* Where a wish that fits goes by a policy of plan/online.h, on boards that the closed form knows. */
#ifndef BH_PLAN_FIT_PLACE_H
#define BH_PLAN_FIT_PLACE_H

#include "plan/fit.h"

enum {
	BH_FIT_PLACE_ASTRAY = 1, /* the policy's choices left no room for the rest */
};

/**
 * bh_fit_place() - place one instance after the other
 * @geo:          of all the boards, EIGHTHS or QUARTERS
 * @rooms:        borrowed
 * @n_rooms:      how many
 * @asks:         borrowed; widest first; none with all media engines
 * @n_asks:       how many
 * @policy:       which
 * @ret_solution: written when 0 is returned, freed with bh_solution_free(); NULL: not wanted
 * @err:          NO_MEMORY
 *
 * Those with media extensions come first, each on a GPU that has none. After each it is made sure
 * that all the others still fit. Return: 0, BH_FIT_PLACE_ASTRAY, or negative.
 */
int bh_fit_place(const struct bh_geometry *geo, const struct bh_occupancy *rooms, size_t n_rooms,
		const struct bh_ask *asks, size_t n_asks, enum bh_online_policy policy,
		struct bh_solution *ret_solution, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_fit_mask() - the coarse units that are taken
 * @geo:  of its board
 * @room: borrowed
 */
uint64_t bh_fit_mask(const struct bh_geometry *geo, const struct bh_occupancy *room);

/**
 * bh_fit_demand() - a wish by the roles of the closed form
 * @geo:    of the boards
 * @room:   one of them
 * @asks:   borrowed
 * @n_asks: how many
 */
struct bh_demand bh_fit_demand(const struct bh_geometry *geo, const struct bh_occupancy *room,
		const struct bh_ask *asks, size_t n_asks);

#endif
