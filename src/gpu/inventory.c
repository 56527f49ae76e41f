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

const struct bh_gpu *bh_inventory_find_gpu(const struct bh_inventory *inventory, const char *uuid)
{
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		if (strcmp(inventory->gpus[i].uuid, uuid) == 0)
			return &inventory->gpus[i];
	}
	return NULL;
}
