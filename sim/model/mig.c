/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mig.h"

#include <string.h>

#include "model/client.h"
#include "model/holder.h"
#include "model/rules.h"

struct sim_gi *sim_gi_get(struct sim_tx *tx, struct sim_gi_ref ref)
{
	struct sim_gi *gi;

	if (ref.gpu >= tx->state->n_gpus || ref.slot >= SIM_GIS_MAX || !ref.generation)
		return NULL;
	gi = &tx->state->gpus[ref.gpu].mig.gis[ref.slot];
	return gi->generation == ref.generation ? gi : NULL;
}

struct sim_ci *sim_ci_get(struct sim_tx *tx, struct sim_ci_ref ref)
{
	struct sim_ci *ci;

	if (ref.gpu >= tx->state->n_gpus || ref.gi_slot >= SIM_GIS_MAX || ref.slot >= SIM_CIS_MAX ||
			!ref.generation)
		return NULL;
	ci = &tx->state->gpus[ref.gpu].mig.gis[ref.gi_slot].cis[ref.slot];
	return ci->generation == ref.generation ? ci : NULL;
}

const struct sim_gi_row *sim_gi_profile(
		const struct sim_tx *tx, uint32_t gpu, const struct sim_gi *gi)
{
	return &tx->map->boards[gpu]->gis[gi->row];
}

enum sim_result sim_mig_set_mode(struct sim_tx *tx, uint32_t gpu, uint32_t own, bool on,
		enum sim_result *ret_activation)
{
	struct sim_gpu *g = &tx->state->gpus[gpu];
	const struct sim_board *board = tx->map->boards[gpu];
	bool busy;

	if (!board->mig_capable)
		return SIM_NOT_SUPPORTED;
	busy = sim_holder_anywhere(g) || g->mig.n_gis ||
	       (tx->state->node.sessions_hold && sim_client_others_open(tx, own, gpu));
	sim_tx_touch(tx, &g->mig, sizeof(g->mig));
	g->mig.pending = on;
	*ret_activation = SIM_OK;
	if (g->mig.current == (uint32_t) on)
		return SIM_OK; /* nothing to do, or withdrawn */
	if (busy) {
		*ret_activation = SIM_IN_USE;
		return SIM_OK;
	}
	if (g->mig.needs_reboot) {
		*ret_activation = SIM_RESET_NEEDED; /* source: header, passthrough */
		return SIM_OK;
	}
	g->mig.current = on;
	if (board->enable_needs_reset) {
		sim_tx_touch(tx, &g->health, sizeof(g->health));
		sim_health_restart(&g->health, /* reboot= */ false);
		g->mig.resets++;
	}
	return SIM_OK;
}

static uint32_t bits_of(uint32_t start, uint32_t size)
{
	return ((1U << size) - 1) << start;
}

static const struct sim_gi_place *gi_place_at(
		const struct sim_gi_row *profile, int start, uint32_t size)
{
	for (size_t i = 0; i < profile->n_places; i++) {
		if ((int) profile->places[i].start == start && profile->places[i].size == size)
			return &profile->places[i];
	}
	return NULL;
}

static enum sim_result gi_place(const struct sim_tx *tx, uint32_t gpu, uint32_t row, int start,
		uint32_t size, const struct sim_gi_place **ret_place)
{
	const struct sim_board *board = tx->map->boards[gpu];
	const struct sim_mig *mig = &tx->state->gpus[gpu].mig;
	const struct sim_gi_place *place;

	if (start >= 0) {
		place = gi_place_at(&board->gis[row], start, size);
		if (!place)
			return SIM_INVALID; /* assumed: the header names no code for it */
		if (!sim_gi_fits(board, mig, row, place))
			return SIM_NO_ROOM;
	} else {
		place = sim_gi_choose(board, mig, row);
		if (!place)
			return SIM_NO_ROOM;
	}
	*ret_place = place;
	return SIM_OK;
}

enum sim_result sim_gi_create(struct sim_tx *tx, uint32_t gpu, uint32_t id, int start,
		uint32_t size, struct sim_gi_ref *ret_ref)
{
	struct sim_gpu *g = &tx->state->gpus[gpu];
	const struct sim_gi_place *place;
	enum sim_result result;
	uint32_t row, slot = 0;
	struct sim_gi *gi;

	if (!tx->map->boards[gpu]->mig_capable || !g->mig.current)
		return SIM_NOT_SUPPORTED;
	if (!sim_gi_row_by_id(tx->map->boards[gpu], id, &row))
		return SIM_INVALID;
	if (!g->mig.n_gis && sim_holder_has_channels(g))
		return SIM_IN_USE;
	result = gi_place(tx, gpu, row, start, size, &place);
	if (result != SIM_OK)
		return result;
	while (g->mig.gis[slot].generation)
		slot++;
	gi = &g->mig.gis[slot];
	sim_tx_touch(tx, &g->mig, sizeof(g->mig));
	memset(gi, 0, sizeof(*gi));
	gi->id = place->node;
	gi->row = row;
	gi->start = place->start;
	gi->size = place->size;
	gi->memory_mib = place->memory_mib;
	gi->generation = sim_generation(tx);
	g->mig.units |= bits_of(gi->start, gi->size);
	g->mig.n_gis++;
	*ret_ref = (struct sim_gi_ref){gpu, slot, gi->generation};
	return SIM_OK;
}

enum sim_result sim_gi_destroy(struct sim_tx *tx, struct sim_gi_ref ref)
{
	struct sim_gi *gi = sim_gi_get(tx, ref);
	struct sim_gpu *g;

