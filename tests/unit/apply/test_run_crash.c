/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process dies: before and after every commit, before and after every call, on the way there and
 * on the way back, once, twice, and at random. What comes after takes the run up. The layout is then
 * the old or the wanted one, never a third.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../ledger/faulty_disk.h"
#include "fake_machine.h"

#define RANDOM_CASES 1000 /* BULKHEAD_TEST_CASES asks for another number */

/* One call that is refused, one at which the process dies; and another at which it dies again. */
struct script {
	unsigned int refused, crash, again; /* calls, over all lives; UINT_MAX: never */
	enum fake_crash when, again_when;
};

static struct faulty_disk *disk;

static struct fake_event choose(struct fake_machine *machine, unsigned int call)
{
	const struct script *script = machine->script;
	struct fake_event event = {0};

	if (call == script->refused)
		event.act = FAKE_FAIL_BEFORE;
	if (call == script->crash)
		event.crash = script->when;
	if (call == script->again)
		event.crash = script->again_when;
	return event;
}

/* Lives on until no run is open; the script goes on over all lives. */
static void live_on(struct fake_machine *machine)
{
	for (int life = 0; machine->crashed; life++) {
		FAKE_CHECK(machine, life < 50, "it dies too often");
		fake_reopen(machine);
		(void) fake_resume(machine);
	}
	if (machine->ended)
		fake_check_end(machine);
	fake_recover(machine);
	fake_check_closed(machine);
}

static void start(struct fake_machine *machine, const struct fake_board *board,
		const struct script *script, const char *what)
{
	fake_reset(machine, board);
	machine->choose = choose;
	machine->script = script;
	(void) snprintf(machine->label, sizeof(machine->label),
			"%s: %s; call %d refused, death %s call %d, then %s call %d", board->name,
			what, (int) script->refused,
			script->when == FAKE_CRASH_BEFORE ? "before" : "after", (int) script->crash,
			script->again_when == FAKE_CRASH_BEFORE ? "before" : "after",
			(int) script->again);
}

static void death_at_a_call(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int when = FAKE_CRASH_BEFORE; when <= FAKE_CRASH_AFTER; when++) {
			struct script script = {UINT_MAX, 0, UINT_MAX, (enum fake_crash) when,
					FAKE_NO_CRASH};

			do {
				start(machine, &fake_boards[b], &script, "forward");
				machine->later = script.crash % 2;
				fake_run(machine);
				FAKE_CHECK(machine, machine->crashed, "it did not die");
				live_on(machine);
			} while (++script.crash < machine->plan.n_steps);
		}
	}
}

/* Refused at one call, dead at a later one: most of these are on the way back. */
static void death_after_a_refusal(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int when = FAKE_CRASH_BEFORE; when <= FAKE_CRASH_AFTER; when++) {
			struct script script = {
					0, 0, UINT_MAX, (enum fake_crash) when, FAKE_NO_CRASH};

			do {
				script.crash = script.refused;
				do {
					script.crash++;
					start(machine, &fake_boards[b], &script, "back");
					fake_run(machine);
					if (machine->crashed)
						machine->label[0] = '!';
					live_on(machine);
				} while (machine->label[0] == '!');
			} while (++script.refused < machine->plan.n_steps);
		}
	}
}

static void death_twice(void **state)
{
	struct fake_machine *machine = *state;
	const struct fake_board *board = &fake_boards[0];

	for (int whens = 0; whens < 4; whens++) {
		struct script script = {UINT_MAX, 0, 0,
				whens & 1 ? FAKE_CRASH_AFTER : FAKE_CRASH_BEFORE,
				whens & 2 ? FAKE_CRASH_AFTER : FAKE_CRASH_BEFORE};

		do {
			for (script.again = script.crash + 1; script.again < script.crash + 4;
					script.again++) {
				start(machine, board, &script, "twice");
				fake_run(machine);
				live_on(machine);
			}
		} while (++script.crash < machine->plan.n_steps);
	}
}

/* kind 0: before, 1: after a commit; of a run that goes through, or is refused at @refused. */
static bool die_at_commit(struct fake_machine *machine, const struct fake_board *board,
		const struct script *script, unsigned int commit, int kind)
{
	bool died;

	start(machine, board, script, kind ? "death after a commit" : "death before a commit");
	if (kind)
		machine->crash_after_commit = commit;
	else
		machine->crash_before_commit = commit;
	fake_run(machine);
	died = machine->crashed;
	if (died) {
		(void) snprintf(machine->label + strlen(machine->label),
				sizeof(machine->label) - strlen(machine->label), ", commit %u",
				commit);
		/* what it believed while it died is nothing to anybody */
		machine->ended = false;
	}
	live_on(machine);
	return died;
}

static void death_at_every_commit(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		struct script script = {UINT_MAX, UINT_MAX, UINT_MAX, 0, 0};
		unsigned int refused = 0;

		do {
			for (int kind = 0; kind < 2; kind++) {
				for (unsigned int n = 1; die_at_commit(
						     machine, &fake_boards[b], &script, n, kind);
						n++)
					;
			}
			script.refused = refused;
			refused += 2; /* the calls between look alike */
		} while (script.refused < machine->plan.n_steps);
	}
}

