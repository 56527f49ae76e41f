/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/profile_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct attribute {
	uint32_t bit;
	char sign;
	const char *text;
} attributes[] = {
#define X(symbol, bit, sign, text) {symbol, sign, text},
		BH_PROFILE_ATTRIBUTES(X)
#undef X
};

struct reader {
	const char *text;
	size_t at;
	struct bh_error *err;
};

static BH_PRINTF(2, 3) int wrong(struct reader *r, const char *format, ...)
{
	char shown[64], message[256];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return bh_fail(r->err, BH_E_USAGE, BH_SRC_SELF, 0, "profile '%s': %s",
			bh_text_show(shown, sizeof(shown), r->text), message);
}

static int expected(struct reader *r, const char *what)
{
	char one[5] = "", shown[24];
	size_t left = strlen(r->text + r->at);
	size_t length = left ? bh_text_utf8_length(r->text + r->at, left) : 0;

	if (!left)
		return wrong(r, "expected %s at character %zu, found the end", what, r->at + 1);
	memcpy(one, r->text + r->at, length ? length : 1);
	return wrong(r, "expected %s at character %zu, found '%s'", what, r->at + 1,
			bh_text_show(shown, sizeof(shown), one));
}

/* Digits alone: no sign, no space, no leading zero. */
static int read_number(
		struct reader *r, const char *what, uint32_t min, uint32_t max, uint32_t *ret_value)
{
	const char *from = r->text + r->at;
	size_t length = strspn(from, "0123456789");
	uint32_t value;

	if (length == 0)
		return expected(r, what);
	if (length > 1 && from[0] == '0')
		return wrong(r, "%s at character %zu begins with a zero", what, r->at + 1);
	if (!bh_text_u32(from, length, max, &value) || value < min)
		return wrong(r, "%s at character %zu is not within %u-%u", what, r->at + 1, min,
				max);
	r->at += length;
	*ret_value = value;
	return 0;
}

static bool skip(struct reader *r, const char *token)
{
	if (strncmp(r->text + r->at, token, strlen(token)) != 0)
		return false;
	r->at += strlen(token);
	return true;
}

static const char *known_attributes(char *buffer, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < BH_ARRAY_SIZE(attributes) && used < size; i++)
		used += (size_t) snprintf(buffer + used, size - used, "%s%c%s", i ? ", " : "",
				attributes[i].sign, attributes[i].text);
	return buffer;
}

static int read_attribute(struct reader *r, char sign, uint32_t *bits)
{
	const char *from = r->text + r->at;
	size_t length = strcspn(from, ",+-");
	char word[24] = "", shown[24], known[64];

	for (size_t i = 0; i < BH_ARRAY_SIZE(attributes); i++) {
		const struct attribute *a = &attributes[i];

		if (a->sign != sign || strlen(a->text) != length ||
				strncmp(a->text, from, length) != 0)
			continue;
		if (*bits & a->bit)
			return wrong(r, "attribute '%c%s' at character %zu is given twice", sign,
					a->text, r->at + 1);
		*bits |= a->bit;
		r->at += length;
		return 0;
	}
	if (length == 0)
		return expected(r, "an attribute");
	memcpy(word, from, length < sizeof(word) - 1 ? length : sizeof(word) - 1);
	return wrong(r, "unknown attribute '%c%s' at character %zu, known are %s", sign,
			bh_text_show(shown, sizeof(shown), word), r->at + 1,
			known_attributes(known, sizeof(known)));
}

static int read_attributes(struct reader *r, uint32_t *ret_bits)
{
	char sign = r->text[r->at];
	uint32_t bits = 0;

	if (sign != '+' && sign != '-')
		return expected(r, "'+', '-' or the end");
	do {
		r->at++;
		if (read_attribute(r, sign, &bits) < 0)
			return -1;
	} while (r->text[r->at] == ',');
	if (r->text[r->at])
		return expected(r, "',' or the end");
	*ret_bits = bits;
	return 0;
}

int bh_profile_name_parse(const char *text, struct bh_profile_name *ret_name, struct bh_error *err)
{
	struct reader r = {.text = text, .err = err};
	struct bh_profile_name name = {0};

	if (read_number(&r, "a number of slices", 1, BH_PROFILE_SLICES_MAX, &name.slices) < 0)
		return -1;
	if (skip(&r, "c.")) {
		name.ci_slices = name.slices;
		if (read_number(&r, "a number of slices", 1, BH_PROFILE_SLICES_MAX, &name.slices) <
				0)
			return -1;
		if (!skip(&r, "g."))
			return expected(&r, "'g.'");
		if (name.ci_slices > name.slices)
			return wrong(&r, "%uc is more than the GPU instance's %ug", name.ci_slices,
					name.slices);
	} else if (!skip(&r, "g.")) {
		return expected(&r, "'g.' or 'c.'");
	}
	if (read_number(&r, "a number of GB", 0, BH_PROFILE_MEMORY_GB_MAX, &name.memory_gb) < 0)
		return -1;
	if (!skip(&r, "gb"))
		return expected(&r, "'gb'");
	if (r.text[r.at] && read_attributes(&r, &name.attributes) < 0)
		return -1;
	*ret_name = name;
	return 0;
}

int bh_profile_name_from_nvml(
		const char *text, struct bh_profile_name *ret_name, struct bh_error *err)
{
	const char prefix[] = "MIG ";
	size_t skipped = strncmp(text, prefix, sizeof(prefix) - 1) == 0 ? sizeof(prefix) - 1 : 0;

	return bh_profile_name_parse(text + skipped, ret_name, err);
}

const char *bh_profile_name_format(
		const struct bh_profile_name *name, char buffer[BH_PROFILE_NAME_SIZE])
{
	size_t used = 0;
	char last = 0;

	if (name->ci_slices)
		used = (size_t) snprintf(buffer, BH_PROFILE_NAME_SIZE, "%uc.", name->ci_slices);
	used += (size_t) snprintf(buffer + used, BH_PROFILE_NAME_SIZE - used, "%ug.%ugb",
			name->slices, name->memory_gb);
	for (size_t i = 0; i < BH_ARRAY_SIZE(attributes); i++) {
		if (!(name->attributes & attributes[i].bit))
			continue;
		used += (size_t) snprintf(buffer + used, BH_PROFILE_NAME_SIZE - used, "%c%s",
				attributes[i].sign == last ? ',' : attributes[i].sign,
				attributes[i].text);
		last = attributes[i].sign;
	}
	return buffer;
}

static int order(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_gi(const struct bh_profile_name *a, const struct bh_profile_name *b)
{
	int by_slices = order(a->slices, b->slices);
	int by_memory = order(a->memory_gb, b->memory_gb);

	if (by_slices)
		return by_slices;
	return by_memory ? by_memory : order(a->attributes, b->attributes);
}

int bh_profile_name_compare(const struct bh_profile_name *a, const struct bh_profile_name *b)
{
	int by_gi = compare_gi(a, b);

	return by_gi ? by_gi : order(a->ci_slices, b->ci_slices);
}

bool bh_profile_name_same_gi(const struct bh_profile_name *a, const struct bh_profile_name *b)
{
	return compare_gi(a, b) == 0;
}
