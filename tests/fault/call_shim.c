/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test's hand on the C library of one program, preloaded into it: counts the calls of some
 * functions, or lets the n-th call of one of them fail.
 *
 *   CALL_SHIM_PROGRAM  the program's short name; others are left alone
 *   CALL_SHIM_COUNTS   a file that gets a line "NAME COUNT" for each function at the end
 *   CALL_SHIM_FAIL     "NAME:N:ERRNO"; what has a number of its own to return returns it
 *
 * Kin count as one: open, open64, openat.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHIM_EXPORT __attribute__((visibility("default")))
#define ARGS(...)   __VA_ARGS__

/* clang-format off */
/* X(returns, function, parameters, arguments, counted as): those that return -1 and set errno. */
#define SHIM_CALLS(X) \
	X(ssize_t, read, ARGS(int fd, void *buffer, size_t size), ARGS(fd, buffer, size), read) \
	X(ssize_t, pread, ARGS(int fd, void *buffer, size_t size, off_t at), ARGS(fd, buffer, size, at), pread) \
	X(ssize_t, pread64, ARGS(int fd, void *buffer, size_t size, off_t at), ARGS(fd, buffer, size, at), pread) \
	X(ssize_t, write, ARGS(int fd, const void *buffer, size_t size), ARGS(fd, buffer, size), write) \
	X(ssize_t, pwrite, ARGS(int fd, const void *buffer, size_t size, off_t at), ARGS(fd, buffer, size, at), pwrite) \
	X(ssize_t, pwrite64, ARGS(int fd, const void *buffer, size_t size, off_t at), ARGS(fd, buffer, size, at), pwrite) \
	X(int, fsync, ARGS(int fd), ARGS(fd), fsync) \
	X(int, fdatasync, ARGS(int fd), ARGS(fd), fdatasync) \
	X(int, ftruncate, ARGS(int fd, off_t size), ARGS(fd, size), ftruncate) \
	X(int, ftruncate64, ARGS(int fd, off_t size), ARGS(fd, size), ftruncate) \
	X(int, flock, ARGS(int fd, int how), ARGS(fd, how), flock) \
	X(int, fstat, ARGS(int fd, struct stat *st), ARGS(fd, st), fstat) \
	X(int, fstat64, ARGS(int fd, struct stat64 *st), ARGS(fd, st), fstat) \
	X(int, stat, ARGS(const char *path, struct stat *st), ARGS(path, st), stat) \
	X(int, stat64, ARGS(const char *path, struct stat64 *st), ARGS(path, st), stat) \
	X(int, lstat, ARGS(const char *path, struct stat *st), ARGS(path, st), lstat) \
	X(int, lstat64, ARGS(const char *path, struct stat64 *st), ARGS(path, st), lstat) \
	X(int, statfs, ARGS(const char *path, struct statfs *st), ARGS(path, st), statfs) \
	X(int, statfs64, ARGS(const char *path, struct statfs64 *st), ARGS(path, st), statfs) \
	X(int, mkdir, ARGS(const char *path, mode_t mode), ARGS(path, mode), mkdir) \
	X(int, unlink, ARGS(const char *path), ARGS(path), unlink) \
	X(int, pipe2, ARGS(int ends[2], int flags), ARGS(ends, flags), pipe2) \
	X(int, socketpair, ARGS(int domain, int type, int protocol, int ends[2]), ARGS(domain, type, protocol, ends), socketpair) \
	X(ssize_t, send, ARGS(int fd, const void *buffer, size_t size, int flags), ARGS(fd, buffer, size, flags), send) \
	X(ssize_t, recv, ARGS(int fd, void *buffer, size_t size, int flags), ARGS(fd, buffer, size, flags), recv) \
	X(int, poll, ARGS(struct pollfd *fds, nfds_t n, int wait_ms), ARGS(fds, n, wait_ms), poll) \
	X(int, waitid, ARGS(idtype_t type, id_t id, siginfo_t *info, int options), ARGS(type, id, info, options), waitid) \
	X(int, epoll_create1, ARGS(int flags), ARGS(flags), epoll_create1) \
	X(int, epoll_wait, ARGS(int fd, struct epoll_event *events, int n, int wait_ms), ARGS(fd, events, n, wait_ms), epoll_wait) \
	X(int, timerfd_create, ARGS(int clock, int flags), ARGS(clock, flags), timerfd_create) \
	X(int, timerfd_settime, ARGS(int fd, int flags, const struct itimerspec *to, struct itimerspec *was), ARGS(fd, flags, to, was), timerfd_settime)
/* clang-format on */

/* Those that need code of their own. */
#define SHIM_OTHERS(X)                                                                             \
	X(open) X(fcntl) X(epoll_ctl) X(realpath) X(malloc) X(calloc) X(realloc) X(posix_spawn)

