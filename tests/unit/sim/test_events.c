/* SPDX-License-Identifier: Apache-2.0 */
/* What a program hears of a GPU that is not well: events, field values, errors, remapped rows. */
#include "node.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N(call)	 node.nvml.call
#define XID	 ((unsigned long long) nvmlEventTypeXidCriticalError)
#define RING	 64 /* events that the node keeps */
#define NOWHERE	 NVML_NO_INSTANCE_ID
#define ARRAY(a) (sizeof(a) / sizeof((a)[0]))

static struct node node;

static int start(void **state)
{
	node_start(&node, "h100x2");
	return 0;
}

static int start_turing(void **state)
{
	node_start(&node, "t4x1");
	return 0;
}

static int start_ampere(void **state)
{
	node_start(&node, "a100x1-80gb");
	return 0;
}

/* A driver that knows neither the newer kinds of events nor the recovery action. */
static int start_older_driver(void **state)
{
	static const char text[] = "version: bulkhead-sim/v1\nname: older\n"
				   "driver: {version: 550.90.07, cuda: \"12.4\"}\n"
				   "gpus: [{model: h100-sxm5-80gb}]\n";
	char path[] = "/tmp/bh-sim-machine-XXXXXX.yaml";
	int fd = mkstemps(path, strlen(".yaml"));

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void) close(fd);
	node_start(&node, path);
	(void) unlink(path);
	return 0;
}

static int stop(void **state)
{
	(void) N(nvmlShutdown)();
	assert_int_equal(node_ctl(&node, "check", ""), 0);
	node_stop(&node);
	return 0;
}

static void inject(const char *words)
{
	assert_int_equal(node_ctl(&node, "inject", words), 0);
}

static nvmlEventSet_t listen_to(nvmlDevice_t gpu, unsigned long long types)
{
	nvmlEventSet_t set = NULL;

	assert_int_equal(N(nvmlEventSetCreate)(&set), NVML_SUCCESS);
	assert_non_null(set);
	assert_int_equal(N(nvmlDeviceRegisterEvents)(gpu, types, set), NVML_SUCCESS);
	return set;
}

static void expect_event(nvmlEventSet_t set, nvmlDevice_t gpu, unsigned long long type,
		unsigned long long number, unsigned int gi, unsigned int ci)
{
	nvmlEventData_t data;

	memset(&data, 0x5A, sizeof(data));
	assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 0), NVML_SUCCESS);
	assert_ptr_equal(data.device, gpu);
	assert_int_equal(data.eventType, type);
	assert_int_equal(data.eventData, number);
	assert_int_equal(data.gpuInstanceId, gi);
	assert_int_equal(data.computeInstanceId, ci);
}

static void expect_silence(nvmlEventSet_t set)
{
	nvmlEventData_t data;

	assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 0), NVML_ERROR_TIMEOUT);
}

static int64_t now_ms(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void events_arrive_in_order_and_each_once(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set;

	inject("xid gpu=0 code=13"); /* before anybody listens: not replayed */
	set = listen_to(gpu, XID);
	inject("xid gpu=0 code=31");
	inject("xid gpu=0 code=43 pid=7 name=python3");
	inject("xid gpu=0 code=999");
	expect_event(set, gpu, XID, 31, NOWHERE, NOWHERE);
	expect_event(set, gpu, XID, 43, NOWHERE, NOWHERE);
	expect_event(set, gpu, XID, 999, NOWHERE, NOWHERE);
	expect_silence(set);
}

static void an_event_is_attributed_to_an_instance_or_to_none(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	nvmlEventSet_t set = listen_to(gpu, XID);

	inject("xid gpu=0 code=94 gi=7 ci=0");
	inject("xid gpu=0 code=94 gi=9");
	inject("xid gpu=0 code=79");
	expect_event(set, gpu, XID, 94, 7, 0);
	expect_event(set, gpu, XID, 94, 9, NOWHERE);
	expect_event(set, gpu, XID, 79, NOWHERE, NOWHERE);
	expect_silence(set);
}

static void a_set_hears_only_the_gpus_and_types_that_it_registered_for(void **state)
{
	nvmlDevice_t first = node_gpu(&node, 0, 0), second;
	nvmlEventSet_t one, other;

	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(1, &second), NVML_SUCCESS);
	one = listen_to(first, XID);
	other = listen_to(second, nvmlEventTypeDoubleBitEccError);
	inject("xid gpu=0 code=13");
	inject("xid gpu=1 code=31");
	inject("ecc gpu=1 uncorrected=2");
	expect_event(one, first, XID, 13, NOWHERE, NOWHERE);
	expect_silence(one);
	expect_event(other, second, nvmlEventTypeDoubleBitEccError, 0, NOWHERE, NOWHERE);
	expect_silence(other);
	/* from now on both; what happened before stays unheard */
	assert_int_equal(N(nvmlDeviceRegisterEvents)(second, XID, one), NVML_SUCCESS);
	expect_silence(one);
	inject("xid gpu=1 code=43");
	expect_event(one, second, XID, 43, NOWHERE, NOWHERE);
	expect_silence(other);
}

