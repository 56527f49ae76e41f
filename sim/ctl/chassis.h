/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines that are sold: how their GPUs hang together and which NUMA node each is plugged into.
 */
#ifndef SIM_CTL_CHASSIS_H
#define SIM_CTL_CHASSIS_H

#include "model/state.h"

/**
 * ctl_chassis_put() - place a machine's GPUs as in the chassis that has so many of that board
 * @machine: its GPUs are set; its topology is written
 *
 * Where the table has no such chassis, or the boards differ: one NUMA node, no NVLinks. Assumed.
 */
void ctl_chassis_put(struct sim_machine *machine);

#endif
