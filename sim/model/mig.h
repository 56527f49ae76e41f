/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MIG mode, GPU instances and compute instances: what the driver does and refuses. Each operation
 * runs inside a transaction and either changes everything it names or nothing.
 *
 * Sources of the behaviours, by operation:
 *   mode      header (SUCCESS with a failing activation; IN_USE when not idle), user guide (what
 *             each generation needs, what survives), field cases (who blocks it)
 *   create    driver source (the idle check at the first instance only; conflict table), header
 *   destroy   driver source, user guide (in use while a compute instance exists or a process runs)
 *   handles   header (invalid after destroy or reset)
 * Assumed: every kind of holder of the whole GPU refuses the first instance; a pending mode becomes
 * current at a reboot on boards that keep the mode.
 */
#ifndef SIM_MODEL_MIG_H
#define SIM_MODEL_MIG_H

#include "model/state.h"

struct sim_gi_ref {
	uint32_t gpu, slot, generation;
};

struct sim_ci_ref {
	uint32_t gpu, gi_slot, slot, generation;
};

/** sim_gi_get() - the GPU instance of a reference, or NULL when it is gone */
struct sim_gi *sim_gi_get(struct sim_tx *tx, struct sim_gi_ref ref);

/** sim_ci_get() - the compute instance of a reference, or NULL when it is gone */
struct sim_ci *sim_ci_get(struct sim_tx *tx, struct sim_ci_ref ref);

/** sim_gi_profile() - the profile of a GPU instance; never NULL for a living one */
const struct sim_gi_row *sim_gi_profile(
		const struct sim_tx *tx, uint32_t gpu, const struct sim_gi *gi);

/**
 * sim_mig_set_mode() - ask for MIG mode on or off
 * @tx:             begun
 * @gpu:            index
 * @own:            the caller's client slot
 * @on:             wanted
 * @ret_activation: SIM_OK when current is now as wanted; SIM_IN_USE or SIM_RESET_NEEDED when it is
 *                  only pending
 *
 * Return: SIM_OK also when the activation failed; SIM_NOT_SUPPORTED.
 */
enum sim_result sim_mig_set_mode(struct sim_tx *tx, uint32_t gpu, uint32_t own, bool on,
		enum sim_result *ret_activation);

/**
 * sim_gi_create() - a new GPU instance
 * @tx:      begun
 * @gpu:     index
 * @id:      profile id
 * @start:   of the wanted placement, or -1 for the driver's choice
 * @size:    of the wanted placement
 * @ret_ref: written on success
 *
 * Return: SIM_OK, SIM_NOT_SUPPORTED (MIG off), SIM_INVALID (no such profile or placement),
 * SIM_IN_USE (first instance while the GPU is held), SIM_NO_ROOM.
 */
enum sim_result sim_gi_create(struct sim_tx *tx, uint32_t gpu, uint32_t id, int start,
		uint32_t size, struct sim_gi_ref *ret_ref);

/** sim_gi_destroy() - Return: SIM_OK, SIM_INVALID (stale), SIM_IN_USE (a CI, a holder) */
enum sim_result sim_gi_destroy(struct sim_tx *tx, struct sim_gi_ref ref);

/** sim_ci_create() - as sim_gi_create(), within a GPU instance; @start in its compute slices */
enum sim_result sim_ci_create(struct sim_tx *tx, struct sim_gi_ref gi, uint32_t id, int start,
		uint32_t size, struct sim_ci_ref *ret_ref);

/** sim_ci_destroy() - Return: SIM_OK, SIM_INVALID (stale), SIM_IN_USE (a process is in it) */
enum sim_result sim_ci_destroy(struct sim_tx *tx, struct sim_ci_ref ref);

/**
 * sim_reboot() - the node starts anew, or only the driver's module is loaded again
 * @tx:     begun
 * @reload: only the module
 *
 * Instances never survive; the mode does as the board says. All references and sessions go stale
 * and all holders are gone. Return: SIM_OK; SIM_IN_USE when the module is to be reloaded under a
 * holder.
 */
enum sim_result sim_reboot(struct sim_tx *tx, bool reload);

#endif
