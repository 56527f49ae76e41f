/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "gpu/catalogue.h"
#include "plan/placer.h"
#include "plan/refuse.h"

/* Above every sum of costs of changes inside the GPU instances of one board. */
#define IMPOSSIBLE     1000U

/* More than all changes inside one GPU instance: a start that some boards refuse is the last resort. */
#define UNALIGNED_COST 100U

/* Every GPU instance can lose and gain all of its compute instances, and one switch goes with it. */
#define STEPS_MAX      (2 + 2 * BH_GIS_MAX * (1 + BH_CIS_MAX))

/* What happens inside a GPU instance that stays. */
struct ci_change {
	bool keep[BH_CIS_MAX];
	struct bh_placement creates[BH_CIS_MAX];
	size_t n_creates;
};

/* Everything that is decided about one GPU before it is written down as steps. */
struct decision {
	const struct bh_gpu *gpu;
	const struct bh_gpu_want *want;
	struct bh_place_problem problem;
	bool placed; /* there is a solution, so any fault lies inside the instances that stay */
	struct bh_place_solution solution;
	uint32_t costs[BH_GIS_MAX][BH_GIS_MAX]; /* of making an instance serve a wanted one */
	struct ci_change possible[BH_GIS_MAX][BH_GIS_MAX]; /* likewise, where that can be */
	struct ci_change changes[BH_GIS_MAX]; /* of the GPU's instances that stay and count */
	bool taken[BH_GIS_MAX];		      /* wanted instances that one of those serves */
};

static bool is_in_use(const struct bh_gi *gi)
{
	bool in_use = gi->busy;

	for (size_t c = 0; c < gi->n_cis; c++)
		in_use = in_use || gi->cis[c].busy;
	return in_use;
}

/* Compute instances that must stay; all of them if somebody is in one and nobody knows in which. */
static uint32_t fixed_cis(const struct bh_gi *gi)
{
	uint32_t busy = 0, foreign = 0, all = (1U << gi->n_cis) - 1;

	for (size_t c = 0; c < gi->n_cis; c++) {
		busy |= gi->cis[c].busy ? 1U << c : 0;
		foreign |= gi->cis[c].foreign ? 1U << c : 0;
	}
	return foreign | (gi->busy && !busy ? all : busy);
}

/* Takes one wanted compute instance of that size off the list. */
static bool take_size(uint32_t *sizes, size_t *n, uint32_t size)
{
	for (size_t i = 0; i < *n; i++) {
		if (sizes[i] != size)
			continue;
		memmove(&sizes[i], &sizes[i + 1], (*n - i - 1) * sizeof(*sizes));
		(*n)--;
		return true;
	}
	return false;
}

/* Keeps the compute instances of the mask, places the rest. Return: the cost, or IMPOSSIBLE. */
static uint32_t try_change(const struct bh_gi *gi, uint32_t slices, const struct bh_wanted_gi *want,
		uint32_t keep, struct ci_change *ret_change)
{
	struct ci_change change = {0};
	uint32_t sizes[BH_CIS_MAX], starts[BH_CIS_MAX], cost = 0;
	size_t n = want->n_cis;
	uint64_t taken = 0;

	memcpy(sizes, want->ci_slices, sizeof(sizes));
	for (size_t c = 0; c < gi->n_cis; c++) {
		const struct bh_ci *ci = &gi->cis[c];

		change.keep[c] = keep & 1U << c;
		cost += !change.keep[c];
		if (!change.keep[c])
			continue;
		taken |= bh_placement_mask(&ci->at);
		/* a foreign one does not count; any other must be wanted */
		if (!ci->foreign && !take_size(sizes, &n, ci->at.size))
			return IMPOSSIBLE;
	}
	if (!bh_place_slots(slices, taken, sizes, n, starts))
		return IMPOSSIBLE;
	for (size_t i = 0; i < n; i++) {
		change.creates[i] = (struct bh_placement){starts[i], sizes[i]};
		if (!bh_slot_is_aligned(starts[i], sizes[i]) && cost < UNALIGNED_COST)
			cost += UNALIGNED_COST;
	}
	change.n_creates = n;
	*ret_change = change;
	return cost + (uint32_t) n;
}

