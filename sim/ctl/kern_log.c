/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/kern_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define HOST "sim"

static bool name(const char *dir, const char *file, char *path, size_t size)
{
	return snprintf(path, size, "%s/log%s", dir, file) < (int) size;
}

int ctl_log_append(const char *dir, const char *text, struct bh_error *err)
{
	char path[4200], line[CTL_LOG_LINE_MAX + 128], day[32];
	bh_auto_close int fd = -1;
	struct timespec now;
	struct tm utc;
	int n;

	(void) clock_gettime(CLOCK_REALTIME, &now);
	(void) gmtime_r(&now.tv_sec, &utc);
	(void) strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
	n = snprintf(line, sizeof(line), "%s.%06ld+00:00 " HOST " kernel: %.*s\n", day,
			now.tv_nsec / 1000, CTL_LOG_LINE_MAX, text);
	if (!name(dir, "", path, sizeof(path)))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "the path is too long");
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return bh_fail_errno(err, errno, "creating '%s'", path);
	if (!name(dir, "/kern.log", path, sizeof(path)))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "the path is too long");
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0)
		(void) fchmod(fd, 0666); /* as the state: whoever may change that may log of it */
	/* one write, so that lines of two writers do not mix */
	if (fd < 0 || write(fd, line, (size_t) n) != n)
		return bh_fail_errno(err, errno, "writing '%s'", path);
	return 0;
}

void ctl_log_last(const char *dir, char *buffer, size_t size, size_t n_lines)
{
	char path[4200];
	bh_auto_close int fd = -1;
	struct stat st;
	off_t from;
	ssize_t n;
	char *line;

	buffer[0] = '\0';
	if (!name(dir, "/kern.log", path, sizeof(path)))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	from = st.st_size > (off_t) size - 1 ? st.st_size - ((off_t) size - 1) : 0;
	n = pread(fd, buffer, size - 1, from);
	buffer[n > 0 ? n : 0] = '\0';
	line = buffer + strlen(buffer);
	for (size_t found = 0; line > buffer; line--) {
		if (line[-1] == '\n' && *line && ++found == n_lines)
			break;
	}
	if (line == buffer && from > 0) { /* begins within a line */
		line = strchr(buffer, '\n');
		line = line ? line + 1 : buffer + strlen(buffer);
	}
	memmove(buffer, line, strlen(line) + 1);
}

void ctl_log_remove(const char *dir)
{
	char path[4200];

	if (name(dir, "/kern.log", path, sizeof(path)))
		(void) unlink(path);
}
