/* SPDX-License-Identifier: Apache-2.0 */
#include "model/board.h"

#include <string.h>

const struct sim_board *sim_board_find(const char *slug)
{
	for (size_t i = 0; i < sim_n_boards; i++) {
		if (strcmp(sim_boards[i].slug, slug) == 0)
			return &sim_boards[i];
	}
	return NULL;
}

uint64_t sim_board_reserved_mib(const struct sim_board *board)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < board->n_gis; i++) {
		if (board->gis[i].memory_mib > largest)
			largest = board->gis[i].memory_mib;
	}
	return largest && largest < board->memory_mib ? board->memory_mib - largest : 0;
}
