/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which instances are ours. Instances that stand on a GPU and are not here are foreign, whoever
 * made them. A GPU instance is known by its place and profile, a MIG device by its UUID: one that
 * bears another UUID was made by somebody else in the place of ours.
 */
#ifndef BH_LEDGER_OWNED_H
#define BH_LEDGER_OWNED_H

#include "ledger/ledger.h"

/**
 * bh_owned_add_gi() - this GPU instance is ours; within the caller's transaction
 * @ledger:     open for writing
 * @gpu:        UUID
 * @profile_id: NVML's profile id
 * @at:         placement
 * @err:        INTERNAL (SQLITE)
 */
int bh_owned_add_gi(struct bh_ledger *ledger, const char *gpu, uint32_t profile_id,
		const struct bh_placement *at, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_owned_drop_gi() - it is gone, and what was in it; within the caller's transaction
 * @ledger: open for writing
 * @gpu:    UUID
 * @at:     placement
 * @err:    INTERNAL (SQLITE)
 */
int bh_owned_drop_gi(struct bh_ledger *ledger, const char *gpu, const struct bh_placement *at,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_owned_add_ci() - this compute instance is ours; within the caller's transaction
 * @ledger: open for writing
 * @gpu:    UUID
 * @gi_at:  placement of its GPU instance
 * @ci:     borrowed; its slices and the MIG device's UUID
 * @err:    INTERNAL (SQLITE)
 */
int bh_owned_add_ci(struct bh_ledger *ledger, const char *gpu, const struct bh_placement *gi_at,
		const struct bh_ci *ci, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_owned_drop_ci() - it is gone; within the caller's transaction
 * @ledger: open for writing
 * @gpu:    UUID
 * @gi_at:  placement of its GPU instance
 * @ci_at:  its slices
 * @err:    INTERNAL (SQLITE)
 */
int bh_owned_drop_ci(struct bh_ledger *ledger, const char *gpu, const struct bh_placement *gi_at,
		const struct bh_placement *ci_at, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_owned_drop_gpu() - nothing on this GPU is ours any more; within the caller's transaction
 * @ledger: open for writing
 * @gpu:    UUID
 * @err:    INTERNAL (SQLITE)
 */
int bh_owned_drop_gpu(struct bh_ledger *ledger, const char *gpu, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_owned_mark() - set `foreign` on everything on a GPU by what the ledger says
 * @ledger: borrowed; NULL (no ledger) makes everything foreign
 * @gpu:    an observation, changed
 * @err:    INTERNAL (SQLITE)
 *
 * A GPU instance is ours when its place and profile are and one of its MIG devices bears a UUID that
 * is ours; one without MIG devices only while none of ours is on record there (between the two steps
 * of making or destroying both). Else somebody put another one in its place.
 */
int bh_owned_mark(struct bh_ledger *ledger, struct bh_gpu *gpu, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_owned_forget() - forget what is not there any more; within the caller's transaction
 * @ledger:    open for writing, without an open run for this GPU
 * @gpu:       an observation that bh_owned_mark() marked
 * @only_look: change nothing
 * @ret_stale: was there anything to forget
 * @err:       INTERNAL (SQLITE)
 *
 * Instances never survive a reboot, and others may destroy ours. Left on record they would make an
 * instance of somebody else ours that is later put in the same place.
 */
int bh_owned_forget(struct bh_ledger *ledger, const struct bh_gpu *gpu, bool only_look,
		bool *ret_stale, struct bh_error *err) BH_MUST_CHECK;

#endif
