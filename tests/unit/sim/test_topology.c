/* SPDX-License-Identifier: Apache-2.0 */
/* How GPUs hang together, as programs that call NVML see it: of boxes that are sold and of files. */
#include "node.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N(call) node.nvml.call

static struct node node;
static nvmlDevice_t gpus[16];
static unsigned int n_gpus;

static void begin(const char *machine)
{
	node_start(&node, machine);
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetCount_v2)(&n_gpus), NVML_SUCCESS);
	for (unsigned int i = 0; i < n_gpus; i++)
		assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(i, &gpus[i]), NVML_SUCCESS);
}

/* A node of a machine file with that in it. */
static void begin_file(const char *text)
{
	char path[] = "/tmp/bh-sim-machine-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "version: bulkhead-sim/v1\n%s", text) > 0);
	(void) close(fd);
	begin(path);
	(void) unlink(path);
}

static int stop(void **state)
{
	(void) N(nvmlShutdown)();
	node_stop(&node);
	return 0;
}

static nvmlGpuP2PStatus_t p2p(unsigned int a, unsigned int b, nvmlGpuP2PCapsIndex_t caps)
{
	nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_UNKNOWN;

	assert_int_equal(N(nvmlDeviceGetP2PStatus)(gpus[a], gpus[b], caps, &status), NVML_SUCCESS);
	return status;
}

static nvmlGpuTopologyLevel_t level(unsigned int a, unsigned int b)
{
	nvmlGpuTopologyLevel_t found = 99;

	assert_int_equal(N(nvmlDeviceGetTopologyCommonAncestor)(gpus[a], gpus[b], &found),
			NVML_SUCCESS);
	return found;
}

static unsigned int n_active(unsigned int gpu)
{
	nvmlEnableState_t active;
	unsigned int n = 0;

	for (unsigned int i = 0; i < NVML_NVLINK_MAX_LINKS; i++) {
		if (N(nvmlDeviceGetNvLinkState)(gpus[gpu], i, &active) == NVML_SUCCESS)
			n += active == NVML_FEATURE_ENABLED;
	}
	return n;
}

static unsigned long memory_nodes(unsigned int gpu)
{
	unsigned long set = 0;

	assert_int_equal(N(nvmlDeviceGetMemoryAffinity)(
					 gpus[gpu], 1, &set, NVML_AFFINITY_SCOPE_NODE),
			NVML_SUCCESS);
	return set;
}

static const char *matrix(json_t *shown, unsigned int a, unsigned int b)
{
	return json_string_value(json_array_get(
			json_array_get(json_object_get(json_object_get(shown, "topology"),
						       "matrix"),
					a),
			b));
}

/* Source: captures in NCCL issue 1264 and vLLM issue 13855. */
static void eight_h100_have_18_links_to_any_other_and_stand_on_two_nodes(void **state)
{
	unsigned long cpus[4];
	json_t *shown;

	begin("h100x8");
	shown = node_show(&node);
	assert_int_equal(n_gpus, 8);
	for (unsigned int a = 0; a < 8; a++) {
		assert_int_equal(n_active(a), 18);
		assert_int_equal(memory_nodes(a), 1UL << a / 4);
		assert_int_equal(N(nvmlDeviceGetCpuAffinity)(gpus[a], 4, cpus), NVML_SUCCESS);
		/* 0-55,112-167 and 56-111,168-223 */
		assert_int_equal(cpus[0], a < 4 ? 0x00FFFFFFFFFFFFFF : 0xFF00000000000000);
		assert_int_equal(cpus[1], a < 4 ? 0xFFFF000000000000 : 0x0000FFFFFFFFFFFF);
		assert_int_equal(cpus[2], a < 4 ? 0x000000FFFFFFFFFF : 0xFFFFFF0000000000);
		assert_int_equal(cpus[3], a < 4 ? 0 : 0x00000000FFFFFFFF);
		for (unsigned int b = 0; b < 8; b++)
			assert_string_equal(matrix(shown, a, b), a == b ? "X" : "NV18");
	}
	json_decref(shown);
}

