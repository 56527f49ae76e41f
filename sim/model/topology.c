/* SPDX-License-Identifier: Apache-2.0 */
#include "model/topology.h"

#include <string.h>

#define CPU_WORDS     (SIM_CPUS_MAX / 64)
#define CPUS_PER_NODE 16
/* NVSwitches of a DGX A100 answer at c4 and on (NCCL issue 1505). */
#define SWITCH_BUS    0xC4

_Static_assert((SIM_NUMA_MAX + 1) * CPUS_PER_NODE <= SIM_CPUS_MAX, "every node has its CPUs");

static bool has_cpus(const struct sim_spot *spot)
{
	uint64_t any = 0;

	for (size_t i = 0; i < CPU_WORDS; i++)
		any |= spot->cpus[i];
	return any != 0;
}

void sim_topology_settle(struct sim_topology *topology, uint32_t n_gpus)
{
	for (uint32_t a = 0; a < n_gpus; a++) {
		struct sim_spot *spot = &topology->spots[a];

		for (uint32_t b = 0; b < n_gpus; b++) {
			bool near = a != b && spot->numa >= 0 &&
				    spot->numa == topology->spots[b].numa;

			topology->paths[a][b] = near ? SIM_PATH_NODE : SIM_PATH_SYSTEM;
		}
		if (spot->numa >= 0 && !has_cpus(spot)) {
			uint32_t first = (uint32_t) spot->numa * CPUS_PER_NODE;

			spot->cpus[first / 64] = 0xFFFFULL << first % 64;
		}
	}
}

static bool is_spot_sound(const struct sim_spot *spot)
{
	return spot->numa >= -1 && spot->numa <= SIM_NUMA_MAX && spot->own_memory <= 1 &&
	       spot->memory_node <= SIM_NUMA_MAX && spot->fabric < SIM_FABRIC_STATES;
}

bool sim_topology_is_sound(const struct sim_topology *topology, uint32_t n_gpus)
{
	bool sound = topology->switches <= SIM_SWITCHES_MAX;

	for (uint32_t a = 0; a < n_gpus; a++) {
		sound = sound && is_spot_sound(&topology->spots[a]) && !topology->links[a][a] &&
			sim_topology_n_links(topology, a) <= SIM_LINKS_MAX;
		for (uint32_t b = 0; b < SIM_GPUS_MAX; b++)
			sound = sound && topology->paths[a][b] < SIM_PATHS &&
				topology->paths[a][b] == topology->paths[b][a] &&
				(b < n_gpus || !topology->links[a][b]);
	}
	return sound;
}

uint32_t sim_topology_n_links(const struct sim_topology *topology, uint32_t gpu)
{
	uint32_t sum = 0, most = 0;

	for (uint32_t b = 0; b < SIM_GPUS_MAX; b++) {
		uint32_t n = topology->links[gpu][b];

		sum += n;
		most = n > most ? n : most;
	}
	return topology->switches ? most : sum;
}

static bool has_peers(const struct sim_tx *tx, uint32_t gpu)
{
	return !tx->state->gpus[gpu].mig.current;
}

/* Where a switch answers: one bus for each, beside the GPUs. */
static uint32_t switch_bus(const struct sim_state *state, uint32_t number)
{
	uint32_t bus = SWITCH_BUS;

	for (;; bus++) {
		bool taken = false;

		for (uint32_t g = 0; g < state->n_gpus; g++)
			taken |= state->gpus[g].identity.pci_domain == 0 &&
				 state->gpus[g].identity.pci_bus == bus;
		if (!taken && number-- == 0)
			return bus;
	}
}

enum sim_result sim_topology_link(
		const struct sim_tx *tx, uint32_t gpu, uint32_t link, struct sim_link *ret_link)
{
	const struct sim_topology *t = &tx->state->topology;
	uint32_t n = sim_topology_n_links(t, gpu), peer = 0;
	const struct sim_identity *id;

	if (!n)
		return SIM_NOT_SUPPORTED;
	if (link >= n)
		return SIM_INVALID;
	if (t->switches) {
		peer = link * t->switches / n;
		*ret_link = (struct sim_link){.active = has_peers(tx, gpu),
				.to_switch = true,
				.peer = peer,
				.pci_bus = switch_bus(tx->state, peer)};
		return SIM_OK;
	}
	for (; link >= t->links[gpu][peer]; peer++)
		link -= t->links[gpu][peer];
	id = &tx->state->gpus[peer].identity;
	*ret_link = (struct sim_link){.active = has_peers(tx, gpu) && has_peers(tx, peer),
			.peer = peer,
			.pci_domain = id->pci_domain,
			.pci_bus = id->pci_bus,
			.pci_device = id->pci_device};
	return SIM_OK;
}

uint32_t sim_topology_active(const struct sim_tx *tx, uint32_t a, uint32_t b)
{
	return has_peers(tx, a) && has_peers(tx, b) ? tx->state->topology.links[a][b] : 0;
}

enum sim_p2p sim_topology_p2p(const struct sim_tx *tx, uint32_t a, uint32_t b, enum sim_p2p_use use)
{
	const struct sim_topology *t = &tx->state->topology;
	bool linked = sim_topology_active(tx, a, b) > 0;

	if (!has_peers(tx, a) || !has_peers(tx, b))
		return SIM_P2P_NOT_SUPPORTED;
	switch (use) {
	case SIM_P2P_NVLINK:
	case SIM_P2P_ATOMICS:
		return linked ? SIM_P2P_OK : SIM_P2P_NOT_SUPPORTED;
	case SIM_P2P_ACCESS:
	case SIM_P2P_PCIE:
		break;
	}
	if (linked && use == SIM_P2P_ACCESS)
		return SIM_P2P_OK;
	return t->paths[a][b] == SIM_PATH_SYSTEM ? SIM_P2P_TOO_FAR : SIM_P2P_OK;
}

void sim_topology_cpus(const struct sim_topology *topology, uint32_t n_gpus, uint32_t gpu,
		uint64_t cpus[CPU_WORDS])
{
	const struct sim_spot *spot = &topology->spots[gpu];
	uint64_t any = 0;

	memcpy(cpus, spot->cpus, sizeof(spot->cpus));
	if (has_cpus(spot))
		return;
	for (size_t i = 0; i < CPU_WORDS; i++) {
		for (uint32_t g = 0; g < n_gpus; g++)
			cpus[i] |= topology->spots[g].cpus[i];
		any |= cpus[i];
	}
	if (!any) /* nobody's are known: a machine of one node */
		cpus[0] = (1ULL << CPUS_PER_NODE) - 1;
}

uint32_t sim_topology_n_cpus(const struct sim_topology *topology, uint32_t n_gpus)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < n_gpus; g++) {
		uint64_t cpus[CPU_WORDS];

		sim_topology_cpus(topology, n_gpus, g, cpus);
		for (uint32_t i = 0; i < SIM_CPUS_MAX; i++) {
			if (cpus[i / 64] >> i % 64 & 1 && i >= n)
				n = i + 1;
		}
	}
	return n;
}
