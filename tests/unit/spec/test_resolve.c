/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "spec/resolve.h"

#define H100   0x233010de
#define A100   0x20b210de
#define T4     0x1eb810de
#define SUB_16 0x16c010de

struct node {
	struct bh_gpu gpus[8];
	struct bh_inventory inventory;
};

static struct node *node_of(const uint32_t *device_ids, size_t n)
{
	struct node *node = calloc(1, sizeof(*node));

	assert_non_null(node);
	for (size_t i = 0; i < n; i++) {
		struct bh_gpu *gpu = &node->gpus[i];

		gpu->index = (uint32_t) i;
		gpu->pci_device_id = device_ids[i];
		gpu->pci_subsystem_id = i == 0 ? SUB_16 : BH_UNKNOWN;
		gpu->mig_capable = device_ids[i] != T4;
		(void) snprintf(gpu->name, sizeof(gpu->name), "%s",
				device_ids[i] == T4 ? "Tesla T4" : "NVIDIA board");
		(void) snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%zu", i);
	}
	node->inventory.gpus = node->gpus;
	node->inventory.n_gpus = n;
	return node;
}

#define FILE_OF(entries) "version: v1\nmig-configs:\n  c:\n" entries

struct outcome {
	struct bh_mig_config *config;
	struct bh_wanted *wanted;
	struct bh_error err;
	int r;
};

static struct outcome resolved(const char *text, const uint32_t *device_ids, size_t n)
{
	struct outcome o = {.r = -1};
	const struct bh_mig_configuration *c;
	struct node *node = node_of(device_ids, n);

	if (bh_mig_config_parse(text, strlen(text), "f", &o.config, &o.err) < 0 ||
			bh_mig_config_select(o.config, NULL, &c, &o.err) < 0)
		fail_msg("%s", o.err.message);
	o.r = bh_spec_resolve(c, &node->inventory, &o.wanted, &o.err);
	free(node);
	return o;
}

static void drop(struct outcome *o)
{
	bh_wanted_free(o->wanted);
	bh_mig_config_free(o->config);
}

