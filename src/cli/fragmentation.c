/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fragmentation.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/terminal.h"
#include "gpu/inventory_json.h"
#include "plan/repack.h"

static void free_fragments(struct bh_fragments *all)
{
	bh_fragments_free(all);
}

static json_t *profiles(const struct bh_fragments_board *board)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t p = 0; p < board->board->n_profiles; p++) {
		const struct bh_fragments_count *count = &board->profiles[p];

		if (bh_json_append(rows,
				    json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "name",
						    board->board->profiles[p].name, "profile_id",
						    bh_number_to_json(board->board->profiles[p].id),
						    "now", bh_number_to_json(count->now),
						    "after_moving_idle",
						    bh_number_to_json(count->after_idle),
						    "after_repack",
						    bh_number_to_json(count->after_repack), "lost",
						    bh_number_to_json(count->lost)),
				    NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *stranded(const struct bh_fragments_gpu *gpu)
{
	bh_auto_json json_t *units = json_array();

	for (uint32_t u = 0; u < BH_UNITS_MAX; u++) {
		if (gpu->stranded_units >> u & 1 &&
				bh_json_append(units, json_integer(u), NULL) < 0)
			return NULL;
	}
	return json_pack("{s:O, s:o}", "units", units, "compute_slices",
			bh_number_to_json(gpu->stranded_slices));
}

static json_t *gpus_of(const struct bh_inventory *inventory, const struct bh_fragments_board *board)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < board->n_gpus; i++) {
		const struct bh_fragments_gpu *one = &board->gpus[i];
		const struct bh_gpu *gpu = &inventory->gpus[one->gpu];

		if (bh_json_append(rows,
				    json_pack("{s:i, s:s, s:b, s:o, s:o}", "index", gpu->index,
						    "uuid", gpu->uuid, "counted", one->counted,
						    "free_units",
						    one->counted ? bh_number_to_json(
										   one->free_units)
								 : json_null(),
						    "stranded",
						    one->counted ? stranded(one) : json_null()),
				    NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

/* The UUIDs that end with a move. */
static json_t *uuids_of(const struct bh_gi *gi)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t c = 0; c < gi->n_cis; c++) {
		if (bh_json_append(rows, bh_json_text_or_null(gi->cis[c].uuid), NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *moves(const struct bh_inventory *inventory, const struct bh_fragments_board *board,
		const struct bh_repack *repack)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t m = 0; m < repack->n_moves; m++) {
		const struct bh_move *move = &repack->moves[m];
		const struct bh_gpu *from = &inventory->gpus[move->from_gpu];
		const struct bh_gpu *to = &inventory->gpus[move->to_gpu];

		if (bh_json_append(rows,
				    json_pack("{s:s, s:i, s:{s:i, s:s, s:i}, s:{s:i, s:s, s:i}, "
					      "s:o}",
						    "profile",
						    board->board->profiles[move->profile].name,
						    "size", move->from.size, "from", "gpu",
						    from->index, "uuid", from->uuid, "start",
						    move->from.start, "to", "gpu", to->index,
						    "uuid", to->uuid, "start", move->to.start,
						    "ends", uuids_of(&from->gis[move->gi])),
				    NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *repack_to_json(
		const struct bh_inventory *inventory, const struct bh_fragments_board *board)
{
	static const char *const outcomes[] = {[BH_REPACK_FOUND] = "found",
			[BH_REPACK_UNREACHABLE] = "unreachable",
			[BH_REPACK_UNKNOWN] = "unknown"};
	size_t worst = bh_fragments_worst(board);
	struct bh_repack repack;

	if (worst == SIZE_MAX)
		return json_null();
	if (bh_repack_find(inventory->gpus, board, worst, 0, 0, &repack, NULL) < 0)
		return NULL;
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:b, s:o}", "profile",
			board->board->profiles[worst].name, "outcome", outcomes[repack.outcome],
			"now", bh_number_to_json(repack.now), "reached",
			bh_number_to_json(repack.reached), "reachable",
			bh_number_to_json(repack.reachable), "minimal", repack.minimal,
			"one_by_one", repack.one_by_one, "moves", moves(inventory, board, &repack));
}

json_t *fragmentation_to_json(const struct bh_inventory *inventory)
{
	BH_CLEANUP(free_fragments) struct bh_fragments all = {0};
	bh_auto_json json_t *rows = json_array();

	if (bh_fragments_init(inventory->gpus, inventory->n_gpus, &all, NULL) < 0)
		return NULL;
	for (size_t b = 0; b < all.n_boards; b++) {
		const struct bh_fragments_board *board = &all.boards[b];
		const struct bh_gpu *gpu = board->board;

		if (bh_json_append(rows,
				    json_pack("{s:o, s:s, s:o, s:o, s:{s:o, s:o}, s:o, s:o}",
						    "model", bh_json_text_or_null(gpu->model),
						    "name", gpu->name, "gpus",
						    gpus_of(inventory, board), "free_units",
						    bh_number_to_json(board->free_units),
						    "stranded", "memory_units",
						    bh_number_to_json(board->stranded_units),
						    "compute_slices",
						    bh_number_to_json(board->stranded_slices),
						    "profiles", profiles(board), "repack",
						    repack_to_json(inventory, board)),
				    NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static const char *text_of(uint32_t value, char buffer[16])
{
	if (value == BH_UNKNOWN)
		return "unknown";
	(void) snprintf(buffer, 16, "%u", value);
	return buffer;
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static void print_table(const struct bh_fragments_board *board)
{
	cli_line(stdout, CLI_FAINT, 4, "  %-16s %8s %11s %11s %8s", "can be added", "now",
			"idle moved", "all moved", "lost");
	for (size_t p = 0; p < board->board->n_profiles; p++) {
		const struct bh_fragments_count *count = &board->profiles[p];
		char now[16], idle[16], all[16], lost[16];

		cli_line(stdout, CLI_PLAIN, 4, "  %-16s %8s %11s %11s %8s",
				board->board->profiles[p].name, text_of(count->now, now),
				text_of(count->after_idle, idle), text_of(count->after_repack, all),
				text_of(count->lost, lost));
	}
}

static void print_not_counted(
		const struct bh_inventory *inventory, const struct bh_fragments_board *board)
{
	for (int unknown = 0; unknown <= 1; unknown++) {
		uint64_t indices = 0;
		char list[192];

		for (size_t i = 0; i < board->n_gpus; i++) {
			const struct bh_gpu *gpu = &inventory->gpus[board->gpus[i].gpu];

			if (gpu->mig_current == (unknown ? BH_MIG_UNKNOWN : BH_MIG_OFF))
				indices |= UINT64_C(1) << (gpu->index & 63);
		}
		if (indices)
			cli_line(stdout, CLI_PLAIN, 4, "  not counted, MIG mode %s: GPU %s",
					unknown ? "unknown" : "off",
					bh_text_ranges(list, sizeof(list), indices));
	}
}

static void print_stranded(
		const struct bh_inventory *inventory, const struct bh_fragments_board *board)
{
	bool any = false;

	for (size_t i = 0; i < board->n_gpus; i++) {
		const struct bh_fragments_gpu *one = &board->gpus[i];
		uint32_t n_units = one->n_stranded_units, n_slices = one->stranded_slices;
		char units[224] = "", slices[64] = "", list[192], number[16];

		if (n_units == 0 && n_slices == 0)
			continue;
		any = true;
		if (n_units == BH_UNKNOWN)
			(void) snprintf(units, sizeof(units), "unknown units");
		else if (n_units)
			(void) snprintf(units, sizeof(units), "unit%s %s", plural(n_units),
					bh_text_ranges(list, sizeof(list), one->stranded_units));
		if (n_slices)
			(void) snprintf(slices, sizeof(slices), "%s%s compute slice%s",
					n_units ? ", " : "", text_of(n_slices, number),
					plural(n_slices));
		cli_line(stdout, CLI_PLAIN, 4, "  stranded on GPU %u: %s%s",
				inventory->gpus[one->gpu].index, units, slices);
	}
	if (!any && board->n_counted > 0)
		cli_line(stdout, CLI_PLAIN, 4, "  nothing is stranded");
}

static void print_moves(const struct bh_inventory *inventory,
		const struct bh_fragments_board *board, const struct bh_repack *repack)
{
	uint32_t n = (uint32_t) repack->n_moves;

	for (size_t m = 0; m < repack->n_moves; m++) {
		const struct bh_move *move = &repack->moves[m];

		cli_line(stdout, CLI_PLAIN, 6, "    %-14s from GPU %u at %u to GPU %u at %u",
				board->board->profiles[move->profile].name,
				inventory->gpus[move->from_gpu].index, move->from.start,
				inventory->gpus[move->to_gpu].index, move->to.start);
	}
	if (n > 0)
		cli_line(stdout, CLI_PLAIN, 4,
				"  what moves is destroyed and made anew: it gets new UUIDs, so "
				"whose it is must agree%s",
				repack->one_by_one
						? ""
						: "; all are destroyed before the first is made");
}

static int print_repack(const struct bh_inventory *inventory,
		const struct bh_fragments_board *board, struct bh_error *err)
{
	size_t worst = bh_fragments_worst(board);
	struct bh_repack repack;
	const char *name;

	if (worst == SIZE_MAX)
		return 0;
	name = board->board->profiles[worst].name;
	if (bh_repack_find(inventory->gpus, board, worst, 0, 0, &repack, err) < 0)
		return -1;
	if (repack.outcome != BH_REPACK_FOUND) {
		cli_line(stdout, CLI_PLAIN, 4, "  %s loses most; how to repack is unknown", name);
		return 0;
	}
	if (repack.n_moves == 0) {
		cli_line(stdout, CLI_PLAIN, 4,
				"  %s loses most, and moving idle instances does not help: what is "
				"in the way is in use or not ours",
				name);
		return 0;
	}
	cli_line(stdout, CLI_PLAIN, 4,
			"  %s loses most; %zu move%s of idle instances make%s room for %u instead "
			"of %u%s",
			name, repack.n_moves, plural((uint32_t) repack.n_moves),
			repack.n_moves == 1 ? "s" : "", repack.reached, repack.now,
			repack.minimal ? " (no fewer do)" : " (fewer may do)");
	print_moves(inventory, board, &repack);
	return 0;
}

int fragmentation_print(const struct bh_inventory *inventory, struct bh_error *err)
{
	BH_CLEANUP(free_fragments) struct bh_fragments all = {0};

	if (bh_fragments_init(inventory->gpus, inventory->n_gpus, &all, err) < 0)
		return -1;
	if (all.n_boards == 0)
		cli_line(stdout, CLI_PLAIN, 4, "fragmentation: no GPU has MIG profiles");
	for (size_t b = 0; b < all.n_boards; b++) {
		const struct bh_fragments_board *board = &all.boards[b];
		uint64_t indices = 0;
		char list[192], units[16];

		for (size_t i = 0; i < board->n_gpus; i++)
			indices |= UINT64_C(1) << (inventory->gpus[board->gpus[i].gpu].index & 63);
		cli_line(stdout, CLI_STRONG, 4, "fragmentation of %s, GPU%s %s%s%s%s%s",
				board->board->name, plural((uint32_t) board->n_gpus),
				bh_text_ranges(list, sizeof(list), indices),
				board->n_counted ? ": " : "",
				board->n_counted ? text_of(board->free_units, units) : "",
				board->n_counted ? " free unit" : "",
				board->n_counted ? plural(board->free_units) : "");
		if (board->n_counted > 0)
			print_table(board);
		print_stranded(inventory, board);
		print_not_counted(inventory, board);
		if (print_repack(inventory, board, err) < 0)
			return -1;
	}
	return 0;
}
