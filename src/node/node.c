/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "ledger/generation.h"
#include "ledger/owned.h"
#include "node/machine.h"
#include "node/state_dir.h"

#define LOCK_DEADLINE_MS   10000
#define SETTLE_DEADLINE_MS 150000 /* longer than any step's own deadline */

struct bh_node {
	struct bh_node_config config;
	char state_dir[PATH_MAX];
	sd_event *event;
	int lock;
	struct bh_ledger *ledger;
	struct bh_machine *machine;
	const struct bh_inventory *inventory;
	/* the run that the loop is driving */
	struct bh_run *run;
	bool ended, interrupted;
	struct bh_run_result result;
};

/* --------------------------------------------------------------- open, close */

static int open_writer(struct bh_node *node, const char *role, struct bh_error *err)
{
	const char *dir = node->config.state_dir;

	if (bh_state_lock(dir, role, LOCK_DEADLINE_MS, &node->lock, err) < 0 ||
			bh_state_settle(dir, SETTLE_DEADLINE_MS, err) < 0)
		return -1;
	return bh_ledger_open(dir, BH_LEDGER_WRITE, &node->ledger, err);
}

int bh_node_open(const struct bh_node_config *config, const char *role, struct bh_node **ret_node,
		struct bh_error *err)
{
	bh_auto_node struct bh_node *node = calloc(1, sizeof(*node));
	struct bh_machine_config machine = {
			.driver = config->driver,
			.worker_path = config->worker_path,
			.version = config->version,
			.state_dir = role ? config->state_dir : NULL,
			.call_deadline_ms = config->call_deadline_ms,
	};
	int r;

	if (!node)
		return bh_fail_memory(err);
	node->lock = -1;
	node->config = *config;
	if (role && bh_state_prepare(config->state_dir, err) < 0)
		return -1;
	/* by its real name: a ledger is not opened through links */
	if (realpath(config->state_dir, node->state_dir))
		node->config.state_dir = machine.state_dir = node->state_dir;
	if (!role)
		machine.state_dir = NULL;
	r = sd_event_new(&node->event);
	if (r < 0)
		return bh_fail_errno(err, -r, "making an event loop");
	if (role)
		r = open_writer(node, role, err);
	else
		r = bh_ledger_open(node->config.state_dir, BH_LEDGER_READ, &node->ledger, err);
	if (r < 0 || bh_machine_new(node->event, &machine, &node->machine, err) < 0)
		return -1;
	bh_machine_set_ledger(node->machine, node->ledger);
	*ret_node = BH_TAKE(node);
	return 0;
}

void bh_node_free(struct bh_node *node)
{
	if (!node)
		return;
	bh_machine_free(node->machine);
	bh_ledger_free(node->ledger);
	bh_closep(&node->lock);
	sd_event_unref(node->event);
	free(node);
}

int bh_node_read(struct bh_node *node, const struct bh_inventory **ret_inv, struct bh_error *err)
{
	if (bh_machine_read(node->machine, &node->inventory, err) < 0)
		return -1;
	if (node->ledger && bh_ledger_check_origin(node->ledger, node->inventory->origin, err) < 0)
		return -1;
	*ret_inv = node->inventory;
	return 0;
}

const struct bh_inventory *bh_node_inventory(const struct bh_node *node)
{
	return node->inventory;
}

const char *bh_node_state_dir(const struct bh_node *node)
{
	return node->config.state_dir;
}

struct bh_ledger *bh_node_ledger(struct bh_node *node)
{
	return node->ledger;
}

/* ------------------------------------------------------------------- a run */

/* The node's own executor: the one step of its kind is to end our readers. */
static int carry_out_here(void *context, const struct bh_step *step, bh_answer_fn answer,
		void *userdata, struct bh_error *err)
{
	struct bh_node *node = context;
	struct bh_answer done = {.outcome = BH_ANSWER_DONE};

	if (bh_machine_quiesce(node->machine, err) < 0)
		return -1;
	answer(&done, userdata);
	return 0;
}

static int carry_out_by_driver(void *context, const struct bh_step *step, bh_answer_fn answer,
		void *userdata, struct bh_error *err)
{
	struct bh_node *node = context;

	return bh_machine_carry_out(node->machine, step, answer, userdata, err);
}

static int observe(void *context, const char *gpu, const char *pci, bh_answer_fn answer,
		void *userdata, struct bh_error *err)
{
	struct bh_node *node = context;

	return bh_machine_observe(node->machine, gpu, pci, answer, userdata, err);
}

