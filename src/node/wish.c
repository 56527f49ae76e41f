/* SPDX-License-Identifier: Apache-2.0 */
#include "node/wish.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/document.h"
#include "base/utf8.h"
#include "spec/mig_config.h"
#include "spec/resolve.h"

void bh_wish_clear(struct bh_wish *wish)
{
	free(wish->wants);
	wish->wants = NULL;
	for (size_t i = 0; i < wish->n_notes; i++)
		free(wish->notes[i]);
	wish->n_notes = 0;
}

static int hash(const char *text, size_t size, char *ret_hex, struct bh_error *err)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int n;

	if (EVP_Digest(text, size, digest, &n, EVP_sha256(), NULL) != 1 || n != 32)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "SHA-256 is not available");
	for (unsigned int i = 0; i < n; i++)
		(void) snprintf(ret_hex + 2 * (size_t) i, 3, "%02x", digest[i]);
	return 0;
}

static int keep_notes(struct bh_wish *wish, const struct bh_note *note, struct bh_error *err)
{
	for (; note && wish->n_notes < BH_WISH_NOTES_MAX; note = note->next) {
		wish->notes[wish->n_notes] = strdup(note->text);
		if (!wish->notes[wish->n_notes])
			return bh_fail_memory(err);
		wish->n_notes++;
	}
	return 0;
}

/* "1c.3g.40gb" is one compute slice in a 3g.40gb: the board's profile, and the part of it. */
static void fill_row(const struct bh_wanted_profile *profile, struct bh_want_row *ret_row)
{
	struct bh_profile_name gi = profile->name;
	char text[BH_PROFILE_NAME_SIZE];

	*ret_row = (struct bh_want_row){.ci_slices = gi.ci_slices, .count = profile->count};
	gi.ci_slices = 0;
	(void) snprintf(ret_row->gi_name, sizeof(ret_row->gi_name), "%s",
			bh_profile_name_format(&gi, text));
}

static int fill_want(const struct bh_gpu *gpu, const struct bh_wanted *wanted,
		const struct bh_wanted_gpu *from, struct bh_gpu_want *want, struct bh_error *err)
{
	bh_auto_free struct bh_want_row *rows = NULL;

	*want = (struct bh_gpu_want){.in_scope = from->in_scope, .mig_on = from->mig};
	if (!from->in_scope)
		return 0;
	(void) snprintf(want->source, sizeof(want->source), "wanted by %s:%u", wanted->file,
			from->line);
	bh_utf8_clean(want->source);
	if (from->n_profiles == 0)
		return 0;
	rows = calloc(from->n_profiles, sizeof(*rows));
	if (!rows)
		return bh_fail_memory(err);
	for (size_t i = 0; i < from->n_profiles; i++)
		fill_row(&from->profiles[i], &rows[i]);
	if (bh_want_fill(gpu, rows, from->n_profiles, want, err) < 0)
		return bh_while(err, "%s:%u:%u", wanted->file, from->line, from->column);
	return 0;
}

static int check_strict(const struct bh_inventory *inventory, const struct bh_wanted *wanted,
		struct bh_error *err)
{
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		if (wanted->gpus[i].in_scope)
			continue;
		bh_fail(err, BH_E_NOT_SO, BH_SRC_SELF, 0,
				"GPU %u (%s) is not listed in configuration '%s' of '%s', and "
				"--strict "
				"asks for all",
				inventory->gpus[i].index, inventory->gpus[i].name, wanted->name,
				wanted->file);
		bh_error_next(err, "add an entry for it, or leave --strict out");
		return -1;
	}
	return 0;
}

static int resolve(const struct bh_mig_configuration *configuration,
		const struct bh_inventory *inventory, bool strict, struct bh_wish *wish,
		struct bh_error *err)
{
	bh_auto_wanted struct bh_wanted *wanted = NULL;

	if (bh_spec_resolve(configuration, inventory, &wanted, err) < 0)
		return -1;
	if (strict && check_strict(inventory, wanted, err) < 0)
		return -1;
	if (keep_notes(wish, configuration->notes, err) < 0 ||
			keep_notes(wish, wanted->notes, err) < 0)
		return -1;
	wish->wants = calloc(inventory->n_gpus + 1, sizeof(*wish->wants));
	if (!wish->wants)
		return bh_fail_memory(err);
	wish->n_wants = inventory->n_gpus;
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		if (fill_want(&inventory->gpus[i], wanted, &wanted->gpus[i], &wish->wants[i], err) <
				0)
			return -1;
	}
	return 0;
}

int bh_wish_load_mig_config(const char *path, const char *select,
		const struct bh_inventory *inventory, bool strict, struct bh_wish *ret_wish,
		struct bh_error *err)
{
	const struct bh_mig_configuration *configuration;
	bh_auto_mig_config struct bh_mig_config *config = NULL;
	bh_auto_free char *text = NULL;
	struct bh_wish wish = {0};
	const char *name;
	size_t size;

	if (bh_document_read(path, BH_DOCUMENT_LIMITS.bytes, &text, &size, &name, err) < 0 ||
			hash(text, size, wish.sha256, err) < 0 ||
			bh_mig_config_parse(text, size, name, &config, err) < 0 ||
			bh_mig_config_select(config, select, &configuration, err) < 0)
		return -1;
	(void) snprintf(wish.source, sizeof(wish.source), "%s", name);
	(void) snprintf(wish.selected, sizeof(wish.selected), "%s", configuration->name);
	bh_utf8_clean(wish.source); /* a file's name may be any bytes, and both may be cut */
	bh_utf8_clean(wish.selected);
	if (resolve(configuration, inventory, strict, &wish, err) < 0) {
		bh_wish_clear(&wish);
		return -1;
	}
	*ret_wish = wish;
	return 0;
}
