/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulkhead-worker ROLE: what may hang, crash or hold a GPU open, in a process of its own. It is
 * started by bulkhead and bulkheadd, talks on descriptor 3, and dies with its parent.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "worker/role_driver.h"

#define EXIT_USAGE 2

static const struct {
	const char *name;
	int (*run)(const struct bh_worker *worker);
} roles[] = {
		{"driver", bh_role_driver},
};

static int usage(void)
{
	(void) fputs("usage: bulkhead-worker ROLE --driver nvml|sim:DIR [--read-only]\n"
		     "bulkhead and bulkheadd start it; it is of no use by itself\n",
			stderr);
	return EXIT_USAGE;
}

/*
 * The kernel kills us when our parent ends; if that was before we asked for it, our parent is no
 * longer the process that made descriptor 3.
 */
static bool has_parent(int socket)
{
	struct ucred maker;
	socklen_t size = sizeof(maker);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
			getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) < 0) {
		(void) fputs("bulkhead-worker: descriptor 3 is not a socket of its parent\n",
				stderr);
		return false;
	}
	return maker.pid == getppid();
}

/* For what libraries may fork and execute. */
static void keep_to_ourselves(int fd)
{
	(void) fcntl(fd, F_SETFD, FD_CLOEXEC); /* 4 may be closed */
}

int main(int argc, char **argv)
{
	struct bh_worker worker = {
			.socket = 3,
			.lock = 4,
			.log = {.fd = STDERR_FILENO, .most = BH_LOG_INFO, .name = "worker"},
	};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--driver") == 0 && i + 1 < argc)
			worker.driver = argv[++i];
		else if (strcmp(argv[i], "--read-only") == 0)
			worker.read_only = true;
		else if (argv[i][0] != '-' && !worker.role)
			worker.role = argv[i];
		else
			return usage();
	}
	if (!worker.role || !worker.driver)
		return usage();
	if (!has_parent(worker.socket))
		return EXIT_FAILURE;
	keep_to_ourselves(worker.socket);
	keep_to_ourselves(worker.lock);

	worker.log.name = worker.role;
	for (size_t i = 0; i < BH_ARRAY_SIZE(roles); i++) {
		if (strcmp(roles[i].name, worker.role) == 0)
			return roles[i].run(&worker);
	}
	return usage();
}
