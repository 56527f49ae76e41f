/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 8192

struct block {
	struct block *next;
	size_t size, used;
	alignas(max_align_t) unsigned char bytes[];
};

struct bh_arena {
	struct block *blocks; /* the one being filled first */
	size_t max_bytes, taken_bytes;
};

struct bh_arena *bh_arena_new(size_t max_bytes)
{
	struct bh_arena *arena = calloc(1, sizeof(*arena));

	if (arena)
		arena->max_bytes = max_bytes;
	return arena;
}

void bh_arena_free(struct bh_arena *arena)
{
	if (!arena)
		return;
	while (arena->blocks) {
		struct block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	free(arena);
}

static struct block *add_block(struct bh_arena *arena, size_t bytes)
{
	size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	struct block *block;

	if (size > arena->max_bytes - arena->taken_bytes)
		size = bytes;
	if (size > arena->max_bytes - arena->taken_bytes)
		return NULL;
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		return NULL;
	block->size = size;
	arena->taken_bytes += size;

	/* A block for one big object is full at once: the one being filled stays in front. */
	if (arena->blocks && bytes > BLOCK_BYTES) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
	} else {
		block->next = arena->blocks;
		arena->blocks = block;
	}
	return block;
}

void *bh_arena_alloc(struct bh_arena *arena, size_t count, size_t size)
{
	struct block *block = arena->blocks;
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = bytes ? (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1)
		      : alignof(max_align_t);
	if (!block || bytes > block->size - block->used) {
		block = add_block(arena, bytes);
		if (!block)
			return NULL;
	}
	memory = block->bytes + block->used;
	block->used += bytes;
	return memory;
}

char *bh_arena_text(struct bh_arena *arena, const char *text, size_t length)
{
	char *copy = length < SIZE_MAX ? bh_arena_alloc(arena, length + 1, 1) : NULL;

	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}
