/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/repack.h"

#include <stdlib.h>
#include <string.h>

#include "plan/fleet.h"
#include "plan/media.h"
#include "plan/role.h"

#define SUBSETS_MAX (1U << BH_GIS_MAX)
#define MEDIA_COST  200U /* of the budget, for a set that the closed form alone does not judge */

/* An idle instance of ours. */
struct item {
	size_t bin, gpu, gi, profile;
	uint32_t shape;
	uint64_t mask;
	bool lifted; /* taken out, to be put anew */
};

/* A set of the idle instances of one GPU, as it matters to the closed form. */
struct option {
	uint32_t subset; /* of the GPU's items, from its first on */
	uint32_t n;
	struct bh_fleet delta; /* what the fleet gains when they are taken out */
	uint8_t plain[BH_ROLES], media[BH_ROLES];
};

struct bin {
	size_t gpu; /* index into the GPUs that were given */
	size_t first, n_items;
	struct option *options; /* borrowed from work; rising by n */
	size_t n_options;
	bool like_last; /* the same things stand there as on the bin before */
};

struct work {
	const struct bh_gpu *gpus;
	const struct bh_fragments_board *board;
	struct bh_room stay; /* everything where it stands */
	struct item items[BH_ROOM_INSTANCES_MAX];
	size_t n_items;
	struct bin bins[BH_NODE_GPUS_MAX];
	size_t chosen[BH_NODE_GPUS_MAX]; /* option of each bin */
	struct option *options;		 /* owned */
	size_t profile;
	uint32_t count, budget;
	struct bh_room_place places[BH_ROOM_INSTANCES_MAX];
	size_t n_places;
};

static void add_bin(struct work *w, size_t gpu)
{
	const struct bh_gpu *g = &w->gpus[gpu];
	struct bh_room_bin *bin = &w->stay.bins[w->stay.n_bins];

	bin->occupied = bh_geometry_occupied(&w->board->geo, g);
	w->bins[w->stay.n_bins] = (struct bin){.gpu = gpu, .first = w->n_items};
	for (size_t i = 0; i < g->n_gis; i++) {
		size_t profile = bh_fragments_profile(w->board, g->gis[i].profile_id);

		if (profile == SIZE_MAX)
			continue;
		bin->fixed[profile]++;
		if (!bh_gi_can_move(g, &g->gis[i]))
			continue;
		w->items[w->n_items++] = (struct item){.bin = w->stay.n_bins,
				.gpu = gpu,
				.gi = i,
				.profile = profile,
				.shape = (uint32_t) w->board->geo.shape_of[profile],
				.mask = bh_geometry_mask(&w->board->geo, &g->gis[i].at)};
	}
	w->bins[w->stay.n_bins].n_items = w->n_items - w->bins[w->stay.n_bins].first;
	w->stay.n_bins++;
}

static bool is_alike(const struct work *w, size_t gpu, size_t bin)
{
	const struct bh_gpu *a = &w->gpus[gpu], *b = &w->gpus[w->bins[bin].gpu];
	bool same = a->n_gis == b->n_gis;

	for (size_t i = 0; same && i < a->n_gis; i++)
		same = a->gis[i].profile_id == b->gis[i].profile_id &&
		       a->gis[i].at.start == b->gis[i].at.start &&
		       a->gis[i].at.size == b->gis[i].at.size &&
		       bh_gi_can_move(a, &a->gis[i]) == bh_gi_can_move(b, &b->gis[i]);
	return same;
}

/* GPUs on which the same things stand come behind each other. */
static void add_bins(struct work *w)
{
	const struct bh_fragments_board *board = w->board;
	bool added[BH_NODE_GPUS_MAX] = {0};

	for (size_t i = 0; i < board->n_gpus; i++) {
		size_t like;

		if (!board->gpus[i].counted || added[i])
			continue;
		like = w->stay.n_bins;
		for (size_t k = i; k < board->n_gpus; k++) {
			if (!board->gpus[k].counted || added[k] ||
					(k > i && !is_alike(w, board->gpus[k].gpu, like)))
				continue;
			add_bin(w, board->gpus[k].gpu);
			added[k] = true;
			w->bins[w->stay.n_bins - 1].like_last = k > i;
		}
	}
}

