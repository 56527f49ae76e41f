/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include <stdio.h>
#include <string.h>

json_t *view_mode(enum bh_mig_mode mode)
{
	if (mode == BH_MIG_UNKNOWN)
		return json_null();
	return json_string(mode == BH_MIG_ON ? "enabled" : "disabled");
}

const char *view_mode_word(enum bh_mig_mode mode)
{
	return mode == BH_MIG_ON ? "on" : mode == BH_MIG_OFF ? "off" : "unknown";
}

const char *view_profile_name(const struct bh_gpu *gpu, uint32_t profile_id)
{
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if (gpu->profiles[i].id == profile_id)
			return gpu->profiles[i].name;
	}
	return "?";
}

static json_t *number_or_null(uint32_t number)
{
	return number == BH_UNKNOWN ? json_null() : json_integer(number);
}

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *instance(const struct bh_gpu *gpu, const struct bh_gi *gi, const struct bh_ci *ci)
{
	return json_pack("{s:o, s:o, s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:b, s:b, s:n}", "gi",
			number_or_null(gi->id), "ci", ci ? number_or_null(ci->id) : json_null(),
			"profile", view_profile_name(gpu, gi->profile_id), "profile_id",
			gi->profile_id, "start", gi->at.start, "size", gi->at.size, "ci_start",
			ci ? json_integer(ci->at.start) : json_null(), "slices",
			ci ? json_integer(ci->at.size) : json_null(), "uuid",
			ci ? text_or_null(ci->uuid) : json_null(), "memory_mib",
			gi->memory_mib == BH_UNKNOWN64 ? json_null()
						       : json_integer((json_int_t) gi->memory_mib),
			"busy", ci ? ci->busy : gi->busy, "foreign",
			gi->foreign || (ci && ci->foreign), "tenant");
}

json_t *view_instances(const struct bh_gpu *gpu)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		if (gi->n_cis == 0 && json_array_append_new(rows, instance(gpu, gi, NULL)) < 0)
			return NULL;
		for (size_t c = 0; c < gi->n_cis; c++) {
			if (json_array_append_new(rows, instance(gpu, gi, &gi->cis[c])) < 0)
				return NULL;
		}
	}
	return BH_TAKE(rows);
}

/* The instances of @before that no step of the plan touches. */
static bool is_kept(const struct bh_gpu_plan *plan, const struct bh_gi *gi, const struct bh_ci *ci)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct bh_step *step = &plan->steps[i];

		if (step->profile_id != gi->profile_id || step->at.start != gi->at.start)
			continue;
		if (step->kind == BH_STEP_DESTROY_GI)
			return false;
		if (step->kind == BH_STEP_DESTROY_CI && ci && step->ci.start == ci->at.start)
			return false;
	}
	return true;
}

static json_t *kept(const struct bh_gpu_plan *plan)
{
	bh_auto_json json_t *rows = json_array();
	const struct bh_gpu *gpu = &plan->before;

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		if (gi->n_cis == 0 && is_kept(plan, gi, NULL) &&
				json_array_append_new(rows, instance(gpu, gi, NULL)) < 0)
			return NULL;
		for (size_t c = 0; c < gi->n_cis; c++) {
			if (is_kept(plan, gi, &gi->cis[c]) &&
					json_array_append_new(
							rows, instance(gpu, gi, &gi->cis[c])) < 0)
				return NULL;
		}
	}
	return BH_TAKE(rows);
}

