/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "model/sound.h"

#include "model/topology.h"

/*
 * A killed process keeps what it stored up to the instruction that it was killed at, in program
 * order; only the compiler may not reorder.
 */
static void barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static uint64_t mix(uint64_t x)
{
	x += 0x9E3779B97F4A7C15ULL;
	x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
	x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
	return x ^ (x >> 31);
}

void sim_uuid(const char *prefix, uint64_t seed, uint64_t a, uint64_t b, char text[SIM_UUID_SIZE])
{
	uint64_t high = mix(seed ^ mix(a) ^ mix(b ^ 0x5555));
	uint64_t low = mix(high ^ a);

	/* version 4, variant 1: what the driver's look like */
	high = (high & ~0xF000ULL) | 0x4000;
	low = (low & ~(3ULL << 62)) | (2ULL << 62);
	(void) snprintf(text, SIM_UUID_SIZE, "%s%08x-%04x-%04x-%04x-%012llx", prefix,
			(unsigned int) (high >> 32), (unsigned int) (high >> 16 & 0xFFFF),
			(unsigned int) (high & 0xFFFF), (unsigned int) (low >> 48),
			(unsigned long long) (low & 0xFFFFFFFFFFFFULL));
}

uint32_t sim_generation(struct sim_tx *tx)
{
	return ++tx->state->generation;
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0;

	for (; *text; text++)
		h = mix(h ^ (unsigned char) *text);
	return h;
}

static int make_lock(pthread_mutex_t *lock, struct bh_error *err)
{
	pthread_mutexattr_t attr;
	int rc = pthread_mutexattr_init(&attr);

	if (rc)
		return bh_fail_errno(err, rc, "making the lock");
	/* type normal: error-checking ones misfire on equal thread ids of two PID namespaces */
	rc = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (!rc)
		rc = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!rc)
		rc = pthread_mutex_init(lock, &attr);
	(void) pthread_mutexattr_destroy(&attr);
	return rc ? bh_fail_errno(err, rc, "making the lock") : 0;
}

/* The index of that board among the state's, which gets it if it is the first of its kind. */
static uint32_t keep_board(struct sim_state *state, const struct sim_board *board)
{
	for (uint32_t i = 0; i < state->n_boards; i++) {
		if (strcmp(state->boards[i].slug, board->slug) == 0)
			return i;
	}
	state->boards[state->n_boards] = *board;
	return state->n_boards++;
}

/* By a card that the machine puts there, or by one of the @n before. */
static bool is_bus_taken(const struct sim_state *state, uint32_t n,
		const struct sim_machine *machine, uint32_t bus)
{
	bool taken = false;

	for (uint32_t i = 0; i < machine->n_gpus; i++)
		taken |= machine->gpus[i].identity.pci_bus == bus;
	for (uint32_t i = 0; i < n; i++)
		taken |= state->gpus[i].identity.pci_bus == bus;
	return taken;
}

static void fill_gpu(struct sim_state *state, uint32_t index, const struct sim_machine *machine)
{
	const struct sim_machine_gpu *from = &machine->gpus[index];
	struct sim_gpu *gpu = &state->gpus[index];
	struct sim_identity *id = &gpu->identity;

	gpu->board = keep_board(state, from->board);
	gpu->minor = index;
	sim_health_new(&gpu->health);
	*id = from->identity;
	if (!id->uuid[0])
		sim_uuid("GPU-", state->seed, index + 1, 0, id->uuid);
	if (!id->serial[0])
		(void) snprintf(id->serial, sizeof(id->serial), "16%011llu",
				(unsigned long long) (mix(state->seed + index) % 100000000000ULL));
	for (uint32_t bus = 0x17 + 8 * index; !id->pci_bus; bus++) {
		if (!is_bus_taken(state, index, machine, bus))
			id->pci_bus = bus;
	}
}

