/* SPDX-License-Identifier: Apache-2.0 */
/* The one file of this library with mutable file-scope state. */
#include "nvml/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/access.h"
#include "model/client.h"
#include "model/procfs.h"

#define SIM_EVENT_SETS_MAX 64

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static char process_dir[4096];
static struct sim_map process_map = {.clients_fd = -1};
static dev_t lock_dev;
static ino_t lock_ino;
static unsigned int session_count; /* nvmlInit without nvmlShutdown */
static uint32_t session_boot;
static uint32_t session_slot = SIM_CLIENTS_MAX;
static pid_t session_pid;
static char dev_dir[4200]; /* what stands for /dev in this session */
/* O_PATH descriptors of nvidiactl and of the GPUs, or -1: what holder scans see. */
static int node_fds[1 + SIM_GPUS_MAX] = {[0 ... SIM_GPUS_MAX] = -1};
static uint32_t touched; /* bit n: this session opened GPU n */
static struct {
	uint32_t generation; /* 0 = free */
	struct sim_event_set set;
} event_sets[SIM_EVENT_SETS_MAX];
static unsigned int calls_inside; /* of all threads */
static bool map_is_done;	  /* the last call to leave unmaps */
static _Thread_local bool call_is_silent, call_was_wedged;

/* At load: the working directory may change before the first call. */
__attribute__((constructor)) static void find_dir(void)
{
	char here[2048] = "";
	Dl_info info;
	char *cut;

	if (!dladdr(&process_lock, &info) || !info.dli_fname)
		return;
	if (info.dli_fname[0] != '/' && !getcwd(here, sizeof(here)))
		return;
	if (snprintf(process_dir, sizeof(process_dir), "%s%s%s", here, here[0] ? "/" : "",
			    info.dli_fname) >= (int) sizeof(process_dir)) {
		process_dir[0] = '\0';
		return;
	}
	/* DIR/lib/NAME */
	for (int i = 0; i < 2; i++) {
		cut = strrchr(process_dir, '/');
		if (cut)
			*cut = '\0';
	}
}

static enum sim_result open_map(void)
{
	struct bh_error err = {0};
	struct stat st;

	if (process_map.state)
		return SIM_OK;
	if (!process_dir[0])
		return SIM_NOT_FOUND;
	if (sim_map_open(process_dir, &process_map, &err) < 0)
		return err.code == BH_E_DEADLINE ? SIM_WEDGED : SIM_NOT_FOUND;
	if (fstat(process_map.clients_fd, &st) < 0) {
		sim_map_close(&process_map);
		return SIM_NOT_FOUND;
	}
	lock_dev = st.st_dev;
	lock_ino = st.st_ino;
	return SIM_OK;
}

struct sim_map *sim_process_enter(enum sim_result *ret_why)
{
	enum sim_result result;

	(void) pthread_mutex_lock(&process_lock);
	result = open_map();
	if (result == SIM_OK)
		calls_inside++;
	else
		*ret_why = result;
	(void) pthread_mutex_unlock(&process_lock);
	return result == SIM_OK ? &process_map : NULL;
}

void sim_process_leave(void)
{
	(void) pthread_mutex_lock(&process_lock);
	if (--calls_inside == 0 && map_is_done) {
		sim_map_close(&process_map); /* a program may unload us now */
		map_is_done = false;
	}
	(void) pthread_mutex_unlock(&process_lock);
}

struct sim_map *sim_process_map(void)
{
	return &process_map;
}

uint32_t sim_process_slot(void)
{
	/* without our lock: callers hold the node's, which is taken under ours elsewhere */
	return __atomic_load_n(&session_slot, __ATOMIC_RELAXED);
}

static void set_slot(uint32_t slot)
{
	__atomic_store_n(&session_slot, slot, __ATOMIC_RELAXED);
}

static bool has_own_lock_file(void)
{
	struct stat st;

	return fstat(process_map.clients_fd, &st) == 0 && st.st_dev == lock_dev &&
	       st.st_ino == lock_ino;
}

/* A program may close descriptors that it does not know; ours is then opened anew. */
static bool reopen_lock_file(void)
{
	char path[sizeof(process_dir) + 16];
	struct stat st;
	int fd;

	(void) snprintf(path, sizeof(path), "%s/clients.lock", process_dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		if (fd >= 0)
			(void) close(fd);
		return false;
	}
	process_map.clients_fd = fd;
	lock_dev = st.st_dev;
	lock_ino = st.st_ino;
	return true;
}