static const struct bh_run_ops run_ops = {
		.carry_out = {[BH_EXEC_NODE] = carry_out_here,
				[BH_EXEC_DRIVER] = carry_out_by_driver},
		.observe = observe,
};

static void on_run_end(const struct bh_run_result *result, void *userdata)
{
	struct bh_node *node = userdata;

	node->result = *result;
	node->ended = true;
}

/* The first one takes the change back; the second one ends us as ever, and the journal has the rest. */
static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct bh_node *node = userdata;
	struct bh_error why;

	if (node->interrupted) {
		(void) signal((int) info->ssi_signo, SIG_DFL);
		(void) raise((int) info->ssi_signo); /* delivered when the mask is lifted, below */
		node->ended = true;
		return 0;
	}
	node->interrupted = true;
	bh_fail(&why, BH_E_NOT_APPLIED, BH_SRC_SELF, 0, "interrupted by %s",
			strsignal((int) info->ssi_signo));
	bh_error_next(&why, "run this again when the change may be made");
	bh_run_stop(node->run, &why);
	return 0;
}

static int watch_signals(struct bh_node *node, sd_event_source **sources, struct bh_error *err)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < BH_ARRAY_SIZE(signals); i++) {
		int r = sd_event_add_signal(node->event, &sources[i], signals[i], on_signal, node);

		if (r < 0)
			return bh_fail_errno(err, -r, "watching for signals");
	}
	return 0;
}

/* The run stays open: what the worker was asked last may have been done. */
static int fail_midway(struct bh_error *err)
{
	if (err)
		err->code = BH_E_PARTIAL;
	bh_error_next(err, "run this again: it goes on from here");
	return bh_while(err, "the change was begun, and nobody saw its end");
}

static int run_loop(struct bh_node *node, struct bh_error *err)
{
	while (!node->ended) {
		int r = sd_event_run(node->event, UINT64_MAX);

		if (r < 0) {
			bh_fail_errno(err, -r, "running the event loop");
			return fail_midway(err);
		}
	}
	return 0;
}

/* Drives a run to its end; the result is in node->result. Signals wait while it goes. */
static int drive(struct bh_node *node, struct bh_run *run, struct bh_error *err)
{
	sd_event_source *sources[3] = {NULL};
	sigset_t mask, before;
	int r;

	(void) sigemptyset(&mask);
	(void) sigaddset(&mask, SIGINT);
	(void) sigaddset(&mask, SIGTERM);
	(void) sigaddset(&mask, SIGHUP);
	(void) sigprocmask(SIG_BLOCK, &mask, &before);
	node->run = run;
	node->ended = node->interrupted = false;
	node->result = (struct bh_run_result){.end = BH_RUN_LEFT}; /* unless it gets to say more */
	r = watch_signals(node, sources, err);
	if (r == 0) {
		bh_run_start(run, on_run_end, node);
		r = run_loop(node, err);
	}
	for (size_t i = 0; i < BH_ARRAY_SIZE(sources); i++)
		sd_event_source_disable_unref(sources[i]);
	(void) sigprocmask(SIG_SETMASK, &before, NULL);
	node->run = NULL;
	if (r < 0)
		bh_machine_give_up(node->machine); /* the run, which would be told, goes */
	return r;
}

/* ----------------------------------------------------------------- resuming */

/* A card that is gone took its instances along: there is nothing to finish or to take back. */
static int abandon_gone(struct bh_node *node, struct bh_resumed_run *run, struct bh_error *err)
{
	bh_fail(&run->err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0, "GPU %s is not on this node any more",
			run->gpu);
	if (bh_ledger_begin(node->ledger, err) < 0)
		return -1;
	if (bh_journal_close_run(node->ledger, run->id, "abandoned", run->err.message, err) < 0 ||
			bh_ledger_event(node->ledger, "RunAbandoned", run->gpu, run->err.message,
					err) < 0 ||
			bh_owned_drop_gpu(node->ledger, run->gpu, err) < 0) {
		bh_ledger_rollback(node->ledger);
		return -1;
	}
	run->end = BH_RUN_ABANDONED;
	return bh_ledger_commit(node->ledger, err);
}

static int resume_one(struct bh_node *node, const struct bh_journal_run *journal,
		struct bh_resumed_run *ret, struct bh_error *err)
{
	struct bh_run *run = NULL;
	int r;

