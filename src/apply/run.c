/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/run.h"

#include <stdio.h>
#include <string.h>

#include "ledger/owned.h"

/* A step whose outcome was lost and that is seen not to have happened is tried once more. */
#define TRIES_MAX 2

struct run_step {
	struct bh_step step;
	enum bh_step_state state;
	unsigned int tries;
};

struct bh_run {
	struct bh_ledger *ledger;
	const struct bh_run_ops *ops;
	void *context;
	int64_t id;
	bool backward, fresh, stop;
	struct bh_error why_stop;
	struct run_step *steps;
	size_t n_steps;

	struct bh_step undo; /* the one under way, when going back */
	size_t current;	     /* the step under way */
	bool in_transaction;
	struct bh_error last;		/* of the step under way */
	enum bh_answer_outcome outcome; /* likewise, while an observation is awaited */
	struct bh_run_result result;
	bh_run_end_fn ended;
	void *userdata;
};

static void go_on(struct bh_run *run);
static void on_answer(const struct bh_answer *answer, void *userdata);
static void on_observed(const struct bh_answer *answer, void *userdata);

/* ------------------------------------------------------------------ making */

static struct bh_run *alloc_run(struct bh_ledger *ledger, size_t n_steps,
		const struct bh_run_ops *ops, void *context)
{
	struct bh_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->steps = calloc(n_steps ? n_steps : 1, sizeof(*run->steps));
	if (!run->steps) {
		free(run);
		return NULL;
	}
	run->ledger = ledger;
	run->ops = ops;
	run->context = context;
	run->n_steps = n_steps;
	return run;
}

void bh_run_free(struct bh_run *run)
{
	if (!run)
		return;
	free(run->steps);
	free(run);
}

static inline void bh_run_freep(struct bh_run **p)
{
	bh_run_free(*p);
}

void bh_run_stop(struct bh_run *run, const struct bh_error *why)
{
	run->stop = true;
	run->why_stop = *why;
}

const char *bh_run_gpu(const struct bh_run *run)
{
	return run->steps[0].step.gpu;
}

static void free_texts(char **texts, size_t n)
{
	for (size_t i = 0; texts && i < n; i++)
		free(texts[i]);
	free(texts);
}

static int journal_plan(struct bh_run *run, struct bh_error *err)
{
	char **bodies = calloc(run->n_steps, sizeof(*bodies));
	int r = bodies ? 0 : bh_fail_memory(err);

	for (size_t i = 0; r == 0 && i < run->n_steps; i++) {
		bh_auto_json json_t *json = bh_step_to_json(&run->steps[i].step);

		r = json ? bh_json_text(json, &bodies[i], err) : bh_fail_memory(err);
	}
	if (r == 0)
		r = bh_journal_open_run(run->ledger, bh_run_gpu(run), (const char *const *) bodies,
				run->n_steps, "", &run->id, err);
	free_texts(bodies, run->n_steps);
	return r;
}

int bh_run_new(struct bh_ledger *ledger, const struct bh_gpu_plan *plan,
		const struct bh_run_ops *ops, void *context, struct bh_run **ret_run,
		struct bh_error *err)
{
	BH_CLEANUP(bh_run_freep)
	struct bh_run *run = alloc_run(ledger, plan->n_steps, ops, context);

	if (!run)
		return bh_fail_memory(err);
	for (size_t i = 0; i < plan->n_steps; i++)
		run->steps[i].step = plan->steps[i];
	run->result.gpu = plan->before;
	run->fresh = true;
	if (journal_plan(run, err) < 0)
		return -1;
	*ret_run = BH_TAKE(run);
	return 0;
}

int bh_run_resume(struct bh_ledger *ledger, const struct bh_journal_run *journal,
		const struct bh_run_ops *ops, void *context, struct bh_run **ret_run,
		struct bh_error *err)
{
	BH_CLEANUP(bh_run_freep)
	struct bh_run *run = alloc_run(ledger, journal->n_steps, ops, context);

