/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/placer.h"

#include <stdio.h>
#include <string.h>

#include "plan/media.h"
#include "plan/step.h"
#include "plan/want.h"

/*
 * The number of wanted and of present instances is given, so every one that is not kept costs two
 * operations, one to destroy and one to create; changes inside one that is kept cost 1 each.
 */
#define CREATE_COST 2000U

/* A wanted profile, and what it and those after it need at least. */
struct wanted {
	size_t profile;
	uint64_t masks[BH_PLACEMENTS_MAX];  /* of its placements; 0: not on the board */
	uint8_t idle_at[BH_PLACEMENTS_MAX]; /* the instance that could stay there, or BH_GIS_MAX */
	uint32_t idle;			    /* instances of it that could stay */
	uint32_t width;			    /* of its narrowest placement */
	uint32_t rest_creates, rest_units;  /* of those after it */
};

struct search {
	const struct bh_place_problem *problem;
	struct wanted order[BH_GI_PROFILES_MAX]; /* widest placement first */
	size_t n_order;
	uint8_t chosen[BH_GIS_MAX][2]; /* index into the order, and of the placement */
	size_t n_chosen;
	uint64_t all[BH_GI_PROFILES_MAX * BH_PLACEMENTS_MAX]; /* masks of all placements */
	size_t n_all;
	uint64_t board; /* units that any placement covers */
	uint64_t occupied;
	uint32_t cost;
	uint32_t *budget;

	bool found;
	uint32_t best_cost, best_open;
	struct bh_place_solution best;
};

bool bh_place_media_rules_hold(const struct bh_place_problem *problem)
{
	const struct bh_gpu *gpu = problem->gpu;
	struct bh_media_counts counts = {0};

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		uint32_t count = problem->counts[i];

		for (size_t g = 0; g < gpu->n_gis; g++)
			count += problem->roles[g] == BH_GI_ALIEN &&
				 gpu->gis[g].profile_id == gpu->profiles[i].id;
		if (count)
			bh_media_count(&counts, &gpu->profiles[i], count);
	}
	return bh_media_hold(&counts);
}

/* The driver's limits: instances of one board, and of each profile. */
static bool maxima_hold(const struct bh_place_problem *problem)
{
	const struct bh_gpu *gpu = problem->gpu;
	uint64_t all = 0;

	for (size_t g = 0; g < gpu->n_gis; g++)
		all += problem->roles[g] == BH_GI_ALIEN;
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		uint64_t count = problem->counts[i];

		if (count == 0)
			continue;
		all += count;
		for (size_t g = 0; g < gpu->n_gis; g++)
			count += problem->roles[g] == BH_GI_ALIEN &&
				 gpu->gis[g].profile_id == gpu->profiles[i].id;
		if (count > gpu->profiles[i].max_instances)
			return false;
	}
	return all <= BH_GIS_MAX;
}

/* The idle instance that is exactly this, if there is one: keeping it costs no operation. */
static uint8_t find_idle(const struct bh_place_problem *problem, size_t profile,
		const struct bh_placement *at)
{
	const struct bh_gpu *gpu = problem->gpu;
	uint8_t g;

	for (g = 0; g < gpu->n_gis; g++) {
		if (problem->roles[g] == BH_GI_IDLE && gpu->gis[g].at.start == at->start &&
				gpu->gis[g].at.size == at->size &&
				gpu->gis[g].profile_id == gpu->profiles[profile].id)
			return g;
	}
	return BH_GIS_MAX;
}

static uint32_t count_open(const struct search *s)
{
	uint32_t open = 0;

	for (size_t i = 0; i < s->n_all; i++)
		open += !(s->occupied & s->all[i]);
	return open;
}

static void consider(struct search *s)
{
	const struct bh_place_problem *problem = s->problem;
	uint32_t open = count_open(s);

	if (s->found && (s->cost > s->best_cost ||
					(s->cost == s->best_cost && open <= s->best_open)))
		return;
	s->found = true;
	s->best_cost = s->cost;
	s->best_open = open;
	memset(&s->best, 0, sizeof(s->best));
	s->best.occupied = s->occupied;
	for (size_t g = 0; g < problem->gpu->n_gis; g++)
		s->best.keep[g] = problem->roles[g] != BH_GI_IDLE;
	for (size_t i = 0; i < s->n_chosen; i++) {
		const struct wanted *wanted = &s->order[s->chosen[i][0]];
		size_t j = s->chosen[i][1];

		if (wanted->idle_at[j] < BH_GIS_MAX)
			s->best.keep[wanted->idle_at[j]] = true;
		else
			s->best.creates[s->best.n_creates++] = (struct bh_placed_gi){
					wanted->profile,
					problem->gpu->profiles[wanted->profile].placements[j]};
	}
}

