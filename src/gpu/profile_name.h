/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a MIG profile as NVML prints it and as mig-parted's files write it:
 *
 *	[Nc.]Ng.Mgb[+attribute,…|-attribute,…]	1g.10gb  1c.3g.40gb  1g.24gb+me.all  1g.24gb-me
 *
 * A name is a wish, not a promise: whether a board offers it, and how much memory an instance then
 * has, only the board says. The number before "gb" is part of the name, not a size to calculate
 * with (it may be 0).
 */
#ifndef BH_GPU_PROFILE_NAME_H
#define BH_GPU_PROFILE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BH_PROFILE_SLICES_MAX	 99
#define BH_PROFILE_MEMORY_GB_MAX 99999
#define BH_PROFILE_NAME_SIZE	 64 /* of every formatted name, NUL included */

/* X(symbol, bit, sign, text), in the order in which a name lists them */
#define BH_PROFILE_ATTRIBUTES(X)                                                                   \
	X(BH_PROFILE_GFX, 0, '+', "gfx")                                                           \
	X(BH_PROFILE_ME, 1, '+', "me")                                                             \
	X(BH_PROFILE_ME_ALL, 2, '+', "me.all")                                                     \
	X(BH_PROFILE_NO_ME, 3, '-', "me")

enum bh_profile_attribute {
#define X(symbol, bit, sign, text) symbol = 1 << (bit),
	BH_PROFILE_ATTRIBUTES(X)
#undef X
};

struct bh_profile_name {
	uint32_t ci_slices;  /* of the compute instance; 0 = not given, all of the GPU instance */
	uint32_t slices;     /* of the GPU instance */
	uint32_t memory_gb;  /* as named */
	uint32_t attributes; /* bits of enum bh_profile_attribute */
};

/**
 * bh_profile_name_parse() - read a name, strictly
 * @text:     borrowed; nothing before or behind the name, lower case, no signs or leading zeros
 * @ret_name: written on success
 * @err:      USAGE: "profile '1g.10GB': expected 'gb' at character 5, found 'G'"
 *
 * More compute slices than the GPU instance has, an attribute given twice and an unknown attribute
 * are refused; the order of attributes is free.
 */
int bh_profile_name_parse(const char *text, struct bh_profile_name *ret_name, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_profile_name_from_nvml() - the same for a name that NVML told, with or without "MIG " in front
 * @text:     borrowed
 * @ret_name: written on success
 * @err:      USAGE
 */
int bh_profile_name_from_nvml(const char *text, struct bh_profile_name *ret_name,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_profile_name_format() - the canonical text: attributes in the order of the table
 * @name:   borrowed; as bh_profile_name_parse() gives it
 * @buffer: receives the text with its NUL
 *
 * Return: @buffer.
 */
const char *bh_profile_name_format(
		const struct bh_profile_name *name, char buffer[BH_PROFILE_NAME_SIZE]);

/**
 * bh_profile_name_compare() - an order: slices, memory, attributes, then compute slices
 * @a: borrowed
 * @b: borrowed
 *
 * Return: negative, 0 or positive, as strcmp(). 0 means the same name.
 */
int bh_profile_name_compare(const struct bh_profile_name *a, const struct bh_profile_name *b);

/**
 * bh_profile_name_same_gi() - whether two names ask for the same GPU instance profile
 * @a: borrowed
 * @b: borrowed
 *
 * The compute instance's part does not count: 1c.3g.40gb and 3g.40gb are the same here.
 */
bool bh_profile_name_same_gi(const struct bh_profile_name *a, const struct bh_profile_name *b);

#endif
