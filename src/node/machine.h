/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine, as seen through workers. Reading is done by a worker that may change nothing; the
 * steps of a change by one that holds worker.lock. An observation after an unclear outcome is made
 * by a fresh worker, after it is certain that none before it still acts.
 */
#ifndef BH_NODE_MACHINE_H
#define BH_NODE_MACHINE_H

#include <systemd/sd-event.h>

#include "apply/run.h"
#include "gpu/inventory.h"

struct bh_machine; /* opaque */

struct bh_machine_config {
	const char *driver;	   /* "nvml" or "sim:DIR"; borrowed for the machine's life */
	const char *worker_path;   /* of bulkhead-worker; likewise */
	const char *version;	   /* that the worker must have, too; likewise */
	const char *state_dir;	   /* likewise; NULL: nothing can be changed */
	uint32_t call_deadline_ms; /* for each driver call; 0 = each kind's own */
};

/**
 * bh_machine_new() - nothing is started yet
 * @event:       the loop; a reference is kept
 * @config:      copied
 * @ret_machine: freed with bh_machine_free()
 * @err:         NO_MEMORY
 */
int bh_machine_new(sd_event *event, const struct bh_machine_config *config,
		struct bh_machine **ret_machine, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_machine_free() - end its workers
 * @machine: NULL is fine
 */
void bh_machine_free(struct bh_machine *machine);

static inline void bh_machine_freep(struct bh_machine **p)
{
	bh_machine_free(*p);
}
#define bh_auto_machine BH_CLEANUP(bh_machine_freep)

/**
 * bh_machine_set_ledger() - whose word on ownership observations carry
 * @machine: borrowed
 * @ledger:  borrowed for the machine's life; NULL: everything is foreign
 */
void bh_machine_set_ledger(struct bh_machine *machine, struct bh_ledger *ledger);

/**
 * bh_machine_read() - read the whole node with the reading worker
 * @machine: borrowed
 * @ret_inv: borrowed from @machine until the next reading; ownership is marked, and what the
 *           driver does not tell with MIG off (Ampere) comes from the catalogue
 * @err:     NO_DRIVER, DEADLINE, DENIED, …
 *
 * Runs the loop. A worker that dies is replaced twice.
 */
int bh_machine_read(struct bh_machine *machine, const struct bh_inventory **ret_inv,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_machine_quiesce() - end and reap our reading worker
 * @machine: borrowed
 * @err:     DEADLINE when it cannot be reaped
 */
int bh_machine_quiesce(struct bh_machine *machine, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_machine_carry_out() - one step by the changing worker; an executor for bh_run_ops
 * @machine:  borrowed
 * @step:     borrowed for the call
 * @answer:   called once, from the loop
 * @userdata: for @answer
 * @err:      why nothing was asked
 */
int bh_machine_carry_out(struct bh_machine *machine, const struct bh_step *step,
		bh_answer_fn answer, void *userdata, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_machine_observe() - observe one GPU with a fresh changing worker; for bh_run_ops
 * @machine:  borrowed; has read the node before
 * @gpu:      UUID
 * @pci:      PCI bus id
 * @answer:   called once, from the loop
 * @userdata: for @answer
 * @err:      why nothing was asked
 */
int bh_machine_observe(struct bh_machine *machine, const char *gpu, const char *pci,
		bh_answer_fn answer, void *userdata, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_machine_give_up() - end the changing worker; a question to it that is open is never answered
 * @machine: borrowed; not from within an answer
 *
 * For when the event loop itself failed: what the worker did is not known, and nobody is left to
 * be told.
 */
void bh_machine_give_up(struct bh_machine *machine);

#endif
