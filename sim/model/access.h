/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this process may use a device node. The real kernel is asked by opening it: nobody drives
 * the major, so what is allowed ends in ENXIO, and what is not in EPERM (a device filter) or EACCES
 * (the node's mode, or a mount with nodev). Where the kernel gives another answer there is nothing
 * that could refuse, as on a node that has no device nodes.
 */
#ifndef SIM_MODEL_ACCESS_H
#define SIM_MODEL_ACCESS_H

#include <sys/types.h>

#include "model/nodes.h"

enum sim_access {
	SIM_ACCESS_FREE,     /* no answer to be had: as without nodes */
	SIM_ACCESS_ALLOWED,  /* ENXIO */
	SIM_ACCESS_FILTERED, /* EPERM */
	SIM_ACCESS_REFUSED,  /* EACCES */
	SIM_ACCESS_ABSENT,   /* there is no such node here, or one of another number */
};

/**
 * sim_access_try() - may this process open that node
 * @dev:    the folder that stands for /dev here
 * @name:   of the node, below it
 * @device: its number
 * @flags:  O_RDWR or O_RDONLY
 * @ret_fd: NULL, or receives an O_PATH descriptor of the node (close-on-exec), or -1. It shows in
 *          /proc like the descriptor that the driver would have given
 */
enum sim_access sim_access_try(
		const char *dev, const char *name, dev_t device, int flags, int *ret_fd);

/**
 * sim_access_has_cap() - does this process hold a capability of the driver
 * @dev:   the folder that stands for /dev here
 * @nodes: of the simulated node; without nodes everybody has everything
 * @cap:   minor
 *
 * CAP_SYS_ADMIN of the first user namespace passes for every capability. Source: user guide, driver.
 */
bool sim_access_has_cap(const char *dev, const struct sim_nodes *nodes, uint32_t cap);

/**
 * sim_access_is_admin() - is this process an administrator to the driver
 *
 * Source: driver (CAP_SYS_ADMIN of the first user namespace).
 */
bool sim_access_is_admin(void);

#endif
