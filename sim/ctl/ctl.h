/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simctl: makes simulated nodes and acts on them from outside: shows, injects, reboots, checks. The
 * only place of the simulator that writes JSON.
 */
#ifndef SIM_CTL_CTL_H
#define SIM_CTL_CTL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "model/state.h"

enum {
	CTL_DONE = 0,
	CTL_FAILED = 1,
	CTL_USAGE = 2,
	CTL_IMPOSSIBLE = 3,
	CTL_BUSY = 4,
};

/* The driver of a node that does not say which. Assumed. */
#define CTL_DRIVER                                                                                 \
	((struct sim_driver){.version = "580.95.05", .nvml = "13.580.95.05", .cuda = 13000})

/**
 * ctl_machine_parse() - the machine that a name means
 * @name:        SLUGxN, an alias, or several with commas between
 * @ret_machine: written on success
 * @err:         UNKNOWN_NAME, or DOES_NOT_FIT for a board that cannot be simulated, with the reason
 */
int ctl_machine_parse(const char *name, struct sim_machine *ret_machine, struct bh_error *err)
		BH_MUST_CHECK;

/** ctl_machine_list() - print on stderr what machines there are */
void ctl_machine_list(void);

/**
 * ctl_dir() - make a path absolute, without following links
 * @path:   borrowed
 * @buffer: receives it
 * @size:   of @buffer
 *
 * Return: false when it does not fit.
 */
bool ctl_dir(const char *path, char *buffer, size_t size) BH_MUST_CHECK;

/** ctl_create(), ctl_env(), … - the commands; argv[0] is the name. Return: exit status */
int ctl_create(int argc, char **argv);
int ctl_env(int argc, char **argv);
int ctl_show(int argc, char **argv);
int ctl_inject(int argc, char **argv);
int ctl_reboot(int argc, char **argv);
int ctl_check(int argc, char **argv);
int ctl_clock(int argc, char **argv);

/**
 * ctl_open() - map a node
 * @path:    DIR as given
 * @ret_map: filled on success
 *
 * Prints why not. Return: CTL_DONE or the exit status.
 */
int ctl_open(const char *path, struct sim_map *ret_map) BH_MUST_CHECK;

/** ctl_wedged() - say that the node at @path is wedged and what to do; return: exit status */
int ctl_wedged(const char *path);

/**
 * ctl_end() - end a transaction
 * @tx:     begun
 * @result: as for sim_tx_end()
 * @path:   DIR as given
 *
 * Return: CTL_DONE, also when @result undoes the change; CTL_FAILED, said, when there was no lock.
 */
int ctl_end(struct sim_tx *tx, enum sim_result result, const char *path) BH_MUST_CHECK;

/** ctl_complain() - print one line on stderr; return: @status */
int ctl_complain(int status, const char *format, ...) BH_PRINTF(2, 3);

#endif