static void behind_switches_every_link_leads_to_a_switch_assumed(void **state)
{
	unsigned int version, can, per_bus[256] = {0}, n_switches = 0;
	nvmlIntNvLinkDeviceType_t type;
	nvmlPciInfo_t pci;

	begin("h100x8");
	for (unsigned int i = 0; i < 18; i++) {
		assert_int_equal(N(nvmlDeviceGetNvLinkRemoteDeviceType)(gpus[5], i, &type),
				NVML_SUCCESS);
		assert_int_equal(type, NVML_NVLINK_DEVICE_TYPE_SWITCH);
		assert_int_equal(N(nvmlDeviceGetNvLinkRemotePciInfo_v2)(gpus[5], i, &pci),
				NVML_SUCCESS);
		assert_int_equal(pci.pciDeviceId & 0xFFFF, 0x10DE);
		n_switches += per_bus[pci.bus]++ == 0;
		assert_int_equal(N(nvmlDeviceGetNvLinkVersion)(gpus[5], i, &version), NVML_SUCCESS);
		assert_int_equal(version, NVML_NVLINK_VERSION_4_0);
		for (nvmlNvLinkCapability_t c = 0; c <= NVML_NVLINK_CAP_VALID; c++) {
			assert_int_equal(N(nvmlDeviceGetNvLinkCapability)(gpus[5], i, c, &can),
					NVML_SUCCESS);
			assert_int_equal(can, 1);
		}
	}
	assert_int_equal(n_switches, 4);
	for (unsigned int bus = 0; bus < 256; bus++)
		assert_true(per_bus[bus] == 0 || per_bus[bus] == 4 || per_bus[bus] == 5);
	assert_int_equal(N(nvmlDeviceGetNvLinkState)(gpus[5], 18, (nvmlEnableState_t *) &can),
			NVML_ERROR_INVALID_ARGUMENT);
}

/* Source: NCCL issue 1505: two links of each GPU to each of six switches, at c4 to c9. */
static void eight_a100_have_two_links_to_each_of_six_switches(void **state)
{
	unsigned int per_bus[256] = {0};
	nvmlPciInfo_t pci;

	begin("a100x8-40gb");
	for (unsigned int i = 0; i < 12; i++) {
		assert_int_equal(N(nvmlDeviceGetNvLinkRemotePciInfo_v2)(gpus[0], i, &pci),
				NVML_SUCCESS);
		per_bus[pci.bus]++;
	}
	for (unsigned int bus = 0; bus < 256; bus++)
		assert_int_equal(per_bus[bus], bus >= 0xC4 && bus <= 0xC9 ? 2 : 0);
	assert_int_equal(n_active(0), 12);
}

static void a_bridged_pair_sees_each_other_at_the_end_of_every_link_assumed(void **state)
{
	nvmlIntNvLinkDeviceType_t type;
	nvmlPciInfo_t remote, own;

	begin("a100x2-80gb");
	for (unsigned int a = 0; a < 2; a++) {
		assert_int_equal(n_active(a), 12);
		assert_int_equal(N(nvmlDeviceGetPciInfo_v3)(gpus[1 - a], &own), NVML_SUCCESS);
		for (unsigned int i = 0; i < 12; i++) {
			assert_int_equal(
					N(nvmlDeviceGetNvLinkRemotePciInfo_v2)(gpus[a], i, &remote),
					NVML_SUCCESS);
			assert_string_equal(remote.busId, own.busId);
			assert_string_equal(remote.busIdLegacy, own.busIdLegacy);
			assert_int_equal(remote.pciDeviceId, own.pciDeviceId);
			assert_int_equal(N(nvmlDeviceGetNvLinkRemoteDeviceType)(gpus[a], i, &type),
					NVML_SUCCESS);
			assert_int_equal(type, NVML_NVLINK_DEVICE_TYPE_GPU);
		}
	}
}

