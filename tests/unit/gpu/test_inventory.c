/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/inventory.h"

static const struct bh_gpu board = {
		.n_profiles = 2,
		.profiles = {{.name = "1g.10gb",
					     .id = 19,
					     .max_instances = 7,
					     .slice_count = 1,
					     .memory_mib = 9728,
					     .sm = 16,
					     .n_placements = 2,
					     .placements = {{0, 1}, {1, 1}}},
				{.name = "3g.40gb",
						.id = 9,
						.nvml_enum = 2,
						.max_instances = 2,
						.slice_count = 3,
						.memory_mib = 40192,
						.sm = 60,
						.n_placements = 1,
						.placements = {{0, 4}}}},
};

static void boards_that_differ_in_anything_said_of_a_profile_are_not_the_same(void **state)
{
	struct bh_gpu other = board;

#define DIFFERS(member, value)                                                                     \
	do {                                                                                       \
		other = board;                                                                     \
		other.member = (value);                                                            \
		assert_false(bh_gpu_offers_same(&board, &other));                                  \
		assert_false(bh_gpu_offers_same(&other, &board));                                  \
	} while (0)
	DIFFERS(n_profiles, 1);
	DIFFERS(profiles[1].name[0], '4');
	DIFFERS(profiles[1].id, 5);
	DIFFERS(profiles[1].nvml_enum, 3);
	DIFFERS(profiles[1].max_instances, 1);
	DIFFERS(profiles[1].slice_count, 4);
	DIFFERS(profiles[1].memory_mib, 40193);
	DIFFERS(profiles[1].sm, 61);
	DIFFERS(profiles[0].n_placements, 1);
	DIFFERS(profiles[0].placements[1].start, 2);
	DIFFERS(profiles[0].placements[1].size, 2);
}

/* Two records of the same board, whatever stands on it and whatever lies behind the text's end. */
static void boards_are_compared_by_what_they_offer_alone(void **state)
{
	struct bh_gpu other = board;

	assert_true(bh_gpu_offers_same(&board, &board));
	assert_true(bh_gpu_offers_same(&board, &other));
	other.profiles[0].name[BH_NAME_SIZE - 1] = 'x';
	other.profiles[1].placements[BH_PLACEMENTS_MAX - 1].start = 3;
	other.n_gis = 1;
	assert_true(bh_gpu_offers_same(&board, &other));
}

static void a_profile_is_found_by_its_whole_name(void **state)
{
	size_t p = 99;

	assert_false(bh_gpu_profile_named(&board, "3g.40g", &p));
	assert_false(bh_gpu_profile_named(&board, "3g.40gb+me", &p));
	assert_false(bh_gpu_profile_named(&board, "", &p));
	assert_int_equal(p, 99);
	assert_true(bh_gpu_profile_named(&board, "3g.40gb", &p));
	assert_int_equal(p, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					boards_that_differ_in_anything_said_of_a_profile_are_not_the_same),
			cmocka_unit_test(boards_are_compared_by_what_they_offer_alone),
			cmocka_unit_test(a_profile_is_found_by_its_whole_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
