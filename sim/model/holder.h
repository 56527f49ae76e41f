/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a GPU, a GPU instance or a compute instance, as injected. Only processes are listed by
 * the vendor's process calls; a daemon, a module, an agent or an unknown holder keeps the GPU busy
 * without showing there, as on real nodes (field cases: persistence and monitoring services,
 * display modules). Processes hold memory: SIM_PROCESS_MIB each (assumed).
 */
#ifndef SIM_MODEL_HOLDER_H
#define SIM_MODEL_HOLDER_H

#include "model/state.h"

#define SIM_PROCESS_MIB 256

extern const char *const sim_holder_kinds[SIM_HOLDER_KINDS];

/**
 * sim_holder_add() - a new holder
 * @tx:    begun
 * @gpu:   index
 * @kind:  enum sim_holder_kind
 * @start: of the GPU instance, or -1 for the whole GPU
 * @pid:   0: one is made up, above any that the kernel gives
 * @name:  or NULL
 *
 * In an instance it sits in the compute instance of the lowest id, or in the GPU instance itself
 * when that has none. Return: SIM_OK, SIM_NOT_FOUND (no instance there), SIM_NO_ROOM.
 */
enum sim_result sim_holder_add(struct sim_tx *tx, uint32_t gpu, enum sim_holder_kind kind,
		int start, int32_t pid, const char *name);

/**
 * sim_holder_release() - remove holders
 * @tx:    begun
 * @gpu:   index
 * @start: only those in the GPU instance there; -1 = wherever
 * @pid:   only that one; 0 = whoever
 *
 * Return: how many were removed.
 */
uint32_t sim_holder_release(struct sim_tx *tx, uint32_t gpu, int start, int32_t pid);

/**
 * sim_holder_has_channels() - does anybody who holds the whole GPU have channels or memory on it
 *
 * What the first GPU instance cannot bear (driver source: no channel on a partitionable engine, all
 * partitionable memory free). A monitoring agent or a persistence daemon has only the device open.
 */
bool sim_holder_has_channels(const struct sim_gpu *gpu);

/** sim_holder_anywhere() - does anybody hold the GPU or a part of it */
bool sim_holder_anywhere(const struct sim_gpu *gpu);

/**
 * sim_holder_in() - does anybody sit in that instance
 * @gpu:           borrowed
 * @gi_generation: of the GPU instance
 * @ci_generation: of the compute instance; 0 = anywhere in the GPU instance
 */
bool sim_holder_in(const struct sim_gpu *gpu, uint32_t gi_generation, uint32_t ci_generation);

/**
 * sim_holder_used_mib() - memory held by processes
 * @gpu:           borrowed
 * @gi_generation: only in that GPU instance; 0 = on the whole board
 */
uint64_t sim_holder_used_mib(const struct sim_gpu *gpu, uint32_t gi_generation);

#endif
