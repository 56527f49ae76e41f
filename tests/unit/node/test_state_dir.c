/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: one writer, named; and the proof that no worker acts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "node/state_dir.h"

#define NOBODY 65534

static char dir[64];

static void path_of(char *buffer, size_t size, const char *name)
{
	(void) snprintf(buffer, size, "%s/%s", dir, name);
}

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void) nanosleep(&t, NULL);
}

static void read_text(const char *name, char *buffer, size_t size)
{
	char path[128];
	FILE *file;

	path_of(path, sizeof(path), name);
	file = fopen(path, "r");
	assert_non_null(file);
	buffer[fread(buffer, 1, size - 1, file)] = '\0';
	assert_int_equal(fclose(file), 0);
}

/* A child that does something, says so, and stays until it is ended. */
static pid_t spawn(void (*what)(void))
{
	int pipes[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* so that a failed test leaves nobody */
		what();
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void) pause();
	}
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_int_equal(close(pipes[0]), 0);
	assert_int_equal(close(pipes[1]), 0);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void lock_as(const char *role)
{
	struct bh_error err;
	int fd;

	if (bh_state_lock(dir, role, 0, &fd, &err) < 0)
		_exit(1);
}

static void lock_as_apply(void)
{
	lock_as("apply");
}

static void lock_as_daemon(void)
{
	lock_as("daemon");
}

static void hold_worker_lock(void)
{
	struct bh_error err;
	int fd;

	if (bh_state_worker_lock(dir, &fd, &err) < 0)
		_exit(1);
}

/* ---------------------------------------------------------------------- the lock */

static void the_holder_of_the_lock_is_named(void **state)
{
	pid_t pid = spawn(lock_as_apply);
	uint64_t since = bh_clock_monotonic_ms();
	char text[160], wanted[256];
	struct bh_error err = {0};
	int fd = -1;

	read_text("lock", text, sizeof(text));
	(void) snprintf(wanted, sizeof(wanted), "pid=%d role=apply since=", (int) pid);
	assert_memory_equal(text, wanted, strlen(wanted));
	assert_int_equal(bh_state_lock(dir, "apply", 5000, &fd, &err), -1);
	assert_int_equal(fd, -1);
	assert_true(bh_clock_monotonic_ms() - since < 1000); /* a command is not waited for */
	assert_int_equal(err.code, BH_E_STATE_LOCKED);
	(void) snprintf(wanted, sizeof(wanted),
			"the state directory '%s' is held by pid %d (apply)", dir, (int) pid);
	assert_string_equal(err.message, wanted);
	assert_string_equal(err.next, "wait until that command has ended, then run this again");
	assert_int_equal(err.n_holders, 1);
	assert_int_equal(err.holders[0].pid, pid);
	assert_string_equal(err.holders[0].kind, "process");
	assert_string_equal(err.holders[0].name, "apply");
	/* death gives it up */
	end(pid);
	assert_int_equal(bh_state_lock(dir, "up", 0, &fd, &err), 0);
	read_text("lock", text, sizeof(text));
	(void) snprintf(wanted, sizeof(wanted), "pid=%d role=up since=", (int) getpid());
	assert_memory_equal(text, wanted, strlen(wanted));
	assert_int_equal(strlen(text), strcspn(text, "\n") + 1); /* no rest of a longer text */
	assert_int_equal(close(fd), 0);
}

static void a_daemon_is_waited_for_until_the_deadline(void **state)
{
	pid_t pid = spawn(lock_as_daemon);
	uint64_t since = bh_clock_monotonic_ms();
	struct bh_error err = {0};
	int fd = -1;

	assert_int_equal(bh_state_lock(dir, "apply", 200, &fd, &err), -1);
	assert_true(bh_clock_monotonic_ms() - since >= 200);
	assert_int_equal(err.code, BH_E_DEADLINE);
	assert_non_null(strstr(err.message, "(daemon)"));
	assert_int_equal(err.holders[0].pid, pid);
	end(pid);
	assert_int_equal(bh_state_lock(dir, "apply", 200, &fd, &err), 0);
	assert_int_equal(close(fd), 0);
}

