/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's figures, each beside its floor or peer in the same run. To add a section: a file
 * with one function, its declaration in bench.h, a row here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "gpu/catalogue.h"

static const struct bench_section sections[] = {
		{"fits", "does a demand fit, and how many cards are missing", bench_fleet_fits},
		{"online", "one request, placed at once", bench_online_cost},
		{"transitions", "from every layout to every mix", bench_transitions},
		{"acceptance", "requests accepted, by policy", bench_acceptance},
};

static int usage(void)
{
	(void) fprintf(stderr, "usage: planner [--quick] [--seed N] [SECTION...]\nsections:\n");
	for (size_t i = 0; i < BH_ARRAY_SIZE(sections); i++)
		(void) fprintf(stderr, "  %-12s %s\n", sections[i].name, sections[i].title);
	return 2;
}

static const struct bench_section *section_by_name(const char *name)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(sections); i++) {
		if (strcmp(sections[i].name, name) == 0)
			return &sections[i];
	}
	return NULL;
}

static int run_section(const struct bench *bench, const struct bench_section *section)
{
	uint64_t start = bench_now_ns();
	int wrong;

	(void) printf("== %s: %s\n", section->name, section->title);
	(void) fflush(stdout);
	wrong = section->run(bench);
	if (wrong)
		(void) printf("WRONG: %d answers differ from their check\n", wrong);
	(void) printf("-- %s took %.1f s\n\n", section->name,
			(double) (bench_now_ns() - start) / 1e9);
	(void) fflush(stdout);
	return wrong;
}

int main(int argc, char **argv)
{
	struct bench bench = {.seed = 1, .runs = 7};
	const struct bench_section *chosen[BH_ARRAY_SIZE(sections)];
	size_t n_chosen = 0;
	struct bh_gpu gpu = {0};
	struct bh_error err = {0};
	int wrong = 0;

	for (int i = 1; i < argc; i++) {
		const struct bench_section *section = section_by_name(argv[i]);

		if (strcmp(argv[i], "--quick") == 0)
			bench.quick = true;
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			bench.seed = strtoull(argv[++i], NULL, 0);
		else if (section && n_chosen < BH_ARRAY_SIZE(chosen))
			chosen[n_chosen++] = section;
		else
			return usage();
	}
	if (bench.quick)
		bench.runs = 2;
	bh_model_describe(bh_catalogue_by_slug("h100-sxm5-80gb"), &gpu);
	if (bh_geometry_init(&gpu, &bench.geo, &err) < 0) {
		(void) fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	(void) printf("planner%s, seed %" PRIu64 ", %d runs; nanoseconds: median (min-max)\n\n",
			bench.quick ? ", quick: the figures mean nothing" : "", bench.seed,
			bench.runs);
	for (size_t i = 0; i < (n_chosen ? n_chosen : BH_ARRAY_SIZE(sections)); i++)
		wrong += run_section(&bench, n_chosen ? chosen[i] : &sections[i]);
	return wrong ? 1 : 0;
}