	ret->id = journal->id;
	memcpy(ret->gpu, journal->gpu, sizeof(ret->gpu));
	ret->end = BH_RUN_LEFT;
	if (!bh_inventory_find_gpu(node->inventory, journal->gpu))
		return abandon_gone(node, ret, err);
	if (bh_run_resume(node->ledger, journal, &run_ops, node, &run, err) < 0) {
		ret->err = *err;
		return -1;
	}
	r = drive(node, run, err);
	bh_run_free(run);
	if (r < 0)
		return -1;
	ret->end = node->result.end;
	ret->err = node->result.undo_err.message[0] ? node->result.undo_err : node->result.err;
	return 0;
}

static int resume_all(
		struct bh_node *node, struct bh_resume_report *ret_report, struct bh_error *err)
{
	int64_t after = 0;

	memset(ret_report, 0, sizeof(*ret_report));
	while (ret_report->n_runs < BH_RESUMED_MAX) {
		struct bh_resumed_run *resumed = &ret_report->runs[ret_report->n_runs];
		bh_auto_journal_run struct bh_journal_run *journal = NULL;
		int r = bh_journal_next_open(node->ledger, after, &journal, err);

		if (r < 0)
			return -1;
		if (r == BH_LEDGER_NONE)
			break;
		after = journal->id;
		ret_report->n_runs++;
		if (resume_one(node, journal, resumed, err) < 0)
			return bh_while(err, "resuming run %lld", (long long) after);
	}
	return 0;
}

/* Without an open run the machine is the truth: what is not there any more is not ours any more. */
static int forget_gone(struct bh_node *node, struct bh_error *err)
{
	const struct bh_inventory *inventory = node->inventory;
	bool any = false;

	for (size_t i = 0; i < inventory->n_gpus; i++) {
		bool stale;

		if (bh_owned_forget(node->ledger, &inventory->gpus[i], /* only_look= */ true,
				    &stale, err) < 0)
			return -1;
		any = any || stale;
	}
	if (!any)
		return 0;
	if (bh_ledger_begin(node->ledger, err) < 0)
		return -1;
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		bool stale;

		if (bh_owned_forget(node->ledger, &inventory->gpus[i], /* only_look= */ false,
				    &stale, err) < 0 ||
				(stale && bh_ledger_event(node->ledger, "InstancesGone",
							  inventory->gpus[i].uuid,
							  "instances of ours are not there any "
							  "more",
							  err) < 0)) {
			bh_ledger_rollback(node->ledger);
			return -1;
		}
	}
	return bh_ledger_commit(node->ledger, err);
}

int bh_node_resume(struct bh_node *node, struct bh_resume_report *ret_report, struct bh_error *err)
{
	if (resume_all(node, ret_report, err) < 0)
		return -1;
	if (ret_report->n_runs > 0 && bh_machine_read(node->machine, &node->inventory, err) < 0)
		return -1;
	return forget_gone(node, err);
}

/* ------------------------------------------------------------ plan and apply */

int bh_node_check_resumed(const struct bh_node *node, const struct bh_wish *wish,
		const struct bh_resume_report *report, struct bh_error *err)
{
	for (size_t i = 0; i < report->n_runs; i++) {
		const struct bh_resumed_run *run = &report->runs[i];
		struct bh_error cause = run->err;
		const struct bh_gpu *gpu = bh_inventory_find_gpu(node->inventory, run->gpu);

		if (run->end != BH_RUN_LEFT || !gpu ||
				!wish->wants[gpu - node->inventory->gpus].in_scope)
			continue;
		*err = cause;
		err->code = cause.code == BH_E_DEADLINE ? BH_E_DEADLINE : BH_E_PARTIAL;
		memcpy(err->gpu, run->gpu, sizeof(err->gpu));
		if (!err->next[0])
			bh_error_next(err, "remove the cause, then run this again: it goes on from "
					   "here");
		return bh_while(err, "run %lld on GPU %u is neither finished nor taken back",
				(long long) run->id, gpu->index);
	}
	return 0;
}

int bh_node_plan(struct bh_node *node, const struct bh_wish *wish, struct bh_gpu_plan **ret_plans,
		struct bh_error *err)
{
	struct bh_gpu_plan *plans = calloc(wish->n_wants + 1, sizeof(*plans));

