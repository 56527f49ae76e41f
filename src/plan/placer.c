/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/placer.h"

#include <string.h>

#include "plan/step.h"

/* Far above what any known board needs (hundreds); an odd table must not hang the caller. */
#define SEARCH_NODES_MAX 2000000U

/*
 * The number of wanted and of present instances is given, so every one that is not kept costs two
 * operations, one to destroy and one to create; changes inside one that is kept cost 1 each.
 */
#define CREATE_COST	 2000U

struct search {
	const struct bh_place_problem *problem;
	size_t order[BH_GI_PROFILES_MAX]; /* wanted profiles, widest placement first */
	size_t n_order;
	struct bh_placed_gi chosen[BH_GIS_MAX];
	size_t n_chosen;
	uint64_t occupied;
	uint32_t cost;
	uint32_t nodes;

	bool found;
	uint32_t best_cost, best_open;
	struct bh_place_solution best;
};

static bool is_media(const char *name)
{
	return strstr(name, "+me") != NULL;
}

bool bh_place_media_rules_hold(const struct bh_place_problem *problem)
{
	const struct bh_gpu *gpu = problem->gpu;
	uint32_t media = 0, all_media = 0, plain = 0;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		uint32_t count = problem->counts[i];

		for (size_t g = 0; g < gpu->n_gis; g++)
			count += problem->roles[g] == BH_GI_ALIEN &&
				 gpu->gis[g].profile_id == gpu->profiles[i].id;
		if (is_media(gpu->profiles[i].name))
			media += count;
		else if (!strstr(gpu->profiles[i].name, "-me"))
			plain += count;
		if (strstr(gpu->profiles[i].name, "+me.all"))
			all_media += count;
	}
	return media <= 1 && (all_media == 0 || plain == 0);
}

/* The idle instance that is exactly this, if there is one: keeping it costs no operation. */
static size_t find_idle(const struct bh_place_problem *problem, size_t profile,
		const struct bh_placement *at)
{
	const struct bh_gpu *gpu = problem->gpu;
	size_t g;

	for (g = 0; g < gpu->n_gis; g++) {
		if (problem->roles[g] == BH_GI_IDLE && gpu->gis[g].at.start == at->start &&
				gpu->gis[g].at.size == at->size &&
				gpu->gis[g].profile_id == gpu->profiles[profile].id)
			break;
	}
	return g;
}

static uint32_t count_open(const struct bh_gpu *gpu, uint64_t occupied)
{
	uint32_t open = 0;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		for (size_t k = 0; k < gpu->profiles[i].n_placements; k++)
			open += !(occupied & bh_placement_mask(&gpu->profiles[i].placements[k]));
	}
	return open;
}

static void consider(struct search *s)
{
	const struct bh_place_problem *problem = s->problem;
	uint32_t open = count_open(problem->gpu, s->occupied);

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
		size_t g = find_idle(problem, s->chosen[i].profile, &s->chosen[i].at);

		if (g < problem->gpu->n_gis)
			s->best.keep[g] = true;
		else
			s->best.creates[s->best.n_creates++] = s->chosen[i];
	}
}

/* Places the rest of the k-th wanted profile from its placement @from on, then the others. */
static void place_rest(struct search *s, size_t k, uint32_t left, size_t from)
{
	const struct bh_gi_profile *profile;

	if (++s->nodes > SEARCH_NODES_MAX || (s->found && s->cost > s->best_cost))
		return;
	if (left == 0) {
		if (k + 1 >= s->n_order)
			consider(s);
		else
			place_rest(s, k + 1, s->problem->counts[s->order[k + 1]], 0);
		return;
	}
	profile = &s->problem->gpu->profiles[s->order[k]];
	for (size_t j = from; j < profile->n_placements && s->n_chosen < BH_GIS_MAX; j++) {
		const struct bh_placement *at = &profile->placements[j];
		uint64_t mask = bh_placement_mask(at);
		uint32_t cost = s->cost;
		size_t g;

		if (s->occupied & mask)
			continue;
		g = find_idle(s->problem, s->order[k], at);
		s->cost += g < s->problem->gpu->n_gis ? s->problem->keep_cost[g] : CREATE_COST;
		s->occupied |= mask;
		s->chosen[s->n_chosen++] = (struct bh_placed_gi){s->order[k], *at};
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

static void order_profiles(struct search *s)
{
	const struct bh_gpu *gpu = s->problem->gpu;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		size_t k = s->n_order;

		if (s->problem->counts[i] == 0)
			continue;
		s->n_order++;
		for (; k > 0 && width(&gpu->profiles[s->order[k - 1]]) < width(&gpu->profiles[i]);
				k--)
			s->order[k] = s->order[k - 1];
		s->order[k] = i;
	}
}

int bh_place(const struct bh_place_problem *problem, struct bh_place_solution *ret_solution,
		struct bh_error *err)
{
	struct bh_place_problem rest = *problem;
	struct search s = {.problem = &rest};

	if (!bh_place_media_rules_hold(problem))
		return BH_PLACE_NONE;
	for (size_t g = 0; g < rest.gpu->n_gis; g++) {
		if (rest.roles[g] == BH_GI_IDLE)
			continue;
		s.occupied |= bh_placement_mask(&rest.gpu->gis[g].at);
		for (size_t i = 0; rest.roles[g] == BH_GI_PINNED && i < rest.gpu->n_profiles; i++) {
			if (rest.gpu->profiles[i].id != rest.gpu->gis[g].profile_id)
				continue;
			if (rest.counts[i] == 0)
				return BH_PLACE_NONE;
			rest.counts[i]--;
		}
	}
	order_profiles(&s);
	if (s.n_order == 0)
		consider(&s);
	else
		place_rest(&s, 0, rest.counts[s.order[0]], 0);
	if (s.nodes > SEARCH_NODES_MAX)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"the board's table of placements is too large to be searched");
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
