/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals over several GPUs, against brute force: every mix of every GPU by the oracle's minimum,
 * every choice of one for each, and the rule for ties written out a second time.
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
#include "oracle.h"
#include "plan/transition.h"

#define GPUS_MAX  4
#define MIXES_MAX 400
#define NAMES_MAX 8

/* What is on one GPU, for both sides. */
struct field {
	struct bh_gpu gpu;
	struct oracle oracle;
	uint32_t has, pinned, aliens;
	uint32_t split; /* of the pinned: with a compute instance that is not the whole */
};

/* A mix that a GPU can come to hold, by the names of the totals. */
struct way {
	uint32_t counts[NAMES_MAX];
	uint32_t operations, units;
	bool switches;
};

struct sample {
	struct field fields[GPUS_MAX];
	size_t n;
	struct bh_total totals[NAMES_MAX]; /* by name, the last first */
	size_t n_totals;
	struct way ways[GPUS_MAX][MIXES_MAX];
	size_t n_ways[GPUS_MAX];
};

static void put_layout(struct field *f)
{
	f->gpu.n_gis = f->gpu.n_holders = 0;
	for (size_t c = 0; c < f->oracle.n_cells; c++) {
		const struct oracle_cell *cell = &f->oracle.cells[c];
		struct bh_gi *gi;
		size_t before = f->gpu.n_gis;

		if (!(f->has & 1U << c))
			continue;
		gi = board_add(&f->gpu, f->gpu.profiles[cell->profile].name, cell->start);
		assert_int_equal(f->gpu.n_gis, before + 1);
		gi->foreign = f->aliens & 1U << c;
		if (f->pinned & 1U << c && f->split & 1U << c && gi->cis[0].at.size > 1) {
			gi->n_cis = 0; /* somebody in one slice of it */
			(void) board_add_ci(gi, 0, 1);
		}
		if (f->pinned & 1U << c)
			board_make_busy(&f->gpu, gi, 4000 + (int) c, "python");
	}
}

/* Of so many GPUs one has its MIG mode off. */
static void roll_field(struct dice *dice, struct field *f, uint32_t number, uint32_t off_one_in)
{
	f->has = f->oracle.layouts[dice_roll(dice, (uint32_t) f->oracle.n_layouts)];
	f->pinned = f->aliens = 0;
	f->gpu.mig_current = f->gpu.mig_pending = BH_MIG_ON;
	if (dice_roll(dice, off_one_in) == 0) {
		f->has = 0;
		f->gpu.mig_current = f->gpu.mig_pending = BH_MIG_OFF;
	}
	for (size_t c = 0; c < f->oracle.n_cells; c++) {
		uint32_t roll = dice_roll(dice, 10);

		if (!(f->has & 1U << c))
			continue;
		f->pinned |= roll < 3 ? 1U << c : 0;
		f->aliens |= roll >= 8 ? 1U << c : 0;
	}
	f->split = dice_roll(dice, 1U << 24);
	put_layout(f);
	f->gpu.index = number;
	(void) snprintf(f->gpu.uuid, sizeof(f->gpu.uuid), "GPU-%08x-%u", dice_roll(dice, 1U << 30),
			number);
}

static bool mix_is_possible(const struct field *f, const uint8_t *counts, int *ret_minimum)
{
	struct oracle_mix mix = {0};

	memcpy(mix.counts, counts, sizeof(mix.counts));
	*ret_minimum = oracle_minimum(&f->oracle, f->has, f->pinned, f->aliens, &mix);
	return *ret_minimum >= 0;
}

