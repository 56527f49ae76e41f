/* SPDX-License-Identifier: Apache-2.0 */
/* Is what was wanted there? And the wanted layout as a generation keeps it. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "plan/refuse.h"

static const char *mode_word(enum bh_mig_mode mode)
{
	return mode == BH_MIG_ON ? "on" : mode == BH_MIG_OFF ? "off" : "unknown";
}

/* The sizes of the compute instances that are ours, falling; foreign ones do not count. */
static size_t ci_sizes(const struct bh_gi *gi, uint32_t *sizes)
{
	size_t n = 0;

	for (size_t c = 0; c < gi->n_cis; c++) {
		size_t i = n;

		if (gi->cis[c].foreign)
			continue;
		for (n++; i > 0 && sizes[i - 1] < gi->cis[c].at.size; i--)
			sizes[i] = sizes[i - 1];
		sizes[i] = gi->cis[c].at.size;
	}
	return n;
}

static bool serves(const struct bh_gi *gi, const struct bh_wanted_gi *want)
{
	uint32_t sizes[BH_CIS_MAX];
	size_t n = ci_sizes(gi, sizes);

	return want->profile_id == gi->profile_id && n == want->n_cis &&
	       memcmp(sizes, want->ci_slices, n * sizeof(*sizes)) == 0;
}

static const char *profile_name(const struct bh_gpu *gpu, uint32_t id)
{
	const struct bh_gi_profile *profile = bh_gpu_find_profile(gpu, id);

	return profile ? profile->name : "of a profile that the board does not list";
}

static bool count_differs(const struct bh_gpu *gpu, const struct bh_gpu_want *want, uint32_t id,
		char *what, size_t size)
{
	uint32_t wanted = 0, found = 0;

	for (size_t w = 0; w < want->n_gis; w++)
		wanted += want->gis[w].profile_id == id;
	for (size_t g = 0; g < gpu->n_gis; g++)
		found += !gpu->gis[g].foreign && gpu->gis[g].profile_id == id;
	if (wanted == found)
		return false;
	(void) snprintf(what, size, "wanted %u x %s, found %u", wanted, profile_name(gpu, id),
			found);
	return true;
}

/* By the ids of what is wanted and of what is there: the order of profiles may differ by reading. */
static bool counts_differ(
		const struct bh_gpu *gpu, const struct bh_gpu_want *want, char *what, size_t size)
{
	for (size_t w = 0; w < want->n_gis; w++) {
		if (count_differs(gpu, want, want->gis[w].profile_id, what, size))
			return true;
	}
	for (size_t g = 0; g < gpu->n_gis; g++) {
		if (bh_gpu_find_profile(gpu, gpu->gis[g].profile_id) &&
				count_differs(gpu, want, gpu->gis[g].profile_id, what, size))
			return true;
	}
	for (size_t g = 0; g < gpu->n_gis; g++) {
		char name[128];

		if (gpu->gis[g].foreign || bh_gpu_find_profile(gpu, gpu->gis[g].profile_id))
			continue;
		bh_gi_name(gpu, &gpu->gis[g], name, sizeof(name));
		(void) snprintf(what, size, "found %s, which is not wanted", name);
		return true;
	}
	return false;
}

static bool mode_differs(const struct bh_gpu *gpu, enum bh_mig_mode mode, char *what, size_t size)
{
	if (gpu->mig_current == mode && gpu->mig_pending == mode)
		return false;
	if (gpu->mig_current == gpu->mig_pending)
		(void) snprintf(what, size, "wanted MIG mode %s, found %s", mode_word(mode),
				mode_word(gpu->mig_current));
	else
		(void) snprintf(what, size, "wanted MIG mode %s, found %s with %s pending",
				mode_word(mode), mode_word(gpu->mig_current),
				mode_word(gpu->mig_pending));
	return true;
}

bool bh_want_is_met(
		const struct bh_gpu *gpu, const struct bh_gpu_want *want, char *what, size_t size)
{
	enum bh_mig_mode mode = want->mig_on ? BH_MIG_ON : BH_MIG_OFF;
	bool served[BH_GIS_MAX] = {false};
	char unused[1];

	if (!what) {
		what = unused;
		size = sizeof(unused);
	}
	if (!want->in_scope || (!gpu->mig_capable && !want->mig_on))
		return true;
	/* counts first: they say most, also when the mode is what is missing */
	if (!want->mig_on && mode_differs(gpu, mode, what, size))
		return false;
	if (counts_differ(gpu, want, what, size) || mode_differs(gpu, mode, what, size))
		return false;
	for (size_t w = 0; w < want->n_gis; w++) {
		const struct bh_wanted_gi *gi = &want->gis[w];
		size_t g;

		for (g = 0; g < gpu->n_gis; g++) {
			if (!served[g] && !gpu->gis[g].foreign && serves(&gpu->gis[g], gi))
				break;
		}
		if (g == gpu->n_gis) {
			(void) snprintf(what, size,
					"wanted %zu compute instance%s in a %s, the largest of %u "
					"slices; found no such instance",
					gi->n_cis, gi->n_cis == 1 ? "" : "s",
					profile_name(gpu, gi->profile_id), gi->ci_slices[0]);
			return false;
		}
		served[g] = true;
	}
	return true;
}

