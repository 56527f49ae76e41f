/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation and each write of the ledger's work fails in turn, ours (the linker sends them
 * here) and SQLite's. What is reported as written down is; what failed left nothing behind; and
 * nothing is read wrongly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sqlite3.h>
#include <string.h>

#include "faulty_disk.h"
#include "ledger/generation.h"
#include "ledger/journal.h"
#include "ledger/owned.h"
#include "state.h"

static size_t calls, fail_at; /* fail_at 0: none */
static bool goes_on;
static sqlite3_mem_methods sqlite_memory;
static struct faulty_disk *disk;

static bool fails(void)
{
	calls++;
	return fail_at && (calls == fail_at || (goes_on && calls > fail_at));
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

static void *sqlite_malloc(int size)
{
	return fails() ? NULL : sqlite_memory.xMalloc(size);
}

static void *sqlite_realloc(void *memory, int size)
{
	return fails() ? NULL : sqlite_memory.xRealloc(memory, size);
}

/* jansson's, by its own door */
static void *json_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

/* ----------------------------------------------------------------- the work */

static const char body[] =
		"{\"kind\": \"a text that is long enough to be moved by SQLite when it is"
		" asked for, which takes memory\"}";

/* Everything that a run of two steps writes, each transaction by itself. */
static int open_run(struct bh_ledger *ledger, int64_t *ret_id, struct bh_error *err)
{
	const char *bodies[] = {body, body};
	json_t *layout = json_pack("[{s:s}]", "uuid", "GPU-1");
	int64_t n;
	int r;

	if (!layout)
		return bh_fail_memory(err);
	r = bh_ledger_begin(ledger, err);
	if (r == 0) {
		r = bh_generation_propose(ledger, "spec", "", "0", layout, &n, err);
		if (r == 0)
			r = bh_journal_open_run(ledger, "GPU-1", bodies, 2, "", ret_id, err);
		if (r == 0)
			r = bh_ledger_commit(ledger, err);
		else
			bh_ledger_rollback(ledger);
	}
	json_decref(layout);
	return r;
}

static int do_steps(struct bh_ledger *ledger, int64_t id, struct bh_error *err)
{
	static const struct bh_placement at = {4, 4};
	static const struct bh_ci ci = {.at = {0, 3}, .uuid = "MIG-1"};

	if (bh_ledger_begin(ledger, err) < 0)
		return -1;
	if (bh_journal_set_step(ledger, id, 0, BH_STEP_DONE, "", err) < 0 ||
			bh_owned_add_gi(ledger, "GPU-1", 9, &at, err) < 0 ||
			bh_owned_add_ci(ledger, "GPU-1", &at, &ci, err) < 0 ||
			bh_journal_turn_back(ledger, id, "the reason", err) < 0 ||
			bh_ledger_event(ledger, "StepDone", "GPU-1", "", err) < 0) {
		bh_ledger_rollback(ledger);
		return -1;
	}
	return bh_ledger_commit(ledger, err);
}

/* What is read is what was written: all of it, or an error. */
static int read_back(struct bh_ledger *ledger, bool stepped, struct bh_error *err)
{
	bh_auto_journal_run struct bh_journal_run *run = NULL;
	bh_auto_json json_t *last = NULL;
	struct bh_generation generation = {0};
	struct bh_gpu gpu = {.uuid = "GPU-1",
			.n_gis = 1,
			.gis = {{.profile_id = 9,
					.at = {4, 4},
					.n_cis = 1,
					.cis = {{.at = {0, 3}, .uuid = "MIG-1"}}}}};
	int r = bh_journal_next_open(ledger, 0, &run, err);

	if (r != 0)
		return r < 0 ? -1 : 1;
	assert_int_equal(run->n_steps, 2);
	assert_string_equal(run->gpu, "GPU-1");
	assert_string_equal(run->steps[0].body, body);
	assert_string_equal(run->steps[1].body, body);
	assert_int_equal(run->steps[0].state, stepped ? BH_STEP_DONE : BH_STEP_PLANNED);
	assert_int_equal(run->backward, stepped);
	assert_string_equal(run->note, stepped ? "the reason" : "");
	if (bh_journal_last_run(ledger, &last, err) < 0)
		return -1;
	assert_string_equal(json_string_value(json_object_get(last, "gpu")), "GPU-1");
	assert_string_equal(json_string_value(json_object_get(last, "state")), "open");
	assert_string_equal(json_string_value(json_object_get(last, "direction")),
			stepped ? "backward" : "forward");
	if (bh_generation_last(ledger, &generation, err) < 0)
		return -1;
	assert_int_equal(generation.n, 1);
	assert_string_equal(generation.sha256, "0");
	bh_generation_clear(&generation);
	if (bh_owned_mark(ledger, &gpu, err) < 0)
		return -1;
	assert_int_equal(gpu.gis[0].foreign, !stepped);
	assert_int_equal(gpu.gis[0].cis[0].foreign, !stepped);
	return 0;
}

/* How far it came: 0 nothing, 1 opened, 2 the run is written down, 3 its steps, 4 read back. */
static int work(const struct state *s, struct bh_error *err)
{
	bh_auto_ledger struct bh_ledger *ledger = NULL;
	int64_t id;

	if (bh_ledger_open(s->dir, BH_LEDGER_WRITE, &ledger, err) < 0)
		return 0;
	if (open_run(ledger, &id, err) < 0)
		return 1;
	if (do_steps(ledger, id, err) < 0)
		return 2;
	return read_back(ledger, true, err) < 0 ? 3 : 4;
}

/* Everything is healthy again: is there what was said to be? */
static void check_what_is_there(const struct state *s, int reached, size_t n)
{
	bh_auto_ledger struct bh_ledger *ledger = NULL;
	struct bh_error err = {0};
	int r;

	if (bh_ledger_open(s->dir, BH_LEDGER_WRITE, &ledger, &err) != 0)
		fail_msg("failure %zu: %s", n, err.message);
	r = read_back(ledger, reached > 2, &err);
	if (r < 0 || (r == 0) != (reached > 1))
		fail_msg("failure %zu: reached %d, found %d", n, reached, r);
}

static void a_healthy_machine_does_all_of_it(void **state)
{
	struct bh_error err = {0};

	assert_int_equal(work(*state, &err), 4);
	check_what_is_there(*state, 4, 0);
}

/* From the first on, @step by @step; in a fresh directory, or one that has a ledger already. */
static void fail_allocations(const struct state *s, bool fresh, size_t step, bool all_after)
{
	for (size_t n = 1;; n += step) {
		struct bh_error err = {0};
		int reached;

		if (!fresh) {
			bh_auto_ledger struct bh_ledger *ledger = NULL;

			if (bh_ledger_open(s->dir, BH_LEDGER_WRITE, &ledger, &err) < 0)
				fail_msg("%s", err.message);
		}
		calls = 0;
		goes_on = all_after;
		fail_at = n;
		reached = work(s, &err);
		fail_at = 0;
		if (reached == 4 && calls < n)
			break;
		assert_true(n < 20000);
		if (reached < 4 && !err.message[0])
			fail_msg("allocation %zu: a failure without a word", n);
		check_what_is_there(s, reached, n);
		state_clear(s);
	}
	state_clear(s);
}

static void each_allocation_fails(void **state)
{
	/* making the tables is one transaction with hundreds of allocations: some of those */
	fail_allocations(*state, /* fresh= */ true, /* step= */ 11, /* all_after= */ false);
	fail_allocations(*state, /* fresh= */ true, /* step= */ 31, /* all_after= */ true);
	fail_allocations(*state, /* fresh= */ false, /* step= */ 1, /* all_after= */ false);
	fail_allocations(*state, /* fresh= */ false, /* step= */ 5, /* all_after= */ true);
}

/* The write of number @n fails: alone, or as on a disk that is full from there on. */
static void each_write_fails(void **state)
{
	const struct state *s = *state;

	for (int on = 0; on < 2; on++) {
		for (unsigned int n = 1;; n++) {
			struct bh_error err = {0};
			int reached;

			disk->changes = 0;
			disk->failed = false;
			disk->goes_on = on;
			disk->fail_at = n;
			reached = work(s, &err);
			disk->fail_at = 0;
			if (!disk->failed)
				break;
			if (reached < 4) {
				assert_int_equal(err.source, BH_SRC_SQLITE);
				assert_int_equal(err.code, BH_E_INTERNAL);
				if (!strstr(err.next, "disk"))
					fail_msg("write %u: '%s', next '%s'", n, err.message,
							err.next);
			}
			/* what failed to be written may still be there after a failed sync */
			if (reached == 4)
				check_what_is_there(s, reached, n);
			state_clear(s);
		}
		state_clear(s);
	}
}

static int set_up(void **state)
{
	sqlite3_mem_methods mine;

	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory) != SQLITE_OK)
		return -1;
	mine = sqlite_memory;
	mine.xMalloc = sqlite_malloc;
	mine.xRealloc = sqlite_realloc;
	/* no lookaside: every allocation is one that can fail */
	if (sqlite3_config(SQLITE_CONFIG_MALLOC, &mine) != SQLITE_OK ||
			sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK ||
			sqlite3_initialize() != SQLITE_OK)
		return -1;
	json_set_alloc_funcs(json_malloc, free);
	disk = faulty_disk_install();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, state_set_up, state_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(a_healthy_machine_does_all_of_it),
			TEST(each_allocation_fails),
			TEST(each_write_fails),
	};

	return cmocka_run_group_tests_name("ledger: failures", tests, set_up, NULL);
}
