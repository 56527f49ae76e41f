/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done to a node from outside, one row each: holders, faults, delays, switches. */
#include "ctl/ctl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nvml.h"
#include "model/fault.h"
#include "model/holder.h"

struct words {
	char **argv;
	int argc;
	unsigned int used; /* bit n: argv[n] was asked for */
};

static const char *value_of(struct words *w, const char *key)
{
	size_t n = strlen(key);

	for (int i = 0; i < w->argc; i++) {
		if (strncmp(w->argv[i], key, n) == 0 && w->argv[i][n] == '=') {
			w->used |= 1U << i;
			return w->argv[i] + n + 1;
		}
	}
	return NULL;
}

/* A number, or the default when the key is absent; false when it is no number. */
static bool number_of(struct words *w, const char *key, long fallback, long *ret_number)
{
	const char *text = value_of(w, key);
	char *end;

	*ret_number = fallback;
	if (!text)
		return true;
	*ret_number = strtol(text, &end, 10);
	return end != text && !*end && *ret_number >= 0 && *ret_number <= INT32_MAX;
}

static bool gpu_of(struct sim_tx *tx, struct words *w, uint32_t *ret_gpu)
{
	long gpu;

	if (!number_of(w, "gpu", -1, &gpu) || gpu < 0 || gpu >= (long) tx->state->n_gpus) {
		(void) ctl_complain(0, "gpu=N: there are GPUs 0 to %u", tx->state->n_gpus - 1);
		return false;
	}
	*ret_gpu = (uint32_t) gpu;
	return true;
}

static bool call_of(struct sim_tx *tx, struct words *w, uint32_t *ret_call)
{
	const char *name = value_of(w, "call");

	if (!name || !sim_call_find(tx->state, name, ret_call)) {
		(void) ctl_complain(0, "call=NAME: there is no call '%s'", name ? name : "");
		return false;
	}
	return true;
}

static int hold(struct sim_tx *tx, struct words *w, enum sim_holder_kind kind, bool needs_start)
{
	const char *name = value_of(w, "name");
	long start, pid;
	uint32_t gpu;

	if (!gpu_of(tx, w, &gpu))
		return CTL_USAGE;
	if (!number_of(w, "start", -1, &start) || !number_of(w, "pid", 0, &pid) ||
			(needs_start && start < 0))
		return ctl_complain(CTL_USAGE, "start=N and pid=N take numbers");
	switch (sim_holder_add(tx, gpu, kind, (int) start, (int32_t) pid, name)) {
	case SIM_OK:
		return CTL_DONE;
	case SIM_NOT_FOUND:
		return ctl_complain(CTL_USAGE, "there is no instance at %ld on GPU %u", start, gpu);
	default:
		return ctl_complain(CTL_FAILED, "no room for more holders");
	}
}

static int inject_holder(struct sim_tx *tx, struct words *w)
{
	const char *kind = value_of(w, "kind");

	for (unsigned int k = 0; k < SIM_HOLDER_KINDS; k++) {
		if (!kind || strcmp(kind, sim_holder_kinds[k]) == 0)
			return hold(tx, w, k, /* needs_start= */ false);
	}
	return ctl_complain(CTL_USAGE, "kind=process|daemon|module|agent|unknown");
}

static int inject_busy(struct sim_tx *tx, struct words *w)
{
	return hold(tx, w, SIM_HOLDER_PROCESS, /* needs_start= */ true);
}

static int inject_release(struct sim_tx *tx, struct words *w)
{
	long start, pid;
	uint32_t gpu;

	if (!gpu_of(tx, w, &gpu))
		return CTL_USAGE;
	if (!number_of(w, "start", -1, &start) || !number_of(w, "pid", 0, &pid))
		return ctl_complain(CTL_USAGE, "start=N and pid=N take numbers");
	(void) printf("released: %u\n", sim_holder_release(tx, gpu, (int) start, (int32_t) pid));
	return CTL_DONE;
}

static bool parse_error(const char *text, struct sim_fault *fault)
{
	static const struct {
		const char *name;
		enum sim_fault_kind kind;
	} kinds[] = {
			{"silent", SIM_FAULT_SILENT},
			{"kill-before", SIM_FAULT_KILL_BEFORE},
			{"kill-after", SIM_FAULT_KILL_AFTER},
	};
	static const struct {
		const char *name;
		int number;
	} returns[] = {
#define X(name, number, text) {"NVML_" #name, number},
			BH_NVML_RETURNS(X)
#undef X
	};

	for (size_t i = 0; text && i < BH_ARRAY_SIZE(kinds); i++) {
		if (strcmp(text, kinds[i].name) == 0) {
			fault->kind = kinds[i].kind;
			return true;
		}
	}
	for (size_t i = 0; text && i < BH_ARRAY_SIZE(returns); i++) {
		if (strcmp(text, returns[i].name) == 0) {
			fault->kind = SIM_FAULT_ERROR;
			fault->native = returns[i].number;
			return true;
		}
	}
	return false;
}

static int add_fault(struct sim_tx *tx, struct words *w, struct sim_fault *fault)
{
	long nth;

	if (!number_of(w, "nth", 0, &nth) || (value_of(w, "nth") && nth < 1))
		return ctl_complain(CTL_USAGE, "nth=N counts from 1");
	fault->nth = (uint32_t) nth;
	if (sim_fault_add(tx, fault) != SIM_OK)
		return ctl_complain(CTL_FAILED, "no room for more faults");
	return CTL_DONE;
}