static void a_run_in_the_journal_before_its_first_call_is_carried_through(void **state)
{
	struct fake_machine *machine = *state;
	struct script script = {UINT_MAX, 0, UINT_MAX, FAKE_CRASH_BEFORE, FAKE_NO_CRASH};

	assert_true(die_at_commit(machine, &fake_boards[0], &script, 1, 1));
	assert_int_equal(fake_query_int(machine, "SELECT COUNT(*) FROM run WHERE state = 'done'"),
			1);
}

static void a_gpu_has_one_open_run_at_most(void **state)
{
	static const struct bh_run_ops none;
	struct fake_machine *machine = *state;
	struct script script = {UINT_MAX, 1, UINT_MAX, FAKE_CRASH_AFTER, FAKE_NO_CRASH};
	struct bh_run *second = NULL;
	struct bh_error err = {0};

	start(machine, &fake_boards[0], &script, "a second run");
	fake_run(machine);
	assert_true(machine->crashed);
	fake_reopen(machine);
	assert_int_equal(bh_ledger_begin(machine->ledger, &err), 0);
	assert_int_equal(bh_run_new(machine->ledger, &machine->plan, &none, NULL, &second, &err),
			-1);
	assert_null(second);
	assert_int_equal(err.code, BH_E_INTERNAL);
	assert_int_equal(err.source, BH_SRC_SQLITE);
	bh_ledger_rollback(machine->ledger);
	fake_recover(machine);
	fake_check_closed(machine);
	/* now there is room for another */
	assert_int_equal(bh_ledger_begin(machine->ledger, &err), 0);
	assert_int_equal(
			bh_run_new(machine->ledger, &machine->plan, &none, NULL, &second, &err), 0);
	bh_ledger_rollback(machine->ledger);
	bh_run_free(second);
}

static void a_run_that_somebody_else_closed_asks_for_nothing_more(void **state)
{
	struct fake_machine *machine = *state;
	bh_auto_journal_run struct bh_journal_run *journal = NULL;
	struct script script = {UINT_MAX, 2, UINT_MAX, FAKE_CRASH_AFTER, FAKE_NO_CRASH};
	struct bh_error err = {0};

	start(machine, &fake_boards[0], &script, "closed by another");
	fake_run(machine);
	fake_reopen(machine);
	assert_int_equal(bh_journal_next_open(machine->ledger, 0, &journal, &err), 0);
	assert_int_equal(sqlite3_exec(machine->watch,
					 "UPDATE run SET state = 'abandoned', closed_at = 1", NULL,
					 NULL, NULL),
			SQLITE_OK);
	machine->journal_failed = false;
	assert_int_equal(bh_ledger_begin(machine->ledger, &err), 0);
	assert_int_equal(bh_journal_set_step(
					 machine->ledger, journal->id, 0, BH_STEP_DONE, "", &err),
			-1);
	assert_non_null(strstr(err.message, "no longer open"));
	assert_int_equal(bh_journal_turn_back(machine->ledger, journal->id, "", &err), -1);
	assert_int_equal(bh_journal_close_run(machine->ledger, journal->id, "done", "", &err), -1);
	bh_ledger_rollback(machine->ledger);
}

/* The journal fails, the process lives: nothing more is asked, and the run is left. */
static void a_failed_commit_stops_everything(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		struct script script = {UINT_MAX, UINT_MAX, UINT_MAX, 0, 0};
		unsigned int refused = 0;

		do {
			for (unsigned int n = 2;; n++) {
				bool failed;

				start(machine, &fake_boards[b], &script, "a commit fails");
				machine->fail_commit = n;
				fake_run(machine);
				failed = machine->journal_failed;
				FAKE_CHECK(machine, machine->ended, "it hangs");
				fake_check_busy(machine);
				if (!failed)
					break;
				FAKE_CHECK(machine, machine->result.end == BH_RUN_LEFT,
						"the journal failed");
				FAKE_CHECK(machine,
						machine->result.undo_err.source == BH_SRC_SQLITE,
						"who failed?");
				FAKE_CHECK(machine, machine->result.err.message[0], "no cause");
				if (script.refused == UINT_MAX)
					FAKE_CHECK(machine,
							machine->result.n_left ==
									machine->driver_calls,
							"%u steps were carried out",
							machine->driver_calls);
				fake_recover(machine);
				fake_check_closed(machine);
			}
			script.refused = refused++;
		} while (script.refused < machine->plan.n_steps);
	}
}

static struct fake_event choose_on_full_disk(struct fake_machine *machine, unsigned int call)
{
	FAKE_CHECK(machine, !disk->failed, "asked although the disk is full");
	return (struct fake_event){0};
}

