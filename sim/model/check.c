/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The self-check: everything that must be true of the state between changes. Redundant fields exist
 * so that a change seen half-way breaks one of these.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/rules.h"
#include "model/state.h"

struct report {
	char *text;
	size_t size;
	bool broken;
};

static void broken(struct report *r, const char *format, ...) BH_PRINTF(2, 3);
static void broken(struct report *r, const char *format, ...)
{
	va_list args;

	if (r->broken)
		return;
	r->broken = true;
	va_start(args, format);
	(void) vsnprintf(r->text, r->size, format, args);
	va_end(args);
}

static void check_ci(struct report *r, uint32_t g, const struct sim_gi_row *profile,
		const struct sim_gi *gi, uint32_t slot)
{
	const struct sim_ci *ci = &gi->cis[slot];
	bool known = false;

	if (ci->row >= profile->n_cis) {
		broken(r, "gpu %u gi %u: a compute instance of no profile", g, gi->id);
		return;
	}
	for (size_t i = 0; i < profile->cis[ci->row].n_places; i++) {
		const struct sim_ci_place *p = &profile->cis[ci->row].places[i];

		known |= p->start == ci->start && p->size == ci->size;
	}
	if (!known)
		broken(r, "gpu %u gi %u ci %u: stands at no placement of its profile", g, gi->id,
				ci->id);
	if (strlen(ci->uuid) != strlen("MIG-") + 36)
		broken(r, "gpu %u gi %u ci %u: has no UUID", g, gi->id, ci->id);
	for (uint32_t j = slot + 1; j < SIM_CIS_MAX; j++) {
		const struct sim_ci *other = &gi->cis[j];

		if (!other->generation)
			continue;
		if (ci->start < other->start + other->size && other->start < ci->start + ci->size)
			broken(r, "gpu %u gi %u: two compute instances overlap", g, gi->id);
		if (ci->id == other->id || ci->device_index == other->device_index)
			broken(r, "gpu %u gi %u: two compute instances share a number", g, gi->id);
	}
}

static void check_gi(struct report *r, uint32_t g, const struct sim_board *board,
		const struct sim_mig *mig, uint32_t slot)
{
	const struct sim_gi *gi = &mig->gis[slot];
	const struct sim_gi_row *profile;
	uint32_t n_cis = 0;
	bool known = false;

	if (gi->row >= board->n_gis) {
		broken(r, "gpu %u: a GPU instance of no profile", g);
		return;
	}
	profile = &board->gis[gi->row];
	for (size_t i = 0; i < profile->n_places; i++) {
		const struct sim_gi_place *p = &profile->places[i];

		known |= p->start == gi->start && p->size == gi->size && p->node == gi->id &&
			 p->memory_mib == gi->memory_mib;
	}
	if (!known)
		broken(r, "gpu %u gi %u: stands at no placement of its profile", g, gi->id);
	for (uint32_t j = slot + 1; j < SIM_GIS_MAX; j++) {
		const struct sim_gi *other = &mig->gis[j];
		struct sim_gi_place a = {.start = gi->start, .size = gi->size, .node = gi->id};
		struct sim_gi_place b = {
				.start = other->start, .size = other->size, .node = other->id};

		if (other->generation && other->id == gi->id)
			broken(r, "gpu %u: two GPU instances have the id %u", g, gi->id);
		if (other->generation && sim_places_conflict(board, &a, &b))
			broken(r, "gpu %u: GPU instances %u and %u overlap", g, gi->id, other->id);
	}
	for (uint32_t j = 0; j < SIM_CIS_MAX; j++) {
		if (!gi->cis[j].generation)
			continue;
		n_cis++;
		check_ci(r, g, profile, gi, j);
	}
	if (n_cis != gi->n_cis)
		broken(r, "gpu %u gi %u: counts %u compute instances, has %u", g, gi->id, gi->n_cis,
				n_cis);
}

static void check_holders(struct report *r, uint32_t g, const struct sim_gpu *gpu)
{
	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		const struct sim_holder *h = &gpu->holders[i];
		bool found = !h->gi_generation;

		if (!h->used)
			continue;
		for (uint32_t j = 0; j < SIM_GIS_MAX; j++)
			found |= gpu->mig.gis[j].generation == h->gi_generation;
		if (!found || h->kind >= SIM_HOLDER_KINDS)
			broken(r, "gpu %u: holder %d sits in an instance that is gone", g, h->pid);
	}
}

static void check_gpu(struct report *r, const struct sim_tx *tx, uint32_t g)
{
	const struct sim_gpu *gpu = &tx->state->gpus[g];
	const struct sim_board *board = tx->map->boards[g];
	const struct sim_mig *mig = &gpu->mig;
	uint32_t n_gis = 0, units = 0, slices = 0;

	if (gpu->no_reset > 1)
		broken(r, "gpu %u: a reset that is neither supported nor not", g);
	if (mig->current > 1 || mig->pending > 1)
		broken(r, "gpu %u: a MIG mode of neither on nor off", g);
	for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
		const struct sim_gi *gi = &mig->gis[i];

		if (!gi->generation)
			continue;
		n_gis++;
		units |= ((1U << gi->size) - 1) << gi->start;
		check_gi(r, g, board, mig, i);
		if (gi->row < board->n_gis)
			slices += board->gis[gi->row].slices;
	}
	if (n_gis != mig->n_gis)
		broken(r, "gpu %u: counts %u GPU instances, has %u", g, mig->n_gis, n_gis);
	if (units != mig->units)
		broken(r, "gpu %u: units taken %#x, instances cover %#x", g, mig->units, units);
	if (slices > board->slices) /* R7 */
		broken(r, "gpu %u: %u compute slices given out of %u", g, slices, board->slices);
	if (n_gis && !mig->current)
		broken(r, "gpu %u: instances without MIG mode", g);
	check_holders(r, g, gpu);
	if (sim_health_fault(&gpu->health))
		broken(r, "gpu %u: %s", g, sim_health_fault(&gpu->health));
}

bool sim_check(struct sim_tx *tx, char *text, size_t size)
{
	struct report r = {.text = text, .size = size};
	const struct sim_state *s = tx->state;

	if (s->undo.n_ranges)
		broken(&r, "a change is still under way");
	if (s->n_gpus < 1 || s->n_gpus > SIM_GPUS_MAX || s->n_calls > SIM_CALLS_MAX)
		broken(&r, "counts out of range");
	for (uint32_t g = 0; g < s->n_gpus && !r.broken; g++)
		check_gpu(&r, tx, g);
	if (sim_events_fault(s))
		broken(&r, "%s", sim_events_fault(s));
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++) {
		if (s->clients[i].used && s->clients[i].pid <= 0)
			broken(&r, "client %u has no process", i);
	}
	return !r.broken;
}