/* Which of the idle compute instances stay: all choices are tried, the most come first. */
static uint32_t change_inside(const struct bh_gpu *gpu, const struct bh_gi *gi,
		const struct bh_wanted_gi *want, struct ci_change *ret_change)
{
	const struct bh_gi_profile *profile = &gpu->profiles[want->profile];
	uint32_t best = IMPOSSIBLE, all = (1U << gi->n_cis) - 1;
	uint32_t fixed = fixed_cis(gi);

	if (profile->id != gi->profile_id)
		return IMPOSSIBLE;
	for (uint32_t gone = 0; gone <= all; gone++) {
		struct ci_change change;
		uint32_t cost;

		if (gone & fixed)
			continue;
		cost = try_change(gi, profile->slice_count, want, all & ~gone, &change);
		if (cost < best) {
			best = cost;
			*ret_change = change;
		}
	}
	return best;
}

static void set_roles(struct decision *d)
{
	const struct bh_gpu *gpu = d->gpu;

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];
		uint32_t least = IMPOSSIBLE;

		d->problem.roles[g] = bh_gi_role(gi);
		for (size_t w = 0; w < d->want->n_gis; w++) {
			d->costs[g][w] = change_inside(
					gpu, gi, &d->want->gis[w], &d->possible[g][w]);
			least = d->costs[g][w] < least ? d->costs[g][w] : least;
		}
		d->problem.keep_cost[g] = least;
	}
}

static bool wants_the_same(const struct bh_wanted_gi *a, const struct bh_wanted_gi *b)
{
	return a->profile == b->profile && a->profile_id == b->profile_id && a->n_cis == b->n_cis &&
	       memcmp(a->ci_slices, b->ci_slices, sizeof(a->ci_slices)) == 0;
}

/*
 * Which wanted instance each one that stays shall serve: the cheapest assignment, by trying all.
 * Equal wanted instances are tried once, so that the worst case stays small.
 */
static uint32_t assign(struct decision *d, size_t g, uint32_t bound)
{
	const struct bh_gpu *gpu = d->gpu;
	uint32_t best = IMPOSSIBLE;
	bool best_taken[BH_GIS_MAX], start_taken[BH_GIS_MAX];
	struct ci_change best_changes[BH_GIS_MAX];

	while (g < gpu->n_gis && (!d->solution.keep[g] || d->problem.roles[g] == BH_GI_ALIEN))
		g++;
	if (g == gpu->n_gis)
		return 0;
	memcpy(start_taken, d->taken, sizeof(start_taken));
	for (size_t w = 0; w < d->want->n_gis; w++) {
		const struct bh_wanted_gi *want = &d->want->gis[w];
		uint32_t cost = d->costs[g][w];

		if (start_taken[w] ||
				(w > 0 && !start_taken[w - 1] && wants_the_same(want, want - 1)))
			continue;
		if (cost >= bound || cost >= best)
			continue;
		memcpy(d->taken, start_taken, sizeof(start_taken));
		d->taken[w] = true;
		d->changes[g] = d->possible[g][w];
		cost += assign(d, g + 1, (best < bound ? best : bound) - cost);
		if (cost >= best)
			continue;
		best = cost;
		memcpy(best_taken, d->taken, sizeof(best_taken));
		memcpy(best_changes, d->changes, sizeof(best_changes));
	}
	if (best < IMPOSSIBLE) {
		memcpy(d->taken, best_taken, sizeof(best_taken));
		memcpy(d->changes, best_changes, sizeof(best_changes));
	}
	return best;
}

static struct bh_step *push(struct bh_gpu_plan *plan, enum bh_step_kind kind, const char *reason)
{
	struct bh_step *step = &plan->steps[plan->n_steps++];

