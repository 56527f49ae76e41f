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

		if (bh_gpu_profile_named(room->gpu, asks[i].profile, &p) && geo->shape_of[p] >= 0)
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

struct placing {
	const struct bh_geometry *geo;
	const struct bh_occupancy *rooms;
	size_t n_rooms;
	struct bh_online *online;
	struct bh_demand rest; /* what has no place yet */
	bool has_media[BH_NODE_GPUS_MAX];
	struct bh_solution solution;
};

static bool keep(struct placing *p, size_t profile, const struct bh_online_at *at)
{
	if (p->solution.n_found == p->n_rooms * BH_GIS_MAX ||
			!rest_fits(p->geo, p->online, p->n_rooms, &p->rest))
		return false;
	p->solution.found[p->solution.n_found++] = (struct bh_found){.room = at->gpu,
			.profile = profile,
			.at = bh_geometry_place(p->geo, at->shape, at->place)};
	return true;
}

/* One with media extensions: the first GPU without, and the first place there, that leaves room. */
static bool place_media(struct placing *p, size_t profile, uint32_t shape)
{
	for (uint32_t r = 0; r < p->n_rooms; r++) {
		for (uint32_t k = 0; !p->has_media[r] && k < p->geo->shapes[shape].n_places; k++) {
			struct bh_online_at at = {.gpu = r, .shape = shape, .place = k};

			if (bh_online_mask(p->online, r) & p->geo->shapes[shape].masks[k])
				continue;
			bh_online_take(p->online, &at);
			if (keep(p, profile, &at)) {
				p->has_media[r] = true;
				return true;
			}
			bh_online_release(p->online, &at);
		}
	}
	return false;
}

static bool place_ask(struct placing *p, const struct bh_ask *ask, bool media,
		enum bh_online_policy policy)
{
	size_t profile = 0;
	uint32_t shape;

	if (!bh_gpu_profile_named(p->rooms[0].gpu, ask->profile, &profile) ||
			p->geo->shape_of[profile] < 0)
		return false;
	if (bh_media_is_extended(&p->rooms[0].gpu->profiles[profile]) != media)
		return true;
	shape = (uint32_t) p->geo->shape_of[profile];
	for (uint32_t n = 0; n < ask->count; n++) {
		struct bh_online_at at;

		p->rest.n[p->geo->shapes[shape].role]--;
		if (media ? !place_media(p, profile, shape)
			  : !bh_online_place(p->online, shape, policy, &at) ||
								!keep(p, profile, &at))
			return false;
	}
	return true;
}

int bh_fit_place(const struct bh_geometry *geo, const struct bh_occupancy *rooms, size_t n_rooms,
		const struct bh_ask *asks, size_t n_asks, enum bh_online_policy policy,
		struct bh_solution *ret_solution, struct bh_error *err)
{
	struct placing p = {.geo = geo,
			.rooms = rooms,
			.n_rooms = n_rooms,
			.rest = bh_fit_demand(geo, &rooms[0], asks, n_asks)};
	bool placed = true;

	if (bh_online_new(geo, (uint32_t) n_rooms, &p.online, err) < 0)
		return -1;
	p.solution.found = calloc(n_rooms * BH_GIS_MAX + 1, sizeof(*p.solution.found));
	if (!p.solution.found) {
		bh_online_free(p.online);
		return bh_fail_memory(err);
	}
	for (uint32_t r = 0; r < n_rooms; r++) {
		bh_online_set_mask(p.online, r, bh_fit_mask(geo, &rooms[r]));
		p.has_media[r] = rooms[r].media.extended > 0;
	}
	for (int media = 1; media >= 0; media--) {
		for (size_t i = 0; placed && i < n_asks; i++)
			placed = place_ask(&p, &asks[i], media, policy);
	}
	bh_online_free(p.online);
	if (placed && ret_solution) {
		bh_solution_sort(&p.solution);
		*ret_solution = p.solution;
		return 0;
	}
	bh_solution_free(&p.solution);
	return placed ? 0 : BH_FIT_PLACE_ASTRAY;
}
