/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t bench_now_ns(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
}

void *bench_alloc(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory) {
		(void) fprintf(stderr, "no memory for %zu times %zu bytes\n", n, size);
		exit(1);
	}
	return memory;
}

/* splitmix64 */
static uint64_t draw(struct bench_dice *dice)
{
	uint64_t z = dice->state += 0x9E3779B97F4A7C15U;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
	z = (z ^ z >> 27) * 0x94D049BB133111EBU;
	return z ^ z >> 31;
}

uint32_t bench_roll(struct bench_dice *dice, uint32_t sides)
{
	return (uint32_t) (draw(dice) >> 16) % sides;
}

double bench_fraction(struct bench_dice *dice)
{
	return (double) ((draw(dice) >> 11) + 1) * 0x1p-53;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *) a, right = *(const double *) b;

	return left < right ? -1 : left > right;
}

static double median_of(const double *values, int n, double *ret_min, double *ret_max)
{
	double sorted[BENCH_RUNS_MAX];

	memcpy(sorted, values, (size_t) n * sizeof(*values));
	qsort(sorted, (size_t) n, sizeof(*sorted), by_value);
	if (ret_min)
		*ret_min = sorted[0];
	if (ret_max)
		*ret_max = sorted[n - 1];
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

void bench_measure(const struct bench *bench, struct bench_cell *cells, size_t n_cells)
{
	for (int run = 0; run < bench->runs; run++) {
		for (size_t i = 0; i < n_cells; i++) {
			struct bench_cell *cell = &cells[run % 2 ? n_cells - 1 - i : i];

			cell->ns[run] = cell->run(cell->arg);
		}
	}
	for (size_t i = 0; i < n_cells; i++)
		cells[i].median = median_of(cells[i].ns, bench->runs, &cells[i].min, &cells[i].max);
}

double bench_ratio(
		const struct bench *bench, const struct bench_cell *a, const struct bench_cell *b)
{
	double ratios[BENCH_RUNS_MAX];

	for (int run = 0; run < bench->runs; run++)
		ratios[run] = a->ns[run] / b->ns[run];
	return median_of(ratios, bench->runs, NULL, NULL);
}

void bench_print(const struct bench_cell *cell)
{
	char text[64];
	int digits = cell->median < 100 ? 1 : 0;

	(void) snprintf(text, sizeof(text), "%.*f (%.*f-%.*f)", digits, cell->median, digits,
			cell->min, digits, cell->max);
	(void) printf(" %26s", text);
}