/* Every mix of a layout, less what strangers hold. */
static void list_ways(struct sample *s, size_t i)
{
	const struct field *f = &s->fields[i];

	s->n_ways[i] = 0;
	for (size_t l = 0; l < f->oracle.n_layouts; l++) {
		uint8_t counts[BH_GI_PROFILES_MAX];
		struct way *way = &s->ways[i][s->n_ways[i]];
		uint32_t sum = 0;
		bool all = true;
		int minimum;

		if (!oracle_first_of_mix(&f->oracle, l))
			continue;
		memcpy(counts, f->oracle.mixes[l].counts, sizeof(counts));
		*way = (struct way){0};
		for (size_t c = 0; c < f->oracle.n_cells; c++) {
			if (f->oracle.layouts[l] & 1U << c)
				way->units += f->oracle.cells[c].size;
			if (f->aliens & 1U << c && counts[f->oracle.cells[c].profile]-- == 0)
				all = false;
		}
		if (!all || !mix_is_possible(f, counts, &minimum))
			continue;
		for (size_t p = 0; p < f->gpu.n_profiles; p++) {
			size_t k = 0;

			while (k < s->n_totals &&
					strcmp(s->totals[k].profile, f->gpu.profiles[p].name) != 0)
				k++;
			all = all && (k < s->n_totals || counts[p] == 0);
			if (k < s->n_totals)
				way->counts[k] = counts[p];
			sum += counts[p];
		}
		if (!all)
			continue;
		way->operations = (uint32_t) minimum;
		way->switches = sum > 0 && f->gpu.mig_current == BH_MIG_OFF;
		s->n_ways[i]++;
		assert_true(s->n_ways[i] < MIXES_MAX);
	}
}

/* The rule for ties on one GPU: below 0 when @a comes first. */
static int compare_ways(const struct sample *s, const struct way *a, const struct way *b)
{
	if (a->units != b->units)
		return a->units > b->units ? -1 : 1;
	for (size_t k = 0; k < s->n_totals; k++) {
		if (a->counts[k] != b->counts[k])
			return a->counts[k] > b->counts[k] ? -1 : 1;
	}
	return 0;
}

struct brute {
	const struct sample *s;
	size_t order[GPUS_MAX]; /* by UUID */
	const struct way *now[GPUS_MAX], *best[GPUS_MAX];
	bool found;
};

static uint32_t cost(const struct sample *s, const struct way *const *choice)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += choice[i]->operations * 100 + choice[i]->switches;
	return sum;
}

static bool is_better(const struct brute *b)
{
	uint32_t now, best;

	if (!b->found)
		return true;
	now = cost(b->s, b->now);
	best = cost(b->s, b->best);
	for (size_t i = 0; now == best && i < b->s->n; i++) {
		int order = compare_ways(b->s, b->now[b->order[i]], b->best[b->order[i]]);

		if (order)
			return order < 0;
	}
	return now < best;
}

static void try_all(struct brute *b, size_t i)
{
	if (i < b->s->n) {
		for (size_t w = 0; w < b->s->n_ways[i]; w++) {
			b->now[i] = &b->s->ways[i][w];
			try_all(b, i + 1);
		}
		return;
	}
	for (size_t k = 0; k < b->s->n_totals; k++) {
		uint32_t sum = 0;

		for (size_t g = 0; g < b->s->n; g++)
			sum += b->now[g]->counts[k];
		if (sum != b->s->totals[k].count)
			return;
	}
	if (!is_better(b))
		return;
	b->found = true;
	memcpy(b->best, b->now, sizeof(b->now));
}

static void solve(struct brute *b, struct sample *s)
{
	*b = (struct brute){.s = s};
	for (size_t i = 0; i < s->n; i++) {
		size_t at = i;

		list_ways(s, i);
		for (; at > 0 && strcmp(s->fields[b->order[at - 1]].gpu.uuid,
						 s->fields[i].gpu.uuid) > 0;
				at--)
			b->order[at] = b->order[at - 1];
		b->order[at] = i;
	}
	try_all(b, 0);
}

static int compare_totals(const void *a, const void *b)
{
	return -strcmp(((const struct bh_total *) a)->profile,
			((const struct bh_total *) b)->profile);
}

static void add_total(struct sample *s, const char *name, uint32_t count)
{
	size_t k = 0;

	while (k < s->n_totals && strcmp(s->totals[k].profile, name) != 0)
		k++;
	if (k == s->n_totals) {
		if (s->n_totals == NAMES_MAX || count == 0)
			return;
		s->totals[s->n_totals++] = (struct bh_total){.count = 0};
		memcpy(s->totals[k].profile, name, strlen(name) + 1);
	}
	s->totals[k].count += count;
}

