/* SPDX-License-Identifier: Apache-2.0 */
/* The published cases of MIG, asked of the exported functions of a simulated node. */
#include "node.h"

#include <string.h>

#define N(call) node.nvml.call

static struct node node;

static void start(const char *machine)
{
	node_start(&node, machine);
}

static void stop(void)
{
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

/* Creates without placement and compares each start, -1 = refused. */
static void expect_order(nvmlDevice_t gpu, const unsigned int *ids, const int *starts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		nvmlGpuInstance_t gi = node_create(&node, gpu, ids[i]);

		assert_int_equal(gi ? (int) node_info(&node, gi).placement.start : -1, starts[i]);
	}
}

static void a100_40gb_1g_2g_4g_go_to_gi_13_5_1(void **state)
{
	static const unsigned int ids[] = {19, 14, 5}, gis[] = {13, 5, 1}, starts[] = {6, 4, 0};
	nvmlDevice_t gpu;

	start("a100x1-40gb");
	gpu = node_gpu(&node, 0, 1);
	for (size_t i = 0; i < 3; i++) {
		nvmlGpuInstanceInfo_t info = node_info(&node, node_create(&node, gpu, ids[i]));

		assert_int_equal(info.id, gis[i]);
		assert_int_equal(info.placement.start, starts[i]);
		assert_int_equal(info.profileId, ids[i]);
	}
	stop();
}

static void a100_40gb_3g_1g_2g_1g_go_to_gi_2_7_4_8(void **state)
{
	static const unsigned int ids[] = {9, 19, 14, 19}, gis[] = {2, 7, 4, 8};
	nvmlDevice_t gpu;

	start("a100x1-40gb");
	gpu = node_gpu(&node, 0, 1);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(node_info(&node, node_create(&node, gpu, ids[i])).id, gis[i]);
	stop();
}

static void two_3g_fill_the_board_and_refuse_a_1g(void **state)
{
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;
	unsigned int left = 9;

	start("a100x1-40gb");
	gpu = node_gpu(&node, 0, 1);
	assert_non_null(node_create(&node, gpu, 9));
	assert_non_null(node_create(&node, gpu, 9));
	assert_int_equal(
			N(nvmlDeviceGetGpuInstanceRemainingCapacity)(gpu, 19, &left), NVML_SUCCESS);
	assert_int_equal(left, 0);
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi),
			NVML_ERROR_INSUFFICIENT_RESOURCES);
	stop();
}

static void an_a100_40gb_3g_at_4_has_more_memory_than_its_profile(void **state)
{
	static const unsigned int at[] = {0, 4}, mib[] = {20096, 20224};
	nvmlGpuInstanceProfileInfo_t info;
	nvmlGpuInstance_t gi;
	nvmlComputeInstance_t ci;
	nvmlDevice_t gpu, device;
	nvmlMemory_t memory;

	start("a100x1-40gb");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfo)(
					 gpu, NVML_GPU_INSTANCE_PROFILE_3_SLICE, &info),
			NVML_SUCCESS);
	assert_int_equal(info.id, 9);
	assert_int_equal(info.memorySizeMB, 20096);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(node_create_at(&node, gpu, 9, at[i], 4, &gi), NVML_SUCCESS);
		assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 2, &ci), NVML_SUCCESS);
		assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, i, &device),
				NVML_SUCCESS);
		assert_int_equal(N(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_SUCCESS);
		assert_int_equal(memory.total >> 20, mib[i]);
	}
	stop();
}

static void h100_sxm_seven_1g_go_to_6_4_5_0_1_2_3(void **state)
{
	static const unsigned int ids[] = {19, 19, 19, 19, 19, 19, 19, 19};
	static const int starts[] = {6, 4, 5, 0, 1, 2, 3, -1};

	start("h100x1");
	expect_order(node_gpu(&node, 0, 1), ids, starts, 8);
	stop();
}

static void four_1g_20gb_leave_no_room_for_a_1g_10gb(void **state)
{
	static const unsigned int ids[] = {15, 15, 15, 15, 19};
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	for (size_t i = 0; i < 4; i++)
		assert_non_null(node_create(&node, gpu, ids[i]));
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, ids[4], &gi),
			NVML_ERROR_INSUFFICIENT_RESOURCES);
	stop();
}

