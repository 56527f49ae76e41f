/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_tail.h"

#include <string.h>

#include "base/utf8.h"

static const char *end_line(struct bh_log_tail *tail)
{
	char *line = tail->lines[tail->n_lines++ % BH_LOG_TAIL_LINES];

	memcpy(line, tail->partial, tail->n_partial);
	line[tail->n_partial] = '\0';
	tail->n_partial = 0;
	bh_utf8_clean(line);
	return line;
}

size_t bh_log_tail_feed(
		struct bh_log_tail *tail, const char *bytes, size_t n, const char **ret_line)
{
	*ret_line = NULL;
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n') {
			*ret_line = end_line(tail);
			return i + 1;
		}
		tail->partial[tail->n_partial++] = bytes[i] ? bytes[i] : '?';
		if (tail->n_partial == sizeof(tail->partial) - 1) {
			*ret_line = end_line(tail);
			return i + 1;
		}
	}
	return n;
}

/* Line @back counted from the newest (0); NULL if there is none. */
static const char *line_back(const struct bh_log_tail *tail, size_t back)
{
	if (back >= tail->n_lines || back >= BH_LOG_TAIL_LINES)
		return NULL;
	return tail->lines[(tail->n_lines - 1 - back) % BH_LOG_TAIL_LINES];
}

void bh_log_tail_join(const struct bh_log_tail *tail, char *buffer, size_t size)
{
	char partial[BH_LOG_LINE_BYTES];
	size_t n = 0, used = 0;
	const char *line;

	memcpy(partial, tail->partial, tail->n_partial);
	partial[tail->n_partial] = '\0';
	bh_utf8_clean(partial);

	/* how many of the newest fit */
	used = partial[0] ? strlen(partial) + 2 : 0;
	while ((line = line_back(tail, n)) && used + strlen(line) + 2 <= size) {
		used += strlen(line) + 2;
		n++;
	}

	buffer[0] = '\0';
	used = 0;
	while (n-- > 0) {
		line = line_back(tail, n);
		if (used > 0) {
			memcpy(buffer + used, "; ", 2);
			used += 2;
		}
		memcpy(buffer + used, line, strlen(line) + 1);
		used += strlen(line);
	}
	if (partial[0] && used + strlen(partial) + 3 <= size) {
		if (used > 0) {
			memcpy(buffer + used, "; ", 2);
			used += 2;
		}
		memcpy(buffer + used, partial, strlen(partial) + 1);
	}
}
