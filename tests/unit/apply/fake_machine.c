/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_machine.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ledger/owned.h"
#include "ledger/sql.h"

const char *const fake_act_names[] = {
#define X(name) #name,
		FAKE_ACTS(X)
#undef X
};

const char *const fake_meddle_names[] = {
#define X(name) #name,
		FAKE_MEDDLES(X)
#undef X
};

void fake_complain(const struct fake_machine *machine, const char *condition, const char *file,
		int line, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_error("%s\n  call %u, look %u, commit %u; end %d, err '%s', undo_err '%s', left %zu\n"
		    "  %s:%d: %s: %s\n",
			machine->label, machine->calls, machine->looks, machine->commits,
			machine->ended ? (int) machine->result.end : -1,
			machine->result.err.message, machine->result.undo_err.message,
			machine->result.n_left, file, line, condition, text);
	fail();
}

uint64_t fake_random(uint64_t *state, uint64_t below)
{
	/* splitmix64 */
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % below;
}

/* ------------------------------------------------------------ the journal, seen from outside */

void fake_query(struct fake_machine *machine, const char *sql, char *buffer, size_t size)
{
	sqlite3_stmt *stmt = NULL;
	int r = sqlite3_prepare_v2(machine->watch, sql, -1, &stmt, NULL);

	FAKE_CHECK(machine, r == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(machine->watch));
	buffer[0] = '\0';
	if (sqlite3_step(stmt) == SQLITE_ROW)
		bh_sql_text(stmt, 0, buffer, size);
	sqlite3_finalize(stmt);
}

int fake_query_int(struct fake_machine *machine, const char *sql)
{
	char text[32];

	fake_query(machine, sql, text, sizeof(text));
	return (int) strtol(text, NULL, 10);
}

static bool same_step(const struct bh_step *a, const struct bh_step *b)
{
	return a->kind == b->kind && a->on == b->on && a->profile_id == b->profile_id &&
	       a->at.start == b->at.start && a->at.size == b->at.size &&
	       a->ci.start == b->ci.start && a->ci.size == b->ci.size &&
	       strcmp(a->gpu, b->gpu) == 0 && strcmp(a->pci, b->pci) == 0;
}

/* The states of the open runs' steps, a blank before each. Returns how many there are. */
static size_t read_states(struct fake_machine *machine, const char **states)
{
	static const char *const names[] = {
			"planned", "started", "done", "failed", "unknown", "undoing", "undone"};
	size_t n = 0;

	while (sqlite3_step(machine->states) == SQLITE_ROW && n < BH_JOURNAL_STEPS_MAX) {
		const char *text = (const char *) sqlite3_column_text(machine->states, 0);

		states[n] = "?";
		for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
			if (strcmp(names[i], text) == 0)
				states[n] = names[i];
		}
		n++;
	}
	sqlite3_reset(machine->states);
	return n;
}

/* The step is of the plan or takes one of it back, and that stands in the journal already. */
static void check_written_down(struct fake_machine *machine, const struct bh_step *step)
{
	const char *states[BH_JOURNAL_STEPS_MAX];
	size_t n = read_states(machine, states);
	char text[160];

	bh_step_describe(step, text, sizeof(text));
	FAKE_CHECK(machine, n == machine->plan.n_steps, "not exactly one run is open at a call");
	for (size_t i = 0; i < n; i++) {
		const struct bh_step *mine = &machine->plan.steps[i];
		struct bh_step undo;

		if (same_step(mine, step) && strcmp(states[i], "started") == 0)
			return;
		if (bh_step_undo(mine, &undo) && same_step(&undo, step) &&
				strcmp(states[i], "undoing") == 0)
			return;
	}
	FAKE_CHECK(machine, false, "'%s' is asked for, and the journal does not say so", text);
}

