/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sections of the bench share. Figures are medians over runs that are paired: each run
 * measures everything that is to be compared, one after the other, every second run in the
 * opposite order.
 */
#ifndef BH_BENCH_BENCH_H
#define BH_BENCH_BENCH_H

#include "plan/geometry.h"

#define BENCH_RUNS_MAX	16
#define BENCH_CELLS_MAX 64

struct bench {
	bool quick; /* does everything, measures nothing of value: seconds in all */
	uint64_t seed;
	int runs;
	struct bh_geometry geo; /* of a seven-slice board */
};

struct bench_section {
	const char *name, *title;
	/* returns how many answers were wrong; goals that were missed are printed, not counted */
	int (*run)(const struct bench *bench);
};

/* One thing that is measured: nanoseconds for each of what it counts. */
struct bench_cell {
	double (*run)(void *arg);
	void *arg;
	double ns[BENCH_RUNS_MAX]; /* of each run */
	double median, min, max;
};

/**
 * bench_measure() - run all cells, bench->runs times, in alternate order
 */
void bench_measure(const struct bench *bench, struct bench_cell *cells, size_t n_cells);

/**
 * bench_ratio() - the median over runs of the ratio of two cells
 */
double bench_ratio(
		const struct bench *bench, const struct bench_cell *a, const struct bench_cell *b);

/**
 * bench_print() - "median (min-max)" in a column of 26
 */
void bench_print(const struct bench_cell *cell);

/**
 * bench_now_ns() - a clock that only goes on
 */
uint64_t bench_now_ns(void);

/* A small generator, so that a seed gives the same run on every machine. */
struct bench_dice {
	uint64_t state;
};

/**
 * bench_roll() - 0 to @sides - 1
 */
uint32_t bench_roll(struct bench_dice *dice, uint32_t sides);

/**
 * bench_fraction() - above 0, at most 1
 */
double bench_fraction(struct bench_dice *dice);

/**
 * bench_alloc() - zeroed memory; ends the program when there is none
 */
void *bench_alloc(size_t n, size_t size);

/* The sections, each in its own file. */
int bench_fleet_fits(const struct bench *bench);
int bench_online_cost(const struct bench *bench);
int bench_acceptance(const struct bench *bench);
int bench_transitions(const struct bench *bench);

#endif
