/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have the simulated driver open. Each owns a slot and holds a POSIX record lock on
 * the slot's byte of the lock file: the kernel frees it at death, a fork does not inherit it, and
 * asking for it tells the living from the dead. A process that closes the lock's descriptor behind
 * our back looks dead; the vendor skin attaches it again at its next call.
 */
#ifndef SIM_MODEL_CLIENT_H
#define SIM_MODEL_CLIENT_H

#include "model/state.h"

/**
 * sim_client_attach() - take a slot for this process
 * @tx:       begun
 * @ret_slot: written on success
 *
 * Return: SIM_OK; SIM_NO_ROOM when all slots are held by living processes.
 */
enum sim_result sim_client_attach(struct sim_tx *tx, uint32_t *ret_slot);

/**
 * sim_client_is_mine() - does this process hold the slot's record lock
 * @map:  borrowed
 * @slot: that it took once
 *
 * Takes it again when nobody has it, as after a descriptor of the file was closed. False in a child
 * of the holder, whatever its pid.
 */
bool sim_client_is_mine(const struct sim_map *map, uint32_t slot);

/**
 * sim_client_detach() - give the slot back
 * @tx:   begun
 * @slot: from sim_client_attach() in this process
 */
void sim_client_detach(struct sim_tx *tx, uint32_t slot);

/**
 * sim_client_sweep() - find the dead and give back what they held
 * @tx:   begun
 * @own:  this process's slot (its own lock cannot be asked for), or SIM_CLIENTS_MAX
 *
 * Return: how many were found.
 */
uint32_t sim_client_sweep(struct sim_tx *tx, uint32_t own);

/**
 * sim_client_opens() - note that the process of that slot has that GPU open
 * @tx:   begun
 * @slot: from sim_client_attach(); SIM_CLIENTS_MAX (no session) is not noted
 * @gpu:  index
 */
void sim_client_opens(struct sim_tx *tx, uint32_t slot, uint32_t gpu);

/**
 * sim_client_others_open() - does another living process have that GPU open
 * @tx:  begun
 * @own: as in sim_client_sweep()
 * @gpu: index
 */
bool sim_client_others_open(struct sim_tx *tx, uint32_t own, uint32_t gpu);

#endif
