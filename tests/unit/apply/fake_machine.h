/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine with one GPU for tests of the executor. The truth is a plain bh_gpu, changed by the
 * prediction of each step; what the executor is told of it is another matter, and the test's to
 * choose, call by call. At every call the machine looks into the journal over a connection of its
 * own, as a reader in another process would, and complains when the call is not written down there,
 * when a transaction is open, when the step is not of the plan, or when it would destroy what
 * somebody else made. A crash is an answer that never comes.
 */
#ifndef TEST_FAKE_MACHINE_H
#define TEST_FAKE_MACHINE_H

#include <sqlite3.h>

#include "apply/run.h"

#define SERIALS_MAX 4096

/* X(name, the step happens, what the executor hears) */
#define FAKE_ACTS(X)                                                                               \
	X(OK)		      /* done, with an observation */                                      \
	X(DONE_UNSEEN)	      /* done, without one */                                              \
	X(SILENT)	      /* reported as done, nothing happened */                             \
	X(SILENT_UNSEEN)      /* likewise, without an observation */                               \
	X(FAIL_BEFORE)	      /* refused */                                                        \
	X(FAIL_BEFORE_UNSEEN) /* refused, without an observation */                                \
	X(FAIL_AFTER)	      /* an error, but it happened */                                      \
	X(FAIL_AFTER_UNSEEN)  /* likewise, without an observation */                               \
	X(UNKNOWN_BEFORE)     /* no answer, nothing happened */                                    \
	X(UNKNOWN_AFTER)      /* no answer, but it happened */                                     \
	X(UNKNOWN_UNSENT)     /* no answer, and surely nothing was sent */                         \
	X(NEVER_SENT)	      /* an error, and surely nothing was sent */                          \
	X(REFUSED)	      /* the function itself fails */                                      \
	X(STUCK_BEFORE)	      /* whoever was asked may still act; nothing happened yet */          \
	X(STUCK_AFTER)	      /* whoever was asked may still act; it happened */                   \
	X(BLIND_BEFORE)	      /* no answer, nothing happened, and the observation fails too */     \
	X(BLIND_AFTER)	      /* no answer, it happened, and the observation fails too */          \
	X(BLIND_DONE)	      /* done, unseen, and the observation fails too */                    \
	X(BLIND_REFUSED)      /* done, unseen, and nobody even takes the order to observe */

enum fake_act {
#define X(name) FAKE_##name,
	FAKE_ACTS(X)
#undef X
			FAKE_ACT_COUNT
};

/* What somebody else does; on the side that is not the executor's. */
#define FAKE_MEDDLES(X)                                                                            \
	X(NOTHING)                                                                                 \
	X(SAME_INSTANCE) /* makes the very instance that the plan makes next */                    \
	X(IN_THE_WAY)	 /* makes the smallest instance where there is room */                     \
	X(DESTROY_OURS)	 /* destroys an idle instance of ours */                                   \
	X(REPLACE_OURS)	 /* likewise, and makes one like it in its place */                        \
	X(USE_OURS)	 /* runs a process in an instance that this run made */                    \
	X(REBOOT)	 /* all instances are gone */                                              \
	X(REBOOT_MODE)	 /* likewise, and the MIG mode too */

enum fake_meddle {
#define X(name) FAKE_MEDDLE_##name,
	FAKE_MEDDLES(X)
#undef X
			FAKE_MEDDLE_COUNT
};

enum fake_crash {
	FAKE_NO_CRASH,
	FAKE_CRASH_BEFORE,
	FAKE_CRASH_AFTER,
};

struct fake_event {
	enum fake_act act;
	enum fake_meddle meddle; /* after the step was acted on, before it is observed */
	enum fake_crash crash;	 /* at the call */
};

struct fake_pending {
	bool is, has_gpu;
	bh_answer_fn fn;
	void *userdata;
	struct bh_answer answer;
	struct bh_gpu gpu;
};

