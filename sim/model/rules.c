/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rules.h"

static bool is_at_or_below(uint32_t node, uint32_t top)
{
	while (node > top)
		node = (node - 1) / 2;
	return node == top;
}

bool sim_nodes_conflict(uint32_t a, uint32_t b)
{
	return is_at_or_below(a, b) || is_at_or_below(b, a);
}

#define FIND(rows, n_rows, field, wanted, ret_row)                                                 \
	({                                                                                         \
		bool found_ = false;                                                               \
		for (uint32_t i_ = 0; i_ < (n_rows) && !found_; i_++) {                            \
			if ((rows)[i_].field == (wanted)) {                                        \
				*(ret_row) = i_;                                                   \
				found_ = true;                                                     \
			}                                                                          \
		}                                                                                  \
		found_;                                                                            \
	})

bool sim_gi_row_by_id(const struct sim_board *board, uint32_t id, uint32_t *ret_row)
{
	return FIND(board->gis, board->n_gis, id, id, ret_row);
}

bool sim_gi_row_by_number(const struct sim_board *board, uint32_t number, uint32_t *ret_row)
{
	return FIND(board->gis, board->n_gis, number, number, ret_row);
}

bool sim_ci_row_by_id(const struct sim_gi_row *gi, uint32_t id, uint32_t *ret_row)
{
	return FIND(gi->cis, gi->n_cis, id, id, ret_row);
}

bool sim_ci_row_by_number(const struct sim_gi_row *gi, uint32_t number, uint32_t *ret_row)
{
	return FIND(gi->cis, gi->n_cis, number, number, ret_row);
}

static bool runs_overlap(uint32_t start, uint32_t size, uint32_t other, uint32_t other_size)
{
	return start < other + other_size && other < start + size;
}

bool sim_places_conflict(const struct sim_board *board, const struct sim_gi_place *a,
		const struct sim_gi_place *b)
{
	if (board->tree)
		return sim_nodes_conflict(a->node, b->node);
	return runs_overlap(a->start, a->size, b->start, b->size);
}

static bool is_free(const struct sim_board *board, const struct sim_mig *mig,
		const struct sim_gi_place *place)
{
	for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
		const struct sim_gi *gi = &mig->gis[i];
		struct sim_gi_place at = {.start = gi->start, .size = gi->size, .node = gi->id};

		if (gi->generation && sim_places_conflict(board, &at, place))
			return false;
	}
	return true;
}

static bool counts_as_media(enum sim_media media)
{
	return media == SIM_MEDIA_EXTRA || media == SIM_MEDIA_ALL;
}

/* R3: one instance with media extensions a board. R8: beside one with all engines only "-me". */
static bool media_allow(
		const struct sim_board *board, const struct sim_mig *mig, enum sim_media media)
{
	for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
		enum sim_media other;

		if (!mig->gis[i].generation)
			continue;
		other = board->gis[mig->gis[i].row].media;
		if (counts_as_media(media) && counts_as_media(other))
			return false;
		if (media == SIM_MEDIA_ALL && other != SIM_MEDIA_NONE)
			return false;
		if (other == SIM_MEDIA_ALL && media != SIM_MEDIA_NONE)
			return false;
	}
	return true;
}

static uint32_t count_of(const struct sim_mig *mig, uint32_t row)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_GIS_MAX; i++)
		n += mig->gis[i].generation && mig->gis[i].row == row;
	return n;
}

/* R7. With published placements it never decides; with those of a file it may. */
static uint32_t slices_given(const struct sim_board *board, const struct sim_mig *mig)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_GIS_MAX; i++)
		n += mig->gis[i].generation ? board->gis[mig->gis[i].row].slices : 0;
	return n;
}

bool sim_gi_fits(const struct sim_board *board, const struct sim_mig *mig, uint32_t row,
		const struct sim_gi_place *place)
{
	const struct sim_gi_row *profile = &board->gis[row];

	return mig->n_gis < SIM_GIS_MAX && count_of(mig, row) < profile->max_instances &&
	       slices_given(board, mig) + profile->slices <= board->slices &&
	       media_allow(board, mig, profile->media) && is_free(board, mig, place);
}

static uint32_t pairs_free_beside(const struct sim_board *board, const struct sim_mig *mig,
		const struct sim_gi_place *place)
{
	uint32_t pairs = 0;

	for (size_t p = 0; p < board->n_gis; p++) {
		for (size_t i = 0; i < board->gis[p].n_places; i++) {
			const struct sim_gi_place *other = &board->gis[p].places[i];

			pairs += !sim_places_conflict(board, other, place) &&
				 is_free(board, mig, other);
		}
	}
	return pairs;
}

