/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thin habits over jansson: scope-owned values, reads that say which key was wrong, and the one
 * JSON form of an error. A missing or null number is an error here unless the name says "optional".
 */
#ifndef BH_BASE_JSON_H
#define BH_BASE_JSON_H

#include <jansson.h>

#include "base/error.h"

static inline void bh_json_decrefp(json_t **p)
{
	json_decref(*p);
}
#define bh_auto_json BH_CLEANUP(bh_json_decrefp)

/**
 * bh_json_get_string() - copy a string member into a buffer
 * @object: borrowed
 * @key:    member name
 * @buffer: receives the text with its NUL
 * @size:   bytes in @buffer; a longer text is an error, not cut
 * @err:    INTERNAL when absent, of another type, or too long
 */
int bh_json_get_string(const json_t *object, const char *key, char *buffer, size_t size,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_json_get_u32() - read a whole number from 0 to UINT32_MAX
 * @object:    borrowed
 * @key:       member name
 * @ret_value: written on success
 * @err:       INTERNAL when absent, of another type, or out of range
 */
int bh_json_get_u32(const json_t *object, const char *key, uint32_t *ret_value,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_json_get_u64() - read a whole number from 0 to INT64_MAX
 * @object:    borrowed
 * @key:       member name
 * @ret_value: written on success
 * @err:       INTERNAL when absent, of another type, or negative
 */
int bh_json_get_u64(const json_t *object, const char *key, uint64_t *ret_value,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_json_get_bool() - read a boolean
 * @object:    borrowed
 * @key:       member name
 * @ret_value: written on success
 * @err:       INTERNAL when absent or of another type
 */
int bh_json_get_bool(const json_t *object, const char *key, bool *ret_value, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_json_set() - add a member; steals @value also on failure
 * @object: an object
 * @key:    member name
 * @value:  stolen; NULL (a failed constructor) is the failure NO_MEMORY
 * @err:    NO_MEMORY
 */
int bh_json_set(json_t *object, const char *key, json_t *value, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_json_append() - append to an array; steals @value also on failure
 * @array: an array
 * @value: stolen; NULL is the failure NO_MEMORY
 * @err:   NO_MEMORY
 */
int bh_json_append(json_t *array, json_t *value, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_json_text() - one line of JSON
 * @value:    borrowed
 * @ret_text: owned by the caller, freed with free()
 * @err:      NO_MEMORY
 */
int bh_json_text(const json_t *value, char **ret_text, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_json_text_or_null() - a text from anywhere as JSON
 * @text: NUL-terminated, of any bytes; empty gives null, what is not UTF-8 becomes '?'
 *
 * Return: a new reference, NULL when out of memory.
 */
json_t *bh_json_text_or_null(const char *text);

/**
 * bh_error_to_json() - {"code","message","source","native","gpu","holders","next"}
 * @err: borrowed
 *
 * gpu and next are null when empty. Return: a new reference, NULL when out of memory.
 */
json_t *bh_error_to_json(const struct bh_error *err);

/**
 * bh_error_from_json() - the inverse, for errors that came over a socket
 * @value: borrowed; whatever is missing or odd there becomes INTERNAL with the text at hand
 * @err:   filled
 */
void bh_error_from_json(const json_t *value, struct bh_error *err);

#endif
