/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

static uint64_t read_us(clockid_t clock)
{
	struct timespec now = {0};

	/* Cannot fail for these two clocks and a valid pointer. */
	(void) clock_gettime(clock, &now);
	return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

uint64_t bh_clock_monotonic_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t bh_clock_monotonic_ms(void)
{
	return read_us(CLOCK_MONOTONIC) / 1000;
}

uint64_t bh_clock_realtime_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}
