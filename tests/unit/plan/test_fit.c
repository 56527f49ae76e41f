/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to whether a wish fits: every part of it is held against trying all there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board.h"
#include "plan/fit_need.h"

#define GPUS_MAX 3

struct node {
	struct bh_gpu gpus[GPUS_MAX];
	struct bh_occupancy rooms[GPUS_MAX];
	size_t n;
};

static int find(const struct bh_occupancy *rooms, size_t n_rooms, const struct bh_ask *asks,
		size_t n_asks, struct bh_fit *ret_fit, struct bh_error *err)
{
	const struct bh_fit_question question = {
			.rooms = rooms, .n_rooms = n_rooms, .asks = asks, .n_asks = n_asks};

	return bh_fit_find(&question, ret_fit, err);
}

static void read_rooms(struct node *node)
{
	for (size_t i = 0; i < node->n; i++)
		bh_occupancy_init(&node->rooms[i], &node->gpus[i]);
}

static bool solves(const struct bh_occupancy *rooms, size_t n, const struct bh_ask *asks,
		size_t n_asks)
{
	uint32_t budget = BH_SOLVE_BUDGET;
	int r = bh_solve(rooms, n, asks, n_asks, &budget, NULL, NULL);

	assert_true(r >= 0);
	return r == 0;
}

/* Fills a node by chance: every instance where it can stand, some of them in use. */
static void fill(struct node *node, const char *slug, size_t n, struct dice *dice)
{
	node->n = n;
	for (size_t i = 0; i < n; i++) {
		struct bh_gpu *gpu = &node->gpus[i];
		struct bh_occupancy room;

		board_init(gpu, slug);
		gpu->index = (uint32_t) i;
		bh_occupancy_init(&room, gpu);
		for (uint32_t tries = dice_roll(dice, 7); tries > 0; tries--) {
			size_t p = dice_roll(dice, (uint32_t) gpu->n_profiles);
			const struct bh_placement *at;

			if (gpu->profiles[p].n_placements == 0)
				continue;
			at = &gpu->profiles[p].placements[dice_roll(
					dice, (uint32_t) gpu->profiles[p].n_placements)];
			if (!bh_occupancy_allows(&room, p, at))
				continue;
			bh_occupancy_add(&room, p, at);
			if (dice_roll(dice, 3) == 0)
				board_make_busy(gpu, board_add_bare(gpu, p, at), 1, "x");
			else
				(void) board_add_bare(gpu, p, at);
		}
	}
	read_rooms(node);
}

static size_t random_asks(const struct node *node, struct dice *dice, struct bh_ask *asks)
{
	const struct bh_gpu *gpu = &node->gpus[0];
	size_t n = 0, wanted = 1 + dice_roll(dice, 3);

	for (size_t p = 0; p < gpu->n_profiles && n < wanted; p++) {
		if (dice_roll(dice, 3) == 0)
			asks[n++] = (struct bh_ask){gpu->profiles[p].name, 1 + dice_roll(dice, 3)};
	}
	if (n == 0)
		asks[n++] = (struct bh_ask){gpu->profiles[0].name, 1};
	return n;
}

/* Is what was found legal, and all of the wish? */
static void check_places(const struct node *node, const struct bh_ask *asks, size_t n_asks,
		const struct bh_solution *solution)
{
	struct bh_occupancy rooms[GPUS_MAX];
	uint32_t counts[BH_ASKS_MAX] = {0}, all = 0;

	memcpy(rooms, node->rooms, sizeof(rooms));
	for (size_t i = 0; i < solution->n_found; i++) {
		const struct bh_found *f = &solution->found[i];
		const char *name = node->gpus[f->room].profiles[f->profile].name;

		assert_true(bh_occupancy_allows(&rooms[f->room], f->profile, &f->at));
		bh_occupancy_add(&rooms[f->room], f->profile, &f->at);
		for (size_t a = 0; a < n_asks; a++)
			counts[a] += strcmp(asks[a].profile, name) == 0;
	}
	for (size_t a = 0; a < n_asks; a++) {
		assert_int_equal(counts[a], asks[a].count);
		all += asks[a].count;
	}
	assert_int_equal(solution->n_found, all);
}

