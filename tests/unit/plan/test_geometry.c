/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of every board of the catalogue, and its layouts, by the counts that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "board.h"
#include "gpu/catalogue.h"
#include "plan/layouts.h"

static void count(const struct bh_gpu *gpu, size_t sets, size_t maximal, size_t mixes, size_t masks)
{
	struct bh_geometry geo;
	struct bh_layouts all;
	struct bh_error err = {0};

	assert_int_equal(bh_geometry_init(gpu, &geo, &err), 0);
	assert_int_equal(bh_layouts_init(&geo, &all, &err), 0);
	if (all.n != sets || all.n_maximal != maximal || all.n_mixes != mixes ||
			all.n_masks != masks)
		fail_msg("%s: %zu sets, %zu maximal, %zu mixes, %zu masks", gpu->model, all.n,
				all.n_maximal, all.n_mixes, all.n_masks);
	bh_layouts_free(&all);
}

/* Without the profile that shares its shape with no other: the double-memory 1g. */
static void leave_out_double_1g(struct bh_gpu *gpu)
{
	size_t n = 0;

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if (gpu->profiles[i].slice_count != 1 || gpu->profiles[i].placements[0].size != 2)
			gpu->profiles[n++] = gpu->profiles[i];
	}
	assert_int_equal(n + 1, gpu->n_profiles);
	gpu->n_profiles = n;
}

static void every_complete_board_has_the_counts_that_are_known(void **state)
{
	size_t eighths = 0, quarters = 0;

	for (size_t i = 0; i < bh_catalogue_count(); i++) {
		const struct bh_model *model = bh_catalogue_at(i);
		struct bh_geometry geo;
		struct bh_gpu gpu;

		if (!model->complete)
			continue;
		board_init(&gpu, model->slug);
		assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
		if (geo.kind == BH_GEOMETRY_EIGHTHS) {
			eighths++;
			count(&gpu, 723, 78, 78, 192);
			leave_out_double_1g(&gpu);
			count(&gpu, 298, 19, 38, 144);
		} else {
			assert_int_equal(geo.kind, BH_GEOMETRY_QUARTERS);
			quarters++;
			count(&gpu, 26, 5, 10, 16);
		}
	}
	assert_int_equal(eighths, 9);
	assert_int_equal(quarters, 2);
}

static void boards_that_are_not_complete_have_a_kind_as_far_as_they_are_known(void **state)
{
	for (size_t i = 0; i < bh_catalogue_count(); i++) {
		const struct bh_model *model = bh_catalogue_at(i);
		struct bh_geometry geo;
		struct bh_gpu gpu;

		board_init(&gpu, model->slug);
		assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
		if (model->complete)
			continue;
		assert_true(geo.kind == BH_GEOMETRY_EIGHTHS || geo.units == 0);
	}
}

static void units_are_as_coarse_as_the_board_allows(void **state)
{
	struct bh_geometry geo;
	struct bh_gpu gpu;

	board_init(&gpu, "rtx-pro-6000-blackwell-96gb");
	assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
	assert_int_equal(geo.unit, 3);
	assert_int_equal(geo.units, 4);
	assert_int_equal(geo.n_shapes, 3);
	assert_int_equal(bh_geometry_mask(&geo, &(struct bh_placement){6, 6}), 0xc);
	assert_int_equal(bh_geometry_place(&geo, 2, 1).start, 3);
	assert_int_equal(bh_geometry_place(&geo, 2, 1).size, 3);
	assert_int_equal(geo.slices, 4);
}

static void a_board_with_a_place_of_its_own_is_of_no_kind(void **state)
{
	struct bh_geometry geo;
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	gpu.profiles[board_profile(&gpu, "3g.40gb")].placements[1].start = 3;
	assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
	assert_int_equal(geo.kind, BH_GEOMETRY_OTHER);
	board_init(&gpu, "h100-sxm5-80gb");
	gpu.profiles[board_profile(&gpu, "2g.20gb")].n_placements = 2;
	assert_int_equal(bh_geometry_init(&gpu, &geo, NULL), 0);
	assert_int_equal(geo.kind, BH_GEOMETRY_OTHER);
}

static void the_order_of_profiles_and_placements_changes_nothing(void **state)
{
	struct bh_geometry a, b;
	struct bh_gpu gpu;

	board_init(&gpu, "a100-40gb");
	assert_int_equal(bh_geometry_init(&gpu, &a, NULL), 0);
	for (size_t i = 0; i < gpu.n_profiles / 2; i++) {
		struct bh_gi_profile swap = gpu.profiles[i];

		gpu.profiles[i] = gpu.profiles[gpu.n_profiles - 1 - i];
		gpu.profiles[gpu.n_profiles - 1 - i] = swap;
	}
	for (size_t i = 0; i < gpu.n_profiles; i++) {
		struct bh_gi_profile *p = &gpu.profiles[i];

		for (size_t k = 0; k < p->n_placements / 2; k++) {
			struct bh_placement swap = p->placements[k];

			p->placements[k] = p->placements[p->n_placements - 1 - k];
			p->placements[p->n_placements - 1 - k] = swap;
		}
	}
	assert_int_equal(bh_geometry_init(&gpu, &b, NULL), 0);
	memcpy(b.shape_of, a.shape_of, sizeof(b.shape_of)); /* by profile */
	assert_memory_equal(&a, &b, sizeof(a));
}

static void a_table_that_no_mask_can_hold_is_refused(void **state)
{
	struct bh_geometry geo;
	struct bh_error err = {0};
	struct bh_gpu gpu;

	board_init(&gpu, "h100-sxm5-80gb");
	gpu.profiles[0].placements[0].start = 64;
	assert_int_equal(bh_geometry_init(&gpu, &geo, &err), -1);
	assert_int_equal(err.code, BH_E_UNSUPPORTED);
	board_init(&gpu, "h100-sxm5-80gb");
	gpu.profiles[0].placements[0].size = 2;
	assert_int_equal(bh_geometry_init(&gpu, &geo, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_complete_board_has_the_counts_that_are_known),
			cmocka_unit_test(
					boards_that_are_not_complete_have_a_kind_as_far_as_they_are_known),
			cmocka_unit_test(units_are_as_coarse_as_the_board_allows),
			cmocka_unit_test(a_board_with_a_place_of_its_own_is_of_no_kind),
			cmocka_unit_test(the_order_of_profiles_and_placements_changes_nothing),
			cmocka_unit_test(a_table_that_no_mask_can_hold_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
