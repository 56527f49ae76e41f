/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The closed form and the generic search against brute force: the oracle's table of every legal set
 * of a board, and for several GPUs all ways to split a demand among them.
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
#include "plan/fleet.h"
#include "plan/solver.h"

#define DEMANDS_MAX 1920 /* 8 x 5 x 4 x 3 x 2 x 2 */
#define GPUS_MAX    3

/* One board with the demands that its masks can take, by brute force. */
struct truth {
	struct bh_gpu gpu;
	struct bh_geometry geo;
	struct oracle oracle;
	enum bh_shape_role role_of[BH_GI_PROFILES_MAX];
	size_t profile_of[BH_ROLES];
	uint32_t most[BH_ROLES]; /* on an empty GPU */
	size_t n_demands;
	bool (*fits)[DEMANDS_MAX]; /* by mask of coarse units, then demand */
	struct bh_demand *mixes;   /* the different demands that an empty GPU can take */
	size_t n_mixes;
	bool masks[256]; /* that some legal layout leaves */
};

/* A number for a demand of one GPU; false where an empty one could not hold it. */
static bool number_of(const struct truth *t, const struct bh_demand *demand, size_t *ret)
{
	size_t number = 0;

	for (int r = 0; r < BH_ROLES; r++) {
		if (demand->n[r] > t->most[r])
			return false;
		number = number * (t->most[r] + 1) + (size_t) demand->n[r];
	}
	*ret = number;
	return true;
}

static uint32_t mask_of(const struct truth *t, uint32_t set)
{
	uint32_t mask = 0;

	for (size_t c = 0; c < t->oracle.n_cells; c++) {
		struct bh_placement at = {t->oracle.cells[c].start, t->oracle.cells[c].size};

		if (set & 1U << c)
			mask |= (uint32_t) bh_geometry_mask(&t->geo, &at);
	}
	return mask;
}

static struct bh_demand demand_of(const struct truth *t, const struct oracle_mix *mix)
{
	struct bh_demand demand = {{0}};

	for (size_t p = 0; p < t->gpu.n_profiles; p++)
		demand.n[t->role_of[p]] += mix->counts[p];
	return demand;
}

static void truth_init(struct truth *t, const char *slug)
{
	memset(t, 0, sizeof(*t));
	board_init_base(&t->gpu, slug);
	assert_int_equal(bh_geometry_init(&t->gpu, &t->geo, NULL), 0);
	oracle_init(&t->oracle, &t->gpu);
	for (size_t p = 0; p < t->gpu.n_profiles; p++) {
		t->role_of[p] = t->geo.shapes[t->geo.shape_of[p]].role;
		t->profile_of[t->role_of[p]] = p;
		t->most[t->role_of[p]] = t->gpu.profiles[p].max_instances;
	}
	t->n_demands = 1;
	for (int r = 0; r < BH_ROLES; r++)
		t->n_demands *= t->most[r] + 1;
	assert_true(t->n_demands <= DEMANDS_MAX);
	t->fits = calloc(256, sizeof(*t->fits));
	t->mixes = calloc(t->oracle.n_layouts, sizeof(*t->mixes));
	assert_non_null(t->fits);
	assert_non_null(t->mixes);
	for (size_t i = 0; i < t->oracle.n_layouts; i++) {
		struct bh_demand demand = demand_of(t, &t->oracle.mixes[i]);
		uint32_t mask = mask_of(t, t->oracle.layouts[i]);
		size_t number = 0;

		t->masks[mask] = true;
		assert_true(number_of(t, &demand, &number));
		for (uint32_t taken = 0; taken < 1U << t->geo.units; taken++)
			t->fits[taken][number] |= !(taken & mask);
		if (oracle_first_of_mix(&t->oracle, i))
			t->mixes[t->n_mixes++] = demand;
	}
}

static void truth_free(struct truth *t)
{
	oracle_free(&t->oracle);
	free(t->fits);
	free(t->mixes);
}

static bool one_fits(const struct truth *t, uint32_t mask, const struct bh_demand *demand)
{
	size_t number;

	return number_of(t, demand, &number) && t->fits[mask][number];
}

