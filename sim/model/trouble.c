/* SPDX-License-Identifier: Apache-2.0 */
#include "model/trouble.h"

struct sim_trouble sim_trouble_of(const struct sim_state *state, uint32_t gpus)
{
	struct sim_trouble worst = {0};

	for (uint32_t i = 0; i < state->n_gpus; i++) {
		const struct sim_trouble *t = &state->gpus[i].trouble;

		if (!(gpus & 1U << i))
			continue;
		worst.lost |= t->lost;
		if (t->slow_ms > worst.slow_ms)
			worst.slow_ms = t->slow_ms;
		if (t->freezer)
			worst.freezer = t->freezer;
	}
	return worst;
}

void sim_trouble_lose(struct sim_tx *tx, uint32_t gpu)
{
	struct sim_trouble *t = &tx->state->gpus[gpu].trouble;

	sim_tx_touch(tx, t, sizeof(*t));
	t->lost = 1;
	sim_event_push(tx, &(struct sim_event){.gpu = gpu,
					   .kind = SIM_EVENT_UNAVAILABLE,
					   .gi = SIM_NO_INSTANCE,
					   .ci = SIM_NO_INSTANCE});
}

uint64_t sim_trouble_slow(struct sim_tx *tx, uint32_t gpu, uint32_t ms, uint64_t freezer)
{
	struct sim_trouble *t = &tx->state->gpus[gpu].trouble;
	uint64_t before = t->freezer;

	sim_tx_touch(tx, t, sizeof(*t));
	t->slow_ms = ms;
	t->freezer = freezer;
	return before;
}

uint64_t sim_trouble_end(struct sim_tx *tx, uint32_t gpu)
{
	struct sim_trouble *t = &tx->state->gpus[gpu].trouble;
	uint64_t freezer = t->freezer;

	sim_tx_touch(tx, t, sizeof(*t));
	*t = (struct sim_trouble){0};
	return freezer;
}