/* Tries every idle instance at every other place of every GPU. */
static bool some_move_helps(const struct node *node, const struct bh_ask *asks, size_t n_asks)
{
	struct bh_occupancy rooms[GPUS_MAX];

	for (size_t from = 0; from < node->n; from++) {
		const struct bh_gpu *gpu = &node->gpus[from];

		for (size_t g = 0; g < gpu->n_gis; g++) {
			size_t p = 0;

			if (gpu->gis[g].busy)
				continue;
			while (gpu->profiles[p].id != gpu->gis[g].profile_id)
				p++;
			for (size_t to = 0; to < node->n; to++) {
				for (size_t k = 0; k < gpu->profiles[p].n_placements; k++) {
					const struct bh_placement *at =
							&gpu->profiles[p].placements[k];

					memcpy(rooms, node->rooms, sizeof(rooms));
					bh_occupancy_remove(&rooms[from], p, &gpu->gis[g].at);
					if (!bh_occupancy_allows(&rooms[to], p, at))
						continue;
					bh_occupancy_add(&rooms[to], p, at);
					if (solves(rooms, node->n, asks, n_asks))
						return true;
				}
			}
		}
	}
	return false;
}

static void check_move(const struct node *node, const struct bh_ask *asks, size_t n_asks,
		const struct bh_fit *fit)
{
	const struct bh_gpu *from = &node->gpus[fit->move.from];
	struct bh_occupancy rooms[GPUS_MAX];
	size_t p = 0;

	assert_false(fit->move_unknown);
	assert_int_equal(fit->has_move, some_move_helps(node, asks, n_asks));
	if (!fit->has_move)
		return;
	assert_false(from->gis[fit->move.gi].busy);
	while (from->profiles[p].id != from->gis[fit->move.gi].profile_id)
		p++;
	memcpy(rooms, node->rooms, sizeof(rooms));
	bh_occupancy_remove(&rooms[fit->move.from], p, &from->gis[fit->move.gi].at);
	assert_true(bh_occupancy_allows(&rooms[fit->move.to], p, &fit->move.at));
	bh_occupancy_add(&rooms[fit->move.to], p, &fit->move.at);
	assert_true(solves(rooms, node->n, asks, n_asks));
}

/* The number is the fewest: with it the wish fits, with one less it does not. */
static void check_cards(const struct node *node, const struct bh_ask *asks, size_t n_asks,
		const struct bh_fit *fit)
{
	struct bh_occupancy rooms[64];

	assert_true(fit->gpus_needed > node->n && fit->gpus_needed <= BH_ARRAY_SIZE(rooms));
	memcpy(rooms, node->rooms, node->n * sizeof(*rooms));
	for (size_t i = node->n; i < fit->gpus_needed; i++)
		bh_occupancy_init_empty(&rooms[i], &node->gpus[0]);
	assert_true(solves(rooms, fit->gpus_needed, asks, n_asks));
	assert_false(solves(rooms, fit->gpus_needed - 1, asks, n_asks));
}