static void who_falls_behind_loses_the_oldest_assumed(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID);
	char words[64];

	for (unsigned int i = 1; i <= RING + 3; i++) {
		(void) snprintf(words, sizeof(words), "xid gpu=0 code=%u", 1000 + i);
		inject(words);
	}
	assert_int_equal(node_ctl(&node, "check", ""), 0);
	for (unsigned int i = 4; i <= RING + 3; i++)
		expect_event(set, gpu, XID, 1000 + i, NOWHERE, NOWHERE);
	expect_silence(set);
}

static void a_timeout_is_honoured_and_an_event_ends_it_at_once(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID);
	int64_t before = now_ms();
	nvmlEventData_t data;
	pid_t child;

	assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 120), NVML_ERROR_TIMEOUT);
	assert_in_range(now_ms() - before, 119, 1000);
	before = now_ms();
	child = fork();
	if (child == 0) {
		(void) usleep(150000);
		_exit(node_ctl(&node, "inject", "xid gpu=0 code=48"));
	}
	assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 30000), NVML_SUCCESS);
	assert_int_equal(data.eventData, 48);
	assert_in_range(now_ms() - before, 149, 5000);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Sleepers are woken: without it they would look by themselves, but only after a fifth of a second. */
static void a_waiter_hears_at_once_and_not_when_it_looks_again(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID);
	int64_t best = INT64_MAX;

	for (int round = 0; round < 5; round++) {
		int64_t before = now_ms(), took;
		nvmlEventData_t data;
		pid_t child = fork();

		if (child == 0) {
			(void) usleep(20000);
			_exit(node_ctl(&node, "inject", "xid gpu=0 code=13"));
		}
		assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 30000), NVML_SUCCESS);
		took = now_ms() - before;
		best = took < best ? took : best;
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	assert_in_range(best, 20, 150);
}

static void the_first_wait_call_writes_no_further_than_its_struct_went(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID);
	nvmlEventData_t data;

	memset(&data, 0x5A, sizeof(data));
	inject("xid gpu=0 code=79");
	assert_int_equal(N(nvmlEventSetWait)(set, &data, 0), NVML_SUCCESS);
	assert_ptr_equal(data.device, gpu);
	assert_int_equal(data.eventData, 79);
	assert_int_equal(data.gpuInstanceId, 0x5A5A5A5A);
	assert_int_equal(data.computeInstanceId, 0x5A5A5A5A);
	assert_int_equal(N(nvmlEventSetWait)(set, &data, 0), NVML_ERROR_TIMEOUT);
}

static void a_freed_set_is_an_invalid_argument_also_when_its_slot_is_used_again(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID), next;
	nvmlEventData_t data;

	assert_int_equal(N(nvmlEventSetFree)(set), NVML_SUCCESS);
	next = listen_to(gpu, XID);
	inject("xid gpu=0 code=31");
	assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 1000), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceRegisterEvents)(gpu, XID, set), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlEventSetFree)(set), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlEventSetFree)(NULL), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlEventSetFree)((nvmlEventSet_t) gpu), NVML_ERROR_INVALID_ARGUMENT);
	expect_event(next, gpu, XID, 31, NOWHERE, NOWHERE);
}

