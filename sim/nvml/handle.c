/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml/impl.h"

#include <string.h>

#include "nvml/process.h"

enum kind {
	KIND_GPU = 1,
	KIND_GI,
	KIND_CI,
	KIND_DEVICE,
	KIND_SET,
};

_Static_assert(sizeof(void *) == 8, "a handle has room for indices and a generation");

static void *encode(enum kind kind, uint32_t gpu, uint32_t gi, uint32_t ci, uint32_t generation)
{
	return (void *) ((uintptr_t) kind << 56 | (uintptr_t) gpu << 48 | (uintptr_t) gi << 40 |
			 (uintptr_t) ci << 32 | generation);
}

static struct sim_ci_ref decode(const void *handle, enum kind kind)
{
	uintptr_t h = (uintptr_t) handle;

	if (h >> 56 != kind)
		return (struct sim_ci_ref){0};
	return (struct sim_ci_ref){.gpu = h >> 48 & 0xFF,
			.gi_slot = h >> 40 & 0xFF,
			.slot = h >> 32 & 0xFF,
			.generation = (uint32_t) h};
}

nvmlReturn_t sim_to_nvml(enum sim_result result)
{
	switch (result) {
	case SIM_OK:
		return NVML_SUCCESS;
	case SIM_INVALID:
		return NVML_ERROR_INVALID_ARGUMENT;
	case SIM_NOT_SUPPORTED:
		return NVML_ERROR_NOT_SUPPORTED;
	case SIM_NOT_FOUND:
		return NVML_ERROR_NOT_FOUND;
	case SIM_IN_USE:
		return NVML_ERROR_IN_USE;
	case SIM_NO_ROOM:
		return NVML_ERROR_INSUFFICIENT_RESOURCES;
	case SIM_RESET_NEEDED:
		return NVML_ERROR_RESET_REQUIRED;
	case SIM_LOST:
		return NVML_ERROR_GPU_IS_LOST;
	case SIM_WEDGED:
		return NVML_ERROR_TIMEOUT;
	case SIM_NO_PERMISSION:
		return NVML_ERROR_NO_PERMISSION;
	case SIM_FAILED:
		return NVML_ERROR_UNKNOWN;
	}
	return NVML_ERROR_UNKNOWN;
}

nvmlDevice_t sim_handle_of_gpu(const struct sim_tx *tx, uint32_t gpu)
{
	return encode(KIND_GPU, gpu, 0, 0, tx->state->node.boot);
}

nvmlDevice_t sim_handle_of_device(struct sim_ci_ref ref)
{
	return encode(KIND_DEVICE, ref.gpu, ref.gi_slot, ref.slot, ref.generation);
}

nvmlGpuInstance_t sim_handle_of_gi(struct sim_gi_ref ref)
{
	return encode(KIND_GI, ref.gpu, ref.slot, 0, ref.generation);
}

nvmlComputeInstance_t sim_handle_of_ci(struct sim_ci_ref ref)
{
	return encode(KIND_CI, ref.gpu, ref.gi_slot, ref.slot, ref.generation);
}

bool sim_handle_belongs(const struct sim_tx *tx, const void *handle, uint32_t *ret_gpu)
{
	uint32_t gpu;

	for (enum kind kind = KIND_GPU; kind <= KIND_DEVICE; kind++) {
		struct sim_ci_ref ref = decode(handle, kind);

		if (!ref.generation || ref.gpu >= tx->state->n_gpus)
			continue;
		if (kind == KIND_GPU && !sim_handle_gpu(tx, (nvmlDevice_t) handle, &gpu))
			continue;
		*ret_gpu = ref.gpu;
		return true;
	}
	return false;
}

bool sim_handle_gpu(const struct sim_tx *tx, nvmlDevice_t device, uint32_t *ret_gpu)
{
	struct sim_ci_ref ref = decode(device, KIND_GPU);

	if (!ref.generation || ref.generation != tx->state->node.boot ||
			ref.gpu >= tx->state->n_gpus || !sim_process_touches(ref.gpu))
		return false;
	*ret_gpu = ref.gpu;
	return true;
}

bool sim_handle_device(struct sim_tx *tx, nvmlDevice_t device, struct sim_ci_ref *ret_ref)
{
	struct sim_ci_ref ref = decode(device, KIND_DEVICE);

	if (!sim_ci_get(tx, ref) || !sim_process_touches(ref.gpu))
		return false;
	*ret_ref = ref;
	return true;
}

bool sim_handle_either(struct sim_tx *tx, nvmlDevice_t device, struct sim_ci_ref *ret_ref)
{
	uint32_t gpu;

	if (sim_handle_gpu(tx, device, &gpu)) {
		*ret_ref = (struct sim_ci_ref){.gpu = gpu};
		return true;
	}
	return sim_handle_device(tx, device, ret_ref);
}

struct sim_gi_ref sim_handle_gi(nvmlGpuInstance_t handle)
{
	struct sim_ci_ref ref = decode(handle, KIND_GI);

	return (struct sim_gi_ref){ref.gpu, ref.gi_slot, ref.generation};
}

struct sim_ci_ref sim_handle_ci(nvmlComputeInstance_t handle)
{
	return decode(handle, KIND_CI);
}

nvmlEventSet_t sim_handle_of_set(uint32_t slot, uint32_t generation)
{
	return encode(KIND_SET, 0, 0, slot, generation);
}

uint32_t sim_handle_set(nvmlEventSet_t handle, uint32_t *ret_slot)
{
	struct sim_ci_ref ref = decode(handle, KIND_SET);

	*ret_slot = ref.slot;
	return ref.generation;
}

struct sim_gi_ref sim_gi_ref_of(const struct sim_tx *tx, struct sim_ci_ref ref)
{
	return (struct sim_gi_ref){ref.gpu, ref.gi_slot,
			tx->state->gpus[ref.gpu].mig.gis[ref.gi_slot].generation};
}

nvmlReturn_t sim_copy_text(const char *text, char *buffer, unsigned int length)
{
	size_t n = strlen(text) + 1;

	if (!buffer)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (n > length)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(buffer, text, n);
	return NVML_SUCCESS;
}