static void a_daemon_that_goes_meanwhile_makes_room(void **state)
{
	pid_t pid = spawn(lock_as_daemon), killer = fork();
	struct bh_error err = {0};
	int fd = -1;

	assert_true(killer >= 0);
	if (killer == 0) {
		sleep_ms(100);
		_exit(kill(pid, SIGKILL) < 0);
	}
	assert_int_equal(bh_state_lock(dir, "apply", 10000, &fd, &err), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(waitpid(killer, NULL, 0), killer);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/*
 * Between taking the lock and writing who one is lies a moment: the file is empty, or still names
 * the one before. Neither is an answer.
 */
static void who_has_not_said_yet_who_he_is_is_asked_again(void **state)
{
	char path[128], text[64];
	const char *before[] = {"", text};
	struct bh_error err = {0};
	int mine = -1;

	path_of(path, sizeof(path), "lock");
	(void) snprintf(text, sizeof(text), "pid=%d role=apply since=1\n", (int) getpid());
	for (size_t i = 0; i < BH_ARRAY_SIZE(before); i++) {
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		pid_t pid;

		assert_true(fd >= 0);
		assert_int_equal(write(fd, before[i], strlen(before[i])), strlen(before[i]));
		assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
			sleep_ms(50);
			if (ftruncate(fd, 0) < 0 ||
					pwrite(fd, "pid=4711 role=assert since=1\n", 29, 0) != 29)
				_exit(1);
			for (;;)
				(void) pause();
		}
		assert_int_equal(close(fd), 0);
		assert_int_equal(bh_state_lock(dir, "apply", 0, &mine, &err), -1);
		assert_int_equal(err.code, BH_E_STATE_LOCKED);
		assert_int_equal(err.holders[0].pid, 4711);
		assert_string_equal(err.holders[0].name, "assert");
		end(pid);
	}
}

static void who_never_says_who_he_is_is_unknown(void **state)
{
	char path[128];
	struct bh_error err = {0};
	int fd, mine = -1;

	path_of(path, sizeof(path), "lock");
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(bh_state_lock(dir, "apply", 0, &mine, &err), -1);
	assert_int_equal(err.code, BH_E_STATE_LOCKED);
	assert_string_equal(err.holders[0].name, "unknown");
	assert_int_equal(close(fd), 0);
}

/* Both take it, check that they are alone, and give it up; whoever is refused is told by whom. */
static void race(int self, pid_t other, int counter, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct bh_error err = {0};
		int fd = -1, n = -1;

		while (bh_state_lock(dir, self ? "one" : "another", 0, &fd, &err) < 0) {
			if (err.code != BH_E_STATE_LOCKED)
				_exit(10);
			/* one that gets no time to say its name is unknown, never somebody else */
			if (strcmp(err.holders[0].name, "unknown") == 0 && err.holders[0].pid == 0)
				continue;
			if (other && err.holders[0].pid != other)
				_exit(11);
			if (strcmp(err.holders[0].name, self ? "another" : "one") != 0)
				_exit(12);
		}
		if (pread(counter, &n, sizeof(n), 0) != sizeof(n))
			_exit(13);
		n++;
		sched_yield();
		if (pwrite(counter, &n, sizeof(n), 0) != sizeof(n))
			_exit(14);
		(void) close(fd);
		sched_yield();
	}
	_exit(0);
}

static void two_never_hold_it_at_a_time(void **state)
{
	enum { ROUNDS = 200 };
	char path[128];
	int counter, n = 0;
	pid_t pids[2];

	path_of(path, sizeof(path), "counter");
	counter = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(counter >= 0);
	assert_int_equal(pwrite(counter, &n, sizeof(n), 0), sizeof(n));
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			race(i, i ? pids[0] : 0, counter, ROUNDS);
	}
	for (int i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(pread(counter, &n, sizeof(n), 0), sizeof(n));
	assert_int_equal(n, 2 * ROUNDS);
	assert_int_equal(close(counter), 0);
	assert_int_equal(unlink(path), 0);
}

