/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's file, its generations and events, and what counts as ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <string.h>

#include "ledger/generation.h"
#include "ledger/journal.h"
#include "ledger/owned.h"
#include "state.h"

static struct bh_ledger *open_for_writing(const struct state *s)
{
	struct bh_ledger *ledger = NULL;
	struct bh_error err = {0};

	if (bh_ledger_open(s->dir, BH_LEDGER_WRITE, &ledger, &err) != 0)
		fail_msg("%s", err.message);
	return ledger;
}

static void exec(const struct state *s, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(s->db, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void read_file(const struct state *s, char *buffer, size_t size, size_t *ret_n)
{
	FILE *file = fopen(s->db, "rb");

	assert_non_null(file);
	*ret_n = fread(buffer, 1, size, file);
	assert_true(*ret_n < size);
	assert_int_equal(fclose(file), 0);
}

/* Neither reader nor writer takes it, and it is as it was, to the byte. */
static void check_refused(const struct state *s, enum bh_code code, const char *word)
{
	static char before[1 << 16], after[1 << 16];
	size_t n, m;

	read_file(s, before, sizeof(before), &n);
	for (int mode = BH_LEDGER_READ; mode <= BH_LEDGER_WRITE; mode++) {
		struct bh_ledger *ledger = NULL;
		struct bh_error err = {0};

		assert_int_equal(bh_ledger_open(s->dir, (enum bh_ledger_mode) mode, &ledger, &err),
				-1);
		assert_null(ledger);
		assert_int_equal(err.code, code);
		if (!strstr(err.message, word))
			fail_msg("'%s' does not say '%s'", err.message, word);
		assert_true(err.next[0]);
		read_file(s, after, sizeof(after), &m);
		assert_int_equal(n, m);
		assert_memory_equal(before, after, n);
	}
}

static void make_empty(const struct state *s)
{
	FILE *file = fopen(s->db, "wb");

	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

static void a_reader_of_no_ledger_is_told_so_and_makes_none(void **state)
{
	const struct state *s = *state;
	struct bh_ledger *ledger = NULL;
	struct bh_error err = {0};

	assert_int_equal(bh_ledger_open(s->dir, BH_LEDGER_READ, &ledger, &err), BH_LEDGER_ABSENT);
	assert_null(ledger);
	assert_int_equal(access(s->db, F_OK), -1);
	/* a file that a writer made and died over is none yet */
	make_empty(s);
	assert_int_equal(bh_ledger_open(s->dir, BH_LEDGER_READ, &ledger, &err), BH_LEDGER_ABSENT);
	assert_null(ledger);
	bh_ledger_free(open_for_writing(s));
	assert_int_equal(bh_ledger_open(s->dir, BH_LEDGER_READ, &ledger, &err), 0);
	bh_ledger_free(ledger);
}

static void a_reader_can_change_nothing(void **state)
{
	const struct state *s = *state;
	struct bh_ledger *ledger = NULL;
	struct bh_error err = {0};

	bh_ledger_free(open_for_writing(s));
	assert_int_equal(bh_ledger_open(s->dir, BH_LEDGER_READ, &ledger, &err), 0);
	assert_int_equal(bh_ledger_event(ledger, "X", "", "", &err), -1);
	assert_int_equal(err.source, BH_SRC_SQLITE);
	bh_ledger_free(ledger);
}

static void a_newer_ledger_is_refused_and_left_alone(void **state)
{
	const struct state *s = *state;

	bh_ledger_free(open_for_writing(s));
	exec(s, "PRAGMA user_version = 2");
	check_refused(s, BH_E_UNSUPPORTED, "version 2");
}

static void a_foreign_database_is_refused_and_left_alone(void **state)
{
	const struct state *s = *state;

	/* with a version of its own */
	exec(s, "CREATE TABLE theirs (x); PRAGMA user_version = 1");
	check_refused(s, BH_E_UNSUPPORTED, "not Bulkhead's");
	/* most databases never set one */
	state_clear(s);
	exec(s, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
	check_refused(s, BH_E_UNSUPPORTED, "not Bulkhead's");
	/* or only say whose they are */
	state_clear(s);
	exec(s, "PRAGMA application_id = 4711");
	check_refused(s, BH_E_UNSUPPORTED, "not Bulkhead's");
}

static void garbage_is_refused_with_a_next_step(void **state)
{
	const struct state *s = *state;
	FILE *file = fopen(s->db, "wb");

	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		(void) fprintf(file, "this is no database %d\n", i);
	assert_int_equal(fclose(file), 0);
	check_refused(s, BH_E_INTERNAL, "not a database");
}

static void a_symlink_is_not_followed(void **state)
{
	const struct state *s = *state;
	struct bh_ledger *ledger = NULL;
	struct bh_error err = {0};
	char target[128];

	(void) snprintf(target, sizeof(target), "%s/elsewhere", s->dir);
	assert_int_equal(symlink(target, s->db), 0);
	assert_int_equal(bh_ledger_open(s->dir, BH_LEDGER_WRITE, &ledger, &err), -1);
	assert_int_equal(access(target, F_OK), -1);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	static char dir[5000];
	struct bh_ledger *ledger = NULL;
	struct bh_error err = {0};

	memset(dir, 'd', sizeof(dir) - 1);
	assert_int_equal(bh_ledger_open(dir, BH_LEDGER_WRITE, &ledger, &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
}

static void a_reader_sees_what_was_committed_and_nothing_else(void **state)
{
	const struct state *s = *state;
	bh_auto_ledger struct bh_ledger *writer = open_for_writing(s), *reader = NULL;
	bh_auto_journal_run struct bh_journal_run *run = NULL;
	const char *bodies[] = {"{}", "{}"};
	struct bh_error err = {0};
	int64_t id = 0;

	assert_int_equal(bh_ledger_open(s->dir, BH_LEDGER_READ, &reader, &err), 0);
	assert_int_equal(bh_ledger_begin(writer, &err), 0);
	assert_int_equal(bh_journal_open_run(writer, "GPU-1", bodies, 2, "why", &id, &err), 0);
	assert_int_equal(bh_journal_next_open(reader, 0, &run, &err), BH_LEDGER_NONE);
	assert_int_equal(bh_ledger_commit(writer, &err), 0);
	assert_int_equal(bh_journal_next_open(reader, 0, &run, &err), 0);
	assert_int_equal(run->id, id);
	assert_int_equal(run->n_steps, 2);
	assert_string_equal(run->gpu, "GPU-1");
	assert_int_equal(bh_journal_next_open(reader, id, &(struct bh_journal_run *){NULL}, &err),
			BH_LEDGER_NONE);
	assert_int_equal(bh_ledger_begin(writer, &err), 0);
	assert_int_equal(bh_journal_set_step(writer, id, 2, BH_STEP_DONE, "", &err), -1);
	bh_ledger_rollback(writer);
	bh_ledger_rollback(writer); /* harmless */
}

static void numbers_of_runs_are_never_given_twice(void **state)
{
	const struct state *s = *state;
	bh_auto_ledger struct bh_ledger *ledger = open_for_writing(s);
	const char *bodies[] = {"{}"};
	struct bh_error err = {0};
	int64_t id = 0;

	for (int64_t i = 1; i < 5; i++) {
		assert_int_equal(bh_journal_open_run(ledger, "GPU-1", bodies, 1, "", &id, &err), 0);
		assert_int_equal(id, i);
		assert_int_equal(bh_journal_close_run(ledger, id, "done", "", &err), 0);
		assert_int_equal(bh_journal_close_run(ledger, id, "done", "", &err), -1);
		exec(s, "DELETE FROM step; DELETE FROM run");
	}
}

/* ------------------------------------------------------------------- generations */

static int64_t propose(struct bh_ledger *ledger, const char *sha256, const char *selected,
		const char *layout)
{
	bh_auto_json json_t *json = json_loads(layout, 0, NULL);
	struct bh_error err = {0};
	int64_t n = -1;

	assert_non_null(json);
	if (bh_generation_propose(ledger, "spec.yaml", selected, sha256, json, &n, &err) < 0)
		fail_msg("%s", err.message);
	return n;
}

static void the_same_wish_keeps_its_number(void **state)
{
	bh_auto_ledger struct bh_ledger *ledger = open_for_writing(*state);
	static const char a[] = "[{\"uuid\": \"A\", \"mig\": true}]";
	static const char b[] = "[{\"uuid\": \"A\", \"mig\": false}]";
	struct bh_generation last = {0};
	struct bh_error err = {0};

	assert_int_equal(bh_generation_last(ledger, &last, &err), BH_LEDGER_NONE);
	assert_int_equal(propose(ledger, "1", "x", a), 1);
	assert_int_equal(propose(ledger, "1", "x", a), 1);
	assert_int_equal(propose(ledger, "1", "x", b), 2);
	assert_int_equal(propose(ledger, "1", "x", a), 3);
	assert_int_equal(propose(ledger, "2", "x", a), 4); /* another file says it */
	assert_int_equal(propose(ledger, "2", "y", a), 5);
	assert_int_equal(bh_generation_last(ledger, &last, &err), 0);
	assert_int_equal(last.n, 5);
	assert_true(last.at > 1700000000);
	assert_string_equal(last.source, "spec.yaml");
	assert_string_equal(last.selected, "y");
	assert_string_equal(last.sha256, "2");
	bh_generation_clear(&last);
	bh_generation_clear(&last); /* twice is fine */
}

static void gpus_that_are_not_named_keep_their_place(void **state)
{
	bh_auto_ledger struct bh_ledger *ledger = open_for_writing(*state);
	bh_auto_json json_t *wanted = NULL;
	struct bh_generation last = {0};
	struct bh_error err = {0};

	assert_int_equal(propose(ledger, "1", "",
					 "[{\"uuid\":\"A\",\"v\":1},{\"uuid\":\"B\",\"v\":1}]"),
			1);
	assert_int_equal(propose(ledger, "2", "", "[{\"uuid\":\"B\",\"v\":2}]"), 2);
	assert_int_equal(bh_generation_last(ledger, &last, &err), 0);
	wanted = json_loads("[{\"uuid\":\"B\",\"v\":2},{\"uuid\":\"A\",\"v\":1}]", 0, NULL);
	assert_true(json_equal(last.layout, wanted));
	bh_generation_clear(&last);
	/* once more says nothing new */
	assert_int_equal(propose(ledger, "2", "", "[{\"uuid\":\"B\",\"v\":2}]"), 2);
}

static void an_event_is_of_its_transaction(void **state)
{
	const struct state *s = *state;
	bh_auto_ledger struct bh_ledger *ledger = open_for_writing(s);
	struct bh_error err = {0};

	assert_int_equal(bh_ledger_event(ledger, "A", "GPU-1", "alone", &err), 0);
	assert_int_equal(bh_ledger_begin(ledger, &err), 0);
	assert_int_equal(bh_ledger_event(ledger, "B", "", "dropped", &err), 0);
	bh_ledger_rollback(ledger);
	exec(s, "CREATE TEMP TABLE t (n CHECK (n = 1)); INSERT INTO t SELECT COUNT(*) FROM event"
		" WHERE kind = 'A' AND gpu = 'GPU-1' AND body = 'alone'; DELETE FROM t;"
		" INSERT INTO t SELECT COUNT(*) FROM event");
}

/* ------------------------------------------------------------------- what is ours */

static struct bh_gpu one_gpu(void)
{
	return (struct bh_gpu){.uuid = "GPU-1",
			.n_gis = 1,
			.gis = {{.profile_id = 9,
					.at = {4, 4},
					.n_cis = 2,
					.cis = {{.at = {0, 1}, .uuid = "MIG-a"},
							{.at = {1, 2}, .uuid = "MIG-b"}}}}};
}

static void own(struct bh_ledger *ledger, const struct bh_gpu *gpu)
{
	struct bh_error err = {0};

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		assert_int_equal(bh_owned_add_gi(ledger, gpu->uuid, gi->profile_id, &gi->at, &err),
				0);
		for (size_t c = 0; c < gi->n_cis; c++)
			assert_int_equal(bh_owned_add_ci(ledger, gpu->uuid, &gi->at, &gi->cis[c],
							 &err),
					0);
	}
}

static void check_mark(struct bh_ledger *ledger, struct bh_gpu gpu, const char *foreign)
{
	struct bh_error err = {0};
	char found[4] = "";

	assert_int_equal(bh_owned_mark(ledger, &gpu, &err), 0);
	found[0] = gpu.gis[0].foreign ? 'f' : 'o';
	for (size_t c = 0; c < gpu.gis[0].n_cis; c++)
		found[c + 1] = gpu.gis[0].cis[c].foreign ? 'f' : 'o';
	assert_string_equal(found, foreign);
}

static void what_is_ours_is_known_by_place_and_uuid(void **state)
{
	bh_auto_ledger struct bh_ledger *ledger = open_for_writing(*state);
	struct bh_gpu gpu = one_gpu();
	struct bh_error err = {0};

	check_mark(ledger, gpu, "fff");
	check_mark(NULL, gpu, "fff");
	own(ledger, &gpu);
	check_mark(ledger, gpu, "ooo");
	check_mark(NULL, gpu, "fff");
	/* ours had compute instances: one without is another's in its place */
	gpu.gis[0].n_cis = 0;
	check_mark(ledger, gpu, "f");
	gpu = one_gpu();
	gpu.gis[0].profile_id = 8;
	check_mark(ledger, gpu, "fff");
	gpu = one_gpu();
	gpu.gis[0].at.size = 3;
	check_mark(ledger, gpu, "fff");
	gpu = one_gpu();
	gpu.gis[0].at.start = 0;
	check_mark(ledger, gpu, "fff");
	/* one of another's beside ours; then none is ours */
	gpu = one_gpu();
	(void) snprintf(gpu.gis[0].cis[0].uuid, BH_UUID_SIZE, "MIG-x");
	check_mark(ledger, gpu, "ofo");
	(void) snprintf(gpu.gis[0].cis[1].uuid, BH_UUID_SIZE, "MIG-y");
	check_mark(ledger, gpu, "fff");
	gpu = one_gpu();
	gpu.gis[0].cis[1].at.size = 1;
	check_mark(ledger, gpu, "oof");
	gpu = one_gpu();
	(void) snprintf(gpu.uuid, BH_UUID_SIZE, "GPU-2");
	check_mark(ledger, gpu, "fff");
	/* what goes takes along what is in it */
	gpu = one_gpu();
	assert_int_equal(bh_owned_drop_ci(ledger, "GPU-1", &gpu.gis[0].at, &gpu.gis[0].cis[0].at,
					 &err),
			0);
	check_mark(ledger, gpu, "ofo");
	/* while both are taken back, or made, its place and profile are all there is */
	assert_int_equal(bh_owned_drop_ci(ledger, "GPU-1", &gpu.gis[0].at, &gpu.gis[0].cis[1].at,
					 &err),
			0);
	gpu.gis[0].n_cis = 0;
	check_mark(ledger, gpu, "o");
	gpu = one_gpu();
	check_mark(ledger, gpu, "fff");
	assert_int_equal(bh_owned_drop_gi(ledger, "GPU-1", &gpu.gis[0].at, &err), 0);
	check_mark(ledger, gpu, "fff");
	assert_int_equal(bh_owned_add_gi(ledger, "GPU-1", 9, &gpu.gis[0].at, &err), 0);
	check_mark(ledger, gpu, "fff");
	own(ledger, &gpu);
	assert_int_equal(bh_owned_drop_gpu(ledger, "GPU-2", &err), 0);
	check_mark(ledger, gpu, "ooo");
	assert_int_equal(bh_owned_drop_gpu(ledger, "GPU-1", &err), 0);
	check_mark(ledger, gpu, "fff");
}

/* A reboot, or a stranger, took things away: what is not there any more is forgotten, only that. */
static void what_is_gone_is_forgotten(void **state)
{
	bh_auto_ledger struct bh_ledger *ledger = open_for_writing(*state);
	struct bh_gpu gpu = one_gpu(), seen;
	struct bh_error err = {0};
	bool stale;

	own(ledger, &gpu);
	seen = gpu;
	assert_int_equal(bh_owned_mark(ledger, &seen, &err), 0);
	assert_int_equal(bh_owned_forget(ledger, &seen, /* only_look= */ false, &stale, &err), 0);
	assert_false(stale);
	check_mark(ledger, gpu, "ooo");
	/* one compute instance less */
	seen.gis[0].n_cis = 1;
	assert_int_equal(bh_owned_forget(ledger, &seen, /* only_look= */ true, &stale, &err), 0);
	assert_true(stale);
	check_mark(ledger, gpu, "ooo");
	assert_int_equal(bh_owned_forget(ledger, &seen, /* only_look= */ false, &stale, &err), 0);
	assert_true(stale);
	check_mark(ledger, gpu, "oof");
	/* a stranger's GPU instance in the place of ours */
	own(ledger, &gpu);
	seen = gpu;
	seen.gis[0].n_cis = 0;
	assert_int_equal(bh_owned_mark(ledger, &seen, &err), 0);
	assert_true(seen.gis[0].foreign);
	assert_int_equal(bh_owned_forget(ledger, &seen, /* only_look= */ false, &stale, &err), 0);
	assert_true(stale);
	check_mark(ledger, gpu, "fff");
	seen.gis[0].foreign = false;
	assert_int_equal(bh_owned_mark(ledger, &seen, &err), 0);
	assert_true(seen.gis[0].foreign);
	/* nothing there at all */
	own(ledger, &gpu);
	seen.n_gis = 0;
	assert_int_equal(bh_owned_forget(ledger, &seen, /* only_look= */ false, &stale, &err), 0);
	assert_true(stale);
	check_mark(ledger, gpu, "fff");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, state_set_up, state_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(a_reader_of_no_ledger_is_told_so_and_makes_none),
			TEST(a_reader_can_change_nothing),
			TEST(a_newer_ledger_is_refused_and_left_alone),
			TEST(a_foreign_database_is_refused_and_left_alone),
			TEST(garbage_is_refused_with_a_next_step),
			TEST(a_symlink_is_not_followed),
			TEST(a_name_that_is_too_long_is_refused),
			TEST(a_reader_sees_what_was_committed_and_nothing_else),
			TEST(numbers_of_runs_are_never_given_twice),
			TEST(the_same_wish_keeps_its_number),
			TEST(gpus_that_are_not_named_keep_their_place),
			TEST(an_event_is_of_its_transaction),
			TEST(what_is_ours_is_known_by_place_and_uuid),
			TEST(what_is_gone_is_forgotten),
	};

	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