/* Of each GPU some mix that it could hold if it were empty, or what stays there and a little more. */
static void roll_totals(struct dice *dice, struct sample *s)
{
	uint32_t modest = dice_roll(dice, 3) == 0, more = dice_roll(dice, 2);

	s->n_totals = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct field *f = &s->fields[i];
		uint32_t near = f->oracle.layouts[dice_roll(dice, (uint32_t) f->oracle.n_layouts)];

		for (size_t c = 0; c < f->oracle.n_cells; c++) {
			const char *name = f->gpu.profiles[f->oracle.cells[c].profile].name;

			if (modest ? (f->pinned & 1U << c || (near & f->has & 1U << c) ||
						     (near & 1U << c && dice_roll(dice, 4) == 0))
				   : (near & 1U << c) != 0)
				add_total(s, name, 1);
		}
	}
	if (more && s->n_totals > 0)
		s->totals[dice_roll(dice, (uint32_t) s->n_totals)].count++;
	qsort(s->totals, s->n_totals, sizeof(s->totals[0]), compare_totals);
}

/* As the brute force sees it: with users, or strangers, or all that stands taken away. */
static bool fits_without(const struct sample *s, bool users, bool strangers, bool everything)
{
	static struct sample other;
	struct brute b;

	other = *s;
	for (size_t i = 0; i < other.n; i++) {
		struct field *f = &other.fields[i];

		f->pinned = users ? 0 : f->pinned;
		f->aliens = strangers ? 0 : f->aliens;
		f->has = everything ? 0 : f->has;
	}
	solve(&b, &other);
	return b.found;
}

static bool more_stay_than_wanted(const struct sample *s)
{
	uint32_t stay;

	for (size_t i = 0; i < s->n; i++) {
		for (size_t c = 0; c < s->fields[i].oracle.n_cells; c++) {
			const struct field *f = &s->fields[i];
			const char *name = f->gpu.profiles[f->oracle.cells[c].profile].name;
			uint32_t wanted = 0;

			if (!(f->pinned & 1U << c))
				continue;
			stay = 0;
			for (size_t g = 0; g < s->n; g++) {
				const struct field *o = &s->fields[g];

				for (size_t k = 0; k < o->oracle.n_cells; k++)
					stay += o->pinned & 1U << k &&
						strcmp(o->gpu.profiles[o->oracle.cells[k].profile]
										.name,
								name) == 0;
			}
			for (size_t k = 0; k < s->n_totals; k++)
				wanted += strcmp(s->totals[k].profile, name) == 0
							  ? s->totals[k].count
							  : 0;
			if (stay > wanted)
				return true;
		}
	}
	return false;
}

static enum bh_code expected_refusal(const struct sample *s)
{
	if (!fits_without(s, true, true, true))
		return BH_E_DOES_NOT_FIT;
	if (more_stay_than_wanted(s) || fits_without(s, true, false, false) ||
			!fits_without(s, false, true, false))
		return BH_E_IN_USE;
	return BH_E_FOREIGN;
}

static int find(const struct sample *s, const size_t *gpus, const size_t *totals,
		struct bh_transition *ret, struct bh_error *err)
{
	struct bh_gpu node[GPUS_MAX];
	struct bh_total rows[NAMES_MAX];
	const struct bh_transition_problem problem = {.gpus = node,
			.n_gpus = s->n,
			.totals = rows,
			.n_totals = s->n_totals,
			.source = "wanted by layout.yaml:7"};

	for (size_t i = 0; i < s->n; i++)
		node[i] = s->fields[gpus[i]].gpu;
	for (size_t k = 0; k < s->n_totals; k++)
		rows[k] = s->totals[totals[k]];
	memset(err, 0, sizeof(*err));
	return bh_transition_find(&problem, ret, err);
}

static const size_t in_order[NAMES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};

static void check_gpu(const struct sample *s, size_t i, const struct bh_gpu_want *want,
		uint32_t operations, const struct way *way)
{
	const struct bh_gpu *gpu = &s->fields[i].gpu;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};

	assert_int_equal(operations, way->operations);
	for (size_t k = 0; k < s->n_totals; k++) {
		uint32_t n = 0;

		for (size_t w = 0; w < want->n_gis; w++)
			n += strcmp(gpu->profiles[want->gis[w].profile].name,
					     s->totals[k].profile) == 0;
		if (n != way->counts[k])
			fail_msg("%s: %u x %s, expected %u", gpu->uuid, n, s->totals[k].profile,
					way->counts[k]);
	}
	if (bh_plan_gpu(gpu, want, &plan, &err) < 0)
		fail_msg("%s: %s", gpu->uuid, err.message);
	assert_int_equal(plan.operations, operations);
	assert_true(bh_want_is_met(&plan.after, want, NULL, 0));
	bh_gpu_plan_free(&plan);
}

