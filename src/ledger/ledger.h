/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must outlive this process: which instances are ours, which layout is wanted, which change is
 * under way, and what happened. One SQLite file in the state directory, WAL with synchronous FULL,
 * so that a commit that returned survives power loss. There is one writer, the holder of STATE/lock;
 * readers may come at any time. Everything that belongs together is written in one transaction.
 */
#ifndef BH_LEDGER_LEDGER_H
#define BH_LEDGER_LEDGER_H

#include "base/json.h"
#include "gpu/inventory.h"

struct bh_ledger; /* opaque */

enum bh_ledger_mode {
	BH_LEDGER_READ,	 /* what is there; nothing is made */
	BH_LEDGER_WRITE, /* made if absent; the caller holds STATE/lock */
};

enum {
	BH_LEDGER_ABSENT = 1, /* READ, and there is no ledger yet */
	BH_LEDGER_NONE = 1,   /* there is no such row */
};

/**
 * bh_ledger_open() - open STATE/ledger.db
 * @state_dir:  borrowed; exists
 * @mode:       see above
 * @ret_ledger: written when 0 is returned; freed with bh_ledger_free()
 * @err:        INTERNAL (SQLITE) when it cannot be read or is damaged, UNSUPPORTED when a newer
 *              version wrote it or it is not a ledger (it is left as it is), DENIED
 *
 * Return: 0; BH_LEDGER_ABSENT; negative on error.
 */
int bh_ledger_open(const char *state_dir, enum bh_ledger_mode mode, struct bh_ledger **ret_ledger,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_ledger_free() - close; an open transaction is rolled back
 * @ledger: NULL is fine
 */
void bh_ledger_free(struct bh_ledger *ledger);

static inline void bh_ledger_freep(struct bh_ledger **p)
{
	bh_ledger_free(*p);
}
#define bh_auto_ledger BH_CLEANUP(bh_ledger_freep)

/**
 * bh_ledger_begin() - start a transaction
 * @ledger: open for writing
 * @err:    INTERNAL (SQLITE)
 */
int bh_ledger_begin(struct bh_ledger *ledger, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_ledger_commit() - make the transaction durable
 * @ledger: within a transaction
 * @err:    INTERNAL (SQLITE); the transaction is then rolled back, nothing of it holds
 *
 * Returns after the data is on stable storage.
 */
int bh_ledger_commit(struct bh_ledger *ledger, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_ledger_rollback() - drop the transaction; harmless without one
 * @ledger: open
 */
void bh_ledger_rollback(struct bh_ledger *ledger);

/**
 * bh_ledger_check_origin() - does this ledger belong to that machine
 * @ledger: borrowed
 * @origin: of the inventory: "nvml:VERSION" or "sim:DIR"; the version does not matter
 * @err:    USAGE when it belongs to another
 *
 * A ledger that was never bound belongs to nobody yet, and passes.
 */
int bh_ledger_check_origin(struct bh_ledger *ledger, const char *origin, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_ledger_bind_origin() - from now on it does; within the caller's transaction
 * @ledger: open for writing
 * @origin: as above; kept from the first call on
 * @err:    INTERNAL (SQLITE)
 */
int bh_ledger_bind_origin(struct bh_ledger *ledger, const char *origin, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_ledger_event() - note what happened, within a transaction or as one of its own
 * @ledger: open for writing
 * @kind:   "ApplyStarted", "StepDone", "RolledBack", …
 * @gpu:    UUID, or "" for the whole node
 * @text:   a sentence for people
 * @err:    INTERNAL (SQLITE)
 */
int bh_ledger_event(struct bh_ledger *ledger, const char *kind, const char *gpu, const char *text,
		struct bh_error *err) BH_MUST_CHECK;

#endif