	if (!run)
		return bh_fail_memory(err);
	if (journal->n_steps == 0)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "run %lld has no steps",
				(long long) journal->id);
	for (size_t i = 0; i < journal->n_steps; i++) {
		bh_auto_json json_t *json = json_loads(journal->steps[i].body, 0, NULL);

		run->steps[i].state = journal->steps[i].state;
		if (bh_step_from_json(json, &run->steps[i].step, err) < 0)
			return bh_while(err, "run %lld, step %zu", (long long) journal->id, i + 1);
	}
	run->id = journal->id;
	run->backward = journal->backward;
	if (run->backward) /* of the first cause, the journal keeps the words */
		bh_fail(&run->result.err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0, "%s", journal->note);
	*ret_run = BH_TAKE(run);
	return 0;
}

/* ----------------------------------------------------------------- journal */

/* Opens a transaction if none is; everything until commit() is one. */
static int begin(struct bh_run *run, struct bh_error *err)
{
	if (run->in_transaction)
		return 0;
	if (bh_ledger_begin(run->ledger, err) < 0)
		return -1;
	run->in_transaction = true;
	return 0;
}

static int commit(struct bh_run *run, struct bh_error *err)
{
	if (!run->in_transaction)
		return 0;
	run->in_transaction = false;
	return bh_ledger_commit(run->ledger, err);
}

static int set_state(struct bh_run *run, size_t i, enum bh_step_state state, const char *note,
		struct bh_error *err)
{
	if (begin(run, err) < 0 ||
			bh_journal_set_step(run->ledger, run->id, i, state, note, err) < 0)
		return -1;
	run->steps[i].state = state;
	return 0;
}

/* What the step did to the list of what is ours, read from the observation that showed it. */
static int record_ownership(struct bh_run *run, const struct bh_step *step, struct bh_error *err)
{
	const struct bh_gi *gi;
	const struct bh_ci *ci;

	if (begin(run, err) < 0)
		return -1;
	switch (step->kind) {
	case BH_STEP_CREATE_GI:
		return bh_owned_add_gi(run->ledger, step->gpu, step->profile_id, &step->at, err);
	case BH_STEP_DESTROY_GI:
		return bh_owned_drop_gi(run->ledger, step->gpu, &step->at, err);
	case BH_STEP_CREATE_CI:
		gi = bh_gpu_find_gi(&run->result.gpu, step->profile_id, &step->at);
		ci = gi ? bh_gi_find_ci(gi, &step->ci) : NULL;
		if (!ci)
			return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
					"a created instance is not in the observation");
		return bh_owned_add_ci(run->ledger, step->gpu, &step->at, ci, err);
	case BH_STEP_DESTROY_CI:
		return bh_owned_drop_ci(run->ledger, step->gpu, &step->at, &step->ci, err);
	case BH_STEP_QUIESCE:
	case BH_STEP_SET_MIG:
	case BH_STEP_KIND_COUNT:
		break;
	}
	return 0;
}

/* ------------------------------------------------------------------ ending */

static void say_left(struct bh_run_result *result, const struct bh_step *step)
{
	size_t used = strlen(result->left);
	char text[160];

	bh_step_describe(step, text, sizeof(text));
	(void) snprintf(result->left + used, sizeof(result->left) - used, "%s%s", used ? "; " : "",
			text);
}

static void finish(struct bh_run *run, enum bh_run_end end)
{
	run->result.end = end;
	run->result.n_undone = run->result.n_left = 0;
	run->result.left[0] = '\0';
	for (size_t i = 0; i < run->n_steps; i++) {
		if (!bh_step_kind_info(run->steps[i].step.kind)->has_undo)
			continue;
		run->result.n_undone += run->steps[i].state == BH_STEP_UNDONE;
		if (run->steps[i].state == BH_STEP_UNDONE || run->steps[i].state == BH_STEP_PLANNED)
			continue;
		run->result.n_left++;
		say_left(&run->result, &run->steps[i].step);
	}
	run->ended(&run->result, run->userdata);
}

/* The journal itself failed: nothing further may be asked of the machine. */
static void stop_on_journal(struct bh_run *run, const struct bh_error *err)
{
	bh_ledger_rollback(run->ledger);
	run->in_transaction = false;
	run->result.undo_err = *err;
	if (!run->result.err.message[0])
		run->result.err = *err;
	finish(run, BH_RUN_LEFT);
}