/* Splits the demand in every way: a mix for the first GPU, the rest for the others. */
static bool all_fit(const struct truth *t, const uint32_t *masks, size_t n,
		const struct bh_demand *demand)
{
	if (n == 1)
		return one_fits(t, masks[0], demand);
	for (size_t m = 0; m < t->n_mixes; m++) {
		const struct bh_demand *mix = &t->mixes[m];
		struct bh_demand rest = *demand;
		bool less = true;

		for (int r = 0; r < BH_ROLES; r++) {
			less = less && mix->n[r] <= demand->n[r];
			rest.n[r] -= mix->n[r];
		}
		if (less && one_fits(t, masks[0], mix) && all_fit(t, masks + 1, n - 1, &rest))
			return true;
	}
	return false;
}

static bool closed_form(const struct truth *t, const uint32_t *masks, size_t n,
		const struct bh_demand *demand)
{
	struct bh_fleet fleet = {0};

	for (size_t i = 0; i < n; i++)
		bh_fleet_add(&fleet, t->geo.kind, masks[i], 1);
	return bh_fleet_fits(&fleet, t->geo.kind, demand, NULL);
}

/* Is every place that was found legal, and is it what was asked for? */
static void check_solution(const struct truth *t, const struct bh_occupancy *rooms, size_t n,
		const struct bh_demand *demand, const struct bh_solution *solution)
{
	struct bh_demand left = *demand;
	struct bh_occupancy copies[GPUS_MAX];

	memcpy(copies, rooms, n * sizeof(*rooms));
	for (size_t i = 0; i < solution->n_found; i++) {
		const struct bh_found *f = &solution->found[i];

		assert_true(f->room < n);
		assert_true(bh_occupancy_allows(&copies[f->room], f->profile, &f->at));
		bh_occupancy_add(&copies[f->room], f->profile, &f->at);
		left.n[t->role_of[f->profile]]--;
	}
	for (int r = 0; r < BH_ROLES; r++)
		assert_int_equal(left.n[r], 0);
}

static bool generic(const struct truth *t, const uint32_t *masks, size_t n,
		const struct bh_demand *demand)
{
	bh_auto_solution struct bh_solution solution = {0};
	struct bh_occupancy rooms[GPUS_MAX];
	struct bh_ask asks[BH_ROLES];
	uint32_t budget = BH_SOLVE_BUDGET;
	size_t n_asks = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		bh_occupancy_init_empty(&rooms[i], &t->gpu);
		for (uint32_t u = 0; u < t->geo.units; u++) {
			if (masks[i] & 1U << u)
				rooms[i].occupied |= ((UINT64_C(1) << t->geo.unit) - 1)
						     << u * t->geo.unit;
		}
	}
	for (int role = 0; role < BH_ROLES; role++) {
		if (demand->n[role])
			asks[n_asks++] = (struct bh_ask){t->gpu.profiles[t->profile_of[role]].name,
					(uint32_t) demand->n[role]};
	}
	r = bh_solve(rooms, n, asks, n_asks, &budget, &solution, NULL);
	assert_true(r == 0 || r == BH_SOLVE_NONE);
	if (r == 0)
		check_solution(t, rooms, n, demand, &solution);
	return r == 0;
}

static void report(const struct truth *t, const uint32_t *masks, size_t n,
		const struct bh_demand *d, const char *who)
{
	char text[200] = "";

	for (size_t i = 0; i < n; i++)
		(void) snprintf(text + strlen(text), sizeof(text) - strlen(text), " %#x", masks[i]);
	fail_msg("%s: %s errs on masks%s, demand 1:%llu 1d:%llu 2:%llu 3:%llu 4:%llu 7:%llu",
			t->gpu.model, who, text, (unsigned long long) d->n[BH_ROLE_1],
			(unsigned long long) d->n[BH_ROLE_1D], (unsigned long long) d->n[BH_ROLE_2],
			(unsigned long long) d->n[BH_ROLE_3], (unsigned long long) d->n[BH_ROLE_4],
			(unsigned long long) d->n[BH_ROLE_7]);
}

/* The demand with that number; also those that no GPU could hold, by one more of each. */
static struct bh_demand numbered(const struct truth *t, size_t number, uint32_t more)
{
	struct bh_demand demand = {{0}};