static void wrong_registrations_are_refused_whole(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set;
	unsigned long long types = 0;

	assert_int_equal(N(nvmlEventSetCreate)(NULL), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlEventSetCreate)(&set), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetSupportedEventTypes)(gpu, &types), NVML_SUCCESS);
	assert_int_equal(types, 0xFE0B); /* no power states, clocks, supplies, MIG changes */
	assert_int_equal(N(nvmlDeviceRegisterEvents)(gpu, XID | nvmlEventTypeClock, set),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceRegisterEvents)(gpu, 0, set), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceRegisterEvents)(NULL, XID, set), NVML_ERROR_INVALID_ARGUMENT);
	inject("xid gpu=0 code=31");
	expect_silence(set);
	assert_int_equal(N(nvmlEventSetWait_v2)(set, NULL, 0), NVML_ERROR_INVALID_ARGUMENT);
}

static void a_mig_device_tells_no_events(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1), device;
	nvmlGpuInstance_t gi = node_create(&node, gpu, 19);
	unsigned long long types = 1;
	nvmlComputeInstance_t ci;
	nvmlEventSet_t set;

	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &ci), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 0, &device), NVML_SUCCESS);
	assert_int_equal(N(nvmlEventSetCreate)(&set), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceRegisterEvents)(device, XID, set), NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceGetSupportedEventTypes)(device, &types), NVML_SUCCESS);
	assert_int_equal(types, 0);
}

/* A process that waits for an Xid of GPU 0; says so by a byte before it does. */
static pid_t fork_waiter(void)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		nvmlEventData_t data = {0};
		nvmlEventSet_t set;
		nvmlDevice_t gpu;

		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (N(nvmlInit_v2)() != NVML_SUCCESS ||
				N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu) != NVML_SUCCESS ||
				N(nvmlEventSetCreate)(&set) != NVML_SUCCESS ||
				N(nvmlDeviceRegisterEvents)(gpu, XID, set) != NVML_SUCCESS)
			_exit(255);
		(void) !write(ready[1], "x", 1);
		if (N(nvmlEventSetWait_v2)(set, &data, 30000) != NVML_SUCCESS)
			_exit(254);
		_exit((int) data.eventData);
	}
	(void) close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void) close(ready[0]);
	return child;
}

static int exit_of(pid_t child)
{
	int status = 0;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void two_processes_that_wait_both_hear_it(void **state)
{
	pid_t one = fork_waiter(), other = fork_waiter();

	inject("xid gpu=0 code=95");
	assert_int_equal(exit_of(one), 95);
	assert_int_equal(exit_of(other), 95);
}

static void a_killed_waiter_leaves_nothing_held(void **state)
{
	pid_t waiter;
	json_t *shown;

	for (int i = 0; i < 20; i++) {
		waiter = fork_waiter();
		(void) usleep(i * 500);
		(void) kill(waiter, SIGKILL);
		assert_int_equal(exit_of(waiter), -1);
		inject("xid gpu=0 code=13");
	}
	shown = node_show(&node);
	assert_int_equal(json_array_size(json_object_get(shown, "clients")), 0);
	assert_int_equal(json_integer_value(
					 json_object_get(json_object_get(shown, "lock"), "undone")),
			0);
	json_decref(shown);
}

static void a_wait_ends_when_the_node_starts_anew(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID);
	int64_t before = now_ms();
	nvmlEventData_t data;
	pid_t child = fork();

	if (child == 0) {
		(void) usleep(100000);
		_exit(node_ctl(&node, "reboot", ""));
	}
	assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 30000), NVML_ERROR_UNINITIALIZED);
	assert_true(now_ms() - before < 10000);
	assert_int_equal(exit_of(child), 0);
	/* as the other handles of the former life */
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(N(nvmlEventSetWait_v2)(set, &data, 0), NVML_ERROR_INVALID_ARGUMENT);
}

static void *wait_in_thread(void *set)
{
	nvmlEventData_t data;

	return (void *) (uintptr_t) N(nvmlEventSetWait_v2)(set, &data, 30000);
}

static nvmlReturn_t end_of(pthread_t thread)
{
	void *result = NULL;

	assert_int_equal(pthread_join(thread, &result), 0);
	return (nvmlReturn_t) (uintptr_t) result;
}

