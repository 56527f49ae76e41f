/* SPDX-License-Identifier: Apache-2.0 */
/* The one file of this library with mutable file-scope state. */
#include "nvml/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/client.h"

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
static _Thread_local bool call_is_silent;
static struct {
	uint32_t generation; /* 0 = free */
	struct sim_event_set set;
} event_sets[SIM_EVENT_SETS_MAX];

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

static bool open_map(void)
{
	struct stat st;

	if (process_map.state)
		return true;
	if (!process_dir[0] || sim_map_open(process_dir, &process_map, NULL) < 0)
		return false;
	if (fstat(process_map.clients_fd, &st) < 0) {
		sim_map_close(&process_map);
		return false;
	}
	lock_dev = st.st_dev;
	lock_ino = st.st_ino;
	return true;
}

struct sim_map *sim_process_map(void)
{
	struct sim_map *map;

	(void) pthread_mutex_lock(&process_lock);
	map = open_map() ? &process_map : NULL;
	(void) pthread_mutex_unlock(&process_lock);
	return map;
}

uint32_t sim_process_slot(void)
{
	return session_slot;
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
	struct sim_tx tx;

	sim_tx_begin(&tx, &process_map, false);
	result = sim_tx_end(&tx, sim_client_attach(&tx, &session_slot));
	if (result == SIM_OK)
		session_pid = getpid();
	return result;
}

enum sim_result sim_process_open(void)
{
	enum sim_result result = SIM_OK;

	(void) pthread_mutex_lock(&process_lock);
	if (!open_map()) {
		result = SIM_NOT_FOUND;
	} else {
		if (session_count && session_boot != process_map.state->node.boot) {
			session_count = 0; /* a session of the node's former life */
			memset(event_sets, 0, sizeof(event_sets));
		}
		if (!session_count && session_slot == SIM_CLIENTS_MAX)
			result = attach();
		if (result == SIM_OK) {
			session_count++;
			session_boot = process_map.state->node.boot;
		}
	}
	(void) pthread_mutex_unlock(&process_lock);
	return result;
}

bool sim_process_close(void)
{
	bool was_open;
	struct sim_tx tx;

	(void) pthread_mutex_lock(&process_lock);
	was_open = session_count > 0;
	if (was_open && --session_count == 0 && session_slot != SIM_CLIENTS_MAX) {
		if (session_pid == getpid()) {
			sim_tx_begin(&tx, &process_map, false);
			sim_client_detach(&tx, session_slot);
			(void) sim_tx_end(&tx, SIM_OK);
		}
		session_slot = SIM_CLIENTS_MAX;
		memset(event_sets, 0, sizeof(event_sets));
		sim_map_close(&process_map); /* a program may unload us now */
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
	else if (open && session_pid != getpid())
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
}

pid_t sim_process_fork(void)
{
	pid_t child;

	(void) pthread_mutex_lock(&process_lock);
	child = fork();
	(void) pthread_mutex_unlock(&process_lock);
	return child;
}
