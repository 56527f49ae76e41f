/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger tells about a node: the generation, how the last change ended, and drift. */
#ifndef BH_NODE_STATUS_H
#define BH_NODE_STATUS_H

#include "node/node.h"

struct bh_node_status {
	int64_t generation; /* 0: no layout was applied yet, and the rest of this is empty */
	char source[512], selected[128], sha256[65];
	bool drift;		 /* a GPU does not hold what the generation wants of it */
	char drift_reason[512];	 /* those GPUs, in words */
	json_t *last_run;	 /* {"run","gpu","state",…}; NULL: there never was one; owned */
	bool run_open;		 /* a change is not over: under way, or interrupted */
	struct bh_holder writer; /* who is at work now; pid 0: nobody */
};

/**
 * bh_node_status() - look into the ledger and compare with the last reading
 * @node:       has read the machine
 * @ret_status: written on success; cleared with bh_node_status_clear()
 * @err:        INTERNAL (SQLITE), PROFILE_NOT_OFFERED when a board was exchanged
 */
int bh_node_status(struct bh_node *node, struct bh_node_status *ret_status, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_node_status_clear() - free what it owns
 * @status: zeroed is fine
 */
void bh_node_status_clear(struct bh_node_status *status);

#endif