/* Return: the code of the refusal, or BH_CODE_COUNT. */
static enum bh_code check_sample(struct sample *s)
{
	struct bh_transition t;
	struct bh_error err;
	struct brute b;

	solve(&b, s);
	if (find(s, in_order, in_order, &t, &err) < 0) {
		enum bh_code expected = b.found ? BH_CODE_COUNT : expected_refusal(s);

		if (err.code != expected)
			fail_msg("refused as %s, expected %s: %s", bh_code_name(err.code),
					b.found ? "an answer" : bh_code_name(expected),
					err.message);
		assert_true(err.next[0]);
		assert_true(err.code == BH_E_DOES_NOT_FIT || (err.n_holders > 0 && err.gpu[0]));
		return err.code;
	}
	assert_true(b.found);
	assert_true(t.proven);
	assert_int_equal(t.lower_bound, t.total);
	if (t.total * 100 != cost(s, b.best) / 100 * 100)
		fail_msg("%u operations, %u would do", t.total, cost(s, b.best) / 100);
	for (size_t i = 0; i < s->n; i++)
		check_gpu(s, i, &t.wants[i], t.operations[i], b.best[i]);
	bh_transition_free(&t);
	return BH_CODE_COUNT;
}

static void check_many(struct dice *dice, const char *const *slugs, size_t n, bool base, int cases,
		size_t *tally)
{
	static struct sample s;

	s.n = n;
	for (size_t i = 0; i < n; i++) {
		if (base)
			board_init_base(&s.fields[i].gpu, slugs[i]);
		else
			board_init(&s.fields[i].gpu, slugs[i]);
		oracle_init(&s.fields[i].oracle, &s.fields[i].gpu);
	}
	while (cases-- > 0) {
		for (size_t i = 0; i < n; i++)
			roll_field(dice, &s.fields[i], (uint32_t) i, n == GPUS_MAX ? 2 : 6);
		roll_totals(dice, &s);
		tally[check_sample(&s)]++;
	}
	for (size_t i = 0; i < n; i++)
		oracle_free(&s.fields[i].oracle);
}

static void the_answer_is_the_first_of_the_shortest_and_refusals_are_named_rightly(void **state)
{
	static const char *const two_h100[] = {"h100-sxm5-80gb", "h100-sxm5-80gb"};
	static const char *const three_a30[] = {"a30-24gb", "a30-24gb", "a30-24gb"};
	static const char *const mixed[] = {"a30-24gb", "h100-pcie-80gb", "a30-24gb"};
	static const char *const four_a30[] = {"a30-24gb", "a30-24gb", "a30-24gb", "a30-24gb"};
	/* one name for profiles that stand differently: 1g.10gb, 1g.24gb */
	static const char *const namesakes[][2] = {{"a100-40gb", "h100-sxm5-80gb"},
			{"gh200-96gb", "rtx-pro-6000-blackwell-96gb"}};
	static const char *const alike[] = {"a100-80gb", "h100-sxm5-80gb"};
	size_t tally[BH_CODE_COUNT + 1] = {0};
	struct dice dice;

	dice_init(&dice, 20250118, "totals");
	check_many(&dice, three_a30, 3, /* base= */ true, 4000, tally);
	check_many(&dice, three_a30, 3, /* base= */ false, 500, tally);
	check_many(&dice, mixed, 3, /* base= */ true, 600, tally);
	check_many(&dice, two_h100, 2, /* base= */ true, 800, tally);
	check_many(&dice, alike, 2, /* base= */ true, 500, tally);
	check_many(&dice, four_a30, 4, /* base= */ true, 1000, tally);
	for (size_t i = 0; i < BH_ARRAY_SIZE(namesakes); i++)
		check_many(&dice, namesakes[i], 2, /* base= */ true, 800, tally);
	print_message("answered %zu, in use %zu, foreign %zu, does not fit %zu\n",
			tally[BH_CODE_COUNT], tally[BH_E_IN_USE], tally[BH_E_FOREIGN],
			tally[BH_E_DOES_NOT_FIT]);
	assert_true(tally[BH_CODE_COUNT] > 500 && tally[BH_E_IN_USE] > 300 &&
			tally[BH_E_FOREIGN] > 100 && tally[BH_E_DOES_NOT_FIT] > 100);
}

