/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/needs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "gpu/catalogue.h"
#include "plan/want.h"

/* Does a profile take the whole board, as far as its placements tell how large that is. */
static bool is_whole(const struct bh_gi_profile *profiles, size_t n_profiles,
		const struct bh_gi_profile *profile)
{
	uint32_t end = 0;

	for (size_t i = 0; i < n_profiles; i++) {
		for (size_t k = 0; k < profiles[i].n_placements; k++) {
			const struct bh_placement *at = &profiles[i].placements[k];

			if (at->start + at->size > end)
				end = at->start + at->size;
		}
	}
	return profile->n_placements > 0 && profile->placements[0].size == end;
}

/* A table without a profile of the whole board lacks rows: what it lists is no measure. */
uint32_t bh_need_board_sm(const struct bh_gi_profile *profiles, size_t n_profiles)
{
	uint32_t sm = 0;
	bool whole = false;

	for (size_t i = 0; i < n_profiles; i++) {
		const struct bh_gi_profile *p = &profiles[i];
		bool is = is_whole(profiles, n_profiles, p);

		if (p->sm == BH_UNKNOWN && (is || p->n_placements == 0))
			return BH_UNKNOWN; /* it may be the largest */
		whole = whole || is;
		if (p->sm != BH_UNKNOWN && p->sm > sm)
			sm = p->sm;
	}
	return whole && sm ? sm : BH_UNKNOWN;
}

static bool is_plain(const struct bh_gi_profile *profile)
{
	struct bh_profile_name name;

	return bh_profile_name_from_nvml(profile->name, &name, NULL) == 0 && !name.attributes &&
	       !name.ci_slices;
}

static uint32_t units_of(const struct bh_gi_profile *profile)
{
	return profile->n_placements ? profile->placements[0].size : 0;
}

/* Unknown numbers are the largest there are, so that what is known stands before them. */
static bool is_smaller(const struct bh_gi_profile *a, const struct bh_gi_profile *b)
{
	if (units_of(a) != units_of(b))
		return units_of(a) < units_of(b);
	if (a->sm != b->sm)
		return a->sm < b->sm;
	return a->memory_mib < b->memory_mib;
}

static uint64_t memory_lack(const struct bh_gi_profile *profile, const struct bh_need *need)
{
	if (need->memory_mib == 0)
		return 0;
	if (profile->memory_mib == BH_UNKNOWN64)
		return BH_UNKNOWN64;
	return profile->memory_mib >= need->memory_mib ? 0 : need->memory_mib - profile->memory_mib;
}

/* What is missing of a thousandth of the board is missing whole. */
static uint32_t compute_lack(
		const struct bh_gi_profile *profile, uint32_t board_sm, const struct bh_need *need)
{
	if (need->compute_permille == 0)
		return 0;
	if (profile->sm == BH_UNKNOWN || board_sm == BH_UNKNOWN || board_sm == 0)
		return BH_UNKNOWN;
	if ((uint64_t) profile->sm * 1000 >= (uint64_t) need->compute_permille * board_sm)
		return 0;
	return need->compute_permille - (uint32_t) ((uint64_t) profile->sm * 1000 / board_sm);
}

static bool fit_by_name(const struct bh_gi_profile *profiles, size_t n_profiles,
		const struct bh_need *need, struct bh_need_fit *ret_fit)
{
	struct bh_profile_name name = need->profile;
	char text[BH_PROFILE_NAME_SIZE];

	for (size_t i = 0; i < n_profiles; i++) {
		if (bh_profile_name_from_nvml(profiles[i].name, &name, NULL) == 0 &&
				bh_profile_name_same_gi(&name, &need->profile)) {
			ret_fit->profile = &profiles[i];
			return true;
		}
	}
	ret_fit->largest = bh_profile_nearest(
			profiles, n_profiles, bh_profile_name_format(&need->profile, text));
	return false;
}

