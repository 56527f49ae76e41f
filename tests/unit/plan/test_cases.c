/* SPDX-License-Identifier: Apache-2.0 */
/* Cases from the field and from the vendor's guide, with the very words of the answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "plan/refuse.h"

#define A100	"GPU 0 (NVIDIA A100-SXM4-40GB)"
#define A30	"GPU 0 (NVIDIA A30)"
#define H100	"GPU 0 (NVIDIA H100 80GB HBM3)"
#define NO_ROOM "the wanted layout has no room beside what must stay"

static void plan_rows(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n_rows,
		struct bh_gpu_plan *ret_plan)
{
	struct bh_gpu_want want;
	struct bh_error err = {0};

	board_want(gpu, rows, n_rows, &want);
	if (bh_plan_gpu(gpu, &want, ret_plan, &err) < 0)
		fail_msg("%s", err.message);
}

/* Refused by the wish list's reader or by the planner. */
static void refuse_rows(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n_rows,
		enum bh_code code, const char *message, struct bh_error *err)
{
	struct bh_gpu_want want = {.in_scope = true, .mig_on = true};
	struct bh_gpu_plan plan;

	memset(err, 0, sizeof(*err));
	if (bh_want_fill(gpu, rows, n_rows, &want, err) == 0 &&
			bh_plan_gpu(gpu, &want, &plan, err) == 0)
		fail_msg("planned, though it should be refused: %s", message);
	assert_string_equal(err->message, message);
	assert_string_equal(bh_code_name(err->code), bh_code_name(code));
	assert_true(err->next[0]);
}

/* "create GPU instance 3g.20gb at 4; create …": the steps in words. */
static void assert_steps(const struct bh_gpu_plan *plan, const char *expected)
{
	char text[2048] = "", line[160];

	for (size_t i = 0; i < plan->n_steps; i++) {
		bh_step_describe(&plan->steps[i], line, sizeof(line));
		(void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				i ? "; " : "", line);
	}
	assert_string_equal(text, expected);
}

static void assert_gi(const struct bh_gpu *gpu, const char *profile, uint32_t start)
{
	const struct bh_gi_profile *p = &gpu->profiles[board_profile(gpu, profile)];

	for (size_t g = 0; g < gpu->n_gis; g++) {
		if (gpu->gis[g].profile_id == p->id && gpu->gis[g].at.start == start)
			return;
	}
	fail_msg("no %s at %u", profile, start);
}

