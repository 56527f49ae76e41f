/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/transition.h"

#include "plan/division.h"

static int write_out(const struct bh_division *d, const struct bh_spread *spread,
		struct bh_transition *ret_transition, struct bh_error *err)
{
	const struct bh_transition_problem *problem = d->problem;
	struct bh_transition t = {.n_gpus = problem->n_gpus,
			.total = spread->operations,
			.lower_bound = spread->least_operations,
			.proven = spread->operations == spread->least_operations};

	t.wants = calloc(t.n_gpus + 1, sizeof(*t.wants));
	t.operations = calloc(t.n_gpus + 1, sizeof(*t.operations));
	if (!t.wants || !t.operations) {
		bh_transition_free(&t);
		return bh_fail_memory(err);
	}
	for (size_t g = 0; g < t.n_gpus; g++) {
		size_t gpu = d->order[g];

		bh_mix_want(&problem->gpus[gpu], &d->names, spread->choice[g],
				problem->source ? problem->source : "", &t.wants[gpu]);
		t.operations[gpu] = spread->choice[g]->operations;
	}
	*ret_transition = t;
	return 0;
}

int bh_transition_find(const struct bh_transition_problem *problem,
		struct bh_transition *ret_transition, struct bh_error *err)
{
	struct bh_division division;
	struct bh_spread spread = {0};
	int r;

	if (bh_division_init(problem, &division, err) < 0)
		return -1;
	r = bh_division_solve(&division, /* any= */ false, &spread, NULL, err);
	if (r == BH_SPREAD_NONE)
		r = bh_division_refuse(&division, err);
	else if (r == 0)
		r = write_out(&division, &spread, ret_transition, err);
	bh_spread_free(&spread);
	bh_division_free(&division);
	return r;
}

void bh_transition_free(struct bh_transition *transition)
{
	free(transition->wants);
	free(transition->operations);
	*transition = (struct bh_transition){0};
}
