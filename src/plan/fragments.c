/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fragments.h"

#include <stdlib.h>
#include <string.h>

#include "plan/role.h"
#include "plan/step.h"

size_t bh_fragments_profile(const struct bh_fragments_board *board, uint32_t profile_id)
{
	for (size_t i = 0; i < board->board->n_profiles; i++) {
		if (board->board->profiles[i].id == profile_id && board->geo.shape_of[i] >= 0)
			return i;
	}
	return SIZE_MAX;
}

/* What stays on a GPU when nothing moves. */
static struct bh_room_bin bin_of(const struct bh_fragments_board *board, const struct bh_gpu *gpu)
{
	struct bh_room_bin bin = {.occupied = bh_geometry_occupied(&board->geo, gpu)};

	for (size_t g = 0; g < gpu->n_gis; g++) {
		size_t profile = bh_fragments_profile(board, gpu->gis[g].profile_id);

		if (profile != SIZE_MAX)
			bin.fixed[profile]++;
	}
	return bin;
}

static void take_out(const struct bh_fragments_board *board, const struct bh_gi *gi,
		struct bh_room *room)
{
	struct bh_room_bin *bin = &room->bins[room->n_bins];
	size_t profile = bh_fragments_profile(board, gi->profile_id);

	bin->occupied &= ~bh_geometry_mask(&board->geo, &gi->at);
	bin->fixed[profile]--;
	room->loose[profile]++;
}

/*
 * The room on all GPUs of a board that count, with all that may move taken out. False: an instance
 * of a profile that the board does not list may move, too, but nobody knows where to.
 */
static bool open_room(const struct bh_fragments_board *board, const struct bh_gpu *gpus, bool all,
		struct bh_room *room)
{
	bool known = true;

	*room = (struct bh_room){.board = board->board,
			.geo = &board->geo,
			.layouts = board->layouts.items ? &board->layouts : NULL};
	for (size_t i = 0; i < board->n_gpus; i++) {
		const struct bh_gpu *gpu = &gpus[board->gpus[i].gpu];

		if (!board->gpus[i].counted)
			continue;
		room->bins[room->n_bins] = bin_of(board, gpu);
		for (size_t g = 0; g < gpu->n_gis; g++) {
			const struct bh_gi *gi = &gpu->gis[g];

			if (!all && !bh_gi_can_move(gpu, gi))
				continue;
			if (bh_fragments_profile(board, gi->profile_id) == SIZE_MAX)
				known = false;
			else
				take_out(board, gi, room);
		}
		room->n_bins++;
	}
	return known;
}

static uint64_t in_board_units(const struct bh_geometry *geo, uint64_t coarse)
{
	uint64_t mask = 0;

	for (uint32_t u = 0; u < geo->units; u++) {
		if (coarse >> u & 1)
			mask |= bh_placement_mask(&(struct bh_placement){u * geo->unit, geo->unit});
	}
	return mask;
}

static void count_units(const struct bh_fragments_board *board, uint64_t occupied,
		struct bh_fragments_gpu *gpu)
{
	const struct bh_geometry *geo = &board->geo;
	uint64_t all = 0, reachable = 0;

	for (uint32_t s = 0; s < geo->n_shapes; s++) {
		for (uint32_t p = 0; p < geo->shapes[s].n_places; p++) {
			uint64_t mask = geo->shapes[s].masks[p];

			all |= mask;
			if (!(mask & occupied))
				reachable |= mask;
		}
	}
	gpu->free_units = (uint32_t) __builtin_popcountll(in_board_units(geo, all & ~occupied));
	gpu->stranded_units = in_board_units(geo, all & ~occupied & ~reachable);
	gpu->n_stranded_units = (uint32_t) __builtin_popcountll(gpu->stranded_units);
}

/* The most slices that a layout of the free units has. */
static uint32_t slices_to_add(const struct bh_fragments_board *board, uint64_t occupied)
{
	uint32_t most = 0;

	for (size_t l = 0; l < board->layouts.n; l++) {
		const struct bh_layout *layout = &board->layouts.items[l];
		uint32_t slices = 0;

		if (layout->mask & occupied)
			continue;
		for (uint32_t s = 0; s < board->geo.n_shapes; s++)
			slices += layout->counts[s] * board->geo.shapes[s].slices;
		most = slices > most ? slices : most;
	}
	return most;
}

static uint32_t count_slices(
		const struct bh_fragments_board *board, const struct bh_gpu *gpu, uint64_t occupied)
{
	uint32_t used = 0, left;

	if (!board->layouts.items)
		return BH_UNKNOWN;
	for (size_t i = 0; i < board->board->n_profiles; i++) {
		if (board->geo.shape_of[i] >= 0 &&
				board->board->profiles[i].slice_count == BH_UNKNOWN)
			return BH_UNKNOWN;
	}
	for (size_t g = 0; g < gpu->n_gis; g++) {
		size_t profile = bh_fragments_profile(board, gpu->gis[g].profile_id);

		if (profile == SIZE_MAX)
			return BH_UNKNOWN;
		used += board->board->profiles[profile].slice_count;
	}
	left = board->geo.slices > used ? board->geo.slices - used : 0;
	used = slices_to_add(board, occupied);
	return left > used ? left - used : 0;
}

static void count_gpu(const struct bh_fragments_board *board, const struct bh_gpu *gpu,
		struct bh_fragments_gpu *ret)
{
	struct bh_room room = {.board = board->board,
			.geo = &board->geo,
			.layouts = board->layouts.items ? &board->layouts : NULL,
			.n_bins = 1};

