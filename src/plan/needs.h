/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what somebody needs ("38 GiB and 40 % of the SMs") to the smallest GPU instance profile of a
 * board that has it. Only what a board says of a profile counts, never its name: a 1g.5gb of an A100
 * has 4864 MiB, so 5 GiB are a 1g.10gb there. A share of compute is a share of the multiprocessors
 * that MIG can use on that board, and is never rounded in the profile's favour. A capacity that is
 * not known satisfies nothing.
 */
#ifndef BH_PLAN_NEEDS_H
#define BH_PLAN_NEEDS_H

#include "gpu/inventory.h"
#include "gpu/profile_name.h"

#define BH_NEED_MIB_MAX	  99999999U
#define BH_NEED_COUNT_MAX 999999U
#define BH_NEED_TEXT_SIZE 128 /* of every formatted need, NUL included */

/* Either a profile by its name, or at least one of the two sizes. */
struct bh_need {
	uint64_t memory_mib;	   /* 0: of no matter */
	uint32_t compute_permille; /* of the SMs usable in MIG, 1 to 1000; 0: of no matter */
	bool by_name;
	struct bh_profile_name profile; /* where by_name */
	uint32_t count;			/* at least 1 */
};

/* What a need comes to on one board; the profiles are borrowed from it. */
struct bh_need_fit {
	const struct bh_gi_profile *profile; /* the smallest that suffices; NULL: none does */

	/* Where none does: the largest that a need by size can have (by name: the one most like it), NULL
	 * if there is none, and what it lacks of the need: 0 = nothing, unknown where it is unknown. */
	const struct bh_gi_profile *largest;
	uint64_t lacks_memory_mib;
	uint32_t lacks_compute_permille; /* rounded up */
};

/**
 * bh_need_parse() - read the text of a need, strictly
 * @text:     "memory=38GiB,compute=40%", "profile=3g.40gb,count=2": each word once, in any order
 * @ret_need: written on success
 * @err:      USAGE: "need 'memory=38': expected 'MiB', 'GiB' or 'GB' at character 10, found the end"
 *
 * Memory is a whole number of MiB, GiB, or GB (10^9 bytes; rounded up to MiB); compute has at most
 * one decimal ("12.5%") and lies within 0.1 % and 100 %. A profile and sizes exclude each other. A
 * comma within a profile's attributes ("1g.24gb+gfx,me") belongs to it unless a word with '='
 * follows.
 */
int bh_need_parse(const char *text, struct bh_need *ret_need, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_need_format() - the canonical text: what bh_need_parse() reads as the same need
 * @need:   borrowed; as bh_need_parse() gives it
 * @buffer: receives the text with its NUL; memory is in GiB where it is whole
 *
 * Return: @buffer.
 */
const char *bh_need_format(const struct bh_need *need, char buffer[BH_NEED_TEXT_SIZE]);

/**
 * bh_need_board_sm() - the multiprocessors of a board that MIG can use
 * @profiles:   of the board
 * @n_profiles: how many
 *
 * Those of its largest profile, which takes the whole board. Return: BH_UNKNOWN where that profile
 * is not in the table, or does not say how many it has.
 */
uint32_t bh_need_board_sm(const struct bh_gi_profile *profiles, size_t n_profiles);

/**
 * bh_need_fit() - the smallest sufficient profile of a board
 * @profiles:   of the board, as its driver or the catalogue tells them
 * @n_profiles: how many
 * @need:       borrowed; its count is not looked at
 * @ret_fit:    written in either case
 *
 * Smallest is what covers the fewest placement units, then has the fewest SMs, then the least memory,
 * then is told first. By size only profiles without attributes are chosen, that have a known place.
 * Return: whether there is one.
 */
bool bh_need_fit(const struct bh_gi_profile *profiles, size_t n_profiles,
		const struct bh_need *need, struct bh_need_fit *ret_fit);

/**
 * bh_need_next_model() - walk the boards of the catalogue that have what is needed
 * @need:        borrowed
 * @at:          0 for the first; moved behind the board that was found
 * @ret_profile: the smallest sufficient profile there; may be NULL
 *
 * Return: its slug, a constant; NULL when there are no more.
 */
const char *bh_need_next_model(
		const struct bh_need *need, size_t *at, const struct bh_gi_profile **ret_profile);

/**
 * bh_need_refuse() - say why a board does not have what is needed, and which boards have
 * @gpu:  borrowed; the board
 * @need: borrowed
 * @fit:  borrowed; what bh_need_fit() said of it
 * @err:  PROFILE_NOT_OFFERED for a name, else DOES_NOT_FIT: what the largest profile has and by how
 *        much that is too little; the next step names the boards of the catalogue that would do
 *
 * Return: always -1.
 */
int bh_need_refuse(const struct bh_gpu *gpu, const struct bh_need *need,
		const struct bh_need_fit *fit, struct bh_error *err);

#endif
