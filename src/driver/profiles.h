/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a board offers: the static part of an observation, with names and placements. Names come
 * from the driver where it has them; older ones leave them to their callers, who compute them.
 */
#ifndef BH_DRIVER_PROFILES_H
#define BH_DRIVER_PROFILES_H

#include "driver/board.h"

/**
 * bh_profiles_read() - fill profiles, n_profiles and placement_units of an observation
 * @board: borrowed
 * @gpu:   filled
 * @err:   what NVML said
 */
int bh_profiles_read(const struct bh_board *board, struct bh_gpu *gpu, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_profile_name() - the name of a profile whose driver does not tell one
 * @nvml_enum:   its enum: says what goes with it (media engines, graphics)
 * @slice_count: its compute slices
 * @memory_mib:  its memory
 * @board_bytes: of the whole board; 0 or BH_UNKNOWN64 if unknown
 * @buffer:      receives "1g.10gb+me", or nothing when the name cannot be known
 * @size:        of @buffer
 *
 * GB are the board's, rounded up to whole ones, times the profile's share, rounded up to eighths.
 * Source: the formula that NVIDIA/go-nvlib uses.
 */
void bh_profile_name(uint32_t nvml_enum, uint32_t slice_count, uint64_t memory_mib,
		uint64_t board_bytes, char *buffer, size_t size);

#endif
