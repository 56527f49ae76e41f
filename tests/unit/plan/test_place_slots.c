/* SPDX-License-Identifier: Apache-2.0 */
/* Where compute instances go, against every arrangement there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "board.h"
#include "inside.h"
#include "plan/placer.h"

static void flags_of(uint64_t mask, bool *ret_taken)
{
	for (uint32_t s = 0; s < BH_UNITS_MAX; s++)
		ret_taken[s] = mask >> s & 1;
}

static void check(uint32_t total, uint64_t mask, const uint32_t *sizes, size_t n, size_t *tally)
{
	bool taken[BH_UNITS_MAX], aligned, possible, found, all_aligned = true;
	uint32_t starts[BH_CIS_MAX];

	flags_of(mask, taken);
	possible = inside_has_room(total, taken, sizes, n, /* aligned= */ false);
	aligned = inside_has_room(total, taken, sizes, n, /* aligned= */ true);
	found = bh_place_slots(total, mask, sizes, n, starts);
	if (found != possible)
		fail_msg("%u slices, %#llx taken, %zu wanted, the first of %u: said %d", total,
				(unsigned long long) mask, n, n ? sizes[0] : 0, found);
	tally[!possible ? 0 : aligned ? 1 : 2]++;
	for (size_t i = 0; found && i < n; i++) {
		assert_true(starts[i] + sizes[i] <= total);
		for (uint32_t s = starts[i]; s < starts[i] + sizes[i]; s++) {
			assert_false(taken[s]);
			taken[s] = true;
		}
		all_aligned = all_aligned && inside_is_aligned(starts[i], sizes[i]);
		assert_int_equal(bh_slot_is_aligned(starts[i], sizes[i]),
				inside_is_aligned(starts[i], sizes[i]));
	}
	assert_true(!found || all_aligned == aligned);
}

/* All falling lists of sizes with a sum of at most one more than there are slices. */
static void every_list(uint32_t total, uint64_t mask, uint32_t *sizes, size_t n, uint32_t sum,
		size_t *tally)
{
	uint32_t largest = n ? sizes[n - 1] : total;

	check(total, mask, sizes, n, tally);
	if (n == BH_CIS_MAX)
		return;
	for (uint32_t size = 1; size <= largest && sum + size <= total + 1; size++) {
		sizes[n] = size;
		every_list(total, mask, sizes, n + 1, sum + size, tally);
	}
}

static void slots_are_found_exactly_when_there_is_room(void **state)
{
	size_t tally[3] = {0};

	for (uint32_t total = 1; total <= 8; total++) {
		uint32_t sizes[BH_CIS_MAX];

		for (uint64_t mask = 0; mask < 1U << total; mask++)
			every_list(total, mask, sizes, 0, 0, tally);
	}
	print_message("no room %zu, aligned %zu, only unaligned %zu\n", tally[0], tally[1],
			tally[2]);
	assert_true(tally[0] > 1000 && tally[1] > 1000 && tally[2] > 100);
}

static void what_is_taken_past_the_end_takes_no_room(void **state)
{
	static const uint32_t sizes[] = {2, 1};
	uint32_t starts[2];

	assert_true(bh_place_slots(3, 0xF8, sizes, 2, starts));
	assert_int_equal(starts[0], 0);
	assert_int_equal(starts[1], 2);
}

static void sixty_four_slices_do_not_take_for_ever(void **state)
{
	static const uint32_t nines[BH_CIS_MAX] = {9, 9, 9, 9, 9, 9, 9, 9};
	static const uint32_t mixed[BH_CIS_MAX] = {12, 11, 10, 9, 8, 7, 6, 5};
	uint32_t starts[BH_CIS_MAX];

	assert_false(bh_place_slots(64, 0, nines, BH_CIS_MAX, starts));
	assert_false(bh_place_slots(64, 0, mixed, BH_CIS_MAX, starts));
	assert_false(bh_place_slots(64, 0x0420841084210841U, nines + 2, 6, starts));
	assert_true(bh_place_slots(64, 0, mixed, 5, starts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(slots_are_found_exactly_when_there_is_room),
			cmocka_unit_test(what_is_taken_past_the_end_takes_no_room),
			cmocka_unit_test(sixty_four_slices_do_not_take_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
