/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/layout.h"
#include "cli/diff.h"
#include "cli/terminal.h"
#include "node/status.h"

/* An interrupted change is only reported here; apply takes it up. */
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
		cli_line(stderr, CLI_PLAIN, 4,
				"note: an interrupted change is open; apply finishes or takes back "
				"that one first");
	for (size_t i = 0; i < layout->wish.n_wants; i++)
		diff_print(&layout->plans[i]);
	return status;
}

int cmd_plan(const struct cli_args *args)
{
	struct layout layout = {0};
	struct bh_error err = {0};
	struct bh_node_status ledger = {0};
	int status;

	if (layout_open(args, NULL, &layout, &err) < 0 ||
			bh_node_status(layout.node, &ledger, &err) < 0 ||
			bh_node_plan(layout.node, &layout.wish, &layout.plans, &err) < 0)
		status = cli_fail(args, NULL, &err);
	else
		status = show(args, &layout, ledger.run_open);
	bh_node_status_clear(&ledger);
	layout_clear(&layout);
	return status;
}
