/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fit_place.h"
#include "plan/fit_reason.h"
#include "plan/role.h"
#include "plan/want.h"

/* Of each part of an explanation. */
#define PART_BUDGET (BH_SOLVE_BUDGET / 4)

/* One question while it is answered. */
struct question {
	const struct bh_occupancy *rooms;
	size_t n_rooms;
	struct bh_ask asks[BH_ASKS_MAX]; /* widest first, then by name */
	size_t n_asks;
	struct bh_geometry geo;
	bool is_known;	/* the closed form knows the boards and their places */
	bool is_closed; /* and all that is asked for: no media extensions */
	uint32_t budget;
};

static const struct bh_gi_profile *profile_of(const struct question *q, const char *name)
{
	for (size_t r = 0; r < q->n_rooms; r++) {
		size_t p;

		if (bh_gpu_profile_named(q->rooms[r].gpu, name, &p))
			return &q->rooms[r].gpu->profiles[p];
	}
	return NULL;
}

static uint32_t width_of(const struct bh_gi_profile *profile)
{
	return profile->n_placements ? profile->placements[0].size : 0;
}

static bool stands_before(const struct question *q, const struct bh_ask *a, const struct bh_ask *b)
{
	const struct bh_gi_profile *x = profile_of(q, a->profile), *y = profile_of(q, b->profile);

	if (width_of(x) != width_of(y))
		return width_of(x) > width_of(y);
	if (x->n_placements != y->n_placements)
		return x->n_placements < y->n_placements;
	return strcmp(a->profile, b->profile) < 0;
}

static int not_offered(const struct question *q, const char *name, struct bh_error *err)
{
	const struct bh_want_row row = {.count = 1};
	struct bh_want_row named = row;
	struct bh_gpu_want want;

	/* the first board's refusal says what it offers, what is nearest, and who has the profile */
	(void) snprintf(named.gi_name, sizeof(named.gi_name), "%s", name);
	return bh_want_fill(q->rooms[0].gpu, &named, 1, &want, err) < 0 ? -1 : 0;
}

/* Could a board's own limit forbid what its places allow? The closed form looks at places alone. */
static bool limit_binds(const struct question *q, const char *name)
{
	size_t p = 0;

	return !bh_gpu_profile_named(q->rooms[0].gpu, name, &p) || q->geo.shape_of[p] < 0 ||
	       q->rooms[0].gpu->profiles[p].max_instances <
			       bh_geometry_most(&q->geo, 0, (uint32_t) q->geo.shape_of[p]);
}

/* One kind of board that is known, and nothing with all media engines on it or asked for. */
static bool find_known(struct question *q)
{
	if (bh_geometry_init(q->rooms[0].gpu, &q->geo, NULL) < 0 ||
			q->geo.kind == BH_GEOMETRY_OTHER)
		return false;
	for (size_t r = 0; r < q->n_rooms; r++) {
		if (!bh_gpu_offers_same(q->rooms[r].gpu, q->rooms[0].gpu) || q->rooms[r].media.all)
			return false;
	}
	for (size_t i = 0; i < q->n_asks; i++) {
		enum bh_media media = bh_media_of(profile_of(q, q->asks[i].profile));

		if (media == BH_MEDIA_ALL ||
				(media != BH_MEDIA_SOME && limit_binds(q, q->asks[i].profile)))
			return false;
	}
	return true;
}

static int set_up(struct question *q, const struct bh_fit_question *asked, struct bh_error *err)
{
	*q = (struct question){.rooms = asked->rooms, .n_rooms = asked->n_rooms};
	for (size_t i = 0; i < asked->n_asks; i++) {
		const struct bh_ask *ask = &asked->asks[i];
		size_t k = q->n_asks;

		if (!profile_of(q, ask->profile))
			return not_offered(q, ask->profile, err);
		for (; k > 0 && stands_before(q, ask, &q->asks[k - 1]); k--)
			q->asks[k] = q->asks[k - 1];
		q->asks[k] = *ask;
		q->n_asks++;
	}
	q->is_known = q->is_closed = find_known(q);
	for (size_t i = 0; i < q->n_asks; i++)
		q->is_closed = q->is_closed &&
			       !bh_media_is_extended(profile_of(q, q->asks[i].profile));
	return 0;
}

static struct bh_demand demand_of(
		const struct question *q, const struct bh_ask *asks, size_t n_asks)
{
	return bh_fit_demand(&q->geo, &q->rooms[0], asks, n_asks);
}

static struct bh_fleet fleet_of(const struct question *q, const struct bh_occupancy *rooms)
{
	struct bh_fleet fleet = {0};

