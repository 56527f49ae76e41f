/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/online.h"

#include <assert.h>
#include <string.h>

#include "plan/online_impl.h"

static const struct {
	const char *name, *summary;
} policies[] = {
#define X(symbol, name, summary) [symbol] = {name, summary},
		BH_ONLINE_POLICIES(X)
#undef X
};

const char *bh_online_policy_name(enum bh_online_policy policy)
{
	return policies[policy].name;
}

const char *bh_online_policy_summary(enum bh_online_policy policy)
{
	return policies[policy].summary;
}

bool bh_online_policy_from_name(const char *name, enum bh_online_policy *ret_policy)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(policies); i++) {
		if (strcmp(policies[i].name, name) != 0)
			continue;
		*ret_policy = (enum bh_online_policy) i;
		return true;
	}
	return false;
}

static uint64_t bit(uint32_t n)
{
	return UINT64_C(1) << n % 64;
}

static void set_add(struct bh_online *online, uint32_t mask, uint32_t gpu)
{
	uint64_t *low = online->words + (size_t) mask * online->n_words;
	uint64_t *middle = low + online->n_low, *high = middle + online->n_middle;

	low[gpu / 64] |= bit(gpu);
	middle[gpu / 4096] |= bit(gpu / 64);
	*high |= bit(gpu / 4096);
	if (!(online->present.words[mask / 64] & bit(mask)) || gpu < online->lowest[mask])
		online->lowest[mask] = gpu;
	bh_mask_set_add(&online->present, mask);
}

static void set_remove(struct bh_online *online, uint32_t mask, uint32_t gpu)
{
	uint64_t *low = online->words + (size_t) mask * online->n_words;
	uint64_t *middle = low + online->n_low, *high = middle + online->n_middle;
	uint32_t first;

	low[gpu / 64] &= ~bit(gpu);
	if (!low[gpu / 64])
		middle[gpu / 4096] &= ~bit(gpu / 64);
	if (!middle[gpu / 4096])
		*high &= ~bit(gpu / 4096);
	if (!*high) {
		online->present.words[mask / 64] &= ~bit(mask);
		return;
	}
	if (online->lowest[mask] != gpu)
		return;
	first = (uint32_t) __builtin_ctzll(*high);
	first = first * 64 + (uint32_t) __builtin_ctzll(middle[first]);
	online->lowest[mask] = first * 64 + (uint32_t) __builtin_ctzll(low[first]);
}

void bh_online_free(struct bh_online *online)
{
	if (!online)
		return;
	for (uint32_t s = 0; s < BH_SHAPES_MAX; s++)
		bh_online_kinds_free(&online->kinds[s]);
	free(online->masks);
	free(online->words);
	free(online);
}

int bh_online_new(const struct bh_geometry *geo, uint32_t n_gpus, struct bh_online **ret_online,
		struct bh_error *err)
{
	bh_auto_online struct bh_online *online = NULL;

	if (geo->units == 0 || geo->units > BH_TABLE_UNITS_MAX)
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"a board of %u units cannot be placed on by masks (1 to %u)",
				geo->units, BH_TABLE_UNITS_MAX);
	if (n_gpus == 0 || n_gpus > BH_ONLINE_GPUS_MAX)
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"a fleet of %u GPUs cannot be kept (1 to %u)", n_gpus,
				BH_ONLINE_GPUS_MAX);
	online = calloc(1, sizeof(*online));
	if (!online)
		return bh_fail_memory(err);
	online->geo = *geo;
	online->n_gpus = n_gpus;
	online->patience = n_gpus > 20 ? 0.05 * n_gpus : 1;
	online->n_low = (n_gpus + 63) / 64;
	online->n_middle = (online->n_low + 63) / 64;
	online->n_words = online->n_low + online->n_middle + 1;
	online->masks = calloc(n_gpus, sizeof(*online->masks));
	online->words = calloc((size_t) online->n_words << geo->units, sizeof(*online->words));
	if (!online->masks || !online->words)
		return bh_fail_memory(err);
	for (uint32_t s = 0; s < geo->n_shapes; s++) {
		if (bh_online_kinds_init(&online->geo, s, &online->kinds[s], err) < 0)
			return -1;
		online->totals[s] = (uint64_t) n_gpus * geo->most[0][s];
	}
	for (uint32_t mask = 0; mask < 1U << geo->units; mask++) {
		bh_mask_set_add(&online->with_free[geo->units -
						   (uint32_t) __builtin_popcount(mask)],
				mask);
		for (uint32_t s = 0; s < geo->n_shapes; s++) {
			if (geo->most[mask][s])
				bh_mask_set_add(&online->fits[s], mask);
		}
	}
	for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
		set_add(online, 0, gpu);
	*ret_online = BH_TAKE(online);
	return 0;
}

void bh_online_set_mask(struct bh_online *online, uint32_t gpu, uint64_t mask)
{
	uint32_t before, after = (uint32_t) mask & ((1U << online->geo.units) - 1);

	assert(gpu < online->n_gpus);
	before = online->masks[gpu];
	if (before == after)
		return;
	for (uint32_t s = 0; s < online->geo.n_shapes; s++)
		online->totals[s] += (uint64_t) online->geo.most[after][s] -
				     (uint64_t) online->geo.most[before][s];
	set_remove(online, before, gpu);
	set_add(online, after, gpu);
	online->masks[gpu] = (uint8_t) after;
}

uint64_t bh_online_mask(const struct bh_online *online, uint32_t gpu)
{
	return online->masks[gpu];
}

uint64_t bh_online_total(const struct bh_online *online, uint32_t shape)
{
	return online->totals[shape];
}

double bh_online_mix(const struct bh_online *online, uint32_t shape)
{
	return bh_online_weight(online, shape) / (online->all_counts + 1);
}

void bh_online_note(struct bh_online *online, uint32_t shape)
{
	/* exp(-1 / 1024) to within 10^-10 */
	const double rate = 1.0 / BH_ONLINE_MIX_MEMORY, decay = 1 - rate + rate * rate / 2;

	/* never so small that arithmetic gets slow; beside the prior it is nothing long before */
	for (uint32_t s = 0; s < online->geo.n_shapes; s++)
		online->counts[s] = online->counts[s] < 1e-30 ? 0 : online->counts[s] * decay;
	online->counts[shape]++;
	online->all_counts = online->all_counts * decay + 1;
}

void bh_online_take(struct bh_online *online, const struct bh_online_at *at)
{
	uint64_t units = online->geo.shapes[at->shape].masks[at->place];

	assert(!(online->masks[at->gpu] & units));
	bh_online_set_mask(online, at->gpu, online->masks[at->gpu] | units);
}

bool bh_online_place(struct bh_online *online, uint32_t shape, enum bh_online_policy policy,
		struct bh_online_at *ret_at)
{
	bh_online_note(online, shape);
	if (!bh_online_choose(online, shape, policy, ret_at))
		return false;
	bh_online_take(online, ret_at);
	return true;
}

void bh_online_release(struct bh_online *online, const struct bh_online_at *at)
{
	uint64_t units = online->geo.shapes[at->shape].masks[at->place];

	assert((online->masks[at->gpu] & units) == units);
	bh_online_set_mask(online, at->gpu, online->masks[at->gpu] & ~units);
}
