/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sets of GPU instances that the rules allow, enumerated, against the published counts
 * (data/gpu-models/README): sets with the empty one, mixes of profiles, and maximal sets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "model/rules.h"
#include "model/topology.h"
#include "nvml/calls.h"

#define PAIRS_MAX 64
#define MIXES_MAX 531441 /* 9 to the 6th: up to 8 of each of 6 profiles */

struct walk {
	const struct sim_board *board;
	struct {
		uint32_t row;
		const struct sim_gi_place *place;
	} pairs[PAIRS_MAX];
	size_t n_pairs;
	unsigned int sets, mixes, maximal;
	bool *seen; /* by mix */
};

static void put(struct sim_mig *mig, uint32_t row, const struct sim_gi_place *place)
{
	mig->gis[mig->n_gis++] = (struct sim_gi){.generation = 1,
			.id = place->node,
			.row = row,
			.start = place->start,
			.size = place->size};
}

static void note(struct walk *w, const struct sim_mig *mig)
{
	uint32_t mix = 0;
	bool grows = false;

	w->sets++;
	for (size_t i = 0; i < w->n_pairs; i++)
		grows |= sim_gi_fits(w->board, mig, w->pairs[i].row, w->pairs[i].place);
	w->maximal += !grows;
	for (uint32_t i = 0; i < mig->n_gis; i++) {
		uint32_t weight = 1;

		/* the nth kind of profile in the list of pairs has weight 9^n */
		for (size_t p = 0; w->pairs[p].row != mig->gis[i].row; p++)
			weight *= w->pairs[p].row != w->pairs[p + 1].row ? 9 : 1;
		mix += weight;
	}
	assert_true(mix < MIXES_MAX);
	w->mixes += !w->seen[mix];
	w->seen[mix] = true;
}

static void go(struct walk *w, const struct sim_mig *mig, size_t from)
{
	note(w, mig);
	for (size_t i = from; i < w->n_pairs; i++) {
		struct sim_mig next = *mig;

		if (!sim_gi_fits(w->board, mig, w->pairs[i].row, w->pairs[i].place))
			continue;
		put(&next, w->pairs[i].row, w->pairs[i].place);
		go(w, &next, i + 1);
	}
}

static void expect(const char *slug, bool double_memory, unsigned int sets, unsigned int mixes,
		unsigned int maximal)
{
	struct walk w = {.board = sim_board_find(slug), .seen = calloc(MIXES_MAX, sizeof(bool))};
	struct sim_mig empty = {.current = 1};

	assert_non_null(w.board);
	assert_non_null(w.seen);
	for (uint32_t row = 0; row < w.board->n_gis; row++) {
		const struct sim_gi_row *gi = &w.board->gis[row];

		if (gi->media != SIM_MEDIA_PLAIN || gi->gfx || (gi->number == 9 && !double_memory))
			continue;
		for (size_t i = 0; i < gi->n_places; i++) {
			w.pairs[w.n_pairs].row = row;
			w.pairs[w.n_pairs++].place = &gi->places[i];
		}
	}
	go(&w, &empty, 0);
	assert_int_equal(w.sets, sets);
	assert_int_equal(w.mixes, mixes);
	assert_int_equal(w.maximal, maximal);
	free(w.seen);
}

static void seven_slice_boards_have_298_sets_38_mixes_19_maximal(void **state)
{
	static const char *const slugs[] = {"a100-40gb", "a100-80gb", "h100-sxm5-80gb",
			"h100-pcie-80gb", "h100-nvl-94gb", "h200-141gb", "gh200-96gb",
			"b200-180gb"};

	for (size_t i = 0; i < sizeof(slugs) / sizeof(slugs[0]); i++)
		expect(slugs[i], /* double_memory= */ false, 298, 38, 19);
}

static void with_the_double_memory_1g_they_have_723_78_78(void **state)
{
	expect("a100-40gb", /* double_memory= */ true, 723, 78, 78);
	expect("h100-sxm5-80gb", /* double_memory= */ true, 723, 78, 78);
}

static void four_slice_boards_have_26_sets_10_mixes_5_maximal(void **state)
{
	expect("a30-24gb", /* double_memory= */ false, 26, 10, 5);
	expect("rtx-pro-6000-blackwell-96gb", /* double_memory= */ false, 26, 10, 5);
}

static void nodes_conflict_exactly_when_their_units_overlap(void **state)
{
	static const uint32_t start[] = {0, 0, 4, 0, 2, 4, 6, 0, 1, 2, 3, 4, 5, 6, 7};
	static const uint32_t size[] = {8, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1};

	for (uint32_t a = 0; a < 15; a++) {
		for (uint32_t b = 0; b < 15; b++)
			assert_int_equal(sim_nodes_conflict(a, b),
					start[a] < start[b] + size[b] &&
							start[b] < start[a] + size[a]);
	}
}

/* What is not counted as changing would pass for reading wherever a reader is checked. */
static void calls_that_set_create_or_destroy_are_counted_as_changing(void **state)
{
	static const char *const verbs[] = {"Set", "Create", "Destroy", "Reset", "Clear"};

	for (unsigned int i = 0; i < SIM_CALL_COUNT; i++) {
		bool changes = false;

		if (i == SIM_CALL_nvmlSystemGetTopologyGpuSet)
			continue; /* gets a set */
		for (size_t v = 0; v < BH_ARRAY_SIZE(verbs); v++)
			changes |= strstr(sim_call_names[i], verbs[v]) != NULL;
		/* a set of events is the caller's, not the node's */
		if (strncmp(sim_call_names[i], "nvmlEventSet", strlen("nvmlEventSet")) == 0)
			changes = false;
		if (changes != sim_call_changes(i))
			fail_msg("%s", sim_call_names[i]);
	}
}

