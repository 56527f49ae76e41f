/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fragmentation report and the cheapest repack against brute force: all legal layouts of one
 * GPU and of up to four, found by the oracle, which shares no line with what is tested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "oracle.h"
#include "plan/repack.h"
#include "plan/role.h"

#define CELLS_ALL UINT32_MAX

/* GPUs of one board, as sets of the oracle's cells. */
struct scene {
	struct oracle oracle;
	struct bh_gpu board; /* nothing stands there */
	struct bh_gpu gpus[4];
	uint32_t has[4], fixed[4]; /* what stands, and what of it may not move */
	size_t n;
};

static void scene_init(struct scene *scene, const char *slug, bool base)
{
	memset(scene, 0, sizeof(*scene));
	if (base)
		board_init_base(&scene->board, slug);
	else
		board_init(&scene->board, slug);
	oracle_init(&scene->oracle, &scene->board);
}

static void scene_set(struct scene *scene, size_t g, uint32_t has, uint32_t fixed)
{
	const struct oracle *oracle = &scene->oracle;
	struct bh_gpu *gpu = &scene->gpus[g];

	*gpu = scene->board;
	gpu->index = (uint32_t) g;
	(void) snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%zu", g);
	scene->has[g] = has;
	scene->fixed[g] = fixed & has;
	for (size_t c = 0; c < oracle->n_cells; c++) {
		const struct oracle_cell *cell = &oracle->cells[c];
		struct bh_placement at = {cell->start, cell->size};
		struct bh_gi *gi;

		if (!(has >> c & 1))
			continue;
		gi = board_add_bare(gpu, cell->profile, &at);
		(void) board_add_ci(gi, 0, gpu->profiles[cell->profile].slice_count);
		if (!(fixed >> c & 1))
			continue;
		/* the three ways in which it may not move */
		gi->busy = c % 3 == 0;
		gi->foreign = c % 3 == 1;
		gi->cis[0].busy = c % 3 == 2;
	}
}

