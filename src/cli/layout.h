/* SPDX-License-Identifier: Apache-2.0 */
/* What plan, apply and assert share: a node, a reading, a wish from the file that was named. */
#ifndef BH_CLI_LAYOUT_H
#define BH_CLI_LAYOUT_H

#include "cli/command.h"
#include "node/node.h"

struct layout {
	struct bh_node *node;
	const struct bh_inventory *inventory;
	struct bh_resume_report resumed; /* writers only */
	struct bh_wish wish;
	struct bh_gpu_plan *plans; /* NULL until planned */
};

/**
 * layout_open() - open the node, read it, resume what was left open (writers), read the file
 * @args:       borrowed
 * @role:       NULL to read only; else the name for the lock
 * @ret_layout: zeroed by the caller; clear it with layout_clear() also on failure
 * @err:        all that can go wrong on the way
 */
int layout_open(const struct cli_args *args, const char *role, struct layout *ret_layout,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * layout_clear() - free everything
 * @layout: zeroed is fine
 */
void layout_clear(struct layout *layout);

/**
 * layout_document() - the JSON that plan and apply share
 * @layout:  borrowed
 * @now:     what "final" shows of each GPU; NULL for the plans' predictions
 * @changed: what it says of itself
 *
 * Return: a new reference, NULL when out of memory.
 */
json_t *layout_document(const struct layout *layout, const struct bh_inventory *now, bool changed);

/**
 * layout_has_steps() - would applying change anything
 * @layout: planned
 */
bool layout_has_steps(const struct layout *layout);

/**
 * layout_print_notes() - what the file's reader and the resuming have to say, for people
 * @layout: borrowed
 */
void layout_print_notes(const struct layout *layout);

#endif
