/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/layout.h"
#include "cli/terminal.h"

/* Whoever made an instance, it is there: so a layout also holds when all instances count. */
static bool is_met(
		const struct bh_gpu *gpu, const struct bh_gpu_want *want, char *found, size_t size)
{
	struct bh_gpu all = *gpu;

	for (size_t g = 0; g < all.n_gis; g++) {
		all.gis[g].foreign = false;
		for (size_t c = 0; c < all.gis[g].n_cis; c++)
			all.gis[g].cis[c].foreign = false;
	}
	return bh_want_is_met(gpu, want, found, size) || bh_want_is_met(&all, want, found, size);
}

static json_t *difference(const struct bh_gpu *gpu, const char *found)
{
	const char *comma = strstr(found, ", found ");
	int n = comma ? (int) (comma - found) : (int) strlen(found);

	/* "wanted X, found Y" in two fields */
	return json_pack("{s:i, s:s, s:s%, s:s}", "gpu", gpu->index, "uuid", gpu->uuid, "wanted",
			found + 7, n > 7 ? (size_t) n - 7 : 0, "found", comma ? comma + 8 : "");
}

static int judge(const struct cli_args *args, const struct layout *layout)
{
	bh_auto_json json_t *differences = json_array();
	const struct bh_inventory *inventory = layout->inventory;
	bool holds = true;
	int status;

	if (!args->json)
		layout_print_notes(layout);
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		char found[256] = "";

		if (is_met(&inventory->gpus[i], &layout->wish.wants[i], found, sizeof(found)))
			continue;
		holds = false;
		if (!args->json)
			cli_line(stdout, CLI_PLAIN, 4, "GPU %u: %s", inventory->gpus[i].index,
					found);
		if (json_array_append_new(differences, difference(&inventory->gpus[i], found)) < 0)
			return cli_print_json(NULL, 0);
	}
	status = holds ? 0 : bh_code_exit_status(BH_E_NOT_SO);
	if (args->json)
		return cli_print_json(
				json_pack("{s:b, s:O}", "holds", holds, "differences", differences),
				status);
	cli_line(stdout, CLI_PLAIN, 4, "%s",
			holds ? "the layout holds" : "the layout does not hold");
	return status;
}

int cmd_assert(const struct cli_args *args)
{
	struct layout layout = {0};
	struct bh_error err = {0};
	int status;

	if (layout_open(args, NULL, &layout, &err) < 0)
		status = cli_fail(args, NULL, &err);
	else
		status = judge(args, &layout);
	layout_clear(&layout);
	return status;
}