static enum sim_result attach(void)
{
	enum sim_result result;
	uint32_t slot = SIM_CLIENTS_MAX;
	struct sim_tx tx;

	sim_tx_begin(&tx, &process_map, false);
	result = sim_tx_end(&tx, tx.wedged ? SIM_WEDGED : sim_client_attach(&tx, &slot));
	if (result == SIM_OK) {
		session_pid = getpid();
		set_slot(slot);
	}
	return result;
}

/* One node of the session. Slot 0 is nvidiactl, slot 1 + n is GPU n. */
static enum sim_access open_node(uint32_t slot)
{
	const struct sim_nodes *nodes = &process_map.state->nodes;
	uint32_t minor = slot ? process_map.state->gpus[slot - 1].minor : SIM_MINOR_CTL;
	char name[32] = "nvidiactl";

	if (!sim_nodes_exist(nodes))
		return SIM_ACCESS_FREE;
	if (slot)
		(void) snprintf(name, sizeof(name), "nvidia%u", minor);
	return sim_access_try(dev_dir, name, sim_node_device(nodes, SIM_MAJOR_NVIDIA, minor),
			O_RDWR, &node_fds[slot]);
}

/* A program may have closed our descriptors, and their numbers may be its own now. */
static void close_nodes(void)
{
	const struct sim_nodes *nodes = process_map.state ? &process_map.state->nodes : NULL;
	struct stat st;

	for (uint32_t slot = 0; slot <= SIM_GPUS_MAX; slot++) {
		uint32_t minor = SIM_MINOR_CTL;

		if (slot && nodes)
			minor = process_map.state->gpus[slot - 1].minor;
		if (nodes && node_fds[slot] >= 0 && fstat(node_fds[slot], &st) == 0 &&
				S_ISCHR(st.st_mode) &&
				st.st_rdev == sim_node_device(nodes, SIM_MAJOR_NVIDIA, minor))
			(void) close(node_fds[slot]);
		node_fds[slot] = -1;
	}
	__atomic_store_n(&touched, 0, __ATOMIC_RELAXED);
}

/*
 * A mode that refuses is "no permission" (header); a device filter that refuses is the "unknown
 * error" that containers meet after a reload (field case F77); without the node the driver counts
 * as not loaded (assumed).
 */
static enum sim_result open_control(void)
{
	const char *dev = getenv("BULKHEAD_SIM_DEV");

	close_nodes();
	if (dev && *dev)
		(void) snprintf(dev_dir, sizeof(dev_dir), "%s", dev);
	else
		(void) snprintf(dev_dir, sizeof(dev_dir), "%s/dev", process_dir);
	switch (open_node(0)) {
	case SIM_ACCESS_FREE:
	case SIM_ACCESS_ALLOWED:
		return SIM_OK;
	case SIM_ACCESS_REFUSED:
		return SIM_NO_PERMISSION;
	case SIM_ACCESS_FILTERED:
		return SIM_FAILED;
	case SIM_ACCESS_ABSENT:
		return SIM_NOT_FOUND;
	}
	return SIM_FAILED;
}

enum sim_result sim_process_touch(uint32_t gpu)
{
	enum sim_access found;

	(void) pthread_mutex_lock(&process_lock);
	found = touched & 1U << gpu ? SIM_ACCESS_ALLOWED : open_node(1 + gpu);
	if (found == SIM_ACCESS_ALLOWED || found == SIM_ACCESS_FREE)
		__atomic_store_n(&touched, touched | 1U << gpu, __ATOMIC_RELAXED);
	(void) pthread_mutex_unlock(&process_lock);
	return found == SIM_ACCESS_ALLOWED || found == SIM_ACCESS_FREE ? SIM_OK : SIM_NO_PERMISSION;
}

bool sim_process_touches(uint32_t gpu)
{
	return __atomic_load_n(&touched, __ATOMIC_RELAXED) & 1U << gpu;
}

bool sim_process_has_cap(uint32_t cap)
{
	return sim_access_has_cap(dev_dir, &process_map.state->nodes, cap);
}