/* Closes the run in the journal, with an event, and ends. */
static void close_run(struct bh_run *run, enum bh_run_end end)
{
	static const struct {
		const char *state, *event;
	} words[] = {
			[BH_RUN_DONE] = {"done", "Applied"},
			[BH_RUN_ROLLED_BACK] = {"rolled-back", "RolledBack"},
			[BH_RUN_ABANDONED] = {"abandoned", "RunAbandoned"},
	};
	const char *note = end == BH_RUN_DONE	     ? ""
			   : end == BH_RUN_ABANDONED ? run->result.undo_err.message
						     : run->result.err.message;
	struct bh_error err;

	if (begin(run, &err) < 0 ||
			bh_journal_close_run(run->ledger, run->id, words[end].state, note, &err) <
					0 ||
			bh_ledger_event(run->ledger, words[end].event, bh_run_gpu(run), note,
					&err) < 0 ||
			commit(run, &err) < 0) {
		stop_on_journal(run, &err);
		return;
	}
	finish(run, end);
}

/* The way back is barred. Somebody else's doing closes the run; a refusal leaves it for a retry. */
static void give_up(struct bh_run *run, const struct bh_error *why, bool somebody_else)
{
	struct bh_error err;

	run->result.undo_err = *why;
	if (!run->result.err.message[0])
		run->result.err = *why;
	if (somebody_else) {
		close_run(run, BH_RUN_ABANDONED);
		return;
	}
	if (begin(run, &err) < 0 ||
			bh_ledger_event(run->ledger, "RunLeft", bh_run_gpu(run), why->message,
					&err) < 0 ||
			commit(run, &err) < 0) {
		stop_on_journal(run, &err);
		return;
	}
	finish(run, BH_RUN_LEFT);
}

/* ------------------------------------------------------------------ asking */

static void ask_observe(struct bh_run *run)
{
	const struct bh_step *step = &run->steps[0].step;
	struct bh_error err;

	if (commit(run, &err) < 0) {
		stop_on_journal(run, &err);
		return;
	}
	if (run->ops->observe(run->context, step->gpu, step->pci, on_observed, run, &err) < 0)
		give_up(run, &err, /* somebody_else= */ false);
}

/* Durable first, then the call. */
static void ask(struct bh_run *run, size_t i, const struct bh_step *step, enum bh_step_state state)
{
	enum bh_step_executor executor = bh_step_kind_info(step->kind)->executor;
	enum bh_step_state before = run->steps[i].state;
	struct bh_error err;

	run->current = i;
	run->last = (struct bh_error){0};
	run->steps[i].tries++;
	if (set_state(run, i, state, "", &err) < 0 || commit(run, &err) < 0) {
		run->steps[i].state = before;
		stop_on_journal(run, &err);
		return;
	}
	if (run->ops->carry_out[executor](run->context, step, on_answer, run, &err) < 0) {
		struct bh_answer answer = {.outcome = BH_ANSWER_FAILED, .err = err};

		on_answer(&answer, run);
	}
}

/* ----------------------------------------------------------------- deciding */

static void neither(const struct bh_step *step, struct bh_error *ret_err)
{
	char text[160];

	bh_step_describe(step, text, sizeof(text));
	bh_fail(ret_err, BH_E_INTERNAL, BH_SRC_SELF, 0,
			"%s: the GPU is neither as it was before the step nor as it should be "
			"after "
			"it: somebody else changed it",
			text);
	bh_error_next(ret_err, "look at it with 'bulkhead status', then apply the layout again");
}

static bool may_have_happened(enum bh_step_state state)
{
	return state == BH_STEP_STARTED || state == BH_STEP_UNKNOWN;
}

/* An instance that is there before we asked for it is somebody else's. */
static bool counts_as_done(const struct run_step *rs, const struct bh_gpu *gpu)
{
	bool creates = rs->step.kind == BH_STEP_CREATE_GI || rs->step.kind == BH_STEP_CREATE_CI;

	return bh_step_want_holds(&rs->step, gpu) && (!creates || may_have_happened(rs->state));
}

