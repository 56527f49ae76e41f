/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: one line, one write, to one descriptor. Where to and from which level on is a value
 * that the main file makes and hands down, so that nothing here is global. The forms are those of
 * the system journal (`<6>text`) for what systemd or a parent reads, and `name: text` for people.
 */
#ifndef BH_BASE_LOG_H
#define BH_BASE_LOG_H

#include <stdbool.h>

#include "base/error.h"

/* The numbers are syslog's. */
enum bh_log_level {
	BH_LOG_ERROR = 3,
	BH_LOG_WARNING = 4,
	BH_LOG_INFO = 6,
	BH_LOG_DEBUG = 7,
};

struct bh_log {
	int fd;			/* borrowed; where lines go */
	const char *name;	/* of the program or role, borrowed */
	enum bh_log_level most; /* lines above this number are dropped */
	bool journal;		/* put the level in front, as the journal reads it */
};

/**
 * bh_log() - write one log line
 * @log:    borrowed; NULL drops the line
 * @level:  dropped if above log->most
 * @format: lower case, object in quotes, cause last, no newline
 *
 * Line breaks within the text become spaces; text past 1000 bytes is cut. Keeps errno. A line that
 * cannot be written is lost: there is nobody left to tell.
 */
void bh_log(const struct bh_log *log, enum bh_log_level level, const char *format, ...)
		BH_PRINTF(3, 4);

#endif
