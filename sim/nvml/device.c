/* SPDX-License-Identifier: Apache-2.0 */
/* What a device is: identity, bus, memory. Of GPUs, and of MIG devices where NVML takes both. */
#include "nvml/impl.h"

#include <stdio.h>
#include <string.h>

#include "model/client.h"
#include "model/holder.h"
#include "model/rules.h"
#include "nvml/process.h"
#include "nvml/target.h"

#define VENDOR 0x10DEU

nvmlReturn_t sim_nvmlDeviceGetCount_v2(unsigned int *count)
{
	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = sim_process_map()->state->n_gpus;
	return NVML_SUCCESS;
}

/*
 * Opens the node of a GPU that was found, outside the lock, and then the GPU. A GPU that the kernel
 * refuses is no permission; only its own handles are: the others and the count answer. Source: header.
 */
static enum sim_result open_gpu(uint32_t gpu, nvmlDevice_t *ret_device)
{
	enum sim_result result = sim_process_touch(gpu);
	struct sim_tx tx;

	if (result != SIM_OK)
		return result;
	sim_process_begin(&tx);
	sim_client_opens(&tx, sim_process_slot(), gpu);
	*ret_device = sim_handle_of_gpu(&tx, gpu);
	return sim_tx_end(&tx, SIM_OK);
}

nvmlReturn_t sim_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
	if (!device || index >= sim_process_map()->state->n_gpus)
		return NVML_ERROR_INVALID_ARGUMENT;
	return sim_to_nvml(open_gpu(index, device));
}

/* The names of before R470: MIG-GPU-<gpu uuid>/<gi>/<ci>. */
static bool has_legacy_name(const struct sim_gpu *gpu, const struct sim_gi *gi,
		const struct sim_ci *ci, const char *uuid)
{
	char name[SIM_UUID_SIZE + 32];

	(void) snprintf(name, sizeof(name), "MIG-%s/%u/%u", gpu->identity.uuid, gi->id, ci->id);
	return strcmp(name, uuid) == 0;
}

static bool find_device(
		struct sim_tx *tx, uint32_t gpu, const char *uuid, struct sim_ci_ref *ret_ref)
{
	const struct sim_gpu *g = &tx->state->gpus[gpu];

	for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
		for (uint32_t j = 0; j < SIM_CIS_MAX; j++) {
			const struct sim_ci *ci = &g->mig.gis[i].cis[j];

			if (!ci->generation)
				continue;
			if (strcmp(ci->uuid, uuid) != 0 &&
					!has_legacy_name(g, &g->mig.gis[i], ci, uuid))
				continue;
			*ret_ref = (struct sim_ci_ref){gpu, i, j, ci->generation};
			return true;
		}
	}
	return false;
}

nvmlReturn_t sim_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	struct sim_ci_ref ref = {0};
	bool found = false;
	nvmlDevice_t gpu = NULL;
	struct sim_tx tx;
	nvmlReturn_t rc;

	if (!uuid || !device)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	for (uint32_t g = 0; g < tx.state->n_gpus && !found; g++) {
		ref = (struct sim_ci_ref){.gpu = g};
		found = strcmp(tx.state->gpus[g].identity.uuid, uuid) == 0 ||
			find_device(&tx, g, uuid, &ref);
	}
	(void) sim_tx_end(&tx, SIM_OK);
	if (!found)
		return NVML_ERROR_NOT_FOUND;
	rc = sim_to_nvml(open_gpu(ref.gpu, &gpu));
	if (rc == NVML_SUCCESS)
		rc = ref.generation ? sim_give_device(ref, device) : NVML_SUCCESS;
	if (rc == NVML_SUCCESS && !ref.generation)
		*device = gpu;
	return rc;
}

nvmlReturn_t sim_nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
	unsigned int domain, bus, slot;
	uint32_t found = SIM_GPUS_MAX;
	struct sim_tx tx;

	if (!bus_id || !device || !sim_target_parse_bus_id(bus_id, &domain, &bus, &slot))
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	for (uint32_t g = 0; g < tx.state->n_gpus; g++) {
		const struct sim_gpu *gpu = &tx.state->gpus[g];

		if (gpu->identity.pci_domain == domain && gpu->identity.pci_bus == bus &&
				gpu->identity.pci_device == slot)
			found = g;
	}
	(void) sim_tx_end(&tx, SIM_OK);
	return found < SIM_GPUS_MAX ? sim_to_nvml(open_gpu(found, device)) : NVML_ERROR_NOT_FOUND;
}