#define RESOLVED(text, ...)                                                                        \
	resolved(text, (const uint32_t[]){__VA_ARGS__},                                            \
			sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void later_entries_win_and_others_are_out_of_scope(void **state)
{
	BH_CLEANUP(drop)
	struct outcome o = RESOLVED(FILE_OF("  - devices: [0, 1]\n"
					    "    mig-enabled: true\n"
					    "    mig-devices: {1g.10gb: 7}\n"
					    "  - devices: [1]\n"
					    "    mig-enabled: false\n"),
			H100, H100, H100);

	assert_int_equal(o.r, 0);
	assert_string_equal(o.wanted->name, "c");
	assert_string_equal(o.wanted->file, "f");
	assert_int_equal(o.wanted->n_gpus, 3);
	assert_true(o.wanted->gpus[0].in_scope && o.wanted->gpus[0].mig);
	assert_int_equal(o.wanted->gpus[0].n_profiles, 1);
	assert_int_equal(o.wanted->gpus[0].profiles[0].count, 7);
	assert_int_equal(o.wanted->gpus[0].profiles[0].line, 6);
	assert_int_equal(o.wanted->gpus[0].line, 4);
	assert_true(o.wanted->gpus[1].in_scope && !o.wanted->gpus[1].mig);
	assert_int_equal(o.wanted->gpus[1].n_profiles, 0);
	assert_int_equal(o.wanted->gpus[1].line, 7);
	assert_false(o.wanted->gpus[2].in_scope);
	assert_null(o.wanted->notes);
}

static void filters_choose_boards_by_device_and_subsystem(void **state)
{
	BH_CLEANUP(drop)
	struct outcome o = RESOLVED(
			FILE_OF("  - device-filter: [\"0x233010DE:0x16C010DE\", \"0x20B210DE\"]\n"
				"    devices: all\n"
				"    mig-enabled: true\n"
				"    mig-devices: {}\n"
				"  - device-filter: \"0x20B210DE\"\n"
				"    devices: [1, 2]\n"
				"    mig-enabled: false\n"),
			H100, H100, A100, A100);

	assert_int_equal(o.r, 0);
	assert_true(o.wanted->gpus[0].in_scope && o.wanted->gpus[0].mig);
	assert_false(o.wanted->gpus[1].in_scope); /* another subsystem; and no A100 */
	assert_true(o.wanted->gpus[2].in_scope && !o.wanted->gpus[2].mig);
	assert_true(o.wanted->gpus[3].in_scope && o.wanted->gpus[3].mig);
}

static void unknown_subsystem_matches_no_subsystem_filter(void **state)
{
	BH_CLEANUP(drop)
	struct outcome o = RESOLVED(FILE_OF("  - device-filter: \"0x233010DE:0xFFFFFFFF\"\n"
					    "    devices: all\n"
					    "    mig-enabled: false\n"),
			H100, H100);

	assert_int_equal(o.r, -1);
	assert_int_equal(o.err.code, BH_E_NO_SUCH_GPU);
}

static void all_passes_by_boards_without_mig_and_says_so(void **state)
{
	BH_CLEANUP(drop)
	struct outcome o = RESOLVED(FILE_OF("  - devices: all\n"
					    "    mig-enabled: true\n"
					    "    mig-devices: {1g.10gb: 7}\n"
					    "  - devices: all\n"
					    "    mig-enabled: false\n"),
			H100, T4);

	assert_int_equal(o.r, 0);
	assert_true(o.wanted->gpus[0].in_scope && !o.wanted->gpus[0].mig);
	assert_false(o.wanted->gpus[1].in_scope);
	assert_non_null(o.wanted->notes);
	assert_string_equal(o.wanted->notes->text,
			"f:7:14: GPU 1 (Tesla T4) cannot do MIG: 'devices: all' passes it by");
	assert_null(o.wanted->notes->next);
}

static void board_without_mig_named_with_mig_off_is_in_scope(void **state)
{
	BH_CLEANUP(drop)
	struct outcome o = RESOLVED(
			FILE_OF("  - {devices: [0], mig-enabled: true, mig-devices: {}}\n"
				"  - {devices: [0], mig-enabled: false}\n"
				"  - {devices: all, mig-enabled: true, mig-devices: {}}\n"),
			T4, H100);

	assert_int_equal(o.r, 0);
	assert_true(o.wanted->gpus[0].in_scope && !o.wanted->gpus[0].mig);
	assert_true(o.wanted->gpus[1].in_scope && o.wanted->gpus[1].mig);
	assert_null(o.wanted->notes);
}

static void every_misfit_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text;
		uint32_t devices[3];
		size_t n_devices;
		enum bh_code code;
		const char *message;
	} misfits[] = {
			{FILE_OF("  - {devices: [0, 1, 2, 3], mig-enabled: false}\n"
				 "  - devices: [7, 4]\n"
				 "    mig-enabled: true\n"
				 "    mig-devices: {1g.5gb: 7}\n"),
					{H100, H100}, 2, BH_E_NO_SUCH_GPU,
					"f:4:15: configuration 'c' names GPU 2-4, 7; this node has "
					"GPU 0-1"},
			{FILE_OF("  - {devices: [0], mig-enabled: false}\n"
				 "  - device-filter: \"0x20B210DE\"\n"
				 "    devices: [0, 2]\n"
				 "    mig-enabled: false\n"),
					{H100}, 1, BH_E_NO_SUCH_GPU,
					"f:6:14: configuration 'c' names GPU 2; this node has GPU "
					"0"},
			{FILE_OF("  - {devices: [1], mig-enabled: true, mig-devices: {}}\n"
				 "  - {devices: [9], mig-enabled: false}\n"),
					{H100, T4}, 2, BH_E_NO_SUCH_GPU,
					"f:5:15: configuration 'c' names GPU 9; this node has GPU "
					"0-1"},
			{FILE_OF("  - {devices: [0], mig-enabled: false}\n"), {0}, 0,
					BH_E_NO_SUCH_GPU,
					"f:4:15: configuration 'c' names GPU 0; this node has "
					"none"},
			{FILE_OF("  - {devices: all, mig-enabled: false}\n"), {0}, 0,
					BH_E_NO_SUCH_GPU,
					"f:3:3: configuration 'c' matches no GPU of this node, "
					"which "
					"has 0"},
			{FILE_OF("  - {devices: all, mig-enabled: false, device-filter: "
				 "\"0x20B210DE\"}\n"),
					{H100, T4}, 2, BH_E_NO_SUCH_GPU,
					"f:3:3: configuration 'c' matches no GPU of this node, "
					"which "
					"has 2"},
			{FILE_OF("  - {devices: [1], mig-enabled: false, device-filter: "
				 "\"0x20B210DE\"}\n"),
					{A100, H100}, 2, BH_E_NO_SUCH_GPU,
					"f:3:3: configuration 'c' matches no GPU of this node, "
					"which "
					"has 2"},
			{FILE_OF("  - {devices: all, mig-enabled: false}\n"), {T4, T4}, 2,
					BH_E_NO_SUCH_GPU,
					"f:3:3: configuration 'c' matches no GPU of this node; GPU "
					"0-1 "
					"cannot do MIG"},
			{FILE_OF("  - {devices: all, mig-enabled: false}\n"
				 "  - {devices: [1, 2], mig-enabled: true, mig-devices: {}}\n"),
					{H100, T4, T4}, 3, BH_E_MIG_UNSUPPORTED,
					"f:5:5: configuration 'c' wants MIG on GPU 1-2, which "
					"cannot "
					"do MIG (Tesla T4)"},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(misfits); i++) {
		BH_CLEANUP(drop)
		struct outcome o =
				resolved(misfits[i].text, misfits[i].devices, misfits[i].n_devices);

		assert_int_equal(o.r, -1);
		assert_string_equal(o.err.message, misfits[i].message);
		assert_int_equal(o.err.code, misfits[i].code);
		assert_int_equal(bh_code_exit_status(o.err.code), 3);
		assert_null(o.wanted);
		if (misfits[i].code == BH_E_MIG_UNSUPPORTED)
			assert_string_equal(o.err.gpu, "GPU-1");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(later_entries_win_and_others_are_out_of_scope),
			cmocka_unit_test(filters_choose_boards_by_device_and_subsystem),
			cmocka_unit_test(unknown_subsystem_matches_no_subsystem_filter),
			cmocka_unit_test(all_passes_by_boards_without_mig_and_says_so),
			cmocka_unit_test(board_without_mig_named_with_mig_off_is_in_scope),
			cmocka_unit_test(every_misfit_is_refused_with_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
