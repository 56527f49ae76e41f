/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every plan, on GPUs and wishes that nobody thought of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "inside.h"

#define CASES	 8000
#define ROWS_MAX 8

static const char *const boards[] = {
		"h100-sxm5-80gb", "a100-40gb", "a30-24gb", "rtx-pro-6000-blackwell-96gb"};

struct sample {
	struct bh_gpu gpu;
	struct bh_want_row rows[ROWS_MAX];
	size_t n_rows;
	struct bh_gpu_want want;
};

static void roll_cis(struct dice *dice, struct bh_gi *gi, uint32_t slices)
{
	uint32_t start = 0;

	if (dice_roll(dice, 3) == 0) {
		(void) board_add_ci(gi, 0, slices);
	} else {
		while (start < slices && dice_roll(dice, 5) != 0) {
			uint32_t size = 1 +
					dice_roll(dice, slices - start < 3 ? slices - start : 3);

			if (dice_roll(dice, 4) != 0)
				(void) board_add_ci(gi, start, size);
			start += size;
		}
	}
	for (size_t c = 0; c < gi->n_cis; c++) {
		gi->cis[c].busy = dice_roll(dice, 6) == 0;
		gi->cis[c].foreign = !gi->cis[c].busy && dice_roll(dice, 10) == 0;
		gi->busy = gi->busy || gi->cis[c].busy;
	}
}

static void roll_gpu(struct dice *dice, const struct oracle *oracle, struct bh_gpu *gpu)
{
	bool few = dice_roll(dice, 2) == 0; /* wide ones, with room inside */
	uint32_t set;

	do
		set = oracle->layouts[dice_roll(dice, (uint32_t) oracle->n_layouts)];
	while (few && (set == 0 || __builtin_popcount(set) > 2));
	*gpu = *oracle->gpu;
	for (size_t i = 0; i < oracle->n_cells; i++) {
		const struct oracle_cell *cell = &oracle->cells[i];
		struct bh_gi *gi;

		if (!(set & 1U << i))
			continue;
		gi = board_add_bare(gpu, cell->profile,
				&(struct bh_placement){cell->start, cell->size});
		roll_cis(dice, gi, gpu->profiles[cell->profile].slice_count);
		if (!gi->busy)
			gi->foreign = dice_roll(dice, 8) == 0;
		for (size_t c = 0; c < gi->n_cis; c++) {
			gi->cis[c].foreign = gi->cis[c].foreign || gi->foreign;
			if (gi->cis[c].busy)
				gpu->holders[gpu->n_holders++] = (struct bh_gpu_holder){
						.who = {.kind = "process",
								.pid = 100 + (int) gi->id},
						.gi = gi->id,
						.ci = gi->cis[c].id};
		}
	}
}

static void add_row(struct sample *s, const char *name, uint32_t slices, uint32_t count)
{
	struct bh_want_row *row = &s->rows[s->n_rows];

	if (s->n_rows == ROWS_MAX)
		return;
	memcpy(row->gi_name, name, sizeof(row->gi_name)); /* a profile's, of the same size */
	row->ci_slices = slices;
	row->count = count;
	s->n_rows++;
}

/* Mostly what is there already, with some of it left out and something else put in. */
static void roll_rows(struct dice *dice, struct sample *s)
{
	const struct bh_gpu *gpu = &s->gpu;

	s->n_rows = 0;
	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];
		size_t p = 0;

		while (gpu->profiles[p].id != gi->profile_id)
			p++;
		for (size_t c = 0; c < gi->n_cis && !gi->foreign; c++) {
			if (!gi->cis[c].foreign && (gi->cis[c].busy || dice_roll(dice, 3) > 0))
				add_row(s, gpu->profiles[p].name, gi->cis[c].at.size, 1);
		}
	}
	for (uint32_t more = dice_roll(dice, 3); more > 0; more--) {
		const struct bh_gi_profile *p =
				&gpu->profiles[dice_roll(dice, (uint32_t) gpu->n_profiles)];

		add_row(s, p->name, dice_roll(dice, p->slice_count + 1), 1 + dice_roll(dice, 2));
	}
}

static bool roll(struct dice *dice, const struct oracle *oracle, struct sample *s)
{
	roll_gpu(dice, oracle, &s->gpu);
	roll_rows(dice, s);
	s->want = (struct bh_gpu_want){.in_scope = true, .mig_on = true, .source = "wanted by x:1"};
	return bh_want_fill(&s->gpu, s->rows, s->n_rows, &s->want, NULL) == 0;
}

