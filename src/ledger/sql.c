/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/sql.h"

#include <stdarg.h>
#include <stdio.h>

static enum bh_code sql_code(int primary)
{
	switch (primary) {
	case SQLITE_NOMEM:
		return BH_E_NO_MEMORY;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return BH_E_STATE_LOCKED;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return BH_E_DENIED;
	default:
		return BH_E_INTERNAL;
	}
}

int bh_sql_fail(struct bh_ledger *ledger, const char *what, struct bh_error *err)
{
	int native = ledger->db ? sqlite3_extended_errcode(ledger->db) : SQLITE_NOMEM;
	const char *text = ledger->db ? sqlite3_errmsg(ledger->db) : "out of memory";
	int primary = native & 0xff;

	bh_fail(err, sql_code(primary), BH_SRC_SQLITE, native, "ledger '%s': %s: %s", ledger->path,
			what, text);
	if (primary == SQLITE_FULL || primary == SQLITE_IOERR)
		bh_error_next(err,
				"check the disk that holds the state directory; nothing that was "
				"not written down has been done");
	else if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
		bh_error_next(err,
				"another program has the file locked ('fuser -v %s'): end that one",
				ledger->path);
	else if (primary == SQLITE_READONLY || primary == SQLITE_PERM)
		bh_error_next(err, "run this as the user that the state directory belongs to");
	else if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
		bh_error_next(err, "move the file aside and apply the layout again; instances made "
				   "before then count as foreign");
	return -1;
}

static int bind_all(struct bh_ledger *ledger, sqlite3_stmt *stmt, const char *types, va_list args,
		struct bh_error *err)
{
	for (int i = 0; types[i]; i++) {
		int r;

		if (types[i] == 't')
			r = sqlite3_bind_text(stmt, i + 1, va_arg(args, const char *), -1,
					SQLITE_TRANSIENT);
		else
			r = sqlite3_bind_int64(stmt, i + 1, va_arg(args, int64_t));
		if (r != SQLITE_OK)
			return bh_sql_fail(ledger, "binding a value", err);
	}
	return 0;
}

static int prepare_bound(struct bh_ledger *ledger, sqlite3_stmt **ret_stmt, struct bh_error *err,
		const char *sql, const char *types, va_list args)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(ledger->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return bh_sql_fail(ledger, "preparing a statement", err);
	if (bind_all(ledger, stmt, types, args, err) < 0)
		return -1;
	*ret_stmt = BH_TAKE(stmt);
	return 0;
}

int bh_sql_prepare(struct bh_ledger *ledger, sqlite3_stmt **ret_stmt, struct bh_error *err,
		const char *sql, const char *types, ...)
{
	va_list args;
	int r;

	va_start(args, types);
	r = prepare_bound(ledger, ret_stmt, err, sql, types, args);
	va_end(args);
	return r;
}

int bh_sql_step(struct bh_ledger *ledger, sqlite3_stmt *stmt, struct bh_error *err)
{
	int r = sqlite3_step(stmt);

	if (r == SQLITE_ROW)
		return 1;
	return r == SQLITE_DONE ? 0 : bh_sql_fail(ledger, "carrying out a statement", err);
}

int bh_sql_run(struct bh_ledger *ledger, struct bh_error *err, const char *sql, const char *types,
		...)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;
	va_list args;
	int r;

	va_start(args, types);
	r = prepare_bound(ledger, &stmt, err, sql, types, args);
	va_end(args);
	if (r < 0)
		return -1;
	return bh_sql_step(ledger, stmt, err) < 0 ? -1 : 0;
}

void bh_sql_text(sqlite3_stmt *stmt, int column, char *buffer, size_t size)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);

	(void) snprintf(buffer, size, "%s", text ? (const char *) text : "");
}