	assert(plan->n_steps <= STEPS_MAX);
	*step = (struct bh_step){.kind = kind};
	memcpy(step->gpu, plan->before.uuid, sizeof(step->gpu));
	memcpy(step->pci, plan->before.pci, sizeof(step->pci));
	(void) snprintf(step->reason, sizeof(step->reason), "%s", reason);
	bh_utf8_clean(step->reason); /* it may name a file, and may have been cut */
	return step;
}

static void push_gi(struct bh_gpu_plan *plan, enum bh_step_kind kind, uint32_t profile_id,
		const struct bh_placement *at, const char *reason)
{
	const struct bh_gi_profile *profile = bh_gpu_find_profile(&plan->before, profile_id);
	struct bh_step *step = push(plan, kind, reason);

	step->profile_id = profile_id;
	step->at = *at;
	(void) snprintf(step->profile, sizeof(step->profile), "profile %u", profile_id);
	if (profile)
		memcpy(step->profile, profile->name, sizeof(step->profile));
	plan->operations += kind == BH_STEP_CREATE_GI || kind == BH_STEP_DESTROY_GI;
}

static void push_ci(struct bh_gpu_plan *plan, enum bh_step_kind kind, uint32_t profile_id,
		const struct bh_placement *at, const struct bh_placement *slices, const char *uuid,
		const char *reason)
{
	push_gi(plan, kind, profile_id, at, reason);
	plan->steps[plan->n_steps - 1].ci = *slices;
	(void) snprintf(plan->steps[plan->n_steps - 1].uuid, BH_UUID_SIZE, "%s", uuid);
}

static void push_mode(struct bh_gpu_plan *plan, bool on, const char *reason)
{
	const struct bh_model *model = bh_catalogue_by_pci_device_id(plan->before.pci_device_id);
	struct bh_step *step = push(plan, BH_STEP_SET_MIG, reason);
	const char *disturbs = "may reset the GPU inside the call";

	if (model && model->enable_needs_reset == BH_TRI_YES)
		disturbs = "reset inside the call";
	else if (model && model->enable_needs_reset == BH_TRI_NO)
		disturbs = "";
	step->on = on;
	(void) snprintf(step->disturbs, sizeof(step->disturbs), "%s", disturbs);
}

static void push_destroys(struct bh_gpu_plan *plan, const struct decision *d)
{
	static const char reason[] = "not in the wanted layout, or in its way";
	const struct bh_gpu *gpu = &plan->before;

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];
		bool stays = d && d->solution.keep[g];

		for (size_t c = 0; c < gi->n_cis; c++) {
			const struct bh_ci *ci = &gi->cis[c];

			if (stays && (gi->foreign || d->changes[g].keep[c]))
				continue;
			push_ci(plan, BH_STEP_DESTROY_CI, gi->profile_id, &gi->at, &ci->at,
					ci->uuid, reason);
		}
	}
	for (size_t g = 0; g < gpu->n_gis; g++) {
		if (!d || !d->solution.keep[g])
			push_gi(plan, BH_STEP_DESTROY_GI, gpu->gis[g].profile_id, &gpu->gis[g].at,
					reason);
	}
}

static void push_new_cis(struct bh_gpu_plan *plan, uint32_t profile_id,
		const struct bh_placement *at, const struct bh_placement *cis, size_t n,
		const char *reason)
{
	for (size_t c = 0; c < n; c++)
		push_ci(plan, BH_STEP_CREATE_CI, profile_id, at, &cis[c], "", reason);
}

/* The wanted instance of that profile that none of those that stay serves. */
static const struct bh_wanted_gi *take_wanted(struct decision *d, size_t profile)
{
	for (size_t w = 0; w < d->want->n_gis; w++) {
		if (!d->taken[w] && d->want->gis[w].profile == profile) {
			d->taken[w] = true;
			return &d->want->gis[w];
		}
	}
	return NULL;
}

