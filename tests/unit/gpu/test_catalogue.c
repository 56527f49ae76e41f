/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/catalogue.h"

static const struct bh_model *model_of(const char *slug)
{
	const struct bh_model *model = bh_catalogue_by_slug(slug);

	assert_non_null(model);
	return model;
}

static void every_board_is_found_by_slug_by_each_pci_id_and_by_each_name(void **state)
{
	assert_int_equal(bh_catalogue_count(), 19);
	for (size_t i = 0; i < bh_catalogue_count(); i++) {
		const struct bh_model *model = bh_catalogue_at(i);

		assert_ptr_equal(bh_catalogue_by_slug(model->slug), model);
		for (size_t k = 0; k < model->n_pci_device_ids; k++) {
			assert_int_equal(model->pci_device_ids[k] & 0xffff, 0x10de);
			assert_ptr_equal(bh_catalogue_by_pci_device_id(model->pci_device_ids[k]),
					model);
		}
		for (size_t k = 0; k < model->n_nvml_names; k++)
			assert_ptr_equal(bh_catalogue_by_nvml_name(model->nvml_names[k]), model);
	}
	assert_null(bh_catalogue_at(bh_catalogue_count()));
	assert_null(bh_catalogue_by_slug("h100"));
	assert_null(bh_catalogue_by_pci_device_id(0x26b510de));
	assert_null(bh_catalogue_by_nvml_name("NVIDIA L40S"));
}

static void the_h100_has_the_figures_of_its_file(void **state)
{
	const struct bh_model *h100 = bh_catalogue_by_pci_device_id(0x233010de);
	const struct bh_gi_profile *profile;
	size_t index;

	assert_string_equal(h100->slug, "h100-sxm5-80gb");
	assert_int_equal(h100->memory_total_mib, 81559);
	assert_int_equal(h100->sm_total, 132);
	assert_int_equal(h100->compute_slices, 7);
	assert_int_equal(h100->placement_units, 8);
	assert_true(h100->complete);
	assert_int_equal(h100->enable_needs_reset, BH_TRI_NO);

	profile = bh_model_profile(h100, "3g.40gb");
	assert_int_equal(profile->id, 9);
	assert_int_equal(profile->nvml_enum, 2);
	assert_int_equal(profile->max_instances, 2);
	assert_int_equal(profile->slice_count, 3);
	assert_int_equal(profile->memory_mib, 40448);
	assert_int_equal(profile->sm, 60);
	assert_int_equal(profile->n_placements, 2);
	assert_int_equal(profile->placements[1].start, 4);
	assert_int_equal(profile->placements[1].size, 4);
	index = (size_t) (profile - h100->gi_profiles);
	assert_int_equal(h100->gi_extras[index].gi_ids[0], 1);
	assert_int_equal(h100->gi_extras[index].gi_ids[1], 2);
	assert_int_equal(h100->gi_extras[index].copy_engines, 3);
	assert_int_equal(h100->gi_extras[index].p2p, BH_TRI_NO);
	assert_null(bh_model_profile(h100, "3g.39gb"));
}

static void what_no_source_gives_is_unknown_and_not_zero(void **state)
{
	const struct bh_model *pro = model_of("rtx-pro-4500-blackwell-32gb");

	assert_false(pro->complete);
	assert_int_equal(pro->placement_units, BH_UNKNOWN);
	assert_int_equal(pro->sm_total, BH_UNKNOWN);
	for (size_t i = 0; i < pro->n_gi_profiles; i++) {
		assert_int_equal(pro->gi_profiles[i].id, BH_UNKNOWN);
		assert_true(pro->gi_profiles[i].memory_mib == BH_UNKNOWN64);
		assert_int_equal(pro->gi_profiles[i].n_placements, 0);
		assert_int_equal(pro->gi_extras[i].p2p, BH_TRI_UNKNOWN);
	}
	assert_true(model_of("gh200-96gb")->memory_total_mib == BH_UNKNOWN64);
}

