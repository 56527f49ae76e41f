/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process believes that reads another's JSON: observations, steps, wants and errors. What is
 * accepted is written again and read again, the same; and the planner bears any board that is
 * accepted.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/inventory_json.h"
#include "plan/plan.h"
#include "plan/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(json_t *first, json_t *second)
{
	if (!first || !second || !json_equal(first, second))
		abort();
	json_decref(first);
	json_decref(second);
}

static void check_error(const json_t *json)
{
	struct bh_error err, again;
	json_t *first;

	bh_error_from_json(json, &err);
	first = bh_error_to_json(&err);
	if (!first)
		abort();
	bh_error_from_json(first, &again);
	check_same(first, bh_error_to_json(&again));
}

static void check_step(const json_t *json, struct bh_gpu *gpu)
{
	char text[40];
	struct bh_step step, again, undo;
	struct bh_error err;
	json_t *first;

	if (bh_step_from_json(json, &step, &err) < 0)
		return;
	first = bh_step_to_json(&step);
	if (!first || bh_step_from_json(first, &again, &err) < 0)
		abort();
	check_same(first, bh_step_to_json(&again));
	bh_step_describe(&step, text, sizeof(text));
	(void) bh_step_undo(&step, &undo);
	if (gpu && !bh_step_want_holds(&step, gpu) && bh_step_was_holds(&step, gpu) &&
			bh_step_predict(&step, gpu, &err) == 0 && step.kind != BH_STEP_QUIESCE &&
			!bh_step_want_holds(&step, gpu))
		abort();
}

static void check_want(const struct bh_gpu *gpu, const struct bh_gpu_want *want)
{
	struct bh_gpu_plan plan = {0};
	struct bh_error err;
	char what[64];

	(void) bh_want_is_met(gpu, want, what, sizeof(what));
	if (bh_plan_gpu(gpu, want, &plan, &err) < 0) {
		if (!err.message[0])
			abort();
		return;
	}
	bh_gpu_plan_free(&plan);
}

static void check_plans(const struct bh_gpu *gpu, const json_t *wanted)
{
	struct bh_gpu_want want = {.in_scope = true};
	struct bh_want_row row = {.count = 1};
	struct bh_error err;

	check_want(gpu, &want);
	want.mig_on = true;
	check_want(gpu, &want);
	for (size_t i = 0; i < gpu->n_profiles && i < 3; i++) {
		memcpy(row.gi_name, gpu->profiles[i].name, sizeof(row.gi_name));
		row.ci_slices = i == 1;
		if (bh_want_fill(gpu, &row, 1, &want, &err) == 0)
			check_want(gpu, &want);
	}
	if (bh_want_from_json(wanted, gpu, &want, &err) == 0)
		check_want(gpu, &want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bh_gpu gpu, again;
	bh_auto_json json_t *json =
			json_loadb((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
	const json_t *board = json_object_get(json, "gpu"), *step = json_object_get(json, "step");
	bool profiles = json_object_get(board, "profiles") != NULL;
	struct bh_error err;
	json_t *first;

	if (!json)
		return 0;
	check_error(json_object_get(json, "error"));
	memset(&gpu, 0, sizeof(gpu));
	if (bh_gpu_from_json(board, &gpu, &err) < 0) {
		check_step(step, NULL);
		return 0;
	}
	first = bh_gpu_to_json(&gpu, profiles);
	memset(&again, 0, sizeof(again));
	if (!first || bh_gpu_from_json(first, &again, &err) < 0)
		abort();
	check_same(first, bh_gpu_to_json(&again, profiles));
	check_plans(&gpu, json_object_get(json, "want"));
	check_step(step, &gpu);
	return 0;
}