/* The room when the lifted ones are taken out. */
static struct bh_room room_of(const struct work *w)
{
	struct bh_room room = w->stay;

	for (size_t i = 0; i < w->n_items; i++) {
		const struct item *item = &w->items[i];

		if (!item->lifted)
			continue;
		room.bins[item->bin].occupied &= ~item->mask;
		room.bins[item->bin].fixed[item->profile]--;
		room.loose[item->profile]++;
	}
	return room;
}

static bool lifted_fit(struct work *w)
{
	struct bh_room room = room_of(w);

	return bh_room_fits(&room, w->profile, w->count, w->places, &w->n_places);
}

static size_t count_lifted(const struct work *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_items; i++)
		n += w->items[i].lifted;
	return n;
}

/*
 * Takes everything out and puts back what can stay, in three orders; the best of them stays lifted.
 * False: it does not even fit with everything taken out.
 */
static bool lift_enough(struct work *w)
{
	bool best[BH_ROOM_INSTANCES_MAX] = {0};
	size_t least = SIZE_MAX;

	for (int order = 0; order < 3; order++) {
		for (size_t i = 0; i < w->n_items; i++)
			w->items[i].lifted = true;
		if (order == 0 && !lifted_fit(w))
			return false;
		for (uint32_t pass = 0; pass <= BH_GIS_MAX; pass++) {
			for (size_t k = 0; k < w->n_items; k++) {
				size_t i = order == 1 ? w->n_items - 1 - k : k;
				size_t there = w->bins[w->items[i].bin].n_items;

				/* the last order: first what shares its GPU with most others */
				if (order == 2 ? there != BH_GIS_MAX - pass : pass > 0)
					continue;
				w->items[i].lifted = false;
				w->items[i].lifted = !lifted_fit(w);
			}
		}
		if (count_lifted(w) >= least)
			continue;
		least = count_lifted(w);
		for (size_t i = 0; i < w->n_items; i++)
			best[i] = w->items[i].lifted;
	}
	for (size_t i = 0; i < w->n_items; i++)
		w->items[i].lifted = best[i];
	return true;
}

static struct option option_of(const struct work *w, const struct bin *bin, uint32_t subset)
{
	const struct bh_geometry *geo = &w->board->geo;
	struct option option = {.subset = subset};
	uint64_t before = w->stay.bins[bin - w->bins].occupied, after = before;

	for (uint32_t i = 0; i < bin->n_items; i++) {
		const struct item *item = &w->items[bin->first + i];
		bool media = bh_media_is_extended(&w->board->board->profiles[item->profile]);

		if (!(subset >> i & 1))
			continue;
		option.n++;
		after &= ~item->mask;
		(media ? option.media : option.plain)[geo->shapes[item->shape].role]++;
	}
	bh_fleet_add(&option.delta, geo->kind, before, -1);
	bh_fleet_add(&option.delta, geo->kind, after, 1);
	return option;
}

static bool is_equal(const struct option *a, const struct option *b)
{
	return memcmp(&a->delta, &b->delta, sizeof(a->delta)) == 0 &&
	       memcmp(a->plain, b->plain, sizeof(a->plain)) == 0 &&
	       memcmp(a->media, b->media, sizeof(a->media)) == 0;
}

/* Of sets that make the same difference one is enough. */
static void list_options(struct work *w)
{
	for (size_t b = 0; b < w->stay.n_bins; b++) {
		struct bin *bin = &w->bins[b];

		bin->options = w->options + b * SUBSETS_MAX;
		for (uint32_t n = 0; n <= bin->n_items; n++) {
			for (uint32_t subset = 0; subset < 1U << bin->n_items; subset++) {
				struct option option;
				size_t o = 0;

				if ((uint32_t) __builtin_popcount(subset) != n)
					continue;
				option = option_of(w, bin, subset);
				while (o < bin->n_options && !is_equal(&bin->options[o], &option))
					o++;
				bin->options[o] = option;
				bin->n_options += o == bin->n_options;
			}
		}
	}
}

