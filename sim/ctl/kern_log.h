/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIR/log/kern.log: what the kernel of a real node would log, one line each, with the time in front
 * as rsyslog writes it. Like a real one it outlives reboots; a node that is made anew begins with none.
 */
#ifndef SIM_CTL_KERN_LOG_H
#define SIM_CTL_KERN_LOG_H

#include <stddef.h>

#include "base/error.h"

#define CTL_LOG_LINE_MAX 1024

/**
 * ctl_log_append() - one more line
 * @dir:  of the node
 * @text: without newline
 * @err:  filled on failure
 */
int ctl_log_append(const char *dir, const char *text, struct bh_error *err) BH_MUST_CHECK;

/**
 * ctl_log_last() - the last lines
 * @dir:     of the node
 * @buffer:  receives whole lines with their newlines
 * @size:    of @buffer; lines that do not fit are left out, older ones first
 * @n_lines: at most
 *
 * A log that is not there has no lines.
 */
void ctl_log_last(const char *dir, char *buffer, size_t size, size_t n_lines);

/** ctl_log_remove() - the node begins with none; a failure shows when it is written */
void ctl_log_remove(const char *dir);

#endif
