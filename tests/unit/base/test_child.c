/* SPDX-License-Identifier: Apache-2.0 */
/* base/child: every way in which a child can answer, and every way in which it can fail to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/child_wait.h"
#include "base/clock.h"
#include "base/packet.h"

#define LONG_MS	 5000
#define SHORT_MS 60

struct fixture {
	sd_event *event;
	struct bh_child *child;
	unsigned int n_ready, n_progress, n_log, n_stuck, n_ended;
	struct bh_error ended_why;
	char log[1024];
	bool free_when_ended;

	unsigned int n_replies;
	struct bh_child_reply reply; /* its pointers are stale */
	json_t *ok, *packet;
	bool free_when_replied;
	const char *next_op; /* asked for by the reply's callback */
};

static void on_ready(struct bh_child *child, const json_t *hello, void *userdata)
{
	struct fixture *f = userdata;

	f->n_ready++;
	assert_string_equal(json_string_value(json_object_get(hello, "version")), "1");
}

static void on_progress(struct bh_child *child, const json_t *progress, void *userdata)
{
	struct fixture *f = userdata;

	f->n_progress++;
}

static void on_log_line(struct bh_child *child, const char *line, void *userdata)
{
	struct fixture *f = userdata;

	f->n_log++;
	(void) snprintf(f->log, sizeof(f->log), "%s", line);
}

static void on_stuck(struct bh_child *child, void *userdata)
{
	struct fixture *f = userdata;

	f->n_stuck++;
}

static void on_ended(struct bh_child *child, const struct bh_error *why, void *userdata)
{
	struct fixture *f = userdata;

	f->n_ended++;
	f->ended_why = *why;
	if (f->free_when_ended) {
		bh_child_free(child);
		f->child = NULL;
	}
}

static void ask(struct fixture *f, const char *op, uint32_t deadline_ms);

static void on_reply(struct bh_child *child, const struct bh_child_reply *reply, void *userdata)
{
	struct fixture *f = userdata;
	const char *next = f->next_op;

	f->n_replies++;
	f->reply = *reply;
	json_decref(f->ok);
	json_decref(f->packet);
	f->ok = json_incref((json_t *) reply->ok);
	f->packet = json_incref((json_t *) reply->packet);
	f->next_op = NULL;
	if (next)
		ask(f, next, LONG_MS);
	if (f->free_when_replied) {
		bh_child_free(child);
		f->child = NULL;
	}
}

static int try_ask(struct fixture *f, const char *op, uint32_t deadline_ms, struct bh_error *err)
{
	bh_auto_json json_t *request = json_pack("{s:s, s:i}", "op", op, "id", 4711);

	return bh_child_call(f->child, request, deadline_ms, on_reply, f, err);
}

static void ask(struct fixture *f, const char *op, uint32_t deadline_ms)
{
	struct bh_error err = {0};

	if (try_ask(f, op, deadline_ms, &err) < 0)
		fail_msg("%s: %s", op, err.message);
}

static void start_child(struct fixture *f, const char *start, int fd4, uint32_t start_deadline_ms)
{
	char *argv[] = {(char *) "child_peer", (char *) start, NULL};
	struct bh_child_config config = {
			.path = CHILD_PEER,
			.argv = argv,
			.role = "peer",
			.fd4 = fd4,
			.start_deadline_ms = start_deadline_ms,
			.reap_deadline_ms = 150,
			.events = {on_ready, on_progress, on_log_line, on_stuck, on_ended},
			.userdata = f,
	};
	struct bh_error err = {0};

	if (bh_child_spawn(f->event, &config, &f->child, &err) < 0)
		fail_msg("%s", err.message);
}

static void run_until(struct fixture *f, const unsigned int *counter, unsigned int wanted)
{
	uint64_t end = bh_clock_monotonic_ms() + 2 * LONG_MS;

	while (*counter < wanted) {
		assert_true(bh_clock_monotonic_ms() < end);
		assert_true(sd_event_run(f->event, 100000) >= 0);
	}
}

