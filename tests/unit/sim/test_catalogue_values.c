/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every value that data/gpu-models gives as captured or listed comes back through NVML as it stands
 * there, in each form that NVML has for it. The files are read here, literally: neither the product's
 * table nor the simulator's is asked. A value that no source gives is skipped and counted.
 */
#include "node.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(call)		  node.nvml.call
#define VALUES_AT_LEAST	  7000
#define BOARDS_AT_LEAST	  10
#define SIMULATED_AT_MOST 32

static struct node node;
static unsigned int compared, skipped, wrong;

static void same(const char *where, const char *key, const json_t *wanted, unsigned long long got)
{
	if (!wanted || json_is_null(wanted)) {
		skipped++;
		return;
	}
	compared++;
	if ((unsigned long long) json_integer_value(wanted) == got)
		return;
	wrong++;
	print_error("%s: %s is %lld in the file and %llu through NVML\n", where, key,
			(long long) json_integer_value(wanted), got);
}

static void same_text(const char *where, const char *wanted, const char *got)
{
	compared++;
	if (strcmp(wanted, got) == 0)
		return;
	wrong++;
	print_error("%s: '%s' in the file and '%s' through NVML\n", where, wanted, got);
}

static bool is_sourced(const json_t *row)
{
	const char *confidence = json_string_value(json_object_get(row, "confidence"));

	return confidence &&
	       (strcmp(confidence, "captured") == 0 || strcmp(confidence, "listing") == 0);
}

static unsigned int number(const json_t *row, const char *key)
{
	return (unsigned int) json_integer_value(json_object_get(row, key));
}

/* The fields that all forms of profile info have, under their names in each. */
#define SAME_GI(where, row, info)                                                                  \
	do {                                                                                       \
		same(where, "profile_id", json_object_get(row, "profile_id"), (info).id);          \
		same(where, "slice_count", json_object_get(row, "slice_count"),                    \
				(info).sliceCount);                                                \
		same(where, "max_instances", json_object_get(row, "max_instances"),                \
				(info).instanceCount);                                             \
		same(where, "sm", json_object_get(row, "sm"), (info).multiprocessorCount);         \
		same(where, "copy_engines", json_object_get(row, "copy_engines"),                  \
				(info).copyEngineCount);                                           \
		same(where, "decoders", json_object_get(row, "decoders"), (info).decoderCount);    \
		same(where, "encoders", json_object_get(row, "encoders"), (info).encoderCount);    \
		same(where, "jpeg", json_object_get(row, "jpeg"), (info).jpegCount);               \
		same(where, "ofa", json_object_get(row, "ofa"), (info).ofaCount);                  \
		same(where, "memory_mib", json_object_get(row, "memory_mib"),                      \
				(info).memorySizeMB);                                              \
	} while (0)

#define SAME_CI(where, row, info)                                                                  \
	do {                                                                                       \
		same(where, "ci profile_id", json_object_get(row, "profile_id"), (info).id);       \
		same(where, "ci slice_count", json_object_get(row, "slice_count"),                 \
				(info).sliceCount);                                                \
		same(where, "ci max_instances", json_object_get(row, "max_instances"),             \
				(info).instanceCount);                                             \
		same(where, "ci sm", json_object_get(row, "sm"), (info).multiprocessorCount);      \
		same(where, "ci copy", json_object_get(row, "shared_copy_engines"),                \
				(info).sharedCopyEngineCount);                                     \
		same(where, "ci decoders", json_object_get(row, "shared_decoders"),                \
				(info).sharedDecoderCount);                                        \
		same(where, "ci jpeg", json_object_get(row, "shared_jpeg"),                        \
				(info).sharedJpegCount);                                           \
		same(where, "ci ofa", json_object_get(row, "shared_ofa"), (info).sharedOfaCount);  \
	} while (0)

static void compare_v2(const char *where, const json_t *row,
		const nvmlGpuInstanceProfileInfo_v2_t *v2, const char *name)
{
	SAME_GI(where, row, *v2);
	same(where, "p2p_supported", json_object_get(row, "p2p_supported"), v2->isP2pSupported);
	same_text(where, name, v2->name);
}