static void check_answer(const struct node *node, const struct bh_ask *asks, size_t n_asks)
{
	bh_auto_fit struct bh_fit fit = {0};
	struct bh_error err = {0};

	if (find(node->rooms, node->n, asks, n_asks, &fit, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(fit.fits, solves(node->rooms, node->n, asks, n_asks));
	if (fit.fits) {
		check_places(node, asks, n_asks, &fit.solution);
		assert_int_equal(fit.gpus_needed, node->n);
		return;
	}
	assert_true(fit.certificate.needs > fit.certificate.has);
	assert_true(fit.certificate.text[0] && fit.certificate.rule[0]);
	for (size_t i = 0; i < fit.n_alternatives; i++)
		assert_true(solves(node->rooms, node->n, fit.alternatives[i].asks,
				fit.alternatives[i].n_asks));
	check_move(node, asks, n_asks, &fit);
	check_cards(node, asks, n_asks, &fit);
}

static void walk(const char *slug, size_t n, size_t rounds)
{
	struct dice dice;

	dice_init(&dice, 4242, slug);
	for (size_t i = 0; i < BOARD_TRIES(rounds); i++) {
		static struct node node;
		struct bh_ask asks[BH_ASKS_MAX];
		size_t n_asks;

		fill(&node, slug, n, &dice);
		n_asks = random_asks(&node, &dice, asks);
		check_answer(&node, asks, n_asks);
	}
}

static void every_part_of_an_answer_is_what_trying_all_finds(void **state)
{
	walk("h100-sxm5-80gb", 1, 3000);
	walk("h100-sxm5-80gb", 2, 300);
	walk("rtx-pro-6000-blackwell-96gb", 1, 1000);
	walk("rtx-pro-6000-blackwell-96gb", 2, 100);
	walk("a30-24gb", 3, 300);
}

static void a_node_of_several_boards_is_answered_too(void **state)
{
	static struct node node;
	struct dice dice;

	dice_init(&dice, 99, "mixed boards");
	for (size_t i = 0; i < 200; i++) {
		static struct node other;
		struct bh_ask asks[] = {{"1g.10gb", 1 + dice_roll(&dice, 9)},
				{"7g.80gb", 1 + dice_roll(&dice, 2)}};
		bh_auto_fit struct bh_fit fit = {0};

		/* A100 80GB and H100 share the names, not the tables */
		fill(&node, "a100-80gb", 2, &dice);
		fill(&other, "h100-sxm5-80gb", 1, &dice);
		node.gpus[1] = other.gpus[0];
		read_rooms(&node);
		assert_int_equal(find(node.rooms, 2, asks, 2, &fit, NULL), 0);
		assert_int_equal(fit.fits, solves(node.rooms, 2, asks, 2));
		if (fit.fits)
			check_places(&node, asks, 2, &fit.solution);
		else
			check_cards(&node, asks, 2, &fit);
	}
}

static void the_order_of_the_wish_changes_nothing(void **state)
{
	static const size_t orders[6][3] = {
			{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static struct node node;
	struct dice dice;

	dice_init(&dice, 7, "orders");
	for (size_t round = 0; round < 300; round++) {
		struct bh_ask asks[] = {{"1g.10gb", 1 + dice_roll(&dice, 4)},
				{"3g.40gb", 1 + dice_roll(&dice, 2)},
				{"1g.20gb", 1 + dice_roll(&dice, 3)}};
		static struct bh_fit first, fit;

		fill(&node, "h100-sxm5-80gb", 2, &dice);
		assert_int_equal(find(node.rooms, 2, asks, 3, &first, NULL), 0);
		for (size_t o = 1; o < 6; o++) {
			struct bh_ask other[3];

			for (size_t i = 0; i < 3; i++)
				other[i] = asks[orders[o][i]];
			assert_int_equal(find(node.rooms, 2, other, 3, &fit, NULL), 0);
			assert_int_equal(fit.fits, first.fits);
			assert_int_equal(fit.solution.n_found, first.solution.n_found);
			for (size_t i = 0; i < fit.solution.n_found; i++)
				assert_memory_equal(&fit.solution.found[i],
						&first.solution.found[i],
						sizeof(fit.solution.found[i]));
			assert_string_equal(fit.certificate.text, first.certificate.text);
			assert_int_equal(fit.n_alternatives, first.n_alternatives);
			for (size_t i = 0; i < fit.n_alternatives; i++)
				assert_string_equal(fit.alternatives[i].text,
						first.alternatives[i].text);
			bh_fit_free(&fit);
		}
		bh_fit_free(&first);
	}
}

static struct bh_fit ask_one(struct node *node, const char *profile, uint32_t count)
{
	struct bh_ask ask = {profile, count};
	struct bh_fit fit;

	read_rooms(node);
	assert_int_equal(find(node->rooms, node->n, &ask, 1, &fit, NULL), 0);
	assert_false(fit.fits);
	return fit;
}

static void a_certificate_says_what_is_missing_and_who_is_in_the_way(void **state)
{
	static struct node node;
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "h100-sxm5-80gb");
	board_add(&node.gpus[0], "1g.10gb", 0)->foreign = true;
	(void) board_add(&node.gpus[0], "1g.10gb", 1);
	board_make_busy(&node.gpus[0], board_add(&node.gpus[0], "1g.10gb", 5), 4242, "train");
	fit = ask_one(&node, "3g.40gb", 1);
	assert_string_equal(fit.certificate.rule, "places");
	assert_string_equal(fit.certificate.text,
			"1 x 3g.40gb: needs 1 free halves (units 0-3 or 4-7), 0 exist; nearest are "
			"units 4-7, taken by 1g.10gb at 5 (used by pid 4242 (train))");
	assert_false(fit.has_move);
	bh_fit_free(&fit);

	/* where something idle is all that is in the way, that place is named */
	node.gpus[0].gis[0].foreign = false;
	fit = ask_one(&node, "3g.40gb", 1);
	assert_non_null(strstr(fit.certificate.text, "nearest are units 0-3, taken by 1g.10gb at 0 "
						     "(idle), 1g.10gb at 1 (idle)"));
	bh_fit_free(&fit);

	fit = ask_one(&node, "1g.10gb+me", 2);
	assert_string_equal(fit.certificate.rule, "media-engines");
	assert_int_equal(fit.certificate.has, 1);
	bh_fit_free(&fit);
}

static void case_8_one_move_admits_what_was_refused(void **state)
{
	static struct node node;
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "h100-sxm5-80gb");
	(void) board_add(&node.gpus[0], "1g.10gb", 0);
	(void) board_add(&node.gpus[0], "1g.10gb", 1);
	(void) board_add(&node.gpus[0], "1g.10gb", 5);
	fit = ask_one(&node, "4g.40gb", 1);
	assert_false(fit.has_move); /* the left half is held by two */
	bh_fit_free(&fit);
	fit = ask_one(&node, "3g.40gb", 1);
	assert_true(fit.has_move);
	assert_int_equal(node.gpus[0].gis[fit.move.gi].at.start, 5);
	assert_true(fit.move.at.start == 2 || fit.move.at.start == 3);
	bh_fit_free(&fit);
}

static void a_boards_own_limit_counts_where_its_places_would_allow_more(void **state)
{
	static struct node node;
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "h100-sxm5-80gb");
	node.gpus[0].profiles[board_profile(&node.gpus[0], "1g.10gb")].max_instances = 3;
	fit = ask_one(&node, "1g.10gb", 4);
	assert_string_equal(fit.certificate.rule, "max-instances");
	assert_int_equal(fit.certificate.has, 3);
	assert_int_equal(fit.gpus_needed, 2);
	bh_fit_free(&fit);
}

static void unknown_is_not_idle(void **state)
{
	static struct node node;
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "h100-sxm5-80gb");
	(void) board_add(&node.gpus[0], "1g.10gb", 5);
	node.gpus[0].holders_known = false;
	fit = ask_one(&node, "7g.80gb", 1);
	assert_non_null(strstr(fit.certificate.text, "1g.10gb at 5 (who uses it cannot be read)"));
	assert_false(fit.has_move);
	bh_fit_free(&fit);
}

