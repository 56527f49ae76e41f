/* SPDX-License-Identifier: Apache-2.0 */
/* Online placement against its definition, along random walks of small fleets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "board.h"
#include "online_oracle.h"

#define HELD_MAX 512

/* A fleet, its oracle, and what stands there. */
struct walk {
	struct bh_geometry geo;
	struct bh_online *online;
	struct online_oracle oracle;
	struct bh_online_at held[HELD_MAX];
	uint32_t n_held;
};

static void walk_init_gpu(struct walk *walk, const struct bh_gpu *gpu, uint32_t n_gpus)
{
	memset(walk, 0, sizeof(*walk));
	assert_int_equal(bh_geometry_init(gpu, &walk->geo, NULL), 0);
	walk->oracle = (struct online_oracle){.geo = &walk->geo, .n_gpus = n_gpus};
	assert_int_equal(bh_online_new(&walk->geo, n_gpus, &walk->online, NULL), 0);
}

static void walk_init(struct walk *walk, const char *board, uint32_t n_gpus)
{
	struct bh_gpu gpu;

	board_init_base(&gpu, board);
	walk_init_gpu(walk, &gpu, n_gpus);
}

static void walk_free(struct walk *walk)
{
	bh_online_free(walk->online);
}

static void assert_same_state(const struct walk *walk)
{
	for (uint32_t gpu = 0; gpu < walk->oracle.n_gpus; gpu++)
		assert_int_equal(bh_online_mask(walk->online, gpu), walk->oracle.masks[gpu]);
	for (uint32_t s = 0; s < walk->geo.n_shapes; s++)
		assert_int_equal(bh_online_total(walk->online, s),
				online_oracle_total(&walk->oracle, s));
}

static void assert_same_choice(const struct walk *walk, uint32_t shape, uint32_t policy)
{
	struct bh_online_at ours = {0}, theirs = {0};
	bool fits = online_oracle_choose(&walk->oracle, shape, policy, &theirs);

	assert_int_equal(bh_online_choose(walk->online, shape, policy, &ours), fits);
	assert_int_equal(fits, online_oracle_total(&walk->oracle, shape) > 0);
	if (fits && (ours.gpu != theirs.gpu || ours.shape != shape || ours.place != theirs.place))
		fail_msg("%s, shape %u: GPU %u place %u, not GPU %u place %u",
				bh_online_policy_name(policy), shape, ours.gpu, ours.place,
				theirs.gpu, theirs.place);
}

/* A request, skewed towards small shapes so that fleets get full of holes. */
static uint32_t roll_shape(struct dice *dice, const struct bh_geometry *geo)
{
	uint32_t a = dice_roll(dice, geo->n_shapes), b = dice_roll(dice, geo->n_shapes);

	return a > b ? a : b;
}

static void walk_release(struct walk *walk, uint32_t i)
{
	struct bh_online_at at = walk->held[i];

	bh_online_release(walk->online, &at);
	walk->oracle.masks[at.gpu] &= ~walk->geo.shapes[at.shape].masks[at.place];
	walk->held[i] = walk->held[--walk->n_held];
}

static void walk_place(struct walk *walk, uint32_t shape, uint32_t policy)
{
	struct bh_online_at at;
	bool fits = online_oracle_total(&walk->oracle, shape) > 0;

	online_oracle_note(&walk->oracle, shape);
	assert_int_equal(bh_online_place(walk->online, shape, policy, &at), fits);
	if (!fits)
		return;
	assert_false(walk->oracle.masks[at.gpu] & walk->geo.shapes[shape].masks[at.place]);
	walk->oracle.masks[at.gpu] |= walk->geo.shapes[shape].masks[at.place];
	assert_true(walk->n_held < HELD_MAX);
	walk->held[walk->n_held++] = at;
}

/* Fills and empties by turns; every policy is asked in every state, one of them is followed. */
static void walk_randomly(struct walk *walk, struct dice *dice, uint32_t followed, uint32_t steps)
{
	uint32_t policy, grow = 0;

	for (uint32_t step = 0; step < steps; step++) {
		if (step % 64 == 0)
			grow = 3 + dice_roll(dice, 5);
		for (policy = 0; policy < BH_ONLINE_POLICY_COUNT; policy++)
			assert_same_choice(walk, dice_roll(dice, walk->geo.n_shapes), policy);
		policy = followed < BH_ONLINE_POLICY_COUNT
					 ? followed
					 : dice_roll(dice, BH_ONLINE_POLICY_COUNT);
		if (walk->n_held == 0 || dice_roll(dice, 10) < grow)
			walk_place(walk, roll_shape(dice, &walk->geo), policy);
		else
			walk_release(walk, dice_roll(dice, walk->n_held));
		assert_same_state(walk);
	}
}