static void a_wait_ends_when_another_thread_frees_the_set_or_closes_the_session(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID);
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, set), 0);
	(void) usleep(30000);
	assert_int_equal(N(nvmlEventSetFree)(set), NVML_SUCCESS);
	assert_int_equal(end_of(thread), NVML_ERROR_INVALID_ARGUMENT);
	set = listen_to(gpu, XID);
	assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, set), 0);
	(void) usleep(30000);
	assert_int_equal(N(nvmlShutdown)(), NVML_SUCCESS);
	assert_int_equal(end_of(thread), NVML_ERROR_UNINITIALIZED);
}

static nvmlFieldValue_t field(nvmlDevice_t gpu, unsigned int id)
{
	nvmlFieldValue_t value = {.fieldId = id, .nvmlReturn = NVML_ERROR_UNKNOWN};

	assert_int_equal(N(nvmlDeviceGetFieldValues)(gpu, 1, &value), NVML_SUCCESS);
	assert_int_equal(value.fieldId, id);
	return value;
}

static void the_recovery_action_is_field_230_and_its_change_is_told(void **state)
{
	static const char *const actions[] = {
			"none", "gpu-reset", "node-reboot", "drain-p2p", "drain-and-reset"};
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID | nvmlEventTypeGpuRecoveryAction);
	char words[64];

	for (unsigned int i = ARRAY(actions); i-- > 0;) {
		nvmlFieldValue_t value;

		(void) snprintf(words, sizeof(words), "recovery gpu=0 action=%s", actions[i]);
		inject(words);
		value = field(gpu, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
		assert_int_equal(value.nvmlReturn, NVML_SUCCESS);
		assert_int_equal(value.valueType, NVML_VALUE_TYPE_UNSIGNED_INT);
		assert_int_equal(value.value.uiVal, i);
		assert_true(value.timestamp > 0);
		expect_event(set, gpu, XID, 154, NOWHERE, NOWHERE);
		expect_event(set, gpu, nvmlEventTypeGpuRecoveryAction, 0, NOWHERE, NOWHERE);
	}
	inject("recovery gpu=0 action=none"); /* no change */
	expect_silence(set);
}

static void an_unknown_field_fails_alone(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlFieldValue_t values[3] = {{.fieldId = 230}, {.fieldId = 83}, {.fieldId = 230}};

	assert_int_equal(N(nvmlDeviceGetFieldValues)(gpu, 3, values), NVML_SUCCESS);
	assert_int_equal(values[0].nvmlReturn, NVML_SUCCESS);
	assert_int_equal(values[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(values[2].nvmlReturn, NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetFieldValues)(gpu, 3, NULL), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetFieldValues)(NULL, 3, values), NVML_ERROR_INVALID_ARGUMENT);
}

static void expect_rows(nvmlDevice_t gpu, unsigned int uncorrected, unsigned int pending,
		unsigned int failure)
{
	unsigned int c, u, p, f;

	assert_int_equal(N(nvmlDeviceGetRemappedRows)(gpu, &c, &u, &p, &f), NVML_SUCCESS);
	assert_int_equal(c, 0);
	assert_int_equal(u, uncorrected);
	assert_int_equal(p, pending);
	assert_int_equal(f, failure);
	assert_int_equal(field(gpu, NVML_FI_DEV_REMAPPED_UNC).value.uiVal, uncorrected);
	assert_int_equal(field(gpu, NVML_FI_DEV_REMAPPED_PENDING).value.uiVal, pending);
	assert_int_equal(field(gpu, NVML_FI_DEV_REMAPPED_FAILURE).value.uiVal, failure);
}

static void a_pending_row_is_remapped_by_a_reboot_and_a_failure_stays(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID | nvmlEventTypeDramRetirementEvent |
							    nvmlEventTypeDramRetirementFailure);
	nvmlRowRemapperHistogramValues_t banks;

	expect_rows(gpu, 0, 0, 0);
	inject("remap gpu=0 pending=1");
	inject("remap gpu=0 pending=1");
	expect_rows(gpu, 0, 1, 0);
	inject("remap gpu=0 failure=1");
	expect_rows(gpu, 0, 1, 1);
	/* an Xid of its own is for who injects to add */
	expect_event(set, gpu, nvmlEventTypeDramRetirementEvent, 0, NOWHERE, NOWHERE);
	expect_event(set, gpu, nvmlEventTypeDramRetirementEvent, 0, NOWHERE, NOWHERE);
	expect_event(set, gpu, nvmlEventTypeDramRetirementFailure, 0, NOWHERE, NOWHERE);
	expect_silence(set);
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	gpu = node_gpu(&node, 0, 0);
	expect_rows(gpu, 2, 0, 1);
	assert_int_equal(N(nvmlDeviceGetRowRemapperHistogram)(gpu, &banks), NVML_SUCCESS);
	assert_int_equal(banks.high, 2);
	assert_int_equal(banks.none, 1);
	assert_int_equal(banks.max + banks.high + banks.none, 640);
	inject("remap gpu=0 clear");
	expect_rows(gpu, 0, 0, 0);
}