static void lift_chosen(struct work *w)
{
	for (size_t b = 0; b < w->stay.n_bins; b++) {
		const struct bin *bin = &w->bins[b];

		for (uint32_t i = 0; i < bin->n_items; i++)
			w->items[bin->first + i].lifted =
					bin->options[w->chosen[b]].subset >> i & 1;
	}
}

/* Does it fit with the chosen sets taken out; the closed form alone where no media are about. */
static bool judge(struct work *w, const struct bh_fleet *fleet, const struct bh_demand *demand,
		bool media)
{
	if (!media)
		return bh_fleet_fits(fleet, w->board->geo.kind, demand, NULL);
	w->budget -= w->budget < MEDIA_COST ? w->budget : MEDIA_COST;
	lift_chosen(w);
	return lifted_fit(w);
}

/* Tries all sets with @left more instances from bin @b on. */
static bool try_bins(struct work *w, size_t b, size_t left, struct bh_fleet fleet,
		const struct bh_demand *demand, bool media)
{
	const struct bin *bin = &w->bins[b];
	size_t last = SIZE_MAX;

	if (w->budget == 0)
		return false;
	w->budget--;
	if (left == 0) {
		for (; b < w->stay.n_bins; b++)
			w->chosen[b] = 0;
		return judge(w, &fleet, demand, media);
	}
	if (b == w->stay.n_bins || w->n_items - bin->first < left)
		return false;
	if (bin->like_last)
		last = w->chosen[b - 1];
	for (size_t o = 0; o < bin->n_options && o <= last && bin->options[o].n <= left; o++) {
		const struct option *option = &bin->options[o];
		struct bh_fleet f = fleet;
		struct bh_demand d = *demand;
		bool with_media = media;

		f.wholes += option->delta.wholes;
		f.lefts += option->delta.lefts;
		f.rights += option->delta.rights;
		f.pairs += option->delta.pairs;
		f.lasts += option->delta.lasts;
		f.singles += option->delta.singles;
		for (int r = 0; r < BH_ROLES; r++) {
			d.n[r] += option->plain[r];
			with_media = with_media || option->media[r];
		}
		w->chosen[b] = o;
		if (try_bins(w, b + 1, left - option->n, f, &d, with_media))
			return true;
	}
	return false;
}

/* Fewer moves than are lifted, one more at a time; false when the budget ended first. */
static bool lift_fewest(struct work *w)
{
	const struct bh_gi_profile *profile = &w->board->board->profiles[w->profile];
	enum bh_shape_role role = w->board->geo.shapes[w->board->geo.shape_of[w->profile]].role;
	bool media = bh_media_is_extended(profile), best[BH_ROOM_INSTANCES_MAX], found = false;
	struct bh_fleet fleet = {0};
	struct bh_demand demand = {0};
	size_t most = count_lifted(w);

	for (size_t i = 0; i < w->n_items; i++)
		best[i] = w->items[i].lifted;
	for (size_t b = 0; b < w->stay.n_bins; b++)
		bh_fleet_add(&fleet, w->board->geo.kind, w->stay.bins[b].occupied, 1);
	demand.n[role] = w->count;
	for (size_t n = 1; n < most && !found; n++) {
		found = try_bins(w, 0, n, fleet, &demand, media);
		if (!found && w->budget == 0)
			break;
	}
	if (found)
		lift_chosen(w);
	for (size_t i = 0; i < w->n_items && !found; i++)
		w->items[i].lifted = best[i];
	return found || w->budget > 0;
}