static void every_policy_takes_what_its_definition_takes_on_eighths(void **state)
{
	static const uint32_t sizes[] = {1, 2, 5, 9, 20, 27};
	struct dice dice;
	struct walk walk;

	dice_init(&dice, 20261, "online, eighths");
	for (uint32_t policy = 0; policy <= BH_ONLINE_POLICY_COUNT; policy++) {
		for (size_t i = 0; i < BH_ARRAY_SIZE(sizes); i++) {
			walk_init(&walk, "h100-sxm5-80gb", sizes[i]);
			walk_randomly(&walk, &dice, policy, sizes[i] < 20 ? 1500 : 500);
			walk_free(&walk);
		}
	}
}

static void every_policy_takes_what_its_definition_takes_on_quarters(void **state)
{
	struct dice dice;
	struct walk walk;

	dice_init(&dice, 20262, "online, quarters");
	for (uint32_t policy = 0; policy <= BH_ONLINE_POLICY_COUNT; policy++) {
		walk_init(&walk, "rtx-pro-6000-blackwell-96gb", 11);
		walk_randomly(&walk, &dice, policy, 1500);
		walk_free(&walk);
	}
}

static void boards_of_no_kind_are_placed_on_alike(void **state)
{
	struct dice dice;
	struct bh_gpu gpu;
	struct walk walk;

	dice_init(&dice, 20263, "online, odd boards");
	board_init_base(&gpu, "h100-sxm5-80gb");
	gpu.profiles[board_profile(&gpu, "3g.40gb")].placements[1].start = 3;
	gpu.profiles[board_profile(&gpu, "2g.20gb")].n_placements = 2;
	walk_init_gpu(&walk, &gpu, 9);
	assert_int_equal(walk.geo.kind, BH_GEOMETRY_OTHER);
	walk_randomly(&walk, &dice, BH_ONLINE_POLICY_COUNT, 3000);
	walk_free(&walk);
}

static void masks_from_outside_are_counted_like_placements(void **state)
{
	struct dice dice;
	struct walk walk;

	dice_init(&dice, 20264, "online, masks from outside");
	walk_init(&walk, "a100-40gb", 10);
	for (uint32_t step = 0; step < 3000; step++) {
		uint32_t gpu = dice_roll(&dice, 10);
		/* now and then a GPU that takes nothing, in 64 bits of ones */
		uint64_t mask = dice_roll(&dice, 8) ? dice_roll(&dice, 256) : UINT64_MAX;

		bh_online_set_mask(walk.online, gpu, mask);
		walk.oracle.masks[gpu] = mask & 0xff;
		online_oracle_note(&walk.oracle, step % walk.geo.n_shapes);
		bh_online_note(walk.online, step % walk.geo.n_shapes);
		assert_same_state(&walk);
		for (uint32_t policy = 0; policy < BH_ONLINE_POLICY_COUNT; policy++)
			assert_same_choice(&walk, dice_roll(&dice, walk.geo.n_shapes), policy);
	}
	walk_free(&walk);
}

static void a_fleet_of_three_levels_finds_its_lowest_gpus(void **state)
{
	enum { N = 70000 }; /* more than 64 * 64 words of bits */
	static const uint32_t picks[] = {
			0, 1, 63, 64, 65, 4095, 4096, 4097, 8191, 65535, 65536, 69999};
	struct bh_online_at at;
	struct walk walk;

	walk_init(&walk, "h100-sxm5-80gb", N);
	for (uint32_t gpu = 0; gpu < N; gpu++)
		bh_online_set_mask(walk.online, gpu, 0xff);
	for (uint32_t policy = 0; policy < BH_ONLINE_POLICY_COUNT; policy++)
		assert_false(bh_online_choose(walk.online, 0, policy, &at));
	for (size_t i = BH_ARRAY_SIZE(picks); i-- > 0;) {
		bh_online_set_mask(walk.online, picks[i], 0);
		assert_true(bh_online_choose(walk.online, 0, BH_ONLINE_SCARCITY, &at));
		assert_int_equal(at.gpu, picks[i]);
	}
	for (size_t i = 0; i < BH_ARRAY_SIZE(picks); i++) {
		assert_int_equal(bh_online_total(walk.online, 0), BH_ARRAY_SIZE(picks) - i);
		assert_true(bh_online_place(walk.online, 0, BH_ONLINE_PACK, &at));
		assert_int_equal(at.gpu, picks[i]);
	}
	assert_false(bh_online_place(walk.online, 0, BH_ONLINE_PACK, &at));
	walk_free(&walk);
}

