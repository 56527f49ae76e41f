/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated node's memory: one mapped file of fixed-size records. Records hold no pointers;
 * what refers to another record does so by index and generation, so that a stale reference is
 * noticed.
 *
 * One robust lock guards the whole. A change first saves what it will touch into the undo image,
 * and committing is a single store; whoever takes the lock from a process that was killed half-way
 * puts the image back first. So every process sees each change whole or not at all. The lock is
 * never held over a sleep, a fork or an open.
 *
 * The file is writable by every tenant of the simulated node: it is no boundary and claims none.
 * What lies in it is looked at once, when it is opened (sound.h). The lock is waited for at most
 * SIM_LOCK_WAIT_S: a damaged one, or one whose owner is stopped, wedges the state, and then calls
 * answer so instead of hanging for ever. A stopped owner that goes on ends that; a damaged lock is
 * mended only by making the node anew (simctl create --force).
 */
#ifndef SIM_MODEL_STATE_H
#define SIM_MODEL_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/board.h"
#include "model/events.h"
#include "model/health.h"
#include "model/clock.h"

#define SIM_STATE_MAGIC	  "bhsim\r\n"
#define SIM_STATE_VERSION 3
#define SIM_GPUS_MAX	  16
#define SIM_HOLDERS_MAX	  32 /* of one GPU */
#define SIM_CLIENTS_MAX	  128
#define SIM_FAULTS_MAX	  64
#define SIM_CALLS_MAX	  128
#define SIM_UUID_SIZE	  48
#define SIM_CPUS_MAX	  1024
#define SIM_UNDO_RANGES	  64
#define SIM_UNDO_BYTES	  (384 * 1024)
#define SIM_LOCK_WAIT_S	  10

/* What a model operation says; the vendor skins translate. */
enum sim_result {
	SIM_OK,
	SIM_INVALID,	   /* an argument, or a stale reference */
	SIM_NOT_SUPPORTED, /* by this board, or in this mode */
	SIM_NOT_FOUND,
	SIM_IN_USE,
	SIM_NO_ROOM,
	SIM_RESET_NEEDED,
	SIM_LOST,   /* the GPU fell off the bus */
	SIM_WEDGED, /* the lock was not to be had; nothing happened */
	SIM_NO_PERMISSION,
	SIM_FAILED, /* for no reason that the vendor names */
};

struct sim_ci {
	uint32_t generation; /* 0 = no compute instance in this slot; never used twice */
	uint32_t id;
	uint32_t row; /* in its GPU instance's table of compute profiles */
	uint32_t start, size;
	uint32_t device_index; /* among the GPU's MIG devices; sparse */
	char uuid[SIM_UUID_SIZE];
};

struct sim_gi {
	uint32_t generation; /* as above */
	uint32_t id;	     /* node of the span tree */
	uint32_t row;	     /* in its board's table of profiles */
	uint32_t start, size;
	uint32_t n_cis; /* kept beside the slots so that a torn change shows */
	uint64_t memory_mib;
	struct sim_ci cis[SIM_CIS_MAX];
};

struct sim_mig {
	uint32_t current, pending; /* 0 or 1 */
	uint32_t n_gis;		   /* kept beside the slots so that a torn change shows */
	uint32_t units;		   /* likewise: bit n = placement unit n is taken */
	uint32_t resets;	   /* of this GPU, inside calls or by reboot */
	uint32_t needs_reboot;	   /* as in a passthrough VM: a new mode waits for a reboot */
	struct sim_gi gis[SIM_GIS_MAX];
};

/* Who holds a GPU or an instance of it, beyond an open session. */
enum sim_holder_kind {
	SIM_HOLDER_PROCESS, /* has a context; the only kind that process lists show */
	SIM_HOLDER_DAEMON,
	SIM_HOLDER_MODULE,
	SIM_HOLDER_AGENT,
	SIM_HOLDER_UNKNOWN,
	SIM_HOLDER_KINDS
};

struct sim_holder {
	uint32_t used;
	uint32_t kind;
	int32_t pid;
	uint32_t gi_generation, ci_generation; /* both 0: the whole GPU; ci 0: the GPU instance */
	char name[SIM_NAME_SIZE];
};

/* What is printed on a card, and where it is plugged in. Empty texts, bus 0: follows from the seed. */
struct sim_identity {
	char uuid[SIM_UUID_SIZE], serial[32];
	uint32_t pci_domain, pci_bus, pci_device;
};

/* How far apart two GPUs are on PCIe, from far to near. */
enum sim_path {
	SIM_PATH_SYSTEM,   /* over what joins NUMA nodes */
	SIM_PATH_NODE,	   /* over host bridges of one NUMA node */
	SIM_PATH_BRIDGE,   /* one host bridge */
	SIM_PATH_MULTIPLE, /* several PCIe switches */
	SIM_PATH_SINGLE,   /* one PCIe switch */
	SIM_PATHS
};

enum sim_fabric_state {
	SIM_FABRIC_NONE, /* no fabric */
	SIM_FABRIC_NOT_STARTED,
	SIM_FABRIC_IN_PROGRESS,
	SIM_FABRIC_COMPLETED,
	SIM_FABRIC_STATES
};

