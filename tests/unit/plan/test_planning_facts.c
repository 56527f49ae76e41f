/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known answers about what a board can hold and where, one test a case: the numbers are those of
 * the vendor's guide and of published listings, the F-numbers are reports from the field. What a
 * driver does when asked is the simulated node's business and not tested here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "plan/layouts.h"
#include "plan/refuse.h"

#define ROWS(...)                                                                                  \
	(const struct bh_want_row[]){__VA_ARGS__},                                                 \
			BH_ARRAY_SIZE(((const struct bh_want_row[]){__VA_ARGS__}))

static void plan_on(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n,
		struct bh_gpu_plan *ret_plan)
{
	struct bh_gpu_want want;
	struct bh_error err = {0};

	board_want(gpu, rows, n, &want);
	if (bh_plan_gpu(gpu, &want, ret_plan, &err) < 0)
		fail_msg("%s", err.message);
}

/* "3g.20gb@0 3g.20gb@4" */
static void write_layout(const struct bh_gpu *gpu, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t g = 0; g < gpu->n_gis && used < size; g++)
		used += (size_t) snprintf(buffer + used, size - used, "%s%s@%u", g ? " " : "",
				bh_gpu_find_profile(gpu, gpu->gis[g].profile_id)->name,
				gpu->gis[g].at.start);
}

/* On what is there already; the whole of what stands in the end. */
static void expect_beside(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n,
		const char *layout)
{
	struct bh_gpu_plan plan;
	char text[512];

	plan_on(gpu, rows, n, &plan);
	write_layout(&plan.after, text, sizeof(text));
	assert_string_equal(text, layout);
	bh_gpu_plan_free(&plan);
}

static void expect(const char *slug, const struct bh_want_row *rows, size_t n, const char *layout)
{
	struct bh_gpu gpu;

	board_init(&gpu, slug);
	expect_beside(&gpu, rows, n, layout);
}

static void expect_refusal_beside(const struct bh_gpu *gpu, const struct bh_want_row *rows,
		size_t n, enum bh_code code, const char *why)
{
	struct bh_gpu_want want = {.in_scope = true, .mig_on = true};
	struct bh_gpu_plan plan;
	struct bh_error err = {0};

	if (bh_want_fill(gpu, rows, n, &want, &err) == 0 &&
			bh_plan_gpu(gpu, &want, &plan, &err) == 0)
		fail_msg("planned, though it should be refused: %s", why);
	assert_string_equal(bh_code_name(err.code), bh_code_name(code));
	if (!strstr(err.message, why))
		fail_msg("'%s' does not say '%s'", err.message, why);
}

static void expect_refusal(
		const char *slug, const struct bh_want_row *rows, size_t n, const char *why)
{
	struct bh_gpu gpu;

	board_init(&gpu, slug);
	expect_refusal_beside(&gpu, rows, n, BH_E_DOES_NOT_FIT, why);
}

static void case_3_two_3g_fill_the_board_and_a_1g_is_refused(void **state)
{
	expect("a100-40gb", ROWS({"3g.20gb", 0, 2}), "3g.20gb@0 3g.20gb@4");
	expect_refusal("a100-40gb", ROWS({"3g.20gb", 0, 2}, {"1g.5gb", 0, 1}),
			"with the others placed, one 1g.5gb is left over and the free units are: "
			"none");
}

static void case_4_seven_1g_stand_at_0_to_6(void **state)
{
	static const char *const boards[] = {"h100-sxm5-80gb", "h100-pcie-80gb"};

	for (size_t i = 0; i < BH_ARRAY_SIZE(boards); i++)
		expect(boards[i], ROWS({"1g.10gb", 0, 7}),
				"1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 "
				"1g.10gb@6");
	expect_refusal("h100-sxm5-80gb", ROWS({"1g.10gb", 0, 8}), "holds at most 7");
}

static void case_5_four_double_1g_use_all_eight_units(void **state)
{
	expect("h100-sxm5-80gb", ROWS({"1g.20gb", 0, 4}),
			"1g.20gb@0 1g.20gb@2 1g.20gb@4 1g.20gb@6");
	expect_refusal("h100-sxm5-80gb", ROWS({"1g.20gb", 0, 4}, {"1g.10gb", 0, 1}),
			"one 1g.10gb is left over and the free units are: none");
}