/* Both ways of coming to a state: what is freed in another order, and masks said from outside. */
static void the_way_to_a_state_changes_no_choice(void **state)
{
	struct dice dice;
	struct walk a, b;

	dice_init(&dice, 20265, "online, order of releases");
	for (uint32_t round = 0; round < 50; round++) {
		struct bh_online_at gone[HELD_MAX];
		uint32_t n_gone = 0;

		walk_init(&a, "h100-sxm5-80gb", 12);
		walk_init(&b, "h100-sxm5-80gb", 12);
		for (uint32_t i = 0; i < 60; i++) {
			uint32_t shape = roll_shape(&dice, &a.geo);

			walk_place(&a, shape, BH_ONLINE_SCARCITY);
			walk_place(&b, shape, BH_ONLINE_SCARCITY);
		}
		assert_int_equal(a.n_held, b.n_held);
		assert_memory_equal(a.held, b.held, a.n_held * sizeof(a.held[0]));
		while (a.n_held > 10) {
			uint32_t i = dice_roll(&dice, a.n_held);

			gone[n_gone++] = a.held[i];
			walk_release(&a, i);
		}
		while (n_gone > 0)
			bh_online_release(b.online, &gone[--n_gone]);
		for (uint32_t policy = 0; policy < BH_ONLINE_POLICY_COUNT; policy++) {
			for (uint32_t s = 0; s < a.geo.n_shapes; s++) {
				struct bh_online_at x = {0}, y = {0};

				assert_int_equal(bh_online_choose(a.online, s, policy, &x),
						bh_online_choose(b.online, s, policy, &y));
				assert_memory_equal(&x, &y, sizeof(x));
			}
		}
		walk_free(&a);
		walk_free(&b);
	}
}

static void the_mix_sums_to_one_and_follows_what_is_asked(void **state)
{
	struct walk walk;
	double sum = 0;

	walk_init(&walk, "h100-sxm5-80gb", 2);
	for (uint32_t s = 0; s < walk.geo.n_shapes; s++)
		assert_true(bh_online_mix(walk.online, s) > 0.166 &&
				bh_online_mix(walk.online, s) < 0.167);
	for (uint32_t i = 0; i < 10000; i++)
		bh_online_note(walk.online, 3);
	assert_true(bh_online_mix(walk.online, 3) > 0.999);
	for (uint32_t i = 0; i < BH_ONLINE_MIX_MEMORY; i++)
		bh_online_note(walk.online, 1);
	for (uint32_t s = 0; s < walk.geo.n_shapes; s++)
		sum += bh_online_mix(walk.online, s);
	assert_true(sum > 1 - 1e-9 && sum < 1 + 1e-9);
	/* the 10000 weighed 1024.5 and have decayed to 1/e, the prior is 1/6 of a request */
	assert_true(fabs(bh_online_mix(walk.online, 3) * 1025.5 - 1024.5 * exp(-1) - 1 / 6.0) <
			0.05);
	walk_free(&walk);
}

