/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All mixes that one GPU can come to hold beside what must stay on it: how many instances of each
 * profile, with the fewest operations to get there. A board has a few hundred at most, each found
 * by the exact placer, so what is written here is what bh_plan_gpu() will do.
 */
#ifndef BH_PLAN_MIXES_H
#define BH_PLAN_MIXES_H

#include "plan/placer.h"
#include "plan/want.h"

#define BH_MIX_NAMES_MAX  BH_GI_PROFILES_MAX
#define BH_MIX_NO_PROFILE SIZE_MAX
#define BH_MIXES_MAX	  4096 /* no board that is known has more than 200 */

/* The profiles that are asked for, by name; a name means what the board at hand calls so. */
struct bh_mix_names {
	char names[BH_MIX_NAMES_MAX][BH_NAME_SIZE];
	uint32_t totals[BH_MIX_NAMES_MAX]; /* wanted over all GPUs: no mix holds more */
	size_t n;
};

struct bh_mix {
	uint8_t counts[BH_MIX_NAMES_MAX]; /* by index into the names */
	uint32_t operations;		  /* GPU instances destroyed and created */
	uint32_t units;			  /* of the board, covered by them */
	bool in_scope; /* false: nothing of ours is there, and nothing shall be */
	bool switches; /* the MIG mode must change for it */
};

struct bh_mixes {
	struct bh_mix *items; /* owned; most units first, then most of the first name, and so on */
	size_t n;
	size_t profile[BH_MIX_NAMES_MAX];   /* of the board, by name; or BH_MIX_NO_PROFILE */
	uint8_t standing[BH_MIX_NAMES_MAX]; /* ours, of each name */
	uint8_t pinned[BH_MIX_NAMES_MAX];   /* of those the ones that must stay */
	uint32_t others;		    /* ours of no such name: they go */
};

/**
 * bh_mixes_init() - find all
 * @gpu:       borrowed
 * @names:     borrowed
 * @ret_mixes: written on success, freed with bh_mixes_free(); n is 0 where the GPU can't be planned
 *             at all: it must change, and nobody knows who is on it, or somebody holds it whole
 * @err:       NO_MEMORY; INTERNAL when the board is so odd that the search had to be given up
 *
 * Every mix passes bh_plan_gpu() as the wish that bh_mix_want() makes of it.
 */
int bh_mixes_init(const struct bh_gpu *gpu, const struct bh_mix_names *names,
		struct bh_mixes *ret_mixes, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_mixes_free() - free what it owns
 * @mixes: zeroed is fine
 */
void bh_mixes_free(struct bh_mixes *mixes);

/**
 * bh_mix_want() - a mix as a wish for the GPU it was found for
 * @gpu:      borrowed
 * @names:    borrowed
 * @mix:      borrowed
 * @source:   where it was said, for reasons; cut if need be
 * @ret_want: written
 *
 * What must stay keeps its compute instances; every other one gets one over the whole of it.
 */
void bh_mix_want(const struct bh_gpu *gpu, const struct bh_mix_names *names,
		const struct bh_mix *mix, const char *source, struct bh_gpu_want *ret_want);

#endif