static void check_nothing_open(struct fake_machine *machine)
{
	FAKE_CHECK(machine, sqlite3_step(machine->begin) == SQLITE_DONE,
			"a transaction is open at a call: %s", sqlite3_errmsg(machine->watch));
	sqlite3_reset(machine->begin);
	(void) sqlite3_step(machine->rollback);
	sqlite3_reset(machine->rollback);
}

/* Whether a commit succeeds; a crash keeps everything after it from being written. */
static int on_commit(void *context)
{
	struct fake_machine *machine = context;
	unsigned int n = ++machine->commits;

	if (n == machine->crash_before_commit)
		machine->crashed = true;
	if (n == machine->fail_commit)
		machine->journal_failed = true;
	return machine->crashed || n == machine->fail_commit;
}

static int on_committed(void *context, sqlite3 *db, const char *name, int pages)
{
	struct fake_machine *machine = context;

	if (machine->commits == machine->crash_after_commit)
		machine->crashed = true;
	return SQLITE_OK;
}

static void open_ledger(struct fake_machine *machine)
{
	struct bh_error err = {0};

	if (bh_ledger_open(machine->dir, BH_LEDGER_WRITE, &machine->ledger, &err) != 0)
		FAKE_CHECK(machine, false, "%s", err.message);
	sqlite3_commit_hook(machine->ledger->db, on_commit, machine);
	sqlite3_wal_hook(machine->ledger->db, on_committed, machine);
}

/* ------------------------------------------------------------------- the machine */

static void number(struct fake_machine *machine, uint32_t *ret_id, bool ours, bool made)
{
	FAKE_CHECK(machine, machine->serial + 1 < SERIALS_MAX, "too many instances");
	*ret_id = ++machine->serial;
	machine->ours[*ret_id] = ours;
	machine->made[*ret_id] = made;
}

/* Instances that are new in the truth have no number yet. */
static void name_new(struct fake_machine *machine, bool ours, bool made)
{
	for (size_t g = 0; g < machine->gpu.n_gis; g++) {
		struct bh_gi *gi = &machine->gpu.gis[g];

		if (gi->id == BH_UNKNOWN)
			number(machine, &gi->id, ours, made);
		for (size_t c = 0; c < gi->n_cis; c++) {
			struct bh_ci *ci = &gi->cis[c];

			if (ci->id != BH_UNKNOWN)
				continue;
			number(machine, &ci->id, ours, made);
			(void) snprintf(ci->uuid, sizeof(ci->uuid), "MIG-%u", ci->id);
		}
	}
}

static int happen(struct fake_machine *machine, const struct bh_step *step, bool ours,
		struct bh_error *err)
{
	if (bh_step_predict(step, &machine->gpu, err) < 0)
		return -1;
	name_new(machine, ours, ours && strncmp(step->reason, "takes back", 10) != 0);
	return 0;
}

struct bh_gi *fake_put(struct fake_machine *machine, const char *profile, uint32_t start, bool ours,
		const uint32_t *slices, size_t n_slices)
{
	struct bh_step step = {.kind = BH_STEP_CREATE_GI};
	struct bh_error err = {0};
	struct bh_gi *gi;

	for (size_t p = 0; p < machine->gpu.n_profiles; p++) {
		const struct bh_gi_profile *row = &machine->gpu.profiles[p];

		for (size_t i = 0; strcmp(row->name, profile) == 0 && i < row->n_placements; i++) {
			if (row->placements[i].start != start)
				continue;
			step.profile_id = row->id;
			step.at = row->placements[i];
		}
	}
	FAKE_CHECK(machine, step.at.size, "no %s at %u", profile, start);
	if (happen(machine, &step, ours, &err) < 0)
		FAKE_CHECK(machine, false, "%s", err.message);
	step.kind = BH_STEP_CREATE_CI;
	for (size_t i = 0; i < n_slices; i++) {
		step.ci = (struct bh_placement){step.ci.start + step.ci.size, slices[i]};
		if (happen(machine, &step, ours, &err) < 0)
			FAKE_CHECK(machine, false, "%s", err.message);
	}
	gi = (struct bh_gi *) bh_gpu_find_gi(&machine->gpu, step.profile_id, &step.at);
	return gi;
}