json_t *bh_want_to_json(const struct bh_gpu *gpu, const struct bh_gpu_want *want)
{
	bh_auto_json json_t *gis = json_array();
	char source[sizeof(want->source)];

	memcpy(source, want->source, sizeof(source));
	bh_utf8_clean(source); /* it may name a file, and may have been cut */
	for (size_t w = 0; w < want->n_gis; w++) {
		json_t *slices = json_array();

		for (size_t c = 0; c < want->gis[w].n_cis; c++) {
			if (json_array_append_new(slices, json_integer(want->gis[w].ci_slices[c])) <
					0) {
				json_decref(slices);
				return NULL;
			}
		}
		if (json_array_append_new(
				    gis, json_pack("{s:s, s:I, s:o}", "profile",
							 gpu->profiles[want->gis[w].profile].name,
							 "profile_id",
							 (json_int_t) want->gis[w].profile_id,
							 "slices", slices)) < 0)
			return NULL;
	}
	return json_pack("{s:s, s:b, s:s, s:O}", "uuid", gpu->uuid, "mig", want->mig_on, "source",
			source, "instances", gis);
}

static int malformed(const char *what, struct bh_error *err)
{
	return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "a kept layout has %s", what);
}

/* Falling sizes of at least one slice that fit side by side. */
static int slices_from_json(const json_t *value, uint32_t slice_count, struct bh_wanted_gi *gi,
		struct bh_error *err)
{
	const json_t *slices = json_object_get(value, "slices"), *size;
	json_int_t left = slice_count, last = slice_count;
	size_t i;

	if (json_array_size(slices) == 0 || json_array_size(slices) > BH_CIS_MAX)
		return malformed("no compute instances, or too many", err);
	json_array_foreach (slices, i, size) {
		json_int_t n = json_integer_value(size);

		if (n < 1 || n > last || n > left)
			return malformed("compute instances that do not fit", err);
		left -= n;
		last = n;
		gi->ci_slices[gi->n_cis++] = (uint32_t) n;
	}
	return 0;
}

static int gi_from_json(const json_t *value, const struct bh_gpu *gpu, struct bh_wanted_gi *ret_gi,
		struct bh_error *err)
{
	struct bh_wanted_gi gi = {0};
	uint32_t id = BH_UNKNOWN;
	char name[BH_NAME_SIZE];

	if (bh_json_get_string(value, "profile", name, sizeof(name), err) < 0)
		return -1;
	/* the name may be the catalogue's, or another driver branch's: the id is what was made */
	if (json_object_get(value, "profile_id") &&
			bh_json_get_u32(value, "profile_id", &id, err) < 0)
		return -1;
	while (gi.profile < gpu->n_profiles && gpu->profiles[gi.profile].id != id)
		gi.profile++;
	for (size_t i = 0; i < gpu->n_profiles && gi.profile == gpu->n_profiles; i++) {
		if (strcmp(gpu->profiles[i].name, name) == 0)
			gi.profile = i;
	}
	if (gi.profile == gpu->n_profiles)
		return bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
				"the board no longer offers %s", name);
	gi.profile_id = gpu->profiles[gi.profile].id;
	if (slices_from_json(value, gpu->profiles[gi.profile].slice_count, &gi, err) < 0)
		return -1;
	*ret_gi = gi;
	return 0;
}

int bh_want_from_json(const json_t *value, const struct bh_gpu *gpu, struct bh_gpu_want *ret_want,
		struct bh_error *err)
{
	const json_t *gis = json_object_get(value, "instances"), *gi;
	struct bh_gpu_want want = {.in_scope = true};
	size_t i;

	if (bh_json_get_bool(value, "mig", &want.mig_on, err) < 0 ||
			bh_json_get_string(value, "source", want.source, sizeof(want.source), err) <
					0)
		return bh_while(err, "reading a kept layout");
	if (!json_is_array(gis) || json_array_size(gis) > BH_GIS_MAX)
		return malformed("no list of GPU instances, or too many of them", err);
	json_array_foreach (gis, i, gi) {
		if (gi_from_json(gi, gpu, &want.gis[want.n_gis++], err) < 0)
			return bh_while(err, "reading a kept layout");
	}
	*ret_want = want;
	return 0;
}
