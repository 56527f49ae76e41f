/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/inventory.h"

#include <string.h>

const struct bh_gi_profile *bh_gpu_find_profile(const struct bh_gpu *gpu, uint32_t profile_id)
{
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if (gpu->profiles[i].id == profile_id)
			return &gpu->profiles[i];
	}
	return NULL;
}

bool bh_gpu_profile_named(const struct bh_gpu *gpu, const char *name, size_t *ret_profile)
{
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if (strcmp(gpu->profiles[i].name, name) == 0) {
			*ret_profile = i;
			return true;
		}
	}
	return false;
}

static bool is_same_profile(const struct bh_gi_profile *a, const struct bh_gi_profile *b)
{
	bool same = strcmp(a->name, b->name) == 0 && a->id == b->id &&
		    a->nvml_enum == b->nvml_enum && a->max_instances == b->max_instances &&
		    a->slice_count == b->slice_count && a->memory_mib == b->memory_mib &&
		    a->sm == b->sm && a->n_placements == b->n_placements;

	for (size_t i = 0; same && i < a->n_placements; i++)
		same = a->placements[i].start == b->placements[i].start &&
		       a->placements[i].size == b->placements[i].size;
	return same;
}

bool bh_gpu_offers_same(const struct bh_gpu *a, const struct bh_gpu *b)
{
	bool same = a->n_profiles == b->n_profiles;

	for (size_t i = 0; a != b && same && i < a->n_profiles; i++)
		same = is_same_profile(&a->profiles[i], &b->profiles[i]);
	return same;
}

const struct bh_gpu *bh_inventory_find_gpu(const struct bh_inventory *inventory, const char *uuid)
{
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		if (strcmp(inventory->gpus[i].uuid, uuid) == 0)
			return &inventory->gpus[i];
	}
	return NULL;
}
