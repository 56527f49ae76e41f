/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/profile_name.h"

#include <stdio.h>
#include <string.h>

#include "base/reader.h"
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

static const char *known_attributes(char *buffer, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < BH_ARRAY_SIZE(attributes) && used < size; i++)
		used += (size_t) snprintf(buffer + used, size - used, "%s%c%s", i ? ", " : "",
				attributes[i].sign, attributes[i].text);
	return buffer;
}

static int read_attribute(struct bh_reader *r, char sign, uint32_t *bits)
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
			return bh_reader_wrong(r,
					"attribute '%c%s' at character %zu is given twice", sign,
					a->text, r->at + 1);
		*bits |= a->bit;
		r->at += length;
		return 0;
	}
	if (length == 0)
		return bh_reader_expected(r, "an attribute");
	memcpy(word, from, length < sizeof(word) - 1 ? length : sizeof(word) - 1);
	return bh_reader_wrong(r, "unknown attribute '%c%s' at character %zu, known are %s", sign,
			bh_text_show(shown, sizeof(shown), word), r->at + 1,
			known_attributes(known, sizeof(known)));
}

static int read_attributes(struct bh_reader *r, uint32_t *ret_bits)
{
	char sign = r->text[r->at];
	uint32_t bits = 0;

	if (sign != '+' && sign != '-')
		return bh_reader_expected(r, "'+', '-' or the end");
	do {
		r->at++;
		if (read_attribute(r, sign, &bits) < 0)
			return -1;
	} while (r->text[r->at] == ',');
	if (r->text[r->at])
		return bh_reader_expected(r, "',' or the end");
	*ret_bits = bits;
	return 0;
}

int bh_profile_name_parse(const char *text, struct bh_profile_name *ret_name, struct bh_error *err)
{
	struct bh_reader r = {.what = "profile", .text = text, .err = err};
	struct bh_profile_name name = {0};

	if (bh_reader_number(&r, "a number of slices", 1, BH_PROFILE_SLICES_MAX, &name.slices) < 0)
		return -1;
	if (bh_reader_skip(&r, "c.")) {
		name.ci_slices = name.slices;
		if (bh_reader_number(&r, "a number of slices", 1, BH_PROFILE_SLICES_MAX,
				    &name.slices) < 0)
			return -1;
		if (!bh_reader_skip(&r, "g."))
			return bh_reader_expected(&r, "'g.'");
		if (name.ci_slices > name.slices)
			return bh_reader_wrong(&r, "%uc is more than the GPU instance's %ug",
					name.ci_slices, name.slices);
	} else if (!bh_reader_skip(&r, "g.")) {
		return bh_reader_expected(&r, "'g.' or 'c.'");
	}
	if (bh_reader_number(&r, "a number of GB", 0, BH_PROFILE_MEMORY_GB_MAX, &name.memory_gb) <
			0)
		return -1;
	if (!bh_reader_skip(&r, "gb"))
		return bh_reader_expected(&r, "'gb'");
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
