/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of a run goes wrong in every way, alone and from then on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "fake_machine.h"

struct fault {
	unsigned int first, last; /* calls */
	enum fake_act act;
};

static struct fake_event choose(struct fake_machine *machine, unsigned int call)
{
	const struct fault *fault = machine->script;
	struct fake_event event = {0};

	if (call >= fault->first && call <= fault->last)
		event.act = fault->act;
	return event;
}

static void run_with(struct fake_machine *machine, const struct fake_board *board,
		const struct fault *fault, bool later)
{
	fake_reset(machine, board);
	machine->choose = choose;
	machine->script = fault;
	machine->later = later;
	machine->free_at_end = later;
	(void) snprintf(machine->label, sizeof(machine->label), "%s: calls %u to %u: %s%s",
			board->name, fault->first, fault->last, fake_act_names[fault->act],
			later ? ", answers come later" : "");
	fake_run(machine);
}

static void a_run_that_nothing_disturbs_is_done(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int later = 0; later < 2; later++) {
			static const struct fault none = {1000, 1000, FAKE_OK};

			run_with(machine, &fake_boards[b], &none, later);
			fake_check_end(machine);
			FAKE_CHECK(machine, machine->result.end == BH_RUN_DONE, "not done");
			FAKE_CHECK(machine, machine->calls == machine->plan.n_steps,
					"the plan has %zu steps", machine->plan.n_steps);
			FAKE_CHECK(machine, machine->looks == 0, "it looks more than it needs");
			assert_true(fake_boards[b].has_busy == (machine->busy_uuid[0] != '\0'));
		}
	}
}

/* The end of a run of which one call went wrong once. */
static enum bh_run_end expected_end(enum fake_act act, bool quiesce)
{
	switch (act) {
	case FAKE_OK:
	case FAKE_DONE_UNSEEN:
	case FAKE_UNKNOWN_BEFORE: /* observed, and asked once more */
	case FAKE_UNKNOWN_AFTER:
	case FAKE_UNKNOWN_UNSENT:
		return BH_RUN_DONE;
	case FAKE_FAIL_AFTER:
	case FAKE_FAIL_AFTER_UNSEEN:
		return quiesce ? BH_RUN_ROLLED_BACK : BH_RUN_DONE;
	case FAKE_SILENT:
	case FAKE_SILENT_UNSEEN:
		return quiesce ? BH_RUN_DONE : BH_RUN_ROLLED_BACK;
	case FAKE_FAIL_BEFORE:
	case FAKE_FAIL_BEFORE_UNSEEN:
	case FAKE_NEVER_SENT:
	case FAKE_REFUSED:
		return BH_RUN_ROLLED_BACK;
	case FAKE_BLIND_DONE:
	case FAKE_BLIND_REFUSED:
		return quiesce ? BH_RUN_DONE : BH_RUN_LEFT;
	default:
		return BH_RUN_LEFT;
	}
}

static enum bh_code expected_code(enum fake_act act)
{
	switch (act) {
	case FAKE_SILENT:
	case FAKE_SILENT_UNSEEN:
		return BH_E_NOT_APPLIED;
	case FAKE_REFUSED:
		return BH_E_NO_DRIVER;
	case FAKE_FAIL_BEFORE:
	case FAKE_FAIL_BEFORE_UNSEEN:
	case FAKE_NEVER_SENT:
		return BH_E_IN_USE;
	case FAKE_FAIL_AFTER:
	case FAKE_FAIL_AFTER_UNSEEN:
		return BH_E_INTERNAL;
	default:
		return BH_E_DEADLINE;
	}
}

static void check_once(struct fake_machine *machine, const struct fault *fault)
{
	const struct bh_run_result *result = &machine->result;
	bool quiesce = machine->plan.steps[fault->first].kind == BH_STEP_QUIESCE;

	fake_check_end(machine);
	FAKE_CHECK(machine, result->end == expected_end(fault->act, quiesce), "another end: %d",
			(int) expected_end(fault->act, quiesce));
	if (result->end != BH_RUN_DONE && fault->act != FAKE_BLIND_REFUSED)
		FAKE_CHECK(machine, result->err.code == expected_code(fault->act), "code %s",
				bh_code_name(result->err.code));
	if (machine->driver_calls == 1 && result->end == BH_RUN_ROLLED_BACK)
		FAKE_CHECK(machine, result->n_undone <= 1, "one call, and more is undone");
	/* the word for "nothing was changed" must be true */
	if (!result->touched && result->n_undone <= 1)
		FAKE_CHECK(machine, fake_layout_is(machine, &machine->old),
				"changed, and it says untouched");
	if (result->end == BH_RUN_LEFT) {
		fake_recover(machine);
		fake_check_closed(machine);
	}
}

