/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/geometry.h"

#include <string.h>

#include "plan/step.h"
#include "plan/want.h"

/* Where the shapes of the two kinds may stand: bit n = start n. */
static const struct {
	uint32_t size, starts;
	enum bh_shape_role role;
} eighths[] =
		{
				{1, 0x7f, BH_ROLE_1},
				{2, 0x55, BH_ROLE_1D},
				{2, 0x15, BH_ROLE_2},
				{4, 0x11, BH_ROLE_3},
				{4, 0x01, BH_ROLE_4},
				{8, 0x01, BH_ROLE_7},
},
  quarters[] = {
		  {1, 0x0f, BH_ROLE_1},
		  {2, 0x05, BH_ROLE_2},
		  {4, 0x01, BH_ROLE_7},
};

static uint32_t divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int unsupported(const struct bh_gpu *gpu, const char *what, struct bh_error *err)
{
	char label[160];

	bh_gpu_label(gpu, label, sizeof(label));
	return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0, "%s: %s", label, what);
}

/* The coarsest unit in which every start and size is whole, and how many of them there are. */
static int measure(const struct bh_gpu *gpu, struct bh_geometry *geo, struct bh_error *err)
{
	uint32_t end = 0, unit = 0;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		const struct bh_gi_profile *p = &gpu->profiles[i];

		for (size_t k = 0; k < p->n_placements; k++) {
			const struct bh_placement *at = &p->placements[k];

			if (at->size == 0 || at->size > BH_UNITS_MAX ||
					at->start > BH_UNITS_MAX - at->size)
				return unsupported(gpu, "a placement lies outside any board", err);
			unit = divisor(divisor(unit, at->start), at->size);
			if (at->start + at->size > end)
				end = at->start + at->size;
		}
	}
	geo->unit = unit ? unit : 1;
	geo->units = end / geo->unit;
	return 0;
}

static bool same_places(const struct bh_shape *a, const struct bh_shape *b)
{
	return a->size == b->size && a->n_places == b->n_places &&
	       memcmp(a->masks, b->masks, a->n_places * sizeof(a->masks[0])) == 0;
}

/* A profile's shape with its places in rising order; false if they are of several sizes. */
static bool shape_of(const struct bh_geometry *geo, const struct bh_gi_profile *profile,
		struct bh_shape *ret_shape)
{
	struct bh_shape shape = {.size = profile->placements[0].size / geo->unit,
			.slices = profile->slice_count};
	struct bh_placement at = {.size = shape.size};
	uint64_t starts = 0;

	for (size_t k = 0; k < profile->n_placements; k++) {
		if (profile->placements[k].size / geo->unit != shape.size)
			return false;
		starts |= UINT64_C(1) << (profile->placements[k].start / geo->unit);
	}
	for (at.start = 0; at.start < geo->units; at.start++) {
		if (!(starts >> at.start & 1))
			continue;
		shape.starts[shape.n_places] = (uint8_t) at.start;
		shape.masks[shape.n_places++] = bh_placement_mask(&at);
	}
	*ret_shape = shape;
	return true;
}

static bool stands_before(const struct bh_shape *a, const struct bh_shape *b)
{
	if (a->size != b->size)
		return a->size > b->size;
	if (a->n_places != b->n_places)
		return a->n_places < b->n_places;
	return memcmp(a->masks, b->masks, a->n_places * sizeof(a->masks[0])) < 0;
}

/* Adds a shape unless it is there; kept in order, whatever order profiles are told in. */
static bool add_shape(struct bh_geometry *geo, const struct bh_shape *shape)
{
	uint32_t i = geo->n_shapes;

	for (uint32_t k = 0; k < geo->n_shapes; k++) {
		if (!same_places(&geo->shapes[k], shape))
			continue;
		if (geo->shapes[k].slices < shape->slices)
			geo->shapes[k].slices = shape->slices;
		return true;
	}
	if (i == BH_SHAPES_MAX)
		return false;
	for (; i > 0 && stands_before(shape, &geo->shapes[i - 1]); i--)
		geo->shapes[i] = geo->shapes[i - 1];
	geo->shapes[i] = *shape;
	geo->n_shapes++;
	return true;
}

static uint64_t starts_of(const struct bh_shape *shape)
{
	uint64_t starts = 0;

	for (uint32_t i = 0; i < shape->n_places; i++)
		starts |= UINT64_C(1) << shape->starts[i];
	return starts;
}

