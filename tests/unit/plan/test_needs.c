/* SPDX-License-Identifier: Apache-2.0 */
/* From needs to profiles, on every board of the catalogue; and the text of a need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "gpu/catalogue.h"
#include "plan/needs.h"

static struct bh_need parsed(const char *text)
{
	struct bh_need need = {0};
	struct bh_error err = {0};

	if (bh_need_parse(text, &need, &err) < 0)
		fail_msg("%s", err.message);
	return need;
}

/* "-" where none suffices */
static const char *smallest(const struct bh_gpu *gpu, const char *text)
{
	struct bh_need need = parsed(text);
	struct bh_need_fit fit;

	if (!bh_need_fit(gpu->profiles, gpu->n_profiles, &need, &fit)) {
		assert_null(fit.profile);
		return "-";
	}
	assert_non_null(fit.profile);
	assert_null(fit.largest);
	return fit.profile->name;
}

static void true_capacities_decide_and_not_names(void **state)
{
	static const struct {
		const char *slug, *need, *profile;
	} rows[] = {
			{"a100-40gb", "memory=4864MiB", "1g.5gb"},
			{"a100-40gb", "memory=4865MiB", "1g.10gb"},
			{"a100-40gb", "memory=5120MiB", "1g.10gb"},
			{"a100-40gb", "memory=5GiB", "1g.10gb"},
			{"a100-40gb", "memory=5GB", "1g.5gb"}, /* 4768.4 MiB */
			{"a100-40gb", "memory=9984MiB", "1g.10gb"},
			{"a100-40gb", "memory=10GiB", "3g.20gb"},
			{"a100-40gb", "memory=20GiB", "7g.40gb"},
			{"a100-40gb", "memory=40GiB", "-"},
			{"a100-40gb", "compute=14.2%", "1g.5gb"}, /* 14 of 98 are 14.285 % */
			{"a100-40gb", "compute=14.3%", "2g.10gb"},
			{"a100-40gb", "compute=28.5%", "2g.10gb"},
			{"a100-40gb", "compute=28.6%", "3g.20gb"},
			{"a100-40gb", "compute=42.8%", "3g.20gb"},
			{"a100-40gb", "compute=43%", "4g.20gb"},
			{"a100-40gb", "compute=57.2%", "7g.40gb"},
			{"a100-40gb", "compute=100%", "7g.40gb"},
			{"a100-40gb", "memory=9GiB,compute=10%", "1g.10gb"},
			{"a100-40gb", "compute=20%,memory=9GiB", "2g.10gb"},
			{"a100-80gb", "memory=38GiB,compute=40%", "3g.40gb"},
			{"h100-sxm5-80gb", "memory=38GiB,compute=40%", "3g.40gb"},
			{"h100-sxm5-80gb", "memory=38GiB,compute=45.5%", "4g.40gb"},
			{"h100-sxm5-80gb", "compute=19.6%", "1g.20gb"}, /* 26 of 132 */
			{"h100-sxm5-80gb", "compute=19.7%", "2g.20gb"},
			{"h100-sxm5-80gb", "memory=1MiB", "1g.10gb"},
			{"h100-sxm5-80gb", "profile=1g.10gb+me", "1g.10gb+me"},
			{"h100-sxm5-80gb", "profile=1c.3g.40gb", "3g.40gb"},
			{"h100-sxm5-80gb", "profile=1g.5gb", "-"},
			{"rtx-pro-6000-blackwell-96gb", "memory=20GiB", "1g.24gb"},
			{"rtx-pro-6000-blackwell-96gb", "compute=50%", "2g.48gb"},
			{"rtx-pro-6000-blackwell-96gb", "profile=1g.24gb-me", "1g.24gb-me"},
			{"a30-24gb", "compute=25%", "1g.6gb"},
			{"a30-24gb", "memory=6GiB", "2g.12gb"},
			/* nobody says what these have */
			{"gb300-278gb", "memory=1MiB", "-"},
			{"gb300-278gb", "compute=0.1%", "-"},
			{"h20-141gb", "compute=0.1%", "-"}, /* its largest profile is not known */
			{"h20-141gb", "memory=16GiB", "1g.18gb"},
			{"rtx-pro-5000-blackwell-48gb", "memory=1MiB", "-"},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(rows); i++) {
		struct bh_gpu gpu;

		board_init(&gpu, rows[i].slug);
		if (strcmp(smallest(&gpu, rows[i].need), rows[i].profile) != 0)
			fail_msg("%s, %s: %s and not %s", rows[i].slug, rows[i].need,
					smallest(&gpu, rows[i].need), rows[i].profile);
	}
}

