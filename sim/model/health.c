/* SPDX-License-Identifier: Apache-2.0 */
#include "model/health.h"

#include <string.h>

#include "model/events.h"
#include "model/state.h"

#define XID_RECOVERY 154

const char *const sim_recoveries[SIM_RECOVERIES] = {
		[SIM_RECOVERY_NONE] = "none",
		[SIM_RECOVERY_GPU_RESET] = "gpu-reset",
		[SIM_RECOVERY_NODE_REBOOT] = "node-reboot",
		[SIM_RECOVERY_DRAIN_P2P] = "drain-p2p",
		[SIM_RECOVERY_DRAIN_AND_RESET] = "drain-and-reset",
};

/* Xids that newer drivers tell by an event of their own too. Assumed, from the names of both. */
static const struct {
	uint32_t xid;
	enum sim_event_kind kind;
} twins[] = {
		{79, SIM_EVENT_UNAVAILABLE},
		{92, SIM_EVENT_ECC_STORM},
		{94, SIM_EVENT_POISON},
		{95, SIM_EVENT_FATAL_POISON},
};

void sim_health_new(struct sim_health *health)
{
	*health = (struct sim_health){.ecc_current = 1, .ecc_pending = 1};
}

void sim_health_restart(struct sim_health *health, bool reboot)
{
	memset(health->ecc_volatile, 0, sizeof(health->ecc_volatile));
	health->remapped_rows[SIM_UNCORRECTED] += health->remap_pending;
	health->remap_pending = 0;
	if (reboot || health->recovery != SIM_RECOVERY_NODE_REBOOT)
		health->recovery = SIM_RECOVERY_NONE;
	if (reboot)
		health->ecc_current = health->ecc_pending;
}

bool sim_health_can_remap(const struct sim_tx *tx, uint32_t gpu)
{
	return tx->map->boards[gpu]->architecture >= SIM_AMPERE;
}

static struct sim_health *touch(struct sim_tx *tx, uint32_t gpu)
{
	struct sim_health *health = &tx->state->gpus[gpu].health;

	sim_tx_touch(tx, health, sizeof(*health));
	return health;
}

static struct sim_event event_of(uint32_t gpu, enum sim_event_kind kind)
{
	return (struct sim_event){
			.gpu = gpu, .kind = kind, .gi = SIM_NO_INSTANCE, .ci = SIM_NO_INSTANCE};
}

static void tell(struct sim_tx *tx, uint32_t gpu, enum sim_event_kind kind)
{
	struct sim_event event = event_of(gpu, kind);

	sim_event_push(tx, &event);
}

enum sim_result sim_health_xid(
		struct sim_tx *tx, uint32_t gpu, uint32_t xid, uint32_t gi, uint32_t ci)
{
	struct sim_event event = event_of(gpu, SIM_EVENT_XID);

	if (gi == SIM_NO_INSTANCE && ci != SIM_NO_INSTANCE)
		return SIM_INVALID;
	if (gi != SIM_NO_INSTANCE && !tx->state->gpus[gpu].mig.current)
		return SIM_INVALID;
	event.data = xid;
	event.gi = gi;
	event.ci = ci;
	sim_event_push(tx, &event);
	for (size_t i = 0; i < BH_ARRAY_SIZE(twins); i++) {
		if (twins[i].xid == xid)
			tell(tx, gpu, twins[i].kind);
	}
	return SIM_OK;
}

enum sim_result sim_health_errors(
		struct sim_tx *tx, uint32_t gpu, uint64_t corrected, uint64_t uncorrected)
{
	const uint64_t more[SIM_ERROR_TYPES] = {
			[SIM_CORRECTED] = corrected, [SIM_UNCORRECTED] = uncorrected};
	struct sim_health *health = &tx->state->gpus[gpu].health;

	if (!health->ecc_current)
		return SIM_NOT_SUPPORTED;
	health = touch(tx, gpu);
	for (uint32_t t = 0; t < SIM_ERROR_TYPES; t++) {
		health->ecc_volatile[t] += more[t];
		health->ecc_aggregate[t] += more[t];
	}
	if (corrected)
		tell(tx, gpu, SIM_EVENT_ECC_CORRECTED);
	if (uncorrected)
		tell(tx, gpu, SIM_EVENT_ECC_UNCORRECTED);
	return SIM_OK;
}

void sim_health_set_ecc(struct sim_tx *tx, uint32_t gpu, bool on)
{
	touch(tx, gpu)->ecc_pending = on;
}

enum sim_result sim_health_remap(struct sim_tx *tx, uint32_t gpu, bool pending, bool failure)
{
	struct sim_health *health;

	if (!sim_health_can_remap(tx, gpu))
		return SIM_NOT_SUPPORTED;
	health = touch(tx, gpu);
	health->remap_pending += pending;
	if (pending)
		tell(tx, gpu, SIM_EVENT_RETIREMENT);
	health->remap_failed |= failure;
	if (failure)
		tell(tx, gpu, SIM_EVENT_RETIREMENT_FAILED);
	return SIM_OK;
}

void sim_health_remap_clear(struct sim_tx *tx, uint32_t gpu)
{
	struct sim_health *health = touch(tx, gpu);

	memset(health->remapped_rows, 0, sizeof(health->remapped_rows));
	health->remap_pending = 0;
	health->remap_failed = 0;
}

void sim_health_set_recovery(struct sim_tx *tx, uint32_t gpu, enum sim_recovery action,
		enum sim_recovery *ret_old)
{
	struct sim_health *health = touch(tx, gpu);

	*ret_old = health->recovery;
	if (health->recovery == action)
		return;
	health->recovery = action;
	(void) sim_health_xid(tx, gpu, XID_RECOVERY, SIM_NO_INSTANCE, SIM_NO_INSTANCE);
	tell(tx, gpu, SIM_EVENT_RECOVERY);
}

void sim_health_banks(const struct sim_health *health, uint32_t *ret_full, uint32_t *ret_some,
		uint32_t *ret_none)
{
	uint32_t rows = health->remapped_rows[SIM_CORRECTED] +
			health->remapped_rows[SIM_UNCORRECTED];

	*ret_none = health->remap_failed;
	*ret_some = rows < SIM_REMAP_BANKS - *ret_none ? rows : SIM_REMAP_BANKS - *ret_none;
	*ret_full = SIM_REMAP_BANKS - *ret_some - *ret_none;
}

const char *sim_health_fault(const struct sim_health *health)
{
	if (health->ecc_current > 1 || health->ecc_pending > 1)
		return "an ECC mode of neither on nor off";
	if (health->remap_failed > 1 || health->recovery >= SIM_RECOVERIES)
		return "a recovery action or a failure that there is not";
	for (uint32_t t = 0; t < SIM_ERROR_TYPES; t++) {
		if (health->ecc_volatile[t] > health->ecc_aggregate[t])
			return "more memory errors since the driver loaded than ever";
	}
	return NULL;
}
