/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver/: against a small NVML that lies on request. What a faithful one does is tested against
 * the simulated node, through the worker.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/mig.h"
#include "driver/nvml_error.h"
#include "driver/profiles.h"
#include "fake_nvml.h"

#define UUID_A "GPU-00000000-0000-0000-0000-00000000000a"
#define UUID_B "GPU-00000000-0000-0000-0000-00000000000b"
#define PCI_A  "00000000:1B:00.0"
#define PCI_B  "00000000:43:00.0"

struct fixture {
	char dir[64], name[80]; /* the driver's name: "sim:DIR" */
	struct bh_driver *driver;
	struct fake_nvml *fake;
	struct bh_board board;
	struct bh_observation after;
	struct bh_gpu gpu;
	struct bh_error err;
};

/* DIR/lib/libnvidia-ml.so.1, pointing at one of the fakes. */
static void make_dir(struct fixture *f, const char *library)
{
	char path[PATH_MAX];

	(void) snprintf(f->dir, sizeof(f->dir), "%s", "/tmp/bh-test-driver-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	(void) snprintf(path, sizeof(path), "%s/lib", f->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	(void) snprintf(path, sizeof(path), "%s/lib/libnvidia-ml.so.1", f->dir);
	assert_int_equal(symlink(library, path), 0);
	(void) snprintf(f->name, sizeof(f->name), "sim:%s", f->dir);
}

static void remove_dir(struct fixture *f)
{
	char path[PATH_MAX];

	(void) snprintf(path, sizeof(path), "%s/lib/libnvidia-ml.so.1", f->dir);
	(void) unlink(path);
	(void) snprintf(path, sizeof(path), "%s/lib", f->dir);
	(void) rmdir(path);
	(void) rmdir(f->dir);
}

static void open_driver(struct fixture *f)
{
	struct fake_nvml *(*find)(void);
	void *address;

	if (bh_driver_open(f->name, &f->driver, &f->err) < 0)
		fail_msg("%s", f->err.message);
	address = dlsym(bh_driver_nvml(f->driver)->handle, "fake_nvml");
	assert_non_null(address);
	memcpy(&find, &address, sizeof(find));
	f->fake = find();
	if (bh_board_open(f->driver, PCI_A, UUID_A, &f->board, &f->err) < 0)
		fail_msg("%s", f->err.message);
}

static int setup_with(void **state, const char *library)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	make_dir(f, library);
	open_driver(f);
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, FAKE_NVML_LIBRARY);
}

static int setup_old(void **state)
{
	return setup_with(state, FAKE_NVML_OLD_LIBRARY);
}

static int setup_mig(void **state)
{
	struct fixture *f;

	(void) setup_with(state, FAKE_NVML_LIBRARY);
	f = *state;
	f->fake->gpus[0].current = f->fake->gpus[0].pending = 1;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bh_driver_free(f->driver);
	remove_dir(f);
	free(f);
	return 0;
}

static void fail_at(struct fixture *f, const char *call, unsigned int nth, nvmlReturn_t code)
{
	(void) snprintf(f->fake->fail_call, sizeof(f->fake->fail_call), "%s", call);
	f->fake->fail_nth = nth;
	f->fake->fail_seen = 0;
	f->fake->fail_code = code;
}

static void add_process(struct fixture *f, unsigned int pid, unsigned int gi, unsigned int ci)
{
	struct fake_gpu *gpu = &f->fake->gpus[0];

	gpu->processes[gpu->n_processes++] = (nvmlProcessInfo_t){
			.pid = pid, .gpuInstanceId = gi, .computeInstanceId = ci};
}

static struct bh_gi_name gi_name(uint32_t profile_id, uint32_t start, uint32_t size)
{
	return (struct bh_gi_name){profile_id, {start, size}};
}

static int create_gi(struct fixture *f, uint32_t profile_id, uint32_t start, uint32_t size)
{
	struct bh_gi_name name = gi_name(profile_id, start, size);

	return bh_mig_create_gi(&f->board, &name, &f->after, &f->err);
}

static int destroy_gi(struct fixture *f, uint32_t profile_id, uint32_t start, uint32_t size)
{
	struct bh_gi_name name = gi_name(profile_id, start, size);

	return bh_mig_destroy_gi(&f->board, &name, &f->after, &f->err);
}

static int create_ci(struct fixture *f, struct bh_gi_name gi, uint32_t slices, uint32_t start)
{
	struct bh_ci_name name = {gi, slices, start};

	return bh_mig_create_ci(&f->board, &name, &f->after, &f->err);
}

