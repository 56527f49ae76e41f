/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <math.h>

const struct stream_mix stream_mixes[STREAM_MIXES] = {
		{"uniform", {1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0}},
		{"skew-small", {.50, .15, .15, .10, .05, .05}},
		{"skew-big", {.05, .05, .10, .20, .25, .35}},
		{"bimodal", {.35, .10, .05, .05, .10, .35}},
};

struct moment {
	double time;
	struct stream_event event;
};

static int by_time(const void *a, const void *b)
{
	const struct moment *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return (int) right->event.departs - (int) left->event.departs;
}

static uint8_t draw_shape(const struct bh_geometry *geo, const struct stream_mix *mix,
		struct bench_dice *dice)
{
	double left = bench_fraction(dice);
	uint32_t role = 0;

	while (role < BH_ROLES - 1 && left > mix->share[role])
		left -= mix->share[role++];
	return (uint8_t) geo->by_role[role];
}

double stream_lifetime(const struct bh_geometry *geo, const struct stream_mix *mix, double load,
		uint32_t n_gpus)
{
	double size = 0;

	for (uint32_t role = 0; role < BH_ROLES; role++)
		size += mix->share[role] * geo->shapes[geo->by_role[role]].size;
	return load * geo->units * n_gpus / size;
}

void stream_init(struct stream *stream, const struct bh_geometry *geo, const struct stream_mix *mix,
		double load, uint32_t n_gpus, uint32_t n_requests, uint64_t seed)
{
	struct moment *moments = bench_alloc(n_requests, 2 * sizeof(*moments));
	double rate = stream_lifetime(geo, mix, load, n_gpus), now = 0;
	struct bench_dice dice = {seed};

	stream->n_requests = n_requests;
	stream->shapes = bench_alloc(n_requests, sizeof(*stream->shapes));
	stream->events = bench_alloc(n_requests, 2 * sizeof(*stream->events));
	for (uint32_t i = 0; i < n_requests; i++) {
		now -= log(bench_fraction(&dice)) / rate;
		stream->shapes[i] = draw_shape(geo, mix, &dice);
		moments[2 * i] = (struct moment){now, {i, false}};
		moments[2 * i + 1] = (struct moment){now - log(bench_fraction(&dice)), {i, true}};
	}
	qsort(moments, (size_t) n_requests * 2, sizeof(*moments), by_time);
	for (size_t i = 0; i < (size_t) n_requests * 2; i++)
		stream->events[i] = moments[i].event;
	free(moments);
}

void stream_free(struct stream *stream)
{
	free(stream->shapes);
	free(stream->events);
	*stream = (struct stream){0};
}