bool sim_process_is_admin(void)
{
	return !sim_nodes_exist(&process_map.state->nodes) || sim_access_is_admin();
}

void sim_process_sync(void)
{
	/* who may not write there leaves it to the next one who may */
	(void) sim_procfs_sync(process_dir, &process_map);
}

enum sim_result sim_process_open(void)
{
	enum sim_result result = SIM_OK;

	(void) pthread_mutex_lock(&process_lock);
	if (session_count && session_boot != process_map.state->node.boot) {
		session_count = 0; /* a session of the node's former life */
		memset(event_sets, 0, sizeof(event_sets));
	}
	if (!session_count)
		result = open_control();
	if (result == SIM_OK && !session_count && session_slot == SIM_CLIENTS_MAX)
		result = attach();
	if (result == SIM_OK) {
		session_count++;
		session_boot = process_map.state->node.boot;
		map_is_done = false;
		sim_process_sync();
	} else if (!session_count) {
		close_nodes();
	}
	(void) pthread_mutex_unlock(&process_lock);
	return result;
}

/* Is the slot still this process's: neither a child's of it nor lost with a descriptor. */
static bool has_own_slot(void)
{
	return session_pid == getpid() && sim_client_is_mine(&process_map, session_slot);
}

bool sim_process_close(void)
{
	bool was_open;
	struct sim_tx tx;

	(void) pthread_mutex_lock(&process_lock);
	was_open = session_count > 0;
	if (was_open && --session_count == 0 && session_slot != SIM_CLIENTS_MAX) {
		if (has_own_slot()) {
			sim_tx_begin(&tx, &process_map, false);
			sim_client_detach(&tx, session_slot);
			(void) sim_tx_end(&tx, SIM_OK);
		}
		memset(event_sets, 0, sizeof(event_sets));
		set_slot(SIM_CLIENTS_MAX);
		map_is_done = true;
		close_nodes();
	}
	(void) pthread_mutex_unlock(&process_lock);
	return was_open;
}

bool sim_process_is_open(void)
{
	bool open;

	(void) pthread_mutex_lock(&process_lock);
	open = session_count && process_map.state && session_boot == process_map.state->node.boot;
	if (open && !has_own_lock_file())
		open = reopen_lock_file() && attach() == SIM_OK;
	else if (open && !has_own_slot())
		open = attach() == SIM_OK;
	(void) pthread_mutex_unlock(&process_lock);
	return open;
}

bool sim_process_set_add(uint32_t generation, uint32_t *ret_slot)
{
	bool found = false;

	(void) pthread_mutex_lock(&process_lock);
	for (uint32_t i = 0; i < SIM_EVENT_SETS_MAX && !found; i++) {
		if (event_sets[i].generation)
			continue;
		memset(&event_sets[i], 0, sizeof(event_sets[i]));
		event_sets[i].generation = generation;
		*ret_slot = i;
		found = true;
	}
	(void) pthread_mutex_unlock(&process_lock);
	return found;
}

struct sim_event_set *sim_process_set_lock(uint32_t slot, uint32_t generation)
{
	(void) pthread_mutex_lock(&process_lock);
	if (slot < SIM_EVENT_SETS_MAX && generation && event_sets[slot].generation == generation)
		return &event_sets[slot].set;
	(void) pthread_mutex_unlock(&process_lock);
	return NULL;
}

void sim_process_set_unlock(void)
{
	(void) pthread_mutex_unlock(&process_lock);
}

bool sim_process_set_free(uint32_t slot, uint32_t generation)
{
	if (!sim_process_set_lock(slot, generation))
		return false;
	event_sets[slot].generation = 0;
	sim_process_set_unlock();
	return true;
}

void sim_process_set_silent(bool silent)
{
	call_is_silent = silent;
}

void sim_process_begin(struct sim_tx *tx)
{
	sim_tx_begin(tx, &process_map, call_is_silent);
	call_was_wedged |= tx->wedged;
}

bool sim_process_was_wedged(void)
{
	bool was = call_was_wedged;

	call_was_wedged = false;
	return was;
}

pid_t sim_process_fork(void)
{
	pid_t child;

	(void) pthread_mutex_lock(&process_lock);
	child = fork();
	(void) pthread_mutex_unlock(&process_lock);
	return child;
}