static void compute_instance_profiles_know_the_gpu_instance_they_live_in(void **state)
{
	const struct bh_model *a30 = model_of("a30-24gb");
	size_t found = 0;

	for (size_t i = 0; i < a30->n_ci_profiles; i++) {
		const struct bh_model_ci_profile *ci = &a30->ci_profiles[i];

		assert_non_null(bh_model_profile(a30, ci->gi_profile));
		if (strcmp(ci->gi_profile, "4g.24gb") != 0 || ci->slice_count != 2)
			continue;
		found++;
		assert_int_equal(ci->max_instances, 2);
		assert_int_equal(ci->n_placements, 2);
		assert_int_equal(ci->placements[1].start, 2);
		assert_false(ci->is_full);
	}
	assert_int_equal(found, 1);
}

static void the_boards_that_offer_a_profile_are_walked_once_each(void **state)
{
	const struct bh_model *model = NULL;
	char found[256] = "";

	while ((model = bh_catalogue_next_offering("3g.40gb", model))) {
		strncat(found, model->slug, sizeof(found) - strlen(found) - 1);
		strncat(found, " ", sizeof(found) - strlen(found) - 1);
	}
	assert_string_equal(found, "a100-80gb h100-pcie-80gb h100-sxm5-80gb ");
	assert_null(bh_catalogue_next_offering("3g.39gb", NULL));
}

static const char *nearest(const char *slug, const char *name)
{
	const struct bh_model *model = model_of(slug);
	const struct bh_gi_profile *profile =
			bh_profile_nearest(model->gi_profiles, model->n_gi_profiles, name);

	return profile ? profile->name : "none";
}

static void the_nearest_profile_has_as_many_slices_then_the_attributes_then_the_memory(void **state)
{
	assert_string_equal(nearest("h100-sxm5-80gb", "3g.39gb"), "3g.40gb");
	assert_string_equal(nearest("h100-sxm5-80gb", "7g.79gb"), "7g.80gb");
	assert_string_equal(nearest("h100-sxm5-80gb", "1g.5gb"), "1g.10gb");
	assert_string_equal(nearest("h100-sxm5-80gb", "1g.18gb"), "1g.20gb");
	assert_string_equal(nearest("h100-sxm5-80gb", "1g.24gb+me"), "1g.10gb+me");
	assert_string_equal(nearest("h100-sxm5-80gb", "1g.24gb+gfx"), "1g.20gb");
	assert_string_equal(nearest("h100-sxm5-80gb", "1c.3g.20gb"), "3g.40gb");
	assert_string_equal(nearest("a30-24gb", "3g.20gb"), "none");
	assert_string_equal(nearest("h100-sxm5-80gb", "3g.40"), "none");
	assert_string_equal(nearest("h100-sxm5-80gb", "3g.40gbx"), "none");
	assert_string_equal(nearest("h100-sxm5-80gb", ""), "none");
}

static void a_misspelt_slug_finds_the_one_meant_and_nonsense_finds_none(void **state)
{
	assert_string_equal(bh_catalogue_nearest_slug("h100-sxm-80gb"), "h100-sxm5-80gb");
	assert_string_equal(bh_catalogue_nearest_slug("a10040gb"), "a100-40gb");
	assert_null(bh_catalogue_nearest_slug("voodoo"));
	assert_null(bh_catalogue_nearest_slug(""));
	assert_null(bh_catalogue_nearest_slug("a-name-that-is-longer-than-any-slug-can-be-and-than-"
					      "the-row-that-holds-it"));
}

