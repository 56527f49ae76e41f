/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulkhead-worker driver: the program itself, called through base/child, on a simulated node.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/child_wait.h"
#include "base/launch.h"
#include "base/packet.h"
#include "gpu/inventory_json.h"

#define LONG_MS 20000

struct fixture {
	char dir[64], driver[80], lock_path[96];
	sd_event *event;
	struct bh_child *worker;
	int lock;
	char uuid[BH_UUID_SIZE], pci[32];
	struct bh_gpu gpu; /* of the last answer, or of the last error that had one */
	bool has_gpu;
	struct bh_error err;
	enum bh_child_outcome outcome;
};

/* ---- The simulated node ---- */

/* Runs a program with the arguments in one text, parted by blanks. */
static void run(const char *program, const char *words)
{
	bh_auto_free char *copy = strdup(words);
	char *argv[16] = {(char *) program}, *rest = NULL;
	int status = -1;
	pid_t pid;

	for (int n = 1; n < 15; n++) {
		argv[n] = strtok_r(n == 1 ? copy : NULL, " ", &rest);
		if (!argv[n])
			break;
	}
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		(void) dup2(null, 1);
		(void) execv(program, argv);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("%s %s: status %d", program, words, status);
}

static void inject(const struct fixture *f, const char *what)
{
	char words[256];

	(void) snprintf(words, sizeof(words), "inject %s %s", f->dir, what);
	run(SIMCTL, words);
}

/* ---- The worker ---- */

static int spawn_worker(struct fixture *f, bool read_only, int lock)
{
	char *argv[] = {(char *) "bulkhead-worker", (char *) "driver", (char *) "--driver",
			f->driver, read_only ? (char *) "--read-only" : NULL, NULL};
	struct bh_child_config config = {
			.path = WORKER, .argv = argv, .role = "driver", .fd4 = lock};

	bh_child_free(f->worker);
	f->worker = NULL;
	assert_int_equal(bh_child_spawn(f->event, &config, &f->worker, &f->err), 0);
	return bh_child_wait_ready(f->worker, &f->err);
}

static void start_worker(struct fixture *f)
{
	if (spawn_worker(f, /* read_only= */ false, f->lock) < 0)
		fail_msg("%s", f->err.message);
}

/* Return: as bh_child_call_wait(); steals @args. */
static int call_within(struct fixture *f, const char *op, json_t *args, uint32_t deadline_ms)
{
	bh_auto_json json_t *request =
			json_pack("{s:s, s:s, s:o}", "op", op, "gpu", f->uuid, "args", args);
	bh_auto_json json_t *packet = NULL;
	const json_t *gpu;
	int r;

	assert_non_null(request);
	f->outcome = BH_CHILD_UNKNOWN;
	memset(&f->err, 0, sizeof(f->err));
	r = bh_child_call_wait(f->worker, request, deadline_ms, &f->outcome, &packet, &f->err);
	gpu = json_object_get(r == 0 ? json_object_get(packet, "ok") : packet, "gpu");
	f->has_gpu = gpu != NULL;
	if (gpu) {
		struct bh_error err;

		if (bh_gpu_from_json(gpu, &f->gpu, &err) < 0)
			fail_msg("%s", err.message);
	}
	return r;
}

static int call(struct fixture *f, const char *op, json_t *args)
{
	return call_within(f, op, args, LONG_MS);
}

static void must(const struct fixture *f, int r)
{
	if (r != 0)
		fail_msg("%s", f->err.message);
	assert_true(f->has_gpu);
}

static void must_fail(const struct fixture *f, int r, enum bh_code code)
{
	assert_int_equal(r, -1);
	assert_int_equal(f->outcome, BH_CHILD_FAILED);
	if (f->err.code != code)
		fail_msg("%s instead of %s: %s", bh_code_name(f->err.code), bh_code_name(code),
				f->err.message);
}

static int set_mig(struct fixture *f, bool on)
{
	return call(f, "set-mig", json_pack("{s:s, s:b}", "pci", f->pci, "on", on));
}

static json_t *gi_args(const struct fixture *f, int profile_id, int start, int size)
{
	return json_pack("{s:s, s:i, s:i, s:i}", "pci", f->pci, "profile_id", profile_id, "start",
			start, "size", size);
}

