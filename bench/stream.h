/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of requests: Poisson arrivals, exponential lifetimes, shapes drawn from a mix. A stream
 * does not depend on who serves it, so that all policies see the same one: the order of arrivals
 * and of the departures that they would have is worked out once.
 */
#ifndef BH_BENCH_STREAM_H
#define BH_BENCH_STREAM_H

#include "bench.h"

#define STREAM_MIXES 4

/* Shares by role: 1g, 1g with double memory, 2g, 3g, 4g, 7g. */
struct stream_mix {
	const char *name;
	double share[BH_ROLES];
};

extern const struct stream_mix stream_mixes[STREAM_MIXES];

struct stream_event {
	uint32_t request; /* which; from 0, by time of arrival */
	bool departs;
};

struct stream {
	uint32_t n_requests;
	uint8_t *shapes;	     /* owned; of each request */
	struct stream_event *events; /* owned; 2 * n_requests by time */
};

/**
 * stream_init() - draw one
 * @load: memory units in use, were all accepted, as a share of what there is
 */
void stream_init(struct stream *stream, const struct bh_geometry *geo, const struct stream_mix *mix,
		double load, uint32_t n_gpus, uint32_t n_requests, uint64_t seed);

/**
 * stream_lifetime() - how many requests arrive, on average, while one instance lives
 */
double stream_lifetime(const struct bh_geometry *geo, const struct stream_mix *mix, double load,
		uint32_t n_gpus);

/**
 * stream_free() - free what it owns
 */
void stream_free(struct stream *stream);

#endif
