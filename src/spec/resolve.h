/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a file to one node: which GPUs the entries of a configuration mean, and what each is to
 * become. Pure: no I/O. Whether a board offers the profiles is the planner's question.
 */
#ifndef BH_SPEC_RESOLVE_H
#define BH_SPEC_RESOLVE_H

#include "gpu/inventory.h"
#include "spec/mig_config.h"
#include "spec/wanted.h"

/**
 * bh_spec_resolve() - what a configuration wants of each GPU of a node
 * @configuration: borrowed; must outlive the result
 * @inventory:     borrowed for the call
 * @ret_wanted:    owned by the caller, freed with bh_wanted_free()
 * @err:           NO_SUCH_GPU: indexes that the node does not have (all of them over all entries,
 *                 whatever their filters), or no GPU matched; MIG_UNSUPPORTED: MIG is wanted on a
 *                 board, named by its index, that cannot do it; NO_MEMORY
 *
 * A GPU matches an entry when one of its filters (if it has any) and its devices do; of several
 * entries the last wins. 'devices: all' passes by the boards without MIG, with a note. A board
 * without MIG that is named by its index with MIG off is in scope, with nothing to do. GPUs that
 * nothing matches are out of scope.
 */
int bh_spec_resolve(const struct bh_mig_configuration *configuration,
		const struct bh_inventory *inventory, struct bh_wanted **ret_wanted,
		struct bh_error *err) BH_MUST_CHECK;

#endif
