/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

#include <string.h>

bool inside_is_aligned(uint32_t start, uint32_t size)
{
	static const uint32_t powers[] = {1, 2, 4, 8, 16, 32, 64};
	size_t i = 0;

	while (powers[i] < size)
		i++;
	return start % powers[i] == 0;
}

bool inside_has_room(uint32_t total, bool *taken, const uint32_t *sizes, size_t n, bool aligned)
{
	if (n == 0)
		return true;
	for (uint32_t start = 0; start + sizes[0] <= total; start++) {
		bool free_here = !aligned || inside_is_aligned(start, sizes[0]), room;

		for (uint32_t s = start; s < start + sizes[0]; s++)
			free_here = free_here && !taken[s];
		if (!free_here)
			continue;
		memset(taken + start, true, sizes[0]);
		room = inside_has_room(total, taken, sizes + 1, n - 1, aligned);
		memset(taken + start, false, sizes[0]);
		if (room)
			return true;
	}
	return false;
}

/* With exactly these compute instances left alone; -1 if that can't be. */
static int cost_keeping(uint32_t total, const struct bh_gi *gi, const struct bh_wanted_gi *want,
		uint32_t kept)
{
	bool taken[BH_UNITS_MAX] = {false}, served[BH_CIS_MAX] = {false};
	uint32_t rest[BH_CIS_MAX];
	size_t n = 0;
	int cost = 0;

	for (size_t c = 0; c < gi->n_cis; c++) {
		const struct bh_ci *ci = &gi->cis[c];
		size_t w = 0;

		if (!(kept & 1U << c)) {
			if (ci->busy || ci->foreign)
				return -1;
			cost++;
			continue;
		}
		memset(taken + ci->at.start, true, ci->at.size);
		if (ci->foreign)
			continue;
		while (w < want->n_cis && (served[w] || want->ci_slices[w] != ci->at.size))
			w++;
		if (w == want->n_cis)
			return -1;
		served[w] = true;
	}
	for (size_t w = 0; w < want->n_cis; w++) {
		if (!served[w])
			rest[n++] = want->ci_slices[w];
	}
	cost += (int) n;
	if (inside_has_room(total, taken, rest, n, /* aligned= */ true))
		return cost;
	return inside_has_room(total, taken, rest, n, /* aligned= */ false)
			       ? cost + INSIDE_UNALIGNED
			       : -1;
}

int inside_cost(const struct bh_gpu *gpu, const struct bh_gi *gi, const struct bh_wanted_gi *want)
{
	const struct bh_gi_profile *profile = &gpu->profiles[want->profile];
	int best = -1;

	if (profile->id != gi->profile_id)
		return -1;
	for (uint32_t kept = 0; kept < 1U << gi->n_cis; kept++) {
		int cost = cost_keeping(profile->slice_count, gi, want, kept);

		if (cost >= 0 && (best < 0 || cost < best))
			best = cost;
	}
	return best;
}

static int assign_from(const struct bh_gpu *gpu, const struct bh_gpu_want *want, const bool *stays,
		size_t g, uint32_t served)
{
	int best = -1;

	if (g == gpu->n_gis)
		return 0;
	if (!stays[g] || gpu->gis[g].foreign)
		return assign_from(gpu, want, stays, g + 1, served);
	for (size_t w = 0; w < want->n_gis; w++) {
		int cost, rest;

		if (served & 1U << w)
			continue;
		cost = inside_cost(gpu, &gpu->gis[g], &want->gis[w]);
		rest = cost < 0 ? -1 : assign_from(gpu, want, stays, g + 1, served | 1U << w);
		if (rest >= 0 && (best < 0 || cost + rest < best))
			best = cost + rest;
	}
	return best;
}

int inside_assign(const struct bh_gpu *gpu, const struct bh_gpu_want *want, const bool *stays)
{
	return assign_from(gpu, want, stays, 0, 0);
}

static void mix_of_want(const struct bh_gpu_want *want, struct oracle_mix *ret_mix)
{
	memset(ret_mix, 0, sizeof(*ret_mix));
	for (size_t w = 0; w < want->n_gis; w++)
		ret_mix->counts[want->gis[w].profile]++;
}

int inside_operations(const struct oracle *oracle, const struct bh_gpu *gpu,
		const struct bh_gpu_want *want)
{
	uint32_t pinned = 0, aliens = 0;
	bool stays[BH_GIS_MAX] = {false};
	struct oracle_mix mix;

	mix_of_want(want, &mix);
	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];
		struct bh_gpu one = *gpu;
		bool fixed = gi->busy;

		one.gis[0] = *gi;
		one.n_gis = 1;
		for (size_t c = 0; c < gi->n_cis; c++)
			fixed = fixed || gi->cis[c].busy || gi->cis[c].foreign;
		if (gi->foreign)
			aliens |= oracle_set_of(oracle, &one);
		else if (fixed)
			pinned |= oracle_set_of(oracle, &one);
		stays[g] = fixed && !gi->foreign;
	}
	if (inside_assign(gpu, want, stays) < 0)
		return -1;
	return oracle_minimum(oracle, oracle_set_of(oracle, gpu), pinned, aliens, &mix);
}

static bool inside_feasible(const struct oracle *oracle, const struct bh_gpu *gpu,
		const struct bh_gpu_want *want)
{
	return inside_operations(oracle, gpu, want) >= 0;
}

enum bh_code inside_refusal(const struct oracle *oracle, const struct bh_gpu *gpu,
		const struct bh_gpu_want *want)
{
	struct bh_gpu idle = *gpu, ours = *gpu;
	struct oracle_mix mix;

	mix_of_want(want, &mix);
	if (oracle_minimum(oracle, 0, 0, 0, &mix) < 0)
		return BH_E_DOES_NOT_FIT;
	for (size_t g = 0; g < gpu->n_gis; g++) {
		idle.gis[g].busy = false;
		ours.gis[g].foreign = false;
		for (size_t c = 0; c < gpu->gis[g].n_cis; c++) {
			idle.gis[g].cis[c].busy = false;
			ours.gis[g].cis[c].foreign = false;
		}
	}
	if (!inside_feasible(oracle, &idle, want) && inside_feasible(oracle, &ours, want))
		return BH_E_FOREIGN;
	return BH_E_IN_USE;
}
