/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single requests as they come, on a fleet of GPUs of one geometry: each is placed at once, nothing
 * is moved afterwards. What fits is exact; which of the places that fit is taken decides how much
 * fits later, and that is the policy.
 *
 * The cost of a decision does not grow with the fleet. GPUs with the same units occupied are equal
 * but for their number, so the fleet is kept as one set of GPUs for each mask, and a decision looks
 * at masks. Further, of all (mask, place) of one shape only a few kinds differ in what they take
 * from the others (on seven-slice boards 9 at most, where there are 896 of the smallest shape): the
 * rules that weigh do so once a kind.
 *
 * `scarcity`, the default: C_p is how many more instances of shape p the fleet could hold now, were
 * they all of p. A place takes some of each C_p; its price is the sum over p of
 * q_p * s_p * exp(-C_p / k) times what it takes, with s_p the size, q_p the share of p among recent
 * requests and k a twentieth of the fleet. What is plenty costs next to nothing, what gets scarce
 * and is asked for costs most. The cheapest place is taken; of equals the one that FGD prefers, of
 * those the lowest GPU, then the lowest start.
 *
 * Nothing but the order of calls matters: the same calls give the same placements wherever exp() of
 * the C library gives the same numbers.
 */
#ifndef BH_PLAN_ONLINE_H
#define BH_PLAN_ONLINE_H

#include "plan/geometry.h"

#define BH_ONLINE_GPUS_MAX   262144 /* three levels of 64 */
#define BH_ONLINE_MIX_MEMORY 1024 /* requests; the weight of one decays by 1/e while as many come */
#define BH_ONLINE_NODE_GPUS  8	  /* of the `instaslice` rule */

/*
 * X(symbol, name, summary). "Free" counts units, of the board as a whole. After `scarcity`, `pack`
 * and `spread` come rules of others, written from what is known of them, to compare with.
 */
#define BH_ONLINE_POLICIES(X)                                                                      \
	X(BH_ONLINE_SCARCITY, "scarcity", "keep what is scarce and asked for")                     \
	X(BH_ONLINE_PACK, "pack", "the GPU with the least free; ties: mask, GPU, start")           \
	X(BH_ONLINE_SPREAD, "spread", "the GPU with the most free; ties: mask, GPU, start")        \
	X(BH_ONLINE_FIRST_FIT, "first-fit", "the lowest GPU, the lowest start")                    \
	X(BH_ONLINE_BEST_FIT, "best-fit", "the GPU with the least free; ties: GPU, start")         \
	X(BH_ONLINE_WORST_FIT, "worst-fit", "the GPU with the most free; ties: GPU, start")        \
	X(BH_ONLINE_INSTASLICE, "instaslice", "the emptiest node of 8, its first GPU and start")   \
	X(BH_ONLINE_FGD, "fgd", "least growth of what the next request could not use")

enum bh_online_policy {
#define X(symbol, name, summary) symbol,
	BH_ONLINE_POLICIES(X)
#undef X
			BH_ONLINE_POLICY_COUNT
};

/* Where an instance stands. */
struct bh_online_at {
	uint32_t gpu;	/* from 0 */
	uint32_t shape; /* of the geometry */
	uint32_t place; /* of the shape */
};

struct bh_online;

/**
 * bh_online_policy_name() - its name, from the one table
 * @policy: below BH_ONLINE_POLICY_COUNT
 */
const char *bh_online_policy_name(enum bh_online_policy policy);

/**
 * bh_online_policy_summary() - what it does, in a few words
 * @policy: below BH_ONLINE_POLICY_COUNT
 */
const char *bh_online_policy_summary(enum bh_online_policy policy);

/**
 * bh_online_policy_from_name() - the inverse of bh_online_policy_name()
 * @name:       borrowed
 * @ret_policy: written on success
 *
 * Return: true if there is such a policy.
 */
bool bh_online_policy_from_name(const char *name, enum bh_online_policy *ret_policy);

/**
 * bh_online_new() - a fleet with nothing on it, and no request seen
 * @geo:        copied; 1 to BH_TABLE_UNITS_MAX units, any kind
 * @n_gpus:     1 to BH_ONLINE_GPUS_MAX
 * @ret_online: written on success, freed with bh_online_free()
 * @err:        UNSUPPORTED for other numbers; NO_MEMORY
 */
int bh_online_new(const struct bh_geometry *geo, uint32_t n_gpus, struct bh_online **ret_online,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_online_free() - free it
 * @online: NULL is fine
 */
void bh_online_free(struct bh_online *online);

static inline void bh_online_freep(struct bh_online **online)
{
	bh_online_free(*online);
}
#define bh_auto_online BH_CLEANUP(bh_online_freep)

/**
 * bh_online_set_mask() - say what is occupied on a GPU, as seen from outside
 * @online: changed
 * @gpu:    below n_gpus
 * @mask:   coarse units, as bh_geometry_occupied() gives; all ones for a GPU that takes nothing
 */
void bh_online_set_mask(struct bh_online *online, uint32_t gpu, uint64_t mask);

/**
 * bh_online_mask() - what is occupied on a GPU
 * @online: borrowed
 * @gpu:    below n_gpus
 */
uint64_t bh_online_mask(const struct bh_online *online, uint32_t gpu);

/**
 * bh_online_total() - how many more of one shape the fleet could hold, were nothing else placed
 * @online: borrowed
 * @shape:  of the geometry
 */
uint64_t bh_online_total(const struct bh_online *online, uint32_t shape);

/**
 * bh_online_mix() - the share of a shape among recent requests
 * @online: borrowed
 * @shape:  of the geometry
 *
 * Counts of requests, each decayed by exp(-1 / BH_ONLINE_MIX_MEMORY) for every one that came after,
 * and one more request spread evenly over all shapes, which does not decay. In all they sum to 1.
 */
double bh_online_mix(const struct bh_online *online, uint32_t shape);

/**
 * bh_online_note() - a request has come, whatever becomes of it
 * @online: its mix is changed
 * @shape:  of the geometry
 */
void bh_online_note(struct bh_online *online, uint32_t shape);

/**
 * bh_online_choose() - where a policy would place an instance
 * @online: borrowed
 * @shape:  of the geometry
 * @policy: which
 * @ret_at: written on success
 *
 * Takes a time that does not depend on the number of GPUs, save for `instaslice`.
 * Return: false exactly when no GPU has a free place for the shape.
 */
bool bh_online_choose(const struct bh_online *online, uint32_t shape, enum bh_online_policy policy,
		struct bh_online_at *ret_at);

/**
 * bh_online_take() - an instance stands there from now on
 * @online: changed
 * @at:     its units must be free
 */
void bh_online_take(struct bh_online *online, const struct bh_online_at *at);

/**
 * bh_online_place() - note, choose and take
 * @online: changed; when nothing fits only its mix
 * @shape:  of the geometry
 * @policy: which
 * @ret_at: written on success
 *
 * Return: false when no GPU has a free place for the shape.
 */
bool bh_online_place(struct bh_online *online, uint32_t shape, enum bh_online_policy policy,
		struct bh_online_at *ret_at);

/**
 * bh_online_release() - an instance is gone
 * @online: changed
 * @at:     its units must be occupied
 */
void bh_online_release(struct bh_online *online, const struct bh_online_at *at);

#endif