static void swap(size_t *a, size_t *b)
{
	size_t kept = *a;

	*a = *b;
	*b = kept;
}

/* The next order of numbers, as in a dictionary; false after the last. */
static bool next_order(size_t *order, size_t n)
{
	size_t i = n, j = n;

	while (i > 1 && order[i - 2] > order[i - 1])
		i--;
	if (i <= 1)
		return false;
	while (order[j - 1] < order[i - 2])
		j--;
	swap(&order[i - 2], &order[j - 1]);
	for (size_t a = i - 1, b = n - 1; a < b; a++, b--)
		swap(&order[a], &order[b]);
	return true;
}

static void check_orders(const struct sample *s, size_t *ret_orders)
{
	struct bh_transition first, t;
	struct bh_error why, err;
	int r = find(s, in_order, in_order, &first, &why);
	size_t gpus[GPUS_MAX] = {0, 1, 2, 3};

	do {
		size_t totals[NAMES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};

		do {
			assert_int_equal(find(s, gpus, totals, &t, &err), r);
			(*ret_orders)++;
			if (r < 0) {
				assert_string_equal(err.message, why.message);
				assert_string_equal(err.gpu, why.gpu);
				continue;
			}
			for (size_t i = 0; i < s->n; i++) {
				assert_memory_equal(&t.wants[i], &first.wants[gpus[i]],
						sizeof(t.wants[i]));
				assert_int_equal(t.operations[i], first.operations[gpus[i]]);
			}
			assert_int_equal(t.total, first.total);
			bh_transition_free(&t);
		} while (next_order(totals, s->n_totals));
	} while (next_order(gpus, s->n));
	if (r == 0)
		bh_transition_free(&first);
}

static void neither_the_order_of_gpus_nor_that_of_keys_changes_what_a_gpu_shall_hold(void **state)
{
	static const char *const slugs[] = {"a30-24gb", "h100-sxm5-80gb", "a30-24gb"};
	static struct sample s;
	size_t orders = 0, answered = 0;
	struct dice dice;

	dice_init(&dice, 20250120, "orders");
	s.n = 3;
	for (size_t i = 0; i < s.n; i++) {
		board_init_base(&s.fields[i].gpu, slugs[i]);
		oracle_init(&s.fields[i].oracle, &s.fields[i].gpu);
	}
	for (int n = 0; n < 60; n++) {
		struct bh_transition t;
		struct bh_error err;

		for (size_t i = 0; i < s.n; i++)
			roll_field(&dice, &s.fields[i], (uint32_t) i, 6);
		do {
			roll_totals(&dice, &s);
		} while (s.n_totals > 5);
		check_orders(&s, &orders);
		if (find(&s, in_order, in_order, &t, &err) == 0) {
			answered++;
			bh_transition_free(&t);
		}
	}
	for (size_t i = 0; i < s.n; i++)
		oracle_free(&s.fields[i].oracle);
	print_message("%zu orders of 60 cases, %zu of them with an answer\n", orders, answered);
	assert_in_range(answered, 15, 58);
}

static void find_on(const struct bh_gpu *gpus, size_t n, const struct bh_total *totals,
		size_t n_totals, uint64_t budget, struct bh_transition *ret)
{
	const struct bh_transition_problem problem = {.gpus = gpus,
			.n_gpus = n,
			.totals = totals,
			.n_totals = n_totals,
			.budget = budget};
	struct bh_error err = {0};

	if (bh_transition_find(&problem, ret, &err) < 0)
		fail_msg("%s", err.message);
}

static void refuse_on(const struct bh_gpu *gpus, size_t n, const struct bh_total *totals,
		size_t n_totals, enum bh_code code, const char *message)
{
	const struct bh_transition_problem problem = {
			.gpus = gpus, .n_gpus = n, .totals = totals, .n_totals = n_totals};
	struct bh_transition t;
	struct bh_error err = {0};

	assert_int_equal(bh_transition_find(&problem, &t, &err), -1);
	assert_string_equal(err.message, message);
	assert_string_equal(bh_code_name(err.code), bh_code_name(code));
}

static void init_two(struct bh_gpu *gpus, const char *slug)
{
	for (uint32_t i = 0; i < 2; i++) {
		board_init(&gpus[i], slug);
		gpus[i].index = i;
		gpus[i].uuid[4] = (char) ('1' + i);
	}
}

