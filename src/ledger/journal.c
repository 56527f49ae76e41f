/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/journal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ledger/sql.h"

static const char *const state_names[BH_STEP_STATE_COUNT] = {
		[BH_STEP_PLANNED] = "planned",
		[BH_STEP_STARTED] = "started",
		[BH_STEP_DONE] = "done",
		[BH_STEP_FAILED] = "failed",
		[BH_STEP_UNKNOWN] = "unknown",
		[BH_STEP_UNDOING] = "undoing",
		[BH_STEP_UNDONE] = "undone",
};

const char *bh_step_state_name(enum bh_step_state state)
{
	return state_names[state];
}

void bh_journal_run_free(struct bh_journal_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->n_steps; i++)
		free(run->steps[i].body);
	free(run->steps);
	free(run);
}

int bh_journal_open_run(struct bh_ledger *ledger, const char *gpu, const char *const *bodies,
		size_t n, const char *note, int64_t *ret_id, struct bh_error *err)
{
	int64_t id;

	if (n > BH_JOURNAL_STEPS_MAX)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "a run of %zu steps is too long",
				n);
	if (bh_sql_run(ledger, err,
			    "INSERT INTO run (gpu, opened_at, direction, state, note)"
			    " VALUES (?1, ?2, 'forward', 'open', ?3)",
			    "tit", gpu, (int64_t) time(NULL), note) < 0)
		return bh_while(err, "opening a run for %s", gpu);
	id = sqlite3_last_insert_rowid(ledger->db);
	for (size_t i = 0; i < n; i++) {
		if (bh_sql_run(ledger, err,
				    "INSERT INTO step (run, seq, body, state, note)"
				    " VALUES (?1, ?2, ?3, 'planned', '')",
				    "iit", id, (int64_t) i, bodies[i]) < 0)
			return bh_while(err, "writing step %zu of the run", i + 1);
	}
	*ret_id = id;
	return 0;
}

/* The statement named one row of an open run; if it changed none, the run is not ours any more. */
static int check_one_changed(struct bh_ledger *ledger, int64_t run, struct bh_error *err)
{
	if (sqlite3_changes(ledger->db) == 1)
		return 0;
	return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
			"run %lld is no longer open: somebody else ended it", (long long) run);
}

int bh_journal_set_step(struct bh_ledger *ledger, int64_t run, size_t seq, enum bh_step_state state,
		const char *note, struct bh_error *err)
{
	if (bh_sql_run(ledger, err,
			    "UPDATE step SET state = ?3, note = ?4 WHERE run = ?1 AND seq = ?2"
			    " AND EXISTS (SELECT 1 FROM run WHERE id = ?1 AND state = 'open')",
			    "iitt", run, (int64_t) seq, state_names[state], note) < 0)
		return -1;
	return check_one_changed(ledger, run, err);
}

int bh_journal_turn_back(
		struct bh_ledger *ledger, int64_t run, const char *why, struct bh_error *err)
{
	if (bh_sql_run(ledger, err,
			    "UPDATE run SET direction = 'backward', note = ?2"
			    " WHERE id = ?1 AND state = 'open'",
			    "it", run, why) < 0)
		return -1;
	return check_one_changed(ledger, run, err);
}

int bh_journal_close_run(struct bh_ledger *ledger, int64_t run, const char *state, const char *note,
		struct bh_error *err)
{
	if (bh_sql_run(ledger, err,
			    "UPDATE run SET state = ?2, note = ?3, closed_at = ?4"
			    " WHERE id = ?1 AND state = 'open'",
			    "itti", run, state, note, (int64_t) time(NULL)) < 0)
		return -1;
	return check_one_changed(ledger, run, err);
}

static int read_step(struct bh_ledger *ledger, sqlite3_stmt *stmt, struct bh_journal_run *run,
		struct bh_error *err)
{
	struct bh_journal_step *step = &run->steps[run->n_steps];
	const unsigned char *body;
	char state[16];

