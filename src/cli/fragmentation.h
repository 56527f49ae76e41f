/* SPDX-License-Identifier: Apache-2.0 */
/* How fragmented a node is, for people and as JSON. */
#ifndef BH_CLI_FRAGMENTATION_H
#define BH_CLI_FRAGMENTATION_H

#include "base/json.h"
#include "gpu/inventory.h"

/**
 * fragmentation_to_json() - one element for each board
 * @inventory: borrowed
 *
 * Return: a new reference, NULL when out of memory.
 */
json_t *fragmentation_to_json(const struct bh_inventory *inventory);

/**
 * fragmentation_print() - a table for each board, what is stranded, and the cheapest repack
 * @inventory: borrowed
 * @err:       NO_MEMORY
 */
int fragmentation_print(const struct bh_inventory *inventory, struct bh_error *err) BH_MUST_CHECK;

#endif
