/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON form of steps and of kept wishes: lossless, and closed against anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "board.h"

static void assert_same_step(const struct bh_step *a, const struct bh_step *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_string_equal(a->gpu, b->gpu);
	assert_string_equal(a->pci, b->pci);
	assert_int_equal(a->on, b->on);
	assert_string_equal(a->profile, b->profile);
	assert_int_equal(a->profile_id, b->profile_id);
	assert_int_equal(a->at.start, b->at.start);
	assert_int_equal(a->at.size, b->at.size);
	assert_int_equal(a->ci.start, b->ci.start);
	assert_int_equal(a->ci.size, b->ci.size);
	assert_string_equal(a->uuid, b->uuid);
	assert_string_equal(a->disturbs, b->disturbs);
	assert_string_equal(a->reason, b->reason);
}

static const char *text_of(const json_t *value, const char *key)
{
	const char *text = json_string_value(json_object_get(value, key));

	return text ? text : "(none)";
}

/* Through text, as the journal and a worker's packet see it. */
static void check_step(const struct bh_step *step)
{
	const struct bh_step_kind_info *info = bh_step_kind_info(step->kind);
	bh_auto_json json_t *value = bh_step_to_json(step);
	bh_auto_json json_t *read = NULL;
	struct bh_step back;
	struct bh_error err = {0};
	char *text;

	assert_non_null(value);
	assert_int_equal(bh_json_text(value, &text, &err), 0);
	read = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	assert_non_null(read);
	if (bh_step_from_json(read, &back, &err) < 0)
		fail_msg("%s", err.message);
	assert_same_step(step, &back);
	assert_string_equal(text_of(value, "op"), info->name);
	assert_true(json_is_object(json_object_get(value, "was")));
	assert_true(json_is_object(json_object_get(value, "want")));
	assert_true(json_is_object(json_object_get(value, "undo")));
	assert_int_equal(json_integer_value(json_object_get(value, "deadline_ms")),
			info->deadline_ms);
	if (step->kind == BH_STEP_QUIESCE) {
		assert_int_equal(json_object_size(json_object_get(value, "was")), 0);
		assert_true(json_is_null(json_object_get(json_object_get(value, "undo"), "op")));
	} else {
		assert_int_equal(json_object_size(json_object_get(value, "was")), 1);
		assert_int_equal(json_object_size(json_object_get(value, "want")), 1);
		assert_false(json_equal(
				json_object_get(value, "was"), json_object_get(value, "want")));
		assert_string_equal(text_of(json_object_get(value, "undo"), "op"),
				bh_step_kind_info(info->undo)->name);
	}
}

static void every_step_of_a_plan_comes_back_from_its_json(void **state)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 1, 2}, {"2g.20gb", 0, 1}};
	bool seen[BH_STEP_KIND_COUNT] = {false};
	struct bh_gpu_want want, off = {.in_scope = true, .source = "wanted by \"a\\b\" é:1"};
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	(void) board_add(&gpu, "7g.80gb", 0);
	board_want(&gpu, rows, 2, &want);
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(bh_plan_gpu(&gpu, pass ? &off : &want, &plan, NULL), 0);
		for (size_t i = 0; i < plan.n_steps; i++) {
			struct bh_step undo;

			check_step(&plan.steps[i]);
			seen[plan.steps[i].kind] = true;
			if (bh_step_undo(&plan.steps[i], &undo))
				check_step(&undo);
		}
		bh_gpu_plan_free(&plan);
	}
	for (size_t k = 0; k < BH_STEP_KIND_COUNT; k++)
		assert_true(seen[k]);
}

static void random_steps_come_back_from_their_json(void **state)
{
	struct dice dice;

	dice_init(&dice, 31, "steps");
	for (int i = 0; i < 2000; i++) {
		struct bh_step step = {.kind = dice_roll(&dice, BH_STEP_KIND_COUNT)};
		bool ci = step.kind == BH_STEP_CREATE_CI || step.kind == BH_STEP_DESTROY_CI;

		(void) snprintf(step.gpu, sizeof(step.gpu), "GPU-%u", dice_roll(&dice, 1000));
		memset(step.pci, 'p', dice_roll(&dice, sizeof(step.pci)));
		memset(step.reason, 'r', dice_roll(&dice, sizeof(step.reason)));
		memset(step.disturbs, 'd', dice_roll(&dice, sizeof(step.disturbs)));
		memset(step.uuid, 'u', dice_roll(&dice, sizeof(step.uuid)));
		if (step.kind == BH_STEP_SET_MIG)
			step.on = dice_roll(&dice, 2);
		if (step.kind != BH_STEP_SET_MIG && step.kind != BH_STEP_QUIESCE) {
			memset(step.profile, 'g', dice_roll(&dice, sizeof(step.profile)));
			step.profile_id = dice_roll(&dice, 3) ? dice_roll(&dice, 100) : BH_UNKNOWN;
			step.at.size = 1 + dice_roll(&dice, BH_UNITS_MAX);
			step.at.start = dice_roll(&dice, BH_UNITS_MAX - step.at.size + 1);
		}
		if (ci) {
			step.ci.size = 1 + dice_roll(&dice, BH_UNITS_MAX);
			step.ci.start = dice_roll(&dice, BH_UNITS_MAX - step.ci.size + 1);
		}
		check_step(&step);
	}
}