static uint32_t units(const struct bh_gi_profile *profile)
{
	return profile->placements[0].size;
}

/* What a need comes to, by looking at every profile. */
static const struct bh_gi_profile *brute(
		const struct bh_gpu *gpu, uint64_t memory, uint32_t permille, uint32_t board_sm)
{
	const struct bh_gi_profile *best = NULL;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		const struct bh_gi_profile *p = &gpu->profiles[i];

		if (strpbrk(p->name, "+-") || p->memory_mib < memory ||
				(double) p->sm / board_sm < permille / 1000.0 - 1e-12)
			continue;
		if (!best || units(p) < units(best) ||
				(units(p) == units(best) &&
						(p->sm < best->sm ||
								(p->sm == best->sm &&
										p->memory_mib < best->memory_mib))))
			best = p;
	}
	return best;
}

static void each_profiles_own_capacity_comes_to_it_or_a_smaller_one(void **state)
{
	size_t seen = 0;

	for (size_t m = 0; m < bh_catalogue_count(); m++) {
		const struct bh_model *model = bh_catalogue_at(m);
		uint32_t board_sm = bh_need_board_sm(model->gi_profiles, model->n_gi_profiles);
		struct bh_gpu gpu;

		if (!model->complete || model->sm_usable_in_mig == BH_UNKNOWN)
			continue;
		assert_int_equal(board_sm, model->sm_usable_in_mig);
		board_init(&gpu, model->slug);
		for (size_t i = 0; i < gpu.n_profiles; i++) {
			const struct bh_gi_profile *p = &gpu.profiles[i];
			uint32_t permille = p->sm * 1000 / board_sm;
			struct bh_need need = {.count = 1,
					.memory_mib = p->memory_mib,
					.compute_permille = permille};
			struct bh_need_fit fit;

			assert_true(bh_need_fit(gpu.profiles, gpu.n_profiles, &need, &fit));
			assert_true(units(fit.profile) <= units(p));
			assert_true(fit.profile->memory_mib >= p->memory_mib);
			assert_ptr_equal(fit.profile,
					brute(&gpu, p->memory_mib, permille, board_sm));
			need.memory_mib++;
			if (bh_need_fit(gpu.profiles, gpu.n_profiles, &need, &fit))
				assert_true(fit.profile->memory_mib > p->memory_mib);
			else
				assert_int_equal(fit.lacks_memory_mib,
						need.memory_mib - fit.largest->memory_mib);
			/* the next thousandth is more than it has, however it divides */
			need = (struct bh_need){.count = 1, .compute_permille = permille + 1};
			if (permille < 1000) {
				assert_true(bh_need_fit(gpu.profiles, gpu.n_profiles, &need, &fit));
				assert_true(fit.profile->sm > p->sm);
			}
			seen++;
		}
	}
	assert_int_equal(seen, 8 * 7 + 5 + 11);
}

static void random_needs_come_to_what_looking_at_all_gives(void **state)
{
	struct dice dice;

	dice_init(&dice, 5, "needs");
	for (int i = 0; i < 20000; i++) {
		const struct bh_model *model =
				bh_catalogue_at(dice_roll(&dice, (uint32_t) bh_catalogue_count()));
		struct bh_need need = {.count = 1};
		const struct bh_gi_profile *expected;
		struct bh_need_fit fit;
		struct bh_gpu gpu;

		if (!model->complete || model->sm_usable_in_mig == BH_UNKNOWN)
			continue;
		board_init(&gpu, model->slug);
		need.memory_mib = dice_roll(&dice, 3) ? 1 + dice_roll(&dice, 200000) : 0;
		need.compute_permille = dice_roll(&dice, 3) ? 1 + dice_roll(&dice, 1000) : 0;
		expected = brute(&gpu, need.memory_mib, need.compute_permille,
				model->sm_usable_in_mig);
		assert_int_equal(bh_need_fit(gpu.profiles, gpu.n_profiles, &need, &fit),
				expected != NULL);
		assert_ptr_equal(fit.profile, expected);
	}
}