static void a_second_media_instance_is_refused(void **state)
{
	static const char *const machines[] = {"a100x1-40gb", "h100x1", "gh200x1", "b200x1"};

	for (size_t i = 0; i < 4; i++) {
		nvmlGpuInstance_t gi;
		nvmlDevice_t gpu;

		start(machines[i]);
		gpu = node_gpu(&node, 0, 1);
		assert_non_null(node_create(&node, gpu, 20));
		assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 20, &gi),
				NVML_ERROR_INSUFFICIENT_RESOURCES);
		assert_non_null(node_create(&node, gpu, 19));
		stop();
	}
	/* an A30 has two such profiles, of which one may stand */
	start("a30x1");
	{
		nvmlDevice_t gpu = node_gpu(&node, 0, 1);

		assert_non_null(node_create(&node, gpu, 6));
		assert_null(node_create(&node, gpu, 21));
	}
	stop();
}

static void beside_all_media_engines_only_profiles_without_any_stand(void **state)
{
	nvmlDevice_t gpu;

	start("rtxpro6000x1");
	gpu = node_gpu(&node, 0, 1);
	assert_non_null(node_create(&node, gpu, 65)); /* 1g.24gb+me.all */
	assert_null(node_create(&node, gpu, 14));     /* 1g.24gb */
	assert_null(node_create(&node, gpu, 47));     /* 1g.24gb+gfx */
	assert_null(node_create(&node, gpu, 21));     /* 1g.24gb+me */
	assert_non_null(node_create(&node, gpu, 67)); /* 1g.24gb-me */
	stop();
}

static void three_double_memory_1g_of_a_gh200_take_compute_profile_7(void **state)
{
	nvmlComputeInstanceInfo_t info;
	nvmlComputeInstance_t ci;
	nvmlDevice_t gpu;

	start("gh200x1");
	gpu = node_gpu(&node, 0, 1);
	for (int i = 0; i < 3; i++) {
		nvmlGpuInstance_t gi = node_create(&node, gpu, 15);

		assert_non_null(gi);
		assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &ci),
				NVML_ERROR_NOT_SUPPORTED);
		assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 7, &ci), NVML_SUCCESS);
		assert_int_equal(N(nvmlComputeInstanceGetInfo_v2)(ci, &info), NVML_SUCCESS);
		assert_int_equal(info.profileId, 7);
	}
	stop();
}

static unsigned int capacity(nvmlDevice_t gpu, unsigned int id)
{
	unsigned int left = 99;

	assert_int_equal(
			N(nvmlDeviceGetGpuInstanceRemainingCapacity)(gpu, id, &left), NVML_SUCCESS);
	return left;
}

static void h100_1g_at_0_1_5_leave_a_2g_only_at_2(void **state)
{
	static const unsigned int at[] = {0, 1, 5};
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(node_create_at(&node, gpu, 19, at[i], 1, &gi), NVML_SUCCESS);
	assert_int_equal(capacity(gpu, 9), 0);
	assert_int_equal(capacity(gpu, 5), 0);
	assert_int_equal(capacity(gpu, 14), 1);
	assert_int_equal(node_create_at(&node, gpu, 14, 0, 2, &gi),
			NVML_ERROR_INSUFFICIENT_RESOURCES);
	assert_int_equal(node_create_at(&node, gpu, 14, 4, 2, &gi),
			NVML_ERROR_INSUFFICIENT_RESOURCES);
	assert_int_equal(node_create_at(&node, gpu, 14, 2, 2, &gi), NVML_SUCCESS);
	stop();
}

static void h100_2g_2g_3g_is_legal(void **state)
{
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(node_create_at(&node, gpu, 14, 0, 2, &gi), NVML_SUCCESS);
	assert_int_equal(node_create_at(&node, gpu, 14, 2, 2, &gi), NVML_SUCCESS);
	assert_int_equal(node_create_at(&node, gpu, 9, 4, 4, &gi), NVML_SUCCESS);
	stop();
}

