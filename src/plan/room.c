/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/room.h"

#include <string.h>

#include "plan/fleet.h"
#include "plan/media.h"

#define OPTIONS_MAX 256	   /* GPUs that differ times places that differ */
#define STEPS_MAX   20000U /* of a search for places of instances with media extensions */

/* Places in which an instance with media extensions is worth the same. */
struct option {
	uint32_t shape, place;
	size_t group;
	uint64_t after; /* coarse units occupied with it */
};

struct group {
	uint64_t occupied;
	uint32_t left; /* GPUs that are free of media extensions */
};

struct search {
	const struct bh_room *room;
	struct option options[OPTIONS_MAX];
	struct group groups[BH_NODE_GPUS_MAX];
	size_t n_options, n_groups;
	uint32_t media[BH_SHAPES_MAX]; /* not yet placed, by shape */
	uint32_t taken[OPTIONS_MAX];   /* of each option */
	struct bh_fleet fleet;	       /* with those that are placed */
	struct bh_demand demand;       /* of all without media extensions */
	enum bh_shape_role role;       /* of what is counted; BH_ROLES: does it all fit */
	uint64_t most;
	bool found, too_many;
	uint32_t steps;
};

static uint32_t less(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t bh_room_cap(
		const struct bh_gpu *board, const uint32_t has[BH_GI_PROFILES_MAX], size_t profile)
{
	const struct bh_gi_profile *p = &board->profiles[profile];
	struct bh_media_counts media = {0};
	uint32_t all = 0, cap;

	for (size_t i = 0; i < board->n_profiles; i++) {
		all += has[i];
		if (has[i])
			bh_media_count(&media, &board->profiles[i], has[i]);
	}
	bh_media_count(&media, p, 1);
	if (all >= BH_GIS_MAX || has[profile] >= p->max_instances || !bh_media_hold(&media))
		return 0;
	cap = less(BH_GIS_MAX - all, p->max_instances - has[profile]);
	return bh_media_is_extended(p) ? less(cap, 1) : cap;
}

static struct bh_demand demand_of(const struct bh_room *room, bool with_media)
{
	struct bh_demand demand = {0};

	for (size_t i = 0; i < room->board->n_profiles; i++) {
		if (room->loose[i] &&
				(with_media || !bh_media_is_extended(&room->board->profiles[i])))
			demand.n[room->geo->shapes[room->geo->shape_of[i]].role] += room->loose[i];
	}
	return demand;
}

static struct bh_fleet fleet_of(const struct bh_room *room)
{
	struct bh_fleet fleet = {0};

	for (size_t b = 0; b < room->n_bins; b++)
		bh_fleet_add(&fleet, room->geo->kind, room->bins[b].occupied, 1);
	return fleet;
}

/* How many more of a role fit beside a demand, what it says of that role included. */
static uint64_t further(const struct bh_fleet *fleet, enum bh_geometry_kind kind,
		const struct bh_demand *demand, enum bh_shape_role role)
{
	uint64_t most = bh_fleet_most(fleet, kind, demand, role);

	return most > demand->n[role] ? most - demand->n[role] : 0;
}

/* Places alone, on one GPU of any board: of all layouts beside what stays. */
static uint32_t most_of_layouts(const struct bh_room *room, uint32_t shape)
{
	uint32_t loose[BH_SHAPES_MAX] = {0}, most = 0;

	for (size_t i = 0; i < room->board->n_profiles; i++) {
		if (room->loose[i])
			loose[room->geo->shape_of[i]] += room->loose[i];
	}
	for (size_t l = 0; l < room->layouts->n; l++) {
		const struct bh_layout *layout = &room->layouts->items[l];
		bool holds = !(layout->mask & room->bins[0].occupied);

		for (uint32_t s = 0; holds && s < room->geo->n_shapes; s++)
			holds = layout->counts[s] >= loose[s];
		if (holds && layout->counts[shape] - loose[shape] > most)
			most = layout->counts[shape] - loose[shape];
	}
	return most;
}

static uint32_t most_of_one(const struct bh_room *room, size_t profile)
{
	uint32_t shape = (uint32_t) room->geo->shape_of[profile], most;
	uint32_t has[BH_GI_PROFILES_MAX];

	for (size_t i = 0; i < room->board->n_profiles; i++)
		has[i] = room->bins[0].fixed[i] + room->loose[i];
	if (room->geo->kind == BH_GEOMETRY_OTHER) {
		most = most_of_layouts(room, shape);
	} else {
		struct bh_fleet fleet = fleet_of(room);
		struct bh_demand demand = demand_of(room, /* with_media= */ true);

		most = (uint32_t) further(
				&fleet, room->geo->kind, &demand, room->geo->shapes[shape].role);
	}
	return less(most, bh_room_cap(room->board, has, profile));
}

bool bh_room_is_exact(const struct bh_room *room, size_t profile)
{
	if (room->geo->shape_of[profile] < 0)
		return false;
	if (room->n_bins <= 1)
		return room->geo->kind != BH_GEOMETRY_OTHER || room->layouts;
	if (room->geo->kind == BH_GEOMETRY_OTHER)
		return false;
	for (size_t i = 0; i < room->board->n_profiles; i++) {
		const struct bh_gi_profile *p = &room->board->profiles[i];
		uint32_t there = room->loose[i] + (i == profile);

		for (size_t b = 0; b < room->n_bins && bh_media_of(p) == BH_MEDIA_ALL; b++)
			there += room->bins[b].fixed[i];
		if (there == 0)
			continue;
		/* a maximum that places do not imply is counted by nobody here */
		if (bh_media_of(p) == BH_MEDIA_ALL ||
				p->max_instances <
						(bh_media_is_extended(p) ? 1
									 : bh_geometry_most(
											   room->geo,
											   0,
											   (uint32_t) room->geo
													   ->shape_of[i])))
			return false;
	}
	return true;
}

static bool has_media(const struct bh_room *room, size_t bin)
{
	for (size_t i = 0; i < room->board->n_profiles; i++) {
		if (room->bins[bin].fixed[i] && bh_media_is_extended(&room->board->profiles[i]))
			return true;
	}
	return false;
}

static void group_bins(struct search *s)
{
	for (size_t b = 0; b < s->room->n_bins; b++) {
		size_t g = 0;

		if (has_media(s->room, b))
			continue;
		while (g < s->n_groups && s->groups[g].occupied != s->room->bins[b].occupied)
			g++;
		s->groups[g].occupied = s->room->bins[b].occupied;
		s->groups[g].left++;
		s->n_groups += g == s->n_groups;
	}
}

static bool worth_the_same(enum bh_geometry_kind kind, uint64_t a, uint64_t b)
{
	struct bh_fleet fa = {0}, fb = {0};

	bh_fleet_add(&fa, kind, a, 1);
	bh_fleet_add(&fb, kind, b, 1);
	return memcmp(&fa, &fb, sizeof(fa)) == 0;
}

static void add_option(struct search *s, const struct option *option)
{
	for (size_t o = 0; o < s->n_options; o++) {
		const struct option *other = &s->options[o];

		if (other->shape == option->shape && other->group == option->group &&
				worth_the_same(s->room->geo->kind, other->after, option->after))
			return;
	}
	if (s->n_options == OPTIONS_MAX)
		s->too_many = true;
	else
		s->options[s->n_options++] = *option;
}

/* Shape by shape, so that a shape that is left over is found out early. */
static void list_options(struct search *s)
{
	const struct bh_geometry *geo = s->room->geo;

	for (uint32_t shape = 0; shape < geo->n_shapes; shape++) {
		for (size_t g = 0; s->media[shape] && g < s->n_groups; g++) {
			for (uint32_t p = 0; p < geo->shapes[shape].n_places; p++) {
				uint64_t mask = geo->shapes[shape].masks[p];

				if (!(mask & s->groups[g].occupied))
					add_option(s, &(struct option){shape, p, g,
								      s->groups[g].occupied |
										      mask});
			}
		}
	}
}

static void judge(struct search *s)
{
	enum bh_geometry_kind kind = s->room->geo->kind;

	if (s->role == BH_ROLES) {
		s->found = bh_fleet_fits(&s->fleet, kind, &s->demand, NULL);
	} else {
		uint64_t most = further(&s->fleet, kind, &s->demand, s->role);

		s->most = most > s->most ? most : s->most;
	}
}

static void choose(struct search *s, size_t o)
{
	const struct option *option = &s->options[o];
	enum bh_geometry_kind kind = s->room->geo->kind;
	struct bh_fleet before = s->fleet;
	struct group *group;
	uint32_t most;

	if (++s->steps > STEPS_MAX) {
		s->too_many = true;
		return;
	}
	if (o == s->n_options || (o > 0 && option->shape != s->options[o - 1].shape)) {
		if (o > 0 && s->media[s->options[o - 1].shape])
			return;
		if (o == s->n_options) {
			judge(s);
			return;
		}
	}
	group = &s->groups[option->group];
	most = less(group->left, s->media[option->shape]);
	for (uint32_t k = 0; k <= most; k++) {
		s->fleet = before;
		bh_fleet_add(&s->fleet, kind, group->occupied, -(int64_t) k);
		bh_fleet_add(&s->fleet, kind, option->after, k);
		s->taken[o] = k;
		s->media[option->shape] -= k;
		group->left -= k;
		choose(s, o + 1);
		s->media[option->shape] += k;
		group->left += k;
		if (s->found || s->too_many)
			return;
	}
	s->fleet = before;
}

/* Begins a search for places of what is loose, and of @count more of a profile. */
static void begin(struct search *s, const struct bh_room *room, size_t profile, uint32_t count)
{
	uint32_t shape = (uint32_t) room->geo->shape_of[profile];

	*s = (struct search){.room = room, .role = BH_ROLES};
	s->fleet = fleet_of(room);
	s->demand = demand_of(room, /* with_media= */ false);
	for (size_t i = 0; i < room->board->n_profiles; i++) {
		if (room->loose[i] && bh_media_is_extended(&room->board->profiles[i]))
			s->media[room->geo->shape_of[i]] += room->loose[i];
	}
	if (bh_media_is_extended(&room->board->profiles[profile]))
		s->media[shape] += count;
	else
		s->demand.n[room->geo->shapes[shape].role] += count;
	group_bins(s);
	list_options(s);
}

/* A shape without any option is not met by choose(). */
static bool has_options(const struct search *s)
{
	for (uint32_t shape = 0; shape < s->room->geo->n_shapes; shape++) {
		size_t o = 0;

		while (o < s->n_options && s->options[o].shape != shape)
			o++;
		if (s->media[shape] && o == s->n_options)
			return false;
	}
	return true;
}

uint32_t bh_room_most(const struct bh_room *room, size_t profile)
{
	struct search s;

	if (!bh_room_is_exact(room, profile))
		return BH_UNKNOWN;
	if (room->n_bins == 1)
		return most_of_one(room, profile);
	if (bh_media_is_extended(&room->board->profiles[profile])) {
		uint32_t n = 0;

		while (n <= room->n_bins) {
			begin(&s, room, profile, n + 1);
			if (has_options(&s))
				choose(&s, 0);
			if (s.too_many && !s.found)
				return BH_UNKNOWN;
			if (!s.found)
				return n;
			n++;
		}
		return n;
	}
	begin(&s, room, profile, 0);
	s.role = room->geo->shapes[room->geo->shape_of[profile]].role;
	if (has_options(&s))
		choose(&s, 0);
	return s.too_many ? BH_UNKNOWN : (uint32_t) s.most;
}

/* How much a place is worth to others, where the closed form makes a difference. */
static uint32_t worth(const struct bh_geometry *geo, uint64_t occupied, enum bh_shape_role role,
		uint32_t start)
{
	if (role == BH_ROLE_3)
		return start == 0;
	if (role == BH_ROLE_1D)
		return start != 6;
	if (role != BH_ROLE_1 || occupied & UINT64_C(1) << (start ^ 1))
		return 0;
	return geo->kind == BH_GEOMETRY_EIGHTHS && start == 6 ? 1 : 2;
}

static bool put(struct bh_room *room, uint32_t shape, struct bh_room_place *ret_place)
{
	const struct bh_shape *sh = &room->geo->shapes[shape];
	uint32_t least = UINT32_MAX;

	for (size_t b = 0; b < room->n_bins; b++) {
		for (uint32_t p = 0; p < sh->n_places; p++) {
			uint64_t occupied = room->bins[b].occupied;
			uint32_t w = worth(room->geo, occupied, sh->role, sh->starts[p]);

			if (occupied & sh->masks[p] || w >= least)
				continue;
			least = w;
			ret_place->bin = b;
			ret_place->place = p;
		}
	}
	ret_place->shape = shape;
	if (least == UINT32_MAX)
		return false;
	room->bins[ret_place->bin].occupied |= sh->masks[ret_place->place];
	return true;
}

/* The profile of the next loose instance with that shape and those extensions; else that asked for. */
static size_t next_loose(struct bh_room *room, uint32_t shape, bool media)
{
	for (size_t i = 0; i < room->board->n_profiles; i++) {
		if (!room->loose[i] || (uint32_t) room->geo->shape_of[i] != shape ||
				bh_media_is_extended(&room->board->profiles[i]) != media)
			continue;
		room->loose[i]--;
		return i;
	}
	return SIZE_MAX;
}

/* Puts those with media extensions where the search put them. */
static void put_media(const struct search *s, struct bh_room *room, struct bh_room_place *places,
		size_t *n)
{
	bool used[BH_NODE_GPUS_MAX] = {0};

	for (size_t o = 0; o < s->n_options; o++) {
		const struct option *option = &s->options[o];
		uint32_t left = s->taken[o];

		for (size_t b = 0; left && b < room->n_bins; b++) {
			size_t profile;

			if (used[b] || has_media(s->room, b) ||
					s->room->bins[b].occupied !=
							s->groups[option->group].occupied)
				continue;
			used[b] = true;
			left--;
			room->bins[b].occupied = option->after;
			profile = next_loose(room, option->shape, /* media= */ true);
			if (profile != SIZE_MAX)
				places[(*n)++] = (struct bh_room_place){
						profile, b, option->shape, option->place};
		}
	}
}

/* Those without, in the order of the closed form: widest first, of equal width the pickier. */
static bool put_plain(struct bh_room *room, const struct bh_demand *demand,
		struct bh_room_place *places, size_t *n)
{
	static const enum bh_shape_role order[] = {
			BH_ROLE_7, BH_ROLE_4, BH_ROLE_3, BH_ROLE_2, BH_ROLE_1D, BH_ROLE_1};

	for (size_t r = 0; r < BH_ARRAY_SIZE(order); r++) {
		for (uint64_t k = 0; k < demand->n[order[r]]; k++) {
			uint32_t shape = (uint32_t) room->geo->by_role[order[r]];
			struct bh_room_place place;

			if (!put(room, shape, &place))
				return false;
			place.profile = next_loose(room, shape, /* media= */ false);
			if (place.profile != SIZE_MAX)
				places[(*n)++] = place;
		}
	}
	return true;
}

bool bh_room_fits(const struct bh_room *room, size_t profile, uint32_t count,
		struct bh_room_place *ret_places, size_t *ret_n)
{
	struct search s;
	struct bh_room rest;
	size_t n = 0;

	begin(&s, room, profile, count);
	if (has_options(&s))
		choose(&s, 0);
	if (!s.found || !ret_places)
		return s.found;
	rest = *room;
	put_media(&s, &rest, ret_places, &n);
	if (!put_plain(&rest, &s.demand, ret_places, &n))
		return false;
	*ret_n = n;
	return true;
}
