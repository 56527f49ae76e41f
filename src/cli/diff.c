/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diff.h"

#include <string.h>

#include "cli/picture.h"
#include "cli/terminal.h"
#include "cli/view.h"

static bool is_in_same_gi(const struct bh_step *a, const struct bh_step *b)
{
	return a->profile_id == b->profile_id && a->at.start == b->at.start;
}

/* The kind of the steps on compute instances that belong to a step on their GPU instance. */
static enum bh_step_kind inner_kind(const struct bh_step *step)
{
	if (step->kind == BH_STEP_CREATE_GI)
		return BH_STEP_CREATE_CI;
	return step->kind == BH_STEP_DESTROY_GI ? BH_STEP_DESTROY_CI : BH_STEP_KIND_COUNT;
}

static bool is_told_with_its_gi(const struct bh_gpu_plan *plan, const struct bh_step *step)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		if (inner_kind(&plan->steps[i]) == step->kind &&
				is_in_same_gi(&plan->steps[i], step))
			return true;
	}
	return false;
}

static bool is_whole(const struct bh_gpu *gpu, const struct bh_step *ci)
{
	const struct bh_gi_profile *profile = bh_gpu_find_profile(gpu, ci->profile_id);

	return profile && profile->slice_count == ci->ci.size;
}

/* " with 2 compute instances (1, 2 slices)": sizes where it is not one that takes all */
static void describe_inner(
		const struct bh_gpu_plan *plan, const struct bh_step *step, char *text, size_t size)
{
	char slices[BH_CIS_MAX * 12] = "", uuids[BH_CIS_MAX * (BH_UUID_SIZE + 2)] = "";
	size_t n = 0, used = 0, named = 0;
	bool whole = true;

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct bh_step *ci = &plan->steps[i];

		if (ci->kind != inner_kind(step) || !is_in_same_gi(ci, step) ||
				used >= sizeof(slices) || named >= sizeof(uuids))
			continue;
		used += (size_t) snprintf(slices + used, sizeof(slices) - used, "%s%u",
				n ? ", " : "", ci->ci.size);
		if (ci->uuid[0])
			named += (size_t) snprintf(uuids + named, sizeof(uuids) - named, "%s%s",
					named ? ", " : "", ci->uuid);
		whole = is_whole(&plan->before, ci);
		n++;
	}
	text[0] = '\0';
	if (n == 0)
		return;
	if (n == 1 && whole)
		slices[0] = '\0';
	(void) snprintf(text, size, " with %zu compute instance%s%s%s%s%s%s%s", n,
			n == 1 ? "" : "s", slices[0] ? " of " : "", slices,
			!slices[0]		   ? ""
			: strcmp(slices, "1") == 0 ? " slice"
						   : " slices",
			uuids[0] ? " (" : "", uuids, uuids[0] ? ")" : "");
}

static void print_step(const struct bh_gpu_plan *plan, const struct bh_step *step)
{
	bool switches = bh_step_kind_info(step->kind)->target == BH_TARGET_MODE;
	bool goes = bh_step_takes_away(step) || (switches && !step->on);
	char text[160], inner[1200];

	if (step->kind == BH_STEP_QUIESCE || is_told_with_its_gi(plan, step))
		return;
	bh_step_describe(step, text, sizeof(text));
	describe_inner(plan, step, inner, sizeof(inner));
	cli_line(stdout, goes ? CLI_RED : CLI_GREEN, 4, "  %c %s%s%s%s%s%s%s%s", goes ? '-' : '+',
			text, inner, step->uuid[0] ? " (" : "", step->uuid,
			step->uuid[0] ? ")" : "", step->disturbs[0] ? " [" : "", step->disturbs,
			step->disturbs[0] ? "]" : "");
}

static void print_picture(const char *when, const struct bh_gpu *gpu)
{
	if (gpu->mig_current != BH_MIG_ON) {
		cli_line(stdout, CLI_PLAIN, 4, "  %s: MIG %s", when,
				view_mode_word(gpu->mig_current));
		return;
	}
	cli_line(stdout, CLI_PLAIN, 4, "  %s:", when);
	picture_units(gpu);
}

void diff_print(const struct bh_gpu_plan *plan)
{
	const struct bh_gpu *gpu = &plan->before;

	cli_line(stdout, CLI_STRONG, 4, "GPU %u %s %s", gpu->index, gpu->name, gpu->uuid);
	if (!plan->in_scope) {
		cli_line(stdout, CLI_PLAIN, 4,
				"  not in this configuration, left as found (MIG %s, %zu "
				"instance%s)",
				view_mode_word(gpu->mig_current), gpu->n_gis,
				gpu->n_gis == 1 ? "" : "s");
		return;
	}
	if (plan->n_steps > 0)
		print_picture("before", gpu);
	for (size_t g = 0; g < gpu->n_gis; g++) {
		if (view_is_kept(plan, &gpu->gis[g], NULL))
			cli_line(stdout, CLI_PLAIN, 4, "  = keep GPU instance %s at %u%s%s",
					view_profile_name(gpu, gpu->gis[g].profile_id),
					gpu->gis[g].at.start, gpu->gis[g].busy ? " (in use)" : "",
					view_is_foreign(&gpu->gis[g]) ? " (not ours)" : "");
	}
	for (size_t i = 0; i < plan->n_steps; i++)
		print_step(plan, &plan->steps[i]);
	if (plan->needs != BH_NEEDS_NONE)
		cli_line(stdout, CLI_YELLOW, 4, "  needs a %s",
				plan->needs == BH_NEEDS_RESET ? "GPU reset" : "reboot");
	if (plan->n_steps > 0) {
		print_picture("after", &plan->after);
		return;
	}
	cli_line(stdout, CLI_PLAIN, 4, "  nothing to do");
	if (gpu->mig_current == BH_MIG_ON)
		picture_units(gpu);
}
