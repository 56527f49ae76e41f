/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frozen group of the kernel's v1 freezer, in which a thread sits as in an uninterruptible call:
 * SIGKILL does not end it before the group is thawed. One group for each GPU so injected; callers of
 * the simulated library put themselves in. Never used with the node's lock held.
 */
#ifndef SIM_MODEL_FREEZER_H
#define SIM_MODEL_FREEZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/**
 * sim_freezer_make() - a new frozen group
 * @ret_id: names it, in the node's state; never 0
 * @err:    UNSUPPORTED where the kernel or the container has no freezer to write to
 *
 * Any user may put threads of its own in.
 */
int sim_freezer_make(uint64_t *ret_id, struct bh_error *err) BH_MUST_CHECK;

/**
 * sim_freezer_sit() - the calling thread sits there until the group is thawed
 * @id: from sim_freezer_make()
 *
 * Return: false when it cannot get in (another root folder, no group any more): nothing happened.
 */
bool sim_freezer_sit(uint64_t id);

/**
 * sim_freezer_end() - thaw it, let everybody out, remove it
 * @id:  from sim_freezer_make(); one that is gone is fine
 * @err: filled on failure
 */
int sim_freezer_end(uint64_t id, struct bh_error *err) BH_MUST_CHECK;

#endif