static void run_for(struct fixture *f, uint64_t ms)
{
	uint64_t now, end = bh_clock_monotonic_us() + ms * 1000;

	while ((now = bh_clock_monotonic_us()) < end)
		assert_true(sd_event_run(f->event, end - now) >= 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	return sd_event_new(&f->event) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bh_child_free(f->child);
	json_decref(f->ok);
	json_decref(f->packet);
	(void) sd_event_unref(f->event);
	free(f);
	/* nothing may be left to reap */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return 0;
}

static void child_gets_only_what_it_is_given(void **state)
{
	struct fixture *f = *state;
	int null_fd = open("/dev/null", O_RDONLY); /* not close-on-exec, on purpose */
	const json_t *request;

	start_child(f, "good", -1, LONG_MS);
	ask(f, "about", LONG_MS);
	run_until(f, &f->n_replies, 1);
	(void) close(null_fd);

	assert_int_equal(f->reply.outcome, BH_CHILD_DONE);
	assert_int_equal(f->n_ready, 1);
	assert_true(json_is_false(json_object_get(f->ok, "fd4")));
	assert_int_equal(json_integer_value(json_object_get(f->ok, "stray")), 0);
	assert_true(json_is_true(json_object_get(f->ok, "own_group")));
	request = json_object_get(f->ok, "request");
	assert_int_equal(json_integer_value(json_object_get(request, "deadline_ms")), LONG_MS);
	assert_int_not_equal(json_integer_value(json_object_get(request, "id")), 4711);
	assert_string_equal(json_string_value(json_object_get(bh_child_hello(f->child), "driver")),
			"none");
}

static void child_gets_fd4_even_if_its_number_was_in_the_way(void **state)
{
	struct fixture *f = *state;

	/* main() has taken 3 and 4, so whichever is given lies where the child's own go */
	for (int number = 3; number <= 4; number++) {
		start_child(f, "good", number, LONG_MS);
		f->n_replies = 0;
		ask(f, "about", LONG_MS);
		run_until(f, &f->n_replies, 1);
		assert_true(json_is_true(json_object_get(f->ok, "fd4")));
		assert_int_equal(json_integer_value(json_object_get(f->ok, "stray")), 0);
		bh_child_free(f->child);
		f->child = NULL;
	}
}

static void child_does_not_inherit_signal_habits(void **state)
{
	struct fixture *f = *state;
	sigset_t block, before;

	(void) sigemptyset(&block);
	(void) sigaddset(&block, SIGTERM);
	(void) sigprocmask(SIG_BLOCK, &block, &before);
	(void) signal(SIGINT, SIG_IGN);
	start_child(f, "good", -1, LONG_MS);
	(void) sigprocmask(SIG_SETMASK, &before, NULL);
	(void) signal(SIGINT, SIG_DFL);

	ask(f, "about", LONG_MS);
	run_until(f, &f->n_replies, 1);
	assert_true(json_is_false(json_object_get(f->ok, "term_blocked")));
	assert_true(json_is_false(json_object_get(f->ok, "int_ignored")));
}

static void error_of_the_child_is_failed_with_its_words(void **state)
{
	struct fixture *f = *state;

	start_child(f, "good", -1, LONG_MS);
	ask(f, "fail", LONG_MS);
	run_until(f, &f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_FAILED);
	assert_int_equal(f->reply.err.code, BH_E_IN_USE);
	assert_int_equal(f->reply.err.source, BH_SRC_NVML);
	assert_int_equal(f->reply.err.native, 19);
	assert_true(f->reply.sent);
	assert_non_null(f->packet);
	assert_true(bh_child_is_usable(f->child));
}

static void calls_follow_one_another_also_from_the_callback(void **state)
{
	struct fixture *f = *state;

	start_child(f, "good", -1, LONG_MS);
	f->next_op = "progress";
	ask(f, "about", LONG_MS);
	run_until(f, &f->n_replies, 2);
	assert_int_equal(f->reply.outcome, BH_CHILD_DONE);
	assert_int_equal(f->n_progress, 3);
	assert_int_equal(f->n_ended, 0);
}

static void second_call_in_flight_is_refused(void **state)
{
	struct fixture *f = *state;
	struct bh_error err;

	start_child(f, "good", -1, LONG_MS);
	ask(f, "about", LONG_MS);
	assert_int_equal(try_ask(f, "about", LONG_MS, &err), -1);
	assert_int_equal(err.code, BH_E_IN_USE);
	run_until(f, &f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_DONE);
	run_for(f, SHORT_MS);
	assert_int_equal(f->n_replies, 1);
}

struct bad_answer {
	const char *op, *says;
};

static void every_bad_answer_is_unknown_and_ends_the_child(void **state)
{
	static const struct bad_answer rows[] = {
			{"garbage", "not a JSON object"},
			{"array", "not an object"},
			{"big", "over the limit"},
			{"half", "malformed reply"},
			{"both", "malformed reply"},
			{"wrong-id", "wrong id"},
			{"no-id", "wrong id"},
			{"die", "exited with status 3; its last words: first line; last ? words"},
			{"crash", "killed by signal 11"},
			{"close", "closed its socket"},
	};
	struct fixture *f = *state;
	struct bh_error err;

	for (size_t i = 0; i < BH_ARRAY_SIZE(rows); i++) {
		f->n_replies = f->n_ended = 0;
		start_child(f, "good", -1, LONG_MS);
		ask(f, rows[i].op, LONG_MS);
		run_until(f, &f->n_ended, 1);
		assert_int_equal(f->n_replies, 1);
		assert_int_equal(f->reply.outcome, BH_CHILD_UNKNOWN);
		assert_int_equal(f->reply.err.code, BH_E_INTERNAL);
		assert_true(f->reply.sent);
		assert_false(f->reply.stuck);
		if (!strstr(f->reply.err.message, rows[i].says))
			fail_msg("%s: %s", rows[i].op, f->reply.err.message);
		assert_int_equal(try_ask(f, "about", LONG_MS, &err), -1);
		assert_int_equal(f->n_replies, 1);
		bh_child_free(f->child);
		f->child = NULL;
	}
}

static void second_reply_ends_the_child_but_not_the_first_outcome(void **state)
{
	struct fixture *f = *state;

	start_child(f, "good", -1, LONG_MS);
	ask(f, "two", LONG_MS);
	run_until(f, &f->n_ended, 1);
	assert_int_equal(f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_DONE);
	assert_non_null(strstr(f->ended_why.message, "nobody asked for"));
}

static void second_reply_never_answers_the_next_call(void **state)
{
	struct fixture *f = *state;

	start_child(f, "good", -1, LONG_MS);
	f->next_op = "about";
	ask(f, "two", LONG_MS);
	run_until(f, &f->n_ended, 1);
	assert_int_equal(f->n_replies, 2);
	assert_int_equal(f->reply.outcome, BH_CHILD_UNKNOWN);
}

static void last_answer_of_a_child_that_died_after_it_counts(void **state)
{
	struct fixture *f = *state;
	struct pollfd none;

	start_child(f, "good", -1, LONG_MS);
	run_until(f, &f->n_ready, 1);
	/* more packets than one turn of the loop takes */
	ask(f, "answer-and-die", LONG_MS);
	(void) poll(&none, 0, SHORT_MS); /* both are there when the loop looks */
	run_until(f, &f->n_ended, 1);
	assert_int_equal(f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_DONE);
}

static void missed_deadline_is_unknown_and_the_child_is_reaped_first(void **state)
{
	struct fixture *f = *state;
	uint64_t began = bh_clock_monotonic_ms();
	pid_t pid;

	start_child(f, "good", -1, LONG_MS);
	pid = bh_child_pid(f->child);
	ask(f, "hang", SHORT_MS);
	run_until(f, &f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_UNKNOWN);
	assert_int_equal(f->reply.err.code, BH_E_DEADLINE);
	assert_true(bh_clock_monotonic_ms() - began < 1000);
	assert_int_equal(kill(pid, 0), -1); /* no zombie either */
}

static void progress_extends_no_deadline_and_a_flood_starves_nobody(void **state)
{
	struct fixture *f = *state;
	uint64_t began = bh_clock_monotonic_ms();

	start_child(f, "good", -1, LONG_MS);
	ask(f, "flood", SHORT_MS);
	run_until(f, &f->n_replies, 1);
	assert_int_equal(f->reply.err.code, BH_E_DEADLINE);
	assert_true(f->n_progress > 0);
	assert_true(bh_clock_monotonic_ms() - began < 1000);
}

static void answer_that_came_in_time_counts_however_late_we_look(void **state)
{
	struct fixture *f = *state;
	struct pollfd none;

	start_child(f, "good", -1, LONG_MS);
	run_until(f, &f->n_ready, 1);
	ask(f, "progress", SHORT_MS);
	(void) poll(&none, 0, 3 * SHORT_MS);
	run_until(f, &f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_DONE);
}

static void cancelled_call_is_unknown(void **state)
{
	struct fixture *f = *state;

	start_child(f, "good", -1, LONG_MS);
	ask(f, "hang", LONG_MS);
	run_until(f, &f->n_ready, 1);
	bh_child_kill(f->child, "the user gave up");
	assert_int_equal(f->n_replies, 0);
	assert_false(bh_child_is_usable(f->child));
	run_until(f, &f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_UNKNOWN);
	assert_non_null(strstr(f->reply.err.message, "the user gave up"));
	run_until(f, &f->n_ended, 1);
	bh_child_kill(f->child, "once more does nothing");
}

struct bad_start {
	const char *start, *says;
	enum bh_code code;
};

static void call_to_a_child_that_does_not_start_is_failed_and_unsent(void **state)
{
	static const struct bad_start rows[] = {
			{"silent", "did not start in time", BH_E_DEADLINE},
			{"wrong-hello", "did not say hello", BH_E_INTERNAL},
			{"error-hello", "no library", BH_E_NO_DRIVER},
			{"exit", "exited with status 2; its last words: no such option",
					BH_E_INTERNAL},
	};
	struct fixture *f = *state;
	struct bh_error err;

	for (size_t i = 0; i < BH_ARRAY_SIZE(rows); i++) {
		f->n_replies = f->n_ended = 0;
		start_child(f, rows[i].start, -1, SHORT_MS);
		ask(f, "about", LONG_MS);
		run_until(f, &f->n_ended, 1);
		assert_int_equal(f->n_replies, 1);
		assert_int_equal(f->reply.outcome, BH_CHILD_FAILED);
		assert_false(f->reply.sent);
		assert_int_equal(f->reply.err.code, rows[i].code);
		if (!strstr(f->reply.err.message, rows[i].says))
			fail_msg("%s: %s", rows[i].start, f->reply.err.message);
		bh_child_free(f->child);

		start_child(f, rows[i].start, -1, SHORT_MS);
		assert_int_equal(bh_child_wait_ready(f->child, &err), -1);
		assert_int_equal(err.code, rows[i].code);
		bh_child_free(f->child);
		f->child = NULL;
	}
	assert_int_equal(f->n_ready, 0);
}

static void program_that_is_not_there_is_an_error_at_once(void **state)
{
	struct fixture *f = *state;
	char *argv[] = {(char *) "x", NULL};
	struct bh_child_config config = {
			.path = "/nonexistent/worker", .argv = argv, .role = "peer", .fd4 = -1};
	struct bh_error err;

	assert_int_equal(bh_child_spawn(f->event, &config, &f->child, &err), -1);
	assert_non_null(strstr(err.message, "/nonexistent/worker"));
	assert_null(f->child);
}

static void callbacks_may_free_the_child(void **state)
{
	struct fixture *f = *state;

	f->free_when_replied = true;
	start_child(f, "good", -1, LONG_MS);
	ask(f, "two", LONG_MS);
	run_until(f, &f->n_replies, 1);
	assert_null(f->child);
	run_for(f, 20);

	start_child(f, "good", -1, LONG_MS);
	ask(f, "hang", SHORT_MS);
	run_until(f, &f->n_replies, 2);
	assert_null(f->child);
	assert_int_equal(f->n_ended, 0);

	f->free_when_replied = false;
	f->free_when_ended = true;
	start_child(f, "good", -1, LONG_MS);
	ask(f, "die", LONG_MS);
	run_until(f, &f->n_ended, 1);
	assert_null(f->child);
}

static void freeing_with_a_call_in_flight_calls_nobody(void **state)
{
	struct fixture *f = *state;

	start_child(f, "good", -1, LONG_MS);
	ask(f, "hang", LONG_MS);
	run_until(f, &f->n_ready, 1);
	bh_child_free(f->child);
	f->child = NULL;
	run_for(f, 20);
	assert_int_equal(f->n_replies, 0);
	assert_int_equal(f->n_ended, 0);
}

/* A tracer that never lets go keeps a killed process from being reaped, as a stuck driver would. */
static pid_t hold(pid_t victim)
{
	int ready[2];
	char byte = 0;
	pid_t tracer;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	tracer = fork();
	if (tracer == 0) {
		byte = ptrace(PTRACE_SEIZE, victim, NULL, PTRACE_O_TRACEEXIT) == 0 ? 'y' : 'n';
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			(void) pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void) close(ready[0]);
	(void) close(ready[1]);
	if (byte == 'y')
		return tracer;
	(void) kill(tracer, SIGKILL);
	(void) waitpid(tracer, NULL, 0);
	return -1;
}

static void release(pid_t tracer)
{
	(void) kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
}

static void child_that_sigkill_does_not_end_is_stuck_until_it_does(void **state)
{
	struct fixture *f = *state;
	pid_t tracer;

	start_child(f, "good", -1, LONG_MS);
	run_until(f, &f->n_ready, 1);
	tracer = hold(bh_child_pid(f->child));
	if (tracer < 0) {
		print_message("skipped: ptrace is not allowed here\n");
		skip();
	}
	ask(f, "hang", SHORT_MS);
	run_until(f, &f->n_stuck, 1);
	assert_int_equal(f->n_replies, 1);
	assert_int_equal(f->reply.outcome, BH_CHILD_UNKNOWN);
	assert_int_equal(f->reply.err.code, BH_E_DEADLINE);
	assert_true(f->reply.stuck);
	assert_true(bh_child_is_stuck(f->child));
	assert_false(bh_child_has_ended(f->child));
	assert_int_equal(f->n_ended, 0);

	release(tracer);
	run_until(f, &f->n_ended, 1);
	assert_false(bh_child_is_stuck(f->child));
	assert_int_equal(f->n_stuck, 1);
	assert_int_equal(f->n_replies, 1);
}

static void freeing_a_stuck_child_does_not_block_and_it_is_reaped_later(void **state)
{
	struct fixture *f = *state;
	uint64_t began;
	pid_t tracer, pid;

	start_child(f, "good", -1, LONG_MS);
	run_until(f, &f->n_ready, 1);
	pid = bh_child_pid(f->child);
	tracer = hold(pid);
	if (tracer < 0) {
		print_message("skipped: ptrace is not allowed here\n");
		skip();
	}
	began = bh_clock_monotonic_ms();
	bh_child_free(f->child);
	f->child = NULL;
	assert_true(bh_clock_monotonic_ms() - began < 1000);
	assert_int_equal(kill(pid, 0), 0);
	release(tracer);
	run_for(f, 50);
	assert_int_equal(kill(pid, 0), -1);
}

static void call_and_wait_tells_all_three_outcomes(void **state)
{
	struct fixture *f = *state;
	bh_auto_json json_t *about = json_pack("{s:s}", "op", "about");
	bh_auto_json json_t *fails = json_pack("{s:s}", "op", "fail");
	bh_auto_json json_t *hangs = json_pack("{s:s}", "op", "hang");
	bh_auto_json json_t *done = NULL, *failed = NULL, *unknown = NULL;
	enum bh_child_outcome outcome = BH_CHILD_UNKNOWN;
	struct bh_error err;

	start_child(f, "good", -1, LONG_MS);
	assert_int_equal(bh_child_wait_ready(f->child, &err), 0);
	assert_int_equal(bh_child_call_wait(f->child, about, LONG_MS, &outcome, &done, &err), 0);
	assert_int_equal(outcome, BH_CHILD_DONE);
	assert_non_null(json_object_get(done, "ok"));
	assert_int_equal(bh_child_call_wait(f->child, fails, LONG_MS, &outcome, &failed, &err), -1);
	assert_int_equal(outcome, BH_CHILD_FAILED);
	assert_int_equal(err.code, BH_E_IN_USE);
	assert_non_null(failed);
	assert_int_equal(bh_child_call_wait(f->child, hangs, SHORT_MS, &outcome, &unknown, &err),
			-1);
	assert_int_equal(outcome, BH_CHILD_UNKNOWN);
	assert_int_equal(err.code, BH_E_DEADLINE);
	assert_null(unknown);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
			T(child_gets_only_what_it_is_given),
			T(child_gets_fd4_even_if_its_number_was_in_the_way),
			T(child_does_not_inherit_signal_habits),
			T(error_of_the_child_is_failed_with_its_words),
			T(calls_follow_one_another_also_from_the_callback),
			T(second_call_in_flight_is_refused),
			T(every_bad_answer_is_unknown_and_ends_the_child),
			T(second_reply_ends_the_child_but_not_the_first_outcome),
			T(second_reply_never_answers_the_next_call),
			T(last_answer_of_a_child_that_died_after_it_counts),
			T(missed_deadline_is_unknown_and_the_child_is_reaped_first),
			T(progress_extends_no_deadline_and_a_flood_starves_nobody),
			T(answer_that_came_in_time_counts_however_late_we_look),
			T(cancelled_call_is_unknown),
			T(call_to_a_child_that_does_not_start_is_failed_and_unsent),
			T(program_that_is_not_there_is_an_error_at_once),
			T(callbacks_may_free_the_child),
			T(freeing_with_a_call_in_flight_calls_nobody),
			T(child_that_sigkill_does_not_end_is_stuck_until_it_does),
			T(freeing_a_stuck_child_does_not_block_and_it_is_reaped_later),
			T(call_and_wait_tells_all_three_outcomes),
	};

	while (open("/dev/null", O_RDONLY | O_CLOEXEC) < 4)
		; /* see child_gets_fd4_even_if_its_number_was_in_the_way */
	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