static void compare_v3(const char *where, const json_t *row,
		const nvmlGpuInstanceProfileInfo_v3_t *v3, const char *name)
{
	unsigned int p2p = v3->capabilities & NVML_GPU_INSTANCE_PROFILE_CAPS_P2P;
	unsigned int gfx = v3->capabilities & NVML_GPU_INSTANCE_PROFILE_CAPS_GFX;

	SAME_GI(where, row, *v3);
	same(where, "p2p capability", json_object_get(row, "p2p_supported"), p2p != 0);
	same(where, "gfx capability", json_object_get(row, "capability_gfx"), gfx != 0);
	same_text(where, name, v3->name);
}

static void compare_infos(const char *where, nvmlDevice_t gpu, const json_t *row)
{
	unsigned int profile = number(row, "nvml_enum"), id = number(row, "profile_id");
	nvmlGpuInstanceProfileInfo_v2_t v2 = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V2};
	nvmlGpuInstanceProfileInfo_v3_t v3 = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V3};
	nvmlGpuInstanceProfileInfo_t v1;
	char name[128];

	(void) snprintf(name, sizeof(name), "MIG %s",
			json_string_value(json_object_get(row, "name")));
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfo)(gpu, profile, &v1), NVML_SUCCESS);
	SAME_GI(where, row, v1);
	same(where, "p2p_supported", json_object_get(row, "p2p_supported"), v1.isP2pSupported);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu, profile, &v2), NVML_SUCCESS);
	compare_v2(where, row, &v2, name);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu, profile, (void *) &v3),
			NVML_SUCCESS);
	compare_v3(where, row, &v3, name);
	memset(&v2.id, 0xFF, sizeof(v2) - sizeof(v2.version));
	memset(&v3.id, 0xFF, sizeof(v3) - sizeof(v3.version));
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoByIdV)(gpu, id, &v2), NVML_SUCCESS);
	compare_v2(where, row, &v2, name);
	assert_int_equal(N(nvmlDeviceGetGpuInstanceProfileInfoByIdV)(gpu, id, (void *) &v3),
			NVML_SUCCESS);
	compare_v3(where, row, &v3, name);
}

/* What an instance at a placement has, where a source names the placement; else what the profile says. */
static const json_t *memory_at(const json_t *row, unsigned int start, unsigned int size)
{
	const json_t *other;
	size_t i;

	json_array_foreach (json_object_get(row, "memory_mib_alternatives"), i, other) {
		const char *when = json_string_value(json_object_get(other, "when"));
		const char *at = when ? strstr(when, "instance at ") : NULL;
		unsigned int s, n;

		if (at && sscanf(at, "instance at %u:%u", &s, &n) == 2 && s == start && n == size)
			return json_object_get(other, "mib");
	}
	return json_object_get(row, "memory_mib");
}

/* Makes a compute instance that fills the GPU instance, looks at the MIG device, removes both. */
static void compare_instance(const char *where, nvmlDevice_t gpu, nvmlGpuInstance_t gi,
		const json_t *row, unsigned int start, unsigned int size)
{
	const json_t *memory = memory_at(row, start, size);
	nvmlDeviceAttributes_t attributes;
	nvmlComputeInstance_t ci = NULL;
	nvmlComputeInstanceProfileInfo_t info;
	nvmlMemory_v2_t v2 = {.version = NVML_MEMORY_V2};
	nvmlMemory_t v1;
	nvmlDevice_t device;

	for (unsigned int p = 0; p < NVML_COMPUTE_INSTANCE_PROFILE_COUNT && !ci; p++) {
		if (N(nvmlGpuInstanceGetComputeInstanceProfileInfo)(gi, p, 0, &info) !=
						NVML_SUCCESS ||
				info.multiprocessorCount != number(row, "sm"))
			continue;
		assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, info.id, &ci),
				NVML_SUCCESS);
	}
	assert_non_null(ci);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 0, &device), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMemoryInfo)(device, &v1), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMemoryInfo_v2)(device, &v2), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetAttributes_v2)(device, &attributes), NVML_SUCCESS);
	same(where, "memory of the instance", memory, v1.total >> 20);
	same(where, "memory of the instance", memory, v2.total >> 20);
	same(where, "memory attribute", memory, attributes.memorySizeMB);
	same(where, "sm attribute", json_object_get(row, "sm"), attributes.multiprocessorCount);
	same(where, "slices attribute", json_object_get(row, "slice_count"),
			attributes.gpuInstanceSliceCount);
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci), NVML_SUCCESS);
}

