/* SPDX-License-Identifier: Apache-2.0 */
/* Memory errors, remapped rows, retired pages, and field values: how a GPU is. */
#include "nvml/impl.h"

#include <time.h>

#include "model/health.h"
#include "nvml/process.h"

_Static_assert(SIM_RECOVERY_GPU_RESET == (int) NVML_GPU_RECOVERY_ACTION_GPU_RESET, "numbers");
_Static_assert(SIM_RECOVERY_NODE_REBOOT == (int) NVML_GPU_RECOVERY_ACTION_NODE_REBOOT, "numbers");
_Static_assert(SIM_RECOVERY_DRAIN_P2P == (int) NVML_GPU_RECOVERY_ACTION_DRAIN_P2P, "numbers");
_Static_assert(SIM_RECOVERY_DRAIN_AND_RESET == (int) NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET,
		"numbers");
_Static_assert(SIM_CORRECTED == (int) NVML_MEMORY_ERROR_TYPE_CORRECTED, "numbers");
_Static_assert(SIM_UNCORRECTED == (int) NVML_MEMORY_ERROR_TYPE_UNCORRECTED, "numbers");

/* What these calls ask about, copied out under the lock. */
struct view {
	bool is_mig, mig_on, has_instances, can_remap, knows_recovery;
	struct sim_health health;
};

static bool look(nvmlDevice_t device, struct view *v)
{
	struct sim_ci_ref ref;
	struct sim_tx tx;
	bool known;

	sim_process_begin(&tx);
	known = sim_handle_either(&tx, device, &ref);
	if (known) {
		const struct sim_gpu *gpu = &tx.state->gpus[ref.gpu];

		v->is_mig = ref.generation != 0;
		v->mig_on = gpu->mig.current;
		v->has_instances = gpu->mig.n_gis;
		v->can_remap = sim_health_can_remap(&tx, ref.gpu);
		v->knows_recovery = sim_event_supported(&tx, ref.gpu) & 1U << SIM_EVENT_RECOVERY;
		v->health = gpu->health;
	}
	(void) sim_tx_end(&tx, SIM_OK);
	return known;
}

/* That a MIG device has no ECC mode of its own is assumed. */
nvmlReturn_t sim_nvmlDeviceGetEccMode(
		nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
	struct view v;

	if (!current || !pending || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (v.is_mig)
		return NVML_ERROR_NOT_SUPPORTED;
	*current = v.health.ecc_current;
	*pending = v.health.ecc_pending;
	return NVML_SUCCESS;
}

static nvmlReturn_t errors(const struct view *v, nvmlMemoryErrorType_t type,
		nvmlEccCounterType_t counter, unsigned long long *ret_count)
{
	if (type >= NVML_MEMORY_ERROR_TYPE_COUNT || counter >= NVML_ECC_COUNTER_TYPE_COUNT)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!v->health.ecc_current)
		return NVML_ERROR_NOT_SUPPORTED;
	*ret_count = counter == NVML_VOLATILE_ECC ? v->health.ecc_volatile[type]
						  : v->health.ecc_aggregate[type];
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
		nvmlEccCounterType_t counter, unsigned long long *count)
{
	struct view v;

	if (!count || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	return v.is_mig ? NVML_ERROR_NOT_SUPPORTED : errors(&v, type, counter, count);
}

/* Zero where nothing is counted. Source: header. */
nvmlReturn_t sim_nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
		nvmlEccCounterType_t counter, nvmlEccErrorCounts_t *counts)
{
	unsigned long long count;
	nvmlReturn_t rc;

	if (!counts)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = sim_nvmlDeviceGetTotalEccErrors(device, type, counter, &count);
	if (rc == NVML_SUCCESS)
		*counts = (nvmlEccErrorCounts_t){.deviceMemory = count};
	return rc;
}

/*
 * With MIG on, a GPU's handle tells no volatile counter and a MIG device's only the uncorrected
 * volatile ones outside the DRAM (header). Errors that are injected are the DRAM's, and DRAM and
 * SRAM are the only locations (assumed).
 */
