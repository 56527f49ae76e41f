/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts for messages and texts from strangers: how far two words are apart, which legal word was
 * meant, how to show what somebody wrote without letting it write on the terminal, and strict
 * numbers. Nothing here allocates; what does not fit into a buffer is cut and says so with "…".
 */
#ifndef BH_BASE_TEXT_H
#define BH_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define BH_TEXT_WORD_MAX 64 /* longer words are not compared */
#define BH_TEXT_FAR	 SIZE_MAX

/**
 * bh_text_distance() - edits (insert, delete, replace, swap of neighbours) from one word to another
 * @a: borrowed
 * @b: borrowed
 *
 * Counts bytes. Return: the number of edits; BH_TEXT_FAR when a word is longer than
 * BH_TEXT_WORD_MAX.
 */
size_t bh_text_distance(const char *a, const char *b);

/**
 * bh_text_nearest() - the legal word that was probably meant
 * @word:    what was found
 * @names:   the legal words
 * @n_names: how many
 *
 * A word that differs only in case is nearest; else at most one edit in three characters (and at
 * least one) may lie between. Of equally near words the first. Return: borrowed from @names, NULL
 * if none is near.
 */
const char *bh_text_nearest(const char *word, const char *const *names, size_t n_names);

/**
 * bh_text_join() - "a, b, c" into a buffer
 * @buffer:  receives the text with its NUL
 * @size:    bytes in @buffer, at least 1
 * @names:   what to list
 * @n_names: how many; none gives an empty text
 *
 * What does not fit is counted instead: "a, b and 17 more". Unprintable bytes are shown as
 * bh_text_show() shows them. Return: @buffer.
 */
const char *bh_text_join(char *buffer, size_t size, const char *const *names, size_t n_names);

/**
 * bh_text_show() - a stranger's text, safe to print, bounded
 * @buffer: receives the text with its NUL
 * @size:   bytes in @buffer, at least 8
 * @text:   borrowed
 *
 * Control characters and bytes that are no UTF-8 become \xNN; what does not fit ends with "…" and
 * is cut between characters. Return: @buffer.
 */
const char *bh_text_show(char *buffer, size_t size, const char *text);

/**
 * bh_text_ranges() - a set of numbers as ranges: "0, 2-7"
 * @buffer: receives the text with its NUL; 192 bytes hold every set
 * @size:   bytes in @buffer, at least 1
 * @set:    bit n stands for n
 *
 * Return: @buffer; an empty set gives an empty text.
 */
const char *bh_text_ranges(char *buffer, size_t size, uint64_t set);

/**
 * bh_text_u32() - a whole number, strictly: decimal digits alone, no sign, no leading zero
 * @text:      borrowed
 * @length:    bytes of it that are the number; all of them must belong to it
 * @max:       the largest that is accepted
 * @ret_value: written on success
 *
 * Return: true if it is one.
 */
bool bh_text_u32(const char *text, size_t length, uint32_t max, uint32_t *ret_value) BH_MUST_CHECK;

/**
 * bh_text_utf8_length() - bytes of the UTF-8 character that a text begins with
 * @text: borrowed
 * @size: bytes that may be read, at least 1
 *
 * Strict: no overlong forms, no surrogates, nothing past U+10FFFF. Return: 1 to 4, 0 if it is none.
 */
size_t bh_text_utf8_length(const char *text, size_t size);

#endif
