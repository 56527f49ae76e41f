/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static bool overlap(const struct oracle_cell *a, const struct oracle_cell *b)
{
	return a->start < b->start + b->size && b->start < a->start + a->size;
}

static void mix_of(const struct oracle *oracle, uint32_t set, struct oracle_mix *ret_mix)
{
	memset(ret_mix, 0, sizeof(*ret_mix));
	for (size_t i = 0; i < oracle->n_cells; i++) {
		if (set & 1U << i)
			ret_mix->counts[oracle->cells[i].profile]++;
	}
}

static bool name_has(const struct oracle *oracle, size_t profile, const char *text)
{
	return strstr(oracle->gpu->profiles[profile].name, text);
}

bool oracle_is_legal(const struct oracle *oracle, uint32_t set)
{
	const struct bh_gpu *gpu = oracle->gpu;
	struct oracle_mix mix;
	uint32_t with_media = 0, all = 0, others = 0;

	for (size_t i = 0; i < oracle->n_cells; i++) {
		for (size_t k = i + 1; k < oracle->n_cells; k++) {
			if (set & 1U << i && set & 1U << k &&
					overlap(&oracle->cells[i], &oracle->cells[k]))
				return false; /* R1 */
		}
	}
	mix_of(oracle, set, &mix);
	for (size_t p = 0; p < gpu->n_profiles; p++) {
		if (mix.counts[p] > gpu->profiles[p].max_instances)
			return false; /* R2 */
		with_media += name_has(oracle, p, "+me") ? mix.counts[p] : 0;
		all += name_has(oracle, p, "+me.all") ? mix.counts[p] : 0;
		others += name_has(oracle, p, "-me") || name_has(oracle, p, "+me.all")
					  ? 0
					  : mix.counts[p];
	}
	return with_media <= 1 /* R3 */ && (all == 0 || others == 0) /* R8 */;
}

/* The rules only ever forbid: what is not legal does not become so by adding. */
static void grow(struct oracle *oracle, uint32_t set, size_t from)
{
	if (!oracle_is_legal(oracle, set))
		return;
	if (oracle->n_layouts == oracle->room) {
		oracle->room = oracle->room ? 2 * oracle->room : 256;
		oracle->layouts = realloc(oracle->layouts, oracle->room * sizeof(*oracle->layouts));
		oracle->mixes = realloc(oracle->mixes, oracle->room * sizeof(*oracle->mixes));
		assert_true(oracle->layouts && oracle->mixes);
	}
	oracle->layouts[oracle->n_layouts] = set;
	mix_of(oracle, set, &oracle->mixes[oracle->n_layouts++]);
	for (size_t i = from; i < oracle->n_cells; i++)
		grow(oracle, set | 1U << i, i + 1);
}

void oracle_init(struct oracle *oracle, const struct bh_gpu *gpu)
{
	*oracle = (struct oracle){.gpu = gpu};
	for (size_t p = 0; p < gpu->n_profiles; p++) {
		for (size_t k = 0; k < gpu->profiles[p].n_placements; k++) {
			assert_true(oracle->n_cells < ORACLE_CELLS_MAX);
			oracle->cells[oracle->n_cells++] = (struct oracle_cell){p,
					gpu->profiles[p].placements[k].start,
					gpu->profiles[p].placements[k].size};
		}
	}
	grow(oracle, 0, 0);
}

void oracle_free(struct oracle *oracle)
{
	free(oracle->layouts);
	free(oracle->mixes);
}

size_t oracle_count_maximal(const struct oracle *oracle)
{
	size_t maximal = 0;

	for (size_t l = 0; l < oracle->n_layouts; l++) {
		bool grows = false;

		for (size_t i = 0; i < oracle->n_cells; i++)
			grows = grows ||
				(!(oracle->layouts[l] & 1U << i) &&
						oracle_is_legal(oracle,
								oracle->layouts[l] | 1U << i));
		maximal += !grows;
	}
	return maximal;
}

bool oracle_first_of_mix(const struct oracle *oracle, size_t layout)
{
	for (size_t l = 0; l < layout; l++) {
		if (memcmp(&oracle->mixes[l], &oracle->mixes[layout], sizeof(oracle->mixes[l])) ==
				0)
			return false;
	}
	return true;
}

int oracle_minimum(const struct oracle *oracle, uint32_t has, uint32_t pinned, uint32_t aliens,
		const struct oracle_mix *wanted)
{
	struct oracle_mix whole;
	int best = -1;

	mix_of(oracle, aliens, &whole);
	for (size_t p = 0; p < BH_GI_PROFILES_MAX; p++)
		whole.counts[p] = (uint8_t) (whole.counts[p] + wanted->counts[p]);
	for (size_t l = 0; l < oracle->n_layouts; l++) {
		uint32_t then = oracle->layouts[l];
		int operations = __builtin_popcount(has ^ then);

		if (((pinned | aliens) & ~then) == 0 &&
				memcmp(&oracle->mixes[l], &whole, sizeof(whole)) == 0 &&
				(best < 0 || operations < best))
			best = operations;
	}
	return best;
}

uint32_t oracle_set_of(const struct oracle *oracle, const struct bh_gpu *gpu)
{
	uint32_t set = 0;

	for (size_t g = 0; g < gpu->n_gis; g++) {
		size_t i = 0;

		while (i < oracle->n_cells &&
				(oracle->cells[i].start != gpu->gis[g].at.start ||
						oracle->cells[i].size != gpu->gis[g].at.size ||
						gpu->profiles[oracle->cells[i].profile].id !=
								gpu->gis[g].profile_id))
			i++;
		assert_true(i < oracle->n_cells);
		assert_false(set & 1U << i);
		set |= 1U << i;
	}
	return set;
}
