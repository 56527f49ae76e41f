/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small helpers around descriptors. All descriptors are close-on-exec here; what a child is to have
 * it gets by name, when it is spawned.
 */
#ifndef BH_BASE_FD_H
#define BH_BASE_FD_H

#include <stdbool.h>

#include "base/error.h"

/**
 * bh_fd_is_open() - is this descriptor number in use in this process
 * @fd: any number
 */
bool bh_fd_is_open(int fd);

/**
 * bh_fd_dup_above() - duplicate a descriptor to a number that is out of the way
 * @fd:     borrowed, open
 * @lowest: the copy's number is this or higher
 * @ret_fd: owned by the caller; close-on-exec
 * @err:    filled on failure
 */
int bh_fd_dup_above(int fd, int lowest, int *ret_fd, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_fd_set_nonblocking() - reads and writes return EAGAIN instead of waiting
 * @fd:  borrowed, open
 * @err: filled on failure
 *
 * The flag belongs to the open file, so whoever shares it sees it too.
 */
int bh_fd_set_nonblocking(int fd, struct bh_error *err) BH_MUST_CHECK;

#endif