/* Where a GPU is plugged in. */
struct sim_spot {
	int32_t numa;			  /* NUMA node; -1: the firmware does not say */
	uint32_t own_memory;		  /* 1 when its memory is a NUMA node of the machine */
	uint32_t memory_node;		  /* then that node */
	uint64_t cpus[SIM_CPUS_MAX / 64]; /* near it */
	uint32_t fabric;		  /* enum sim_fabric_state */
	uint32_t clique;
	unsigned char cluster[16];
};

/* How the GPUs hang together; does not change once the node stands. See model/topology.h. */
struct sim_topology {
	uint32_t switches; /* 0: NVLinks go from GPU to GPU */
	struct sim_spot spots[SIM_GPUS_MAX];
	uint8_t links[SIM_GPUS_MAX][SIM_GPUS_MAX]; /* NVLinks as the first sees them */
	uint8_t paths[SIM_GPUS_MAX][SIM_GPUS_MAX]; /* enum sim_path */
};

/* A GPU that misbehaves as a whole; see trouble.h. */
struct sim_trouble {
	uint32_t lost;
	uint32_t slow_ms; /* every call takes so long */
	uint64_t freezer; /* not 0: the caller sits there until released */
};

struct sim_gpu {
	uint32_t board; /* index in the state's boards; two GPUs of one kind share it */
	struct sim_identity identity;
	uint32_t minor;
	uint32_t no_reset; /* as in a passthrough VM; injected */
	struct sim_mig mig;
	struct sim_holder holders[SIM_HOLDERS_MAX];
	struct sim_health health;
	struct sim_trouble trouble;
};

/* A process with the simulated driver open. It holds a record lock on byte `slot` of the lock file
 * for as long as it lives; who finds the byte unlocked knows that the process is gone. */
struct sim_client {
	uint32_t used;
	int32_t pid;
	uint32_t boot; /* of the node, when it opened */
	uint32_t open_gpus;
	char name[16];
};

enum sim_fault_kind {
	SIM_FAULT_ERROR,  /* answer `native` instead of acting */
	SIM_FAULT_SILENT, /* act, answer well, and take the change back */
	SIM_FAULT_KILL_BEFORE,
	SIM_FAULT_KILL_AFTER,
	SIM_FAULT_DELAY,
};

struct sim_fault {
	uint32_t used;
	uint32_t kind;
	uint32_t call; /* index in calls[] */
	int32_t native;
	uint32_t nth;  /* fires once, at the nth call from injection on; 0 = at each */
	uint32_t seen; /* calls since injection */
	uint32_t ms;
	uint32_t detached;
};

struct sim_call {
	char name[SIM_NAME_SIZE];
	uint32_t changing;
	uint64_t count;
};

struct sim_node {
	uint32_t boot; /* grows at each reboot and module reload; stale handles show by it */
	uint32_t sessions_hold; /* whether another process's open session keeps a GPU busy */
	uint32_t fake_pids;	/* given out so far */
	struct sim_clock clock;
};

struct sim_undo_range {
	uint32_t offset, length, at;
};

struct sim_undo {
	uint32_t n_ranges; /* not 0: a change is under way. Storing 0 commits it */
	struct sim_undo_range ranges[SIM_UNDO_RANGES];
	unsigned char image[SIM_UNDO_BYTES];
};

/* What the driver says of itself. */
struct sim_driver {
	char version[32], nvml[32];
	uint32_t cuda; /* 1000 * major + 10 * minor */
};

/* Its device nodes, laid out at creation and the same ever after. See model/nodes.h. */
enum sim_major { SIM_MAJOR_NVIDIA, SIM_MAJOR_UVM, SIM_MAJOR_CAPS, SIM_MAJORS };

struct sim_nodes {
	uint32_t majors[SIM_MAJORS]; /* all 0: no nodes */
	uint32_t range;		     /* of minors: which of the machine's */
	char why[160];		     /* there are none */
};

/* What a node is made of. */
struct sim_machine {
	char name[128];
	struct sim_driver driver;
	uint64_t seed; /* identities follow from it, the name and the index */
	struct sim_machine_gpu {
		const struct sim_board *board;
		struct sim_identity identity;
	} gpus[SIM_GPUS_MAX];
	uint32_t n_gpus;
	struct sim_topology topology;
	struct sim_nodes nodes;
};

/* Which capabilities there are: all that changing files of DIR/proc tell of the state. */
struct sim_caps {
	struct sim_gpu_caps {
		uint32_t minor, mig; /* whether the GPU is divided at all */
		uint32_t gis;	     /* bit n: the GPU instance of id n is there */
		uint8_t cis[16];     /* by id of the GPU instance, likewise */
	} gpus[SIM_GPUS_MAX];
};

