/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_tail(unsigned char byte)
{
	return (byte & 0xC0) == 0x80;
}

/* Bytes of the well-formed character at @s, 0 if there is none (Unicode 15, table 3-7). */
static size_t character_bytes(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xC2 && s[0] <= 0xDF)
		return is_tail(s[1]) ? 2 : 0;
	if (s[0] >= 0xE0 && s[0] <= 0xEF) {
		if (!is_tail(s[1]) || !is_tail(s[2]))
			return 0;
		if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F))
			return 0;
		return 3;
	}
	if (s[0] >= 0xF0 && s[0] <= 0xF4) {
		if (!is_tail(s[1]) || !is_tail(s[2]) || !is_tail(s[3]))
			return 0;
		if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
			return 0;
		return 4;
	}
	return 0;
}

void bh_utf8_clean(char *text)
{
	unsigned char *s = (unsigned char *) text;

	while (*s) {
		size_t bytes = character_bytes(s);

		if (bytes == 0 || *s < 0x20 || *s == 0x7F) {
			*s++ = '?';
			continue;
		}
		s += bytes;
	}
}