	if (!plans)
		return bh_fail_memory(err);
	for (size_t i = 0; i < wish->n_wants; i++) {
		if (bh_plan_gpu(&node->inventory->gpus[i], &wish->wants[i], &plans[i], err) < 0) {
			if (err && err->code == BH_E_DOES_NOT_FIT)
				(void) bh_while(err, "%s", wish->wants[i].source);
			bh_node_plans_free(plans, wish->n_wants);
			return -1;
		}
	}
	*ret_plans = plans;
	return 0;
}

void bh_node_plans_free(struct bh_gpu_plan *plans, size_t n)
{
	for (size_t i = 0; plans && i < n; i++)
		bh_gpu_plan_free(&plans[i]);
	free(plans);
}

void bh_apply_report_clear(struct bh_apply_report *report)
{
	free(report->gpus);
	report->gpus = NULL;
	report->n_gpus = 0;
}

static int propose(struct bh_node *node, const struct bh_wish *wish, int64_t *ret_n,
		struct bh_error *err)
{
	bh_auto_json json_t *layout = json_array();

	if (!layout)
		return bh_fail_memory(err);
	for (size_t i = 0; i < wish->n_wants; i++) {
		if (!wish->wants[i].in_scope)
			continue;
		if (bh_json_append(layout,
				    bh_want_to_json(&node->inventory->gpus[i], &wish->wants[i]),
				    err) < 0)
			return -1;
	}
	return bh_generation_propose(node->ledger, wish->source, wish->selected, wish->sha256,
			layout, ret_n, err);
}

/* One transaction: the generation when it is the first run, and the run. */
static int journal_run(struct bh_node *node, const struct bh_gpu_plan *plan,
		struct bh_run **ret_run, struct bh_error *err)
{
	if (bh_ledger_begin(node->ledger, err) < 0)
		return -1;
	if (bh_run_new(node->ledger, plan, &run_ops, node, ret_run, err) < 0) {
		bh_ledger_rollback(node->ledger);
		return -1;
	}
	return bh_ledger_commit(node->ledger, err);
}

static int apply_gpu(struct bh_node *node, const struct bh_gpu_plan *plan,
		struct bh_applied_gpu *ret, struct bh_error *err)
{
	struct bh_run *run = NULL;
	int r = journal_run(node, plan, &run, err);

	if (r == 0) {
		ret->ran = true;
		r = drive(node, run, err);
		ret->result = node->result;
	}
	bh_run_free(run);
	return r;
}

/* Of a call that was refused with nothing changed: these say what to do about it, better than we. */
static bool is_own_word(enum bh_code code)
{
	switch (code) {
	case BH_E_IN_USE:
	case BH_E_NEEDS_RESET:
	case BH_E_NEEDS_REBOOT:
	case BH_E_DENIED:
	case BH_E_UNSUPPORTED:
	case BH_E_RESET_UNSUPPORTED:
	case BH_E_NO_DRIVER:
	case BH_E_DEADLINE:
		return true;
	default:
		return false;
	}
}

/* The failed GPU's error, with what it means for the whole command. */
static int say_failed(const struct bh_gpu *gpu, const struct bh_gpu_want *want,
		const struct bh_run_result *result, bool others_done, struct bh_error *err)
{
	struct bh_error cause = result->err;
	char label[160], found[256] = "";

	bh_gpu_label(gpu, label, sizeof(label));
	(void) bh_want_is_met(&result->gpu, want, found, sizeof(found));
	if (result->end == BH_RUN_LEFT || result->end == BH_RUN_ABANDONED) {
		bh_fail(err, BH_E_PARTIAL, cause.source, cause.native,
				"%s: %s; %zu steps of this change still stand (%.160s) and could "
				"not "
				"be taken back: %s; first cause: %s",
				label, found, result->n_left, result->left,
				result->undo_err.message, cause.message);
		bh_error_next(err, "%s",
				result->undo_err.next[0] ? result->undo_err.next
							 : "remove the cause, then run this again: "
							   "it goes on "
							   "from here");
	} else if (others_done) {
		bh_fail(err, BH_E_PARTIAL, cause.source, cause.native,
				"%s: %s; rolled back, the GPUs before it keep what was done: %s",
				label, found, cause.message);
		bh_error_next(err, "%s", cause.next);
	} else if (result->n_undone > 1 || result->touched || !is_own_word(cause.code)) {
		bh_fail(err, BH_E_NOT_APPLIED, cause.source, cause.native,
				"%s: %s; rolled back to the layout before: %s", label, found,
				cause.message);
		bh_error_next(err, "%s", cause.next);
	} else {
		*err = cause; /* refused at the first call, nothing was changed */
		return bh_while(err, "%s", label);
	}
	if (!err->next[0])
		bh_error_next(err, "'bulkhead status' shows what is there; run this again once the "
				   "cause "
				   "is removed");
	memcpy(err->holders, cause.holders, sizeof(err->holders));
	err->n_holders = cause.n_holders;
	err->more_holders = cause.more_holders;
	(void) snprintf(err->gpu, sizeof(err->gpu), "%s", gpu->uuid);
	return -1;
}

