/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/show.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ctl/health.h"
#include "ctl/topology.h"
#include "ctl/nodes.h"
#include "model/assumed.h"
#include "model/client.h"
#include "model/holder.h"
#include "nvml/calls.h"

static json_t *number_or_null(bool known, uint32_t number)
{
	return known ? json_integer(number) : json_null();
}

/* One row for each compute instance, and one for a GPU instance that has none. */
static json_t *instance_json(const struct sim_gpu *gpu, const struct sim_board *board,
		const struct sim_gi *gi, const struct sim_ci *ci)
{
	static const struct sim_gi_row unknown = {.name = "?"};
	const struct sim_gi_row *profile = gi->row < board->n_gis ? &board->gis[gi->row] : &unknown;
	const struct sim_ci_row *part =
			ci && ci->row < profile->n_cis ? &profile->cis[ci->row] : NULL;
	char name[SIM_NAME_SIZE];
	bool busy = sim_holder_in(gpu, gi->generation, ci ? ci->generation : 0);

	(void) snprintf(name, sizeof(name), "%s", profile->name);
	if (part && part->sm != profile->sm)
		(void) snprintf(name, sizeof(name), "%uc.%s", part->slices, profile->name);
	return json_pack("{s:i, s:o, s:s, s:s, s:i, s:i, s:o, s:b, s:o, s:o, s:I}", "gi",
			(int) gi->id, "ci", number_or_null(ci, ci ? ci->id : 0), "profile",
			profile->name, "ci_profile", name, "start", (int) gi->start, "size",
			(int) gi->size, "uuid", ci ? json_string(ci->uuid) : json_null(), "busy",
			busy, "ci_start", number_or_null(ci, ci ? ci->start : 0), "ci_size",
			number_or_null(ci, ci ? ci->size : 0), "memory_mib",
			(json_int_t) gi->memory_mib);
}

static json_t *instances_json(const struct sim_gpu *gpu, const struct sim_board *board)
{
	json_t *list = json_array();

	for (uint32_t unit = 0; unit < 32; unit++) { /* in order of start */
		for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
			const struct sim_gi *gi = &gpu->mig.gis[i];

			if (!gi->generation || gi->start != unit)
				continue;
			if (!gi->n_cis)
				json_array_append_new(list, instance_json(gpu, board, gi, NULL));
			for (uint32_t j = 0; j < SIM_CIS_MAX; j++) {
				if (gi->cis[j].generation)
					json_array_append_new(list,
							instance_json(gpu, board, gi, &gi->cis[j]));
			}
		}
	}
	return list;
}

static json_t *holders_json(const struct sim_gpu *gpu)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		const struct sim_holder *h = &gpu->holders[i];
		const struct sim_gi *in = NULL;

		if (!h->used)
			continue;
		for (uint32_t j = 0; h->gi_generation && j < SIM_GIS_MAX; j++) {
			if (gpu->mig.gis[j].generation == h->gi_generation)
				in = &gpu->mig.gis[j];
		}
		json_array_append_new(list,
				json_pack("{s:s, s:i, s:s, s:o}", "kind", sim_holder_kinds[h->kind],
						"pid", (int) h->pid, "name", h->name, "start",
						number_or_null(in, in ? in->start : 0)));
	}
	return list;
}

static json_t *trouble_json(const struct sim_trouble *trouble)
{
	return json_pack("{s:b, s:I, s:b}", "lost", trouble->lost != 0, "slow_ms",
			(json_int_t) trouble->slow_ms, "unkillable", trouble->freezer != 0);
}

static json_t *gpu_json(const struct sim_map *map, uint32_t index)
{
	const struct sim_gpu *gpu = &map->state->gpus[index];
	const struct sim_board *board = map->boards[index];
	json_t *shown;
	char pci[32];

	(void) snprintf(pci, sizeof(pci), "%08X:%02X:%02X.0", gpu->identity.pci_domain,
			gpu->identity.pci_bus, gpu->identity.pci_device);
	shown = json_pack("{s:i, s:s, s:s, s:s, s:s, s:{s:b, s:i, s:i}, s:i, s:b, s:o, s:o}",
			"index", (int) index, "uuid", gpu->identity.uuid, "pci", pci, "name",
			board->name, "model", board->slug, "mig", "capable", board->mig_capable,
			"current", (int) gpu->mig.current, "pending", (int) gpu->mig.pending,
			"resets", (int) gpu->mig.resets, "reset_supported", !gpu->no_reset,
			"instances", instances_json(gpu, board), "holders", holders_json(gpu));
	(void) json_object_set_new(shown, "trouble", trouble_json(&gpu->trouble));
	return shown;
}

