/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/topology.h"

#include <stdio.h>

#include "ctl/links_file.h"
#include "model/topology.h"

/* What `nvidia-smi topo -m` calls them. */
static const char *const path_short[SIM_PATHS] = {
		[SIM_PATH_SYSTEM] = "SYS",
		[SIM_PATH_NODE] = "NODE",
		[SIM_PATH_BRIDGE] = "PHB",
		[SIM_PATH_MULTIPLE] = "PXB",
		[SIM_PATH_SINGLE] = "PIX",
};

/* As the kernel writes them: "0-55,112-167". */
static json_t *cpus_json(const struct sim_map *map, uint32_t gpu)
{
	uint64_t cpus[SIM_CPUS_MAX / 64];
	char text[4096] = "";
	size_t n = 0;

	sim_topology_cpus(&map->state->topology, map->state->n_gpus, gpu, cpus);
	for (uint32_t i = 0, end; i < SIM_CPUS_MAX && n < sizeof(text) - 16; i = end + 1) {
		for (end = i; end < SIM_CPUS_MAX && cpus[end / 64] >> end % 64 & 1; end++)
			;
		if (end == i)
			continue;
		n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%u", n ? "," : "", i);
		if (end > i + 1)
			n += (size_t) snprintf(text + n, sizeof(text) - n, "-%u", end - 1);
	}
	return json_string(text);
}

static json_t *fabric_json(const struct sim_spot *spot)
{
	char cluster[2 * sizeof(spot->cluster) + 1];

	for (size_t i = 0; i < sizeof(spot->cluster); i++)
		(void) snprintf(cluster + 2 * i, 3, "%02x", spot->cluster[i]);
	return json_pack("{s:s, s:s, s:I}", "state", ctl_fabric_words[spot->fabric], "cluster",
			cluster, "clique", (json_int_t) spot->clique);
}

static json_t *cell(const struct sim_tx *tx, uint32_t a, uint32_t b)
{
	uint32_t n = sim_topology_active(tx, a, b);

	if (a == b)
		return json_string("X");
	return n ? json_sprintf("NV%u", n)
		 : json_string(path_short[tx->state->topology.paths[a][b]]);
}

json_t *ctl_topology_json(const struct sim_map *map)
{
	const struct sim_tx tx = {.map = (struct sim_map *) map, .state = map->state};
	const struct sim_topology *t = &map->state->topology;
	json_t *gpus = json_array(), *matrix = json_array();

	for (uint32_t a = 0; a < map->state->n_gpus; a++) {
		const struct sim_spot *spot = &t->spots[a];
		json_t *links = json_array(), *paths = json_array(), *row = json_array();

		for (uint32_t b = 0; b < map->state->n_gpus; b++) {
			json_array_append_new(links, json_integer(t->links[a][b]));
			json_array_append_new(paths,
					json_string(a == b ? "self"
							   : ctl_path_words[t->paths[a][b]]));
			json_array_append_new(row, cell(&tx, a, b));
		}
		json_array_append_new(matrix, row);
		json_array_append_new(gpus,
				json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "numa", spot->numa,
						"cpus", cpus_json(map, a), "memory_node",
						spot->own_memory ? json_integer(spot->memory_node)
								 : json_null(),
						"links", links, "paths", paths, "fabric",
						fabric_json(spot)));
	}
	return json_pack("{s:i, s:o, s:o}", "nvswitches", (int) t->switches, "gpus", gpus, "matrix",
			matrix);
}

void ctl_topology_print(const json_t *topology)
{
	const json_t *matrix = json_object_get(topology, "matrix"), *row, *word;
	size_t a, b;

	for (b = 0; b < json_array_size(matrix); b++)
		(void) printf("\tGPU%zu", b);
	(void) printf("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n");
	json_array_foreach (matrix, a, row) {
		const json_t *gpu = json_array_get(json_object_get(topology, "gpus"), a);
		const json_t *node = json_object_get(gpu, "memory_node");
		int numa = (int) json_integer_value(json_object_get(gpu, "numa"));

		(void) printf("GPU%zu", a);
		json_array_foreach (row, b, word)
			(void) printf(a == b ? "\t %s " : "\t%s", json_string_value(word));
		(void) printf("\t%s\t", json_string_value(json_object_get(gpu, "cpus")));
		(void) (numa < 0 ? printf("N/A\t\t") : printf("%d\t\t", numa));
		(void) (json_is_null(node) ? printf("N/A\n")
					   : printf("%lld\n",
							     (long long) json_integer_value(node)));
	}
}
