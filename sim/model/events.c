/* SPDX-License-Identifier: Apache-2.0 */
#include "model/events.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "model/state.h"

_Static_assert(SIM_EVENT_GPUS_MAX == SIM_GPUS_MAX, "a set listens to every GPU");

const char *const sim_event_kinds[SIM_EVENT_KINDS] = {
		[SIM_EVENT_ECC_CORRECTED] = "ecc-corrected",
		[SIM_EVENT_ECC_UNCORRECTED] = "ecc-uncorrected",
		[SIM_EVENT_XID] = "xid",
		[SIM_EVENT_ECC_STORM] = "ecc-storm",
		[SIM_EVENT_RETIREMENT] = "retirement",
		[SIM_EVENT_RETIREMENT_FAILED] = "retirement-failed",
		[SIM_EVENT_POISON] = "poison",
		[SIM_EVENT_FATAL_POISON] = "fatal-poison",
		[SIM_EVENT_UNAVAILABLE] = "unavailable",
		[SIM_EVENT_RECOVERY] = "recovery-action",
};

uint32_t sim_event_supported(const struct sim_tx *tx, uint32_t gpu)
{
	unsigned long driver = strtoul(tx->state->driver.version, NULL, 10);
	uint32_t kinds = 1U << SIM_EVENT_XID;

	if (tx->state->gpus[gpu].health.ecc_current)
		kinds |= 1U << SIM_EVENT_ECC_CORRECTED | 1U << SIM_EVENT_ECC_UNCORRECTED;
	if (driver >= 560)
		kinds |= 1U << SIM_EVENT_ECC_STORM | 1U << SIM_EVENT_POISON |
			 1U << SIM_EVENT_FATAL_POISON;
	if (driver >= 560 && sim_health_can_remap(tx, gpu))
		kinds |= 1U << SIM_EVENT_RETIREMENT | 1U << SIM_EVENT_RETIREMENT_FAILED;
	if (driver >= 565)
		kinds |= 1U << SIM_EVENT_UNAVAILABLE | 1U << SIM_EVENT_RECOVERY;
	return kinds;
}

void sim_event_push(struct sim_tx *tx, const struct sim_event *event)
{
	struct sim_events *events = &tx->state->events;
	struct sim_event *slot = &events->ring[(events->last + 1) % SIM_EVENTS_MAX];

	if (!(sim_event_supported(tx, event->gpu) & 1U << event->kind))
		return;
	sim_tx_touch(tx, events, offsetof(struct sim_events, ring));
	sim_tx_touch(tx, slot, sizeof(*slot));
	*slot = *event;
	slot->number = ++events->last;
	slot->time_us = (uint64_t) sim_clock_now(&tx->state->node.clock) / 1000;
	events->serial = (uint32_t) events->last;
}

void sim_event_forget(struct sim_tx *tx)
{
	struct sim_events *events = &tx->state->events;

	sim_tx_touch(tx, events, offsetof(struct sim_events, ring));
	events->forgotten = events->last;
}

void sim_event_set_listen(
		const struct sim_tx *tx, struct sim_event_set *set, uint32_t gpu, uint32_t kinds)
{
	for (uint32_t k = 0; k < SIM_EVENT_KINDS; k++) {
		if (kinds & 1U << k && !set->after[gpu][k])
			set->after[gpu][k] = tx->state->events.last + 1;
	}
}

bool sim_event_set_next(
		const struct sim_tx *tx, struct sim_event_set *set, struct sim_event *ret_event)
{
	const struct sim_events *events = &tx->state->events;
	uint64_t from = set->seen;

	if (from < events->forgotten)
		from = events->forgotten;
	if (events->last > SIM_EVENTS_MAX && from < events->last - SIM_EVENTS_MAX)
		from = events->last - SIM_EVENTS_MAX;
	for (uint64_t n = from + 1; n <= events->last; n++) {
		const struct sim_event *e = &events->ring[n % SIM_EVENTS_MAX];
		uint64_t after;

		set->seen = n;
		if (e->gpu >= SIM_GPUS_MAX || e->kind >= SIM_EVENT_KINDS)
			continue; /* the file is no boundary */
		after = set->after[e->gpu][e->kind];
		if (after && n >= after) {
			*ret_event = *e;
			return true;
		}
	}
	return false;
}

/* Between processes: not a private futex. */
void sim_events_sleep(const struct sim_state *state, uint32_t serial, uint32_t ms)
{
	struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000};

	/* whatever ended it, the caller looks */
	(void) syscall(SYS_futex, &state->events.serial, FUTEX_WAIT, serial, &limit, NULL, 0);
}

void sim_events_wake(const struct sim_state *state)
{
	(void) syscall(SYS_futex, &state->events.serial, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

const char *sim_events_fault(const struct sim_state *state)
{
	const struct sim_events *events = &state->events;

	if (events->serial != (uint32_t) events->last)
		return "the serial number of the events is not that of the last";
	if (events->forgotten > events->last)
		return "events are forgotten that did not happen";
	for (uint32_t i = 0; i < SIM_EVENTS_MAX; i++) {
		const struct sim_event *e = &events->ring[i];
		/* the newest number that belongs here; 0 when none did yet */
		uint64_t newest = events->last < i ? 0
						   : events->last - (events->last - i) %
										     SIM_EVENTS_MAX;

		if (e->number != newest)
			return "the numbers of the events have a gap";
		if (e->number && (e->gpu >= state->n_gpus || e->kind >= SIM_EVENT_KINDS))
			return "an event is of no GPU or of no kind";
	}
	return NULL;
}
