/* SPDX-License-Identifier: Apache-2.0 */
/* From every layout of a board to every mix: operations and time of a plan, beside clearing first. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "gpu/catalogue.h"
#include "plan/layouts.h"
#include "plan/placer.h"
#include "plan/plan.h"
#include "plan/transition.h"

#define BOARD  "h100-sxm5-80gb"
#define ROUNDS 5
#define NODES  20 /* of each size, made by chance */

/* A board, all that can stand on it, and one layout of each mix. */
struct field {
	struct bh_gpu gpu;
	struct bh_geometry geo;
	struct bh_layouts layouts;
	size_t *mixes; /* owned; the first layout of each */
	size_t n_mixes;
	size_t profile[BH_SHAPES_MAX]; /* the one of each shape */
};

/* One round over all pairs. */
struct figures {
	uint64_t pairs, feasible, clearable;
	uint64_t ours, clearing; /* operations */
	uint32_t best_saving;
	uint64_t place_ns, plan_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	(void) clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * 1000000000U + (uint64_t) t.tv_nsec;
}

/* splitmix64 */
static uint64_t roll(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15U;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
	z = (z ^ z >> 27) * 0x94D049BB133111EBU;
	return z ^ z >> 31;
}

static int complain(const char *what)
{
	(void) fprintf(stderr, "transitions: %s\n", what);
	return -1;
}

static void field_free(struct field *f)
{
	bh_layouts_free(&f->layouts);
	free(f->mixes);
}
#define auto_field BH_CLEANUP(field_free)

/* Profiles without attributes only, as in the published counts. */
static int field_init(struct field *f)
{
	const struct bh_model *model = bh_catalogue_by_slug(BOARD);
	size_t n = 0;

	if (!model)
		return complain("the catalogue has no " BOARD);
	bh_model_describe(model, &f->gpu);
	for (size_t i = 0; i < f->gpu.n_profiles; i++) {
		if (!strpbrk(f->gpu.profiles[i].name, "+-"))
			f->gpu.profiles[n++] = f->gpu.profiles[i];
	}
	f->gpu.n_profiles = n;
	f->gpu.mig_current = f->gpu.mig_pending = BH_MIG_ON;
	f->gpu.holders_known = true;
	if (bh_geometry_init(&f->gpu, &f->geo, NULL) < 0 ||
			bh_layouts_init(&f->geo, &f->layouts, NULL) < 0)
		return complain("the board has no geometry");
	for (size_t p = 0; p < n; p++)
		f->profile[f->geo.shape_of[p]] = p;
	f->mixes = calloc(f->layouts.n, sizeof(*f->mixes));
	if (!f->mixes)
		return complain("out of memory");
	for (size_t l = 0; l < f->layouts.n; l++) {
		size_t m = 0;

		while (m < f->n_mixes &&
				memcmp(f->layouts.items[f->mixes[m]].counts,
						f->layouts.items[l].counts, BH_SHAPES_MAX) != 0)
			m++;
		if (m == f->n_mixes)
			f->mixes[f->n_mixes++] = l;
	}
	return 0;
}

/* By start, as a driver's listing is. */
static void put_gi(struct bh_gpu *gpu, size_t profile, struct bh_placement at)
{
	const struct bh_gi_profile *p = &gpu->profiles[profile];
	size_t i = gpu->n_gis++;

	for (; i > 0 && gpu->gis[i - 1].at.start > at.start; i--)
		gpu->gis[i] = gpu->gis[i - 1];
	gpu->gis[i] = (struct bh_gi){.id = at.start,
			.profile_id = p->id,
			.at = at,
			.cis = {{.at = {0, p->slice_count}}},
			.n_cis = 1};
}

static void put_layout(const struct field *f, struct bh_gpu *gpu, size_t layout)
{
	uint32_t cell = 0;

	gpu->n_gis = gpu->n_holders = 0;
	for (uint32_t s = 0; s < f->geo.n_shapes; s++) {
		for (uint32_t p = 0; p < f->geo.shapes[s].n_places; p++, cell++) {
			if (f->layouts.items[layout].cells >> cell & 1)
				put_gi(gpu, f->profile[s], bh_geometry_place(&f->geo, s, p));
		}
	}
}

static void want_mix(const struct field *f, size_t mix, struct bh_gpu_want *want)
{
	const struct bh_layout *layout = &f->layouts.items[f->mixes[mix]];

	*want = (struct bh_gpu_want){.in_scope = true, .mig_on = true};
	for (uint32_t s = 0; s < f->geo.n_shapes; s++) {
		const struct bh_gi_profile *p = &f->gpu.profiles[f->profile[s]];

		for (uint32_t i = 0; i < layout->counts[s]; i++)
			want->gis[want->n_gis++] = (struct bh_wanted_gi){.profile = f->profile[s],
					.profile_id = p->id,
					.ci_slices = {p->slice_count},
					.n_cis = 1};
	}
}

