/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a board offers: asked of the driver on a node, of the catalogue when a model is named, and
 * where a driver does not tell while MIG is off.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/model.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "gpu/catalogue.h"

/* A board with where its profiles come from. */
struct board {
	const struct bh_gpu *gpu;
	const struct bh_model *model;	      /* NULL: the catalogue does not know it */
	const char *source;		      /* "driver" or "catalogue" */
	const struct bh_inventory *inventory; /* NULL offline */
};

static bool is_same_board(const struct bh_gpu *a, const struct bh_gpu *b)
{
	return strcmp(a->name, b->name) == 0 && a->pci_device_id == b->pci_device_id &&
	       a->placement_units == b->placement_units && bh_gpu_offers_same(a, b);
}

/* The largest profile takes the whole board. */
static uint32_t compute_slices(const struct board *board)
{
	uint32_t most = 0;

	if (board->model && strcmp(board->source, "catalogue") == 0)
		return board->model->compute_slices;
	for (size_t i = 0; i < board->gpu->n_profiles; i++) {
		if (board->gpu->profiles[i].slice_count > most)
			most = board->gpu->profiles[i].slice_count;
	}
	return most ? most : BH_UNKNOWN;
}

static json_t *placements(const struct bh_gi_profile *profile)
{
	bh_auto_json json_t *rows = json_array();

	if (profile->n_placements == 0)
		return json_null();
	for (size_t i = 0; i < profile->n_placements; i++) {
		if (bh_json_append(rows,
				    json_pack("{s:i, s:i}", "start", profile->placements[i].start,
						    "size", profile->placements[i].size),
				    NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *board_to_json(const struct board *board)
{
	bh_auto_json json_t *rows = json_array();
	const struct bh_gpu *gpu = board->gpu;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		const struct bh_gi_profile *p = &gpu->profiles[i];

		if (bh_json_append(rows,
				    json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
						    p->name, "profile_id", bh_number_to_json(p->id),
						    "nvml_enum", bh_number_to_json(p->nvml_enum),
						    "max_instances",
						    bh_number_to_json(p->max_instances),
						    "slice_count",
						    bh_number_to_json(p->slice_count), "memory_mib",
						    bh_number64_to_json(p->memory_mib), "sm",
						    bh_number_to_json(p->sm), "placements",
						    placements(p)),
				    NULL) < 0)
			return NULL;
	}
	return json_pack("{s:o, s:s, s:s?, s:b, s:o, s:o, s:O}", "model",
			gpu->model[0] ? json_string(gpu->model) : json_null(), "name", gpu->name,
			"source", board->source, "mig_capable", gpu->mig_capable, "placement_units",
			gpu->placement_units ? json_integer(gpu->placement_units) : json_null(),
			"compute_slices", bh_number_to_json(compute_slices(board)), "gi_profiles",
			rows);
}

/* The first board's members at the top, and each board under "boards". */
static json_t *to_json(const struct board *boards, size_t n)
{
	bh_auto_json json_t *rows = json_array(), *document = NULL;

	for (size_t i = 0; i < n; i++) {
		json_t *one = board_to_json(&boards[i]);
		json_t *gpus = json_array();
		const struct bh_inventory *inventory = boards[i].inventory;

		for (size_t k = 0; inventory && k < inventory->n_gpus; k++) {
			if (is_same_board(&inventory->gpus[k], boards[i].gpu) &&
					bh_json_append(gpus,
							bh_number_to_json(inventory->gpus[k].index),
							NULL) < 0)
				return NULL;
		}
		if (!document && one)
			document = json_copy(one);
		if (!one || bh_json_set(one, "gpus", gpus, NULL) < 0 ||
				bh_json_append(rows, one, NULL) < 0)
			return NULL;
	}
	if (!document)
		document = json_pack("{s:n, s:n, s:n, s:n, s:[]}", "model", "source",
				"placement_units", "compute_slices", "gi_profiles");
	if (!document || bh_json_set(document, "boards", json_incref(rows), NULL) < 0)
		return NULL;
	return BH_TAKE(document);
}

/* "7", or "?" where it is unknown */
static const char *text_of(uint64_t value, char *buffer, size_t size)
{
	if (value == BH_UNKNOWN || value == BH_UNKNOWN64)
		(void) snprintf(buffer, size, "?");
	else
		(void) snprintf(buffer, size, "%llu", (unsigned long long) value);
	return buffer;
}

static void print_row(const struct bh_gi_profile *p, int width, bool is_narrow)
{
	char id[24], nvml_enum[24], most[24], slices[24], memory[24], sm[24];

	(void) text_of(p->id, id, sizeof(id));
	(void) text_of(p->nvml_enum, nvml_enum, sizeof(nvml_enum));
	(void) text_of(p->max_instances, most, sizeof(most));
	(void) text_of(p->slice_count, slices, sizeof(slices));
	(void) text_of(p->memory_mib, memory, sizeof(memory));
	(void) text_of(p->sm, sm, sizeof(sm));
	if (is_narrow)
		cli_line(stdout, CLI_PLAIN, 4,
				"  %s: id %s, enum %s, up to %s, slices %s, memory %s MiB, SMs %s",
				p->name, id, nvml_enum, most, slices, memory, sm);
	else
		cli_line(stdout, CLI_PLAIN, 4, "  %-*s %4s %4s %5s %6s %10s %4s", width, p->name,
				id, nvml_enum, most, slices, memory, sm);
}

/* One line of the picture; takes from @todo the placements that it shows. */
static uint64_t draw(const struct bh_gi_profile *p, uint32_t units, int cell, uint64_t todo)
{
	char bar[BH_UNITS_MAX * 4 + 1];
	uint64_t shown = 0;
	uint32_t unit = 0;

	(void) fputc('|', stdout);
	while (unit < units) {
		const struct bh_placement *here = NULL;
		int n;

		for (size_t i = 0; i < p->n_placements && !here; i++) {
			if (todo >> i & 1 && p->placements[i].start == unit &&
					p->placements[i].size > 0) {
				here = &p->placements[i];
				shown |= (uint64_t) 1 << i;
			}
		}
		n = (int) (here ? here->size : 1) * cell - 1;
		if (n >= (int) sizeof(bar))
			n = sizeof(bar) - 1;
		memset(bar, here ? '=' : '.', (size_t) n);
		bar[n] = '\0';
		cli_span(stdout, here ? CLI_GREEN : CLI_FAINT, bar);
		(void) fputc('|', stdout);
		unit += here ? here->size : 1;
	}
	(void) fputc('\n', stdout);
	return todo & ~shown;
}

/* Where each profile can stand; placements that overlap get lines of their own. */
static void print_pictures(const struct bh_gpu *gpu, int width)
{
	int columns = cli_terminal_of(stdout).columns, units = (int) gpu->placement_units;
	int cell = columns == 0 || columns >= width + 4 + units * 4 ? 4 : 2;
	bool is_beside = columns == 0 || columns >= width + 4 + units * cell;

	bool is_known = false;

	for (size_t i = 0; i < gpu->n_profiles; i++)
		is_known = is_known || gpu->profiles[i].n_placements > 0;
	if (!is_known || units == 0 || units > BH_UNITS_MAX)
		return;
	(void) printf("%s%*s ", is_beside ? "" : "  units\n", is_beside ? width + 2 : 2,
			is_beside ? "units" : "");
	for (int unit = 0; unit < units; unit++)
		(void) printf(" %-*d", cell - 1, unit % (cell < 3 ? 10 : 100));
	(void) printf("\n");
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		const struct bh_gi_profile *p = &gpu->profiles[i];
		uint64_t todo = ((uint64_t) 1 << p->n_placements) - 1, left;

		if (!is_beside)
			cli_line(stdout, CLI_PLAIN, 4, "  %s%s", p->name,
					todo ? "" : ": placements unknown");
		else if (!todo)
			cli_line(stdout, CLI_PLAIN, 4, "  %-*s  placements unknown", width,
					p->name);
		for (bool first = true; todo; first = false) {
			(void) printf("  %-*s ", is_beside ? width : 0,
					is_beside && first ? p->name : "");
			left = draw(p, gpu->placement_units, cell, todo);
			todo = left == todo ? 0 : left; /* beyond the board: not drawn */
		}
	}
}

static void print_unknown(const struct board *board)
{
	size_t without = 0;

	for (size_t i = 0; i < board->gpu->n_profiles; i++)
		without += board->gpu->profiles[i].n_placements == 0;
	if (without > 0)
		cli_line(stdout, CLI_YELLOW, 4,
				"  unknown: where %zu of the %zu profiles can stand; the driver of "
				"a real board tells",
				without, board->gpu->n_profiles);
	if (board->model && !board->model->complete && strcmp(board->source, "catalogue") == 0)
		cli_line(stdout, CLI_YELLOW, 4,
				"  the catalogue is incomplete here: profiles, ids or placements "
				"are "
				"known to be missing");
}

static void print_board(const struct board *board)
{
	const struct bh_gpu *gpu = board->gpu;
	char units[24], slices[24];
	int columns = cli_terminal_of(stdout).columns, width = 8;

	(void) text_of(gpu->placement_units ? gpu->placement_units : BH_UNKNOWN, units,
			sizeof(units));
	(void) text_of(compute_slices(board), slices, sizeof(slices));
	cli_line(stdout, CLI_STRONG, 4, "%s (%s)", gpu->name,
			gpu->model[0] ? gpu->model : "not in the catalogue");
	if (!gpu->mig_capable) {
		cli_line(stdout, CLI_PLAIN, 4, "  no MIG");
		return;
	}
	cli_line(stdout, CLI_PLAIN, 4, "  placement units %s, compute slices %s; from %s", units,
			slices,
			strcmp(board->source, "driver") == 0 ? "the driver"
			: board->inventory
					? "the catalogue: the driver does not tell while MIG is off"
					: "the catalogue, not from a driver");
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if ((int) strlen(gpu->profiles[i].name) > width)
			width = (int) strlen(gpu->profiles[i].name);
	}
	if (columns == 0 || columns >= width + 42)
		cli_line(stdout, CLI_PLAIN, 4, "  %-*s %4s %4s %5s %6s %10s %4s", width, "profile",
				"id", "enum", "up to", "slices", "memory MiB", "SMs");
	for (size_t i = 0; i < gpu->n_profiles; i++)
		print_row(&gpu->profiles[i], width, columns > 0 && columns < width + 42);
	print_pictures(gpu, width);
	print_unknown(board);
}