static int push_creates(struct bh_gpu_plan *plan, struct decision *d, struct bh_error *err)
{
	const struct bh_gpu *gpu = &plan->before;

	for (size_t g = 0; g < gpu->n_gis; g++)
		push_new_cis(plan, gpu->gis[g].profile_id, &gpu->gis[g].at, d->changes[g].creates,
				d->changes[g].n_creates, d->want->source);
	for (size_t i = 0; i < d->solution.n_creates; i++) {
		const struct bh_placed_gi *placed = &d->solution.creates[i];
		const struct bh_gi_profile *profile = &gpu->profiles[placed->profile];
		const struct bh_wanted_gi *want = take_wanted(d, placed->profile);
		struct bh_placement cis[BH_CIS_MAX];
		uint32_t starts[BH_CIS_MAX];

		if (!want || !bh_place_slots(profile->slice_count, 0, want->ci_slices, want->n_cis,
					     starts))
			return bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
					"the compute instances wanted in one %s have no room in it",
					profile->name);
		for (size_t c = 0; c < want->n_cis; c++)
			cis[c] = (struct bh_placement){starts[c], want->ci_slices[c]};
		push_gi(plan, BH_STEP_CREATE_GI, profile->id, &placed->at, d->want->source);
		push_new_cis(plan, profile->id, &placed->at, cis, want->n_cis, d->want->source);
	}
	return 0;
}

/* A board switches its memory system at the first instance, and wants to be alone for it. */
static bool makes_first_gi(const struct bh_gpu_plan *plan)
{
	struct bh_gpu gpu = plan->before;

	for (size_t i = 0; i < plan->n_steps; i++) {
		if (plan->steps[i].kind == BH_STEP_CREATE_GI && gpu.n_gis == 0)
			return true;
		if (bh_step_predict(&plan->steps[i], &gpu, NULL) < 0)
			return false;
	}
	return false;
}

/* 0 when there is a way, BH_PLACE_NONE when there is none. */
static int decide(struct decision *d, const struct bh_gpu *gpu, const struct bh_gpu_want *want,
		uint32_t *budget, struct bh_error *err)
{
	int r;

	*d = (struct decision){.gpu = gpu, .want = want, .problem = {.gpu = gpu, .budget = budget}};
	for (size_t i = 0; i < gpu->n_profiles; i++)
		d->problem.counts[i] = bh_want_count(want, i);
	set_roles(d);
	r = bh_place(&d->problem, &d->solution, err);
	if (r != 0)
		return r;
	d->placed = true;
	return assign(d, 0, IMPOSSIBLE) < IMPOSSIBLE ? 0 : BH_PLACE_NONE;
}

static bool fits_on(const struct bh_gpu *gpu, const struct decision *as)
{
	struct decision d;

	return decide(&d, gpu, as->want, as->problem.budget, NULL) == 0;
}

static bool fits_without(const struct decision *d, bool of_strangers)
{
	struct bh_gpu freed = *d->gpu;

	for (size_t g = 0; g < freed.n_gis; g++)
		(void) bh_gi_set_free(&freed.gis[g], of_strangers);
	return fits_on(&freed, d);
}

/* Names the instance whose going alone would help; if no single one does, the first of its kind. */
static int refuse(const struct decision *d, struct bh_error *err)
{
	const struct bh_gpu *gpu = d->gpu;
	const char *what = d->placed ? "the compute instances that must stay leave no room for "
				       "those wanted"
				     : "the wanted layout has no room beside what must stay";
	const struct bh_gi *blocker = NULL;
	struct bh_gpu bare = *gpu;
	bool of_strangers;

	bare.n_gis = 0;
	if (!fits_on(&bare, d))
		return bh_refuse_size(&d->problem, err);
	of_strangers = !fits_without(d, false) && fits_without(d, true);
	for (size_t g = 0; g < gpu->n_gis; g++) {
		struct bh_gpu freed = *gpu;

		if (!bh_gi_set_free(&freed.gis[g], of_strangers))
			continue;
		if (!blocker)
			blocker = &gpu->gis[g];
		if (fits_on(&freed, d)) {
			blocker = &gpu->gis[g];
			break;
		}
	}
	if (*d->problem.budget == 0)
		return bh_place_give_up(gpu, err);
	if (!blocker)
		return bh_refuse_size(&d->problem, err);
	return bh_refuse_instance(gpu, blocker, of_strangers, what, err);
}

