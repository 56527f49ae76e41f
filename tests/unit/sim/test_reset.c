/* SPDX-License-Identifier: Apache-2.0 */
/* The reset of a GPU by the tool of the node: what goes, what stays, who refuses it, in which words. */
#include "node.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define N(call) node.nvml.call

static struct node node;
static char said[4096]; /* by the last smi() */

/* Runs DIR/bin/nvidia-smi; return: its exit status. */
static int smi(const char *first, const char *second, const char *third)
{
	char path[128];
	int ends[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t child;

	(void) snprintf(path, sizeof(path), "%s/bin/nvidia-smi", node.dir);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		(void) dup2(ends[1], STDOUT_FILENO);
		(void) execl(path, "nvidia-smi", first, second, third, (char *) NULL);
		_exit(127);
	}
	(void) close(ends[1]);
	while ((got = read(ends[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t) got;
	said[n] = '\0';
	(void) close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int n_resets(size_t gpu)
{
	json_t *shown = node_show(&node);
	int n = (int) json_integer_value(json_object_get(
			json_array_get(json_object_get(shown, "gpus"), gpu), "resets"));

	json_decref(shown);
	return n;
}

static void modes(unsigned int *current, unsigned int *pending)
{
	assert_int_equal(N(nvmlDeviceGetMigMode)(node_gpu(&node, 0, 0), current, pending),
			NVML_SUCCESS);
	(void) N(nvmlShutdown)();
}

static void a_reset_takes_instances_and_their_handles_and_leaves_the_neighbour(void **state)
{
	nvmlComputeInstance_t ci;
	nvmlGpuInstance_t gi, other;
	nvmlGpuInstanceInfo_t info;
	unsigned int current, pending;

	node_start(&node, "a100-40gb,a100-80gb"); /* not joined by NVLinks */
	gi = node_create(&node, node_gpu(&node, 0, 1), 0);
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &ci), NVML_SUCCESS);
	other = node_create(&node, node_gpu(&node, 1, 1), 0);
	assert_non_null(other);
	(void) N(nvmlShutdown)();
	(void) N(nvmlShutdown)();
	assert_int_equal(n_resets(0), 1); /* switching the mode took one */
	assert_int_equal(smi("--gpu-reset", "-i", "00000000:17:00.0"), 0);
	assert_string_equal(said, "GPU 00000000:17:00.0 was successfully reset.\n");
	assert_int_equal(n_resets(0), 2);
	assert_int_equal(n_resets(1), 1);
	assert_int_equal(node_ctl(&node, "check", ""), 0);
	(void) node_gpu(&node, 0, 0);
	(void) node_gpu(&node, 1, 0);
	assert_int_equal(N(nvmlGpuInstanceGetInfo)(gi, &info), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlGpuInstanceGetInfo)(other, &info), NVML_SUCCESS);
	(void) N(nvmlShutdown)();
	(void) N(nvmlShutdown)();
	modes(&current, &pending);
	assert_int_equal(current, 1);
	assert_int_equal(pending, 1);
	node_stop(&node);
}

static void files_of_instances_go_with_the_reset(void **state)
{
	char path[128];

	node_start(&node, "h100x1");
	assert_non_null(node_create(&node, node_gpu(&node, 0, 1), 0));
	(void) N(nvmlShutdown)();
	(void) snprintf(path, sizeof(path),
			"%s/proc/driver/nvidia/capabilities/gpu0/mig/gi0/access", node.dir);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(smi("-r", NULL, NULL), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	node_stop(&node);
}

static void pend(const char *machine)
{
	nvmlReturn_t activation;

	node_start(&node, machine);
	assert_int_equal(node_ctl(&node, "inject",
					 "holder gpu=0 kind=daemon name=nvidia-persistenced"),
			0);
	assert_int_equal(N(nvmlDeviceSetMigMode)(node_gpu(&node, 0, 0), 1, &activation),
			NVML_SUCCESS);
	assert_int_equal(activation, NVML_ERROR_IN_USE);
	(void) N(nvmlShutdown)();
}

static void a_holder_refuses_and_after_him_a_pending_mode_becomes_current_assumed(void **state)
{
	static const char *const machines[] = {"a100x1-40gb", "h100x1"};
	unsigned int current, pending;

	for (size_t i = 0; i < 2; i++) {
		pend(machines[i]);
		assert_int_equal(smi("--gpu-reset", "-i", "0"), 255);
		assert_non_null(strstr(said, "The following GPUs could not be reset:\n"
					     "  GPU 00000000:17:00.0: In use by another client\n\n"
					     "1 device is currently being used by"));
		modes(&current, &pending);
		assert_int_equal(current, 0);
		assert_int_equal(pending, 1);
		assert_int_equal(node_ctl(&node, "inject", "release gpu=0"), 0);
		assert_int_equal(smi("--gpu-reset", "-i", "0"), 0);
		modes(&current, &pending);
		assert_int_equal(current, 1);
		node_stop(&node);
	}
}

static void a_process_that_has_the_gpu_open_refuses_it_and_its_neighbour_not(void **state)
{
	int ready[2];
	pid_t child;
	char byte;

	node_start(&node, "h100x2");
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		nvmlDevice_t gpu;

		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (N(nvmlInit_v2)() != NVML_SUCCESS ||
				N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu) != NVML_SUCCESS)
			_exit(1);
		(void) !write(ready[1], "x", 1);
		(void) pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(smi("--gpu-reset", NULL, NULL), 255);
	assert_non_null(strstr(said, "GPU 00000000:1F:00.0 was successfully reset.\n"));
	assert_non_null(strstr(said, "  GPU 00000000:17:00.0: In use by another client\n"));
	assert_int_equal(n_resets(0), 0);
	assert_int_equal(n_resets(1), 1);
	(void) kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(smi("--gpu-reset", "-i", "0"), 0);
	(void) close(ready[0]);
	(void) close(ready[1]);
	node_stop(&node);
}

static void where_reset_is_unsupported_nothing_changes_also_after_a_reboot(void **state)
{
	node_start(&node, "a100-40gb,a100-80gb"); /* not joined by NVLinks */
	assert_int_equal(node_ctl(&node, "inject", "reset gpu=0 supported=0"), 0);
	for (int round = 0; round < 2; round++) {
		int before = n_resets(0);

		assert_int_equal(smi("--gpu-reset", "-i", "0"), 255);
		assert_string_equal(said, "The following GPUs could not be reset:\n"
					  "  GPU 00000000:17:00.0: Not Supported\n");
		assert_int_equal(n_resets(0), before);
		assert_int_equal(smi("--gpu-reset", "-i", "1"), 0);
		assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	}
	assert_int_equal(node_ctl(&node, "inject", "reset gpu=0 supported=1"), 0);
	assert_int_equal(smi("--gpu-reset", "-i", "0"), 0);
	assert_int_equal(node_ctl(&node, "inject", "reset gpu=0"), 2);
	assert_int_equal(node_ctl(&node, "inject", "reset gpu=0 supported=2"), 2);
	node_stop(&node);
}

static void a_mode_that_waits_for_a_reboot_stays_pending_over_a_reset(void **state)
{
	unsigned int current, pending;

	pend("a100x1-40gb");
	assert_int_equal(node_ctl(&node, "inject", "release gpu=0"), 0);
	assert_int_equal(node_ctl(&node, "inject", "mode-pending gpu=0"), 0);
	assert_int_equal(smi("--gpu-reset", "-i", "0"), 0);
	modes(&current, &pending);
	assert_int_equal(current, 0);
	assert_int_equal(pending, 1);
	node_stop(&node);
}

static void a_gpu_is_named_by_index_uuid_serial_or_bus_id(void **state)
{
	char uuid[96], serial[32];
	nvmlDevice_t gpu;

	node_start(&node, "h100x2");
	gpu = node_gpu(&node, 1, 0);
	assert_int_equal(N(nvmlDeviceGetUUID)(gpu, uuid, sizeof(uuid)), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetSerial)(gpu, serial, sizeof(serial)), NVML_SUCCESS);
	(void) N(nvmlShutdown)();
	assert_int_equal(smi("--gpu-reset", "-i", uuid), 0);
	assert_int_equal(smi("--gpu-reset", "-i", serial), 0);
	assert_int_equal(smi("--gpu-reset", "-i", "0000:1f:00.0"), 0);
	assert_int_equal(smi("--gpu-reset", "--id", "1,1F:00.0"), 0);
	assert_int_equal(n_resets(1), 4);
	assert_int_equal(n_resets(0), 0);
	assert_int_equal(smi("--gpu-reset", "-i", "2"), 6);
	assert_int_equal(smi("--gpu-reset", "-i", "0,9"), 6);
	assert_int_equal(smi("-q", NULL, NULL), 2);
	assert_int_equal(n_resets(0), 0);
	node_stop(&node);
}