static void scarcity_keeps_a_whole_gpu_for_who_asks_for_one(void **state)
{
	struct walk walk;
	struct bh_online_at at;

	walk_init(&walk, "h100-sxm5-80gb", 2);
	bh_online_set_mask(walk.online, 1, 0x01); /* 1g at 0 */
	assert_true(bh_online_choose(walk.online, (uint32_t) walk.geo.by_role[BH_ROLE_3],
			BH_ONLINE_SCARCITY, &at));
	assert_int_equal(at.gpu, 1);
	assert_int_equal(at.place, 1);
	/* the other half of the pair that is used already */
	assert_true(bh_online_choose(walk.online, (uint32_t) walk.geo.by_role[BH_ROLE_1],
			BH_ONLINE_SCARCITY, &at));
	assert_int_equal(at.gpu, 1);
	assert_int_equal(at.place, 1);
	/* the last pair, which no 2g can have, and of no half that is free */
	bh_online_set_mask(walk.online, 1, 0x10);
	assert_true(bh_online_choose(walk.online, (uint32_t) walk.geo.by_role[BH_ROLE_1D],
			BH_ONLINE_SCARCITY, &at));
	assert_int_equal(at.gpu, 1);
	assert_int_equal(walk.geo.shapes[at.shape].starts[at.place], 6);
	walk_free(&walk);
}

static void fleets_that_cannot_be_kept_are_refused(void **state)
{
	struct bh_online *online = NULL;
	struct bh_error err = {0};
	struct bh_geometry geo;
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
	assert_int_equal(bh_online_new(&geo, 0, &online, &err), -1);
	assert_int_equal(err.code, BH_E_UNSUPPORTED);
	assert_int_equal(bh_online_new(&geo, BH_ONLINE_GPUS_MAX + 1, &online, &err), -1);
	assert_int_equal(err.code, BH_E_UNSUPPORTED);
	geo.units = 12;
	assert_int_equal(bh_online_new(&geo, 8, &online, &err), -1);
	geo.units = 0;
	assert_int_equal(bh_online_new(&geo, 8, &online, &err), -1);
	assert_null(online);
	bh_online_free(NULL);
}

/* Of the program's own code, by the linker; cmocka's memory is not touched. */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static int allocations_before = -1; /* the refused one; -1: none is refused, or it has been */

static bool is_refused(void)
{
	return allocations_before >= 0 && allocations_before-- == 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return is_refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return is_refused() ? NULL : __real_realloc(memory, size);
}

static void without_memory_a_fleet_is_refused_whole(void **state)
{
	struct bh_online *online = NULL;
	struct bh_geometry geo;
	struct bh_gpu gpu;
	int n = 0, n_failed = 0;
	bool was_refused;

	board_init(&gpu, "a30-24gb");
	assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
	do {
		struct bh_error err = {0};

		allocations_before = n++;
		if (bh_online_new(&geo, 8, &online, &err) < 0) {
			n_failed++;
			assert_int_equal(err.code, BH_E_NO_MEMORY);
			assert_null(online);
		}
		was_refused = allocations_before < 0;
		allocations_before = -1;
		bh_online_free(BH_TAKE(online));
	} while (was_refused);
	assert_int_equal(n_failed, 3 + 2 * 3); /* the fleet's three, and two of each shape */
}

static void policies_have_names_that_lead_back(void **state)
{
	enum bh_online_policy policy = BH_ONLINE_FGD;

	for (uint32_t i = 0; i < BH_ONLINE_POLICY_COUNT; i++) {
		assert_true(bh_online_policy_from_name(bh_online_policy_name(i), &policy));
		assert_int_equal(policy, i);
		assert_true(strlen(bh_online_policy_summary(i)) > 0);
	}
	assert_true(bh_online_policy_from_name("scarcity", &policy));
	assert_int_equal(policy, BH_ONLINE_SCARCITY);
	assert_int_equal(policy, 0); /* the default */
	assert_false(bh_online_policy_from_name("scarc", &policy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_policy_takes_what_its_definition_takes_on_eighths),
			cmocka_unit_test(every_policy_takes_what_its_definition_takes_on_quarters),
			cmocka_unit_test(boards_of_no_kind_are_placed_on_alike),
			cmocka_unit_test(masks_from_outside_are_counted_like_placements),
			cmocka_unit_test(a_fleet_of_three_levels_finds_its_lowest_gpus),
			cmocka_unit_test(the_way_to_a_state_changes_no_choice),
			cmocka_unit_test(the_mix_sums_to_one_and_follows_what_is_asked),
			cmocka_unit_test(scarcity_keeps_a_whole_gpu_for_who_asks_for_one),
			cmocka_unit_test(fleets_that_cannot_be_kept_are_refused),
			cmocka_unit_test(without_memory_a_fleet_is_refused_whole),
			cmocka_unit_test(policies_have_names_that_lead_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