nvmlReturn_t sim_nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
		nvmlEccCounterType_t counter, nvmlMemoryLocation_t location,
		unsigned long long *count)
{
	unsigned long long dram;
	struct view v;
	nvmlReturn_t rc;

	if (!count || location >= NVML_MEMORY_LOCATION_COUNT || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = errors(&v, type, counter, &dram);
	if (rc != NVML_SUCCESS)
		return rc;
	if (location != NVML_MEMORY_LOCATION_DRAM && location != NVML_MEMORY_LOCATION_SRAM)
		return NVML_ERROR_NOT_SUPPORTED;
	if (v.is_mig && (location != NVML_MEMORY_LOCATION_SRAM ||
					type != NVML_MEMORY_ERROR_TYPE_UNCORRECTED ||
					counter != NVML_VOLATILE_ECC))
		return NVML_ERROR_NOT_SUPPORTED;
	if (!v.is_mig && v.mig_on && counter == NVML_VOLATILE_ECC)
		return NVML_ERROR_NOT_SUPPORTED;
	*count = location == NVML_MEMORY_LOCATION_DRAM ? dram : 0;
	return NVML_SUCCESS;
}

/* Not while there are instances. Source: header. */
static bool can_ask_for_rows(const struct view *v)
{
	return v->can_remap && !v->is_mig && !v->has_instances;
}

nvmlReturn_t sim_nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected,
		unsigned int *uncorrected, unsigned int *pending, unsigned int *failure)
{
	struct view v;

	if (!corrected || !uncorrected || !pending || !failure || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!can_ask_for_rows(&v))
		return NVML_ERROR_NOT_SUPPORTED;
	*corrected = v.health.remapped_rows[SIM_CORRECTED];
	*uncorrected = v.health.remapped_rows[SIM_UNCORRECTED];
	*pending = v.health.remap_pending != 0;
	*failure = v.health.remap_failed;
	return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetRowRemapperHistogram(
		nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *values)
{
	uint32_t full, some, none;
	struct view v;

	if (!values || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!can_ask_for_rows(&v))
		return NVML_ERROR_NOT_SUPPORTED;
	sim_health_banks(&v.health, &full, &some, &none);
	*values = (nvmlRowRemapperHistogramValues_t){.max = full, .high = some, .none = none};
	return NVML_SUCCESS;
}

/* Pages are retired where rows are not remapped; none are here. That no GPU has both is assumed. */
static nvmlReturn_t retired(nvmlDevice_t device)
{
	struct view v;

	if (!look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	return v.is_mig || v.can_remap ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
		unsigned int *count, unsigned long long *addresses, unsigned long long *timestamps)
{
	nvmlReturn_t rc;

	if (!count || cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT ||
			(*count && (!addresses || !timestamps)))
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = retired(device);
	if (rc == NVML_SUCCESS)
		*count = 0;
	return rc;
}

nvmlReturn_t sim_nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
		unsigned int *count, unsigned long long *addresses)
{
	/* no time is written: there are no pages */
	return sim_nvmlDeviceGetRetiredPages_v2(device, cause, count, addresses, addresses);
}

nvmlReturn_t sim_nvmlDeviceGetRetiredPagesPendingStatus(
		nvmlDevice_t device, nvmlEnableState_t *pending)
{
	nvmlReturn_t rc;

	if (!pending)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = retired(device);
	if (rc == NVML_SUCCESS)
		*pending = NVML_FEATURE_DISABLED;
	return rc;
}

static nvmlReturn_t put_number(nvmlFieldValue_t *field, bool known, unsigned int number)
{
	if (!known)
		return NVML_ERROR_NOT_SUPPORTED;
	field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
	field->value.uiVal = number;
	return NVML_SUCCESS;
}

static nvmlReturn_t put_errors(nvmlFieldValue_t *field, const struct view *v,
		nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter)
{
	unsigned long long count;
	nvmlReturn_t rc = errors(v, type, counter, &count);

	if (rc != NVML_SUCCESS)
		return rc;
	field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
	field->value.ullVal = count;
	return rc;
}

/* Which of its types a field's value has is assumed; all fit the eight bytes alike. */
static nvmlReturn_t put_field(nvmlFieldValue_t *field, const struct view *v)
{
	const struct sim_health *h = &v->health;
	bool rows = can_ask_for_rows(v);

	if (v->is_mig)
		return NVML_ERROR_NOT_SUPPORTED;
	switch (field->fieldId) {
	case NVML_FI_DEV_ECC_CURRENT:
		return put_number(field, true, h->ecc_current);
	case NVML_FI_DEV_ECC_PENDING:
		return put_number(field, true, h->ecc_pending);
	case NVML_FI_DEV_ECC_SBE_VOL_TOTAL:
		return put_errors(field, v, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC);
	case NVML_FI_DEV_ECC_DBE_VOL_TOTAL:
		return put_errors(field, v, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC);
	case NVML_FI_DEV_ECC_SBE_AGG_TOTAL:
		return put_errors(field, v, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC);
	case NVML_FI_DEV_ECC_DBE_AGG_TOTAL:
		return put_errors(field, v, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC);
	case NVML_FI_DEV_REMAPPED_COR:
		return put_number(field, rows, h->remapped_rows[SIM_CORRECTED]);
	case NVML_FI_DEV_REMAPPED_UNC:
		return put_number(field, rows, h->remapped_rows[SIM_UNCORRECTED]);
	case NVML_FI_DEV_REMAPPED_PENDING:
		return put_number(field, rows, h->remap_pending != 0);
	case NVML_FI_DEV_REMAPPED_FAILURE:
		return put_number(field, rows, h->remap_failed);
	case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION:
		return put_number(field, v->knows_recovery, h->recovery);
	default:
		return NVML_ERROR_NOT_SUPPORTED;
	}
}

/* Every field has its own answer; the call succeeds. Source: header. */
nvmlReturn_t sim_nvmlDeviceGetFieldValues(nvmlDevice_t device, int n, nvmlFieldValue_t *values)
{
	struct timespec now;
	struct view v;

	if (!values || n < 1 || !look(device, &v))
		return NVML_ERROR_INVALID_ARGUMENT;
	(void) clock_gettime(CLOCK_REALTIME, &now);
	for (int i = 0; i < n; i++) {
		values[i].timestamp = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
		values[i].latencyUsec = 0;
		values[i].nvmlReturn = put_field(&values[i], &v);
	}
	return NVML_SUCCESS;
}