static int inject_fault(struct sim_tx *tx, struct words *w)
{
	struct sim_fault fault = {0};

	if (!call_of(tx, w, &fault.call))
		return CTL_USAGE;
	if (!parse_error(value_of(w, "error"), &fault))
		return ctl_complain(CTL_USAGE,
				"error=NVML_ERROR_…|NVML_SUCCESS|silent|kill-before|kill-after");
	return add_fault(tx, w, &fault);
}

static int inject_delay(struct sim_tx *tx, struct words *w)
{
	struct sim_fault fault = {.kind = SIM_FAULT_DELAY};
	long ms, detached;

	if (!call_of(tx, w, &fault.call))
		return CTL_USAGE;
	if (!number_of(w, "ms", -1, &ms) || ms < 0 || !number_of(w, "detached", 0, &detached) ||
			detached > 1)
		return ctl_complain(CTL_USAGE, "ms=N [detached=0|1]");
	fault.ms = (uint32_t) ms;
	fault.detached = (uint32_t) detached;
	return add_fault(tx, w, &fault);
}

static int inject_mode_pending(struct sim_tx *tx, struct words *w)
{
	uint32_t gpu;
	long on;

	if (!gpu_of(tx, w, &gpu))
		return CTL_USAGE;
	if (!number_of(w, "on", 1, &on) || on > 1)
		return ctl_complain(CTL_USAGE, "on=0|1");
	sim_tx_touch(tx, &tx->state->gpus[gpu].mig, sizeof(tx->state->gpus[gpu].mig));
	tx->state->gpus[gpu].mig.needs_reboot = (uint32_t) on;
	return CTL_DONE;
}

static int inject_reset(struct sim_tx *tx, struct words *w)
{
	long supported;
	uint32_t gpu;

	if (!gpu_of(tx, w, &gpu))
		return CTL_USAGE;
	if (!value_of(w, "supported") || !number_of(w, "supported", 0, &supported) || supported > 1)
		return ctl_complain(CTL_USAGE, "supported=0|1");
	sim_tx_touch(tx, &tx->state->gpus[gpu].no_reset, sizeof(tx->state->gpus[gpu].no_reset));
	tx->state->gpus[gpu].no_reset = !supported;
	return CTL_DONE;
}

static int inject_sessions(struct sim_tx *tx, struct words *w)
{
	long hold_it;

	if (!value_of(w, "hold") || !number_of(w, "hold", 0, &hold_it) || hold_it > 1)
		return ctl_complain(CTL_USAGE, "hold=0|1");
	sim_tx_touch(tx, &tx->state->node, sizeof(tx->state->node));
	tx->state->node.sessions_hold = (uint32_t) hold_it;
	return CTL_DONE;
}

static int inject_clear(struct sim_tx *tx, struct words *w)
{
	sim_fault_clear(tx);
	return CTL_DONE;
}

static const struct {
	const char *name, *arguments, *purpose;
	int (*run)(struct sim_tx *tx, struct words *w);
} kinds[] = {
		{"holder",
				"gpu=N kind=process|daemon|module|agent|unknown [start=N] [pid=N] "
				"[name=NAME]",
				"somebody holds the GPU, or the instance at start; only processes "
				"are listed",
				inject_holder},
		{"busy", "gpu=N start=N [pid=N]", "a process works in the instance there",
				inject_busy},
		{"release", "gpu=N [start=N] [pid=N]", "holders go", inject_release},
		{"fault", "call=NAME [nth=N] error=NVML_ERROR_…|silent|kill-before|kill-after",
				"the call fails so: at the nth time once, or each time",
				inject_fault},
		{"delay", "call=NAME ms=N [nth=N] [detached=1]",
				"the call is slow; detached: a child carries it out", inject_delay},
		{"mode-pending", "gpu=N [on=0|1]", "a new MIG mode waits for a reboot",
				inject_mode_pending},
		{"reset", "gpu=N supported=0|1",
				"whether the GPU can be reset alone, also after a reboot",
				inject_reset},
		{"sessions", "hold=0|1",
				"whether open NVML sessions keep a GPU busy for a mode switch",
				inject_sessions},
		{"clear", "", "faults and delays go", inject_clear},
};

static int list(void)
{
	(void) fputs("usage: bulkhead sim inject DIR\n", stderr);
	for (size_t i = 0; i < BH_ARRAY_SIZE(kinds); i++)
		(void) fprintf(stderr, "  %s %s\n\t%s\n", kinds[i].name, kinds[i].arguments,
				kinds[i].purpose);
	return CTL_USAGE;
}

static int run(const char *dir, size_t kind, struct words *w)
{
	struct sim_map map;
	struct sim_tx tx;
	int rc = ctl_open(dir, &map);

	if (rc != CTL_DONE)
		return rc;
	sim_tx_begin(&tx, &map, /* take_back= */ false);
	rc = kinds[kind].run(&tx, w);
	for (int i = 0; rc == CTL_DONE && i < w->argc; i++) {
		if (!(w->used & 1U << i))
			rc = ctl_complain(CTL_USAGE, "'%s' means nothing to %s", w->argv[i],
					kinds[kind].name);
	}
	(void) sim_tx_end(&tx, rc == CTL_DONE ? SIM_OK : SIM_INVALID);
	sim_map_close(&map);
	return rc;
}

int ctl_inject(int argc, char **argv)
{
	struct words w;

	if (argc < 3 || argc > 3 + 16)
		return list();
	w = (struct words){.argv = argv + 3, .argc = argc - 3};
	for (size_t i = 0; i < BH_ARRAY_SIZE(kinds); i++) {
		if (strcmp(argv[2], kinds[i].name) == 0)
			return run(argv[1], i, &w);
	}
	(void) ctl_complain(CTL_USAGE, "there is no '%s' to inject", argv[2]);
	return list();
}
