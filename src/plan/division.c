/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/division.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gpu/catalogue.h"

static int part_init(const struct bh_gpu *gpu, const struct bh_mix_names *names,
		struct bh_part *ret_part, struct bh_error *err)
{
	struct bh_part part = {0};

	if (bh_mixes_init(gpu, names, &part.mixes, err) < 0)
		return -1;
	part.has_geometry = bh_geometry_init(gpu, &part.geometry, NULL) == 0;
	for (size_t g = 0; part.has_geometry && g < gpu->n_gis; g++) {
		if (bh_gi_role(&gpu->gis[g]) != BH_GI_IDLE)
			part.fixed |= bh_geometry_mask(&part.geometry, &gpu->gis[g].at);
	}
	*ret_part = part;
	return 0;
}

static void part_free(struct bh_part *part)
{
	bh_mixes_free(&part->mixes);
}

/* Will the same mixes come of both? Who holds a GPU decides too, so held ones are alike to none. */
static bool are_alike(const struct bh_gpu *a, const struct bh_gpu *b)
{
	if (!a->holders_known || !b->holders_known || a->mig_capable != b->mig_capable ||
			a->mig_current != b->mig_current || a->mig_pending != b->mig_pending ||
			!bh_gpu_offers_same(a, b) || a->n_gis != b->n_gis)
		return false;
	for (size_t g = 0; g < a->n_gis; g++) {
		if (a->gis[g].profile_id != b->gis[g].profile_id ||
				a->gis[g].at.start != b->gis[g].at.start ||
				a->gis[g].at.size != b->gis[g].at.size ||
				bh_gi_role(&a->gis[g]) != bh_gi_role(&b->gis[g]))
			return false;
	}
	return !bh_gpu_is_held(a) && !bh_gpu_is_held(b);
}

static bool comes_before(const struct bh_gpu *a, const struct bh_gpu *b)
{
	int order = strcmp(a->uuid, b->uuid);

	if (order == 0)
		order = strcmp(a->pci, b->pci);
	return order ? order < 0 : a->index < b->index;
}

static void sort_gpus(const struct bh_transition_problem *problem, size_t *ret_order)
{
	for (size_t g = 0; g < problem->n_gpus; g++) {
		size_t i = g;

		for (; i > 0 && comes_before(&problem->gpus[g], &problem->gpus[ret_order[i - 1]]);
				i--)
			ret_order[i] = ret_order[i - 1];
		ret_order[i] = g;
	}
}

/* By the whole node, so that the answer does not hang on which GPU was asked first. */
static int not_offered(const struct bh_transition_problem *problem, const size_t *order,
		const char *name, struct bh_error *err)
{
	const struct bh_gi_profile *nearest = NULL;
	const char *names[BH_GI_PROFILES_MAX];
	char offered[256];
	size_t n = 0;

	for (size_t g = 0; g < problem->n_gpus; g++) {
		const struct bh_gpu *gpu = &problem->gpus[order[g]];

		if (!nearest)
			nearest = bh_profile_nearest(gpu->profiles, gpu->n_profiles, name);
		for (size_t p = 0; p < gpu->n_profiles && n < BH_ARRAY_SIZE(names); p++) {
			size_t i = 0;

			while (i < n && strcmp(names[i], gpu->profiles[p].name) != 0)
				i++;
			if (i == n)
				names[n++] = gpu->profiles[p].name;
		}
	}
	bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
			"none of these %zu GPUs offers %s; they offer %s", problem->n_gpus, name,
			n ? bh_text_join(offered, sizeof(offered), names, n) : "no profiles");
	if (nearest)
		bh_error_next(err, "use %s, the nearest profile with as much compute",
				nearest->name);
	else
		bh_error_next(err, "choose one of the profiles that these GPUs offer");
	return -1;
}

static bool is_offered(const struct bh_transition_problem *problem, const char *name)
{
	for (size_t g = 0; g < problem->n_gpus; g++) {
		for (size_t p = 0; p < problem->gpus[g].n_profiles; p++) {
			if (strcmp(problem->gpus[g].profiles[p].name, name) == 0)
				return true;
		}
	}
	return false;
}