static void f01_every_order_of_keys_gives_the_same_plan_and_it_fits(void **state)
{
	static const struct bh_want_row keys[3] = {
			{"1g.5gb", 0, 2},
			{"2g.10gb", 0, 1},
			{"3g.20gb", 0, 1},
	};
	static const size_t orders[6][3] = {
			{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	for (size_t o = 0; o < 6; o++) {
		struct bh_want_row rows[3];
		struct bh_gpu_plan plan;

		for (size_t i = 0; i < 3; i++)
			rows[i] = keys[orders[o][i]];
		plan_rows(&gpu, rows, 3, &plan);
		assert_steps(&plan, "end our own readers of this GPU"
				    "; create GPU instance 3g.20gb at 4"
				    "; create compute instance of 3 slices at 0 in 3g.20gb at 4"
				    "; create GPU instance 2g.10gb at 0"
				    "; create compute instance of 2 slices at 0 in 2g.10gb at 0"
				    "; create GPU instance 1g.5gb at 2"
				    "; create compute instance of 1 slice at 0 in 1g.5gb at 2"
				    "; create GPU instance 1g.5gb at 3"
				    "; create compute instance of 1 slice at 0 in 1g.5gb at 3");
		assert_int_equal(plan.operations, 4);
		assert_string_equal(plan.steps[1].reason, "wanted by layout.yaml:7");
		bh_gpu_plan_free(&plan);
	}
}

static void f01_what_cannot_be_says_what_is_left_over_and_which_units_are_free(void **state)
{
	static const struct bh_want_row three[] = {
			{"3g.20gb", 0, 2},
			{"1g.5gb", 0, 1},
	};
	static const struct bh_want_row four[] = {
			{"4g.20gb", 0, 1},
			{"2g.10gb", 0, 2},
	};
	static const struct bh_want_row far[] = {
			{"7g.40gb", 0, 1},
			{"3g.20gb", 0, 2},
	};
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	refuse_rows(&gpu, three, 2, BH_E_DOES_NOT_FIT,
			A100 " cannot hold 1 x 1g.5gb, 2 x 3g.20gb: with the others placed, one "
			     "1g.5gb is left over and the free units are: none",
			&err);
	assert_string_equal(err.gpu, gpu.uuid);
	assert_string_equal(err.next, "ask for fewer or smaller instances on this GPU");
	/* 2g may start at 4, not at 6 */
	refuse_rows(&gpu, four, 2, BH_E_DOES_NOT_FIT,
			A100 " cannot hold 2 x 2g.10gb, 1 x 4g.20gb: with the others placed, one "
			     "2g.10gb is left over and the free units are: 6, 7",
			&err);
	refuse_rows(&gpu, far, 2, BH_E_DOES_NOT_FIT,
			A100 " cannot hold 2 x 3g.20gb, 1 x 7g.40gb: with the others placed, one "
			     "7g.40gb is left over and the free units are: none",
			&err);
	/* what is there does not change the answer */
	(void) board_add(&gpu, "1g.5gb", 3);
	refuse_rows(&gpu, three, 2, BH_E_DOES_NOT_FIT,
			A100 " cannot hold 1 x 1g.5gb, 2 x 3g.20gb: with the others placed, one "
			     "1g.5gb is left over and the free units are: none",
			&err);
}

static void f09_a_4g_and_a_3g_fit_and_of_the_4g_there_is_one_at_most(void **state)
{
	static const struct bh_want_row both[] = {{"4g.20gb", 0, 1}, {"3g.20gb", 0, 1}};
	static const struct bh_want_row two[] = {{"4g.20gb", 0, 2}};
	struct bh_gpu_plan plan;
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	plan_rows(&gpu, both, 2, &plan);
	assert_int_equal(plan.operations, 2);
	assert_gi(&plan.after, "4g.20gb", 0);
	assert_gi(&plan.after, "3g.20gb", 4);
	bh_gpu_plan_free(&plan);
	refuse_rows(&gpu, two, 1, BH_E_DOES_NOT_FIT,
			A100 ": 2 x 4g.20gb are wanted, this board holds at most 1", &err);
	assert_string_equal(err.next, "ask for at most 1 x 4g.20gb on one GPU");
}

static void f11_a_fragmented_board_names_an_instance_that_blocks(void **state)
{
	static const struct bh_want_row alone[] = {{"3g.20gb", 0, 1}};
	static const struct bh_want_row beside[] = {{"3g.20gb", 0, 1}, {"1g.5gb", 0, 2}};
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	board_make_busy(&gpu, board_add(&gpu, "1g.5gb", 2), 700, "train");
	board_make_busy(&gpu, board_add(&gpu, "1g.5gb", 5), 701, "serve");
	refuse_rows(&gpu, alone, 1, BH_E_IN_USE,
			A100 ": " NO_ROOM ": blocked by instance 1g.5gb at 2, used by pid 700 "
			     "(train)",
			&err);
	assert_int_equal(err.n_holders, 1);
	assert_int_equal(err.holders[0].pid, 700);
	assert_string_equal(err.holders[0].kind, "process");
	refuse_rows(&gpu, beside, 2, BH_E_IN_USE,
			A100 ": " NO_ROOM ": blocked by instance 1g.5gb at 2, used by pid 700 "
			     "(train)",
			&err);
	assert_string_equal(err.next, "end that work, or wait for it, then run this again");
}

static void f11_small_instances_leave_the_halves_open(void **state)
{
	static const struct bh_want_row two[] = {{"1g.5gb", 0, 2}};
	static const struct bh_want_row then[] = {{"1g.5gb", 0, 2}, {"3g.20gb", 0, 1}};
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	plan_rows(&gpu, two, 1, &plan);
	gpu = plan.after;
	bh_gpu_plan_free(&plan);
	for (size_t g = 0; g < gpu.n_gis; g++) /* whatever runs there now */
		gpu.gis[g].busy = gpu.gis[g].cis[0].busy = true;
	plan_rows(&gpu, then, 2, &plan);
	assert_int_equal(plan.operations, 1);
	bh_gpu_plan_free(&plan);
}

static void f15_one_more_beside_a_busy_one_is_one_create(void **state)
{
	static const struct bh_want_row two[] = {{"1g.6gb", 0, 2}};
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "a30-24gb");
	board_make_busy(&gpu, board_add(&gpu, "1g.6gb", 0), 4242, "python");
	plan_rows(&gpu, two, 1, &plan);
	assert_steps(&plan, "end our own readers of this GPU"
			    "; create GPU instance 1g.6gb at 1"
			    "; create compute instance of 1 slice at 0 in 1g.6gb at 1");
	assert_int_equal(plan.operations, 1);
	assert_string_equal(plan.after.gis[0].cis[0].uuid, gpu.gis[0].cis[0].uuid);
	assert_string_equal(plan.after.gis[1].cis[0].uuid, ""); /* nobody knows it yet */
	bh_gpu_plan_free(&plan);
}

static void f15_a_true_conflict_names_the_instance_and_its_process(void **state)
{
	static const struct bh_want_row whole[] = {{"4g.24gb", 0, 1}};
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "a30-24gb");
	board_make_busy(&gpu, board_add(&gpu, "1g.6gb", 0), 4242, "python");
	(void) snprintf(gpu.holders[0].who.tenant, sizeof(gpu.holders[0].who.tenant), "team-a");
	refuse_rows(&gpu, whole, 1, BH_E_IN_USE,
			A30 ": " NO_ROOM ": blocked by instance 1g.6gb at 0, used by pid 4242 "
			    "(python)",
			&err);
	assert_int_equal(err.n_holders, 1);
	assert_int_equal(err.holders[0].pid, 4242);
	assert_string_equal(err.holders[0].name, "python");
	assert_string_equal(err.holders[0].tenant, "team-a");
	assert_string_equal(err.gpu, gpu.uuid);
	/* two of them, and one whose name nobody knows */
	board_make_busy(&gpu, &gpu.gis[0], 4243, "");
	gpu.holders[0].who.name[0] = '\0';
	refuse_rows(&gpu, whole, 1, BH_E_IN_USE,
			A30 ": " NO_ROOM ": blocked by instance 1g.6gb at 0, used by pid 4242 "
			    "(name unknown) and 1 more",
			&err);
	assert_int_equal(err.n_holders, 2);
	gpu.n_holders = 0;
	refuse_rows(&gpu, whole, 1, BH_E_IN_USE,
			A30 ": " NO_ROOM
			    ": blocked by instance 1g.6gb at 0, in use by a holder the "
			    "driver does not name",
			&err);
	assert_int_equal(err.n_holders, 1);
	assert_string_equal(err.holders[0].kind, "unknown");
}

