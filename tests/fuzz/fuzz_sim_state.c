/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's state file with some bytes set: opening refuses it, or everything that reads it survives:
 * the self-check, the document of `show`, an injection, MIG operations, a reboot.
 *
 * Input: records of six bytes: an offset of three, how to read it (against the whole file, or the
 * part that changes), a count of bytes to set (1 to 8), a value. The lock word is left alone: a
 * wrong one costs ten seconds and is tested where that is the question.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "ctl/show.h"
#include "model/client.h"
#include "model/fault.h"
#include "model/holder.h"
#include "model/mig.h"
#include "model/rules.h"
#include "model/trouble.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64];
static struct sim_state *file, *whole;

/* What show.c wants of simctl's main file. */
int ctl_open(const char *path, struct sim_map *ret_map)
{
	return sim_map_open(path, ret_map, NULL) < 0 ? CTL_FAILED : CTL_DONE;
}

int ctl_complain(int status, const char *format, ...)
{
	return status;
}

int ctl_end(struct sim_tx *tx, enum sim_result result, const char *path)
{
	return sim_tx_end(tx, result) == SIM_WEDGED ? CTL_FAILED : CTL_DONE;
}

static void make_instances(struct sim_map *map, uint32_t gpu)
{
	enum sim_result activation;
	struct sim_tx tx;

	sim_tx_begin(&tx, map, false);
	(void) sim_mig_set_mode(&tx, gpu, 0, true, &activation);
	(void) sim_tx_end(&tx, SIM_OK);
	for (uint32_t row = 0; row < map->boards[gpu]->n_gis; row++) {
		const struct sim_gi_row *profile = &map->boards[gpu]->gis[row];
		struct sim_gi_ref gi;
		struct sim_ci_ref ci;

		sim_tx_begin(&tx, map, false);
		if (sim_tx_end(&tx, sim_gi_create(&tx, gpu, profile->id, -1, 0, &gi)) != SIM_OK)
			continue;
		for (uint32_t i = 0; i < profile->n_cis; i++) {
			sim_tx_begin(&tx, map, false);
			(void) sim_tx_end(&tx,
					sim_ci_create(&tx, gi, profile->cis[i].id, -1, 0, &ci));
		}
	}
	sim_tx_begin(&tx, map, false);
	(void) sim_holder_add(&tx, gpu, SIM_HOLDER_PROCESS, 0, 0, "somebody");
	(void) sim_tx_end(&tx, SIM_OK);
}

static void make_node(void)
{
	static const char *const names[] = {"one", "two", "three"};
	static const bool changing[] = {false, true, false};
	struct sim_machine machine = {.name = "f", .n_gpus = 3, .driver = CTL_DRIVER};
	char path[96];
	struct sim_map map;
	int fd;

	(void) snprintf(dir, sizeof(dir), "/tmp/bh-fuzz-state-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	(void) snprintf(path, sizeof(path), "%s/state", dir);
	machine.gpus[0].board = sim_board_find("h100-sxm5-80gb");
	machine.gpus[1].board = sim_board_find("a30-24gb");
	machine.gpus[2].board = sim_board_find("t4-16gb");
	if (sim_state_create(path, &machine, names, changing, 3, NULL) < 0 ||
			sim_map_open(dir, &map, NULL) < 0)
		abort();
	make_instances(&map, 0);
	make_instances(&map, 1);
	map.state->clients[1] = (struct sim_client){.used = 1, .pid = 7, .name = "gone"};
	map.state->faults[1] = (struct sim_fault){.used = 1, .call = 1, .native = 3};
	sim_map_close(&map);
	fd = open(path, O_RDWR | O_CLOEXEC);
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	whole = malloc(sizeof(*whole));
	if (file == MAP_FAILED || !whole)
		abort();
	(void) close(fd);
	memcpy(whole, file, sizeof(*whole));
}

static void remove_node(void)
{
	char path[96];

	(void) snprintf(path, sizeof(path), "%s/state", dir);
	(void) unlink(path);
	(void) snprintf(path, sizeof(path), "%s/clients.lock", dir);
	(void) unlink(path);
	(void) rmdir(dir);
}

static void damage(const uint8_t *data, size_t size)
{
	const size_t first = offsetof(struct sim_state, node),
		     lock = offsetof(struct sim_state, lock);

	for (; size >= 6; data += 6, size -= 6) {
		size_t at = (size_t) data[0] << 16 | (size_t) data[1] << 8 | data[2];
		size_t n = data[4] % 8 + 1;

		at = data[3] & 1 ? at % (sizeof(*file) - 8)
				 : first + at % (offsetof(struct sim_state, calls) - first);
		if (at < lock + sizeof(file->lock) && at + n > lock)
			continue;
		memset((unsigned char *) file + at, data[5], n);
	}
}

static void use(struct sim_map *map)
{
	struct sim_fault fault = {.kind = SIM_FAULT_ERROR};
	bh_auto_json json_t *node = NULL;
	char text[256] = "";
	struct sim_tx tx;

	sim_tx_begin(&tx, map, false);
	(void) sim_check(&tx, text, sizeof(text));
	(void) sim_client_sweep(&tx, SIM_CLIENTS_MAX);
	(void) sim_tx_end(&tx, SIM_OK);
	node = ctl_node_json(map);
	for (uint32_t i = 0; i < map->state->n_gpus; i++) {
		make_instances(map, i);
		sim_tx_begin(&tx, map, false);
		for (uint32_t row = 0; row < map->boards[i]->n_gis; row++)
			(void) sim_gi_capacity(map->boards[i], &tx.state->gpus[i].mig, row);
		(void) sim_trouble_of(tx.state, UINT32_MAX);
		(void) sim_holder_release(&tx, i, -1, 0);
		(void) sim_tx_end(&tx, SIM_OK);
	}
	sim_tx_begin(&tx, map, false);
	(void) sim_fault_add(&tx, &fault);
	for (uint32_t i = 0; i < tx.state->n_calls; i++)
		(void) sim_call_count(&tx, i);
	(void) sim_tx_end(&tx, SIM_OK);
	sim_tx_begin(&tx, map, false);
	(void) sim_tx_end(&tx, sim_reboot(&tx, false));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bh_error err = {0};
	struct sim_map map;

	if (!file) {
		make_node();
		(void) atexit(remove_node);
	}
	memcpy(file, whole, sizeof(*file));
	damage(data, size);
	if (sim_map_open(dir, &map, &err) < 0) {
		if (err.code != BH_E_NO_DRIVER)
			abort();
		return 0;
	}
	use(&map);
	sim_map_close(&map);
	return 0;
}
