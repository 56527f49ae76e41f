/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/ledger.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "ledger/sql.h"

#define SCHEMA_VERSION 1
#define APPLICATION_ID 0x42486c64 /* "BHld" */
#define BUSY_MS	       5000

/*
 * The unique index is a second wall: the database itself refuses a second open run for a GPU.
 * A GPU instance's place (gpu, start) and a compute instance's (gpu, gi_start, ci_start) are keys,
 * so nothing can be owned twice.
 */
static const char schema[] =
		"CREATE TABLE origin (one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT NOT NULL)"
		" STRICT;"
		"CREATE TABLE generation ("
		" n INTEGER PRIMARY KEY, at INTEGER NOT NULL, source TEXT NOT NULL,"
		" selected TEXT NOT NULL, sha256 TEXT NOT NULL, layout TEXT NOT NULL) STRICT;"
		"CREATE TABLE run ("
		" id INTEGER PRIMARY KEY AUTOINCREMENT, gpu TEXT NOT NULL, opened_at INTEGER NOT "
		"NULL,"
		" closed_at INTEGER, direction TEXT NOT NULL"
		"  CHECK (direction IN ('forward', 'backward')),"
		" state TEXT NOT NULL CHECK (state IN ('open', 'done', 'rolled-back', "
		"'abandoned')),"
		" note TEXT NOT NULL) STRICT;"
		"CREATE UNIQUE INDEX one_open_run ON run (gpu) WHERE state = 'open';"
		"CREATE TABLE step ("
		" run INTEGER NOT NULL REFERENCES run (id), seq INTEGER NOT NULL, body TEXT NOT "
		"NULL,"
		" state TEXT NOT NULL CHECK (state IN"
		"  ('planned', 'started', 'done', 'failed', 'unknown', 'undoing', 'undone')),"
		" note TEXT NOT NULL, PRIMARY KEY (run, seq)) STRICT;"
		"CREATE TABLE owned_gi ("
		" gpu TEXT NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL,"
		" profile_id INTEGER NOT NULL, PRIMARY KEY (gpu, start)) STRICT;"
		"CREATE TABLE owned_ci ("
		" gpu TEXT NOT NULL, gi_start INTEGER NOT NULL, ci_start INTEGER NOT NULL,"
		" ci_size INTEGER NOT NULL, uuid TEXT NOT NULL,"
		" PRIMARY KEY (gpu, gi_start, ci_start)) STRICT;"
		"CREATE TABLE event ("
		" seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,"
		" gpu TEXT NOT NULL, body TEXT NOT NULL) STRICT;";

static int exec(struct bh_ledger *ledger, const char *sql, const char *what, struct bh_error *err)
{
	if (sqlite3_exec(ledger->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return bh_sql_fail(ledger, what, err);
	return 0;
}

static int read_number(
		struct bh_ledger *ledger, const char *sql, int64_t *ret_value, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;
	int r;

	if (bh_sql_prepare(ledger, &stmt, err, sql, "") < 0)
		return -1;
	r = bh_sql_step(ledger, stmt, err);
	if (r < 0)
		return -1;
	*ret_value = r ? sqlite3_column_int64(stmt, 0) : 0;
	return 0;
}

static int make_schema(struct bh_ledger *ledger, struct bh_error *err)
{
	char pragmas[128];

	(void) snprintf(pragmas, sizeof(pragmas),
			"PRAGMA application_id = %d; PRAGMA user_version = %d;", APPLICATION_ID,
			SCHEMA_VERSION);
	if (bh_ledger_begin(ledger, err) < 0)
		return -1;
	if (exec(ledger, schema, "making the tables", err) < 0 ||
			exec(ledger, pragmas, "marking the file", err) < 0) {
		bh_ledger_rollback(ledger);
		return -1;
	}
	return bh_ledger_commit(ledger, err);
}

/* Before anything is set or made: what is not ours stays as it is. */
static int check_schema(struct bh_ledger *ledger, bool *ret_empty, struct bh_error *err)
{
	int64_t version, application, objects;

	/* in this order, so that a ledger that is being made meanwhile is not taken for a stranger's */
	if (read_number(ledger, "SELECT COUNT(*) FROM sqlite_master", &objects, err) < 0 ||
			read_number(ledger, "PRAGMA application_id", &application, err) < 0 ||
			read_number(ledger, "PRAGMA user_version", &version, err) < 0)
		return -1;
	*ret_empty = version == 0 && application == 0 && objects == 0;
	if (*ret_empty)
		return 0;
	/* whose it is comes first: a stranger's version means nothing */
	if (application != APPLICATION_ID) {
		bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"'%s' is a database, but not Bulkhead's ledger", ledger->path);
		bh_error_next(err, "choose another directory with --state, or move the file aside");
		return -1;
	}
	if (version > SCHEMA_VERSION) {
		bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"ledger '%s' has version %lld, this program knows up to %d",
				ledger->path, (long long) version, SCHEMA_VERSION);
		bh_error_next(err, "use the newer version of Bulkhead that wrote it");
		return -1;
	}
	return 0;
}

