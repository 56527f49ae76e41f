/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/want.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gpu/catalogue.h"

void bh_gpu_label(const struct bh_gpu *gpu, char *buffer, size_t size)
{
	(void) snprintf(buffer, size, "GPU %u (%s)", gpu->index,
			gpu->name[0] ? gpu->name : "name unknown");
}

uint32_t bh_want_count(const struct bh_gpu_want *want, size_t profile)
{
	uint32_t count = 0;

	for (size_t i = 0; i < want->n_gis; i++)
		count += want->gis[i].profile == profile;
	return count;
}

#define BOARDS_NAMED_MAX 32

/* "; offered by: SLUG, …": a layout for another board is told from a slip of the pen. */
static void say_who_offers(const char *name, char *buffer, size_t size)
{
	const char *slugs[BOARDS_NAMED_MAX];
	const struct bh_model *model = NULL;
	char joined[112];
	size_t n = 0;

	while (n < BOARDS_NAMED_MAX && (model = bh_catalogue_next_offering(name, model)))
		slugs[n++] = model->slug;
	(void) snprintf(buffer, size, "; offered by: %s",
			n ? bh_text_join(joined, sizeof(joined), slugs, n)
			  : "no board of the catalogue");
}

/* Boards before Hopper tell their profiles only with MIG on, and this one no table knows. */
static int not_told(const struct bh_gpu *gpu, const char *name, struct bh_error *err)
{
	char label[160];

	bh_gpu_label(gpu, label, sizeof(label));
	bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
			"%s: whether it offers %s is unknown: its driver does not tell while MIG "
			"is "
			"off, and the catalogue does not have this board",
			label, name);
	bh_error_next(err, "enable MIG first, with 'mig-enabled: true' and 'mig-devices: {}', then "
			   "see 'bulkhead profiles'");
	return -1;
}

static int not_offered(const struct bh_gpu *gpu, const char *name, struct bh_error *err)
{
	const struct bh_gi_profile *nearest =
			bh_profile_nearest(gpu->profiles, gpu->n_profiles, name);
	char label[160], offered[192], boards[144];
	const char *names[BH_GI_PROFILES_MAX];

	if (gpu->n_profiles == 0 && gpu->mig_current != BH_MIG_ON)
		return not_told(gpu, name, err);
	bh_gpu_label(gpu, label, sizeof(label));
	for (size_t i = 0; i < gpu->n_profiles; i++)
		names[i] = gpu->profiles[i].name;
	(void) bh_text_join(offered, sizeof(offered), names, gpu->n_profiles);
	say_who_offers(name, boards, sizeof(boards));
	bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
			"%s does not offer %s; it offers %s%s", label, name,
			gpu->n_profiles ? offered : "no profiles at all", boards);
	if (nearest)
		bh_error_next(err, "use %s, the nearest profile of this board with as much compute",
				nearest->name);
	else
		bh_error_next(err, "choose one of the profiles that this board offers");
	return -1;
}

/* @part: compute slices of each, where that is not the whole GPU instance */
static int too_many(const struct bh_gpu *gpu, const struct bh_gi_profile *profile, uint32_t part,
		uint64_t wanted, struct bh_error *err)
{
	unsigned long long most = profile->max_instances;
	char label[160], name[BH_NAME_SIZE + 16];

	(void) snprintf(name, sizeof(name), "%s", profile->name);
	if (part < profile->slice_count) {
		(void) snprintf(name, sizeof(name), "%uc.%s", part, profile->name);
		most *= profile->slice_count / part;
	}
	bh_gpu_label(gpu, label, sizeof(label));
	bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
			"%s: %llu x %s are wanted, this board holds at most %llu", label,
			(unsigned long long) wanted, name, most);
	bh_error_next(err, "ask for at most %llu x %s on one GPU", most, name);
	return -1;
}

static int add_gi(const struct bh_gpu *gpu, struct bh_gpu_want *want, size_t profile,
		uint32_t ci_slices, struct bh_error *err)
{
	if (want->n_gis == BH_GIS_MAX) {
		char label[160];

		bh_gpu_label(gpu, label, sizeof(label));
		return bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"%s: more than %d GPU instances are wanted, no board holds more",
				label, BH_GIS_MAX);
	}
	want->gis[want->n_gis++] = (struct bh_wanted_gi){.profile = profile,
			.profile_id = gpu->profiles[profile].id,
			.ci_slices = {ci_slices},
			.n_cis = 1};
	return 0;
}