static int destroy_ci(struct fixture *f, struct bh_gi_name gi, uint32_t slices, uint32_t start)
{
	struct bh_ci_name name = {gi, slices, start};

	return bh_mig_destroy_ci(&f->board, &name, &f->after, &f->err);
}

static void must(struct fixture *f, int r)
{
	if (r != 0)
		fail_msg("%s", f->err.message);
	assert_true(f->after.known);
}

static void must_fail(struct fixture *f, int r, enum bh_code code, int native)
{
	assert_int_equal(r, -1);
	if (f->err.code != code)
		fail_msg("%s instead of %s: %s", bh_code_name(f->err.code), bh_code_name(code),
				f->err.message);
	assert_int_equal(f->err.native, native);
	assert_int_equal(f->err.source, native ? BH_SRC_NVML : BH_SRC_SELF);
	assert_string_equal(f->err.gpu, UUID_A);
}

static void says(const struct fixture *f, const char *text)
{
	if (!strstr(f->err.message, text))
		fail_msg("'%s' is not in '%s'", text, f->err.message);
}

/* ---- Loading ---- */

static void library_without_a_required_symbol_is_refused_by_name(void **state)
{
	struct fixture f = {0};
	struct bh_nvml nvml;

	make_dir(&f, FAKE_NVML_BROKEN_LIBRARY);
	memset(&nvml, 0x55, sizeof(nvml));
	assert_int_equal(bh_nvml_load(f.name, &nvml, &f.err), -1);
	remove_dir(&f);
	assert_int_equal(f.err.code, BH_E_NO_DRIVER);
	says(&f, "nvmlDeviceGetMigMode");
	for (size_t i = 0; i < sizeof(nvml); i++)
		assert_int_equal(((const char *) &nvml)[i], 0);
}

static void driver_that_is_not_there_is_no_driver(void **state)
{
	struct fixture f = {0};
	struct bh_nvml nvml;

	assert_int_equal(bh_nvml_load("sim:/nonexistent", &nvml, &f.err), -1);
	assert_int_equal(f.err.code, BH_E_NO_DRIVER);
	says(&f, "/nonexistent/lib/libnvidia-ml.so.1");
	assert_int_equal(bh_nvml_load("cuda", &nvml, &f.err), -1);
	assert_int_equal(f.err.code, BH_E_USAGE);
	assert_int_equal(bh_nvml_load("sim:", &nvml, &f.err), -1);
	assert_int_equal(f.err.code, BH_E_USAGE);
}

static void driver_that_is_not_loaded_is_no_driver(void **state)
{
	struct fixture f = {0};

	make_dir(&f, FAKE_NVML_LIBRARY);
	(void) setenv("FAKE_NVML", "nvmlInit_v2=9", 1);
	assert_int_equal(bh_driver_open(f.name, &f.driver, &f.err), -1);
	(void) unsetenv("FAKE_NVML");
	remove_dir(&f);
	assert_int_equal(f.err.code, BH_E_NO_DRIVER);
	assert_int_equal(f.err.native, NVML_ERROR_DRIVER_NOT_LOADED);
	assert_true(f.err.next[0] != '\0');
}

/* ---- Listing and opening ---- */

static void list_keeps_a_gpu_that_cannot_be_read_and_says_why(void **state)
{
	struct fixture *f = *state;
	struct bh_gpu_row rows[4];
	size_t n = 0;

	fail_at(f, "nvmlDeviceGetHandleByIndex_v2", 1, NVML_ERROR_GPU_IS_LOST);
	assert_int_equal(bh_driver_list(f->driver, rows, 4, &n, &f->err), 0);
	assert_int_equal(n, 2);
	assert_false(rows[0].readable);
	assert_int_equal(rows[0].why.code, BH_E_NEEDS_REBOOT);
	assert_true(rows[1].readable);
	assert_string_equal(rows[1].uuid, UUID_B);
	assert_string_equal(rows[1].pci, PCI_B);
	assert_int_equal(rows[1].pci_device_id, 0x233010DE);
	assert_int_equal(bh_driver_list(f->driver, rows, 1, &n, &f->err), -1);
}

static void another_card_at_the_address_is_not_taken_for_the_one_wanted(void **state)
{
	struct fixture *f = *state;
	struct bh_board board;

	assert_int_equal(bh_board_open(f->driver, PCI_A, UUID_B, &board, &f->err), -1);
	assert_int_equal(f->err.code, BH_E_NO_SUCH_GPU);
	says(f, UUID_A);
	says(f, UUID_B);
	assert_int_equal(bh_board_open(f->driver, "00000000:99:00.0", UUID_A, &board, &f->err), -1);
	assert_int_equal(f->err.code, BH_E_NO_SUCH_GPU);
	assert_int_equal(f->err.native, NVML_ERROR_NOT_FOUND);
}

