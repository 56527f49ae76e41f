/* SPDX-License-Identifier: Apache-2.0 */
/* From every layout of a board to every mix: operations and time of a plan, beside clearing first. */
#ifndef BH_BENCH_TRANSITIONS_H
#define BH_BENCH_TRANSITIONS_H

#include <stdbool.h>
#include <stdio.h>

/**
 * bench_transitions() - measure, and print the section "transitions"
 * @out:   borrowed
 * @quick: one round instead of five
 *
 * Return: 0, or -1 after a line on standard error that says what is not as it must be.
 */
int bench_transitions(FILE *out, bool quick);

#endif
