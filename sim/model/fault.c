/* SPDX-License-Identifier: Apache-2.0 */
#include "model/fault.h"

#include <string.h>

static bool fires(struct sim_fault *f)
{
	f->seen++;
	if (!f->nth)
		return true;
	if (f->seen != f->nth)
		return false;
	f->used = 0;
	return true;
}

struct sim_verdict sim_call_count(struct sim_tx *tx, uint32_t call)
{
	struct sim_state *s = tx->state;
	struct sim_verdict verdict = {0};

	s->calls[call].count++;
	if (s->calls[call].changing)
		s->changing_calls++;
	else
		s->reads++;
	for (uint32_t i = 0; i < SIM_FAULTS_MAX; i++) {
		struct sim_fault *f = &s->faults[i];

		if (!f->used || f->call != call || !fires(f))
			continue;
		if (f->kind == SIM_FAULT_DELAY) {
			verdict.delay_ms = f->ms;
			verdict.detached = f->detached;
		} else {
			verdict.has_fault = true;
			verdict.kind = f->kind;
			verdict.native = f->native;
		}
	}
	return verdict;
}

bool sim_call_find(const struct sim_state *state, const char *name, uint32_t *ret_call)
{
	for (uint32_t i = 0; i < state->n_calls; i++) {
		if (strcmp(state->calls[i].name, name) == 0) {
			*ret_call = i;
			return true;
		}
	}
	return false;
}

enum sim_result sim_fault_add(struct sim_tx *tx, const struct sim_fault *fault)
{
	for (uint32_t i = 0; i < SIM_FAULTS_MAX; i++) {
		struct sim_fault *f = &tx->state->faults[i];

		if (f->used)
			continue;
		sim_tx_touch(tx, f, sizeof(*f));
		*f = *fault;
		f->seen = 0;
		f->used = 1;
		return SIM_OK;
	}
	return SIM_NO_ROOM;
}

void sim_fault_clear(struct sim_tx *tx)
{
	for (uint32_t i = 0; i < SIM_FAULTS_MAX; i++)
		tx->state->faults[i].used = 0;
}