static void remapped_rows_are_not_to_be_had_while_there_are_instances(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	nvmlRowRemapperHistogramValues_t banks;
	unsigned int c, u, p, f;

	expect_rows(gpu, 0, 0, 0);
	assert_non_null(node_create(&node, gpu, 19));
	assert_int_equal(N(nvmlDeviceGetRemappedRows)(gpu, &c, &u, &p, &f),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceGetRowRemapperHistogram)(gpu, &banks),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(field(gpu, NVML_FI_DEV_REMAPPED_PENDING).nvmlReturn,
			NVML_ERROR_NOT_SUPPORTED);
}

static unsigned long long total(
		nvmlDevice_t gpu, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter)
{
	unsigned long long count = ~0ULL, dram = ~0ULL;
	nvmlEccErrorCounts_t detail;

	assert_int_equal(N(nvmlDeviceGetTotalEccErrors)(gpu, type, counter, &count), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetDetailedEccErrors)(gpu, type, counter, &detail),
			NVML_SUCCESS);
	assert_int_equal(detail.deviceMemory, count);
	assert_int_equal(N(nvmlDeviceGetMemoryErrorCounter)(
					 gpu, type, counter, NVML_MEMORY_LOCATION_DRAM, &dram),
			NVML_SUCCESS);
	assert_int_equal(dram, count);
	return count;
}

#define CORRECTED   NVML_MEMORY_ERROR_TYPE_CORRECTED
#define UNCORRECTED NVML_MEMORY_ERROR_TYPE_UNCORRECTED

static void memory_errors_are_counted_and_a_reboot_forgets_the_volatile_ones(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	unsigned long long count;

	inject("ecc gpu=0 corrected=5");
	inject("ecc gpu=0 corrected=2 uncorrected=1");
	assert_int_equal(total(gpu, CORRECTED, NVML_VOLATILE_ECC), 7);
	assert_int_equal(total(gpu, UNCORRECTED, NVML_VOLATILE_ECC), 1);
	assert_int_equal(total(gpu, CORRECTED, NVML_AGGREGATE_ECC), 7);
	assert_int_equal(field(gpu, NVML_FI_DEV_ECC_SBE_VOL_TOTAL).value.ullVal, 7);
	assert_int_equal(N(nvmlDeviceGetMemoryErrorCounter)(gpu, CORRECTED, NVML_VOLATILE_ECC,
					 NVML_MEMORY_LOCATION_SRAM, &count),
			NVML_SUCCESS);
	assert_int_equal(count, 0);
	assert_int_equal(N(nvmlDeviceGetTotalEccErrors)(gpu, NVML_MEMORY_ERROR_TYPE_COUNT,
					 NVML_VOLATILE_ECC, &count),
			NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(total(gpu, CORRECTED, NVML_VOLATILE_ECC), 0);
	assert_int_equal(total(gpu, CORRECTED, NVML_AGGREGATE_ECC), 7);
	assert_int_equal(total(gpu, UNCORRECTED, NVML_AGGREGATE_ECC), 1);
	assert_int_equal(field(gpu, NVML_FI_DEV_ECC_DBE_AGG_TOTAL).value.ullVal, 1);
}

static void with_mig_on_a_gpu_tells_no_volatile_counter_of_a_location(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 1);
	unsigned long long count;

	assert_int_equal(N(nvmlDeviceGetMemoryErrorCounter)(gpu, CORRECTED, NVML_VOLATILE_ECC,
					 NVML_MEMORY_LOCATION_DRAM, &count),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceGetMemoryErrorCounter)(gpu, CORRECTED, NVML_AGGREGATE_ECC,
					 NVML_MEMORY_LOCATION_DRAM, &count),
			NVML_SUCCESS);
}

