/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking the status of an ended child by its pidfd, without ever waiting.
 */
#ifndef BH_BASE_REAP_H
#define BH_BASE_REAP_H

#include <signal.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

/**
 * bh_reap_now() - take the status if the child has ended
 * @pidfd: borrowed
 * @info:  filled; how it ended, or zeroes if somebody else took the status
 *
 * A readable pidfd is no promise: a traced process may be a zombie that only its tracer can
 * release. Whoever is told false then looks again from time to time instead of spinning.
 * Return: whether it is gone.
 */
bool bh_reap_now(int pidfd, siginfo_t *info);

/**
 * bh_reap_later() - leave a child that will not end to the loop
 * @event: reaps it when it ends, for as long as the loop lives
 * @pidfd: taken over
 */
void bh_reap_later(sd_event *event, int pidfd);

#endif
