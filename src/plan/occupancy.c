/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/occupancy.h"

#include <string.h>

#include "plan/step.h"

enum media {
	MEDIA_PLAIN,
	MEDIA_SOME,
	MEDIA_ALL,
	MEDIA_NONE,
};

static enum media media_of(const struct bh_gi_profile *profile)
{
	if (strstr(profile->name, "+me.all"))
		return MEDIA_ALL;
	if (strstr(profile->name, "+me"))
		return MEDIA_SOME;
	return strstr(profile->name, "-me") ? MEDIA_NONE : MEDIA_PLAIN;
}

static void count(struct bh_occupancy *room, size_t profile, int by)
{
	enum media media = media_of(&room->gpu->profiles[profile]);

	room->standing[profile] = (uint8_t) (room->standing[profile] + by);
	room->n_gis += (uint32_t) by;
	if (media == MEDIA_SOME || media == MEDIA_ALL)
		room->media += (uint32_t) by;
	if (media == MEDIA_ALL)
		room->all_media += (uint32_t) by;
	if (media == MEDIA_PLAIN)
		room->plain += (uint32_t) by;
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
	enum media media = media_of(p);

	if (at->size == 0 || at->size > BH_UNITS_MAX || at->start > BH_UNITS_MAX - at->size ||
			room->occupied & bh_placement_mask(at))
		return false;
	if (room->n_gis >= BH_GIS_MAX || room->standing[profile] >= p->max_instances)
		return false;
	if ((media == MEDIA_SOME || media == MEDIA_ALL) && room->media > 0)
		return false;
	if (media == MEDIA_ALL && room->plain > 0)
		return false;
	return media == MEDIA_NONE || room->all_media == 0;
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

bool bh_occupancy_find_profile(
		const struct bh_occupancy *room, const char *name, size_t *ret_profile)
{
	for (size_t i = 0; i < room->gpu->n_profiles; i++) {
		if (strcmp(room->gpu->profiles[i].name, name) == 0) {
			*ret_profile = i;
			return true;
		}
	}
	return false;
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