static void compare_ci_row(const char *where, nvmlGpuInstance_t gi, const json_t *row)
{
	nvmlComputeInstanceProfileInfo_v2_t v2 = {.version = NVML_COMPUTE_INSTANCE_PROFILE_INFO_V2};
	nvmlComputeInstanceProfileInfo_v3_t v3 = {.version = NVML_COMPUTE_INSTANCE_PROFILE_INFO_V3};
	const json_t *places = json_object_get(row, "placements"), *place;
	nvmlComputeInstancePlacement_t list[16] = {0};
	unsigned int profile = number(row, "nvml_enum"), n = 16;
	nvmlComputeInstanceProfileInfo_t v1;
	size_t i;

	assert_int_equal(N(nvmlGpuInstanceGetComputeInstanceProfileInfo)(gi, profile, 0, &v1),
			NVML_SUCCESS);
	SAME_CI(where, row, v1);
	assert_int_equal(N(nvmlGpuInstanceGetComputeInstanceProfileInfoV)(gi, profile, 0, &v2),
			NVML_SUCCESS);
	SAME_CI(where, row, v2);
	assert_int_equal(N(nvmlGpuInstanceGetComputeInstanceProfileInfoV)(
					 gi, profile, 0, (void *) &v3),
			NVML_SUCCESS);
	SAME_CI(where, row, v3);
	if (!json_is_array(places)) {
		skipped++;
		return;
	}
	assert_int_equal(
			N(nvmlGpuInstanceGetComputeInstancePossiblePlacements)(gi, v1.id, list, &n),
			NVML_SUCCESS);
	assert_int_equal(n, json_array_size(places));
	json_array_foreach (places, i, place) {
		same(where, "ci start", json_object_get(place, "start"), list[i].start);
		same(where, "ci size", json_object_get(place, "size"), list[i].size);
	}
}

static void compare_ci_rows(
		const char *where, nvmlGpuInstance_t gi, const json_t *board, const char *profile)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(board, "ci_profiles"), i, row) {
		if (strcmp(json_string_value(json_object_get(row, "gi_profile")), profile) != 0 ||
				!is_sourced(row))
			continue;
		if (json_is_null(json_object_get(row, "nvml_enum")) ||
				json_is_null(json_object_get(row, "profile_id"))) {
			skipped++; /* nothing to ask by */
			continue;
		}
		compare_ci_row(where, gi, row);
	}
}

static void compare_places(
		const char *where, nvmlDevice_t gpu, const json_t *board, const json_t *row)
{
	const json_t *places = json_object_get(row, "placements"), *place;
	nvmlGpuInstancePlacement_t list[16] = {0};
	unsigned int id = number(row, "profile_id"), n = 16;
	nvmlGpuInstance_t gi;
	size_t i;

	assert_int_equal(N(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(gpu, id, list, &n),
			NVML_SUCCESS);
	assert_int_equal(n, json_array_size(places));
	json_array_foreach (places, i, place) {
		nvmlGpuInstanceInfo_t info;

		same(where, "start", json_object_get(place, "start"), list[i].start);
		same(where, "size", json_object_get(place, "size"), list[i].size);
		assert_int_equal(node_create_at(&node, gpu, id, list[i].start, list[i].size, &gi),
				NVML_SUCCESS);
		info = node_info(&node, gi);
		same(where, "gi_id", json_object_get(place, "gi_id"), info.id);
		same(where, "profile of the instance", json_object_get(row, "profile_id"),
				info.profileId);
		compare_instance(where, gpu, gi, row, list[i].start, list[i].size);
		if (i == 0)
			compare_ci_rows(where, gi, board,
					json_string_value(json_object_get(row, "name")));
		assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_SUCCESS);
	}
}

