/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/occupancy.h"

#include <string.h>

#include "plan/step.h"

static void count(struct bh_occupancy *room, size_t profile, int by)
{
	room->standing[profile] = (uint8_t) (room->standing[profile] + by);
	room->n_gis += (uint32_t) by;
	bh_media_count(&room->media, &room->gpu->profiles[profile], (uint32_t) by);
}

void bh_occupancy_init_empty(struct bh_occupancy *room, const struct bh_gpu *gpu)
{
	*room = (struct bh_occupancy){.gpu = gpu};
}

void bh_occupancy_init(struct bh_occupancy *room, const struct bh_gpu *gpu)
{
	bh_occupancy_init_empty(room, gpu);
	for (size_t g = 0; g < gpu->n_gis; g++) {
		size_t p = 0;

		room->occupied |= bh_placement_mask(&gpu->gis[g].at);
		while (p < gpu->n_profiles && gpu->profiles[p].id != gpu->gis[g].profile_id)
			p++;
		if (p < gpu->n_profiles)
			count(room, p, 1);
		else
			room->n_gis++;
	}
}

bool bh_occupancy_allows(
		const struct bh_occupancy *room, size_t profile, const struct bh_placement *at)
{
	const struct bh_gi_profile *p = &room->gpu->profiles[profile];
	struct bh_media_counts media = room->media;

	if (at->size == 0 || at->size > BH_UNITS_MAX || at->start > BH_UNITS_MAX - at->size ||
			room->occupied & bh_placement_mask(at))
		return false;
	if (room->n_gis >= BH_GIS_MAX || room->standing[profile] >= p->max_instances)
		return false;
	bh_media_count(&media, p, 1);
	return bh_media_hold(&media);
}

void bh_occupancy_add(struct bh_occupancy *room, size_t profile, const struct bh_placement *at)
{
	room->occupied |= bh_placement_mask(at);
	count(room, profile, 1);
}

void bh_occupancy_remove(struct bh_occupancy *room, size_t profile, const struct bh_placement *at)
{
	room->occupied &= ~bh_placement_mask(at);
	count(room, profile, -1);
}

uint32_t bh_occupancy_open(const struct bh_occupancy *room)
{
	uint32_t open = 0;

	for (size_t i = 0; i < room->gpu->n_profiles; i++) {
		for (size_t k = 0; k < room->gpu->profiles[i].n_placements; k++)
			open += bh_occupancy_allows(room, i, &room->gpu->profiles[i].placements[k]);
	}
	return open;
}
