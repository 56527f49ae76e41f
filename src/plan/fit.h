/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole answer to "does this fit here?": where everything goes, or which condition fails and
 * what is in the way, and then what could be done: what fits instead, the one move that would make
 * room, how many cards would be needed. Exact; what the search had to leave open is said to be.
 */
#ifndef BH_PLAN_FIT_H
#define BH_PLAN_FIT_H

#include "plan/fleet.h"
#include "plan/online.h"
#include "plan/solver.h"

#define BH_ALTERNATIVES_MAX 8

/* Another wish that fits. */
struct bh_alternative {
	struct bh_ask asks[BH_ASKS_MAX]; /* profiles borrowed from the question or its boards */
	size_t n_asks;
	char text[200];
};

/* An idle instance that would stand elsewhere; it would come back with new UUIDs. */
struct bh_fit_move {
	size_t from, gi; /* room; index into its GPU's instances */
	size_t to;	 /* room */
	struct bh_placement at;
};

/* Why it does not fit: the first condition that fails, widest profiles first. */
struct bh_certificate {
	char rule[32]; /* places | max-instances | media-engines | undecided */
	uint64_t needs, has;
	char text[640]; /* in words, with what is in the way and who holds that */
};

struct bh_fit {
	bool fits;
	struct bh_solution solution; /* owned; where it fits */
	bool by_policy; /* its places are the policy's; else those that the search found first */
	struct bh_certificate certificate; /* where it does not, and so all below */
	struct bh_alternative alternatives[BH_ALTERNATIVES_MAX];
	size_t n_alternatives;
	bool has_move, move_unknown; /* unknown: the search was given up */
	struct bh_fit_move move;
	uint64_t gpus_needed; /* those asked about and empty ones beside them; 0 = not found out */
	size_t card_like;     /* room: the empty ones are like its GPU */
};

/* A question: all borrowed. */
struct bh_fit_question {
	const struct bh_occupancy *rooms; /* 1 to BH_NODE_GPUS_MAX */
	size_t n_rooms;
	const struct bh_ask *asks; /* 1 to BH_ASKS_MAX; names differ, counts are positive */
	size_t n_asks;
	enum bh_online_policy policy; /* which of the places that fit are taken */
	bool only_these; /* profiles follow from a need: a smaller one is no alternative */
};

/**
 * bh_fit_find() - answer
 * @question: borrowed
 * @ret_fit:  written on success, freed with bh_fit_free()
 * @err:      PROFILE_NOT_OFFERED when none of the boards has it, DEADLINE when the search for places
 *            itself had to be given up, NO_MEMORY
 *
 * The order of the asks changes nothing. The policy places the widest first, each as if it came
 * alone; where that would leave no room for the rest, and on boards of no known kind or with media
 * engines, the places are those of the search: on the fullest GPU that can take something.
 */
int bh_fit_find(const struct bh_fit_question *question, struct bh_fit *ret_fit,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_fit_free() - free what it owns
 * @fit: zeroed is fine
 */
void bh_fit_free(struct bh_fit *fit);
#define bh_auto_fit BH_CLEANUP(bh_fit_free)

#endif
