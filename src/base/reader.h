/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a short text strictly from left to right: a profile's name, a need. Every refusal quotes
 * the text and names the character where it went wrong. Nothing here allocates.
 */
#ifndef BH_BASE_READER_H
#define BH_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

struct bh_reader {
	const char *what; /* of the text, in refusals: "profile", "need" */
	const char *text;
	size_t at; /* bytes of @text that are read */
	struct bh_error *err;
};

/**
 * bh_reader_wrong() - refuse the text
 * @r:      borrowed; its error becomes BH_E_USAGE, "WHAT 'TEXT': …"
 * @format: what is wrong, with where
 *
 * Return: -1.
 */
BH_PRINTF(2, 3) int bh_reader_wrong(struct bh_reader *r, const char *format, ...);

/**
 * bh_reader_expected() - refuse what stands next
 * @r:    borrowed; its error becomes BH_E_USAGE
 * @what: what should have stood there
 *
 * Return: -1.
 */
int bh_reader_expected(struct bh_reader *r, const char *what);

/**
 * bh_reader_skip() - read a token if it stands next
 * @r:     behind it on success, else unchanged
 * @token: not empty
 *
 * Return: whether it did.
 */
bool bh_reader_skip(struct bh_reader *r, const char *token);

/**
 * bh_reader_number() - read a whole number: digits alone, no sign, no space, no leading zero
 * @r:         behind it on success, else unchanged with its error set
 * @what:      what the number is, for the refusal
 * @min:       the smallest that is accepted
 * @max:       the largest
 * @ret_value: written on success
 *
 * Return: 0, or -1 refused.
 */
int bh_reader_number(struct bh_reader *r, const char *what, uint32_t min, uint32_t max,
		uint32_t *ret_value) BH_MUST_CHECK;

#endif
