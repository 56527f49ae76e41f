/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a node and of the processes on it: reboots, sessions, the dead, identities. */
#include "node.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define N(call) node.nvml.call

static struct node node;

static void mode_of(unsigned int *current, unsigned int *pending)
{
	nvmlDevice_t gpu;

	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, current, pending), NVML_SUCCESS);
}

static void expect_after(const char *machine, const char *how, unsigned int mode)
{
	unsigned int current, pending;
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu, again;

	node_start(&node, machine);
	gpu = node_gpu(&node, 0, 1);
	gi = node_create(&node, gpu, 0);
	assert_non_null(gi);
	assert_int_equal(node_ctl(&node, "reboot", how), 0);
	/* the session is of the former life, and so are all handles */
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(0, &again), NVML_ERROR_UNINITIALIZED);
	mode_of(&current, &pending);
	assert_int_equal(current, mode);
	assert_int_equal(pending, mode);
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &current, &pending),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(node_ctl(&node, "check", ""), 0);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void ampere_keeps_the_mode_over_a_reboot_and_loses_instances(void **state)
{
	expect_after("a100x1-40gb", "", 1);
	expect_after("a30x1", "--module-reload", 1);
}

static void hopper_and_later_lose_the_mode_over_a_reboot(void **state)
{
	expect_after("h100x1", "", 0);
	expect_after("h100x1", "--module-reload", 0);
	expect_after("b200x1", "", 0);
}

static void a_pending_mode_is_current_after_a_reboot_of_ampere_assumed(void **state)
{
	unsigned int current, pending;
	nvmlReturn_t activation;
	nvmlDevice_t gpu;

	node_start(&node, "a100x1-40gb");
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(node_ctl(&node, "inject", "mode-pending gpu=0"), 0);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_ERROR_RESET_REQUIRED);
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	mode_of(&current, &pending);
	assert_int_equal(current, 1);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void a_reboot_ends_all_holders_and_a_reload_is_refused_over_one(void **state)
{
	json_t *shown;

	node_start(&node, "h100x1");
	assert_int_equal(node_ctl(&node, "inject", "holder gpu=0 kind=module name=nvidia_drm"), 0);
	assert_int_equal(node_ctl(&node, "reboot", "--module-reload"), 4);
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	shown = node_show(&node);
	assert_int_equal(json_array_size(json_object_get(
					 json_array_get(json_object_get(shown, "gpus"), 0),
					 "holders")),
			0);
	json_decref(shown);
	node_stop(&node);
}

static size_t n_clients(void)
{
	json_t *shown = node_show(&node);
	size_t n = json_array_size(json_object_get(shown, "clients"));

	json_decref(shown);
	return n;
}

/* Forks a process that opens a session and GPU 0, and waits until it has. */
static pid_t fork_client(int close_everything)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		nvmlDevice_t gpu;

		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody */
		if (N(nvmlInit_v2)() != NVML_SUCCESS ||
				N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu) != NVML_SUCCESS)
			_exit(1);
		if (close_everything) {
			for (int fd = 3; fd < 64; fd++) {
				if (fd != ready[1])
					(void) close(fd);
			}
			/* the next call notices and attaches again */
			if (N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu) != NVML_SUCCESS)
				_exit(1);
		}
		(void) !write(ready[1], "x", 1);
		(void) pause();
		_exit(0);
	}
	(void) close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void) close(ready[0]);
	return child;
}

static void a_dead_process_is_found_and_gives_back_what_it_held(void **state)
{
	nvmlReturn_t activation;
	nvmlDevice_t gpu;
	pid_t child;

	node_start(&node, "a100x1-40gb");
	assert_int_equal(node_ctl(&node, "inject", "sessions hold=1"), 0);
	child = fork_client(0);
	assert_int_equal(n_clients(), 1);
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(n_clients(), 2);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_ERROR_IN_USE);
	(void) kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	assert_int_equal(n_clients(), 1);
	(void) N(nvmlShutdown)();
	assert_int_equal(n_clients(), 0);
	node_stop(&node);
}

