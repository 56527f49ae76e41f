/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/layout.h"
#include "cli/view.h"
#include "ledger/journal.h"

/* plan only reports what an interrupted command left; apply takes it up. */
static int note_open_run(struct layout *layout, bool *ret_open, struct bh_error *err)
{
	bh_auto_journal_run struct bh_journal_run *run = NULL;
	struct bh_ledger *ledger = bh_node_ledger(layout->node);
	int r = ledger ? bh_journal_next_open(ledger, 0, &run, err) : BH_LEDGER_NONE;

	if (r < 0)
		return -1;
	*ret_open = r == 0;
	return 0;
}

static int show(const struct cli_args *args, const struct layout *layout, bool open)
{
	bool changes = layout_has_steps(layout);
	int status = changes && args->values[CLI_CHECK_NUMBER] ? bh_code_exit_status(BH_E_NOT_SO)
							       : 0;
	json_t *document;

	if (args->json) {
		document = layout_document(layout, NULL, changes);
		if (document && bh_json_set(document, "open_run", json_boolean(open), NULL) < 0)
			document = NULL;
		return cli_print_json(document, status);
	}
	layout_print_notes(layout);
	if (open)
		(void) fprintf(stderr,
				"note: an interrupted change is open; apply finishes or takes "
				"back that one first\n");
	for (size_t i = 0; i < layout->inventory->n_gpus; i++)
		view_print_plan_gpu(&layout->plans[i]);
	return status;
}

int cmd_plan(const struct cli_args *args)
{
	struct layout layout = {0};
	struct bh_error err = {0};
	bool open = false;
	int status;

	if (layout_open(args, NULL, &layout, &err) < 0 || note_open_run(&layout, &open, &err) < 0 ||
			bh_node_plan(layout.node, &layout.wish, &layout.plans, &err) < 0)
		status = cli_fail(args, NULL, &err);
	else
		status = show(args, &layout, open);
	layout_clear(&layout);
	return status;
}