	if (!gi)
		return SIM_INVALID;
	g = &tx->state->gpus[ref.gpu];
	if (gi->n_cis || sim_holder_in(g, gi->generation, 0))
		return SIM_IN_USE;
	sim_tx_touch(tx, &g->mig, sizeof(g->mig));
	g->mig.units &= ~bits_of(gi->start, gi->size);
	g->mig.n_gis--;
	memset(gi, 0, sizeof(*gi));
	return SIM_OK;
}

static enum sim_result ci_place(const struct sim_gi_row *profile, const struct sim_gi *gi,
		uint32_t row, int start, uint32_t size, const struct sim_ci_place **ret_place)
{
	const struct sim_ci_row *ci = &profile->cis[row];

	if (start < 0) {
		*ret_place = sim_ci_choose(profile, gi, row);
		return *ret_place ? SIM_OK : SIM_NO_ROOM;
	}
	for (size_t i = 0; i < ci->n_places; i++) {
		const struct sim_ci_place *place = &ci->places[i];

		if ((int) place->start != start || place->size != size)
			continue;
		*ret_place = place;
		return sim_ci_fits(profile, gi, row, place) ? SIM_OK : SIM_NO_ROOM;
	}
	return SIM_INVALID;
}

/* Lowest number that no compute instance has: of the instance (its id) or of the GPU (the index of
 * its MIG device). Assumed for both. */
static uint32_t lowest_free_id(const struct sim_gi *gi)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < SIM_CIS_MAX; i++) {
		if (gi->cis[i].generation)
			taken |= 1U << gi->cis[i].id;
	}
	return (uint32_t) __builtin_ctz(~taken);
}

static uint32_t lowest_free_device(const struct sim_mig *mig)
{
	uint64_t taken = 0;

	for (uint32_t g = 0; g < SIM_GIS_MAX; g++) {
		for (uint32_t i = 0; i < SIM_CIS_MAX; i++) {
			if (mig->gis[g].cis[i].generation)
				taken |= 1ULL << mig->gis[g].cis[i].device_index;
		}
	}
	return (uint32_t) __builtin_ctzll(~taken);
}

enum sim_result sim_ci_create(struct sim_tx *tx, struct sim_gi_ref ref, uint32_t id, int start,
		uint32_t size, struct sim_ci_ref *ret_ref)
{
	struct sim_gi *gi = sim_gi_get(tx, ref);
	const struct sim_gi_row *profile;
	const struct sim_ci_place *place;
	uint32_t row, number, device, slot = 0;
	enum sim_result result;
	struct sim_ci *ci;

	if (!gi)
		return SIM_INVALID;
	profile = sim_gi_profile(tx, ref.gpu, gi);
	if (!sim_ci_row_by_id(profile, id, &row))
		return SIM_NOT_SUPPORTED;
	result = ci_place(profile, gi, row, start, size, &place);
	if (result != SIM_OK)
		return result;
	number = lowest_free_id(gi);
	device = lowest_free_device(&tx->state->gpus[ref.gpu].mig);
	while (gi->cis[slot].generation)
		slot++;
	ci = &gi->cis[slot];
	sim_tx_touch(tx, gi, sizeof(*gi));
	memset(ci, 0, sizeof(*ci));
	ci->generation = sim_generation(tx);
	ci->id = number;
	ci->row = row;
	ci->start = place->start;
	ci->size = place->size;
	ci->device_index = device;
	sim_uuid("MIG-", tx->state->seed, 0x4D4947ULL << 32 | ref.gpu, ci->generation, ci->uuid);
	gi->n_cis++;
	*ret_ref = (struct sim_ci_ref){ref.gpu, ref.slot, slot, ci->generation};
	return SIM_OK;
}

enum sim_result sim_ci_destroy(struct sim_tx *tx, struct sim_ci_ref ref)
{
	struct sim_ci *ci = sim_ci_get(tx, ref);
	struct sim_gi *gi;

	if (!ci)
		return SIM_INVALID;
	gi = &tx->state->gpus[ref.gpu].mig.gis[ref.gi_slot];
	if (sim_holder_in(&tx->state->gpus[ref.gpu], gi->generation, ci->generation))
		return SIM_IN_USE;
	sim_tx_touch(tx, gi, sizeof(*gi));
	memset(ci, 0, sizeof(*ci));
	gi->n_cis--;
	return SIM_OK;
}

static void restart_gpu(struct sim_gpu *gpu, const struct sim_board *board, bool reload)
{
	bool keeps = reload ? board->mode_survives_reload : board->mode_survives_reboot;
	uint32_t mode = keeps ? gpu->mig.pending : 0, resets = gpu->mig.resets;

	memset(gpu->holders, 0, sizeof(gpu->holders));
	sim_health_restart(&gpu->health, !reload);
	if (!reload)
		gpu->trouble.lost = 0;
	gpu->mig = (struct sim_mig){.current = mode, .pending = mode, .resets = resets + 1};
}

enum sim_result sim_reboot(struct sim_tx *tx, bool reload)
{
	struct sim_state *s = tx->state;

	for (uint32_t i = 0; reload && i < s->n_gpus; i++) {
		if (sim_holder_anywhere(&s->gpus[i]))
			return SIM_IN_USE;
	}
	sim_tx_touch(tx, &s->node, sizeof(s->node));
	sim_tx_touch(tx, s->gpus, sizeof(s->gpus));
	sim_tx_touch(tx, s->clients, sizeof(s->clients));
	sim_event_forget(tx);
	s->node.boot++;
	for (uint32_t i = 0; i < s->n_gpus; i++)
		restart_gpu(&s->gpus[i], tx->map->boards[i], reload);
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++)
		s->clients[i].open_gpus = 0;
	return SIM_OK;
}