static int set_up(struct bh_ledger *ledger, enum bh_ledger_mode mode, struct bh_error *err)
{
	bool empty;

	if (sqlite3_busy_timeout(ledger->db, BUSY_MS) != SQLITE_OK)
		return bh_sql_fail(ledger, "setting the busy time-out", err);
	if (check_schema(ledger, &empty, err) < 0)
		return -1;
	if (mode == BH_LEDGER_READ)
		return empty ? BH_LEDGER_ABSENT : 0;
	if (exec(ledger,
			    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
			    "PRAGMA foreign_keys = ON; PRAGMA cache_size = -512;",
			    "setting up", err) < 0)
		return -1;
	return empty ? make_schema(ledger, err) : 0;
}

int bh_ledger_open(const char *state_dir, enum bh_ledger_mode mode, struct bh_ledger **ret_ledger,
		struct bh_error *err)
{
	bh_auto_ledger struct bh_ledger *ledger = calloc(1, sizeof(*ledger));
	int flags = mode == BH_LEDGER_READ ? SQLITE_OPEN_READONLY
					   : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	struct stat st;
	int r;

	if (!ledger)
		return bh_fail_memory(err);
	r = snprintf(ledger->path, sizeof(ledger->path), "%s/ledger.db", state_dir);
	if (r < 0 || (size_t) r >= sizeof(ledger->path))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"the state directory's name is too long");
	if (lstat(ledger->path, &st) < 0) {
		if (mode == BH_LEDGER_READ && errno == ENOENT)
			return BH_LEDGER_ABSENT;
		if (errno == ENOTDIR)
			return bh_fail(err, BH_E_USAGE, BH_SRC_ERRNO, errno,
					"the state directory '%s' is not a directory", state_dir);
		if (errno != ENOENT)
			return bh_fail_errno(err, errno, "looking for '%s'", ledger->path);
	} else if (!S_ISREG(st.st_mode)) {
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0, "'%s' is not a regular file",
				ledger->path);
	}
	if (sqlite3_open_v2(ledger->path, &ledger->db, flags | SQLITE_OPEN_NOFOLLOW, NULL) !=
			SQLITE_OK)
		return bh_sql_fail(ledger, "opening", err);
	r = set_up(ledger, mode, err);
	if (r != 0)
		return r;
	*ret_ledger = BH_TAKE(ledger);
	return 0;
}

void bh_ledger_free(struct bh_ledger *ledger)
{
	if (!ledger)
		return;
	/* an open transaction is rolled back by closing */
	(void) sqlite3_close(ledger->db);
	free(ledger);
}

int bh_ledger_begin(struct bh_ledger *ledger, struct bh_error *err)
{
	if (exec(ledger, "BEGIN IMMEDIATE", "starting a transaction", err) < 0)
		return -1;
	ledger->in_transaction = true;
	return 0;
}

int bh_ledger_commit(struct bh_ledger *ledger, struct bh_error *err)
{
	if (exec(ledger, "COMMIT", "committing", err) < 0) {
		bh_ledger_rollback(ledger);
		return -1;
	}
	ledger->in_transaction = false;
	return 0;
}

void bh_ledger_rollback(struct bh_ledger *ledger)
{
	if (!ledger->in_transaction)
		return;
	ledger->in_transaction = false;
	/* fails only where SQLite rolled back already */
	(void) sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL);
}

int bh_ledger_event(struct bh_ledger *ledger, const char *kind, const char *gpu, const char *text,
		struct bh_error *err)
{
	return bh_sql_run(ledger, err,
			"INSERT INTO event (at, kind, gpu, body) VALUES (?1, ?2, ?3, ?4)", "ittt",
			(int64_t) time(NULL), kind, gpu, text);
}

/* A driver's version changes with its updates; the machine stays the same. */
static void origin_key(const char *origin, char *buffer, size_t size)
{
	bool real = strncmp(origin, "nvml:", 5) == 0;

	(void) snprintf(buffer, size, "%s", real ? "nvml" : origin);
}

int bh_ledger_check_origin(struct bh_ledger *ledger, const char *origin, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;
	char ours[512], bound[512];
	int r;

	if (bh_sql_prepare(ledger, &stmt, err, "SELECT text FROM origin", "") < 0)
		return -1;
	r = bh_sql_step(ledger, stmt, err);
	if (r <= 0)
		return r;
	bh_sql_text(stmt, 0, bound, sizeof(bound));
	origin_key(origin, ours, sizeof(ours));
	if (strcmp(bound, ours) == 0)
		return 0;
	bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
			"ledger '%s' belongs to the machine of driver %s, not to that of %s",
			ledger->path, bound, ours);
	bh_error_next(err, "name another state directory with --state");
	return -1;
}

int bh_ledger_bind_origin(struct bh_ledger *ledger, const char *origin, struct bh_error *err)
{
	char ours[512];

	origin_key(origin, ours, sizeof(ours));
	return bh_sql_run(ledger, err, "INSERT OR IGNORE INTO origin (one, text) VALUES (1, ?1)",
			"t", ours);
}