/* A spec may lie in a folder with any name, and its line is cut to the reason's size. */
static void a_reason_that_is_no_utf8_still_has_a_json_form(void **state)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 0, 1}};
	struct bh_gpu_want want;
	struct bh_gpu_plan plan;
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	board_want(&gpu, rows, 1, &want);
	for (size_t shift = 0; shift < 2; shift++) { /* one of them ends in half a character */
		memset(want.source, 0, sizeof(want.source));
		want.source[0] = 'x';
		for (size_t i = shift; i + 2 <= sizeof(want.source) - 1; i += 2)
			memcpy(want.source + i, "\xC3\xA9", 2);
		want.source[sizeof(want.source) - 2] = shift ? '\xC3' : '\xFF';
		assert_int_equal(bh_plan_gpu(&gpu, &want, &plan, NULL), 0);
		for (size_t i = 0; i < plan.n_steps; i++)
			check_step(&plan.steps[i]);
		bh_gpu_plan_free(&plan);
		json_t *kept = bh_want_to_json(&gpu, &want);

		assert_non_null(kept);
		json_decref(kept);
	}
}

#define GOOD_HEAD "'gpu':'GPU-1','pci':'0:1'"
#define GOOD_GI	  "'profile':'3g.40gb','profile_id':9,'start':4,'size':4"

