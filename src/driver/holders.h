/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who NVML says is on a board, and where. NVML sees processes with a context only: daemons that
 * merely hold a device node open and kernel clients are found elsewhere.
 */
#ifndef BH_DRIVER_HOLDERS_H
#define BH_DRIVER_HOLDERS_H

#include "driver/board.h"

/**
 * bh_holders_read() - fill the holders of an observation and mark its busy instances
 * @board: borrowed
 * @gpu:   its instances are read already; holders_known stays false if a list could not be read
 */
void bh_holders_read(const struct bh_board *board, struct bh_gpu *gpu);

/**
 * bh_holders_tell() - put the processes that stand in the way into an error
 * @gpu: borrowed
 * @gi:  borrowed from @gpu: only those in it or on the whole GPU; NULL for all
 * @err: may be NULL
 */
void bh_holders_tell(const struct bh_gpu *gpu, const struct bh_gi *gi, struct bh_error *err);

/**
 * bh_holders_tell_instances() - put the instances that stand in the way into an error
 * @gpu: borrowed
 * @gi:  borrowed from @gpu: its compute instances; NULL for all GPU instances of the board
 * @err: may be NULL
 */
void bh_holders_tell_instances(
		const struct bh_gpu *gpu, const struct bh_gi *gi, struct bh_error *err);

#endif
