/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boards as the simulator knows them: a constant table that gen_boards.py makes from
 * data/gpu-models, literally. It is the simulator's own reading, shared with nobody, so that a
 * planner's reading can be wrong against it. Numbers are the vendor's numbers, types are not.
 *
 * A node's state holds a copy of each of its boards, so that a machine file can describe one that
 * no table has: hence no pointers.
 */
#ifndef SIM_MODEL_BOARD_H
#define SIM_MODEL_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define SIM_PLACES_MAX	8
#define SIM_GIS_MAX	8 /* GPU instances of a board: the driver's limit */
#define SIM_CIS_MAX	8 /* compute instances of a GPU instance: the driver's limit */
#define SIM_GI_ROWS_MAX 20
#define SIM_CI_ROWS_MAX 8
#define SIM_UNITS_MAX	16
#define SIM_NAME_SIZE	64

enum sim_architecture {
	SIM_UNKNOWN,
	SIM_TURING,
	SIM_AMPERE,
	SIM_ADA,
	SIM_HOPPER,
	SIM_BLACKWELL,
};

enum sim_media {
	SIM_MEDIA_PLAIN,
	SIM_MEDIA_EXTRA, /* "+me": one such instance a board */
	SIM_MEDIA_ALL,	 /* "+me.all": counts as one, and only "-me" may stand beside it */
	SIM_MEDIA_NONE,	 /* "-me" */
};

struct sim_engines {
	uint32_t copy, decoder, encoder, jpeg, ofa;
};

struct sim_ci_place {
	uint32_t start, size; /* compute slices of the GPU instance */
};

struct sim_ci_row {
	uint32_t number; /* the vendor's enum; what the info call takes */
	uint32_t id;	 /* the profile id; what create takes */
	uint32_t max_instances, slices, sm;
	struct sim_engines engines;
	struct sim_ci_place places[SIM_PLACES_MAX];
	uint32_t n_places;
	bool assumed; /* some cell comes from a rule, not from a source */
};

struct sim_gi_place {
	uint32_t start, size; /* placement units of the board */
	uint32_t node;	      /* the instance's id */
	uint64_t memory_mib;  /* of an instance here; the profile's may be less */
};

struct sim_gi_row {
	char name[32];
	uint32_t number, id; /* as in struct sim_ci_row */
	uint32_t max_instances, slices;
	uint64_t memory_mib;
	uint32_t sm;
	struct sim_engines engines;
	uint32_t p2p, gfx;
	enum sim_media media;
	struct sim_gi_place places[SIM_PLACES_MAX];
	uint32_t n_places;
	struct sim_ci_row cis[SIM_CI_ROWS_MAX];
	uint32_t n_cis;
};

struct sim_board {
	char slug[SIM_NAME_SIZE], name[SIM_NAME_SIZE];
	enum sim_architecture architecture;
	int cc_major, cc_minor;
	uint32_t pci_device; /* the device half of the PCI id */
	uint64_t memory_mib;
	uint32_t sm, slices, units;
	bool mig_capable, enable_needs_reset, mode_survives_reboot, mode_survives_reload;
	bool tree;	   /* instance ids are nodes of the driver's span tree; see rules.h */
	char refused[128]; /* why it cannot be simulated, or empty */
	uint32_t assumed;  /* rows of this board that rest on a rule */
	struct sim_gi_row gis[SIM_GI_ROWS_MAX];
	uint32_t n_gis;
};

extern const struct sim_board sim_boards[];
extern const size_t sim_n_boards;

/**
 * sim_board_find() - the board of that slug
 * @slug: borrowed
 *
 * Return: the row, also of a refused board; NULL when there is none.
 */
const struct sim_board *sim_board_find(const char *slug);

/**
 * sim_board_is_sound() - whether every number of it can be used as it is
 * @board: borrowed; of any content
 *
 * Counts within the arrays, texts with an end, each profile's placements within the board, of one
 * size and in order of start, compute placements within the instance.
 */
bool sim_board_is_sound(const struct sim_board *board) BH_MUST_CHECK;

/**
 * sim_board_reserved_mib() - memory that the driver keeps for itself
 * @board: borrowed
 *
 * Assumed: what the board has beyond its largest profile, or nothing when that is not known.
 */
uint64_t sim_board_reserved_mib(const struct sim_board *board);

#endif
