/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a process that inherits exactly what it is given. It gets default signals, an empty
 * signal mask and a process group of its own, because its parent's habits (blocked signals, the
 * terminal's foreground) are not its own.
 */
#ifndef BH_BASE_LAUNCH_H
#define BH_BASE_LAUNCH_H

#include "base/error.h"

struct bh_launch {
	const char *path;
	char *const *argv; /* NULL-terminated */
	int fd3, fd4;	   /* borrowed; -1 for none; the same descriptor may be given twice */
	int output;	   /* borrowed; becomes 1 and 2 */
};

/**
 * bh_launch() - start a process; 0 is /dev/null, nothing but the named descriptors stays open
 * @launch:     borrowed
 * @ret_pid:   the process, to be reaped by the caller
 * @ret_pidfd: owned by the caller; close-on-exec
 * @err:       why not
 *
 * The process must not be reaped by others: SIGCHLD may not be ignored.
 */
int bh_launch(const struct bh_launch *launch, pid_t *ret_pid, int *ret_pidfd, struct bh_error *err)
		BH_MUST_CHECK;

#endif