	for (int r = BH_ROLES - 1; r >= 0; r--) {
		size_t base = t->most[r] + (t->most[r] ? more : 0) + 1;

		demand.n[r] = number % base;
		number /= base;
	}
	return demand;
}

static size_t count_demands(const struct truth *t, uint32_t more)
{
	size_t n = 1;

	for (int r = 0; r < BH_ROLES; r++)
		n *= t->most[r] + (t->most[r] ? more : 0) + 1;
	return n;
}

static void every_mask_with_every_demand(const char *slug, size_t n_masks)
{
	struct truth t;
	size_t masks = 0, compared = 0;

	truth_init(&t, slug);
	for (uint32_t mask = 0; mask < 1U << t.geo.units; mask++) {
		masks += t.masks[mask];
		for (size_t i = 0; i < count_demands(&t, 0); i++) {
			struct bh_demand demand = numbered(&t, i, 0);
			bool truth = one_fits(&t, mask, &demand);

			if (closed_form(&t, &mask, 1, &demand) != truth)
				report(&t, &mask, 1, &demand, "the closed form");
			compared += t.masks[mask];
			if (i % (1000 / BOARD_TRIES(1000)) == 0 &&
					generic(&t, &mask, 1, &demand) != truth)
				report(&t, &mask, 1, &demand, "the generic search");
		}
	}
	assert_int_equal(masks, n_masks);
	print_message("%s: %zu pairs of reachable mask and demand\n", slug, compared);
	truth_free(&t);
}

static void on_one_gpu_both_equal_brute_force_for_every_mask_and_demand(void **state)
{
	every_mask_with_every_demand("h100-sxm5-80gb", 192);
	every_mask_with_every_demand("a30-24gb", 16);
	every_mask_with_every_demand("rtx-pro-6000-blackwell-96gb", 16);
}

/* A demand that is about as large as what is free: small ones always fit, large ones never. */
static struct bh_demand random_demand(
		const struct truth *t, struct dice *dice, const uint32_t *masks, size_t n)
{
	struct bh_demand demand = {{0}};
	uint32_t room = 0;

	for (size_t i = 0; i < n; i++)
		room += t->geo.units - (uint32_t) __builtin_popcount(masks[i]);
	room = dice_roll(dice, room + 2);
	while (room > 0) {
		size_t p = dice_roll(dice, (uint32_t) t->gpu.n_profiles);
		uint32_t size = t->geo.shapes[t->geo.shape_of[p]].size;

		demand.n[t->role_of[p]]++;
		room -= size < room ? size : room;
	}
	return demand;
}

static void random_fleets(const char *slug, size_t rounds, size_t generic_every)
{
	struct truth t;
	struct dice dice;
	size_t fits = 0;

	truth_init(&t, slug);
	dice_init(&dice, 20261130, "fleets");
	for (size_t i = 0; i < rounds; i++) {
		uint32_t masks[GPUS_MAX];
		size_t n = 2 + dice_roll(&dice, 2);
		struct bh_demand demand;
		bool truth;

		for (size_t g = 0; g < n; g++)
			masks[g] = mask_of(&t, t.oracle.layouts[dice_roll(&dice,
							       (uint32_t) t.oracle.n_layouts)]);
		if (dice_roll(&dice, 3) == 0)
			masks[0] = 0;
		demand = random_demand(&t, &dice, masks, n);
		truth = all_fit(&t, masks, n, &demand);
		fits += truth;
		if (closed_form(&t, masks, n, &demand) != truth)
			report(&t, masks, n, &demand, "the closed form");
		if (i % generic_every == 0 && generic(&t, masks, n, &demand) != truth)
			report(&t, masks, n, &demand, "the generic search");
	}
	/* a test of which one side hardly occurs shows little */
	assert_true(fits > rounds / 5 && fits < rounds * 4 / 5);
	truth_free(&t);
}

static void on_two_and_three_gpus_both_equal_brute_force(void **state)
{
	random_fleets("h100-sxm5-80gb", BOARD_TRIES(300000), 30);
	random_fleets("a30-24gb", BOARD_TRIES(50000), 10);
}

