/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml/gate.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nvml/process.h"

#define OUT_MAX 64

struct sim_gate_page {
	uint32_t done;
	nvmlReturn_t result;
	unsigned char out[OUT_MAX];
};

static void sleep_ms(uint32_t ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static void die(void)
{
	(void) kill(getpid(), SIGKILL);
}

static void count(struct sim_gate *gate, struct sim_map *map, enum sim_nvml_call call)
{
	struct sim_state *s = map->state;
	struct sim_tx tx;
	uint32_t index = call;

	sim_tx_begin(&tx, map, false);
	/* a node laid out by another build may number its calls in another way */
	if ((index < s->n_calls && strcmp(s->calls[index].name, sim_call_names[call]) == 0) ||
			sim_call_find(s, sim_call_names[call], &index))
		gate->verdict = sim_call_count(&tx, index);
	(void) sim_tx_end(&tx, SIM_OK);
}

static nvmlReturn_t wait_for_child(struct sim_gate *gate, struct sim_gate_page *page, pid_t child)
{
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	/* somebody else may reap our child: then only its word tells */
	while (!__atomic_load_n(&page->done, __ATOMIC_ACQUIRE) && kill(child, 0) == 0)
		sleep_ms(1);
	if (!__atomic_load_n(&page->done, __ATOMIC_ACQUIRE))
		return NVML_ERROR_UNKNOWN;
	if (gate->out && page->result == NVML_SUCCESS)
		memcpy(gate->out, page->out, gate->out_size);
	return page->result;
}

/*
 * The call is carried out by a child that keeps everything we inherited; we wait for it, and if we
 * are killed meanwhile it acts all the same. Return: true in the parent, with the answer.
 */
static bool detach(struct sim_gate *gate)
{
	struct sim_gate_page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = page == MAP_FAILED ? -1 : sim_process_fork();

	if (child == 0) {
		gate->page = page;
		(void) setsid(); /* what is sent to the caller's group is not for us */
		return false;
	}
	gate->result = child < 0 ? NVML_ERROR_UNKNOWN : wait_for_child(gate, page, child);
	if (page != MAP_FAILED)
		(void) munmap(page, sizeof(*page));
	return true;
}

static bool needs_session(enum sim_nvml_call call)
{
	return call != SIM_CALL_nvmlInit_v2 && call != SIM_CALL_nvmlInitWithFlags &&
	       call != SIM_CALL_nvmlShutdown;
}

bool sim_gate_enter(struct sim_gate *gate, enum sim_nvml_call call, void *out, size_t out_size)
{
	struct sim_map *map = sim_process_map();

	*gate = (struct sim_gate){.out = out, .out_size = out_size};
	if (!map) {
		gate->result = needs_session(call) ? NVML_ERROR_UNINITIALIZED
						   : NVML_ERROR_DRIVER_NOT_LOADED;
		return false;
	}
	count(gate, map, call);
	if (gate->verdict.detached && detach(gate))
		return false;
	if (gate->verdict.delay_ms)
		sleep_ms(gate->verdict.delay_ms);
	if (gate->verdict.has_fault && gate->verdict.kind == SIM_FAULT_KILL_BEFORE)
		die();
	if (gate->verdict.has_fault && gate->verdict.kind == SIM_FAULT_ERROR) {
		gate->result = sim_gate_leave(gate, (nvmlReturn_t) gate->verdict.native);
		return false;
	}
	if (needs_session(call) && !sim_process_is_open()) {
		gate->result = sim_gate_leave(gate, NVML_ERROR_UNINITIALIZED);
		return false;
	}
	sim_process_set_silent(gate->verdict.has_fault && gate->verdict.kind == SIM_FAULT_SILENT);
	return true;
}

nvmlReturn_t sim_gate_leave(struct sim_gate *gate, nvmlReturn_t result)
{
	sim_process_set_silent(false);
	if (gate->verdict.has_fault && gate->verdict.kind == SIM_FAULT_KILL_AFTER)
		die();
	if (gate->page) {
		gate->page->result = result;
		if (gate->out)
			memcpy(gate->page->out, gate->out, gate->out_size);
		__atomic_store_n(&gate->page->done, 1, __ATOMIC_RELEASE);
		_exit(0);
	}
	return result;
}
