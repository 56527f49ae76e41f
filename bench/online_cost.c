/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one request costs: the decision, taking the place, and giving it back later. The stream is
 * served once to write down what happens; then what happened is replayed, so that neither the queue
 * of departures nor the drawing of requests is in the figures. The time is that of everything
 * replayed, divided by the number of requests. Who looks at every GPU replays the same, and must
 * come to the same places; of large fleets it replays only a part.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "online_scan.h"
#include "stream.h"

#define LOAD 0.9

enum op_kind {
	OP_PLACED,
	OP_REFUSED,
	OP_RELEASED,
};

struct op {
	uint32_t gpu;
	uint8_t kind, shape, place;
};

/* What happened with one policy on one fleet. */
struct trace {
	const struct bh_geometry *geo;
	uint32_t n_gpus;
	enum bh_online_policy policy;
	struct op *ops; /* owned */
	size_t n_ops, n_warm, n_scan_end;
	int wrong;
};

static const enum bh_online_policy policies[] = {BH_ONLINE_SCARCITY, BH_ONLINE_PACK, BH_ONLINE_FGD};
static const uint32_t sizes[] = {8, 100, 1000, 10000};

static struct bh_online *new_fleet(const struct trace *trace)
{
	struct bh_online *online = NULL;

	if (bh_online_new(trace->geo, trace->n_gpus, &online, NULL) < 0)
		abort();
	return online;
}

static void record(struct trace *trace, const struct stream *stream)
{
	struct bh_online_at *at = bench_alloc(stream->n_requests, sizeof(*at));
	struct bh_online *online = new_fleet(trace);

	trace->ops = bench_alloc(stream->n_requests, 2 * sizeof(*trace->ops));
	for (size_t e = 0; e < (size_t) stream->n_requests * 2; e++) {
		uint32_t i = stream->events[e].request;
		struct op op = {.kind = OP_RELEASED};

		if (stream->events[e].departs && at[i].gpu == UINT32_MAX)
			continue;
		if (stream->events[e].departs) {
			bh_online_release(online, &at[i]);
		} else if (bh_online_place(online, stream->shapes[i], trace->policy, &at[i])) {
			op.kind = OP_PLACED;
		} else {
			op.kind = OP_REFUSED;
			at[i] = (struct bh_online_at){UINT32_MAX, stream->shapes[i], 0};
		}
		op.gpu = at[i].gpu;
		op.shape = (uint8_t) at[i].shape;
		op.place = (uint8_t) at[i].place;
		trace->ops[trace->n_ops++] = op;
		/* the last arrival: after it the fleet only empties */
		if (op.kind != OP_RELEASED && i == stream->n_requests - 1)
			break;
	}
	bh_online_free(online);
	free(at);
}

static bool is_at(const struct op *op, const struct bh_online_at *at, bool placed)
{
	return placed ? op->kind == OP_PLACED && op->gpu == at->gpu && op->place == at->place
		      : op->kind == OP_REFUSED;
}

static uint32_t replay(struct trace *trace, struct bh_online *online, size_t from, size_t to)
{
	uint32_t requests = 0;

	for (size_t i = from; i < to; i++) {
		const struct op *op = &trace->ops[i];
		struct bh_online_at at = {op->gpu, op->shape, op->place};
		bool placed;

		if (op->kind == OP_RELEASED) {
			bh_online_release(online, &at);
			continue;
		}
		placed = bh_online_place(online, op->shape, trace->policy, &at);
		trace->wrong += !is_at(op, &at, placed);
		requests++;
	}
	return requests;
}

static double time_replay(void *arg)
{
	struct trace *trace = arg;
	struct bh_online *online = new_fleet(trace);
	uint32_t requests;
	uint64_t start;
	double ns;

	(void) replay(trace, online, 0, trace->n_warm);
	start = bench_now_ns();
	requests = replay(trace, online, trace->n_warm, trace->n_ops);
	ns = (double) (bench_now_ns() - start) / requests;
	bh_online_free(online);
	return ns;
}

static uint32_t scan(
		struct trace *trace, struct online_scan *scan, size_t from, size_t to, bool choose)
{
	uint32_t requests = 0;

	for (size_t i = from; i < to; i++) {
		const struct op *op = &trace->ops[i];
		struct bh_online_at at = {op->gpu, op->shape, op->place};
		uint32_t units = (uint32_t) trace->geo->shapes[op->shape].masks[op->place];
		bool placed = op->kind == OP_PLACED;

		if (op->kind == OP_RELEASED) {
			online_scan_set_mask(scan, op->gpu, scan->masks[op->gpu] & ~units);
			continue;
		}
		online_scan_note(scan, op->shape);
		if (choose) {
			placed = online_scan_choose(scan, op->shape, trace->policy, &at);
			trace->wrong += !is_at(op, &at, placed);
		}
		if (op->kind == OP_PLACED)
			online_scan_set_mask(scan, op->gpu, scan->masks[op->gpu] | units);
		requests++;
	}
	return requests;
}

