/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of planning and of the JSON forms fails in turn. The linker sends the project's
 * calls here (--wrap), and jansson is given the same allocator. What is still held afterwards is
 * counted, so a leak shows without a sanitizer too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "board.h"

static size_t calls, fail_at, held; /* fail_at 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
	void *memory = ++calls == fail_at ? NULL : __real_malloc(size);

	held += memory != NULL;
	return memory;
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *memory = ++calls == fail_at ? NULL : __real_calloc(count, size);

	held += memory != NULL;
	return memory;
}

void __wrap_free(void *memory)
{
	held -= memory != NULL;
	__real_free(memory);
}

/* Return: 0; 1 for a failure that was told as lack of memory. */
typedef int (*operation)(const struct bh_gpu *gpu);

static struct bh_gpu_want want;

static int plan(const struct bh_gpu *gpu)
{
	struct bh_gpu_plan plan = {0};
	struct bh_error err = {0};

	if (bh_plan_gpu(gpu, &want, &plan, &err) < 0) {
		assert_int_equal(err.code, BH_E_NO_MEMORY);
		return 1;
	}
	bh_gpu_plan_free(&plan);
	return 0;
}

static int step_to_json(const struct bh_gpu *gpu)
{
	int failed = 0;

	for (int kind = 0; kind < BH_STEP_KIND_COUNT && !failed; kind++) {
		const struct bh_step step = {.kind = (enum bh_step_kind) kind,
				.gpu = "GPU-1",
				.pci = "0:1",
				.profile = "3g.40gb",
				.at = {4, 4},
				.ci = {0, 3},
				.uuid = "MIG-1",
				.reason = "wanted"};
		json_t *value = bh_step_to_json(&step);

		failed = value == NULL;
		json_decref(value);
	}
	return failed;
}

static int want_to_json(const struct bh_gpu *gpu)
{
	json_t *value = bh_want_to_json(gpu, &want);

	json_decref(value);
	return value == NULL;
}

static void fail_each(operation run, const struct bh_gpu *gpu, size_t at_least)
{
	size_t all, before = held;

	calls = fail_at = 0;
	assert_int_equal(run(gpu), 0);
	assert_int_equal(held, before);
	all = calls;
	assert_true(all >= at_least);
	for (size_t i = 1; i <= all; i++) {
		calls = 0;
		fail_at = i;
		assert_int_equal(run(gpu), 1);
		fail_at = 0;
		if (held != before)
			fail_msg("the failure of allocation %zu leaves %zd behind", i,
					(ssize_t) (held - before));
	}
}

static void every_failed_allocation_is_told_and_leaks_nothing(void **state)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 1, 3}, {"2g.20gb", 0, 1}};
	static struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	(void) board_add(&gpu, "7g.80gb", 0);
	board_want(&gpu, rows, 2, &want);
	fail_each(plan, &gpu, 1);
	fail_each(step_to_json, &gpu, 100);
	fail_each(want_to_json, &gpu, 10);
}

/* A refused plan frees what it had. */
static void a_refusal_leaks_nothing(void **state)
{
	static const struct bh_want_row rows[] = {{"3g.40gb", 0, 2}, {"1g.10gb", 0, 1}};
	static struct bh_gpu gpu;
	struct bh_gpu_plan refused;
	size_t before = held;

	board_init(&gpu, "h100-sxm5-80gb");
	board_want(&gpu, rows, 2, &want);
	assert_int_equal(bh_plan_gpu(&gpu, &want, &refused, NULL), -1);
	assert_int_equal(held, before);
	bh_gpu_plan_free(NULL);
	bh_gpu_plan_free(&(struct bh_gpu_plan){0});
	assert_int_equal(held, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_failed_allocation_is_told_and_leaks_nothing),
			cmocka_unit_test(a_refusal_leaks_nothing),
	};

	json_set_alloc_funcs(__wrap_malloc, __wrap_free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
