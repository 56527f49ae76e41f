/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules. Each narrows down the masks that some GPU has and that leave room; then the lowest GPU
 * with one of those masks is taken, and on it the lowest start that the rule allows.
 */
#include <math.h>

#include "plan/online_impl.h"

/* Calls the statement for each mask in a set, rising. */
#define FOR_EACH_MASK(mask, set)                                                                   \
	for (uint32_t w_ = 0; w_ < BH_MASK_WORDS; w_++)                                            \
		for (uint64_t bits_ = (set)->words[w_];                                            \
				bits_ &&                                                           \
				(mask = w_ * 64 + (uint32_t) __builtin_ctzll(bits_), true);        \
				bits_ &= bits_ - 1)

static struct bh_mask_set both(const struct bh_mask_set *a, const struct bh_mask_set *b)
{
	struct bh_mask_set set;

	for (uint32_t w = 0; w < BH_MASK_WORDS; w++)
		set.words[w] = a->words[w] & b->words[w];
	return set;
}

static bool is_empty(const struct bh_mask_set *set)
{
	uint64_t any = 0;

	for (uint32_t w = 0; w < BH_MASK_WORDS; w++)
		any |= set->words[w];
	return any == 0;
}

/* The lowest start on a GPU. */
static bool place_on(const struct bh_online *online, uint32_t shape, uint32_t gpu,
		struct bh_online_at *ret_at)
{
	const struct bh_shape *s = &online->geo.shapes[shape];

	for (uint32_t place = 0; place < s->n_places; place++) {
		if (online->masks[gpu] & s->masks[place])
			continue;
		*ret_at = (struct bh_online_at){gpu, shape, place};
		return true;
	}
	return false;
}

/* The lowest GPU with one of these masks; all of them are present. */
static uint32_t lowest_gpu(const struct bh_online *online, const struct bh_mask_set *set)
{
	uint32_t best = UINT32_MAX, mask;

	FOR_EACH_MASK(mask, set)
	{
		if (online->lowest[mask] < best)
			best = online->lowest[mask];
	}
	return best;
}

/* By number of free units: the first number of those from @from on by @step that has a GPU. */
static bool by_free(const struct bh_online *online, uint32_t shape, bool most_free, bool by_mask,
		struct bh_online_at *ret_at)
{
	struct bh_mask_set open = both(&online->present, &online->fits[shape]);
	uint32_t units = online->geo.units, mask;

	for (uint32_t i = 0; i <= units; i++) {
		struct bh_mask_set set = both(&open, &online->with_free[most_free ? units - i : i]);

		if (is_empty(&set))
			continue;
		if (!by_mask)
			return place_on(online, shape, lowest_gpu(online, &set), ret_at);
		FOR_EACH_MASK(mask, &set)
		return place_on(online, shape, online->lowest[mask], ret_at);
	}
	return false;
}

static bool first_fit(const struct bh_online *online, uint32_t shape, struct bh_online_at *ret_at)
{
	struct bh_mask_set open = both(&online->present, &online->fits[shape]);

	return !is_empty(&open) && place_on(online, shape, lowest_gpu(online, &open), ret_at);
}

/* Nodes with the most free units first, as long as the shape fits there at all. */
static bool instaslice(const struct bh_online *online, uint32_t shape, struct bh_online_at *ret_at)
{
	uint32_t best_free = 0, best_gpu = 0;

	for (uint32_t first = 0; first < online->n_gpus; first += BH_ONLINE_NODE_GPUS) {
		uint32_t free = 0, gpu = UINT32_MAX;

		for (uint32_t g = first; g < online->n_gpus && g < first + BH_ONLINE_NODE_GPUS;
				g++) {
			free += online->geo.units - (uint32_t) __builtin_popcount(online->masks[g]);
			if (gpu == UINT32_MAX && online->geo.most[online->masks[g]][shape])
				gpu = g;
		}
		if (gpu != UINT32_MAX && free > best_free) {
			best_free = free;
			best_gpu = gpu;
		}
	}
	return best_free > 0 && place_on(online, shape, best_gpu, ret_at);
}

/* What the rules that weigh know of a kind of places: the lower, the better, `first` before all. */
struct price {
	double first, second;
};

