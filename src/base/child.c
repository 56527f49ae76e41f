/* SPDX-License-Identifier: Apache-2.0 */
#include "base/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/log_tail.h"
#include "base/packet.h"
#include "base/reap.h"
#include "base/launch.h"

#define START_DEADLINE_MS   10000
#define REAP_DEADLINE_MS    5000
#define REAP_AGAIN_MS	    20
#define FREE_WAIT_MS	    100
#define DRAIN_PACKETS	    64
#define DRAIN_LOG_READS	    16
#define LOG_READ_BYTES	    4096
#define TIMER_ACCURACY_USEC 1000 /* sd-event's default is 250 ms */

enum child_state {
	CHILD_STARTING, /* no hello yet */
	CHILD_READY,
	CHILD_KILLED, /* SIGKILL sent, not reaped */
	CHILD_ENDED,  /* reaped */
};

struct child_call {
	bool active;
	bool sent;
	json_int_t id;
	json_t *request;
	bh_child_reply_fn callback;
	void *userdata;
};

struct bh_child {
	sd_event *event;
	struct bh_child_events on;
	void *userdata;
	char role[64];
	uint32_t reap_deadline_ms;

	enum child_state state;
	pid_t pid;
	int pidfd, socket, log;
	sd_event_source *pid_source, *socket_source, *log_source;
	sd_event_source *start_timer, *call_timer, *reap_timer, *again_timer;
	bool stuck;
	bool hung_up;	       /* it closed its socket; why is seen when it is reaped */
	bool has_cause;	       /* @cause is set */
	struct bh_error cause; /* why it ends or ended: the first thing that went wrong */
	json_t *hello;
	json_int_t last_id;
	struct child_call call;
	struct bh_log_tail tail;

	unsigned int entered; /* handlers on the stack */
	bool doomed;	      /* freed by a callback; goes when the last handler leaves */
};

/* ---- Taking handlers in and out ---- */

static void destroy(struct bh_child *child);

static void enter(struct bh_child *child)
{
	child->entered++;
}

/* The return value of sd-event handlers: nothing here ever stops the loop. */
static int leave(struct bh_child *child)
{
	child->entered--;
	if (child->doomed && child->entered == 0)
		destroy(child);
	return 0;
}

static void drop_source(sd_event_source **source)
{
	*source = sd_event_source_disable_unref(*source);
}

static int arm(struct bh_child *child, sd_event_source **timer, uint32_t after_ms,
		sd_event_time_handler_t handler, struct bh_error *err)
{
	int r;

	drop_source(timer);
	r = sd_event_add_time_relative(child->event, timer, CLOCK_MONOTONIC,
			(uint64_t) after_ms * 1000, TIMER_ACCURACY_USEC, handler, child);
	return r < 0 ? bh_fail_errno(err, -r, "arming a timer") : 0;
}

/* ---- Ending ---- */

/* Takes the call out, so that its callback may make the next one, and tells the outcome. */
static void finish_call(struct bh_child *child, struct bh_child_reply *reply)
{
	struct child_call call = child->call;

	memset(&child->call, 0, sizeof(child->call));
	drop_source(&child->call_timer);
	reply->sent = call.sent;
	if (!child->doomed)
		call.callback(child, reply, call.userdata);
	json_decref(call.request);
}

static void finish_call_without_answer(struct bh_child *child)
{
	struct bh_child_reply reply = {.outcome = BH_CHILD_UNKNOWN};

	if (!child->call.active)
		return;
	reply.err = child->cause;
	if (child->call.sent) {
		reply.stuck = child->stuck;
		if (child->cause.code != BH_E_DEADLINE)
			reply.err.code = BH_E_INTERNAL;
	} else {
		reply.outcome = BH_CHILD_FAILED;
	}
	finish_call(child, &reply);
}

static int on_reap_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bh_child *child = userdata;

	enter(child);
	drop_source(&child->reap_timer);
	child->stuck = true;
	finish_call_without_answer(child);
	if (!child->doomed && child->on.stuck)
		child->on.stuck(child, child->userdata);
	return leave(child);
}

/* Sends SIGKILL and waits for the end. The first cause stays. */
static void condemn(struct bh_child *child, const struct bh_error *cause)
{
	if (child->state == CHILD_KILLED || child->state == CHILD_ENDED)
		return;
	if (!child->has_cause) {
		child->cause = *cause;
		child->has_cause = true;
	}
	child->state = CHILD_KILLED;
	drop_source(&child->socket_source);
	drop_source(&child->start_timer);
	drop_source(&child->call_timer);
	(void) pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0); /* may have ended already */
	/* Without a timer it is still reaped when it ends; only "stuck" would never be said. */
	(void) arm(child, &child->reap_timer, child->reap_deadline_ms, on_reap_timer, NULL);
}

