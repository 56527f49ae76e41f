/* SPDX-License-Identifier: Apache-2.0 */
/* What may be done with an instance or a GPU as it was observed: who is on it, and whose it is. */
#ifndef BH_PLAN_ROLE_H
#define BH_PLAN_ROLE_H

#include "gpu/inventory.h"

/* What a search may do with an instance that is there. */
enum bh_gi_role {
	BH_GI_IDLE,   /* may stay (and then counts) or go */
	BH_GI_PINNED, /* stays, and counts */
	BH_GI_ALIEN,  /* stays, and does not count */
};

/**
 * bh_gi_role() - of an instance, by who is in it and whose it is
 * @gi: borrowed
 *
 * Pinned is also an instance of ours with a compute instance of somebody else in it.
 */
enum bh_gi_role bh_gi_role(const struct bh_gi *gi);

/**
 * bh_gi_can_move() - may it be destroyed here and made anew elsewhere
 * @gpu: borrowed; its holders must be known, unknown is not nobody
 * @gi:  of it
 */
bool bh_gi_can_move(const struct bh_gpu *gpu, const struct bh_gi *gi);

/**
 * bh_gpu_is_held() - does somebody hold the GPU as a whole
 * @gpu: borrowed
 */
bool bh_gpu_is_held(const struct bh_gpu *gpu);

/**
 * bh_gi_set_free() - suppose that nobody were in an instance, or that all of it were ours
 * @gi:           changed, with its compute instances
 * @of_strangers: false: nobody is in it; true: nothing of it is a stranger's
 *
 * For asking what stands in the way. Return: whether anything changed.
 */
bool bh_gi_set_free(struct bh_gi *gi, bool of_strangers);

#endif