static void the_list_names_gpus_and_mig_devices(void **state)
{
	nvmlComputeInstance_t ci;
	nvmlDevice_t gpu, device;
	char uuid[2][96], wanted[512];

	node_start(&node, "h100x1");
	gpu = node_gpu(&node, 0, 1);
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(
					 node_create(&node, gpu, 19), 0, &ci),
			NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 0, &device), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(gpu, uuid[0], sizeof(uuid[0])), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetUUID)(device, uuid[1], sizeof(uuid[1])), NVML_SUCCESS);
	(void) snprintf(wanted, sizeof(wanted),
			"GPU 0: NVIDIA H100 80GB HBM3 (UUID: %s)\n"
			"  MIG 1g.10gb     Device  0: (UUID: %s)\n",
			uuid[0], uuid[1]);
	assert_int_equal(smi("-L", NULL, NULL), 0);
	assert_string_equal(said, wanted);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void gpus_that_nvlinks_join_without_a_switch_are_reset_together(void **state)
{
	node_start(&node, "a100x2-40gb");
	assert_int_equal(smi("--gpu-reset", "-i", "0"), 0);
	assert_int_equal(n_resets(0), 1);
	assert_int_equal(n_resets(1), 1);
	node_stop(&node);
	node_start(&node, "h100x8");
	assert_int_equal(smi("--gpu-reset", "-i", "0"), 0);
	assert_int_equal(n_resets(0), 1);
	assert_int_equal(n_resets(1), 0);
	node_stop(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					a_reset_takes_instances_and_their_handles_and_leaves_the_neighbour),
			cmocka_unit_test(files_of_instances_go_with_the_reset),
			cmocka_unit_test(
					a_holder_refuses_and_after_him_a_pending_mode_becomes_current_assumed),
			cmocka_unit_test(
					a_process_that_has_the_gpu_open_refuses_it_and_its_neighbour_not),
			cmocka_unit_test(
					where_reset_is_unsupported_nothing_changes_also_after_a_reboot),
			cmocka_unit_test(a_mode_that_waits_for_a_reboot_stays_pending_over_a_reset),
			cmocka_unit_test(a_gpu_is_named_by_index_uuid_serial_or_bus_id),
			cmocka_unit_test(the_list_names_gpus_and_mig_devices),
			cmocka_unit_test(
					gpus_that_nvlinks_join_without_a_switch_are_reset_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