static double time_scan(void *arg)
{
	struct trace *trace = arg;
	struct online_scan peer = {.geo = trace->geo,
			.n_gpus = trace->n_gpus,
			.masks = bench_alloc(trace->n_gpus, 1)};
	uint32_t requests;
	uint64_t start;
	double ns;

	for (uint32_t s = 0; s < trace->geo->n_shapes; s++)
		peer.totals[s] = (uint64_t) trace->n_gpus * trace->geo->most[0][s];
	(void) scan(trace, &peer, 0, trace->n_warm, /* choose= */ false);
	start = bench_now_ns();
	requests = scan(trace, &peer, trace->n_warm, trace->n_scan_end, /* choose= */ true);
	ns = (double) (bench_now_ns() - start) / requests;
	free(peer.masks);
	return ns;
}

static void trace_init(const struct bench *bench, struct trace *trace, uint32_t n_gpus,
		enum bh_online_policy policy)
{
	const struct stream_mix *mix = &stream_mixes[0];
	double lifetime = stream_lifetime(&bench->geo, mix, LOAD, n_gpus);
	uint32_t warm = (uint32_t) (5 * lifetime) + 1000;
	uint32_t timed = bench->quick ? 500 : 100000;
	uint32_t scanned = bench->quick ? 20 : 3000000 / (n_gpus + 30);
	struct stream stream;
	uint32_t requests = 0;

	if (bench->quick)
		warm = (uint32_t) lifetime;
	*trace = (struct trace){.geo = &bench->geo, .n_gpus = n_gpus, .policy = policy};
	stream_init(&stream, &bench->geo, mix, LOAD, n_gpus, warm + timed, bench->seed + n_gpus);
	record(trace, &stream);
	for (size_t i = 0; i < trace->n_ops; i++) {
		requests += trace->ops[i].kind != OP_RELEASED;
		if (requests <= warm)
			trace->n_warm = i + 1;
		if (requests <= warm + scanned)
			trace->n_scan_end = i + 1;
	}
	stream_free(&stream);
}

static void judge(const struct bench *bench, const struct bench_cell *cells)
{
	size_t stride = 2 * BH_ARRAY_SIZE(policies), last = stride * (BH_ARRAY_SIZE(sizes) - 1);
	double worst = 0, growth = bench_ratio(bench, &cells[last], &cells[0]);

	for (size_t i = 0; i < BH_ARRAY_SIZE(sizes); i++)
		worst = cells[i * stride].median > worst ? cells[i * stride].median : worst;
	(void) printf("goal: scarcity at most 1000 ns a request: %s (%.0f)\n",
			worst <= 1000 ? "holds" : "MISSED", worst);
	(void) printf("goal: scarcity grows at most 1.2 times from %u to %u GPUs: %s (%.2f)\n",
			sizes[0], sizes[BH_ARRAY_SIZE(sizes) - 1],
			growth <= 1.2 ? "holds" : "MISSED", growth);
}

int bench_online_cost(const struct bench *bench)
{
	enum { TRACES = BH_ARRAY_SIZE(sizes) * BH_ARRAY_SIZE(policies) };
	struct bench_cell cells[2 * TRACES] = {0};
	struct trace traces[TRACES];
	size_t n = 0;
	int wrong = 0;

	for (size_t i = 0; i < BH_ARRAY_SIZE(sizes); i++) {
		for (size_t p = 0; p < BH_ARRAY_SIZE(policies); p++, n++) {
			trace_init(bench, &traces[n], sizes[i], policies[p]);
			cells[2 * n] = (struct bench_cell){.run = time_replay, .arg = &traces[n]};
			cells[2 * n + 1] = (struct bench_cell){.run = time_scan, .arg = &traces[n]};
		}
	}
	bench_measure(bench, cells, 2 * n);
	(void) printf("uniform mix, load %.1f; a request with its place taken and given back, "
		      "queue of "
		      "departures not counted\n%6s",
			LOAD, "GPUs");
	for (size_t p = 0; p < BH_ARRAY_SIZE(policies); p++)
		(void) printf(" %26s %26s", bh_online_policy_name(policies[p]), "naive scan");
	(void) printf("\n");
	for (size_t i = 0; i < n; i++) {
		if (i % BH_ARRAY_SIZE(policies) == 0)
			(void) printf("%6u", traces[i].n_gpus);
		bench_print(&cells[2 * i]);
		bench_print(&cells[2 * i + 1]);
		if (i % BH_ARRAY_SIZE(policies) == BH_ARRAY_SIZE(policies) - 1)
			(void) printf("\n");
		wrong += traces[i].wrong;
		free(traces[i].ops);
	}
	judge(bench, cells);
	return wrong;
}
