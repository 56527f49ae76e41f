/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This process's side of the simulated NVML: which node the library belongs to, the mapping, the
 * session. The library finds its node by its own path, DIR/lib/libnvidia-ml.so.1, as it was loaded
 * and without following links, so that one process can be pointed at a node by a path alone.
 */
#ifndef SIM_NVML_PROCESS_H
#define SIM_NVML_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/state.h"

/**
 * sim_process_enter() - a call begins; the node stays mapped until sim_process_leave()
 * @ret_why: written on failure: SIM_NOT_FOUND (no node here, or none that can be used), SIM_WEDGED
 *
 * Return: the mapping, opened at the first call; NULL on failure, and then nothing is to be left.
 */
struct sim_map *sim_process_enter(enum sim_result *ret_why);

/** sim_process_leave() - it ends; the last one after the session's end unmaps */
void sim_process_leave(void);

/**
 * sim_process_map() - the node's mapping; only inside a call
 */
struct sim_map *sim_process_map(void);

/**
 * sim_process_was_wedged() - could this thread's call not get the node's lock
 *
 * Forgets it: once for each call.
 */
bool sim_process_was_wedged(void);

/**
 * sim_process_slot() - this process's client slot, SIM_CLIENTS_MAX without a session
 */
uint32_t sim_process_slot(void);

/**
 * sim_process_open() - one more nvmlInit
 *
 * The first one of a session opens nvidiactl. Return: SIM_OK, SIM_NOT_FOUND without a node or where
 * it has no nvidiactl, SIM_NO_PERMISSION by its mode, SIM_FAILED by a device filter, SIM_NO_ROOM with
 * too many clients, SIM_WEDGED.
 */
enum sim_result sim_process_open(void);

/**
 * sim_process_close() - one more nvmlShutdown
 *
 * Return: false when there was no session.
 */
bool sim_process_close(void);

/**
 * sim_process_is_open() - is there a session of the node's present life
 *
 * After a fork, or when the program closed our descriptor, this process attaches again here: it is
 * the record lock that tells whose a slot is, since a child in another PID namespace may have the
 * number of its parent.
 */
bool sim_process_is_open(void);

/**
 * sim_process_set_add() - an event set of this process that listens to nothing yet
 * @generation: never 0, and never the same
 * @ret_slot:   written on success
 *
 * Sets go with the session: at its last nvmlShutdown, and at the first nvmlInit after a reboot.
 * Return: false when there are too many.
 */
bool sim_process_set_add(uint32_t generation, uint32_t *ret_slot);

/**
 * sim_process_set_lock() - an event set, for this thread alone until it is unlocked
 * @slot:       any
 * @generation: of the handle
 *
 * Held for one look at the node, never while waiting. Return: NULL, and nothing is locked, when
 * there is no such set (any more).
 */
struct sim_event_set *sim_process_set_lock(uint32_t slot, uint32_t generation);

/** sim_process_set_unlock() - after sim_process_set_lock() gave one out */
void sim_process_set_unlock(void);

/**
 * sim_process_set_free() - the set goes
 * @slot:       any
 * @generation: of the handle
 *
 * Return: false when there is no such set.
 */
bool sim_process_set_free(uint32_t slot, uint32_t generation);

/**
 * sim_process_set_silent() - whether this thread's changes are taken back
 * @silent: set by the gate around one call
 */
void sim_process_set_silent(bool silent);

/**
 * sim_process_begin() - a transaction of this thread's call
 * @tx: filled; ended by sim_tx_end()
 */
void sim_process_begin(struct sim_tx *tx);

/**
 * sim_process_touch() - open the node of a GPU, once a session
 * @gpu: index
 *
 * Not to be called inside a transaction. Return: SIM_OK, SIM_NO_PERMISSION.
 */
enum sim_result sim_process_touch(uint32_t gpu);

/**
 * sim_process_touches() - did this session open that GPU
 * @gpu: index
 */
bool sim_process_touches(uint32_t gpu);

/**
 * sim_process_has_cap() - does this process hold a capability of the driver
 * @cap: minor, as in model/nodes.h
 *
 * Not to be called inside a transaction.
 */
bool sim_process_has_cap(uint32_t cap);

/**
 * sim_process_is_admin() - may this process do what only an administrator may
 *
 * Everybody may where there are no nodes.
 */
bool sim_process_is_admin(void);

/**
 * sim_process_sync() - after a change: bring DIR/proc to the state
 */
void sim_process_sync(void);

/**
 * sim_process_fork() - fork with this file's own lock free in the child
 *
 * Return: as fork().
 */
pid_t sim_process_fork(void);

#endif