static void every_pair_is_the_same_both_ways(void **state)
{
	static const char *const machines[] = {"h100x8", "h200x8", "b200x8", "a100x8-80gb",
			"a100x8-40gb", "a100x2-40gb", "l40sx4", "t4x4", "h100x4", "a30x4", "mixed"};

	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
		json_t *shown;

		begin(machines[m]);
		shown = node_show(&node);
		for (unsigned int a = 0; a < n_gpus; a++) {
			assert_int_equal(level(a, a), NVML_TOPOLOGY_INTERNAL);
			for (unsigned int b = 0; b < a; b++) {
				assert_int_equal(level(a, b), level(b, a));
				assert_string_equal(matrix(shown, a, b), matrix(shown, b, a));
				for (nvmlGpuP2PCapsIndex_t c = 0; c < NVML_P2P_CAPS_INDEX_UNKNOWN;
						c++)
					assert_int_equal(p2p(a, b, c), p2p(b, a, c));
			}
		}
		json_decref(shown);
		assert_int_equal(node_ctl(&node, "check", ""), 0);
		(void) stop(state);
	}
	begin("t4x1");
}

static void without_nvlinks_peers_reach_as_far_as_their_numa_node_assumed(void **state)
{
	nvmlEnableState_t active;

	begin("l40sx4");
	for (unsigned int a = 0; a < 4; a++) {
		assert_int_equal(N(nvmlDeviceGetNvLinkState)(gpus[a], 0, &active),
				NVML_ERROR_NOT_SUPPORTED);
		for (unsigned int b = 0; b < 4; b++) {
			bool near = a / 2 == b / 2;

			if (a == b)
				continue;
			assert_int_equal(level(a, b),
					near ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM);
			assert_int_equal(p2p(a, b, NVML_P2P_CAPS_INDEX_READ),
					near ? NVML_P2P_STATUS_OK
					     : NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED);
			assert_int_equal(p2p(a, b, NVML_P2P_CAPS_INDEX_WRITE),
					p2p(a, b, NVML_P2P_CAPS_INDEX_READ));
			assert_int_equal(p2p(a, b, NVML_P2P_CAPS_INDEX_PROP),
					p2p(a, b, NVML_P2P_CAPS_INDEX_READ));
			assert_int_equal(p2p(a, b, NVML_P2P_CAPS_INDEX_NVLINK),
					NVML_P2P_STATUS_NOT_SUPPORTED);
			assert_int_equal(p2p(a, b, NVML_P2P_CAPS_INDEX_ATOMICS),
					NVML_P2P_STATUS_NOT_SUPPORTED);
		}
	}
}

static void nvlinks_carry_p2p_between_numa_nodes_too(void **state)
{
	begin("h100x8");
	assert_int_equal(level(0, 7), NVML_TOPOLOGY_SYSTEM);
	for (nvmlGpuP2PCapsIndex_t c = 0; c < NVML_P2P_CAPS_INDEX_PROP; c++)
		assert_int_equal(p2p(0, 7, c), NVML_P2P_STATUS_OK);
	assert_int_equal(p2p(0, 7, NVML_P2P_CAPS_INDEX_PROP),
			NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED);
}

/* Source: no P2P with MIG, by PCIe or NVLink: NCCL issue 1716; that its links are down is assumed. */
static void a_gpu_in_mig_mode_has_no_peers_assumed(void **state)
{
	nvmlReturn_t activation;
	json_t *shown;

	begin("h100x8");
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpus[3], 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	shown = node_show(&node);
	assert_string_equal(matrix(shown, 3, 2), "NODE");
	assert_string_equal(matrix(shown, 4, 3), "SYS");
	assert_string_equal(matrix(shown, 4, 2), "NV18");
	json_decref(shown);
	assert_int_equal(n_active(3), 0);
	assert_int_equal(n_active(2), 18);
	for (nvmlGpuP2PCapsIndex_t c = 0; c < NVML_P2P_CAPS_INDEX_UNKNOWN; c++) {
		assert_int_equal(p2p(3, 2, c), NVML_P2P_STATUS_NOT_SUPPORTED);
		assert_int_equal(p2p(2, 3, c), NVML_P2P_STATUS_NOT_SUPPORTED);
	}
	assert_int_equal(p2p(2, 1, NVML_P2P_CAPS_INDEX_NVLINK), NVML_P2P_STATUS_OK);
	assert_int_equal(level(3, 2), NVML_TOPOLOGY_NODE);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpus[3], 0, &activation), NVML_SUCCESS);
	assert_int_equal(n_active(3), 18);
	assert_int_equal(p2p(3, 2, NVML_P2P_CAPS_INDEX_NVLINK), NVML_P2P_STATUS_OK);
}