/* Settles a step as done when the GPU shows it. 1 = settled, 0 = not, negative = journal. */
static int settle_forward(struct bh_run *run, size_t i, struct bh_error *err)
{
	struct run_step *rs = &run->steps[i];

	if (!counts_as_done(rs, &run->result.gpu))
		return 0;
	run->result.touched = run->result.touched || may_have_happened(rs->state);
	if (set_state(run, i, BH_STEP_DONE, "", err) < 0 ||
			record_ownership(run, &rs->step, err) < 0)
		return -1;
	return 1;
}

/* What happened under a lost answer is written down as done first: what we made is ours. */
static void turn_back(struct bh_run *run, const struct bh_error *why)
{
	struct bh_error err;
	int r;

	if (!run->result.err.message[0])
		run->result.err = *why;
	run->backward = true;
	r = begin(run, &err);
	if (r == 0)
		r = bh_journal_turn_back(run->ledger, run->id, why->message, &err);
	for (size_t i = 0; r >= 0 && i < run->n_steps; i++) {
		if (may_have_happened(run->steps[i].state))
			r = settle_forward(run, i, &err);
	}
	if (r < 0) {
		stop_on_journal(run, &err);
		return;
	}
	go_on(run);
}

/* Another MIG device stands where the one was that the plan means. */
static bool is_replaced(const struct bh_step *step, const struct bh_gpu *gpu)
{
	const struct bh_gi *gi = bh_gpu_find_gi(gpu, step->profile_id, &step->at);
	const struct bh_ci *ci = gi ? bh_gi_find_ci(gi, &step->ci) : NULL;

	return step->kind == BH_STEP_DESTROY_CI && ci && ci->uuid[0] && step->uuid[0] &&
	       strcmp(ci->uuid, step->uuid) != 0;
}

static void go_forward(struct bh_run *run)
{
	struct bh_error err;
	size_t i;

	for (i = 0; i < run->n_steps; i++) {
		int r;

		if (run->steps[i].state == BH_STEP_DONE)
			continue;
		r = settle_forward(run, i, &err);
		if (r < 0) {
			stop_on_journal(run, &err);
			return;
		}
		if (r == 0)
			break;
	}
	if (i == run->n_steps) {
		close_run(run, BH_RUN_DONE);
		return;
	}
	if (!bh_step_was_holds(&run->steps[i].step, &run->result.gpu) ||
			is_replaced(&run->steps[i].step, &run->result.gpu)) {
		neither(&run->steps[i].step, &err);
		turn_back(run, &err);
		return;
	}
	if (run->stop || run->steps[i].tries >= TRIES_MAX) {
		turn_back(run, run->stop ? &run->why_stop : &run->last);
		return;
	}
	ask(run, i, &run->steps[i].step, BH_STEP_STARTED);
}

static int mark_undone(struct bh_run *run, size_t i, struct bh_error *err)
{
	struct bh_step undo;

	run->result.touched = run->result.touched || run->steps[i].state == BH_STEP_UNDOING;
	if (set_state(run, i, BH_STEP_UNDONE, run->last.message, err) < 0)
		return -1;
	if (!bh_step_undo(&run->steps[i].step, &undo))
		return 0;
	/* what we destroyed and now find again is ours again; what we made is no longer */
	return bh_step_is_about(&undo, BH_TARGET_GI) ? record_ownership(run, &undo, err) : 0;
}

/* Is what the undo destroys in use by now? Then it stays, and is told. */
static int check_idle(const struct bh_run *run, const struct bh_step *undo, struct bh_error *err)
{
	struct bh_gpu copy = run->result.gpu;

	return bh_step_predict(undo, &copy, err);
}

/* An instance that came back although nobody was asked for it is somebody else's. */
static bool is_undone(const struct bh_run *run, const struct run_step *rs)
{
	bool creates = run->undo.kind == BH_STEP_CREATE_GI || run->undo.kind == BH_STEP_CREATE_CI;

	return bh_step_want_holds(&run->undo, &run->result.gpu) &&
	       !(creates && rs->state == BH_STEP_DONE);
}