static void what_is_unknown_satisfies_nothing(void **state)
{
	struct bh_gpu gpu;
	size_t seven;

	board_init(&gpu, "h100-sxm5-80gb");
	seven = board_profile(&gpu, "7g.80gb");
	gpu.profiles[seven].sm = BH_UNKNOWN;
	assert_string_equal(smallest(&gpu, "compute=1%"), "-");
	assert_string_equal(smallest(&gpu, "memory=50GiB"), "7g.80gb");
	board_init(&gpu, "h100-sxm5-80gb");
	gpu.profiles[seven].memory_mib = BH_UNKNOWN64;
	assert_string_equal(smallest(&gpu, "memory=50GiB"), "-");
	assert_string_equal(smallest(&gpu, "compute=90%"), "7g.80gb");
	board_init(&gpu, "h100-sxm5-80gb");
	gpu.profiles[board_profile(&gpu, "3g.40gb")].sm = BH_UNKNOWN;
	assert_string_equal(smallest(&gpu, "compute=40%"), "4g.40gb");
	gpu.profiles[board_profile(&gpu, "3g.40gb")].n_placements = 0;
	assert_string_equal(smallest(&gpu, "compute=40%"), "-"); /* it may be the largest */
	board_init(&gpu, "h100-sxm5-80gb");
	gpu.n_profiles--; /* the table ends before the largest one */
	assert_string_equal(gpu.profiles[gpu.n_profiles].name, "7g.80gb");
	assert_string_equal(smallest(&gpu, "compute=1%"), "-");
	board_init(&gpu, "h100-sxm5-80gb");
	gpu.profiles[board_profile(&gpu, "1g.10gb")].n_placements = 0;
	assert_string_equal(smallest(&gpu, "memory=1GiB"), "1g.20gb");
}

static void a_refusal_says_what_is_missing_and_which_boards_have_it(void **state)
{
	static const struct {
		const char *need, *message, *next;
		enum bh_code code;
	} rows[] = {
			{"memory=60GiB",
					"need 'memory=60GiB': no profile of GPU 0 (NVIDIA "
					"A100-SXM4-40GB) suffices; the largest, 7g.40gb, has 40320 "
					"MiB: 21120 MiB too little",
					"h100-sxm5-80gb (7g.80gb)", BH_E_DOES_NOT_FIT},
			{"memory=41GiB,compute=50%", "7g.40gb, has 40320 MiB: 1664 MiB too little",
					"a100-80gb (7g.80gb)", BH_E_DOES_NOT_FIT},
			{"profile=3g.40gb", "does not offer it; most like it is 3g.20gb",
					"a100-80gb (3g.40gb)", BH_E_PROFILE_NOT_OFFERED},
			{"profile=9g.40gb", "has no profile like it",
					"no board of the catalogue is known to have it",
					BH_E_PROFILE_NOT_OFFERED},
			{"memory=9000GiB", "too little",
					"no board of the catalogue is known to have it",
					BH_E_DOES_NOT_FIT},
	};
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	for (size_t i = 0; i < BH_ARRAY_SIZE(rows); i++) {
		struct bh_need need = parsed(rows[i].need);
		struct bh_need_fit fit;
		struct bh_error err = {0};

		assert_false(bh_need_fit(gpu.profiles, gpu.n_profiles, &need, &fit));
		assert_int_equal(bh_need_refuse(&gpu, &need, &fit, &err), -1);
		assert_int_equal(err.code, rows[i].code);
		if (!strstr(err.message, rows[i].message) || !strstr(err.next, rows[i].next))
			fail_msg("%s\n%s", err.message, err.next);
	}
	/* a share that the largest lacks, and one that nobody knows */
	(void) snprintf(gpu.profiles[board_profile(&gpu, "7g.40gb")].name, BH_NAME_SIZE,
			"7g.40gb+gfx");
	{
		struct bh_need need = parsed("compute=60%");
		struct bh_need_fit fit;
		struct bh_error err = {0};

		assert_false(bh_need_fit(gpu.profiles, gpu.n_profiles, &need, &fit));
		assert_int_equal(fit.lacks_compute_permille, 29); /* 56 of 98 are 57.14 % */
		(void) bh_need_refuse(&gpu, &need, &fit, &err);
		assert_non_null(strstr(err.message,
				"4g.20gb, has 56 multiprocessors: 2.9 % of the board too little"));
		board_init(&gpu, "gb300-278gb");
		assert_false(bh_need_fit(gpu.profiles, gpu.n_profiles, &need, &fit));
		(void) bh_need_refuse(&gpu, &need, &fit, &err);
		assert_non_null(strstr(err.message, "has an unknown share of the multiprocessors"));
	}
}

