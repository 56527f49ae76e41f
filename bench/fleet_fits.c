/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed form on its six counters, beside who keeps no counters and reads the mask of every GPU
 * again for each question; that one finds the number of missing cards by adding one at a time.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "plan/fleet.h"
#include "plan/layouts.h"

#define DEMANDS 64

struct fits {
	enum bh_geometry_kind kind;
	uint32_t n_gpus;
	uint8_t *masks; /* owned */
	struct bh_fleet fleet;
	struct bh_demand demands[DEMANDS], batches[DEMANDS];
	uint32_t rounds, peer_questions;
	uint64_t sum; /* keeps the answers alive */
};

static double per(uint64_t start, uint64_t n)
{
	return (double) (bench_now_ns() - start) / (double) n;
}

static double time_fits(void *arg)
{
	struct fits *fits = arg;
	uint64_t start = bench_now_ns();

	for (uint32_t round = 0; round < fits->rounds; round++) {
		for (uint32_t d = 0; d < DEMANDS; d++)
			fits->sum += bh_fleet_fits(
					&fits->fleet, fits->kind, &fits->demands[d], NULL);
	}
	return per(start, (uint64_t) fits->rounds * DEMANDS);
}

static double time_missing(void *arg)
{
	struct fits *fits = arg;
	uint32_t rounds = fits->rounds / 8 + 1;
	uint64_t start = bench_now_ns();

	for (uint32_t round = 0; round < rounds; round++) {
		for (uint32_t d = 0; d < DEMANDS; d++)
			fits->sum += bh_fleet_cards_missing(
					&fits->fleet, fits->kind, &fits->batches[d]);
	}
	return per(start, (uint64_t) rounds * DEMANDS);
}

static struct bh_fleet recount(const struct fits *fits)
{
	struct bh_fleet fleet = {0};

	for (uint32_t gpu = 0; gpu < fits->n_gpus; gpu++)
		bh_fleet_add(&fleet, fits->kind, fits->masks[gpu], 1);
	return fleet;
}

static bool peer_fits(const struct fits *fits, const struct bh_demand *demand)
{
	struct bh_fleet fleet = recount(fits);

	return bh_fleet_fits(&fleet, fits->kind, demand, NULL);
}

static uint64_t peer_missing(const struct fits *fits, const struct bh_demand *demand)
{
	struct bh_fleet fleet = recount(fits);
	uint64_t n = 0;

	for (; !bh_fleet_fits(&fleet, fits->kind, demand, NULL); n++)
		bh_fleet_add(&fleet, fits->kind, 0, 1);
	return n;
}

static double time_peer_fits(void *arg)
{
	struct fits *fits = arg;
	uint64_t start = bench_now_ns();

	for (uint32_t q = 0; q < fits->peer_questions; q++)
		fits->sum += peer_fits(fits, &fits->demands[q % DEMANDS]);
	return per(start, fits->peer_questions);
}

static double time_peer_missing(void *arg)
{
	struct fits *fits = arg;
	uint64_t start = bench_now_ns();

	for (uint32_t q = 0; q < fits->peer_questions; q++)
		fits->sum += peer_missing(fits, &fits->batches[q % DEMANDS]);
	return per(start, fits->peer_questions);
}

/* Takes what there is until the next instance would be one too many; then maybe that one, too. */
static struct bh_demand draw_demand(const struct fits *fits, struct bench_dice *dice)
{
	struct bh_demand demand = {0};
	uint32_t chunk = fits->n_gpus / 8;

	for (;;) {
		struct bh_demand more = demand;

		more.n[bench_roll(dice, BH_ROLES)] += 1 + bench_roll(dice, chunk);
		if (!bh_fleet_fits(&fits->fleet, fits->kind, &more, NULL))
			return bench_roll(dice, 2) ? more : demand;
		demand = more;
	}
}

static int prepare(const struct bench *bench, const struct bh_layouts *layouts, uint32_t n_gpus,
		struct fits *fits)
{
	struct bench_dice dice = {bench->seed + n_gpus};
	int wrong = 0, fitting = 0;

	*fits = (struct fits){.kind = bench->geo.kind,
			.n_gpus = n_gpus,
			.masks = bench_alloc(n_gpus, 1),
			.rounds = bench->quick ? 10 : 20000,
			.peer_questions = bench->quick ? 8 : 4000000 / (n_gpus + 100)};
	for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
		fits->masks[gpu] =
				(uint8_t) layouts->items[bench_roll(&dice, (uint32_t) layouts->n)]
						.mask;
	fits->masks[0] = 0;
	fits->fleet = recount(fits);
	for (uint32_t d = 0; d < DEMANDS; d++) {
		fits->demands[d] = draw_demand(fits, &dice);
		for (uint32_t role = 0; role < BH_ROLES; role++)
			fits->batches[d].n[role] = bench_roll(&dice, n_gpus);
		fitting += peer_fits(fits, &fits->demands[d]);
		wrong += peer_fits(fits, &fits->demands[d]) !=
			 bh_fleet_fits(&fits->fleet, fits->kind, &fits->demands[d], NULL);
		wrong += peer_missing(fits, &fits->batches[d]) !=
			 bh_fleet_cards_missing(&fits->fleet, fits->kind, &fits->batches[d]);
	}
	(void) printf("%6u GPUs: %d of %d demands fit\n", n_gpus, fitting, DEMANDS);
	return wrong;
}

static void judge(const struct bench_cell *cells, size_t n_cells, size_t stride, const char *what)
{
	double worst = 0;

	for (size_t i = 0; i < n_cells; i += stride)
		worst = cells[i].median > worst ? cells[i].median : worst;
	(void) printf("goal: %s at most 1000 ns: %s (%.0f)\n", what,
			worst <= 1000 ? "holds" : "MISSED", worst);
}

int bench_fleet_fits(const struct bench *bench)
{
	static const uint32_t sizes[] = {8, 100, 1000, 10000};
	static double (*const runs[])(void *) = {
			time_fits, time_peer_fits, time_missing, time_peer_missing};
	struct bench_cell cells[BH_ARRAY_SIZE(sizes) * BH_ARRAY_SIZE(runs)] = {0};
	struct fits fits[BH_ARRAY_SIZE(sizes)];
	struct bh_layouts layouts;
	size_t n = 0;
	int wrong = 0;

	if (bh_layouts_init(&bench->geo, &layouts, NULL) < 0)
		return 1;
	for (size_t i = 0; i < BH_ARRAY_SIZE(sizes); i++) {
		wrong += prepare(bench, &layouts, sizes[i], &fits[i]);
		for (size_t r = 0; r < BH_ARRAY_SIZE(runs); r++)
			cells[n++] = (struct bench_cell){.run = runs[r], .arg = &fits[i]};
	}
	bench_measure(bench, cells, n);
	(void) printf("%6s %26s %26s %26s %26s\n", "GPUs", "fits", "fits, naive", "cards missing",
			"cards missing, naive");
	for (size_t i = 0; i < BH_ARRAY_SIZE(sizes); i++) {
		(void) printf("%6u", sizes[i]);
		for (size_t r = 0; r < BH_ARRAY_SIZE(runs); r++)
			bench_print(&cells[i * BH_ARRAY_SIZE(runs) + r]);
		(void) printf("\n");
		free(fits[i].masks);
	}
	judge(cells, n, BH_ARRAY_SIZE(runs), "whether a demand fits");
	judge(cells + 2, n - 2, BH_ARRAY_SIZE(runs), "how many cards are missing");
	bh_layouts_free(&layouts);
	return wrong;
}