static void the_cards_that_are_missing_are_the_fewest(void **state)
{
	struct truth t;
	struct dice dice;

	truth_init(&t, "h100-sxm5-80gb");
	dice_init(&dice, 20261130, "fleets");
	for (size_t i = 0; i < BOARD_TRIES(20000); i++) {
		uint32_t masks[GPUS_MAX] = {0};
		struct bh_fleet fleet = {0};
		struct bh_demand demand;
		uint64_t missing;

		masks[0] = mask_of(&t,
				t.oracle.layouts[dice_roll(&dice, (uint32_t) t.oracle.n_layouts)]);
		bh_fleet_add(&fleet, t.geo.kind, masks[0], 1);
		demand = random_demand(&t, &dice, masks, 2);
		missing = bh_fleet_cards_missing(&fleet, t.geo.kind, &demand);
		if (missing < GPUS_MAX && !all_fit(&t, masks, 1 + missing, &demand))
			report(&t, masks, 1 + missing, &demand, "too few cards");
		if (missing > 0 && missing <= GPUS_MAX && all_fit(&t, masks, missing, &demand))
			report(&t, masks, missing, &demand, "too many cards");
	}
	truth_free(&t);
}

static void the_most_that_fit_beside_a_demand_is_the_largest_number(void **state)
{
	struct truth t;

	truth_init(&t, "h100-sxm5-80gb");
	for (uint32_t mask = 0; mask < 256; mask++) {
		struct bh_fleet fleet = {0};

		bh_fleet_add(&fleet, t.geo.kind, mask, 1);
		for (size_t i = 0; i < t.n_mixes; i++) {
			struct bh_demand with = t.mixes[i];
			uint64_t most;

			with.n[BH_ROLE_1] = 0;
			most = bh_fleet_most(&fleet, t.geo.kind, &with, BH_ROLE_1);
			with.n[BH_ROLE_1] = most;
			if (most && !one_fits(&t, mask, &with))
				report(&t, &mask, 1, &with, "too many");
			with.n[BH_ROLE_1]++;
			if (one_fits(&t, mask, &with))
				report(&t, &mask, 1, &with, "too few");
		}
	}
	truth_free(&t);
}

static void what_is_taken_away_was_never_there(void **state)
{
	struct bh_fleet fleet = {0}, zero = {0};

	for (uint64_t mask = 0; mask < 256; mask++)
		bh_fleet_add(&fleet, BH_GEOMETRY_EIGHTHS, mask, (int64_t) mask + 1);
	for (uint64_t mask = 0; mask < 256; mask++)
		bh_fleet_add(&fleet, BH_GEOMETRY_EIGHTHS, mask, -(int64_t) mask - 1);
	assert_memory_equal(&fleet, &zero, sizeof(fleet));
}

static void the_first_shortage_is_told_with_what_is_there(void **state)
{
	struct bh_demand demand = {.n = {[BH_ROLE_4] = 2, [BH_ROLE_1] = 20}};
	struct bh_shortage shortage = {0};
	struct bh_fleet fleet = {0};

	bh_fleet_add(&fleet, BH_GEOMETRY_EIGHTHS, 0xf0, 1);
	bh_fleet_add(&fleet, BH_GEOMETRY_EIGHTHS, 0x0f, 1);
	assert_false(bh_fleet_fits(&fleet, BH_GEOMETRY_EIGHTHS, &demand, &shortage));
	assert_int_equal(shortage.role, BH_ROLE_4);
	assert_string_equal(shortage.what, "free left halves (units 0-3)");
	assert_int_equal(shortage.needs, 2);
	assert_int_equal(shortage.has, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					on_one_gpu_both_equal_brute_force_for_every_mask_and_demand),
			cmocka_unit_test(on_two_and_three_gpus_both_equal_brute_force),
			cmocka_unit_test(the_cards_that_are_missing_are_the_fewest),
			cmocka_unit_test(the_most_that_fit_beside_a_demand_is_the_largest_number),
			cmocka_unit_test(what_is_taken_away_was_never_there),
			cmocka_unit_test(the_first_shortage_is_told_with_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