static void the_boards_that_would_do_are_those_that_have_a_profile(void **state)
{
	struct bh_need need = parsed("memory=100GiB");
	const struct bh_gi_profile *profile;
	const char *slug;
	size_t at = 0, n = 0;

	while ((slug = bh_need_next_model(&need, &at, &profile)) != NULL) {
		assert_true(profile->memory_mib >= 102400);
		assert_non_null(bh_catalogue_by_slug(slug));
		n++;
	}
	assert_int_equal(n, 2); /* B200 and H200 */
	assert_null(bh_need_next_model(&need, &at, NULL));
}

static void parts_land_in_their_fields(void **state)
{
	struct bh_need need = parsed("memory=38GiB,compute=12.5%,count=3");
	char text[BH_NEED_TEXT_SIZE];

	assert_int_equal(need.memory_mib, 38912);
	assert_int_equal(need.compute_permille, 125);
	assert_int_equal(need.count, 3);
	assert_false(need.by_name);
	assert_string_equal(bh_need_format(&need, text), "memory=38GiB,compute=12.5%,count=3");
	need = parsed("count=2,profile=1g.24gb+gfx,me");
	assert_true(need.by_name);
	assert_int_equal(need.profile.attributes, BH_PROFILE_GFX | BH_PROFILE_ME);
	assert_int_equal(need.count, 2);
	need = parsed("profile=1g.24gb+gfx,me,count=4");
	assert_int_equal(need.profile.attributes, BH_PROFILE_GFX | BH_PROFILE_ME);
	assert_int_equal(need.count, 4);
	assert_string_equal(bh_need_format(&need, text), "profile=1g.24gb+gfx,me,count=4");
	need = parsed("memory=1GB");
	assert_int_equal(need.memory_mib, 954); /* 953.67 */
	assert_int_equal(parsed("memory=2GB").memory_mib, 1908);
	assert_int_equal(parsed("memory=99999999MiB").memory_mib, 99999999);
	assert_int_equal(parsed("compute=0.1%").compute_permille, 1);
	assert_int_equal(parsed("compute=100.0%").compute_permille, 1000);
	assert_string_equal(bh_need_format(&(struct bh_need){.memory_mib = 1025, .count = 1}, text),
			"memory=1025MiB");
}

