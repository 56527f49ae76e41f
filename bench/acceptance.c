/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of what is asked for is accepted, by policy, on the same streams; nothing is moved, and
 * what fits is never refused. "repack" may move everything at no cost: it accepts a request when
 * all that is held, and it, fit on as many empty GPUs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/fleet.h"
#include "plan/online.h"
#include "stream.h"

#define SEEDS_MAX 8
#define REPACK	  BH_ONLINE_POLICY_COUNT
#define SERVERS	  (BH_ONLINE_POLICY_COUNT + 1)
#define NOWHERE	  UINT32_MAX

/* The goal: a cell may be this much worse than FGD. */
#define SLACK	  0.003

static const double loads[] = {0.7, 0.8, 0.9, 0.95, 1.2};

struct score {
	double requests, slices; /* shares that were accepted */
};

struct cell {
	double load;
	const struct stream_mix *mix;
	uint32_t n_gpus;
	struct score scores[SERVERS][SEEDS_MAX];
};

struct counter {
	const struct bh_geometry *geo;
	uint64_t asked, accepted, slices_asked, slices_accepted;
};

static void count(struct counter *counter, uint32_t shape, bool accepted)
{
	uint32_t size = counter->geo->shapes[shape].size;

	counter->asked++;
	counter->slices_asked += size;
	counter->accepted += accepted;
	counter->slices_accepted += accepted ? size : 0;
}

static struct score score_of(const struct counter *counter)
{
	return (struct score){(double) counter->accepted / (double) counter->asked,
			(double) counter->slices_accepted / (double) counter->slices_asked};
}

static struct score serve(const struct bh_geometry *geo, const struct stream *stream,
		uint32_t n_gpus, enum bh_online_policy policy)
{
	struct bh_online_at *at = bench_alloc(stream->n_requests, sizeof(*at));
	struct counter counter = {.geo = geo};
	struct bh_online *online = NULL;

	if (bh_online_new(geo, n_gpus, &online, NULL) < 0)
		abort();
	for (size_t e = 0; e < (size_t) stream->n_requests * 2; e++) {
		uint32_t i = stream->events[e].request;
		bool accepted;

		if (stream->events[e].departs) {
			if (at[i].gpu != NOWHERE)
				bh_online_release(online, &at[i]);
			continue;
		}
		accepted = bh_online_place(online, stream->shapes[i], policy, &at[i]);
		if (!accepted)
			at[i].gpu = NOWHERE;
		if (i >= stream->n_requests / 5)
			count(&counter, stream->shapes[i], accepted);
	}
	bh_online_free(online);
	free(at);
	return score_of(&counter);
}

static struct score serve_with_moves(
		const struct bh_geometry *geo, const struct stream *stream, uint32_t n_gpus)
{
	bool *held = bench_alloc(stream->n_requests, sizeof(*held));
	struct counter counter = {.geo = geo};
	struct bh_fleet empty = {0};
	struct bh_demand demand = {0};

	bh_fleet_add(&empty, geo->kind, 0, n_gpus);
	for (size_t e = 0; e < (size_t) stream->n_requests * 2; e++) {
		uint32_t i = stream->events[e].request;
		enum bh_shape_role role = geo->shapes[stream->shapes[i]].role;

		if (stream->events[e].departs) {
			demand.n[role] -= held[i];
			continue;
		}
		demand.n[role]++;
		held[i] = bh_fleet_fits(&empty, geo->kind, &demand, NULL);
		demand.n[role] -= !held[i];
		if (i >= stream->n_requests / 5)
			count(&counter, stream->shapes[i], held[i]);
	}
	free(held);
	return score_of(&counter);
}

static void run_cell(const struct bench *bench, struct cell *cell, int n_seeds)
{
	/* small fleets differ most from seed to seed */
	uint32_t n_requests = bench->quick ? 2000 : cell->n_gpus < 100 ? 200000 : 100000;

	for (int seed = 0; seed < n_seeds; seed++) {
		struct stream stream;

		stream_init(&stream, &bench->geo, cell->mix, cell->load, cell->n_gpus, n_requests,
				bench->seed * 1000003 + (uint64_t) seed);
		for (uint32_t p = 0; p < BH_ONLINE_POLICY_COUNT; p++)
			cell->scores[p][seed] = serve(&bench->geo, &stream, cell->n_gpus, p);
		cell->scores[REPACK][seed] = serve_with_moves(&bench->geo, &stream, cell->n_gpus);
		stream_free(&stream);
	}
}

