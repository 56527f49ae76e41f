/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for people: what comes (+), what goes (-), what stays (=), and the board before and after. */
#ifndef BH_CLI_DIFF_H
#define BH_CLI_DIFF_H

#include "plan/plan.h"

/**
 * diff_print() - one GPU's part of a plan
 * @plan: borrowed
 *
 * Compute instances that come or go with their GPU instance are told in its line.
 */
void diff_print(const struct bh_gpu_plan *plan);

#endif