/* What the steps did, in order; each on the GPU as the one before left it. */
struct walk {
	struct bh_gpu states[160];
	size_t n;
};

static bool is_fixed_ci(const struct bh_gpu *gpu, const struct bh_step *step)
{
	const struct bh_gi *gi = bh_gpu_find_gi(gpu, step->profile_id, &step->at);
	const struct bh_ci *ci = gi ? bh_gi_find_ci(gi, &step->ci) : NULL;

	return !ci || ci->busy || ci->foreign || gi->foreign;
}

static void check_untouched(const struct bh_gpu *gpu, const struct bh_step *step)
{
	const struct bh_gi *gi = bh_gpu_find_gi(gpu, step->profile_id, &step->at);

	if (step->kind == BH_STEP_DESTROY_GI)
		assert_true(gi && !gi->busy && !gi->foreign && gi->n_cis == 0);
	if (step->kind == BH_STEP_DESTROY_CI)
		assert_false(is_fixed_ci(gpu, step));
	if (step->kind == BH_STEP_CREATE_CI)
		assert_true(gi && !gi->foreign);
}

/* An observation lists instances in order of start; so does a prediction. */
static void check_order(const struct bh_gpu *gpu)
{
	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		assert_true(g == 0 || gi[-1].at.start < gi->at.start);
		for (size_t c = 1; c < gi->n_cis; c++)
			assert_true(gi->cis[c - 1].at.start < gi->cis[c].at.start);
	}
}

static void take_steps(const struct oracle *oracle, const struct bh_gpu *gpu,
		const struct bh_gpu_plan *plan, struct walk *walk)
{
	struct bh_error err = {0};

	walk->states[0] = *gpu;
	walk->n = 1;
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct bh_step *step = &plan->steps[i];
		struct bh_gpu *now = &walk->states[walk->n];

		*now = walk->states[walk->n - 1];
		walk->n++;
		check_untouched(now, step);
		assert_true(bh_step_was_holds(step, now));
		assert_true(step->kind == BH_STEP_QUIESCE || !bh_step_want_holds(step, now));
		if (bh_step_predict(step, now, &err) < 0)
			fail_msg("%s", err.message);
		assert_true(step->kind == BH_STEP_QUIESCE || bh_step_want_holds(step, now));
		assert_true(oracle_is_legal(oracle, oracle_set_of(oracle, now)));
		check_order(now);
		assert_string_equal(step->gpu, gpu->uuid);
		assert_string_equal(step->pci, gpu->pci);
	}
}

/* The same instances at the same places, without what only the driver can say of them. */
static void assert_same_layout(const struct bh_gpu *a, const struct bh_gpu *b)
{
	assert_int_equal(a->mig_current, b->mig_current);
	assert_int_equal(a->mig_pending, b->mig_pending);
	assert_int_equal(a->n_gis, b->n_gis);
	for (size_t g = 0; g < a->n_gis; g++) {
		const struct bh_gi *x = &a->gis[g];
		const struct bh_gi *y = bh_gpu_find_gi(b, x->profile_id, &x->at);

		assert_non_null(y);
		assert_int_equal(x->n_cis, y->n_cis);
		for (size_t c = 0; c < x->n_cis; c++)
			assert_non_null(bh_gi_find_ci(y, &x->cis[c].at));
	}
}

static void take_back(const struct bh_gpu_plan *plan, const struct walk *walk)
{
	struct bh_gpu gpu = plan->after;
	struct bh_error err = {0};

	for (size_t i = plan->n_steps; i > 0; i--) {
		struct bh_step undo;

		assert_same_layout(&gpu, &walk->states[i]);
		if (!bh_step_undo(&plan->steps[i - 1], &undo))
			continue;
		assert_true(bh_step_was_holds(&undo, &gpu));
		if (bh_step_predict(&undo, &gpu, &err) < 0)
			fail_msg("%s", err.message);
		assert_true(bh_step_want_holds(&undo, &gpu));
	}
	assert_same_layout(&gpu, &plan->before);
}

static void assert_same_plan(const struct bh_gpu_plan *a, const struct bh_gpu_plan *b)
{
	assert_int_equal(a->n_steps, b->n_steps);
	assert_int_equal(a->operations, b->operations);
	for (size_t i = 0; i < a->n_steps; i++)
		assert_memory_equal(&a->steps[i], &b->steps[i], sizeof(a->steps[i]));
}

