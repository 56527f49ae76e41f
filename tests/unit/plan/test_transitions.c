/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner against a walk: a breadth-first search over single changes ("destroy one", "create
 * one") between legal layouts. It knows nothing of sets that are alike or of costs, so its distance
 * is the fewest changes by definition, whatever order they come in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "oracle.h"

#define LAYOUTS_MAX 1024
#define FAR	    UINT8_MAX

struct field {
	struct bh_gpu gpu;
	struct oracle oracle;
	uint16_t number[1U << 18];    /* of the layout that is this set of cells */
	uint16_t mix_of[LAYOUTS_MAX]; /* of each layout */
	size_t first[LAYOUTS_MAX];    /* of each mix: a layout that has it */
	size_t n_mixes;
};

static void field_init(struct field *f, const char *slug)
{
	board_init_base(&f->gpu, slug);
	oracle_init(&f->oracle, &f->gpu);
	assert_true(f->oracle.n_layouts <= LAYOUTS_MAX && f->oracle.n_cells <= 18);
	memset(f->number, 0xff, sizeof(f->number));
	f->n_mixes = 0;
	for (size_t l = 0; l < f->oracle.n_layouts; l++) {
		size_t m = 0;

		f->number[f->oracle.layouts[l]] = (uint16_t) l;
		while (m < f->n_mixes && memcmp(&f->oracle.mixes[f->first[m]], &f->oracle.mixes[l],
							 sizeof(struct oracle_mix)) != 0)
			m++;
		if (m == f->n_mixes)
			f->first[f->n_mixes++] = l;
		f->mix_of[l] = (uint16_t) m;
	}
}

/*
 * How many changes away each layout is from one; what must stay is never touched. FAR where no walk
 * leads.
 */
static void walk(const struct field *f, uint32_t from, uint32_t stays, uint8_t *ret_distance)
{
	uint16_t queue[LAYOUTS_MAX];
	size_t head = 0, tail = 0;

	memset(ret_distance, FAR, f->oracle.n_layouts);
	ret_distance[f->number[from]] = 0;
	queue[tail++] = f->number[from];
	while (head < tail) {
		uint16_t at = queue[head++];

		for (size_t c = 0; c < f->oracle.n_cells; c++) {
			uint32_t change = 1U << c;
			uint16_t next = f->number[f->oracle.layouts[at] ^ change];

			if (change & stays || next == UINT16_MAX || ret_distance[next] != FAR)
				continue;
			ret_distance[next] = (uint8_t) (ret_distance[at] + 1);
			queue[tail++] = next;
		}
	}
}

static void put_layout(struct field *f, uint32_t set)
{
	f->gpu.n_gis = f->gpu.n_holders = 0;
	for (size_t c = 0; c < f->oracle.n_cells; c++) {
		const struct oracle_cell *cell = &f->oracle.cells[c];

		if (set & 1U << c)
			(void) board_add(&f->gpu, f->gpu.profiles[cell->profile].name, cell->start);
	}
}

static void want_mix(const struct field *f, const uint8_t *counts, struct bh_gpu_want *want)
{
	struct bh_want_row rows[BH_GI_PROFILES_MAX] = {0};
	size_t n = 0;

	for (size_t p = 0; p < f->gpu.n_profiles; p++) {
		if (counts[p] == 0)
			continue;
		memcpy(rows[n].gi_name, f->gpu.profiles[p].name, sizeof(rows[n].gi_name));
		rows[n++].count = counts[p];
	}
	board_want(&f->gpu, rows, n, want);
}

static void assert_figure(double figure, const char *expected)
{
	char text[32];

	(void) snprintf(text, sizeof(text), "%.2f", figure);
	assert_string_equal(text, expected);
}

/* To each mix the nearest layout that has it. */
static void nearest(const struct field *f, const uint8_t *distance, uint8_t *ret_least)
{
	memset(ret_least, FAR, f->n_mixes);
	for (size_t l = 0; l < f->oracle.n_layouts; l++) {
		if (distance[l] < ret_least[f->mix_of[l]])
			ret_least[f->mix_of[l]] = distance[l];
	}
}

static void check_every_pair(const char *slug, size_t layouts, size_t mixes, const char *mean,
		const char *mean_of_clearing)
{
	static struct field f;
	static struct bh_gpu_want wants[LAYOUTS_MAX];
	uint8_t distance[LAYOUTS_MAX], least[LAYOUTS_MAX];
	uint64_t sum = 0, clearing = 0;
	double pairs;

	field_init(&f, slug);
	assert_int_equal(f.oracle.n_layouts, layouts);
	assert_int_equal(f.n_mixes, mixes);
	pairs = (double) (layouts * mixes);
	for (size_t m = 0; m < f.n_mixes; m++)
		want_mix(&f, f.oracle.mixes[f.first[m]].counts, &wants[m]);
	for (size_t l = 0; l < f.oracle.n_layouts; l++) {
		walk(&f, f.oracle.layouts[l], 0, distance);
		nearest(&f, distance, least);
		put_layout(&f, f.oracle.layouts[l]);
		for (size_t m = 0; m < f.n_mixes; m++) {
			struct bh_gpu_plan plan;
			struct bh_error err = {0};

			if (bh_plan_gpu(&f.gpu, &wants[m], &plan, &err) < 0)
				fail_msg("%s: from %#x: %s", slug, f.oracle.layouts[l],
						err.message);
			if (plan.operations != least[m])
				fail_msg("%s: from %#x to the mix of %#x: %u operations, %u would "
					 "do",
						slug, f.oracle.layouts[l],
						f.oracle.layouts[f.first[m]], plan.operations,
						least[m]);
			sum += plan.operations;
			if (least[m] > 0)
				clearing += f.gpu.n_gis + wants[m].n_gis;
			bh_gpu_plan_free(&plan);
		}
	}
	print_message("%s: %zu layouts x %zu mixes, mean %.4f operations, clearing first %.4f\n",
			slug, layouts, mixes, (double) sum / pairs, (double) clearing / pairs);
	assert_figure((double) sum / pairs, mean);
	assert_figure((double) clearing / pairs, mean_of_clearing);
	oracle_free(&f.oracle);
}

static void every_plan_from_every_layout_to_every_mix_is_the_shortest_walk(void **state)
{
	check_every_pair("h100-sxm5-80gb", 723, 78, "4.27", "6.91");
	check_every_pair("a30-24gb", 26, 10, "2.15", "3.47");
}

/* Some of what stands is in use, some of that by strangers; the others may go. */
static void pin_some(struct field *f, struct dice *dice, uint32_t set, uint32_t *ret_pinned,
		uint32_t *ret_aliens)
{
	size_t g = 0;

	*ret_pinned = *ret_aliens = 0;
	put_layout(f, set);
	for (; g < f->gpu.n_gis; g++) {
		struct bh_gi *gi = &f->gpu.gis[g];
		struct bh_gpu one = f->gpu;
		uint32_t cell, roll = dice_roll(dice, 5);

		one.gis[0] = *gi;
		one.n_gis = 1;
		cell = oracle_set_of(&f->oracle, &one);
		if (roll <= 1) {
			board_make_busy(&f->gpu, gi, 4000 + (int) g, "python");
			*ret_pinned |= cell;
		} else if (roll == 2 && dice_roll(dice, 2)) {
			gi->foreign = true;
			*ret_aliens |= cell;
		}
	}
}

/* The wish: a mix that some layout has, less what strangers hold; negative counts give false. */
static bool take_aliens(const struct field *f, size_t layout, uint32_t aliens, uint8_t *ret_counts)
{
	memcpy(ret_counts, f->oracle.mixes[layout].counts, sizeof(f->oracle.mixes[layout].counts));
	for (size_t c = 0; c < f->oracle.n_cells; c++) {
		if (!(aliens & 1U << c))
			continue;
		if (ret_counts[f->oracle.cells[c].profile]-- == 0)
			return false;
	}
	return true;
}

/* Return: whether there is a way; both sides must say the same, and the same number. */
static bool check_pinned(struct field *f, struct dice *dice)
{
	uint8_t distance[LAYOUTS_MAX], least[LAYOUTS_MAX], counts[BH_GI_PROFILES_MAX];
	uint32_t from = f->oracle.layouts[dice_roll(dice, (uint32_t) f->oracle.n_layouts)];
	uint32_t pinned, aliens;
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	size_t to;
	uint8_t n;

	pin_some(f, dice, from, &pinned, &aliens);
	do {
		to = f->first[dice_roll(dice, (uint32_t) f->n_mixes)];
	} while (!take_aliens(f, to, aliens, counts));
	walk(f, from, pinned | aliens, distance);
	nearest(f, distance, least);
	n = least[f->mix_of[to]];
	want_mix(f, counts, &want);
	if (bh_plan_gpu(&f->gpu, &want, &plan, &err) < 0) {
		if (n != FAR)
			fail_msg("from %#x, pinned %#x, aliens %#x, to the mix of %#x: %u would "
				 "do, "
				 "refused: %s",
					from, pinned, aliens, f->oracle.layouts[to], n,
					err.message);
		return false;
	}
	if (plan.operations != n)
		fail_msg("from %#x, pinned %#x, aliens %#x, to the mix of %#x: %u operations, the "
			 "walk takes %u",
				from, pinned, aliens, f->oracle.layouts[to], plan.operations, n);
	bh_gpu_plan_free(&plan);
	return true;
}

static void beside_what_is_pinned_the_shortest_walk_is_found_or_there_is_none(void **state)
{
	static const char *const slugs[] = {"h100-sxm5-80gb", "a30-24gb"};
	static struct field f;
	struct dice dice;

	dice_init(&dice, 20250117, "pinned transitions");
	for (size_t b = 0; b < BH_ARRAY_SIZE(slugs); b++) {
		size_t feasible = 0;

		field_init(&f, slugs[b]);
		for (int i = 0; i < 10000; i++)
			feasible += check_pinned(&f, &dice);
		print_message("%s: 10000 cases, %zu with a way\n", slugs[b], feasible);
		assert_in_range(feasible, 1000, 9000); /* else one side was hardly tried */
		oracle_free(&f.oracle);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					every_plan_from_every_layout_to_every_mix_is_the_shortest_walk),
			cmocka_unit_test(
					beside_what_is_pinned_the_shortest_walk_is_found_or_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