static void in_a_bridged_pair_mig_takes_down_both_ends_assumed(void **state)
{
	nvmlReturn_t activation;

	begin("a100x2-40gb");
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpus[0], 1, &activation), NVML_SUCCESS);
	assert_int_equal(n_active(0), 0);
	assert_int_equal(n_active(1), 0);
}

/* Source: NCCL issue 1716, MIG guide. */
static void mig_devices_have_no_p2p_with_anybody(void **state)
{
	nvmlComputeInstanceProfileInfo_t info;
	nvmlGpuP2PStatus_t status = NVML_P2P_STATUS_OK;
	nvmlComputeInstance_t ci;
	nvmlGpuTopologyLevel_t where;
	nvmlDevice_t mig[2], gpu;
	nvmlGpuInstance_t gi;

	begin("h100x2");
	gpu = node_gpu(&node, 0, 1);
	for (unsigned int i = 0; i < 2; i++) {
		gi = node_create(&node, gpu, 19);
		assert_non_null(gi);
		assert_int_equal(N(nvmlGpuInstanceGetComputeInstanceProfileInfo)(gi, 0, 0, &info),
				NVML_SUCCESS);
		assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, info.id, &ci),
				NVML_SUCCESS);
		assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, i, &mig[i]),
				NVML_SUCCESS);
	}
	for (nvmlGpuP2PCapsIndex_t c = 0; c < NVML_P2P_CAPS_INDEX_UNKNOWN; c++) {
		assert_int_equal(N(nvmlDeviceGetP2PStatus)(mig[0], mig[1], c, &status),
				NVML_SUCCESS);
		assert_int_equal(status, NVML_P2P_STATUS_NOT_SUPPORTED);
		assert_int_equal(N(nvmlDeviceGetP2PStatus)(gpus[1], mig[1], c, &status),
				NVML_SUCCESS);
		assert_int_equal(status, NVML_P2P_STATUS_NOT_SUPPORTED);
	}
	assert_int_equal(N(nvmlDeviceGetTopologyCommonAncestor)(mig[0], gpus[1], &where),
			NVML_ERROR_INVALID_ARGUMENT);
}