static struct bh_gi *find_idle_of_ours(struct fake_machine *machine)
{
	for (size_t g = 0; g < machine->gpu.n_gis; g++) {
		struct bh_gi *gi = &machine->gpu.gis[g];

		/* a bare one cannot be told from another: it is known by its place alone */
		if (machine->ours[gi->id] && !gi->busy && gi->n_cis)
			return gi;
	}
	return NULL;
}

static void remove_gi(struct fake_machine *machine, struct bh_gi *gi)
{
	size_t i = (size_t) (gi - machine->gpu.gis);

	memmove(gi, gi + 1, (machine->gpu.n_gis - i - 1) * sizeof(*gi));
	machine->gpu.n_gis--;
}

/* As one who knows nothing of the executor does it: all or nothing, when there is a chance. */
static void meddle(struct fake_machine *machine, enum fake_meddle what)
{
	struct bh_gi *ours = find_idle_of_ours(machine);
	struct bh_step step = {.kind = BH_STEP_CREATE_GI};

	machine->meddled = machine->meddled || what != FAKE_MEDDLE_NOTHING;
	switch (what) {
	case FAKE_MEDDLE_SAME_INSTANCE:
		for (size_t i = 0; i < machine->plan.n_steps; i++) {
			if (machine->plan.steps[i].kind == BH_STEP_CREATE_GI &&
					happen(machine, &machine->plan.steps[i], false, NULL) == 0)
				return;
		}
		break;
	case FAKE_MEDDLE_IN_THE_WAY:
		for (size_t p = 0; p < machine->gpu.n_profiles; p++) {
			const struct bh_gi_profile *profile = &machine->gpu.profiles[p];

			step.profile_id = profile->id;
			for (size_t i = 0; i < profile->n_placements; i++) {
				step.at = profile->placements[i];
				if (step.at.size == 1 && happen(machine, &step, false, NULL) == 0)
					return;
			}
		}
		break;
	case FAKE_MEDDLE_DESTROY_OURS:
		if (ours)
			remove_gi(machine, ours);
		break;
	case FAKE_MEDDLE_REPLACE_OURS:
		if (!ours)
			return;
		number(machine, &ours->id, false, false);
		for (size_t c = 0; c < ours->n_cis; c++)
			ours->cis[c].id = BH_UNKNOWN;
		name_new(machine, false, false);
		break;
	case FAKE_MEDDLE_USE_OURS:
		for (size_t g = 0; g < machine->gpu.n_gis; g++) {
			struct bh_gi *gi = &machine->gpu.gis[g];

			if (machine->made[gi->id] && gi->n_cis)
				gi->busy = gi->cis[0].busy = true;
		}
		break;
	case FAKE_MEDDLE_REBOOT_MODE:
		machine->gpu.mig_current = machine->gpu.mig_pending = BH_MIG_OFF;
		/* fall through */
	case FAKE_MEDDLE_REBOOT:
		machine->gpu.n_gis = 0;
		machine->rebooted = true;
		break;
	case FAKE_MEDDLE_NOTHING:
	case FAKE_MEDDLE_COUNT:
		break;
	}
}

/* What the executor is about to destroy was not made by somebody else. */
static void check_not_a_strangers(struct fake_machine *machine, const struct bh_step *step)
{
	const struct bh_gi *gi = bh_gpu_find_gi(&machine->gpu, step->profile_id, &step->at);
	const struct bh_ci *ci = gi ? bh_gi_find_ci(gi, &step->ci) : NULL;

	if (machine->undecidable)
		return;
	if (step->kind == BH_STEP_DESTROY_CI && ci)
		FAKE_CHECK(machine, machine->ours[ci->id], "'%s' is somebody else's", ci->uuid);
	if (step->kind == BH_STEP_DESTROY_GI && gi)
		FAKE_CHECK(machine, machine->ours[gi->id], "the instance is somebody else's");
}