static double weigh(const struct bh_online *online, const double *weights, const int8_t *amounts)
{
	double sum = 0;

	for (uint32_t s = 0; s < online->geo.n_shapes; s++)
		sum += weights[s] * amounts[s];
	return sum;
}

static int compare(const struct price *a, const struct price *b)
{
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->second < b->second ? -1 : a->second > b->second;
}

static bool stands_before(const struct bh_online_at *a, const struct bh_online_at *b)
{
	return a->gpu != b->gpu ? a->gpu < b->gpu : a->place < b->place;
}

/* The lowest GPU that has a place of that kind, and its lowest start of that kind. */
static struct bh_online_at first_of_kind(const struct bh_online *online, uint32_t shape,
		uint32_t kind, const struct bh_mask_set *set)
{
	struct bh_online_at at = {.gpu = lowest_gpu(online, set), .shape = shape};
	uint32_t mask = online->masks[at.gpu];

	while (online->geo.shapes[shape].masks[at.place] & mask ||
			online->kinds[shape].of[at.place * BH_ONLINE_MASKS + mask] != kind)
		at.place++;
	return at;
}

/* @scarcity: may be NULL, then what is wasted decides alone. Of equal prices the lowest place. */
static bool by_price(const struct bh_online *online, uint32_t shape, const double *scarcity,
		const double *mix, struct bh_online_at *ret_at)
{
	const struct bh_online_kinds *kinds = &online->kinds[shape];
	struct price best = {INFINITY, INFINITY}, price = {0};
	bool found = false, known = false; /* whether price.first is this kind's */

	for (uint32_t k = 0; k < kinds->n; k++) {
		const struct bh_online_kind *kind = &kinds->items[k];
		struct bh_mask_set set = both(&online->present, &kind->masks);
		struct bh_online_at at;
		int order;

		known = known && kind->as_before;
		if (is_empty(&set))
			continue;
		if (scarcity && !known)
			price.first = weigh(online, scarcity, kind->taken);
		known = true;
		if (price.first > best.first)
			continue;
		price.second = weigh(online, mix, kind->wasted);
		order = compare(&price, &best);
		if (order > 0)
			continue;
		at = first_of_kind(online, shape, k, &set);
		if (order < 0 || stands_before(&at, ret_at))
			*ret_at = at;
		best = price;
		found = true;
	}
	return found;
}

static bool weighing(const struct bh_online *online, uint32_t shape, bool by_scarcity,
		struct bh_online_at *ret_at)
{
	double mix[BH_SHAPES_MAX], scarcity[BH_SHAPES_MAX];

	for (uint32_t s = 0; s < online->geo.n_shapes; s++) {
		mix[s] = bh_online_weight(online, s);
		if (by_scarcity)
			scarcity[s] = mix[s] * online->geo.shapes[s].size *
				      exp(-(double) online->totals[s] / online->patience);
	}
	return by_price(online, shape, by_scarcity ? scarcity : NULL, mix, ret_at);
}

bool bh_online_choose(const struct bh_online *online, uint32_t shape, enum bh_online_policy policy,
		struct bh_online_at *ret_at)
{
	switch (policy) {
	case BH_ONLINE_PACK:
		return by_free(online, shape, /* most_free= */ false, /* by_mask= */ true, ret_at);
	case BH_ONLINE_SPREAD:
		return by_free(online, shape, /* most_free= */ true, /* by_mask= */ true, ret_at);
	case BH_ONLINE_FIRST_FIT:
		return first_fit(online, shape, ret_at);
	case BH_ONLINE_BEST_FIT:
		return by_free(online, shape, /* most_free= */ false, /* by_mask= */ false, ret_at);
	case BH_ONLINE_WORST_FIT:
		return by_free(online, shape, /* most_free= */ true, /* by_mask= */ false, ret_at);
	case BH_ONLINE_INSTASLICE:
		return instaslice(online, shape, ret_at);
	case BH_ONLINE_FGD:
		return weighing(online, shape, /* by_scarcity= */ false, ret_at);
	case BH_ONLINE_SCARCITY:
	case BH_ONLINE_POLICY_COUNT:
		break;
	}
	return weighing(online, shape, /* by_scarcity= */ true, ret_at);
}
