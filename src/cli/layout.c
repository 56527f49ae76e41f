/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/layout.h"

#include "cli/view.h"
#include "cli/terminal.h"

static const char *end_word(enum bh_run_end end)
{
	static const char *const words[] = {[BH_RUN_DONE] = "completed",
			[BH_RUN_ROLLED_BACK] = "undone",
			[BH_RUN_ABANDONED] = "abandoned",
			[BH_RUN_LEFT] = "left"};

	return words[end];
}

int layout_open(const struct cli_args *args, const char *role, struct layout *ret_layout,
		struct bh_error *err)
{
	struct bh_node_config config = cli_node_config(args);

	if (bh_node_open(&config, role, &ret_layout->node, err) < 0 ||
			bh_node_read(ret_layout->node, &ret_layout->inventory, err) < 0)
		return -1;
	if (role && bh_node_resume(ret_layout->node, &ret_layout->resumed, err) < 0)
		return -1;
	ret_layout->inventory = bh_node_inventory(ret_layout->node);
	return bh_wish_load_mig_config(args->file, args->values[CLI_SELECT_NUMBER],
			ret_layout->inventory, args->values[CLI_STRICT_NUMBER] != NULL,
			&ret_layout->wish, err);
}

void layout_clear(struct layout *layout)
{
	bh_node_plans_free(layout->plans, layout->wish.n_wants);
	bh_wish_clear(&layout->wish);
	bh_node_free(layout->node);
}

bool layout_has_steps(const struct layout *layout)
{
	for (size_t i = 0; i < layout->wish.n_wants; i++) {
		if (layout->plans[i].n_steps > 0)
			return true;
	}
	return false;
}

static json_t *resumed_runs(const struct bh_resume_report *report)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < report->n_runs; i++) {
		const struct bh_resumed_run *run = &report->runs[i];

		if (json_array_append_new(rows,
				    json_pack("{s:I, s:s, s:s, s:s}", "run", (json_int_t) run->id,
						    "gpu", run->gpu, "outcome", end_word(run->end),
						    "reason", run->err.message)) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *notes(const struct bh_wish *wish)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < wish->n_notes; i++) {
		if (json_array_append_new(rows, json_string(wish->notes[i])) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

json_t *layout_document(const struct layout *layout, const struct bh_inventory *now, bool changed)
{
	bh_auto_json json_t *gpus = json_array();
	json_int_t operations = 0;

	for (size_t i = 0; layout->plans && i < layout->wish.n_wants; i++) {
		const struct bh_gpu_plan *plan = &layout->plans[i];
		const struct bh_gpu *final = now && i < now->n_gpus ? &now->gpus[i]
					     : now		    ? &plan->before
								    : &plan->after;

		operations += plan->operations;
		if (json_array_append_new(gpus, view_plan_gpu(plan, final)) < 0)
			return NULL;
	}
	return json_pack("{s:b, s:O, s:I, s:o, s:o}", "changed", changed, "gpus", gpus,
			"operations", operations, "notes", notes(&layout->wish), "resumed",
			resumed_runs(&layout->resumed));
}

void layout_print_notes(const struct layout *layout)
{
	for (size_t i = 0; i < layout->resumed.n_runs; i++) {
		const struct bh_resumed_run *run = &layout->resumed.runs[i];

		cli_line(stderr, CLI_PLAIN, 4, "note: the interrupted run %lld on %s was %s%s%s",
				(long long) run->id, run->gpu, end_word(run->end),
				run->err.message[0] ? ": " : "", run->err.message);
	}
	for (size_t i = 0; i < layout->wish.n_notes; i++)
		cli_line(stderr, CLI_PLAIN, 4, "note: %s", layout->wish.notes[i]);
}
