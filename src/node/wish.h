/* SPDX-License-Identifier: Apache-2.0 */
/* A file's wanted state, resolved for the GPUs of one inventory. */
#ifndef BH_NODE_WISH_H
#define BH_NODE_WISH_H

#include "plan/want.h"

#define BH_WISH_NOTES_MAX 32

struct bh_wish {
	char source[512];	   /* the file's name */
	char selected[128];	   /* the configuration's name there */
	char sha256[65];	   /* of the file's bytes */
	struct bh_gpu_want *wants; /* as many as the inventory has; owned */
	size_t n_wants;
	char *notes[BH_WISH_NOTES_MAX]; /* for people: what was dropped or skipped; owned */
	size_t n_notes;
};

/**
 * bh_wish_load_mig_config() - read a file in mig-parted's format for this node
 * @path:      of the file, or "-" for standard input
 * @select:    the configuration's name; NULL if the file has one alone
 * @inventory: borrowed
 * @strict:    a GPU that no entry matches is an error
 * @ret_wish:  written on success; cleared with bh_wish_clear()
 * @err:       INVALID_FILE, UNKNOWN_NAME, USAGE, NO_SUCH_GPU, MIG_UNSUPPORTED,
 *             PROFILE_NOT_OFFERED, DOES_NOT_FIT, and NOT_SO when @strict and a GPU is not listed
 */
int bh_wish_load_mig_config(const char *path, const char *select,
		const struct bh_inventory *inventory, bool strict, struct bh_wish *ret_wish,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_wish_clear() - free what it owns
 * @wish: zeroed is fine
 */
void bh_wish_clear(struct bh_wish *wish);

#endif