/* ---- Observing ---- */

static void observe(struct fixture *f, bool with_profiles)
{
	if (bh_board_observe(&f->board, with_profiles, &f->gpu, &f->err) < 0)
		fail_msg("%s", f->err.message);
}

static void profiles_have_names_ids_and_placements(void **state)
{
	struct fixture *f = *state;

	observe(f, true);
	assert_int_equal(f->gpu.n_profiles, 7);
	assert_int_equal(f->gpu.placement_units, 8);
	assert_string_equal(f->gpu.profiles[0].name, "1g.10gb");
	assert_int_equal(f->gpu.profiles[0].id, 19);
	assert_int_equal(f->gpu.profiles[0].n_placements, 7);
	assert_string_equal(f->gpu.profiles[6].name, "1g.20gb");
	assert_int_equal(f->gpu.profiles[6].nvml_enum, 9);
	assert_int_equal(f->gpu.profiles[6].placements[3].start, 6);
	assert_int_equal(f->gpu.memory_mib, 81559);
	assert_true(f->gpu.mig_capable);
	assert_int_equal(f->gpu.mig_current, BH_MIG_OFF);
	assert_string_equal(f->gpu.model, "");
	observe(f, false);
	assert_int_equal(f->gpu.n_profiles, 0);
}

static void names_come_from_v3_where_v2_is_refused_and_are_computed_where_both_are(void **state)
{
	struct fixture *f = *state;

	f->fake->only_v3 = true;
	observe(f, true);
	assert_string_equal(f->gpu.profiles[5].name, "1g.10gb+me");
	f->fake->no_names = true;
	memset(&f->gpu, 0, sizeof(f->gpu));
	observe(f, true);
	assert_string_equal(f->gpu.profiles[0].name, "1g.10gb");
	assert_string_equal(f->gpu.profiles[2].name, "3g.40gb");
	assert_string_equal(f->gpu.profiles[4].name, "7g.80gb");
	assert_string_equal(f->gpu.profiles[5].name, "1g.10gb+me");
	assert_string_equal(f->gpu.profiles[6].name, "1g.20gb");
}

static void computed_names_are_those_people_know(void **state)
{
	static const struct {
		uint32_t nvml_enum, slices;
		uint64_t mib, board_mib;
		const char *name;
	} rows[] = {
			{4, 7, 80896, 81920, "7g.80gb"}, /* not 7g.79gb */
			{0, 1, 4864, 40960, "1g.5gb"},
			{2, 3, 20096, 40960, "3g.20gb"},
			{7, 1, 4864, 40960, "1g.5gb+me"},
			{0, 1, 5952, 24576, "1g.6gb"},
			{0xD, 1, 24192, 97887, "1g.24gb-me"},
			{0x10, 2, 48512, 97887, "2g.48gb+me.all"},
			{0xC, 4, 96000, 97887, "4g.96gb+gfx"},
			{0x1F, 1, 9984, 81559, ""}, /* what it has more is not known */
			{0, 1, 9984, 0, ""},
	};
	char name[32];

	for (size_t i = 0; i < BH_ARRAY_SIZE(rows); i++) {
		bh_profile_name(rows[i].nvml_enum, rows[i].slices, rows[i].mib,
				rows[i].board_mib << 20, name, sizeof(name));
		assert_string_equal(name, rows[i].name);
	}
	bh_profile_name(0, 1, 9984, BH_UNKNOWN64, name, sizeof(name));
	assert_string_equal(name, "");
}

static void instances_are_listed_in_order_with_uuids_over_gaps(void **state)
{
	struct fixture *f = *state;

	/* profiles are listed in order of their enum: 19 comes before 9 */
	must(f, create_gi(f, 9, 0, 4));
	must(f, create_gi(f, 19, 5, 1));
	must(f, create_ci(f, gi_name(9, 0, 4), 1, 2));
	must(f, create_ci(f, gi_name(9, 0, 4), 1, 0));
	observe(f, false);
	assert_int_equal(f->gpu.n_gis, 2);
	assert_int_equal(f->gpu.gis[0].profile_id, 9);
	assert_int_equal(f->gpu.gis[0].memory_mib, 1000);
	assert_int_equal(f->gpu.gis[0].n_cis, 2);
	assert_int_equal(f->gpu.gis[0].cis[0].at.start, 0);
	assert_string_equal(f->gpu.gis[0].cis[0].uuid, "MIG-7-1");
	assert_string_equal(f->gpu.gis[0].cis[1].uuid, "MIG-7-0");
	assert_int_equal(f->gpu.gis[1].at.start, 5);
	assert_int_equal(f->gpu.gis[1].n_cis, 0);
	assert_true(f->gpu.gis[1].memory_mib == BH_UNKNOWN64);
}

