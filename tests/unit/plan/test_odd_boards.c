/* SPDX-License-Identifier: Apache-2.0 */
/* Boards that no vendor sells: nothing hangs, nothing crashes, nothing is promised that can't be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "board.h"

/* An order above what was measured, so that only a change of kind fails; the figure is printed. */
#define TOO_LONG_MS 2000.0

static double now_ms(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static void init_odd(struct bh_gpu *gpu)
{
	memset(gpu, 0, sizeof(*gpu));
	(void) snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-odd");
	(void) snprintf(gpu->pci, sizeof(gpu->pci), "00000000:01:00.0");
	gpu->mig_capable = gpu->holders_known = true;
	gpu->mig_current = gpu->mig_pending = BH_MIG_ON;
	gpu->pci_device_id = BH_UNKNOWN;
	gpu->placement_units = BH_UNITS_MAX;
}

static struct bh_gi_profile *add_profile(struct bh_gpu *gpu, uint32_t size, uint32_t slices)
{
	struct bh_gi_profile *profile = &gpu->profiles[gpu->n_profiles];

	(void) snprintf(profile->name, sizeof(profile->name), "%zug.%ugb", gpu->n_profiles, size);
	profile->id = 100 + (uint32_t) gpu->n_profiles++;
	profile->max_instances = BH_GIS_MAX;
	profile->slice_count = slices;
	profile->memory_mib = 1024 * size;
	return profile;
}

static void add_placement(struct bh_gi_profile *profile, uint32_t start, uint32_t size)
{
	profile->placements[profile->n_placements++] = (struct bh_placement){start, size};
}

static void want_of(struct bh_gpu_want *want, const size_t *profiles, size_t n)
{
	*want = (struct bh_gpu_want){.in_scope = true, .mig_on = true, .source = "odd:1"};
	for (; want->n_gis < n; want->n_gis++)
		want->gis[want->n_gis] = (struct bh_wanted_gi){.profile = profiles[want->n_gis],
				.profile_id = 100 + (uint32_t) profiles[want->n_gis],
				.ci_slices = {1},
				.n_cis = 1};
}

static void a_board_without_profiles_can_only_be_empty(void **state)
{
	static const struct bh_want_row row[] = {{"1g.5gb", 0, 1}};
	struct bh_gpu_want want = {.in_scope = true, .mig_on = true};
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gpu gpu;

	init_odd(&gpu);
	assert_int_equal(bh_want_fill(&gpu, row, 1, &want, &err), -1);
	assert_int_equal(err.code, BH_E_PROFILE_NOT_OFFERED);
	assert_string_equal(err.message,
			"GPU 0 (name unknown) does not offer 1g.5gb; it offers no profiles at all; "
			"offered by: a100-40gb");
	gpu.mig_current = gpu.mig_pending = BH_MIG_OFF; /* then not to know is not to lack */
	assert_int_equal(bh_want_fill(&gpu, row, 1, &want, &err), -1);
	assert_string_equal(err.message,
			"GPU 0 (name unknown): whether it offers 1g.5gb is unknown: its driver "
			"does "
			"not tell while MIG is off, and the catalogue does not have this board");
	gpu.mig_current = gpu.mig_pending = BH_MIG_ON;
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), 0);
	assert_int_equal(plan.n_steps, 0);
	bh_gpu_plan_free(&plan);
}

static void a_profile_without_placements_never_fits(void **state)
{
	static const size_t one[] = {0};
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gpu gpu;

	init_odd(&gpu);
	(void) add_profile(&gpu, 1, 1);
	want_of(&want, one, 1);
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), -1);
	assert_int_equal(err.code, BH_E_DOES_NOT_FIT);
}

static void a_profile_of_unknown_slices_is_refused_and_not_left_out(void **state)
{
	static const uint32_t counts[] = {0, BH_UNKNOWN, BH_UNITS_MAX + 1};
	static const struct bh_want_row whole[] = {{"0g.1gb", 0, 1}};
	static const struct bh_want_row part[] = {{"0g.1gb", 1, 1}};

	for (size_t i = 0; i < BH_ARRAY_SIZE(counts); i++) {
		struct bh_gpu_want want = {.in_scope = true, .mig_on = true};
		struct bh_error err = {0};
		struct bh_gpu gpu;

		init_odd(&gpu);
		add_placement(add_profile(&gpu, 1, counts[i]), 0, 1);
		assert_int_equal(bh_want_fill(&gpu, whole, 1, &want, &err), -1);
		assert_int_equal(err.code, BH_E_UNSUPPORTED);
		assert_string_equal(err.message,
				"GPU 0 (name unknown): the driver does not say how "
				"many compute slices a 0g.1gb has");
		assert_int_equal(bh_want_fill(&gpu, part, 1, &want, &err), -1);
		/* what nobody wants stands in nobody's way */
		assert_int_equal(bh_want_fill(&gpu, NULL, 0, &want, &err), 0);
	}
}