static void condemn_because(struct bh_child *child, enum bh_code code, const char *why)
{
	struct bh_error cause;

	(void) bh_fail(&cause, code, BH_SRC_SELF, 0, "the %s worker %s", child->role, why);
	condemn(child, &cause);
}

/* ---- Packets ---- */

static void take_hello(struct bh_child *child, json_t *packet)
{
	const char *role = json_string_value(json_object_get(packet, "hello"));
	const json_t *error = json_object_get(packet, "error");
	struct bh_error cause;

	if (json_is_object(error)) {
		bh_error_from_json(error, &cause);
		condemn(child, &cause);
		return;
	}
	if (!role || strcmp(role, child->role) != 0) {
		condemn_because(child, BH_E_INTERNAL, "did not say hello first");
		return;
	}
	child->state = CHILD_READY;
	child->hello = json_incref(packet);
	drop_source(&child->start_timer);
	if (child->on.ready)
		child->on.ready(child, child->hello, child->userdata);
	if (child->doomed || child->state != CHILD_READY)
		return;
	if (child->call.active && !child->call.sent) {
		if (bh_packet_send(child->socket, child->call.request, &cause) < 0)
			condemn(child, &cause);
		else
			child->call.sent = true;
	}
}

static void take_reply(struct bh_child *child, json_t *packet)
{
	const json_t *id = json_object_get(packet, "id");
	const json_t *ok = json_object_get(packet, "ok");
	const json_t *error = json_object_get(packet, "error");
	const json_t *progress = json_object_get(packet, "progress");
	struct bh_child_reply reply = {.packet = packet};

	if (!child->call.active || !child->call.sent) {
		condemn_because(child, BH_E_INTERNAL, "sent a packet that nobody asked for");
		return;
	}
	if (!json_is_integer(id) || json_integer_value(id) != child->call.id) {
		condemn_because(child, BH_E_INTERNAL, "answered with the wrong id");
		return;
	}
	if ((ok != NULL) + (error != NULL) + (progress != NULL) != 1 ||
			(error && !json_is_object(error))) {
		condemn_because(child, BH_E_INTERNAL, "sent a malformed reply");
		return;
	}
	if (progress) {
		if (child->on.progress)
			child->on.progress(child, progress, child->userdata);
		return;
	}
	if (ok) {
		reply.outcome = BH_CHILD_DONE;
		reply.ok = ok;
	} else {
		reply.outcome = BH_CHILD_FAILED;
		bh_error_from_json(error, &reply.err);
	}
	finish_call(child, &reply);
}

/* Takes one packet if there is one. Return: whether to go on reading. */
static bool take_packet(struct bh_child *child)
{
	bh_auto_json json_t *packet = NULL;
	struct bh_error err;
	int r;

	if (child->state != CHILD_STARTING && child->state != CHILD_READY)
		return false;
	r = bh_packet_receive(child->socket, &packet, &err);
	switch (r) {
	case 0:
		if (child->state == CHILD_STARTING)
			take_hello(child, packet);
		else
			take_reply(child, packet);
		return !child->doomed &&
		       (child->state == CHILD_STARTING || child->state == CHILD_READY);
	case BH_PACKET_NONE:
		return false;
	case BH_PACKET_END:
		child->hung_up = true;
		return false;
	default:
		(void) bh_while(&err, "the %s worker sent a malformed packet", child->role);
		condemn(child, &err);
		return false;
	}
}

/* What was sent in time counts, however late this loop gets to it; bounded, as it may flood us. */
static void drain_packets(struct bh_child *child)
{
	for (unsigned int i = 0; i < DRAIN_PACKETS; i++) {
		if (!take_packet(child))
			return;
	}
}

static int on_socket(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct bh_child *child = userdata;

	enter(child);
	(void) take_packet(child);
	if (child->hung_up && !child->doomed)
		condemn_because(child, BH_E_INTERNAL, "closed its socket");
	return leave(child);
}

/* ---- Log ---- */

static bool take_log(struct bh_child *child)
{
	char bytes[LOG_READ_BYTES];
	const char *line;
	ssize_t n = read(child->log, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		drop_source(&child->log_source);
		return false;
	}
	for (size_t at = 0; at < (size_t) n;) {
		at += bh_log_tail_feed(&child->tail, bytes + at, (size_t) n - at, &line);
		if (line && child->on.log_line && !child->doomed)
			child->on.log_line(child, line, child->userdata);
	}
	return true;
}

static int on_log(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct bh_child *child = userdata;

	enter(child);
	(void) take_log(child);
	return leave(child);
}

/* ---- Deadlines ---- */

