/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/mixes.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

/* What one board may be searched for; known boards need less than a tenth. */
#define MIXES_BUDGET 5000000U

struct growth {
	const struct bh_gpu *gpu;
	const struct bh_mix_names *names;
	struct bh_place_problem problem;
	uint32_t idle; /* instances that may go */
	uint32_t ours;
	bool must_ask; /* what the placer allows may be refused by the planner */
	bool mode_on;
	struct bh_mix now;
	struct bh_mixes *mixes;
	struct bh_error *err;
};

/* Of how many compute slices it is, is not known of a profile that can't be asked for. */
static bool can_be_made(const struct bh_gi_profile *profile)
{
	return profile->slice_count > 0 && profile->slice_count <= BH_UNITS_MAX;
}

/* 1 yes, 0 no, negative where it can't be found out. */
static int planner_agrees(const struct growth *g, const struct bh_mix *mix)
{
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error why = {0};

	bh_mix_want(g->gpu, g->names, mix, "", &want);
	if (bh_plan_gpu(g->gpu, &want, &plan, &why) == 0) {
		bh_gpu_plan_free(&plan);
		return 1;
	}
	if (why.code != BH_E_NO_MEMORY)
		return 0;
	if (g->err)
		*g->err = why;
	return -1;
}

static uint32_t operations_of(const struct growth *g, const struct bh_place_solution *solution)
{
	uint32_t kept = 0;

	for (size_t i = 0; i < g->gpu->n_gis; i++)
		kept += g->problem.roles[i] == BH_GI_IDLE && solution->keep[i];
	return g->idle - kept + (uint32_t) solution->n_creates;
}

static int record(struct growth *g, const struct bh_place_solution *solution)
{
	struct bh_mixes *all = g->mixes;
	struct bh_mix mix = g->now;
	uint32_t n = 0;

	for (size_t k = 0; k < g->names->n; k++)
		n += mix.counts[k];
	mix.operations = operations_of(g, solution);
	mix.in_scope = g->ours > 0 || n > 0;
	mix.switches = mix.in_scope && !g->mode_on;
	mix.units = (uint32_t) __builtin_popcountll(solution->occupied);
	if (g->must_ask) {
		int r = planner_agrees(g, &mix);

		if (r <= 0)
			return r;
	}
	if (all->n == BH_MIXES_MAX)
		return bh_place_give_up(g->gpu, g->err);
	all->items[all->n++] = mix;
	return 0;
}

/* Adding never makes room, so what does not fit ends the branch. */
static int grow(struct growth *g, size_t from)
{
	struct bh_place_solution solution;
	int r = bh_place(&g->problem, &solution, g->err);

	if (r != 0)
		return r < 0 ? -1 : 0;
	if (record(g, &solution) < 0)
		return -1;
	for (size_t k = from; k < g->names->n; k++) {
		size_t p = g->mixes->profile[k];

		if (p == BH_MIX_NO_PROFILE || g->now.counts[k] >= g->names->totals[k] ||
				g->now.counts[k] == BH_GIS_MAX ||
				!can_be_made(&g->gpu->profiles[p]))
			continue;
		g->now.counts[k]++;
		g->problem.counts[p]++;
		r = grow(g, k);
		g->problem.counts[p]--;
		g->now.counts[k]--;
		if (r < 0)
			return -1;
	}
	return 0;
}

/* What stands there: the mix that must stay is where the search begins. */
static void take_stock(struct growth *g)
{
	const struct bh_gpu *gpu = g->gpu;

	for (size_t k = 0; k < g->names->n; k++)
		if (!bh_gpu_profile_named(gpu, g->names->names[k], &g->mixes->profile[k]))
			g->mixes->profile[k] = BH_MIX_NO_PROFILE;
	for (size_t i = 0; i < gpu->n_gis; i++) {
		enum bh_gi_role role = bh_gi_role(&gpu->gis[i]);
		size_t k = 0;

		g->problem.roles[i] = role;
		g->idle += role == BH_GI_IDLE;
		if (role == BH_GI_ALIEN)
			continue;
		g->ours++;
		while (k < g->names->n && (g->mixes->profile[k] == BH_MIX_NO_PROFILE ||
							  gpu->profiles[g->mixes->profile[k]].id !=
									  gpu->gis[i].profile_id))
			k++;
		if (k == g->names->n) {
			g->mixes->others++;
			continue;
		}
		g->mixes->standing[k]++;
		if (role == BH_GI_IDLE)
			continue;
		g->mixes->pinned[k]++;
		g->now.counts[k]++;
		g->problem.counts[g->mixes->profile[k]]++;
	}
}