/* The disk fills up at a write; every one after it fails, too. */
static void a_full_disk_leaves_the_run_and_the_machine_in_peace(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < 2; b++) {
		for (unsigned int n = 1;; n++) {
			fake_reset(machine, &fake_boards[b]);
			(void) snprintf(machine->label, sizeof(machine->label),
					"%s: the disk is full at write %u", fake_boards[b].name, n);
			machine->choose = choose_on_full_disk;
			machine->may_fail = true;
			disk->changes = 0;
			disk->failed = false;
			disk->goes_on = true;
			disk->fail_at = n;
			fake_run(machine);
			disk->fail_at = 0;
			if (!disk->failed)
				break;
			if (machine->ended) {
				FAKE_CHECK(machine, machine->result.end == BH_RUN_LEFT, "full");
				FAKE_CHECK(machine, machine->result.err.source == BH_SRC_SQLITE,
						"who failed?");
				FAKE_CHECK(machine, strstr(machine->result.err.next, "disk"),
						"no next step");
			}
			fake_recover(machine);
			fake_check_closed(machine);
		}
		fake_check_end(machine);
		FAKE_CHECK(machine, machine->result.end == BH_RUN_DONE, "not done");
	}
}

static void the_first_cause_survives_a_death_on_the_way_back(void **state)
{
	struct fake_machine *machine = *state;
	struct script script = {4, 5, UINT_MAX, FAKE_CRASH_AFTER, FAKE_NO_CRASH};
	char note[256];

	start(machine, &fake_boards[0], &script, "the cause");
	fake_run(machine);
	assert_true(machine->crashed);
	fake_reopen(machine);
	assert_true(fake_resume(machine));
	assert_int_equal(machine->result.end, BH_RUN_ROLLED_BACK);
	assert_non_null(strstr(machine->result.err.message, "the fake says no"));
	fake_query(machine, "SELECT note FROM run", note, sizeof(note));
	assert_non_null(strstr(note, "the fake says no"));
	fake_query(machine, "SELECT body FROM event WHERE kind = 'RolledBack'", note, sizeof(note));
	assert_non_null(strstr(note, "the fake says no"));
}

static struct fake_event choose_at_random(struct fake_machine *machine, unsigned int call)
{
	struct fake_event event = {0};

	if (fake_random(&machine->random, 4) == 0)
		event.act = (enum fake_act) fake_random(&machine->random, FAKE_ACT_COUNT);
	if (fake_random(&machine->random, 6) == 0)
		event.crash = (enum fake_crash)(1 + fake_random(&machine->random, 2));
	return event;
}

static void live_at_random(struct fake_machine *machine)
{
	bool open = true;

	fake_run(machine);
	for (int life = 0; life < 40 && open; life++) {
		if (machine->ended && !machine->crashed)
			fake_check_end(machine);
		fake_reopen(machine);
		machine->later = fake_random(&machine->random, 2);
		machine->free_at_end = fake_random(&machine->random, 2);
		machine->blind = fake_random(&machine->random, 8) == 0;
		if (fake_random(&machine->random, 3) == 0) {
			unsigned int n = machine->commits + 1 +
					 (unsigned int) fake_random(&machine->random, 8);

			if (fake_random(&machine->random, 2))
				machine->crash_before_commit = n;
			else
				machine->crash_after_commit = n;
		}
		open = fake_resume(machine);
		if (machine->crashed)
			machine->ended = false;
	}
	fake_recover(machine);
	fake_check_closed(machine);
}

static void faults_and_deaths_at_random(void **state)
{
	struct fake_machine *machine = *state;
	const char *given = getenv("BULKHEAD_TEST_SEED");
	uint64_t first = given ? strtoull(given, NULL, 10) : 1;
	const char *cases = getenv("BULKHEAD_TEST_CASES");
	uint64_t n = given ? 1 : cases ? strtoull(cases, NULL, 10) : RANDOM_CASES;

	for (uint64_t seed = first; seed < first + n; seed++) {
		const struct fake_board *board = &fake_boards[seed % fake_n_boards];

		fake_reset(machine, board);
		machine->random = seed;
		machine->choose = choose_at_random;
		(void) snprintf(machine->label, sizeof(machine->label),
				"%s: BULKHEAD_TEST_SEED=%llu", board->name,
				(unsigned long long) seed);
		live_at_random(machine);
	}
}

static int set_up(void **state)
{
	disk = faulty_disk_install();
	*state = fake_new();
	return 0;
}

static int tear_down(void **state)
{
	fake_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(death_at_a_call),
			cmocka_unit_test(death_after_a_refusal),
			cmocka_unit_test(death_twice),
			cmocka_unit_test(death_at_every_commit),
			cmocka_unit_test(
					a_run_in_the_journal_before_its_first_call_is_carried_through),
			cmocka_unit_test(a_gpu_has_one_open_run_at_most),
			cmocka_unit_test(a_run_that_somebody_else_closed_asks_for_nothing_more),
			cmocka_unit_test(a_failed_commit_stops_everything),
			cmocka_unit_test(a_full_disk_leaves_the_run_and_the_machine_in_peace),
			cmocka_unit_test(the_first_cause_survives_a_death_on_the_way_back),
			cmocka_unit_test(faults_and_deaths_at_random),
	};

	return cmocka_run_group_tests_name("run: deaths", tests, set_up, tear_down);
}
