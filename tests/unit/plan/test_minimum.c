/* SPDX-License-Identifier: Apache-2.0 */
/* The planner against an oracle that tries every legal set of instances of a board. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "oracle.h"

static const char *const base_boards[] = {
		"h100-sxm5-80gb",
		"a30-24gb",
		"rtx-pro-6000-blackwell-96gb",
};

static void want_mix(
		const struct bh_gpu *gpu, const struct oracle_mix *mix, struct bh_gpu_want *want)
{
	struct bh_want_row rows[BH_GI_PROFILES_MAX] = {0};
	size_t n = 0;

	for (size_t p = 0; p < gpu->n_profiles; p++) {
		if (mix->counts[p] == 0)
			continue;
		memcpy(rows[n].gi_name, gpu->profiles[p].name, sizeof(rows[n].gi_name));
		rows[n++].count = mix->counts[p];
	}
	board_want(gpu, rows, n, want);
}

static void put_layout(struct bh_gpu *gpu, const struct oracle *oracle, uint32_t set)
{
	gpu->n_gis = gpu->n_holders = 0;
	for (size_t i = 0; i < oracle->n_cells; i++) {
		if (set & 1U << i)
			(void) board_add(gpu, gpu->profiles[oracle->cells[i].profile].name,
					oracle->cells[i].start);
	}
}

static void count_board(const char *slug, const char *left_out, size_t layouts, size_t mixes,
		size_t maximal)
{
	struct bh_gpu gpu;
	struct oracle oracle;
	size_t n = 0, found = 0;

	board_init_base(&gpu, slug);
	for (size_t i = 0; i < gpu.n_profiles; i++) {
		if (!left_out || strcmp(gpu.profiles[i].name, left_out) != 0)
			gpu.profiles[n++] = gpu.profiles[i];
	}
	gpu.n_profiles = n;
	oracle_init(&oracle, &gpu);
	for (size_t l = 0; l < oracle.n_layouts; l++)
		found += oracle_first_of_mix(&oracle, l);
	assert_int_equal(oracle.n_layouts, layouts);
	assert_int_equal(found, mixes);
	assert_int_equal(oracle_count_maximal(&oracle), maximal);
	oracle_free(&oracle);
}

static void the_oracle_counts_what_the_catalogue_says_of_its_boards(void **state)
{
	count_board("h100-sxm5-80gb", NULL, 723, 78, 78);
	count_board("h100-sxm5-80gb", "1g.20gb", 298, 38, 19);
	count_board("a100-40gb", NULL, 723, 78, 78);
	count_board("a30-24gb", NULL, 26, 10, 5);
	count_board("rtx-pro-6000-blackwell-96gb", NULL, 26, 10, 5);
}

/* Cells that could still be filled; of equally short ways the one that leaves the most is taken. */
static uint32_t count_open(const struct oracle *oracle, uint32_t set)
{
	uint32_t open = 0;

	for (size_t i = 0; i < oracle->n_cells; i++) {
		bool blocked = false;

		for (size_t k = 0; k < oracle->n_cells; k++)
			blocked = blocked ||
				  (set & 1U << k &&
						  oracle->cells[i].start <
								  oracle->cells[k].start +
										  oracle->cells[k].size &&
						  oracle->cells[k].start <
								  oracle->cells[i].start +
										  oracle->cells[i].size);
		open += !blocked;
	}
	return open;
}

static uint32_t most_open(const struct oracle *oracle, const uint32_t *open, uint32_t has,
		const struct oracle_mix *mix, int operations)
{
	uint32_t most = 0;

	for (size_t l = 0; l < oracle->n_layouts; l++) {
		if (__builtin_popcount(has ^ oracle->layouts[l]) == operations && open[l] > most &&
				memcmp(&oracle->mixes[l], mix, sizeof(*mix)) == 0)
			most = open[l];
	}
	return most;
}