/* With ' for ". */
static json_t *load(const char *text)
{
	char buffer[1024];
	json_t *value;

	(void) snprintf(buffer, sizeof(buffer), "%s", text);
	for (char *c = buffer; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	value = json_loads(buffer, JSON_DECODE_ANY, NULL);
	if (!value)
		fail_msg("not JSON: %s", text);
	return value;
}

static void malformed_steps_are_refused(void **state)
{
	static const char *const bad[] = {
			"null",
			"7",
			"[]",
			"'create-gi'",
			"{}",
			"{'op':null," GOOD_HEAD "}",
			"{'op':3," GOOD_HEAD "}",
			"{'op':'QUIESCE'," GOOD_HEAD "}",
			"{'op':'reset'," GOOD_HEAD "}",
			"{'op':''," GOOD_HEAD "}",
			"{'op':'quiesce'}",
			"{'op':'quiesce','gpu':'GPU-1'}",
			"{'op':'quiesce','pci':'0:1'}",
			"{'op':'quiesce','gpu':1,'pci':'0:1'}",
			"{'op':'quiesce','gpu':'GPU-1','pci':'01234567890123456789012345678901'}",
			"{'op':'set-mig'," GOOD_HEAD "}",
			"{'op':'set-mig'," GOOD_HEAD ",'on':null}",
			"{'op':'set-mig'," GOOD_HEAD ",'on':1}",
			"{'op':'set-mig'," GOOD_HEAD ",'on':'true'}",
			"{'op':'create-gi'," GOOD_HEAD "}",
			"{'op':'create-gi'," GOOD_HEAD ",'profile':'3g.40gb','profile_id':9}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'start':4}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD ",'profile_id':9,'start':4,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD ",'profile':'3g.40gb','start':4,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9.0,'start':4,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':-1,'start':4,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':4294967296,'start':4,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':'9','start':4,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':null,'profile_id':9,'start':4,'size':4}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'start':4,'size':0}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'start':64,'size':1}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'start':4294967295,'size':1}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'start':1,'size':64}",
			"{'op':'create-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'start':4294967295,'size':4294967295}",
			"{'op':'destroy-gi'," GOOD_HEAD
			",'profile':'3g.40gb','profile_id':9,'start':-4,'size':4}",
			"{'op':'create-ci'," GOOD_HEAD "," GOOD_GI "}",
			"{'op':'create-ci'," GOOD_HEAD "," GOOD_GI ",'slices':1}",
			"{'op':'create-ci'," GOOD_HEAD "," GOOD_GI ",'ci_start':0}",
			"{'op':'create-ci'," GOOD_HEAD "," GOOD_GI ",'ci_start':0,'slices':0}",
			"{'op':'create-ci'," GOOD_HEAD "," GOOD_GI ",'ci_start':64,'slices':1}",
			"{'op':'destroy-ci'," GOOD_HEAD ",'ci_start':0,'slices':1}",
			"{'op':'destroy-ci'," GOOD_HEAD "," GOOD_GI
			",'ci_start':0,'slices':1,'uuid':7}",
			"{'op':'quiesce'," GOOD_HEAD ",'reason':{}}",
			"{'op':'quiesce'," GOOD_HEAD ",'disturbs':[]}",
			"{'op':'quiesce'," GOOD_HEAD ",'uuid':'"
			"uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"
			"uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu'}",
	};
	static const char *const good[] = {
			"{'op':'quiesce'," GOOD_HEAD "}",
			"{'op':'set-mig'," GOOD_HEAD ",'on':false}",
			"{'op':'create-gi'," GOOD_HEAD "," GOOD_GI "}",
			"{'op':'destroy-ci'," GOOD_HEAD "," GOOD_GI
			",'ci_start':0,'slices':1,'uuid':null}",
	};
	const struct bh_step untouched = {.kind = BH_STEP_CREATE_CI, .gpu = "as it was"};

	for (size_t i = 0; i < BH_ARRAY_SIZE(bad); i++) {
		bh_auto_json json_t *value = load(bad[i]);
		struct bh_step step = untouched;
		struct bh_error err = {0};

		if (bh_step_from_json(value, &step, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err.code, BH_E_INTERNAL);
		assert_memory_equal(&step, &untouched, sizeof(step));
	}
	for (size_t i = 0; i < BH_ARRAY_SIZE(good); i++) {
		bh_auto_json json_t *value = load(good[i]);
		struct bh_step step;
		struct bh_error err = {0};

		if (bh_step_from_json(value, &step, &err) < 0)
			fail_msg("%s: %s", good[i], err.message);
	}
	assert_int_equal(bh_step_from_json(NULL, &(struct bh_step){0}, NULL), -1);
}

static void a_kept_wish_comes_back_as_it_was(void **state)
{
	static const struct bh_want_row rows[] = {
			{"3g.40gb", 1, 2}, {"3g.40gb", 0, 1}, {"1g.10gb+me", 0, 1}};
	struct bh_gpu_want want, back;
	struct bh_error err = {0};
	struct bh_gpu gpu;
	json_t *value;

	board_init(&gpu, "h100-sxm5-80gb");
	for (size_t n = 0; n <= 2; n++) {
		board_want(&gpu, rows, n, &want);
		value = bh_want_to_json(&gpu, &want);
		assert_non_null(value);
		if (bh_want_from_json(value, &gpu, &back, &err) < 0)
			fail_msg("%s", err.message);
		assert_memory_equal(&want, &back, sizeof(want));
		json_decref(value);
	}
}

/* A wish that is read wrongly plans the destruction of what it should keep. */
static void malformed_kept_wishes_are_refused(void **state)
{
#define KEPT(instances) "{'uuid':'GPU-1','mig':true,'source':'x:1','instances':" instances "}"
	static const char *const bad[] = {
			"null",
			"[]",
			"{}",
			"{'uuid':'GPU-1','mig':true,'source':'x:1'}",
			"{'uuid':'GPU-1','mig':1,'source':'x:1','instances':[]}",
			"{'uuid':'GPU-1','mig':true,'source':1,'instances':[]}",
			KEPT("{}"),
			KEPT("null"),
			KEPT("[7]"),
			KEPT("[{}]"),
			KEPT("[{'profile':'3g.40gb'}]"),
			KEPT("[{'profile':'3g.40gb','slices':3}]"),
			KEPT("[{'profile':'3g.40gb','slices':null}]"),
			KEPT("[{'profile':'3g.40gb','slices':[]}]"),
			KEPT("[{'profile':'3g.40gb','slices':['3']}]"),
			KEPT("[{'profile':'3g.40gb','slices':[0]}]"),
			KEPT("[{'profile':'3g.40gb','slices':[-1]}]"),
			KEPT("[{'profile':'3g.40gb','slices':[4]}]"),
			KEPT("[{'profile':'3g.40gb','slices':[4294967299]}]"),
			KEPT("[{'profile':'3g.40gb','slices':[2,2]}]"),
			KEPT("[{'profile':'3g.40gb','slices':[1,2]}]"),
			KEPT("[{'profile':'3g.40gb','slices':[1,1,1,1,1,1,1,1,1]}]"),
			KEPT("[{'profile':3,'slices':[3]}]"),
	};
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	for (size_t i = 0; i < BH_ARRAY_SIZE(bad); i++) {
		bh_auto_json json_t *value = load(bad[i]);
		struct bh_gpu_want want;
		struct bh_error err = {0};

		if (bh_want_from_json(value, &gpu, &want, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err.code, BH_E_INTERNAL);
	}
}

static void a_kept_wish_for_another_board_is_refused_by_name(void **state)
{
	bh_auto_json json_t *value = load(KEPT("[{'profile':'3g.71gb','slices':[3]}]"));
	struct bh_gpu_want want;
	struct bh_error err = {0};
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	assert_int_equal(bh_want_from_json(value, &gpu, &want, &err), -1);
	assert_int_equal(err.code, BH_E_PROFILE_NOT_OFFERED);
	assert_string_equal(
			err.message, "reading a kept layout: the board no longer offers 3g.71gb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_step_of_a_plan_comes_back_from_its_json),
			cmocka_unit_test(random_steps_come_back_from_their_json),
			cmocka_unit_test(a_reason_that_is_no_utf8_still_has_a_json_form),
			cmocka_unit_test(malformed_steps_are_refused),
			cmocka_unit_test(a_kept_wish_comes_back_as_it_was),
			cmocka_unit_test(malformed_kept_wishes_are_refused),
			cmocka_unit_test(a_kept_wish_for_another_board_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