const struct sim_gi_place *sim_gi_choose(
		const struct sim_board *board, const struct sim_mig *mig, uint32_t row)
{
	const struct sim_gi_row *profile = &board->gis[row];
	const struct sim_gi_place *best = NULL;
	uint32_t best_pairs = 0;

	for (size_t i = 0; i < profile->n_places; i++) {
		const struct sim_gi_place *place = &profile->places[i];
		uint32_t pairs;

		if (!sim_gi_fits(board, mig, row, place))
			continue;
		pairs = pairs_free_beside(board, mig, place);
		if (!best || pairs > best_pairs ||
				(pairs == best_pairs && place->start < best->start)) {
			best = place;
			best_pairs = pairs;
		}
	}
	return best;
}

uint32_t sim_gi_capacity(const struct sim_board *board, const struct sim_mig *mig, uint32_t row)
{
	const struct sim_gi_row *profile = &board->gis[row];
	uint32_t runs = 0, end = 0, left = profile->max_instances - count_of(mig, row);
	uint32_t slices = (board->slices - slices_given(board, mig)) / profile->slices;

	if (left > SIM_GIS_MAX - mig->n_gis)
		left = SIM_GIS_MAX - mig->n_gis;
	if (left > slices)
		left = slices;
	if (left > 1 && counts_as_media(profile->media))
		left = 1;
	/* of one size, in order of start: taking the earliest that is free is best */
	for (size_t i = 0; i < profile->n_places; i++) {
		const struct sim_gi_place *place = &profile->places[i];

		if ((runs && place->start < end) || !sim_gi_fits(board, mig, row, place))
			continue;
		runs++;
		end = place->start + place->size;
	}
	return runs < left ? runs : left;
}

static bool is_run_free(const struct sim_gi *gi, const struct sim_ci_place *place)
{
	for (uint32_t i = 0; i < SIM_CIS_MAX; i++) {
		const struct sim_ci *ci = &gi->cis[i];

		if (ci->generation && runs_overlap(place->start, place->size, ci->start, ci->size))
			return false;
	}
	return true;
}

static uint32_t count_of_ci(const struct sim_gi *gi, uint32_t row)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_CIS_MAX; i++)
		n += gi->cis[i].generation && gi->cis[i].row == row;
	return n;
}

bool sim_ci_fits(const struct sim_gi_row *profile, const struct sim_gi *gi, uint32_t row,
		const struct sim_ci_place *place)
{
	return gi->n_cis < SIM_CIS_MAX && count_of_ci(gi, row) < profile->cis[row].max_instances &&
	       is_run_free(gi, place);
}

static uint32_t runs_free_beside(const struct sim_gi_row *profile, const struct sim_gi *gi,
		const struct sim_ci_place *taken)
{
	uint32_t pairs = 0;

	for (size_t p = 0; p < profile->n_cis; p++) {
		for (size_t i = 0; i < profile->cis[p].n_places; i++) {
			const struct sim_ci_place *other = &profile->cis[p].places[i];

			pairs += is_run_free(gi, other) &&
				 !runs_overlap(other->start, other->size, taken->start,
						 taken->size);
		}
	}
	return pairs;
}

const struct sim_ci_place *sim_ci_choose(
		const struct sim_gi_row *profile, const struct sim_gi *gi, uint32_t row)
{
	const struct sim_ci_row *ci = &profile->cis[row];
	const struct sim_ci_place *best = NULL;
	uint32_t best_pairs = 0;

	for (size_t i = 0; i < ci->n_places; i++) {
		uint32_t pairs;

		if (!sim_ci_fits(profile, gi, row, &ci->places[i]))
			continue;
		pairs = runs_free_beside(profile, gi, &ci->places[i]);
		if (!best || pairs > best_pairs) {
			best = &ci->places[i];
			best_pairs = pairs;
		}
	}
	return best;
}

uint32_t sim_ci_capacity(const struct sim_gi_row *profile, const struct sim_gi *gi, uint32_t row)
{
	const struct sim_ci_row *ci = &profile->cis[row];
	uint32_t left = ci->max_instances - count_of_ci(gi, row), runs = 0, end = 0;

	if (left > SIM_CIS_MAX - gi->n_cis)
		left = SIM_CIS_MAX - gi->n_cis;
	/* runs of one size in order of start: taking the earliest that is free is best */
	for (size_t i = 0; i < ci->n_places; i++) {
		const struct sim_ci_place *place = &ci->places[i];

		if ((runs && place->start < end) || !sim_ci_fits(profile, gi, row, place))
			continue;
		runs++;
		end = place->start + place->size;
	}
	return runs < left ? runs : left;
}