/* Is what the undo destroys still what we made? 1 = yes, 0 = no, negative = journal. */
static int is_ours(struct bh_run *run, struct bh_error *err)
{
	const struct bh_gi *gi;
	const struct bh_ci *ci;

	if (run->undo.kind != BH_STEP_DESTROY_CI)
		return 1;
	/* the observation was marked before the last steps were written down */
	if (bh_owned_mark(run->ledger, &run->result.gpu, err) < 0)
		return -1;
	gi = bh_gpu_find_gi(&run->result.gpu, run->undo.profile_id, &run->undo.at);
	ci = gi ? bh_gi_find_ci(gi, &run->undo.ci) : NULL;
	return !ci || !ci->foreign;
}

static void go_backward(struct bh_run *run)
{
	struct bh_error err = {0};
	size_t i = run->n_steps;
	int ours;

	while (i > 0) {
		struct run_step *rs = &run->steps[i - 1];

		if (rs->state == BH_STEP_PLANNED || rs->state == BH_STEP_UNDONE) {
			i--;
			continue;
		}
		if (bh_step_undo(&rs->step, &run->undo) && !is_undone(run, rs))
			break;
		if (mark_undone(run, i - 1, &err) < 0) {
			stop_on_journal(run, &err);
			return;
		}
		i--;
	}
	if (i == 0) {
		close_run(run, BH_RUN_ROLLED_BACK);
		return;
	}
	ours = is_ours(run, &err);
	if (ours < 0) {
		stop_on_journal(run, &err);
		return;
	}
	if (!ours || !bh_step_was_holds(&run->undo, &run->result.gpu)) {
		neither(&run->undo, &err);
		give_up(run, &err, /* somebody_else= */ true);
		return;
	}
	if (check_idle(run, &run->undo, &err) < 0) {
		give_up(run, &err, /* somebody_else= */ false);
		return;
	}
	if (run->steps[i - 1].state == BH_STEP_UNDOING && run->steps[i - 1].tries >= TRIES_MAX) {
		give_up(run, &run->last, /* somebody_else= */ false);
		return;
	}
	if (run->steps[i - 1].state != BH_STEP_UNDOING)
		run->steps[i - 1].tries = 0;
	ask(run, i - 1, &run->undo, BH_STEP_UNDOING);
}

static void go_on(struct bh_run *run)
{
	if (run->backward)
		go_backward(run);
	else
		go_forward(run);
}

/* Would every step that is left still apply, one after the other, to the GPU as it is? */
static int check_rest(const struct bh_run *run, struct bh_error *err)
{
	struct bh_gpu copy = run->result.gpu;

	for (size_t i = 0; i < run->n_steps; i++) {
		const struct run_step *rs = &run->steps[i];

		if (rs->state == BH_STEP_DONE || counts_as_done(rs, &copy))
			continue;
		if (bh_step_predict(&rs->step, &copy, err) < 0)
			return -1;
	}
	return 0;
}

static void on_first_look(const struct bh_answer *answer, void *userdata)
{
	struct bh_run *run = userdata;
	struct bh_error err;

	if (!answer->gpu) {
		give_up(run, &answer->err, /* somebody_else= */ false);
		return;
	}
	run->result.gpu = *answer->gpu;
	if (!run->backward && check_rest(run, &err) < 0) {
		turn_back(run, &err);
		return;
	}
	go_on(run);
}

/* ---------------------------------------------------------------- answers */

/* A quiesce is done when its executor says so: nothing on the machine shows it. */
static bool is_unseen(const struct bh_run *run, const struct bh_answer *answer)
{
	return !run->backward && run->steps[run->current].step.kind == BH_STEP_QUIESCE &&
	       answer->outcome == BH_ANSWER_DONE;
}

static void without_effect(const struct bh_step *step, struct bh_error *ret_err)
{
	char text[160];

	bh_step_describe(step, text, sizeof(text));
	bh_fail(ret_err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
			"%s: reported as done, but reading back shows no change", text);
}