static const struct {
	const char *text, *message;
} refused[] = {
		{"", "need '': expected memory, compute, profile or count at character 1, found "
		     "the end"},
		{"memory", "need 'memory': expected '=' at character 7, found the end"},
		{"memory=", "need 'memory=': expected a number at character 8, found the end"},
		{"memory=38", "need 'memory=38': expected 'MiB', 'GiB' or 'GB' at character 10, "
			      "found the end"},
		{"memory=38gb", "need 'memory=38gb': expected 'MiB', 'GiB' or 'GB' at character "
				"10, found 'g'"},
		{"memory=1.5GiB", "need 'memory=1.5GiB': expected 'MiB', 'GiB' or 'GB' at "
				  "character 9, found '.'"},
		{"memory=0GiB", "need 'memory=0GiB': a number at character 8 is not within "
				"1-99999999"},
		{"memory=08GiB", "need 'memory=08GiB': a number at character 8 begins with a zero"},
		{"memory=100000000MiB", "need 'memory=100000000MiB': a number at character 8 is "
					"not within 1-99999999"},
		{"memory=97657GiB", "need 'memory=97657GiB': the memory at character 8 is more "
				    "than 99999999 MiB"},
		{"memory=-1GiB", "need 'memory=-1GiB': expected a number at character 8, found "
				 "'-'"},
		{"memory=1GiBs", "need 'memory=1GiBs': expected ',' or the end at character 12, "
				 "found 's'"},
		{"memory=1GiB,", "need 'memory=1GiB,': expected memory, compute, profile or count "
				 "at character 13, found the end"},
		{"memory=1GiB;compute=1%", "need 'memory=1GiB;compute=1%': expected ',' or the end "
					   "at character 12, found ';'"},
		{"memory=1GiB,memory=2GiB", "need 'memory=1GiB,memory=2GiB': 'memory' at character "
					    "13 is given twice"},
		{"compute=40", "need 'compute=40': expected '%' at character 11, found the end"},
		{"compute=0%", "need 'compute=0%': a share at character 9 is not within "
			       "0.1%-100%"},
		{"compute=0.0%", "need 'compute=0.0%': a share at character 9 is not within "
				 "0.1%-100%"},
		{"compute=100.1%", "need 'compute=100.1%': a share at character 9 is not within "
				   "0.1%-100%"},
		{"compute=101%", "need 'compute=101%': a number of percent at character 9 is not "
				 "within 0-100"},
		{"compute=12.55%", "need 'compute=12.55%': expected '%' after one decimal at "
				   "character 13, found '5'"},
		{"compute=12.%", "need 'compute=12.%': expected a digit at character 12, found "
				 "'%'"},
		{"compute=.5%", "need 'compute=.5%': expected a number of percent at character 9, "
				"found '.'"},
		{"profile=1g.10", "need 'profile=1g.10': at character 9: profile '1g.10': expected "
				  "'gb' at character 6, found the end"},
		{"profile=", "need 'profile=': at character 9: profile '': expected a number of "
			     "slices at character 1, found the end"},
		{"profile=1g.10gb,", "need 'profile=1g.10gb,': at character 9: profile "
				     "'1g.10gb,': expected '+', '-' or the end at character 8, "
				     "found ','"},
		{"profile=1g.10gb,memory=1GiB", "need 'profile=1g.10gb,memory=1GiB': 'memory' at "
						"character 17: a profile and sizes exclude each "
						"other"},
		{"compute=1%,profile=1g.10gb", "need 'compute=1%,profile=1g.10gb': 'profile' at "
					       "character 12: a profile and sizes exclude each "
					       "other"},
		{"count=3", "need 'count=3': it says how many, but not of what"},
		{"count=0,memory=1GiB", "need 'count=0,memory=1GiB': a number at character 7 is "
					"not within 1-999999"},
		{"cpu=3", "need 'cpu=3': unknown word 'cpu' at character 1, known are memory, "
			  "compute, profile, count"},
		{"Memory=1GiB", "need 'Memory=1GiB': unknown word 'Memory' at character 1, known "
				"are memory, compute, profile, count"},
		{"memory=1GiB, compute=1%", "need 'memory=1GiB, compute=1%': unknown word ' "
					    "compute' at character 13, known are memory, compute, "
					    "profile, count"},
		{"\x1b[1m=3", "need '\\x1b[1m=3': unknown word '\\x1b[1m' at character 1, known "
			      "are memory, compute, profile, count"},
};

static void every_wrong_text_is_refused_at_its_character(void **state)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(refused); i++) {
		struct bh_need need = {.count = 77};
		struct bh_error err = {0};

		assert_int_equal(bh_need_parse(refused[i].text, &need, &err), -1);
		assert_string_equal(err.message, refused[i].message);
		assert_int_equal(err.code, BH_E_USAGE);
		assert_int_equal(need.count, 77);
		assert_int_equal(bh_need_parse(refused[i].text, &need, NULL), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(true_capacities_decide_and_not_names),
			cmocka_unit_test(each_profiles_own_capacity_comes_to_it_or_a_smaller_one),
			cmocka_unit_test(random_needs_come_to_what_looking_at_all_gives),
			cmocka_unit_test(what_is_unknown_satisfies_nothing),
			cmocka_unit_test(a_refusal_says_what_is_missing_and_which_boards_have_it),
			cmocka_unit_test(the_boards_that_would_do_are_those_that_have_a_profile),
			cmocka_unit_test(parts_land_in_their_fields),
			cmocka_unit_test(every_wrong_text_is_refused_at_its_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
