/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/layouts.h"

#include <stdlib.h>
#include <string.h>

struct walk {
	const struct bh_geometry *geo;
	struct bh_layouts *layouts;
	uint32_t n_cells;
	uint8_t shape[64], place[64]; /* of each cell */
	struct bh_layout now;
};

static bool can_grow(const struct bh_geometry *geo, uint64_t mask)
{
	for (uint32_t s = 0; s < geo->n_shapes; s++) {
		if (bh_geometry_most(geo, mask, s))
			return true;
	}
	return false;
}

/* Adds the layout as it is, then all that come of adding a cell from @from on. */
static bool grow(struct walk *walk, uint32_t from)
{
	struct bh_layouts *all = walk->layouts;

	if (all->n == BH_LAYOUTS_MAX)
		return false;
	all->items[all->n] = walk->now;
	all->items[all->n].maximal = !can_grow(walk->geo, walk->now.mask);
	all->n_maximal += all->items[all->n++].maximal;
	for (uint32_t c = from; c < walk->n_cells; c++) {
		uint64_t mask = walk->geo->shapes[walk->shape[c]].masks[walk->place[c]];
		struct bh_layout before = walk->now;
		bool ok;

		if (walk->now.mask & mask)
			continue;
		walk->now.mask |= mask;
		walk->now.cells |= UINT64_C(1) << c;
		walk->now.counts[walk->shape[c]]++;
		ok = grow(walk, c + 1);
		walk->now = before;
		if (!ok)
			return false;
	}
	return true;
}

/* How many kinds there are of the part of a layout at that offset. */
static size_t count_kinds(const struct bh_layouts *all, size_t offset, size_t size)
{
	size_t kinds = 0;

	for (size_t i = 0; i < all->n; i++) {
		const char *part = (const char *) &all->items[i] + offset;
		size_t j = 0;

		while (j < i && memcmp((const char *) &all->items[j] + offset, part, size) != 0)
			j++;
		kinds += j == i;
	}
	return kinds;
}

int bh_layouts_init(
		const struct bh_geometry *geo, struct bh_layouts *ret_layouts, struct bh_error *err)
{
	struct bh_layouts all = {.items = calloc(BH_LAYOUTS_MAX, sizeof(*all.items))};
	struct walk walk = {.geo = geo, .layouts = &all};
	struct bh_layout *fitting;

	if (!all.items)
		return bh_fail_memory(err);
	for (uint32_t s = 0; s < geo->n_shapes; s++) {
		for (uint32_t p = 0; p < geo->shapes[s].n_places && walk.n_cells < 64; p++) {
			walk.shape[walk.n_cells] = (uint8_t) s;
			walk.place[walk.n_cells++] = (uint8_t) p;
		}
	}
	if (walk.n_cells == 64 || !grow(&walk, 0)) {
		free(all.items);
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"the board has more legal layouts than can be listed");
	}
	fitting = realloc(all.items, all.n * sizeof(*all.items));
	if (fitting)
		all.items = fitting;
	all.n_mixes = count_kinds(
			&all, offsetof(struct bh_layout, counts), sizeof(all.items->counts));
	all.n_masks = count_kinds(&all, offsetof(struct bh_layout, mask), sizeof(all.items->mask));
	*ret_layouts = all;
	return 0;
}

void bh_layouts_free(struct bh_layouts *layouts)
{
	free(layouts->items);
	*layouts = (struct bh_layouts){0};
}