	if (run->n_steps == BH_JOURNAL_STEPS_MAX)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "run %lld has too many steps",
				(long long) run->id);
	bh_sql_text(stmt, 1, state, sizeof(state));
	while (step->state < BH_STEP_STATE_COUNT && strcmp(state_names[step->state], state) != 0)
		step->state++;
	body = sqlite3_column_text(stmt, 0); /* NULL when SQLite has no memory for it */
	step->body = body ? strdup((const char *) body) : NULL;
	if (!step->body)
		return bh_fail_memory(err);
	run->n_steps++;
	if (step->state == BH_STEP_STATE_COUNT)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"run %lld has a step in the unknown state '%s'",
				(long long) run->id, state);
	return 0;
}

static int read_steps(struct bh_ledger *ledger, struct bh_journal_run *run, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;
	int r;

	run->steps = calloc(BH_JOURNAL_STEPS_MAX, sizeof(*run->steps));
	if (!run->steps)
		return bh_fail_memory(err);
	if (bh_sql_prepare(ledger, &stmt, err,
			    "SELECT body, state FROM step WHERE run = ?1 ORDER BY seq", "i",
			    run->id) < 0)
		return -1;
	while ((r = bh_sql_step(ledger, stmt, err)) > 0) {
		if (read_step(ledger, stmt, run, err) < 0)
			return -1;
	}
	return r;
}

int bh_journal_next_open(struct bh_ledger *ledger, int64_t after, struct bh_journal_run **ret_run,
		struct bh_error *err)
{
	bh_auto_journal_run struct bh_journal_run *run = NULL;
	bh_auto_stmt sqlite3_stmt *stmt = NULL;
	char direction[16];
	int r;

	if (bh_sql_prepare(ledger, &stmt, err,
			    "SELECT id, gpu, direction, note FROM run WHERE state = 'open' AND id "
			    "> ?1"
			    " ORDER BY id LIMIT 1",
			    "i", after) < 0)
		return -1;
	r = bh_sql_step(ledger, stmt, err);
	if (r <= 0)
		return r < 0 ? -1 : BH_LEDGER_NONE;
	run = calloc(1, sizeof(*run));
	if (!run)
		return bh_fail_memory(err);
	run->id = sqlite3_column_int64(stmt, 0);
	bh_sql_text(stmt, 1, run->gpu, sizeof(run->gpu));
	bh_sql_text(stmt, 2, direction, sizeof(direction));
	bh_sql_text(stmt, 3, run->note, sizeof(run->note));
	run->backward = strcmp(direction, "backward") == 0;
	if (read_steps(ledger, run, err) < 0)
		return -1;
	*ret_run = BH_TAKE(run);
	return 0;
}

int bh_journal_last_run(struct bh_ledger *ledger, json_t **ret_json, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;
	char text[4][512];
	json_t *json;
	int r;

	if (bh_sql_prepare(ledger, &stmt, err,
			    "SELECT gpu, state, direction, note, id, opened_at, closed_at FROM run"
			    " ORDER BY id DESC LIMIT 1",
			    "") < 0)
		return -1;
	r = bh_sql_step(ledger, stmt, err);
	if (r <= 0)
		return r < 0 ? -1 : BH_LEDGER_NONE;
	for (int i = 0; i < 4; i++)
		bh_sql_text(stmt, i, text[i], sizeof(text[i]));
	json = json_pack("{s:I, s:s, s:s, s:s, s:s, s:I, s:o}", "run",
			(json_int_t) sqlite3_column_int64(stmt, 4), "gpu", text[0], "state",
			text[1], "direction", text[2], "note", text[3], "opened_at",
			(json_int_t) sqlite3_column_int64(stmt, 5), "closed_at",
			sqlite3_column_type(stmt, 6) == SQLITE_NULL
					? json_null()
					: json_integer(sqlite3_column_int64(stmt, 6)));
	if (!json)
		return bh_fail_memory(err);
	*ret_json = json;
	return 0;
}
