/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step is one change to one GPU, as a plain value: what is acted on, why, and from which its
 * conditions follow. Before it is carried out its `was` must be seen on the machine, afterwards its
 * `want`; a step found with neither means that somebody else acted, and nobody guesses. The table
 * of kinds holds everything that depends on the kind alone. Objects are named by identity (GPU
 * UUID, profile id, placement), never by a vendor handle or index.
 */
#ifndef BH_PLAN_STEP_H
#define BH_PLAN_STEP_H

#include "base/json.h"
#include "gpu/inventory.h"

enum bh_step_kind {
	BH_STEP_QUIESCE,
	BH_STEP_SET_MIG,
	BH_STEP_DESTROY_CI,
	BH_STEP_DESTROY_GI,
	BH_STEP_CREATE_GI,
	BH_STEP_CREATE_CI,
	BH_STEP_KIND_COUNT
};

/* Who carries a step out. */
enum bh_step_executor {
	BH_EXEC_NODE,	/* the caller's own process: no driver call */
	BH_EXEC_DRIVER, /* a worker in the role "driver" */
	BH_EXEC_COUNT
};

/* What a step is about, and with that which of its fields it has. */
enum bh_step_target {
	BH_TARGET_GPU,	/* the GPU alone */
	BH_TARGET_MODE, /* a switch of it: on */
	BH_TARGET_GI,	/* profile, profile_id, at */
	BH_TARGET_CI,	/* those, and ci */
};

struct bh_step_kind_info {
	const char *name; /* in JSON, and the worker's op */
	enum bh_step_executor executor;
	enum bh_step_target target;
	bool makes;	 /* of a GI or CI: it is there afterwards; false: gone */
	bool needs_root; /* on a real driver */
	uint32_t deadline_ms;
	enum bh_step_kind undo;
	bool has_undo;
	bool undo_exact;      /* false: what comes back is alike, not the same (a new UUID) */
	const char *undo_why; /* why there is no undo, or why it is not exact */
};

struct bh_step {
	enum bh_step_kind kind;
	char gpu[BH_UUID_SIZE];
	char pci[32];
	bool on;		    /* of a switch: what is wanted */
	char profile[BH_NAME_SIZE]; /* of a GI or CI: the GPU instance's profile */
	uint32_t profile_id;	    /* likewise */
	struct bh_placement at;	    /* likewise: its placement on the board */
	struct bh_placement ci;	    /* of a CI: compute slices within the GPU instance */
	char uuid[BH_UUID_SIZE];    /* destroy-ci: of the MIG device that goes; else empty */
	char disturbs[96];	    /* what else feels it; empty = nothing */
	char reason[160];
};

/**
 * bh_step_kind_info() - the row of a kind
 * @kind: a valid kind
 */
const struct bh_step_kind_info *bh_step_kind_info(enum bh_step_kind kind);

/**
 * bh_step_is_about() - is it a step on such an object or one inside it
 * @step:   borrowed
 * @target: BH_TARGET_GI holds for CI steps too
 */
static inline bool bh_step_is_about(const struct bh_step *step, enum bh_step_target target)
{
	return bh_step_kind_info(step->kind)->target >= target;
}

/**
 * bh_step_takes_away() - does it end an instance
 * @step: borrowed
 */
static inline bool bh_step_takes_away(const struct bh_step *step)
{
	return bh_step_is_about(step, BH_TARGET_GI) && !bh_step_kind_info(step->kind)->makes;
}

/**
 * bh_step_was_holds() - is the GPU as it must be before the step
 * @step: borrowed
 * @gpu:  an observation of the step's GPU
 *
 * set-mig: the mode is known, and current or pending is the other one. destroy: the object is there, and (for a GI) empty.
 * create: the units or slices are free and the parent is there. quiesce: always.
 */
bool bh_step_was_holds(const struct bh_step *step, const struct bh_gpu *gpu);

/**
 * bh_step_want_holds() - is the GPU as the step leaves it
 * @step: borrowed
 * @gpu:  an observation of the step's GPU
 *
 * set-mig: current and pending mode are the wanted one. destroy: the object is not there. create:
 * it is there, at exactly that placement and with that profile. quiesce: never by itself, since
 * nothing on the machine shows it.
 */
bool bh_step_want_holds(const struct bh_step *step, const struct bh_gpu *gpu);

/**
 * bh_step_predict() - change a copy of the GPU as the step would
 * @step: borrowed
 * @gpu:  changed on success; new instances bear no UUID
 * @err:  IN_USE when the object is busy, INTERNAL when `was` does not hold
 */
int bh_step_predict(const struct bh_step *step, struct bh_gpu *gpu, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_step_undo() - the step that takes this one back
 * @step:     borrowed
 * @ret_undo: written when there is one
 *
 * Return: true if there is one; whether it is exact stands in the kind's row.
 */
bool bh_step_undo(const struct bh_step *step, struct bh_step *ret_undo);

/**
 * bh_step_describe() - one short line for people: "create 3g.40gb at 4 on GPU-…"
 * @step:   borrowed
 * @buffer: receives the text, cut if need be
 * @size:   bytes in @buffer
 */
void bh_step_describe(const struct bh_step *step, char *buffer, size_t size);

/**
 * bh_step_to_json() - the lossless form, with `was`, `want` and `undo` written out for readers
 * @step: borrowed
 *
 * Return: a new reference, NULL when out of memory.
 */
json_t *bh_step_to_json(const struct bh_step *step);

/**
 * bh_step_from_json() - read what bh_step_to_json() wrote
 * @value:    borrowed
 * @ret_step: written on success
 * @err:      INTERNAL for anything malformed
 */
int bh_step_from_json(const json_t *value, struct bh_step *ret_step, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_gpu_find_gi() - the GPU instance of that profile at exactly that placement
 * @gpu:        borrowed
 * @profile_id: NVML's profile id
 * @at:         placement
 *
 * Return: borrowed from @gpu, NULL if there is none.
 */
const struct bh_gi *bh_gpu_find_gi(
		const struct bh_gpu *gpu, uint32_t profile_id, const struct bh_placement *at);

/**
 * bh_gi_find_ci() - the compute instance at exactly these slices
 * @gi: borrowed
 * @at: compute slices
 *
 * Return: borrowed from @gi, NULL if there is none.
 */
const struct bh_ci *bh_gi_find_ci(const struct bh_gi *gi, const struct bh_placement *at);

/**
 * bh_placement_mask() - the bits a placement covers
 * @at: end at most BH_UNITS_MAX
 */
static inline uint64_t bh_placement_mask(const struct bh_placement *at)
{
	uint64_t ones = at->size >= 64 ? UINT64_MAX : ((uint64_t) 1 << at->size) - 1;

	return at->start >= 64 ? 0 : ones << at->start;
}

#endif
