/* SPDX-License-Identifier: Apache-2.0 */
/* How simctl shows what is wrong: the health of each GPU, the last events, the kernel's log. */
#ifndef SIM_CTL_HEALTH_H
#define SIM_CTL_HEALTH_H

#include <jansson.h>

#include "model/state.h"

/**
 * ctl_health_json() - a GPU's ECC, remapped rows and recovery action
 * @gpu: borrowed
 *
 * Return: a new reference, or NULL without memory.
 */
json_t *ctl_health_json(const struct sim_gpu *gpu);

/** ctl_events_json() - the last events that registered programs were told, oldest first */
json_t *ctl_events_json(const struct sim_state *state);

/** ctl_log_json() - the last lines of the kernel log of the node in that folder */
json_t *ctl_log_json(const char *dir);

/** ctl_health_print() - one line of what differs from a healthy GPU; none for one that is */
void ctl_health_print(const json_t *health);

/** ctl_events_print() - the last events, a line each */
void ctl_events_print(const json_t *events);

#endif
