/* SPDX-License-Identifier: Apache-2.0 */
#pragma GCC visibility push(default)
#include "fake_nvml.h"
#pragma GCC visibility pop

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profile {
	unsigned int nvml_enum, id, slices, instances, sm, memory, n_starts, size;
	unsigned int starts[7];
	const char *name;
};

static const struct profile profiles[] = {
		{0, 19, 1, 7, 16, 9984, 7, 1, {0, 1, 2, 3, 4, 5, 6}, "MIG 1g.10gb"},
		{1, 14, 2, 3, 32, 20096, 3, 2, {0, 2, 4}, "MIG 2g.20gb"},
		{2, 9, 3, 2, 60, 40448, 2, 4, {0, 4}, "MIG 3g.40gb"},
		{3, 5, 4, 1, 64, 40448, 1, 4, {0}, "MIG 4g.40gb"},
		{4, 0, 7, 1, 132, 81152, 1, 8, {0}, "MIG 7g.80gb"},
		{7, 20, 1, 1, 16, 9984, 7, 1, {0, 1, 2, 3, 4, 5, 6}, "MIG 1g.10gb+me"},
		{9, 15, 1, 4, 26, 20096, 4, 2, {0, 2, 4, 6}, "MIG 1g.20gb"},
};

/* Compute instance profiles: the enum, its slices; ids are enum + 10, as ids are not enums. */
static const struct {
	unsigned int nvml_enum, slices;
} ci_profiles[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 7}, {7, 1}, {8, 7}};
#define CI_ID(nvml_enum) ((nvml_enum) + 10)

static struct fake_nvml state;

static void make_board(struct fake_gpu *gpu, const char *uuid, const char *pci)
{
	gpu->uuid = uuid;
	gpu->pci = pci;
	gpu->name = "NVIDIA Fake 80GB";
	for (int i = 0; i < FAKE_GIS; i++) {
		gpu->gis[i].gpu = gpu;
		for (int k = 0; k < FAKE_CIS; k++)
			gpu->gis[i].cis[k].gi = &gpu->gis[i];
	}
}

/* FAKE_NVML, for workers in a process of their own: "call=code", "hang=call". */
static void read_environment(void)
{
	const char *text = getenv("FAKE_NVML");
	unsigned int code;

	if (text && sscanf(text, "%79[A-Za-z0-9_]=%u", state.fail_call, &code) == 2)
		state.fail_code = (nvmlReturn_t) code;
}

#pragma GCC visibility push(default)

struct fake_nvml *fake_nvml(void)
{
	if (!state.gpus[0].uuid) {
		make_board(&state.gpus[0], "GPU-00000000-0000-0000-0000-00000000000a",
				"00000000:1B:00.0");
		make_board(&state.gpus[1], "GPU-00000000-0000-0000-0000-00000000000b",
				"00000000:43:00.0");
		state.process_name = "python3";
	}
	return &state;
}

static nvmlReturn_t enter(const char *name)
{
	(void) fake_nvml();
	state.calls++;
	if (strcmp(name, state.fail_call) != 0)
		return NVML_SUCCESS;
	state.fail_seen++;
	if (state.fail_nth && state.fail_seen != state.fail_nth)
		return NVML_SUCCESS;
	return state.fail_code;
}

#define ENTER()                                                                                    \
	do {                                                                                       \
		nvmlReturn_t entered = enter(__func__);                                            \
		if (entered != NVML_SUCCESS)                                                       \
			return entered;                                                            \
	} while (0)
#define ENTER_CHANGING()                                                                           \
	do {                                                                                       \
		fake_nvml()->changing_calls++;                                                     \
		ENTER();                                                                           \
		if (state.silent)                                                                  \
			return NVML_SUCCESS;                                                       \
	} while (0)
#define NOT_THERE(name, params)                                                                    \
	nvmlReturn_t name params                                                                   \
	{                                                                                          \
		return NVML_ERROR_NOT_SUPPORTED;                                                   \
	}

static nvmlReturn_t give(char *buffer, unsigned int length, const char *text)
{
	return (unsigned int) snprintf(buffer, length, "%s", text) < length
			       ? NVML_SUCCESS
			       : NVML_ERROR_INSUFFICIENT_SIZE;
}

