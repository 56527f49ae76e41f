/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sound.h"

#include <string.h>

#define GENERATIONS_LEFT (1U << 20) /* before the counter would come back to used ones */
#define FAKE_PIDS_MAX	 (1U << 30)
#define DEVICES_MAX	 64 /* MIG devices of a GPU: a bit each in a word */
#define IDS_MAX		 32 /* compute instance ids: likewise */

#define ENDS(text)	 (memchr(text, '\0', sizeof(text)) != NULL)

/* That of a lock as sim_state_create() makes it: another kind takes other ways through the C
 * library, down to its assertions. */
static bool is_lock_kind_right(const pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t fresh;
	bool right = false;

	if (pthread_mutexattr_init(&attr))
		return false;
	if (!pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) &&
			!pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) &&
			!pthread_mutex_init(&fresh, &attr)) {
		right = lock->__data.__kind == fresh.__data.__kind;
		(void) pthread_mutex_destroy(&fresh);
	}
	(void) pthread_mutexattr_destroy(&attr);
	return right;
}

static bool is_card_sound(const struct sim_state *s, const struct sim_gpu *gpu)
{
	return gpu->board < s->n_boards && ENDS(gpu->identity.uuid) && ENDS(gpu->identity.serial);
}

bool sim_sound_fixed(const struct sim_state *s)
{
	if (s->n_gpus < 1 || s->n_gpus > SIM_GPUS_MAX || s->n_boards < 1 ||
			s->n_boards > SIM_GPUS_MAX || s->n_calls > SIM_CALLS_MAX ||
			!ENDS(s->machine) || !ENDS(s->driver.version) || !ENDS(s->driver.nvml) ||
			!ENDS(s->nodes.why) || !is_lock_kind_right(&s->lock))
		return false;
	for (uint32_t i = 0; i < s->n_boards; i++) {
		if (!sim_board_is_sound(&s->boards[i]))
			return false;
	}
	for (uint32_t i = 0; i < s->n_gpus; i++) {
		if (!is_card_sound(s, &s->gpus[i]))
			return false;
	}
	for (uint32_t i = 0; i < s->n_calls; i++) {
		if (!ENDS(s->calls[i].name))
			return false;
	}
	return true;
}

static bool is_ci_sound(
		const struct sim_state *s, const struct sim_gi_row *gi, const struct sim_ci *ci)
{
	return ci->generation <= s->generation && ci->row < gi->n_cis && ci->size >= 1 &&
	       ci->size <= SIM_UNITS_MAX && ci->start < SIM_UNITS_MAX && ci->id < IDS_MAX &&
	       ci->device_index < DEVICES_MAX && ENDS(ci->uuid);
}

static bool is_gi_sound(
		const struct sim_state *s, const struct sim_board *board, const struct sim_gi *gi)
{
	uint32_t n = 0;

	if (gi->generation > s->generation || gi->row >= board->n_gis || gi->size < 1 ||
			gi->size > SIM_UNITS_MAX || gi->start >= SIM_UNITS_MAX)
		return false;
	for (uint32_t i = 0; i < SIM_CIS_MAX; i++) {
		if (!gi->cis[i].generation)
			continue;
		n++;
		if (!is_ci_sound(s, &board->gis[gi->row], &gi->cis[i]))
			return false;
	}
	return n == gi->n_cis; /* or a search for a free slot leaves the array */
}

static bool is_gpu_sound(const struct sim_state *s, const struct sim_gpu *gpu)
{
	const struct sim_board *board = &s->boards[gpu->board];
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
		if (!gpu->mig.gis[i].generation)
			continue;
		n++;
		if (!is_gi_sound(s, board, &gpu->mig.gis[i]))
			return false;
	}
	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		const struct sim_holder *h = &gpu->holders[i];

		if (h->used && (h->kind >= SIM_HOLDER_KINDS || !ENDS(h->name)))
			return false;
	}
	return n == gpu->mig.n_gis;
}

static bool are_events_sound(const struct sim_state *s)
{
	for (uint32_t i = 0; i < SIM_EVENTS_MAX; i++) {
		const struct sim_event *e = &s->events.ring[i];

		if (e->number && (e->gpu >= s->n_gpus || e->kind >= SIM_EVENT_KINDS))
			return false;
	}
	return true;
}

bool sim_sound_changing(const struct sim_state *s)
{
	if (s->generation > UINT32_MAX - GENERATIONS_LEFT || s->node.fake_pids > FAKE_PIDS_MAX ||
			!sim_clock_is_sound(&s->node.clock) || !are_events_sound(s))
		return false;
	for (uint32_t i = 0; i < s->n_gpus; i++) {
		if (!is_card_sound(s, &s->gpus[i]) || !is_gpu_sound(s, &s->gpus[i]))
			return false;
	}
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++) {
		if (s->clients[i].used && !ENDS(s->clients[i].name))
			return false;
	}
	for (uint32_t i = 0; i < SIM_FAULTS_MAX; i++) {
		const struct sim_fault *f = &s->faults[i];

		if (f->used && (f->kind > SIM_FAULT_DELAY || f->call >= s->n_calls))
			return false;
	}
	return true;
}

bool sim_sound_undo(const struct sim_undo *undo)
{
	const uint32_t first = offsetof(struct sim_state, node);
	const uint32_t end = offsetof(struct sim_state, calls);

	if (undo->n_ranges > SIM_UNDO_RANGES)
		return false;
	for (uint32_t i = 0; i < undo->n_ranges; i++) {
		const struct sim_undo_range *r = &undo->ranges[i];

		if (r->at > SIM_UNDO_BYTES || r->length > SIM_UNDO_BYTES - r->at ||
				r->offset < first || r->offset > end || r->length > end - r->offset)
			return false;
	}
	return true;
}
