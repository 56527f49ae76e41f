/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody else writes into a log pipe, as lines: bounded in length and number, cleaned, the
 * last ones kept so that an error can quote them.
 */
#ifndef BH_BASE_LOG_TAIL_H
#define BH_BASE_LOG_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#define BH_LOG_TAIL_LINES 8
#define BH_LOG_LINE_BYTES 512 /* longer lines go on as a next line */

/* An open value: zero it to begin. */
struct bh_log_tail {
	char lines[BH_LOG_TAIL_LINES][BH_LOG_LINE_BYTES];
	size_t n_lines; /* ever; the last BH_LOG_TAIL_LINES of them are there */
	char partial[BH_LOG_LINE_BYTES];
	size_t n_partial;
};

/**
 * bh_log_tail_feed() - take bytes up to and including the next end of line
 * @tail:     borrowed
 * @bytes:    borrowed
 * @n:        at least 1
 * @ret_line: a complete line, without newline, borrowed from @tail until the next feed; or NULL
 *
 * Return: bytes taken; call again with the rest.
 */
size_t bh_log_tail_feed(
		struct bh_log_tail *tail, const char *bytes, size_t n, const char **ret_line);

/**
 * bh_log_tail_join() - the kept lines, and what was begun of the next, joined by "; "
 * @tail:   borrowed
 * @buffer: receives the newest lines that fit, oldest first
 * @size:   of @buffer, at least 1
 */
void bh_log_tail_join(const struct bh_log_tail *tail, char *buffer, size_t size);

#endif
