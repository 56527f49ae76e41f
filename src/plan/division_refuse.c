/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/division.h"

#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/refuse.h"

static const char no_room[] = "the wanted totals have no room beside what must stay";

/* As if the driver had told that nobody holds the whole of it. */
static bool clear_holders(struct bh_gpu *gpu)
{
	bool changed = !gpu->holders_known || bh_gpu_is_held(gpu) ||
		       (gpu->mig_capable && (gpu->mig_current == BH_MIG_UNKNOWN ||
							    gpu->mig_pending == BH_MIG_UNKNOWN));

	gpu->holders_known = true;
	gpu->n_holders = 0;
	if (gpu->mig_capable)
		gpu->mig_current = gpu->mig_pending = BH_MIG_ON;
	return changed;
}

static struct bh_gpu *copy_gpus(const struct bh_division *d)
{
	struct bh_gpu *gpus = calloc(d->problem->n_gpus + 1, sizeof(*gpus));

	if (gpus && d->problem->n_gpus > 0)
		memcpy(gpus, d->problem->gpus, d->problem->n_gpus * sizeof(*gpus));
	return gpus;
}

/* 0, BH_SPREAD_NONE, or negative, as the same totals over other GPUs would be answered. */
static int try_on(const struct bh_division *like, const struct bh_gpu *gpus, struct bh_error *err)
{
	struct bh_transition_problem problem = *like->problem;
	struct bh_division d;
	struct bh_spread spread = {0};
	int r;

	problem.gpus = gpus;
	if (bh_division_init(&problem, &d, err) < 0)
		return -1;
	r = bh_division_solve(&d, /* any= */ true, &spread, NULL, err);
	bh_spread_free(&spread);
	bh_division_free(&d);
	return r;
}

static int try_without(
		const struct bh_division *d, bool users, bool strangers, struct bh_error *err)
{
	bh_auto_free struct bh_gpu *gpus = copy_gpus(d);

	if (!gpus)
		return bh_fail_memory(err);
	for (size_t i = 0; i < d->problem->n_gpus; i++) {
		for (size_t g = 0; g < gpus[i].n_gis; g++) {
			if (users)
				(void) bh_gi_set_free(&gpus[i].gis[g], /* of_strangers= */ false);
			if (strangers)
				(void) bh_gi_set_free(&gpus[i].gis[g], /* of_strangers= */ true);
		}
		if (users)
			(void) clear_holders(&gpus[i]);
	}
	return try_on(d, gpus, err);
}

static void list_totals(const struct bh_mix_names *names, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t k = 0; k < names->n && used < size; k++)
		used += (size_t) snprintf(buffer + used, size - used, "%s%u x %s", used ? ", " : "",
				names->totals[k], names->names[k]);
}

/* The name whose profiles the closed form counts in that role. */
static const char *name_in_role(const struct bh_division *d, enum bh_shape_role role)
{
	for (size_t g = 0; g < d->problem->n_gpus; g++) {
		const struct bh_part *part = d->of[g];

		if (!part->has_geometry)
			continue;
		for (size_t k = 0; k < d->names.n; k++) {
			size_t p = part->mixes.profile[k];

			if (p != BH_MIX_NO_PROFILE && part->geometry.shape_of[p] >= 0 &&
					part->geometry.shapes[part->geometry.shape_of[p]].role ==
							role)
				return d->names.names[k];
		}
	}
	return "the rest";
}

/* The narrowest profile of which one less would fit; NULL is written if there is none. */
static int left_over(const struct bh_division *d, const char **ret_name, struct bh_error *err)
{
	struct bh_division fewer = *d;

	*ret_name = NULL;
	for (size_t k = d->names.n; k-- > 0 && !*ret_name;) {
		struct bh_spread spread = {0};
		int r;

		fewer.names.totals[k]--;
		r = bh_division_solve(&fewer, /* any= */ true, &spread, NULL, err);
		bh_spread_free(&spread);
		fewer.names.totals[k]++;
		if (r < 0)
			return -1;
		if (r == 0)
			*ret_name = d->names.names[k];
	}
	return 0;
}

/* Of GPUs with nothing on them. 0 when the totals fit there. */
static int refuse_size(const struct bh_division *bare, struct bh_error *err)
{
	struct bh_spread spread = {0};
	struct bh_shortage shortage;
	char wanted[256];
	const char *left = NULL;
	int r = bh_division_solve(bare, /* any= */ true, &spread, &shortage, err);

	bh_spread_free(&spread);
	if (r != BH_SPREAD_NONE)
		return r;
	list_totals(&bare->names, wanted, sizeof(wanted));
	if (!shortage.what && left_over(bare, &left, err) < 0)
		return -1;
	if (shortage.what)
		bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"these %zu GPUs cannot hold %s, even if all were empty: %s needs "
				"%llu %s, after all wider profiles there are %llu",
				bare->problem->n_gpus, wanted, name_in_role(bare, shortage.role),
				(unsigned long long) shortage.needs, shortage.what,
				(unsigned long long) shortage.has);
	else
		bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"these %zu GPUs cannot hold %s, even if all were empty: %s%s is "
				"left "
				"over",
				bare->problem->n_gpus, wanted,
				left ? "one " : "more than one instance", left ? left : "");
	bh_error_next(err, "ask for fewer or smaller instances");
	return -1;
}

