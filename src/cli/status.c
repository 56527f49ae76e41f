/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/view.h"
#include "ledger/generation.h"
#include "ledger/journal.h"
#include "node/node.h"

struct status {
	struct bh_node *node;
	const struct bh_inventory *inventory;
	struct bh_generation generation;
	json_t *run; /* the last one; NULL = never one */
	bool drift_known;
	bool drift;
	char drift_text[256];
};

/* Does a GPU hold what the last generation wants of it? Boards that are gone drift, too. */
static int check_drift(struct status *s, struct bh_error *err)
{
	const json_t *row;
	size_t i;

	s->drift_known = s->generation.n > 0;
	json_array_foreach (s->generation.layout, i, row) {
		const char *uuid = json_string_value(json_object_get(row, "uuid"));
		const struct bh_gpu *gpu = NULL;
		struct bh_gpu_want want;
		char found[256] = "";

		for (size_t g = 0; uuid && g < s->inventory->n_gpus; g++) {
			if (strcmp(s->inventory->gpus[g].uuid, uuid) == 0)
				gpu = &s->inventory->gpus[g];
		}
		if (gpu && bh_want_from_json(row, gpu, &want, err) < 0)
			return -1;
		if (gpu && bh_want_is_met(gpu, &want, found, sizeof(found)))
			continue;
		s->drift = true;
		if (gpu)
			(void) snprintf(s->drift_text, sizeof(s->drift_text), "GPU %u: %s",
					gpu->index, found);
		else
			(void) snprintf(s->drift_text, sizeof(s->drift_text), "GPU %s is missing",
					uuid ? uuid : "without a UUID");
	}
	return 0;
}

static int gather(struct status *s, struct bh_error *err)
{
	struct bh_ledger *ledger = bh_node_ledger(s->node);

	if (bh_node_read(s->node, &s->inventory, err) < 0)
		return -1;
	if (!ledger)
		return 0;
	if (bh_generation_last(ledger, &s->generation, err) < 0 ||
			bh_journal_last_run(ledger, &s->run, err) < 0)
		return -1;
	return check_drift(s, err);
}

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

static json_t *to_json(const struct status *s)
{
	bh_auto_json json_t *gpus = json_array();
	json_t *generation = json_null();

	for (size_t i = 0; i < s->inventory->n_gpus; i++) {
		const struct bh_gpu *gpu = &s->inventory->gpus[i];

		if (json_array_append_new(gpus,
				    json_pack("{s:i, s:s, s:n, s:{s:o, s:o}, s:o, s:o, s:i}",
						    "index", gpu->index, "uuid", gpu->uuid,
						    "health", "mig", "current",
						    view_mode(gpu->mig_current), "pending",
						    view_mode(gpu->mig_pending), "units",
						    units(gpu), "foreign", foreign(gpu), "stranded",
						    __builtin_popcountll(
								    view_stranded_units(gpu)))) < 0)
			return NULL;
	}
	if (s->generation.n > 0)
		generation = json_pack("{s:I, s:s, s:s, s:s}", "number",
				(json_int_t) s->generation.n, "source", s->generation.source,
				"select", s->generation.selected, "sha256", s->generation.sha256);
	return json_pack("{s:o, s:o, s:o, s:s, s:O?, s:O}", "generation", generation, "drift",
			s->drift_known ? json_boolean(s->drift) : json_null(), "drift_reason",
			s->drift ? json_string(s->drift_text) : json_null(), "guard", "off", "run",
			s->run, "gpus", gpus);
}

static void print_run(const json_t *run)
{
	const char *state = json_string_value(json_object_get(run, "state"));
	const char *note = json_string_value(json_object_get(run, "note"));

	if (!state)
		return;
	if (strcmp(state, "open") == 0)
		(void) printf("an interrupted change is open: the next apply finishes or takes it "
			      "back\n");
	else
		(void) printf("last change: %s%s%s\n", state, note && note[0] ? ": " : "",
				note ? note : "");
}

static void print(const struct status *s)
{
	if (s->generation.n > 0)
		(void) printf("generation %lld from '%s' (%s): %s%s%s\n",
				(long long) s->generation.n, s->generation.source,
				s->generation.selected, s->drift ? "not as wanted: " : "in place",
				s->drift_text, "");
	else
		(void) printf("no layout was applied with this state directory yet\n");
	print_run(s->run);
	(void) printf("guard off: nothing keeps processes apart beyond what MIG itself does\n");
	for (size_t i = 0; i < s->inventory->n_gpus; i++) {
		const struct bh_gpu *gpu = &s->inventory->gpus[i];

		(void) printf("GPU %u %s %s, MIG %s\n", gpu->index, gpu->name, gpu->uuid,
				gpu->mig_capable ? view_mode_word(gpu->mig_current)
						 : "not offered");
		if (gpu->mig_current == BH_MIG_ON)
			view_print_units(gpu);
	}
	(void) printf("  (* in use, ! not made by Bulkhead, . free, x free but out of reach)\n");
}

int cmd_status(const struct cli_args *args)
{
	struct bh_node_config config = {
			.driver = args->driver,
			.state_dir = args->state_dir,
			.worker_path = args->worker_path,
			.call_deadline_ms = args->call_deadline_ms,
	};
	struct status s = {0};
	struct bh_error err = {0};
	int status = 0;

	if (bh_node_open(&config, NULL, &s.node, &err) < 0 || gather(&s, &err) < 0)
		status = cli_fail(args, NULL, &err);
	else if (args->json)
		status = cli_print_json(to_json(&s), 0);
	else
		print(&s);
	json_decref(s.run);
	bh_generation_clear(&s.generation);
	bh_node_free(s.node);
	return status;
}