static void check_nothing_left(const struct bh_gpu_plan *plan, const struct bh_gpu_want *want)
{
	struct bh_gpu_plan again;
	struct bh_error err = {0};
	char what[256] = "";

	if (!bh_want_is_met(&plan->after, want, what, sizeof(what)))
		fail_msg("%s", what);
	if (bh_plan_gpu(&plan->after, want, &again, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(again.n_steps, 0);
	assert_int_equal(again.operations, 0);
	bh_gpu_plan_free(&again);
}

static void every_plan_keeps_its_promises(void **state)
{
	static struct walk walk;
	size_t planned = 0, refused = 0, steps = 0;
	struct dice dice;

	dice_init(&dice, 77001, "plans");
	for (size_t b = 0; b < BH_ARRAY_SIZE(boards); b++) {
		struct bh_gpu gpu;
		struct oracle oracle;

		board_init(&gpu, boards[b]);
		oracle_init(&oracle, &gpu);
		for (int i = 0; i < CASES; i++) {
			struct sample s;
			struct bh_gpu_plan plan;
			struct bh_error err = {0};

			if (!roll(&dice, &oracle, &s))
				continue;
			if (bh_plan_gpu(&s.gpu, &s.want, &plan, &err) < 0) {
				enum bh_code expected = inside_refusal(&oracle, &s.gpu, &s.want);

				if (inside_operations(&oracle, &s.gpu, &s.want) >= 0)
					fail_msg("%s, case %d: refused without need: %s", boards[b],
							i, err.message);
				if (err.code != expected)
					fail_msg("%s, case %d: %s, expected %s: %s", boards[b], i,
							bh_code_name(err.code),
							bh_code_name(expected), err.message);
				assert_string_equal(err.gpu, s.gpu.uuid);
				assert_true(err.n_holders > 0 || err.code == BH_E_DOES_NOT_FIT);
				refused++;
				continue;
			}
			assert_int_equal(inside_operations(&oracle, &s.gpu, &s.want),
					plan.operations);
			take_steps(&oracle, &s.gpu, &plan, &walk);
			assert_memory_equal(
					&walk.states[walk.n - 1], &plan.after, sizeof(plan.after));
			take_back(&plan, &walk);
			check_nothing_left(&plan, &s.want);
			planned++;
			steps += plan.n_steps;
			bh_gpu_plan_free(&plan);
		}
		oracle_free(&oracle);
	}
	print_message("planned %zu with %zu steps, refused %zu\n", planned, steps, refused);
	assert_true(planned > 2000 && refused > 500 && steps > 8000);
}

/* As inside_assign() counts: changes, and INSIDE_UNALIGNED for each instance with such a start. */
static int count_inside(const struct bh_gpu *gpu, const struct bh_gpu_plan *plan)
{
	int cost = 0;

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];
		bool unaligned = false;

		if (!bh_gpu_find_gi(&plan->after, gi->profile_id, &gi->at))
			continue;
		for (size_t k = 0; k < plan->n_steps; k++) {
			const struct bh_step *step = &plan->steps[k];

			if (step->profile_id != gi->profile_id || step->at.start != gi->at.start ||
					(step->kind != BH_STEP_CREATE_CI &&
							step->kind != BH_STEP_DESTROY_CI))
				continue;
			cost++;
			unaligned = unaligned || (step->kind == BH_STEP_CREATE_CI &&
								 !inside_is_aligned(step->ci.start,
										 step->ci.size));
		}
		cost += unaligned ? INSIDE_UNALIGNED : 0;
	}
	return cost;
}

static void inside_what_stays_the_fewest_compute_instances_change(void **state)
{
	size_t checked = 0;
	struct dice dice;

	dice_init(&dice, 555, "compute instances");
	for (size_t b = 0; b < BH_ARRAY_SIZE(boards); b++) {
		struct bh_gpu gpu;
		struct oracle oracle;

		board_init(&gpu, boards[b]);
		oracle_init(&oracle, &gpu);
		for (int i = 0; i < CASES; i++) {
			bool stays[BH_GIS_MAX] = {false};
			struct bh_gpu_plan plan;
			struct sample s;
			int cost, fewest;

			if (!roll(&dice, &oracle, &s) ||
					bh_plan_gpu(&s.gpu, &s.want, &plan, NULL) < 0)
				continue;
			for (size_t g = 0; g < s.gpu.n_gis; g++)
				stays[g] = bh_gpu_find_gi(&plan.after, s.gpu.gis[g].profile_id,
						&s.gpu.gis[g].at);
			cost = count_inside(&s.gpu, &plan);
			fewest = inside_assign(&s.gpu, &s.want, stays);
			if (cost != fewest)
				fail_msg("%s, case %d: changes of cost %d, %d would do", boards[b],
						i, cost, fewest);
			checked += cost > 0;
			bh_gpu_plan_free(&plan);
		}
		oracle_free(&oracle);
	}
	print_message("the fewest changes in %zu plans that change compute instances\n", checked);
	assert_true(checked > 500);
}