static int on_start_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bh_child *child = userdata;

	enter(child);
	drop_source(&child->start_timer);
	drain_packets(child);
	if (!child->doomed && child->state == CHILD_STARTING)
		condemn_because(child, BH_E_DEADLINE, "did not start in time");
	return leave(child);
}

static int on_call_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bh_child *child = userdata;
	json_int_t id = child->call.id;

	enter(child);
	drop_source(&child->call_timer);
	drain_packets(child);
	if (!child->doomed && child->call.active && child->call.id == id)
		condemn_because(child, BH_E_DEADLINE, "did not answer in time");
	return leave(child);
}

/* ---- The end ---- */

static void describe_end(struct bh_child *child, const siginfo_t *info)
{
	char tail[256];

	bool by_us = info->si_code != CLD_EXITED && info->si_status == SIGKILL;

	if (child->has_cause && (by_us || !child->hung_up))
		return;
	bh_child_log_tail(child, tail, sizeof(tail));
	(void) bh_fail(&child->cause, BH_E_INTERNAL, BH_SRC_SELF, 0, "the %s worker %s %d%s%s",
			child->role,
			info->si_code == CLD_EXITED ? "exited with status" : "was killed by signal",
			info->si_status, tail[0] ? "; its last words: " : "", tail);
	child->has_cause = true;
}

static int on_pidfd(sd_event_source *source, int fd, uint32_t revents, void *userdata);

static int on_reap_again(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct bh_child *child = userdata;

	return on_pidfd(NULL, child->pidfd, 0, child);
}

static int on_pidfd(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct bh_child *child = userdata;
	siginfo_t info;

	enter(child);
	drain_packets(child);
	for (unsigned int i = 0; i < DRAIN_LOG_READS && !child->doomed && take_log(child); i++)
		;
	if (child->doomed)
		return leave(child);
	if (!bh_reap_now(child->pidfd, &info)) {
		condemn_because(child, BH_E_INTERNAL, "ended, but cannot be reaped");
		(void) arm(child, &child->again_timer, REAP_AGAIN_MS, on_reap_again, NULL);
		drop_source(&child->pid_source);
		return leave(child);
	}

	describe_end(child, &info);
	child->state = CHILD_ENDED;
	child->stuck = false;
	drop_source(&child->pid_source);
	drop_source(&child->socket_source);
	drop_source(&child->log_source);
	drop_source(&child->start_timer);
	drop_source(&child->call_timer);
	drop_source(&child->reap_timer);
	drop_source(&child->again_timer);
	finish_call_without_answer(child);
	if (!child->doomed && child->on.ended)
		child->on.ended(child, &child->cause, child->userdata);
	return leave(child);
}

/* ---- Life ---- */

static int watch(struct bh_child *child, uint32_t start_deadline_ms, struct bh_error *err)
{
	int r = sd_event_add_io(child->event, &child->socket_source, child->socket, EPOLLIN,
			on_socket, child);

	if (r >= 0)
		r = sd_event_add_io(child->event, &child->log_source, child->log, EPOLLIN, on_log,
				child);
	if (r >= 0)
		r = sd_event_add_io(child->event, &child->pid_source, child->pidfd, EPOLLIN,
				on_pidfd, child);
	if (r < 0)
		return bh_fail_errno(err, -r, "watching a child");
	return arm(child, &child->start_timer,
			start_deadline_ms ? start_deadline_ms : START_DEADLINE_MS, on_start_timer,
			err);
}

static int start(struct bh_child *child, const struct bh_child_config *config, struct bh_error *err)
{
	bh_auto_close int theirs = -1, log_write = -1;
	struct bh_launch launch = {.path = config->path, .argv = config->argv, .fd4 = config->fd4};
	int log_ends[2];

	if (bh_packet_pair(&child->socket, &theirs, err) < 0)
		return -1;
	if (pipe2(log_ends, O_CLOEXEC) < 0)
		return bh_fail_errno(err, errno, "making a log pipe");
	child->log = log_ends[0];
	log_write = log_ends[1];
	/* only our end: the child's writes wait for us rather than get lost */
	if (fcntl(child->log, F_SETFL, O_NONBLOCK) < 0)
		return bh_fail_errno(err, errno, "making a log pipe");

	launch.fd3 = theirs;
	launch.output = log_write;
	return bh_launch(&launch, &child->pid, &child->pidfd, err);
}

int bh_child_spawn(sd_event *event, const struct bh_child_config *config,
		struct bh_child **ret_child, struct bh_error *err)
{
	bh_auto_child struct bh_child *child = calloc(1, sizeof(*child));