/* A handle carries the generation, so that one from before a reset is invalid. */
static nvmlDevice_t handle_of(struct fake_gpu *gpu)
{
	return (nvmlDevice_t) ((char *) gpu + gpu->generation % 8);
}

static struct fake_gpu *gpu_of(nvmlDevice_t device)
{
	for (int i = 0; i < FAKE_GPUS; i++) {
		if (device == handle_of(&state.gpus[i]))
			return &state.gpus[i];
	}
	return NULL;
}

static struct fake_ci *mig_of(nvmlDevice_t device)
{
	for (int g = 0; g < FAKE_GPUS; g++)
		for (int i = 0; i < FAKE_GIS; i++)
			for (int k = 0; k < FAKE_CIS; k++)
				if (device == (nvmlDevice_t) &state.gpus[g].gis[i].cis[k])
					return &state.gpus[g].gis[i].cis[k];
	return NULL;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	return "fake";
}

nvmlReturn_t nvmlInit_v2(void)
{
	read_environment();
	ENTER();
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
	ENTER();
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
	ENTER();
	return give(version, length, "999.1");
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
	ENTER();
	return give(name, length, state.process_name);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
	ENTER();
	*deviceCount = FAKE_GPUS;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	ENTER();
	if (index >= FAKE_GPUS)
		return NVML_ERROR_INVALID_ARGUMENT;
	*device = handle_of(&state.gpus[index]);
	return NVML_SUCCESS;
}