static int map_file(int fd, struct sim_state **ret_state, struct bh_error *err)
{
	void *at = mmap(NULL, sizeof(struct sim_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return bh_fail_errno(err, errno, "mapping the state");
	*ret_state = at;
	return 0;
}

int sim_state_create(const char *path, const struct sim_machine *machine,
		const char *const *call_names, const bool *changing, size_t n_calls,
		struct bh_error *err)
{
	bh_auto_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	struct sim_state *state = NULL;

	assert(machine->n_gpus >= 1 && machine->n_gpus <= SIM_GPUS_MAX && n_calls <= SIM_CALLS_MAX);
	if (fd < 0)
		return bh_fail_errno(err, errno, "creating '%s'", path);
	/* every process of the simulated node writes here, whoever it runs as */
	if (fchmod(fd, 0666) < 0 || ftruncate(fd, sizeof(*state)) < 0)
		return bh_fail_errno(err, errno, "sizing '%s'", path);
	if (map_file(fd, &state, err) < 0)
		return -1;
	state->version = SIM_STATE_VERSION;
	state->size = sizeof(*state);
	(void) snprintf(state->machine, sizeof(state->machine), "%s", machine->name);
	state->driver = machine->driver;
	state->nodes = machine->nodes;
	state->seed = machine->seed ^ hash_text(machine->name);
	state->n_gpus = machine->n_gpus;
	state->topology = machine->topology;
	state->n_calls = (uint32_t) n_calls;
	state->node.boot = 1;
	for (uint32_t i = 0; i < machine->n_gpus; i++)
		fill_gpu(state, i, machine);
	for (size_t i = 0; i < n_calls; i++) {
		(void) snprintf(state->calls[i].name, sizeof(state->calls[i].name), "%s",
				call_names[i]);
		state->calls[i].changing = changing[i];
	}
	if (make_lock(&state->lock, err) < 0) {
		(void) munmap(state, sizeof(*state));
		return -1;
	}
	memcpy(state->magic, SIM_STATE_MAGIC, sizeof(state->magic));
	(void) munmap(state, sizeof(*state));
	return 0;
}

static int fail_damaged(const char *dir, struct bh_error *err)
{
	return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0,
			"'%s/state' is damaged; simctl create MACHINE --dir '%s' --force makes the "
			"node anew",
			dir, dir);
}

/* Before anything is believed: any process of the node may have written there. */
static int check_header(const struct sim_state *state, const char *dir, struct bh_error *err)
{
	if (memcmp(state->magic, SIM_STATE_MAGIC, sizeof(state->magic)) != 0)
		return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0, "'%s/state' is no node's state",
				dir);
	if (state->version != SIM_STATE_VERSION || state->size != sizeof(*state))
		return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0,
				"'%s/state' is of another version of the simulator", dir);
	if (!sim_sound_fixed(state) || !sim_topology_is_sound(&state->topology, state->n_gpus))
		return fail_damaged(dir, err);
	return 0;
}

static int open_node_file(const char *dir, const char *name, int flags, struct bh_error *err)
{
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int) sizeof(path))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "the path is too long");
	fd = open(path, flags | O_CLOEXEC, 0666);
	if (fd < 0 && errno == ENOENT)
		return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_ERRNO, ENOENT,
				"'%s' holds no simulated node", dir);
	return fd < 0 ? bh_fail_errno(err, errno, "opening '%s'", path) : fd;
}

static int check_changing(struct sim_map *map, const char *dir, struct bh_error *err)
{
	struct sim_tx tx;
	bool sound;

	sim_tx_begin(&tx, map, /* take_back= */ false);
	sound = tx.wedged || sim_sound_changing(tx.state);
	if (sim_tx_end(&tx, SIM_OK) == SIM_WEDGED)
		return sim_wedged(dir, err);
	return sound ? 0 : fail_damaged(dir, err);
}

int sim_wedged(const char *dir, struct bh_error *err)
{
	return bh_fail(err, BH_E_DEADLINE, BH_SRC_SELF, 0,
			"'%s/state' is wedged: its lock was not to be had within %d s; if no "
			"stopped "
			"process holds it, simctl create MACHINE --dir '%s' --force makes the node "
			"anew",
			dir, SIM_LOCK_WAIT_S, dir);
}

int sim_map_open(const char *dir, struct sim_map *ret_map, struct bh_error *err)
{
	struct sim_map map = {.clients_fd = -1};
	bh_auto_close int fd = open_node_file(dir, "state", O_RDWR, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return bh_fail_errno(err, errno, "reading '%s/state'", dir);
	if (st.st_size != (off_t) sizeof(struct sim_state))
		return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0,
				"'%s/state' is damaged, or of another version of the simulator",
				dir);
	if (map_file(fd, &map.state, err) < 0)
		return -1;
	if (check_header(map.state, dir, err) < 0)
		goto unmap;
	for (uint32_t i = 0; i < map.state->n_gpus; i++)
		map.boards[i] = &map.state->boards[map.state->gpus[i].board];
	map.clients_fd = open_node_file(dir, "clients.lock", O_RDWR | O_CREAT, err);
	if (map.clients_fd < 0)
		goto unmap;
	if (check_changing(&map, dir, err) < 0) {
		(void) close(map.clients_fd);
		goto unmap;
	}
	*ret_map = map;
	return 0;
unmap:
	(void) munmap(map.state, sizeof(*map.state));
	return -1;
}

