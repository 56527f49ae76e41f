/* SPDX-License-Identifier: Apache-2.0 */
#include "model/freezer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ROOT	  "/sys/fs/cgroup/freezer"
#define OUT_TURNS 2000 /* of a millisecond, for those who were thawed to leave */

static void path_of(uint64_t id, const char *name, char path[128])
{
	(void) snprintf(path, 128, ROOT "/bulkhead-sim-%016" PRIx64 "%s%s", id, name[0] ? "/" : "",
			name);
}

static int write_text(const char *path, const char *text)
{
	bh_auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int sim_freezer_make(uint64_t *ret_id, struct bh_error *err)
{
	char group[128], path[128];
	uint64_t id = 0;
	int rc;

	if (access(ROOT "/cgroup.procs", W_OK) < 0)
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_ERRNO, errno,
				"there is no v1 freezer to write to at " ROOT);
	if (getrandom(&id, sizeof(id), 0) != sizeof(id) || !id)
		return bh_fail_errno(err, errno, "naming a freezer");
	path_of(id, "", group);
	if (mkdir(group, 0755) < 0)
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_ERRNO, errno, "cannot make '%s': %s",
				group, strerror(errno));
	path_of(id, "tasks", path);
	rc = chmod(path, 0666) < 0 ? -errno : 0;
	path_of(id, "freezer.state", path);
	if (rc == 0)
		rc = write_text(path, "FROZEN");
	if (rc < 0) {
		(void) rmdir(group);
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_ERRNO, -rc, "cannot freeze '%s': %s",
				group, strerror(-rc));
	}
	*ret_id = id;
	return 0;
}

/* The group that this thread is in now, so that it can go back. */
static bool own_group(char *path, size_t size)
{
	bh_auto_close int fd = open("/proc/thread-self/cgroup", O_RDONLY | O_CLOEXEC);
	char text[4096], *line, *end;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	line = strstr(text, ":freezer:");
	if (!line)
		return false;
	line += strlen(":freezer:");
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	return snprintf(path, size, ROOT "%s/tasks", line) < (int) size;
}

bool sim_freezer_sit(uint64_t id)
{
	char path[128], back[4200];
	bool has_way_back = own_group(back, sizeof(back));

	path_of(id, "tasks", path);
	if (write_text(path, "0") < 0) /* 0: the writing thread; it returns when thawed */
		return false;
	if (has_way_back)
		(void) write_text(back, "0"); /* whoever thaws moves those who may not */
	return true;
}

/* Moves who is still in; true when nobody was. */
static bool move_out(const char *tasks)
{
	bh_auto_close int fd = open(tasks, O_RDONLY | O_CLOEXEC);
	char text[4096], *rest = text, *word;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return true;
	text[n] = '\0';
	while ((word = strsep(&rest, "\n"))) {
		if (word[0])
			(void) write_text(ROOT "/tasks", word); /* or it ended meanwhile */
	}
	return false;
}

int sim_freezer_end(uint64_t id, struct bh_error *err)
{
	const struct timespec turn = {.tv_nsec = 1000000};
	char group[128], path[128];
	int rc;

	path_of(id, "", group);
	if (access(group, F_OK) < 0)
		return 0;
	path_of(id, "freezer.state", path);
	rc = write_text(path, "THAWED");
	if (rc < 0)
		return bh_fail_errno(err, -rc, "thawing '%s'", group);
	path_of(id, "tasks", path);
	for (int i = 0; i < OUT_TURNS; i++) {
		/* most leave by themselves, to where they came from */
		if (i > 100)
			(void) move_out(path);
		if (rmdir(group) == 0)
			return 0;
		(void) nanosleep(&turn, NULL);
	}
	return bh_fail_errno(err, errno, "removing '%s'", group);
}
