/* SPDX-License-Identifier: Apache-2.0 */
/* Injected faults and delays, as a program that calls NVML meets them. */
#include "node.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N(call) node.nvml.call

static struct node node;

static int start(void **state)
{
	node_start(&node, "h100x2");
	return 0;
}

static int stop(void **state)
{
	(void) N(nvmlShutdown)();
	node_stop(&node);
	return 0;
}

static void inject(const char *words)
{
	assert_int_equal(node_ctl(&node, "inject", words), 0);
}

static json_int_t shown(const char *key)
{
	json_t *node_json = node_show(&node);
	json_int_t n = json_integer_value(json_object_get(node_json, key));

	json_decref(node_json);
	return n;
}

static json_int_t calls(const char *name)
{
	json_t *node_json = node_show(&node);
	json_int_t n = json_integer_value(
			json_object_get(json_object_get(node_json, "calls"), name));

	json_decref(node_json);
	return n;
}

static unsigned int n_instances(unsigned int gpu)
{
	json_t *node_json = node_show(&node);
	size_t n = json_array_size(json_object_get(
			json_array_get(json_object_get(node_json, "gpus"), gpu), "instances"));

	json_decref(node_json);
	return (unsigned int) n;
}

static int64_t now_ms(void)
{
	struct timespec t;

	(void) clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void the_nth_call_fails_once_counted_from_the_injection(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	unsigned int a, b;

	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_SUCCESS);
	inject("fault call=nvmlDeviceGetMigMode nth=2 error=NVML_ERROR_GPU_IS_LOST");
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_SUCCESS);
	assert_int_equal(shown("faults"), 0);
}

static void a_fault_without_number_stays_until_cleared_and_nothing_is_done(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	nvmlGpuInstance_t gi;

	inject("fault call=nvmlDeviceCreateGpuInstance error=NVML_ERROR_UNKNOWN");
	for (int i = 0; i < 3; i++)
		assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi), NVML_ERROR_UNKNOWN);
	assert_int_equal(n_instances(0), 0);
	inject("clear");
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi), NVML_SUCCESS);
	assert_int_equal(n_instances(0), 1);
}

static void a_fault_acts_in_another_process(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	pid_t child;
	int status;

	inject("fault call=nvmlDeviceGetMigMode nth=1 error=NVML_ERROR_TIMEOUT");
	child = fork();
	if (child == 0) {
		unsigned int a, b;

		_exit((int) N(nvmlDeviceGetMigMode)(gpu, &a, &b));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), NVML_ERROR_TIMEOUT);
}

static void silent_answers_well_and_changes_nothing(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1), other = node_gpu(&node, 1, 0);
	nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
	nvmlGpuInstanceInfo_t info;
	nvmlGpuInstance_t gi = NULL, kept = node_create(&node, gpu, 14);
	unsigned int current, pending;

	inject("fault call=nvmlDeviceCreateGpuInstance nth=1 error=silent");
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi), NVML_SUCCESS);
	assert_non_null(gi);
	assert_int_equal(N(nvmlGpuInstanceGetInfo)(gi, &info), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(n_instances(0), 1);
	/* what takes its slot later is not reached by the handle that was given out */
	assert_non_null(node_create(&node, gpu, 19));
	assert_int_equal(N(nvmlGpuInstanceGetInfo)(gi, &info), NVML_ERROR_INVALID_ARGUMENT);
	inject("fault call=nvmlGpuInstanceDestroy nth=1 error=silent");
	assert_int_equal(N(nvmlGpuInstanceDestroy)(kept), NVML_SUCCESS);
	assert_int_equal(node_info(&node, kept).profileId, 14);
	inject("fault call=nvmlDeviceSetMigMode nth=1 error=silent");
	assert_int_equal(N(nvmlDeviceSetMigMode)(other, 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigMode)(other, &current, &pending), NVML_SUCCESS);
	assert_int_equal(current + pending, 0);
	assert_int_equal(node_ctl(&node, "check", ""), 0);
}

static int killed_while_creating(nvmlDevice_t gpu)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		nvmlGpuInstance_t gi;

		_exit((int) N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void kill_before_leaves_the_change_undone_and_kill_after_done(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);

	inject("fault call=nvmlDeviceCreateGpuInstance nth=1 error=kill-before");
	assert_int_equal(killed_while_creating(gpu), SIGKILL);
	assert_int_equal(n_instances(0), 0);
	inject("fault call=nvmlDeviceCreateGpuInstance nth=1 error=kill-after");
	assert_int_equal(killed_while_creating(gpu), SIGKILL);
	assert_int_equal(n_instances(0), 1);
	assert_int_equal(killed_while_creating(gpu), 0);
	assert_int_equal(calls("nvmlDeviceCreateGpuInstance"), 3);
}