/* What a mask can't hold is no placement of any board that is known. */
static bool is_on_board(const struct bh_placement *at)
{
	return at->size > 0 && at->size <= BH_UNITS_MAX && at->start <= BH_UNITS_MAX - at->size;
}

static uint32_t creates_needed(const struct wanted *wanted, uint32_t left)
{
	return left > wanted->idle ? left - wanted->idle : 0;
}

/* Nothing better can come of what is placed: no room, more cost, or as much and no more open. */
static bool is_hopeless(const struct search *s, const struct wanted *wanted, uint32_t left)
{
	uint32_t units = wanted->rest_units + left * wanted->width;
	uint32_t least = s->cost +
			 CREATE_COST * (wanted->rest_creates + creates_needed(wanted, left));

	if (units > (uint32_t) __builtin_popcountll(s->board & ~s->occupied))
		return true;
	if (!s->found || least < s->best_cost)
		return false;
	return least > s->best_cost || count_open(s) <= s->best_open;
}

/* Places the rest of the k-th wanted profile from its placement @from on, then the others. */
static void place_rest(struct search *s, size_t k, uint32_t left, size_t from)
{
	const struct wanted *wanted = &s->order[k];
	const struct bh_gi_profile *profile = &s->problem->gpu->profiles[wanted->profile];

	if (*s->budget == 0 || --*s->budget == 0 || is_hopeless(s, wanted, left))
		return;
	if (left == 0) {
		if (k + 1 >= s->n_order)
			consider(s);
		else
			place_rest(s, k + 1, s->problem->counts[wanted[1].profile], 0);
		return;
	}
	for (size_t j = from; j < profile->n_placements && s->n_chosen < BH_GIS_MAX; j++) {
		uint64_t mask = wanted->masks[j];
		uint32_t cost = s->cost;
		uint8_t g = wanted->idle_at[j];

		if (mask == 0 || s->occupied & mask)
			continue;
		s->cost += g < BH_GIS_MAX ? s->problem->keep_cost[g] : CREATE_COST;
		s->occupied |= mask;
		s->chosen[s->n_chosen][0] = (uint8_t) k;
		s->chosen[s->n_chosen++][1] = (uint8_t) j;
		place_rest(s, k, left - 1, j + 1);
		s->n_chosen--;
		s->occupied &= ~mask;
		s->cost = cost;
	}
}

static uint32_t width(const struct bh_gi_profile *profile)
{
	return profile->n_placements ? profile->placements[0].size : 0;
}

static void describe_wanted(const struct bh_place_problem *problem, struct wanted *wanted)
{
	const struct bh_gpu *gpu = problem->gpu;
	const struct bh_gi_profile *profile = &gpu->profiles[wanted->profile];

	wanted->width = BH_UNITS_MAX;
	wanted->idle = wanted->rest_creates = wanted->rest_units = 0;
	for (size_t k = 0; k < profile->n_placements; k++) {
		const struct bh_placement *at = &profile->placements[k];

		if (at->size < wanted->width)
			wanted->width = at->size;
		wanted->masks[k] = is_on_board(at) ? bh_placement_mask(at) : 0;
		wanted->idle_at[k] = find_idle(problem, wanted->profile, at);
	}
	for (size_t g = 0; g < gpu->n_gis; g++)
		wanted->idle += problem->roles[g] == BH_GI_IDLE &&
				gpu->gis[g].profile_id == profile->id;
}

static void order_profiles(struct search *s)
{
	const struct bh_place_problem *problem = s->problem;
	const struct bh_gpu *gpu = problem->gpu;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		size_t k = s->n_order;

		for (size_t j = 0; j < gpu->profiles[i].n_placements; j++) {
			uint64_t mask = bh_placement_mask(&gpu->profiles[i].placements[j]);

			s->all[s->n_all++] = mask;
			if (is_on_board(&gpu->profiles[i].placements[j]))
				s->board |= mask;
		}
		if (problem->counts[i] == 0)
			continue;
		s->n_order++;
		for (; k > 0 && width(&gpu->profiles[s->order[k - 1].profile]) <
						width(&gpu->profiles[i]);
				k--)
			s->order[k] = s->order[k - 1];
		s->order[k].profile = i;
		describe_wanted(problem, &s->order[k]);
	}
	for (size_t k = s->n_order; k > 1; k--) {
		const struct wanted *next = &s->order[k - 1];
		uint32_t count = problem->counts[next->profile];

		s->order[k - 2].rest_creates = next->rest_creates + creates_needed(next, count);
		s->order[k - 2].rest_units = next->rest_units + count * next->width;
	}
}

