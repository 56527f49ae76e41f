/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What never changes about a board while its driver runs. Read once a session; a plain value.
 */
#ifndef BH_DRIVER_BOARD_FACTS_H
#define BH_DRIVER_BOARD_FACTS_H

#include "gpu/inventory.h"

#define BH_CI_PROFILES_MAX 16 /* NVML's enum counts 9 today */

/* One compute instance profile, as a GPU instance of one profile offers it. */
struct bh_ci_row {
	uint32_t id;	    /* what create and listing calls take */
	uint32_t nvml_enum; /* what the info call takes */
	uint32_t slice_count;
	uint32_t sm;
};

/* One GPU instance profile, without what is slow to read. */
struct bh_gi_row {
	uint32_t id, nvml_enum, max_instances, slice_count, sm;
	uint64_t memory_mib;
	struct bh_ci_row cis[BH_CI_PROFILES_MAX];
	size_t n_cis; /* 0 = not read yet */
};

struct bh_board_facts {
	char uuid[BH_UUID_SIZE];
	bool has_identity; /* the next five */
	char name[BH_NAME_SIZE];
	uint32_t pci_device_id, pci_subsystem_id;
	uint64_t memory_bytes; /* BH_UNKNOWN64 if not told */
	struct bh_gi_row gis[BH_GI_PROFILES_MAX];
	size_t n_gis; /* 0 = not read yet, or the board has none (in this mode) */
};

#endif