/* Mean over seeds of the difference to another server (or of the score itself), and its error. */
static struct score mean_of(const struct cell *cell, uint32_t server, int other, int n_seeds,
		struct score *ret_error)
{
	struct score mean = {0}, squares = {0};

	for (int seed = 0; seed < n_seeds; seed++) {
		struct score s = cell->scores[server][seed];

		if (other >= 0) {
			s.requests -= cell->scores[other][seed].requests;
			s.slices -= cell->scores[other][seed].slices;
		}
		mean.requests += s.requests / n_seeds;
		mean.slices += s.slices / n_seeds;
		squares.requests += s.requests * s.requests / n_seeds;
		squares.slices += s.slices * s.slices / n_seeds;
	}
	ret_error->requests = sqrt(
			fmax(0, squares.requests - mean.requests * mean.requests) / (n_seeds - 1));
	ret_error->slices =
			sqrt(fmax(0, squares.slices - mean.slices * mean.slices) / (n_seeds - 1));
	return mean;
}

static const char *server_name(uint32_t server)
{
	return server == REPACK ? "repack (bound)"
				: bh_online_policy_name((enum bh_online_policy) server);
}

/* A row a policy, a column a mix; the four cells of one load and size. */
static void print_cells(const struct cell *cells, int n_seeds)
{
	(void) printf("%u GPUs, load %.2f: share of requests (of slices), standard errors below\n",
			cells[0].n_gpus, cells[0].load);
	(void) printf("%-16s", "");
	for (int m = 0; m < STREAM_MIXES; m++)
		(void) printf(" %17s", cells[m].mix->name);
	(void) printf("\n");
	for (uint32_t server = 0; server < SERVERS; server++) {
		struct score errors[STREAM_MIXES];

		(void) printf("%-16s", server_name(server));
		for (int m = 0; m < STREAM_MIXES; m++) {
			struct score mean = mean_of(&cells[m], server, -1, n_seeds, &errors[m]);

			(void) printf("   %.4f (%.4f)", mean.requests, mean.slices);
		}
		(void) printf("\n%-16s", "");
		for (int m = 0; m < STREAM_MIXES; m++)
			(void) printf("   %.4f (%.4f)", errors[m].requests, errors[m].slices);
		(void) printf("\n");
	}
	(void) fflush(stdout);
}

static void print_gain(const char *what, const struct cell *cell, int n_seeds)
{
	struct score error;
	struct score gain = mean_of(cell, BH_ONLINE_SCARCITY, BH_ONLINE_FGD, n_seeds, &error);

	(void) printf("  %s: %u GPUs, load %.2f, %s: %+.3f points of requests to FGD (error %.3f), "
		      "%+.3f of slices (error %.3f)\n",
			what, cell->n_gpus, cell->load, cell->mix->name, 100 * gain.requests,
			100 * error.requests, 100 * gain.slices, 100 * error.slices);
}

static void judge_cells(const struct cell *cells, size_t n_cells, int n_seeds)
{
	size_t n_worse = 0, n_ahead = 0, worst = 0;
	double least = 1;

	for (size_t i = 0; i < n_cells; i++) {
		struct score error;
		struct score gain = mean_of(
				&cells[i], BH_ONLINE_SCARCITY, BH_ONLINE_FGD, n_seeds, &error);

		n_ahead += gain.requests > 0;
		if (gain.requests < least) {
			least = gain.requests;
			worst = i;
		}
		if (gain.requests >= -SLACK)
			continue;
		n_worse++;
		print_gain("missed", &cells[i], n_seeds);
	}
	print_gain("furthest behind", &cells[worst], n_seeds);
	(void) printf("goal: scarcity >= FGD - %.1f points of requests in each cell: %s (%zu of "
		      "%zu cells; ahead of FGD in %zu)\n",
			100 * SLACK, n_worse ? "MISSED" : "holds", n_cells - n_worse, n_cells,
			n_ahead);
}