static void a100_4g_and_3g_are_legal_and_no_2g_starts_at_6(void **state)
{
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("a100x1-40gb");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(node_create_at(&node, gpu, 14, 6, 2, &gi), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(node_create_at(&node, gpu, 19, 7, 1, &gi), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(node_create_at(&node, gpu, 5, 0, 4, &gi), NVML_SUCCESS);
	assert_int_equal(node_create_at(&node, gpu, 9, 4, 4, &gi), NVML_SUCCESS);
	assert_int_equal(node_info(&node, gi).id, 2);
	stop();
}

static void a_gpu_instance_with_a_compute_instance_is_in_use(void **state)
{
	nvmlComputeInstance_t ci;
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	gi = node_create(&node, gpu, 14);
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 1, &ci), NVML_SUCCESS);
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_ERROR_IN_USE);
	assert_int_equal(node_info(&node, gi).profileId, 14); /* nothing changed */
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci), NVML_SUCCESS);
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_SUCCESS);
	stop();
}

static void a_compute_instance_with_a_process_is_in_use(void **state)
{
	nvmlComputeInstance_t ci;
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(node_create_at(&node, gpu, 14, 2, 2, &gi), NVML_SUCCESS);
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 1, &ci), NVML_SUCCESS);
	assert_int_equal(node_ctl(&node, "inject", "busy gpu=0 start=3"), 2);
	assert_int_equal(node_ctl(&node, "inject", "busy gpu=0 start=2"), 0);
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci), NVML_ERROR_IN_USE);
	assert_int_equal(node_ctl(&node, "inject", "release gpu=0 start=2"), 0);
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci), NVML_SUCCESS);
	stop();
}

static void the_first_instance_beside_a_holder_of_the_gpu_is_in_use(void **state)
{
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("gh200x1");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(node_ctl(&node, "inject", "holder gpu=0 kind=process"), 0);
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi), NVML_ERROR_IN_USE);
	assert_int_equal(node_ctl(&node, "inject", "release gpu=0"), 0);
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi), NVML_SUCCESS);
	stop();
}

static void a_second_instance_beside_a_busy_one_succeeds(void **state)
{
	nvmlComputeInstance_t ci;
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	gi = node_create(&node, gpu, 19);
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &ci), NVML_SUCCESS);
	assert_int_equal(node_ctl(&node, "inject", "busy gpu=0 start=6"), 0);
	assert_non_null(node_create(&node, gpu, 19));
	stop();
}

static nvmlReturn_t create_ci(nvmlGpuInstance_t gi, unsigned int id)
{
	nvmlComputeInstance_t ci;

	return N(nvmlGpuInstanceCreateComputeInstance)(gi, id, &ci);
}

static void a_7g_holds_compute_instances_of_1_2_and_3_slices(void **state)
{
	static const char *const machines[] = {"a100x1-40gb", "h100x1"};

	for (size_t i = 0; i < 2; i++) {
		nvmlGpuInstance_t gi;

		start(machines[i]);
		gi = node_create(&node, node_gpu(&node, 0, 1), 0);
		assert_non_null(gi);
		assert_int_equal(create_ci(gi, 0), NVML_SUCCESS);
		assert_int_equal(create_ci(gi, 1), NVML_SUCCESS);
		assert_int_equal(create_ci(gi, 2), NVML_SUCCESS);
		stop();
	}
}

static unsigned int ci_capacity(nvmlGpuInstance_t gi, unsigned int id)
{
	unsigned int left = 99;

	assert_int_equal(N(nvmlGpuInstanceGetComputeInstanceRemainingCapacity)(gi, id, &left),
			NVML_SUCCESS);
	return left;
}