static void case_6_of_media_extensions_there_is_one_on_any_seven_slice_board(void **state)
{
	static const char *const boards[][2] = {{"a100-40gb", "1g.5gb+me"},
			{"a100-80gb", "1g.10gb+me"}, {"h100-sxm5-80gb", "1g.10gb+me"},
			{"h200-141gb", "1g.18gb+me"}, {"gh200-96gb", "1g.12gb+me"},
			{"b200-180gb", "1g.23gb+me"}};

	for (size_t i = 0; i < BH_ARRAY_SIZE(boards); i++) {
		struct bh_want_row row = {.count = 1};
		struct bh_gpu_plan plan;
		struct bh_gpu gpu;

		board_init(&gpu, boards[i][0]);
		(void) snprintf(row.gi_name, sizeof(row.gi_name), "%s", boards[i][1]);
		plan_on(&gpu, &row, 1, &plan);
		assert_int_equal(plan.operations, 1);
		bh_gpu_plan_free(&plan);
		row.count = 2;
		expect_refusal_beside(&gpu, &row, 1, BH_E_DOES_NOT_FIT, boards[i][1]);
		/* nor beside one that a stranger made */
		row.count = 1;
		board_add(&gpu, boards[i][1], 0)->foreign = true;
		expect_refusal_beside(&gpu, &row, 1, BH_E_FOREIGN, boards[i][1]);
	}
}

static void case_7_three_double_1g_with_their_compute_instances_fit(void **state)
{
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "gh200-96gb");
	plan_on(&gpu, ROWS({"1g.24gb", 0, 3}), &plan);
	assert_int_equal(plan.operations, 3);
	for (size_t g = 0; g < 3; g++) {
		assert_int_equal(plan.after.gis[g].profile_id, 15);
		assert_int_equal(plan.after.gis[g].n_cis, 1);
		assert_int_equal(plan.after.gis[g].at.start % 2, 0);
	}
	bh_gpu_plan_free(&plan);
}

static void case_8_beside_1g_at_0_1_and_5_only_a_2g_at_2_fits(void **state)
{
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	board_make_busy(&gpu, board_add(&gpu, "1g.10gb", 0), 1, "a");
	board_make_busy(&gpu, board_add(&gpu, "1g.10gb", 1), 2, "b");
	board_make_busy(&gpu, board_add(&gpu, "1g.10gb", 5), 3, "c");
	expect_beside(&gpu, ROWS({"1g.10gb", 0, 3}, {"2g.20gb", 0, 1}),
			"1g.10gb@0 1g.10gb@1 2g.20gb@2 1g.10gb@5");
	expect_refusal_beside(&gpu, ROWS({"1g.10gb", 0, 3}, {"2g.20gb", 0, 2}), BH_E_IN_USE,
			"blocked by instance 1g.10gb at 5, used by pid 3 (c)");
	expect_refusal_beside(&gpu, ROWS({"1g.10gb", 0, 3}, {"3g.40gb", 0, 1}), BH_E_IN_USE,
			"blocked by instance 1g.10gb at 5, used by pid 3 (c)");
	expect_refusal_beside(&gpu, ROWS({"1g.10gb", 0, 3}, {"4g.40gb", 0, 1}), BH_E_IN_USE,
			"blocked by instance 1g.10gb at 0, used by pid 1 (a)");
}

static void case_9_two_2g_and_a_3g_are_legal_and_use_all_slices(void **state)
{
	expect("h100-sxm5-80gb", ROWS({"3g.40gb", 0, 1}, {"2g.20gb", 0, 2}),
			"2g.20gb@0 2g.20gb@2 3g.40gb@4");
}

static void case_10_a_4g_and_a_3g_are_legal(void **state)
{
	expect("a100-40gb", ROWS({"3g.20gb", 0, 1}, {"4g.20gb", 0, 1}), "4g.20gb@0 3g.20gb@4");
}

static void case_14_a_7g_holds_compute_instances_of_1_2_and_3_slices(void **state)
{
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;
	uint32_t slices = 0;

	board_init(&gpu, "a100-40gb");
	plan_on(&gpu, ROWS({"7g.40gb", 1, 1}, {"7g.40gb", 2, 1}, {"7g.40gb", 3, 1}), &plan);
	assert_int_equal(plan.operations, 1);
	assert_int_equal(plan.after.gis[0].n_cis, 3);
	for (size_t c = 0; c < 3; c++)
		slices |= 1U << plan.after.gis[0].cis[c].at.size;
	assert_int_equal(slices, 1U << 1 | 1U << 2 | 1U << 3);
	bh_gpu_plan_free(&plan);
}

