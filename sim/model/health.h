/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a GPU: counted memory errors, rows that wait to be remapped, the action by
 * which it recovers. What the driver notices it also tells as events. An Xid changes none of the
 * counters: real errors come in any combination, so each is injected by itself.
 */
#ifndef SIM_MODEL_HEALTH_H
#define SIM_MODEL_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

/* Memory banks that have rows to spare. Assumed; all boards alike. */
#define SIM_REMAP_BANKS 640

struct sim_tx;
enum sim_result;

enum sim_error_type {
	SIM_CORRECTED,
	SIM_UNCORRECTED,
	SIM_ERROR_TYPES,
};

/* Numbered as field 230 is. */
enum sim_recovery {
	SIM_RECOVERY_NONE,
	SIM_RECOVERY_GPU_RESET,
	SIM_RECOVERY_NODE_REBOOT,
	SIM_RECOVERY_DRAIN_P2P,
	SIM_RECOVERY_DRAIN_AND_RESET,
	SIM_RECOVERIES,
};

struct sim_health {
	uint32_t ecc_current, ecc_pending;	 /* 0 or 1; the pending one waits for a reboot */
	uint64_t ecc_volatile[SIM_ERROR_TYPES];	 /* of the memory, since the driver loaded */
	uint64_t ecc_aggregate[SIM_ERROR_TYPES]; /* in the card's life */
	uint32_t remapped_rows[SIM_ERROR_TYPES]; /* by what caused it */
	uint32_t remap_pending;			 /* rows that wait for a reset */
	uint32_t remap_failed; /* 0 or 1: it failed some time in the card's life */
	uint32_t recovery;
	uint32_t reserved;
};

/** sim_recoveries - a word for each recovery action */
extern const char *const sim_recoveries[SIM_RECOVERIES];

/** sim_health_new() - as a card comes: ECC on (assumed), no errors */
void sim_health_new(struct sim_health *health);

/**
 * sim_health_restart() - what a reset does to it
 * @health: touched by the caller
 * @reboot: of the node, and not only of the GPU or its driver
 *
 * Pending rows are remapped and volatile counters start anew (source: header). Recovery actions
 * that ask for so much are done (assumed). A pending ECC mode becomes current at a reboot (header).
 */
void sim_health_restart(struct sim_health *health, bool reboot);

/** sim_health_can_remap() - has that GPU row remapping. Source: header, Ampere and later */
bool sim_health_can_remap(const struct sim_tx *tx, uint32_t gpu);

/**
 * sim_health_xid() - the driver reports an Xid, and what some of them are beside it (assumed)
 * @tx:  begun
 * @gpu: index
 * @xid: code
 * @gi:  id of the GPU instance that it is attributed to, or SIM_NO_INSTANCE
 * @ci:  likewise of the compute instance
 *
 * The instances need not be there (any more). Return: SIM_OK; SIM_INVALID for a CI without a GI or
 * an instance on a GPU without MIG (source: header, attribution only with MIG).
 */
enum sim_result sim_health_xid(
		struct sim_tx *tx, uint32_t gpu, uint32_t xid, uint32_t gi, uint32_t ci);

/**
 * sim_health_errors() - memory errors occur
 * @tx:          begun
 * @gpu:         index
 * @corrected:   how many more
 * @uncorrected: how many more
 *
 * One event for each type that occurs, however many (assumed). Return: SIM_OK; SIM_NOT_SUPPORTED
 * while ECC is off.
 */
enum sim_result sim_health_errors(
		struct sim_tx *tx, uint32_t gpu, uint64_t corrected, uint64_t uncorrected);

/**
 * sim_health_set_ecc() - the ECC mode after the next reboot
 * @tx:  begun
 * @gpu: index
 * @on:  wanted
 */
void sim_health_set_ecc(struct sim_tx *tx, uint32_t gpu, bool on);

/**
 * sim_health_remap() - a row waits to be remapped, or remapping failed
 * @tx:      begun
 * @gpu:     index
 * @pending: one more row, because of an uncorrectable error (assumed)
 * @failure: it failed
 *
 * Return: SIM_OK; SIM_NOT_SUPPORTED before Ampere.
 */
enum sim_result sim_health_remap(struct sim_tx *tx, uint32_t gpu, bool pending, bool failure);

/** sim_health_remap_clear() - nothing was ever remapped there: another card */
void sim_health_remap_clear(struct sim_tx *tx, uint32_t gpu);

/**
 * sim_health_set_recovery() - the driver asks for another recovery action
 * @tx:      begun
 * @gpu:     index
 * @action:  wanted
 * @ret_old: the one before
 *
 * A change is told as Xid 154 (source: driver, which logs it so) and by an event of its own (source:
 * header); the same action again is no change.
 */
void sim_health_set_recovery(struct sim_tx *tx, uint32_t gpu, enum sim_recovery action,
		enum sim_recovery *ret_old);

/**
 * sim_health_banks() - how many banks have all their spare rows, some, none
 * @health:   borrowed
 * @ret_full: all
 * @ret_some: all but the few that are used (assumed: each remapped row is in a bank of its own)
 * @ret_none: after a failure, one (assumed)
 */
void sim_health_banks(const struct sim_health *health, uint32_t *ret_full, uint32_t *ret_some,
		uint32_t *ret_none);

/** sim_health_fault() - is something wrong with the record; return: what, in words, or NULL */
const char *sim_health_fault(const struct sim_health *health);

#endif