static void a_foreign_instance_in_the_way_is_named_and_left(void **state)
{
	static const struct bh_want_row whole[] = {{"4g.24gb", 0, 1}};
	static const struct bh_want_row both[] = {{"2g.12gb", 0, 1}};
	static const struct bh_want_row gone[] = {{"2g.12gb", 1, 2}};
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "a30-24gb");
	board_add(&gpu, "2g.12gb", 2)->foreign = true;
	refuse_rows(&gpu, whole, 1, BH_E_FOREIGN,
			A30 ": " NO_ROOM ": blocked by instance 2g.12gb at 2, which was not "
			    "made with this state directory",
			&err);
	assert_int_equal(err.n_holders, 1);
	assert_string_equal(err.holders[0].kind, "instance");
	assert_string_equal(err.holders[0].name, "2g.12gb at 2");
	assert_string_equal(err.gpu, gpu.uuid);
	/* a compute instance of somebody else within one of ours */
	gpu.n_gis = 0;
	board_add(&gpu, "2g.12gb", 2)->cis[0].foreign = true;
	refuse_rows(&gpu, both, 1, BH_E_FOREIGN,
			A30
			": the compute instances that must stay leave no room for those wanted: "
			"blocked by compute instance of 2 slices at 0 in 2g.12gb at 2, which "
			"was not made with this state directory",
			&err);
	refuse_rows(&gpu, gone, 1, BH_E_FOREIGN,
			A30
			": the compute instances that must stay leave no room for those wanted: "
			"blocked by compute instance of 2 slices at 0 in 2g.12gb at 2, which "
			"was not made with this state directory",
			&err);
	assert_string_equal(
			err.holders[0].name, "compute instance of 2 slices at 0 in 2g.12gb at 2");
}