void sim_map_close(struct sim_map *map)
{
	if (map->state)
		(void) munmap(map->state, sizeof(*map->state));
	if (map->clients_fd >= 0)
		(void) close(map->clients_fd);
	*map = (struct sim_map){.clients_fd = -1};
}

/* Idempotent, so the next one can do it again when this one is killed too. */
static void restore(struct sim_state *state)
{
	struct sim_undo *undo = &state->undo;

	for (uint32_t i = undo->n_ranges; i > 0; i--) {
		const struct sim_undo_range *r = &undo->ranges[i - 1];

		memcpy((unsigned char *) state + r->offset, undo->image + r->at, r->length);
	}
	barrier();
	undo->n_ranges = 0;
	barrier();
}

/* What a dead owner left. Return: false when that cannot be used. */
static bool put_right(const struct sim_map *map)
{
	struct sim_state *state = map->state;

	state->deaths++;
	if (!sim_sound_undo(&state->undo))
		return false;
	if (state->undo.n_ranges) {
		state->undone++;
		restore(state);
	}
	if (!sim_sound_changing(state))
		return false;
	for (uint32_t i = 0; i < state->n_gpus; i++) {
		if (map->boards[i] != &state->boards[state->gpus[i].board])
			return false;
	}
	return true;
}

static bool take_lock(const struct sim_map *map)
{
	struct sim_state *state = map->state;
	struct timespec until;
	int rc;

	/* by the wall clock: ThreadSanitizer does not know the call that takes another */
	(void) clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SIM_LOCK_WAIT_S;
	rc = pthread_mutex_timedlock(&state->lock, &until);
	if (rc != EOWNERDEAD)
		return rc == 0;
	if (put_right(map)) {
		(void) pthread_mutex_consistent(&state->lock);
		return true;
	}
	/* not made consistent: from now on nobody gets it */
	(void) pthread_mutex_unlock(&state->lock);
	return false;
}

/* Of what never changes only, so an empty node: whatever is looked for there is not found. */
static void set_aside(struct sim_tx *tx)
{
	struct sim_state *copy = calloc(1, sizeof(*copy));

	if (!copy)
		abort(); /* no lock and no memory: there is nothing to act on and no way to say so */
	memcpy(copy, tx->state, offsetof(struct sim_state, lock));
	tx->wedged = true;
	tx->aside = *tx->map;
	tx->aside.state = copy;
	tx->state = copy;
	tx->map = &tx->aside;
}

void sim_tx_begin(struct sim_tx *tx, struct sim_map *map, bool take_back)
{
	*tx = (struct sim_tx){.map = map, .state = map->state, .take_back = take_back};
	if (!take_lock(map))
		set_aside(tx);
	barrier();
}

void sim_tx_touch(struct sim_tx *tx, void *part, size_t length)
{
	struct sim_undo *undo = &tx->state->undo;
	struct sim_undo_range *r = &undo->ranges[undo->n_ranges];
	uint32_t at = undo->n_ranges ? r[-1].at + r[-1].length : 0;

	assert(undo->n_ranges < SIM_UNDO_RANGES && at + length <= SIM_UNDO_BYTES);
	r->offset = (uint32_t) ((unsigned char *) part - (unsigned char *) tx->state);
	r->length = (uint32_t) length;
	r->at = at;
	memcpy(undo->image + at, part, length);
	barrier();
	undo->n_ranges++;
	barrier();
}

enum sim_result sim_tx_end(struct sim_tx *tx, enum sim_result result)
{
	struct sim_state *state = tx->state;

	if (tx->wedged) {
		free(state);
		return SIM_WEDGED;
	}
	barrier();
	if (result != SIM_OK || tx->take_back)
		restore(state);
	else
		state->undo.n_ranges = 0;
	barrier();
	(void) pthread_mutex_unlock(&state->lock);
	return result;
}