/* --------------------------------------------------------------------- the calls */

static void deliver(struct fake_machine *machine, bh_answer_fn fn, void *userdata,
		struct bh_answer *answer, bool with_gpu)
{
	struct fake_pending *pending = &machine->pending, now;
	struct bh_error err = {0};

	FAKE_CHECK(machine, !pending->is, "two calls at a time");
	*pending = (struct fake_pending){.is = true,
			.has_gpu = with_gpu,
			.fn = fn,
			.userdata = userdata,
			.answer = *answer};
	if (with_gpu) {
		pending->gpu = machine->gpu;
		if (bh_owned_mark(machine->ledger, &pending->gpu, &err) < 0)
			FAKE_CHECK(machine, false, "%s", err.message);
	}
	if (machine->later)
		return;
	now = *pending;
	pending->is = false;
	now.answer.gpu = with_gpu ? &now.gpu : NULL;
	fn(&now.answer, userdata);
}

static void pump(struct fake_machine *machine)
{
	struct fake_pending now = machine->pending;

	FAKE_CHECK(machine, now.is, "the run waits for nobody");
	machine->pending.is = false;
	now.answer.gpu = now.has_gpu ? &now.gpu : NULL;
	now.fn(&now.answer, now.userdata);
}

static bool act_happens(enum fake_act act)
{
	switch (act) {
	case FAKE_OK:
	case FAKE_DONE_UNSEEN:
	case FAKE_FAIL_AFTER:
	case FAKE_FAIL_AFTER_UNSEEN:
	case FAKE_UNKNOWN_AFTER:
	case FAKE_STUCK_AFTER:
	case FAKE_BLIND_AFTER:
	case FAKE_BLIND_DONE:
	case FAKE_BLIND_REFUSED:
		return true;
	default:
		return false;
	}
}

static enum bh_answer_outcome act_outcome(enum fake_act act)
{
	switch (act) {
	case FAKE_OK:
	case FAKE_DONE_UNSEEN:
	case FAKE_SILENT:
	case FAKE_SILENT_UNSEEN:
	case FAKE_BLIND_DONE:
	case FAKE_BLIND_REFUSED:
		return BH_ANSWER_DONE;
	case FAKE_FAIL_BEFORE:
	case FAKE_FAIL_BEFORE_UNSEEN:
	case FAKE_FAIL_AFTER:
	case FAKE_FAIL_AFTER_UNSEEN:
	case FAKE_NEVER_SENT:
		return BH_ANSWER_FAILED;
	default:
		return BH_ANSWER_UNKNOWN;
	}
}

static void answer_step(struct fake_machine *machine, enum fake_act act, int happened,
		const struct bh_error *why, bh_answer_fn fn, void *userdata)
{
	struct bh_answer answer = {.outcome = act_outcome(act), .sent = true};

	if (act == FAKE_BLIND_BEFORE || act == FAKE_BLIND_AFTER || act == FAKE_BLIND_DONE ||
			act == FAKE_BLIND_REFUSED)
		machine->blind = 1;
	machine->blind_refuses = act == FAKE_BLIND_REFUSED;
	answer.sent = act != FAKE_NEVER_SENT && act != FAKE_UNKNOWN_UNSENT;
	answer.stuck = act == FAKE_STUCK_BEFORE || act == FAKE_STUCK_AFTER;
	if (happened < 0 && answer.outcome == BH_ANSWER_DONE) {
		answer.outcome = BH_ANSWER_FAILED; /* an honest driver says that it cannot */
		answer.err = *why;
	} else if (answer.outcome == BH_ANSWER_FAILED && happened >= 0 &&
			(act == FAKE_FAIL_AFTER || act == FAKE_FAIL_AFTER_UNSEEN)) {
		/* an error that says nothing of what happened; a refusal would be a lie */
		bh_fail(&answer.err, BH_E_INTERNAL, BH_SRC_NVML, 999, "the fake says no");
	} else if (answer.outcome == BH_ANSWER_FAILED) {
		bh_fail(&answer.err, BH_E_IN_USE, BH_SRC_NVML, 19, "the fake says no");
	} else if (answer.outcome == BH_ANSWER_UNKNOWN) {
		bh_fail(&answer.err, BH_E_DEADLINE, BH_SRC_SELF, 0, "the fake does not answer");
	}
	deliver(machine, fn, userdata, &answer,
			act == FAKE_OK || act == FAKE_SILENT || act == FAKE_FAIL_BEFORE ||
					act == FAKE_FAIL_AFTER);
}