static void a_delay_makes_one_call_slow(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	unsigned int a, b;
	int64_t before;

	inject("delay call=nvmlDeviceGetMigMode ms=80 nth=1");
	before = now_ms();
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_SUCCESS);
	assert_true(now_ms() - before >= 80);
	assert_int_equal(shown("faults"), 0); /* used up: the next is not slow */
}

static void a_detached_call_brings_its_result_and_output_back(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	nvmlGpuInstance_t gi = NULL;

	inject("delay call=nvmlDeviceCreateGpuInstance ms=20 nth=1 detached=1");
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 14, &gi), NVML_SUCCESS);
	assert_int_equal(node_info(&node, gi).profileId, 14);
	inject("delay call=nvmlDeviceCreateGpuInstance ms=1 nth=1 detached=1");
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 0, &gi),
			NVML_ERROR_INSUFFICIENT_RESOURCES);
	assert_int_equal(calls("nvmlDeviceCreateGpuInstance"), 2); /* each once */
}

/* The child keeps what the caller inherited: seen by the end of file of a pipe. */
static void a_detached_call_acts_though_its_caller_was_killed(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	int held[2], status;
	pid_t caller;
	char byte;

	inject("delay call=nvmlDeviceCreateGpuInstance ms=300 nth=1 detached=1");
	assert_int_equal(pipe(held), 0);
	caller = fork();
	if (caller == 0) {
		nvmlGpuInstance_t gi;

		(void) close(held[0]);
		_exit((int) N(nvmlDeviceCreateGpuInstance)(gpu, 19, &gi));
	}
	(void) close(held[1]);
	while (calls("nvmlDeviceCreateGpuInstance") < 1)
		(void) usleep(1000);
	(void) usleep(20000); /* it has forked by now, and sleeps */
	(void) kill(caller, SIGKILL);
	assert_int_equal(waitpid(caller, &status, 0), caller);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(n_instances(0), 0);
	assert_int_equal(read(held[0], &byte, 1), 0); /* blocks until the child is gone */
	(void) close(held[0]);
	assert_int_equal(n_instances(0), 1);
	assert_int_equal(node_ctl(&node, "check", ""), 0);
}

static void calls_are_counted_as_changing_or_reading_failed_ones_too(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	json_int_t changing = shown("changing_calls"), reads = shown("reads");
	nvmlGpuInstance_t gi;
	unsigned int a, b;

	assert_int_equal(changing, 1);
	assert_int_equal(N(nvmlDeviceCreateGpuInstance)(gpu, 12345, &gi),
			NVML_ERROR_INVALID_ARGUMENT);
	inject("fault call=nvmlGpuInstanceDestroy error=NVML_ERROR_UNKNOWN");
	assert_int_equal(N(nvmlGpuInstanceDestroy)(NULL), NVML_ERROR_UNKNOWN);
	assert_int_equal(shown("changing_calls"), changing + 2);
	assert_int_equal(shown("reads"), reads);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_SUCCESS);
	assert_int_equal(shown("changing_calls"), changing + 2);
	assert_int_equal(shown("reads"), reads + 1);
}

static void wrong_injections_are_refused_and_leave_nothing(void **state)
{
	static const char *const wrong[] = {
			"fault call=nvmlNoSuchThing error=silent",
			"fault call=nvmlShutdown error=NVML_ERROR_NONSENSE",
			"fault call=nvmlShutdown error=silent nth=0",
			"fault call=nvmlShutdown error=silent colour=blue",
			"delay call=nvmlShutdown",
			"holder gpu=2 kind=process",
			"holder gpu=0 kind=ghost",
			"busy gpu=0 start=0",
			"nonsense",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(node_ctl(&node, "inject", wrong[i]), 2);
	assert_int_equal(shown("faults"), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
			T(the_nth_call_fails_once_counted_from_the_injection),
			T(a_fault_without_number_stays_until_cleared_and_nothing_is_done),
			T(a_fault_acts_in_another_process),
			T(silent_answers_well_and_changes_nothing),
			T(kill_before_leaves_the_change_undone_and_kill_after_done),
			T(a_delay_makes_one_call_slow),
			T(a_detached_call_brings_its_result_and_output_back),
			T(a_detached_call_acts_though_its_caller_was_killed),
			T(calls_are_counted_as_changing_or_reading_failed_ones_too),
			T(wrong_injections_are_refused_and_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