/* Half of the instances, by the throw of a coin. */
static void pin_half(struct bh_gpu *gpu, uint64_t *dice)
{
	for (size_t g = 0; g < gpu->n_gis; g++)
		gpu->gis[g].busy = gpu->gis[g].cis[0].busy = roll(dice) & 1;
}

static bool meets(const struct bh_gpu *gpu, const struct bh_place_problem *problem)
{
	uint32_t left[BH_GI_PROFILES_MAX];

	memcpy(left, problem->counts, sizeof(left));
	for (size_t g = 0; g < gpu->n_gis; g++) {
		size_t p = 0;

		while (gpu->profiles[p].id != gpu->gis[g].profile_id)
			p++;
		if (left[p]-- == 0)
			return false;
	}
	for (size_t p = 0; p < gpu->n_profiles; p++) {
		if (left[p])
			return false;
	}
	return true;
}

static bool is_in_use(const struct bh_gpu *gpu)
{
	bool in_use = false;

	for (size_t g = 0; g < gpu->n_gis; g++)
		in_use = in_use || gpu->gis[g].busy;
	return in_use;
}

/* The placer alone, then the whole plan with its steps; both must say the same. */
static int measure_pair(const struct bh_gpu *gpu, const struct bh_gpu_want *want, struct figures *f)
{
	struct bh_place_problem problem = {.gpu = gpu};
	struct bh_place_solution solution;
	struct bh_gpu_plan plan;
	uint64_t start, middle, end;
	uint32_t clearing;
	int placed, planned;

	for (size_t i = 0; i < want->n_gis; i++)
		problem.counts[want->gis[i].profile]++;
	for (size_t g = 0; g < gpu->n_gis; g++)
		problem.roles[g] = gpu->gis[g].busy ? BH_GI_PINNED : BH_GI_IDLE;
	start = now_ns();
	placed = bh_place(&problem, &solution, NULL);
	middle = now_ns();
	planned = bh_plan_gpu(gpu, want, &plan, NULL);
	end = now_ns();
	f->place_ns += middle - start;
	f->plan_ns += end - middle;
	f->pairs++;
	if ((placed == 0) != (planned == 0))
		return complain("the placer and the planner disagree");
	if (placed != 0)
		return 0;
	f->feasible++;
	f->ours += plan.operations;
	if (meets(gpu, &problem) || !is_in_use(gpu)) {
		clearing = meets(gpu, &problem) ? 0 : (uint32_t) (gpu->n_gis + want->n_gis);
		f->clearable++;
		f->clearing += clearing;
		if (clearing - plan.operations > f->best_saving)
			f->best_saving = clearing - plan.operations;
	}
	bh_gpu_plan_free(&plan);
	return 0;
}

