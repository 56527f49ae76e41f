/* SPDX-License-Identifier: Apache-2.0 */
/* How a node's GPUs hang together, as `simctl show` tells it. */
#ifndef SIM_CTL_TOPOLOGY_H
#define SIM_CTL_TOPOLOGY_H

#include <jansson.h>

#include "model/state.h"

/**
 * ctl_topology_json() - links and paths of each pair, and where each GPU is plugged in
 * @map: of a state that nobody changes meanwhile
 *
 * "matrix" has the words of `nvidia-smi topo -m`, as things are now. Return: a new reference.
 */
json_t *ctl_topology_json(const struct sim_map *map);

/**
 * ctl_topology_print() - the same for people, laid out as `nvidia-smi topo -m` does
 * @topology: from ctl_topology_json()
 */
void ctl_topology_print(const json_t *topology);

#endif