static void the_nearest_are_told_as_many_as_there_is_room_for_assumed(void **state)
{
	nvmlDevice_t found[8] = {NULL};
	unsigned int n = 0;

	begin("t4x4");
	assert_int_equal(N(nvmlDeviceGetTopologyNearestGpus)(gpus[2], NVML_TOPOLOGY_NODE, &n, NULL),
			NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(
			N(nvmlDeviceGetTopologyNearestGpus)(gpus[2], NVML_TOPOLOGY_NODE, &n, found),
			NVML_SUCCESS);
	assert_ptr_equal(found[0], gpus[3]);
	n = 8;
	assert_int_equal(N(nvmlDeviceGetTopologyNearestGpus)(
					 gpus[2], NVML_TOPOLOGY_SYSTEM, &n, found),
			NVML_SUCCESS);
	assert_int_equal(n, 3);
	n = 2;
	found[2] = NULL;
	assert_int_equal(N(nvmlDeviceGetTopologyNearestGpus)(
					 gpus[2], NVML_TOPOLOGY_SYSTEM, &n, found),
			NVML_SUCCESS);
	assert_int_equal(n, 2);
	assert_ptr_equal(found[0], gpus[0]);
	assert_ptr_equal(found[1], gpus[1]);
	assert_null(found[2]);
	n = 0;
	assert_int_equal(N(nvmlDeviceGetTopologyNearestGpus)(
					 gpus[2], NVML_TOPOLOGY_HOSTBRIDGE, &n, NULL),
			NVML_SUCCESS);
	assert_int_equal(n, 0);
	assert_int_equal(N(nvmlDeviceGetTopologyNearestGpus)(gpus[2], 15, &n, NULL),
			NVML_ERROR_INVALID_ARGUMENT);
}

static void gpus_near_a_cpu_are_those_whose_mask_has_it(void **state)
{
	unsigned int n = 16;
	nvmlDevice_t found[16];

	begin("h100x8");
	assert_int_equal(N(nvmlSystemGetTopologyGpuSet)(60, &n, found), NVML_SUCCESS);
	assert_int_equal(n, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_ptr_equal(found[i], gpus[4 + i]);
	n = 0;
	assert_int_equal(N(nvmlSystemGetTopologyGpuSet)(167, &n, NULL), NVML_SUCCESS);
	assert_int_equal(n, 4);
	n = 0;
	assert_int_equal(
			N(nvmlSystemGetTopologyGpuSet)(224, &n, NULL), NVML_ERROR_INVALID_ARGUMENT);
}

static void a_mask_is_cut_where_the_callers_ends(void **state)
{
	unsigned long cpus[40];

	begin("h100x8");
	memset(cpus, 0xAA, sizeof(cpus));
	assert_int_equal(N(nvmlDeviceGetCpuAffinity)(gpus[0], 2, cpus), NVML_SUCCESS);
	assert_int_equal(cpus[1], 0xFFFF000000000000);
	assert_int_equal(cpus[2], 0xAAAAAAAAAAAAAAAA);
	assert_int_equal(
			N(nvmlDeviceGetCpuAffinityWithinScope)(gpus[0], 18, cpus, 1), NVML_SUCCESS);
	assert_int_equal(cpus[17], 0);
	assert_int_equal(
			N(nvmlDeviceGetCpuAffinity)(gpus[0], 0, cpus), NVML_ERROR_INVALID_ARGUMENT);
	/* beyond the last CPU there is nothing, whatever stands behind it in the simulator */
	assert_int_equal(
			N(nvmlDeviceGetCpuAffinityWithinScope)(gpus[0], 40, cpus, 1), NVML_SUCCESS);
	for (unsigned int i = 16; i < 40; i++)
		assert_int_equal(cpus[i], 0);
	assert_int_equal(N(nvmlDeviceGetMemoryAffinity)(gpus[0], 40, cpus, 0), NVML_SUCCESS);
	assert_int_equal(cpus[0], 1);
	for (unsigned int i = 1; i < 40; i++)
		assert_int_equal(cpus[i], 0);
	assert_int_equal(
			N(nvmlDeviceGetCpuAffinity)(gpus[0], 0, cpus), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetCpuAffinityWithinScope)(gpus[0], 18, cpus, 2),
			NVML_ERROR_INVALID_ARGUMENT);
}

static void only_the_memory_of_a_grace_hopper_is_a_numa_node_assumed(void **state)
{
	unsigned int id = 99;

	begin("gh200x1");
	assert_int_equal(N(nvmlDeviceGetNumaNodeId)(gpus[0], &id), NVML_SUCCESS);
	assert_int_equal(id, 1);
	assert_int_equal(memory_nodes(0), 1);
	(void) stop(state);
	begin("h100x1");
	assert_int_equal(N(nvmlDeviceGetNumaNodeId)(gpus[0], &id), NVML_ERROR_NOT_SUPPORTED);
}

static void each_version_of_the_fabric_info_has_its_own_length(void **state)
{
	nvmlGpuFabricInfo_v3_t info = {.version = NVML_GPU_FABRIC_INFO_V2, .healthSummary = 77};
	nvmlGpuFabricInfo_v2_t *short_one = (nvmlGpuFabricInfo_v2_t *) &info;
	nvmlGpuFabricInfo_t first;

	begin("h100x8");
	assert_int_equal(N(nvmlDeviceGetGpuFabricInfoV)(gpus[0], short_one), NVML_SUCCESS);
	assert_int_equal(info.state, NVML_GPU_FABRIC_STATE_COMPLETED);
	assert_int_equal(info.version, NVML_GPU_FABRIC_INFO_V2);
	assert_int_equal(info.healthSummary, 77); /* beyond version 2 */
	info.version = NVML_GPU_FABRIC_INFO_V3;
	assert_int_equal(N(nvmlDeviceGetGpuFabricInfoV)(gpus[0], short_one), NVML_SUCCESS);
	assert_int_equal(info.healthSummary, NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY);
	info.version = 0x4000028;
	assert_int_equal(N(nvmlDeviceGetGpuFabricInfoV)(gpus[0], short_one),
			NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
	assert_int_equal(N(nvmlDeviceGetGpuFabricInfo)(gpus[0], &first), NVML_SUCCESS);
	assert_int_equal(first.state, NVML_GPU_FABRIC_STATE_COMPLETED);
}

static void who_has_no_fabric_says_so_as_its_generation_does_assumed(void **state)
{
	nvmlGpuFabricInfo_t info;

	begin("a100x8-80gb");
	assert_int_equal(N(nvmlDeviceGetGpuFabricInfo)(gpus[0], &info), NVML_ERROR_NOT_SUPPORTED);
	(void) stop(state);
	begin("h100x1");
	assert_int_equal(N(nvmlDeviceGetGpuFabricInfo)(gpus[0], &info), NVML_SUCCESS);
	assert_int_equal(info.state, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED);
}

static void links_are_as_the_file_says_also_when_the_ends_differ(void **state)
{
	/* GPU 0 sees 3 links to GPU 1, which sees 2 of them; 1 and 2 have one, up at one end alone */
	static const unsigned int links[3][3] = {{0, 3, 4}, {2, 0, 1}, {4, 0, 0}};
	json_t *shown;

	begin_file("gpus: [{model: a100-40gb, count: 3, numa: 1}]\n"
		   "links:\n"
		   "  - {from: 0, to: 1, nvlinks: 3, back: 2, pcie: single}\n"
		   "  - {from: 2, to: 0, nvlinks: 4, pcie: multiple}\n"
		   "  - {from: 1, to: 2, nvlinks: 1, back: 0, pcie: host-bridge}\n");
	shown = node_show(&node);
	for (unsigned int a = 0; a < 3; a++) {
		unsigned int next = 0;

		for (unsigned int b = 0; b < 3; b++) {
			nvmlPciInfo_t remote, own;
			char word[8] = "X";

			assert_int_equal(N(nvmlDeviceGetPciInfo_v3)(gpus[b], &own), NVML_SUCCESS);
			for (unsigned int i = 0; i < links[a][b]; i++, next++) {
				assert_int_equal(N(nvmlDeviceGetNvLinkRemotePciInfo_v2)(
								 gpus[a], next, &remote),
						NVML_SUCCESS);
				assert_string_equal(remote.busId, own.busId);
			}
			if (links[a][b])
				(void) snprintf(word, sizeof(word), "NV%u", links[a][b]);
			else if (a != b)
				(void) snprintf(word, sizeof(word), "PHB");
			assert_string_equal(matrix(shown, a, b), word);
			if (a != b)
				assert_int_equal(p2p(a, b, NVML_P2P_CAPS_INDEX_NVLINK),
						links[a][b] ? NVML_P2P_STATUS_OK
							    : NVML_P2P_STATUS_NOT_SUPPORTED);
		}
		assert_int_equal(n_active(a), next);
	}
	assert_int_equal(level(1, 0), NVML_TOPOLOGY_SINGLE);
	assert_int_equal(level(0, 2), NVML_TOPOLOGY_MULTIPLE);
	assert_int_equal(level(2, 1), NVML_TOPOLOGY_HOSTBRIDGE);
	assert_int_equal(memory_nodes(0), 2);
	json_decref(shown);
}

static void an_unknown_numa_node_is_not_node_0_assumed(void **state)
{
	unsigned long set[16];

	begin_file("gpus:\n  - {model: t4-16gb, count: 2, numa: -1}\n  - {model: t4-16gb, numa: "
		   "2}\n"
		   "  - {model: t4-16gb, numa: 0, cpus: \"3,70-71\"}\n");
	/* two of which nothing is known are not therefore together */
	assert_int_equal(level(0, 1), NVML_TOPOLOGY_SYSTEM);
	assert_int_equal(level(0, 2), NVML_TOPOLOGY_SYSTEM);
	assert_int_equal(N(nvmlDeviceGetMemoryAffinity)(gpus[0], 1, set, 0),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(memory_nodes(2), 4);
	/* every CPU that anything is known of */
	assert_int_equal(N(nvmlDeviceGetCpuAffinity)(gpus[0], 16, set), NVML_SUCCESS);
	assert_int_equal(set[0], 0x0000FFFF00000008);
	assert_int_equal(set[1], 0xC0);
	assert_int_equal(N(nvmlDeviceGetCpuAffinity)(gpus[3], 16, set), NVML_SUCCESS);
	assert_int_equal(set[0], 8);
	assert_int_equal(set[1], 0xC0);
	(void) stop(state);
	begin_file("gpus: [{model: t4-16gb, numa: -1}]\n");
	assert_int_equal(N(nvmlDeviceGetCpuAffinity)(gpus[0], 16, set), NVML_SUCCESS);
	assert_int_equal(set[0], 0xFFFF);
}

static void the_fabric_is_as_the_file_says(void **state)
{
	static const nvmlGpuFabricState_t states[] = {NVML_GPU_FABRIC_STATE_COMPLETED,
			NVML_GPU_FABRIC_STATE_COMPLETED, NVML_GPU_FABRIC_STATE_IN_PROGRESS,
			NVML_GPU_FABRIC_STATE_NOT_STARTED, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED};
	nvmlGpuFabricInfo_t info;

	begin_file("gpus:\n"
		   "  - {model: h200-141gb, count: 2, fabric: {clique: 32766, "
		   "cluster-uuid: 01234567-89ab-cdef-0123-456789abcdef}}\n"
		   "  - {model: h200-141gb, fabric: {state: in-progress}}\n"
		   "  - {model: h200-141gb, fabric: {state: not-started}}\n"
		   "  - {model: h200-141gb}\n"
		   "nvswitch: {nvlinks: 18, switches: 18}\n");
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(N(nvmlDeviceGetGpuFabricInfo)(gpus[i], &info), NVML_SUCCESS);
		assert_int_equal(info.state, states[i]);
		assert_int_equal(info.status, NVML_SUCCESS);
		assert_int_equal(info.cliqueId, i < 2 ? 32766 : 0);
		assert_int_equal(info.clusterUuid[15], i < 2 ? 0xef : 0);
		assert_int_equal(info.clusterUuid[1], i < 2 ? 0x23 : 0);
		assert_int_equal(n_active(i), 18);
	}
}

static void a_file_that_says_nothing_of_it_is_wired_as_the_chassis(void **state)
{
	begin_file("gpus: [{model: h100-sxm5-80gb, count: 8}]\n");
	assert_int_equal(n_active(0), 18);
	assert_int_equal(memory_nodes(7), 2);
	(void) stop(state);
	begin_file("gpus: [{model: h100-sxm5-80gb, count: 8, numa: 0}]\n");
	assert_int_equal(n_active(0), 0);
	assert_int_equal(memory_nodes(7), 1);
}

static void a_gpu_is_found_by_its_serial_and_alone_on_its_board(void **state)
{
	nvmlDevice_t found = NULL;
	unsigned int multi = 9;
	char serial[30];
	int same = 9;

	begin("h100x2");
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(N(nvmlDeviceGetSerial)(gpus[i], serial, sizeof(serial)),
				NVML_SUCCESS);
		assert_int_equal(N(nvmlDeviceGetHandleBySerial)(serial, &found), NVML_SUCCESS);
		assert_ptr_equal(found, gpus[i]);
		assert_int_equal(N(nvmlDeviceOnSameBoard)(gpus[0], gpus[i], &same), NVML_SUCCESS);
		assert_int_equal(same, i == 0);
		assert_int_equal(N(nvmlDeviceGetMultiGpuBoard)(gpus[i], &multi), NVML_SUCCESS);
		assert_int_equal(multi, 0);
	}
	assert_int_equal(N(nvmlDeviceGetHandleBySerial)("0", &found), NVML_ERROR_NOT_FOUND);
}

static void wrong_arguments_are_refused(void **state)
{
	nvmlDevice_t bad = (nvmlDevice_t) (uintptr_t) 0x1234;
	nvmlGpuTopologyLevel_t where;
	nvmlGpuP2PStatus_t status;
	nvmlEnableState_t active;
	unsigned int n = 1;
	unsigned long set;

	begin("h100x2");
	assert_int_equal(N(nvmlDeviceGetTopologyCommonAncestor)(gpus[0], bad, &where),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetTopologyCommonAncestor)(gpus[0], gpus[1], NULL),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetP2PStatus)(
					 gpus[0], gpus[1], NVML_P2P_CAPS_INDEX_UNKNOWN, &status),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetP2PStatus)(gpus[0], gpus[1], 0, NULL),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetP2PStatus)(gpus[0], gpus[0], 0, &status),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetNvLinkState)(bad, 0, &active), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetTopologyNearestGpus)(gpus[0], NVML_TOPOLOGY_NODE, &n, NULL),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetMemoryAffinity)(bad, 1, &set, 0),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetGpuFabricInfo)(gpus[0], NULL), NVML_ERROR_INVALID_ARGUMENT);
}

