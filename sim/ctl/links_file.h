/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the GPUs of a machine file hang together.
 *
 *	gpus:
 *	  - {model: h100-sxm5-80gb, count: 2, numa: 0, cpus: "0-15,32-47"}
 *	  - {model: h100-sxm5-80gb, numa: -1, fabric: {clique: 7, cluster-uuid: "0123…", state: completed}}
 *	links:                                              # one row a pair
 *	  - {from: 0, to: 1, nvlinks: 4, back: 2, pcie: single}
 *	nvswitch: {nvlinks: 18, switches: 4}                # instead of nvlinks: every pair
 */
#ifndef SIM_CTL_LINKS_FILE_H
#define SIM_CTL_LINKS_FILE_H

#include "base/document.h"
#include "model/state.h"

extern const char *const ctl_path_words[SIM_PATHS];
extern const char *const ctl_fabric_words[SIM_FABRIC_STATES];

/**
 * ctl_read_numa() - a GPU's `numa`, -1 for a node that the firmware does not tell
 * @node:   borrowed
 * @spot:   written on success
 * @err:    INVALID_FILE with the place
 */
int ctl_read_numa(const struct bh_doc_node *node, struct sim_spot *spot, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * ctl_read_cpus() - a GPU's `cpus`, a list as the kernel writes it
 * @node:   borrowed; a text
 * @spot:   written on success
 * @err:    INVALID_FILE with the place
 */
int ctl_read_cpus(const struct bh_doc_node *node, struct sim_spot *spot, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * ctl_read_fabric() - a GPU's `fabric`
 * @node:   borrowed; a mapping
 * @spot:   written on success
 * @err:    INVALID_FILE with the place
 */
int ctl_read_fabric(const struct bh_doc_node *node, struct sim_spot *spot, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * ctl_read_nvswitch() - the machine's `nvswitch`
 * @node:    borrowed; a mapping
 * @machine: its GPUs are read and settled; its topology is changed
 * @err:     INVALID_FILE with the place
 */
int ctl_read_nvswitch(const struct bh_doc_node *node, struct sim_machine *machine,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * ctl_read_links() - the machine's `links`
 * @node:    borrowed; a list
 * @machine: its GPUs are read and settled, its switches too; its topology is changed
 * @err:     INVALID_FILE with the place
 */
int ctl_read_links(const struct bh_doc_node *node, struct sim_machine *machine,
		struct bh_error *err) BH_MUST_CHECK;

#endif