static void check_every_pair(const char *slug, double *ret_mean, double *ret_clear_all)
{
	struct bh_gpu gpu;
	struct oracle oracle;
	uint64_t pairs = 0, sum = 0, clear_all = 0;
	static uint32_t open[1024];

	board_init_base(&gpu, slug);
	oracle_init(&oracle, &gpu);
	assert_true(oracle.n_layouts <= BH_ARRAY_SIZE(open));
	for (size_t l = 0; l < oracle.n_layouts; l++)
		open[l] = count_open(&oracle, oracle.layouts[l]);
	for (size_t t = 0; t < oracle.n_layouts; t++) {
		struct bh_gpu_want want;

		if (!oracle_first_of_mix(&oracle, t))
			continue;
		want_mix(&gpu, &oracle.mixes[t], &want);
		for (size_t l = 0; l < oracle.n_layouts; l++) {
			uint32_t has = oracle.layouts[l], then;
			int minimum = oracle_minimum(&oracle, has, 0, 0, &oracle.mixes[t]);
			struct bh_gpu_plan plan;
			struct bh_error err = {0};

			put_layout(&gpu, &oracle, has);
			if (bh_plan_gpu(&gpu, &want, &plan, &err) < 0)
				fail_msg("%s: layout %#x, mix of %#x: %s", slug, has,
						oracle.layouts[t], err.message);
			then = oracle_set_of(&oracle, &plan.after);
			if ((int) plan.operations != minimum ||
					__builtin_popcount(has ^ then) != minimum)
				fail_msg("%s: layout %#x, mix of %#x: %u operations to %#x, %d "
					 "would "
					 "do",
						slug, has, oracle.layouts[t], plan.operations, then,
						minimum);
			assert_true(oracle_is_legal(&oracle, then));
			assert_int_equal(count_open(&oracle, then),
					most_open(&oracle, open, has, &oracle.mixes[t], minimum));
			pairs++;
			sum += plan.operations;
			if (minimum > 0)
				clear_all += (uint32_t) __builtin_popcount(has) + want.n_gis;
			bh_gpu_plan_free(&plan);
		}
	}
	*ret_mean = (double) sum / (double) pairs;
	*ret_clear_all = (double) clear_all / (double) pairs;
	print_message("%s: %zu pairs, mean %.4f operations, clearing first %.4f\n", slug,
			(size_t) pairs, *ret_mean, *ret_clear_all);
	oracle_free(&oracle);
}

static void assert_figure(double figure, const char *expected)
{
	char text[32];

	(void) snprintf(text, sizeof(text), "%.2f", figure);
	assert_string_equal(text, expected);
}

static void every_layout_reaches_every_mix_with_the_fewest_operations(void **state)
{
	static const char *const means[][2] = {
			{"4.27", "6.91"}, {"2.15", "3.47"}, {"2.15", "3.47"}};

	for (size_t b = 0; b < BH_ARRAY_SIZE(base_boards); b++) {
		double mean, clear_all;

		check_every_pair(base_boards[b], &mean, &clear_all);
		assert_figure(mean, means[b][0]);
		assert_figure(clear_all, means[b][1]);
	}
}

struct random_case {
	uint32_t has, pinned, aliens;
	struct oracle_mix wanted;
};

static void mark(struct bh_gpu *gpu, const struct oracle *oracle, const struct random_case *c)
{
	for (size_t g = 0; g < gpu->n_gis; g++) {
		struct bh_gpu one = *gpu;
		uint32_t cell;

		one.gis[0] = gpu->gis[g];
		one.n_gis = 1;
		cell = oracle_set_of(oracle, &one);
		gpu->gis[g].foreign = cell & c->aliens;
		if (cell & c->pinned)
			board_make_busy(gpu, &gpu->gis[g], 4000 + (int) g, "python");
	}
}

/* Half of the mixes are of a legal layout, half are made up; what stays is in some of both. */
static void roll_case(struct dice *dice, const struct oracle *oracle, struct random_case *c)
{
	const struct bh_gpu *gpu = oracle->gpu;
	uint32_t near;

	*c = (struct random_case){
			.has = oracle->layouts[dice_roll(dice, (uint32_t) oracle->n_layouts)]};
	for (size_t i = 0; i < oracle->n_cells; i++) {
		if (!(c->has & 1U << i))
			continue;
		switch (dice_roll(dice, 4)) {
		case 0:
			c->pinned |= 1U << i;
			break;
		case 1:
			c->aliens |= 1U << i;
			break;
		default:
			break;
		}
	}
	near = oracle->layouts[dice_roll(dice, (uint32_t) oracle->n_layouts)];
	for (size_t i = 0; i < oracle->n_cells; i++) {
		if (near & 1U << i)
			c->wanted.counts[oracle->cells[i].profile]++;
	}
	if (dice_roll(dice, 2) == 0) { /* what is pinned, and a little more */
		memset(&c->wanted, 0, sizeof(c->wanted));
		for (size_t i = 0; i < oracle->n_cells; i++) {
			if (c->pinned & 1U << i || (near & 1U << i && dice_roll(dice, 3) == 0))
				c->wanted.counts[oracle->cells[i].profile]++;
		}
	}
	for (size_t p = 0; p < gpu->n_profiles; p++) { /* what no board holds is refused earlier */
		if (c->wanted.counts[p] > gpu->profiles[p].max_instances)
			c->wanted.counts[p] = (uint8_t) gpu->profiles[p].max_instances;
	}
}