static void processes_are_where_they_are(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 9, 0, 4));
	must(f, create_ci(f, gi_name(9, 0, 4), 1, 0));
	must(f, create_ci(f, gi_name(9, 0, 4), 1, 1));
	f->fake->process_name = "/a/long/path/of/more/than/sixty-three/characters/to/a/program/bin/"
				"tr\xffin";
	add_process(f, 4321, 7, 1);
	add_process(f, 4322, BH_UNKNOWN, BH_UNKNOWN);
	observe(f, false);
	assert_true(f->gpu.holders_known);
	assert_int_equal(f->gpu.n_holders, 2);
	assert_int_equal(f->gpu.holders[0].who.pid, 4321);
	assert_string_equal(f->gpu.holders[0].who.name, "tr?in");
	assert_int_equal(f->gpu.holders[0].gi, 7);
	assert_int_equal(f->gpu.holders[1].gi, BH_UNKNOWN);
	assert_true(f->gpu.gis[0].busy);
	assert_false(f->gpu.gis[0].cis[0].busy);
	assert_true(f->gpu.gis[0].cis[1].busy);
}

static void more_processes_than_fit_are_counted(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < 150; i++)
		add_process(f, 100 + i, BH_UNKNOWN, BH_UNKNOWN);
	observe(f, false);
	assert_int_equal(f->gpu.n_holders, BH_GPU_HOLDERS_MAX);
	assert_int_equal(f->gpu.more_holders, 150 - BH_GPU_HOLDERS_MAX);
}

static void what_cannot_be_read_is_unknown_and_not_zero(void **state)
{
	struct fixture *f = *state;

	fail_at(f, "nvmlDeviceGetComputeRunningProcesses_v3", 0, NVML_ERROR_NO_PERMISSION);
	observe(f, false);
	assert_false(f->gpu.holders_known);
	fail_at(f, "nvmlDeviceGetIndex", 0, NVML_ERROR_UNKNOWN);
	observe(f, false);
	assert_int_equal(f->gpu.index, BH_UNKNOWN);

	/* what was read once is remembered, so these are for the other board */
	fail_at(f, "nvmlDeviceGetMemoryInfo", 1, NVML_ERROR_UNKNOWN);
	assert_int_equal(bh_board_open(f->driver, PCI_B, UUID_B, &f->board, &f->err), 0);
	observe(f, false);
	assert_true(f->gpu.memory_mib == BH_UNKNOWN64);
	observe(f, false);
	assert_int_equal(f->gpu.memory_mib, 81559);
}

static void what_decides_and_cannot_be_read_fails_the_observation(void **state)
{
	static const char *const calls[] = {"nvmlDeviceGetMigMode", "nvmlDeviceGetGpuInstances",
			"nvmlGpuInstanceGetInfo", "nvmlGpuInstanceGetComputeInstances",
			"nvmlComputeInstanceGetInfo_v2"};
	struct fixture *f = *state;

	must(f, create_gi(f, 9, 0, 4));
	must(f, create_ci(f, gi_name(9, 0, 4), 3, 0));
	for (size_t i = 0; i < BH_ARRAY_SIZE(calls); i++) {
		fail_at(f, calls[i], 1, NVML_ERROR_UNKNOWN);
		if (bh_board_observe(&f->board, false, &f->gpu, &f->err) == 0)
			fail_msg("%s failed, and was ignored", calls[i]);
		assert_int_equal(f->err.native, NVML_ERROR_UNKNOWN);
	}
}

static void board_without_mig_says_so(void **state)
{
	struct fixture *f = *state;

	f->fake->no_mig = true;
	observe(f, true);
	assert_false(f->gpu.mig_capable);
	assert_int_equal(f->gpu.mig_current, BH_MIG_UNKNOWN);
	must_fail(f, bh_mig_set_mode(&f->board, true, false, &f->after, &f->err),
			BH_E_MIG_UNSUPPORTED, NVML_ERROR_NOT_SUPPORTED);
	assert_int_equal(f->fake->changing_calls, 0);
}

static void static_data_is_read_once(void **state)
{
	struct fixture *f = *state;
	unsigned int first, second;

	must(f, create_gi(f, 9, 0, 4));
	must(f, create_ci(f, gi_name(9, 0, 4), 3, 0));
	f->fake->calls = 0;
	observe(f, false);
	first = f->fake->calls;
	f->fake->calls = 0;
	observe(f, true);
	second = f->fake->calls;
	print_message("calls of an observation: %u, with profiles %u\n", first, second);
	/* 7 listings, one instance with 3 profiles, and a handful */
	assert_true(first <= 30);
	assert_true(second <= first + 2 * 7);
}

