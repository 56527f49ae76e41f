/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/text.h"

static void distance_counts_edits_and_swaps(void **state)
{
	char longest[BH_TEXT_WORD_MAX + 2];

	assert_int_equal(bh_text_distance("", ""), 0);
	assert_int_equal(bh_text_distance("abc", ""), 3);
	assert_int_equal(bh_text_distance("", "abc"), 3);
	assert_int_equal(bh_text_distance("devices", "device"), 1);
	assert_int_equal(bh_text_distance("devcies", "devices"), 1);
	assert_int_equal(bh_text_distance("kitten", "sitting"), 3);
	memset(longest, 'a', sizeof(longest));
	longest[BH_TEXT_WORD_MAX + 1] = '\0';
	assert_true(bh_text_distance(longest, "a") == BH_TEXT_FAR);
	longest[BH_TEXT_WORD_MAX] = '\0';
	assert_int_equal(bh_text_distance(longest, "a"), BH_TEXT_WORD_MAX - 1);
}

static void nearest_is_near_or_nothing(void **state)
{
	const char *const names[] = {"all-1g.10gb", "all-1g.20gb", "all-disabled", "x"};

	assert_string_equal(bh_text_nearest("all-1g.1gb", names, 4), "all-1g.10gb");
	assert_string_equal(bh_text_nearest("all-disable", names, 4), "all-disabled");
	assert_string_equal(bh_text_nearest("ALL-DISABLED", names, 4), "all-disabled");
	assert_string_equal(bh_text_nearest("all-1g.30gb", names, 4), "all-1g.10gb");
	assert_null(bh_text_nearest("something-else", names, 4));
	assert_null(bh_text_nearest("all", names, 4));
	assert_null(bh_text_nearest("x", names, 0));
}

static void join_counts_what_does_not_fit(void **state)
{
	const char *const names[] = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta"};
	char buffer[48];

	assert_string_equal(bh_text_join(buffer, sizeof(buffer), names, 0), "");
	assert_string_equal(bh_text_join(buffer, sizeof(buffer), names, 3), "alpha, beta, gamma");
	assert_string_equal(
			bh_text_join(buffer, sizeof(buffer), names, 6), "alpha, beta and 4 more");
	assert_string_equal(bh_text_join(buffer, 20, names, 6), "6 names");
	assert_string_equal(bh_text_join(buffer, 1, names, 6), "");
}

static void show_lets_nobody_write_on_the_terminal(void **state)
{
	char buffer[16];

	assert_string_equal(bh_text_show(buffer, sizeof(buffer), ""), "");
	assert_string_equal(bh_text_show(buffer, sizeof(buffer), "a\x1b[m"), "a\\x1b[m");
	assert_string_equal(bh_text_show(buffer, sizeof(buffer), "\xc2\x9bm"), "\\xc2\\x9bm");
	assert_string_equal(bh_text_show(buffer, sizeof(buffer), "\xff\n"), "\\xff\\x0a");
	assert_string_equal(
			bh_text_show(buffer, sizeof(buffer), "123456789012345"), "123456789012345");
	assert_string_equal(bh_text_show(buffer, sizeof(buffer), "1234567890123456"),
			"123456789012\xe2\x80\xa6");
	assert_string_equal(bh_text_show(buffer, sizeof(buffer), "12345678901\xc3\xa9x567"),
			"12345678901\xe2\x80\xa6");
}

static void sets_are_shown_as_ranges(void **state)
{
	char buffer[192];

	assert_string_equal(bh_text_ranges(buffer, sizeof(buffer), 0), "");
	assert_string_equal(bh_text_ranges(buffer, sizeof(buffer), 1), "0");
	assert_string_equal(bh_text_ranges(buffer, sizeof(buffer), 0xfd), "0, 2-7");
	assert_string_equal(bh_text_ranges(buffer, sizeof(buffer), UINT64_MAX), "0-63");
	assert_string_equal(bh_text_ranges(buffer, sizeof(buffer), UINT64_C(1) << 63), "63");
	for (unsigned int i = 0; i < 3; i++)
		assert_true(strlen(bh_text_ranges(buffer, sizeof(buffer),
					    UINT64_C(0x6db6db6db6db6db6) >> i)) < 191);
}

static void numbers_are_strict(void **state)
{
	uint32_t value = 7;

	assert_true(bh_text_u32("0", 1, 9, &value) && value == 0);
	assert_true(bh_text_u32("4294967295", 10, UINT32_MAX, &value) && value == UINT32_MAX);
	assert_false(bh_text_u32("4294967296", 10, UINT32_MAX, &value));
	assert_false(bh_text_u32("18446744073709551617", 20, UINT32_MAX, &value));
	assert_false(bh_text_u32("", 0, 9, &value));
	assert_false(bh_text_u32("01", 2, 9, &value));
	assert_false(bh_text_u32("+1", 2, 9, &value));
	assert_false(bh_text_u32("1 ", 2, 9, &value));
	assert_false(bh_text_u32("10", 2, 9, &value));
	assert_true(bh_text_u32("10", 1, 9, &value) && value == 1);
}

static void utf8_is_strict(void **state)
{
	assert_int_equal(bh_text_utf8_length("a", 1), 1);
	assert_int_equal(bh_text_utf8_length("\xc3\xa9", 2), 2);
	assert_int_equal(bh_text_utf8_length("\xe2\x80\xa6", 3), 3);
	assert_int_equal(bh_text_utf8_length("\xf0\x9f\x9a\xa2", 4), 4);
	assert_int_equal(bh_text_utf8_length("\xf0\x9f\x9a\xa2", 3), 0);
	assert_int_equal(bh_text_utf8_length("\xc0\x80", 2), 0);
	assert_int_equal(bh_text_utf8_length("\xe0\x80\x80", 3), 0);
	assert_int_equal(bh_text_utf8_length("\xed\xa0\x80", 3), 0);
	assert_int_equal(bh_text_utf8_length("\xf4\x90\x80\x80", 4), 0);
	assert_int_equal(bh_text_utf8_length("\xe2\x80z", 3), 0);
	assert_int_equal(bh_text_utf8_length("\x80", 1), 0);
}

static void arena_keeps_its_maximum(void **state)
{
	bh_auto_arena struct bh_arena *arena = bh_arena_new(20000);
	char *small, *big;

	assert_non_null(arena);
	small = bh_arena_text(arena, "small", 5);
	big = bh_arena_alloc(arena, 10000, 1);
	assert_non_null(small);
	assert_non_null(big);
	memset(big, 'x', 10000);
	assert_string_equal(small, "small");
	assert_null(bh_arena_alloc(arena, 2000, 1000));
	assert_null(bh_arena_alloc(arena, SIZE_MAX / 2, 4));
	assert_null(bh_arena_alloc(arena, SIZE_MAX, 1));
	assert_non_null(bh_arena_alloc(arena, 1000, 1)); /* what is left can still be had */
	assert_null(bh_arena_alloc(arena, 9000, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(distance_counts_edits_and_swaps),
			cmocka_unit_test(nearest_is_near_or_nothing),
			cmocka_unit_test(join_counts_what_does_not_fit),
			cmocka_unit_test(show_lets_nobody_write_on_the_terminal),
			cmocka_unit_test(sets_are_shown_as_ranges),
			cmocka_unit_test(numbers_are_strict),
			cmocka_unit_test(utf8_is_strict),
			cmocka_unit_test(arena_keeps_its_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