bool bh_need_fit(const struct bh_gi_profile *profiles, size_t n_profiles,
		const struct bh_need *need, struct bh_need_fit *ret_fit)
{
	uint32_t board_sm = bh_need_board_sm(profiles, n_profiles);
	const struct bh_gi_profile *largest = NULL;

	*ret_fit = (struct bh_need_fit){0};
	if (need->by_name)
		return fit_by_name(profiles, n_profiles, need, ret_fit);
	for (size_t i = 0; i < n_profiles; i++) {
		const struct bh_gi_profile *p = &profiles[i];

		if (!is_plain(p) || p->n_placements == 0)
			continue;
		if (!largest || is_smaller(largest, p))
			largest = p;
		if (memory_lack(p, need) == 0 && compute_lack(p, board_sm, need) == 0 &&
				(!ret_fit->profile || is_smaller(p, ret_fit->profile)))
			ret_fit->profile = p;
	}
	if (ret_fit->profile)
		return true;
	ret_fit->largest = largest;
	if (largest) {
		ret_fit->lacks_memory_mib = memory_lack(largest, need);
		ret_fit->lacks_compute_permille = compute_lack(largest, board_sm, need);
	}
	return false;
}

const char *bh_need_next_model(
		const struct bh_need *need, size_t *at, const struct bh_gi_profile **ret_profile)
{
	const struct bh_model *model;

	while ((model = bh_catalogue_at((*at)++)) != NULL) {
		struct bh_need_fit fit;

		if (!bh_need_fit(model->gi_profiles, model->n_gi_profiles, need, &fit))
			continue;
		if (ret_profile)
			*ret_profile = fit.profile;
		return model->slug;
	}
	(*at)--;
	return NULL;
}

/* " and 12.5 % of the SMs" and the like: thousandths without a needless zero */
static const char *percent(uint32_t permille, char buffer[16])
{
	if (permille % 10)
		(void) snprintf(buffer, 16, "%u.%u", permille / 10, permille % 10);
	else
		(void) snprintf(buffer, 16, "%u", permille / 10);
	return buffer;
}

static void name_models(const struct bh_need *need, struct bh_error *err)
{
	const char *names[64];
	char texts[64][96], list[200];
	const struct bh_gi_profile *profile;
	const char *slug;
	size_t at = 0, n = 0;

	while (n < BH_ARRAY_SIZE(names) && (slug = bh_need_next_model(need, &at, &profile))) {
		(void) snprintf(texts[n], sizeof(texts[n]), "%.60s (%.30s)", slug, profile->name);
		names[n] = texts[n];
		n++;
	}
	if (n)
		bh_error_next(err, "boards that are known to have it: %s",
				bh_text_join(list, sizeof(list), names, n));
	else
		bh_error_next(err, "no board of the catalogue is known to have it");
}

/* ", of which it has 40320, 2048 MiB too little", or that it is not known */
static void say_lacks(const struct bh_need_fit *fit, char *buffer, size_t size)
{
	char share[16];
	size_t used = 0;

	if (fit->lacks_memory_mib == BH_UNKNOWN64)
		used = (size_t) snprintf(buffer, size, ", has an unknown amount of memory");
	else if (fit->lacks_memory_mib)
		used = (size_t) snprintf(buffer, size,
				", has %" PRIu64 " MiB: %" PRIu64 " MiB too little",
				fit->largest->memory_mib, fit->lacks_memory_mib);
	if (fit->lacks_compute_permille == BH_UNKNOWN)
		(void) snprintf(buffer + used, size - used,
				", has an unknown share of the multiprocessors");
	else if (fit->lacks_compute_permille)
		(void) snprintf(buffer + used, size - used,
				", has %u multiprocessors: %s %% of the board too little",
				fit->largest->sm, percent(fit->lacks_compute_permille, share));
}

int bh_need_refuse(const struct bh_gpu *gpu, const struct bh_need *need,
		const struct bh_need_fit *fit, struct bh_error *err)
{
	char label[160], text[BH_NEED_TEXT_SIZE], lacks[192] = "";

	bh_gpu_label(gpu, label, sizeof(label));
	(void) bh_need_format(need, text);
	if (!fit->largest) {
		(void) bh_fail(err, need->by_name ? BH_E_PROFILE_NOT_OFFERED : BH_E_DOES_NOT_FIT,
				BH_SRC_SELF, 0, "need '%s': %s has no profile %s", text, label,
				need->by_name ? "like it"
					      : "without attributes whose place is known");
	} else if (need->by_name) {
		(void) bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
				"need '%s': %s does not offer it; most like it is %s", text, label,
				fit->largest->name);
	} else {
		say_lacks(fit, lacks, sizeof(lacks));
		(void) bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"need '%s': no profile of %s suffices; the largest, %s%s", text,
				label, fit->largest->name, lacks);
	}
	name_models(need, err);
	return -1;
}