	for (size_t r = 0; r < q->n_rooms; r++)
		bh_fleet_add(&fleet, q->geo.kind, bh_fit_mask(&q->geo, &rooms[r]), 1);
	return fleet;
}

/* Does that wish fit there? 1, 0, or negative where the search had to be given up. */
static int fits(struct question *q, const struct bh_occupancy *rooms, const struct bh_ask *asks,
		size_t n_asks, struct bh_error *err)
{
	int r;

	if (q->is_known) {
		struct bh_fleet fleet = fleet_of(q, rooms);
		struct bh_demand demand = demand_of(q, asks, n_asks);
		bool by_places = bh_fleet_fits(&fleet, q->geo.kind, &demand, NULL);

		if (q->is_closed || !by_places)
			return by_places;
		r = bh_fit_place(&q->geo, rooms, q->n_rooms, asks, n_asks, BH_ONLINE_PACK, NULL,
				err);
		if (r <= 0)
			return r < 0 ? -1 : 1;
	}
	r = bh_solve(rooms, q->n_rooms, asks, n_asks, &q->budget, NULL, err);
	return r < 0 ? -1 : r == 0;
}

/* The largest count of the k-th of those asks with which all of them fit; negative: given up. */
static int64_t most_of(struct question *q, const struct bh_ask *asks, size_t n_asks, size_t k,
		struct bh_error *err)
{
	struct bh_ask with[BH_ASKS_MAX];
	uint32_t low = 0, high = asks[k].count;