static json_t *clients_json(const struct sim_state *s)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++) {
		if (s->clients[i].used)
			json_array_append_new(list,
					json_pack("{s:i, s:s}", "pid", (int) s->clients[i].pid,
							"name", s->clients[i].name));
	}
	return list;
}

static uint32_t count_assumed(const struct sim_map *map)
{
	uint32_t n = SIM_N_ASSUMED;

	for (uint32_t i = 0; i < map->state->n_gpus; i++) {
		bool seen = false; /* each kind of board once */

		for (uint32_t j = 0; j < i; j++)
			seen |= map->boards[j] == map->boards[i];
		n += seen ? 0 : map->boards[i]->assumed;
	}
	return n;
}

/* Where each entry's signature was compared. */
static json_t *checked_json(void)
{
	static const char *const words[] = {
			[BH_ABI_CHECKED_HEADER] = "header",
			[BH_ABI_CHECKED_BINDINGS] = "bindings",
			[BH_ABI_CHECKED_NONE] = "none",
	};
	json_t *by = json_object();

	for (unsigned int i = 0; i < SIM_CALL_COUNT; i++)
		json_object_set_new(by, sim_call_names[i], json_string(words[sim_call_checked[i]]));
#define X(name, need, params, args, out, checked_by)                                               \
	json_object_set_new(by, #name, json_string(words[BH_ABI_CHECKED_##checked_by]));
	BH_NVML_TEXT_SYMBOLS(X)
#undef X
	return by;
}

static json_t *clock_json(const struct sim_clock *clock)
{
	double scale = clock->scale ? (double) clock->scale / SIM_CLOCK_UNIT : 1;

	return json_pack("{s:b, s:f, s:I}", "real", clock->scale == 0, "scale", scale, "now_ms",
			(json_int_t) (sim_clock_now(clock) / 1000000));
}

json_t *ctl_node_json(const struct sim_map *map)
{
	const struct sim_state *s = map->state;
	json_t *gpus = json_array(), *calls = json_object(), *node;
	uint32_t faults = 0;
	char nodes[64];

	for (uint32_t i = 0; i < s->n_gpus; i++) {
		json_t *gpu = gpu_json(map, i);

		json_object_set_new(gpu, "health", ctl_health_json(&s->gpus[i]));
		json_array_append_new(gpus, gpu);
	}
	for (uint32_t i = 0; i < s->n_calls; i++) {
		if (s->calls[i].count)
			json_object_set_new(calls, s->calls[i].name,
					json_integer((json_int_t) s->calls[i].count));
	}
	for (uint32_t i = 0; i < SIM_FAULTS_MAX; i++)
		faults += s->faults[i].used;
	ctl_nodes_text(&s->nodes, nodes, sizeof(nodes));
	node = json_pack("{s:s, s:i, s:o, s:o, s:I, s:I, s:i, s:i, s:o, s:{s:i, s:i}, s:s, s:o, "
			 "s:o}",
			"machine", s->machine, "boot", (int) s->node.boot, "gpus", gpus, "calls",
			calls, "changing_calls", (json_int_t) s->changing_calls, "reads",
			(json_int_t) s->reads, "assumed", (int) count_assumed(map), "faults",
			(int) faults, "clients", clients_json(s), "lock", "deaths", (int) s->deaths,
			"undone", (int) s->undone, "nodes", nodes, "nodes_why",
			s->nodes.why[0] ? json_string(s->nodes.why) : json_null(), "topology",
			ctl_topology_json(map));
	(void) json_object_set_new(node, "clock", clock_json(&s->node.clock));
	(void) json_object_set_new(node, "checked_by", checked_json());
	return node;
}

static void print_trouble(const json_t *trouble)
{
	long long ms = json_integer_value(json_object_get(trouble, "slow_ms"));

	if (json_is_true(json_object_get(trouble, "lost")))
		(void) printf("  lost\n");
	if (json_is_true(json_object_get(trouble, "unkillable")))
		(void) printf("  calls do not return, and their callers cannot be killed\n");
	else if (ms)
		(void) printf("  each call takes %lld ms\n", ms);
}

/* What the whole rests on: signatures by where they were checked, and what is assumed. */
static void print_basis(const json_t *node)
{
	size_t header = 0, bindings = 0, all = 0;
	const char *name;
	json_t *by;

	json_object_foreach (json_object_get(node, "checked_by"), name, by) {
		all++;
		header += strcmp(json_string_value(by), "header") == 0;
		bindings += strcmp(json_string_value(by), "bindings") == 0;
	}
	(void) printf("%zu symbols: %zu checked by the header, %zu by bindings, %zu by nothing; "
		      "%lld "
		      "assumptions\n",
			all, header, bindings, all - header - bindings,
			(long long) json_integer_value(json_object_get(node, "assumed")));
}

static void print_gpu(const json_t *gpu)
{
	const json_t *row;
	size_t i;

	(void) printf("GPU %lld  %s  %s  %s\n  model %s, MIG %s%s\n",
			(long long) json_integer_value(json_object_get(gpu, "index")),
			json_string_value(json_object_get(gpu, "uuid")),
			json_string_value(json_object_get(gpu, "pci")),
			json_string_value(json_object_get(gpu, "name")),
			json_string_value(json_object_get(gpu, "model")),
			json_integer_value(json_object_get(json_object_get(gpu, "mig"), "current"))
					? "on"
					: "off",
			json_equal(json_object_get(json_object_get(gpu, "mig"), "current"),
					json_object_get(json_object_get(gpu, "mig"), "pending"))
					? ""
					: " (another mode pending)");
	if (json_is_false(json_object_get(gpu, "reset_supported")))
		(void) printf("  cannot be reset\n");
	json_array_foreach (json_object_get(gpu, "instances"), i, row) {
		const char *uuid = json_string_value(json_object_get(row, "uuid"));

		(void) printf("  %-14s at %lld, GI %lld, %s%s\n",
				json_string_value(json_object_get(row, "ci_profile")),
				(long long) json_integer_value(json_object_get(row, "start")),
				(long long) json_integer_value(json_object_get(row, "gi")),
				uuid ? uuid : "no compute instance",
				json_is_true(json_object_get(row, "busy")) ? ", busy" : "");
	}
	print_trouble(json_object_get(gpu, "trouble"));
	json_array_foreach (json_object_get(gpu, "holders"), i, row)
		(void) printf("  held by %s %lld (%s)\n",
				json_string_value(json_object_get(row, "kind")),
				(long long) json_integer_value(json_object_get(row, "pid")),
				json_string_value(json_object_get(row, "name")));
	ctl_health_print(json_object_get(gpu, "health"));
}

static void print_text(const json_t *node)
{
	const char *why = json_string_value(json_object_get(node, "nodes_why"));
	const json_t *gpu;
	size_t i;

	json_array_foreach (json_object_get(node, "gpus"), i, gpu)
		print_gpu(gpu);
	ctl_events_print(json_object_get(node, "events"));
	ctl_topology_print(json_object_get(node, "topology"));
	(void) printf("nodes: %s%s%s\n", json_string_value(json_object_get(node, "nodes")),
			why ? ": " : "", why ? why : "");
	(void) printf("%lld changing calls, %lld reads; %lld faults injected\n",
			(long long) json_integer_value(json_object_get(node, "changing_calls")),
			(long long) json_integer_value(json_object_get(node, "reads")),
			(long long) json_integer_value(json_object_get(node, "faults")));
	print_basis(node);
}

int ctl_show(int argc, char **argv)
{
	bool as_json = argc == 3 && strcmp(argv[2], "--json") == 0;
	bh_auto_json json_t *node = NULL;
	struct sim_map map, copy;
	struct sim_tx tx;
	int rc;

	if (argc < 2 || argc > 3 || (argc == 3 && !as_json))
		return ctl_complain(CTL_USAGE, "show DIR [--json]");
	rc = ctl_open(argv[1], &map);
	if (rc != CTL_DONE)
		return rc;
	copy = map;
	copy.state = malloc(sizeof(*copy.state));
	if (!copy.state)
		return ctl_complain(CTL_FAILED, "out of memory");
	sim_tx_begin(&tx, &map, /* take_back= */ false);
	(void) sim_client_sweep(&tx, SIM_CLIENTS_MAX);
	memcpy(copy.state, map.state, sizeof(*copy.state));
	rc = ctl_end(&tx, SIM_OK, argv[1]);
	node = rc == CTL_DONE ? ctl_node_json(&copy) : NULL;
	json_object_set_new(node, "events", ctl_events_json(copy.state));
	json_object_set_new(node, "log", ctl_log_json(argv[1]));
	free(copy.state);
	sim_map_close(&map);
	if (rc != CTL_DONE)
		return rc;
	if (!node)
		return ctl_complain(CTL_FAILED, "out of memory, or a text of the node is no UTF-8");
	if (as_json) {
		(void) json_dumpf(node, stdout, JSON_INDENT(1));
		(void) putchar('\n');
	} else {
		print_text(node);
	}
	return CTL_DONE;
}