static void a_busy_compute_instance_that_is_not_wanted_is_named(void **state)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 0, 1}};
	struct bh_error err;
	struct bh_gpu gpu;
	struct bh_gi *gi;

	board_init(&gpu, "h100-sxm5-80gb");
	gi = board_add(&gpu, "3g.40gb", 4);
	gi->n_cis = 0;
	(void) board_add_ci(gi, 0, 1);
	board_make_busy(&gpu, gi, 31, "a.out");
	refuse_rows(&gpu, rows, 1, BH_E_IN_USE,
			H100 ": the compute instances that must stay leave no room for those "
			     "wanted: blocked by instance 3g.40gb at 4, used by pid 31 (a.out)",
			&err);
	assert_int_equal(err.holders[0].pid, 31);
}

/* An idle compute instance at 1 leaves room for four slices at 2, which some boards refuse. */
static void no_start_is_used_that_some_boards_refuse_while_another_is_possible(void **state)
{
	static const struct bh_want_row rows[] = {{"7g.80gb", 4, 1}, {"7g.80gb", 1, 1}};
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;
	struct bh_gi *gi;

	board_init(&gpu, "h100-sxm5-80gb");
	gi = board_add(&gpu, "7g.80gb", 0);
	gi->n_cis = 0;
	(void) board_add_ci(gi, 1, 1);
	plan_rows(&gpu, rows, 2, &plan);
	assert_steps(&plan, "end our own readers of this GPU"
			    "; destroy compute instance of 1 slice at 1 in 7g.80gb at 0"
			    "; create compute instance of 4 slices at 0 in 7g.80gb at 0"
			    "; create compute instance of 1 slice at 4 in 7g.80gb at 0");
	assert_int_equal(plan.operations, 0);
	bh_gpu_plan_free(&plan);
	/* where it may not go, the start that only some boards take is all there is */
	gi->busy = gi->cis[0].busy = true;
	plan_rows(&gpu, rows, 2, &plan);
	assert_steps(&plan, "end our own readers of this GPU"
			    "; create compute instance of 4 slices at 2 in 7g.80gb at 0");
	bh_gpu_plan_free(&plan);
}

static void somebody_in_an_instance_of_which_nobody_knows_where_keeps_all_of_it(void **state)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 1, 1}};
	struct bh_error err;
	struct bh_gpu gpu;
	struct bh_gi *gi;

	board_init(&gpu, "h100-sxm5-80gb");
	gi = board_add(&gpu, "3g.40gb", 4);
	gi->n_cis = 0;
	(void) board_add_ci(gi, 0, 1);
	(void) board_add_ci(gi, 1, 2);
	gi->busy = true; /* and no compute instance is */
	refuse_rows(&gpu, rows, 1, BH_E_IN_USE,
			H100 ": the compute instances that must stay leave no room for those "
			     "wanted: blocked by instance 3g.40gb at 4, in use by a holder the "
			     "driver does not name",
			&err);
}