static bool overlap(const struct bh_step *a, const struct bh_step *b)
{
	return (bh_placement_mask(&a->at) & bh_placement_mask(&b->at)) != 0;
}

static bool is_of_block(const struct bh_step *step, const struct bh_step *first)
{
	return !bh_step_takes_away(step) && step->at.start == first->at.start &&
	       step->at.size == first->at.size;
}

static const char *attribute(const char *profile)
{
	const char *text = strpbrk(profile, "+-");

	return text ? text : "";
}

/* May the new one stand beside the old ones that it does not overlap, and are there any? */
static bool can_come_early(const struct bh_gpu_plan *plan, const struct bh_step *create)
{
	const struct bh_gi_profile *profile =
			bh_gpu_find_profile(&plan->before, create->profile_id);
	uint32_t beside = 0, alike = 1, most = profile ? profile->max_instances : 0;

	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct bh_step *step = &plan->steps[i];

		if (step->kind != BH_STEP_DESTROY_GI || overlap(step, create))
			continue;
		beside++;
		alike += step->profile_id == create->profile_id;
		if (attribute(step->profile)[0] == '+')
			return false; /* of media engines and the like there may be one only */
	}
	return beside > 0 && beside < BH_GIS_MAX && alike <= most && !attribute(create->profile)[0];
}

/* A new GPU instance that leaves at least one of the old ones in peace; NULL if there is none. */
static const struct bh_step *find_early(const struct bh_gpu_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		if (plan->steps[i].kind == BH_STEP_CREATE_GI &&
				can_come_early(plan, &plan->steps[i]))
			return &plan->steps[i];
	}
	return NULL;
}

/*
 * Between the last old and the first new GPU instance a board changes its memory system, twice, and
 * refuses the second change to whoever holds it without being listed. So where every old instance
 * goes, one new one comes before the last of them.
 */
static int keep_one(struct bh_gpu_plan *plan, const struct decision *d, struct bh_error *err)
{
	bh_auto_free struct bh_step *sorted = NULL;
	const struct bh_step *early;
	size_t n = 0;

	for (size_t g = 0; g < plan->before.n_gis; g++) {
		if (d->solution.keep[g])
			return 0;
	}
	early = find_early(plan);
	if (!early)
		return 0;
	sorted = calloc(STEPS_MAX, sizeof(*sorted));
	if (!sorted)
		return bh_fail_memory(err);
	for (int pass = 0; pass < 5; pass++) {
		for (size_t i = 0; i < plan->n_steps; i++) {
			const struct bh_step *step = &plan->steps[i];
			int turn = !bh_step_is_about(step, BH_TARGET_GI) ? 0
				   : bh_step_takes_away(step) ? (overlap(step, early) ? 1 : 3)
				   : is_of_block(step, early) ? 2
							      : 4;

			if (turn == pass)
				sorted[n++] = *step;
		}
	}
	memcpy(plan->steps, sorted, n * sizeof(*sorted));
	return 0;
}

static int plan_layout(
		struct bh_gpu_plan *plan, const struct bh_gpu_want *want, struct bh_error *err)
{
	uint32_t budget = BH_PLACE_BUDGET;
	struct decision d;
	int r = decide(&d, &plan->before, want, &budget, err);

	if (r < 0)
		return -1;
	if (r == BH_PLACE_NONE)
		return refuse(&d, err);
	push_destroys(plan, &d);
	if (push_creates(plan, &d, err) < 0)
		return -1;
	return keep_one(plan, &d, err);
}

