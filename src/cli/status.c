/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/command.h"
#include "cli/picture.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "node/status.h"

static const char *unit_state(const struct bh_gi *gi, bool stranded)
{
	if (!gi)
		return stranded ? "stranded" : "free";
	if (gi->foreign)
		return "foreign";
	return gi->busy ? "busy" : "held";
}

static json_t *units(const struct bh_gpu *gpu)
{
	bh_auto_json json_t *rows = json_array();
	uint64_t stranded = view_stranded_units(gpu);

	for (uint32_t unit = 0; gpu->mig_current == BH_MIG_ON && unit < gpu->placement_units;
			unit++) {
		const struct bh_gi *gi = NULL;
		json_t *holder;

		for (size_t g = 0; g < gpu->n_gis; g++) {
			if (bh_placement_mask(&gpu->gis[g].at) >> unit & 1)
				gi = &gpu->gis[g];
		}
		holder = gi ? json_pack("{s:s, s:i, s:o}", "profile",
					      view_profile_name(gpu, gi->profile_id), "start",
					      gi->at.start, "uuid",
					      gi->n_cis && gi->cis[0].uuid[0]
							      ? json_string(gi->cis[0].uuid)
							      : json_null())
			    : json_null();
		if (json_array_append_new(
				    rows, json_pack("{s:i, s:s, s:o, s:n}", "n", unit, "state",
							  unit_state(gi, stranded >> unit & 1),
							  "holder", holder, "group")) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *foreign(const struct bh_gpu *gpu)
{
	bh_auto_json json_t *all = view_instances(gpu), *rows = json_array();
	json_t *row = NULL;
	size_t i;

	if (!all)
		return NULL;
	json_array_foreach (all, i, row) {
		if (json_is_true(json_object_get(row, "foreign")) &&
				json_array_append(rows, row) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *gpu_to_json(const struct bh_gpu *gpu)
{
	return json_pack("{s:i, s:s, s:n, s:{s:o, s:o}, s:o, s:o, s:i}", "index", gpu->index,
			"uuid", gpu->uuid, "health", "mig", "current", view_mode(gpu->mig_current),
			"pending", view_mode(gpu->mig_pending), "units", units(gpu), "foreign",
			foreign(gpu), "stranded", __builtin_popcountll(view_stranded_units(gpu)));
}

static json_t *to_json(const struct bh_inventory *inventory, const struct bh_node_status *s)
{
	bh_auto_json json_t *gpus = json_array();
	json_t *generation = json_null(), *writer = json_null();

	for (size_t i = 0; i < inventory->n_gpus; i++) {
		if (json_array_append_new(gpus, gpu_to_json(&inventory->gpus[i])) < 0)
			return NULL;
	}
	if (s->generation > 0)
		generation = json_pack("{s:I, s:s, s:s, s:s}", "number", (json_int_t) s->generation,
				"source", s->source, "select", s->selected, "sha256", s->sha256);
	if (s->writer.pid)
		writer = json_pack(
				"{s:i, s:s}", "pid", (int) s->writer.pid, "role", s->writer.name);
	return json_pack("{s:o, s:o, s:o, s:s, s:O?, s:b, s:o, s:O}", "generation", generation,
			"drift", s->generation > 0 ? json_boolean(s->drift) : json_null(),
			"drift_reason", s->drift ? json_string(s->drift_reason) : json_null(),
			"guard", "off", "run", s->last_run, "run_open", s->run_open, "writer",
			writer, "gpus", gpus);
}

static void print_run(const json_t *run)
{
	const char *state = json_string_value(json_object_get(run, "state"));
	const char *note = json_string_value(json_object_get(run, "note"));

	if (state)
		cli_line(stdout, CLI_PLAIN, 4, "last change: %s%s%s", state,
				note && note[0] ? ": " : "", note ? note : "");
}

static void print(const struct bh_inventory *inventory, const struct bh_node_status *s)
{
	if (s->generation > 0)
		cli_line(stdout, s->drift ? CLI_YELLOW : CLI_PLAIN, 4,
				"generation %lld from '%s' (%s): %s%s", (long long) s->generation,
				s->source, s->selected, s->drift ? "not as wanted: " : "in place",
				s->drift_reason);
	else
		cli_line(stdout, CLI_PLAIN, 4,
				"no layout was applied with this state directory yet");
	if (s->drift && !s->writer.pid)
		cli_line(stdout, CLI_PLAIN, 4,
				"  next: 'bulkhead apply' with that file brings it back");
	if (s->writer.pid)
		cli_line(stdout, CLI_PLAIN, 4,
				"%s is at work (pid %d); what follows may be half-way",
				s->writer.name, (int) s->writer.pid);
	else if (s->run_open)
		cli_line(stdout, CLI_PLAIN, 4,
				"an interrupted change is open: the next apply finishes or takes "
				"it back");
	else
		print_run(s->last_run);
	cli_line(stdout, CLI_PLAIN, 4,
			"guard off: nothing keeps processes apart beyond what MIG itself does");
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		const struct bh_gpu *gpu = &inventory->gpus[i];

		cli_line(stdout, CLI_PLAIN, 4, "GPU %u %s %s, MIG %s", gpu->index, gpu->name,
				gpu->uuid,
				gpu->mig_capable ? view_mode_word(gpu->mig_current)
						 : "not offered");
		if (gpu->mig_current == BH_MIG_ON)
			picture_units(gpu);
		picture_holders(gpu);
	}
	cli_line(stdout, CLI_PLAIN, 4, "  (* in use, ! not ours, . free, x free but out of reach)");
}

int cmd_status(const struct cli_args *args)
{
	struct bh_node_config config = cli_node_config(args);
	bh_auto_node struct bh_node *node = NULL;
	const struct bh_inventory *inventory;
	struct bh_node_status ledger = {0};
	struct bh_error err = {0};
	int status = 0;

	if (bh_node_open(&config, NULL, &node, &err) < 0 ||
			bh_node_read(node, &inventory, &err) < 0 ||
			bh_node_status(node, &ledger, &err) < 0)
		return cli_fail(args, NULL, &err);
	if (args->json)
		status = cli_print_json(to_json(inventory, &ledger), 0);
	else
		print(inventory, &ledger);
	bh_node_status_clear(&ledger);
	return status;
}