static void one_call_goes_wrong_once(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int act = 0; act < FAKE_ACT_COUNT; act++) {
			struct fault fault = {.act = (enum fake_act) act};

			do {
				fault.last = fault.first;
				run_with(machine, &fake_boards[b], &fault, fault.first % 2);
				check_once(machine, &fault);
			} while (++fault.first < machine->plan.n_steps);
		}
	}
}

static void every_call_goes_wrong_from_one_on(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int act = 1; act < FAKE_ACT_COUNT; act++) {
			struct fault fault = {.act = (enum fake_act) act, .last = 1000};

			do {
				run_with(machine, &fake_boards[b], &fault, fault.first % 2 == 0);
				fake_check_end(machine);
				FAKE_CHECK(machine, machine->calls < 40, "it does not give up");
				fake_recover(machine);
				fake_check_closed(machine);
			} while (++fault.first < machine->plan.n_steps);
		}
	}
}

/* A refusal, and on the way back another fault, at every pair of calls. */
static struct fake_event choose_two(struct fake_machine *machine, unsigned int call)
{
	const struct fault *faults = machine->script;
	struct fake_event event = {0};

	for (int i = 0; i < 2; i++) {
		if (call >= faults[i].first && call <= faults[i].last)
			event.act = faults[i].act;
	}
	return event;
}

static void the_way_back_goes_wrong(void **state)
{
	struct fake_machine *machine = *state;

	for (size_t b = 0; b < fake_n_boards; b++) {
		for (int act = 0; act < FAKE_ACT_COUNT; act++) {
			struct fault faults[2] = {{0, 0, FAKE_FAIL_BEFORE}, {0, 0, act}};
			unsigned int calls;

			if ((b + (size_t) act) % 3 != 0)
				continue; /* a third of it: every fault on one board or two */
			do {
				faults[1].first = faults[0].first + 1;
				do {
					faults[0].last = faults[0].first;
					faults[1].last = faults[1].first;
					fake_reset(machine, &fake_boards[b]);
					(void) snprintf(machine->label, sizeof(machine->label),
							"%s: call %u refused, call %u: %s",
							fake_boards[b].name, faults[0].first,
							faults[1].first, fake_act_names[act]);
					machine->choose = choose_two;
					machine->script = faults;
					fake_run(machine);
					fake_check_end(machine);
					FAKE_CHECK(machine, machine->result.end != BH_RUN_DONE,
							"done after a refusal");
					FAKE_CHECK(machine, machine->result.err.code == BH_E_IN_USE,
							"the first cause is lost: %s",
							machine->result.err.message);
					calls = machine->calls;
					fake_recover(machine);
					fake_check_closed(machine);
				} while (++faults[1].first < calls);
			} while (++faults[0].first < machine->plan.n_steps);
		}
	}
}

static void a_rollback_takes_back_the_last_step_first(void **state)
{
	struct fake_machine *machine = *state;
	struct fault fault = {.act = FAKE_FAIL_BEFORE};
	char order[256];

	fake_reset(machine, &fake_boards[0]);
	fault.first = fault.last = (unsigned int) machine->plan.n_steps - 1;
	run_with(machine, &fake_boards[0], &fault, false);
	fake_check_end(machine);
	assert_int_equal(machine->result.end, BH_RUN_ROLLED_BACK);
	/* everything but quiesce happened or was tried, and is undone */
	assert_int_equal(machine->result.n_undone, machine->plan.n_steps - 1);
	assert_int_equal(machine->calls, 2 * machine->plan.n_steps - 2);
	fake_query(machine, "SELECT group_concat(kind) FROM event", order, sizeof(order));
	assert_string_equal(order, "RolledBack");
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
			cmocka_unit_test(a_run_that_nothing_disturbs_is_done),
			cmocka_unit_test(one_call_goes_wrong_once),
			cmocka_unit_test(every_call_goes_wrong_from_one_on),
			cmocka_unit_test(the_way_back_goes_wrong),
			cmocka_unit_test(a_rollback_takes_back_the_last_step_first),
	};

	return cmocka_run_group_tests_name("run: faults", tests, set_up, tear_down);
}