#define T(name) cmocka_unit_test_teardown(name, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
			T(eight_h100_have_18_links_to_any_other_and_stand_on_two_nodes),
			T(behind_switches_every_link_leads_to_a_switch_assumed),
			T(eight_a100_have_two_links_to_each_of_six_switches),
			T(a_bridged_pair_sees_each_other_at_the_end_of_every_link_assumed),
			T(every_pair_is_the_same_both_ways),
			T(without_nvlinks_peers_reach_as_far_as_their_numa_node_assumed),
			T(nvlinks_carry_p2p_between_numa_nodes_too),
			T(a_gpu_in_mig_mode_has_no_peers_assumed),
			T(in_a_bridged_pair_mig_takes_down_both_ends_assumed),
			T(mig_devices_have_no_p2p_with_anybody),
			T(the_nearest_are_told_as_many_as_there_is_room_for_assumed),
			T(gpus_near_a_cpu_are_those_whose_mask_has_it),
			T(a_mask_is_cut_where_the_callers_ends),
			T(only_the_memory_of_a_grace_hopper_is_a_numa_node_assumed),
			T(each_version_of_the_fabric_info_has_its_own_length),
			T(who_has_no_fabric_says_so_as_its_generation_does_assumed),
			T(links_are_as_the_file_says_also_when_the_ends_differ),
			T(an_unknown_numa_node_is_not_node_0_assumed),
			T(the_fabric_is_as_the_file_says),
			T(a_file_that_says_nothing_of_it_is_wired_as_the_chassis),
			T(a_gpu_is_found_by_its_serial_and_alone_on_its_board),
			T(wrong_arguments_are_refused),
	};

	return cmocka_run_group_tests_name("sim_topology", tests, NULL, NULL);
}
