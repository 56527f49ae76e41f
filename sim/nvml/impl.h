/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One implementation for each entry, between the vendor's structs and the model. They run behind
 * the gate: a session exists, faults are dealt with. Documentation: the vendor's, by name.
 */
#ifndef SIM_NVML_IMPL_H
#define SIM_NVML_IMPL_H

#include "abi/nvml_symbols.h"
#include "model/mig.h"

#define X(name, need, params, args, out, checked_by) nvmlReturn_t sim_##name params;
BH_NVML_SYMBOLS(X)
#undef X

/**
 * sim_to_nvml() - the vendor's number for a model's answer
 * @result: any
 */
nvmlReturn_t sim_to_nvml(enum sim_result result);

/* Handles carry what they refer to: a kind, indices, and a generation that tells stale ones. */

/** sim_handle_of_gpu() - a device handle of this life of the node */
nvmlDevice_t sim_handle_of_gpu(const struct sim_tx *tx, uint32_t gpu);

/** sim_handle_of_device() - the MIG device handle of a compute instance */
nvmlDevice_t sim_handle_of_device(struct sim_ci_ref ref);

/** sim_handle_of_gi() - a GPU instance handle */
nvmlGpuInstance_t sim_handle_of_gi(struct sim_gi_ref ref);

/** sim_handle_of_ci() - a compute instance handle */
nvmlComputeInstance_t sim_handle_of_ci(struct sim_ci_ref ref);

/** sim_handle_of_set() - an event set of this process */
nvmlEventSet_t sim_handle_of_set(uint32_t slot, uint32_t generation);

/** sim_handle_gpu() - is that a living device handle of a GPU; then *ret_gpu is its index */
bool sim_handle_gpu(const struct sim_tx *tx, nvmlDevice_t device, uint32_t *ret_gpu);

/** sim_handle_device() - is that a living MIG device handle; then *ret_ref is its CI */
bool sim_handle_device(struct sim_tx *tx, nvmlDevice_t device, struct sim_ci_ref *ret_ref);

/** sim_handle_either() - a GPU (ret_ref->generation = 0) or a MIG device */
bool sim_handle_either(struct sim_tx *tx, nvmlDevice_t device, struct sim_ci_ref *ret_ref);

/**
 * sim_handle_belongs() - which GPU a handle of any kind means
 * @tx:      begun
 * @handle:  of any value
 * @ret_gpu: written on success
 *
 * Of an instance also when it is gone; of a GPU only in this life of the node.
 */
bool sim_handle_belongs(const struct sim_tx *tx, const void *handle, uint32_t *ret_gpu);

/** sim_handle_gi() - the reference in a GPU instance handle; generation 0 when it is none */
struct sim_gi_ref sim_handle_gi(nvmlGpuInstance_t handle);

/** sim_handle_ci() - the reference in a compute instance handle; generation 0 when it is none */
struct sim_ci_ref sim_handle_ci(nvmlComputeInstance_t handle);

/** sim_handle_set() - the slot and generation in an event set handle; generation 0: it is none */
uint32_t sim_handle_set(nvmlEventSet_t handle, uint32_t *ret_slot);

/** sim_gi_ref_of() - the GPU instance that a compute instance is in */
struct sim_gi_ref sim_gi_ref_of(const struct sim_tx *tx, struct sim_ci_ref ref);

/**
 * sim_give_device() - the handle of a MIG device, to whom the driver lets see it
 * @ref:        of its compute instance
 * @ret_device: written on success
 *
 * Outside transactions. It takes the capabilities of both instances (driver); who lacks one does not
 * find the device (assumed). Return: NVML_SUCCESS, NVML_ERROR_NOT_FOUND.
 */
nvmlReturn_t sim_give_device(struct sim_ci_ref ref, nvmlDevice_t *ret_device);

/**
 * sim_may_configure() - may this process create and destroy instances
 *
 * Outside transactions. Source: user guide, driver (mig/config, or an administrator).
 */
bool sim_may_configure(void);

/**
 * sim_may_list() - may this process see all instances
 *
 * Outside transactions. Source: user guide (mig/monitor).
 */
bool sim_may_list(void);

/**
 * sim_copy_text() - into a caller's buffer
 * @text:   borrowed
 * @buffer: or NULL
 * @length: of it
 *
 * Return: NVML_SUCCESS, NVML_ERROR_INVALID_ARGUMENT, NVML_ERROR_INSUFFICIENT_SIZE.
 */
nvmlReturn_t sim_copy_text(const char *text, char *buffer, unsigned int length);

#endif