static void what_stands_is_kept_on_the_gpu_where_it_stands(void **state)
{
	static const struct bh_total totals[] = {{"3g.40gb", 1}, {"1g.10gb", 3}};
	struct bh_transition t;
	struct bh_gpu gpus[2];

	init_two(gpus, "h100-sxm5-80gb");
	(void) board_add(&gpus[1], "3g.40gb", 4);
	(void) board_add(&gpus[0], "1g.10gb", 6);
	find_on(gpus, 2, totals, 2, 0, &t);
	assert_int_equal(t.total, 2);
	assert_true(t.proven);
	assert_int_equal(t.wants[0].n_gis, 3);
	assert_int_equal(t.wants[1].n_gis, 1);
	bh_transition_free(&t);
}

static void a_gpu_that_cannot_be_used_is_left_and_named_where_it_is_needed(void **state)
{
	static const struct bh_total one[] = {{"7g.80gb", 1}}, two[] = {{"7g.80gb", 2}};
	struct bh_transition t;
	struct bh_gpu gpus[2];

	init_two(gpus, "h100-sxm5-80gb");
	board_hold_whole(&gpus[0], 77, "Xorg");
	find_on(gpus, 2, one, 1, 0, &t);
	assert_false(t.wants[0].in_scope);
	assert_int_equal(t.wants[1].n_gis, 1);
	bh_transition_free(&t);
	refuse_on(gpus, 2, two, 1, BH_E_IN_USE,
			"GPU 0 (NVIDIA H100 80GB HBM3): the wanted totals have no room beside what "
			"must stay: held by process Xorg (pid 77)");

	init_two(gpus, "h100-sxm5-80gb");
	gpus[1].holders_known = false;
	(void) board_add(&gpus[1], "7g.80gb", 0);
	find_on(gpus, 2, two, 1, 0, &t); /* it stays as it is */
	assert_int_equal(t.total, 1);
	bh_transition_free(&t);
	refuse_on(gpus, 2, NULL, 0, BH_E_IN_USE,
			"GPU 1 (NVIDIA H100 80GB HBM3): the driver does not say who is on it, and "
			"unknown is not nobody");

	init_two(gpus, "h100-sxm5-80gb");
	gpus[0].mig_capable = false;
	find_on(gpus, 2, one, 1, 0, &t);
	assert_false(t.wants[0].in_scope);
	bh_transition_free(&t);

	init_two(gpus, "h100-sxm5-80gb");
	gpus[0].mig_current = gpus[0].mig_pending = BH_MIG_OFF;
	find_on(gpus, 2, one, 1, 0, &t); /* the one whose mode need not change */
	assert_false(t.wants[0].in_scope);
	bh_transition_free(&t);
	find_on(gpus, 2, two, 1, 0, &t);
	assert_true(t.wants[0].in_scope && t.wants[0].mig_on);
	bh_transition_free(&t);
}

static void refusals_say_what_is_lacking_or_who_is_in_the_way(void **state)
{
	static const struct bh_total three[] = {{"7g.80gb", 1}, {"4g.40gb", 2}};
	static const struct bh_total none[] = {{"1g.10gb", 1}};
	static const struct bh_total halves[] = {{"3g.40gb", 4}, {"1g.10gb", 1}};
	static const struct bh_total odd[] = {{"1g.5gb", 1}};
	static const struct bh_total media[] = {{"1g.10gb+me", 3}};
	struct bh_gpu gpus[2];

	init_two(gpus, "h100-sxm5-80gb");
	refuse_on(gpus, 2, three, 2, BH_E_DOES_NOT_FIT,
			"these 2 GPUs cannot hold 1 x 7g.80gb, 2 x 4g.40gb, even if all were "
			"empty: 4g.40gb needs 2 free left halves (units 0-3), after all wider "
			"profiles there are 1");
	refuse_on(gpus, 2, halves, 2, BH_E_DOES_NOT_FIT,
			"these 2 GPUs cannot hold 4 x 3g.40gb, 1 x 1g.10gb, even if all were "
			"empty: 1g.10gb needs 1 free units (0 to 6), after all wider profiles "
			"there are 0");
	refuse_on(gpus, 2, media, 1, BH_E_DOES_NOT_FIT,
			"these 2 GPUs cannot hold 3 x 1g.10gb+me, even if all were empty: one "
			"1g.10gb+me is left over");
	refuse_on(gpus, 2, odd, 1, BH_E_PROFILE_NOT_OFFERED,
			"none of these 2 GPUs offers 1g.5gb; they offer 1g.10gb, 1g.10gb+me, "
			"1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb");
	board_make_busy(&gpus[1], board_add(&gpus[1], "2g.20gb", 4), 700, "train");
	refuse_on(gpus, 2, none, 1, BH_E_IN_USE,
			"GPU 1 (NVIDIA H100 80GB HBM3): more of 2g.20gb must stay than the 0 that "
			"are wanted in all: blocked by instance 2g.20gb at 4, used by pid 700 "
			"(train)");
	gpus[1].gis[0].busy = gpus[1].gis[0].cis[0].busy = false;
	gpus[1].gis[0].foreign = true;
	refuse_on(gpus, 2, (const struct bh_total[]){{"7g.80gb", 2}}, 1, BH_E_FOREIGN,
			"GPU 1 (NVIDIA H100 80GB HBM3): the wanted totals have no room beside what "
			"must stay: blocked by instance 2g.20gb at 4, which was not made with this "
			"state directory");
}

