/* SPDX-License-Identifier: Apache-2.0 */
/* The KEY=VALUE words of one injection, for the files that its kinds are in. */
#ifndef SIM_CTL_WORDS_H
#define SIM_CTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct sim_tx;
struct words;

/** ctl_words_value() - what is given for that key, borrowed; NULL without it */
const char *ctl_words_value(struct words *w, const char *key);

/** ctl_words_flag() - is that word there, alone, without a value */
bool ctl_words_flag(struct words *w, const char *word);

/**
 * ctl_words_number() - the number that is given for that key
 * @w:          borrowed
 * @key:        borrowed
 * @fallback:   when the key is absent
 * @ret_number: written; 0 to INT32_MAX when it was given
 *
 * Return: false when it is no such number.
 */
bool ctl_words_number(struct words *w, const char *key, long fallback, long *ret_number)
		BH_MUST_CHECK;

/**
 * ctl_words_gpu() - the GPU of gpu=N
 * @tx:      begun
 * @w:       borrowed
 * @ret_gpu: written on success
 *
 * Return: false when there is none; says so.
 */
bool ctl_words_gpu(struct sim_tx *tx, struct words *w, uint32_t *ret_gpu) BH_MUST_CHECK;

/**
 * ctl_words_log() - a line of the kernel log, written when the injection has been carried out
 * @w:      keeps it
 * @format: of printf; what does not fit is cut
 *
 * At most one an injection.
 */
void ctl_words_log(struct words *w, const char *format, ...) BH_PRINTF(2, 3);

#endif
