/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/layout.h"
#include "cli/picture.h"
#include "cli/terminal.h"

static int show_done(const struct cli_args *args, const struct layout *layout,
		const struct bh_apply_report *report, const struct bh_inventory *now)
{
	json_t *document;

	if (args->json) {
		document = layout_document(layout, now, report->changed);
		if (document && bh_json_set(document, "generation",
						json_integer(report->generation), NULL) < 0)
			document = NULL;
		return cli_print_json(document, 0);
	}
	layout_print_notes(layout);
	for (size_t i = 0; i < layout->wish.n_wants; i++) {
		if (layout->plans[i].in_scope)
			cli_line(stdout, CLI_PLAIN, 4, "GPU %u: %s", now->gpus[i].index,
					report->gpus[i].ran
							? "changed, and read back as wanted"
							: "nothing to do, holds what is wanted");
		else
			cli_line(stdout, CLI_PLAIN, 4,
					"GPU %u: not in this configuration, left as found",
					now->gpus[i].index);
		if (now->gpus[i].mig_current == BH_MIG_ON)
			picture_units(&now->gpus[i]);
	}
	return 0;
}

/* What became of each GPU that was to change. */
static const char *outcome(
		const struct layout *layout, const struct bh_apply_report *report, size_t i)
{
	static const char *const ends[] = {[BH_RUN_DONE] = "done",
			[BH_RUN_ROLLED_BACK] = "rolled-back",
			[BH_RUN_ABANDONED] = "abandoned",
			[BH_RUN_LEFT] = "left"};

	if (!layout->plans[i].in_scope)
		return "out-of-scope";
	if (layout->plans[i].n_steps == 0)
		return "nothing-to-do";
	if (i >= report->n_gpus || !report->gpus[i].ran)
		return "not-started";
	return ends[report->gpus[i].result.end];
}

static json_t *outcomes(const struct layout *layout, const struct bh_apply_report *report)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; layout->plans && i < layout->wish.n_wants; i++) {
		if (json_array_append_new(rows,
				    json_pack("{s:s, s:s, s:s}", "uuid",
						    layout->plans[i].before.uuid, "outcome",
						    outcome(layout, report, i), "left",
						    i < report->n_gpus ? report->gpus[i].result.left
								       : "")) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

/* With the failure goes what is there now, never what was to be. */
static int show_failed(const struct cli_args *args, const struct layout *layout,
		const struct bh_apply_report *report, const struct bh_error *err)
{
	const struct bh_inventory *now = NULL;
	json_t *document = NULL;

	if (args->json) {
		if (layout->plans && report->n_gpus > 0 &&
				bh_node_read(layout->node, &now, NULL) < 0)
			now = NULL; /* the old reading is shown */
		document = layout_document(layout, now, report->changed);
		if (document && bh_json_set(document, "outcomes", outcomes(layout, report), NULL) <
						0) {
			json_decref(document);
			document = NULL;
		}
		return cli_fail(args, document, err);
	}
	layout_print_notes(layout);
	for (size_t i = 0; report->n_gpus > 0 && i < layout->wish.n_wants; i++) {
		if (layout->plans[i].in_scope)
			cli_line(stdout, CLI_PLAIN, 4, "GPU %u: %s", layout->plans[i].before.index,
					outcome(layout, report, i));
	}
	return cli_fail(args, NULL, err);
}

int cmd_apply(const struct cli_args *args)
{
	struct bh_apply_report report = {0};
	struct layout layout = {0};
	struct bh_error err = {0};
	int status;

	if (layout_open(args, "apply", &layout, &err) < 0 ||
			bh_node_check_resumed(layout.node, &layout.wish, &layout.resumed, &err) <
					0 ||
			bh_node_plan(layout.node, &layout.wish, &layout.plans, &err) < 0 ||
			bh_node_apply(layout.node, &layout.wish, layout.plans, &report, &err) < 0)
		status = show_failed(args, &layout, &report, &err);
	else
		status = show_done(args, &layout, &report, bh_node_inventory(layout.node));
	bh_apply_report_clear(&report);
	layout_clear(&layout);
	return status;
}