/* One GPU, of any kind: the layout that keeps most of what may move. False: there is none. */
static bool lift_by_layouts(struct work *w)
{
	const struct bh_geometry *geo = &w->board->geo;
	uint64_t pinned = w->stay.bins[0].occupied, kept_cells = 0, used;
	uint32_t wanted[BH_SHAPES_MAX] = {0}, base[BH_SHAPES_MAX] = {0};
	uint64_t cells[BH_GIS_MAX];
	const struct bh_layout *best = NULL;
	int kept = -1;

	for (uint32_t s = 1; s < geo->n_shapes; s++)
		base[s] = base[s - 1] + geo->shapes[s - 1].n_places;
	wanted[geo->shape_of[w->profile]] = w->count;
	for (size_t i = 0; i < w->n_items; i++) {
		uint32_t place = 0, shape = w->items[i].shape;

		while (place < geo->shapes[shape].n_places &&
				geo->shapes[shape].masks[place] != w->items[i].mask)
			place++;
		cells[i] = place < geo->shapes[shape].n_places
					   ? UINT64_C(1) << (base[shape] + place)
					   : 0;
		pinned &= ~w->items[i].mask;
		wanted[shape]++;
		kept_cells |= cells[i];
	}
	for (size_t l = 0; l < w->board->layouts.n; l++) {
		const struct bh_layout *layout = &w->board->layouts.items[l];
		int keeps = __builtin_popcountll(layout->cells & kept_cells);
		bool holds = !(layout->mask & pinned) && keeps > kept;

		for (uint32_t s = 0; holds && s < geo->n_shapes; s++)
			holds = layout->counts[s] >= wanted[s];
		if (holds) {
			best = layout;
			kept = keeps;
		}
	}
	if (!best)
		return false;
	kept_cells &= best->cells;
	for (size_t i = 0; i < w->n_items; i++)
		w->items[i].lifted = !(cells[i] & kept_cells);
	used = kept_cells;
	for (size_t i = 0; i < w->n_items; i++) {
		uint32_t shape = w->items[i].shape, place = 0;

		if (!w->items[i].lifted)
			continue;
		while (!((best->cells & ~used) >> (base[shape] + place) & 1))
			place++;
		used |= UINT64_C(1) << (base[shape] + place);
		w->places[w->n_places++] =
				(struct bh_room_place){w->items[i].profile, 0, shape, place};
	}
	return true;
}

static uint64_t mask_of(const struct work *w, const struct bh_room_place *place)
{
	return w->board->geo.shapes[place->shape].masks[place->place];
}

/* A lifted one and a place for it that is free now; rather on the same GPU. */
static bool next_move(const struct work *w, const struct bh_room *now, const bool *used,
		bool free_only, size_t *ret_item, size_t *ret_place)
{
	for (int same = 1; same >= 0; same--) {
		for (size_t i = 0; i < w->n_items; i++) {
			const struct item *item = &w->items[i];

			for (size_t p = 0; item->lifted && p < w->n_places; p++) {
				const struct bh_room_place *place = &w->places[p];
				uint64_t taken = now->bins[place->bin].occupied;

				if (place->bin == item->bin)
					taken &= ~item->mask;
				if (used[p] || place->profile != item->profile ||
						(same && place->bin != item->bin) ||
						(free_only && taken & mask_of(w, place)))
					continue;
				*ret_item = i;
				*ret_place = p;
				return true;
			}
		}
	}
	return false;
}

/* Those that would be put where they stand stay. */
static void leave_in_place(struct work *w, bool *used)
{
	for (size_t i = 0; i < w->n_items; i++) {
		for (size_t p = 0; w->items[i].lifted && p < w->n_places; p++) {
			if (used[p] || w->places[p].bin != w->items[i].bin ||
					w->places[p].profile != w->items[i].profile ||
					mask_of(w, &w->places[p]) != w->items[i].mask)
				continue;
			used[p] = true;
			w->items[i].lifted = false;
		}
	}
}

static uint32_t count_room(const struct work *w, const struct bh_room *room)
{
	struct bh_room one = *room;
	uint32_t sum = 0;

	one.n_bins = 1;
	memset(one.loose, 0, sizeof(one.loose));
	for (size_t b = 0; b < room->n_bins; b++) {
		uint32_t n;

		one.bins[0] = room->bins[b];
		n = bh_room_most(&one, w->profile);
		sum = n == BH_UNKNOWN || sum == BH_UNKNOWN ? BH_UNKNOWN : sum + n;
	}
	return sum;
}

