/* SPDX-License-Identifier: Apache-2.0 */
/* Why a wish does not fit, in words: the condition that fails, what is in the way, who holds that. */
#ifndef BH_PLAN_FIT_REASON_H
#define BH_PLAN_FIT_REASON_H

#include "plan/fit.h"

struct bh_reason {
	const struct bh_occupancy *rooms;
	size_t n_rooms;
	const struct bh_ask *asks; /* widest first */
	size_t failing;		   /* the ask that finds no place beside those before it */
	uint64_t found;		   /* how many of it do */
	bool has_shortage;	   /* of the closed form */
	struct bh_shortage shortage;
};

/**
 * bh_reason_write() - make the certificate
 * @reason: borrowed
 * @ret:    written
 */
void bh_reason_write(const struct bh_reason *reason, struct bh_certificate *ret);

#endif
