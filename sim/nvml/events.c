/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event sets. A wait looks at the node, and between looks sleeps without any lock. It ends early
 * when the set is freed, when the session ends or when the node starts anew.
 */
#include "nvml/impl.h"

#include <string.h>
#include <time.h>

#include "model/events.h"
#include "nvml/process.h"

#define LOOK_MS 200 /* what ends a wait without an event is noticed after so long */

static const unsigned long long types[SIM_EVENT_KINDS] = {
		[SIM_EVENT_ECC_CORRECTED] = nvmlEventTypeSingleBitEccError,
		[SIM_EVENT_ECC_UNCORRECTED] = nvmlEventTypeDoubleBitEccError,
		[SIM_EVENT_XID] = nvmlEventTypeXidCriticalError,
		[SIM_EVENT_ECC_STORM] = nvmlEventTypeSingleBitEccErrorStorm,
		[SIM_EVENT_RETIREMENT] = nvmlEventTypeDramRetirementEvent,
		[SIM_EVENT_RETIREMENT_FAILED] = nvmlEventTypeDramRetirementFailure,
		[SIM_EVENT_POISON] = nvmlEventTypeNonFatalPoisonError,
		[SIM_EVENT_FATAL_POISON] = nvmlEventTypeFatalPoisonError,
		[SIM_EVENT_UNAVAILABLE] = nvmlEventTypeGpuUnavailableError,
		[SIM_EVENT_RECOVERY] = nvmlEventTypeGpuRecoveryAction,
};

static unsigned long long types_of(uint32_t kinds)
{
	unsigned long long bits = 0;

	for (uint32_t k = 0; k < SIM_EVENT_KINDS; k++)
		bits |= kinds & 1U << k ? types[k] : 0;
	return bits;
}

static uint32_t kinds_of(unsigned long long bits)
{
	uint32_t kinds = 0;

	for (uint32_t k = 0; k < SIM_EVENT_KINDS; k++)
		kinds |= bits & types[k] ? 1U << k : 0;
	return kinds;
}

nvmlReturn_t sim_nvmlEventSetCreate(nvmlEventSet_t *set)
{
	uint32_t generation, slot;
	struct sim_tx tx;

	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	generation = sim_generation(&tx);
	(void) sim_tx_end(&tx, SIM_OK);
	if (!sim_process_set_add(generation, &slot))
		return NVML_ERROR_INSUFFICIENT_RESOURCES;
	*set = sim_handle_of_set(slot, generation);
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlEventSetFree(nvmlEventSet_t set)
{
	uint32_t slot, generation = sim_handle_set(set, &slot);

	return sim_process_set_free(slot, generation) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* What a device can tell; of a MIG device nothing is told by itself. Source: header, at the wait. */
static nvmlReturn_t find(
		struct sim_tx *tx, nvmlDevice_t device, uint32_t *ret_gpu, uint32_t *ret_kinds)
{
	struct sim_ci_ref ref;

	if (!sim_handle_either(tx, device, &ref))
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_gpu = ref.gpu;
	*ret_kinds = ref.generation ? 0 : sim_event_supported(tx, ref.gpu);
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *bits)
{
	uint32_t gpu, kinds;
	struct sim_tx tx;
	nvmlReturn_t rc;

	if (!bits)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	rc = find(&tx, device, &gpu, &kinds);
	(void) sim_tx_end(&tx, SIM_OK);
	if (rc == NVML_SUCCESS)
		*bits = types_of(kinds);
	return rc;
}

/* All of the types or none. Source: header. No type at all is invalid (assumed). */
nvmlReturn_t sim_nvmlDeviceRegisterEvents(
		nvmlDevice_t device, unsigned long long bits, nvmlEventSet_t handle)
{
	uint32_t gpu, kinds, slot, generation = sim_handle_set(handle, &slot);
	struct sim_event_set *set;
	struct sim_tx tx;
	nvmlReturn_t rc;

	if (!bits)
		return NVML_ERROR_INVALID_ARGUMENT;
	set = sim_process_set_lock(slot, generation);
	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	rc = find(&tx, device, &gpu, &kinds);
	if (rc == NVML_SUCCESS && bits & ~types_of(kinds))
		rc = NVML_ERROR_NOT_SUPPORTED;
	if (rc == NVML_SUCCESS)
		sim_event_set_listen(&tx, set, gpu, kinds_of(bits));
	(void) sim_tx_end(&tx, SIM_OK);
	sim_process_set_unlock();
	return rc;
}

/* Where to sleep, and on what, until there is reason to look again. */
struct mark {
	const struct sim_state *state;
	uint32_t serial;
};

static nvmlReturn_t look(nvmlEventSet_t handle, nvmlEventData_t *data, struct mark *mark)
{
	uint32_t slot, generation = sim_handle_set(handle, &slot);
	struct sim_event_set *set;
	struct sim_event event;
	struct sim_tx tx;
	bool found;

	if (!sim_process_is_open())
		return NVML_ERROR_UNINITIALIZED;
	set = sim_process_set_lock(slot, generation);
	if (!set)
		return NVML_ERROR_INVALID_ARGUMENT;
	sim_process_begin(&tx);
	found = sim_event_set_next(&tx, set, &event);
	if (found)
		*data = (nvmlEventData_t){.device = sim_handle_of_gpu(&tx, event.gpu),
				.eventType = types[event.kind],
				.eventData = event.data,
				.gpuInstanceId = event.gi,
				.computeInstanceId = event.ci};
	*mark = (struct mark){tx.state, tx.state->events.serial};
	(void) sim_tx_end(&tx, SIM_OK);
	sim_process_set_unlock();
	return found ? NVML_SUCCESS : NVML_ERROR_TIMEOUT;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

nvmlReturn_t sim_nvmlEventSetWait_v2(
		nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
	uint64_t now = now_ms(), end = now + timeout_ms;
	struct mark mark;
	nvmlReturn_t rc;

	if (!data)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (; (rc = look(set, data, &mark)) == NVML_ERROR_TIMEOUT; now = now_ms()) {
		if (now >= end)
			return rc;
		sim_events_sleep(mark.state, mark.serial,
				end - now < LOOK_MS ? (uint32_t) (end - now) : LOOK_MS);
	}
	return rc;
}

/*
 * The call of before there was MIG: its struct ends where the instance ids begin, so not a byte is
 * written there. Source: the headers of then, of 24 bytes.
 */
nvmlReturn_t sim_nvmlEventSetWait(
		nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
	nvmlEventData_t full;
	nvmlReturn_t rc;

	if (!data)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = sim_nvmlEventSetWait_v2(set, &full, timeout_ms);
	if (rc == NVML_SUCCESS)
		memcpy(data, &full, offsetof(nvmlEventData_t, gpuInstanceId));
	return rc;
}