static json_t *steps(const struct bh_gpu_plan *plan)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < plan->n_steps; i++) {
		if (json_array_append_new(rows, bh_step_to_json(&plan->steps[i])) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

json_t *view_plan_gpu(const struct bh_gpu_plan *plan, const struct bh_gpu *now)
{
	static const char *const needs[] = {[BH_NEEDS_NONE] = "none",
			[BH_NEEDS_RESET] = "reset",
			[BH_NEEDS_REBOOT] = "reboot"};
	const struct bh_gpu *gpu = &plan->before;

	return json_pack("{s:i, s:s, s:s, s:b, s:{s:o, s:o, s:o}, s:s, s:o, s:o, s:o}", "index",
			gpu->index, "uuid", gpu->uuid, "pci", gpu->pci, "in_scope", plan->in_scope,
			"mig", "current", view_mode(now->mig_current), "pending",
			view_mode(now->mig_pending), "wanted", view_mode(plan->wanted_mode),
			"needs", needs[plan->needs], "keep", kept(plan), "steps", steps(plan),
			"final", view_instances(now));
}

uint64_t view_stranded_units(const struct bh_gpu *gpu)
{
	uint64_t taken = 0, reachable = 0, all = 0;

	if (gpu->mig_current != BH_MIG_ON || gpu->n_profiles == 0 ||
			gpu->placement_units > BH_UNITS_MAX)
		return 0;
	for (size_t g = 0; g < gpu->n_gis; g++)
		taken |= bh_placement_mask(&gpu->gis[g].at);
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		for (size_t k = 0; k < gpu->profiles[i].n_placements; k++) {
			uint64_t mask = bh_placement_mask(&gpu->profiles[i].placements[k]);

			all |= mask;
			if (!(mask & taken))
				reachable |= mask;
		}
	}
	return all & ~taken & ~reachable;
}

/* "|*3g.40gb          |1g.10gb |.       |x       |": * in use, ! not ours, . free, x out of reach */
void view_print_units(const struct bh_gpu *gpu)
{
	int cell = gpu->placement_units <= 8 ? 9 : 6; /* a board within 80 columns */
	uint64_t stranded = view_stranded_units(gpu);
	uint32_t unit = 0;

	(void) printf("  |");
	while (unit < gpu->placement_units) {
		const struct bh_gi *here = NULL;
		char text[BH_NAME_SIZE + 8];
		int width;

		for (size_t g = 0; g < gpu->n_gis; g++) {
			if (gpu->gis[g].at.start == unit)
				here = &gpu->gis[g];
		}
		/* the marks first: a name may be cut, they may not */
		if (here)
			(void) snprintf(text, sizeof(text), "%s%s%s", here->busy ? "*" : "",
					view_is_foreign(here) ? "!" : "",
					view_profile_name(gpu, here->profile_id));
		else
			(void) snprintf(text, sizeof(text), "%s", stranded >> unit & 1 ? "x" : ".");
		width = (here ? (int) here->at.size : 1) * cell - 1;
		(void) printf("%-*.*s|", width, width, text);
		unit += here ? here->at.size : 1;
	}
	(void) printf("\n");
}

bool view_is_foreign(const struct bh_gi *gi)
{
	bool foreign = gi->foreign;

	for (size_t c = 0; c < gi->n_cis; c++)
		foreign = foreign || gi->cis[c].foreign;
	return foreign;
}

static bool is_whole(const struct bh_gpu_holder *holder)
{
	return holder->gi == BH_UNKNOWN;
}

/* "  1g.10gb at 2: in use by process 4242 (train)", and who holds the GPU as a whole */
void view_print_holders(const struct bh_gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_holders; i++) {
		const struct bh_gpu_holder *h = &gpu->holders[i];

		if (is_whole(h))
			(void) printf("  the whole GPU: held by %s %d (%s)\n", h->who.kind,
					(int) h->who.pid, h->who.name);
		for (size_t g = 0; g < gpu->n_gis; g++) {
			if (!is_whole(h) && gpu->gis[g].id == h->gi)
				(void) printf("  %s at %u: in use by %s %d (%s)\n",
						view_profile_name(gpu, gpu->gis[g].profile_id),
						gpu->gis[g].at.start, h->who.kind, (int) h->who.pid,
						h->who.name);
		}
	}
	if (gpu->more_holders)
		(void) printf("  and %zu holders more\n", gpu->more_holders);
	if (!gpu->holders_known)
		(void) printf("  who holds it cannot be read\n");
}

static void print_step(const struct bh_step *step)
{
	char text[160];

	if (step->kind == BH_STEP_QUIESCE)
		return;
	bh_step_describe(step, text, sizeof(text));
	(void) printf("  %c %s", strncmp(text, "destroy", 7) == 0 ? '-' : '+', text);
	if (step->uuid[0])
		(void) printf(" (%s)", step->uuid);
	if (step->disturbs[0])
		(void) printf(" [%s]", step->disturbs);
	(void) printf("\n");
}

void view_print_plan_gpu(const struct bh_gpu_plan *plan)
{
	const struct bh_gpu *gpu = &plan->before;

	(void) printf("GPU %u %s %s\n", gpu->index, gpu->name, gpu->uuid);
	if (!plan->in_scope) {
		(void) printf("  not in this configuration, left as found (MIG %s, %zu "
			      "instance%s)\n",
				view_mode_word(gpu->mig_current), gpu->n_gis,
				gpu->n_gis == 1 ? "" : "s");
		return;
	}
	for (size_t g = 0; g < gpu->n_gis; g++) {
		if (is_kept(plan, &gpu->gis[g], NULL))
			(void) printf("    keep GPU instance %s at %u%s%s\n",
					view_profile_name(gpu, gpu->gis[g].profile_id),
					gpu->gis[g].at.start, gpu->gis[g].busy ? " (in use)" : "",
					gpu->gis[g].foreign ? " (not ours)" : "");
	}
	for (size_t i = 0; i < plan->n_steps; i++)
		print_step(&plan->steps[i]);
	if (plan->n_steps == 0)
		(void) printf("  nothing to do\n");
	if (plan->after.mig_current == BH_MIG_ON)
		view_print_units(&plan->after);
}
