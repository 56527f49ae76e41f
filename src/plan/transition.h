/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each of several GPUs shall hold, so that together they hold wanted totals, with the fewest
 * GPU instances destroyed and created. What is in use or foreign stays where it is; nothing else of
 * ours stays beside the totals. The answer is one wish for each GPU, which bh_plan_gpu() turns into
 * steps: as many operations as were counted here.
 *
 * It depends on the GPUs' UUIDs and on what stands on them, never on the order in which GPUs or
 * profiles were given. Between equally short answers decide, in this order: the fewest changes of
 * the MIG mode; then the GPU with the first UUID takes the most units, then the most of the profile
 * with the last name in the alphabet ("7g.80gb" before "1g.10gb"); then the next GPU likewise.
 */
#ifndef BH_PLAN_TRANSITION_H
#define BH_PLAN_TRANSITION_H

#include "plan/want.h"

/* Mixes looked at before a greedy answer has to do: a fraction of a second. */
#define BH_TRANSITION_BUDGET 20000000U

struct bh_total {
	char profile[BH_NAME_SIZE]; /* of a GPU instance, as the boards name it */
	uint32_t count; /* over all GPUs; what is in use counts, what is foreign does not */
};

struct bh_transition_problem {
	const struct bh_gpu *gpus; /* borrowed; of any boards; at most BH_NODE_GPUS_MAX */
	size_t n_gpus;
	const struct bh_total *totals; /* borrowed; a profile named twice is wanted as often */
	size_t n_totals;
	const char *source; /* where it was said, for reasons; may be NULL */
	uint64_t budget;    /* 0: BH_TRANSITION_BUDGET */
};

/* Freed with bh_transition_free(). */
struct bh_transition {
	struct bh_gpu_want *wants; /* owned; of each GPU, in the problem's order */
	uint32_t *operations;	   /* owned; likewise */
	size_t n_gpus;
	uint32_t total;	      /* operations over all GPUs */
	uint32_t lower_bound; /* no answer has fewer */
	bool proven;	      /* the two are equal: it is a minimum */
};

/**
 * bh_transition_find() - divide wanted totals among GPUs
 * @problem:        borrowed
 * @ret_transition: written on success, freed with bh_transition_free()
 * @err:            PROFILE_NOT_OFFERED by any of the GPUs; DOES_NOT_FIT, with what is lacking; IN_USE
 *                  with the holders that would have to go; FOREIGN with the instance that is not
 *                  ours; UNSUPPORTED for more GPUs or profiles than a node has; INTERNAL when the
 *                  budget ended before any answer was found; NO_MEMORY
 *
 * A GPU on which nothing of ours stands and nothing shall is out of scope: left as it is. Every
 * other wish is for MIG mode on. Instances that are in use keep their compute instances, all others
 * have one over the whole of them.
 *
 * The lower bound starts as the sum over all profiles of how many more or fewer are wanted than
 * stand, and rises with what the search rules out; within the budget it reaches the answer. Past it
 * the answer is greedy, or one of few operations more than the bound; it is deterministic still.
 */
int bh_transition_find(const struct bh_transition_problem *problem,
		struct bh_transition *ret_transition, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_transition_free() - free what it owns
 * @transition: zeroed is fine
 */
void bh_transition_free(struct bh_transition *transition);

#endif
