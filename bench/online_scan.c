/* SPDX-License-Identifier: Apache-2.0 */
#include "online_scan.h"

#include <math.h>

struct price {
	double first, second;
};

void online_scan_note(struct online_scan *scan, uint32_t shape)
{
	const double rate = 1.0 / BH_ONLINE_MIX_MEMORY;

	for (uint32_t s = 0; s < scan->geo->n_shapes; s++)
		scan->counts[s] *= 1 - rate + rate * rate / 2;
	scan->counts[shape]++;
}

void online_scan_set_mask(struct online_scan *scan, uint32_t gpu, uint32_t mask)
{
	for (uint32_t s = 0; s < scan->geo->n_shapes; s++)
		scan->totals[s] += (uint64_t) scan->geo->most[mask][s] -
				   (uint64_t) scan->geo->most[scan->masks[gpu]][s];
	scan->masks[gpu] = (uint8_t) mask;
}

static int units_free(const struct bh_geometry *geo, uint32_t mask)
{
	return (int) geo->units - __builtin_popcount(mask);
}

static double growth(
		const struct online_scan *scan, const double *mix, uint32_t before, uint32_t after)
{
	const struct bh_geometry *geo = scan->geo;
	double sum = 0;

	for (uint32_t s = 0; s < geo->n_shapes; s++)
		sum += mix[s] *
		       ((geo->most[after][s] ? 0 : units_free(geo, after)) -
				       (geo->most[before][s] ? 0 : units_free(geo, before)));
	return sum;
}

static double loss(const struct online_scan *scan, const double *scarcity, uint32_t before,
		uint32_t after)
{
	const struct bh_geometry *geo = scan->geo;
	double sum = 0;

	for (uint32_t s = 0; s < geo->n_shapes; s++)
		sum += scarcity[s] * (geo->most[before][s] - geo->most[after][s]);
	return sum;
}

bool online_scan_choose(const struct online_scan *scan, uint32_t shape,
		enum bh_online_policy policy, struct bh_online_at *ret_at)
{
	const struct bh_geometry *geo = scan->geo;
	const struct bh_shape *sh = &geo->shapes[shape];
	double k = scan->n_gpus > 20 ? 0.05 * scan->n_gpus : 1;
	double mix[BH_SHAPES_MAX], scarcity[BH_SHAPES_MAX];
	struct price best = {INFINITY, INFINITY};
	bool found = false;

	for (uint32_t s = 0; s < geo->n_shapes; s++) {
		mix[s] = scan->counts[s] + 1.0 / geo->n_shapes;
		scarcity[s] = mix[s] * geo->shapes[s].size *
			      (policy == BH_ONLINE_SCARCITY ? exp(-(double) scan->totals[s] / k)
							    : 1);
	}
	for (uint32_t gpu = 0; gpu < scan->n_gpus; gpu++) {
		uint32_t mask = scan->masks[gpu];

		if (!geo->most[mask][shape])
			continue;
		for (uint32_t place = 0; place < sh->n_places; place++) {
			uint32_t after = mask | (uint32_t) sh->masks[place];
			struct price price = {0, mask};

			if (mask & sh->masks[place])
				continue;
			if (policy == BH_ONLINE_PACK)
				price.first = units_free(geo, mask);
			else if (policy == BH_ONLINE_SCARCITY)
				price.first = loss(scan, scarcity, mask, after);
			if (price.first > best.first)
				continue;
			if (policy != BH_ONLINE_PACK)
				price.second = growth(scan, mix, mask, after);
			if (price.first == best.first && price.second >= best.second)
				continue;
			best = price;
			*ret_at = (struct bh_online_at){gpu, shape, place};
			found = true;
		}
	}
	return found;
}