static enum bh_code expected_refusal(const struct oracle *oracle, const struct random_case *c)
{
	if (oracle_minimum(oracle, c->has, 0, 0, &c->wanted) < 0)
		return BH_E_DOES_NOT_FIT;
	if (oracle_minimum(oracle, c->has, 0, c->aliens, &c->wanted) >= 0)
		return BH_E_IN_USE;
	if (oracle_minimum(oracle, c->has, c->pinned, 0, &c->wanted) >= 0)
		return BH_E_FOREIGN;
	return BH_E_IN_USE; /* both would have to go */
}

static void check_case(const struct oracle *oracle, const struct random_case *c, size_t *tally)
{
	int minimum = oracle_minimum(oracle, c->has, c->pinned, c->aliens, &c->wanted);
	struct bh_gpu gpu = *oracle->gpu;
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	uint32_t then;
	size_t n = 0;

	for (size_t p = 0; p < gpu.n_profiles; p++)
		n += c->wanted.counts[p];
	if (n > BH_GIS_MAX)
		return;
	put_layout(&gpu, oracle, c->has);
	mark(&gpu, oracle, c);
	want_mix(&gpu, &c->wanted, &want);
	if (bh_plan_gpu(&gpu, &want, &plan, &err) < 0) {
		enum bh_code expected = expected_refusal(oracle, c);

		if (minimum >= 0 || err.code != expected)
			fail_msg("%s: has %#x, pinned %#x, aliens %#x: minimum %d, refused as %s, "
				 "expected %s: %s",
					gpu.model, c->has, c->pinned, c->aliens, minimum,
					bh_code_name(err.code), bh_code_name(expected),
					err.message);
		assert_string_equal(err.gpu, gpu.uuid);
		assert_true(err.n_holders > 0 || err.code == BH_E_DOES_NOT_FIT);
		tally[err.code]++;
		return;
	}
	then = oracle_set_of(oracle, &plan.after);
	if ((int) plan.operations != minimum || (c->pinned | c->aliens) & ~then)
		fail_msg("%s: has %#x, pinned %#x, aliens %#x: %u operations to %#x, minimum %d",
				gpu.model, c->has, c->pinned, c->aliens, plan.operations, then,
				minimum);
	assert_true(oracle_is_legal(oracle, then));
	for (size_t s = 0; s < plan.n_steps; s++) {
		const struct bh_gi *gi =
				bh_gpu_find_gi(&gpu, plan.steps[s].profile_id, &plan.steps[s].at);

		assert_false(plan.steps[s].kind == BH_STEP_DESTROY_GI &&
				(!gi || gi->busy || gi->foreign));
		assert_false(plan.steps[s].kind == BH_STEP_DESTROY_CI &&
				(!gi || gi->busy || gi->foreign));
	}
	tally[BH_CODE_COUNT]++;
	bh_gpu_plan_free(&plan);
}

static void what_is_in_use_or_foreign_stays_and_refusals_are_named_rightly(void **state)
{
	static const char *const boards[] = {"h100-sxm5-80gb", "a100-40gb", "a30-24gb",
			"rtx-pro-6000-blackwell-96gb", "b200-180gb"};
	size_t tally[BH_CODE_COUNT + 1] = {0};
	struct dice dice;

	dice_init(&dice, 20240611, "pins and aliens");
	for (size_t b = 0; b < BH_ARRAY_SIZE(boards); b++) {
		struct bh_gpu gpu;
		struct oracle oracle;
		struct random_case c;

		board_init(&gpu, boards[b]);
		oracle_init(&oracle, &gpu);
		for (int i = 0; i < 20000; i++) {
			roll_case(&dice, &oracle, &c);
			check_case(&oracle, &c, tally);
		}
		oracle_free(&oracle);
	}
	print_message("planned %zu, in use %zu, foreign %zu, does not fit %zu\n",
			tally[BH_CODE_COUNT], tally[BH_E_IN_USE], tally[BH_E_FOREIGN],
			tally[BH_E_DOES_NOT_FIT]);
	/* a run that never met one of the outcomes has not tested it */
	assert_true(tally[BH_CODE_COUNT] > 1000 && tally[BH_E_IN_USE] > 1000 &&
			tally[BH_E_FOREIGN] > 1000 && tally[BH_E_DOES_NOT_FIT] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_oracle_counts_what_the_catalogue_says_of_its_boards),
			cmocka_unit_test(every_layout_reaches_every_mix_with_the_fewest_operations),
			cmocka_unit_test(
					what_is_in_use_or_foreign_stays_and_refusals_are_named_rightly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
