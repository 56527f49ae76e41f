/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: many small allocations with one life and one free. A tree that is built once and dropped
 * whole (a parsed document, a configuration) lives in one. It is given its maximum when made, so
 * that no input can make it grow past what its owner meant to spend.
 */
#ifndef BH_BASE_ARENA_H
#define BH_BASE_ARENA_H

#include <stddef.h>

#include "base/cleanup.h"

struct bh_arena;

/**
 * bh_arena_new() - an empty arena
 * @max_bytes: all that it may ever take from the system, its own bookkeeping not counted
 *
 * Return: owned by the caller, freed with bh_arena_free(); NULL when out of memory.
 */
struct bh_arena *bh_arena_new(size_t max_bytes) BH_MUST_CHECK;

/**
 * bh_arena_free() - give everything back at once
 * @arena: NULL is fine
 */
void bh_arena_free(struct bh_arena *arena);

/**
 * bh_arena_alloc() - zeroed memory, aligned for any object
 * @arena: borrowed
 * @count: number of elements; 0 gives a valid pointer to nothing
 * @size:  bytes of one element
 *
 * Return: borrowed from @arena; NULL when out of memory, past the arena's maximum, or when
 *         @count times @size does not fit.
 */
void *bh_arena_alloc(struct bh_arena *arena, size_t count, size_t size) BH_MUST_CHECK;

/**
 * bh_arena_text() - a copy of a text, with a NUL behind it
 * @arena:  borrowed
 * @text:   need not end with a NUL
 * @length: bytes of it
 *
 * Return: borrowed from @arena; NULL as bh_arena_alloc().
 */
char *bh_arena_text(struct bh_arena *arena, const char *text, size_t length) BH_MUST_CHECK;

static inline void bh_arena_freep(struct bh_arena **p)
{
	bh_arena_free(*p);
}
#define bh_auto_arena BH_CLEANUP(bh_arena_freep)

#endif
