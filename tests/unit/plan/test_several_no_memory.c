/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of dividing totals among GPUs fails in turn: the answer is "no memory" or the one
 * that would have come, and nothing is held afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "board.h"
#include "plan/transition.h"

static size_t calls, fail_at, held; /* fail_at 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
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

void *__wrap_realloc(void *memory, size_t size)
{
	return ++calls == fail_at ? NULL : __real_realloc(memory, size);
}

void __wrap_free(void *memory)
{
	held -= memory != NULL;
	__real_free(memory);
}

static void fail_each(const struct bh_transition_problem *problem, enum bh_code expected)
{
	struct bh_transition right = {0};
	struct bh_error why;
	size_t n;

	fail_at = 0;
	(void) !bh_transition_find(problem, &right, &why);
	for (n = 0;; n++) {
		struct bh_transition t = {0};
		struct bh_error err = {0};
		int r;

		calls = 0;
		held = 0;
		fail_at = n;
		r = bh_transition_find(problem, &t, &err);
		fail_at = 0;
		if (r == 0) {
			assert_int_equal(t.total, right.total);
			assert_memory_equal(t.wants, right.wants, t.n_gpus * sizeof(*t.wants));
			bh_transition_free(&t);
		}
		assert_int_equal(held, 0);
		if (n == 0)
			assert_int_equal(r == 0 ? BH_CODE_COUNT : err.code, expected);
		else if (r == 0 || err.code != BH_E_NO_MEMORY)
			assert_int_equal(r == 0 ? BH_CODE_COUNT : err.code, expected);
		if (n > 0 && calls < n)
			break;
	}
	assert_true(n > 5);
	bh_transition_free(&right);
}

static void each_allocation_fails_and_the_answer_is_still_true(void **state)
{
	static const struct bh_total fits[] = {
			{"3g.40gb", 2}, {"2g.20gb", 4}, {"1g.20gb", 3}, {"1g.10gb", 9}};
	static const struct bh_total large[] = {{"1g.10gb+me", 9}};
	static const struct bh_total whole[] = {{"7g.80gb", 5}, {"3g.40gb", 1}};
	struct bh_gpu gpus[6];
	struct bh_transition_problem problem = {.gpus = gpus, .n_gpus = 6};

	for (uint32_t i = 0; i < 6; i++) {
		board_init(&gpus[i], "h100-sxm5-80gb");
		gpus[i].uuid[4] = (char) ('0' + i);
		(void) board_add(&gpus[i], i % 2 ? "3g.40gb" : "1g.10gb", i % 2 ? 4 : i);
	}
	gpus[0].holders_known = false;
	problem.totals = fits;
	problem.n_totals = 4;
	fail_each(&problem, BH_CODE_COUNT);
	gpus[0].holders_known = true;
	for (uint32_t i = 0; i < 6; i += 2) { /* a search of some length */
		gpus[i].n_gis = 0;
		(void) board_add(&gpus[i], "1g.10gb", 1);
		board_make_busy(&gpus[i], &gpus[i].gis[0], 1, "a");
		(void) board_add(&gpus[i], "1g.20gb", 4);
	}
	fail_each(&problem, BH_CODE_COUNT);
	for (uint32_t i = 0; i < 6; i += 2) {
		gpus[i].n_gis = gpus[i].n_holders = 0;
		(void) board_add(&gpus[i], "1g.10gb", i);
	}
	gpus[0].holders_known = false;
	problem.totals = large;
	problem.n_totals = 1;
	fail_each(&problem, BH_E_DOES_NOT_FIT);
	gpus[0].holders_known = true;
	board_make_busy(&gpus[1], &gpus[1].gis[0], 1, "a");
	board_make_busy(&gpus[3], &gpus[3].gis[0], 2, "b");
	problem.totals = whole;
	problem.n_totals = 2;
	fail_each(&problem, BH_E_IN_USE);
	for (uint32_t i = 1; i < 4; i += 2) {
		gpus[i].gis[0].busy = gpus[i].gis[0].cis[0].busy = false;
		gpus[i].gis[0].foreign = true;
	}
	fail_each(&problem, BH_E_FOREIGN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(each_allocation_fails_and_the_answer_is_still_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