static int carry_out(void *context, const struct bh_step *step, bh_answer_fn fn, void *userdata,
		struct bh_error *err)
{
	struct fake_machine *machine = context;
	struct fake_event event = {0};
	const struct bh_gi *gi;
	struct bh_error why = {0};
	int happened = 0;

	if (machine->crashed)
		return 0;
	if (machine->choose)
		event = machine->choose(machine, machine->calls);
	machine->calls++;
	machine->driver_calls += step->kind != BH_STEP_QUIESCE;
	FAKE_CHECK(machine, !machine->journal_failed || machine->may_fail,
			"asked although the journal failed");
	FAKE_CHECK(machine, machine->meddled || bh_step_was_holds(step, &machine->gpu),
			"a call that makes no sense on the machine as it is");
	check_written_down(machine, step);
	check_nothing_open(machine);
	check_not_a_strangers(machine, step);
	if (event.crash == FAKE_CRASH_BEFORE) {
		machine->crashed = true;
		return 0;
	}
	if (act_happens(event.act))
		happened = happen(machine, step, true, &why);
	machine->acted = machine->acted ||
			 (step->kind != BH_STEP_QUIESCE && happened == 0 && act_happens(event.act));
	meddle(machine, event.meddle);
	gi = bh_gpu_find_gi(&machine->gpu, step->profile_id, &step->at);
	if (event.meddle && gi && !machine->ours[gi->id])
		machine->undecidable = true;
	if (event.crash == FAKE_CRASH_AFTER) {
		machine->crashed = true;
		return 0;
	}
	if (event.act == FAKE_REFUSED)
		return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0, "the fake takes no orders");
	answer_step(machine, event.act, happened, &why, fn, userdata);
	return 0;
}

static int observe(void *context, const char *gpu, const char *pci, bh_answer_fn fn, void *userdata,
		struct bh_error *err)
{
	struct fake_machine *machine = context;
	struct bh_answer answer = {.outcome = BH_ANSWER_DONE, .sent = true};

	if (machine->crashed)
		return 0;
	machine->looks++;
	FAKE_CHECK(machine, !machine->journal_failed, "observed although the journal failed");
	FAKE_CHECK(machine,
			strcmp(gpu, machine->gpu.uuid) == 0 && strcmp(pci, machine->gpu.pci) == 0,
			"another GPU is observed");
	check_nothing_open(machine);
	if (machine->blind == 0) {
		deliver(machine, fn, userdata, &answer, /* with_gpu= */ true);
		return 0;
	}
	machine->blind--;
	if (machine->blind_refuses)
		return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0, "the fake shows nothing");
	answer = (struct bh_answer){.outcome = BH_ANSWER_UNKNOWN};
	bh_fail(&answer.err, BH_E_DEADLINE, BH_SRC_SELF, 0, "the fake cannot be seen");
	deliver(machine, fn, userdata, &answer, /* with_gpu= */ false);
	return 0;
}

static const struct bh_run_ops ops = {
		.carry_out = {[BH_EXEC_NODE] = carry_out, [BH_EXEC_DRIVER] = carry_out},
		.observe = observe,
};

/* -------------------------------------------------------------------- making, ending */

