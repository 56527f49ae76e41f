/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/chassis.h"

#include <string.h>

#include "model/topology.h"

struct chassis {
	const char *board;
	uint32_t n_gpus;
	uint32_t links;	     /* NVLinks of each pair */
	uint32_t switches;   /* that they lead to; 0: from GPU to GPU */
	uint32_t numa_nodes; /* the GPUs are spread over them in order */
	uint32_t n_cores;    /* of one node, each with two threads; 0: as assumed of any machine */
	bool fabric;	     /* its GPUs belong to one, of clique and cluster 0 */
};

/*
 * Sources: H100, links, nodes and CPUs: captures in NCCL issue 1264 and vLLM issue 13855; four of
 * them: NCCL issue 1617. A100, links and switches: NCCL issue 1505. B200: 1.8 TB/s by 18 links, as
 * its maker states. Everything else, and what is told of CPUs of the others, is assumed.
 */
static const struct chassis table[] = {
		{"h100-sxm5-80gb", 8, 18, 4, 2, 56, true},
		{"h100-sxm5-80gb", 4, 6, 0, 4, 0, false},
		{"h200-141gb", 8, 18, 4, 2, 56, true},
		{"b200-180gb", 8, 18, 2, 2, 56, true},
		{"a100-80gb", 8, 12, 6, 2, 0, false},
		{"a100-40gb", 8, 12, 6, 2, 0, false},
		{"a100-80gb", 2, 12, 0, 1, 0, false},
		{"a100-40gb", 2, 12, 0, 1, 0, false},
		{"l40s-48gb", 4, 0, 0, 2, 0, false},
		{"t4-16gb", 4, 0, 0, 2, 0, false},
};

/* Grace and Hopper are one module: 72 cores, and the GPU's memory is a node of its own. */
static void put_grace(struct sim_topology *topology)
{
	struct sim_spot *spot = &topology->spots[0];

	spot->cpus[0] = ~0ULL;
	spot->cpus[1] = 0xFF;
	spot->own_memory = 1;
	spot->memory_node = 1;
}

static const struct chassis *find(const struct sim_machine *machine)
{
	for (uint32_t i = 1; i < machine->n_gpus; i++) {
		if (machine->gpus[i].board != machine->gpus[0].board)
			return NULL;
	}
	for (size_t i = 0; i < BH_ARRAY_SIZE(table); i++) {
		if (table[i].n_gpus == machine->n_gpus &&
				strcmp(table[i].board, machine->gpus[0].board->slug) == 0)
			return &table[i];
	}
	return NULL;
}

/* The cores of all nodes come first, then their second threads. */
static void put_cpus(const struct chassis *c, struct sim_spot *spot)
{
	for (uint32_t i = 0; i < 2 * c->n_cores; i++) {
		uint32_t core = (uint32_t) spot->numa * c->n_cores + i % c->n_cores;
		uint32_t cpu = core + (i < c->n_cores ? 0 : c->numa_nodes * c->n_cores);

		spot->cpus[cpu / 64] |= 1ULL << cpu % 64;
	}
}

void ctl_chassis_put(struct sim_machine *machine)
{
	struct sim_topology *topology = &machine->topology;
	const struct chassis *c = find(machine);

	memset(topology, 0, sizeof(*topology));
	if (machine->n_gpus == 1 && strncmp(machine->gpus[0].board->slug, "gh200-", 6) == 0)
		put_grace(topology);
	for (uint32_t a = 0; c && a < c->n_gpus; a++) {
		struct sim_spot *spot = &topology->spots[a];

		spot->numa = (int32_t) (a * c->numa_nodes / c->n_gpus);
		spot->fabric = c->fabric ? SIM_FABRIC_COMPLETED : SIM_FABRIC_NONE;
		put_cpus(c, spot);
		for (uint32_t b = 0; b < c->n_gpus; b++)
			topology->links[a][b] = a != b ? (uint8_t) c->links : 0;
	}
	topology->switches = c ? c->switches : 0;
	sim_topology_settle(topology, machine->n_gpus);
}