/* Gives every shape its role; false if one has none, and then the kind is another. */
#define TAKE_ROLES(geo, table)                                                                     \
	({                                                                                         \
		bool all_ = true;                                                                  \
		for (uint32_t s_ = 0; s_ < (geo)->n_shapes; s_++) {                                \
			bool found_ = false;                                                       \
			for (size_t r_ = 0; r_ < BH_ARRAY_SIZE(table); r_++) {                     \
				if ((table)[r_].size != (geo)->shapes[s_].size ||                  \
						(table)[r_].starts !=                              \
								starts_of(&(geo)->shapes[s_]))     \
					continue;                                                  \
				found_ = true;                                                     \
				(geo)->shapes[s_].role = (table)[r_].role;                         \
				(geo)->by_role[(table)[r_].role] = (int8_t) s_;                    \
			}                                                                          \
			all_ = all_ && found_;                                                     \
		}                                                                                  \
		all_;                                                                              \
	})

static void find_kind(struct bh_geometry *geo)
{
	memset(geo->by_role, -1, sizeof(geo->by_role));
	if (geo->units == 8 && TAKE_ROLES(geo, eighths)) {
		geo->kind = BH_GEOMETRY_EIGHTHS;
		return;
	}
	memset(geo->by_role, -1, sizeof(geo->by_role));
	if (geo->units == 4 && TAKE_ROLES(geo, quarters)) {
		geo->kind = BH_GEOMETRY_QUARTERS;
		return;
	}
	memset(geo->by_role, -1, sizeof(geo->by_role));
}

/* Of equal widths the earliest that is free is always best. */
static uint8_t most_beside(const struct bh_shape *shape, uint64_t occupied)
{
	uint8_t n = 0;

	for (uint32_t i = 0; i < shape->n_places; i++) {
		if (occupied & shape->masks[i])
			continue;
		occupied |= shape->masks[i];
		n++;
	}
	return n;
}

int bh_geometry_init(const struct bh_gpu *gpu, struct bh_geometry *ret_geo, struct bh_error *err)
{
	struct bh_geometry *geo = ret_geo;
	struct bh_shape shape;

	memset(geo, 0, sizeof(*geo));
	if (measure(gpu, geo, err) < 0)
		return -1;
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		const struct bh_gi_profile *p = &gpu->profiles[i];

		if (p->slice_count != BH_UNKNOWN && p->slice_count > geo->slices)
			geo->slices = p->slice_count;
		if (p->n_placements == 0)
			continue;
		if (!shape_of(geo, p, &shape) || !add_shape(geo, &shape))
			return unsupported(gpu,
					"the board has more shapes of profiles than can be tabled",
					err);
	}
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		geo->shape_of[i] = -1;
		if (gpu->profiles[i].n_placements == 0)
			continue;
		(void) shape_of(geo, &gpu->profiles[i], &shape);
		for (uint32_t s = 0; s < geo->n_shapes; s++) {
			if (same_places(&geo->shapes[s], &shape))
				geo->shape_of[i] = (int8_t) s;
		}
	}
	find_kind(geo);
	for (uint32_t mask = 0; geo->units <= BH_TABLE_UNITS_MAX && mask < 1U << geo->units;
			mask++) {
		for (uint32_t s = 0; s < geo->n_shapes; s++)
			geo->most[mask][s] = most_beside(&geo->shapes[s], mask);
	}
	return 0;
}

uint32_t bh_geometry_most(const struct bh_geometry *geo, uint64_t occupied, uint32_t shape)
{
	if (geo->units <= BH_TABLE_UNITS_MAX)
		return geo->most[occupied & ((1U << geo->units) - 1)][shape];
	return most_beside(&geo->shapes[shape], occupied);
}

uint64_t bh_geometry_mask(const struct bh_geometry *geo, const struct bh_placement *at)
{
	uint64_t mask = 0;

	for (uint32_t u = 0; u < geo->units; u++) {
		uint32_t start = u * geo->unit;

		if (start < at->start + at->size && at->start < start + geo->unit)
			mask |= UINT64_C(1) << u;
	}
	return mask;
}

uint64_t bh_geometry_occupied(const struct bh_geometry *geo, const struct bh_gpu *gpu)
{
	uint64_t occupied = 0;

	for (size_t g = 0; g < gpu->n_gis; g++)
		occupied |= bh_geometry_mask(geo, &gpu->gis[g].at);
	return occupied;
}