/* ---- The mode ---- */

static int set_mode(struct fixture *f, bool on)
{
	return bh_mig_set_mode(&f->board, on, /* leave_pending= */ false, &f->after, &f->err);
}

static void mode_is_switched_and_the_board_reopened_after_the_reset(void **state)
{
	struct fixture *f = *state;

	f->fake->profiles_need_mig = true;
	must(f, set_mode(f, true));
	assert_int_equal(f->after.gpu.mig_current, BH_MIG_ON);
	must(f, create_gi(f, 9, 0, 4)); /* with the new handle */
	must(f, destroy_gi(f, 9, 0, 4));
	must(f, set_mode(f, false));
	assert_int_equal(f->after.gpu.mig_current, BH_MIG_OFF);
}

static void mode_that_is_as_wanted_is_left_alone(void **state)
{
	struct fixture *f = *state;

	must(f, set_mode(f, false));
	assert_int_equal(f->fake->changing_calls, 0);
	assert_int_equal(f->after.gpu.mig_current, BH_MIG_OFF);
	/* but not when something else is waiting */
	f->fake->gpus[0].pending = 1;
	must(f, set_mode(f, false));
	assert_int_equal(f->fake->changing_calls, 1);
	assert_int_equal(f->after.gpu.mig_pending, BH_MIG_OFF);
}

static void refused_switch_is_withdrawn_and_names_the_holders(void **state)
{
	struct fixture *f = *state;

	add_process(f, 77, BH_UNKNOWN, BH_UNKNOWN);
	f->fake->activation = NVML_ERROR_IN_USE;
	must_fail(f, set_mode(f, true), BH_E_IN_USE, NVML_ERROR_IN_USE);
	says(f, "wanted enabled, found disabled");
	says(f, "was withdrawn, which was read back");
	assert_int_equal(f->err.n_holders, 1);
	assert_int_equal(f->err.holders[0].pid, 77);
	assert_int_equal(f->fake->gpus[0].pending, 0);
	assert_true(f->after.known);
	assert_int_equal(f->after.gpu.mig_pending, BH_MIG_OFF);
	assert_true(f->err.next[0] != '\0');
}

static void switch_that_cannot_be_withdrawn_is_said_to_be_waiting(void **state)
{
	struct fixture *f = *state;

	f->fake->activation = NVML_ERROR_IN_USE;
	f->fake->sticky_pending = true;
	must_fail(f, set_mode(f, true), BH_E_IN_USE, NVML_ERROR_IN_USE);
	says(f, "could NOT be withdrawn");
	assert_int_equal(f->after.gpu.mig_pending, BH_MIG_ON);
}

static void switch_that_waits_for_a_reset_is_withdrawn_unless_that_is_wanted(void **state)
{
	struct fixture *f = *state;

	f->fake->activation = NVML_ERROR_RESET_REQUIRED;
	must_fail(f, set_mode(f, true), BH_E_NEEDS_RESET, NVML_ERROR_RESET_REQUIRED);
	says(f, "was withdrawn");
	assert_int_equal(f->fake->gpus[0].pending, 0);

	/* and where the driver does not say it */
	f->fake->activation = NVML_SUCCESS;
	f->fake->quiet_pending = true;
	must_fail(f, set_mode(f, true), BH_E_NEEDS_RESET, 0);
	assert_int_equal(f->fake->gpus[0].pending, 0);

	must(f, bh_mig_set_mode(&f->board, true, /* leave_pending= */ true, &f->after, &f->err));
	assert_int_equal(f->after.gpu.mig_current, BH_MIG_OFF);
	assert_int_equal(f->after.gpu.mig_pending, BH_MIG_ON);
}

static void leaving_it_pending_does_not_excuse_a_gpu_in_use(void **state)
{
	struct fixture *f = *state;

	f->fake->activation = NVML_ERROR_IN_USE;
	must_fail(f, bh_mig_set_mode(&f->board, true, true, &f->after, &f->err), BH_E_IN_USE,
			NVML_ERROR_IN_USE);
	assert_int_equal(f->fake->gpus[0].pending, 0);
}

static void switch_that_reports_success_and_does_nothing_is_not_applied(void **state)
{
	struct fixture *f = *state;

	f->fake->silent = true;
	must_fail(f, set_mode(f, true), BH_E_NOT_APPLIED, 0);
	says(f, "wanted enabled, found disabled");
	assert_true(f->after.known);
}

