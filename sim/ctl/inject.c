/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done to a node from outside, one row each: holders, faults, delays, switches. */
#include "ctl/ctl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nvml.h"
#include "base/text.h"
#include "ctl/inject_health.h"
#include "ctl/kern_log.h"
#include "ctl/words.h"
#include "model/events.h"
#include "model/fault.h"
#include "model/freezer.h"
#include "model/holder.h"
#include "model/trouble.h"

struct words {
	char **argv;
	int argc;
	unsigned int used;	      /* bit n: argv[n] was asked for */
	char log[CTL_LOG_LINE_MAX];   /* what the kernel logs of it, or empty */
	uint64_t made;		      /* a freezer, before the change; 0 = none */
	uint64_t ended[SIM_GPUS_MAX]; /* freezers to be emptied after it */
	uint32_t n_ended;
};

const char *ctl_words_value(struct words *w, const char *key)
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

bool ctl_words_number(struct words *w, const char *key, long fallback, long *ret_number)
{
	const char *text = ctl_words_value(w, key);
	char *end;

	*ret_number = fallback;
	if (!text)
		return true;
	*ret_number = strtol(text, &end, 10);
	return end != text && !*end && *ret_number >= 0 && *ret_number <= INT32_MAX;
}

bool ctl_words_gpu(struct sim_tx *tx, struct words *w, uint32_t *ret_gpu)
{
	long gpu;

	if (!ctl_words_number(w, "gpu", -1, &gpu) || gpu < 0 || gpu >= (long) tx->state->n_gpus) {
		(void) ctl_complain(0, "gpu=N: there are GPUs 0 to %u", tx->state->n_gpus - 1);
		return false;
	}
	*ret_gpu = (uint32_t) gpu;
	return true;
}

bool ctl_words_flag(struct words *w, const char *word)
{
	for (int i = 0; i < w->argc; i++) {
		if (strcmp(w->argv[i], word) == 0) {
			w->used |= 1U << i;
			return true;
		}
	}
	return false;
}

void ctl_words_log(struct words *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void) vsnprintf(w->log, sizeof(w->log), format, args);
	va_end(args);
}

static bool call_of(struct sim_tx *tx, struct words *w, uint32_t *ret_call)
{
	const char *name = ctl_words_value(w, "call");

	if (!name || !sim_call_find(tx->state, name, ret_call)) {
		(void) ctl_complain(0, "call=NAME: there is no call '%s'", name ? name : "");
		return false;
	}
	return true;
}

static bool is_name(const char *name)
{
	size_t all = strlen(name), n = 0, next = 1;

	while (n < all && next) {
		next = bh_text_utf8_length(name + n, all - n);
		n += next;
	}
	return n == all && next && all < SIM_NAME_SIZE;
}