/* The last in the alphabet first: on all boards the widest. */
static bool add_name(struct bh_mix_names *names, const struct bh_total *total)
{
	size_t i = names->n;

	for (size_t k = 0; k < names->n; k++) {
		if (strcmp(names->names[k], total->profile) == 0) {
			names->totals[k] = total->count > UINT32_MAX - names->totals[k]
							   ? UINT32_MAX
							   : names->totals[k] + total->count;
			return true;
		}
	}
	if (names->n == BH_MIX_NAMES_MAX)
		return false;
	for (; i > 0 && strcmp(names->names[i - 1], total->profile) < 0; i--) {
		memcpy(names->names[i], names->names[i - 1], sizeof(names->names[i]));
		names->totals[i] = names->totals[i - 1];
	}
	(void) snprintf(names->names[i], sizeof(names->names[i]), "%s", total->profile);
	names->totals[i] = total->count;
	names->n++;
	return true;
}

static int take_names(const struct bh_transition_problem *problem, struct bh_division *d,
		struct bh_error *err)
{
	for (size_t t = 0; t < problem->n_totals; t++) {
		if (problem->totals[t].count > 0 && !add_name(&d->names, &problem->totals[t]))
			return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
					"more than %d profiles are wanted", BH_MIX_NAMES_MAX);
	}
	for (size_t k = 0; k < d->names.n; k++) {
		if (!is_offered(problem, d->names.names[k]))
			return not_offered(problem, d->order, d->names.names[k], err);
	}
	return 0;
}

int bh_division_init(const struct bh_transition_problem *problem, struct bh_division *ret_division,
		struct bh_error *err)
{
	struct bh_division d = {.problem = problem,
			.budget = problem->budget ? problem->budget : BH_TRANSITION_BUDGET};

	if (problem->n_gpus > BH_NODE_GPUS_MAX)
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"%zu GPUs are more than the %d of one node", problem->n_gpus,
				BH_NODE_GPUS_MAX);
	sort_gpus(problem, d.order);
	if (take_names(problem, &d, err) < 0)
		return -1;
	d.parts = calloc(problem->n_gpus + 1, sizeof(*d.parts));
	if (!d.parts)
		return bh_fail_memory(err);
	for (size_t g = 0; g < problem->n_gpus; g++) {
		const struct bh_gpu *gpu = &problem->gpus[d.order[g]];
		size_t like = 0;

		while (like < g && !are_alike(gpu, &problem->gpus[d.order[like]]))
			like++;
		if (like < g) {
			d.of[g] = d.of[like];
			continue;
		}
		if (part_init(gpu, &d.names, &d.parts[d.n_parts], err) < 0) {
			bh_division_free(&d);
			return -1;
		}
		d.of[g] = &d.parts[d.n_parts++];
	}
	*ret_division = d;
	return 0;
}

void bh_division_free(struct bh_division *division)
{
	for (size_t i = 0; i < division->n_parts; i++)
		part_free(&division->parts[i]);
	free(division->parts);
	*division = (struct bh_division){0};
}

int bh_division_solve(const struct bh_division *division, bool any, struct bh_spread *ret_spread,
		struct bh_shortage *ret_shortage, struct bh_error *err)
{
	const struct bh_mixes *mixes[BH_NODE_GPUS_MAX];
	const struct bh_geometry *geometry[BH_NODE_GPUS_MAX];
	uint64_t fixed[BH_NODE_GPUS_MAX];
	const struct bh_spread_problem problem = {.names = &division->names,
			.mixes = mixes,
			.geometry = geometry,
			.fixed = fixed,
			.n_gpus = division->problem->n_gpus,
			.budget = division->budget,
			.any = any};

	for (size_t g = 0; g < problem.n_gpus; g++) {
		const struct bh_part *part = division->of[g];

		mixes[g] = &part->mixes;
		geometry[g] = part->has_geometry ? &part->geometry : NULL;
		fixed[g] = part->fixed;
	}
	return bh_spread(&problem, ret_spread, ret_shortage, err);
}

bool bh_division_fits_with(
		const struct bh_division *division, size_t place, const struct bh_gpu *gpu)
{
	bh_auto_free struct bh_part *part = calloc(1, sizeof(*part));
	struct bh_division other = *division;
	struct bh_spread spread = {0};
	bool fits;

	if (!part || part_init(gpu, &division->names, part, NULL) < 0)
		return false;
	other.of[place] = part;
	fits = bh_division_solve(&other, /* any= */ true, &spread, NULL, NULL) == 0;
	bh_spread_free(&spread);
	part_free(part);
	return fits;
}
