/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody else acts between the calls: makes an instance in the way, destroys or replaces one of
 * ours, uses what we made, reboots the machine; beside a refusal, a death, or nothing. What is not
 * ours is never destroyed (the machine itself complains) and never called ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "fake_machine.h"

struct script {
	unsigned int meddled, wrong, crash; /* calls; UINT_MAX: never */
	enum fake_meddle meddle;
	enum fake_act act;
};

static struct fake_event choose(struct fake_machine *machine, unsigned int call)
{
	const struct script *script = machine->script;
	struct fake_event event = {0};

	if (call == script->meddled)
		event.meddle = script->meddle;
	if (call == script->wrong)
		event.act = script->act;
	if (call == script->crash)
		event.crash = FAKE_CRASH_AFTER;
	return event;
}

static bool took_away(const struct fake_machine *machine)
{
	const struct script *script = machine->script;

	return script->meddle >= FAKE_MEDDLE_DESTROY_OURS;
}

/* What every step of the plan left, or what it found, is there. */
static void check_steps(struct fake_machine *machine, bool done)
{
	for (size_t i = 0; i < machine->plan.n_steps; i++) {
		const struct bh_step *step = &machine->plan.steps[i];
		struct bh_step undo;
		char text[160];

		if (!bh_step_undo(step, &undo))
			continue;
		bh_step_describe(step, text, sizeof(text));
		if (took_away(machine))
			continue; /* it was seen so; the caller reads back once more */
		if (done)
			FAKE_CHECK(machine, bh_step_want_holds(step, &machine->gpu),
					"done, and '%s' is not so", text);
		else if (undo.kind != BH_STEP_DESTROY_GI && undo.kind != BH_STEP_DESTROY_CI)
			FAKE_CHECK(machine, bh_step_want_holds(&undo, &machine->gpu),
					"rolled back, and '%s' is not", text);
	}
	for (size_t g = 0; !done && g < machine->gpu.n_gis; g++)
		FAKE_CHECK(machine, !machine->made[machine->gpu.gis[g].id],
				"rolled back, and what it made at %u stands",
				machine->gpu.gis[g].at.start);
}

static void check_meddled(struct fake_machine *machine)
{
	const struct bh_run_result *result = &machine->result;

	FAKE_CHECK(machine, machine->ended, "it has not ended");
	fake_check_busy(machine);
	if (machine->undecidable)
		return;
	if (result->end != BH_RUN_DONE)
		FAKE_CHECK(machine, result->err.message[0], "no cause is told");
	if (result->end == BH_RUN_DONE || result->end == BH_RUN_ROLLED_BACK) {
		check_steps(machine, result->end == BH_RUN_DONE);
	} else {
		FAKE_CHECK(machine, result->undo_err.message[0], "left, and no cause is told");
		FAKE_CHECK(machine, result->n_left > 0, "left, and nothing is left");
	}
	fake_check_strangers(machine);
}

static void start(struct fake_machine *machine, const struct fake_board *board,
		const struct script *script)
{
	fake_reset(machine, board);
	machine->choose = choose;
	machine->script = script;
	(void) snprintf(machine->label, sizeof(machine->label),
			"%s: %s at call %d; call %d: %s; death after call %d", board->name,
			fake_meddle_names[script->meddle], (int) script->meddled,
			(int) script->wrong, fake_act_names[script->act], (int) script->crash);
}

static void somebody_else_acts_at_every_call(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int what = 1; what < FAKE_MEDDLE_COUNT; what++) {
			struct script script = {0, UINT_MAX, UINT_MAX, (enum fake_meddle) what, 0};

			do {
				start(machine, &fake_boards[b], &script);
				fake_run(machine);
				check_meddled(machine);
			} while (++script.meddled < machine->plan.n_steps);
		}
	}
}

