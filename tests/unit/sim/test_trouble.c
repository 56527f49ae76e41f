/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that misbehave as a whole, the node's clock, and a lock that is not to be had. */
#include "node.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/state.h"

#define N(call) node.nvml.call
#define FREEZER "/sys/fs/cgroup/freezer"

static struct node node;

static int start(void **state)
{
	node_start(&node, "h100x3");
	return 0;
}

static int stop(void **state)
{
	(void) node_ctl(&node, "inject", "clear");
	(void) N(nvmlShutdown)();
	node_stop(&node);
	return 0;
}

static void inject(const char *words)
{
	assert_int_equal(node_ctl(&node, "inject", words), 0);
}

static int64_t now_ms(void)
{
	struct timespec t;

	(void) clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t mode_query_ms(nvmlDevice_t gpu)
{
	int64_t before = now_ms();
	unsigned int a, b;

	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_SUCCESS);
	return now_ms() - before;
}

/* Handles that were open before, of every kind, and looking it up. Rests on an assumption for MIG. */
static void a_lost_gpu_says_so_to_every_call_and_the_others_work_assumed(void **state)
{
	nvmlDevice_t lost = node_gpu(&node, 1, 1), other, device, found;
	nvmlGpuInstance_t gi = node_create(&node, lost, 19);
	char uuid[96], other_uuid[96], mig_uuid[96];
	nvmlComputeInstanceInfo_t ci_info;
	nvmlComputeInstance_t ci;
	nvmlGpuInstanceInfo_t info;
	nvmlReturn_t activation;
	unsigned int n;
	nvmlPciInfo_t pci;
	nvmlMemory_t memory;

	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &ci), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(lost, 0, &device), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(lost, uuid, sizeof(uuid)), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(device, mig_uuid, sizeof(mig_uuid)), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetPciInfo_v3)(lost, &pci), NVML_SUCCESS);
	inject("lost gpu=1");

	assert_int_equal(N(nvmlDeviceGetMemoryInfo)(lost, &memory), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlDeviceSetMigMode)(lost, 0, &activation), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlDeviceGetUUID)(device, mig_uuid, 96), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlGpuInstanceGetInfo)(gi, &info), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlComputeInstanceGetInfo_v2)(ci, &ci_info), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(1, &found), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(N(nvmlDeviceGetHandleByPciBusId_v2)(pci.busId, &found),
			NVML_ERROR_GPU_IS_LOST);

	assert_int_equal(N(nvmlDeviceGetCount_v2)(&n), NVML_SUCCESS);
	assert_int_equal(n, 3);
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(2, &other), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(other, other_uuid, 96), NVML_SUCCESS);
	/* header: by UUID "if any GPU has fallen off the bus" */
	assert_int_equal(N(nvmlDeviceGetHandleByUUID)(other_uuid, &found), NVML_ERROR_GPU_IS_LOST);

	inject("release gpu=1");
	assert_int_equal(N(nvmlGpuInstanceGetInfo)(gi, &info), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetHandleByUUID)(uuid, &found), NVML_SUCCESS);
}

static void a_reboot_brings_a_lost_gpu_back_and_a_module_reload_does_not(void **state)
{
	nvmlDevice_t gpu;

	inject("lost gpu=0");
	assert_int_equal(node_ctl(&node, "reboot", "--module-reload"), 0);
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu), NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu), NVML_SUCCESS);
}

static void calls_on_a_slow_gpu_take_so_long_and_others_do_not(void **state)
{
	nvmlDevice_t slow = node_gpu(&node, 0, 0), quick = node_gpu(&node, 1, 0);

	inject("slow gpu=0 ms=150");
	assert_in_range(mode_query_ms(slow), 145, 5000);
	assert_in_range(mode_query_ms(quick), 0, 100);
	inject("clear");
	assert_in_range(mode_query_ms(slow), 0, 100);
}