static void report(const struct scene *scene, struct bh_fragments *ret)
{
	struct bh_error err = {0};

	if (bh_fragments_init(scene->gpus, scene->n, ret, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(ret->n_boards, 1);
	assert_int_equal(ret->boards[0].n_gpus, scene->n);
}

static uint32_t cells_of(const struct oracle *oracle, size_t profile)
{
	uint32_t cells = 0;

	for (size_t c = 0; c < oracle->n_cells; c++)
		cells |= oracle->cells[c].profile == profile ? 1U << c : 0;
	return cells;
}

static uint32_t brute_now(const struct oracle *oracle, uint32_t has, size_t profile)
{
	uint32_t cells = cells_of(oracle, profile);
	int most = 0;

	for (size_t l = 0; l < oracle->n_layouts; l++) {
		uint32_t then = oracle->layouts[l];

		if ((has & ~then) == 0 && ((then & ~has) & ~cells) == 0 &&
				__builtin_popcount(then & ~has) > most)
			most = __builtin_popcount(then & ~has);
	}
	return (uint32_t) most;
}

/* A mix that one GPU can have, and how much of what may move stays where it is then. */
struct choice {
	struct oracle_mix mix;
	int kept;
};

static size_t choices(const struct oracle *oracle, uint32_t has, uint32_t fixed, bool all,
		struct choice *ret)
{
	size_t n = 0;

	for (size_t l = 0; l < oracle->n_layouts; l++) {
		uint32_t then = oracle->layouts[l];
		int kept = __builtin_popcount(then & has & ~fixed);
		size_t i = 0;

		if (!all && fixed & ~then)
			continue;
		while (i < n && memcmp(&ret[i].mix, &oracle->mixes[l], sizeof(ret[i].mix)) != 0)
			i++;
		if (i == n)
			ret[n++] = (struct choice){.mix = oracle->mixes[l], .kept = kept};
		else if (kept > ret[i].kept)
			ret[i].kept = kept;
	}
	return n;
}

struct brute {
	uint32_t most; /* of the profile, beside all the rest */
	int moves[32]; /* fewest for so much room; -1: cannot be */
};

struct walk {
	const struct scene *scene;
	struct choice *choices[4];
	size_t n[4], profile;
	int left[BH_GI_PROFILES_MAX]; /* of the total, to be on the GPUs from here on */
	struct brute *ret;
};

/* Every choice for GPU @g and those behind it; @moves if nothing of those stayed. */
static void walk_choices(struct walk *w, size_t g, int moves)
{
	int more = -w->left[w->profile];

	for (size_t p = 0; g == w->scene->n && p < w->scene->board.n_profiles; p++) {
		if (p != w->profile && w->left[p] != 0)
			return;
	}
	if (g == w->scene->n && more < 0)
		return;
	if (g == w->scene->n) {
		assert_true(more < (int) BH_ARRAY_SIZE(w->ret->moves));
		w->ret->most = (uint32_t) more > w->ret->most ? (uint32_t) more : w->ret->most;
		for (int m = more; m >= 0; m--) {
			if (w->ret->moves[m] < 0 || moves < w->ret->moves[m])
				w->ret->moves[m] = moves;
		}
		return;
	}
	for (size_t i = 0; i < w->n[g]; i++) {
		const struct choice *choice = &w->choices[g][i];
		bool fits = true;

		for (size_t p = 0; p < w->scene->board.n_profiles; p++)
			fits = fits && (p == w->profile || choice->mix.counts[p] <= w->left[p]);
		if (!fits)
			continue;
		for (size_t p = 0; p < w->scene->board.n_profiles; p++)
			w->left[p] -= choice->mix.counts[p];
		walk_choices(w, g + 1, moves - choice->kept);
		for (size_t p = 0; p < w->scene->board.n_profiles; p++)
			w->left[p] += choice->mix.counts[p];
	}
}

static void brute_repack(const struct scene *scene, size_t profile, bool all, struct brute *ret)
{
	const struct oracle *oracle = &scene->oracle;
	struct walk w = {.scene = scene, .profile = profile, .ret = ret};
	int loose = 0;

	ret->most = 0;
	for (size_t i = 0; i < BH_ARRAY_SIZE(ret->moves); i++)
		ret->moves[i] = -1;
	for (size_t g = 0; g < scene->n; g++) {
		w.choices[g] = calloc(oracle->n_layouts, sizeof(*w.choices[g]));
		assert_non_null(w.choices[g]);
		w.n[g] = choices(oracle, scene->has[g], scene->fixed[g], all, w.choices[g]);
		loose += __builtin_popcount(scene->has[g] & ~scene->fixed[g]);
		for (size_t c = 0; c < oracle->n_cells; c++)
			w.left[oracle->cells[c].profile] += scene->has[g] >> c & 1;
	}
	walk_choices(&w, 0, loose);
	for (size_t g = 0; g < scene->n; g++)
		free(w.choices[g]);
}

static bool has_all_media(const struct scene *scene, size_t profile)
{
	const struct oracle *oracle = &scene->oracle;
	bool has = strstr(scene->board.profiles[profile].name, "+me.all");

	for (size_t c = 0; c < oracle->n_cells; c++) {
		for (size_t g = 0; g < scene->n; g++)
			has = has ||
			      (scene->has[g] >> c & 1 &&
					      strstr(scene->board.profiles[oracle->cells[c].profile]
									      .name,
							      "+me.all"));
	}
	return has;
}

/* Carries the moves out on copies, and looks whether they are what they say. */
static void check_moves(const struct scene *scene, const struct bh_repack *repack, size_t profile)
{
	struct scene after = *scene;
	uint32_t now = 0;

	for (size_t m = 0; m < repack->n_moves; m++) {
		const struct bh_move *move = &repack->moves[m];
		const struct bh_gi *gi = &scene->gpus[move->from_gpu].gis[move->gi];
		struct oracle_cell from = {move->profile, move->from.start, move->from.size};
		struct oracle_cell to = {move->profile, move->to.start, move->to.size};
		bool found = false, set = false;

		assert_true(bh_gi_can_move(&scene->gpus[move->from_gpu], gi));
		assert_int_equal(gi->at.start, move->from.start);
		for (size_t c = 0; c < scene->oracle.n_cells; c++) {
			if (memcmp(&scene->oracle.cells[c], &from, sizeof(from)) == 0) {
				found = after.has[move->from_gpu] >> c & 1;
				after.has[move->from_gpu] &= ~(1U << c);
			}
		}
		assert_true(found);
		if (repack->one_by_one) {
			for (size_t c = 0; c < scene->oracle.n_cells; c++) {
				if (memcmp(&scene->oracle.cells[c], &to, sizeof(to)) == 0)
					assert_true(oracle_is_legal(&scene->oracle,
							after.has[move->to_gpu] | 1U << c));
			}
		}
		for (size_t c = 0; repack->one_by_one && c < scene->oracle.n_cells; c++) {
			if (memcmp(&scene->oracle.cells[c], &to, sizeof(to)) == 0) {
				assert_false(after.has[move->to_gpu] >> c & 1);
				after.has[move->to_gpu] |= 1U << c;
				set = true;
			}
		}
		assert_true(set || !repack->one_by_one);
	}
	for (size_t m = 0; m < repack->n_moves && !repack->one_by_one; m++) {
		const struct bh_move *move = &repack->moves[m];
		struct oracle_cell to = {move->profile, move->to.start, move->to.size};
		bool set = false;

		for (size_t c = 0; c < scene->oracle.n_cells; c++) {
			if (memcmp(&scene->oracle.cells[c], &to, sizeof(to)) != 0)
				continue;
			assert_false(after.has[move->to_gpu] >> c & 1);
			after.has[move->to_gpu] |= 1U << c;
			set = true;
		}
		assert_true(set);
	}
	for (size_t g = 0; g < scene->n; g++) {
		assert_true(oracle_is_legal(&scene->oracle, after.has[g]));
		assert_int_equal(scene->fixed[g] & ~after.has[g], 0);
		now += brute_now(&scene->oracle, after.has[g], profile);
	}
	assert_int_equal(repack->reached, now);
}

static void compare_repack(const struct scene *scene, const struct bh_fragments_board *board,
		size_t profile, const struct brute *brute)
{
	struct bh_repack repack;

	for (uint32_t count = 0; count <= brute->most + 1; count++) {
		assert_int_equal(bh_repack_find(scene->gpus, board, profile, count, 0, &repack,
						 NULL),
				0);
		if (count > brute->most) {
			assert_int_equal(repack.outcome, BH_REPACK_UNREACHABLE);
			continue;
		}
		assert_int_equal(repack.outcome, BH_REPACK_FOUND);
		assert_true(repack.minimal);
		check_moves(scene, &repack, profile);
		assert_true(repack.reached >= (count ? count : brute->most));
		if ((int) repack.n_moves != brute->moves[count ? count : brute->most])
			fail_msg("%s: %zu moves for %u, %d are enough (0x%x 0x%x of 0x%x 0x%x)",
					scene->board.profiles[profile].name, repack.n_moves, count,
					brute->moves[count ? count : brute->most], scene->fixed[0],
					scene->fixed[1], scene->has[0], scene->has[1]);
	}
}

/* All figures of a scene; true if any was unknown. */
static bool compare(const struct scene *scene, bool with_moves)
{
	struct bh_fragments all;
	const struct bh_fragments_board *board;
	bool unknown = false;

	report(scene, &all);
	board = &all.boards[0];
	for (size_t p = 0; p < scene->board.n_profiles; p++) {
		const struct bh_fragments_count *count = &board->profiles[p];
		struct brute whole, idle;
		uint32_t now = 0;

		for (size_t g = 0; g < scene->n; g++) {
			uint32_t one = brute_now(&scene->oracle, scene->has[g], p);

			assert_int_equal(board->gpus[g].now[p], one);
			now += one;
		}
		assert_int_equal(count->now, now);
		if (scene->n > 1 && has_all_media(scene, p)) {
			unknown = true;
			if (count->after_repack == BH_UNKNOWN) {
				assert_int_equal(count->lost, BH_UNKNOWN);
				continue;
			}
		}
		brute_repack(scene, p, /* all= */ true, &whole);
		brute_repack(scene, p, /* all= */ false, &idle);
		if (count->after_repack != whole.most || count->after_idle != idle.most)
			fail_msg("%s: %u and %u, but it is %u and %u (0x%x 0x%x of 0x%x 0x%x)",
					scene->board.profiles[p].name, count->after_repack,
					count->after_idle, whole.most, idle.most, scene->fixed[0],
					scene->fixed[1], scene->has[0], scene->has[1]);
		assert_int_equal(count->lost, whole.most - now);
		if (with_moves)
			compare_repack(scene, board, p, &idle);
	}
	bh_fragments_free(&all);
	return unknown;
}

/* Units and slices, literally. */
static void check_stranded(const struct scene *scene)
{
	const struct oracle *oracle = &scene->oracle;
	struct bh_fragments all;
	uint32_t slices = 0, used = 0, most = 0;
	uint64_t taken = 0, any = 0, reachable = 0;

	report(scene, &all);
	for (size_t p = 0; p < scene->board.n_profiles; p++)
		slices = scene->board.profiles[p].slice_count > slices
					 ? scene->board.profiles[p].slice_count
					 : slices;
	for (size_t c = 0; c < oracle->n_cells; c++) {
		uint64_t mask = ((UINT64_C(1) << oracle->cells[c].size) - 1)
				<< oracle->cells[c].start;

		any |= mask;
		taken |= scene->has[0] >> c & 1 ? mask : 0;
	}
	for (size_t l = 0; l < oracle->n_layouts; l++) {
		uint32_t sum = 0;
		uint64_t covered = 0;

		for (size_t c = 0; c < oracle->n_cells; c++) {
			if (!(oracle->layouts[l] >> c & 1))
				continue;
			covered |= ((UINT64_C(1) << oracle->cells[c].size) - 1)
				   << oracle->cells[c].start;
			sum += scene->board.profiles[oracle->cells[c].profile].slice_count;
		}
		if (oracle->layouts[l] == scene->has[0])
			used = sum;
		if (covered & taken)
			continue;
		reachable |= covered;
		most = sum > most ? sum : most;
	}
	assert_int_equal(all.boards[0].gpus[0].stranded_units, any & ~taken & ~reachable);
	assert_int_equal(all.boards[0].gpus[0].free_units, __builtin_popcountll(any & ~taken));
	assert_int_equal(all.boards[0].gpus[0].stranded_slices, slices - used - most);
	assert_int_equal(all.boards[0].stranded_slices, slices - used - most);
	bh_fragments_free(&all);
}

static void one_gpu_is_counted_as_by_brute_force(void **state)
{
	static const char *const slugs[] = {"a100-40gb", "a30-24gb", "rtx-pro-6000-blackwell-96gb"};
	struct dice dice;

	dice_init(&dice, 1, "one GPU");
	for (size_t s = 0; s < BH_ARRAY_SIZE(slugs); s++) {
		struct scene scene;
		size_t step;

		scene_init(&scene, slugs[s], /* base= */ s == 2);
		scene.n = 1;
		step = scene.oracle.n_layouts / 300 + 1;
		for (size_t l = dice_roll(&dice, (uint32_t) step); l < scene.oracle.n_layouts;
				l += step) {
			scene_set(&scene, 0, scene.oracle.layouts[l],
					dice_roll(&dice, 1U << 30) & dice_roll(&dice, 1U << 30));
			assert_false(compare(&scene, /* with_moves= */ true));
			check_stranded(&scene);
		}
		oracle_free(&scene.oracle);
	}
}

static void two_gpus_are_counted_and_repacked_as_by_brute_force(void **state)
{
	static const char *const slugs[] = {
			"h100-sxm5-80gb", "a30-24gb", "rtx-pro-6000-blackwell-96gb"};
	struct dice dice;
	size_t unknown = 0;

	dice_init(&dice, 2, "two GPUs");
	for (size_t s = 0; s < BH_ARRAY_SIZE(slugs); s++) {
		struct scene scene;

		scene_init(&scene, slugs[s], /* base= */ false);
		scene.n = 2;
		for (int i = 0; i < (s == 0 ? 60 : 40); i++) {
			for (size_t g = 0; g < 2; g++) {
				uint32_t n = (uint32_t) scene.oracle.n_layouts;
				uint32_t fixed = i % 2 ? dice_roll(&dice, 1U << 30) : 0;

				scene_set(&scene, g, scene.oracle.layouts[dice_roll(&dice, n)],
						fixed & dice_roll(&dice, 1U << 30));
			}
			unknown += compare(&scene, /* with_moves= */ true);
		}
		assert_true(s == 2 || unknown == 0);
		oracle_free(&scene.oracle);
	}
	assert_true(unknown > 0);
}

static void two_instances_with_media_extensions_need_a_gpu_each(void **state)
{
	struct bh_fragments all;
	struct scene scene;
	uint32_t one = 0;

	scene_init(&scene, "h100-sxm5-80gb", /* base= */ false);
	scene.n = 2;
	for (size_t c = 0; c < scene.oracle.n_cells; c++) {
		if (scene.oracle.cells[c].profile == board_profile(&scene.board, "1g.10gb+me") &&
				scene.oracle.cells[c].start == 0)
			one = 1U << c;
	}
	scene_set(&scene, 0, one, 0);
	scene_set(&scene, 1, one, 0);
	report(&scene, &all);
	assert_int_equal(
			all.boards[0].profiles[board_profile(&scene.board, "7g.80gb")].after_repack,
			0);
	assert_int_equal(
			all.boards[0].profiles[board_profile(&scene.board, "4g.40gb")].after_repack,
			2);
	assert_int_equal(all.boards[0].profiles[board_profile(&scene.board, "1g.10gb+me")]
					 .after_repack,
			0);
	bh_fragments_free(&all);
	oracle_free(&scene.oracle);
}

/* GPUs on which the same things stand are searched once; what is on one of them may not be lost. */
static void alike_gpus_are_repacked_as_by_brute_force(void **state)
{
	struct scene scene;
	struct dice dice;

	dice_init(&dice, 3, "alike GPUs");
	for (int board = 0; board < 2; board++) {
		scene_init(&scene, board ? "h100-sxm5-80gb" : "a30-24gb", /* base= */ board);
		scene.n = board ? 3 : 4;
		for (int i = 0; i < (board ? 25 : 60); i++) {
			uint32_t n = (uint32_t) scene.oracle.n_layouts, has[2], fixed[2];

			for (int k = 0; k < 2; k++) {
				has[k] = scene.oracle.layouts[dice_roll(&dice, n)];
				fixed[k] = dice_roll(&dice, 1U << 30) & dice_roll(&dice, 1U << 30);
			}
			for (size_t g = 0; g < scene.n; g++) {
				uint32_t k = dice_roll(&dice, 3) == 0;

				scene_set(&scene, g, has[k], fixed[k]);
			}
			assert_false(compare(&scene, /* with_moves= */ true));
		}
		oracle_free(&scene.oracle);
	}
}

/* Each mask that layouts have, beside an empty GPU. */
static void every_mask_is_counted_beside_an_empty_gpu(void **state)
{
	struct scene scene;
	bool seen[256] = {0};
	size_t masks = 0;

	scene_init(&scene, "a100-80gb", /* base= */ true);
	scene.n = 2;
	for (size_t l = 0; l < scene.oracle.n_layouts; l++) {
		uint32_t mask = 0;

		for (size_t c = 0; c < scene.oracle.n_cells; c++) {
			if (scene.oracle.layouts[l] >> c & 1)
				mask |= ((1U << scene.oracle.cells[c].size) - 1)
					<< scene.oracle.cells[c].start;
		}
		if (seen[mask])
			continue;
		seen[mask] = true;
		masks++;
		scene_set(&scene, 0, scene.oracle.layouts[l], CELLS_ALL);
		scene_set(&scene, 1, 0, 0);
		assert_false(compare(&scene, /* with_moves= */ false));
	}
	assert_int_equal(masks, 192);
	oracle_free(&scene.oracle);
}

static void known_layouts_strand_what_is_known(void **state)
{
	struct bh_gpu gpu;
	struct bh_fragments all;

	board_init(&gpu, "h100-sxm5-80gb");
	(void) board_add(&gpu, "3g.40gb", 0);
	(void) board_add(&gpu, "3g.40gb", 4);
	assert_int_equal(bh_fragments_init(&gpu, 1, &all, NULL), 0);
	assert_int_equal(all.boards[0].stranded_slices, 1);
	assert_int_equal(all.boards[0].stranded_units, 0);
	bh_fragments_free(&all);
	board_init(&gpu, "h100-sxm5-80gb");
	for (uint32_t u = 0; u < 7; u++)
		(void) board_add(&gpu, "1g.10gb", u);
	assert_int_equal(bh_fragments_init(&gpu, 1, &all, NULL), 0);
	assert_int_equal(all.boards[0].stranded_slices, 0);
	assert_int_equal(all.boards[0].stranded_units, 1);
	assert_int_equal(all.boards[0].gpus[0].stranded_units, 0x80);
	bh_fragments_free(&all);
	board_init(&gpu, "rtx-pro-6000-blackwell-96gb");
	(void) board_add(&gpu, "1g.24gb", 3);
	assert_int_equal(bh_fragments_init(&gpu, 1, &all, NULL), 0);
	assert_int_equal(all.boards[0].free_units, 9);
	assert_int_equal(all.boards[0].stranded_units, 0);
	bh_fragments_free(&all);
}

static void one_move_makes_room_for_a_whole_board(void **state)
{
	static struct bh_gpu gpus[2];
	struct bh_fragments all;
	struct bh_repack repack;
	size_t whole;

	for (size_t g = 0; g < 2; g++)
		board_init(&gpus[g], "h100-sxm5-80gb");
	(void) board_add(&gpus[0], "1g.10gb", 4);
	(void) board_add(&gpus[1], "2g.20gb", 0);
	(void) board_add(&gpus[1], "3g.40gb", 4);
	whole = board_profile(&gpus[0], "7g.80gb");
	assert_int_equal(bh_fragments_init(gpus, 2, &all, NULL), 0);
	assert_int_equal(all.boards[0].profiles[whole].now, 0);
	assert_int_equal(all.boards[0].profiles[whole].after_repack, 1);
	assert_int_equal(all.boards[0].profiles[whole].lost, 1);
	assert_int_equal(bh_fragments_worst(&all.boards[0]), whole);
	assert_int_equal(bh_repack_find(gpus, &all.boards[0], whole, 0, 0, &repack, NULL), 0);
	assert_int_equal(repack.outcome, BH_REPACK_FOUND);
	assert_int_equal(repack.n_moves, 1);
	assert_int_equal(repack.reached, 1);
	assert_true(repack.minimal && repack.one_by_one);
	assert_int_equal(repack.moves[0].from_gpu, 0);
	assert_int_equal(repack.moves[0].to_gpu, 1);
	assert_int_equal(repack.moves[0].from.start, 4);
	assert_int_equal(repack.moves[0].to.start, 2);
	bh_fragments_free(&all);
	/* in use, it stays, and the other GPU would have to give way: it cannot */
	board_make_busy(&gpus[0], &gpus[0].gis[0], 4242, "train");
	board_make_busy(&gpus[1], &gpus[1].gis[1], 4243, "train");
	assert_int_equal(bh_fragments_init(gpus, 2, &all, NULL), 0);
	assert_int_equal(all.boards[0].profiles[whole].after_repack, 1);
	assert_int_equal(all.boards[0].profiles[whole].after_idle, 0);
	assert_int_equal(bh_repack_find(gpus, &all.boards[0], whole, 0, 0, &repack, NULL), 0);
	assert_int_equal(repack.n_moves, 0);
	assert_int_equal(bh_repack_find(gpus, &all.boards[0], whole, 1, 0, &repack, NULL), 0);
	assert_int_equal(repack.outcome, BH_REPACK_UNREACHABLE);
	bh_fragments_free(&all);
}

static void a_gpu_whose_holders_are_unknown_is_not_moved_about(void **state)
{
	static struct bh_gpu gpus[2];
	struct bh_fragments all;
	size_t whole;

	for (size_t g = 0; g < 2; g++) {
		board_init(&gpus[g], "h100-sxm5-80gb");
		(void) board_add(&gpus[g], "1g.10gb", 4);
		gpus[g].holders_known = false;
	}
	whole = board_profile(&gpus[0], "7g.80gb");
	assert_int_equal(bh_fragments_init(gpus, 2, &all, NULL), 0);
	assert_int_equal(all.boards[0].profiles[whole].after_repack, 1);
	assert_int_equal(all.boards[0].profiles[whole].after_idle, 0);
	bh_fragments_free(&all);
}

static void boards_are_parted_and_those_without_mig_mode_do_not_count(void **state)
{
	static struct bh_gpu gpus[4];
	struct bh_fragments all;

	board_init(&gpus[0], "h100-sxm5-80gb");
	board_init(&gpus[1], "a30-24gb");
	board_init(&gpus[2], "h100-sxm5-80gb");
	gpus[2].mig_current = BH_MIG_OFF;
	memset(&gpus[3], 0, sizeof(gpus[3]));
	assert_int_equal(bh_fragments_init(gpus, 4, &all, NULL), 0);
	assert_int_equal(all.n_boards, 2);
	assert_int_equal(all.boards[0].n_gpus, 2);
	assert_int_equal(all.boards[0].n_counted, 1);
	assert_false(all.boards[0].gpus[1].counted);
	assert_int_equal(all.boards[0].profiles[board_profile(&gpus[0], "7g.80gb")].now, 1);
	assert_int_equal(all.boards[1].gpus[0].gpu, 1);
	bh_fragments_free(&all);
	gpus[1].mig_current = BH_MIG_UNKNOWN;
	assert_int_equal(bh_fragments_init(&gpus[1], 1, &all, NULL), 0);
	assert_int_equal(all.boards[0].profiles[0].now, BH_UNKNOWN);
	assert_int_equal(all.boards[0].free_units, BH_UNKNOWN);
	assert_int_equal(bh_fragments_worst(&all.boards[0]), SIZE_MAX);
	bh_fragments_free(&all);
}

static void an_odd_board_is_exact_alone_and_unknown_in_numbers(void **state)
{
	static struct bh_gpu gpus[2];
	struct bh_fragments all;
	struct scene scene;
	size_t three;

	scene_init(&scene, "h100-sxm5-80gb", /* base= */ true);
	three = board_profile(&scene.board, "3g.40gb");
	scene.board.profiles[three].placements[1].start = 3;
	oracle_free(&scene.oracle);
	oracle_init(&scene.oracle, &scene.board);
	scene.n = 1;
	for (size_t l = 0; l < scene.oracle.n_layouts; l += 7) {
		scene_set(&scene, 0, scene.oracle.layouts[l], l % 2 ? 0x11111111 : 0);
		assert_false(compare(&scene, /* with_moves= */ true));
		check_stranded(&scene);
	}
	oracle_free(&scene.oracle);
	gpus[0] = gpus[1] = scene.board;
	assert_int_equal(bh_fragments_init(gpus, 2, &all, NULL), 0);
	assert_int_equal(all.boards[0].profiles[three].now, 2);
	assert_int_equal(all.boards[0].profiles[three].after_repack, BH_UNKNOWN);
	assert_int_equal(all.boards[0].profiles[three].lost, BH_UNKNOWN);
	bh_fragments_free(&all);
	/* an instance that no profile describes: what it would need elsewhere is unknown */
	board_init(&gpus[0], "h100-sxm5-80gb");
	(void) board_add(&gpus[0], "1g.10gb", 0);
	gpus[0].gis[0].profile_id = 999;
	assert_int_equal(bh_fragments_init(gpus, 1, &all, NULL), 0);
	assert_int_equal(all.boards[0].profiles[0].now, 6);
	assert_int_equal(all.boards[0].profiles[0].after_repack, BH_UNKNOWN);
	assert_int_equal(all.boards[0].stranded_slices, BH_UNKNOWN);
	bh_fragments_free(&all);
}

static void a_spent_budget_is_told_and_the_moves_work_all_the_same(void **state)
{
	static struct bh_gpu gpus[8];
	struct bh_fragments all;
	struct bh_repack repack;
	size_t whole;

	for (size_t g = 0; g < 8; g++) {
		board_init(&gpus[g], "h100-sxm5-80gb");
		for (uint32_t u = 0; u < 1 + g % 3; u++)
			(void) board_add(&gpus[g], "1g.10gb", 2 * u);
	}
	whole = board_profile(&gpus[0], "7g.80gb");
	assert_int_equal(bh_fragments_init(gpus, 8, &all, NULL), 0);
	assert_int_equal(all.boards[0].profiles[whole].after_idle, 5);
	assert_int_equal(bh_repack_find(gpus, &all.boards[0], whole, 0, 3, &repack, NULL), 0);
	assert_int_equal(repack.outcome, BH_REPACK_FOUND);
	assert_int_equal(repack.reached, 5);
	assert_false(repack.minimal);
	assert_int_equal(bh_repack_find(gpus, &all.boards[0], whole, 0, 0, &repack, NULL), 0);
	assert_int_equal(repack.outcome, BH_REPACK_FOUND);
	assert_int_equal(repack.n_moves, 7); /* all but those on the three fullest */
	assert_true(repack.minimal);
	bh_fragments_free(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(one_gpu_is_counted_as_by_brute_force),
			cmocka_unit_test(two_gpus_are_counted_and_repacked_as_by_brute_force),
			cmocka_unit_test(alike_gpus_are_repacked_as_by_brute_force),
			cmocka_unit_test(two_instances_with_media_extensions_need_a_gpu_each),
			cmocka_unit_test(every_mask_is_counted_beside_an_empty_gpu),
			cmocka_unit_test(known_layouts_strand_what_is_known),
			cmocka_unit_test(one_move_makes_room_for_a_whole_board),
			cmocka_unit_test(a_gpu_whose_holders_are_unknown_is_not_moved_about),
			cmocka_unit_test(boards_are_parted_and_those_without_mig_mode_do_not_count),
			cmocka_unit_test(an_odd_board_is_exact_alone_and_unknown_in_numbers),
			cmocka_unit_test(a_spent_budget_is_told_and_the_moves_work_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
