/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One change to one GPU, carried through: the journal goes first, then the machine is asked, then
 * what it shows decides. Every step is marked started durably before its call. After each answer
 * the step's `want` and `was` are looked for in an observation: want seen, it is done, whatever the
 * answer said; was seen, it is not done; neither, somebody else acted, and the run stops. A failure
 * turns the run round: the steps that happened are taken back, the last one first, so that exact
 * undos (what we created goes) come before inexact ones (what we destroyed comes back with a new
 * UUID). A crash anywhere leaves an open run, which bh_run_resume() takes up in the direction in
 * which it was going, or turns round when the rest is no longer possible.
 *
 * Nothing here knows how a step is carried out: the caller gives the table of executors. All calls
 * are asynchronous, so that a daemon and a command can drive the same code.
 */
#ifndef BH_APPLY_RUN_H
#define BH_APPLY_RUN_H

#include "ledger/journal.h"
#include "plan/plan.h"

enum bh_answer_outcome {
	BH_ANSWER_DONE,
	BH_ANSWER_FAILED,
	BH_ANSWER_UNKNOWN,
};

/* What an executor says after it tried. */
struct bh_answer {
	enum bh_answer_outcome outcome;
	bool sent;  /* false: surely nothing was done */
	bool stuck; /* UNKNOWN, and whoever was asked may still act */
	const struct bh_gpu
			*gpu; /* observation after it, ownership marked; NULL if there is none */
	struct bh_error err;  /* not for DONE */
};

typedef void (*bh_answer_fn)(const struct bh_answer *answer, void *userdata);

/* What the caller provides. Each function returns 0 and answers once, at once or later, or fails. */
struct bh_run_ops {
	/* by enum bh_step_executor: carry a step out, then observe */
	int (*carry_out[BH_EXEC_COUNT])(void *context, const struct bh_step *step,
			bh_answer_fn answer, void *userdata, struct bh_error *err);
	/* observe with a fresh worker, sure that none before it still acts */
	int (*observe)(void *context, const char *gpu, const char *pci, bh_answer_fn answer,
			void *userdata, struct bh_error *err);
};

enum bh_run_end {
	BH_RUN_DONE,	    /* every step is done */
	BH_RUN_ROLLED_BACK, /* none is: the GPU is as before, up to new UUIDs */
	BH_RUN_ABANDONED,   /* somebody else changed the GPU (a reboot, too); the run is closed */
	BH_RUN_LEFT,	    /* it could not be taken back; the run stays open, the next one tries */
};

struct bh_run_result {
	enum bh_run_end end;
	bool touched;		  /* something was, or may have been, changed on the machine */
	struct bh_error err;	  /* not for DONE: the first cause */
	struct bh_error undo_err; /* LEFT, ABANDONED: what stopped the way back */
	struct bh_gpu gpu;	  /* the last observation */
	size_t n_undone, n_left;  /* steps taken back; steps that still stand */
	char left[320];		  /* those that stand, in words, cut if need be */
};

typedef void (*bh_run_end_fn)(const struct bh_run_result *result, void *userdata);

struct bh_run; /* opaque */

/**
 * bh_run_new() - journal a plan as a new run
 * @ledger:  borrowed for the run's life
 * @plan:    borrowed for the call; has at least one step
 * @ops:     borrowed for the run's life
 * @context: for @ops
 * @ret_run: freed with bh_run_free()
 * @err:     INTERNAL (SQLITE), NO_MEMORY
 *
 * Within the caller's transaction, so that it can be one with the generation it serves.
 */
int bh_run_new(struct bh_ledger *ledger, const struct bh_gpu_plan *plan,
		const struct bh_run_ops *ops, void *context, struct bh_run **ret_run,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_run_resume() - take up an open run from the journal
 * @ledger:  borrowed for the run's life
 * @journal: borrowed for the call
 * @ops:     borrowed for the run's life
 * @context: for @ops
 * @ret_run: freed with bh_run_free()
 * @err:     INTERNAL when its steps cannot be read, NO_MEMORY
 */
int bh_run_resume(struct bh_ledger *ledger, const struct bh_journal_run *journal,
		const struct bh_run_ops *ops, void *context, struct bh_run **ret_run,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_run_start() - set it going
 * @run:      new or resumed
 * @ended:    called once, maybe before this returns; may free the run
 * @userdata: for @ended
 *
 * A resumed run observes first.
 */
void bh_run_start(struct bh_run *run, bh_run_end_fn ended, void *userdata);

/**
 * bh_run_stop() - go no further: after the step under way, take the run back
 * @run: started
 * @why: copied; becomes the cause
 *
 * A run that is going back already goes on doing so. The step under way is never cut off.
 */
void bh_run_stop(struct bh_run *run, const struct bh_error *why);

/**
 * bh_run_free() - forget it; the journal keeps it
 * @run: NULL is fine
 */
void bh_run_free(struct bh_run *run);

/**
 * bh_run_gpu() - the UUID of its GPU
 * @run: borrowed
 */
const char *bh_run_gpu(const struct bh_run *run);

#endif
