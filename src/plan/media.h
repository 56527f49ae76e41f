/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two rules about media engines, by the names of profiles: at most one instance with media
 * extensions on a board (R3 of the catalogue), and beside one with all media engines only those
 * without any (R8). Source: MIG user guide, nvml.h.
 */
#ifndef BH_PLAN_MEDIA_H
#define BH_PLAN_MEDIA_H

#include <string.h>

#include "gpu/inventory.h"

enum bh_media {
	BH_MEDIA_PLAIN, /* "+gfx" as well */
	BH_MEDIA_SOME,	/* "+me" */
	BH_MEDIA_ALL,	/* "+me.all" */
	BH_MEDIA_NONE,	/* "-me" */
};

/* Instances of one board; those with all media engines count as `extended` too. */
struct bh_media_counts {
	uint32_t extended, all, plain;
};

/**
 * bh_media_of() - which of them a profile has
 * @profile: borrowed
 */
static inline enum bh_media bh_media_of(const struct bh_gi_profile *profile)
{
	if (strstr(profile->name, "+me.all"))
		return BH_MEDIA_ALL;
	if (strstr(profile->name, "+me"))
		return BH_MEDIA_SOME;
	return strstr(profile->name, "-me") ? BH_MEDIA_NONE : BH_MEDIA_PLAIN;
}

/**
 * bh_media_is_extended() - does it count as the one of its board
 * @profile: borrowed
 */
static inline bool bh_media_is_extended(const struct bh_gi_profile *profile)
{
	return bh_media_of(profile) == BH_MEDIA_SOME || bh_media_of(profile) == BH_MEDIA_ALL;
}

/**
 * bh_media_count() - count instances of a profile in
 * @counts:  changed
 * @profile: borrowed
 * @by:      how many; modulo 2^32, so that adding the negative takes them out
 */
static inline void bh_media_count(
		struct bh_media_counts *counts, const struct bh_gi_profile *profile, uint32_t by)
{
	enum bh_media media = bh_media_of(profile);

	counts->extended += media == BH_MEDIA_SOME || media == BH_MEDIA_ALL ? by : 0;
	counts->all += media == BH_MEDIA_ALL ? by : 0;
	counts->plain += media == BH_MEDIA_PLAIN ? by : 0;
}

/**
 * bh_media_hold() - may so many stand on one board
 * @counts: borrowed
 */
static inline bool bh_media_hold(const struct bh_media_counts *counts)
{
	return counts->extended <= 1 && (counts->all == 0 || counts->plain == 0);
}

#endif
