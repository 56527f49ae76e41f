/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small NVML that lies on request: two boards with a handful of profiles, and a switch for each
 * way in which a driver can answer otherwise than it acts. The library exports fake_nvml(), through
 * which a test in the same process reaches its state.
 */
#ifndef BH_TESTS_FAKE_NVML_H
#define BH_TESTS_FAKE_NVML_H

#include <stdbool.h>

#include "abi/nvml_symbols.h"

#define FAKE_GPUS      2
#define FAKE_GIS       8
#define FAKE_CIS       8
#define FAKE_PROCESSES 200

struct fake_ci {
	bool exists;
	unsigned int id, profile_id, start, size;
	struct fake_gi *gi;
};

struct fake_gi {
	bool exists;
	unsigned int id, profile_id, start, size;
	struct fake_gpu *gpu;
	struct fake_ci cis[FAKE_CIS];
};

struct fake_gpu {
	const char *uuid, *pci, *name;
	unsigned int current, pending;
	unsigned int generation; /* of its handles: changes with a reset */
	struct fake_gi gis[FAKE_GIS];
	nvmlProcessInfo_t processes[FAKE_PROCESSES];
	unsigned int n_processes;
};

struct fake_nvml {
	struct fake_gpu gpus[FAKE_GPUS];
	const char *process_name;
	unsigned int calls, changing_calls;

	/* one call in turn that fails: the nth call (from 1) of that name, 0 = each */
	char fail_call[80];
	unsigned int fail_nth, fail_seen;
	nvmlReturn_t fail_code;

	nvmlReturn_t activation; /* what SetMigMode says about activating; not SUCCESS: pending only */
	bool quiet_pending;	 /* pending only, and says SUCCESS */
	bool sticky_pending;	 /* withdrawing does nothing */
	bool silent;		 /* each change reports success and does nothing */
	bool elsewhere;		 /* compute instances go to another start than asked */
	bool no_mig;		 /* boards without MIG */
	bool no_placed_ci;	 /* placing compute instances is NOT_SUPPORTED */
	bool no_names;		 /* the InfoV call is NOT_SUPPORTED */
	bool only_v3;		 /* the InfoV call refuses the v2 struct */
	bool profiles_need_mig; /* no profile is offered while MIG is off */
};

struct fake_nvml *fake_nvml(void);

#endif
