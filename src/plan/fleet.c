/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fleet.h"

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct bh_fleet count_eighths(uint32_t taken)
{
	struct bh_fleet one = {
			.wholes = taken == 0,
			.lefts = !(taken & 0x0f),
			.rights = !(taken & 0xf0),
			.lasts = !(taken & 0xc0),
			/* the last eighth taken alone: of the pair only the smallest can use the rest */
			.singles = (taken & 0xc0) == 0x80,
	};

	for (uint32_t pair = 0; pair < 3; pair++) {
		uint32_t bits = taken >> 2 * pair & 3;

		one.pairs += bits == 0;
		one.singles += bits == 1 || bits == 2;
	}
	return one;
}

static struct bh_fleet count_quarters(uint32_t taken)
{
	struct bh_fleet one = {.wholes = taken == 0};

	for (uint32_t half = 0; half < 2; half++) {
		uint32_t bits = taken >> 2 * half & 3;

		one.pairs += bits == 0;
		one.singles += bits == 1 || bits == 2;
	}
	return one;
}

void bh_fleet_add(struct bh_fleet *fleet, enum bh_geometry_kind kind, uint64_t occupied,
		int64_t count)
{
	struct bh_fleet one = kind == BH_GEOMETRY_EIGHTHS
					      ? count_eighths((uint32_t) occupied & 0xff)
					      : count_quarters((uint32_t) occupied & 0xf);
	uint64_t n = (uint64_t) count; /* modulo 2^64, as the sums are */

	fleet->wholes += n * one.wholes;
	fleet->lefts += n * one.lefts;
	fleet->rights += n * one.rights;
	fleet->pairs += n * one.pairs;
	fleet->lasts += n * one.lasts;
	fleet->singles += n * one.singles;
}

static bool lacks(struct bh_shortage *ret, enum bh_shape_role role, const char *what,
		uint64_t needs, uint64_t has)
{
	if (needs <= has)
		return false;
	if (ret)
		*ret = (struct bh_shortage){.role = role, .what = what, .needs = needs, .has = has};
	return true;
}

static bool eighths_fit(struct bh_fleet f, const uint64_t *n, struct bh_shortage *ret)
{
	uint64_t right, left, last, one;

	if (lacks(ret, BH_ROLE_7, "GPUs with nothing on them", n[BH_ROLE_7], f.wholes))
		return false;
	f.lefts -= n[BH_ROLE_7];
	f.rights -= n[BH_ROLE_7];
	f.lasts -= n[BH_ROLE_7];
	f.pairs -= 3 * n[BH_ROLE_7];

	if (lacks(ret, BH_ROLE_4, "free left halves (units 0-3)", n[BH_ROLE_4], f.lefts))
		return false;
	f.lefts -= n[BH_ROLE_4];
	f.pairs -= 2 * n[BH_ROLE_4];

	right = lesser(n[BH_ROLE_3], f.rights);
	left = n[BH_ROLE_3] - right;
	if (lacks(ret, BH_ROLE_3, "free halves (units 0-3 or 4-7)", n[BH_ROLE_3],
			    f.rights + f.lefts))
		return false;
	f.pairs -= right + 2 * left;
	f.lasts -= right;

	if (lacks(ret, BH_ROLE_2, "free pairs (units 0-1, 2-3 or 4-5)", n[BH_ROLE_2], f.pairs))
		return false;
	f.pairs -= n[BH_ROLE_2];

	last = lesser(n[BH_ROLE_1D], f.lasts);
	if (lacks(ret, BH_ROLE_1D, "free pairs (units 0-1, 2-3, 4-5 or 6-7)", n[BH_ROLE_1D],
			    f.lasts + f.pairs))
		return false;
	f.lasts -= last;
	f.pairs -= n[BH_ROLE_1D] - last;

	one = f.singles + f.lasts + 2 * f.pairs;
	return !lacks(ret, BH_ROLE_1, "free units (0 to 6)", n[BH_ROLE_1], one);
}

static bool quarters_fit(struct bh_fleet f, const uint64_t *n, struct bh_shortage *ret)
{
	if (lacks(ret, BH_ROLE_7, "GPUs with nothing on them", n[BH_ROLE_7], f.wholes))
		return false;
	f.pairs -= 2 * n[BH_ROLE_7];
	if (lacks(ret, BH_ROLE_2, "free halves", n[BH_ROLE_2], f.pairs))
		return false;
	f.pairs -= n[BH_ROLE_2];
	return !lacks(ret, BH_ROLE_1, "free quarters", n[BH_ROLE_1], f.singles + 2 * f.pairs);
}

bool bh_fleet_fits(const struct bh_fleet *fleet, enum bh_geometry_kind kind,
		const struct bh_demand *demand, struct bh_shortage *ret_shortage)
{
	return kind == BH_GEOMETRY_EIGHTHS ? eighths_fit(*fleet, demand->n, ret_shortage)
					   : quarters_fit(*fleet, demand->n, ret_shortage);
}

uint64_t bh_fleet_cards_missing(const struct bh_fleet *fleet, enum bh_geometry_kind kind,
		const struct bh_demand *demand)
{
	uint64_t low = 0, high = 0;

	for (int role = 0; role < BH_ROLES; role++)
		high += demand->n[role]; /* a card for each is enough */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct bh_fleet more = *fleet;

		bh_fleet_add(&more, kind, 0, (int64_t) middle);
		if (bh_fleet_fits(&more, kind, demand, NULL))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint64_t bh_fleet_most(const struct bh_fleet *fleet, enum bh_geometry_kind kind,
		const struct bh_demand *demand, enum bh_shape_role role)
{
	struct bh_demand with = *demand;
	uint64_t low = 0;
	/* no role needs less than one of these */
	uint64_t high = fleet->singles + fleet->lasts + 2 * fleet->pairs;

	while (low < high) {
		uint64_t middle = high - (high - low) / 2;

		with.n[role] = middle;
		if (bh_fleet_fits(fleet, kind, &with, NULL))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
