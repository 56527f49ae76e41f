/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A board as a machine file describes it: like a known one with some fields changed, or all of it.
 */
#ifndef SIM_CTL_BOARD_FILE_H
#define SIM_CTL_BOARD_FILE_H

#include "base/document.h"
#include "model/board.h"

/**
 * ctl_board_known() - the board of the simulator's own table that a node names
 * @node:      borrowed; a text
 * @ret_board: written on success
 * @err:       INVALID_FILE: none of that name (the nearest is suggested), or it is refused, and why
 */
int ctl_board_known(const struct bh_doc_node *node, const struct sim_board **ret_board,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * ctl_copy_text() - a scalar's text into a fixed place
 * @node: borrowed; a text
 * @what: the node, for messages
 * @to:   receives it with its NUL
 * @size: of @to
 * @err:  INVALID_FILE when it is empty or does not fit
 */
int ctl_copy_text(const struct bh_doc_node *node, const char *what, char *to, size_t size,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * ctl_board_read() - one board
 * @key:       borrowed; its name there
 * @node:      borrowed; its fields
 * @ret_board: filled on success; sound
 * @err:       INVALID_FILE with file, line and column
 */
int ctl_board_read(const struct bh_doc_node *key, const struct bh_doc_node *node,
		struct sim_board *ret_board, struct bh_error *err) BH_MUST_CHECK;

#endif