static void holders_of_the_whole_gpu_forbid_the_mode_and_the_first_instance(void **state)
{
	static const struct bh_want_row rows[] = {{"1g.10gb", 0, 1}};
	static const struct bh_want_row more[] = {{"1g.10gb", 0, 2}};
	static const struct bh_want_row other[] = {{"2g.20gb", 0, 1}};
	static const struct bh_want_row all[] = {{"7g.80gb", 0, 1}};
	struct bh_gpu_want off = {.in_scope = true};
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	board_hold_whole(&gpu, 900, "dcgm");
	board_hold_whole(&gpu, 901, "");
	refuse_rows(&gpu, rows, 1, BH_E_IN_USE,
			H100 ": cannot create the first GPU instance: held by process dcgm (pid "
			     "900)",
			&err);
	assert_int_equal(err.n_holders, 2);
	assert_int_equal(err.holders[1].pid, 901);
	assert_string_equal(err.gpu, gpu.uuid);
	assert_int_equal(bh_plan_gpu(&gpu, &off, &plan, &err), -1);
	assert_string_equal(err.message,
			H100 ": cannot switch MIG mode off: held by process dcgm (pid 900)");
	assert_int_equal(err.code, BH_E_IN_USE);
	assert_int_equal(err.n_holders, 2);
	gpu.mig_current = gpu.mig_pending = BH_MIG_OFF;
	refuse_rows(&gpu, rows, 1, BH_E_IN_USE,
			H100 ": cannot switch MIG mode on: held by process dcgm (pid 900)", &err);
	/* off and wanted off: nothing to refuse */
	assert_int_equal(bh_plan_gpu(&gpu, &off, &plan, &err), 0);
	assert_int_equal(plan.n_steps, 0);
	bh_gpu_plan_free(&plan);
	/* beside one that is there, the idle check does not run */
	gpu.mig_current = gpu.mig_pending = BH_MIG_ON;
	(void) board_add(&gpu, "1g.10gb", 6);
	plan_rows(&gpu, more, 1, &plan);
	assert_int_equal(plan.operations, 1);
	bh_gpu_plan_free(&plan);
	/* the new one comes before the last one goes */
	plan_rows(&gpu, other, 1, &plan);
	assert_int_equal(plan.operations, 2);
	assert_int_equal(plan.steps[1].kind, BH_STEP_CREATE_GI);
	bh_gpu_plan_free(&plan);
	/* unless it needs the units of all: then it is the first again */
	refuse_rows(&gpu, all, 1, BH_E_IN_USE,
			H100 ": cannot create the first GPU instance: held by process dcgm (pid "
			     "900)",
			&err);
}

static void mode_off_is_refused_while_an_instance_must_stay(void **state)
{
	struct bh_gpu_want off = {.in_scope = true};
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	board_make_busy(&gpu, board_add(&gpu, "3g.40gb", 4), 12, "train");
	assert_int_equal(bh_plan_gpu(&gpu, &off, &plan, &err), -1);
	assert_string_equal(err.message,
			H100 ": cannot switch MIG mode off: blocked by instance 3g.40gb at 4, used "
			     "by pid 12 (train)");
	assert_int_equal(err.code, BH_E_IN_USE);
	gpu.gis[0].busy = gpu.gis[0].cis[0].busy = false;
	gpu.gis[0].foreign = true;
	assert_int_equal(bh_plan_gpu(&gpu, &off, &plan, &err), -1);
	assert_int_equal(err.code, BH_E_FOREIGN);
	gpu.gis[0].foreign = false;
	gpu.gis[0].cis[0].foreign = true;
	assert_int_equal(bh_plan_gpu(&gpu, &off, &plan, &err), -1);
	assert_int_equal(err.code, BH_E_FOREIGN);
	assert_string_equal(err.message, H100
			": cannot switch MIG mode off: blocked by compute instance of 3 slices "
			"at 0 in 3g.40gb at 4, which was not made with this state directory");
}