static void judge_means(const struct cell *cells, size_t n_cells, int n_seeds)
{
	struct score means[SERVERS] = {0};
	bool best_requests = true, best_slices = true;

	for (uint32_t server = 0; server < SERVERS; server++) {
		for (size_t i = 0; i < n_cells; i++) {
			struct score error;
			struct score mean = mean_of(&cells[i], server, -1, n_seeds, &error);

			means[server].requests += mean.requests / (double) n_cells;
			means[server].slices += mean.slices / (double) n_cells;
		}
		(void) printf("mean of all cells: %-16s %.5f (%.5f)\n", server_name(server),
				means[server].requests, means[server].slices);
		if (server == BH_ONLINE_SCARCITY || server == REPACK)
			continue;
		best_requests = best_requests &&
				means[BH_ONLINE_SCARCITY].requests > means[server].requests;
		best_slices = best_slices &&
			      means[BH_ONLINE_SCARCITY].slices > means[server].slices;
	}
	(void) printf("goal: scarcity strictly best on the mean: %s of requests, %s of slices\n",
			best_requests ? "holds" : "MISSED", best_slices ? "holds" : "MISSED");
}

/* How far ahead of FGD on the mean of all cells, and how sure that is: seed by seed. */
static void judge_lead(const struct cell *cells, size_t n_cells, int n_seeds)
{
	struct cell mean = {0};
	struct score error, lead;

	for (size_t i = 0; i < n_cells; i++) {
		for (uint32_t server = 0; server < SERVERS; server++) {
			for (int seed = 0; seed < n_seeds; seed++) {
				struct score s = cells[i].scores[server][seed];

				mean.scores[server][seed].requests += s.requests / (double) n_cells;
				mean.scores[server][seed].slices += s.slices / (double) n_cells;
			}
		}
	}
	lead = mean_of(&mean, BH_ONLINE_SCARCITY, BH_ONLINE_FGD, n_seeds, &error);
	(void) printf("scarcity before FGD on the mean: %+.3f points of requests (error %.3f), "
		      "%+.3f "
		      "of slices (error %.3f)\n",
			100 * lead.requests, 100 * error.requests, 100 * lead.slices,
			100 * error.slices);
}

/* Of what free moves would gain over pack, how much is gained without moves. */
static void judge_gap(const struct cell *cells, size_t n_cells, int n_seeds)
{
	for (size_t i = 0; i < n_cells; i++) {
		struct score error, gain, gap;

		if (cells[i].n_gpus != 100 || cells[i].load != 0.9)
			continue;
		gain = mean_of(&cells[i], BH_ONLINE_SCARCITY, BH_ONLINE_PACK, n_seeds, &error);
		gap = mean_of(&cells[i], REPACK, BH_ONLINE_PACK, n_seeds, &error);
		(void) printf("100 GPUs, load 0.90, %s: scarcity closes %.0f %% of the gap from "
			      "pack "
			      "to repack (slices)\n",
				cells[i].mix->name, 100 * gain.slices / gap.slices);
		if (cells[i].mix == &stream_mixes[1])
			(void) printf("goal: at least 40 %% of it on skew-small: %s\n",
					gain.slices >= 0.4 * gap.slices ? "holds" : "MISSED");
	}
}

int bench_acceptance(const struct bench *bench)
{
	static const uint32_t sizes[] = {8, 100, 1000};
	size_t n_sizes = bench->quick ? 2 : BH_ARRAY_SIZE(sizes), n = 0;
	struct cell *cells =
			bench_alloc(n_sizes * BH_ARRAY_SIZE(loads) * STREAM_MIXES, sizeof(*cells));
	int n_seeds = bench->quick ? 2 : 5;

	for (size_t g = 0; g < n_sizes; g++) {
		for (size_t l = 0; l < BH_ARRAY_SIZE(loads); l++) {
			for (size_t m = 0; m < STREAM_MIXES; m++) {
				cells[n].n_gpus = sizes[g];
				cells[n].load = loads[l];
				cells[n].mix = &stream_mixes[m];
				run_cell(bench, &cells[n++], n_seeds);
			}
			print_cells(&cells[n - STREAM_MIXES], n_seeds);
		}
	}
	judge_cells(cells, n, n_seeds);
	judge_means(cells, n, n_seeds);
	judge_lead(cells, n, n_seeds);
	judge_gap(cells, n, n_seeds);
	free(cells);
	return 0;
}
