/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child for test_child.c: well-behaved by default, and badly behaved in one way when asked.
 * Usage: child_peer START, with START one of good, silent, wrong-hello, error-hello, exit.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/packet.h"

static void raw(const char *text)
{
	if (send(3, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(9);
}

static void reply(json_int_t id, const char *member, json_t *value)
{
	json_t *packet = json_object();
	struct bh_error err;

	if (id >= 0 && bh_json_set(packet, "id", json_integer(id), &err) < 0)
		_exit(9);
	if (bh_json_set(packet, member, value, &err) < 0 || bh_packet_send(3, packet, &err) < 0)
		_exit(9);
	json_decref(packet);
}

/* Descriptors above 4, the listing's own left out: none is right. */
static int stray_descriptors(void)
{
	int stray = 0;
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		int fd = (int) strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd > 4 && fd != dirfd(dir))
			stray++;
	}
	(void) closedir(dir);
	return stray;
}

static json_t *about(const json_t *request)
{
	sigset_t mask;

	(void) sigprocmask(SIG_BLOCK, NULL, &mask);
	return json_pack("{s:O, s:b, s:i, s:b, s:b, s:b}", "request", request, "fd4",
			bh_fd_is_open(4), "stray", stray_descriptors(), "own_group",
			getpgrp() == getpid(), "term_blocked", sigismember(&mask, SIGTERM) == 1,
			"int_ignored", signal(SIGINT, SIG_DFL) == SIG_IGN);
}

static void send_big(json_int_t id)
{
	static char text[160 * 1024];
	int size = 1024 * 1024;

	(void) setsockopt(3, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	(void) snprintf(text, sizeof(text), "{\"id\":%d,\"ok\":\"", (int) id);
	memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 3);
	memcpy(text + sizeof(text) - 3, "\"}", 3);
	raw(text);
}

static void serve(const json_t *request, json_int_t id, const char *op)
{
	if (strcmp(op, "about") == 0) {
		reply(id, "ok", about(request));
	} else if (strcmp(op, "fail") == 0) {
		reply(id, "error",
				json_pack("{s:s, s:s, s:s, s:i}", "code", "in-use", "message",
						"a process is there", "source", "nvml", "native",
						19));
	} else if (strcmp(op, "progress") == 0) {
		for (int i = 1; i <= 3; i++)
			reply(id, "progress", json_pack("{s:i}", "step", i));
		reply(id, "ok", json_true());
	} else if (strcmp(op, "flood") == 0) {
		for (;;)
			reply(id, "progress", json_true());
	} else if (strcmp(op, "garbage") == 0) {
		raw("\x7f"
		    "ELF no json");
	} else if (strcmp(op, "array") == 0) {
		raw("[1,2]");
	} else if (strcmp(op, "big") == 0) {
		send_big(id);
	} else if (strcmp(op, "half") == 0) {
		reply(id, "neither", json_true());
	} else if (strcmp(op, "both") == 0) {
		char text[100];

		(void) snprintf(text, sizeof(text), "{\"id\":%d,\"ok\":1,\"error\":{}}", (int) id);
		raw(text);
	} else if (strcmp(op, "wrong-id") == 0) {
		reply(id + 1, "ok", json_true());
	} else if (strcmp(op, "no-id") == 0) {
		reply(-1, "ok", json_true());
	} else if (strcmp(op, "two") == 0) {
		reply(id, "ok", json_true());
		reply(id, "ok", json_true());
	} else if (strcmp(op, "answer-and-die") == 0) {
		for (int i = 1; i <= 3; i++)
			reply(id, "progress", json_true());
		reply(id, "ok", json_true());
		_exit(0);
	} else if (strcmp(op, "die") == 0) {
		(void) fputs("first line\nlast \x01 words", stderr);
		_exit(3);
	} else if (strcmp(op, "crash") == 0) {
		(void) prctl(PR_SET_DUMPABLE, 0);
		(void) signal(SIGSEGV, SIG_DFL);
		(void) raise(SIGSEGV);
	} else if (strcmp(op, "hang") == 0) {
		for (;;)
			(void) pause();
	} else if (strcmp(op, "close") == 0) {
		(void) close(3);
		for (;;)
			(void) pause();
	}
}

int main(int argc, char **argv)
{
	const char *start = argc > 1 ? argv[1] : "good";
	struct bh_error err;
	json_t *request;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(start, "silent") == 0)
		for (;;)
			(void) pause();
	if (strcmp(start, "exit") == 0) {
		(void) fputs("no such option\n", stderr);
		return 2;
	}
	if (strcmp(start, "wrong-hello") == 0)
		raw("{\"hello\":\"another\"}");
	else if (strcmp(start, "error-hello") == 0)
		raw("{\"id\":0,\"error\":{\"code\":\"no-driver\",\"message\":\"no library\"}}");
	else
		raw("{\"hello\":\"peer\",\"version\":\"1\",\"driver\":\"none\"}");

	while (bh_packet_receive(3, &request, &err) == 0) {
		const char *op = json_string_value(json_object_get(request, "op"));

		serve(request, json_integer_value(json_object_get(request, "id")), op ? op : "");
		json_decref(request);
	}
	return 0;
}