/* What a query of either kind of handle finds, copied out under the lock. */
struct view {
	struct sim_ci_ref ref;
	bool is_mig;
	const struct sim_board *board;
	struct sim_gpu gpu;
	struct sim_gi gi;
	struct sim_ci ci;
};

static bool look(nvmlDevice_t device, struct view *v)
{
	struct sim_tx tx;
	bool known;

	sim_process_begin(&tx);
	known = sim_handle_either(&tx, device, &v->ref);
	if (known) {
		v->is_mig = v->ref.generation != 0;
		v->board = tx.map->boards[v->ref.gpu];
		v->gpu = tx.state->gpus[v->ref.gpu];
		v->gi = v->gpu.mig.gis[v->ref.gi_slot];
		v->ci = v->gi.cis[v->ref.slot];
	}
	(void) sim_tx_end(&tx, SIM_OK);
	return known;
}

nvmlReturn_t sim_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
	struct view v;

	if (!index || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	*index = v.is_mig ? v.ci.device_index : v.ref.gpu;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
	const struct sim_gi_row *gi;
	const struct sim_ci_row *ci;
	char text[256];
	struct view v;

	if (!look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!v.is_mig)
		return sim_copy_text(v.board->name, name, length);
	gi = &v.board->gis[v.gi.row];
	ci = &gi->cis[v.ci.row];
	if (ci->sm == gi->sm)
		(void) snprintf(text, sizeof(text), "%s MIG %s", v.board->name, gi->name);
	else
		(void) snprintf(text, sizeof(text), "%s MIG %uc.%s", v.board->name, ci->slices,
				gi->name);
	return sim_copy_text(text, name, length);
}

nvmlReturn_t sim_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
	struct view v;

	if (!look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	return sim_copy_text(v.is_mig ? v.ci.uuid : v.gpu.identity.uuid, uuid, length);
}

nvmlReturn_t sim_nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
	struct view v;

	if (!look(device, &v) || v.is_mig)
		return NVML_ERROR_INVALID_ARGUMENT;
	return sim_copy_text(v.gpu.identity.serial, serial, length);
}

nvmlReturn_t sim_nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor)
{
	struct view v;

	if (!minor || !look(device, &v) || v.is_mig)
		return NVML_ERROR_INVALID_ARGUMENT;
	*minor = v.gpu.minor;
	return NVML_SUCCESS;
}

