/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laying out the device nodes of a new simulated node: which majors, which range of minors.
 *
 * Majors: the first three of 120 to 127 that nobody registered, so the same for all nodes of a
 * machine. Ranges: a folder of the machine, /run/bulkhead-sim, has a file for each range that is
 * taken, which names the DIR of the node that took it. It is believed only as long as DIR/dev/nvidiactl
 * has that range's number: a node is removed by removing its folder, and nothing else is to be told.
 * A node that is moved can lose its range to another.
 */
#ifndef SIM_CTL_NODES_H
#define SIM_CTL_NODES_H

#include "model/nodes.h"

/**
 * ctl_nodes_make() - make the nodes that a machine has from the start
 * @dir:       of the new node; exists
 * @n_gpus:    nvidia0 to nvidiaN
 * @ret_nodes: what was made; none, and why, where the kernel does not let us
 */
void ctl_nodes_make(const char *dir, uint32_t n_gpus, struct sim_nodes *ret_nodes);

/**
 * ctl_nodes_clear() - remove DIR/dev and DIR/proc of a node that is made anew
 * @dir: of the node
 */
void ctl_nodes_clear(const char *dir);

/**
 * ctl_nodes_text() - "120-122", or "none"
 * @nodes: borrowed
 * @text:  receives it
 * @size:  of @text
 */
void ctl_nodes_text(const struct sim_nodes *nodes, char *text, size_t size);

#endif