static void compare_card(const char *slug, nvmlDevice_t gpu, const json_t *board)
{
	const char *capability = json_string_value(json_object_get(board, "compute_capability"));
	const json_t *pci = json_array_get(json_object_get(board, "pci_device_ids"), 0);
	const json_t *name = json_array_get(json_object_get(board, "nvml_names"), 0);
	char text[96], got[96];
	nvmlMemory_t memory;
	nvmlPciInfo_t info;
	int major, minor;

	assert_int_equal(N(nvmlDeviceGetPciInfo_v3)(gpu, &info), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetName)(gpu, text, sizeof(text)), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMemoryInfo)(gpu, &memory), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetCudaComputeCapability)(gpu, &major, &minor), NVML_SUCCESS);
	if (name)
		same_text(slug, json_string_value(json_object_get(name, "name")), text);
	else
		skipped++;
	if (pci) {
		(void) snprintf(got, sizeof(got), "0x%04X", info.pciDeviceId >> 16);
		same_text(slug, json_string_value(json_object_get(pci, "device")), got);
		assert_int_equal(info.pciDeviceId & 0xFFFF, 0x10DE);
	} else {
		skipped++;
	}
	same(slug, "memory_total_mib",
			json_object_get(json_object_get(board, "memory_total_mib"), "value"),
			memory.total >> 20);
	if (capability) {
		(void) snprintf(got, sizeof(got), "%d.%d", major, minor);
		same_text(slug, capability, got);
	} else {
		skipped++;
	}
}

static void compare_board(const json_t *board)
{
	const char *slug = json_string_value(json_object_get(board, "slug"));
	char machine[96], where[160];
	const json_t *row;
	nvmlDevice_t gpu;
	size_t i;

	(void) snprintf(machine, sizeof(machine), "%sx1", slug);
	node_start(&node, machine);
	gpu = node_gpu(&node, 0, 1);
	compare_card(slug, gpu, board);
	json_array_foreach (json_object_get(board, "gi_profiles"), i, row) {
		if (!is_sourced(row))
			continue;
		(void) snprintf(where, sizeof(where), "%s %s", slug,
				json_string_value(json_object_get(row, "name")));
		compare_infos(where, gpu, row);
		compare_places(where, gpu, board, row);
	}
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

/* simctl says by its exit status whether enough is known of the board. */
static bool can_be_simulated(const char *slug)
{
	struct node words = {0};
	char dir[] = "/tmp/bh-sim-catalogue-XXXXXX", command[128], path[128];
	int status;

	assert_non_null(mkdtemp(dir));
	(void) snprintf(words.dir, sizeof(words.dir), "%sx1", slug);
	(void) snprintf(command, sizeof(command), "--dir %s", dir);
	status = node_ctl(&words, "create", command);
	assert_true(status == 0 || status == 3);
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = {
				"lib/libnvidia-ml.so.1", "lib", "state", "clients.lock"};

		(void) snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void) remove(path);
	}
	(void) remove(dir);
	return status == 0;
}

static int is_json(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".json") == 0;
}

static void every_sourced_value_of_every_board_comes_back_through_nvml(void **state)
{
	unsigned int simulated = 0, refused = 0;
	struct dirent **files;
	int n = scandir(GPU_MODELS, &files, is_json, alphasort);

	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		char path[4096];
		json_t *board;

		(void) snprintf(path, sizeof(path), GPU_MODELS "/%s", files[i]->d_name);
		free(files[i]);
		board = json_load_file(path, 0, NULL);
		assert_non_null(board);
		if (can_be_simulated(json_string_value(json_object_get(board, "slug")))) {
			compare_board(board);
			simulated++;
		} else {
			refused++;
		}
		json_decref(board);
	}
	free(files);
	print_message("%u boards simulated, %u not: %u values compared, %u unknown ones skipped\n",
			simulated, refused, compared, skipped);
	assert_int_equal(wrong, 0);
	assert_in_range(simulated, BOARDS_AT_LEAST, SIMULATED_AT_MOST);
	assert_in_range(compared, VALUES_AT_LEAST, 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					every_sourced_value_of_every_board_comes_back_through_nvml),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