static void plan_rows(const struct sample *s, const struct bh_want_row *rows,
		struct bh_gpu_plan *ret_plan)
{
	struct bh_gpu_want want = {.in_scope = true, .mig_on = true, .source = "wanted by x:1"};

	assert_int_equal(bh_want_fill(&s->gpu, rows, s->n_rows, &want, NULL), 0);
	assert_memory_equal(&want, &s->want, sizeof(want));
	assert_int_equal(bh_plan_gpu(&s->gpu, &want, ret_plan, NULL), 0);
}

static void try_order(const struct sample *s, const struct bh_want_row *rows,
		const struct bh_gpu_plan *expected)
{
	struct bh_gpu_plan plan;

	plan_rows(s, rows, &plan);
	assert_same_plan(&plan, expected);
	bh_gpu_plan_free(&plan);
}

static void swap(struct bh_want_row *a, struct bh_want_row *b)
{
	struct bh_want_row c = *a;

	*a = *b;
	*b = c;
}

static void permute(const struct sample *s, struct bh_want_row *rows, size_t from,
		const struct bh_gpu_plan *expected)
{
	if (from + 1 >= s->n_rows) {
		try_order(s, rows, expected);
		return;
	}
	for (size_t i = from; i < s->n_rows; i++) {
		swap(&rows[from], &rows[i]);
		permute(s, rows, from + 1, expected);
		swap(&rows[from], &rows[i]);
	}
}

static void the_order_of_rows_never_changes_the_plan(void **state)
{
	size_t checked = 0;
	struct dice dice;

	dice_init(&dice, 4242, "orders");
	for (size_t b = 0; b < BH_ARRAY_SIZE(boards); b++) {
		struct bh_gpu gpu;
		struct oracle oracle;

		board_init(&gpu, boards[b]);
		oracle_init(&oracle, &gpu);
		for (int i = 0; i < 400; i++) {
			struct bh_want_row rows[ROWS_MAX];
			struct bh_gpu_plan plan;
			struct sample s;

			if (!roll(&dice, &oracle, &s) ||
					bh_plan_gpu(&s.gpu, &s.want, &plan, NULL) < 0)
				continue;
			memcpy(rows, s.rows, sizeof(rows));
			if (s.n_rows <= 5)
				permute(&s, rows, 0, &plan);
			for (int n = 0; s.n_rows > 5 && n < 60; n++) {
				swap(&rows[dice_roll(&dice, (uint32_t) s.n_rows)],
						&rows[dice_roll(&dice, (uint32_t) s.n_rows)]);
				try_order(&s, rows, &plan);
			}
			checked++;
			bh_gpu_plan_free(&plan);
		}
		oracle_free(&oracle);
	}
	assert_true(checked > 300);
}

/* The same GPU seen by a planner with MIG off: what was there is gone with it. */
static void mode_switches_are_taken_back_too(void **state)
{
	static struct walk walk;
	struct dice dice;
	struct bh_gpu gpu;
	struct oracle oracle;
	size_t on = 0, off = 0;

	dice_init(&dice, 99, "mode switches");
	board_init(&gpu, "h100-sxm5-80gb");
	oracle_init(&oracle, &gpu);
	for (int i = 0; i < 2000; i++) {
		bool to_on = dice_roll(&dice, 2) == 0;
		struct bh_gpu_plan plan;
		struct sample s;

		if (!roll(&dice, &oracle, &s))
			continue;
		if (to_on) {
			s.gpu.mig_current = s.gpu.mig_pending = BH_MIG_OFF;
			s.gpu.n_gis = s.gpu.n_holders = 0;
		}
		s.want.mig_on = to_on;
		if (!to_on)
			s.want.n_gis = 0;
		if (bh_plan_gpu(&s.gpu, &s.want, &plan, NULL) < 0)
			continue;
		take_steps(&oracle, &s.gpu, &plan, &walk);
		take_back(&plan, &walk);
		check_nothing_left(&plan, &s.want);
		on += to_on;
		off += !to_on;
		bh_gpu_plan_free(&plan);
	}
	assert_true(on > 200 && off > 100);
	oracle_free(&oracle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_plan_keeps_its_promises),
			cmocka_unit_test(inside_what_stays_the_fewest_compute_instances_change),
			cmocka_unit_test(the_order_of_rows_never_changes_the_plan),
			cmocka_unit_test(mode_switches_are_taken_back_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
