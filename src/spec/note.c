/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int bh_note_add(struct bh_note_list *list, struct bh_arena *arena, struct bh_error *err,
		const char *format, ...)
{
	struct bh_note *note = bh_arena_alloc(arena, 1, sizeof(*note));
	char text[512];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!note)
		return bh_fail_memory(err);
	note->text = bh_arena_text(arena, text, strlen(text));
	if (!note->text)
		return bh_fail_memory(err);
	if (list->last)
		list->last->next = note;
	else
		list->first = note;
	list->last = note;
	return 0;
}
