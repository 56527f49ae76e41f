/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's own clock: the machine's time, or that time from some moment on scaled and stepped. What
 * carries a time on the node (events, processes) takes it from here, and delays run on it: at scale
 * 60 a delay of a minute takes a second, and a step of a minute ends it.
 */
#ifndef SIM_MODEL_CLOCK_H
#define SIM_MODEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

#define SIM_CLOCK_UNIT	    1000000U			  /* a scale of 1 */
#define SIM_CLOCK_SCALE_MAX (1000000ULL * SIM_CLOCK_UNIT) /* and at least 1, a millionth */

/* A part of the node's state. All zero: the machine's time. */
struct sim_clock {
	uint64_t scale;	      /* in millionths; 0 = 1 */
	int64_t base_ns;      /* what it showed ... */
	int64_t base_real_ns; /* ... when the machine's showed that */
	uint64_t stepped_ns;  /* all steps there ever were; delays end by it */
};

/* A delay on that clock, from its start on. */
struct sim_delay {
	int64_t left_ns; /* of the node's time */
	int64_t seen_ns; /* monotonic, of the machine */
	uint64_t stepped_ns;
};

/**
 * sim_clock_is_sound() - whether it can be computed with
 * @clock: of any content
 */
bool sim_clock_is_sound(const struct sim_clock *clock) BH_MUST_CHECK;

/**
 * sim_clock_now() - what the node's clock shows
 * @clock: sound
 *
 * Return: nanoseconds since 1970.
 */
int64_t sim_clock_now(const struct sim_clock *clock);

/** sim_clock_real() - from now on the machine's time; @clock in the state is touched by the caller */
void sim_clock_real(struct sim_clock *clock);

/**
 * sim_clock_scale() - from now on so many times as fast
 * @clock: touched by the caller
 * @scale: in millionths, 1 to SIM_CLOCK_SCALE_MAX
 */
void sim_clock_scale(struct sim_clock *clock, uint64_t scale);

/**
 * sim_clock_step() - forwards at once
 * @clock: touched by the caller
 * @ms:    of the node's time
 */
void sim_clock_step(struct sim_clock *clock, uint32_t ms);

/**
 * sim_delay_start() - a delay begins now
 * @delay: filled
 * @clock: as it is now
 * @ms:    of the node's time
 */
void sim_delay_start(struct sim_delay *delay, const struct sim_clock *clock, uint32_t ms);

/**
 * sim_delay_left() - how long still to sleep, as the clock runs now
 * @delay: brought up to now
 * @clock: as it is now
 *
 * Return: nanoseconds of the machine's time; 0 = over.
 */
int64_t sim_delay_left(struct sim_delay *delay, const struct sim_clock *clock);

#endif