static int measure(const struct field *f, bool pinned, uint64_t seed, struct figures *ret_figures)
{
	struct figures figures = {0};
	struct bh_gpu gpu = f->gpu;

	for (size_t m = 0; m < f->n_mixes; m++) {
		struct bh_gpu_want want;

		want_mix(f, m, &want);
		for (size_t l = 0; l < f->layouts.n; l++) {
			put_layout(f, &gpu, l);
			if (pinned)
				pin_half(&gpu, &seed);
			if (measure_pair(&gpu, &want, &figures) < 0)
				return -1;
		}
	}
	*ret_figures = figures;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void print_share(FILE *out, const char *what, uint64_t part, uint64_t whole)
{
	(void) fprintf(out, "    %-48s %" PRIu64 " of %" PRIu64 " (%.1f %%)\n", what, part, whole,
			100.0 * (double) part / (double) whole);
}

static void print_times(FILE *out, const char *what, uint64_t *ns, int rounds)
{
	qsort(ns, (size_t) rounds, sizeof(*ns), compare);
	(void) fprintf(out, "    %-48s %" PRIu64 " ns (%" PRIu64 " to %" PRIu64 " in %d rounds)\n",
			what, ns[rounds / 2], ns[0], ns[rounds - 1], rounds);
}

static int measure_rounds(FILE *out, const struct field *f, bool pinned, int rounds)
{
	uint64_t place_ns[ROUNDS], plan_ns[ROUNDS];
	struct figures figures;

	for (int i = 0; i < rounds; i++) {
		if (measure(f, pinned, /* seed= */ 20250119, &figures) < 0)
			return -1;
		place_ns[i] = figures.place_ns / figures.pairs;
		plan_ns[i] = figures.plan_ns / figures.pairs;
	}
	(void) fprintf(out, "  %s\n",
			pinned ? "half of what stands in use, by the throw of a coin"
			       : "nothing in use");
	print_share(out, "pairs with a way", figures.feasible, figures.pairs);
	print_share(out, "pairs with a way by clearing first", figures.clearable, figures.pairs);
	(void) fprintf(out, "    %-48s %.4f\n", "mean operations, ours",
			(double) figures.ours / (double) figures.feasible);
	(void) fprintf(out, "    %-48s %.4f\n", "mean operations, clearing first (where it can)",
			(double) figures.clearing / (double) figures.clearable);
	(void) fprintf(out, "    %-48s %u operations\n", "best single saving", figures.best_saving);
	print_times(out, "one decision (where everything goes)", place_ns, rounds);
	print_times(out, "one plan (with its steps and predictions)", plan_ns, rounds);
	return 0;
}

/* Adds what stands on @gpu to the totals. */
static void add_totals(const struct bh_gpu *gpu, struct bh_total *totals, size_t *n)
{
	for (size_t g = 0; g < gpu->n_gis; g++) {
		const char *name = bh_gpu_find_profile(gpu, gpu->gis[g].profile_id)->name;
		size_t k = 0;

		while (k < *n && strcmp(totals[k].profile, name) != 0)
			k++;
		if (k == *n)
			*n += snprintf(totals[k].profile, sizeof(totals[k].profile), "%s", name) >
			      0;
		totals[k].count++;
	}
}

/* A node by chance, a quarter of what stands in use, and totals that some other layouts have. */
static void make_node(const struct field *f, struct bh_gpu *gpus, size_t n_gpus, uint64_t *dice,
		struct bh_total *totals, size_t *ret_n_totals)
{
	size_t n_totals = 0;

	for (size_t i = 0; i < n_gpus; i++) {
		struct bh_gpu target = f->gpu;

		gpus[i] = f->gpu;
		(void) snprintf(gpus[i].uuid, sizeof(gpus[i].uuid), "GPU-%02zu", i);
		put_layout(f, &gpus[i], roll(dice) % f->layouts.n);
		for (size_t g = 0; g < gpus[i].n_gis; g++)
			gpus[i].gis[g].busy = gpus[i].gis[g].cis[0].busy = roll(dice) % 4 == 0;
		/* a layout that has room for what stays, so that there is an answer */
		for (bool ok = false; !ok;) {
			ok = true;
			put_layout(f, &target, roll(dice) % f->layouts.n);
			for (size_t g = 0; g < gpus[i].n_gis; g++)
				ok = ok &&
				     (!gpus[i].gis[g].busy ||
						     bh_gpu_find_gi(&target,
								     gpus[i].gis[g].profile_id,
								     &gpus[i].gis[g].at));
		}
		add_totals(&target, totals, &n_totals);
	}
	*ret_n_totals = n_totals;
}

/* Wanted totals over a whole node. */
static int measure_nodes(FILE *out, const struct field *f, size_t n_gpus, int nodes)
{
	static const char line[] = "    %2zu GPUs: %6.1f operations, bound %6.1f, proven %d of %d, "
				   "%.2f ms (at most %.2f)\n";
	struct bh_gpu *gpus = calloc(n_gpus, sizeof(*gpus));
	uint64_t dice = 20250122, sum_ns = 0, most_ns = 0;
	double operations = 0, bounds = 0;
	int proven = 0, r = 0;

	if (!gpus)
		return complain("out of memory");
	for (int i = 0; i < nodes && r == 0; i++) {
		struct bh_total totals[BH_GI_PROFILES_MAX] = {0};
		struct bh_transition_problem problem = {
				.gpus = gpus, .n_gpus = n_gpus, .totals = totals};
		struct bh_transition t;
		uint64_t start, ns;

		make_node(f, gpus, n_gpus, &dice, totals, &problem.n_totals);
		start = now_ns();
		r = bh_transition_find(&problem, &t, NULL);
		ns = now_ns() - start;
		sum_ns += ns;
		most_ns = ns > most_ns ? ns : most_ns;
		if (r < 0)
			break;
		operations += t.total;
		bounds += t.lower_bound;
		proven += t.proven;
		bh_transition_free(&t);
	}
	free(gpus);
	if (r < 0)
		return complain("a node that has an answer got none");
	(void) fprintf(out, line, n_gpus, operations / nodes, bounds / nodes, proven, nodes,
			(double) sum_ns / 1e6 / nodes, (double) most_ns / 1e6);
	return 0;
}

int bench_transitions(const struct bench *bench)
{
	static const size_t sizes[] = {1, 8, 16, 64};
	auto_field struct field f = {0};
	int rounds = bench->quick ? 1 : ROUNDS;
	FILE *out = stdout;

	if (field_init(&f) < 0)
		return 1;
	(void) fprintf(out, "transitions: %s, %zu layouts x %zu mixes\n", BOARD, f.layouts.n,
			f.n_mixes);
	if (measure_rounds(out, &f, /* pinned= */ false, rounds) < 0 ||
			measure_rounds(out, &f, /* pinned= */ true, rounds) < 0)
		return 1;
	(void) fprintf(out, "  totals over a node, a quarter of what stands in use\n");
	for (size_t i = 0; i < BH_ARRAY_SIZE(sizes); i++) {
		if (measure_nodes(out, &f, sizes[i], bench->quick ? 3 : NODES) < 0)
			return 1;
	}
	return 0;
}
