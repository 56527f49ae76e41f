/* SPDX-License-Identifier: Apache-2.0 */
#include "node/state_dir.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/clock.h"

#define POLL_MS 20
#define NAME_MS 300 /* how long a holder has to say who it is */

/* File systems whose locks and syncs depend on another machine. Source: linux/magic.h, statfs(2). */
static const struct {
	uint32_t magic;
	const char *name;
} network_systems[] = {
		{0x6969, "NFS"},
		{0x517b, "SMB"},
		{0xff534d42, "CIFS"},
		{0xfe534d42, "SMB2"},
		{0x00c36400, "Ceph"},
		{0x5346414f, "AFS"},
		{0x01021997, "9P"},
		{0x0bd00bd0, "Lustre"},
		{0x47504653, "GPFS"},
		{0x19830326, "BeeGFS"},
};

static void sleep_ms(uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000};

	(void) nanosleep(&t, NULL); /* cut short by a signal is fine: all callers poll */
}

static int join(char *buffer, size_t size, const char *path, const char *name, struct bh_error *err)
{
	int r = snprintf(buffer, size, "%s/%s", path, name);

	if (r < 0 || (size_t) r >= size)
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"the state directory's name is too long");
	return 0;
}

static int make_dirs(const char *path, struct bh_error *err)
{
	char part[PATH_MAX];

	if (strlen(path) == 0 || strlen(path) >= sizeof(part))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"the state directory's name is empty or too long");
	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		(void) snprintf(part, sizeof(part), "%.*s", (int) i, path);
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return bh_fail_errno(err, errno, "making the directory '%s'", part);
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return bh_fail_errno(err, errno, "making the state directory '%s'", path);
	return 0;
}

int bh_state_prepare(const char *path, struct bh_error *err)
{
	struct statfs fs;
	struct stat st;

	if (make_dirs(path, err) < 0)
		return -1;
	if (stat(path, &st) < 0 || statfs(path, &fs) < 0)
		return bh_fail_errno(err, errno, "looking at the state directory '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"the state directory '%s' is not a directory", path);
	for (size_t i = 0; i < BH_ARRAY_SIZE(network_systems); i++) {
		if ((uint32_t) fs.f_type != network_systems[i].magic)
			continue;
		bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"the state directory '%s' is on a network file system (%s), whose "
				"locks and syncs cannot be relied on",
				path, network_systems[i].name);
		bh_error_next(err, "choose a directory on a local disk with --state");
		return -1;
	}
	return 0;
}

static int open_lock(const char *path, const char *name, int *ret_fd, struct bh_error *err)
{
	char file[PATH_MAX];
	int fd;

	if (join(file, sizeof(file), path, name, err) < 0)
		return -1;
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return bh_fail_errno(err, errno, "opening '%s'", file);
	*ret_fd = fd;
	return 0;
}

static void read_holder(int fd, char *buffer, size_t size)
{
	ssize_t n = pread(fd, buffer, size - 1, 0);

	buffer[n > 0 ? n : 0] = '\0';
	buffer[strcspn(buffer, "\n")] = '\0';
}

/* Not an empty text, nor one that is left from ourselves or from somebody who is gone. */
static bool names_somebody(const char *text)
{
	int pid = 0;

	return sscanf(text, "pid=%9d ", &pid) == 1 && pid > 0 && pid != getpid() &&
	       (kill(pid, 0) == 0 || errno == EPERM);
}

static struct bh_holder parse_holder(const char *text)
{
	struct bh_holder holder = {.kind = "process"};
	int pid = 0;

	if (sscanf(text, "pid=%9d role=%63s", &pid, holder.name) < 1)
		(void) snprintf(holder.name, sizeof(holder.name), "unknown");
	holder.pid = pid;
	return holder;
}

static int locked_by(const char *path, const char *text, bool daemon, struct bh_error *err)
{
	struct bh_holder holder = parse_holder(text);
	int pid = holder.pid;

	bh_fail(err, daemon ? BH_E_DEADLINE : BH_E_STATE_LOCKED, BH_SRC_SELF, 0,
			"the state directory '%s' is held by pid %d (%s)", path, pid, holder.name);
	bh_error_add_holder(err, &holder);
	bh_error_next(err, daemon ? "the daemon holds it but does not answer yet: look at its log"
				  : "wait until that command has ended, then run this again");
	return -1;
}

