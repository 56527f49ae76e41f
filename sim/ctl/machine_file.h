/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine described by a file: which GPUs, what the driver says of itself, and boards that no
 * table has.
 *
 *	version: bulkhead-sim/v1
 *	name: rack-7
 *	driver: {version: 570.86.10, cuda: "12.8"}
 *	boards:
 *	  odd-card:
 *	    like: a100-40gb             # starts as that board; without it every field counts
 *	    pci-device: 0x20ff
 *	    rename: {3g.20gb: 3g.19gb}  # as driver branches do
 *	gpus:
 *	  - {model: h100-sxm5-80gb, count: 2}
 *	  - {model: odd-card, pci: "0001:3b:00", serial: "42"}
 *
 * docs/simulated-node.md has every field; links_file.h those of how GPUs hang together. Where the
 * file says nothing of that, they do as in the chassis of so many of that board, if there is one.
 */
#ifndef SIM_CTL_MACHINE_FILE_H
#define SIM_CTL_MACHINE_FILE_H

#include "base/document.h"
#include "model/state.h"

/* A machine and the boards that only its file has. */
struct ctl_file {
	struct sim_machine machine; /* points into boards, and into the simulator's table */
	struct sim_board boards[SIM_GPUS_MAX];
	uint32_t n_boards;
};

/**
 * ctl_file_read() - what a document describes
 * @document: borrowed for the call
 * @ret_file: filled on success; not to be copied or moved, it points into itself
 * @err:      INVALID_FILE with file, line and column. NO_MEMORY
 *
 * On success every board is sound, and no two GPUs have the same UUID, serial or bus address.
 */
int ctl_file_read(const struct bh_document *document, struct ctl_file *ret_file,
		struct bh_error *err) BH_MUST_CHECK;

#endif
