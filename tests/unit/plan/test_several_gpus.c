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

#define GPUS_MAX  3
#define MIXES_MAX 400
#define NAMES_MAX 8

/* What is on one GPU, for both sides. */
struct field {
	struct bh_gpu gpu;
	struct oracle oracle;
	uint32_t has, pinned, aliens;
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
		if (f->pinned & 1U << c)
			board_make_busy(&f->gpu, gi, 4000 + (int) c, "python");
	}
}

static void roll_field(struct dice *dice, struct field *f, uint32_t number)
{
	f->has = f->oracle.layouts[dice_roll(dice, (uint32_t) f->oracle.n_layouts)];
	f->pinned = f->aliens = 0;
	f->gpu.mig_current = f->gpu.mig_pending = BH_MIG_ON;
	if (dice_roll(dice, 6) == 0) {
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
			roll_field(dice, &s.fields[i], (uint32_t) i);
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
	static const char *const alike[] = {"a100-80gb", "h100-sxm5-80gb"};
	size_t tally[BH_CODE_COUNT + 1] = {0};
	struct dice dice;

	dice_init(&dice, 20250118, "totals");
	check_many(&dice, three_a30, 3, /* base= */ true, 4000, tally);
	check_many(&dice, three_a30, 3, /* base= */ false, 500, tally);
	check_many(&dice, mixed, 3, /* base= */ true, 600, tally);
	check_many(&dice, two_h100, 2, /* base= */ true, 800, tally);
	check_many(&dice, alike, 2, /* base= */ true, 500, tally);
	print_message("answered %zu, in use %zu, foreign %zu, does not fit %zu\n",
			tally[BH_CODE_COUNT], tally[BH_E_IN_USE], tally[BH_E_FOREIGN],
			tally[BH_E_DOES_NOT_FIT]);
	assert_true(tally[BH_CODE_COUNT] > 500 && tally[BH_E_IN_USE] > 300 &&
			tally[BH_E_FOREIGN] > 100 && tally[BH_E_DOES_NOT_FIT] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					the_answer_is_the_first_of_the_shortest_and_refusals_are_named_rightly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