static void the_ecc_mode_changes_at_a_reboot_and_takes_the_counters_along(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEnableState_t current, pending;
	unsigned long long count, types;

	inject("ecc gpu=0 pending=off");
	assert_int_equal(N(nvmlDeviceGetEccMode)(gpu, &current, &pending), NVML_SUCCESS);
	assert_int_equal(current, NVML_FEATURE_ENABLED);
	assert_int_equal(pending, NVML_FEATURE_DISABLED);
	assert_int_equal(node_ctl(&node, "reboot", "--module-reload"), 0);
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(N(nvmlDeviceGetEccMode)(gpu, &current, &pending), NVML_SUCCESS);
	assert_int_equal(current, NVML_FEATURE_ENABLED);
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(N(nvmlDeviceGetEccMode)(gpu, &current, &pending), NVML_SUCCESS);
	assert_int_equal(current, NVML_FEATURE_DISABLED);
	assert_int_equal(N(nvmlDeviceGetTotalEccErrors)(gpu, CORRECTED, NVML_VOLATILE_ECC, &count),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceGetSupportedEventTypes)(gpu, &types), NVML_SUCCESS);
	assert_int_equal(types & 3, 0);
	assert_int_equal(node_ctl(&node, "inject", "ecc gpu=0 corrected=1"), 2);
}

static void a_reboot_forgets_events_and_does_the_recovery_action_assumed(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set;
	json_t *shown;

	inject("recovery gpu=0 action=node-reboot");
	inject("recovery gpu=1 action=gpu-reset");
	/* a reload resets GPUs; what asks for the node stays */
	assert_int_equal(node_ctl(&node, "reboot", "--module-reload"), 0);
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(field(gpu, 230).value.uiVal, NVML_GPU_RECOVERY_ACTION_NODE_REBOOT);
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(1, &gpu), NVML_SUCCESS);
	assert_int_equal(field(gpu, 230).value.uiVal, NVML_GPU_RECOVERY_ACTION_NONE);
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	gpu = node_gpu(&node, 0, 0);
	assert_int_equal(field(gpu, 230).value.uiVal, NVML_GPU_RECOVERY_ACTION_NONE);
	shown = node_show(&node);
	assert_int_equal(json_array_size(json_object_get(shown, "events")), 0);
	/* the log is a file: it stays */
	assert_int_equal(json_array_size(json_object_get(shown, "log")), 2);
	json_decref(shown);
	set = listen_to(gpu, XID);
	inject("xid gpu=0 code=13");
	expect_event(set, gpu, XID, 13, NOWHERE, NOWHERE);
}

static void switching_mig_on_resets_an_ampere_and_remaps_its_pending_rows(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlReturn_t activation;

	inject("remap gpu=0 pending=1");
	inject("ecc gpu=0 uncorrected=1");
	inject("recovery gpu=0 action=drain-and-reset");
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 1, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	expect_rows(gpu, 1, 0, 0);
	assert_int_equal(field(gpu, NVML_FI_DEV_ECC_DBE_VOL_TOTAL).value.ullVal, 0);
	assert_int_equal(field(gpu, NVML_FI_DEV_ECC_DBE_AGG_TOTAL).value.ullVal, 1);
	assert_int_equal(field(gpu, 230).value.uiVal, NVML_GPU_RECOVERY_ACTION_NONE);
}

static void an_older_driver_knows_neither_newer_events_nor_the_recovery_action(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu, XID);
	unsigned long long types;

	assert_int_equal(N(nvmlDeviceGetSupportedEventTypes)(gpu, &types), NVML_SUCCESS);
	assert_int_equal(types, 0xB);
	assert_int_equal(field(gpu, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION).nvmlReturn,
			NVML_ERROR_NOT_SUPPORTED);
	inject("xid gpu=0 code=79");
	expect_event(set, gpu, XID, 79, NOWHERE, NOWHERE);
	expect_silence(set);
}

