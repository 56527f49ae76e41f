/* SPDX-License-Identifier: Apache-2.0 */
/* A state directory of a test's own. */
#ifndef TEST_LEDGER_STATE_H
#define TEST_LEDGER_STATE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct state {
	char dir[64], db[96];
};

static inline int state_set_up(void **state)
{
	struct state *s = calloc(1, sizeof(*s));
	struct stat st;

	if (!s)
		return -1;
	(void) snprintf(s->dir, sizeof(s->dir), "%s/bulkhead-ledger-XXXXXX",
			stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(s->dir))
		return -1;
	(void) snprintf(s->db, sizeof(s->db), "%s/ledger.db", s->dir);
	*state = s;
	return 0;
}

static inline void state_clear(const struct state *s)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
	char path[128];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		(void) snprintf(path, sizeof(path), "%s%s", s->db, ends[i]);
		(void) unlink(path); /* may be absent */
	}
}

static inline int state_tear_down(void **state)
{
	struct state *s = *state;

	state_clear(s);
	(void) rmdir(s->dir);
	free(s);
	return 0;
}

#endif