static void a_symlink_is_no_lock_file(void **state)
{
	static const char *const names[] = {"lock", "worker.lock"};
	char target[128], path[128];
	struct bh_error err = {0};
	int fd = -1;

	path_of(target, sizeof(target), "elsewhere");
	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		path_of(path, sizeof(path), names[i]);
		(void) unlink(path); /* may be absent */
		assert_int_equal(symlink(target, path), 0);
	}
	assert_int_equal(bh_state_lock(dir, "apply", 0, &fd, &err), -1);
	assert_int_equal(err.source, BH_SRC_ERRNO);
	assert_int_equal(err.native, ELOOP);
	assert_int_equal(bh_state_worker_lock(dir, &fd, &err), -1);
	assert_int_equal(err.native, ELOOP);
	assert_int_equal(bh_state_try_settle(dir, &err), -1);
	assert_int_equal(fd, -1);
	assert_int_equal(access(target, F_OK), -1);
	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		path_of(path, sizeof(path), names[i]);
		assert_int_equal(unlink(path), 0);
	}
}

/* ------------------------------------------------------------------ the workers' lock */

static void a_worker_that_still_acts_is_seen_until_it_is_gone(void **state)
{
	struct bh_error err = {0};
	char wanted[160];
	uint64_t since;
	pid_t pid, other;

	assert_int_equal(bh_state_try_settle(dir, &err), 0);
	pid = spawn(hold_worker_lock);
	other = spawn(hold_worker_lock); /* workers do not shut one another out */
	assert_int_equal(bh_state_try_settle(dir, &err), BH_STATE_BUSY);
	end(other);
	assert_int_equal(bh_state_try_settle(dir, &err), BH_STATE_BUSY);
	since = bh_clock_monotonic_ms();
	assert_int_equal(bh_state_settle(dir, 100, &err), -1);
	assert_true(bh_clock_monotonic_ms() - since >= 100);
	assert_int_equal(err.code, BH_E_DEADLINE);
	(void) snprintf(wanted, sizeof(wanted), "%s/worker.lock", dir);
	assert_non_null(strstr(err.message, wanted));
	assert_non_null(strstr(err.next, wanted));
	end(pid);
	assert_int_equal(bh_state_settle(dir, 0, &err), 0);
	/* it keeps nobody out afterwards */
	pid = spawn(hold_worker_lock);
	end(pid);
}