static void turing_retires_pages_and_remaps_no_rows(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	unsigned int c, u, p, f, pages = 7;
	unsigned long long types, addresses[7];
	nvmlEnableState_t pending = NVML_FEATURE_ENABLED;

	assert_int_equal(N(nvmlDeviceGetRemappedRows)(gpu, &c, &u, &p, &f),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(node_ctl(&node, "inject", "remap gpu=0 pending=1"), 2);
	assert_int_equal(N(nvmlDeviceGetRetiredPages)(gpu,
					 NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR, &pages,
					 addresses),
			NVML_SUCCESS);
	assert_int_equal(pages, 0);
	assert_int_equal(N(nvmlDeviceGetRetiredPagesPendingStatus)(gpu, &pending), NVML_SUCCESS);
	assert_int_equal(pending, NVML_FEATURE_DISABLED);
	assert_int_equal(N(nvmlDeviceGetSupportedEventTypes)(gpu, &types), NVML_SUCCESS);
	assert_int_equal(types & 0xC00, 0);
}

static void hopper_retires_no_pages_assumed(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	unsigned int pages = 0;
	nvmlEnableState_t pending;

	assert_int_equal(N(nvmlDeviceGetRetiredPages_v2)(gpu,
					 NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR, &pages,
					 NULL, NULL),
			NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(N(nvmlDeviceGetRetiredPagesPendingStatus)(gpu, &pending),
			NVML_ERROR_NOT_SUPPORTED);
}

static void the_kernel_log_has_the_lines_of_the_driver(void **state)
{
	static const char *const lines[] = {
			"NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has "
			"fallen off the bus.",
			"NVRM: Xid (PCI:0000:17:00 GPU-I:07 GPU-CI:01): 94, pid=42, name=python3, "
			"Contained: CE User Channel (0x9). RST: No, D-RST: No",
			"NVRM: Xid (PCI:0000:1f:00): 31, pid=42, name=<unknown>",
			"NVRM: Xid (PCI:0000:1f:00): 154, GPU recovery action changed from 0x0 "
			"(None) "
			"to 0x1 (GPU Reset Required)",
			"NVRM:hello",
	};
	json_t *shown, *log;

	(void) node_gpu(&node, 0, 1);
	inject("xid gpu=0 code=79");
	inject("xid gpu=0 code=94 gi=7 ci=1 pid=42 name=python3");
	inject("xid gpu=1 code=31 pid=42");
	inject("recovery gpu=1 action=gpu-reset");
	inject("log text=NVRM:hello");
	shown = node_show(&node);
	log = json_object_get(shown, "log");
	assert_int_equal(json_array_size(log), ARRAY(lines));
	for (size_t i = 0; i < ARRAY(lines); i++) {
		const char *line = json_string_value(json_array_get(log, i));
		const char *text = strstr(line, " kernel: ");

		assert_non_null(text);
		assert_string_equal(text + strlen(" kernel: "), lines[i]);
	}
	json_decref(shown);
}

static void show_tells_health_and_the_last_events(void **state)
{
	json_t *shown, *gpu, *event, *health;
	const char *recovery;

	(void) node_gpu(&node, 1, 1);
	inject("xid gpu=1 code=13 gi=3");
	inject("remap gpu=1 pending=1 failure=1");
	inject("ecc gpu=1 corrected=9");
	shown = node_show(&node);
	gpu = json_array_get(json_object_get(shown, "gpus"), 1);
	health = json_object_get(gpu, "health");
	recovery = json_string_value(json_object_get(health, "recovery"));
	assert_string_equal(recovery, "none");
	assert_true(json_is_true(json_object_get(json_object_get(health, "remap"), "failure")));
	assert_int_equal(
			json_integer_value(json_object_get(
					json_object_get(json_object_get(health, "ecc"), "volatile"),
					"corrected")),
			9);
	event = json_array_get(json_object_get(shown, "events"), 0);
	assert_int_equal(json_integer_value(json_object_get(event, "data")), 13);
	assert_int_equal(json_integer_value(json_object_get(event, "gpu")), 1);
	assert_int_equal(json_integer_value(json_object_get(event, "gi")), 3);
	assert_true(json_is_null(json_object_get(event, "ci")));
	assert_int_equal(json_array_size(json_object_get(shown, "events")), 4);
	json_decref(shown);
}

static void some_xids_are_told_twice_by_newer_drivers_assumed(void **state)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);
	nvmlEventSet_t set = listen_to(gpu,
			XID | nvmlEventTypeGpuUnavailableError | nvmlEventTypeFatalPoisonError);

	inject("xid gpu=0 code=79");
	inject("xid gpu=0 code=95");
	expect_event(set, gpu, XID, 79, NOWHERE, NOWHERE);
	expect_event(set, gpu, nvmlEventTypeGpuUnavailableError, 0, NOWHERE, NOWHERE);
	expect_event(set, gpu, XID, 95, NOWHERE, NOWHERE);
	expect_event(set, gpu, nvmlEventTypeFatalPoisonError, 0, NOWHERE, NOWHERE);
	expect_silence(set);
}

