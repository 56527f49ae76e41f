/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a board, literally: every set of placed instances that is pairwise disjoint, exceeds
 * no profile's maximum and obeys the two rules for media engines (R1, R2, R3, R8 of the catalogue's
 * README). Found by trying all sets, with no line in common with the planner, so that it can
 * contradict it. A set is a mask over the board's cells, a cell is one profile at one placement.
 */
#ifndef BH_TEST_PLAN_ORACLE_H
#define BH_TEST_PLAN_ORACLE_H

#include "gpu/inventory.h"

#define ORACLE_CELLS_MAX 32

struct oracle_cell {
	size_t profile;
	uint32_t start, size;
};

struct oracle_mix {
	uint8_t counts[BH_GI_PROFILES_MAX];
};

struct oracle {
	const struct bh_gpu *gpu; /* borrowed: the table of profiles */
	struct oracle_cell cells[ORACLE_CELLS_MAX];
	size_t n_cells;
	uint32_t *layouts;	  /* owned; all legal sets, the empty one too */
	struct oracle_mix *mixes; /* owned; of each layout */
	size_t n_layouts, room;
};

/**
 * oracle_init() - enumerate a board
 * @gpu: borrowed; its profiles must not change
 */
void oracle_init(struct oracle *oracle, const struct bh_gpu *gpu);

/**
 * oracle_free() - free what it owns
 */
void oracle_free(struct oracle *oracle);

/**
 * oracle_is_legal() - may this set of cells stand on the board
 */
bool oracle_is_legal(const struct oracle *oracle, uint32_t set);

/**
 * oracle_count_maximal() - layouts to which nothing can be added
 */
size_t oracle_count_maximal(const struct oracle *oracle);

/**
 * oracle_first_of_mix() - is there no layout of the same mix with a lower number
 */
bool oracle_first_of_mix(const struct oracle *oracle, size_t layout);

/**
 * oracle_minimum() - fewest instances destroyed and created on the way to a mix
 * @has:     what is on the board, aliens too
 * @pinned:  subset that must stay and counts
 * @aliens:  subset that must stay and does not count
 * @wanted:  the mix of all that is not alien
 *
 * Return: the number, or -1 if no legal layout has that mix beside what must stay.
 */
int oracle_minimum(const struct oracle *oracle, uint32_t has, uint32_t pinned, uint32_t aliens,
		const struct oracle_mix *wanted);

/**
 * oracle_set_of() - the cells of what is on a GPU
 * @gpu: of this board; every instance must be of a cell, else the test fails
 */
uint32_t oracle_set_of(const struct oracle *oracle, const struct bh_gpu *gpu);

#endif