static int write_text(int fd, const char *role, struct bh_error *err)
{
	char text[160];
	int n = snprintf(text, sizeof(text), "pid=%d role=%s since=%lld\n", (int) getpid(), role,
			(long long) (bh_clock_realtime_ms() / 1000));

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t) n, 0) != n)
		return bh_fail_errno(err, errno, "writing into the lock file");
	return 0;
}

int bh_state_lock(const char *path, const char *role, uint32_t deadline_ms, int *ret_fd,
		struct bh_error *err)
{
	uint64_t start = bh_clock_monotonic_ms(), read_first = start;
	bh_auto_close int fd = -1;
	char text[160], before[160] = "";

	if (open_lock(path, "lock", &fd, err) < 0)
		return -1;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		bool daemon, settled;
		uint64_t now;

		if (errno != EWOULDBLOCK && errno != EINTR)
			return bh_fail_errno(err, errno, "locking the state directory '%s'", path);
		read_holder(fd, text, sizeof(text));
		daemon = strstr(text, "role=daemon") != NULL;
		now = bh_clock_monotonic_ms();
		/* a new holder has the lock a moment before its name stands there: look twice */
		settled = strcmp(text, before) == 0 &&
			  (names_somebody(text) || now - read_first >= NAME_MS);
		if (daemon ? now - start >= deadline_ms : settled)
			return locked_by(path, text, daemon, err);
		if (strcmp(text, before) != 0)
			read_first = now;
		memcpy(before, text, sizeof(before));
		sleep_ms(POLL_MS);
	}
	if (write_text(fd, role, err) < 0)
		return -1;
	*ret_fd = bh_take_fd(&fd);
	return 0;
}

/* Does the kernel list a flock on this file? A line is "1: FLOCK  ADVISORY  WRITE 77 08:01:1234 0 EOF". */
static bool is_flocked(const struct stat *st)
{
	char line[256], file[64];
	bool found = false;
	FILE *locks = fopen("/proc/locks", "re");

	if (!locks)
		return false;
	(void) snprintf(file, sizeof(file), " %02x:%02x:%llu ", major(st->st_dev),
			minor(st->st_dev), (unsigned long long) st->st_ino);
	while (!found && fgets(line, sizeof(line), locks))
		found = strstr(line, "FLOCK") && strstr(line, file);
	(void) fclose(locks);
	return found;
}

bool bh_state_find_writer(const char *path, struct bh_holder *ret_holder)
{
	char file[PATH_MAX], text[160];
	bh_auto_close int fd = -1;
	struct stat st;

	if (join(file, sizeof(file), path, "lock", NULL) < 0)
		return false;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || !is_flocked(&st))
		return false;
	read_holder(fd, text, sizeof(text));
	*ret_holder = parse_holder(text);
	return true;
}

int bh_state_worker_lock(const char *path, int *ret_fd, struct bh_error *err)
{
	bh_auto_close int fd = -1;

	if (open_lock(path, "worker.lock", &fd, err) < 0)
		return -1;
	/* only a settling holds it exclusively, and only for a moment */
	while (flock(fd, LOCK_SH) < 0) {
		if (errno != EINTR)
			return bh_fail_errno(err, errno, "locking worker.lock in '%s'", path);
	}
	*ret_fd = bh_take_fd(&fd);
	return 0;
}

int bh_state_try_settle(const char *path, struct bh_error *err)
{
	bh_auto_close int fd = -1;

	if (open_lock(path, "worker.lock", &fd, err) < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK || errno == EINTR)
		return BH_STATE_BUSY;
	return bh_fail_errno(err, errno, "locking worker.lock in '%s'", path);
}

int bh_state_settle_failed(const char *path, struct bh_error *err)
{
	bh_fail(err, BH_E_DEADLINE, BH_SRC_SELF, 0,
			"a worker of an earlier command still acts on the machine (it holds "
			"'%s/worker.lock')",
			path);
	bh_error_next(err, "wait for its driver call to end; 'fuser -v %s/worker.lock' names it",
			path);
	return -1;
}

int bh_state_settle(const char *path, uint32_t deadline_ms, struct bh_error *err)
{
	uint64_t until = bh_clock_monotonic_ms() + deadline_ms;
	int r;

	while ((r = bh_state_try_settle(path, err)) == BH_STATE_BUSY) {
		if (bh_clock_monotonic_ms() >= until)
			return bh_state_settle_failed(path, err);
		sleep_ms(POLL_MS);
	}
	return r;
}
