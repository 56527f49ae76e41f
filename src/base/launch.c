/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/fd.h"

/* Above every number that the child's table uses, so that no copy treads on a source. */
#define OUT_OF_THE_WAY 10

static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int r;

	(void) sigemptyset(&none);
	(void) sigfillset(&all);
	r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	if (r == 0)
		r = posix_spawnattr_setpgroup(attr, /* a new one */ 0);
	if (r == 0)
		r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
								   POSIX_SPAWN_SETPGROUP);
	return r;
}

/* @fds: the sources for 3 and 4, or -1. */
static int set_actions(posix_spawn_file_actions_t *actions, const int *fds, int output)
{
	int r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

	for (int to = 1; r == 0 && to <= 2; to++)
		r = posix_spawn_file_actions_adddup2(actions, output, to);
	for (int i = 0; r == 0 && i < 2; i++) {
		if (fds[i] >= 0)
			r = posix_spawn_file_actions_adddup2(actions, fds[i], 3 + i);
		else if (bh_fd_is_open(3 + i))
			r = posix_spawn_file_actions_addclose(actions, 3 + i);
	}
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, 5);
	return r;
}

int bh_launch(const struct bh_launch *launch, pid_t *ret_pid, int *ret_pidfd, struct bh_error *err)
{
	bh_auto_close int fd3 = -1, fd4 = -1, output = -1;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	pid_t pid = -1;
	int r, pidfd;

	if (bh_fd_dup_above(launch->output, OUT_OF_THE_WAY, &output, err) < 0)
		return -1;
	if (launch->fd3 >= 0 && bh_fd_dup_above(launch->fd3, OUT_OF_THE_WAY, &fd3, err) < 0)
		return -1;
	if (launch->fd4 >= 0 && bh_fd_dup_above(launch->fd4, OUT_OF_THE_WAY, &fd4, err) < 0)
		return -1;

	r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return bh_fail_errno(err, r, "starting '%s'", launch->path);
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = set_attributes(&attr);
		if (r == 0)
			r = set_actions(&actions, (const int[]){fd3, fd4}, output);
		if (r == 0)
			r = posix_spawn(&pid, launch->path, &actions, &attr, launch->argv, environ);
		(void) posix_spawnattr_destroy(&attr);
	}
	(void) posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return bh_fail_errno(err, r, "starting '%s'", launch->path);

	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		(void) bh_fail_errno(
				err, errno, "watching '%s' (process %d)", launch->path, (int) pid);
		(void) kill(pid, SIGKILL);
		(void) waitpid(pid, NULL, WNOHANG); /* a zombie at worst; never wait here */
		return -1;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}