/* The self-check sees a state that no change could have left. */
static void the_check_names_a_gpu_instance_of_no_profile_and_a_count_that_is_wrong(void **state)
{
	struct sim_map map = {.state = calloc(1, sizeof(struct sim_state))};
	struct sim_tx tx = {.map = &map, .state = map.state};
	char text[128] = "";

	assert_non_null(map.state);
	map.state->n_gpus = 2;
	map.boards[0] = map.boards[1] = sim_board_find("a30-24gb");
	assert_true(sim_check(&tx, text, sizeof(text)));
	map.state->gpus[1].mig.n_gis = 1;
	assert_false(sim_check(&tx, text, sizeof(text)));
	assert_string_equal(text, "gpu 1: counts 1 GPU instances, has 0");
	map.state->gpus[1].mig.gis[3] = (struct sim_gi){.generation = 7, .row = 99, .size = 1};
	assert_false(sim_check(&tx, text, sizeof(text)));
	assert_string_equal(text, "gpu 1: a GPU instance of no profile");
	free(map.state);
}

static void the_check_names_events_out_of_order_and_errors_that_do_not_add_up(void **state)
{
	struct sim_map map = {.state = calloc(1, sizeof(struct sim_state))};
	struct sim_tx tx = {.map = &map, .state = map.state};
	struct sim_events *events;
	char text[128] = "";

	assert_non_null(map.state);
	map.state->n_gpus = 1;
	map.boards[0] = sim_board_find("a30-24gb");
	events = &map.state->events;
	for (uint32_t i = 1; i <= SIM_EVENTS_MAX + 2; i++) {
		sim_event_push(&tx, &(struct sim_event){.kind = SIM_EVENT_XID, .data = 13});
		map.state->undo.n_ranges = 0;
		assert_int_equal(events->ring[i % SIM_EVENTS_MAX].number, i);
		assert_true(sim_check(&tx, text, sizeof(text)));
	}
	events->ring[3].number = 67;
	assert_false(sim_check(&tx, text, sizeof(text)));
	assert_string_equal(text, "the numbers of the events have a gap");
	events->ring[3].number = 3;
	events->ring[3].gpu = 1;
	assert_false(sim_check(&tx, text, sizeof(text)));
	assert_string_equal(text, "an event is of no GPU or of no kind");
	events->ring[3].gpu = 0;
	events->serial++;
	assert_false(sim_check(&tx, text, sizeof(text)));
	assert_string_equal(text, "the serial number of the events is not that of the last");
	events->serial--;
	map.state->gpus[0].health.ecc_volatile[SIM_CORRECTED] = 1;
	assert_false(sim_check(&tx, text, sizeof(text)));
	assert_string_equal(text, "gpu 0: more memory errors since the driver loaded than ever");
	free(map.state);
}

/* Any process of the node may write there; what is not sound is not opened. */
static void a_topology_with_a_number_that_no_machine_has_is_not_sound(void **state)
{
	struct sim_topology good = {.spots[1].numa = -1}, bad;

	sim_topology_settle(&good, 3);
	good.links[0][1] = 18;
	good.links[2][0] = 4;
	good.links[2][1] = 14;
	assert_true(sim_topology_is_sound(&good, 3));
#define SPOILT(what)                                                                               \
	bad = good;                                                                                \
	bad.what;                                                                                  \
	assert_false(sim_topology_is_sound(&bad, 3))
	SPOILT(spots[2].numa = -2);
	SPOILT(spots[2].numa = 64);
	SPOILT(spots[0].fabric = SIM_FABRIC_STATES);
	SPOILT(spots[0].memory_node = 64);
	SPOILT(links[1][1] = 1);
	SPOILT(links[2][1] = 15);
	SPOILT(links[0][3] = 1);
	SPOILT(paths[0][1] = SIM_PATHS);
	SPOILT(paths[0][2] = SIM_PATH_SINGLE);
	SPOILT(switches = 19);
#undef SPOILT
	/* behind switches the links are the same ones to each peer */
	bad = good;
	bad.switches = 4;
	bad.links[2][1] = 18;
	assert_true(sim_topology_is_sound(&bad, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(nodes_conflict_exactly_when_their_units_overlap),
			cmocka_unit_test(seven_slice_boards_have_298_sets_38_mixes_19_maximal),
			cmocka_unit_test(with_the_double_memory_1g_they_have_723_78_78),
			cmocka_unit_test(four_slice_boards_have_26_sets_10_mixes_5_maximal),
			cmocka_unit_test(calls_that_set_create_or_destroy_are_counted_as_changing),
			cmocka_unit_test(
					the_check_names_a_gpu_instance_of_no_profile_and_a_count_that_is_wrong),
			cmocka_unit_test(
					the_check_names_events_out_of_order_and_errors_that_do_not_add_up),
			cmocka_unit_test(a_topology_with_a_number_that_no_machine_has_is_not_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