/* Cases of the table of known answers, each on an empty board: does it fit, and where. */
static void known_answers_hold(void **state)
{
	static const struct {
		int number;
		const char *slug;
		struct bh_want_row rows[3];
		bool fits;
		const char *at; /* "profile@start profile@start", where there is only one way */
	} cases[] = {
			{3, "a100-40gb", {{"3g.20gb", 0, 2}}, true, "3g.20gb@0 3g.20gb@4"},
			{3, "a100-40gb", {{"3g.20gb", 0, 2}, {"1g.5gb", 0, 1}}, false, NULL},
			{4, "h100-sxm5-80gb", {{"1g.10gb", 0, 7}}, true,
					"1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 "
					"1g.10gb@5 "
					"1g.10gb@6"},
			{5, "h100-sxm5-80gb", {{"1g.20gb", 0, 4}}, true,
					"1g.20gb@0 1g.20gb@2 1g.20gb@4 1g.20gb@6"},
			{5, "h100-sxm5-80gb", {{"1g.20gb", 0, 4}, {"1g.10gb", 0, 1}}, false, NULL},
			{6, "gh200-96gb", {{"1g.12gb+me", 0, 1}, {"1g.12gb", 0, 6}}, true, NULL},
			{6, "gh200-96gb", {{"1g.12gb+me", 0, 2}}, false, NULL},
			{9, "h100-sxm5-80gb", {{"2g.20gb", 0, 2}, {"3g.40gb", 0, 1}}, true,
					"2g.20gb@0 2g.20gb@2 3g.40gb@4"},
			{10, "a100-40gb", {{"4g.20gb", 0, 1}, {"3g.20gb", 0, 1}}, true,
					"4g.20gb@0 3g.20gb@4"},
			{17, "h200-141gb", {{"1g.18gb", 0, 5}, {"2g.35gb", 0, 1}}, true, NULL},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(cases); i++) {
		struct bh_gpu_want want = {.in_scope = true, .mig_on = true};
		struct bh_gpu_plan plan = {0};
		struct bh_error err = {0};
		struct bh_gpu gpu;
		char at[256] = "", name[64];
		size_t n = 0;
		bool fits;

		while (n < 3 && cases[i].rows[n].count)
			n++;
		board_init(&gpu, cases[i].slug);
		fits = bh_want_fill(&gpu, cases[i].rows, n, &want, &err) == 0 &&
		       bh_plan_gpu(&gpu, &want, &plan, &err) == 0;
		if (fits != cases[i].fits)
			fail_msg("case %d: %s", cases[i].number,
					fits ? "fits, and should not" : err.message);
		if (!fits)
			assert_int_equal(err.code, BH_E_DOES_NOT_FIT);
		for (size_t g = 0; g < plan.after.n_gis; g++) {
			bh_gi_name(&plan.after, &plan.after.gis[g], name, sizeof(name));
			*strchr(name, ' ') = '\0';
			(void) snprintf(at + strlen(at), sizeof(at) - strlen(at), "%s%s@%u",
					g ? " " : "", name, plan.after.gis[g].at.start);
		}
		if (cases[i].at)
			assert_string_equal(at, cases[i].at);
		bh_gpu_plan_free(&plan);
	}
}

static void case_8_three_left_over_leave_room_for_one_2g_only(void **state)
{
	static const char *const names[] = {"2g.20gb", "3g.40gb", "4g.40gb"};
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	board_make_busy(&gpu, board_add(&gpu, "1g.10gb", 0), 1, "a");
	board_make_busy(&gpu, board_add(&gpu, "1g.10gb", 1), 2, "b");
	board_make_busy(&gpu, board_add(&gpu, "1g.10gb", 5), 3, "c");
	for (size_t i = 0; i < 3; i++) {
		struct bh_want_row rows[2] = {{"1g.10gb", 0, 3}, {.count = 1}};
		struct bh_gpu_want want;
		struct bh_gpu_plan plan;

		(void) snprintf(rows[1].gi_name, sizeof(rows[1].gi_name), "%s", names[i]);
		board_want(&gpu, rows, 2, &want);
		if (i > 0) {
			assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, NULL), -1);
			continue;
		}
		assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, NULL), 0);
		assert_gi(&plan.after, "2g.20gb", 2);
		assert_int_equal(plan.operations, 1);
		bh_gpu_plan_free(&plan);
	}
}

static void cases_14_and_15_share_one_gpu_instance(void **state)
{
	static const struct bh_want_row seven[] = {
			{"7g.80gb", 1, 1}, {"7g.80gb", 2, 1}, {"7g.80gb", 3, 1}};
	static const struct bh_want_row three[] = {{"3g.40gb", 1, 3}};
	static const struct bh_want_row four[] = {{"3g.40gb", 1, 7}};
	struct bh_gpu_plan plan;
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	plan_rows(&gpu, seven, 3, &plan);
	assert_int_equal(plan.operations, 1);
	assert_int_equal(plan.after.n_gis, 1);
	assert_int_equal(plan.after.gis[0].n_cis, 3);
	bh_gpu_plan_free(&plan);
	plan_rows(&gpu, three, 1, &plan);
	assert_int_equal(plan.after.n_gis, 1);
	assert_int_equal(plan.after.gis[0].n_cis, 3);
	for (uint32_t c = 0; c < 3; c++)
		assert_int_equal(plan.after.gis[0].cis[c].at.start, c);
	bh_gpu_plan_free(&plan);
	refuse_rows(&gpu, four, 1, BH_E_DOES_NOT_FIT,
			H100 ": 7 x 1c.3g.40gb are wanted, this board holds at most 6", &err);
}

