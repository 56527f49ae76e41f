/* SPDX-License-Identifier: Apache-2.0 */
/* base/json: an error that came from a stranger can be handed on, whatever was in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"

static void texts_that_were_cut_within_a_character_are_still_texts(void **state)
{
	bh_auto_json json_t *odd = json_pack("{s:s, s:[{s:s}]}", "message", "m", "holders", "kind",
			"fourteen bytes\xc3\xa9 and more");
	bh_auto_json json_t *again = NULL;
	struct bh_error err;

	bh_error_from_json(odd, &err);
	assert_int_equal(err.n_holders, 1);
	assert_string_equal(err.holders[0].kind, "fourteen bytes?");
	again = bh_error_to_json(&err);
	assert_non_null(again);
}

static void numbers_that_cannot_be_are_not_known(void **state)
{
	bh_auto_json json_t *odd = json_pack("{s:I, s:[{s:i}, {s:I}, {s:i}]}", "native",
			(json_int_t) 1 << 40, "holders", "pid", -1, "pid",
			((json_int_t) 1 << 32) + 7, "pid", 7);
	struct bh_error err;

	bh_error_from_json(odd, &err);
	assert_int_equal(err.native, 0);
	assert_int_equal(err.holders[0].pid, 0);
	assert_int_equal(err.holders[1].pid, 0);
	assert_int_equal(err.holders[2].pid, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(texts_that_were_cut_within_a_character_are_still_texts),
			cmocka_unit_test(numbers_that_cannot_be_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
