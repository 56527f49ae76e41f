/* SPDX-License-Identifier: Apache-2.0 */
#include "model/holder.h"

#include <stdio.h>
#include <string.h>

/* Above the kernel's largest pid (2^22): never a living process by accident. */
#define FAKE_PID_BASE (1 << 22)

const char *const sim_holder_kinds[SIM_HOLDER_KINDS] = {
		[SIM_HOLDER_PROCESS] = "process",
		[SIM_HOLDER_DAEMON] = "daemon",
		[SIM_HOLDER_MODULE] = "module",
		[SIM_HOLDER_AGENT] = "agent",
		[SIM_HOLDER_UNKNOWN] = "unknown",
};

static const struct sim_gi *gi_at(const struct sim_gpu *gpu, int start)
{
	for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
		if (gpu->mig.gis[i].generation && (int) gpu->mig.gis[i].start == start)
			return &gpu->mig.gis[i];
	}
	return NULL;
}

static uint32_t lowest_ci(const struct sim_gi *gi)
{
	const struct sim_ci *lowest = NULL;

	for (uint32_t i = 0; i < SIM_CIS_MAX; i++) {
		const struct sim_ci *ci = &gi->cis[i];

		if (ci->generation && (!lowest || ci->id < lowest->id))
			lowest = ci;
	}
	return lowest ? lowest->generation : 0;
}

enum sim_result sim_holder_add(struct sim_tx *tx, uint32_t gpu, enum sim_holder_kind kind,
		int start, int32_t pid, const char *name)
{
	struct sim_gpu *g = &tx->state->gpus[gpu];
	const struct sim_gi *gi = start >= 0 ? gi_at(g, start) : NULL;

	if (start >= 0 && !gi)
		return SIM_NOT_FOUND;
	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		struct sim_holder *h = &g->holders[i];

		if (h->used)
			continue;
		sim_tx_touch(tx, h, sizeof(*h));
		sim_tx_touch(tx, &tx->state->node, sizeof(tx->state->node));
		h->used = 1;
		h->kind = kind;
		h->pid = pid ? pid : FAKE_PID_BASE + (int32_t) ++tx->state->node.fake_pids;
		h->gi_generation = gi ? gi->generation : 0;
		h->ci_generation = gi ? lowest_ci(gi) : 0;
		(void) snprintf(h->name, sizeof(h->name), "%s",
				name ? name : sim_holder_kinds[kind]);
		return SIM_OK;
	}
	return SIM_NO_ROOM;
}

uint32_t sim_holder_release(struct sim_tx *tx, uint32_t gpu, int start, int32_t pid)
{
	struct sim_gpu *g = &tx->state->gpus[gpu];
	const struct sim_gi *gi = start >= 0 ? gi_at(g, start) : NULL;
	uint32_t n = 0;

	if (start >= 0 && !gi)
		return 0;
	sim_tx_touch(tx, g->holders, sizeof(g->holders));
	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		struct sim_holder *h = &g->holders[i];

		if (!h->used || (gi && h->gi_generation != gi->generation) ||
				(pid && h->pid != pid))
			continue;
		memset(h, 0, sizeof(*h));
		n++;
	}
	return n;
}

bool sim_holder_has_channels(const struct sim_gpu *gpu)
{
	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		const struct sim_holder *h = &gpu->holders[i];

		if (h->used && !h->gi_generation && h->kind != SIM_HOLDER_DAEMON &&
				h->kind != SIM_HOLDER_AGENT)
			return true;
	}
	return false;
}

bool sim_holder_anywhere(const struct sim_gpu *gpu)
{
	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		if (gpu->holders[i].used)
			return true;
	}
	return false;
}

bool sim_holder_in(const struct sim_gpu *gpu, uint32_t gi_generation, uint32_t ci_generation)
{
	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		const struct sim_holder *h = &gpu->holders[i];

		if (h->used && h->gi_generation == gi_generation &&
				(!ci_generation || h->ci_generation == ci_generation))
			return true;
	}
	return false;
}

uint64_t sim_holder_used_mib(const struct sim_gpu *gpu, uint32_t gi_generation)
{
	uint64_t mib = 0;

	for (uint32_t i = 0; i < SIM_HOLDERS_MAX; i++) {
		const struct sim_holder *h = &gpu->holders[i];

		if (h->used && h->kind == SIM_HOLDER_PROCESS &&
				(!gi_generation || h->gi_generation == gi_generation))
			mib += SIM_PROCESS_MIB;
	}
	return mib;
}
