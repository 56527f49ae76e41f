/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire form of a GPU's observation: every field of struct bh_gpu under its own name, unknown
 * numbers and texts as null, modes as "enabled", "disabled" or null. Nothing is lost on the way, and
 * nothing is believed on arrival: what does not fit the struct, has another type or is missing is an
 * error. A form that people read is made elsewhere.
 *
 * What a board offers never changes while its driver runs and is slow to read, so it may be left
 * out: then "profiles" and "placement_units" are both absent.
 */
#ifndef BH_GPU_INVENTORY_JSON_H
#define BH_GPU_INVENTORY_JSON_H

#include "base/json.h"
#include "gpu/inventory.h"

/**
 * bh_number_to_json() - a number, or null where it is unknown
 * @value: BH_UNKNOWN if so
 *
 * Return: a new reference, NULL when out of memory.
 */
json_t *bh_number_to_json(uint32_t value);

/** bh_number64_to_json() - likewise, for BH_UNKNOWN64; known ones are below 2^63 */
json_t *bh_number64_to_json(uint64_t value);

/**
 * bh_gpu_to_json() - the wire form
 * @gpu:           borrowed; its texts must be UTF-8 and its known 64-bit numbers below 2^63
 * @with_profiles: whether to write "profiles" and "placement_units"
 *
 * Return: a new reference; NULL when out of memory or a text is not UTF-8.
 */
json_t *bh_gpu_to_json(const struct bh_gpu *gpu, bool with_profiles);

/**
 * bh_gpu_from_json() - read the wire form
 * @json:    borrowed, from anywhere
 * @ret_gpu: written on success, but for one thing: when "profiles" is absent, its profiles,
 *           n_profiles and placement_units stay what they were, so zero it before the first reading
 *           and keep it for the next
 * @err:     INTERNAL, naming the member that was wrong; @ret_gpu is untouched then
 */
int bh_gpu_from_json(const json_t *json, struct bh_gpu *ret_gpu, struct bh_error *err)
		BH_MUST_CHECK;

#endif