static void list_moves(struct work *w, struct bh_repack *ret)
{
	struct bh_room now = w->stay, then;
	bool used[BH_ROOM_INSTANCES_MAX] = {0};
	size_t i, p;

	leave_in_place(w, used);
	then = room_of(w);
	ret->one_by_one = true;
	while (count_lifted(w) > 0) {
		struct item *item;
		struct bh_placement to;

		if (!next_move(w, &now, used, /* free_only= */ true, &i, &p)) {
			ret->one_by_one = false;
			if (!next_move(w, &now, used, /* free_only= */ false, &i, &p))
				return; /* not with as many places as lifted ones */
		}
		item = &w->items[i];
		to = bh_geometry_place(&w->board->geo, w->places[p].shape, w->places[p].place);
		used[p] = true;
		item->lifted = false;
		/* whether media engines and maxima allow each step is not followed here */
		if (bh_media_is_extended(&w->board->board->profiles[item->profile]) ||
				w->board->geo.kind == BH_GEOMETRY_OTHER)
			ret->one_by_one = false;
		now.bins[item->bin].occupied &= ~item->mask;
		now.bins[w->places[p].bin].occupied |= mask_of(w, &w->places[p]);
		then.bins[w->places[p].bin].occupied |= mask_of(w, &w->places[p]);
		then.bins[w->places[p].bin].fixed[item->profile]++;
		ret->moves[ret->n_moves++] = (struct bh_move){.from_gpu = item->gpu,
				.to_gpu = w->bins[w->places[p].bin].gpu,
				.gi = item->gi,
				.profile = item->profile,
				.from = w->gpus[item->gpu].gis[item->gi].at,
				.to = to};
	}
	ret->reached = count_room(w, &then);
}

/* Finds which to lift and where they go. */
static int search(struct work *w, struct bh_repack *ret, struct bh_error *err)
{
	if (w->stay.n_bins == 1) {
		ret->minimal = lift_by_layouts(w);
		ret->outcome = ret->minimal ? BH_REPACK_FOUND : BH_REPACK_UNKNOWN;
		return 0;
	}
	ret->outcome = BH_REPACK_UNKNOWN;
	if (!lift_enough(w))
		return 0;
	w->options = calloc(w->stay.n_bins * SUBSETS_MAX, sizeof(*w->options));
	if (!w->options)
		return bh_fail_memory(err);
	list_options(w);
	ret->minimal = lift_fewest(w);
	free(w->options);
	if (lifted_fit(w))
		ret->outcome = BH_REPACK_FOUND;
	return 0;
}

int bh_repack_find(const struct bh_gpu *gpus, const struct bh_fragments_board *board,
		size_t profile, uint32_t count, uint32_t budget, struct bh_repack *ret_repack,
		struct bh_error *err)
{
	const struct bh_fragments_count *counts = &board->profiles[profile];
	bh_auto_free struct work *w = NULL;

	memset(ret_repack, 0, sizeof(*ret_repack));
	ret_repack->now = counts->now;
	ret_repack->reachable = counts->after_idle;
	ret_repack->reached = BH_UNKNOWN;
	ret_repack->outcome = BH_REPACK_UNKNOWN;
	if (board->n_counted == 0 || counts->now == BH_UNKNOWN || counts->after_idle == BH_UNKNOWN)
		return 0;
	count = count ? count : counts->after_idle;
	ret_repack->outcome = count > counts->after_idle ? BH_REPACK_UNREACHABLE : BH_REPACK_FOUND;
	ret_repack->reached = counts->now;
	ret_repack->minimal = ret_repack->one_by_one = true;
	if (count > counts->after_idle || count <= counts->now)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return bh_fail_memory(err);
	w->gpus = gpus;
	w->board = board;
	w->profile = profile;
	w->count = count;
	w->budget = budget ? budget : BH_REPACK_BUDGET;
	w->stay.board = board->board;
	w->stay.geo = &board->geo;
	w->stay.layouts = board->layouts.items ? &board->layouts : NULL;
	add_bins(w);
	if (search(w, ret_repack, err) < 0)
		return -1;
	if (ret_repack->outcome == BH_REPACK_FOUND)
		list_moves(w, ret_repack);
	else
		ret_repack->reached = BH_UNKNOWN;
	return 0;
}
