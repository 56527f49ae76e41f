/* SPDX-License-Identifier: Apache-2.0 */
#include "model/reset.h"

#include "model/client.h"
#include "model/holder.h"

/* GPUs that NVLinks join without a switch between are reset together. Source: the vendor's tool. */
uint32_t sim_reset_scope(const struct sim_tx *tx, uint32_t gpu)
{
	const struct sim_topology *t = &tx->state->topology;
	uint32_t scope = 1U << gpu, before = 0;

	while (scope != before && t->switches == 0) {
		before = scope;
		for (uint32_t i = 0; i < tx->state->n_gpus; i++) {
			for (uint32_t k = 0; before & 1U << i && k < tx->state->n_gpus; k++)
				scope |= t->links[i][k] || t->links[k][i] ? 1U << k : 0;
		}
	}
	return scope;
}

static enum sim_result may_reset(struct sim_tx *tx, uint32_t gpu)
{
	if (tx->state->gpus[gpu].no_reset)
		return SIM_NOT_SUPPORTED;
	if (tx->state->gpus[gpu].trouble.lost)
		return SIM_LOST;
	/* the vendor's tool names monitoring applications among those who keep a GPU busy */
	if (sim_holder_anywhere(&tx->state->gpus[gpu]) ||
			sim_client_others_open(tx, SIM_CLIENTS_MAX, gpu))
		return SIM_IN_USE;
	return SIM_OK;
}

static void reset_one(struct sim_tx *tx, uint32_t gpu)
{
	struct sim_mig *mig = &tx->state->gpus[gpu].mig;
	const struct sim_mig old = *mig;

	sim_tx_touch(tx, mig, sizeof(*mig));
	sim_tx_touch(tx, &tx->state->gpus[gpu].health, sizeof(tx->state->gpus[gpu].health));
	sim_health_restart(&tx->state->gpus[gpu].health, /* reboot= */ false);
	*mig = (struct sim_mig){
			.current = old.needs_reboot ? old.current : old.pending,
			.pending = old.pending,
			.resets = old.resets + 1,
			.needs_reboot = old.needs_reboot,
	};
}

enum sim_result sim_reset(struct sim_tx *tx, uint32_t gpu, uint32_t *ret_fail)
{
	uint32_t scope = sim_reset_scope(tx, gpu);

	for (uint32_t i = 0; i < tx->state->n_gpus; i++) {
		enum sim_result result = scope & 1U << i ? may_reset(tx, i) : SIM_OK;

		if (result == SIM_OK)
			continue;
		*ret_fail = i;
		return result;
	}
	for (uint32_t i = 0; i < tx->state->n_gpus; i++) {
		if (scope & 1U << i)
			reset_one(tx, i);
	}
	return SIM_OK;
}