static int compare(const void *left, const void *right)
{
	const struct bh_mix *a = left, *b = right;

	if (a->units != b->units)
		return a->units > b->units ? -1 : 1;
	return -memcmp(a->counts, b->counts, sizeof(a->counts));
}

int bh_mixes_init(const struct bh_gpu *gpu, const struct bh_mix_names *names,
		struct bh_mixes *ret_mixes, struct bh_error *err)
{
	struct bh_mixes all = {.items = calloc(BH_MIXES_MAX, sizeof(*all.items))};
	uint32_t budget = MIXES_BUDGET;
	struct growth g = {.gpu = gpu,
			.names = names,
			.problem = {.gpu = gpu, .budget = &budget},
			.mode_on = gpu->mig_current == BH_MIG_ON && gpu->mig_pending == BH_MIG_ON,
			.mixes = &all,
			.err = err};
	struct bh_mix *fitting;

	if (!all.items)
		return bh_fail_memory(err);
	g.must_ask = !gpu->mig_capable || !gpu->holders_known || bh_gpu_is_held(gpu) ||
		     gpu->mig_current == BH_MIG_UNKNOWN || gpu->mig_pending == BH_MIG_UNKNOWN;
	take_stock(&g);
	if (grow(&g, 0) < 0) {
		free(all.items);
		return -1;
	}
	qsort(all.items, all.n, sizeof(*all.items), compare);
	fitting = all.n ? realloc(all.items, all.n * sizeof(*all.items)) : NULL;
	if (fitting)
		all.items = fitting;
	*ret_mixes = all;
	return 0;
}

void bh_mixes_free(struct bh_mixes *mixes)
{
	free(mixes->items);
	*mixes = (struct bh_mixes){0};
}

/* As they stand, in falling order; strangers' ones do not count. */
static void want_as_is(const struct bh_gi *gi, struct bh_wanted_gi *want)
{
	for (size_t c = 0; c < gi->n_cis; c++) {
		size_t i = want->n_cis;

		if (gi->cis[c].foreign)
			continue;
		for (; i > 0 && want->ci_slices[i - 1] < gi->cis[c].at.size; i--)
			want->ci_slices[i] = want->ci_slices[i - 1];
		want->ci_slices[i] = gi->cis[c].at.size;
		want->n_cis++;
	}
}

void bh_mix_want(const struct bh_gpu *gpu, const struct bh_mix_names *names,
		const struct bh_mix *mix, const char *source, struct bh_gpu_want *ret_want)
{
	struct bh_gpu_want want = {.in_scope = mix->in_scope, .mig_on = mix->in_scope};

	(void) snprintf(want.source, sizeof(want.source), "%s", source);
	for (size_t k = 0; k < names->n; k++) {
		size_t p, left = mix->counts[k];

		if (!bh_gpu_profile_named(gpu, names->names[k], &p))
			continue;
		for (size_t g = 0; g < gpu->n_gis; g++) {
			if (left == 0 || gpu->gis[g].profile_id != gpu->profiles[p].id ||
					bh_gi_role(&gpu->gis[g]) != BH_GI_PINNED)
				continue;
			want.gis[want.n_gis] = (struct bh_wanted_gi){
					.profile = p, .profile_id = gpu->profiles[p].id};
			want_as_is(&gpu->gis[g], &want.gis[want.n_gis++]);
			left--;
		}
		for (; left > 0; left--)
			want.gis[want.n_gis++] = (struct bh_wanted_gi){.profile = p,
					.profile_id = gpu->profiles[p].id,
					.ci_slices = {gpu->profiles[p].slice_count},
					.n_cis = 1};
	}
	*ret_want = want;
}