	memcpy(with, asks, n_asks * sizeof(*asks));
	while (low < high) {
		uint32_t middle = high - (high - low) / 2;
		int r;

		with[k].count = middle;
		r = fits(q, q->rooms, with, n_asks, err);
		if (r < 0)
			return -1;
		if (r)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The first ask, widest first, that does not fit beside those before it. */
static int certify(struct question *q, struct bh_fit *fit, struct bh_error *err)
{
	struct bh_reason reason = {.rooms = q->rooms, .n_rooms = q->n_rooms, .asks = q->asks};

	for (size_t k = 0; k < q->n_asks; k++) {
		int64_t most = most_of(q, q->asks, k + 1, k, err);

		if (most < 0)
			return -1;
		reason.failing = k;
		reason.found = (uint64_t) most;
		if (reason.found < q->asks[k].count)
			break;
	}
	if (q->is_closed) {
		struct bh_fleet fleet = fleet_of(q, q->rooms);
		struct bh_demand demand = demand_of(q, q->asks, q->n_asks);

		reason.has_shortage =
				!bh_fleet_fits(&fleet, q->geo.kind, &demand, &reason.shortage);
	}
	bh_reason_write(&reason, &fit->certificate);
	return 0;
}

static void add_alternative(
		struct bh_fit *fit, const struct bh_ask *asks, size_t n_asks, const char *note)
{
	struct bh_alternative *alt = &fit->alternatives[fit->n_alternatives];
	size_t used = 0;

	if (fit->n_alternatives == BH_ALTERNATIVES_MAX)
		return;
	*alt = (struct bh_alternative){.n_asks = 0};
	for (size_t i = 0; i < n_asks; i++) {
		if (asks[i].count == 0)
			continue;
		alt->asks[alt->n_asks++] = asks[i];
		if (used < sizeof(alt->text))
			used += (size_t) snprintf(alt->text + used, sizeof(alt->text) - used,
					"%s%s=%u", used ? " " : "", asks[i].profile, asks[i].count);
	}
	if (alt->n_asks == 0)
		return;
	if (used < sizeof(alt->text))
		(void) snprintf(alt->text + used, sizeof(alt->text) - used, " (%s)", note);
	fit->n_alternatives++;
}

/* Fewer of one profile, all else as asked. */
static int find_fewer(struct question *q, struct bh_fit *fit, struct bh_error *err)
{
	for (size_t k = 0; k < q->n_asks; k++) {
		struct bh_ask with[BH_ASKS_MAX];
		int64_t most;
		int r;

		memcpy(with, q->asks, q->n_asks * sizeof(*with));
		with[k].count = 0;
		r = fits(q, q->rooms, with, q->n_asks, err);
		if (r < 0)
			return -1;
		if (!r)
			continue;
		most = most_of(q, q->asks, q->n_asks, k, err);
		if (most < 0)
			return -1;
		with[k].count = (uint32_t) most;
		add_alternative(fit, with, q->n_asks, most ? "fewer of one" : "one left out");
	}
	return 0;
}

/* The first board that offers it. */
static const struct bh_gpu *board_of(const struct question *q, const char *name)
{
	size_t r = 0, p;

	while (r + 1 < q->n_rooms && !bh_gpu_profile_named(q->rooms[r].gpu, name, &p))
		r++;
	return q->rooms[r].gpu;
}

static bool is_larger(const struct bh_gi_profile *a, const struct bh_gi_profile *b)
{
	if (width_of(a) != width_of(b))
		return width_of(a) > width_of(b);
	return a->slice_count > b->slice_count;
}

/* The largest narrower profile of the same attributes in the place of one that does not fit. */
static int find_smaller(struct question *q, struct bh_fit *fit, struct bh_error *err)
{
	for (size_t k = 0; k < q->n_asks; k++) {
		const struct bh_gi_profile *wide = profile_of(q, q->asks[k].profile);
		const char *attributes = strpbrk(wide->name, "+-");
		const struct bh_gi_profile *best = NULL;
		const struct bh_gpu *gpu = board_of(q, q->asks[k].profile);

		for (size_t p = 0; p < gpu->n_profiles; p++) {
			const struct bh_gi_profile *narrow = &gpu->profiles[p];
			const char *own = strpbrk(narrow->name, "+-");
			struct bh_ask with[BH_ASKS_MAX];
			bool asked = false;
			int r;

			for (size_t i = 0; i < q->n_asks; i++)
				asked = asked || strcmp(q->asks[i].profile, narrow->name) == 0;
			if (asked || width_of(narrow) >= width_of(wide) || width_of(narrow) == 0 ||
					strcmp(own ? own : "", attributes ? attributes : "") != 0 ||
					(best && !is_larger(narrow, best)))
				continue;
			memcpy(with, q->asks, q->n_asks * sizeof(*with));
			with[k].profile = narrow->name;
			r = fits(q, q->rooms, with, q->n_asks, err);
			if (r < 0)
				return -1;
			if (r)
				best = narrow;
		}
		if (best) {
			struct bh_ask with[BH_ASKS_MAX];

			memcpy(with, q->asks, q->n_asks * sizeof(*with));
			with[k].profile = best->name;
			add_alternative(fit, with, q->n_asks, "a smaller profile for one");
		}
	}
	return 0;
}

/* Does it fit with this instance on that GPU? Tries its places there. */
static int try_room(struct question *q, struct bh_occupancy *rooms, const struct bh_gi *gi,
		const char *profile, size_t to, struct bh_placement *ret_at, struct bh_error *err)
{
	const struct bh_gi_profile *own;
	size_t p;

	if (!bh_gpu_profile_named(rooms[to].gpu, profile, &p))
		return 0;
	own = &rooms[to].gpu->profiles[p];
	for (size_t k = 0; k < own->n_placements; k++) {
		const struct bh_placement *at = &own->placements[k];
		int r;

		if (!bh_occupancy_allows(&rooms[to], p, at))
			continue;
		bh_occupancy_add(&rooms[to], p, at);
		r = fits(q, rooms, q->asks, q->n_asks, err);
		bh_occupancy_remove(&rooms[to], p, at);
		if (r == 0)
			continue;
		*ret_at = *at;
		return r;
	}
	return 0;
}

/* Is there a move of this instance after which the wish fits? The same GPU comes first. */
static int try_move(struct question *q, struct bh_occupancy *rooms, size_t from, size_t g,
		struct bh_fit *fit, struct bh_error *err)
{
	const struct bh_gpu *gpu = rooms[from].gpu;
	const struct bh_gi *gi = &gpu->gis[g];
	size_t p = 0;
	int r = 0;

	while (p < gpu->n_profiles && gpu->profiles[p].id != gi->profile_id)
		p++;
	if (p == gpu->n_profiles || !bh_gi_can_move(gpu, gi))
		return 0;
	bh_occupancy_remove(&rooms[from], p, &gi->at);
	for (size_t i = 0; i < q->n_rooms && r == 0; i++) {
		size_t to = i == 0 ? from : i <= from ? i - 1 : i;

		fit->move = (struct bh_fit_move){.from = from, .gi = g, .to = to};
		r = try_room(q, rooms, gi, gpu->profiles[p].name, to, &fit->move.at, err);
	}
	bh_occupancy_add(&rooms[from], p, &gi->at);
	return r;
}

/* The narrowest idle instance first: the least that is disturbed. */
static void find_move(struct question *q, struct bh_fit *fit)
{
	struct bh_occupancy rooms[BH_NODE_GPUS_MAX];

	memcpy(rooms, q->rooms, q->n_rooms * sizeof(*rooms));
	for (uint32_t width = 1; width <= BH_UNITS_MAX; width++) {
		for (size_t from = 0; from < q->n_rooms; from++) {
			for (size_t g = 0; g < rooms[from].gpu->n_gis; g++) {
				int r;

				if (rooms[from].gpu->gis[g].at.size != width)
					continue;
				r = try_move(q, rooms, from, g, fit, NULL);
				fit->move_unknown = r < 0;
				fit->has_move = r > 0;
				if (r != 0)
					return;
			}
		}
	}
}

/* With that many empty cards like the GPU of a room beside what is there; negative: given up. */
static int fits_with_cards(struct question *q, size_t like, uint64_t cards)
{
	struct bh_occupancy rooms[BH_NODE_GPUS_MAX];
	size_t n = q->n_rooms + (size_t) cards;
	int r;

	memcpy(rooms, q->rooms, q->n_rooms * sizeof(*rooms));
	for (size_t i = q->n_rooms; i < n; i++)
		bh_occupancy_init_empty(&rooms[i], q->rooms[like].gpu);
	q->budget = PART_BUDGET;
	r = bh_solve(rooms, n, q->asks, q->n_asks, &q->budget, NULL, NULL);
	return r < 0 ? -1 : r == 0;
}

/* The fewest cards more, of whichever of the boards needs the fewest; the first of equals. */
static void find_cards(struct question *q, struct bh_fit *fit)
{
	if (q->is_closed) {
		struct bh_fleet fleet = fleet_of(q, q->rooms);
		struct bh_demand demand = demand_of(q, q->asks, q->n_asks);

		fit->gpus_needed =
				q->n_rooms + bh_fleet_cards_missing(&fleet, q->geo.kind, &demand);
		return;
	}
	for (uint64_t cards = 1; q->n_rooms + cards <= BH_NODE_GPUS_MAX; cards++) {
		for (size_t r = 0; r < q->n_rooms; r++) {
			bool seen = false;
			int found;

			for (size_t i = 0; i < r; i++)
				seen = seen || bh_gpu_offers_same(q->rooms[i].gpu, q->rooms[r].gpu);
			if (seen)
				continue;
			found = fits_with_cards(q, r, cards);
			if (found == 0)
				continue;
			fit->card_like = r;
			fit->gpus_needed = found > 0 ? q->n_rooms + cards : 0;
			return;
		}
	}
}

/* By the policy where the closed form knows the boards and that works out, else by the search. */
static int place(struct question *q, enum bh_online_policy policy, struct bh_fit *fit,
		struct bh_error *err)
{
	int r = BH_FIT_PLACE_ASTRAY;

	q->budget = BH_SOLVE_BUDGET;
	if (q->is_closed && !fits(q, q->rooms, q->asks, q->n_asks, err))
		return 0;
	if (q->is_known)
		r = bh_fit_place(&q->geo, q->rooms, q->n_rooms, q->asks, q->n_asks, policy,
				&fit->solution, err);
	fit->by_policy = r == 0 && q->is_closed;
	if (r == BH_FIT_PLACE_ASTRAY)
		r = bh_solve(q->rooms, q->n_rooms, q->asks, q->n_asks, &q->budget, &fit->solution,
				err);
	fit->fits = r == 0;
	return r < 0 ? -1 : 0;
}

static void undecided(struct bh_certificate *ret)
{
	*ret = (struct bh_certificate){.rule = "undecided"};
	(void) snprintf(ret->text, sizeof(ret->text),
			"it does not fit; which condition fails could not be found out in the time "
			"that a question may take");
}

/* That it does not fit is proven; each thing beyond that has a time of its own, or stays open. */
static int explain(struct question *q, bool only_these, struct bh_fit *fit, struct bh_error *err)
{
	struct bh_error late = {0};

	q->budget = PART_BUDGET;
	if (certify(q, fit, &late) < 0)
		undecided(&fit->certificate);
	q->budget = PART_BUDGET;
	if (late.code != BH_E_NO_MEMORY)
		(void) find_fewer(q, fit, &late);
	q->budget = PART_BUDGET;
	if (late.code != BH_E_NO_MEMORY && !only_these)
		(void) find_smaller(q, fit, &late);
	if (late.code == BH_E_NO_MEMORY)
		return bh_fail_memory(err);
	q->budget = PART_BUDGET;
	find_move(q, fit);
	find_cards(q, fit);
	return 0;
}

int bh_fit_find(const struct bh_fit_question *question, struct bh_fit *ret_fit,
		struct bh_error *err)
{
	bh_auto_free struct question *q = malloc(sizeof(*q));
	struct bh_fit fit = {0};

	if (!q)
		return bh_fail_memory(err);
	if (set_up(q, question, err) < 0 || place(q, question->policy, &fit, err) < 0)
		return -1;
	if (fit.fits)
		fit.gpus_needed = q->n_rooms;
	else if (explain(q, question->only_these, &fit, err) < 0)
		return -1;
	*ret_fit = fit;
	return 0;
}

void bh_fit_free(struct bh_fit *fit)
{
	bh_solution_free(&fit->solution);
}
