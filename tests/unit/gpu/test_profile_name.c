/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "gpu/profile_name.h"

static void names_of_boards_keep_their_text(void **state)
{
	/* Published names of boards from Ampere to Blackwell, and compute instances in them. */
	static const char *const names[] = {"1g.5gb", "1g.5gb+me", "1g.6gb+me", "1g.10gb",
			"1g.10gb+me", "1g.12gb", "1g.16gb+gfx", "1g.16gb+me.all", "1g.16gb-me",
			"1g.18gb", "1g.20gb", "1g.23gb+me", "1g.24gb", "1g.24gb+gfx", "1g.24gb+me",
			"1g.24gb+me.all", "1g.24gb-me", "1g.34gb", "1g.45gb", "1g.47gb", "1g.67gb",
			"1g.0gb", "1g.0gb+me", "1g.0gb+gfx", "2g.0gb+gfx", "3g.0gb", "2g.10gb",
			"2g.12gb+me", "2g.32gb+gfx", "2g.48gb+me.all", "2g.48gb-me", "3g.20gb",
			"3g.39gb", "3g.40gb", "3g.71gb", "3g.135gb", "3g.139gb", "4g.20gb",
			"4g.24gb", "4g.96gb+gfx", "7g.40gb", "7g.79gb", "7g.80gb", "7g.141gb",
			"7g.278gb", "1c.2g.12gb+me", "1c.3g.40gb", "2c.3g.40gb", "3c.7g.80gb",
			"7c.7g.80gb", "1c.4g.96gb+gfx,me", "1g.1gb+gfx,me,me.all", "99g.99999gb"};

	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		char text[BH_PROFILE_NAME_SIZE];
		struct bh_profile_name name;
		struct bh_error err = {0};

		if (bh_profile_name_parse(names[i], &name, &err) < 0)
			fail_msg("%s", err.message);
		assert_string_equal(bh_profile_name_format(&name, text), names[i]);
	}
}

/* A small generator of its own, so that a failure can be repeated. */
static uint32_t next_random(uint64_t *seed, uint32_t below)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) (*seed >> 33) % below;
}

static void random_names_keep_their_value_and_text(void **state)
{
	uint64_t seed = 20240229;

	for (int i = 0; i < 200000; i++) {
		struct bh_profile_name name = {0}, again = {0};
		char text[BH_PROFILE_NAME_SIZE], second[BH_PROFILE_NAME_SIZE];
		struct bh_error err = {0};

		name.slices = 1 + next_random(&seed, BH_PROFILE_SLICES_MAX);
		if (next_random(&seed, 2))
			name.ci_slices = 1 + next_random(&seed, name.slices);
		name.memory_gb = next_random(&seed, BH_PROFILE_MEMORY_GB_MAX + 1);
		name.attributes = next_random(&seed, 2) ? next_random(&seed, 8)
							: BH_PROFILE_NO_ME * next_random(&seed, 2);
		(void) bh_profile_name_format(&name, text);
		if (bh_profile_name_parse(text, &again, &err) < 0)
			fail_msg("%s", err.message);
		assert_int_equal(bh_profile_name_compare(&name, &again), 0);
		assert_string_equal(bh_profile_name_format(&again, second), text);
	}
}

static const struct {
	const char *text, *message;
} refused[] = {
		{"", "profile '': expected a number of slices at character 1, found the end"},
		{"all", "profile 'all': expected a number of slices at character 1, found 'a'"},
		{"1", "profile '1': expected 'g.' or 'c.' at character 2, found the end"},
		{"1g", "profile '1g': expected 'g.' or 'c.' at character 2, found 'g'"},
		{"1g.", "profile '1g.': expected a number of GB at character 4, found the end"},
		{"1g.10", "profile '1g.10': expected 'gb' at character 6, found the end"},
		{"1g.10GB", "profile '1g.10GB': expected 'gb' at character 6, found 'G'"},
		{"1G.10gb", "profile '1G.10gb': expected 'g.' or 'c.' at character 2, found 'G'"},
		{"1g10gb", "profile '1g10gb': expected 'g.' or 'c.' at character 2, found 'g'"},
		{"0g.10gb", "profile '0g.10gb': a number of slices at character 1 is not within "
			    "1-99"},
		{"100g.10gb", "profile '100g.10gb': a number of slices at character 1 is not "
			      "within "
			      "1-99"},
		{"01g.10gb", "profile '01g.10gb': a number of slices at character 1 begins with a "
			     "zero"},
		{"1g.010gb", "profile '1g.010gb': a number of GB at character 4 begins with a "
			     "zero"},
		{"1g.100000gb", "profile '1g.100000gb': a number of GB at character 4 is not "
				"within "
				"0-99999"},
		{"1g.99999999999999999999gb", "profile '1g.99999999999999999999gb': a number of GB "
					      "at character 4 is "
					      "not within 0-99999"},
		{"+1g.10gb", "profile '+1g.10gb': expected a number of slices at character 1, "
			     "found "
			     "'+'"},
		{"-1g.10gb", "profile '-1g.10gb': expected a number of slices at character 1, "
			     "found "
			     "'-'"},
		{" 1g.10gb", "profile ' 1g.10gb': expected a number of slices at character 1, "
			     "found "
			     "' '"},
		{"1g.10gb ", "profile '1g.10gb ': expected '+', '-' or the end at character 8, "
			     "found "
			     "' '"},
		{"1g.10gb.me", "profile '1g.10gb.me': expected '+', '-' or the end at character 8, "
			       "found '.'"},
		{"1c.10gb", "profile '1c.10gb': expected 'g.' at character 6, found 'g'"},
		{"0c.1g.10gb", "profile '0c.1g.10gb': a number of slices at character 1 is not "
			       "within "
			       "1-99"},
		{"2c.1g.10gb", "profile '2c.1g.10gb': 2c is more than the GPU instance's 1g"},
		{"1g.2c.10gb", "profile '1g.2c.10gb': expected 'gb' at character 5, found 'c'"},
		{"1g.10gb+", "profile '1g.10gb+': expected an attribute at character 9, found the "
			     "end"},
		{"1g.10gb+me,", "profile '1g.10gb+me,': expected an attribute at character 12, "
				"found "
				"the end"},
		{"1g.10gb+ME", "profile '1g.10gb+ME': unknown attribute '+ME' at character 9, "
			       "known "
			       "are +gfx, +me, +me.all, -me"},
		{"1g.10gb+media", "profile '1g.10gb+media': unknown attribute '+media' at "
				  "character 9, "
				  "known are +gfx, +me, +me.all, -me"},
		{"1g.10gb-gfx", "profile '1g.10gb-gfx': unknown attribute '-gfx' at character 9, "
				"known "
				"are +gfx, +me, +me.all, -me"},
		{"1g.10gb+me,gfx,me", "profile '1g.10gb+me,gfx,me': attribute '+me' at character "
				      "16 is given "
				      "twice"},
		{"1g.10gb+me+gfx", "profile '1g.10gb+me+gfx': expected ',' or the end at character "
				   "11, "
				   "found '+'"},
		{"1g.10gb+gfx-me", "profile '1g.10gb+gfx-me': expected ',' or the end at character "
				   "12, "
				   "found '-'"},
		{"1g.10gb\xc3\xa9", "profile '1g.10gb\xc3\xa9': expected '+', '-' or the end at "
				    "character 8, found '\xc3\xa9'"},
		{"1g.\x1b[1m", "profile '1g.\\x1b[1m': expected a number of GB at character 4, "
			       "found "
			       "'\\x1b'"},
		{"MIG 1g.10gb", "profile 'MIG 1g.10gb': expected a number of slices at character "
				"1, "
				"found 'M'"},
};

