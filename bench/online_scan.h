/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who looks at every GPU for every request, with the same rules and the same tables: the peer of
 * the index by masks.
 */
#ifndef BH_BENCH_ONLINE_SCAN_H
#define BH_BENCH_ONLINE_SCAN_H

#include "plan/online.h"

struct online_scan {
	const struct bh_geometry *geo;
	uint32_t n_gpus;
	uint8_t *masks; /* owned by who made it */
	uint64_t totals[BH_SHAPES_MAX];
	double counts[BH_SHAPES_MAX];
};

/**
 * online_scan_note() - a request has come
 */
void online_scan_note(struct online_scan *scan, uint32_t shape);

/**
 * online_scan_set_mask() - what is occupied on a GPU
 */
void online_scan_set_mask(struct online_scan *scan, uint32_t gpu, uint32_t mask);

/**
 * online_scan_choose() - scarcity, pack or FGD, by looking at all GPUs
 */
bool online_scan_choose(const struct online_scan *scan, uint32_t shape,
		enum bh_online_policy policy, struct bh_online_at *ret_at);

#endif