static void refusal_of_the_call_itself_keeps_the_number(void **state)
{
	struct fixture *f = *state;

	fail_at(f, "nvmlDeviceSetMigMode", 0, NVML_ERROR_NO_PERMISSION);
	must_fail(f, set_mode(f, true), BH_E_DENIED, NVML_ERROR_NO_PERMISSION);
	assert_true(f->after.known);
}

static void card_that_changed_during_the_switch_is_not_observed_as_the_old_one(void **state)
{
	struct fixture *f = *state;

	/* the second reading of a UUID is that of the reopened board */
	fail_at(f, "nvmlDeviceGetUUID", 1, NVML_ERROR_GPU_IS_LOST);
	must_fail(f, set_mode(f, true), BH_E_NEEDS_REBOOT, NVML_ERROR_GPU_IS_LOST);
	says(f, "with what effect is not known");
	assert_false(f->after.known);
}

/* ---- GPU instances ---- */

static void gpu_instance_is_made_where_it_was_asked_for(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 14, 4, 2));
	assert_int_equal(f->after.gpu.n_gis, 1);
	assert_int_equal(f->after.gpu.gis[0].at.start, 4);
	must(f, destroy_gi(f, 14, 4, 2));
	assert_int_equal(f->after.gpu.n_gis, 0);
	assert_int_equal(f->fake->changing_calls, 2);
}

static void creation_that_reports_success_and_does_nothing_is_not_applied(void **state)
{
	struct fixture *f = *state;

	f->fake->silent = true;
	must_fail(f, create_gi(f, 14, 4, 2), BH_E_NOT_APPLIED, 0);
	says(f, "wanted 1, found 0");
	says(f, "profile 14 at 4:2");
	f->fake->silent = false;
	must(f, create_gi(f, 9, 0, 4));
	f->fake->silent = true;
	must_fail(f, create_ci(f, gi_name(9, 0, 4), 3, 0), BH_E_NOT_APPLIED, 0);
	says(f, "wanted 1, found 0");
	must_fail(f, destroy_gi(f, 9, 0, 4), BH_E_NOT_APPLIED, 0);
	says(f, "wanted 0, found 1");
	f->fake->silent = false;
	must(f, create_ci(f, gi_name(9, 0, 4), 3, 0));
	f->fake->silent = true;
	must_fail(f, destroy_ci(f, gi_name(9, 0, 4), 3, 0), BH_E_NOT_APPLIED, 0);
	says(f, "wanted 0, found 1");
}

static void placement_that_is_taken_does_not_fit_and_says_by_what(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 14, 4, 2));
	must_fail(f, create_gi(f, 9, 4, 4), BH_E_DOES_NOT_FIT, NVML_ERROR_INSUFFICIENT_RESOURCES);
	says(f, "GPU instance of profile 14 at 4:2 is in the way");
	assert_int_equal(f->err.n_holders, 1);
	assert_string_equal(f->err.holders[0].kind, "instance");
	assert_true(f->after.known);
	assert_int_equal(f->after.gpu.n_gis, 1);
	must_fail(f, create_gi(f, 9, 3, 4), BH_E_PROFILE_NOT_OFFERED, NVML_ERROR_INVALID_ARGUMENT);
}

static void first_instance_on_a_gpu_in_use_names_the_process(void **state)
{
	struct fixture *f = *state;

	add_process(f, 55, BH_UNKNOWN, BH_UNKNOWN);
	fail_at(f, "nvmlDeviceCreateGpuInstanceWithPlacement", 0, NVML_ERROR_IN_USE);
	must_fail(f, create_gi(f, 9, 0, 4), BH_E_IN_USE, NVML_ERROR_IN_USE);
	assert_int_equal(f->err.n_holders, 1);
	assert_int_equal(f->err.holders[0].pid, 55);
}

static void instance_with_compute_instances_is_in_use_by_them(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 9, 0, 4));
	must(f, create_ci(f, gi_name(9, 0, 4), 3, 0));
	must_fail(f, destroy_gi(f, 9, 0, 4), BH_E_IN_USE, NVML_ERROR_IN_USE);
	assert_int_equal(f->err.n_holders, 1);
	assert_string_equal(f->err.holders[0].kind, "instance");
	assert_string_equal(f->err.next, "destroy its compute instances first");
	assert_int_equal(f->after.gpu.n_gis, 1);
}

static void what_is_not_there_cannot_be_destroyed(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 9, 0, 4));
	must_fail(f, destroy_gi(f, 9, 4, 4), BH_E_NOT_SO, 0);
	must_fail(f, destroy_gi(f, 5, 0, 4), BH_E_NOT_SO, 0);
	must_fail(f, destroy_ci(f, gi_name(9, 0, 4), 3, 0), BH_E_NOT_SO, 0);
	must_fail(f, create_ci(f, gi_name(9, 4, 4), 3, 0), BH_E_NOT_SO, 0);
	assert_int_equal(f->fake->changing_calls, 1);
}