static int show(const struct cli_args *args, const struct board *boards, size_t n)
{
	if (args->json)
		return cli_print_json(to_json(boards, n), 0);
	for (size_t i = 0; i < n; i++)
		print_board(&boards[i]);
	if (n == 0)
		cli_line(stdout, CLI_PLAIN, 4, "this node has no GPU");
	return 0;
}

static int of_model(const struct cli_args *args, const char *slug)
{
	struct bh_error err = {0};
	const struct bh_model *model = cli_find_model(slug, &err);
	bh_auto_free struct bh_gpu *gpu = calloc(1, sizeof(*gpu));
	struct board board = {gpu, model, "catalogue", NULL};

	if (!gpu) {
		bh_fail_memory(&err);
		return cli_fail(args, NULL, &err);
	}
	if (!model)
		return cli_fail(args, NULL, &err);
	bh_model_describe(model, gpu);
	return show(args, &board, 1);
}

int cmd_profiles(const struct cli_args *args)
{
	struct bh_node_config config = cli_node_config(args);
	struct board boards[BH_NODE_GPUS_MAX];
	bh_auto_node struct bh_node *node = NULL;
	const struct bh_inventory *inventory;
	struct bh_error err = {0};
	size_t n = 0;

	if (args->values[CLI_MODEL_NUMBER])
		return of_model(args, args->values[CLI_MODEL_NUMBER]);
	if (bh_node_open(&config, NULL, &node, &err) < 0 ||
			bh_node_read(node, &inventory, &err) < 0) {
		if (!err.next[0])
			bh_error_next(&err, "--model MODEL asks the catalogue, without a driver");
		return cli_fail(args, NULL, &err);
	}
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		const struct bh_gpu *gpu = &inventory->gpus[i];
		const struct bh_model *model = bh_catalogue_by_slug(gpu->model);
		bool seen = false;

		for (size_t k = 0; k < n; k++)
			seen = seen || is_same_board(boards[k].gpu, gpu);
		if (!seen)
			boards[n++] = (struct board){gpu, model,
					gpu->from_catalogue ? "catalogue" : "driver", inventory};
	}
	return show(args, boards, n);
}
