/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test's hand on the durable writes of one program, preloaded into it: counts fdatasync and fsync,
 * kills the process before or after the n-th, and keeps a shadow of what power loss would leave: a
 * file as it was at its last sync, and nothing of a file that was never synced.
 *
 *   SYNC_SHIM_PROGRAM  the program's short name; others are left alone
 *   SYNC_SHIM_LOG      a file that gets one byte for each sync
 *   SYNC_SHIM_KILL     "N:before" or "N:after"
 *   SYNC_SHIM_SHADOW   a folder for the shadow
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHIM_EXPORT __attribute__((visibility("default")))

int fdatasync(int fd);
int fsync(int fd);

static int count;

static void note(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, ".", 1) != 1)
		abort();
	(void) close(fd);
}

static void kill_at(const char *when)
{
	const char *text = getenv("SYNC_SHIM_KILL");

	if (text && strtol(text, NULL, 10) == count && strstr(text, when))
		(void) raise(SIGKILL);
}

/* The synced bytes, under the same name, replaced at once. */
static void keep_shadow(int fd, const char *folder)
{
	char link[64], path[PATH_MAX], to[2 * PATH_MAX], temporary[2 * PATH_MAX + 8], buffer[65536];
	off_t at = 0;
	struct stat st;
	ssize_t n;
	int out;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	(void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		abort();
	path[n] = '\0';
	(void) snprintf(to, sizeof(to), "%s/%s", folder, strrchr(path, '/') + 1);
	(void) snprintf(temporary, sizeof(temporary), "%s.new", to);
	out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		abort();
	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		if (write(out, buffer, (size_t) n) != n)
			abort();
		at += n;
	}
	(void) close(out);
	if (n < 0 || rename(temporary, to) < 0)
		abort();
}

static int shim(const char *name, int fd)
{
	int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
	const char *program = getenv("SYNC_SHIM_PROGRAM");
	const char *log = getenv("SYNC_SHIM_LOG"), *shadow = getenv("SYNC_SHIM_SHADOW");
	int r, saved;

	if (!program || strcmp(program, program_invocation_short_name) != 0)
		return real(fd);
	count++;
	if (log)
		note(log);
	kill_at("before");
	r = real(fd);
	saved = errno;
	if (r == 0 && shadow)
		keep_shadow(fd, shadow);
	kill_at("after");
	errno = saved;
	return r;
}

SHIM_EXPORT int fdatasync(int fd)
{
	return shim("fdatasync", fd);
}

SHIM_EXPORT int fsync(int fd)
{
	return shim("fsync", fd);
}