static void a_session_alone_does_not_keep_a_gpu_busy_assumed(void **state)
{
	nvmlReturn_t activation;
	nvmlDevice_t gpu;
	pid_t child;

	node_start(&node, "a100x1-40gb");
	child = fork_client(0);
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	(void) kill(child, SIGKILL);
	(void) waitpid(child, NULL, 0);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void a_process_that_closes_all_descriptors_is_still_alive_here(void **state)
{
	pid_t child;

	node_start(&node, "a100x1-40gb");
	child = fork_client(1);
	assert_int_equal(n_clients(), 1);
	(void) kill(child, SIGKILL);
	(void) waitpid(child, NULL, 0);
	assert_int_equal(n_clients(), 0);
	node_stop(&node);
}

static void nothing_answers_without_a_session(void **state)
{
	unsigned int n;

	node_start(&node, "h100x1");
	assert_int_equal(N(nvmlDeviceGetCount_v2)(&n), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(N(nvmlShutdown)(), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlShutdown)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetCount_v2)(&n), NVML_SUCCESS);
	assert_int_equal(N(nvmlShutdown)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetCount_v2)(&n), NVML_ERROR_UNINITIALIZED);
	assert_string_equal(N(nvmlErrorString)(NVML_ERROR_IN_USE), "In use by another client");
	node_stop(&node);
}

static void identities_follow_from_the_machine_and_are_distinct(void **state)
{
	char uuid[2][16][96], pci[16][32];
	nvmlPciInfo_t info;
	nvmlDevice_t gpu, found;

	for (int round = 0; round < 2; round++) {
		node_start(&node, "h100x16");
		assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
		for (unsigned int i = 0; i < 16; i++) {
			assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(i, &gpu), NVML_SUCCESS);
			assert_int_equal(N(nvmlDeviceGetUUID)(gpu, uuid[round][i], 96),
					NVML_SUCCESS);
			assert_int_equal(N(nvmlDeviceGetPciInfo_v3)(gpu, &info), NVML_SUCCESS);
			assert_int_equal(info.pciDeviceId, 0x233010DE);
			(void) snprintf(pci[i], sizeof(pci[i]), "%s", info.busId);
			assert_int_equal(N(nvmlDeviceGetHandleByPciBusId_v2)(info.busId, &found),
					NVML_SUCCESS);
			assert_ptr_equal(found, gpu);
			for (unsigned int j = 0; j < i; j++) {
				assert_string_not_equal(uuid[round][i], uuid[round][j]);
				assert_string_not_equal(pci[i], pci[j]);
			}
		}
		assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(16, &gpu),
				NVML_ERROR_INVALID_ARGUMENT);
		(void) N(nvmlShutdown)();
		node_stop(&node);
	}
	assert_string_equal(uuid[0][3], uuid[1][3]);
}

static void a_folder_with_a_node_is_not_overwritten(void **state)
{
	char words[128], dir[sizeof(node.dir)];

	node_start(&node, "h100x1");
	(void) snprintf(dir, sizeof(dir), "%s", node.dir);
	(void) snprintf(words, sizeof(words), "--dir %s", dir);
	(void) snprintf(node.dir, sizeof(node.dir), "h100x2"); /* create MACHINE --dir DIR */
	assert_int_equal(node_ctl(&node, "create", words), 2);
	(void) snprintf(words, sizeof(words), "--force --dir %s", dir);
	assert_int_equal(node_ctl(&node, "create", words), 0);
	(void) snprintf(node.dir, sizeof(node.dir), "b300-269gbx1");
	assert_int_equal(node_ctl(&node, "create", words), 3);
	(void) snprintf(node.dir, sizeof(node.dir), "toasterx1");
	assert_int_equal(node_ctl(&node, "create", words), 2);
	(void) snprintf(node.dir, sizeof(node.dir), "%s", dir);
	assert_int_equal(node_ctl(&node, "check", ""), 0);
	node_stop(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(ampere_keeps_the_mode_over_a_reboot_and_loses_instances),
			cmocka_unit_test(hopper_and_later_lose_the_mode_over_a_reboot),
			cmocka_unit_test(
					a_pending_mode_is_current_after_a_reboot_of_ampere_assumed),
			cmocka_unit_test(
					a_reboot_ends_all_holders_and_a_reload_is_refused_over_one),
			cmocka_unit_test(a_dead_process_is_found_and_gives_back_what_it_held),
			cmocka_unit_test(a_session_alone_does_not_keep_a_gpu_busy_assumed),
			cmocka_unit_test(a_process_that_closes_all_descriptors_is_still_alive_here),
			cmocka_unit_test(nothing_answers_without_a_session),
			cmocka_unit_test(identities_follow_from_the_machine_and_are_distinct),
			cmocka_unit_test(a_folder_with_a_node_is_not_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
