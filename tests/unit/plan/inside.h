/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle for what happens inside GPU instances: brute force over which idle compute instances
 * stay, where new ones start, and which wanted instance each one that stays serves.
 */
#ifndef BH_TEST_PLAN_INSIDE_H
#define BH_TEST_PLAN_INSIDE_H

#include "oracle.h"
#include "plan/want.h"

/* What a start costs that some boards refuse: more than all changes together. */
#define INSIDE_UNALIGNED 100

/**
 * inside_is_aligned() - a start that is legal on every board: a multiple of a power of two that is
 * not below the size
 */
bool inside_is_aligned(uint32_t start, uint32_t size);

/**
 * inside_has_room() - can these sizes stand disjoint within the free slices
 * @taken:   one flag for each slice; unchanged on return
 * @aligned: only at such starts
 */
bool inside_has_room(uint32_t total, bool *taken, const uint32_t *sizes, size_t n, bool aligned);

/**
 * inside_cost() - the least that makes of one GPU instance what is wanted
 *
 * Compute instances destroyed and created, and INSIDE_UNALIGNED where some new one must have an
 * unaligned start. Return: the cost, or -1 where what must stay forbids it.
 */
int inside_cost(const struct bh_gpu *gpu, const struct bh_gi *gi, const struct bh_wanted_gi *want);

/**
 * inside_assign() - the cheapest way for those that stay to serve different wanted instances
 * @stays: of the GPU's instances; foreign ones are left out
 *
 * Return: the sum of costs, or -1 if there is no way.
 */
int inside_assign(const struct bh_gpu *gpu, const struct bh_gpu_want *want, const bool *stays);

/**
 * inside_operations() - fewest GPU instances destroyed and created
 *
 * Return: the number, or -1 if there is no way from this GPU to what is wanted.
 */
int inside_operations(const struct oracle *oracle, const struct bh_gpu *gpu,
		const struct bh_gpu_want *want);

/**
 * inside_refusal() - the code that a refusal must bear
 *
 * DOES_NOT_FIT if the empty board could not hold it; IN_USE if it would do that no process were
 * there, or if both processes and strangers are in the way; FOREIGN if only strangers are.
 */
enum bh_code inside_refusal(const struct oracle *oracle, const struct bh_gpu *gpu,
		const struct bh_gpu_want *want);

#endif
