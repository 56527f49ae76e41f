/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state directory and its two locks. STATE/lock makes one writer: it is held with flock for the
 * writer's life, and its text says who that is. STATE/worker.lock is held shared by every worker
 * that may change the machine, also by what such a worker left running when it was killed; whoever
 * gets it exclusively knows that nobody of a former life still acts.
 */
#ifndef BH_NODE_STATE_DIR_H
#define BH_NODE_STATE_DIR_H

#include "base/error.h"

/**
 * bh_state_prepare() - make the directory if it is absent, and check it
 * @path: absolute or relative; parents are made too
 * @err:  DENIED, UNSUPPORTED on a network file system (its locks and syncs prove nothing)
 */
int bh_state_prepare(const char *path, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_state_lock() - become the one writer
 * @path:        the directory, prepared
 * @role:        who we are: "daemon", "apply", …
 * @deadline_ms: how long to wait for a daemon that holds it but does not serve yet
 * @ret_fd:      the lock; closing it gives it up
 * @err:         STATE_LOCKED naming the holder when it is a command, DEADLINE when it is a daemon
 */
int bh_state_lock(const char *path, const char *role, uint32_t deadline_ms, int *ret_fd,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_state_find_writer() - who is the writer now, for readers
 * @path:       the directory
 * @ret_holder: written when there is one: its pid and role
 *
 * Looks into /proc/locks, since trying the lock would be in the way of those who want it.
 * Return: true if somebody holds it; false if nobody does or it cannot be known.
 */
bool bh_state_find_writer(const char *path, struct bh_holder *ret_holder);

/**
 * bh_state_worker_lock() - a shared hold on worker.lock, to be handed to a worker
 * @path:   the directory
 * @ret_fd: the hold; it ends when this and every copy of it is closed
 * @err:    INTERNAL, DENIED
 */
int bh_state_worker_lock(const char *path, int *ret_fd, struct bh_error *err) BH_MUST_CHECK;

enum {
	BH_STATE_BUSY = 1, /* a worker still acts */
};

/**
 * bh_state_try_settle() - is it certain now that no worker acts
 * @path: the directory; the caller's own workers have ended
 * @err:  INTERNAL, DENIED
 *
 * Does not wait. Return: 0 it is; BH_STATE_BUSY; negative on error.
 */
int bh_state_try_settle(const char *path, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_state_settle() - wait until it is certain that no worker acts
 * @path:        the directory; the caller's own workers have ended
 * @deadline_ms: how long
 * @err:         DEADLINE
 */
int bh_state_settle(const char *path, uint32_t deadline_ms, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_state_settle_failed() - fill the error of a settling that took too long
 * @path: the directory
 * @err:  DEADLINE, with the next step
 *
 * Return: always -1.
 */
int bh_state_settle_failed(const char *path, struct bh_error *err);

#endif
