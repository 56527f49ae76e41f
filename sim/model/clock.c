/* SPDX-License-Identifier: Apache-2.0 */
#include "model/clock.h"

#include <time.h>

#define BASE_MAX ((int64_t) 1 << 62)
#define LEFT_MAX ((int64_t) 1 << 60)

static int64_t read_ns(clockid_t id)
{
	struct timespec t;

	(void) clock_gettime(id, &t);
	return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t scale_of(const struct sim_clock *clock)
{
	return clock->scale ? clock->scale : SIM_CLOCK_UNIT;
}

bool sim_clock_is_sound(const struct sim_clock *clock)
{
	return clock->scale <= SIM_CLOCK_SCALE_MAX && clock->base_ns >= 0 &&
	       clock->base_ns <= BASE_MAX && clock->base_real_ns >= 0 &&
	       clock->base_real_ns <= BASE_MAX;
}

int64_t sim_clock_now(const struct sim_clock *clock)
{
	__int128 passed = (__int128) read_ns(CLOCK_REALTIME) - clock->base_real_ns;
	__int128 now = clock->base_ns + passed * scale_of(clock) / SIM_CLOCK_UNIT;

	return now > BASE_MAX ? BASE_MAX : now < 0 ? 0 : (int64_t) now;
}

void sim_clock_real(struct sim_clock *clock)
{
	*clock = (struct sim_clock){.stepped_ns = clock->stepped_ns};
}

void sim_clock_scale(struct sim_clock *clock, uint64_t scale)
{
	clock->base_ns = sim_clock_now(clock);
	clock->base_real_ns = read_ns(CLOCK_REALTIME);
	clock->scale = scale;
}

void sim_clock_step(struct sim_clock *clock, uint32_t ms)
{
	int64_t ns = (int64_t) ms * 1000000;

	sim_clock_scale(clock, scale_of(clock)); /* or base + step would be before the base */
	clock->base_ns = clock->base_ns > BASE_MAX - ns ? BASE_MAX : clock->base_ns + ns;
	clock->stepped_ns += (uint64_t) ns;
}

void sim_delay_start(struct sim_delay *delay, const struct sim_clock *clock, uint32_t ms)
{
	*delay = (struct sim_delay){.left_ns = (int64_t) ms * 1000000,
			.seen_ns = read_ns(CLOCK_MONOTONIC),
			.stepped_ns = clock->stepped_ns};
}

int64_t sim_delay_left(struct sim_delay *delay, const struct sim_clock *clock)
{
	int64_t now = read_ns(CLOCK_MONOTONIC);
	uint64_t stepped = clock->stepped_ns - delay->stepped_ns;
	__int128 passed = (__int128) (now - delay->seen_ns) * scale_of(clock) / SIM_CLOCK_UNIT +
			  stepped;
	__int128 left = delay->left_ns - passed, real;

	delay->left_ns = left > 0 ? (int64_t) left : 0;
	delay->seen_ns = now;
	delay->stepped_ns = clock->stepped_ns;
	/* rounded up: whoever sleeps it finds nothing left */
	real = ((__int128) delay->left_ns * SIM_CLOCK_UNIT + scale_of(clock) - 1) / scale_of(clock);
	return real > LEFT_MAX ? LEFT_MAX : (int64_t) real;
}