/* An instance of a profile that the driver no longer lists. */
static void what_the_board_does_not_list_is_handled_like_any_other(void **state)
{
	static const size_t one[] = {0};
	static const struct bh_placement far = {8, 4}, near = {0, 4};
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gpu gpu;
	struct bh_gi *gi;

	init_odd(&gpu);
	add_placement(add_profile(&gpu, 4, 4), 0, 4);
	want_of(&want, one, 1);
	(void) board_add_bare(&gpu, 0, &near);
	(void) board_add_ci(&gpu.gis[0], 0, 1);
	gi = board_add_bare(&gpu, 0, &far);
	gi->profile_id = 77;
	assert_false(bh_want_is_met(&gpu, &want, NULL, 0));
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), 0);
	assert_int_equal(plan.operations, 1);
	assert_string_equal(plan.steps[1].profile, "profile 77");
	assert_true(bh_want_is_met(&plan.after, &want, NULL, 0));
	bh_gpu_plan_free(&plan);
	/* in use, it can't go, and the words say which it is */
	gi->busy = true;
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), -1);
	assert_int_equal(err.code, BH_E_IN_USE);
	assert_string_equal(err.message, "GPU 0 (name unknown): the wanted layout has no room "
					 "beside what must stay: "
					 "blocked by instance profile 77 at 8, in use by a holder "
					 "the driver does not "
					 "name");
	/* not ours, it does not count */
	gi->busy = false;
	gi->foreign = true;
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), 0);
	assert_int_equal(plan.n_steps, 0);
	assert_true(bh_want_is_met(&gpu, &want, NULL, 0));
	bh_gpu_plan_free(&plan);
}

static void a_full_house_is_refused_in_words(void **state)
{
	static const size_t three[] = {0, 0, 0};
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gi_profile *profile;
	struct bh_gpu gpu;

	init_odd(&gpu);
	profile = add_profile(&gpu, 1, 1);
	for (uint32_t i = 0; i < BH_PLACEMENTS_MAX; i++)
		add_placement(profile, i, 1);
	for (uint32_t i = 0; i < 6; i++)
		board_add_bare(&gpu, 0, &profile->placements[i])->foreign = true;
	/* nine GPU instances: more than the driver can hold, though there are units for them */
	want_of(&want, three, 3);
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), -1);
	assert_int_equal(err.code, BH_E_FOREIGN);
	/* and a profile may have a maximum below its placements */
	profile->max_instances = 7;
	want.n_gis = 2;
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), -1);
	assert_int_equal(err.code, BH_E_FOREIGN);
	want.n_gis = 1;
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), 0);
	assert_int_equal(plan.operations, 1);
	bh_gpu_plan_free(&plan);
}

static void placements_past_the_last_unit_are_never_used(void **state)
{
	static const size_t two[] = {0, 0};
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gi_profile *profile;
	struct bh_gpu gpu;

	init_odd(&gpu);
	gpu.placement_units = 200;
	profile = add_profile(&gpu, 8, 1);
	add_placement(profile, 60, 8);
	add_placement(profile, 64, 8);
	add_placement(profile, 4294967290U, 8);
	add_placement(profile, 3, 0);
	want_of(&want, two, 2);
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), -1);
	assert_int_equal(err.code, BH_E_DOES_NOT_FIT);
	profile->placements[0] = (struct bh_placement){0, 60};
	profile->n_placements = 1;
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), -1);
	assert_string_equal(err.message,
			"GPU 0 (name unknown) cannot hold 2 x 0g.8gb: with the others placed, one "
			"0g.8gb is left over and the free units are: 60, 61, 62, 63");
}

