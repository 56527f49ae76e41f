/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fit_need.h"

#include <string.h>

static bool has_less(const struct bh_gi_profile *a, const struct bh_gi_profile *b)
{
	return a->memory_mib != b->memory_mib ? a->memory_mib < b->memory_mib : a->sm < b->sm;
}

/* Each name once. */
static size_t list_candidates(const struct bh_occupancy *rooms, size_t n_rooms,
		const struct bh_need *need, const struct bh_gi_profile **list)
{
	size_t n = 0;

	for (size_t r = 0; r < n_rooms; r++) {
		const struct bh_gpu *gpu = rooms[r].gpu;
		struct bh_need_fit fit;
		size_t k = 0;

		if (!bh_need_fit(gpu->profiles, gpu->n_profiles, need, &fit))
			continue;
		while (k < n && strcmp(list[k]->name, fit.profile->name) != 0)
			k++;
		if (k < n)
			continue;
		for (; k > 0 && has_less(fit.profile, list[k - 1]); k--)
			list[k] = list[k - 1];
		list[k] = fit.profile;
		n++;
	}
	return n;
}

int bh_fit_need(const struct bh_occupancy *rooms, size_t n_rooms, const struct bh_need *need,
		enum bh_online_policy policy, const struct bh_gi_profile **ret_chosen,
		struct bh_fit *ret_fit, struct bh_error *err)
{
	const struct bh_gi_profile *list[BH_NODE_GPUS_MAX];
	size_t n = list_candidates(rooms, n_rooms, need, list);
	struct bh_fit least = {0};

	if (n == 0) {
		const struct bh_gpu *gpu = rooms[0].gpu;
		struct bh_need_fit none;

		(void) bh_need_fit(gpu->profiles, gpu->n_profiles, need, &none);
		return bh_need_refuse(gpu, need, &none, err);
	}
	for (size_t i = 0; i < n; i++) {
		const struct bh_ask ask = {list[i]->name, need->count};
		const struct bh_fit_question question = {.rooms = rooms,
				.n_rooms = n_rooms,
				.asks = &ask,
				.n_asks = 1,
				.policy = policy,
				.only_these = true};
		struct bh_fit fit;

		if (bh_fit_find(&question, &fit, err) < 0) {
			bh_fit_free(&least);
			return -1;
		}
		if (fit.fits) {
			bh_fit_free(&least);
			*ret_chosen = list[i];
			*ret_fit = fit;
			return 0;
		}
		if (i == 0)
			least = fit;
		else
			bh_fit_free(&fit);
	}
	*ret_chosen = list[0];
	*ret_fit = least;
	return 0;
}
