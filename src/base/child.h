/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child with a deadline. What may hang, crash or hold a device open runs in a child process; this
 * is the parent's side of it, on an sd-event loop: spawn, one call at a time, and exactly one of
 * three outcomes for each call. DONE and FAILED are the child's own word. UNKNOWN is all else: it
 * missed the deadline, died, hung up or broke the protocol while it may have acted. An unknown
 * outcome always ends the child, and is told only once the child is reaped or given up as stuck, so
 * that whoever looks next does not race with it.
 *
 * The child is spawned with a SOCK_SEQPACKET end as descriptor 3, a descriptor of the caller's
 * choice as 4 (or none), a log pipe as 1 and 2, /dev/null as 0, and nothing else; with default
 * signals and in a process group of its own, so that a terminal's Ctrl-C reaches the parent alone.
 * Its first packet is {"hello": ROLE, ...}, or {"id": 0, "error": {...}} if it cannot serve.
 *
 * Callbacks run from the loop, never from within a call into this object. They may call anything
 * here, bh_child_free() included.
 *
 * The child dies with the *thread* that spawned it (PR_SET_PDEATHSIG): spawn from one that lives.
 */
#ifndef BH_BASE_CHILD_H
#define BH_BASE_CHILD_H

#include <systemd/sd-event.h>

#include "base/json.h"

struct bh_child; /* opaque */

enum bh_child_outcome {
	BH_CHILD_DONE,
	BH_CHILD_FAILED,
	BH_CHILD_UNKNOWN,
};

/* What came of one call. */
struct bh_child_reply {
	enum bh_child_outcome outcome;
	const json_t *ok;     /* DONE: the member "ok"; borrowed */
	const json_t *packet; /* DONE, FAILED: the whole reply, or NULL if nothing was sent */
	bool sent;	      /* false: the request never left, so surely nothing was done */
	bool stuck;	      /* UNKNOWN: the child is still there and may still act */
	struct bh_error err;  /* FAILED: the child's own; UNKNOWN: DEADLINE, or INTERNAL with why */
};

typedef void (*bh_child_reply_fn)(
		struct bh_child *child, const struct bh_child_reply *reply, void *userdata);

/* All optional; @userdata is the config's. */
struct bh_child_events {
	/* The hello came; borrowed. */
	void (*ready)(struct bh_child *child, const json_t *hello, void *userdata);
	/* A call's progress; borrowed. Extends no deadline. */
	void (*progress)(struct bh_child *child, const json_t *progress, void *userdata);
	/* One line of the log pipe, without its newline. */
	void (*log_line)(struct bh_child *child, const char *line, void *userdata);
	/* Not reaped in time after SIGKILL. `ended` still follows if it ever ends. */
	void (*stuck)(struct bh_child *child, void *userdata);
	/* Reaped; @why says how it ended. The last callback. */
	void (*ended)(struct bh_child *child, const struct bh_error *why, void *userdata);
};

struct bh_child_config {
	const char *path;	    /* the program */
	char *const *argv;	    /* NULL-terminated, argv[0] included */
	const char *role;	    /* what the hello must say */
	int fd4;		    /* borrowed; becomes descriptor 4; -1 for none */
	uint32_t start_deadline_ms; /* for the hello; 0 = 10 s */
	uint32_t reap_deadline_ms;  /* after SIGKILL, before it counts as stuck; 0 = 5 s */
	struct bh_child_events events;
	void *userdata;
};

/**
 * bh_child_spawn() - start a child; does not wait for its hello
 * @event:     the loop; a reference is kept
 * @config:    borrowed for the call
 * @ret_child: owned by the caller, freed with bh_child_free()
 * @err:       INTERNAL or DENIED when it cannot be started
 *
 * A child that misses its start deadline or says something else first is killed.
 */
int bh_child_spawn(sd_event *event, const struct bh_child_config *config,
		struct bh_child **ret_child, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_child_free() - let go of a child, killing it if it lives; NULL is fine
 * @child: owned
 *
 * No callback is called any more, also not for a call in flight. Waits up to 100 ms for the child
 * to end; one that does not is reaped by the loop later, for as long as the loop lives.
 */
void bh_child_free(struct bh_child *child);

static inline void bh_child_freep(struct bh_child **p)
{
	bh_child_free(*p);
}
#define bh_auto_child BH_CLEANUP(bh_child_freep)

/**
 * bh_child_call() - ask for one thing
 * @child:       borrowed
 * @request:     borrowed; an object with "op" and so on; "id" and "deadline_ms" are set on a copy
 * @deadline_ms: from now on; when it passes, the child is killed and the outcome is UNKNOWN
 * @callback:    called once, from the loop
 * @userdata:    for @callback
 * @err:         why nothing was asked
 *
 * May be called before the hello: then the request waits for it, and if the child does not start,
 * the outcome is FAILED with `sent` false. Otherwise the request is sent at once.
 * Return: 0, and @callback will be called; negative, and it will not, and nothing was sent:
 *         IN_USE when another call is in flight, NO_DRIVER never, INTERNAL when the child has
 *         ended or is ending.
 */
int bh_child_call(struct bh_child *child, const json_t *request, uint32_t deadline_ms,
		bh_child_reply_fn callback, void *userdata, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_child_kill() - send SIGKILL: the one way to cancel
 * @child: borrowed
 * @why:   for the error of a call in flight; borrowed for the call
 *
 * A call in flight becomes UNKNOWN when the child is reaped or stuck. Does nothing to a child that
 * has ended or is being killed.
 */
void bh_child_kill(struct bh_child *child, const char *why);

/**
 * bh_child_abandon() - bh_child_kill(), and the callback of a call in flight is not called
 * @child: borrowed
 * @why:   borrowed for the call
 */
void bh_child_abandon(struct bh_child *child, const char *why);

/**
 * bh_child_is_stuck() - was it sent SIGKILL long ago and is still not reaped
 * @child: borrowed
 */
bool bh_child_is_stuck(const struct bh_child *child);

/**
 * bh_child_has_ended() - was it reaped
 * @child: borrowed
 */
bool bh_child_has_ended(const struct bh_child *child);

/**
 * bh_child_is_usable() - would a call be taken now: alive, not being killed, none in flight
 * @child: borrowed
 */
bool bh_child_is_usable(const struct bh_child *child);

/**
 * bh_child_pid() - its process id; not an identity once it has ended
 * @child: borrowed
 */
pid_t bh_child_pid(const struct bh_child *child);

/**
 * bh_child_hello() - its first packet
 * @child: borrowed
 *
 * Return: borrowed from @child; NULL before it came.
 */
const json_t *bh_child_hello(const struct bh_child *child);

/**
 * bh_child_cause() - why it ends or ended
 * @child: borrowed
 *
 * While it is not reaped yet the cause may still become more exact.
 * Return: borrowed from @child; NULL while all is well.
 */
const struct bh_error *bh_child_cause(const struct bh_child *child);

/**
 * bh_child_event() - the loop it was spawned on
 * @child: borrowed
 *
 * Return: borrowed from @child.
 */
sd_event *bh_child_event(const struct bh_child *child);

/**
 * bh_child_log_tail() - the last lines of its log pipe
 * @child:  borrowed
 * @buffer: receives the lines, oldest first, joined by "; "; the oldest are left out when space ends
 * @size:   of @buffer, at least 1
 */
void bh_child_log_tail(const struct bh_child *child, char *buffer, size_t size);

#endif
