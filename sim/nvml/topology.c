/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How GPUs hang together, as NVML tells it. All of it is about GPUs: a MIG device's handle is an
 * invalid argument, but to the P2P status, which says that MIG devices have none. Assumed.
 */
#include "nvml/impl.h"

#include <stdio.h>
#include <string.h>

#include "model/topology.h"
#include "nvml/process.h"

#define VENDOR	  0x10DEU
#define WORD_BITS (8 * sizeof(unsigned long))

_Static_assert(SIM_LINKS_MAX == NVML_NVLINK_MAX_LINKS, "the model has the vendor's links");
_Static_assert(WORD_BITS == 64, "masks of the model are masks of the vendor");

/* What is asked of a pair, copied out under the lock. */
struct pair {
	uint32_t a, b;
	bool is_mig; /* at least one of them */
};

static bool look_pair(struct sim_tx *tx, nvmlDevice_t one, nvmlDevice_t other, struct pair *pair)
{
	struct sim_ci_ref a, b;

	if (!sim_handle_either(tx, one, &a) || !sim_handle_either(tx, other, &b))
		return false;
	*pair = (struct pair){a.gpu, b.gpu, a.generation || b.generation};
	return true;
}

static nvmlGpuTopologyLevel_t level_of(const struct sim_state *s, uint32_t a, uint32_t b)
{
	static const nvmlGpuTopologyLevel_t levels[SIM_PATHS] = {
			[SIM_PATH_SYSTEM] = NVML_TOPOLOGY_SYSTEM,
			[SIM_PATH_NODE] = NVML_TOPOLOGY_NODE,
			[SIM_PATH_BRIDGE] = NVML_TOPOLOGY_HOSTBRIDGE,
			[SIM_PATH_MULTIPLE] = NVML_TOPOLOGY_MULTIPLE,
			[SIM_PATH_SINGLE] = NVML_TOPOLOGY_SINGLE,
	};

	return a == b ? NVML_TOPOLOGY_INTERNAL : levels[s->topology.paths[a][b]];
}

