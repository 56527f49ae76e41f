/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the GPUs of a node hang together: NVLinks, PCIe, NUMA nodes and the fabric. The state holds
 * two tables of pairs, as the machine was described: how many NVLinks the first GPU has towards the
 * second, which need not be what the second has towards the first (a link that is down at one end),
 * and how far apart they are on PCIe, which is the same both ways.
 *
 * Behind NVSwitches every link of a GPU leads to a switch, spread evenly, and a pair has as many
 * as each of both has. Without switches the links of a GPU are numbered in order of their peers.
 *
 * A GPU in MIG mode has no peers: no P2P between MIG devices (NCCL issue 1716), none of its NVLinks
 * is up (assumed). What is asked of the node is therefore asked within a transaction.
 */
#ifndef SIM_MODEL_TOPOLOGY_H
#define SIM_MODEL_TOPOLOGY_H

#include "model/state.h"

#define SIM_LINKS_MAX	 18 /* of one GPU; NVML_NVLINK_MAX_LINKS of the 11.8 header */
#define SIM_NUMA_MAX	 63 /* the highest number of a NUMA node */
#define SIM_SWITCHES_MAX 18

/* What one NVLink of a GPU leads to. */
struct sim_link {
	bool active;
	bool to_switch;
	uint32_t peer;				  /* the GPU, or the number of the switch */
	uint32_t pci_domain, pci_bus, pci_device; /* of either */
};

/* What one GPU may do with another's memory, in one respect. */
enum sim_p2p {
	SIM_P2P_OK,
	SIM_P2P_TOO_FAR, /* not across NUMA nodes */
	SIM_P2P_NOT_SUPPORTED,
};

/* In which respect. */
enum sim_p2p_use {
	SIM_P2P_ACCESS, /* reading and writing, however it goes */
	SIM_P2P_NVLINK,
	SIM_P2P_ATOMICS,
	SIM_P2P_PCIE,
};

/**
 * sim_topology_settle() - fill what follows from the NUMA nodes of the spots
 * @topology: numa of each spot is set; the rest of it may be
 * @n_gpus:   of the machine
 *
 * Sets every path: the same known NUMA node is SIM_PATH_NODE, everything else SIM_PATH_SYSTEM. A
 * spot with a NUMA node and without CPUs gets those of that node. Assumed: 16 to a node, in order.
 */
void sim_topology_settle(struct sim_topology *topology, uint32_t n_gpus);

/**
 * sim_topology_is_sound() - whether every number of it can be used as it is
 * @topology: borrowed; of any content
 * @n_gpus:   of the machine
 *
 * Paths symmetric and known ones, no links to oneself, as many links of a GPU as it can have.
 */
bool sim_topology_is_sound(const struct sim_topology *topology, uint32_t n_gpus) BH_MUST_CHECK;

/**
 * sim_topology_n_links() - NVLinks of a GPU, up or not
 * @topology: borrowed
 * @gpu:      index
 */
uint32_t sim_topology_n_links(const struct sim_topology *topology, uint32_t gpu);

/**
 * sim_topology_link() - one NVLink of a GPU
 * @tx:       begun
 * @gpu:      index
 * @link:     its number
 * @ret_link: filled on success
 *
 * Return: SIM_OK; SIM_NOT_SUPPORTED: the GPU has none at all; SIM_INVALID: not that many.
 */
enum sim_result sim_topology_link(const struct sim_tx *tx, uint32_t gpu, uint32_t link,
		struct sim_link *ret_link) BH_MUST_CHECK;

/**
 * sim_topology_active() - NVLinks that are up from one GPU to another
 * @tx:   begun
 * @a, @b: indices
 */
uint32_t sim_topology_active(const struct sim_tx *tx, uint32_t a, uint32_t b);

/**
 * sim_topology_p2p() - what one GPU may do with another's memory
 * @tx:  begun
 * @a:   index of the GPU that acts
 * @b:   index of the one whose memory it is; another one
 * @use: in which respect
 */
enum sim_p2p sim_topology_p2p(
		const struct sim_tx *tx, uint32_t a, uint32_t b, enum sim_p2p_use use);

/**
 * sim_topology_cpus() - the CPUs near a GPU
 * @topology: borrowed
 * @n_gpus:   of the machine
 * @gpu:      index
 * @cpus:     receives a bit for each
 *
 * Of a GPU whose NUMA node is not known: all CPUs that the machine has.
 */
void sim_topology_cpus(const struct sim_topology *topology, uint32_t n_gpus, uint32_t gpu,
		uint64_t cpus[SIM_CPUS_MAX / 64]);

/**
 * sim_topology_n_cpus() - CPUs of the machine: one more than the highest that is near a GPU
 * @topology: borrowed
 * @n_gpus:   of the machine
 */
uint32_t sim_topology_n_cpus(const struct sim_topology *topology, uint32_t n_gpus);

#endif