static const char *const names[] = {
#define X(returns, function, parameters, arguments, counted) #function,
		SHIM_CALLS(X)
#undef X
#define X(function) #function,
				SHIM_OTHERS(X)
#undef X
};

enum {
#define X(returns, function, parameters, arguments, counted) NUMBER_##function,
	SHIM_CALLS(X)
#undef X
#define X(function) NUMBER_##function,
			SHIM_OTHERS(X)
#undef X
					NUMBERS
};

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static atomic_uint counts[NUMBERS];
static int fail_number = -1, fail_errno;
static unsigned int fail_nth;
static int active;

__attribute__((constructor)) static void start(void)
{
	const char *program = getenv("CALL_SHIM_PROGRAM"), *fail = getenv("CALL_SHIM_FAIL");
	char name[32];

	if (!program || strcmp(program, program_invocation_short_name) != 0)
		return;
	if (fail && sscanf(fail, "%31[^:]:%u:%d", name, &fail_nth, &fail_errno) == 3) {
		for (int i = 0; i < NUMBERS; i++) {
			if (strcmp(names[i], name) == 0)
				fail_number = i;
		}
		if (fail_number < 0)
			abort();
	}
	active = 1;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("CALL_SHIM_COUNTS");
	FILE *file;

	if (!active || !path)
		return;
	active = 0;
	file = fopen(path, "we");
	if (!file)
		abort();
	for (int i = 0; i < NUMBERS; i++)
		(void) fprintf(file, "%s %u\n", names[i], counts[i]);
	(void) fclose(file);
}

static int fails(int number)
{
	if (!active || ++counts[number] != fail_nth || number != fail_number)
		return 0;
	errno = fail_errno;
	return 1;
}

#define REAL(function) ((__typeof__(&(function))) dlsym(RTLD_NEXT, #function))

#define X(returns, function, parameters, arguments, counted)                                       \
	SHIM_EXPORT returns function(parameters);                                                  \
	SHIM_EXPORT returns function(parameters)                                                   \
	{                                                                                          \
		return fails(NUMBER_##counted) ? -1 : REAL(function)(arguments);                   \
	}
SHIM_CALLS(X)
#undef X

/* The mode is there when a file may be made; else what is read of it is not used. */
#define OPENS(function, before, names_before)                                                      \
	SHIM_EXPORT int function(before const char *path, int flags, ...);                         \
	SHIM_EXPORT int function(before const char *path, int flags, ...)                          \
	{                                                                                          \
		va_list args;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = va_arg(args, mode_t);                                                       \
		va_end(args);                                                                      \
		return fails(NUMBER_open) ? -1 : REAL(function)(names_before path, flags, mode);   \
	}
OPENS(open, , )
OPENS(open64, , )
OPENS(openat, int at ARGS(, ), ARGS(at, ))
OPENS(openat64, int at ARGS(, ), ARGS(at, ))

#define FCNTLS(function)                                                                           \
	SHIM_EXPORT int function(int fd, int what, ...);                                           \
	SHIM_EXPORT int function(int fd, int what, ...)                                            \
	{                                                                                          \
		va_list args;                                                                      \
		void *value;                                                                       \
                                                                                                   \
		va_start(args, what);                                                              \
		value = va_arg(args, void *);                                                      \
		va_end(args);                                                                      \
		return fails(NUMBER_fcntl) ? -1 : REAL(function)(fd, what, value);                 \
	}
FCNTLS(fcntl)
FCNTLS(fcntl64)

/* The kernel never fails to take a descriptor out that is in, and libsystemd relies on it. */
SHIM_EXPORT int epoll_ctl(int fd, int op, int other, struct epoll_event *event)
{
	return op != EPOLL_CTL_DEL && fails(NUMBER_epoll_ctl)
			       ? -1
			       : REAL(epoll_ctl)(fd, op, other, event);
}

SHIM_EXPORT char *realpath(const char *path, char *resolved)
{
	return fails(NUMBER_realpath) ? NULL : REAL(realpath)(path, resolved);
}

SHIM_EXPORT void *malloc(size_t size)
{
	return fails(NUMBER_malloc) ? NULL : __libc_malloc(size);
}

SHIM_EXPORT void *calloc(size_t n, size_t size)
{
	return fails(NUMBER_calloc) ? NULL : __libc_calloc(n, size);
}

SHIM_EXPORT void *realloc(void *old, size_t size)
{
	return fails(NUMBER_realloc) ? NULL : __libc_realloc(old, size);
}

SHIM_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return fails(NUMBER_posix_spawn) ? fail_errno
					 : REAL(posix_spawn)(pid, path, actions, attr, argv, envp);
}