static void describing_a_gpu_keeps_its_identity_and_its_instances(void **state)
{
	static struct bh_gpu gpu; /* large */

	gpu = (struct bh_gpu){.index = 3, .uuid = "GPU-1", .n_gis = 2, .n_profiles = 30};
	bh_model_describe(model_of("a100-40gb"), &gpu);
	assert_string_equal(gpu.name, "NVIDIA A100-SXM4-40GB");
	assert_string_equal(gpu.model, "a100-40gb");
	assert_int_equal(gpu.pci_device_id, 0x20b010de);
	assert_int_equal(gpu.memory_mib, 40960);
	assert_int_equal(gpu.placement_units, 8);
	assert_true(gpu.mig_capable);
	assert_int_equal(gpu.n_profiles, 7);
	assert_string_equal(gpu.profiles[6].name, "7g.40gb");
	assert_int_equal(gpu.index, 3);
	assert_string_equal(gpu.uuid, "GPU-1");
	assert_int_equal(gpu.n_gis, 2);

	bh_model_describe(model_of("rtx-pro-4500-blackwell-32gb"), &gpu);
	assert_int_equal(gpu.placement_units, 0);
	bh_model_describe(model_of("thor-igpu"), &gpu);
	assert_int_equal(gpu.pci_device_id, BH_UNKNOWN);
	assert_true(gpu.memory_mib == BH_UNKNOWN64);
}

/* Sets of placed instances of plain profiles, the empty one too, from profile number `from` on. */
static unsigned int count_sets(const struct bh_model *model, size_t from, size_t from_placement,
		uint64_t taken, unsigned int placed, bool with_double_memory)
{
	unsigned int sets = 1;

	for (size_t i = from; i < model->n_gi_profiles; i++) {
		const struct bh_gi_profile *profile = &model->gi_profiles[i];
		size_t first = i == from ? from_placement : 0;
		unsigned int here = i == from ? placed : 0;

		if (strpbrk(profile->name + 3, "+-"))
			continue;
		if (profile->nvml_enum == 9 && !with_double_memory)
			continue;
		if (here == profile->max_instances)
			continue;
		for (size_t k = first; k < profile->n_placements; k++) {
			const struct bh_placement *at = &profile->placements[k];
			uint64_t mask = ((UINT64_C(1) << at->size) - 1) << at->start;

			if (!(taken & mask))
				sets += count_sets(model, i, k + 1, taken | mask, here + 1,
						with_double_memory);
		}
	}
	return sets;
}

static void the_placements_allow_as_many_layouts_as_were_counted_elsewhere(void **state)
{
	static const char *const seven_slices[] = {
			"a100-40gb", "h100-sxm5-80gb", "h200-141gb", "b200-180gb"};

	for (size_t i = 0; i < BH_ARRAY_SIZE(seven_slices); i++) {
		const struct bh_model *model = model_of(seven_slices[i]);

		assert_int_equal(count_sets(model, 0, 0, 0, 0, false), 298);
		assert_int_equal(count_sets(model, 0, 0, 0, 0, true), 723);
	}
	assert_int_equal(count_sets(model_of("a30-24gb"), 0, 0, 0, 0, true), 26);
	assert_int_equal(count_sets(model_of("rtx-pro-6000-blackwell-96gb"), 0, 0, 0, 0, true), 26);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					every_board_is_found_by_slug_by_each_pci_id_and_by_each_name),
			cmocka_unit_test(the_h100_has_the_figures_of_its_file),
			cmocka_unit_test(what_no_source_gives_is_unknown_and_not_zero),
			cmocka_unit_test(
					compute_instance_profiles_know_the_gpu_instance_they_live_in),
			cmocka_unit_test(the_boards_that_offer_a_profile_are_walked_once_each),
			cmocka_unit_test(
					the_nearest_profile_has_as_many_slices_then_the_attributes_then_the_memory),
			cmocka_unit_test(
					a_misspelt_slug_finds_the_one_meant_and_nonsense_finds_none),
			cmocka_unit_test(describing_a_gpu_keeps_its_identity_and_its_instances),
			cmocka_unit_test(
					the_placements_allow_as_many_layouts_as_were_counted_elsewhere),
	};

	return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}