static void the_rules_about_media_engines_are_named(void **state)
{
	static struct node node;
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "rtx-pro-6000-blackwell-96gb");
	(void) board_add(&node.gpus[0], "1g.24gb+me.all", 0);
	fit = ask_one(&node, "1g.24gb", 1);
	assert_string_equal(fit.certificate.rule, "media-engines");
	assert_non_null(strstr(fit.certificate.text, "only those without any (-me)"));
	bh_fit_free(&fit);
}

static void a_smaller_profile_is_no_answer_to_a_need(void **state)
{
	static struct node node;
	struct bh_ask ask = {"3g.40gb", 3};
	struct bh_fit_question question = {.rooms = node.rooms,
			.n_rooms = 1,
			.asks = &ask,
			.n_asks = 1,
			.only_these = true};
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "h100-sxm5-80gb");
	read_rooms(&node);
	assert_int_equal(bh_fit_find(&question, &fit, NULL), 0);
	assert_int_equal(fit.n_alternatives, 1);
	assert_string_equal(fit.alternatives[0].text, "3g.40gb=2 (fewer of one)");
	bh_fit_free(&fit);
}

static void many_kinds_on_many_cards_are_answered_or_given_up_in_time(void **state)
{
	static struct node_of_many {
		struct bh_gpu gpu;
		struct bh_occupancy rooms[64];
	} many;
	struct bh_ask asks[BH_ASKS_MAX];
	struct bh_fit fit = {0};
	struct bh_error err = {0};
	clock_t spent = clock();
	size_t n;
	int r;

	board_init(&many.gpu, "rtx-pro-6000-blackwell-96gb");
	for (size_t i = 0; i < 64; i++)
		bh_occupancy_init(&many.rooms[i], &many.gpu);
	for (n = 0; n < many.gpu.n_profiles; n++)
		asks[n] = (struct bh_ask){many.gpu.profiles[n].name, 16};
	r = find(many.rooms, 64, asks, n, &fit, &err);
	spent = clock() - spent;
	assert_true(r == 0 || err.code == BH_E_DEADLINE);
	assert_true(spent / CLOCKS_PER_SEC < 15); /* a search without end, even under a sanitizer */
	bh_fit_free(&fit);
}