static void somebody_else_acts_and_a_later_call_goes_wrong(void **state)
{
	static const enum fake_act acts[] = {FAKE_FAIL_BEFORE_UNSEEN, FAKE_UNKNOWN_BEFORE};
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int what = 1; what < FAKE_MEDDLE_COUNT; what++) {
			for (size_t a = 0; a < BH_ARRAY_SIZE(acts); a++) {
				struct script script = {
						0, 0, UINT_MAX, (enum fake_meddle) what, acts[a]};

				do {
					script.wrong = script.meddled;
					do {
						start(machine, &fake_boards[b], &script);
						fake_run(machine);
						check_meddled(machine);
					} while (++script.wrong < script.meddled + 2);
				} while (++script.meddled < machine->plan.n_steps);
			}
		}
	}
}

static void somebody_else_acts_on_the_way_back(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int what = 1; what < FAKE_MEDDLE_COUNT; what++) {
			struct script script = {
					0, 0, UINT_MAX, (enum fake_meddle) what, FAKE_FAIL_BEFORE};

			do {
				for (script.meddled = script.wrong;
						script.meddled < script.wrong + 4;
						script.meddled++) {
					start(machine, &fake_boards[b], &script);
					fake_run(machine);
					check_meddled(machine);
				}
			} while (++script.wrong < machine->plan.n_steps);
		}
	}
}

/* While the process is dead, and the next one takes the run up. */
static void somebody_else_acts_after_a_death(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int what = 1; what < FAKE_MEDDLE_COUNT; what++) {
			struct script script = {0, UINT_MAX, 0, (enum fake_meddle) what, 0};

			do {
				script.meddled = script.crash;
				start(machine, &fake_boards[b], &script);
				fake_run(machine);
				fake_reopen(machine);
				FAKE_CHECK(machine, fake_resume(machine), "no run is open");
				check_meddled(machine);
			} while (++script.crash < machine->plan.n_steps);
		}
	}
}

static void what_is_in_use_by_now_stays_and_is_told(void **state)
{
	struct fake_machine *machine = *state;
	/* quiesce, set-mig, create-gi, create-ci: used; then refused */
	struct script script = {3, 4, UINT_MAX, FAKE_MEDDLE_USE_OURS, FAKE_FAIL_BEFORE};

	start(machine, &fake_boards[0], &script);
	fake_run(machine);
	check_meddled(machine);
	assert_int_equal(machine->result.end, BH_RUN_LEFT);
	assert_int_equal(machine->result.undo_err.code, BH_E_IN_USE);
	assert_int_equal(machine->calls, 5); /* nobody is even asked to destroy it */
	assert_int_equal(machine->gpu.n_gis, 1);
	assert_true(machine->gpu.gis[0].busy);
	/* once it is idle the next one takes it back */
	machine->gpu.gis[0].busy = machine->gpu.gis[0].cis[0].busy = false;
	machine->meddled = false;
	fake_recover(machine);
	fake_check_closed(machine);
}

static void a_reboot_closes_the_run(void **state)
{
	struct fake_machine *machine = *state;
	struct script script = {4, UINT_MAX, UINT_MAX, FAKE_MEDDLE_REBOOT_MODE, FAKE_OK};

	start(machine, &fake_boards[1], &script);
	fake_run(machine);
	check_meddled(machine);
	assert_int_equal(machine->result.end, BH_RUN_ABANDONED);
	assert_int_equal(fake_query_int(machine, "SELECT COUNT(*) FROM run WHERE state = 'open'"),
			0);
}

static int set_up(void **state)
{
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
			cmocka_unit_test(somebody_else_acts_at_every_call),
			cmocka_unit_test(somebody_else_acts_and_a_later_call_goes_wrong),
			cmocka_unit_test(somebody_else_acts_on_the_way_back),
			cmocka_unit_test(somebody_else_acts_after_a_death),
			cmocka_unit_test(what_is_in_use_by_now_stays_and_is_told),
			cmocka_unit_test(a_reboot_closes_the_run),
	};

	return cmocka_run_group_tests_name("run: somebody else", tests, set_up, tear_down);
}
