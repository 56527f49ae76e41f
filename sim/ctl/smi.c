/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIR/bin/nvidia-smi: a stand-in for the vendor's tool, for the two things that people's scripts and
 * the product run it for: the list of devices, which it asks NVML for, and the reset of a GPU, for
 * which NVML has no call. It finds its node by its own path.
 *
 * Sources: texts and the exit status 255 of a refused reset from issues of NVIDIA/gpu-operator (118,
 * 2376), NVIDIA/mig-parted (181) and NVIDIA/NVSentinel (1690); "Not Supported" from published guides;
 * exit statuses 2, 6 and 9 from the tool's manual. Another refusal in the same form is assumed.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "abi/nvml_symbols.h"
#include "model/access.h"
#include "model/procfs.h"
#include "model/reset.h"

enum {
	SMI_DONE = 0,
	SMI_USAGE = 2,
	SMI_NOT_FOUND = 6,
	SMI_NO_DRIVER = 9,
	SMI_REFUSED = 255,
};

/* DIR of DIR/bin/nvidia-smi. */
static bool find_dir(char *dir, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", dir, size - 1);

	if (n < 0)
		return false;
	dir[n] = '\0';
	for (int i = 0; i < 2; i++) {
		char *cut = strrchr(dir, '/');

		if (!cut)
			return false;
		*cut = '\0';
	}
	return true;
}

static int no_driver(void)
{
	(void) puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
		    "Make sure that the latest NVIDIA driver is installed and running.");
	return SMI_NO_DRIVER;
}

struct nvml {
#define X(name, need, params, args, out, checked_by) __typeof__(&name) name;
	BH_NVML_SYMBOLS(X)
	BH_NVML_TEXT_SYMBOLS(X)
#undef X
};

static bool load(const char *dir, struct nvml *nvml)
{
	char path[PATH_MAX + 32];
	void *handle;

	(void) snprintf(path, sizeof(path), "%s/lib/libnvidia-ml.so.1", dir);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#define X(name, need, params, args, out, checked_by)                                               \
	nvml->name = handle ? (__typeof__(nvml->name)) dlsym(handle, #name) : NULL;                \
	if (!nvml->name)                                                                           \
		return false;
	BH_NVML_SYMBOLS(X)
	BH_NVML_TEXT_SYMBOLS(X)
#undef X
	return true;
}

static void list_devices(const struct nvml *nvml, nvmlDevice_t gpu)
{
	char name[256], uuid[96];
	unsigned int max = 0;
	nvmlDevice_t device;

	(void) nvml->nvmlDeviceGetMaxMigDeviceCount(gpu, &max); /* none where it fails */
	for (unsigned int i = 0; i < max; i++) {
		const char *profile;

		if (nvml->nvmlDeviceGetMigDeviceHandleByIndex(gpu, i, &device) != NVML_SUCCESS ||
				nvml->nvmlDeviceGetName(device, name, sizeof(name)) !=
						NVML_SUCCESS ||
				nvml->nvmlDeviceGetUUID(device, uuid, sizeof(uuid)) != NVML_SUCCESS)
			continue;
		profile = strstr(name, "MIG ");
		(void) printf("  %-15s Device %2u: (UUID: %s)\n", profile ? profile : name, i,
				uuid);
	}
}

static int list(const char *dir)
{
	char name[256], uuid[96];
	unsigned int count = 0;
	nvmlDevice_t gpu;
	struct nvml nvml;
	nvmlReturn_t rc;

	if (!load(dir, &nvml))
		return no_driver();
	rc = nvml.nvmlInit_v2();
	if (rc == NVML_ERROR_DRIVER_NOT_LOADED)
		return no_driver();
	if (rc != NVML_SUCCESS) {
		(void) printf("Failed to initialize NVML: %s\n", nvml.nvmlErrorString(rc));
		return SMI_REFUSED;
	}
	(void) nvml.nvmlDeviceGetCount_v2(&count);
	for (unsigned int i = 0; i < count; i++) {
		rc = nvml.nvmlDeviceGetHandleByIndex_v2(i, &gpu);
		if (rc == NVML_SUCCESS)
			rc = nvml.nvmlDeviceGetName(gpu, name, sizeof(name));
		if (rc == NVML_SUCCESS)
			rc = nvml.nvmlDeviceGetUUID(gpu, uuid, sizeof(uuid));
		if (rc != NVML_SUCCESS) {
			(void) printf("Unable to determine the device handle for GPU%u: %s\n", i,
					nvml.nvmlErrorString(rc));
			continue;
		}
		(void) printf("GPU %u: %s (UUID: %s)\n", i, name, uuid);
		list_devices(&nvml, gpu);
	}
	(void) nvml.nvmlShutdown();
	return SMI_DONE;
}

static bool is_at(const struct sim_identity *id, const char *text)
{
	unsigned int domain = 0, bus = 0, device = 0, function = 0;
	int end = 0;

	if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
			text[end]) {
		domain = 0;
		end = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3 || text[end])
			return false;
	}
	return function == 0 && id->pci_domain == domain && id->pci_bus == bus &&
	       id->pci_device == device;
}