static void a_3g_with_three_1c_has_none_of_any_left(void **state)
{
	nvmlGpuInstance_t gi;

	start("a100x1-40gb");
	gi = node_create(&node, node_gpu(&node, 0, 1), 9);
	assert_int_equal(ci_capacity(gi, 0), 3);
	assert_int_equal(ci_capacity(gi, 1), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(create_ci(gi, 0), NVML_SUCCESS);
	for (unsigned int id = 0; id < 3; id++)
		assert_int_equal(ci_capacity(gi, id), 0);
	assert_int_equal(create_ci(gi, 0), NVML_ERROR_INSUFFICIENT_RESOURCES);
	stop();
}

static void a_2c_in_a_4g_is_free_on_a100_and_aligned_on_h100_assumed(void **state)
{
	static const char *const machines[] = {"a100x1-40gb", "h100x1"};
	static const unsigned int counts[] = {3, 2}, second[] = {1, 2};
	nvmlComputeInstancePlacement_t places[8];
	nvmlGpuInstance_t gi;
	unsigned int n;

	for (size_t i = 0; i < 2; i++) {
		start(machines[i]);
		gi = node_create(&node, node_gpu(&node, 0, 1), 5);
		assert_int_equal(N(nvmlGpuInstanceGetComputeInstancePossiblePlacements)(
						 gi, 1, places, &n),
				NVML_SUCCESS);
		assert_int_equal(n, counts[i]);
		assert_int_equal(places[1].start, second[i]);
		assert_int_equal(ci_capacity(gi, 1), 2);
		stop();
	}
}

static void an_a30_1g_gets_gi_3(void **state)
{
	start("a30x1");
	assert_int_equal(node_info(&node, node_create(&node, node_gpu(&node, 0, 1), 14)).id, 3);
	stop();
}

static void h200_five_1g_and_a_2g_are_legal(void **state)
{
	nvmlDevice_t gpu;

	start("h200x1");
	gpu = node_gpu(&node, 0, 1);
	assert_non_null(node_create(&node, gpu, 14));
	for (int i = 0; i < 5; i++)
		assert_non_null(node_create(&node, gpu, 19));
	stop();
}

static void set_mig_mode_beside_a_holder_succeeds_but_only_pends(void **state)
{
	static const char *const kinds[] = {"process", "daemon", "module", "agent", "unknown"};
	nvmlReturn_t activation = NVML_SUCCESS;
	unsigned int current, pending;
	char words[64];
	nvmlDevice_t gpu;

	start("a100x1-40gb");
	gpu = node_gpu(&node, 0, 0);
	for (size_t i = 0; i < 5; i++) {
		(void) snprintf(words, sizeof(words), "holder gpu=0 kind=%s", kinds[i]);
		assert_int_equal(node_ctl(&node, "inject", words), 0);
		assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_SUCCESS);
		assert_int_equal(activation, NVML_ERROR_IN_USE);
		assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &current, &pending), NVML_SUCCESS);
		assert_int_equal(current, 0);
		assert_int_equal(pending, 1);
		/* withdrawn */
		assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 0, &activation), NVML_SUCCESS);
		assert_int_equal(activation, NVML_SUCCESS);
		assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &current, &pending), NVML_SUCCESS);
		assert_int_equal(pending, 0);
		assert_int_equal(node_ctl(&node, "inject", "release gpu=0"), 0);
	}
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	stop();
}

static void mig_mode_cannot_be_switched_off_over_instances(void **state)
{
	nvmlReturn_t activation = NVML_SUCCESS;
	unsigned int current, pending;
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	gi = node_create(&node, gpu, 19);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 0, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_ERROR_IN_USE);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &current, &pending), NVML_SUCCESS);
	assert_int_equal(current, 1);
	assert_int_equal(pending, 0);
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 0, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	stop();
}

static void profiles_are_asked_by_enum_with_gaps_and_an_end(void **state)
{
	nvmlGpuInstanceProfileInfo_t info;
	unsigned int found = 0, gaps = 0, profile = 0;
	nvmlReturn_t rc;
	nvmlDevice_t gpu;

	start("h100x1");
	gpu = node_gpu(&node, 0, 0); /* Hopper answers with MIG off too */
	while ((rc = N(nvmlDeviceGetGpuInstanceProfileInfo)(gpu, profile++, &info)) !=
			NVML_ERROR_INVALID_ARGUMENT) {
		found += rc == NVML_SUCCESS;
		gaps += rc == NVML_ERROR_NOT_SUPPORTED;
	}
	assert_int_equal(found, 7);
	assert_int_equal(found + gaps, NVML_GPU_INSTANCE_PROFILE_COUNT);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfo)(gpu, 9, &info), NVML_SUCCESS);
	assert_int_equal(info.id, 15); /* the id is not the enum */
	stop();
	start("a100x1-40gb");
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfo)(gpu, 0, &info),
			NVML_ERROR_NOT_SUPPORTED);
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfo)(gpu, 0, &info), NVML_SUCCESS);
	stop();
}

