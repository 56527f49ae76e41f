/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/fragmentation.h"
#include "cli/picture.h"
#include "cli/terminal.h"
#include "cli/view.h"

static json_t *holders(const struct bh_gpu *gpu)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < gpu->n_holders; i++) {
		const struct bh_gpu_holder *h = &gpu->holders[i];

		if (json_array_append_new(
				    rows, json_pack("{s:s, s:o, s:s, s:o, s:o}", "kind",
							  h->who.kind, "pid",
							  h->who.pid ? json_integer(h->who.pid)
								     : json_null(),
							  "name", h->who.name, "gi",
							  bh_number_to_json(h->gi), "ci",
							  bh_number_to_json(h->ci))) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *gpu_to_json(const struct bh_gpu *gpu)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:{s:b, s:o, s:o}, s:o, s:o}", "index",
			gpu->index, "uuid", gpu->uuid, "pci", gpu->pci, "name", gpu->name, "model",
			gpu->model[0] ? json_string(gpu->model) : json_null(), "memory_mib",
			bh_number64_to_json(gpu->memory_mib), "mig", "capable", gpu->mig_capable,
			"current", view_mode(gpu->mig_current), "pending",
			view_mode(gpu->mig_pending), "instances", view_instances(gpu), "holders",
			gpu->holders_known ? holders(gpu) : json_null());
}

static json_t *inventory_to_json(const struct bh_inventory *inventory, bool with_fragmentation)
{
	bh_auto_json json_t *gpus = json_array();
	json_t *document;

	for (size_t i = 0; i < inventory->n_gpus; i++) {
		if (json_array_append_new(gpus, gpu_to_json(&inventory->gpus[i])) < 0)
			return NULL;
	}
	document = json_pack("{s:s, s:s, s:O}", "origin", inventory->origin, "driver",
			inventory->driver, "gpus", gpus);
	if (document && with_fragmentation &&
			bh_json_set(document, "fragmentation", fragmentation_to_json(inventory),
					NULL) < 0) {
		json_decref(document);
		return NULL;
	}
	return document;
}

static void print_gpu(const struct bh_gpu *gpu)
{
	bool changes = gpu->mig_pending != gpu->mig_current;

	cli_line(stdout, CLI_PLAIN, 4, "GPU %u %s %s %s", gpu->index, gpu->name, gpu->pci,
			gpu->uuid);
	if (!gpu->mig_capable) {
		cli_line(stdout, CLI_PLAIN, 4, "  no MIG");
		return;
	}
	cli_line(stdout, CLI_PLAIN, 4, "  MIG mode %s%s%s%s", view_mode_word(gpu->mig_current),
			changes ? ", " : "", changes ? view_mode_word(gpu->mig_pending) : "",
			changes ? " pending" : "");
	if (gpu->mig_current == BH_MIG_ON)
		picture_units(gpu);
	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		if (gi->n_cis == 0)
			cli_line(stdout, CLI_PLAIN, 4, "  %-14s at %u  no compute instance%s",
					view_profile_name(gpu, gi->profile_id), gi->at.start,
					gi->foreign ? "  not ours" : "");
		for (size_t c = 0; c < gi->n_cis; c++)
			cli_line(stdout, CLI_PLAIN, 4, "  %-14s at %u  %u slice%s at %u  %s%s%s",
					view_profile_name(gpu, gi->profile_id), gi->at.start,
					gi->cis[c].at.size, gi->cis[c].at.size == 1 ? "" : "s",
					gi->cis[c].at.start, gi->cis[c].uuid,
					gi->cis[c].busy ? "  in use" : "",
					gi->foreign || gi->cis[c].foreign ? "  not ours" : "");
	}
	picture_holders(gpu);
}

int cmd_inventory(const struct cli_args *args)
{
	struct bh_node_config config = cli_node_config(args);
	bh_auto_node struct bh_node *node = NULL;
	const struct bh_inventory *inventory;
	bool fragmentation = args->values[CLI_FRAGMENTATION_NUMBER] != NULL;
	struct bh_error err = {0};

	if (bh_node_open(&config, NULL, &node, &err) < 0 ||
			bh_node_read(node, &inventory, &err) < 0)
		return cli_fail(args, NULL, &err);
	if (args->json)
		return cli_print_json(inventory_to_json(inventory, fragmentation), 0);
	cli_line(stdout, CLI_PLAIN, 4, "driver %s, %zu GPU%s, from %s", inventory->driver,
			inventory->n_gpus, inventory->n_gpus == 1 ? "" : "s", inventory->origin);
	for (size_t i = 0; i < inventory->n_gpus; i++)
		print_gpu(&inventory->gpus[i]);
	if (fragmentation && fragmentation_print(inventory, &err) < 0)
		return cli_fail(args, NULL, &err);
	return 0;
}
