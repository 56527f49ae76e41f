/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

void bh_log(const struct bh_log *log, enum bh_log_level level, const char *format, ...)
{
	int saved = errno;
	char line[LINE_MAX_BYTES], *text;
	int head;
	va_list args;

	if (!log || level > log->most)
		return;
	if (log->journal)
		head = snprintf(line, sizeof(line), "<%d>%.32s: ", (int) level, log->name);
	else
		head = snprintf(line, sizeof(line), "%.32s: ", log->name);

	text = line + head;
	va_start(args, format);
	/* one byte stays free for the newline */
	(void) vsnprintf(text, sizeof(line) - 1 - (size_t) head, format, args);
	va_end(args);
	for (char *c = text; *c; c++) {
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	}
	memcpy(text + strlen(text), "\n", 2);
	if (write(log->fd, line, strlen(line)) < 0) {
		/* nobody left to tell */
	}
	errno = saved;
}