	if (!child)
		return bh_fail_memory(err);
	child->event = sd_event_ref(event);
	child->on = config->events;
	child->userdata = config->userdata;
	child->reap_deadline_ms =
			config->reap_deadline_ms ? config->reap_deadline_ms : REAP_DEADLINE_MS;
	child->pidfd = child->socket = child->log = -1;
	child->state = CHILD_ENDED; /* until it is there */
	(void) snprintf(child->role, sizeof(child->role), "%s", config->role);

	if (start(child, config, err) < 0)
		return bh_while(err, "the %s worker", config->role);
	child->state = CHILD_STARTING;
	if (watch(child, config->start_deadline_ms, err) < 0)
		return bh_while(err, "the %s worker", config->role);
	*ret_child = BH_TAKE(child);
	return 0;
}

static void destroy(struct bh_child *child)
{
	siginfo_t info;

	drop_source(&child->pid_source);
	drop_source(&child->socket_source);
	drop_source(&child->log_source);
	drop_source(&child->start_timer);
	drop_source(&child->call_timer);
	drop_source(&child->reap_timer);
	drop_source(&child->again_timer);
	if (child->state != CHILD_ENDED) {
		struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};

		(void) pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0);
		if (!child->stuck)
			(void) poll(&ended, 1, FREE_WAIT_MS);
		if (!bh_reap_now(child->pidfd, &info))
			bh_reap_later(child->event, bh_take_fd(&child->pidfd));
	}
	bh_closep(&child->pidfd);
	bh_closep(&child->socket);
	bh_closep(&child->log);
	json_decref(child->call.request);
	json_decref(child->hello);
	(void) sd_event_unref(child->event);
	free(child);
}

void bh_child_free(struct bh_child *child)
{
	if (!child)
		return;
	child->doomed = true;
	if (child->entered == 0)
		destroy(child);
}

/* ---- Calls ---- */

int bh_child_call(struct bh_child *child, const json_t *request, uint32_t deadline_ms,
		bh_child_reply_fn callback, void *userdata, struct bh_error *err)
{
	bh_auto_json json_t *copy = NULL;
	json_int_t id = child->last_id + 1;

	assert(callback);
	if (child->state == CHILD_KILLED || child->state == CHILD_ENDED)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"the %s worker has ended: %.300s", child->role,
				child->cause.message);
	if (child->call.active)
		return bh_fail(err, BH_E_IN_USE, BH_SRC_SELF, 0,
				"the %s worker is busy with another call", child->role);

	copy = json_copy((json_t *) request); /* shallow: only two members change */
	if (!copy)
		return bh_fail_memory(err);
	if (bh_json_set(copy, "id", json_integer(id), err) < 0 ||
			bh_json_set(copy, "deadline_ms", json_integer(deadline_ms), err) < 0)
		return -1;
	if (arm(child, &child->call_timer, deadline_ms, on_call_timer, err) < 0)
		return -1;
	if (child->state == CHILD_READY && bh_packet_send(child->socket, copy, err) < 0) {
		drop_source(&child->call_timer);
		return bh_while(err, "asking the %s worker", child->role);
	}
	child->last_id = id;
	child->call = (struct child_call){
			.active = true,
			.sent = child->state == CHILD_READY,
			.id = id,
			.request = BH_TAKE(copy),
			.callback = callback,
			.userdata = userdata,
	};
	return 0;
}

void bh_child_kill(struct bh_child *child, const char *why)
{
	struct bh_error cause;

	(void) bh_fail(&cause, BH_E_INTERNAL, BH_SRC_SELF, 0, "the %s worker was stopped: %s",
			child->role, why);
	condemn(child, &cause);
}

bool bh_child_is_stuck(const struct bh_child *child)
{
	return child->stuck;
}

bool bh_child_has_ended(const struct bh_child *child)
{
	return child->state == CHILD_ENDED;
}

bool bh_child_is_usable(const struct bh_child *child)
{
	return (child->state == CHILD_STARTING || child->state == CHILD_READY) &&
	       !child->call.active;
}

pid_t bh_child_pid(const struct bh_child *child)
{
	return child->pid;
}

const json_t *bh_child_hello(const struct bh_child *child)
{
	return child->hello;
}

void bh_child_log_tail(const struct bh_child *child, char *buffer, size_t size)
{
	bh_log_tail_join(&child->tail, buffer, size);
}

static void on_nobody_waits(
		struct bh_child *child, const struct bh_child_reply *reply, void *userdata)
{
}

void bh_child_abandon(struct bh_child *child, const char *why)
{
	child->call.callback = on_nobody_waits;
	bh_child_kill(child, why);
}

const struct bh_error *bh_child_cause(const struct bh_child *child)
{
	return child->has_cause ? &child->cause : NULL;
}

sd_event *bh_child_event(const struct bh_child *child)
{
	return child->event;
}