static void eight_instances_with_eight_parts_each_are_planned(void **state)
{
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_error err = {0};
	struct bh_gi_profile *profile;
	struct bh_gpu gpu;
	double before = now_ms();

	init_odd(&gpu);
	profile = add_profile(&gpu, 8, 8);
	for (uint32_t i = 0; i < 8; i++)
		add_placement(profile, 8 * i, 8);
	want = (struct bh_gpu_want){.in_scope = true, .mig_on = true, .source = "odd:1"};
	for (uint32_t g = 0; g < 8; g++) {
		struct bh_gi *gi = board_add_bare(&gpu, 0, &profile->placements[g]);

		for (uint32_t c = 0; c < 8; c++)
			(void) board_add_ci(gi, c, 1);
		/* eight wanted instances, no two alike: one part of 8 - g slices, the rest of 1 */
		want.gis[g].profile_id = profile->id;
		want.gis[g].ci_slices[want.gis[g].n_cis++] = 8 - g;
		for (uint32_t c = 0; c < g; c++)
			want.gis[g].ci_slices[want.gis[g].n_cis++] = 1;
	}
	want.n_gis = 8;
	if (bh_plan_gpu(&gpu, &want, &plan, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(plan.operations, 0);
	assert_true(bh_want_is_met(&plan.after, &want, NULL, 0));
	print_message("eight times eight: %.1f ms, %zu steps\n", now_ms() - before, plan.n_steps);
	assert_true(now_ms() - before < TOO_LONG_MS);
	bh_gpu_plan_free(&plan);
	/* everything of it goes, and comes elsewhere: no plan is longer */
	profile->id++;
	assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, &err), 0);
	assert_int_equal(plan.operations, 16);
	bh_gpu_plan_free(&plan);
}

/* 18 profiles with 16 placements each on 64 units; sizes and starts as the dice have it. */
static void roll_table(struct dice *dice, struct bh_gpu *gpu, uint32_t largest)
{
	init_odd(gpu);
	while (gpu->n_profiles < 18) {
		uint32_t size = 1 + dice_roll(dice, largest);
		struct bh_gi_profile *profile = add_profile(gpu, size, 1);

		while (profile->n_placements < BH_PLACEMENTS_MAX)
			add_placement(profile, dice_roll(dice, BH_UNITS_MAX - size + 1), size);
	}
}

static void roll_instances(struct dice *dice, struct bh_gpu *gpu)
{
	uint64_t taken = 0;

	for (int tries = 0; tries < 20 && gpu->n_gis < 6; tries++) {
		size_t p = dice_roll(dice, (uint32_t) gpu->n_profiles);
		const struct bh_placement *at =
				&gpu->profiles[p].placements[dice_roll(dice, BH_PLACEMENTS_MAX)];
		struct bh_gi *gi;

		if (taken & bh_placement_mask(at))
			continue;
		taken |= bh_placement_mask(at);
		gi = board_add_bare(gpu, p, at);
		(void) board_add_ci(gi, 0, 1);
		gi->busy = gi->cis[0].busy = dice_roll(dice, 4) == 0;
		gi->foreign = !gi->busy && dice_roll(dice, 4) == 0;
	}
}

static void nasty_tables_do_not_hang_the_planner(void **state)
{
	static const uint32_t largest[] = {4, 8, 9, 12, 16, 24};
	size_t planned = 0, refused = 0, given_up = 0;
	double worst = 0;
	struct dice dice;

	dice_init(&dice, 64, "nasty tables");
	for (int i = 0; i < 180; i++) {
		struct bh_gpu gpu;
		struct bh_gpu_want want;
		struct bh_gpu_plan plan;
		struct bh_error err = {0};
		size_t profiles[BH_GIS_MAX];
		double before, took;

		roll_table(&dice, &gpu, largest[i % (int) BH_ARRAY_SIZE(largest)]);
		if (i % 2)
			roll_instances(&dice, &gpu);
		for (size_t w = 0; w < BH_GIS_MAX; w++)
			profiles[w] = dice_roll(&dice, i % 3 ? 18 : 3);
		want_of(&want, profiles, BH_GIS_MAX - (size_t) (i % 3));
		before = now_ms();
		if (bh_plan_gpu(&gpu, &want, &plan, &err) == 0) {
			assert_true(bh_want_is_met(&plan.after, &want, NULL, 0));
			bh_gpu_plan_free(&plan);
			planned++;
		} else if (err.code == BH_E_INTERNAL) {
			if (!strstr(err.message, "too large to be searched"))
				fail_msg("%s", err.message);
			given_up++;
		} else {
			refused++;
		}
		took = now_ms() - before;
		worst = took > worst ? took : worst;
	}
	print_message("planned %zu, refused %zu, given up %zu; worst %.1f ms\n", planned, refused,
			given_up, worst);
	assert_true(planned > 20 && refused > 5);
	assert_true(worst < TOO_LONG_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_board_without_profiles_can_only_be_empty),
			cmocka_unit_test(a_profile_without_placements_never_fits),
			cmocka_unit_test(a_profile_of_unknown_slices_is_refused_and_not_left_out),
			cmocka_unit_test(what_the_board_does_not_list_is_handled_like_any_other),
			cmocka_unit_test(a_full_house_is_refused_in_words),
			cmocka_unit_test(placements_past_the_last_unit_are_never_used),
			cmocka_unit_test(eight_instances_with_eight_parts_each_are_planned),
			cmocka_unit_test(nasty_tables_do_not_hang_the_planner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
