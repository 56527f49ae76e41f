/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boards that are known without asking a driver: the files of data/gpu-models, checked and
 * turned into constant tables by the build. They answer questions offline and feed the simulated
 * node; on a real machine the driver's own answer always wins. What no source gives is unknown here
 * too: BH_UNKNOWN, BH_UNKNOWN64, BH_TRI_UNKNOWN, or an empty list.
 */
#ifndef BH_GPU_CATALOGUE_H
#define BH_GPU_CATALOGUE_H

#include "gpu/inventory.h"

enum bh_tri {
	BH_TRI_UNKNOWN,
	BH_TRI_NO,
	BH_TRI_YES,
};

/* What a GPU instance profile has beside the plain value; the row of the same index belongs to it. */
struct bh_model_gi_extra {
	uint32_t gi_ids[BH_PLACEMENTS_MAX]; /* the driver's instance id for each placement */
	uint32_t copy_engines, decoders, encoders, jpeg, ofa;
	enum bh_tri p2p;
	bool gfx;
};

struct bh_model_ci_profile {
	const char *gi_profile; /* the name of the profile that it lives in */
	const char *name;	/* for people: sources spell it differently */
	uint32_t nvml_enum;
	uint32_t id; /* NVML's compute instance profile id */
	uint32_t max_instances;
	uint32_t slice_count;
	uint32_t sm;
	bool is_full; /* takes its whole GPU instance; the default one */
	uint32_t copy_engines, decoders, jpeg, ofa;
	const struct bh_placement *placements; /* in compute slices; NULL = unknown */
	size_t n_placements;
};

struct bh_model {
	const char *slug, *title, *architecture;
	const char *compute_capability;	     /* "9.0"; NULL = unknown */
	const char *const *nvml_names;	     /* n_nvml_names */
	const uint32_t *pci_device_ids;	     /* NVML's words: device << 16 | 0x10DE */
	const char *const *pci_device_names; /* the board that each id belongs to */
	size_t n_nvml_names, n_pci_device_ids;
	uint64_t memory_total_mib;
	uint32_t sm_total, sm_usable_in_mig;
	uint32_t compute_slices;
	uint32_t placement_units; /* BH_UNKNOWN where no placements are known */
	bool complete;		  /* false: profiles, ids or placements are known to be missing */
	enum bh_tri enable_needs_reset, mode_survives_reboot, mode_survives_module_reload,
			instances_survive_reset;
	const struct bh_gi_profile *gi_profiles;       /* n_gi_profiles */
	const struct bh_model_gi_extra *gi_extras;     /* n_gi_profiles */
	const struct bh_model_ci_profile *ci_profiles; /* n_ci_profiles; may be none */
	size_t n_gi_profiles, n_ci_profiles;
};

/**
 * bh_catalogue_count() - how many boards there are
 */
size_t bh_catalogue_count(void);

/**
 * bh_catalogue_at() - a board by its number, in order of slug
 * @index: less than bh_catalogue_count()
 *
 * Return: a constant; NULL past the end.
 */
const struct bh_model *bh_catalogue_at(size_t index);

/**
 * bh_catalogue_by_slug() - the board with this slug ("h100-sxm5-80gb")
 * @slug: borrowed
 *
 * Return: a constant, NULL if there is none.
 */
const struct bh_model *bh_catalogue_by_slug(const char *slug);

/**
 * bh_catalogue_by_pci_device_id() - the board with this PCI device id
 * @pci_device_id: NVML's word, device << 16 | vendor
 *
 * Return: a constant, NULL if there is none; ids are unique over all boards.
 */
const struct bh_model *bh_catalogue_by_pci_device_id(uint32_t pci_device_id);

/**
 * bh_catalogue_by_nvml_name() - the board that NVML calls so ("NVIDIA H100 80GB HBM3")
 * @name: borrowed; compared as a whole
 *
 * Return: a constant, NULL if there is none. The name of a board says less than its PCI device id.
 */
const struct bh_model *bh_catalogue_by_nvml_name(const char *name);

/**
 * bh_catalogue_next_offering() - walk the boards that offer a profile of this name
 * @profile: borrowed; without the vendor's "MIG " in front
 * @after:   NULL for the first, else the board found last
 *
 * Return: a constant, NULL when there are no more.
 */
const struct bh_model *bh_catalogue_next_offering(
		const char *profile, const struct bh_model *after);

/**
 * bh_catalogue_nearest_slug() - the slug that was probably meant
 * @slug: borrowed; as somebody wrote it
 *
 * Return: the slug with the smallest edit distance, if that is less than half its length; else NULL.
 */
const char *bh_catalogue_nearest_slug(const char *slug);

/**
 * bh_model_profile() - a board's profile by its name
 * @model: borrowed
 * @name:  borrowed; without the vendor's "MIG " in front
 *
 * Return: a constant, NULL if the board has none of that name.
 */
const struct bh_gi_profile *bh_model_profile(const struct bh_model *model, const char *name);

/**
 * bh_model_describe() - write what the catalogue knows of a board into a GPU of an inventory
 * @model: borrowed
 * @gpu:   name, model, PCI device id (the first), memory, placement units and profiles are written;
 *         the rest (identity, instances, modes) is left as it is
 *
 * The placement units are 0 where they are unknown, as struct bh_gpu has it.
 */
void bh_model_describe(const struct bh_model *model, struct bh_gpu *gpu);

/**
 * bh_profile_nearest() - the offered profile that is most like one that is not
 * @profiles:   what is offered, of the catalogue or as the driver tells it
 * @n_profiles: how many
 * @name:       what was asked for
 *
 * Most like means: as many compute slices, then the same attributes ("+me"), then the nearest
 * memory; the first one on a tie.
 * Return: one of @profiles; NULL if @name is not of the form [Nc.]Ng.Mgb or none has N slices.
 */
const struct bh_gi_profile *bh_profile_nearest(
		const struct bh_gi_profile *profiles, size_t n_profiles, const char *name);

#endif
