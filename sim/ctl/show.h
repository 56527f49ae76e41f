/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to say of a node, as one JSON document. */
#ifndef SIM_CTL_SHOW_H
#define SIM_CTL_SHOW_H

#include <jansson.h>

#include "ctl/ctl.h"

/**
 * ctl_node_json() - the document of `simctl show --json`
 * @map: of a sound state that nobody changes meanwhile: a copy
 *
 * Return: a new reference; NULL when memory ran out or a text of the node is no UTF-8.
 */
json_t *ctl_node_json(const struct sim_map *map);

#endif
