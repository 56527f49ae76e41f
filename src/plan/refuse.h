/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals that teach: what doesn't fit or stands in the way, who holds it, and what could be done. */
#ifndef BH_PLAN_REFUSE_H
#define BH_PLAN_REFUSE_H

#include "plan/placer.h"

/**
 * bh_refuse_size() - say that the board is too small for the wanted layout
 * @problem: one that bh_place() answers with BH_PLACE_NONE, whatever is on the GPU
 * @err:     DOES_NOT_FIT with what is left over; INTERNAL when the budget ended in the search for it
 *
 * Return: always -1.
 */
int bh_refuse_size(const struct bh_place_problem *problem, struct bh_error *err);

/**
 * bh_refuse_instance() - say that one GPU instance stands in the way
 * @gpu:     borrowed
 * @gi:      one of its instances, in use or foreign, or holding a foreign compute instance
 * @foreign: which of the two stands in the way, if it is both
 * @what:    what can't be done
 * @err:     FOREIGN with the instance, or IN_USE with the holders
 *
 * Return: always -1.
 */
int bh_refuse_instance(const struct bh_gpu *gpu, const struct bh_gi *gi, bool foreign,
		const char *what, struct bh_error *err);

/**
 * bh_refuse_describe_users() - "used by pid 4242 (python)", "used by pid 1 (x) and 2 more"
 * @gpu:    borrowed
 * @gi:     one of its instances, in use
 * @buffer: receives the text, cut if need be
 * @size:   bytes in @buffer
 */
void bh_refuse_describe_users(
		const struct bh_gpu *gpu, const struct bh_gi *gi, char *buffer, size_t size);

/**
 * bh_refuse_add_holders() - add those who are in a GPU instance to an error
 * @gpu: borrowed
 * @gi:  one of its instances, in use
 * @err: may be NULL
 */
void bh_refuse_add_holders(const struct bh_gpu *gpu, const struct bh_gi *gi, struct bh_error *err);

/**
 * bh_refuse_gpu_holders() - say that somebody holds the whole GPU
 * @gpu:  borrowed; has at least one holder without an instance
 * @what: what can't be done
 * @err:  IN_USE with the holders
 *
 * Return: always -1.
 */
int bh_refuse_gpu_holders(const struct bh_gpu *gpu, const char *what, struct bh_error *err);

/**
 * bh_refuse_unknown() - say that nobody knows who is there
 * @gpu: borrowed; its holders could not be read
 * @err: IN_USE with an unknown holder
 *
 * Return: always -1.
 */
int bh_refuse_unknown(const struct bh_gpu *gpu, struct bh_error *err);

/**
 * bh_gi_name() - "3g.40gb at 4", by the board's profile names
 * @gpu:    borrowed
 * @gi:     borrowed
 * @buffer: receives the text, cut if need be
 * @size:   bytes in @buffer
 */
void bh_gi_name(const struct bh_gpu *gpu, const struct bh_gi *gi, char *buffer, size_t size);

#endif
