/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two clocks: the monotonic one for deadlines and durations, the real one only to be shown and
 * recorded. Pure rooms read neither.
 */
#ifndef BH_BASE_CLOCK_H
#define BH_BASE_CLOCK_H

#include <stdint.h>

/**
 * bh_clock_monotonic_us() - microseconds since some point in the past; never goes back
 *
 * The clock of deadlines: CLOCK_MONOTONIC, the same that the event loop's timers use.
 */
uint64_t bh_clock_monotonic_us(void);

/**
 * bh_clock_monotonic_ms() - bh_clock_monotonic_us() in milliseconds, rounded down
 */
uint64_t bh_clock_monotonic_ms(void);

/**
 * bh_clock_realtime_ms() - milliseconds since 1970 UTC
 *
 * May jump; for records and for people only.
 */
uint64_t bh_clock_realtime_ms(void);

#endif
