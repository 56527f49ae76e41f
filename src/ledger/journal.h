/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of changes: one run for one GPU, its steps in order as opaque texts, and how far it
 * came. A step is marked started, durably, before anything is asked of the machine; what a crash
 * leaves behind is an open run, of which a GPU has at most one. The run's number is its fencing
 * token: it grows, and a row is changed only under the number that the caller holds.
 */
#ifndef BH_LEDGER_JOURNAL_H
#define BH_LEDGER_JOURNAL_H

#include "ledger/ledger.h"

#define BH_JOURNAL_STEPS_MAX 256

enum bh_step_state {
	BH_STEP_PLANNED,
	BH_STEP_STARTED,
	BH_STEP_DONE,
	BH_STEP_FAILED,
	BH_STEP_UNKNOWN,
	BH_STEP_UNDOING,
	BH_STEP_UNDONE,
	BH_STEP_STATE_COUNT
};

struct bh_journal_step {
	char *body; /* owned by the run */
	enum bh_step_state state;
};

struct bh_journal_run {
	int64_t id;
	char gpu[BH_UUID_SIZE];
	bool backward;
	char note[512];		       /* why it goes back, if it does */
	struct bh_journal_step *steps; /* owned */
	size_t n_steps;
};

/**
 * bh_step_state_name() - "planned", "started", …
 * @state: valid
 */
const char *bh_step_state_name(enum bh_step_state state);

/**
 * bh_journal_run_free() - free what a run holds, and the run
 * @run: NULL is fine
 */
void bh_journal_run_free(struct bh_journal_run *run);

static inline void bh_journal_run_freep(struct bh_journal_run **p)
{
	bh_journal_run_free(*p);
}
#define bh_auto_journal_run BH_CLEANUP(bh_journal_run_freep)

/**
 * bh_journal_open_run() - write a new run with its steps; within the caller's transaction
 * @ledger: open for writing
 * @gpu:    UUID
 * @bodies: the steps' texts, borrowed
 * @n:      how many, at most BH_JOURNAL_STEPS_MAX
 * @note:   why, for people
 * @ret_id: written on success
 * @err:    INTERNAL (SQLITE), also when the GPU has an open run
 */
int bh_journal_open_run(struct bh_ledger *ledger, const char *gpu, const char *const *bodies,
		size_t n, const char *note, int64_t *ret_id, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_journal_set_step() - move a step on; within the caller's transaction
 * @ledger: open for writing
 * @run:    the run's number
 * @seq:    the step, from 0
 * @state:  its new state
 * @note:   an error's text, or ""
 * @err:    INTERNAL (SQLITE), also when the run is no longer open
 */
int bh_journal_set_step(struct bh_ledger *ledger, int64_t run, size_t seq, enum bh_step_state state,
		const char *note, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_journal_turn_back() - from now on the run is undone; within the caller's transaction
 * @ledger: open for writing
 * @run:    the run's number
 * @why:    for people
 * @err:    INTERNAL (SQLITE), also when the run is no longer open
 */
int bh_journal_turn_back(struct bh_ledger *ledger, int64_t run, const char *why,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_journal_close_run() - the run is over; within the caller's transaction
 * @ledger: open for writing
 * @run:    the run's number
 * @state:  "done", "rolled-back" or "abandoned"
 * @note:   for people
 * @err:    INTERNAL (SQLITE), also when the run is no longer open
 */
int bh_journal_close_run(struct bh_ledger *ledger, int64_t run, const char *state, const char *note,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_journal_next_open() - the open run with the lowest number above @after
 * @ledger:  borrowed
 * @after:   0 for the first
 * @ret_run: written when 0 is returned; freed with bh_journal_run_free()
 * @err:     INTERNAL (SQLITE)
 *
 * Return: 0; BH_LEDGER_NONE when there is none; negative on error.
 */
int bh_journal_next_open(struct bh_ledger *ledger, int64_t after, struct bh_journal_run **ret_run,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_journal_last_run() - how the newest run ended, for status
 * @ledger:   borrowed
 * @ret_json: {"run","gpu","state","direction","note","opened_at","closed_at"}; a new reference
 * @err:      INTERNAL (SQLITE)
 *
 * Return: 0; BH_LEDGER_NONE when there never was one; negative on error.
 */
int bh_journal_last_run(struct bh_ledger *ledger, json_t **ret_json, struct bh_error *err)
		BH_MUST_CHECK;

#endif
