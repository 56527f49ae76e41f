/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state file with one field out of range is refused, whatever field it is; one that is whole opens
 * within a millisecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "model/holder.h"
#include "model/mig.h"

static char dir[64], path[96];
static struct sim_state *file, *whole;

/* A GPU instance with a compute instance, a holder in it, a client, a fault and a clock that runs. */
static void make_busy(struct sim_map *map)
{
	const struct sim_gi_row *row = &map->boards[0]->gis[0];
	struct sim_gi_ref gi;
	struct sim_ci_ref ci;
	enum sim_result activation;
	struct sim_tx tx;

	sim_tx_begin(&tx, map, false);
	assert_int_equal(sim_mig_set_mode(&tx, 0, 0, true, &activation), SIM_OK);
	assert_int_equal(sim_gi_create(&tx, 0, row->id, -1, 0, &gi), SIM_OK);
	assert_int_equal(sim_ci_create(&tx, gi, row->cis[0].id, -1, 0, &ci), SIM_OK);
	assert_int_equal(sim_holder_add(&tx, 0, SIM_HOLDER_PROCESS,
					 (int) sim_gi_get(&tx, gi)->start, 77, "somebody"),
			SIM_OK);
	assert_int_equal(sim_tx_end(&tx, SIM_OK), SIM_OK);
	map->state->clients[5] = (struct sim_client){.used = 1, .pid = 1, .name = "somebody"};
	map->state->faults[3] = (struct sim_fault){.used = 1, .kind = SIM_FAULT_DELAY, .call = 1};
	sim_clock_scale(&map->state->node.clock, 2 * SIM_CLOCK_UNIT);
}

static int start(void **state)
{
	static const char *const names[] = {"one", "two"};
	static const bool changing[] = {false, true};
	struct sim_machine machine = {.name = "m", .n_gpus = 2};
	struct sim_map map;
	int fd;

	(void) snprintf(dir, sizeof(dir), "/tmp/bh-sim-sound-XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void) snprintf(path, sizeof(path), "%s/state", dir);
	machine.gpus[0].board = sim_board_find("h100-sxm5-80gb");
	machine.gpus[1].board = sim_board_find("t4-16gb");
	assert_int_equal(sim_state_create(path, &machine, names, changing, 2, NULL), 0);
	assert_int_equal(sim_map_open(dir, &map, NULL), 0);
	make_busy(&map);
	sim_map_close(&map);
	fd = open(path, O_RDWR | O_CLOEXEC);
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(file != MAP_FAILED);
	(void) close(fd);
	whole = malloc(sizeof(*whole));
	assert_non_null(whole);
	memcpy(whole, file, sizeof(*whole));
	return 0;
}

static int stop(void **state)
{
	char lock[96];

	(void) munmap(file, sizeof(*file));
	free(whole);
	(void) snprintf(lock, sizeof(lock), "%s/clients.lock", dir);
	(void) unlink(lock);
	(void) unlink(path);
	(void) rmdir(dir);
	return 0;
}

static bool opens(struct bh_error *err)
{
	struct sim_map map;

	if (sim_map_open(dir, &map, err) < 0)
		return false;
	sim_map_close(&map);
	return true;
}

#define FIELD(member, value)                                                                       \
	{                                                                                          \
#member, offsetof(struct sim_state, member),                                       \
				sizeof(((struct sim_state *) 0)->member), value                    \
	}

static const struct {
	const char *name;
	size_t offset, size;
	uint64_t value; /* repeated over texts */
} fields[] = {
		FIELD(n_gpus, 0),
		FIELD(n_gpus, SIM_GPUS_MAX + 1),
		FIELD(n_boards, 0),
		FIELD(n_boards, SIM_GPUS_MAX + 1),
		FIELD(n_calls, SIM_CALLS_MAX + 1),
		FIELD(machine, 0x4141414141414141),
		FIELD(driver.version, 0x4141414141414141),
		FIELD(driver.nvml, 0x4141414141414141),
		FIELD(calls[1].name, 0x4141414141414141),
		FIELD(lock.__data.__kind, 0),
		FIELD(boards[0].name, 0x4141414141414141),
		FIELD(boards[0].n_gis, SIM_GI_ROWS_MAX + 1),
		FIELD(boards[0].units, SIM_UNITS_MAX + 1),
		FIELD(boards[0].tree, 2),
		FIELD(boards[0].mode_survives_reload, 255),
		FIELD(boards[0].architecture, 99),
		FIELD(boards[0].gis[1].n_places, SIM_PLACES_MAX + 1),
		FIELD(boards[0].gis[1].slices, 0),
		FIELD(boards[0].gis[1].media, 9),
		FIELD(boards[0].gis[1].places[0].start, 8),
		FIELD(boards[0].gis[1].n_cis, SIM_CI_ROWS_MAX + 1),
		FIELD(boards[0].gis[1].cis[0].n_places, SIM_PLACES_MAX + 1),
		FIELD(boards[0].gis[1].cis[0].assumed, 7),
		FIELD(generation, UINT32_MAX),
		FIELD(generation, 0),
		FIELD(node.fake_pids, UINT32_MAX),
		FIELD(node.clock.scale, UINT64_MAX),
		FIELD(node.clock.base_ns, 1ULL << 63),
		FIELD(node.clock.base_real_ns, UINT64_MAX),
		FIELD(gpus[1].board, 2),
		FIELD(gpus[1].identity.uuid, 0x4141414141414141),
		FIELD(gpus[1].identity.serial, 0x4141414141414141),
		FIELD(gpus[0].mig.n_gis, 0),
		FIELD(gpus[0].mig.gis[0].row, SIM_GI_ROWS_MAX),
		FIELD(gpus[0].mig.gis[0].start, SIM_UNITS_MAX),
		FIELD(gpus[0].mig.gis[0].size, 0),
		FIELD(gpus[0].mig.gis[0].size, 32),
		FIELD(gpus[0].mig.gis[0].n_cis, 0),
		FIELD(gpus[0].mig.gis[1].generation, 1),
		FIELD(gpus[1].mig.gis[0].generation, 1), /* of a board without profiles */
		FIELD(gpus[0].mig.gis[0].cis[0].row, SIM_CI_ROWS_MAX),
		FIELD(gpus[0].mig.gis[0].cis[0].start, SIM_UNITS_MAX),
		FIELD(gpus[0].mig.gis[0].cis[0].size, 0),
		FIELD(gpus[0].mig.gis[0].cis[0].id, 32),
		FIELD(gpus[0].mig.gis[0].cis[0].device_index, 64),
		FIELD(gpus[0].mig.gis[0].cis[0].uuid, 0x4141414141414141),
		FIELD(gpus[0].holders[0].kind, SIM_HOLDER_KINDS),
		FIELD(gpus[0].holders[0].name, 0x4141414141414141),
		FIELD(clients[5].name, 0x4141414141414141),
		FIELD(faults[3].kind, SIM_FAULT_DELAY + 1),
		FIELD(faults[3].call, 2),
};

static void a_field_out_of_range_is_refused_whatever_field_it_is(void **state)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(fields); i++) {
		struct bh_error err = {0};

		assert_true(opens(&err));
		for (size_t at = 0; at < fields[i].size; at += sizeof(uint64_t)) {
			size_t n = fields[i].size - at;

			memcpy((char *) file + fields[i].offset + at, &fields[i].value,
					n < sizeof(uint64_t) ? n : sizeof(uint64_t));
		}
		if (opens(&err) || err.code != BH_E_NO_DRIVER || !strstr(err.message, "is damaged"))
			fail_msg("%s = %#llx: %s", fields[i].name,
					(unsigned long long) fields[i].value, err.message);
		memcpy(file, whole, sizeof(*file));
	}
}