static int plan_mode_off(struct bh_gpu_plan *plan, const char *reason, struct bh_error *err)
{
	const struct bh_gpu *gpu = &plan->before;

	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];

		if (bh_gi_role(gi) == BH_GI_IDLE)
			continue;
		bh_refuse_instance(gpu, gi, gi->foreign || !is_in_use(gi),
				"cannot switch MIG mode off", err);
		for (g++; g < gpu->n_gis; g++) {
			if (is_in_use(&gpu->gis[g]))
				bh_refuse_add_holders(gpu, &gpu->gis[g], err);
		}
		return -1;
	}
	push_destroys(plan, NULL);
	push_mode(plan, false, reason);
	return 0;
}

/* Would the plan end something that may be in use, or need the board to itself? */
static bool touches_others(const struct bh_gpu_plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		if (bh_step_takes_away(&plan->steps[i]))
			return true;
	}
	return makes_first_gi(plan);
}

static bool mode_is(const struct bh_gpu *gpu, enum bh_mig_mode mode)
{
	return gpu->mig_current == mode && gpu->mig_pending == mode;
}

static int plan_steps(
		struct bh_gpu_plan *plan, const struct bh_gpu_want *want, struct bh_error *err)
{
	const struct bh_gpu *gpu = &plan->before;
	bool switches = !mode_is(gpu, want->mig_on ? BH_MIG_ON : BH_MIG_OFF);
	char label[160];

	bh_gpu_label(gpu, label, sizeof(label));
	if (!gpu->mig_capable && !want->mig_on)
		return 0;
	if (!gpu->mig_capable)
		return bh_fail(err, BH_E_MIG_UNSUPPORTED, BH_SRC_SELF, 0, "%s has no MIG", label);
	if (gpu->mig_current == BH_MIG_UNKNOWN || gpu->mig_pending == BH_MIG_UNKNOWN)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"%s: the MIG mode cannot be read, so nothing is planned", label);
	if (switches && bh_gpu_is_held(gpu))
		return bh_refuse_gpu_holders(gpu,
				want->mig_on ? "cannot switch MIG mode on"
					     : "cannot switch MIG mode off",
				err);
	if (switches && !gpu->holders_known)
		return bh_refuse_unknown(gpu, err);
	push(plan, BH_STEP_QUIESCE, "no reader of ours may be the client in the way");
	if (!want->mig_on)
		return switches ? plan_mode_off(plan, want->source, err) : 0;
	if (switches)
		push_mode(plan, true, want->source);
	if (plan_layout(plan, want, err) < 0)
		return -1;
	if (!gpu->holders_known && touches_others(plan))
		return bh_refuse_unknown(gpu, err);
	if (bh_gpu_is_held(gpu) && makes_first_gi(plan))
		return bh_refuse_gpu_holders(gpu, "cannot create the first GPU instance", err);
	return 0;
}

int bh_plan_gpu(const struct bh_gpu *gpu, const struct bh_gpu_want *want,
		struct bh_gpu_plan *ret_plan, struct bh_error *err)
{
	struct bh_gpu_plan plan = {.in_scope = want->in_scope, .before = *gpu, .after = *gpu};

	if (!want->in_scope) {
		*ret_plan = plan;
		return 0;
	}
	plan.wanted_mode = want->mig_on ? BH_MIG_ON : BH_MIG_OFF;
	plan.steps = calloc(STEPS_MAX, sizeof(*plan.steps));
	if (!plan.steps)
		return bh_fail_memory(err);
	if (plan_steps(&plan, want, err) < 0)
		goto fail;
	if (plan.n_steps == 1) /* nothing but quiesce: nothing to be quiet for */
		plan.n_steps = 0;
	for (size_t i = 0; i < plan.n_steps; i++) {
		if (bh_step_predict(&plan.steps[i], &plan.after, err) < 0) {
			bh_while(err, "step %zu of the plan", i + 1);
			goto fail;
		}
	}
	*ret_plan = plan;
	return 0;
fail:
	free(plan.steps);
	return -1;
}

void bh_gpu_plan_free(struct bh_gpu_plan *plan)
{
	if (!plan)
		return;
	free(plan->steps);
	plan->steps = NULL;
	plan->n_steps = 0;
}
