/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened to the GPUs, as a driver tells those who registered for it: a ring of numbered
 * events, and sets that remember from which number on they listen, to which kinds, on which GPUs.
 * Sets belong to a process and live in its memory; the ring is the node's. A set that falls behind
 * by more than the ring holds loses the oldest (assumed: a real queue is finite too).
 *
 * Waiting never holds the lock: who found nothing sleeps on the ring's serial number, with a
 * time limit, and looks again.
 */
#ifndef SIM_MODEL_EVENTS_H
#define SIM_MODEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_EVENTS_MAX	   64 /* that the ring keeps */
#define SIM_EVENT_GPUS_MAX 16 /* SIM_GPUS_MAX, which is declared after this */
#define SIM_NO_INSTANCE	   0xFFFFFFFFU

struct sim_state;
struct sim_tx;

enum sim_event_kind {
	SIM_EVENT_ECC_CORRECTED,
	SIM_EVENT_ECC_UNCORRECTED,
	SIM_EVENT_XID,
	SIM_EVENT_ECC_STORM,
	SIM_EVENT_RETIREMENT, /* of memory: a row waits to be remapped */
	SIM_EVENT_RETIREMENT_FAILED,
	SIM_EVENT_POISON, /* contained */
	SIM_EVENT_FATAL_POISON,
	SIM_EVENT_UNAVAILABLE,
	SIM_EVENT_RECOVERY, /* the recovery action is another one */
	SIM_EVENT_KINDS,
};

struct sim_event {
	uint64_t number;  /* 0 = this slot was never used; else it is in slot number % MAX */
	uint64_t time_us; /* since 1970 */
	uint32_t gpu;
	uint32_t kind;
	uint32_t data;	 /* the Xid; else 0 */
	uint32_t gi, ci; /* ids, or SIM_NO_INSTANCE: not attributable */
	uint32_t reserved;
};

struct sim_events {
	uint32_t serial; /* low half of `last`; what waiters sleep on */
	uint32_t reserved;
	uint64_t last;	    /* number of the latest event */
	uint64_t forgotten; /* events up to this one went with a former life of the node */
	struct sim_event ring[SIM_EVENTS_MAX];
};

/* What one set listens to. All zero: nothing. */
struct sim_event_set {
	uint64_t seen;					     /* up to here it was looked at */
	uint64_t after[SIM_EVENT_GPUS_MAX][SIM_EVENT_KINDS]; /* number before the first, plus 1 */
};

/** sim_event_kinds - a word for each kind */
extern const char *const sim_event_kinds[SIM_EVENT_KINDS];

/**
 * sim_event_supported() - the kinds that this GPU and this driver can tell
 * @tx:  begun
 * @gpu: index
 *
 * Source: header (ECC kinds need ECC), and the vendor's NVML change log: storm, retirement and
 * poison since 560, unavailable and recovery action since 565.
 * Return: bit n = kind n.
 */
uint32_t sim_event_supported(const struct sim_tx *tx, uint32_t gpu);

/**
 * sim_event_push() - it happened
 * @tx:    begun
 * @event: number and time (of the node's clock) are set here; a kind that is not supported is not told
 */
void sim_event_push(struct sim_tx *tx, const struct sim_event *event);

/**
 * sim_event_forget() - the node starts anew: no event of before reaches anybody
 * @tx: begun
 */
void sim_event_forget(struct sim_tx *tx);

/**
 * sim_event_set_listen() - hear what happens from now on
 * @tx:    begun
 * @set:   of this process
 * @gpu:   index
 * @kinds: bits; those that it listens to already stay as they are
 */
void sim_event_set_listen(
		const struct sim_tx *tx, struct sim_event_set *set, uint32_t gpu, uint32_t kinds);

/**
 * sim_event_set_next() - the oldest event that this set did not give out yet
 * @tx:        begun
 * @set:       of this process; moves on
 * @ret_event: written when there is one
 */
bool sim_event_set_next(
		const struct sim_tx *tx, struct sim_event_set *set, struct sim_event *ret_event);

/**
 * sim_events_sleep() - until the serial number is another one, or some time has passed
 * @state:  mapped, not locked; one that was unmapped meanwhile does no harm
 * @serial: that was seen under the lock
 * @ms:     at most
 */
void sim_events_sleep(const struct sim_state *state, uint32_t serial, uint32_t ms);

/**
 * sim_events_wake() - let all sleepers look; after the change was committed
 * @state: mapped
 */
void sim_events_wake(const struct sim_state *state);

/**
 * sim_events_fault() - is something wrong with the ring
 * @state: borrowed
 *
 * Return: what, in words; NULL when it is sound.
 */
const char *sim_events_fault(const struct sim_state *state);

#endif
