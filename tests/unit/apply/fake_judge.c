/* SPDX-License-Identifier: Apache-2.0 */
/* What must be so on the machine and in the ledger when a run has ended. */
#include "fake_machine.h"

#include <stdio.h>
#include <string.h>

#include "ledger/owned.h"

bool fake_layout_is(const struct fake_machine *machine, const struct bh_gpu *layout)
{
	const struct bh_gpu *gpu = &machine->gpu;

	if (gpu->mig_current != layout->mig_current || gpu->mig_pending != layout->mig_pending ||
			gpu->n_gis != layout->n_gis)
		return false;
	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *a = &gpu->gis[g], *b = &layout->gis[g];

		if (a->profile_id != b->profile_id || a->at.start != b->at.start ||
				a->at.size != b->at.size || a->n_cis != b->n_cis)
			return false;
		for (size_t c = 0; c < a->n_cis; c++) {
			if (a->cis[c].at.start != b->cis[c].at.start ||
					a->cis[c].at.size != b->cis[c].at.size)
				return false;
		}
	}
	return true;
}

void fake_check_strangers(struct fake_machine *machine)
{
	struct bh_gpu seen = machine->gpu;
	struct bh_error err = {0};

	if (bh_owned_mark(machine->ledger, &seen, &err) < 0)
		FAKE_CHECK(machine, false, "%s", err.message);
	for (size_t g = 0; g < seen.n_gis; g++) {
		const struct bh_gi *gi = &seen.gis[g];
		bool ends = machine->ended && machine->result.end != BH_RUN_LEFT;

		/* what is left under way may not be in the list yet, never the other way round */
		FAKE_CHECK(machine, gi->foreign || machine->ours[gi->id],
				"the instance at %u counts as ours", gi->at.start);
		FAKE_CHECK(machine, !ends || !gi->foreign || !machine->ours[gi->id],
				"the instance at %u counts as foreign", gi->at.start);
		for (size_t c = 0; c < gi->n_cis; c++)
			FAKE_CHECK(machine, gi->cis[c].foreign || machine->ours[gi->cis[c].id],
					"%s counts as ours", gi->cis[c].uuid);
	}
}

void fake_check_owned(struct fake_machine *machine)
{
	struct bh_gpu seen = machine->gpu;
	struct bh_error err = {0};
	int n_gis = 0, n_cis = 0;

	if (bh_owned_mark(machine->ledger, &seen, &err) < 0)
		FAKE_CHECK(machine, false, "%s", err.message);
	for (size_t g = 0; g < seen.n_gis; g++) {
		const struct bh_gi *gi = &seen.gis[g];

		FAKE_CHECK(machine, gi->foreign == !machine->ours[gi->id],
				"the instance at %u counts as %s", gi->at.start,
				gi->foreign ? "foreign" : "ours");
		n_gis += machine->ours[gi->id];
		for (size_t c = 0; c < gi->n_cis; c++) {
			FAKE_CHECK(machine, gi->cis[c].foreign == !machine->ours[gi->cis[c].id],
					"%s counts as %s", gi->cis[c].uuid,
					gi->cis[c].foreign ? "foreign" : "ours");
			n_cis += machine->ours[gi->cis[c].id];
		}
	}
	FAKE_CHECK(machine, fake_query_int(machine, "SELECT COUNT(*) FROM owned_gi") == n_gis,
			"%d GPU instances are ours, the list has others", n_gis);
	FAKE_CHECK(machine, fake_query_int(machine, "SELECT COUNT(*) FROM owned_ci") == n_cis,
			"%d compute instances are ours, the list has others", n_cis);
}

void fake_check_busy(struct fake_machine *machine)
{
	bool found = machine->rebooted || !machine->busy_uuid[0];

	for (size_t g = 0; g < machine->gpu.n_gis; g++)
		found = found ||
			(machine->gpu.gis[g].n_cis && strcmp(machine->gpu.gis[g].cis[0].uuid,
								      machine->busy_uuid) == 0);
	FAKE_CHECK(machine, found, "the busy instance is gone");
}

static void check_journal_says(struct fake_machine *machine, const char *state)
{
	char found[32];

	fake_query(machine, "SELECT state FROM run ORDER BY id DESC LIMIT 1", found, sizeof(found));
	FAKE_CHECK(machine, strcmp(found, state) == 0, "the journal says '%s', it is '%s'", found,
			state);
}

void fake_check_end(struct fake_machine *machine)
{
	static const char *const states[] = {
			[BH_RUN_DONE] = "done",
			[BH_RUN_ROLLED_BACK] = "rolled-back",
			[BH_RUN_ABANDONED] = "abandoned",
			[BH_RUN_LEFT] = "open",
	};
	const struct bh_run_result *result = &machine->result;

	FAKE_CHECK(machine, machine->ended, "it has not ended");
	FAKE_CHECK(machine, !machine->acted || result->touched,
			"it changed something, and denies it");
	check_journal_says(machine, states[result->end]);
	fake_check_busy(machine);
	if (result->end == BH_RUN_DONE) {
		FAKE_CHECK(machine, fake_layout_is(machine, &machine->plan.after),
				"it says done, and is not");
		FAKE_CHECK(machine, !result->err.message[0], "done, with an error");
	} else {
		FAKE_CHECK(machine, result->err.message[0], "no first cause is told");
	}
	if (result->end == BH_RUN_ROLLED_BACK) {
		FAKE_CHECK(machine, fake_layout_is(machine, &machine->old),
				"it says rolled back, and is not");
		FAKE_CHECK(machine, result->n_left == 0, "rolled back, and something is left");
	}
	if (result->end == BH_RUN_DONE || result->end == BH_RUN_ROLLED_BACK)
		fake_check_owned(machine);
	if (result->end == BH_RUN_LEFT) {
		FAKE_CHECK(machine, result->undo_err.message[0], "left, and no cause is told");
		FAKE_CHECK(machine, result->n_left > 0 || fake_layout_is(machine, &machine->old),
				"something is left and not counted");
	}
	FAKE_CHECK(machine, result->end != BH_RUN_ABANDONED, "abandoned, and nobody else acted");
}

void fake_check_closed(struct fake_machine *machine)
{
	char state[32];
	bool done, back;

	FAKE_CHECK(machine,
			fake_query_int(machine, "SELECT COUNT(*) FROM run WHERE state = 'open'") ==
					0,
			"a run is open");
	fake_query(machine, "SELECT state FROM run ORDER BY id DESC LIMIT 1", state, sizeof(state));
	done = strcmp(state, "done") == 0;
	back = strcmp(state, "rolled-back") == 0 || !state[0];
	FAKE_CHECK(machine, done || back, "the run is '%s'", state);
	FAKE_CHECK(machine, fake_layout_is(machine, done ? &machine->plan.after : &machine->old),
			"the run is '%s', the layout is not", state);
	fake_check_busy(machine);
	fake_check_owned(machine);
}
