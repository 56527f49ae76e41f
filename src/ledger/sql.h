/* SPDX-License-Identifier: Apache-2.0 */
/* One statement at a time over SQLite, with what it said kept in our error; within ledger/ only. */
#ifndef BH_LEDGER_SQL_H
#define BH_LEDGER_SQL_H

#include <sqlite3.h>

#include "ledger/ledger.h"

struct bh_ledger {
	sqlite3 *db;
	bool in_transaction;
	char path[4096];
};

/**
 * bh_sql_fail() - turn SQLite's last failure into ours
 * @ledger: borrowed
 * @what:   what was being done
 * @err:    filled: INTERNAL (SQLITE), with the next step for a full disk and for damage
 *
 * Return: always -1.
 */
int bh_sql_fail(struct bh_ledger *ledger, const char *what, struct bh_error *err);

/**
 * bh_sql_prepare() - compile a statement and bind its parameters
 * @ledger:   borrowed
 * @ret_stmt: written on success; sqlite3_finalize() it
 * @err:      INTERNAL (SQLITE)
 * @sql:      with ?1, ?2 …
 * @types:    one letter a parameter: t (const char *, not NULL), i (int64_t); SQLite copies texts
 */
int bh_sql_prepare(struct bh_ledger *ledger, sqlite3_stmt **ret_stmt, struct bh_error *err,
		const char *sql, const char *types, ...) BH_MUST_CHECK;

/**
 * bh_sql_run() - carry out a statement that gives no rows
 * @ledger: borrowed
 * @err:    INTERNAL (SQLITE)
 * @sql:    with ?1, ?2 …
 * @types:  as for bh_sql_prepare()
 */
int bh_sql_run(struct bh_ledger *ledger, struct bh_error *err, const char *sql, const char *types,
		...) BH_MUST_CHECK;

/**
 * bh_sql_step() - the next row
 * @ledger: borrowed
 * @stmt:   borrowed
 * @err:    INTERNAL (SQLITE)
 *
 * Return: 1 with a row, 0 at the end, negative on error.
 */
int bh_sql_step(struct bh_ledger *ledger, sqlite3_stmt *stmt, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_sql_text() - copy a text column; a NULL gives an empty text
 * @stmt:   on a row
 * @column: from 0
 * @buffer: receives the text, cut if need be
 * @size:   bytes in @buffer
 */
void bh_sql_text(sqlite3_stmt *stmt, int column, char *buffer, size_t size);

static inline void bh_sql_finalizep(sqlite3_stmt **p)
{
	(void) sqlite3_finalize(*p);
}
#define bh_auto_stmt BH_CLEANUP(bh_sql_finalizep)

#endif