static void remove_dir(const char *dir)
{
	static const char *const names[] = {"ledger.db", "ledger.db-wal", "ledger.db-shm"};
	char path[128];

	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		(void) snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		(void) unlink(path); /* may be absent */
	}
	(void) rmdir(dir);
}

static void prepare(struct fake_machine *machine, sqlite3_stmt **stmt, const char *sql)
{
	if (sqlite3_prepare_v2(machine->watch, sql, -1, stmt, NULL) != SQLITE_OK)
		FAKE_CHECK(machine, false, "%s", sqlite3_errmsg(machine->watch));
}

struct fake_machine *fake_new(void)
{
	struct fake_machine *machine = calloc(1, sizeof(*machine));
	char path[128];
	struct stat st;

	assert_non_null(machine);
	(void) snprintf(machine->dir, sizeof(machine->dir), "%s/bulkhead-run-XXXXXX",
			stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(machine->dir));
	open_ledger(machine);
	(void) snprintf(path, sizeof(path), "%s/ledger.db", machine->dir);
	assert_int_equal(sqlite3_open(path, &machine->watch), SQLITE_OK);
	prepare(machine, &machine->states,
			"SELECT step.state FROM run JOIN step ON run = id WHERE run.state = 'open'"
			" ORDER BY id, seq");
	prepare(machine, &machine->begin, "BEGIN IMMEDIATE");
	prepare(machine, &machine->rollback, "ROLLBACK");
	return machine;
}

void fake_free(struct fake_machine *machine)
{
	bh_run_free(machine->run);
	bh_gpu_plan_free(&machine->plan);
	bh_ledger_free(machine->ledger);
	sqlite3_finalize(machine->states);
	sqlite3_finalize(machine->begin);
	sqlite3_finalize(machine->rollback);
	sqlite3_close(machine->watch);
	remove_dir(machine->dir);
	free(machine);
}

static void own_what_is_ours(struct fake_machine *machine)
{
	const struct bh_gpu *gpu = &machine->gpu;
	struct bh_error err = {0};
	int r = bh_ledger_begin(machine->ledger, &err);

	for (size_t g = 0; r == 0 && g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		machine->made[gi->id] = false;
		if (!machine->ours[gi->id])
			continue;
		r = bh_owned_add_gi(machine->ledger, gpu->uuid, gi->profile_id, &gi->at, &err);
		for (size_t c = 0; r == 0 && c < gi->n_cis; c++)
			r = bh_owned_add_ci(machine->ledger, gpu->uuid, &gi->at, &gi->cis[c], &err);
	}
	if (r < 0 || bh_ledger_commit(machine->ledger, &err) < 0)
		FAKE_CHECK(machine, false, "%s", err.message);
}

static void make_plan(struct fake_machine *machine, const struct bh_gpu_want *want)
{
	struct bh_gpu seen = machine->gpu;
	struct bh_error err = {0};

	if (bh_owned_mark(machine->ledger, &seen, &err) < 0 ||
			bh_plan_gpu(&seen, want, &machine->plan, &err) < 0)
		FAKE_CHECK(machine, false, "%s", err.message);
	FAKE_CHECK(machine, machine->plan.n_steps > 2, "a plan of few steps proves little");
	machine->old = machine->gpu;
	memset(machine->made, 0, sizeof(machine->made));
}

static void remember_busy(struct fake_machine *machine)
{
	for (size_t g = 0; g < machine->gpu.n_gis; g++) {
		if (machine->gpu.gis[g].busy)
			memcpy(machine->busy_uuid, machine->gpu.gis[g].cis[0].uuid, BH_UUID_SIZE);
	}
}

