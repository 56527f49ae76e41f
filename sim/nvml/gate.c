/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml/gate.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/freezer.h"
#include "model/trouble.h"
#include "nvml/impl.h"
#include "nvml/process.h"

#define OUT_MAX 64
#define LOOK_NS 100000000 /* how often a sleeper looks at the node's clock */

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

/* A delay on the node's clock, which may be scaled or stepped meanwhile. */
static void sleep_on(struct sim_map *map, uint32_t ms)
{
	struct sim_delay delay;
	bool started = false;
	int64_t left;

	do {
		struct timespec t;
		struct sim_tx tx;

		sim_tx_begin(&tx, map, false);
		if (!started)
			sim_delay_start(&delay, &tx.state->node.clock, ms);
		started = true;
		left = sim_delay_left(&delay, &tx.state->node.clock);
		(void) sim_tx_end(&tx, SIM_OK);
		if (left > LOOK_NS)
			left = LOOK_NS;
		t = (struct timespec){.tv_nsec = (long) left};
		(void) nanosleep(&t, NULL); /* a signal only makes us look earlier */
	} while (left > 0);
}

/* Return: false when the node's lock was not to be had. */
static bool count(struct sim_gate *gate, struct sim_map *map, enum sim_nvml_call call,
		const struct sim_argument arguments[2])
{
	struct sim_state *s = map->state;
	struct sim_tx tx;
	uint32_t index = call;

	sim_tx_begin(&tx, map, false);
	/* a node laid out by another build may number its calls in another way */
	if (!tx.wedged && ((index < s->n_calls && strcmp(s->calls[index].name,
								  sim_call_names[call]) == 0) ||
					  sim_call_find(s, sim_call_names[call], &index)))
		gate->verdict = sim_call_count(&tx, index);
	gate->trouble = sim_trouble_of(tx.state, sim_target_gpus(&tx, call, arguments));
	return sim_tx_end(&tx, SIM_OK) == SIM_OK;
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

/* The call's delay and its GPU's. Nothing is held meanwhile. */
static void wait_out(const struct sim_gate *gate, struct sim_map *map)
{
	uint32_t ms = gate->verdict.delay_ms;

	if (!gate->trouble.freezer || !sim_freezer_sit(gate->trouble.freezer))
		ms = ms > UINT32_MAX - gate->trouble.slow_ms ? UINT32_MAX
							     : ms + gate->trouble.slow_ms;
	if (ms)
		sleep_on(map, ms);
}

/* Return: true when the implementation is to run; else *ret_result is the answer. */
static bool pass(const struct sim_gate *gate, enum sim_nvml_call call, nvmlReturn_t *ret_result)
{
	const struct sim_verdict *v = &gate->verdict;

	if (v->has_fault && v->kind == SIM_FAULT_KILL_BEFORE)
		die();
	if (v->has_fault && v->kind == SIM_FAULT_ERROR)
		*ret_result = (nvmlReturn_t) v->native;
	else if (needs_session(call) && !sim_process_is_open())
		*ret_result = NVML_ERROR_UNINITIALIZED;
	else if (gate->trouble.lost)
		*ret_result = NVML_ERROR_GPU_IS_LOST;
	else
		return true;
	return false;
}

bool sim_gate_enter(struct sim_gate *gate, enum sim_nvml_call call,
		const struct sim_argument arguments[2], void *out, size_t out_size)
{
	enum sim_result why;
	struct sim_map *map = sim_process_enter(&why);
	nvmlReturn_t result;

	*gate = (struct sim_gate){.out = out, .out_size = out_size};
	if (!map) {
		gate->result = why == SIM_WEDGED     ? sim_to_nvml(why)
			       : needs_session(call) ? NVML_ERROR_UNINITIALIZED
						     : NVML_ERROR_DRIVER_NOT_LOADED;
		return false;
	}
	if (!count(gate, map, call, arguments)) {
		gate->result = sim_gate_leave(gate, sim_to_nvml(SIM_WEDGED));
		return false;
	}
	if (gate->verdict.detached && detach(gate)) {
		sim_process_leave();
		return false;
	}
	wait_out(gate, map);
	if (!pass(gate, call, &result)) {
		gate->result = sim_gate_leave(gate, result);
		return false;
	}
	sim_process_set_silent(gate->verdict.has_fault && gate->verdict.kind == SIM_FAULT_SILENT);
	return true;
}

nvmlReturn_t sim_gate_leave(struct sim_gate *gate, nvmlReturn_t result)
{
	sim_process_set_silent(false);
	if (sim_process_was_wedged())
		result = sim_to_nvml(SIM_WEDGED);
	if (gate->verdict.has_fault && gate->verdict.kind == SIM_FAULT_KILL_AFTER)
		die();
	if (gate->page) {
		gate->page->result = result;
		if (gate->out)
			memcpy(gate->page->out, gate->out, gate->out_size);
		__atomic_store_n(&gate->page->done, 1, __ATOMIC_RELEASE);
		_exit(0);
	}
	sim_process_leave();
	return result;
}
