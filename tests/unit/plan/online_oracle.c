/* SPDX-License-Identifier: Apache-2.0 */
#include "online_oracle.h"

#include <math.h>
#include <string.h>

void online_oracle_note(struct online_oracle *oracle, uint32_t shape)
{
	double rate = 1.0 / 1024;

	for (uint32_t s = 0; s < oracle->geo->n_shapes; s++) {
		oracle->counts[s] *= 1 - rate + rate * rate / 2;
		oracle->counts[s] += s == shape;
	}
}

static uint32_t most_on(const struct bh_geometry *geo, uint64_t mask, uint32_t shape)
{
	const struct bh_shape *s = &geo->shapes[shape];
	uint32_t n = 0;

	for (uint32_t place = 0; place < s->n_places; place++) {
		if (mask & s->masks[place])
			continue;
		mask |= s->masks[place];
		n++;
	}
	return n;
}

uint64_t online_oracle_total(const struct online_oracle *oracle, uint32_t shape)
{
	uint64_t n = 0;

	for (uint32_t gpu = 0; gpu < oracle->n_gpus; gpu++)
		n += most_on(oracle->geo, oracle->masks[gpu], shape);
	return n;
}

static uint32_t free_units(const struct online_oracle *oracle, uint64_t mask)
{
	uint32_t n = 0;

	for (uint32_t unit = 0; unit < oracle->geo->units; unit++)
		n += !(mask >> unit & 1);
	return n;
}

/* What tasks drawn from the mix cannot use on a GPU, in all. */
static double fragmentation(const struct online_oracle *oracle, uint32_t shape, uint64_t mask)
{
	return most_on(oracle->geo, mask, shape) > 0 ? 0 : free_units(oracle, mask);
}

static double fgd_growth(const struct online_oracle *oracle, uint64_t before, uint64_t after)
{
	uint32_t n = oracle->geo->n_shapes;
	double growth = 0;

	for (uint32_t s = 0; s < n; s++)
		growth += (oracle->counts[s] + 1.0 / n) *
			  (fragmentation(oracle, s, after) - fragmentation(oracle, s, before));
	return growth;
}

static double scarcity_price(const struct online_oracle *oracle, uint64_t before, uint64_t after)
{
	const struct bh_geometry *geo = oracle->geo;
	double k = 0.05 * oracle->n_gpus < 1 ? 1 : 0.05 * oracle->n_gpus;
	double price = 0;

	for (uint32_t s = 0; s < geo->n_shapes; s++) {
		double total = (double) online_oracle_total(oracle, s);

		price += (oracle->counts[s] + 1.0 / geo->n_shapes) * geo->shapes[s].size *
			 exp(-total / k) *
			 (most_on(geo, before, s) - (double) most_on(geo, after, s));
	}
	return price;
}

/* Free units of the GPU's node of eight. */
static double node_free(const struct online_oracle *oracle, uint32_t gpu)
{
	double n = 0;

	for (uint32_t g = 0; g < oracle->n_gpus; g++)
		n += g / 8 == gpu / 8 ? free_units(oracle, oracle->masks[g]) : 0;
	return n;
}

/* What is compared before the GPU's number and the start; the least wins. */
static void keys_of(const struct online_oracle *oracle, enum bh_online_policy policy, uint32_t gpu,
		uint64_t units, double keys[2])
{
	uint64_t mask = oracle->masks[gpu];
	double free = free_units(oracle, mask);

	keys[0] = keys[1] = 0;
	switch (policy) {
	case BH_ONLINE_SCARCITY:
		keys[0] = scarcity_price(oracle, mask, mask | units);
		keys[1] = fgd_growth(oracle, mask, mask | units);
		return;
	case BH_ONLINE_PACK:
		keys[0] = free;
		keys[1] = (double) mask;
		return;
	case BH_ONLINE_SPREAD:
		keys[0] = -free;
		keys[1] = (double) mask;
		return;
	case BH_ONLINE_BEST_FIT:
		keys[0] = free;
		return;
	case BH_ONLINE_WORST_FIT:
		keys[0] = -free;
		return;
	case BH_ONLINE_INSTASLICE:
		keys[0] = -node_free(oracle, gpu);
		return;
	case BH_ONLINE_FGD:
		keys[0] = fgd_growth(oracle, mask, mask | units);
		return;
	case BH_ONLINE_FIRST_FIT:
	case BH_ONLINE_POLICY_COUNT:
		return;
	}
}

bool online_oracle_choose(const struct online_oracle *oracle, uint32_t shape,
		enum bh_online_policy policy, struct bh_online_at *ret_at)
{
	const struct bh_shape *s = &oracle->geo->shapes[shape];
	double best[2] = {INFINITY, INFINITY}, keys[2];
	bool found = false;

	for (uint32_t gpu = 0; gpu < oracle->n_gpus; gpu++) {
		for (uint32_t place = 0; place < s->n_places; place++) {
			if (oracle->masks[gpu] & s->masks[place])
				continue;
			keys_of(oracle, policy, gpu, s->masks[place], keys);
			if (keys[0] > best[0] || (keys[0] == best[0] && keys[1] >= best[1]))
				continue;
			memcpy(best, keys, sizeof(best));
			*ret_at = (struct bh_online_at){gpu, shape, place};
			found = true;
		}
	}
	return found;
}
