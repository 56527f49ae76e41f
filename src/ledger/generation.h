/* SPDX-License-Identifier: Apache-2.0 */
/* The wanted state, numbered: who said it (a file, its hash) and what it means for each GPU. */
#ifndef BH_LEDGER_GENERATION_H
#define BH_LEDGER_GENERATION_H

#include "ledger/ledger.h"

struct bh_generation {
	int64_t n;  /* 0 = none yet */
	int64_t at; /* seconds since 1970 */
	char source[512], selected[128], sha256[65];
	json_t *layout; /* an array, opaque here; owned */
};

/**
 * bh_generation_clear() - free what it owns
 * @generation: zeroed is fine
 */
void bh_generation_clear(struct bh_generation *generation);

/**
 * bh_generation_propose() - the next number, unless the last one says the same
 * @ledger:     open for writing, within the caller's transaction
 * @source:     where it was read
 * @selected:   the configuration's name there, or ""
 * @sha256:     of the source's bytes, in hexadecimal
 * @layout:     borrowed; an array with an object for each GPU, keyed "uuid"
 * @ret_n:      written on success: the number that is now the last
 * @err:        INTERNAL (SQLITE), NO_MEMORY
 *
 * GPUs that the last generation named and this one does not keep their place in the new one.
 */
int bh_generation_propose(struct bh_ledger *ledger, const char *source, const char *selected,
		const char *sha256, const json_t *layout, int64_t *ret_n, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_generation_last() - the newest
 * @ledger: borrowed
 * @ret:    written when 0 is returned; cleared with bh_generation_clear()
 * @err:    INTERNAL (SQLITE)
 *
 * Return: 0; BH_LEDGER_NONE when there is none; negative on error.
 */
int bh_generation_last(struct bh_ledger *ledger, struct bh_generation *ret, struct bh_error *err)
		BH_MUST_CHECK;

#endif