/* Another worker than the one that acted reads everything once more. */
static int verify(struct bh_node *node, const struct bh_wish *wish, struct bh_apply_report *report,
		struct bh_error *err)
{
	const struct bh_inventory *inventory;
	int r = 0;

	if (bh_node_read(node, &inventory, err) < 0) {
		err->code = BH_E_PARTIAL;
		bh_error_next(err, "'bulkhead assert' tells whether the layout holds, once it can "
				   "be read");
		return bh_while(err, "every step was seen done, but the last reading failed");
	}
	if (inventory->n_gpus != report->n_gpus)
		return bh_fail(err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
				"the node had %zu GPUs before the change and has %zu now",
				report->n_gpus, inventory->n_gpus);
	for (size_t i = 0; i < report->n_gpus; i++) {
		struct bh_applied_gpu *gpu = &report->gpus[i];
		char label[160];

		gpu->verified = bh_want_is_met(&inventory->gpus[i], &wish->wants[i], gpu->found,
				sizeof(gpu->found));
		if (gpu->verified || r < 0)
			continue;
		bh_gpu_label(&inventory->gpus[i], label, sizeof(label));
		r = bh_fail(err, BH_E_NOT_APPLIED, BH_SRC_SELF, 0,
				"%s: %s, although every step was seen done: somebody else changed "
				"it",
				label, gpu->found);
		bh_error_next(err,
				"look at it with 'bulkhead status', then apply the layout again");
	}
	return r;
}

static bool has_more(const struct bh_gpu_plan *plans, size_t from, size_t n)
{
	for (; from < n; from++) {
		if (plans[from].n_steps > 0)
			return true;
	}
	return false;
}

static int apply_all(struct bh_node *node, const struct bh_wish *wish,
		const struct bh_gpu_plan *plans, struct bh_apply_report *report,
		struct bh_error *err)
{
	for (size_t i = 0; i < report->n_gpus; i++) {
		struct bh_applied_gpu *gpu = &report->gpus[i];

		if (plans[i].n_steps == 0)
			continue;
		if (apply_gpu(node, &plans[i], gpu, err) < 0)
			return -1;
		if (gpu->result.end != BH_RUN_DONE)
			return say_failed(&node->inventory->gpus[i], &wish->wants[i], &gpu->result,
					report->changed, err);
		report->changed = true;
		if (node->interrupted && has_more(plans, i + 1, report->n_gpus)) {
			bh_fail(err, BH_E_PARTIAL, BH_SRC_SELF, 0,
					"interrupted: GPU %u was finished, those after it were not "
					"started",
					node->inventory->gpus[i].index);
			bh_error_next(err, "run this again when the rest may be changed");
			return -1;
		}
	}
	return 0;
}

int bh_node_apply(struct bh_node *node, const struct bh_wish *wish, const struct bh_gpu_plan *plans,
		struct bh_apply_report *ret_report, struct bh_error *err)
{
	struct bh_apply_report report = {.n_gpus = node->inventory->n_gpus};
	int r;

	memset(ret_report, 0, sizeof(*ret_report));
	report.gpus = calloc(report.n_gpus + 1, sizeof(*report.gpus));
	if (!report.gpus)
		return bh_fail_memory(err);
	r = bh_ledger_begin(node->ledger, err);
	if (r == 0 && (bh_ledger_bind_origin(node->ledger, node->inventory->origin, err) < 0 ||
				      propose(node, wish, &report.generation, err) < 0)) {
		bh_ledger_rollback(node->ledger);
		r = -1;
	} else if (r == 0) {
		r = bh_ledger_commit(node->ledger, err);
	}
	if (r == 0)
		r = apply_all(node, wish, plans, &report, err);
	if (r == 0)
		r = verify(node, wish, &report, err);
	*ret_report = report;
	return r;
}
