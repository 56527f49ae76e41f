/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes: what a reader did with a file that its author may not have expected, short of an error.
 * The caller prints them; nothing depends on them.
 */
#ifndef BH_SPEC_NOTE_H
#define BH_SPEC_NOTE_H

#include "base/arena.h"
#include "base/error.h"

struct bh_note {
	const struct bh_note *next;
	const char *text; /* one sentence without full stop, "FILE:LINE:COLUMN: " before it where
			     it belongs to a place */
};

/* In the order in which they were made; starts zeroed. */
struct bh_note_list {
	const struct bh_note *first;
	struct bh_note *last;
};

/**
 * bh_note_add() - append a note
 * @list:   borrowed
 * @arena:  where the note lives
 * @err:    NO_MEMORY
 * @format: its text, cut at 512 bytes
 */
int bh_note_add(struct bh_note_list *list, struct bh_arena *arena, struct bh_error *err,
		const char *format, ...) BH_PRINTF(4, 5) BH_MUST_CHECK;

#endif