static void nothing_is_created_while_mig_is_off(void **state)
{
	struct fixture *f = *state;

	must_fail(f, create_gi(f, 9, 0, 4), BH_E_NOT_SO, 0);
	assert_int_equal(f->fake->changing_calls, 0);
}

static void success_that_cannot_be_read_back_is_not_known(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 19, 0, 1)); /* so that the static data is there */
	fail_at(f, "nvmlGpuInstanceGetInfo", 0, NVML_ERROR_TIMEOUT);
	must_fail(f, create_gi(f, 9, 4, 4), BH_E_DEADLINE, NVML_ERROR_TIMEOUT);
	says(f, "with what effect is not known");
	assert_false(f->after.known);
}

/* ---- Compute instances ---- */

static uint32_t only_ci_profile(const struct fixture *f)
{
	assert_int_equal(f->after.gpu.n_gis, 1);
	assert_int_equal(f->after.gpu.gis[0].n_cis, 1);
	return f->after.gpu.gis[0].cis[0].profile_id;
}

static void compute_profile_is_found_at_run_time(void **state)
{
	struct fixture *f = *state;

	/* all of a double-memory 1g: the variant has more SMs */
	must(f, create_gi(f, 15, 2, 2));
	must(f, create_ci(f, gi_name(15, 2, 2), 1, 0));
	assert_int_equal(only_ci_profile(f), 10 + 7);
	must(f, destroy_ci(f, gi_name(15, 2, 2), 1, 0));
	must(f, destroy_gi(f, 15, 2, 2));

	/* all of a 7g: two with as many SMs, the lower enum */
	must(f, create_gi(f, 0, 0, 8));
	must(f, create_ci(f, gi_name(0, 0, 8), 7, 0));
	assert_int_equal(only_ci_profile(f), 10 + 4);
	must(f, destroy_ci(f, gi_name(0, 0, 8), 7, 0));

	/* a part of it */
	must(f, create_ci(f, gi_name(0, 0, 8), 2, 4));
	assert_int_equal(only_ci_profile(f), 10 + 1);
	must_fail(f, create_ci(f, gi_name(0, 0, 8), 5, 0), BH_E_PROFILE_NOT_OFFERED, 0);
}

static void start_that_the_driver_does_not_offer_is_refused_with_those_it_does(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 5, 0, 4));
	must_fail(f, create_ci(f, gi_name(5, 0, 4), 2, 1), BH_E_DOES_NOT_FIT, 0);
	says(f, "0:2 2:2 only");
	assert_int_equal(f->fake->changing_calls, 1);
	must(f, create_ci(f, gi_name(5, 0, 4), 2, 2));
	must_fail(f, create_ci(f, gi_name(5, 0, 4), 4, 0), BH_E_DOES_NOT_FIT,
			NVML_ERROR_INSUFFICIENT_RESOURCES);
	assert_string_equal(f->err.holders[0].kind, "instance");
}

static void compute_instance_put_elsewhere_is_not_applied(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 5, 0, 4));
	f->fake->elsewhere = true;
	must_fail(f, create_ci(f, gi_name(5, 0, 4), 1, 0), BH_E_NOT_APPLIED, 0);
	says(f, "wanted 1, found 0");
	assert_int_equal(f->after.gpu.gis[0].cis[0].at.start, 1); /* and it is shown */
}

static void driver_that_cannot_place_is_asked_without_a_placement_if_that_is_safe(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 5, 0, 4));
	f->fake->no_placed_ci = true;
	must(f, create_ci(f, gi_name(5, 0, 4), 2, 0));
	assert_int_equal(f->after.gpu.gis[0].cis[0].at.start, 0);
	must_fail(f, create_ci(f, gi_name(5, 0, 4), 2, 2), BH_E_UNSUPPORTED,
			NVML_ERROR_NOT_SUPPORTED);
	must(f, destroy_ci(f, gi_name(5, 0, 4), 2, 0));

	/* what it puts elsewhere is taken away again */
	must_fail(f, create_ci(f, gi_name(5, 0, 4), 2, 2), BH_E_NOT_APPLIED, 0);
	assert_int_equal(f->after.gpu.gis[0].n_cis, 0);
}

static void old_driver_without_optional_symbols_still_divides(void **state)
{
	struct fixture *f = *state;

	assert_null(bh_driver_nvml(f->driver)->nvmlGpuInstanceCreateComputeInstanceWithPlacement);
	f->fake->gpus[0].current = f->fake->gpus[0].pending = 1;
	must(f, create_gi(f, 9, 4, 4));
	must(f, create_ci(f, gi_name(9, 4, 4), 3, 0));
	observe(f, true);
	assert_string_equal(f->gpu.profiles[2].name, "3g.40gb"); /* computed */
}

