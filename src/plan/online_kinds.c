/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/online_kinds.h"

#include <stdlib.h>
#include <string.h>

static int8_t wasted_on(const struct bh_geometry *geo, uint32_t mask, uint32_t shape)
{
	return geo->most[mask][shape] ? 0 : (int8_t) (geo->units - __builtin_popcount(mask));
}

static void describe(const struct bh_geometry *geo, uint32_t before, uint32_t after,
		struct bh_online_kind *ret_kind)
{
	*ret_kind = (struct bh_online_kind){0};
	for (uint32_t s = 0; s < geo->n_shapes; s++) {
		ret_kind->taken[s] = (int8_t) (geo->most[before][s] - geo->most[after][s]);
		ret_kind->wasted[s] =
				(int8_t) (wasted_on(geo, after, s) - wasted_on(geo, before, s));
	}
}

static int compare(const void *a, const void *b)
{
	const struct bh_online_kind *left = a, *right = b;
	int order = memcmp(left->taken, right->taken, sizeof(left->taken));

	return order ? order : memcmp(left->wasted, right->wasted, sizeof(left->wasted));
}

/* Describes what placing the shape there means; false when that is not free. */
static bool describe_at(const struct bh_geometry *geo, uint32_t shape, uint32_t place,
		uint32_t mask, struct bh_online_kind *ret_kind)
{
	uint32_t units = (uint32_t) geo->shapes[shape].masks[place];

	if (mask & units || mask >> geo->units)
		return false;
	describe(geo, mask, mask | units, ret_kind);
	return true;
}

/* Gives back what is beyond the first @n of an array; one that stays large is no harm. */
static struct bh_online_kind *shrunk(struct bh_online_kind *items, size_t n)
{
	struct bh_online_kind *smaller = realloc(items, n * sizeof(*items));

	return smaller ? smaller : items;
}

int bh_online_kinds_init(const struct bh_geometry *geo, uint32_t shape,
		struct bh_online_kinds *ret_kinds, struct bh_error *err)
{
	size_t n_cells = (size_t) geo->shapes[shape].n_places * BH_ONLINE_MASKS, n = 0;
	struct bh_online_kinds kinds = {.of = calloc(n_cells, sizeof(*kinds.of)),
			.items = calloc(n_cells, sizeof(*kinds.items))};

	if (!kinds.of || !kinds.items) {
		bh_online_kinds_free(&kinds);
		return bh_fail_memory(err);
	}
	for (uint32_t cell = 0; cell < n_cells; cell++)
		n += describe_at(geo, shape, cell / BH_ONLINE_MASKS, cell % BH_ONLINE_MASKS,
				&kinds.items[n]);
	qsort(kinds.items, n, sizeof(*kinds.items), compare);
	for (size_t i = 0; i < n; i++) {
		struct bh_online_kind *next = &kinds.items[i];
		struct bh_online_kind *last = kinds.n > 0 ? &kinds.items[kinds.n - 1] : NULL;

		if (last && compare(next, last) == 0)
			continue;
		next->as_before =
				last && memcmp(next->taken, last->taken, sizeof(next->taken)) == 0;
		kinds.items[kinds.n++] = *next;
	}
	kinds.items = shrunk(kinds.items, kinds.n);
	for (uint32_t cell = 0; cell < n_cells; cell++) {
		struct bh_online_kind kind, *found;

		if (!describe_at(geo, shape, cell / BH_ONLINE_MASKS, cell % BH_ONLINE_MASKS, &kind))
			continue;
		found = bsearch(&kind, kinds.items, kinds.n, sizeof(kind), compare);
		bh_mask_set_add(&found->masks, cell % BH_ONLINE_MASKS);
		kinds.of[cell] = (uint16_t) (found - kinds.items);
	}
	*ret_kinds = kinds;
	return 0;
}

void bh_online_kinds_free(struct bh_online_kinds *kinds)
{
	free(kinds->items);
	free(kinds->of);
	*kinds = (struct bh_online_kinds){0};
}
