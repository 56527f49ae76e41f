/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int bh_reader_wrong(struct bh_reader *r, const char *format, ...)
{
	char shown[96], message[256];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return bh_fail(r->err, BH_E_USAGE, BH_SRC_SELF, 0, "%s '%s': %s", r->what,
			bh_text_show(shown, sizeof(shown), r->text), message);
}

int bh_reader_expected(struct bh_reader *r, const char *what)
{
	char one[5] = "", shown[24];
	size_t left = strlen(r->text + r->at);
	size_t length = left ? bh_text_utf8_length(r->text + r->at, left) : 0;

	if (!left)
		return bh_reader_wrong(
				r, "expected %s at character %zu, found the end", what, r->at + 1);
	memcpy(one, r->text + r->at, length ? length : 1);
	return bh_reader_wrong(r, "expected %s at character %zu, found '%s'", what, r->at + 1,
			bh_text_show(shown, sizeof(shown), one));
}

bool bh_reader_skip(struct bh_reader *r, const char *token)
{
	if (strncmp(r->text + r->at, token, strlen(token)) != 0)
		return false;
	r->at += strlen(token);
	return true;
}

int bh_reader_number(struct bh_reader *r, const char *what, uint32_t min, uint32_t max,
		uint32_t *ret_value)
{
	const char *from = r->text + r->at;
	size_t length = strspn(from, "0123456789");
	uint32_t value;

	if (length == 0)
		return bh_reader_expected(r, what);
	if (length > 1 && from[0] == '0')
		return bh_reader_wrong(
				r, "%s at character %zu begins with a zero", what, r->at + 1);
	if (!bh_text_u32(from, length, max, &value) || value < min)
		return bh_reader_wrong(r, "%s at character %zu is not within %u-%u", what,
				r->at + 1, min, max);
	r->at += length;
	*ret_value = value;
	return 0;
}