/* The driver said no, and means it: what is there all the same, somebody else made. */
static bool is_refusal(const struct bh_answer *answer)
{
	if (answer->outcome != BH_ANSWER_FAILED || answer->err.source != BH_SRC_NVML)
		return false;
	switch (answer->err.code) {
	case BH_E_DOES_NOT_FIT:
	case BH_E_IN_USE:
	case BH_E_DENIED:
	case BH_E_UNSUPPORTED:
	case BH_E_PROFILE_NOT_OFFERED:
		return true;
	default:
		return false;
	}
}

static void decide_forward(struct bh_run *run, const struct bh_answer *answer)
{
	const struct bh_step *step = &run->steps[run->current].step;
	bool creates = step->kind == BH_STEP_CREATE_GI || step->kind == BH_STEP_CREATE_CI;
	struct bh_error err;

	if (creates && is_refusal(answer)) {
		/* not ours, so nothing of this step is to be taken back */
		if (set_state(run, run->current, BH_STEP_UNDONE, answer->err.message, &err) < 0)
			stop_on_journal(run, &err);
		else
			turn_back(run, &answer->err);
		return;
	}

	if (bh_step_want_holds(step, &run->result.gpu) || answer->outcome == BH_ANSWER_UNKNOWN ||
			!bh_step_was_holds(step, &run->result.gpu)) {
		go_on(run);
		return;
	}
	err = answer->err;
	if (answer->outcome == BH_ANSWER_DONE)
		without_effect(step, &err);
	if (set_state(run, run->current, BH_STEP_FAILED, err.message, &err) < 0) {
		stop_on_journal(run, &err);
		return;
	}
	turn_back(run, &err);
}

static void decide_backward(struct bh_run *run, const struct bh_answer *answer)
{
	bool unchanged = !bh_step_want_holds(&run->undo, &run->result.gpu) &&
			 bh_step_was_holds(&run->undo, &run->result.gpu);

	if (!unchanged || answer->outcome == BH_ANSWER_UNKNOWN) {
		go_on(run);
		return;
	}
	if (answer->outcome == BH_ANSWER_DONE)
		without_effect(&run->undo, &run->last);
	give_up(run, &run->last, /* somebody_else= */ false);
}

static void decide(struct bh_run *run, const struct bh_answer *answer)
{
	if (run->backward)
		decide_backward(run, answer);
	else
		decide_forward(run, answer);
}

/* What the machine shows decides about a step whose answer came without an observation. */
static void on_observed(const struct bh_answer *answer, void *userdata)
{
	struct bh_run *run = userdata;
	struct bh_answer settled = {.outcome = run->outcome, .sent = true, .err = run->last};

	if (!answer->gpu) {
		if (!run->result.err.message[0])
			run->result.err = run->last;
		give_up(run, &answer->err, /* somebody_else= */ false);
		return;
	}
	run->result.gpu = *answer->gpu;
	settled.gpu = &run->result.gpu;
	decide(run, &settled);
}

static void on_answer(const struct bh_answer *answer, void *userdata)
{
	struct bh_run *run = userdata;
	struct bh_error err;

	run->outcome = answer->outcome;
	if (answer->outcome != BH_ANSWER_DONE)
		run->last = answer->err;
	run->result.touched = run->result.touched ||
			      (answer->sent && answer->outcome != BH_ANSWER_FAILED);
	if (answer->gpu)
		run->result.gpu = *answer->gpu;
	if (answer->stuck) {
		give_up(run, &answer->err, /* somebody_else= */ false);
	} else if (is_unseen(run, answer)) {
		if (set_state(run, run->current, BH_STEP_DONE, "", &err) < 0)
			stop_on_journal(run, &err);
		else
			go_on(run);
	} else if (!answer->gpu && answer->sent) {
		ask_observe(run);
	} else {
		decide(run, answer);
	}
}

void bh_run_start(struct bh_run *run, bh_run_end_fn ended, void *userdata)
{
	const struct bh_step *step = &run->steps[0].step;
	struct bh_error err;

	run->ended = ended;
	run->userdata = userdata;
	if (run->fresh) {
		go_on(run);
		return;
	}
	if (run->ops->observe(run->context, step->gpu, step->pci, on_first_look, run, &err) < 0) {
		give_up(run, &err, /* somebody_else= */ false);
	}
}
