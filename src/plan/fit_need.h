/* SPDX-License-Identifier: Apache-2.0 */
/* Does a need fit here, on boards that may name their profiles differently. */
#ifndef BH_PLAN_FIT_NEED_H
#define BH_PLAN_FIT_NEED_H

#include "plan/fit.h"
#include "plan/needs.h"

/**
 * bh_fit_need() - answer for the profile that a need comes to
 * @rooms:      borrowed; of the boards, 1 to BH_NODE_GPUS_MAX
 * @n_rooms:    how many
 * @need:       borrowed
 * @policy:     which of the places that fit are taken
 * @ret_chosen: borrowed from a board, written on success: the profile that was taken
 * @ret_fit:    written on success, freed with bh_fit_free()
 * @err:        as bh_fit_find(), or as bh_need_refuse() of the first board where none has a profile
 *              that suffices
 *
 * Tried are the smallest sufficient profile of each board, the one with the least first. The first
 * with which all fits is the answer; where none is, the answer is that of the one with the least.
 */
int bh_fit_need(const struct bh_occupancy *rooms, size_t n_rooms, const struct bh_need *need,
		enum bh_online_policy policy, const struct bh_gi_profile **ret_chosen,
		struct bh_fit *ret_fit, struct bh_error *err) BH_MUST_CHECK;

#endif