/* Into the first GPU instance of that profile that has room; falling order of sizes is given. */
static int add_shared_ci(const struct bh_gpu *gpu, struct bh_gpu_want *want, size_t profile,
		uint32_t ci_slices, struct bh_error *err)
{
	for (size_t i = 0; i < want->n_gis; i++) {
		struct bh_wanted_gi *gi = &want->gis[i];
		uint32_t used = 0;

		for (size_t c = 0; c < gi->n_cis; c++)
			used += gi->ci_slices[c];
		if (gi->profile == profile && gi->n_cis < BH_CIS_MAX &&
				used + ci_slices <= gpu->profiles[profile].slice_count) {
			gi->ci_slices[gi->n_cis++] = ci_slices;
			return 0;
		}
	}
	return add_gi(gpu, want, profile, ci_slices, err);
}

static int add_profile(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n_rows,
		size_t profile, struct bh_gpu_want *want, struct bh_error *err)
{
	const struct bh_gi_profile *p = &gpu->profiles[profile];

	if (p->slice_count > BH_UNITS_MAX)
		return 0; /* unknown, so not wanted */
	for (uint32_t slices = p->slice_count; slices > 0; slices--) {
		for (size_t r = 0; r < n_rows; r++) {
			uint32_t size = rows[r].ci_slices ? rows[r].ci_slices : p->slice_count;

			if (size != slices || strcmp(rows[r].gi_name, p->name) != 0)
				continue;
			if (rows[r].count > (uint64_t) p->max_instances * (p->slice_count / size))
				return too_many(gpu, p, size, rows[r].count, err);
			for (uint32_t n = 0; n < rows[r].count; n++) {
				if (add_shared_ci(gpu, want, profile, size, err) < 0)
					return -1;
			}
		}
	}
	return 0;
}

/*
 * Parts that a GPU instance is offered in: all of it, and the powers of two and three below, but no
 * three of four. Source: nvidia-smi mig -lcip listings (data/gpu-models, the boards that have them).
 */
static bool is_part(uint32_t slices, uint32_t part)
{
	return part == slices ||
	       (part < slices && (part == 1 || part == 2 ||
						 (slices > 4 && (part == 3 || part == 4))));
}

static int no_such_part(const struct bh_gpu *gpu, const struct bh_gi_profile *profile,
		uint32_t part, struct bh_error *err)
{
	char label[160], offered[64] = "";
	size_t used = 0;

	bh_gpu_label(gpu, label, sizeof(label));
	if (part > profile->slice_count)
		return bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"%s: a compute instance of %u slices does not fit into %s", label,
				part, profile->name);
	for (uint32_t n = 1; n <= profile->slice_count && used < sizeof(offered); n++) {
		if (is_part(profile->slice_count, n))
			used += (size_t) snprintf(offered + used, sizeof(offered) - used, "%s%u",
					used ? ", " : "", n);
	}
	bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
			"%s: %s is not offered with a compute instance of %u slices, only of %s",
			label, profile->name, part, offered);
	bh_error_next(err, "ask for one of those sizes");
	return -1;
}

int bh_want_fill(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n_rows,
		struct bh_gpu_want *want, struct bh_error *err)
{
	struct bh_gpu_want filled = *want;
	char label[160];

	bh_gpu_label(gpu, label, sizeof(label));
	filled.n_gis = 0;
	for (size_t r = 0; r < n_rows; r++) {
		size_t profile;

		if (!bh_gpu_profile_named(gpu, rows[r].gi_name, &profile))
			return not_offered(gpu, rows[r].gi_name, err);
		if (gpu->profiles[profile].slice_count - 1 >= BH_UNITS_MAX)
			return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
					"%s: the driver does not say how many compute slices a %s "
					"has",
					label, rows[r].gi_name);
		if (rows[r].ci_slices &&
				!is_part(gpu->profiles[profile].slice_count, rows[r].ci_slices))
			return no_such_part(gpu, &gpu->profiles[profile], rows[r].ci_slices, err);
	}
	for (size_t profile = 0; profile < gpu->n_profiles; profile++) {
		if (add_profile(gpu, rows, n_rows, profile, &filled, err) < 0)
			return -1;
		if (bh_want_count(&filled, profile) > gpu->profiles[profile].max_instances)
			return too_many(gpu, &gpu->profiles[profile],
					gpu->profiles[profile].slice_count,
					bh_want_count(&filled, profile), err);
	}
	*want = filled;
	return 0;
}