static void a_profile_that_no_board_has_is_refused_with_what_there_is(void **state)
{
	static struct node node;
	struct bh_ask ask = {"1g.5gb", 1};
	struct bh_error err = {0};
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "h100-sxm5-80gb");
	read_rooms(&node);
	assert_int_equal(find(node.rooms, 1, &ask, 1, &fit, &err), -1);
	assert_int_equal(err.code, BH_E_PROFILE_NOT_OFFERED);
	assert_non_null(strstr(err.message, "offered by: a100-40gb"));
}

/* The boards differ in their smallest that suffices; the one with the least goes first. */
static void a_need_takes_the_least_with_which_all_fits(void **state)
{
	static const struct {
		uint32_t count;
		bool fits;
		const char *chosen;
	} rows[] = {{7, true, "1g.5gb"}, {8, true, "1g.10gb"}, {18, true, "1g.10gb"},
			{19, false, "1g.5gb"}};
	static struct node node;

	node.n = 3;
	board_init(&node.gpus[0], "h100-sxm5-80gb");
	board_init(&node.gpus[1], "a100-40gb");
	board_init(&node.gpus[2], "h100-sxm5-80gb");
	read_rooms(&node);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct bh_need need = {.memory_mib = 4864, .count = rows[i].count};
		const struct bh_gi_profile *chosen = NULL;
		struct bh_error err = {0};
		struct bh_fit fit;

		assert_int_equal(bh_fit_need(node.rooms, 3, &need, BH_ONLINE_PACK, &chosen, &fit,
						 &err),
				0);
		assert_int_equal(fit.fits, rows[i].fits);
		assert_string_equal(chosen->name, rows[i].chosen);
		bh_fit_free(&fit);
	}
}

static void a_need_that_no_board_has_is_refused(void **state)
{
	const struct bh_need need = {.memory_mib = 80000, .compute_permille = 1000, .count = 1};
	const struct bh_gi_profile *chosen = NULL;
	static struct node node;
	struct bh_error err = {0};
	struct bh_fit fit;

	node.n = 1;
	board_init(&node.gpus[0], "a100-40gb");
	read_rooms(&node);
	assert_int_equal(
			bh_fit_need(node.rooms, 1, &need, BH_ONLINE_PACK, &chosen, &fit, &err), -1);
	assert_int_equal(err.code, BH_E_DOES_NOT_FIT);
	assert_null(chosen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_part_of_an_answer_is_what_trying_all_finds),
			cmocka_unit_test(a_node_of_several_boards_is_answered_too),
			cmocka_unit_test(the_order_of_the_wish_changes_nothing),
			cmocka_unit_test(a_certificate_says_what_is_missing_and_who_is_in_the_way),
			cmocka_unit_test(case_8_one_move_admits_what_was_refused),
			cmocka_unit_test(a_profile_that_no_board_has_is_refused_with_what_there_is),
			cmocka_unit_test(
					a_boards_own_limit_counts_where_its_places_would_allow_more),
			cmocka_unit_test(unknown_is_not_idle),
			cmocka_unit_test(the_rules_about_media_engines_are_named),
			cmocka_unit_test(a_smaller_profile_is_no_answer_to_a_need),
			cmocka_unit_test(a_need_takes_the_least_with_which_all_fits),
			cmocka_unit_test(a_need_that_no_board_has_is_refused),
			cmocka_unit_test(many_kinds_on_many_cards_are_answered_or_given_up_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
