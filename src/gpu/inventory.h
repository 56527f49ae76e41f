/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node has: its GPUs, what each offers, and what is on it now. Plain values without pointers,
 * copied by assignment, so that a planner can try a change on a copy. An inventory knows its origin
 * (the driver that told it); apply refuses one of another origin. What could not be read is
 * unknown: BH_UNKNOWN for numbers, an empty text for names, a clear bit in `known`.
 */
#ifndef BH_GPU_INVENTORY_H
#define BH_GPU_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BH_UNKNOWN	   UINT32_MAX
#define BH_UNKNOWN64	   UINT64_MAX
#define BH_UUID_SIZE	   96 /* NVML: 80, in its v2 form 96 */
#define BH_NAME_SIZE	   96
#define BH_GI_PROFILES_MAX 32 /* NVML's enum counts 0x12 today */
#define BH_PLACEMENTS_MAX  16
#define BH_GIS_MAX	   8 /* the driver's limit per board */
#define BH_CIS_MAX	   8 /* the driver's limit per GPU instance */
#define BH_GPU_HOLDERS_MAX 32
#define BH_NODE_GPUS_MAX   64
#define BH_UNITS_MAX	   64 /* placement units of one board that a mask can hold */

/* In placement units (GPU instances) or compute slices (compute instances). */
struct bh_placement {
	uint32_t start, size;
};

struct bh_gi_profile {
	char name[BH_NAME_SIZE]; /* without the vendor's "MIG " in front: "1g.10gb+me" */
	uint32_t id;		 /* NVML's profile id: what create and capacity calls take */
	uint32_t nvml_enum;	 /* what the profile info call takes; not the id */
	uint32_t max_instances;
	uint32_t slice_count; /* compute slices */
	uint64_t memory_mib;  /* of the profile; an instance elsewhere on the board may have more */
	uint32_t sm;
	struct bh_placement placements[BH_PLACEMENTS_MAX];
	size_t n_placements;
};

struct bh_ci {
	uint32_t id; /* of the vendor; may change, never used to name the instance */
	uint32_t profile_id;
	struct bh_placement at;	 /* compute slices within its GPU instance */
	char uuid[BH_UUID_SIZE]; /* of the MIG device; empty = not known */
	bool busy;		 /* a process is in it */
	bool foreign; /* not made by us, says the ledger; the driver knows nothing of it */
};

struct bh_gi {
	uint32_t id; /* of the vendor; may change, never used to name the instance */
	uint32_t profile_id;
	struct bh_placement at; /* placement units of the board */
	uint64_t memory_mib;	/* of this instance; BH_UNKNOWN64 if not told */
	struct bh_ci cis[BH_CIS_MAX];
	size_t n_cis;
	bool busy;    /* a process is in it or in one of its compute instances */
	bool foreign; /* not made by us, says the ledger; the driver knows nothing of it */
};

/* A holder with where it sits; gi and ci are BH_UNKNOWN for one that holds the whole GPU. */
struct bh_gpu_holder {
	struct bh_holder who;
	uint32_t gi, ci;
};

enum bh_mig_mode {
	BH_MIG_UNKNOWN,
	BH_MIG_OFF,
	BH_MIG_ON,
};

struct bh_gpu {
	uint32_t index; /* NVML's at the time of reading; for people, not an identity */
	char uuid[BH_UUID_SIZE];
	char pci[32]; /* "00000000:1B:00.0" */
	char name[BH_NAME_SIZE];
	char model[BH_NAME_SIZE];  /* slug of the catalogue, empty if it does not know the board */
	uint32_t pci_device_id;	   /* NVML's word: device << 16 | vendor */
	uint32_t pci_subsystem_id; /* likewise; BH_UNKNOWN if not told */
	uint64_t memory_mib;	   /* BH_UNKNOWN64 if not told */
	uint32_t placement_units;  /* 0 = none or unknown; else the end of the last placement */
	bool mig_capable;
	enum bh_mig_mode mig_current, mig_pending;
	struct bh_gi_profile profiles[BH_GI_PROFILES_MAX];
	size_t n_profiles;
	bool from_catalogue; /* the profiles are: the driver does not tell while MIG is off */
	struct bh_gi gis[BH_GIS_MAX]; /* in order of start */
	size_t n_gis;
	struct bh_gpu_holder holders[BH_GPU_HOLDERS_MAX];
	size_t n_holders;
	size_t more_holders; /* that did not fit */
	bool holders_known; /* false: the driver would not say who is there; unknown is not "nobody" */
};

struct bh_inventory {
	char origin[512]; /* "nvml:VERSION" or "sim:DIR", as the worker's hello says */
	char driver[64];  /* the driver's version */
	struct bh_gpu *gpus;
	size_t n_gpus;
};

/**
 * bh_gpu_find_profile() - what a board says of a GPU instance profile
 * @gpu:        borrowed
 * @profile_id: NVML's
 *
 * Return: borrowed from @gpu; NULL when the board does not list it.
 */
const struct bh_gi_profile *bh_gpu_find_profile(const struct bh_gpu *gpu, uint32_t profile_id);

/**
 * bh_gpu_profile_named() - the profile of that name
 * @gpu:         borrowed
 * @name:        borrowed; as the inventory writes it
 * @ret_profile: index into the GPU's profiles, written on success
 *
 * Return: false when the board does not offer it.
 */
bool bh_gpu_profile_named(const struct bh_gpu *gpu, const char *name, size_t *ret_profile)
		BH_MUST_CHECK;

/**
 * bh_gpu_offers_same() - do two boards offer the same profiles, in all that is said of them
 * @a: borrowed
 * @b: borrowed
 *
 * Looks at the boards, not at what stands on them.
 */
bool bh_gpu_offers_same(const struct bh_gpu *a, const struct bh_gpu *b);

/**
 * bh_inventory_find_gpu() - the GPU with that UUID
 * @inventory: borrowed
 * @uuid:      borrowed
 *
 * Return: borrowed from @inventory; NULL when the node does not have it.
 */
const struct bh_gpu *bh_inventory_find_gpu(const struct bh_inventory *inventory, const char *uuid);

#endif
