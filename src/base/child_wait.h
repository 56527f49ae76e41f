/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calling a child for programs that have nothing else to do meanwhile, such as a command line: the
 * loop runs here until the outcome is there. Not to be called from within a callback of the loop.
 */
#ifndef BH_BASE_CHILD_WAIT_H
#define BH_BASE_CHILD_WAIT_H

#include "base/child.h"

/**
 * bh_child_wait_ready() - run the loop until the hello came
 * @child: borrowed
 * @err:   what the child said or why it ended: NO_DRIVER and the like are its own words
 */
int bh_child_wait_ready(struct bh_child *child, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_child_call_wait() - bh_child_call(), running the loop until the outcome is there
 * @child:       borrowed
 * @request:     borrowed
 * @deadline_ms: as in bh_child_call()
 * @ret_outcome: written whenever a request was made, success or not; may be NULL
 * @ret_packet:  a new reference to the whole reply, written on DONE and FAILED if there is one (a
 *               failed change carries what was found after it); may be NULL
 * @err:         FAILED: the child's; UNKNOWN: why
 *
 * Return: 0 done; negative failed or unknown, told apart by *ret_outcome.
 */
int bh_child_call_wait(struct bh_child *child, const json_t *request, uint32_t deadline_ms,
		enum bh_child_outcome *ret_outcome, json_t **ret_packet, struct bh_error *err)
		BH_MUST_CHECK;

#endif