static void every_wrong_name_is_refused_at_its_character(void **state)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(refused); i++) {
		struct bh_profile_name name = {.slices = 77};
		struct bh_error err = {0};

		assert_int_equal(bh_profile_name_parse(refused[i].text, &name, &err), -1);
		assert_string_equal(err.message, refused[i].message);
		assert_int_equal(err.code, BH_E_USAGE);
		assert_int_equal(name.slices, 77);
		assert_int_equal(bh_profile_name_parse(refused[i].text, &name, NULL), -1);
	}
}

static struct bh_profile_name named(const char *text)
{
	struct bh_profile_name name = {0};
	struct bh_error err = {0};

	if (bh_profile_name_parse(text, &name, &err) < 0)
		fail_msg("%s", err.message);
	return name;
}

static void parts_land_in_their_fields(void **state)
{
	struct bh_profile_name name = named("2c.4g.96gb+me.all,gfx");

	assert_int_equal(name.ci_slices, 2);
	assert_int_equal(name.slices, 4);
	assert_int_equal(name.memory_gb, 96);
	assert_int_equal(name.attributes, BH_PROFILE_GFX | BH_PROFILE_ME_ALL);
	name = named("1g.24gb-me");
	assert_int_equal(name.ci_slices, 0);
	assert_int_equal(name.attributes, BH_PROFILE_NO_ME);
	assert_int_equal(named("1g.24gb+me").attributes, BH_PROFILE_ME);
}

static void same_gpu_instance_whatever_the_compute_instance(void **state)
{
	struct bh_profile_name whole = named("3g.40gb"), part = named("1c.3g.40gb");
	struct bh_profile_name media = named("1g.10gb+me"), plain = named("1g.10gb");

	assert_true(bh_profile_name_same_gi(&whole, &part));
	assert_true(bh_profile_name_compare(&whole, &part) < 0);
	assert_false(bh_profile_name_same_gi(&media, &plain));
	assert_true(bh_profile_name_compare(&media, &plain) > 0);
	assert_true(bh_profile_name_compare(&plain, &part) < 0);
	part = named("4g.5gb");
	assert_true(bh_profile_name_compare(&whole, &part) < 0); /* slices before memory */
	part = named("3g.39gb");
	assert_false(bh_profile_name_same_gi(&whole, &part));
	assert_true(bh_profile_name_compare(&whole, &part) > 0);
}

static void nvml_prefix_is_taken_off(void **state)
{
	struct bh_profile_name name, plain = named("1g.10gb+me");
	struct bh_error err = {0};

	assert_int_equal(bh_profile_name_from_nvml("MIG 1g.10gb+me", &name, &err), 0);
	assert_int_equal(bh_profile_name_compare(&name, &plain), 0);
	assert_int_equal(bh_profile_name_from_nvml("1g.10gb+me", &name, &err), 0);
	assert_int_equal(bh_profile_name_compare(&name, &plain), 0);
	assert_int_equal(bh_profile_name_from_nvml("MIG MIG 1g.10gb", &name, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(names_of_boards_keep_their_text),
			cmocka_unit_test(random_names_keep_their_value_and_text),
			cmocka_unit_test(every_wrong_name_is_refused_at_its_character),
			cmocka_unit_test(parts_land_in_their_fields),
			cmocka_unit_test(same_gpu_instance_whatever_the_compute_instance),
			cmocka_unit_test(nvml_prefix_is_taken_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
