/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The online rules once more, as they are defined: all GPUs and all starts are looked at, nothing
 * is kept but the masks and the list of requests.
 */
#ifndef BH_TEST_PLAN_ONLINE_ORACLE_H
#define BH_TEST_PLAN_ONLINE_ORACLE_H

#include "plan/online.h"

struct online_oracle {
	const struct bh_geometry *geo;
	uint32_t n_gpus;
	uint64_t masks[64];	      /* of each GPU */
	double counts[BH_SHAPES_MAX]; /* of requests, decayed */
};

/**
 * online_oracle_note() - a request
 */
void online_oracle_note(struct online_oracle *oracle, uint32_t shape);

/**
 * online_oracle_total() - how many of a shape fit: placed one by one, lowest start first
 */
uint64_t online_oracle_total(const struct online_oracle *oracle, uint32_t shape);

/**
 * online_oracle_choose() - what the policy takes
 */
bool online_oracle_choose(const struct online_oracle *oracle, uint32_t shape,
		enum bh_online_policy policy, struct bh_online_at *ret_at);

#endif