nvmlReturn_t sim_nvmlDeviceGetTopologyCommonAncestor(
		nvmlDevice_t device1, nvmlDevice_t device2, nvmlGpuTopologyLevel_t *level)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	struct pair pair;

	if (!level)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (look_pair(&tx, device1, device2, &pair) && !pair.is_mig) {
		*level = level_of(tx.state, pair.a, pair.b);
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

/* Counts when *count is 0, else fills what there is room for. Source: header. */
static void give(const struct sim_tx *tx, uint32_t set, unsigned int *count, nvmlDevice_t *devices)
{
	unsigned int room = *count, n = 0;

	for (uint32_t g = 0; g < tx->state->n_gpus; g++) {
		if (!(set >> g & 1) || (room && n == room))
			continue;
		if (room)
			devices[n] = sim_handle_of_gpu(tx, g);
		n++;
	}
	*count = n;
}

static bool is_level(nvmlGpuTopologyLevel_t level)
{
	return level <= NVML_TOPOLOGY_SYSTEM && level % 10 == 0;
}

/* Those at that level and the nearer ones: so the header words the levels. Assumed. */
nvmlReturn_t sim_nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
		unsigned int *count, nvmlDevice_t *devices)
{
	enum sim_result result = SIM_INVALID;
	uint32_t gpu, set = 0;
	struct sim_tx tx;

	if (!count || (*count && !devices) || !is_level(level))
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		for (uint32_t g = 0; g < tx.state->n_gpus; g++)
			set |= (uint32_t) (g != gpu && level_of(tx.state, gpu, g) <= level) << g;
		give(&tx, set, count, devices);
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlSystemGetTopologyGpuSet(
		unsigned int cpu, unsigned int *count, nvmlDevice_t *devices)
{
	enum sim_result result = SIM_INVALID;
	uint32_t set = 0;
	struct sim_tx tx;

	if (!count || (*count && !devices))
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (cpu < sim_topology_n_cpus(&tx.state->topology, tx.state->n_gpus)) {
		for (uint32_t g = 0; g < tx.state->n_gpus; g++) {
			uint64_t cpus[SIM_CPUS_MAX / 64];

			sim_topology_cpus(&tx.state->topology, tx.state->n_gpus, g, cpus);
			set |= (uint32_t) (cpus[cpu / 64] >> cpu % 64 & 1) << g;
		}
		give(&tx, set, count, devices);
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

static nvmlGpuP2PStatus_t p2p_of(
		const struct sim_tx *tx, const struct pair *pair, unsigned int caps)
{
	static const enum sim_p2p_use uses[] = {
			[NVML_P2P_CAPS_INDEX_READ] = SIM_P2P_ACCESS,
			[NVML_P2P_CAPS_INDEX_WRITE] = SIM_P2P_ACCESS,
			[NVML_P2P_CAPS_INDEX_NVLINK] = SIM_P2P_NVLINK,
			[NVML_P2P_CAPS_INDEX_ATOMICS] = SIM_P2P_ATOMICS,
			[NVML_P2P_CAPS_INDEX_PROP] = SIM_P2P_PCIE,
	};

	if (pair->is_mig)
		return NVML_P2P_STATUS_NOT_SUPPORTED;
	switch (sim_topology_p2p(tx, pair->a, pair->b, uses[caps])) {
	case SIM_P2P_OK:
		return NVML_P2P_STATUS_OK;
	case SIM_P2P_TOO_FAR:
		return NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED;
	case SIM_P2P_NOT_SUPPORTED:
		return NVML_P2P_STATUS_NOT_SUPPORTED;
	}
	return NVML_P2P_STATUS_UNKNOWN;
}

/* Of a GPU with itself: an invalid argument (assumed). Two MIG devices of one GPU are a pair. */
nvmlReturn_t sim_nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
		nvmlGpuP2PCapsIndex_t caps, nvmlGpuP2PStatus_t *status)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	struct pair pair;

	if (!status || (unsigned int) caps >= NVML_P2P_CAPS_INDEX_UNKNOWN)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	if (look_pair(&tx, device1, device2, &pair) && device1 != device2) {
		*status = p2p_of(&tx, &pair, (unsigned int) caps);
		result = SIM_OK;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

/* One link and whose it is. */
static nvmlReturn_t look_link(nvmlDevice_t device, unsigned int number, struct sim_link *link,
		uint32_t *ret_remote_id, enum sim_architecture *ret_architecture)
{
	enum sim_result result = SIM_INVALID;
	struct sim_tx tx;
	uint32_t gpu;

	sim_process_begin(&tx);
	if (sim_handle_gpu(&tx, device, &gpu)) {
		result = sim_topology_link(&tx, gpu, number, link);
		*ret_architecture = tx.map->boards[gpu]->architecture;
		if (result == SIM_OK && !link->to_switch)
			*ret_remote_id = tx.map->boards[link->peer]->pci_device;
		else /* pci.ids; of later switches assumed */
			*ret_remote_id = *ret_architecture == SIM_AMPERE ? 0x1AF1 : 0x22A3;
	}
	return sim_to_nvml(sim_tx_end(&tx, result));
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkState(
		nvmlDevice_t device, unsigned int number, nvmlEnableState_t *active)
{
	enum sim_architecture architecture;
	struct sim_link link;
	uint32_t id;
	nvmlReturn_t rc;

	if (!active)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = look_link(device, number, &link, &id, &architecture);
	if (rc == NVML_SUCCESS)
		*active = link.active ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	return rc;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkVersion(
		nvmlDevice_t device, unsigned int number, unsigned int *version)
{
	enum sim_architecture architecture;
	struct sim_link link;
	uint32_t id;
	nvmlReturn_t rc;

	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = look_link(device, number, &link, &id, &architecture);
	if (rc == NVML_SUCCESS)
		*version = architecture == SIM_BLACKWELL ? NVML_NVLINK_VERSION_5_0
			   : architecture == SIM_HOPPER	 ? NVML_NVLINK_VERSION_4_0
							 : NVML_NVLINK_VERSION_3_0;
	return rc;
}

/* A link can all that there is, peers while it is up. Assumed. */
nvmlReturn_t sim_nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int number,
		nvmlNvLinkCapability_t capability, unsigned int *can)
{
	enum sim_architecture architecture;
	struct sim_link link;
	uint32_t id;
	nvmlReturn_t rc;

	if (!can || (unsigned int) capability > NVML_NVLINK_CAP_VALID)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = look_link(device, number, &link, &id, &architecture);
	if (rc == NVML_SUCCESS)
		*can = link.active || (capability != NVML_NVLINK_CAP_P2P_SUPPORTED &&
						      capability != NVML_NVLINK_CAP_P2P_ATOMICS);
	return rc;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkRemotePciInfo_v2(
		nvmlDevice_t device, unsigned int number, nvmlPciInfo_t *pci)
{
	enum sim_architecture architecture;
	struct sim_link link;
	uint32_t id;
	nvmlReturn_t rc;

	if (!pci)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = look_link(device, number, &link, &id, &architecture);
	if (rc != NVML_SUCCESS)
		return rc;
	memset(pci, 0, sizeof(*pci));
	pci->domain = link.pci_domain;
	pci->bus = link.pci_bus;
	pci->device = link.pci_device;
	pci->pciDeviceId = id << 16 | VENDOR;
	(void) snprintf(pci->busId, sizeof(pci->busId), NVML_DEVICE_PCI_BUS_ID_FMT, pci->domain,
			pci->bus, pci->device);
	(void) snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy),
			NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT, pci->domain & 0xFFFF, pci->bus & 0xFF,
			pci->device & 0xFF);
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetNvLinkRemoteDeviceType(
		nvmlDevice_t device, unsigned int number, nvmlIntNvLinkDeviceType_t *type)
{
	enum sim_architecture architecture;
	struct sim_link link;
	uint32_t id;
	nvmlReturn_t rc;

	if (!type)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = look_link(device, number, &link, &id, &architecture);
	if (rc == NVML_SUCCESS)
		*type = link.to_switch ? NVML_NVLINK_DEVICE_TYPE_SWITCH
				       : NVML_NVLINK_DEVICE_TYPE_GPU;
	return rc;
}

/* Where a GPU is plugged in, and the CPUs near it. */
static bool look_spot(
		nvmlDevice_t device, struct sim_spot *spot, enum sim_architecture *architecture)
{
	struct sim_tx tx;
	uint32_t gpu;
	bool known;

	sim_process_begin(&tx);
	known = sim_handle_gpu(&tx, device, &gpu);
	if (known) {
		const struct sim_topology *t = &tx.state->topology;

		*spot = t->spots[gpu];
		sim_topology_cpus(t, tx.state->n_gpus, gpu, spot->cpus);
		*architecture = tx.map->boards[gpu]->architecture;
	}
	(void) sim_tx_end(&tx, SIM_OK);
	return known;
}

static void copy_mask(const uint64_t *mask, size_t n_words, unsigned int size, unsigned long *set)
{
	for (unsigned int i = 0; i < size; i++)
		set[i] = i < n_words ? mask[i] : 0;
}

nvmlReturn_t sim_nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int size,
		unsigned long *set, nvmlAffinityScope_t scope)
{
	enum sim_architecture architecture;
	struct sim_spot spot;

	/* a node and a socket are the same here (assumed) */
	if (!set || !size || scope > NVML_AFFINITY_SCOPE_SOCKET ||
			!look_spot(device, &spot, &architecture))
		return NVML_ERROR_INVALID_ARGUMENT;
	copy_mask(spot.cpus, SIM_CPUS_MAX / 64, size, set);
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetCpuAffinity(
		nvmlDevice_t device, unsigned int size, unsigned long *set)
{
	return sim_nvmlDeviceGetCpuAffinityWithinScope(device, size, set, NVML_AFFINITY_SCOPE_NODE);
}

/* Not known: not supported, which nvidia-smi shows as N/A. Assumed. */
nvmlReturn_t sim_nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int size,
		unsigned long *set, nvmlAffinityScope_t scope)
{
	enum sim_architecture architecture;
	struct sim_spot spot;
	uint64_t mask;

	if (!set || !size || scope > NVML_AFFINITY_SCOPE_SOCKET ||
			!look_spot(device, &spot, &architecture))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (spot.numa < 0)
		return NVML_ERROR_NOT_SUPPORTED;
	mask = 1ULL << spot.numa;
	copy_mask(&mask, 1, size, set);
	return NVML_SUCCESS;
}

/* The node that the GPU's own memory is, not the one that it is plugged into: captures of x86
 * machines have N/A there (NCCL issue 1264). */
nvmlReturn_t sim_nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int *node)
{
	enum sim_architecture architecture;
	struct sim_spot spot;

	if (!node || !look_spot(device, &spot, &architecture))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!spot.own_memory)
		return NVML_ERROR_NOT_SUPPORTED;
	*node = spot.memory_node;
	return NVML_SUCCESS;
}

/* Boards before Hopper know of no fabric; later ones without one say so in the state. Assumed. */
static nvmlReturn_t look_fabric(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info)
{
	static const nvmlGpuFabricState_t states[SIM_FABRIC_STATES] = {
			[SIM_FABRIC_NONE] = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED,
			[SIM_FABRIC_NOT_STARTED] = NVML_GPU_FABRIC_STATE_NOT_STARTED,
			[SIM_FABRIC_IN_PROGRESS] = NVML_GPU_FABRIC_STATE_IN_PROGRESS,
			[SIM_FABRIC_COMPLETED] = NVML_GPU_FABRIC_STATE_COMPLETED,
	};
	enum sim_architecture architecture;
	struct sim_spot spot;

	if (!look_spot(device, &spot, &architecture))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (architecture < SIM_HOPPER && spot.fabric == SIM_FABRIC_NONE)
		return NVML_ERROR_NOT_SUPPORTED;
	*info = (nvmlGpuFabricInfo_v3_t){.status = NVML_SUCCESS,
			.state = states[spot.fabric],
			.healthSummary = NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED};
	if (spot.fabric == SIM_FABRIC_COMPLETED) {
		memcpy(info->clusterUuid, spot.cluster, sizeof(info->clusterUuid));
		info->cliqueId = spot.clique;
		info->healthSummary = NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY;
	}
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	nvmlGpuFabricInfo_v3_t full;
	nvmlReturn_t rc;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = look_fabric(device, &full);
	if (rc != NVML_SUCCESS)
		return rc;
	*info = (nvmlGpuFabricInfo_t){
			.status = full.status, .cliqueId = full.cliqueId, .state = full.state};
	memcpy(info->clusterUuid, full.clusterUuid, sizeof(info->clusterUuid));
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v2_t *info)
{
	nvmlGpuFabricInfo_v3_t full;
	unsigned int version;
	nvmlReturn_t rc;

	if (!info)
		return NVML_ERROR_INVALID_ARGUMENT;
	version = info->version;
	if (version != NVML_GPU_FABRIC_INFO_V2 && version != NVML_GPU_FABRIC_INFO_V3)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	rc = look_fabric(device, &full);
	if (rc != NVML_SUCCESS)
		return rc;
	full.version = version;
	/* version 3 is version 2 with more at its end, as abi/nvml.h asserts */
	memcpy(info, &full, version == NVML_GPU_FABRIC_INFO_V3 ? sizeof(full) : sizeof(*info));
	return NVML_SUCCESS;
}