static void wrong_injections_are_refused_and_leave_no_event(void **state)
{
	static const char *const wrong[] = {
			"xid gpu=0",
			"xid gpu=0 code=0",
			"xid gpu=2 code=13",
			"xid gpu=0 code=13 gi=7", /* no MIG there */
			"xid gpu=1 code=13 ci=0", /* in which instance? */
			"xid gpu=1 code=13 gi=15",
			"xid gpu=1 code=13 gi=1 ci=8",
			"xid gpu=0 code=13 colour=blue",
			"xid gpu=0 code=13 text=",
			"log",
			"remap gpu=0",
			"remap gpu=0 clear pending=1",
			"remap gpu=0 pending=2",
			"ecc gpu=0",
			"ecc gpu=0 corrected=-1",
			"ecc gpu=0 pending=maybe",
			"recovery gpu=0",
			"recovery gpu=0 action=pray",
	};
	json_t *shown;

	(void) node_gpu(&node, 1, 1);
	for (size_t i = 0; i < ARRAY(wrong); i++)
		assert_int_equal(node_ctl(&node, "inject", wrong[i]), 2);
	shown = node_show(&node);
	assert_int_equal(json_array_size(json_object_get(shown, "events")), 0);
	assert_int_equal(json_array_size(json_object_get(shown, "log")), 0);
	json_decref(shown);
}

#define T(name)		  cmocka_unit_test_setup_teardown(name, start, stop)
#define ON(machine, name) cmocka_unit_test_setup_teardown(name, start_##machine, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
			T(events_arrive_in_order_and_each_once),
			T(an_event_is_attributed_to_an_instance_or_to_none),
			T(a_set_hears_only_the_gpus_and_types_that_it_registered_for),
			T(who_falls_behind_loses_the_oldest_assumed),
			T(a_timeout_is_honoured_and_an_event_ends_it_at_once),
			T(a_waiter_hears_at_once_and_not_when_it_looks_again),
			T(the_first_wait_call_writes_no_further_than_its_struct_went),
			T(a_freed_set_is_an_invalid_argument_also_when_its_slot_is_used_again),
			T(wrong_registrations_are_refused_whole),
			T(a_mig_device_tells_no_events),
			T(two_processes_that_wait_both_hear_it),
			T(a_killed_waiter_leaves_nothing_held),
			T(a_wait_ends_when_the_node_starts_anew),
			T(a_wait_ends_when_another_thread_frees_the_set_or_closes_the_session),
			T(the_recovery_action_is_field_230_and_its_change_is_told),
			T(an_unknown_field_fails_alone),
			T(a_pending_row_is_remapped_by_a_reboot_and_a_failure_stays),
			T(remapped_rows_are_not_to_be_had_while_there_are_instances),
			T(memory_errors_are_counted_and_a_reboot_forgets_the_volatile_ones),
			T(with_mig_on_a_gpu_tells_no_volatile_counter_of_a_location),
			T(the_ecc_mode_changes_at_a_reboot_and_takes_the_counters_along),
			T(a_reboot_forgets_events_and_does_the_recovery_action_assumed),
			ON(ampere, switching_mig_on_resets_an_ampere_and_remaps_its_pending_rows),
			ON(older_driver,
					an_older_driver_knows_neither_newer_events_nor_the_recovery_action),
			ON(turing, turing_retires_pages_and_remaps_no_rows),
			T(hopper_retires_no_pages_assumed),
			T(the_kernel_log_has_the_lines_of_the_driver),
			T(show_tells_health_and_the_last_events),
			T(some_xids_are_told_twice_by_newer_drivers_assumed),
			T(wrong_injections_are_refused_and_leave_no_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