static void f02_a_profile_of_the_sibling_board_is_refused_with_the_nearest(void **state)
{
	static const struct bh_want_row rows[] = {{"1g.5gb", 0, 7}};
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	refuse_rows(&gpu, rows, 1, BH_E_PROFILE_NOT_OFFERED,
			H100 " does not offer 1g.5gb; it offers 1g.10gb, 1g.10gb+me, 1g.20gb, "
			     "2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb; offered by: a100-40gb",
			&err);
	assert_string_equal(err.next,
			"use 1g.10gb, the nearest profile of this board with as much compute");
}

static void two_with_media_engines_are_refused_for_that_reason(void **state)
{
	static const struct bh_want_row rows[] = {{"1g.24gb+me", 0, 1}, {"2g.48gb+me.all", 0, 1}};
	struct bh_error err;
	struct bh_gpu gpu;

	board_init(&gpu, "rtx-pro-6000-blackwell-96gb");
	refuse_rows(&gpu, rows, 2, BH_E_DOES_NOT_FIT,
			"GPU 0 (NVIDIA RTX PRO 6000 Blackwell Server Edition) cannot hold 1 x "
			"1g.24gb+me, 1 x 2g.48gb+me.all: one instance with media extensions at "
			"most, and beside +me.all only profiles without media engines",
			&err);
}

/* A driver may list its profiles in another order with MIG on than the catalogue did before. */
static void what_is_wanted_is_known_by_profile_id_not_by_the_order_of_a_reading(void **state)
{
	static const struct bh_want_row rows[] = {{"3g.20gb", 1, 2}, {"1g.5gb", 0, 2}};
	struct bh_gpu gpu, later;
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;

	board_init(&gpu, "a100-40gb");
	board_want(&gpu, rows, 2, &want);
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, NULL), 0);
	later = plan.after;
	for (size_t i = 0; i < gpu.n_profiles; i++)
		later.profiles[i] = gpu.profiles[gpu.n_profiles - 1 - i];
	assert_true(bh_want_is_met(&later, &want, NULL, 0));
	later.n_gis--;
	assert_false(bh_want_is_met(&later, &want, NULL, 0));
	bh_gpu_plan_free(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(f01_every_order_of_keys_gives_the_same_plan_and_it_fits),
			cmocka_unit_test(
					f01_what_cannot_be_says_what_is_left_over_and_which_units_are_free),
			cmocka_unit_test(
					f02_a_profile_of_the_sibling_board_is_refused_with_the_nearest),
			cmocka_unit_test(f09_a_4g_and_a_3g_fit_and_of_the_4g_there_is_one_at_most),
			cmocka_unit_test(f11_a_fragmented_board_names_an_instance_that_blocks),
			cmocka_unit_test(f11_small_instances_leave_the_halves_open),
			cmocka_unit_test(f15_one_more_beside_a_busy_one_is_one_create),
			cmocka_unit_test(f15_a_true_conflict_names_the_instance_and_its_process),
			cmocka_unit_test(a_foreign_instance_in_the_way_is_named_and_left),
			cmocka_unit_test(a_busy_compute_instance_that_is_not_wanted_is_named),
			cmocka_unit_test(
					no_start_is_used_that_some_boards_refuse_while_another_is_possible),
			cmocka_unit_test(
					somebody_in_an_instance_of_which_nobody_knows_where_keeps_all_of_it),
			cmocka_unit_test(
					holders_of_the_whole_gpu_forbid_the_mode_and_the_first_instance),
			cmocka_unit_test(mode_off_is_refused_while_an_instance_must_stay),
			cmocka_unit_test(known_answers_hold),
			cmocka_unit_test(case_8_three_left_over_leave_room_for_one_2g_only),
			cmocka_unit_test(cases_14_and_15_share_one_gpu_instance),
			cmocka_unit_test(two_with_media_engines_are_refused_for_that_reason),
			cmocka_unit_test(
					what_is_wanted_is_known_by_profile_id_not_by_the_order_of_a_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