static int hold(struct sim_tx *tx, struct words *w, enum sim_holder_kind kind, bool needs_start)
{
	const char *name = ctl_words_value(w, "name");
	long start, pid;
	uint32_t gpu;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	if (!ctl_words_number(w, "start", -1, &start) || !ctl_words_number(w, "pid", 0, &pid) ||
			(needs_start && start < 0))
		return ctl_complain(CTL_USAGE, "start=N and pid=N take numbers");
	if (name && !is_name(name))
		return ctl_complain(CTL_USAGE, "name=NAME is UTF-8 of at most %d bytes",
				SIM_NAME_SIZE - 1);
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
	const char *kind = ctl_words_value(w, "kind");

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

/* Files are for after the change: nothing is opened with the node's lock held. */
static void empty_later(struct words *w, uint64_t freezer)
{
	if (freezer)
		w->ended[w->n_ended++] = freezer;
}

static void end_trouble(struct sim_tx *tx, struct words *w, uint32_t gpu)
{
	empty_later(w, sim_trouble_end(tx, gpu));
}

static int inject_lost(struct sim_tx *tx, struct words *w)
{
	uint32_t gpu;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	sim_trouble_lose(tx, gpu);
	return CTL_DONE;
}

static int prepare_slow(struct words *w)
{
	struct bh_error err;
	long unkillable;

	if (!ctl_words_number(w, "unkillable", 0, &unkillable) || unkillable > 1)
		return ctl_complain(CTL_USAGE, "unkillable=0|1");
	if (unkillable && sim_freezer_make(&w->made, &err) < 0)
		return ctl_complain(CTL_FAILED, "unkillable=1: %s", err.message);
	return CTL_DONE;
}

static int inject_slow(struct sim_tx *tx, struct words *w)
{
	uint32_t gpu;
	long ms;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	if (!ctl_words_number(w, "ms", -1, &ms) || ms < 0)
		return ctl_complain(CTL_USAGE, "gpu=N ms=N [unkillable=0|1]");
	empty_later(w, sim_trouble_slow(tx, gpu, (uint32_t) ms, w->made));
	return CTL_DONE;
}

/* After the change, or after its failure. */
static int settle_freezers(struct words *w, int rc)
{
	struct bh_error err;

	if (rc != CTL_DONE) {
		w->n_ended = 0; /* undone: they stay */
		empty_later(w, w->made);
	}
	for (uint32_t i = 0; i < w->n_ended; i++) {
		if (sim_freezer_end(w->ended[i], &err) < 0)
			rc = ctl_complain(CTL_FAILED, "%s", err.message);
	}
	return rc;
}

static int inject_release(struct sim_tx *tx, struct words *w)
{
	long start, pid;
	uint32_t gpu;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	if (!ctl_words_number(w, "start", -1, &start) || !ctl_words_number(w, "pid", 0, &pid))
		return ctl_complain(CTL_USAGE, "start=N and pid=N take numbers");
	if (start < 0 && !pid)
		end_trouble(tx, w, gpu);
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

	if (!ctl_words_number(w, "nth", 0, &nth) || (ctl_words_value(w, "nth") && nth < 1))
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
	if (!parse_error(ctl_words_value(w, "error"), &fault))
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
	if (!ctl_words_number(w, "ms", -1, &ms) || ms < 0 ||
			!ctl_words_number(w, "detached", 0, &detached) || detached > 1)
		return ctl_complain(CTL_USAGE, "ms=N [detached=0|1]");
	fault.ms = (uint32_t) ms;
	fault.detached = (uint32_t) detached;
	return add_fault(tx, w, &fault);
}

static int inject_mode_pending(struct sim_tx *tx, struct words *w)
{
	uint32_t gpu;
	long on;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	if (!ctl_words_number(w, "on", 1, &on) || on > 1)
		return ctl_complain(CTL_USAGE, "on=0|1");
	sim_tx_touch(tx, &tx->state->gpus[gpu].mig, sizeof(tx->state->gpus[gpu].mig));
	tx->state->gpus[gpu].mig.needs_reboot = (uint32_t) on;
	return CTL_DONE;
}

static int inject_reset(struct sim_tx *tx, struct words *w)
{
	long supported;
	uint32_t gpu;

	if (!ctl_words_gpu(tx, w, &gpu))
		return CTL_USAGE;
	if (!ctl_words_value(w, "supported") || !ctl_words_number(w, "supported", 0, &supported) ||
			supported > 1)
		return ctl_complain(CTL_USAGE, "supported=0|1");
	sim_tx_touch(tx, &tx->state->gpus[gpu].no_reset, sizeof(tx->state->gpus[gpu].no_reset));
	tx->state->gpus[gpu].no_reset = !supported;
	return CTL_DONE;
}

static int inject_sessions(struct sim_tx *tx, struct words *w)
{
	long hold_it;

	if (!ctl_words_value(w, "hold") || !ctl_words_number(w, "hold", 0, &hold_it) || hold_it > 1)
		return ctl_complain(CTL_USAGE, "hold=0|1");
	sim_tx_touch(tx, &tx->state->node, sizeof(tx->state->node));
	tx->state->node.sessions_hold = (uint32_t) hold_it;
	return CTL_DONE;
}

static int inject_clear(struct sim_tx *tx, struct words *w)
{
	sim_fault_clear(tx);
	for (uint32_t i = 0; i < tx->state->n_gpus; i++)
		end_trouble(tx, w, i);
	return CTL_DONE;
}

static const struct {
	const char *name, *arguments, *purpose;
	int (*run)(struct sim_tx *tx, struct words *w);
	int (*prepare)(struct words *w); /* before, without the lock; or NULL */
} kinds[] = {
		{"holder",
				"gpu=N kind=process|daemon|module|agent|unknown [start=N] [pid=N] "
				"[name=NAME]",
				"somebody holds the GPU, or the instance at start; only processes "
				"are listed",
				inject_holder},
		{"busy", "gpu=N start=N [pid=N]", "a process works in the instance there",
				inject_busy},
		{"release", "gpu=N [start=N] [pid=N]",
				"holders go; without start and pid the GPU is neither lost nor "
				"slow any more",
				inject_release},
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
		{"xid", "gpu=N code=C [gi=ID [ci=ID]] [pid=N] [name=NAME] [text=TEXT]",
				"the driver reports an Xid, as an event and in the kernel log",
				ctl_inject_xid},
		{"log", "text=TEXT", "a line of the kernel log, and nothing else", ctl_inject_log},
		{"remap", "gpu=N pending=1|failure=1|clear",
				"a row waits to be remapped, or remapping failed",
				ctl_inject_remap},
		{"ecc", "gpu=N [corrected=N] [uncorrected=N] [pending=on|off]",
				"more memory errors; the ECC mode after the next reboot",
				ctl_inject_ecc},
		{"recovery", "gpu=N action=none|gpu-reset|node-reboot|drain-p2p|drain-and-reset",
				"the driver asks for that recovery action, and logs Xid 154",
				ctl_inject_recovery},
		{"lost", "gpu=N", "the GPU fell off the bus, until released or a reboot",
				inject_lost},
		{"slow", "gpu=N ms=N [unkillable=1]",
				"calls on the GPU take so long, until released; unkillable: the "
				"caller sits in the kernel's freezer",
				inject_slow, prepare_slow},
		{"clear", "", "faults and delays go, GPUs are neither lost nor slow", inject_clear},
};

static int list(void)
{
	(void) fputs("usage: bulkhead sim inject DIR\n", stderr);
	for (size_t i = 0; i < BH_ARRAY_SIZE(kinds); i++)
		(void) fprintf(stderr, "  %s %s\n\t%s\n", kinds[i].name, kinds[i].arguments,
				kinds[i].purpose);
	return CTL_USAGE;
}

static int write_log(const char *dir, const struct words *w)
{
	struct bh_error err;

	if (w->log[0] && ctl_log_append(dir, w->log, &err) < 0)
		return ctl_complain(CTL_FAILED, "%s", err.message);
	return CTL_DONE;
}

static int run(const char *dir, size_t kind, struct words *w)
{
	struct sim_map map;
	struct sim_tx tx;
	int rc = ctl_open(dir, &map);

	if (rc != CTL_DONE)
		return rc;
	if (kinds[kind].prepare)
		rc = kinds[kind].prepare(w);
	if (rc != CTL_DONE) {
		sim_map_close(&map);
		return rc;
	}
	sim_tx_begin(&tx, &map, /* take_back= */ false);
	rc = kinds[kind].run(&tx, w);
	for (int i = 0; rc == CTL_DONE && i < w->argc; i++) {
		if (!(w->used & 1U << i))
			rc = ctl_complain(CTL_USAGE, "'%s' means nothing to %s", w->argv[i],
					kinds[kind].name);
	}
	if (ctl_end(&tx, rc == CTL_DONE ? SIM_OK : SIM_INVALID, dir) != CTL_DONE)
		rc = CTL_FAILED;
	sim_events_wake(map.state);
	sim_map_close(&map);
	rc = rc == CTL_DONE ? write_log(dir, w) : rc;
	return settle_freezers(w, rc);
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
