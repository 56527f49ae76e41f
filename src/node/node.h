/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node: its state directory, its ledger, its machine, and all changes to it. The daemon and the
 * command line drive the same functions; here a command runs the event loop until its work is done.
 */
#ifndef BH_NODE_NODE_H
#define BH_NODE_NODE_H

#include "apply/run.h"
#include "node/wish.h"
#include "plan/plan.h"

struct bh_node; /* opaque */

struct bh_node_config {
	const char *driver; /* "nvml" or "sim:DIR"; all borrowed for the node's life */
	const char *state_dir;
	const char *worker_path;
	const char *version;	   /* of this program; the worker must have the same */
	uint32_t call_deadline_ms; /* for each driver call; 0 = each kind's own */
};

/* How an interrupted run went on. */
struct bh_resumed_run {
	int64_t id;
	char gpu[BH_UUID_SIZE];
	enum bh_run_end end;
	struct bh_error err; /* not for DONE */
};

#define BH_RESUMED_MAX BH_NODE_GPUS_MAX

struct bh_resume_report {
	struct bh_resumed_run runs[BH_RESUMED_MAX];
	size_t n_runs;
};

/* What became of each GPU, in the inventory's order. */
struct bh_applied_gpu {
	bool ran; /* a run was made for it */
	struct bh_run_result result;
	bool verified;	 /* read back afterwards by another worker, and as wanted */
	char found[256]; /* if not: the first difference in words */
};

struct bh_apply_report {
	int64_t generation;
	struct bh_applied_gpu *gpus; /* as many as the inventory has; owned */
	size_t n_gpus;
	bool changed;
};

/**
 * bh_node_open() - get at a node
 * @config:   copied
 * @role:     NULL to read only; else the name under which the state directory is locked
 * @ret_node: freed with bh_node_free()
 * @err:      STATE_LOCKED, DEADLINE, DENIED, UNSUPPORTED, INTERNAL
 *
 * A writer has the lock and the certainty that no worker of a former life still acts. A reader
 * makes nothing; a ledger that is not there is no error.
 */
int bh_node_open(const struct bh_node_config *config, const char *role, struct bh_node **ret_node,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_node_free() - end the workers, close the ledger, give up the lock
 * @node: NULL is fine
 */
void bh_node_free(struct bh_node *node);

static inline void bh_node_freep(struct bh_node **p)
{
	bh_node_free(*p);
}
#define bh_auto_node BH_CLEANUP(bh_node_freep)

/**
 * bh_node_read() - read the machine
 * @node:    borrowed
 * @ret_inv: borrowed from @node until the next reading
 * @err:     NO_DRIVER, DEADLINE, …
 */
int bh_node_read(struct bh_node *node, const struct bh_inventory **ret_inv, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_node_inventory() - the last reading
 * @node: has read the machine
 *
 * Return: borrowed from @node until the next reading.
 */
const struct bh_inventory *bh_node_inventory(const struct bh_node *node);

/**
 * bh_node_state_dir() - the state directory
 * @node: borrowed
 *
 * Return: borrowed from the node's config.
 */
const char *bh_node_state_dir(const struct bh_node *node);

/**
 * bh_node_ledger() - the ledger
 * @node: borrowed
 *
 * Return: borrowed from @node; NULL when it reads only and there is none.
 */
struct bh_ledger *bh_node_ledger(struct bh_node *node);

/**
 * bh_node_resume() - finish or take back what an earlier command left open
 * @node:       a writer that has read the machine
 * @ret_report: written always
 * @err:        INTERNAL (SQLITE), NO_DRIVER, …; a run that could not be ended is no error here
 *
 * If there was anything, the machine is read again: bh_node_inventory() has the new reading. What was
 * ours and is not there any more is forgotten.
 */
int bh_node_resume(struct bh_node *node, struct bh_resume_report *ret_report, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_node_check_resumed() - is a GPU of this wish held up by a run that could not be ended
 * @node:   has read the machine
 * @wish:   borrowed
 * @report: of bh_node_resume()
 * @err:    PARTIAL or DEADLINE, with the cause and who holds it
 *
 * GPUs out of the wish's scope do not count: one board's trouble is not the others'.
 */
int bh_node_check_resumed(const struct bh_node *node, const struct bh_wish *wish,
		const struct bh_resume_report *report, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_node_plan() - plan every GPU of the last reading
 * @node:      has read the machine
 * @wish:      borrowed
 * @ret_plans: as many as there are GPUs; freed with bh_node_plans_free()
 * @err:       the first GPU's refusal; then nothing may be applied
 */
int bh_node_plan(struct bh_node *node, const struct bh_wish *wish, struct bh_gpu_plan **ret_plans,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_node_plans_free() - free what bh_node_plan() gave
 * @plans: NULL is fine
 * @n:     how many: the wish's number of GPUs
 */
void bh_node_plans_free(struct bh_gpu_plan *plans, size_t n);

/**
 * bh_node_apply() - carry plans out, one GPU after the other, and read back
 * @node:       a writer without open runs
 * @wish:       borrowed; becomes the next generation
 * @plans:      borrowed; of the last reading
 * @ret_report: written always; cleared with bh_apply_report_clear()
 * @err:        PARTIAL, NOT_APPLIED, or the refusal of the first call when nothing was changed
 *
 * Stops at the first GPU that fails: that one is taken back, those before it keep what was done.
 */
int bh_node_apply(struct bh_node *node, const struct bh_wish *wish, const struct bh_gpu_plan *plans,
		struct bh_apply_report *ret_report, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_apply_report_clear() - free what it owns
 * @report: zeroed is fine
 */
void bh_apply_report_clear(struct bh_apply_report *report);

#endif
