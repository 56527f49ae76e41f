/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Optimal string alignment: three rows of the usual matrix are enough for the swap. */
size_t bh_text_distance(const char *a, const char *b)
{
	size_t rows[3][BH_TEXT_WORD_MAX + 1];
	size_t n_a = strnlen(a, BH_TEXT_WORD_MAX + 1), n_b = strnlen(b, BH_TEXT_WORD_MAX + 1);
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	if (n_a > BH_TEXT_WORD_MAX || n_b > BH_TEXT_WORD_MAX)
		return BH_TEXT_FAR;
	memset(rows, 0, sizeof(rows));
	for (size_t j = 0; j <= n_b; j++)
		row[j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		size_t *spare = before;

		before = above;
		above = row;
		row = spare;
		row[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			row[j] = smallest(above[j] + 1, row[j - 1] + 1,
					above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
					before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return row[n_b];
}

const char *bh_text_nearest(const char *word, const char *const *names, size_t n_names)
{
	size_t length = strnlen(word, BH_TEXT_WORD_MAX + 1);
	size_t best = length / 3 > 1 ? length / 3 : 1;
	const char *nearest = NULL;

	for (size_t i = 0; i < n_names; i++) {
		size_t distance = bh_text_distance(word, names[i]);

		if (strcasecmp(word, names[i]) == 0)
			return names[i];
		if (distance < best || (distance == best && !nearest)) {
			best = distance;
			nearest = names[i];
		}
	}
	return nearest;
}

/* Appends what fits, whole or not at all. Return: true if it did. */
static BH_PRINTF(4, 5) bool add(char *buffer, size_t size, size_t *used, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(buffer + *used, size - *used, format, args);
	va_end(args);
	if (n < 0 || (size_t) n >= size - *used) {
		buffer[*used] = '\0';
		return false;
	}
	*used += (size_t) n;
	return true;
}

const char *bh_text_join(char *buffer, size_t size, const char *const *names, size_t n_names)
{
	const size_t more_bytes = sizeof(" and 18446744073709551615 more") - 1;
	char shown[2 * BH_TEXT_WORD_MAX];
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < n_names; i++) {
		size_t room = i + 1 == n_names ? size : size > more_bytes ? size - more_bytes : 0;

		(void) bh_text_show(shown, sizeof(shown), names[i]);
		if (room > used && add(buffer, room, &used, "%s%s", i ? ", " : "", shown))
			continue;
		(void) add(buffer, size, &used, i ? " and %zu more" : "%zu names", n_names - i);
		break;
	}
	return buffer;
}

size_t bh_text_utf8_length(const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *) text;
	static const struct {
		unsigned char from, to;	 /* the first byte */
		unsigned char low, high; /* the second byte; those behind it are 80..BF */
		size_t length;
	} forms[] = {
			{0xc2, 0xdf, 0x80, 0xbf, 2},
			{0xe0, 0xe0, 0xa0, 0xbf, 3},
			{0xe1, 0xec, 0x80, 0xbf, 3},
			{0xed, 0xed, 0x80, 0x9f, 3},
			{0xee, 0xef, 0x80, 0xbf, 3},
			{0xf0, 0xf0, 0x90, 0xbf, 4},
			{0xf1, 0xf3, 0x80, 0xbf, 4},
			{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	if (s[0] < 0x80)
		return 1;
	for (size_t i = 0; i < BH_ARRAY_SIZE(forms); i++) {
		if (s[0] < forms[i].from || s[0] > forms[i].to)
			continue;
		if (size < forms[i].length || s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (size_t j = 2; j < forms[i].length; j++) {
			if (s[j] < 0x80 || s[j] > 0xbf)
				return 0;
		}
		return forms[i].length;
	}
	return 0;
}

/* C0, DEL and C1 controls: what a terminal may take as an order. */
static bool is_control(const char *text, size_t length)
{
	unsigned char first = (unsigned char) text[0];

	if (length == 1)
		return first < 0x20 || first == 0x7f;
	return length == 2 && first == 0xc2 && (unsigned char) text[1] < 0xa0;
}

const char *bh_text_show(char *buffer, size_t size, const char *text)
{
	const char ellipsis[] = "\xe2\x80\xa6";
	size_t used = 0, left = strlen(text);
	size_t cut = 0; /* where the ellipsis still fits */

	while (left) {
		size_t length = bh_text_utf8_length(text, left);
		bool plain = length && !is_control(text, length);
		size_t step = length ? length : 1;
		size_t bytes = plain ? step : 4 * step;

		if (used + sizeof(ellipsis) <= size)
			cut = used;
		if (used + bytes + 1 > size) {
			memcpy(buffer + cut, ellipsis, sizeof(ellipsis));
			return buffer;
		}
		for (size_t i = 0; plain && i < step; i++)
			buffer[used++] = text[i];
		for (size_t i = 0; !plain && i < step; i++) {
			(void) snprintf(buffer + used, size - used, "\\x%02x",
					(unsigned char) text[i]);
			used += 4;
		}
		text += step;
		left -= step;
	}
	buffer[used] = '\0';
	return buffer;
}

const char *bh_text_ranges(char *buffer, size_t size, uint64_t set)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (unsigned int first = 0; first < 64; first++) {
		unsigned int last = first;
		bool fits;

		if (!(set >> first & 1))
			continue;
		while (last < 63 && set >> (last + 1) & 1)
			last++;
		fits = add(buffer, size, &used, used ? ", %u" : "%u", first) &&
		       (last == first || add(buffer, size, &used, "-%u", last));
		if (!fits)
			break;
		first = last;
	}
	return buffer;
}

bool bh_text_u32(const char *text, size_t length, uint32_t max, uint32_t *ret_value)
{
	uint64_t value = 0;

	if (length == 0 || length > 10 || (length > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint64_t) (text[i] - '0');
	}
	if (value > max)
		return false;
	*ret_value = (uint32_t) value;
	return true;
}
