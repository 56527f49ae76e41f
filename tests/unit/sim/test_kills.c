/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand processes killed at random moments inside the simulated library: after each, another
 * process finds the state sound. The number of kills that hit a change half-way is printed and must
 * not be nothing, or the test would prove nothing.
 */
#include "node.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N(call) node.nvml.call
#define KILLS	1000

static struct node node;

/* Makes and removes instances on two GPUs until killed. */
static void work(const nvmlDevice_t gpus[2], unsigned int seed)
{
	static const unsigned int ids[] = {19, 14, 9, 15};

	for (;;) {
		nvmlDevice_t gpu = gpus[rand_r(&seed) % 2];
		nvmlGpuInstance_t gi, list[8];
		nvmlComputeInstance_t ci;
		unsigned int n = 0, id = ids[rand_r(&seed) % 4];

		if (N(nvmlDeviceCreateGpuInstance)(gpu, id, &gi) == NVML_SUCCESS) {
			(void) N(nvmlGpuInstanceCreateComputeInstance)(gi, id == 15 ? 7 : 0, &ci);
			continue;
		}
		if (N(nvmlDeviceGetGpuInstances)(gpu, id, list, &n) != NVML_SUCCESS)
			continue;
		for (unsigned int i = 0; i < n; i++) {
			nvmlComputeInstance_t cis[8];
			unsigned int m = 0;

			(void) N(nvmlGpuInstanceGetComputeInstances)(
					list[i], id == 15 ? 7 : 0, cis, &m);
			for (unsigned int j = 0; j < m; j++)
				(void) N(nvmlComputeInstanceDestroy)(cis[j]);
			(void) N(nvmlGpuInstanceDestroy)(list[i]);
		}
	}
}

static pid_t start_worker(const nvmlDevice_t gpus[2], unsigned int seed)
{
	pid_t child = fork();

	if (child == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody */
		work(gpus, seed);
	}
	return child;
}

static json_int_t lock_count(const char *key)
{
	json_t *shown = node_show(&node);
	json_int_t n = json_integer_value(json_object_get(json_object_get(shown, "lock"), key));

	json_decref(shown);
	return n;
}

static void a_thousand_kills_leave_no_torn_state(void **state)
{
	unsigned int seed = (unsigned int) time(NULL) ^ (unsigned int) getpid(), torn = 0,
		     kills = 0;
	const char *given = getenv("BH_TEST_SEED");
	char proc[96], aside[128];
	nvmlDevice_t gpus[2];
	json_int_t undone;

	if (given)
		seed = (unsigned int) strtoul(given, NULL, 10);
	print_message("seed %u (BH_TEST_SEED)\n", seed);
	node_start(&node, "h100x2");
	/* without files to write nearly all kills hit the state; those are test_access's */
	(void) snprintf(proc, sizeof(proc), "%s/proc", node.dir);
	(void) snprintf(aside, sizeof(aside), "%s.aside", proc);
	assert_int_equal(rename(proc, aside), 0);
	gpus[0] = node_gpu(&node, 0, 1);
	gpus[1] = node_gpu(&node, 1, 1);
	while (kills < KILLS) {
		/* alone, then two at a time: the one left meets what the killed one left */
		int n = kills < KILLS / 2 ? 1 : 2;
		pid_t workers[2];

		for (int w = 0; w < n; w++)
			workers[w] = start_worker(gpus, (unsigned int) rand_r(&seed));
		for (int w = 0; w < n; w++) {
			(void) usleep((unsigned int) rand_r(&seed) % 3000);
			(void) kill(workers[w], SIGKILL);
			assert_int_equal(waitpid(workers[w], NULL, 0), workers[w]);
			kills++;
			torn += node_ctl(&node, "check", "") != 0;
		}
	}
	undone = lock_count("undone");
	print_message("%u kills, %lld with the lock held, %lld half-way through a change, %u "
		      "torn\n",
			kills, (long long) lock_count("deaths"), (long long) undone, torn);
	assert_int_equal(torn, 0);
	assert_true(undone > 0);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_thousand_kills_leave_no_torn_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