/* The subsystem id is that of the board itself (assumed): filters by subsystem can be tried. */
nvmlReturn_t sim_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	struct view v;

	if (!pci || !look(device, &v) || v.is_mig)
		return NVML_ERROR_INVALID_ARGUMENT;
	memset(pci, 0, sizeof(*pci));
	pci->domain = v.gpu.identity.pci_domain;
	pci->bus = v.gpu.identity.pci_bus;
	pci->device = v.gpu.identity.pci_device;
	pci->pciDeviceId = v.board->pci_device << 16 | VENDOR;
	pci->pciSubSystemId = pci->pciDeviceId;
	(void) snprintf(pci->busId, sizeof(pci->busId), NVML_DEVICE_PCI_BUS_ID_FMT, pci->domain,
			pci->bus, pci->device);
	(void) snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy),
			NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT, pci->domain & 0xFFFF, pci->bus & 0xFF,
			pci->device & 0xFF);
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	struct view v;

	if (!memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (memory->version != NVML_MEMORY_V2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	if (!look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	memory->total = (v.is_mig ? v.gi.memory_mib : v.board->memory_mib) << 20;
	memory->reserved = v.is_mig ? 0 : sim_board_reserved_mib(v.board) << 20;
	memory->used = sim_holder_used_mib(&v.gpu, v.is_mig ? v.gi.generation : 0) << 20;
	memory->free = memory->total - memory->reserved - memory->used;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	nvmlMemory_v2_t m = {.version = NVML_MEMORY_V2};
	nvmlReturn_t rc;

	if (!memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = sim_nvmlDeviceGetMemoryInfo_v2(device, &m);
	if (rc == NVML_SUCCESS)
		*memory = (nvmlMemory_t){
				.total = m.total, .free = m.free, .used = m.used + m.reserved};
	return rc;
}

nvmlReturn_t sim_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	struct view v;

	if (!major || !minor || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	*major = v.board->cc_major;
	*minor = v.board->cc_minor;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
	static const nvmlDeviceArchitecture_t numbers[] = {
			[SIM_UNKNOWN] = NVML_DEVICE_ARCH_UNKNOWN,
			[SIM_TURING] = NVML_DEVICE_ARCH_TURING,
			[SIM_AMPERE] = NVML_DEVICE_ARCH_AMPERE,
			[SIM_ADA] = NVML_DEVICE_ARCH_ADA,
			[SIM_HOPPER] = NVML_DEVICE_ARCH_HOPPER,
			[SIM_BLACKWELL] = NVML_DEVICE_ARCH_BLACKWELL,
	};
	struct view v;

	if (!arch || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	*arch = numbers[v.board->architecture];
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
	struct view v;

	if (!mode || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	*mode = NVML_COMPUTEMODE_DEFAULT;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
	struct view v;

	if (!mode || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	*mode = NVML_FEATURE_ENABLED;
	return NVML_SUCCESS;
}

/* Not simulated: sensors. */
static nvmlReturn_t no_sensor(nvmlDevice_t device)
{
	struct view v;

	return look(device, &v) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t sim_nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	return no_sensor(device);
}

nvmlReturn_t sim_nvmlDeviceGetTemperature(
		nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *temp)
{
	return no_sensor(device);
}

nvmlReturn_t sim_nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
	return no_sensor(device);
}

/* clang-format off */
#define NO_SENSOR(name, ...)                                                                       \
	nvmlReturn_t sim_##name(nvmlDevice_t device, __VA_ARGS__)                                  \
	{                                                                                          \
		return no_sensor(device);                                                          \
	}
NO_SENSOR(nvmlDeviceGetClockInfo, nvmlClockType_t type, unsigned int *clock)
NO_SENSOR(nvmlDeviceGetMaxClockInfo, nvmlClockType_t type, unsigned int *clock)
NO_SENSOR(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int *currLinkGen)
NO_SENSOR(nvmlDeviceGetCurrPcieLinkWidth, unsigned int *currLinkWidth)
NO_SENSOR(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int *maxLinkGen)
NO_SENSOR(nvmlDeviceGetMaxPcieLinkWidth, unsigned int *maxLinkWidth)
NO_SENSOR(nvmlDeviceGetPcieThroughput, nvmlPcieUtilCounter_t counter, unsigned int *value)
NO_SENSOR(nvmlDeviceGetDecoderUtilization, unsigned int *utilization, unsigned int *period_us)
NO_SENSOR(nvmlDeviceGetEncoderUtilization, unsigned int *utilization, unsigned int *period_us)
NO_SENSOR(nvmlDeviceGetEnforcedPowerLimit, unsigned int *limit)
NO_SENSOR(nvmlDeviceGetFanSpeed, unsigned int *speed)
NO_SENSOR(nvmlDeviceGetTemperatureThreshold, nvmlTemperatureThresholds_t type, unsigned int *temp)
/* clang-format on */

/* Only MIG devices have attributes. Source: header. */
nvmlReturn_t sim_nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
	const struct sim_gi_row *gi;
	struct view v;

	if (!attributes || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!v.is_mig)
		return NVML_ERROR_NOT_SUPPORTED;
	gi = &v.board->gis[v.gi.row];
	*attributes = (nvmlDeviceAttributes_t){
			.multiprocessorCount = gi->cis[v.ci.row].sm,
			.sharedCopyEngineCount = gi->engines.copy,
			.sharedDecoderCount = gi->engines.decoder,
			.sharedEncoderCount = gi->engines.encoder,
			.sharedJpegCount = gi->engines.jpeg,
			.sharedOfaCount = gi->engines.ofa,
			.gpuInstanceSliceCount = gi->slices,
			.computeInstanceSliceCount = gi->cis[v.ci.row].slices,
			.memorySizeMB = v.gi.memory_mib,
	};
	return NVML_SUCCESS;
}