NOT_THERE(nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice_t *device))

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
	ENTER();
	for (int i = 0; i < FAKE_GPUS; i++) {
		if (strcmp(state.gpus[i].pci, pciBusId) == 0) {
			*device = handle_of(&state.gpus[i]);
			return NVML_SUCCESS;
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	ENTER();
	if (!gpu_of(device))
		return NVML_ERROR_INVALID_ARGUMENT;
	*index = (unsigned int) (gpu_of(device) - state.gpus);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	ENTER();
	return gpu_of(device) ? give(name, length, gpu_of(device)->name)
			      : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct fake_ci *ci;
	char text[96];

	ENTER();
	if (gpu_of(device))
		return give(uuid, length, gpu_of(device)->uuid);
	ci = mig_of(device);
	if (!ci || !ci->exists)
		return NVML_ERROR_INVALID_ARGUMENT;
	(void) snprintf(text, sizeof(text), "MIG-%u-%u", ci->gi->id, ci->id);
	return give(uuid, length, text);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	ENTER();
	if (!gpu_of(device))
		return NVML_ERROR_INVALID_ARGUMENT;
	memset(pci, 0, sizeof(*pci));
	pci->pciDeviceId = 0x233010DE;
	pci->pciSubSystemId = 0x16C010DE;
	return give(pci->busId, sizeof(pci->busId), gpu_of(device)->pci);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	ENTER();
	if (!gpu_of(device))
		return NVML_ERROR_INVALID_ARGUMENT;
	memset(memory, 0, sizeof(*memory));
	memory->total = 81559ull << 20;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(
		nvmlDevice_t device, unsigned int *infoCount, nvmlProcessInfo_t *infos)
{
	struct fake_gpu *gpu;
	unsigned int room = *infoCount;

	ENTER();
	gpu = gpu_of(device);
	if (!gpu)
		return NVML_ERROR_INVALID_ARGUMENT;
	*infoCount = gpu->n_processes;
	if (gpu->n_processes > room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(infos, gpu->processes, gpu->n_processes * sizeof(*infos));
	return NVML_SUCCESS;
}

/* ---- The mode ---- */

#ifndef FAKE_WITHOUT_REQUIRED
nvmlReturn_t nvmlDeviceGetMigMode(
		nvmlDevice_t device, unsigned int *currentMode, unsigned int *pendingMode)
{
	ENTER();
	if (!gpu_of(device))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (state.no_mig)
		return NVML_ERROR_NOT_SUPPORTED;
	*currentMode = gpu_of(device)->current;
	*pendingMode = gpu_of(device)->pending;
	return NVML_SUCCESS;
}
#endif

nvmlReturn_t nvmlDeviceSetMigMode(
		nvmlDevice_t device, unsigned int mode, nvmlReturn_t *activationStatus)
{
	struct fake_gpu *gpu;

	ENTER_CHANGING();
	gpu = gpu_of(device);
	if (!gpu)
		return NVML_ERROR_INVALID_ARGUMENT;
	*activationStatus = NVML_SUCCESS;
	if (mode == gpu->current) {
		if (!state.sticky_pending)
			gpu->pending = mode;
		return NVML_SUCCESS;
	}
	gpu->pending = mode;
	*activationStatus = state.activation;
	if (state.activation != NVML_SUCCESS || state.quiet_pending)
		return NVML_SUCCESS;
	gpu->current = mode;
	gpu->generation++; /* as after a reset */
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
	ENTER();
	*count = 7;
	return NVML_SUCCESS;
}

/* Sparse: each device lies at the index of its start, so there are gaps. */
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(
		nvmlDevice_t device, unsigned int index, nvmlDevice_t *migDevice)
{
	struct fake_gpu *gpu;

	ENTER();
	gpu = gpu_of(device);
	for (int i = 0; gpu && i < FAKE_GIS; i++) {
		for (int k = 0; k < FAKE_CIS; k++) {
			struct fake_ci *ci = &gpu->gis[i].cis[k];

			if (ci->exists && gpu->gis[i].start + ci->start == index) {
				*migDevice = (nvmlDevice_t) ci;
				return NVML_SUCCESS;
			}
		}
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
	ENTER();
	*id = mig_of(device)->gi->id;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
	ENTER();
	*id = mig_of(device)->id;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	ENTER();
	memset(attributes, 0, sizeof(*attributes));
	attributes->memorySizeMB = 1000 + mig_of(device)->gi->start;
	return NVML_SUCCESS;
}

/* ---- GPU instances ---- */

static const struct profile *profile_by(bool by_id, unsigned int number)
{
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		if ((by_id ? profiles[i].id : profiles[i].nvml_enum) == number)
			return &profiles[i];
	}
	return NULL;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(
		nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info)
{
	const struct profile *p;

	ENTER();
	if (!gpu_of(device) || profile >= NVML_GPU_INSTANCE_PROFILE_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	p = profile_by(false, profile);
	if (!p || (state.profiles_need_mig && !gpu_of(device)->current))
		return NVML_ERROR_NOT_SUPPORTED;
	memset(info, 0, sizeof(*info));
	info->id = p->id;
	info->sliceCount = p->slices;
	info->instanceCount = p->instances;
	info->multiprocessorCount = p->sm;
	info->memorySizeMB = p->memory;
	return NVML_SUCCESS;
}

#ifndef FAKE_WITHOUT_OPTIONAL
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(
		nvmlDevice_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_v2_t *info)
{
	const struct profile *p = profile_by(false, profile);

	ENTER();
	if (state.no_names || !p)
		return NVML_ERROR_NOT_SUPPORTED;
	if (info->version == NVML_GPU_INSTANCE_PROFILE_INFO_V2 && !state.only_v3)
		return give(info->name, sizeof(info->name), p->name);
	if (info->version == NVML_GPU_INSTANCE_PROFILE_INFO_V3) {
		nvmlGpuInstanceProfileInfo_v3_t *v3 = (void *) info;

		return give(v3->name, sizeof(v3->name), p->name);
	}
	return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}
#endif

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device,
		unsigned int profileId, nvmlGpuInstancePlacement_t *placements, unsigned int *count)
{
	const struct profile *p = profile_by(true, profileId);

	ENTER();
	if (!p)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = p->n_starts;
	for (unsigned int i = 0; placements && i < p->n_starts; i++)
		placements[i] = (nvmlGpuInstancePlacement_t){p->starts[i], p->size};
	return NVML_SUCCESS;
}

NOT_THERE(nvmlDeviceGetGpuInstanceRemainingCapacity,
		(nvmlDevice_t device, unsigned int profileId, unsigned int *count))
NOT_THERE(nvmlDeviceGetGpuInstanceById,
		(nvmlDevice_t device, unsigned int id, nvmlGpuInstance_t *gpuInstance))

static bool overlap(unsigned int a, unsigned int a_size, unsigned int b, unsigned int b_size)
{
	return a < b + b_size && b < a + a_size;
}

nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int profileId,
		const nvmlGpuInstancePlacement_t *placement, nvmlGpuInstance_t *gpuInstance)
{
	const struct profile *p = profile_by(true, profileId);
	struct fake_gpu *gpu;
	struct fake_gi *free_slot = NULL;
	bool legal = false;

	ENTER_CHANGING();
	gpu = gpu_of(device);
	for (unsigned int i = 0; p && i < p->n_starts; i++)
		legal |= p->starts[i] == placement->start && p->size == placement->size;
	if (!gpu || !legal)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = 0; i < FAKE_GIS; i++) {
		struct fake_gi *gi = &gpu->gis[i];

		if (!gi->exists)
			free_slot = free_slot ? free_slot : gi;
		else if (overlap(gi->start, gi->size, placement->start, placement->size))
			return NVML_ERROR_INSUFFICIENT_RESOURCES;
	}
	free_slot->exists = true;
	free_slot->id = 7 + placement->start;
	free_slot->profile_id = profileId;
	free_slot->start = placement->start;
	free_slot->size = placement->size;
	*gpuInstance = (nvmlGpuInstance_t) free_slot;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t gpuInstance)
{
	struct fake_gi *gi = (struct fake_gi *) gpuInstance;

	ENTER_CHANGING();
	for (int k = 0; k < FAKE_CIS; k++) {
		if (gi->cis[k].exists)
			return NVML_ERROR_IN_USE;
	}
	gi->exists = false;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profileId,
		nvmlGpuInstance_t *gpuInstances, unsigned int *count)
{
	struct fake_gpu *gpu;
	unsigned int n = 0;

	ENTER();
	gpu = gpu_of(device);
	if (!gpu || !profile_by(true, profileId))
		return NVML_ERROR_INVALID_ARGUMENT;
	for (int i = FAKE_GIS - 1; i >= 0; i--) { /* in no useful order */
		if (gpu->gis[i].exists && gpu->gis[i].profile_id == profileId)
			gpuInstances[n++] = (nvmlGpuInstance_t) &gpu->gis[i];
	}
	*count = n;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gpuInstance, nvmlGpuInstanceInfo_t *info)
{
	const struct fake_gi *gi = (const struct fake_gi *) gpuInstance;

	ENTER();
	memset(info, 0, sizeof(*info));
	info->id = gi->id;
	info->profileId = gi->profile_id;
	info->placement = (nvmlGpuInstancePlacement_t){gi->start, gi->size};
	return NVML_SUCCESS;
}

/* ---- Compute instances ---- */

static unsigned int gi_slices(const struct fake_gi *gi)
{
	return profile_by(true, gi->profile_id)->slices;
}

/* A whole GPU instance is the plain profile; of a double-memory one it is the variant. */
static bool offers(const struct fake_gi *gi, unsigned int nvml_enum, unsigned int slices)
{
	if (nvml_enum == 7)
		return gi->profile_id == 15;
	if (nvml_enum == 8)
		return gi_slices(gi) == 7;
	return slices <= gi_slices(gi);
}

static unsigned int ci_slices(unsigned int profile_id)
{
	for (size_t i = 0; i < sizeof(ci_profiles) / sizeof(ci_profiles[0]); i++) {
		if (CI_ID(ci_profiles[i].nvml_enum) == profile_id)
			return ci_profiles[i].slices;
	}
	return 0;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t gpuInstance,
		unsigned int profile, unsigned int engProfile,
		nvmlComputeInstanceProfileInfo_t *info)
{
	const struct fake_gi *gi = (const struct fake_gi *) gpuInstance;

	ENTER();
	if (profile >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT || engProfile != 0)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (size_t i = 0; i < sizeof(ci_profiles) / sizeof(ci_profiles[0]); i++) {
		if (ci_profiles[i].nvml_enum != profile ||
				!offers(gi, profile, ci_profiles[i].slices))
			continue;
		memset(info, 0, sizeof(*info));
		info->id = CI_ID(profile);
		info->sliceCount = ci_profiles[i].slices;
		info->multiprocessorCount = ci_profiles[i].slices * 16 + (profile == 7 ? 10 : 0);
		return NVML_SUCCESS;
	}
	return NVML_ERROR_NOT_SUPPORTED;
}

NOT_THERE(nvmlGpuInstanceGetComputeInstanceRemainingCapacity,
		(nvmlGpuInstance_t gpuInstance, unsigned int profileId, unsigned int *count))
NOT_THERE(nvmlGpuInstanceGetComputeInstanceById,
		(nvmlGpuInstance_t gpuInstance, unsigned int id,
				nvmlComputeInstance_t *computeInstance))

#ifndef FAKE_WITHOUT_OPTIONAL
/* Starts are aligned to the size, so that some are not possible. */
nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(nvmlGpuInstance_t gpuInstance,
		unsigned int profileId, nvmlComputeInstancePlacement_t *placements,
		unsigned int *count)
{
	const struct fake_gi *gi = (const struct fake_gi *) gpuInstance;
	unsigned int slices = ci_slices(profileId), n = 0;

	ENTER();
	for (unsigned int start = 0; slices && start + slices <= gi_slices(gi); start += slices)
		placements[n++] = (nvmlComputeInstancePlacement_t){start, slices};
	*count = n;
	return NVML_SUCCESS;
}
#endif

static nvmlReturn_t create_ci(struct fake_gi *gi, unsigned int profile_id, unsigned int start,
		nvmlComputeInstance_t *computeInstance)
{
	unsigned int slices = ci_slices(profile_id);

	for (int k = 0; k < FAKE_CIS; k++) {
		const struct fake_ci *ci = &gi->cis[k];

		if (ci->exists && overlap(ci->start, ci->size, start, slices))
			return NVML_ERROR_INSUFFICIENT_RESOURCES;
	}
	for (int k = 0; k < FAKE_CIS; k++) {
		struct fake_ci *ci = &gi->cis[k];

		if (ci->exists)
			continue;
		ci->exists = true;
		ci->id = (unsigned int) k;
		ci->profile_id = profile_id;
		ci->start = start;
		ci->size = slices;
		*computeInstance = (nvmlComputeInstance_t) ci;
		return NVML_SUCCESS;
	}
	return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t gpuInstance,
		unsigned int profileId, nvmlComputeInstance_t *computeInstance)
{
	ENTER_CHANGING();
	return create_ci((struct fake_gi *) gpuInstance, profileId, state.elsewhere ? 1 : 0,
			computeInstance);
}

#ifndef FAKE_WITHOUT_OPTIONAL
nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(nvmlGpuInstance_t gpuInstance,
		unsigned int profileId, const nvmlComputeInstancePlacement_t *placement,
		nvmlComputeInstance_t *computeInstance)
{
	ENTER_CHANGING();
	if (state.no_placed_ci)
		return NVML_ERROR_NOT_SUPPORTED;
	return create_ci((struct fake_gi *) gpuInstance, profileId,
			placement->start + (state.elsewhere ? 1 : 0), computeInstance);
}
#endif

nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t computeInstance)
{
	struct fake_ci *ci = (struct fake_ci *) computeInstance;

	ENTER_CHANGING();
	for (unsigned int i = 0; i < ci->gi->gpu->n_processes; i++) {
		const nvmlProcessInfo_t *p = &ci->gi->gpu->processes[i];

		if (p->gpuInstanceId == ci->gi->id && p->computeInstanceId == ci->id)
			return NVML_ERROR_IN_USE;
	}
	ci->exists = false;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gpuInstance,
		unsigned int profileId, nvmlComputeInstance_t *computeInstances,
		unsigned int *count)
{
	struct fake_gi *gi = (struct fake_gi *) gpuInstance;
	unsigned int n = 0;

	ENTER();
	for (int k = FAKE_CIS - 1; k >= 0; k--) {
		if (gi->cis[k].exists && gi->cis[k].profile_id == profileId)
			computeInstances[n++] = (nvmlComputeInstance_t) &gi->cis[k];
	}
	*count = n;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(
		nvmlComputeInstance_t computeInstance, nvmlComputeInstanceInfo_t *info)
{
	const struct fake_ci *ci = (const struct fake_ci *) computeInstance;

	ENTER();
	memset(info, 0, sizeof(*info));
	info->id = ci->id;
	info->profileId = ci->profile_id;
	info->placement = (nvmlComputeInstancePlacement_t){ci->start, ci->size};
	return NVML_SUCCESS;
}
