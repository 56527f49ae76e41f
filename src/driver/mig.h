/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes a board. Each operation reads, acts and reads back, and believes only what it reads:
 * a call that reports success without its effect is NOT_APPLIED. @after receives what was found
 * after the attempt, whether it went well or not; it is not known where the reading failed, and
 * then nothing may be concluded from the error alone.
 *
 * Every error has NVML's own number where NVML refused, the holders where something is in use, and
 * the GPU's UUID.
 */
#ifndef BH_DRIVER_MIG_H
#define BH_DRIVER_MIG_H

#include "driver/observe.h"

/* A compute instance by what it is and where it is. */
struct bh_ci_name {
	struct bh_gi_name gi;
	uint32_t slices; /* compute slices */
	uint32_t start;	 /* in the GPU instance, in compute slices */
};

/**
 * bh_mig_set_mode() - switch MIG on or off
 * @board:         borrowed; reopened, as the call may reset the GPU
 * @on:            wanted
 * @leave_pending: a switch that waits for a reset is what is wanted: done, not withdrawn. It does
 *                 not excuse one that is refused because the GPU is in use
 * @after:         filled
 * @err:           MIG_UNSUPPORTED; IN_USE or NEEDS_RESET when NVML accepts the switch but does not
 *                 activate it: then it is withdrawn, and the message says whether that was read
 *                 back; NOT_APPLIED; or what NVML said
 *
 * Does nothing but read where the mode is and stays as wanted.
 */
int bh_mig_set_mode(struct bh_board *board, bool on, bool leave_pending,
		struct bh_observation *after, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_mig_create_gi() - create one GPU instance at a placement
 * @board: borrowed
 * @gi:    what and where
 * @after: filled
 * @err:   NOT_SO (MIG is off), DOES_NOT_FIT (with what is in the way, if that can be seen), IN_USE,
 *         PROFILE_NOT_OFFERED, NOT_APPLIED, or what NVML said
 */
int bh_mig_create_gi(struct bh_board *board, const struct bh_gi_name *gi,
		struct bh_observation *after, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_mig_destroy_gi() - destroy one GPU instance
 * @board: borrowed
 * @gi:    which
 * @after: filled
 * @err:   NOT_SO (there is none), IN_USE (compute instances or processes are in it), NOT_APPLIED,
 *         or what NVML said
 */
int bh_mig_destroy_gi(struct bh_board *board, const struct bh_gi_name *gi,
		struct bh_observation *after, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_mig_create_ci() - create one compute instance at a placement within a GPU instance
 * @board: borrowed
 * @ci:    what and where
 * @after: filled
 * @err:   NOT_SO (no such GPU instance), PROFILE_NOT_OFFERED (nothing of so many slices),
 *         DOES_NOT_FIT (the driver places it elsewhere only, or there is no room), UNSUPPORTED
 *         (an old driver, and others are in the GPU instance already), NOT_APPLIED, or what NVML
 *         said
 *
 * The profile is found at run time: of those with so many slices the one with most SMs if they are
 * all the GPU instance has, else the lowest of the enum that is no variant (REV). Drivers that
 * cannot place are asked without a placement if the GPU instance is empty; what they put elsewhere
 * is taken away again.
 */
int bh_mig_create_ci(struct bh_board *board, const struct bh_ci_name *ci,
		struct bh_observation *after, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_mig_destroy_ci() - destroy one compute instance
 * @board: borrowed
 * @ci:    which
 * @after: filled
 * @err:   NOT_SO (there is none), IN_USE (processes are in it), NOT_APPLIED, or what NVML said
 */
int bh_mig_destroy_ci(struct bh_board *board, const struct bh_ci_name *ci,
		struct bh_observation *after, struct bh_error *err) BH_MUST_CHECK;

#endif