struct sim_state {
	char magic[8];
	uint32_t version;
	uint32_t size; /* sizeof(struct sim_state) */
	char machine[128];
	struct sim_driver driver;
	struct sim_nodes nodes;
	uint64_t seed;
	uint32_t n_gpus, n_calls, n_boards;
	struct sim_board boards[SIM_GPUS_MAX];
	struct sim_topology topology;
	pthread_mutex_t lock;
	uint32_t deaths;     /* lock owners found dead */
	uint32_t undone;     /* of them, half-way through a change */
	uint32_t generation; /* last given out; not undone, so never given twice */
	struct sim_undo undo;
	/* from here on changed under the undo image */
	struct sim_node node;
	struct sim_gpu gpus[SIM_GPUS_MAX];
	struct sim_client clients[SIM_CLIENTS_MAX];
	struct sim_events events;
	/* from here on counters: single stores, not undone, also not with a silent fault */
	struct sim_fault faults[SIM_FAULTS_MAX];
	struct sim_call calls[SIM_CALLS_MAX];
	uint64_t changing_calls, reads;
	/* what DIR/proc shows, changed under its file lock; model/procfs.h */
	uint32_t proc_unsure; /* it is being written, or the writer was killed */
	struct sim_caps proc_caps;
};

_Static_assert(sizeof(struct sim_node) + sizeof(((struct sim_state *) 0)->gpus) +
						sizeof(((struct sim_state *) 0)->clients) +
						sizeof(struct sim_events) <
				SIM_UNDO_BYTES,
		"a reboot fits the undo image");

/* One open node in this process: the mapping, the lock file, and each GPU's board there. */
struct sim_map {
	struct sim_state *state;
	int clients_fd;
	const struct sim_board *boards[SIM_GPUS_MAX];
};

/* One change or one reading, from taking the lock to giving it back. */
struct sim_tx {
	struct sim_map *map;
	struct sim_state *state; /* map->state */
	bool take_back;		 /* undo even what succeeded: the "silent" fault */
	bool wedged;		 /* no lock: state is an empty copy that nobody else sees */
	struct sim_map aside;	 /* then map is this */
};

/**
 * sim_state_create() - write the file of a new node, running and without MIG
 * @path:       to be created; must not exist
 * @machine:    1 to SIM_GPUS_MAX GPUs of sound boards
 * @call_names: of the entries that will be counted; changing[] says which of them change
 * @changing:   as long as call_names
 * @n_calls:    at most SIM_CALLS_MAX
 * @err:        filled on failure
 */
int sim_state_create(const char *path, const struct sim_machine *machine,
		const char *const *call_names, const bool *changing, size_t n_calls,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * sim_map_open() - map DIR/state and open DIR/clients.lock
 * @dir:     borrowed
 * @ret_map: filled on success; to be given back by sim_map_close()
 * @err:     NO_DRIVER when there is no node, it is of another version, or its state cannot be used;
 *           DEADLINE when its lock is not to be had
 *
 * Looks once at everything that is later used as an index, a count or a text; takes the lock for it.
 */
int sim_map_open(const char *dir, struct sim_map *ret_map, struct bh_error *err) BH_MUST_CHECK;

/**
 * sim_wedged() - the failure of a node whose lock is not to be had
 * @dir: borrowed
 * @err: filled: DEADLINE, and what to do
 *
 * Return: negative.
 */
int sim_wedged(const char *dir, struct bh_error *err);

/**
 * sim_map_close() - unmap; a map that was never opened (all zero, descriptor -1) is fine
 * @map: emptied
 */
void sim_map_close(struct sim_map *map);

/**
 * sim_tx_begin() - take the lock, within SIM_LOCK_WAIT_S; puts right what a dead owner left
 * @tx:        filled
 * @map:       borrowed until sim_tx_end()
 * @take_back: undo the change even when it succeeds
 *
 * When the lock is not to be had, tx->wedged is set and what follows acts on an empty copy: it needs
 * no check, does no harm, and sim_tx_end() says SIM_WEDGED.
 */
void sim_tx_begin(struct sim_tx *tx, struct sim_map *map, bool take_back);

/**
 * sim_tx_touch() - save a part before it is changed
 * @tx:     begun
 * @part:   within the state; everything from node to clients must be touched before it is written
 * @length: bytes
 */
void sim_tx_touch(struct sim_tx *tx, void *part, size_t length);

/**
 * sim_tx_end() - commit (or undo) and give the lock back
 * @tx:     begun
 * @result: other than SIM_OK undoes whatever was touched
 *
 * Return: @result; SIM_WEDGED when there was no lock.
 */
enum sim_result sim_tx_end(struct sim_tx *tx, enum sim_result result);

/**
 * sim_generation() - a number that this node never gave out before
 * @tx: begun
 */
uint32_t sim_generation(struct sim_tx *tx);

/**
 * sim_uuid() - the UUID text that follows from three numbers
 * @prefix: "GPU-" or "MIG-"
 * @seed:   of the node
 * @a:      which thing
 * @b:      which life of it
 * @text:   receives prefix and 36 characters
 */
void sim_uuid(const char *prefix, uint64_t seed, uint64_t a, uint64_t b, char text[SIM_UUID_SIZE]);

/**
 * sim_check() - all invariants of the state
 * @tx:   begun
 * @text: receives the first broken one, in words
 * @size: of @text
 *
 * Return: true when all hold.
 */
bool sim_check(struct sim_tx *tx, char *text, size_t size);

#endif
