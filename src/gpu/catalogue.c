/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/catalogue.h"

#include <stdio.h>
#include <string.h>

#include "gpu/catalogue_table.h"
#include "gpu/profile_name.h"

size_t bh_catalogue_count(void)
{
	return BH_ARRAY_SIZE(catalogue_models);
}

const struct bh_model *bh_catalogue_at(size_t index)
{
	return index < bh_catalogue_count() ? &catalogue_models[index] : NULL;
}

const struct bh_model *bh_catalogue_by_slug(const char *slug)
{
	for (size_t i = 0; i < bh_catalogue_count(); i++) {
		if (strcmp(catalogue_models[i].slug, slug) == 0)
			return &catalogue_models[i];
	}
	return NULL;
}

const struct bh_model *bh_catalogue_by_pci_device_id(uint32_t pci_device_id)
{
	for (size_t i = 0; i < bh_catalogue_count(); i++) {
		const struct bh_model *model = &catalogue_models[i];

		for (size_t k = 0; k < model->n_pci_device_ids; k++) {
			if (model->pci_device_ids[k] == pci_device_id)
				return model;
		}
	}
	return NULL;
}

const struct bh_model *bh_catalogue_by_nvml_name(const char *name)
{
	for (size_t i = 0; i < bh_catalogue_count(); i++) {
		const struct bh_model *model = &catalogue_models[i];

		for (size_t k = 0; k < model->n_nvml_names; k++) {
			if (strcmp(model->nvml_names[k], name) == 0)
				return model;
		}
	}
	return NULL;
}

const struct bh_model *bh_catalogue_next_offering(const char *profile, const struct bh_model *after)
{
	size_t first = after ? (size_t) (after - catalogue_models) + 1 : 0;

	for (size_t i = first; i < bh_catalogue_count(); i++) {
		if (bh_model_profile(&catalogue_models[i], profile))
			return &catalogue_models[i];
	}
	return NULL;
}

#define SLUG_MAX 64

/* Levenshtein's distance in one row; a text longer than SLUG_MAX is as far as can be. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[SLUG_MAX + 1], len_a = strlen(a), len_b = strlen(b);

	if (len_a > SLUG_MAX || len_b > SLUG_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= len_b; k++)
		row[k] = k;
	for (size_t i = 1; i <= len_a; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t k = 1; k <= len_b; k++) {
			size_t change = diagonal + (a[i - 1] != b[k - 1]);
			size_t best = row[k] < row[k - 1] ? row[k] + 1 : row[k - 1] + 1;

			diagonal = row[k];
			row[k] = change < best ? change : best;
		}
	}
	return row[len_b];
}

const char *bh_catalogue_nearest_slug(const char *slug)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	for (size_t i = 0; i < bh_catalogue_count(); i++) {
		const char *known = catalogue_models[i].slug;
		size_t distance = edit_distance(slug, known);

		if (distance < best_distance && distance < (strlen(known) + 1) / 2) {
			best = known;
			best_distance = distance;
		}
	}
	return best;
}

const struct bh_gi_profile *bh_model_profile(const struct bh_model *model, const char *name)
{
	for (size_t i = 0; i < model->n_gi_profiles; i++) {
		if (strcmp(model->gi_profiles[i].name, name) == 0)
			return &model->gi_profiles[i];
	}
	return NULL;
}

void bh_model_describe(const struct bh_model *model, struct bh_gpu *gpu)
{
	(void) snprintf(gpu->name, sizeof(gpu->name), "%s",
			model->n_nvml_names ? model->nvml_names[0] : model->title);
	(void) snprintf(gpu->model, sizeof(gpu->model), "%s", model->slug);
	gpu->pci_device_id = model->n_pci_device_ids ? model->pci_device_ids[0] : BH_UNKNOWN;
	gpu->memory_mib = model->memory_total_mib;
	gpu->placement_units = model->placement_units == BH_UNKNOWN ? 0 : model->placement_units;
	gpu->mig_capable = true;
	memset(gpu->profiles, 0, sizeof(gpu->profiles));
	memcpy(gpu->profiles, model->gi_profiles, model->n_gi_profiles * sizeof(gpu->profiles[0]));
	gpu->n_profiles = model->n_gi_profiles;
}

const struct bh_gi_profile *bh_profile_nearest(
		const struct bh_gi_profile *profiles, size_t n_profiles, const char *name)
{
	const struct bh_gi_profile *best = NULL;
	struct bh_profile_name wanted, offered;
	uint32_t best_gap = 0;
	bool best_same = false;

	if (bh_profile_name_parse(name, &wanted, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < n_profiles; i++) {
		uint32_t gap;
		bool same;

		if (bh_profile_name_parse(profiles[i].name, &offered, NULL) < 0 ||
				offered.slices != wanted.slices)
			continue;
		same = offered.attributes == wanted.attributes;
		gap = offered.memory_gb > wanted.memory_gb ? offered.memory_gb - wanted.memory_gb
							   : wanted.memory_gb - offered.memory_gb;
		if (!best || (same && !best_same) || (same == best_same && gap < best_gap)) {
			best = &profiles[i];
			best_gap = gap;
			best_same = same;
		}
	}
	return best;
}