/* The owner died half-way; what it left is looked at before it is put back. */
static void an_undo_image_that_reaches_outside_is_not_put_back(void **state)
{
	struct sim_undo_range outside[] = {
			{.offset = 0, .length = 8, .at = 0},
			{.offset = offsetof(struct sim_state, node),
					.length = 8,
					.at = SIM_UNDO_BYTES},
			{.offset = offsetof(struct sim_state, calls), .length = 8, .at = 0},
			{.offset = sizeof(struct sim_state) + 8, .length = 8, .at = 0},
			/* within, but of an image that holds nonsense */
			{.offset = offsetof(struct sim_state, gpus[0].mig.gis[0].row), .length = 4},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(outside); i++) {
		struct bh_error err = {0};

		file->undo.ranges[0] = outside[i];
		file->undo.n_ranges = 1;
		memset(file->undo.image, 0x77, 64);
		file->lock.__data.__lock = 0x40000000; /* what the kernel leaves of a dead owner */
		if (opens(&err) || err.code != BH_E_DEADLINE)
			fail_msg("range %zu: %s", i, err.message);
		memcpy(file, whole, sizeof(*file));
	}
	file->undo.ranges[0] = (struct sim_undo_range){
			.offset = offsetof(struct sim_state, faults[3]), .length = 8};
	file->undo.n_ranges = 1;
	memset(file->undo.image, 0, 64);
	file->lock.__data.__lock = 0x40000000;
	assert_true(opens(NULL)); /* a fault that was being injected */
	assert_int_equal(file->faults[3].used, 0);
	assert_int_equal(file->undone, whole->undone + 1);
	memcpy(file, whole, sizeof(*file));
}

static void opening_takes_less_than_a_millisecond(void **state)
{
	struct timespec a, b;
	int64_t best = INT64_MAX;

	for (int i = 0; i < 20; i++) {
		int64_t ns;

		(void) clock_gettime(CLOCK_MONOTONIC, &a);
		assert_true(opens(NULL));
		(void) clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec;
		best = ns < best ? ns : best;
	}
	print_message("opening a node: %lld us\n", (long long) best / 1000);
	assert_in_range(best, 0, 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_field_out_of_range_is_refused_whatever_field_it_is),
			cmocka_unit_test(an_undo_image_that_reaches_outside_is_not_put_back),
			cmocka_unit_test(opening_takes_less_than_a_millisecond),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
