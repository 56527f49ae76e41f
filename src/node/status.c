/* SPDX-License-Identifier: Apache-2.0 */
#include "node/status.h"

#include <stdio.h>
#include <string.h>

#include "ledger/generation.h"
#include "ledger/journal.h"
#include "node/state_dir.h"

void bh_node_status_clear(struct bh_node_status *status)
{
	json_decref(status->last_run);
	status->last_run = NULL;
}

static void add_drift(struct bh_node_status *status, const struct bh_gpu *gpu, const char *uuid,
		const char *found)
{
	size_t used = strlen(status->drift_reason);
	char *end = status->drift_reason + used;
	size_t room = sizeof(status->drift_reason) - used;

	if (gpu)
		(void) snprintf(end, room, "%sGPU %u: %s", used ? "; " : "", gpu->index, found);
	else
		(void) snprintf(end, room, "%sGPU %s is missing", used ? "; " : "", uuid);
}

/* A board that is gone drifts, too, and so does one whose kept layout it cannot hold any more. */
static int check_drift(const struct bh_inventory *inventory, const struct bh_generation *generation,
		struct bh_node_status *status, struct bh_error *err)
{
	const json_t *row;
	size_t i;

	json_array_foreach (generation->layout, i, row) {
		char uuid[BH_UUID_SIZE], found[200] = "";
		const struct bh_gpu *gpu;
		struct bh_gpu_want want;
		struct bh_error why = {0};

		if (bh_json_get_string(row, "uuid", uuid, sizeof(uuid), err) < 0)
			return -1;
		gpu = bh_inventory_find_gpu(inventory, uuid);
		if (gpu && bh_want_from_json(row, gpu, &want, &why) < 0)
			(void) snprintf(found, sizeof(found), "%s", why.message);
		else if (gpu && bh_want_is_met(gpu, &want, found, sizeof(found)))
			continue;
		status->drift = true;
		add_drift(status, gpu, uuid, found);
	}
	return 0;
}

static int read_generation(struct bh_ledger *ledger, const struct bh_inventory *inventory,
		struct bh_node_status *status, struct bh_error *err)
{
	struct bh_generation generation = {0};
	int r = bh_generation_last(ledger, &generation, err);

	if (r == 0) {
		status->generation = generation.n;
		memcpy(status->source, generation.source, sizeof(status->source));
		memcpy(status->selected, generation.selected, sizeof(status->selected));
		memcpy(status->sha256, generation.sha256, sizeof(status->sha256));
		r = check_drift(inventory, &generation, status, err);
	}
	bh_generation_clear(&generation);
	return r < 0 ? -1 : 0;
}

int bh_node_status(struct bh_node *node, struct bh_node_status *ret_status, struct bh_error *err)
{
	bh_auto_journal_run struct bh_journal_run *open = NULL;
	struct bh_ledger *ledger = bh_node_ledger(node);
	struct bh_node_status status = {0};
	int r;

	(void) bh_state_find_writer(bh_node_state_dir(node), &status.writer);
	if (!ledger) {
		*ret_status = status;
		return 0;
	}
	if (read_generation(ledger, bh_node_inventory(node), &status, err) < 0)
		return -1;
	r = bh_journal_next_open(ledger, 0, &open, err);
	status.run_open = r == 0;
	if (r < 0 || bh_journal_last_run(ledger, &status.last_run, err) < 0) {
		bh_node_status_clear(&status);
		return -1;
	}
	*ret_status = status;
	return 0;
}