static void case_15_a_3g_holds_three_1c_and_no_fourth(void **state)
{
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	plan_on(&gpu, ROWS({"3g.20gb", 1, 3}), &plan);
	assert_int_equal(plan.operations, 1);
	assert_int_equal(plan.after.gis[0].n_cis, 3);
	bh_gpu_plan_free(&plan);
	plan_on(&gpu, ROWS({"3g.20gb", 1, 4}), &plan); /* the fourth opens another */
	assert_int_equal(plan.operations, 2);
	bh_gpu_plan_free(&plan);
}

static void case_16_profile_14_is_a_1g_on_an_a30(void **state)
{
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "a30-24gb");
	plan_on(&gpu, ROWS({"1g.6gb", 0, 1}), &plan);
	assert_int_equal(plan.after.gis[0].profile_id, 14);
	assert_int_equal(plan.after.gis[0].cis[0].at.size, 1);
	bh_gpu_plan_free(&plan);
	board_init(&gpu, "a100-40gb");
	plan_on(&gpu, ROWS({"2g.10gb", 0, 1}), &plan);
	assert_int_equal(plan.after.gis[0].profile_id, 14);
	assert_int_equal(plan.after.gis[0].cis[0].at.size, 2);
	bh_gpu_plan_free(&plan);
}

static void case_17_five_1g_and_a_2g_of_an_h200_are_legal(void **state)
{
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "h200-141gb");
	plan_on(&gpu, ROWS({"1g.18gb", 0, 5}, {"2g.35gb", 0, 1}), &plan);
	assert_int_equal(plan.operations, 6);
	bh_gpu_plan_free(&plan);
}

static void case_22_without_the_double_1g_there_are_298_sets_38_mixes_and_19_full_ones(void **state)
{
	struct bh_geometry geo;
	struct bh_layouts all;
	struct bh_gpu gpu;
	size_t n = 0;

	board_init_base(&gpu, "a100-40gb");
	for (size_t i = 0; i < gpu.n_profiles; i++) {
		if (strcmp(gpu.profiles[i].name, "1g.10gb") != 0)
			gpu.profiles[n++] = gpu.profiles[i];
	}
	assert_int_equal(n, 5);
	gpu.n_profiles = n;
	assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
	assert_int_equal(bh_layouts_init(&geo, &all, NULL), 0);
	assert_int_equal(all.n, 298);
	assert_int_equal(all.n_mixes, 38);
	assert_int_equal(all.n_maximal, 19);
	bh_layouts_free(&all);
}

static void f01_small_ones_named_first_do_not_take_the_room_of_the_large(void **state)
{
	static const struct bh_want_row keys[] = {
			{"1g.5gb", 0, 2}, {"2g.10gb", 0, 1}, {"3g.20gb", 0, 1}};

	for (size_t first = 0; first < 3; first++) {
		for (size_t second = 0; second < 3; second++) {
			if (first != second)
				expect("a100-40gb",
						ROWS(keys[first], keys[second],
								keys[3 - first - second]),
						"2g.10gb@0 1g.5gb@2 1g.5gb@3 3g.20gb@4");
		}
	}
}

static void f09_what_is_asked_before_a_board_is_there_is_answered_from_the_catalogue(void **state)
{
	expect("a100-40gb", ROWS({"4g.20gb", 0, 1}, {"3g.20gb", 0, 1}), "4g.20gb@0 3g.20gb@4");
	expect_refusal("a100-40gb", ROWS({"4g.20gb", 0, 2}),
			"2 x 4g.20gb are wanted, this board holds at most 1");
	expect_refusal("a100-40gb", ROWS({"4g.20gb", 0, 1}, {"3g.20gb", 0, 2}),
			"one 3g.20gb is left over and the free units are: none");
}

/* Three, one after the other, each beside what runs; then the middle one goes. */
static void f11_small_ones_that_came_one_by_one_leave_a_half_for_a_3g(void **state)
{
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	for (uint32_t n = 1; n <= 3; n++) {
		struct bh_gpu_plan plan;

		plan_on(&gpu, ROWS({"1g.5gb", 0, n}), &plan);
		assert_int_equal(plan.operations, 1);
		gpu = plan.after;
		bh_gpu_plan_free(&plan);
		for (size_t g = 0; g < gpu.n_gis; g++)
			gpu.gis[g].busy = gpu.gis[g].cis[0].busy = true;
	}
	gpu.gis[1] = gpu.gis[2];
	gpu.n_gis = 2;
	for (size_t g = 0; g < 2; g++) {
		struct bh_gpu_plan plan;

		plan_on(&gpu, ROWS({"1g.5gb", 0, 2}, {"3g.20gb", 0, 1}), &plan);
		assert_int_equal(plan.operations, 1);
		bh_gpu_plan_free(&plan);
	}
}

