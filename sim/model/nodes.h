/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device nodes of a simulated node: real character nodes in DIR/dev, of majors that nobody
 * drives (120 to 127 are for local use and never handed out), so that the kernel's device filter
 * and file modes decide who may open them. All nodes on a machine use the same three majors; each
 * has a range of minors of its own within each of them. Names and DIR/proc tell the driver's
 * numbers (nvidiactl is 255, nvidia-cap606 is 606); the device number of a node is that plus the
 * start of the range, so it is to be taken by stat, as on a real machine.
 *
 * Sources: driver (nvidiactl 255, modeset 254; minors of capabilities), user guide and listings of
 * real machines (modes of the nodes; majors by name in /proc/devices).
 */
#ifndef SIM_MODEL_NODES_H
#define SIM_MODEL_NODES_H

#include <sys/types.h>

#include "model/state.h"

#define SIM_MAJOR_FIRST	  120
#define SIM_MAJOR_LAST	  127
#define SIM_MINOR_CTL	  255
#define SIM_MINOR_MODESET 254

#define SIM_CAP_CONFIG	  1 /* may create and destroy instances */
#define SIM_CAP_MONITOR	  2 /* may see all of them */
#define SIM_CAP_GPUS	  32
#define SIM_CAP_GIS	  15
#define SIM_CAP_CIS	  8

#define SIM_NODE_RANGES	  481 /* that a major has room for: 2^20 minors by 2176 */

/** sim_cap_of_gi() - the capability minor of a GPU instance on the GPU of that minor */
uint32_t sim_cap_of_gi(uint32_t gpu_minor, uint32_t gi);

/** sim_cap_of_ci() - likewise of a compute instance in it */
uint32_t sim_cap_of_ci(uint32_t gpu_minor, uint32_t gi, uint32_t ci);

/** sim_nodes_exist() - does that node have device nodes */
bool sim_nodes_exist(const struct sim_nodes *nodes);

/**
 * sim_node_device() - the device number of a node
 * @nodes: existing
 * @major: which of the three
 * @minor: the driver's number
 */
dev_t sim_node_device(const struct sim_nodes *nodes, enum sim_major major, uint32_t minor);

/**
 * sim_node_make() - make one node, replacing what has its name but another number
 * @dir:    of the simulated node
 * @name:   below DIR/dev
 * @device: from sim_node_device()
 * @mode:   of the node, whatever the umask
 *
 * Return: 0, or -errno.
 */
int sim_node_make(const char *dir, const char *name, dev_t device, mode_t mode);

/**
 * sim_node_make_cap() - make the node of a capability
 * @dir:   of the simulated node
 * @nodes: existing
 * @cap:   minor
 *
 * Return: 0, or -errno.
 */
int sim_node_make_cap(const char *dir, const struct sim_nodes *nodes, uint32_t cap);

/**
 * sim_nodes_forget() - remove the nodes of all instances, as a reboot does with /dev
 * @dir: of the simulated node
 *
 * Nodes of instances that are gone otherwise stay, as they do on a real machine (listings).
 */
void sim_nodes_forget(const char *dir);

/**
 * sim_nodes_lock() - wait for a lock that keeps two processes from writing the same files
 * @path: of the lock's file, which is made if it is not there, for its owner alone
 *
 * Return: a descriptor that the caller owns; closing it gives the lock back. Negative errno.
 */
int sim_nodes_lock(const char *path) BH_MUST_CHECK;

#endif
