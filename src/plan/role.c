/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/role.h"

enum bh_gi_role bh_gi_role(const struct bh_gi *gi)
{
	bool stays = gi->busy;

	if (gi->foreign)
		return BH_GI_ALIEN;
	for (size_t c = 0; c < gi->n_cis; c++)
		stays = stays || gi->cis[c].busy || gi->cis[c].foreign;
	return stays ? BH_GI_PINNED : BH_GI_IDLE;
}

bool bh_gi_can_move(const struct bh_gpu *gpu, const struct bh_gi *gi)
{
	return gpu->holders_known && bh_gi_role(gi) == BH_GI_IDLE;
}

bool bh_gpu_is_held(const struct bh_gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_holders; i++) {
		if (gpu->holders[i].gi == BH_UNKNOWN)
			return true;
	}
	return false;
}

bool bh_gi_set_free(struct bh_gi *gi, bool of_strangers)
{
	bool *flag = of_strangers ? &gi->foreign : &gi->busy;
	bool changed = *flag;

	*flag = false;
	for (size_t c = 0; c < gi->n_cis; c++) {
		flag = of_strangers ? &gi->cis[c].foreign : &gi->cis[c].busy;
		changed = changed || *flag;
		*flag = false;
	}
	return changed;
}