/* Eight boards full of what nobody wants, and more wanted than can be tried in a few steps. */
static void past_the_budget_the_answer_is_greedy_and_the_bound_below_it(void **state)
{
	static const struct bh_total totals[] = {{"4g.40gb", 3}, {"3g.40gb", 5}, {"2g.20gb", 4},
			{"1g.20gb", 6}, {"1g.10gb", 9}};
	struct bh_gpu gpus[8];
	struct bh_transition exact, greedy;
	struct bh_error err = {0};
	struct dice dice;
	struct oracle oracle;
	bool unproven = false;
	const struct bh_transition_problem hopeless = {
			.gpus = gpus, .n_gpus = 8, .totals = totals, .n_totals = 5, .budget = 1};

	dice_init(&dice, 20250121, "budget");
	board_init_base(&gpus[0], "h100-sxm5-80gb");
	oracle_init(&oracle, &gpus[0]);
	for (int n = 0; n < 10; n++) {
		for (uint32_t i = 0; i < 8; i++) {
			struct field f = {.oracle = oracle,
					.has = oracle.layouts[dice_roll(
							&dice, (uint32_t) oracle.n_layouts)]};

			board_init_base(&f.gpu, "h100-sxm5-80gb");
			put_layout(&f);
			f.gpu.uuid[4] = (char) ('0' + i);
			gpus[i] = f.gpu;
		}
		find_on(gpus, 8, totals, 5, 0, &exact);
		assert_true(exact.proven);
		find_on(gpus, 8, totals, 5, 1500, &greedy);
		assert_true(greedy.lower_bound <= exact.total && exact.total <= greedy.total);
		assert_true(greedy.proven == (greedy.lower_bound == greedy.total));
		unproven = unproven || !greedy.proven;
		for (size_t i = 0; i < 8; i++) {
			struct bh_gpu_plan plan;

			assert_int_equal(bh_plan_gpu(&gpus[i], &greedy.wants[i], &plan, NULL), 0);
			assert_int_equal(plan.operations, greedy.operations[i]);
			bh_gpu_plan_free(&plan);
		}
		bh_transition_free(&exact);
		bh_transition_free(&greedy);
	}
	assert_true(unproven);
	assert_int_equal(bh_transition_find(&hopeless, &exact, &err), -1);
	assert_int_equal(err.code, BH_E_INTERNAL);
	oracle_free(&oracle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					the_answer_is_the_first_of_the_shortest_and_refusals_are_named_rightly),
			cmocka_unit_test(
					neither_the_order_of_gpus_nor_that_of_keys_changes_what_a_gpu_shall_hold),
			cmocka_unit_test(what_stands_is_kept_on_the_gpu_where_it_stands),
			cmocka_unit_test(
					a_gpu_that_cannot_be_used_is_left_and_named_where_it_is_needed),
			cmocka_unit_test(refusals_say_what_is_lacking_or_who_is_in_the_way),
			cmocka_unit_test(
					past_the_budget_the_answer_is_greedy_and_the_bound_below_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