	room.bins[0] = bin_of(board, gpu);
	count_units(board, room.bins[0].occupied, ret);
	ret->stranded_slices = count_slices(board, gpu, room.bins[0].occupied);
	for (size_t i = 0; i < board->board->n_profiles; i++)
		ret->now[i] = bh_room_most(&room, i);
}

static void add_known(uint32_t *sum, uint32_t value)
{
	*sum = *sum == BH_UNKNOWN || value == BH_UNKNOWN ? BH_UNKNOWN : *sum + value;
}

/* All of it is unknown where the board's table is too odd for a geometry, or none of its GPUs counts. */
static void count_nothing(struct bh_fragments_board *board)
{
	memset(board->profiles, 0xff, sizeof(board->profiles));
	board->free_units = board->stranded_units = board->stranded_slices = BH_UNKNOWN;
	for (size_t i = 0; i < board->n_gpus; i++) {
		struct bh_fragments_gpu *gpu = &board->gpus[i];

		if (!gpu->counted)
			continue;
		memset(gpu->now, 0xff, sizeof(gpu->now));
		gpu->free_units = gpu->n_stranded_units = gpu->stranded_slices = BH_UNKNOWN;
	}
}

static void count_board(struct bh_fragments_board *board, const struct bh_gpu *gpus)
{
	struct bh_room all, idle;
	bool all_known, idle_known;

	for (size_t i = 0; i < board->n_gpus; i++) {
		struct bh_fragments_gpu *gpu = &board->gpus[i];

		if (!gpu->counted)
			continue;
		count_gpu(board, &gpus[gpu->gpu], gpu);
		add_known(&board->free_units, gpu->free_units);
		add_known(&board->stranded_units, gpu->n_stranded_units);
		add_known(&board->stranded_slices, gpu->stranded_slices);
		for (size_t p = 0; p < board->board->n_profiles; p++)
			add_known(&board->profiles[p].now, gpu->now[p]);
	}
	all_known = open_room(board, gpus, /* all= */ true, &all);
	idle_known = open_room(board, gpus, /* all= */ false, &idle);
	for (size_t p = 0; p < board->board->n_profiles; p++) {
		struct bh_fragments_count *count = &board->profiles[p];

		count->after_repack = all_known ? bh_room_most(&all, p) : BH_UNKNOWN;
		count->after_idle = idle_known ? bh_room_most(&idle, p) : BH_UNKNOWN;
		count->lost = count->now == BH_UNKNOWN || count->after_repack == BH_UNKNOWN
					      ? BH_UNKNOWN
					      : count->after_repack - count->now;
	}
}

/* The board of a GPU among those that there are, or a new one. */
static struct bh_fragments_board *board_of(struct bh_fragments *all, const struct bh_gpu *gpu)
{
	struct bh_fragments_board *board = all->boards;

	for (; board < all->boards + all->n_boards; board++) {
		if (bh_gpu_offers_same(board->board, gpu))
			return board;
	}
	board->board = gpu;
	board->has_geometry = bh_geometry_init(gpu, &board->geo, NULL) == 0;
	all->n_boards++;
	return board;
}

int bh_fragments_init(const struct bh_gpu *gpus, size_t n_gpus, struct bh_fragments *ret_fragments,
		struct bh_error *err)
{
	struct bh_fragments all = {.boards = calloc(n_gpus ? n_gpus : 1, sizeof(*all.boards))};

	if (!all.boards)
		return bh_fail_memory(err);
	for (size_t i = 0; i < n_gpus && i < BH_NODE_GPUS_MAX; i++) {
		struct bh_fragments_board *board;

		if (gpus[i].n_profiles == 0)
			continue;
		board = board_of(&all, &gpus[i]);
		board->gpus[board->n_gpus++] = (struct bh_fragments_gpu){
				.gpu = i, .counted = gpus[i].mig_current == BH_MIG_ON};
		board->n_counted += gpus[i].mig_current == BH_MIG_ON;
	}
	for (size_t b = 0; b < all.n_boards; b++) {
		struct bh_error why = {0};

		if (!all.boards[b].has_geometry || all.boards[b].n_counted == 0) {
			count_nothing(&all.boards[b]);
			continue;
		}
		if (bh_layouts_init(&all.boards[b].geo, &all.boards[b].layouts, &why) < 0 &&
				why.code == BH_E_NO_MEMORY) {
			bh_fragments_free(&all);
			return bh_fail_memory(err);
		}
		count_board(&all.boards[b], gpus);
	}
	*ret_fragments = all;
	return 0;
}

void bh_fragments_free(struct bh_fragments *fragments)
{
	for (size_t b = 0; b < fragments->n_boards; b++)
		bh_layouts_free(&fragments->boards[b].layouts);
	free(fragments->boards);
	*fragments = (struct bh_fragments){0};
}

size_t bh_fragments_worst(const struct bh_fragments_board *board)
{
	size_t worst = SIZE_MAX;
	uint64_t most = 0;

	for (size_t p = 0; p < board->board->n_profiles; p++) {
		uint32_t lost = board->profiles[p].lost;
		uint32_t slices = board->board->profiles[p].slice_count;
		uint64_t weight;

		if (lost == 0 || lost == BH_UNKNOWN || slices == BH_UNKNOWN)
			continue;
		weight = (uint64_t) lost * slices;
		if (weight < most || (weight == most && worst != SIZE_MAX &&
						     slices <= board->board->profiles[worst]
										     .slice_count))
			continue;
		most = weight;
		worst = p;
	}
	return worst;
}