static void compute_instance_with_a_process_is_in_use_by_it(void **state)
{
	struct fixture *f = *state;

	must(f, create_gi(f, 9, 0, 4));
	must(f, create_ci(f, gi_name(9, 0, 4), 3, 0));
	add_process(f, 66, 7, 0);
	add_process(f, 67, 12, 0); /* elsewhere */
	must_fail(f, destroy_ci(f, gi_name(9, 0, 4), 3, 0), BH_E_IN_USE, NVML_ERROR_IN_USE);
	assert_int_equal(f->err.n_holders, 1);
	assert_int_equal(f->err.holders[0].pid, 66);
}

static void every_code_of_nvml_has_a_meaning_and_keeps_its_number(void **state)
{
	struct bh_error err;

	for (int code = 1; code <= 31; code++) {
		assert_int_equal(bh_fail_nvml(&err, (nvmlReturn_t) code, "trying"), -1);
		assert_int_equal(err.native, code);
		assert_int_equal(err.source, BH_SRC_NVML);
		assert_non_null(strstr(err.message, bh_nvml_text((nvmlReturn_t) code)));
	}
	(void) bh_fail_nvml(&err, NVML_ERROR_INSUFFICIENT_RESOURCES, "trying");
	assert_int_equal(err.code, BH_E_DOES_NOT_FIT);
}

int main(void)
{
#define T(name)	    cmocka_unit_test_setup_teardown(name, setup, teardown)
#define T_MIG(name) cmocka_unit_test_setup_teardown(name, setup_mig, teardown)
#define T_OLD(name) cmocka_unit_test_setup_teardown(name, setup_old, teardown)
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(library_without_a_required_symbol_is_refused_by_name),
			cmocka_unit_test(driver_that_is_not_there_is_no_driver),
			cmocka_unit_test(driver_that_is_not_loaded_is_no_driver),
			T(list_keeps_a_gpu_that_cannot_be_read_and_says_why),
			T(another_card_at_the_address_is_not_taken_for_the_one_wanted),
			T(profiles_have_names_ids_and_placements),
			T(names_come_from_v3_where_v2_is_refused_and_are_computed_where_both_are),
			cmocka_unit_test(computed_names_are_those_people_know),
			T_MIG(instances_are_listed_in_order_with_uuids_over_gaps),
			T_MIG(processes_are_where_they_are),
			T(more_processes_than_fit_are_counted),
			T(what_cannot_be_read_is_unknown_and_not_zero),
			T_MIG(what_decides_and_cannot_be_read_fails_the_observation),
			T(board_without_mig_says_so),
			T_MIG(static_data_is_read_once),
			T(mode_is_switched_and_the_board_reopened_after_the_reset),
			T(mode_that_is_as_wanted_is_left_alone),
			T(refused_switch_is_withdrawn_and_names_the_holders),
			T(switch_that_cannot_be_withdrawn_is_said_to_be_waiting),
			T(switch_that_waits_for_a_reset_is_withdrawn_unless_that_is_wanted),
			T(leaving_it_pending_does_not_excuse_a_gpu_in_use),
			T(switch_that_reports_success_and_does_nothing_is_not_applied),
			T(refusal_of_the_call_itself_keeps_the_number),
			T(card_that_changed_during_the_switch_is_not_observed_as_the_old_one),
			T_MIG(gpu_instance_is_made_where_it_was_asked_for),
			T_MIG(creation_that_reports_success_and_does_nothing_is_not_applied),
			T_MIG(placement_that_is_taken_does_not_fit_and_says_by_what),
			T_MIG(first_instance_on_a_gpu_in_use_names_the_process),
			T_MIG(instance_with_compute_instances_is_in_use_by_them),
			T_MIG(what_is_not_there_cannot_be_destroyed),
			T(nothing_is_created_while_mig_is_off),
			T_MIG(success_that_cannot_be_read_back_is_not_known),
			T_MIG(compute_profile_is_found_at_run_time),
			T_MIG(start_that_the_driver_does_not_offer_is_refused_with_those_it_does),
			T_MIG(compute_instance_put_elsewhere_is_not_applied),
			T_MIG(driver_that_cannot_place_is_asked_without_a_placement_if_that_is_safe),
			T_OLD(old_driver_without_optional_symbols_still_divides),
			T_MIG(compute_instance_with_a_process_is_in_use_by_it),
			cmocka_unit_test(every_code_of_nvml_has_a_meaning_and_keeps_its_number),
	};

	return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
