/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a need, as the command line takes it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "plan/needs.h"

static int read_memory(struct bh_reader *r, struct bh_need *need)
{
	const uint64_t mib = UINT64_C(1) << 20, gb = UINT64_C(1000000000);
	size_t from = r->at;
	uint32_t number;

	if (bh_reader_number(r, "a number", 1, BH_NEED_MIB_MAX, &number) < 0)
		return -1;
	if (bh_reader_skip(r, "MiB"))
		need->memory_mib = number;
	else if (bh_reader_skip(r, "GiB"))
		need->memory_mib = (uint64_t) number * 1024;
	else if (bh_reader_skip(r, "GB"))
		need->memory_mib = (number * gb + mib - 1) / mib;
	else
		return bh_reader_expected(r, "'MiB', 'GiB' or 'GB'");
	if (need->memory_mib > BH_NEED_MIB_MAX)
		return bh_reader_wrong(r, "the memory at character %zu is more than %u MiB",
				from + 1, BH_NEED_MIB_MAX);
	return 0;
}

static int read_compute(struct bh_reader *r, struct bh_need *need)
{
	uint32_t percent, tenths = 0;
	size_t from = r->at;

	if (bh_reader_number(r, "a number of percent", 0, 100, &percent) < 0)
		return -1;
	if (bh_reader_skip(r, ".")) {
		char digit = r->text[r->at];

		if (digit < '0' || digit > '9')
			return bh_reader_expected(r, "a digit");
		tenths = (uint32_t) (digit - '0');
		r->at++;
		if (!bh_reader_skip(r, "%"))
			return bh_reader_expected(r, "'%' after one decimal");
	} else if (!bh_reader_skip(r, "%")) {
		return bh_reader_expected(r, "'%'");
	}
	need->compute_permille = percent * 10 + tenths;
	if (need->compute_permille < 1 || need->compute_permille > 1000)
		return bh_reader_wrong(
				r, "a share at character %zu is not within 0.1%%-100%%", from + 1);
	return 0;
}

static bool begins_word(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz")] == '=';
}

static int read_profile(struct bh_reader *r, struct bh_need *need)
{
	const char *from = r->text + r->at;
	char name[BH_PROFILE_NAME_SIZE];
	size_t length = strcspn(from, ",");

	while (from[length] && !begins_word(from + length + 1))
		length += 1 + strcspn(from + length + 1, ",");
	if (length >= sizeof(name))
		return bh_reader_wrong(
				r, "the profile at character %zu is longer than any", r->at + 1);
	memcpy(name, from, length);
	name[length] = '\0';
	if (bh_profile_name_parse(name, &need->profile, r->err) < 0) {
		char shown[96];

		return bh_while(r->err, "need '%s': at character %zu",
				bh_text_show(shown, sizeof(shown), r->text), r->at + 1);
	}
	need->by_name = true;
	r->at += length;
	return 0;
}

static int read_count(struct bh_reader *r, struct bh_need *need)
{
	return bh_reader_number(r, "a number", 1, BH_NEED_COUNT_MAX, &need->count);
}

static const struct word {
	const char *name;
	int (*read)(struct bh_reader *r, struct bh_need *need);
} words[] = {
		{"memory", read_memory},
		{"compute", read_compute},
		{"profile", read_profile},
		{"count", read_count},
};

static int unknown_word(struct bh_reader *r, size_t length)
{
	char word[24] = "", shown[40];

	memcpy(word, r->text + r->at, length < sizeof(word) - 1 ? length : sizeof(word) - 1);
	return bh_reader_wrong(r,
			"unknown word '%s' at character %zu, known are memory, compute, profile, "
			"count",
			bh_text_show(shown, sizeof(shown), word), r->at + 1);
}

static int read_word(struct bh_reader *r, uint32_t *seen, struct bh_need *need)
{
	size_t length = strcspn(r->text + r->at, "=,"), i = 0;

	if (length == 0)
		return bh_reader_expected(r, "memory, compute, profile or count");
	while (i < BH_ARRAY_SIZE(words) &&
			(strlen(words[i].name) != length ||
					strncmp(words[i].name, r->text + r->at, length) != 0))
		i++;
	if (i == BH_ARRAY_SIZE(words))
		return unknown_word(r, length);
	if (*seen & 1U << i)
		return bh_reader_wrong(r, "'%s' at character %zu is given twice", words[i].name,
				r->at + 1);
	if ((*seen & 0x4) ? i < 2 : i == 2 && *seen & 0x3)
		return bh_reader_wrong(r,
				"'%s' at character %zu: a profile and sizes exclude each other",
				words[i].name, r->at + 1);
	*seen |= 1U << i;
	r->at += length;
	if (!bh_reader_skip(r, "="))
		return bh_reader_expected(r, "'='");
	return words[i].read(r, need);
}

int bh_need_parse(const char *text, struct bh_need *ret_need, struct bh_error *err)
{
	struct bh_reader r = {.what = "need", .text = text, .err = err};
	struct bh_need need = {.count = 1};
	uint32_t seen = 0;

	do {
		if (read_word(&r, &seen, &need) < 0)
			return -1;
	} while (bh_reader_skip(&r, ","));
	if (text[r.at])
		return bh_reader_expected(&r, "',' or the end");
	if (!(seen & 0x7))
		return bh_reader_wrong(&r, "it says how many, but not of what");
	*ret_need = need;
	return 0;
}

const char *bh_need_format(const struct bh_need *need, char buffer[BH_NEED_TEXT_SIZE])
{
	char name[BH_PROFILE_NAME_SIZE];
	uint64_t memory = need->memory_mib;
	size_t used = 0;

	if (need->by_name)
		used = (size_t) snprintf(buffer, BH_NEED_TEXT_SIZE, "profile=%s",
				bh_profile_name_format(&need->profile, name));
	if (!need->by_name && memory)
		used = (size_t) snprintf(buffer, BH_NEED_TEXT_SIZE, "memory=%" PRIu64 "%s",
				memory % 1024 ? memory : memory / 1024,
				memory % 1024 ? "MiB" : "GiB");
	if (!need->by_name && need->compute_permille) {
		used += (size_t) snprintf(buffer + used, BH_NEED_TEXT_SIZE - used, "%scompute=%u",
				used ? "," : "", need->compute_permille / 10);
		if (need->compute_permille % 10)
			used += (size_t) snprintf(buffer + used, BH_NEED_TEXT_SIZE - used, ".%u",
					need->compute_permille % 10);
		used += (size_t) snprintf(buffer + used, BH_NEED_TEXT_SIZE - used, "%%");
	}
	if (need->count != 1)
		(void) snprintf(buffer + used, BH_NEED_TEXT_SIZE - used, ",count=%u", need->count);
	return buffer;
}
