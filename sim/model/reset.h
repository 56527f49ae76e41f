/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reset of one GPU from outside, as `nvidia-smi --gpu-reset` does it: NVML has no call for it.
 *
 * Sources: user guide (instances never survive; a pending mode becomes current), field cases F16 and
 * F18 (who refuses it, where it does not exist, what stays pending). Assumed: the mode survives on
 * boards that lose it at a reboot, because the driver stays loaded.
 */
#ifndef SIM_MODEL_RESET_H
#define SIM_MODEL_RESET_H

#include "model/state.h"

/**
 * sim_reset_scope() - which GPUs are reset together with that one
 * @tx:  begun
 * @gpu: index
 *
 * Return: a bit for each GPU; its own is set.
 */
uint32_t sim_reset_scope(const struct sim_tx *tx, uint32_t gpu);

/**
 * sim_reset() - reset a GPU and those tied to it
 * @tx:       begun
 * @gpu:      index
 * @ret_fail: which GPU refuses, when one does
 *
 * Instances go, and with them their handles; a pending MIG mode becomes current, unless it waits for
 * a reboot. Return: SIM_OK; SIM_NOT_SUPPORTED; SIM_IN_USE while anybody holds one of them or has it
 * open, whatever sessions do to a mode switch.
 */
enum sim_result sim_reset(struct sim_tx *tx, uint32_t gpu, uint32_t *ret_fail);

#endif