static void what_a_dead_worker_left_running_still_counts(void **state)
{
	struct bh_error err = {0};
	int fd = -1, copy;

	assert_int_equal(bh_state_worker_lock(dir, &fd, &err), 0);
	copy = dup(fd);
	assert_true(copy >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(bh_state_try_settle(dir, &err), BH_STATE_BUSY);
	assert_int_equal(close(copy), 0);
	assert_int_equal(bh_state_try_settle(dir, &err), 0);
}

/* ---------------------------------------------------------------------- the directory */

static void the_directory_is_made_with_its_parents(void **state)
{
	char path[128], parent[128];
	struct bh_error err = {0};
	struct stat st;

	path_of(path, sizeof(path), "a/b/state");
	path_of(parent, sizeof(parent), "a/b");
	assert_int_equal(bh_state_prepare(path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(bh_state_prepare(path, &err), 0); /* it may be there */
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(parent), 0);
	path_of(parent, sizeof(parent), "a");
	assert_int_equal(rmdir(parent), 0);
}

static void what_is_no_directory_is_refused(void **state)
{
	char path[128];
	struct bh_error err = {0};
	int fd;

	path_of(path, sizeof(path), "file");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(bh_state_prepare(path, &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
	path_of(path, sizeof(path), "file/below");
	assert_int_equal(bh_state_prepare(path, &err), -1);
	assert_int_equal(err.native, ENOTDIR);
	assert_int_equal(bh_state_prepare("", &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
	path_of(path, sizeof(path), "file");
	assert_int_equal(unlink(path), 0);
}

static void a_name_that_is_too_long_is_refused(void **state)
{
	static char path[PATH_MAX + 10];
	struct bh_error err = {0};
	int fd = -1;

	memset(path, 'a', sizeof(path) - 1);
	assert_int_equal(bh_state_prepare(path, &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
	path[PATH_MAX - 3] = '\0'; /* room for the directory, none for a file in it */
	assert_int_equal(bh_state_lock(path, "apply", 0, &fd, &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
	assert_int_equal(bh_state_worker_lock(path, &fd, &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
	assert_int_equal(bh_state_try_settle(path, &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
}

static void a_directory_of_somebody_else_is_denied(void **state)
{
	char path[128];
	pid_t pid;
	int status;

	if (geteuid() != 0) {
		print_message("skipped: only root can become somebody else\n");
		skip();
	}
	path_of(path, sizeof(path), "below");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct bh_error err = {0};
		int fd = -1;

		if (setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(1);
		if (bh_state_prepare(path, &err) != -1 || err.code != BH_E_DENIED)
			_exit(2);
		if (bh_state_lock(dir, "apply", 0, &fd, &err) != -1 || err.code != BH_E_DENIED)
			_exit(3);
		if (bh_state_try_settle(dir, &err) != -1 || err.code != BH_E_DENIED)
			_exit(4);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_read_only_file_system_is_told(void **state)
{
	struct bh_error err = {0};

	/* nothing can be made in here, by nobody */
	assert_int_equal(bh_state_prepare("/proc/self/bulkhead", &err), -1);
	assert_int_equal(err.source, BH_SRC_ERRNO);
	assert_non_null(strstr(err.message, "/proc/self/bulkhead"));
}

static void a_network_file_system_is_refused(void **state)
{
	char path[128];
	struct bh_error err = {0};

	path_of(path, sizeof(path), "net");
	assert_int_equal(mkdir(path, 0700), 0);
	if (mount("bulkhead-test", path, "9p", 0, "trans=fd,rfdno=0,wfdno=1") < 0 &&
			mount("127.0.0.1:/none", path, "nfs", 0, "addr=127.0.0.1,soft,retrans=0") <
					0) {
		assert_int_equal(rmdir(path), 0);
		print_message("skipped: no network file system can be mounted here\n");
		skip();
	}
	assert_int_equal(bh_state_prepare(path, &err), -1);
	assert_int_equal(err.code, BH_E_UNSUPPORTED);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	assert_int_equal(rmdir(path), 0);
}

static int set_up(void **state)
{
	(void) snprintf(dir, sizeof(dir), "/tmp/bulkhead-state-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"lock", "worker.lock"};
	char path[128];

	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		path_of(path, sizeof(path), names[i]);
		(void) unlink(path); /* may be absent */
	}
	return rmdir(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(the_holder_of_the_lock_is_named),
			TEST(a_daemon_is_waited_for_until_the_deadline),
			TEST(a_daemon_that_goes_meanwhile_makes_room),
			TEST(who_has_not_said_yet_who_he_is_is_asked_again),
			TEST(who_never_says_who_he_is_is_unknown),
			TEST(two_never_hold_it_at_a_time),
			TEST(a_symlink_is_no_lock_file),
			TEST(a_worker_that_still_acts_is_seen_until_it_is_gone),
			TEST(what_a_dead_worker_left_running_still_counts),
			TEST(the_directory_is_made_with_its_parents),
			TEST(what_is_no_directory_is_refused),
			TEST(a_name_that_is_too_long_is_refused),
			TEST(a_directory_of_somebody_else_is_denied),
			TEST(a_read_only_file_system_is_told),
			TEST(a_network_file_system_is_refused),
	};

	return cmocka_run_group_tests_name("state_dir", tests, NULL, NULL);
}