static void both_versions_of_profile_info_carry_the_name(void **state)
{
	nvmlGpuInstanceProfileInfo_v2_t v2 = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V2};
	nvmlGpuInstanceProfileInfo_v3_t v3 = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V3};
	nvmlGpuInstanceProfileInfo_v2_t bad = {.version = 1};
	nvmlDevice_t gpu;

	start("rtxpro6000x1");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu, 10, &v2), NVML_SUCCESS);
	assert_string_equal(v2.name, "MIG 1g.24gb+gfx");
	assert_int_equal(v2.memorySizeMB, 24192);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu, 10, (void *) &v3),
			NVML_SUCCESS);
	assert_string_equal(v3.name, "MIG 1g.24gb+gfx");
	assert_int_equal(v3.memorySizeMB, 24192);
	assert_int_equal(v3.capabilities, NVML_GPU_INSTANCE_PROFILE_CAPS_GFX);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoByIdV)(gpu, 47, &v2), NVML_SUCCESS);
	assert_int_equal(v2.id, 47);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu, 10, &bad),
			NVML_ERROR_INVALID_ARGUMENT);
	stop();
}

static void a_board_without_mig_says_so(void **state)
{
	nvmlReturn_t activation;
	unsigned int a, b;
	nvmlDevice_t gpu;

	start("t4x1");
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceGetMaxMigDeviceCount)(gpu, &a), NVML_SUCCESS);
	assert_int_equal(a, 0);
	stop();
}

static void mig_devices_are_sparse_and_found_by_new_and_legacy_names(void **state)
{
	char uuid[96], again[96], legacy[160], gpu_uuid[96];
	nvmlGpuInstance_t gi[3];
	nvmlComputeInstance_t ci[3];
	nvmlDevice_t gpu, device, other;
	unsigned int n;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	for (int i = 0; i < 3; i++) {
		gi[i] = node_create(&node, gpu, 19);
		assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi[i], 0, &ci[i]),
				NVML_SUCCESS);
	}
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 1, &device), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(device, uuid, sizeof(uuid)), NVML_SUCCESS);
	assert_int_equal(strncmp(uuid, "MIG-", 4), 0);
	assert_int_equal(N(nvmlDeviceGetHandleByUUID)(uuid, &other), NVML_SUCCESS);
	assert_ptr_equal(other, device);
	assert_int_equal(N(nvmlDeviceGetUUID)(gpu, gpu_uuid, sizeof(gpu_uuid)), NVML_SUCCESS);
	(void) snprintf(legacy, sizeof(legacy), "MIG-%s/11/0", gpu_uuid);
	assert_int_equal(N(nvmlDeviceGetHandleByUUID)(legacy, &other), NVML_SUCCESS);
	assert_ptr_equal(other, device);
	/* a gap is not the end */
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci[1]), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 1, &other),
			NVML_ERROR_NOT_FOUND);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 2, &other), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 7, &other),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetMaxMigDeviceCount)(gpu, &n), NVML_SUCCESS);
	assert_int_equal(n, 7);
	/* made again it is another device, and what referred to the old one is stale */
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi[1], 0, &ci[1]), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(device, again, sizeof(again)),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetHandleByUUID)(uuid, &other), NVML_ERROR_NOT_FOUND);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 1, &device), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(device, again, sizeof(again)), NVML_SUCCESS);
	assert_string_not_equal(again, uuid);
	stop();
}

static void processes_are_listed_with_their_instance(void **state)
{
	nvmlProcessInfo_t infos[4];
	nvmlComputeInstance_t ci;
	nvmlDevice_t gpu, device;
	unsigned int n = 0;
	char name[64];

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(
					 node_create(&node, gpu, 19), 0, &ci),
			NVML_SUCCESS);
	assert_int_equal(node_ctl(&node, "inject", "busy gpu=0 start=6 pid=4711 name=train"), 0);
	assert_int_equal(node_ctl(&node, "inject", "holder gpu=0 kind=process pid=4712"), 0);
	assert_int_equal(node_ctl(&node, "inject", "holder gpu=0 kind=agent pid=4713"), 0);
	assert_int_equal(N(nvmlDeviceGetComputeRunningProcesses_v3)(gpu, &n, NULL),
			NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(n, 2); /* the agent holds without being listed */
	n = 4;
	assert_int_equal(N(nvmlDeviceGetComputeRunningProcesses_v3)(gpu, &n, infos), NVML_SUCCESS);
	assert_int_equal(infos[0].pid, 4711);
	assert_int_equal(infos[0].gpuInstanceId, 13);
	assert_int_equal(infos[0].computeInstanceId, 0);
	assert_int_equal(infos[1].gpuInstanceId, NVML_NO_INSTANCE_ID);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 0, &device), NVML_SUCCESS);
	n = 4;
	assert_int_equal(N(nvmlDeviceGetComputeRunningProcesses_v3)(device, &n, infos),
			NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_int_equal(N(nvmlSystemGetProcessName)(4711, name, sizeof(name)), NVML_SUCCESS);
	assert_string_equal(name, "train");
	stop();
}

