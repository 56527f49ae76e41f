/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading one board as it is now. What decides (mode, GPU and compute instances) is read or the
 * whole observation fails; what informs (names, memory, MIG UUIDs, who is there) is unknown where
 * it cannot be read. Nothing unknown is ever zero, and "nobody" is never said for "not told".
 */
#ifndef BH_DRIVER_OBSERVE_H
#define BH_DRIVER_OBSERVE_H

#include "driver/board.h"

/* What was found after a change, whether the change went well or not. */
struct bh_observation {
	bool known; /* false: it could not be read, @gpu means nothing */
	struct bh_gpu gpu;
};

/**
 * bh_board_observe() - read a board
 * @board:         borrowed
 * @with_profiles: read what it offers too: slow, and it never changes
 * @ret_gpu:       written on success; without @with_profiles its profiles, n_profiles and
 *                 placement_units are 0; its model is empty, as the catalogue is not known here
 * @err:           what NVML said
 */
int bh_board_observe(const struct bh_board *board, bool with_profiles, struct bh_gpu *ret_gpu,
		struct bh_error *err) BH_MUST_CHECK;

#endif