void fake_reset(struct fake_machine *machine, const struct fake_board *board)
{
	struct bh_gpu_want want = {.in_scope = true, .mig_on = true, .source = "test"};
	struct fake_machine fresh = {.ledger = machine->ledger,
			.watch = machine->watch,
			.states = machine->states,
			.begin = machine->begin,
			.rollback = machine->rollback};

	bh_run_free(machine->run);
	bh_gpu_plan_free(&machine->plan);
	memcpy(fresh.dir, machine->dir, sizeof(fresh.dir));
	*machine = fresh;
	if (sqlite3_exec(machine->watch,
			    "BEGIN; DELETE FROM step; DELETE FROM run; DELETE FROM event;"
			    "DELETE FROM owned_ci; DELETE FROM owned_gi; COMMIT",
			    NULL, NULL, NULL) != SQLITE_OK)
		FAKE_CHECK(machine, false, "%s", sqlite3_errmsg(machine->watch));
	(void) snprintf(machine->gpu.uuid, BH_UUID_SIZE, "GPU-1");
	(void) snprintf(machine->gpu.pci, sizeof(machine->gpu.pci), "00000000:1B:00.0");
	machine->gpu.mig_capable = machine->gpu.holders_known = true;
	machine->gpu.mig_current = machine->gpu.mig_pending = BH_MIG_ON;
	(void) snprintf(machine->label, sizeof(machine->label), "%s", board->name);
	board->set_up(machine, &want);
	remember_busy(machine);
	own_what_is_ours(machine);
	make_plan(machine, &want);
	machine->commits = 0;
}

static void on_end(const struct bh_run_result *result, void *userdata)
{
	struct fake_machine *machine = userdata;

	FAKE_CHECK(machine, !machine->ended, "a run ends twice");
	machine->result = *result;
	machine->ended = true;
	if (machine->free_at_end) {
		bh_run_free(machine->run);
		machine->run = NULL;
	}
}

static void drive(struct fake_machine *machine)
{
	machine->ended = machine->acted = false;
	bh_run_start(machine->run, on_end, machine);
	while (!machine->ended && !machine->crashed)
		pump(machine);
	FAKE_CHECK(machine, machine->crashed || !machine->pending.is,
			"a run ends while it waits for an answer");
	machine->pending.is = false;
	bh_run_free(machine->run);
	machine->run = NULL;
}

void fake_run(struct fake_machine *machine)
{
	struct bh_error err = {0};

	if (bh_ledger_begin(machine->ledger, &err) < 0 ||
			bh_run_new(machine->ledger, &machine->plan, &ops, machine, &machine->run,
					&err) < 0)
		FAKE_CHECK(machine, false, "%s", err.message);
	if (bh_ledger_commit(machine->ledger, &err) < 0) {
		FAKE_CHECK(machine,
				machine->crashed || machine->journal_failed || machine->may_fail,
				"%s", err.message);
		bh_run_free(BH_TAKE(machine->run));
		return;
	}
	drive(machine);
}

void fake_reopen(struct fake_machine *machine)
{
	bh_ledger_free(BH_TAKE(machine->ledger));
	machine->crashed = machine->journal_failed = machine->ended = false;
	machine->crash_before_commit = machine->crash_after_commit = machine->fail_commit = 0;
	machine->blind = 0;
	open_ledger(machine);
}

bool fake_resume(struct fake_machine *machine)
{
	bh_auto_journal_run struct bh_journal_run *journal = NULL;
	struct bh_error err = {0};
	int r = bh_journal_next_open(machine->ledger, 0, &journal, &err);

	if (r == BH_LEDGER_NONE)
		return false;
	if (r < 0 || bh_run_resume(machine->ledger, journal, &ops, machine, &machine->run, &err) <
					0)
		FAKE_CHECK(machine, false, "%s", err.message);
	FAKE_CHECK(machine, strcmp(bh_run_gpu(machine->run), machine->gpu.uuid) == 0, "GPU");
	drive(machine);
	return true;
}

void fake_recover(struct fake_machine *machine)
{
	machine->choose = NULL;
	fake_reopen(machine);
	for (int i = 0; fake_resume(machine); i++)
		FAKE_CHECK(machine, i == 0 && !machine->crashed,
				"a healthy machine does not bring the run to an end");
}