static void f11_busy_1g_in_both_halves_block_a_3g_and_are_named(void **state)
{
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	board_make_busy(&gpu, board_add(&gpu, "1g.5gb", 2), 700, "train");
	board_make_busy(&gpu, board_add(&gpu, "1g.5gb", 5), 701, "serve");
	expect_refusal_beside(&gpu, ROWS({"1g.5gb", 0, 2}, {"3g.20gb", 0, 1}), BH_E_IN_USE,
			"blocked by instance 1g.5gb at 2, used by pid 700 (train)");
}

/* All steps of a plan as they are written down. */
static char *plan_text(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n)
{
	struct bh_gpu_plan plan;
	json_t *steps = json_array();
	char *text;

	plan_on(gpu, rows, n, &plan);
	assert_non_null(steps);
	for (size_t i = 0; i < plan.n_steps; i++)
		assert_int_equal(json_array_append_new(steps, bh_step_to_json(&plan.steps[i])), 0);
	text = json_dumps(steps, JSON_COMPACT);
	assert_non_null(text);
	json_decref(steps);
	bh_gpu_plan_free(&plan);
	return text;
}

struct orders {
	const struct bh_gpu *gpu;
	struct bh_want_row rows[5];
	const char *expected;
	size_t n;
};

static void try_orders(struct orders *o, size_t from)
{
	char *text;

	for (size_t i = from; from < 5 && i < 5; i++) {
		struct bh_want_row kept = o->rows[from];

		o->rows[from] = o->rows[i];
		o->rows[i] = kept;
		try_orders(o, from + 1);
		o->rows[i] = o->rows[from];
		o->rows[from] = kept;
	}
	if (from < 5)
		return;
	text = plan_text(o->gpu, o->rows, 5);
	assert_string_equal(text, o->expected);
	free(text);
	o->n++;
}

static void every_order_of_five_keys_gives_the_identical_plan(void **state)
{
	struct orders o = {.rows = {{"1g.10gb", 0, 1}, {"1g.10gb+me", 0, 1}, {"1g.20gb", 0, 1},
					   {"2g.20gb", 0, 1}, {"2g.20gb", 1, 2}}};
	struct bh_gpu gpu;
	char *text;

	board_init(&gpu, "h100-sxm5-80gb");
	board_make_busy(&gpu, board_add(&gpu, "1g.10gb", 3), 1, "a");
	(void) board_add(&gpu, "3g.40gb", 4);
	o.gpu = &gpu;
	text = plan_text(&gpu, o.rows, 5);
	o.expected = text;
	try_orders(&o, 0);
	assert_int_equal(o.n, 120);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(case_3_two_3g_fill_the_board_and_a_1g_is_refused),
			cmocka_unit_test(case_4_seven_1g_stand_at_0_to_6),
			cmocka_unit_test(case_5_four_double_1g_use_all_eight_units),
			cmocka_unit_test(
					case_6_of_media_extensions_there_is_one_on_any_seven_slice_board),
			cmocka_unit_test(case_7_three_double_1g_with_their_compute_instances_fit),
			cmocka_unit_test(case_8_beside_1g_at_0_1_and_5_only_a_2g_at_2_fits),
			cmocka_unit_test(case_9_two_2g_and_a_3g_are_legal_and_use_all_slices),
			cmocka_unit_test(case_10_a_4g_and_a_3g_are_legal),
			cmocka_unit_test(case_14_a_7g_holds_compute_instances_of_1_2_and_3_slices),
			cmocka_unit_test(case_15_a_3g_holds_three_1c_and_no_fourth),
			cmocka_unit_test(case_16_profile_14_is_a_1g_on_an_a30),
			cmocka_unit_test(case_17_five_1g_and_a_2g_of_an_h200_are_legal),
			cmocka_unit_test(
					case_22_without_the_double_1g_there_are_298_sets_38_mixes_and_19_full_ones),
			cmocka_unit_test(
					f01_small_ones_named_first_do_not_take_the_room_of_the_large),
			cmocka_unit_test(
					f09_what_is_asked_before_a_board_is_there_is_answered_from_the_catalogue),
			cmocka_unit_test(f11_small_ones_that_came_one_by_one_leave_a_half_for_a_3g),
			cmocka_unit_test(f11_busy_1g_in_both_halves_block_a_3g_and_are_named),
			cmocka_unit_test(every_order_of_five_keys_gives_the_identical_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
