/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs that misbehave as a whole: lost (fallen off the bus), slow, or such that whoever calls cannot
 * even be killed. A state of the GPU, so it acts in every process and stays until it is ended.
 *
 * Sources: a lost GPU answers GPU_IS_LOST to queries and to looking it up, and looking up by UUID
 * does so when any GPU is lost (header); a reboot brings it back (the driver's own message says so).
 * A caller in an uninterruptible driver call outlives SIGKILL (field cases).
 */
#ifndef SIM_MODEL_TROUBLE_H
#define SIM_MODEL_TROUBLE_H

#include "model/state.h"

/**
 * sim_trouble_of() - what a call that touches some GPUs meets: the worst of each
 * @state: locked
 * @gpus:  bit n = GPU n
 */
struct sim_trouble sim_trouble_of(const struct sim_state *state, uint32_t gpus);

/** sim_trouble_lose() - GPU @gpu falls off the bus; @tx begun */
void sim_trouble_lose(struct sim_tx *tx, uint32_t gpu);

/**
 * sim_trouble_slow() - every call on a GPU takes so long
 * @tx:      begun
 * @gpu:     index
 * @ms:      of the node's clock
 * @freezer: where the caller sits until released (see freezer.h) instead of sleeping; 0 = it sleeps
 *
 * Return: the freezer that is now to be emptied; 0 = none.
 */
uint64_t sim_trouble_slow(struct sim_tx *tx, uint32_t gpu, uint32_t ms, uint64_t freezer);

/**
 * sim_trouble_end() - the GPU is as others again
 * @tx:  begun
 * @gpu: index
 *
 * Return: the freezer that is now to be emptied; 0 = none.
 */
uint64_t sim_trouble_end(struct sim_tx *tx, uint32_t gpu);

#endif