struct fake_machine {
	struct bh_gpu gpu; /* the truth; ids are serial numbers, never used twice */
	uint32_t serial;
	bool ours[SERIALS_MAX];
	bool made[SERIALS_MAX];	      /* by this run's creates, not its undos */
	char busy_uuid[BH_UUID_SIZE]; /* of the busy MIG device, or empty */
	/*
	 * Somebody else put the very instance that a call makes or destroys into its place before
	 * anybody could look: to the executor it is its own.
	 */
	bool undecidable;
	bool rebooted, meddled, acted; /* acted: something changed since the run started */

	struct bh_gpu_plan plan;
	struct bh_gpu old; /* the truth when the plan was made */

	char dir[64];
	struct bh_ledger *ledger;
	sqlite3 *watch;				 /* another connection */
	sqlite3_stmt *states, *begin, *rollback; /* of that one */

	struct fake_event (*choose)(struct fake_machine *machine, unsigned int call);
	const void *script; /* for choose */
	uint64_t random;    /* likewise */
	bool later;	    /* answers come from the queue */
	struct fake_pending pending;
	unsigned int calls, driver_calls, looks, commits, blind;
	bool blind_refuses;

	/* at the commit of that number, from 1; 0 = none */
	unsigned int fail_commit, crash_before_commit, crash_after_commit;
	bool may_fail;	     /* the journal, by something that the machine does not see */
	bool journal_failed; /* from then on nothing may be asked */
	bool crashed, ended, free_at_end;
	struct bh_run *run;
	struct bh_run_result result;
	char label[256]; /* of the case, for complaints */
};

struct fake_board {
	const char *name;
	void (*set_up)(struct fake_machine *machine, struct bh_gpu_want *want);
	bool has_busy;
};

extern const struct fake_board fake_boards[];
extern const size_t fake_n_boards;
extern const char *const fake_act_names[], *const fake_meddle_names[];

/* Complains with the case's label and fails the test. */
#define FAKE_CHECK(machine, condition, ...)                                                        \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fake_complain(machine, #condition, __FILE__, __LINE__, __VA_ARGS__);       \
	} while (0)

void fake_complain(const struct fake_machine *machine, const char *condition, const char *file,
		int line, const char *format, ...) BH_PRINTF(5, 6);

/* A machine with its state directory and an empty ledger. */
struct fake_machine *fake_new(void);
void fake_free(struct fake_machine *machine);

/* Back to the start: the board as it is in the beginning, its plan, an empty journal, no script. */
void fake_reset(struct fake_machine *machine, const struct fake_board *board);

/* Journals the plan as a run, and starts it; to its end or a crash. */
void fake_run(struct fake_machine *machine);

/* Opens the ledger again, as the next process does, and forgets the run. */
void fake_reopen(struct fake_machine *machine);

/* Takes the open run up, to its end or a crash. Returns false when there is none. */
bool fake_resume(struct fake_machine *machine);

/* Resumes on a healthy machine until no run is open. */
void fake_recover(struct fake_machine *machine);

bool fake_layout_is(const struct fake_machine *machine, const struct bh_gpu *layout);

/* What must be so when a run ended as machine->result says and nobody else acted. */
void fake_check_end(struct fake_machine *machine);

/* The layout is the old or the wanted one, as the closed run says; ownership is right. */
void fake_check_closed(struct fake_machine *machine);

/* The list of what is ours is what is ours. */
void fake_check_owned(struct fake_machine *machine);

/* Nothing that somebody else made counts as ours, nothing of ours as somebody else's. */
void fake_check_strangers(struct fake_machine *machine);

/* The busy instance stands, and bears its UUID. */
void fake_check_busy(struct fake_machine *machine);

/* One text from the ledger, as another process sees it. */
void fake_query(struct fake_machine *machine, const char *sql, char *buffer, size_t size);
int fake_query_int(struct fake_machine *machine, const char *sql);

uint64_t fake_random(uint64_t *state, uint64_t below);

/* The building blocks of boards. */
struct bh_gi *fake_put(struct fake_machine *machine, const char *profile, uint32_t start, bool ours,
		const uint32_t *slices, size_t n_slices);

#endif
