/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/sql.h"

#include <stdarg.h>
#include <stdio.h>

int bh_sql_fail(struct bh_ledger *ledger, const char *what, struct bh_error *err)
{
	int native = ledger->db ? sqlite3_extended_errcode(ledger->db) : SQLITE_NOMEM;
	const char *text = ledger->db ? sqlite3_errmsg(ledger->db) : "out of memory";
	int primary = native & 0xff;

	bh_fail(err, primary == SQLITE_NOMEM ? BH_E_NO_MEMORY : BH_E_INTERNAL, BH_SRC_SQLITE,
			native, "ledger '%s': %s: %s", ledger->path, what, text);
	if (primary == SQLITE_FULL || primary == SQLITE_IOERR)
		bh_error_next(err,
				"check the disk that holds the state directory; nothing that was "
				"not written down has been done");
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