static json_t *ci_args(const struct fixture *f, int profile_id, int start, int size, int slices,
		int ci_start)
{
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "pci", f->pci, "profile_id", profile_id,
			"start", start, "size", size, "slices", slices, "ci_start", ci_start);
}

static int observe(struct fixture *f, bool profiles)
{
	return call(f, "observe", json_pack("{s:s, s:b}", "pci", f->pci, "profiles", profiles));
}

static void find_gpu(struct fixture *f)
{
	bh_auto_json json_t *request = json_pack("{s:s}", "op", "list");
	bh_auto_json json_t *packet = NULL;
	const json_t *gpu;

	if (bh_child_call_wait(f->worker, request, LONG_MS, NULL, &packet, &f->err) < 0)
		fail_msg("%s", f->err.message);
	gpu = json_array_get(json_object_get(json_object_get(packet, "ok"), "gpus"), 0);
	assert_int_equal(bh_json_get_string(gpu, "uuid", f->uuid, sizeof(f->uuid), &f->err), 0);
	assert_int_equal(bh_json_get_string(gpu, "pci", f->pci, sizeof(f->pci), &f->err), 0);
}

static int setup_on(void **state, const char *machine)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char words[128];

	*state = f;
	(void) snprintf(f->dir, sizeof(f->dir), "%s", "/tmp/bh-test-worker-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void) snprintf(words, sizeof(words), "create %s --dir %s --force", machine, f->dir);
	run(SIMCTL, words);
	(void) snprintf(f->driver, sizeof(f->driver), "sim:%s", f->dir);
	(void) snprintf(f->lock_path, sizeof(f->lock_path), "%s/worker.lock", f->dir);
	f->lock = open(f->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(f->lock >= 0);
	assert_true(sd_event_new(&f->event) >= 0);
	start_worker(f);
	find_gpu(f);
	return 0;
}

static int setup(void **state)
{
	return setup_on(state, "h100x2");
}

static int setup_no_mig(void **state)
{
	return setup_on(state, "l40sx4");
}

static int setup_ampere(void **state)
{
	return setup_on(state, "a100x2-40gb");
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char words[96];

	bh_child_free(f->worker);
	(void) sd_event_unref(f->event);
	(void) close(f->lock);
	(void) snprintf(words, sizeof(words), "-rf %s", f->dir);
	run("/bin/rm", words);
	free(f);
	return 0;
}

/* ---- Serving ---- */

static void hello_names_the_driver_it_drives(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(json_string_value(json_object_get(bh_child_hello(f->worker), "driver")),
			f->driver);
}

static void board_is_divided_and_given_back(void **state)
{
	struct fixture *f = *state;

	must(f, observe(f, true));
	assert_true(f->gpu.n_profiles >= 7);
	assert_int_equal(f->gpu.placement_units, 8);
	assert_int_equal(f->gpu.mig_current, BH_MIG_OFF);

	must(f, set_mig(f, true));
	must(f, call(f, "create-gi", gi_args(f, 9, 4, 4)));
	must(f, call(f, "create-gi", gi_args(f, 19, 0, 1)));
	must(f, call(f, "create-ci", ci_args(f, 9, 4, 4, 3, 0)));
	must(f, call(f, "create-ci", ci_args(f, 19, 0, 1, 1, 0)));
	assert_true(f->gpu.n_profiles >= 7); /* kept from the first answer */
	assert_int_equal(f->gpu.n_gis, 2);
	assert_int_equal(f->gpu.gis[1].profile_id, 9);
	assert_int_equal(f->gpu.gis[1].cis[0].at.size, 3);
	assert_memory_equal(f->gpu.gis[1].cis[0].uuid, "MIG-", 4);

	must(f, call(f, "destroy-ci", ci_args(f, 9, 4, 4, 3, 0)));
	must(f, call(f, "destroy-ci", ci_args(f, 19, 0, 1, 1, 0)));
	must(f, call(f, "destroy-gi", gi_args(f, 9, 4, 4)));
	must(f, call(f, "destroy-gi", gi_args(f, 19, 0, 1)));
	must(f, set_mig(f, false));
	assert_int_equal(f->gpu.n_gis, 0);
	assert_int_equal(f->gpu.mig_current, BH_MIG_OFF);
}

static void ampere_is_reset_inside_the_switch_and_divided(void **state)
{
	struct fixture *f = *state;

	must(f, set_mig(f, true));
	must(f, call(f, "create-gi", gi_args(f, 14, 2, 2)));
	must(f, call(f, "create-ci", ci_args(f, 14, 2, 2, 1, 1)));
	assert_int_equal(f->gpu.gis[0].cis[0].at.start, 1);
}

static void board_without_mig_is_observed_and_refused(void **state)
{
	struct fixture *f = *state;

	must(f, observe(f, true));
	assert_false(f->gpu.mig_capable);
	must_fail(f, set_mig(f, true), BH_E_MIG_UNSUPPORTED);
}

static void each_change_that_is_reported_but_not_made_is_not_applied(void **state)
{
	struct fixture *f = *state;

	inject(f, "fault call=nvmlDeviceSetMigMode nth=1 error=silent");
	must_fail(f, set_mig(f, true), BH_E_NOT_APPLIED);
	must(f, set_mig(f, true));
	inject(f, "fault call=nvmlDeviceCreateGpuInstanceWithPlacement nth=1 error=silent");
	must_fail(f, call(f, "create-gi", gi_args(f, 9, 4, 4)), BH_E_NOT_APPLIED);
	assert_non_null(strstr(f->err.message, "wanted 1, found 0"));
	assert_true(f->has_gpu);
	assert_int_equal(f->gpu.n_gis, 0);
	must(f, call(f, "create-gi", gi_args(f, 9, 4, 4)));
	inject(f, "fault call=nvmlGpuInstanceCreateComputeInstanceWithPlacement nth=1 "
		  "error=silent");
	must_fail(f, call(f, "create-ci", ci_args(f, 9, 4, 4, 3, 0)), BH_E_NOT_APPLIED);
	must(f, call(f, "create-ci", ci_args(f, 9, 4, 4, 3, 0)));
	inject(f, "fault call=nvmlComputeInstanceDestroy nth=1 error=silent");
	must_fail(f, call(f, "destroy-ci", ci_args(f, 9, 4, 4, 3, 0)), BH_E_NOT_APPLIED);
	must(f, call(f, "destroy-ci", ci_args(f, 9, 4, 4, 3, 0)));
	inject(f, "fault call=nvmlGpuInstanceDestroy nth=1 error=silent");
	must_fail(f, call(f, "destroy-gi", gi_args(f, 9, 4, 4)), BH_E_NOT_APPLIED);
	assert_int_equal(f->gpu.n_gis, 1);
}

static void gpu_in_use_keeps_its_mode_and_the_process_is_named(void **state)
{
	struct fixture *f = *state;

	inject(f, "holder gpu=0 kind=process pid=4242 name=trainer");
	must_fail(f, set_mig(f, true), BH_E_IN_USE);
	assert_int_equal(f->err.native, 19);
	assert_int_equal(f->err.n_holders, 1);
	assert_int_equal(f->err.holders[0].pid, 4242);
	assert_string_equal(f->err.holders[0].name, "trainer");
	assert_true(f->has_gpu);
	assert_int_equal(f->gpu.mig_current, BH_MIG_OFF);
	assert_int_equal(f->gpu.mig_pending, BH_MIG_OFF);
}

static void busy_instance_is_seen_and_not_destroyed(void **state)
{
	struct fixture *f = *state;

	must(f, set_mig(f, true));
	must(f, call(f, "create-gi", gi_args(f, 9, 4, 4)));
	must(f, call(f, "create-ci", ci_args(f, 9, 4, 4, 3, 0)));
	inject(f, "busy gpu=0 start=4 pid=99");
	must_fail(f, call(f, "destroy-ci", ci_args(f, 9, 4, 4, 3, 0)), BH_E_IN_USE);
	assert_int_equal(f->err.holders[0].pid, 99);
	assert_true(f->gpu.gis[0].busy);
	assert_true(f->gpu.gis[0].cis[0].busy);
}

static void gpu_is_held_to_its_uuid(void **state)
{
	struct fixture *f = *state;

	(void) snprintf(f->uuid, sizeof(f->uuid), "%s", "GPU-00000000-0000-0000-0000-000000000000");
	must_fail(f, set_mig(f, true), BH_E_NO_SUCH_GPU);
	must_fail(f, observe(f, false), BH_E_NO_SUCH_GPU);
	assert_string_equal(f->err.gpu, f->uuid);
}

/* ---- Ending in the middle ---- */

static void worker_killed_before_or_after_the_call_is_unknown_and_a_fresh_one_sees(void **state)
{
	struct fixture *f = *state;

	must(f, set_mig(f, true));
	inject(f, "fault call=nvmlDeviceCreateGpuInstanceWithPlacement nth=1 error=kill-before");
	assert_int_equal(call(f, "create-gi", gi_args(f, 9, 4, 4)), -1);
	assert_int_equal(f->outcome, BH_CHILD_UNKNOWN);
	start_worker(f);
	must(f, observe(f, false));
	assert_int_equal(f->gpu.n_gis, 0);

	inject(f, "fault call=nvmlDeviceCreateGpuInstanceWithPlacement nth=1 error=kill-after");
	assert_int_equal(call(f, "create-gi", gi_args(f, 9, 4, 4)), -1);
	assert_int_equal(f->outcome, BH_CHILD_UNKNOWN);
	start_worker(f);
	must(f, observe(f, false));
	assert_int_equal(f->gpu.n_gis, 1);
}

static void call_that_takes_too_long_is_unknown(void **state)
{
	struct fixture *f = *state;

	inject(f, "delay call=nvmlDeviceSetMigMode ms=5000 nth=1");
	assert_int_equal(call_within(f, "set-mig",
					 json_pack("{s:s, s:b}", "pci", f->pci, "on", true), 100),
			-1);
	assert_int_equal(f->outcome, BH_CHILD_UNKNOWN);
	assert_int_equal(f->err.code, BH_E_DEADLINE);
	assert_true(bh_child_has_ended(f->worker));
}

static void worker_dies_with_its_parent(void **state)
{
	struct fixture *f = *state;
	int ends[2], status;
	pid_t parent, worker = 0;

	(void) prctl(PR_SET_CHILD_SUBREAPER, 1); /* the orphan becomes ours */
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	parent = fork();
	if (parent == 0) {
		struct fixture mine = *f;

		mine.worker = NULL;
		mine.event = NULL;
		if (sd_event_new(&mine.event) < 0 || spawn_worker(&mine, true, -1) < 0)
			_exit(1);
		worker = bh_child_pid(mine.worker);
		if (write(ends[1], &worker, sizeof(worker)) != sizeof(worker))
			_exit(1);
		/* busy in a call: it does not look at its socket */
		for (;;)
			(void) pause();
	}
	assert_int_equal(read(ends[0], &worker, sizeof(worker)), sizeof(worker));
	/* even one that is stopped, and so cannot notice the end of its socket */
	assert_int_equal(kill(worker, SIGSTOP), 0);
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	(void) close(ends[0]);
	(void) close(ends[1]);
	(void) prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* ---- The lock ---- */

static bool can_lock_exclusively(const struct fixture *f)
{
	int fd = open(f->lock_path, O_RDWR | O_CLOEXEC);
	bool could = flock(fd, LOCK_EX | LOCK_NB) == 0;

	(void) close(fd);
	return could;
}

static void changing_worker_holds_worker_lock_for_as_long_as_it_lives(void **state)
{
	struct fixture *f = *state;
	int status;

	/* our descriptor shares the open file with the worker's: let go of it */
	(void) close(f->lock);
	f->lock = -1;
	assert_false(can_lock_exclusively(f));
	bh_child_free(f->worker);
	f->worker = NULL;
	assert_true(can_lock_exclusively(f));
	assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
}

static void worker_without_the_lock_refuses_to_serve(void **state)
{
	struct fixture *f = *state;
	int other, pipe_ends[2];

	assert_int_equal(spawn_worker(f, /* read_only= */ false, -1), -1);
	assert_int_equal(f->err.code, BH_E_INTERNAL);
	assert_non_null(strstr(f->err.message, "worker.lock"));

	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	assert_int_equal(spawn_worker(f, /* read_only= */ false, pipe_ends[0]), -1);
	assert_int_equal(f->err.code, BH_E_INTERNAL);
	(void) close(pipe_ends[0]);
	(void) close(pipe_ends[1]);

	(void) flock(f->lock, LOCK_UN);
	other = open(f->lock_path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(spawn_worker(f, /* read_only= */ false, f->lock), -1);
	assert_int_equal(f->err.code, BH_E_STATE_LOCKED);
	(void) close(other);
	start_worker(f);
}

static void read_only_worker_needs_no_lock_and_changes_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(spawn_worker(f, /* read_only= */ true, -1), 0);
	must(f, observe(f, true));
	must_fail(f, set_mig(f, true), BH_E_DENIED);
	must_fail(f, call(f, "create-gi", gi_args(f, 9, 4, 4)), BH_E_DENIED);
	must_fail(f, call(f, "destroy-gi", gi_args(f, 9, 4, 4)), BH_E_DENIED);
	must_fail(f, call(f, "create-ci", ci_args(f, 9, 4, 4, 3, 0)), BH_E_DENIED);
	must_fail(f, call(f, "destroy-ci", ci_args(f, 9, 4, 4, 3, 0)), BH_E_DENIED);
	must(f, observe(f, false));
	assert_int_equal(f->gpu.mig_current, BH_MIG_OFF);
}

static void worker_without_a_driver_says_so_instead_of_hello(void **state)
{
	struct fixture *f = *state;

	(void) snprintf(f->driver, sizeof(f->driver), "%s", "sim:/nonexistent");
	assert_int_equal(spawn_worker(f, /* read_only= */ true, -1), -1);
	assert_int_equal(f->err.code, BH_E_NO_DRIVER);
}

/* ---- A hostile parent ---- */

static const struct {
	const char *packet, *says;
	int id; /* of the answer */
} hostile[] = {
		{"", NULL, 0}, /* the end, see below */
		{"x", "not a JSON object", 0}, {"[]", "not an object", 0},
		{"{\"id\":1,\"id\":2,\"op\":\"list\"}", "not a JSON object", 0},
		{"{\"op\":\"list\"}", "'id'", 0}, {"{\"id\":-1,\"op\":\"list\"}", "'id'", 0},
		{"{\"id\":1.5,\"op\":\"list\"}", "'id'", 0},
		{"{\"id\":\"1\",\"op\":\"list\"}", "'id'", 0}, {"{\"id\":5}", "'op'", 5},
		{"{\"id\":5,\"op\":7}", "'op'", 5},
		{"{\"id\":5,\"op\":\"launch\"}", "no operation 'launch'", 5},
		{"{\"id\":5,\"op\":\"list\",\"args\":[]}", "'args'", 5},
		{"{\"id\":5,\"op\":\"list\",\"gpu\":null}", "'gpu'", 5},
		{"{\"id\":5,\"op\":\"list\",\"deadline_ms\":\"soon\"}", "'deadline_ms'", 5},
		{"{\"id\":5,\"op\":\"observe\"}", "'profiles'", 5},
		{"{\"id\":5,\"op\":\"observe\",\"args\":{\"profiles\":true}}", "'pci'", 5},
		{"{\"id\":5,\"op\":\"observe\",\"args\":{\"profiles\":true,\"pci\":7}}", "'pci'",
				5},
		{"{\"id\":5,\"op\":\"observe\",\"args\":{\"profiles\":true,\"pci\":\"0\"}}",
				"'gpu'", 5},
		{"{\"id\":5,\"op\":\"observe\",\"gpu\":\"G\",\"args\":{\"profiles\":true,\"pci\":"
		 "\"%n%s%n\"}}",
				"%n%s%n", 5},
		{"{\"id\":5,\"op\":\"observe\",\"gpu\":\"G\",\"args\":{\"profiles\":true,\"pci\":"
		 "\"0123456789012345678901234567890123456789\"}}",
				"'pci'", 5},
		{"{\"id\":5,\"op\":\"set-mig\",\"gpu\":\"G\",\"args\":{\"pci\":\"0\"}}", "'on'", 5},
		{"{\"id\":5,\"op\":\"set-mig\",\"gpu\":\"G\",\"args\":{\"pci\":\"0\",\"on\":1}}",
				"'on'", 5},
		{"{\"id\":5,\"op\":\"create-gi\",\"gpu\":\"G\",\"args\":{\"pci\":\"0\","
		 "\"profile_id\":-1}}",
				"'profile_id'", 5},
		{"{\"id\":5,\"op\":\"create-gi\",\"gpu\":\"G\",\"args\":{\"pci\":\"0\","
		 "\"profile_id\":4294967296}}",
				"'profile_id'", 5},
		{"{\"id\":5,\"op\":\"create-ci\",\"gpu\":\"G\",\"args\":{\"pci\":\"0\","
		 "\"profile_id\":1,\"start\":0,\"size\":1}}",
				"'slices'", 5},
		{"{\"id\":5,\"op\":"
		 "\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
		 "\xa4"
		 "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4y\xc3\xa4"
		 "\"}",
				"no operation", 5}, /* cut within a character */
};

static json_t *next_packet(int fd)
{
	struct bh_error err;
	json_t *packet = NULL;

	if (bh_packet_receive(fd, &packet, &err) != 0)
		fail_msg("no answer");
	return packet;
}

/* A worker at the end of a bare socket. */
static pid_t launch_bare(const struct fixture *f, int *ret_socket, int *ret_pidfd)
{
	char *argv[] = {(char *) "bulkhead-worker", (char *) "driver", (char *) "--driver",
			(char *) f->driver, NULL};
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), theirs;
	struct bh_launch launch = {.path = WORKER, .argv = argv, .fd4 = f->lock, .output = null};
	struct bh_error err;
	pid_t pid;

	assert_int_equal(bh_packet_pair(ret_socket, &theirs, &err), 0);
	(void) fcntl(*ret_socket, F_SETFL, 0); /* blocking is simpler here */
	launch.fd3 = theirs;
	assert_int_equal(bh_launch(&launch, &pid, ret_pidfd, &err), 0);
	(void) close(theirs);
	(void) close(null);
	json_decref(next_packet(*ret_socket));
	return pid;
}

static void hostile_requests_are_answered_and_survived(void **state)
{
	struct fixture *f = *state;
	bh_auto_free char *big = calloc(1, 200 * 1024);
	int socket, pidfd, status, size = 1 << 20;
	pid_t pid = launch_bare(f, &socket, &pidfd);

	for (size_t i = 1; i < BH_ARRAY_SIZE(hostile); i++) {
		bh_auto_json json_t *answer = NULL;
		const char *message;

		assert_true(send(socket, hostile[i].packet, strlen(hostile[i].packet), 0) > 0);
		answer = next_packet(socket);
		assert_int_equal(json_integer_value(json_object_get(answer, "id")), hostile[i].id);
		message = json_string_value(
				json_object_get(json_object_get(answer, "error"), "message"));
		if (!message || !strstr(message, hostile[i].says))
			fail_msg("%s: %s", hostile[i].packet, message);
	}
	/* larger than a packet may be, where the host lets us send it */
	(void) setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	memset(big, '[', 200 * 1024 - 1);
	if (send(socket, big, 200 * 1024 - 1, 0) > 0)
		json_decref(next_packet(socket));
	else
		print_message("skipped: this host sends no packet of 200 kB\n");
	/* deeply nested within the limit */
	assert_true(send(socket, big, 100 * 1024, 0) > 0);
	json_decref(next_packet(socket));

	/* an empty packet is the end, and so is a closed socket */
	assert_int_equal(send(socket, "", 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void) close(socket);
	(void) close(pidfd);
}

static void worker_ends_when_its_parent_hangs_up(void **state)
{
	struct fixture *f = *state;
	int socket, pidfd, status;
	pid_t pid = launch_bare(f, &socket, &pidfd);

	(void) close(socket);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void) close(pidfd);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
			T(hello_names_the_driver_it_drives),
			T(board_is_divided_and_given_back),
			cmocka_unit_test_setup_teardown(
					ampere_is_reset_inside_the_switch_and_divided, setup_ampere,
					teardown),
			cmocka_unit_test_setup_teardown(board_without_mig_is_observed_and_refused,
					setup_no_mig, teardown),
			T(each_change_that_is_reported_but_not_made_is_not_applied),
			T(gpu_in_use_keeps_its_mode_and_the_process_is_named),
			T(busy_instance_is_seen_and_not_destroyed),
			T(gpu_is_held_to_its_uuid),
			T(worker_killed_before_or_after_the_call_is_unknown_and_a_fresh_one_sees),
			T(call_that_takes_too_long_is_unknown),
			T(worker_dies_with_its_parent),
			T(changing_worker_holds_worker_lock_for_as_long_as_it_lives),
			T(worker_without_the_lock_refuses_to_serve),
			T(read_only_worker_needs_no_lock_and_changes_nothing),
			T(worker_without_a_driver_says_so_instead_of_hello),
			T(hostile_requests_are_answered_and_survived),
			T(worker_ends_when_its_parent_hangs_up),
	};

	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
