/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters, faults and delays of calls. They live in the node's state, so what is injected from one
 * process acts in all, and what all did can be counted in one. Only the skins' gates use them; the
 * model's operations know nothing of faults.
 */
#ifndef SIM_MODEL_FAULT_H
#define SIM_MODEL_FAULT_H

#include "model/state.h"

/* What one call meets: at most one delay and one fault. */
struct sim_verdict {
	bool has_fault;
	enum sim_fault_kind kind;
	int32_t native;
	uint32_t delay_ms;
	bool detached;
};

/**
 * sim_call_count() - count a call and tell what it meets
 * @tx:   begun
 * @call: index in the state's calls
 *
 * Faults with a number are used up when they fire.
 */
struct sim_verdict sim_call_count(struct sim_tx *tx, uint32_t call);

/**
 * sim_call_find() - index of the call with that name
 * @state:    borrowed
 * @name:     borrowed
 * @ret_call: written on success
 */
bool sim_call_find(const struct sim_state *state, const char *name, uint32_t *ret_call);

/**
 * sim_fault_add() - inject
 * @tx:    begun
 * @fault: copied; used and seen are set here
 *
 * Return: SIM_OK or SIM_NO_ROOM.
 */
enum sim_result sim_fault_add(struct sim_tx *tx, const struct sim_fault *fault);

/** sim_fault_clear() - remove all faults and delays; counters stay */
void sim_fault_clear(struct sim_tx *tx);

#endif