static int refuse_if_too_large(const struct bh_division *d, struct bh_error *err)
{
	bh_auto_free struct bh_gpu *gpus = copy_gpus(d);
	struct bh_transition_problem problem = *d->problem;
	struct bh_division bare;
	int r;

	if (!gpus)
		return bh_fail_memory(err);
	for (size_t i = 0; i < problem.n_gpus; i++) {
		gpus[i].n_gis = 0;
		(void) clear_holders(&gpus[i]);
	}
	problem.gpus = gpus;
	if (bh_division_init(&problem, &bare, err) < 0)
		return -1;
	r = refuse_size(&bare, err);
	bh_division_free(&bare);
	return r;
}

/* More of a profile must stay than is wanted: that alone says who is in the way. */
static int refuse_surplus(const struct bh_division *d, struct bh_error *err)
{
	const struct bh_mix_names *names = &d->names;
	uint32_t seen[BH_MIX_NAMES_MAX + 1] = {0};

	for (size_t i = 0; i < d->problem->n_gpus; i++) {
		const struct bh_gpu *gpu = &d->problem->gpus[d->order[i]];

		for (size_t g = 0; g < gpu->n_gis; g++) {
			const struct bh_gi *gi = &gpu->gis[g];
			const struct bh_gi_profile *p = bh_gpu_find_profile(gpu, gi->profile_id);
			struct bh_gi idle = *gi;
			char what[192];
			size_t k = 0;

			if (bh_gi_role(gi) != BH_GI_PINNED)
				continue;
			while (k < names->n && !(p && strcmp(names->names[k], p->name) == 0))
				k++;
			if (k < names->n && ++seen[k] <= names->totals[k])
				continue;
			(void) snprintf(what, sizeof(what),
					"more of %s must stay than the %u that are wanted in all",
					p ? p->name : "a profile",
					k < names->n ? names->totals[k] : 0);
			return bh_refuse_instance(gpu, gi,
					!bh_gi_set_free(&idle, /* of_strangers= */ false), what,
					err);
		}
	}
	return 0;
}

/* Why a GPU as a whole can't be changed; the planner says so in its own words. */
static int refuse_gpu(const struct bh_gpu *gpu, struct bh_error *err)
{
	const struct bh_gpu_want none = {.in_scope = true, .mig_on = true};
	struct bh_gpu_plan plan;

	if (gpu->mig_current == BH_MIG_UNKNOWN || gpu->mig_pending == BH_MIG_UNKNOWN) {
		if (bh_plan_gpu(gpu, &none, &plan, err) < 0)
			return -1;
		bh_gpu_plan_free(&plan);
	}
	return gpu->holders_known ? bh_refuse_gpu_holders(gpu, no_room, err)
				  : bh_refuse_unknown(gpu, err);
}

/* One that is in the way: an instance, or (NULL) all that is on the GPU. */
struct blocker {
	const struct bh_gpu *gpu;
	const struct bh_gi *gi;
};

/* The first whose going alone would help; if no single one does, the first of its kind. */
static struct blocker find_blocker(const struct bh_division *d, bool of_strangers)
{
	struct blocker first = {0};
	struct bh_gpu freed;

	for (size_t i = 0; i < d->problem->n_gpus; i++) {
		const struct bh_gpu *gpu = &d->problem->gpus[d->order[i]];

		for (size_t g = 0; g <= gpu->n_gis; g++) {
			struct blocker one = {gpu, g < gpu->n_gis ? &gpu->gis[g] : NULL};

			freed = *gpu;
			if (one.gi ? !bh_gi_set_free(&freed.gis[g], of_strangers)
				   : of_strangers || !clear_holders(&freed))
				continue;
			if (!first.gpu)
				first = one;
			if (bh_division_fits_with(d, i, &freed))
				return one;
		}
	}
	return first;
}

int bh_division_refuse(const struct bh_division *division, struct bh_error *err)
{
	struct blocker blocker;
	bool of_strangers;
	int users, strangers;

	if (refuse_if_too_large(division, err) < 0 || refuse_surplus(division, err) < 0)
		return -1;
	users = try_without(division, /* users= */ true, /* strangers= */ false, err);
	strangers = users == BH_SPREAD_NONE ? try_without(division, false, true, err) : 0;
	if (users < 0 || strangers < 0)
		return -1;
	of_strangers = users == BH_SPREAD_NONE && strangers == 0;
	blocker = find_blocker(division, of_strangers);
	if (!blocker.gpu)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"%s, and who is in the way was not found", no_room);
	return blocker.gi ? bh_refuse_instance(blocker.gpu, blocker.gi, of_strangers, no_room, err)
			  : refuse_gpu(blocker.gpu, err);
}
