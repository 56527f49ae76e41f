/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one GPU shall hold, in terms of the profiles that this very board offers: GPU instances, each
 * with the sizes of its compute instances. Built from profile names and counts; where a thing goes
 * is the placer's business.
 */
#ifndef BH_PLAN_WANT_H
#define BH_PLAN_WANT_H

#include "gpu/inventory.h"

struct bh_wanted_gi {
	size_t profile;			/* index into the profiles of the GPU it was filled for */
	uint32_t profile_id;		/* NVML's; holds for other observations of that GPU, too */
	uint32_t ci_slices[BH_CIS_MAX]; /* in falling order */
	size_t n_cis;
};

struct bh_gpu_want {
	bool in_scope; /* false: left as found, all else is meaningless */
	bool mig_on;
	struct bh_wanted_gi gis[BH_GIS_MAX];
	size_t n_gis;
	char source[160]; /* where it was said, for reasons: "FILE:LINE" */
};

/* One line of a wish list. */
struct bh_want_row {
	char gi_name[BH_NAME_SIZE]; /* "3g.40gb", without the compute part */
	uint32_t ci_slices;	    /* 0 = one compute instance over the whole GPU instance */
	uint32_t count;		    /* at least 1 */
};

/**
 * bh_want_fill() - turn names and counts into wanted instances of this board
 * @gpu:    borrowed; its profiles must be known
 * @rows:   borrowed; their order does not matter
 * @n_rows: how many
 * @want:   gis and n_gis are written on success
 * @err:    PROFILE_NOT_OFFERED (says what the board offers and the nearest), DOES_NOT_FIT (more of a
 *          profile than the board holds, or a compute part larger than its GPU instance),
 *          UNSUPPORTED (the driver does not say how many compute slices a wanted profile has)
 *
 * Compute instances smaller than their GPU instance share one: largest first, each goes into the
 * first GPU instance of that profile that has room, else a new one opens.
 */
int bh_want_fill(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n_rows,
		struct bh_gpu_want *want, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_want_count() - how many GPU instances of a profile are wanted
 * @want:    borrowed
 * @profile: index into the GPU's profiles
 */
uint32_t bh_want_count(const struct bh_gpu_want *want, size_t profile);

/**
 * bh_gpu_label() - how errors and plans name a GPU: "GPU 0 (NVIDIA H100 80GB HBM3)"
 * @gpu:    borrowed
 * @buffer: receives the text, cut if need be
 * @size:   bytes in @buffer
 */
void bh_gpu_label(const struct bh_gpu *gpu, char *buffer, size_t size);

#endif
