/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fit_place.h"

#include <stdlib.h>

#include "plan/step.h"

uint64_t bh_fit_mask(const struct bh_geometry *geo, const struct bh_occupancy *room)
{
	struct bh_placement one = {.size = geo->unit};
	uint64_t mask = 0;

	for (uint32_t u = 0; u < geo->units; u++) {
		one.start = u * geo->unit;
		if (room->occupied & bh_placement_mask(&one))
			mask |= UINT64_C(1) << u;
	}
	return mask;
}

struct bh_demand bh_fit_demand(const struct bh_geometry *geo, const struct bh_occupancy *room,
		const struct bh_ask *asks, size_t n_asks)
{
	struct bh_demand demand = {{0}};

	for (size_t i = 0; i < n_asks; i++) {
		size_t p = 0;

		if (bh_occupancy_find_profile(room, asks[i].profile, &p) && geo->shape_of[p] >= 0)
			demand.n[geo->shapes[geo->shape_of[p]].role] += asks[i].count;
	}
	return demand;
}

static bool rest_fits(const struct bh_geometry *geo, const struct bh_online *online, size_t n_rooms,
		const struct bh_demand *rest)
{
	struct bh_fleet fleet = {0};

	for (uint32_t r = 0; r < n_rooms; r++)
		bh_fleet_add(&fleet, geo->kind, bh_online_mask(online, r), 1);
	return bh_fleet_fits(&fleet, geo->kind, rest, NULL);
}

int bh_fit_place(const struct bh_geometry *geo, const struct bh_occupancy *rooms, size_t n_rooms,
		const struct bh_ask *asks, size_t n_asks, enum bh_online_policy policy,
		struct bh_solution *ret_solution, struct bh_error *err)
{
	struct bh_demand rest = bh_fit_demand(geo, &rooms[0], asks, n_asks);
	bh_auto_solution struct bh_solution solution = {0};
	bh_auto_online struct bh_online *online = NULL;

	if (bh_online_new(geo, (uint32_t) n_rooms, &online, err) < 0)
		return -1;
	solution.found = calloc(n_rooms * BH_GIS_MAX + 1, sizeof(*solution.found));
	if (!solution.found)
		return bh_fail_memory(err);
	for (uint32_t r = 0; r < n_rooms; r++)
		bh_online_set_mask(online, r, bh_fit_mask(geo, &rooms[r]));
	for (size_t i = 0; i < n_asks; i++) {
		size_t p = 0;
		uint32_t shape;

		if (!bh_occupancy_find_profile(&rooms[0], asks[i].profile, &p) ||
				geo->shape_of[p] < 0)
			return BH_FIT_PLACE_ASTRAY;
		shape = (uint32_t) geo->shape_of[p];
		for (uint32_t n = 0; n < asks[i].count; n++) {
			struct bh_online_at at;

			rest.n[geo->shapes[shape].role]--;
			if (solution.n_found == n_rooms * BH_GIS_MAX ||
					!bh_online_place(online, shape, policy, &at) ||
					!rest_fits(geo, online, n_rooms, &rest))
				return BH_FIT_PLACE_ASTRAY;
			solution.found[solution.n_found++] = (struct bh_found){.room = at.gpu,
					.profile = p,
					.at = bh_geometry_place(geo, shape, at.place)};
		}
	}
	bh_solution_sort(&solution);
	*ret_solution = solution;
	solution = (struct bh_solution){0};
	return 0;
}