/* An index, a UUID, a serial or a bus id; never changes while the node stands. */
static bool find_gpu(const struct sim_state *state, const char *text, uint32_t *ret_gpu)
{
	for (uint32_t i = 0; i < state->n_gpus; i++) {
		const struct sim_identity *id = &state->gpus[i].identity;
		char index[16];

		(void) snprintf(index, sizeof(index), "%u", i);
		if (strcmp(text, index) != 0 && strcasecmp(text, id->uuid) != 0 &&
				strcmp(text, id->serial) != 0 && !is_at(id, text))
			continue;
		*ret_gpu = i;
		return true;
	}
	return false;
}

/* A bit for each GPU that is named, all without a name; 0 when there is no such GPU. */
static uint32_t find_gpus(const struct sim_state *state, char *text)
{
	uint32_t found = 0, gpu = 0;
	char *name;

	if (!text)
		return (1U << state->n_gpus) - 1;
	while ((name = strsep(&text, ","))) {
		if (!find_gpu(state, name, &gpu))
			return 0;
		found |= 1U << gpu;
	}
	return found;
}

static const char *why(enum sim_result result)
{
	switch (result) {
	case SIM_IN_USE:
		return "In use by another client";
	case SIM_LOST:
		return "GPU is lost";
	case SIM_NOT_SUPPORTED:
		return "Not Supported";
	case SIM_NO_PERMISSION:
		return "Insufficient Permissions";
	default:
		return "Unknown Error";
	}
}

static enum sim_result reset_one(const char *dir, struct sim_map *map, uint32_t gpu)
{
	const struct sim_nodes *nodes = &map->state->nodes;
	enum sim_result result;
	struct sim_tx tx;
	uint32_t fail;

	if (sim_nodes_exist(nodes) && !sim_access_is_admin())
		return SIM_NO_PERMISSION;
	sim_tx_begin(&tx, map, /* take_back= */ false);
	result = sim_tx_end(&tx, sim_reset(&tx, gpu, &fail));
	if (result == SIM_OK)
		(void) sim_procfs_sync(dir, map); /* or the next one who may */
	return result;
}

static void print_pci(
		const struct sim_map *map, uint32_t gpu, const char *before, const char *after)
{
	const struct sim_identity *id = &map->state->gpus[gpu].identity;

	(void) printf("%sGPU %08X:%02X:%02X.0%s\n", before, id->pci_domain, id->pci_bus,
			id->pci_device, after);
}

static void print_busy(uint32_t busy)
{
	unsigned int n = (unsigned int) __builtin_popcount(busy);

	(void) printf("\n%u device%s currently being used by one or more other processes (e.g., "
		      "Fabric "
		      "Manager, CUDA application, graphics application such as an X server, or a "
		      "monitoring application such as another instance of nvidia-smi). Please "
		      "first "
		      "kill all processes using %s and all compute applications running in the "
		      "system.\n",
			n, n == 1 ? " is" : "s are", n == 1 ? "this device" : "these devices");
}

static int reset(const char *dir, char *names)
{
	enum sim_result results[SIM_GPUS_MAX];
	uint32_t gpus, busy = 0;
	bool failed = false;
	struct sim_map map;

	if (sim_map_open(dir, &map, NULL) < 0)
		return no_driver();
	gpus = find_gpus(map.state, names);
	if (!gpus) {
		(void) puts("No devices were found");
		return SMI_NOT_FOUND;
	}
	for (uint32_t i = 0; i < map.state->n_gpus; i++) {
		results[i] = gpus & 1U << i ? reset_one(dir, &map, i) : SIM_OK;
		failed |= results[i] != SIM_OK;
		if (results[i] == SIM_IN_USE)
			busy |= 1U << i;
		if (gpus & 1U << i && results[i] == SIM_OK)
			print_pci(&map, i, "", " was successfully reset.");
	}
	if (failed)
		(void) puts("The following GPUs could not be reset:");
	for (uint32_t i = 0; i < map.state->n_gpus; i++) {
		char after[64];

		(void) snprintf(after, sizeof(after), ": %s", why(results[i]));
		if (results[i] != SIM_OK)
			print_pci(&map, i, "  ", after);
	}
	if (busy)
		print_busy(busy);
	sim_map_close(&map);
	return failed ? SMI_REFUSED : SMI_DONE;
}

static int usage(void)
{
	(void) fputs("usage: nvidia-smi -L | --list-gpus\n"
		     "       nvidia-smi -r | --gpu-reset [-i | --id=ID,...]   ID: index, UUID, "
		     "serial "
		     "or bus id\n"
		     "A stand-in of a simulated node: nothing else is there.\n",
			stderr);
	return SMI_USAGE;
}

int main(int argc, char **argv)
{
	bool listing = false, resetting = false;
	char dir[PATH_MAX], *names = NULL;

	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (strcmp(word, "-L") == 0 || strcmp(word, "--list-gpus") == 0)
			listing = true;
		else if (strcmp(word, "-r") == 0 || strcmp(word, "--gpu-reset") == 0)
			resetting = true;
		else if ((strcmp(word, "-i") == 0 || strcmp(word, "--id") == 0) && i + 1 < argc)
			names = argv[++i];
		else if (strncmp(word, "--id=", 5) == 0)
			names = argv[i] + 5;
		else
			return usage();
	}
	if (listing == resetting || (listing && names))
		return usage();
	if (!find_dir(dir, sizeof(dir)))
		return no_driver();
	return listing ? list(dir) : reset(dir, names);
}
