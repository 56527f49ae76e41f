/* SPDX-License-Identifier: Apache-2.0 */
/* Observations for the planner's tests, built by hand from a board of the catalogue. */
#ifndef BH_TEST_PLAN_BOARD_H
#define BH_TEST_PLAN_BOARD_H

#include "plan/plan.h"

/* The plain build tries all there is; a sanitizer looks for other faults, and a part will do. */
#ifdef __SANITIZE_ADDRESS__
#define BOARD_TRIES(n) ((n) / 10 + 1)
#else
#define BOARD_TRIES(n) (n)
#endif

/**
 * board_init() - an empty GPU of that board, MIG mode on, nobody on it
 * @gpu:  written
 * @slug: of the catalogue; fails the test if unknown
 */
void board_init(struct bh_gpu *gpu, const char *slug);

/**
 * board_init_base() - the same without the profiles whose name bears an attribute ("+me", "-me")
 */
void board_init_base(struct bh_gpu *gpu, const char *slug);

/**
 * board_profile() - index of a profile by name; fails the test if there is none
 */
size_t board_profile(const struct bh_gpu *gpu, const char *name);

/**
 * board_add_bare() - add a GPU instance without compute instances, in order of start
 *
 * Return: borrowed from @gpu, good until the next one is added.
 */
struct bh_gi *board_add_bare(struct bh_gpu *gpu, size_t profile, const struct bh_placement *at);

/**
 * board_add() - add a GPU instance with one compute instance over the whole of it
 */
struct bh_gi *board_add(struct bh_gpu *gpu, const char *profile, uint32_t start);

/**
 * board_add_ci() - add a compute instance, in order of start
 */
struct bh_ci *board_add_ci(struct bh_gi *gi, uint32_t start, uint32_t size);

/**
 * board_make_busy() - a process in the first compute instance of a GPU instance
 */
void board_make_busy(struct bh_gpu *gpu, struct bh_gi *gi, int pid, const char *name);

/**
 * board_hold_whole() - a process that holds the whole GPU
 */
void board_hold_whole(struct bh_gpu *gpu, int pid, const char *name);

/**
 * board_want() - bh_want_fill() that must succeed; in scope, mode on
 */
void board_want(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n_rows,
		struct bh_gpu_want *want);

/* A small generator, so that a seed gives the same case on every machine. */
struct dice {
	uint64_t state;
};

/**
 * dice_init() - the seed is BH_TEST_SEED where that is set; printed with @what
 */
void dice_init(struct dice *dice, uint64_t seed, const char *what);

/**
 * dice_roll() - 0 to @sides - 1
 */
uint32_t dice_roll(struct dice *dice, uint32_t sides);

#endif
