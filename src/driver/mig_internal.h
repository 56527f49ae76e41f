/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operations on the mode, on GPU instances and on compute instances share.
 */
#ifndef BH_DRIVER_MIG_INTERNAL_H
#define BH_DRIVER_MIG_INTERNAL_H

#include "driver/mig.h"

/**
 * bh_mig_read_back() - fill @after
 * @board: borrowed
 * @after: filled
 * @err:   why it is not known; NULL where an earlier error matters more
 *
 * Return: 0 when it is known.
 */
int bh_mig_read_back(
		const struct bh_board *board, struct bh_observation *after, struct bh_error *err);

/**
 * bh_mig_finish() - the last thing each operation does
 * @board: borrowed
 * @r:     the operation's result so far
 * @after: filled if it is not known yet: a last reading
 * @err:   gets the GPU's UUID
 *
 * Return: @r.
 */
int bh_mig_finish(const struct bh_board *board, int r, struct bh_observation *after,
		struct bh_error *err);

/**
 * bh_mig_seen_gi() - a GPU instance in an observation
 * @gpu:  borrowed
 * @name: which
 *
 * Return: borrowed from @gpu; NULL if it is not there.
 */
const struct bh_gi *bh_mig_seen_gi(const struct bh_gpu *gpu, const struct bh_gi_name *name);

#endif