int bh_place_give_up(const struct bh_gpu *gpu, struct bh_error *err)
{
	char label[160];

	bh_gpu_label(gpu, label, sizeof(label));
	bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
			"%s: the board's table of placements is too large to be searched", label);
	if (err)
		(void) snprintf(err->gpu, sizeof(err->gpu), "%s", gpu->uuid);
	return -1;
}

/* Takes what is pinned off the list; false if it is not wanted. */
static bool take_pinned(struct bh_place_problem *rest, const struct bh_gi *gi)
{
	for (size_t i = 0; i < rest->gpu->n_profiles; i++) {
		if (rest->gpu->profiles[i].id == gi->profile_id && rest->counts[i] > 0) {
			rest->counts[i]--;
			return true;
		}
	}
	return false;
}

static void search_init(struct search *s, const struct bh_place_problem *problem, uint32_t *budget)
{
	s->problem = problem;
	s->n_order = s->n_chosen = s->n_all = 0;
	s->board = s->occupied = 0;
	s->cost = s->best_cost = s->best_open = 0;
	s->budget = budget;
	s->found = false;
}

int bh_place(const struct bh_place_problem *problem, struct bh_place_solution *ret_solution,
		struct bh_error *err)
{
	struct bh_place_problem rest = *problem;
	uint32_t budget = BH_PLACE_BUDGET;
	struct search s; /* its tables are large, and filled as far as they are read */

	search_init(&s, &rest, rest.budget ? rest.budget : &budget);
	if (!bh_place_media_rules_hold(problem) || !maxima_hold(problem))
		return BH_PLACE_NONE;
	for (size_t g = 0; g < rest.gpu->n_gis; g++) {
		if (rest.roles[g] == BH_GI_IDLE)
			continue;
		s.occupied |= bh_placement_mask(&rest.gpu->gis[g].at);
		if (rest.roles[g] == BH_GI_PINNED && !take_pinned(&rest, &rest.gpu->gis[g]))
			return BH_PLACE_NONE;
	}
	order_profiles(&s);
	if (s.n_order == 0)
		consider(&s);
	else
		place_rest(&s, 0, rest.counts[s.order[0].profile], 0);
	if (*s.budget == 0)
		return bh_place_give_up(problem->gpu, err);
	if (!s.found)
		return BH_PLACE_NONE;
	*ret_solution = s.best;
	return 0;
}

static uint32_t alignment(uint32_t size, bool free_starts)
{
	uint32_t step = 1;

	while (!free_starts && step < size)
		step *= 2;
	return step;
}

bool bh_slot_is_aligned(uint32_t start, uint32_t size)
{
	return start % alignment(size, /* free_starts= */ false) == 0;
}

/* Equal sizes go in rising order of start, so that no arrangement is tried twice. */
static bool place_slots(uint32_t total, uint64_t taken, const uint32_t *sizes, size_t n,
		uint32_t *starts, uint32_t from, bool free_starts)
{
	uint32_t step;

	if (n == 0)
		return true;
	step = alignment(sizes[0], free_starts);
	for (uint32_t start = (from + step - 1) / step * step; start + sizes[0] <= total;
			start += step) {
		uint64_t mask = bh_placement_mask(&(struct bh_placement){start, sizes[0]});

		if (taken & mask)
			continue;
		starts[0] = start;
		if (place_slots(total, taken | mask, sizes + 1, n - 1, starts + 1,
				    n > 1 && sizes[1] == sizes[0] ? start + sizes[0] : 0,
				    free_starts))
			return true;
	}
	return false;
}

bool bh_place_slots(
		uint32_t total, uint64_t taken, const uint32_t *sizes, size_t n, uint32_t *starts)
{
	const struct bh_placement whole = {0, total};
	uint64_t sum;

	if (total > BH_UNITS_MAX)
		return false;
	sum = (uint64_t) __builtin_popcountll(taken & bh_placement_mask(&whole));
	for (size_t i = 0; i < n; i++)
		sum += sizes[i];
	if (sum > total)
		return false;
	return place_slots(total, taken, sizes, n, starts, 0, /* free_starts= */ false) ||
	       place_slots(total, taken, sizes, n, starts, 0, /* free_starts= */ true);
}
