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

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* Any other value of a bool is undefined behaviour. */
static bool is_flag(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, sizeof(byte));
	return byte <= 1;
}

static bool is_ci_sound(const struct sim_gi_row *gi, const struct sim_ci_row *ci)
{
	if (!is_flag(&ci->assumed) || ci->n_places > SIM_PLACES_MAX || ci->slices < 1 ||
			ci->slices > gi->slices)
		return false;
	for (uint32_t i = 0; i < ci->n_places; i++) {
		const struct sim_ci_place *p = &ci->places[i];

		if (p->size < 1 || p->size > SIM_UNITS_MAX || p->start >= SIM_UNITS_MAX ||
				p->start + p->size > gi->slices || p->size != ci->places[0].size ||
				(i && p->start <= p[-1].start))
			return false;
	}
	return true;
}

static bool is_gi_sound(const struct sim_board *board, const struct sim_gi_row *gi)
{
	if (!ends(gi->name, sizeof(gi->name)) || gi->n_places < 1 ||
			gi->n_places > SIM_PLACES_MAX || gi->n_cis > SIM_CI_ROWS_MAX ||
			gi->slices < 1 || gi->slices > board->slices || gi->media > SIM_MEDIA_NONE)
		return false;
	for (uint32_t i = 0; i < gi->n_places; i++) {
		const struct sim_gi_place *p = &gi->places[i];

		if (p->size < 1 || p->size > board->units || p->start >= board->units ||
				p->start + p->size > board->units ||
				p->size != gi->places[0].size || (i && p->start <= p[-1].start))
			return false;
	}
	for (uint32_t i = 0; i < gi->n_cis; i++) {
		if (!is_ci_sound(gi, &gi->cis[i]))
			return false;
	}
	return true;
}

bool sim_board_is_sound(const struct sim_board *board)
{
	if (!is_flag(&board->mig_capable) || !is_flag(&board->enable_needs_reset) ||
			!is_flag(&board->mode_survives_reboot) ||
			!is_flag(&board->mode_survives_reload) || !is_flag(&board->tree))
		return false;
	if (!ends(board->slug, sizeof(board->slug)) || !ends(board->name, sizeof(board->name)) ||
			board->refused[0] || board->architecture > SIM_BLACKWELL ||
			board->units > SIM_UNITS_MAX || board->slices > SIM_UNITS_MAX ||
			board->n_gis > SIM_GI_ROWS_MAX || (!board->mig_capable && board->n_gis))
		return false;
	for (uint32_t i = 0; i < board->n_gis; i++) {
		if (!is_gi_sound(board, &board->gis[i]))
			return false;
	}
	return true;
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