static void instances_are_listed_by_profile_id_and_found_by_id(void **state)
{
	nvmlGpuInstance_t list[8], gi, found;
	nvmlDevice_t gpu;
	unsigned int n;

	start("h100x1");
	gpu = node_gpu(&node, 0, 1);
	gi = node_create(&node, gpu, 14);
	assert_non_null(node_create(&node, gpu, 19));
	assert_int_equal(N(nvmlDeviceGetGpuInstances)(gpu, 14, list, &n), NVML_SUCCESS);
	assert_int_equal(n, 1);
	assert_ptr_equal(list[0], gi);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceById)(gpu, node_info(&node, gi).id, &found),
			NVML_SUCCESS);
	assert_ptr_equal(found, gi);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceById)(gpu, 1, &found), NVML_ERROR_NOT_FOUND);
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_SUCCESS);
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_ERROR_INVALID_ARGUMENT);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a100_40gb_1g_2g_4g_go_to_gi_13_5_1),
			cmocka_unit_test(a100_40gb_3g_1g_2g_1g_go_to_gi_2_7_4_8),
			cmocka_unit_test(two_3g_fill_the_board_and_refuse_a_1g),
			cmocka_unit_test(an_a100_40gb_3g_at_4_has_more_memory_than_its_profile),
			cmocka_unit_test(h100_sxm_seven_1g_go_to_6_4_5_0_1_2_3),
			cmocka_unit_test(four_1g_20gb_leave_no_room_for_a_1g_10gb),
			cmocka_unit_test(a_second_media_instance_is_refused),
			cmocka_unit_test(beside_all_media_engines_only_profiles_without_any_stand),
			cmocka_unit_test(three_double_memory_1g_of_a_gh200_take_compute_profile_7),
			cmocka_unit_test(h100_1g_at_0_1_5_leave_a_2g_only_at_2),
			cmocka_unit_test(h100_2g_2g_3g_is_legal),
			cmocka_unit_test(a100_4g_and_3g_are_legal_and_no_2g_starts_at_6),
			cmocka_unit_test(a_gpu_instance_with_a_compute_instance_is_in_use),
			cmocka_unit_test(a_compute_instance_with_a_process_is_in_use),
			cmocka_unit_test(the_first_instance_beside_a_holder_of_the_gpu_is_in_use),
			cmocka_unit_test(a_second_instance_beside_a_busy_one_succeeds),
			cmocka_unit_test(a_7g_holds_compute_instances_of_1_2_and_3_slices),
			cmocka_unit_test(a_3g_with_three_1c_has_none_of_any_left),
			cmocka_unit_test(a_2c_in_a_4g_is_free_on_a100_and_aligned_on_h100_assumed),
			cmocka_unit_test(an_a30_1g_gets_gi_3),
			cmocka_unit_test(h200_five_1g_and_a_2g_are_legal),
			cmocka_unit_test(set_mig_mode_beside_a_holder_succeeds_but_only_pends),
			cmocka_unit_test(mig_mode_cannot_be_switched_off_over_instances),
			cmocka_unit_test(profiles_are_asked_by_enum_with_gaps_and_an_end),
			cmocka_unit_test(both_versions_of_profile_info_carry_the_name),
			cmocka_unit_test(a_board_without_mig_says_so),
			cmocka_unit_test(mig_devices_are_sparse_and_found_by_new_and_legacy_names),
			cmocka_unit_test(processes_are_listed_with_their_instance),
			cmocka_unit_test(instances_are_listed_by_profile_id_and_found_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