/* Nobody holds the node's lock while a call is slow. */
static void a_slow_call_keeps_nobody_else_waiting(void **state)
{
	nvmlDevice_t slow = node_gpu(&node, 0, 0), quick = node_gpu(&node, 1, 0);
	pid_t child;

	inject("slow gpu=0 ms=60000");
	child = fork();
	if (child == 0)
		_exit(mode_query_ms(slow) > 0);
	(void) usleep(200000); /* it is in its call by now */
	for (int i = 0; i < 20; i++)
		assert_in_range(mode_query_ms(quick), 0, 100);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_delay_runs_on_the_nodes_clock_and_a_step_ends_it(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	int64_t before = now_ms();
	unsigned int a, b;
	pid_t child;
	int status;

	inject("slow gpu=0 ms=20000");
	assert_int_equal(node_ctl(&node, "clock", "scale=100"), 0);
	assert_in_range(mode_query_ms(gpu), 195, 5000);
	assert_int_equal(node_ctl(&node, "clock", "real"), 0);
	child = fork();
	if (child == 0)
		_exit(N(nvmlDeviceGetMigMode)(gpu, &a, &b));
	(void) usleep(200000);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	assert_int_equal(node_ctl(&node, "clock", "step=20000"), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_in_range(now_ms() - before, 0, 10000);
}

static json_int_t shown_ms(void)
{
	json_t *shown = node_show(&node);
	json_int_t ms = json_integer_value(
			json_object_get(json_object_get(shown, "clock"), "now_ms"));

	json_decref(shown);
	return ms;
}

static void the_clock_steps_forwards_and_shows_real_time_again(void **state)
{
	assert_in_range(shown_ms(), (json_int_t) time(NULL) * 1000 - 1000,
			time(NULL) * 1000 + 5000);
	assert_int_equal(node_ctl(&node, "clock", "step=3600000"), 0);
	assert_in_range(shown_ms(), (json_int_t) time(NULL) * 1000 + 3599000,
			time(NULL) * 1000 + 3605000);
	assert_int_equal(node_ctl(&node, "clock", "real"), 0);
	assert_in_range(shown_ms(), (json_int_t) time(NULL) * 1000 - 1000,
			time(NULL) * 1000 + 5000);
}

static void words_that_mean_no_clock_and_no_gpu_are_refused(void **state)
{
	static const char *const clocks[] = {"", "fast", "scale=0", "scale=-1", "scale=1x",
			"scale=", "scale=1e12", "scale=nan", "step=0", "step=99999999999",
			"real now"};
	static const char *const injections[] = {"lost", "lost gpu=3", "slow gpu=0", "slow ms=1",
			"slow gpu=0 ms=-1", "slow gpu=0 ms=1 unkillable=2", "lost gpu=0 ms=1"};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (node_ctl(&node, "clock", clocks[i]) != 2)
			fail_msg("clock %s", clocks[i]);
	}
	for (size_t i = 0; i < sizeof(injections) / sizeof(injections[0]); i++) {
		if (node_ctl(&node, "inject", injections[i]) != 2)
			fail_msg("inject %s", injections[i]);
	}
}

static char state_of(pid_t pid)
{
	char path[64], letter = '?';
	FILE *file;

	(void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	file = fopen(path, "r");
	if (file) {
		(void) fscanf(file, "%*d (%*[^)]) %c", &letter);
		(void) fclose(file);
	}
	return letter;
}

static int n_freezers(void)
{
	DIR *dir = opendir(FREEZER);
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)))
		n += strncmp(entry->d_name, "bulkhead-sim-", strlen("bulkhead-sim-")) == 0;
	if (dir)
		(void) closedir(dir);
	return n;
}

static void a_caller_of_an_unkillable_gpu_outlives_sigkill_until_it_is_released(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	int before = n_freezers();
	unsigned int a, b;
	pid_t child;

	if (access(FREEZER "/cgroup.procs", W_OK) < 0) {
		assert_int_equal(node_ctl(&node, "inject", "slow gpu=0 ms=1 unkillable=1"), 1);
		print_message("skipped: no v1 freezer at " FREEZER "\n");
		skip();
	}
	inject("slow gpu=0 ms=1 unkillable=1");
	assert_int_equal(n_freezers(), before + 1);
	child = fork();
	if (child == 0)
		_exit(N(nvmlDeviceGetMigMode)(gpu, &a, &b));
	for (int i = 0; i < 5000 && state_of(child) != 'D'; i++)
		(void) usleep(1000);
	assert_int_equal(kill(child, SIGKILL), 0);
	(void) usleep(200000);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	inject("release gpu=0");
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(n_freezers(), before);
	assert_in_range(mode_query_ms(gpu), 0, 100);
}

static struct sim_state *map_state(void)
{
	char path[128];
	void *at;
	int fd;

	(void) snprintf(path, sizeof(path), "%s/state", node.dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	at = mmap(NULL, sizeof(struct sim_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED);
	(void) close(fd);
	return at;
}

static void a_stopped_owner_of_the_lock_makes_calls_time_out_and_nothing_is_lost(void **state)
{
	struct sim_state *s = map_state();
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	int64_t before;
	unsigned int a, b;
	pid_t child = fork();

	if (child == 0) {
		(void) pthread_mutex_lock(&s->lock);
		(void) raise(SIGSTOP);
		(void) pthread_mutex_unlock(&s->lock);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	before = now_ms();
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_ERROR_TIMEOUT);
	assert_in_range(now_ms() - before, 9000, 15000);
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_SUCCESS);
	(void) munmap(s, sizeof(*s));
}

static void a_lock_that_nobody_can_give_back_wedges_the_node_and_the_tool_says_so(void **state)
{
	struct sim_state *s = map_state();
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	unsigned int a, b;

	(void) gpu;
	s->lock.__data.__lock = 1; /* the first process: alive for ever */
	assert_int_equal(node_ctl(&node, "show", ""), 1);
	s->lock.__data.__lock = 0;
	s->lock.__data.__owner = 0x7FFFFFFE; /* given up as not to be mended */
	assert_int_equal(node_ctl(&node, "check", ""), 1);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &a, &b), NVML_ERROR_TIMEOUT);
	s->lock.__data.__kind ^= 0x20; /* another protocol */
	assert_int_equal(node_ctl(&node, "inject", "clear"), 2);
	(void) munmap(s, sizeof(*s));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
			CASE(a_lost_gpu_says_so_to_every_call_and_the_others_work_assumed),
			CASE(a_reboot_brings_a_lost_gpu_back_and_a_module_reload_does_not),
			CASE(calls_on_a_slow_gpu_take_so_long_and_others_do_not),
			CASE(a_slow_call_keeps_nobody_else_waiting),
			CASE(a_delay_runs_on_the_nodes_clock_and_a_step_ends_it),
			CASE(the_clock_steps_forwards_and_shows_real_time_again),
			CASE(words_that_mean_no_clock_and_no_gpu_are_refused),
			CASE(a_caller_of_an_unkillable_gpu_outlives_sigkill_until_it_is_released),
			CASE(a_stopped_owner_of_the_lock_makes_calls_time_out_and_nothing_is_lost),
			CASE(a_lock_that_nobody_can_give_back_wedges_the_node_and_the_tool_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
