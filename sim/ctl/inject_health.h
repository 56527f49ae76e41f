/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with a GPU: the kinds of injection that are about its health. */
#ifndef SIM_CTL_INJECT_HEALTH_H
#define SIM_CTL_INJECT_HEALTH_H

struct sim_tx;
struct words;

/** ctl_inject_xid(), … - rows of the table of injections. Return: exit status */
int ctl_inject_xid(struct sim_tx *tx, struct words *w);
int ctl_inject_log(struct sim_tx *tx, struct words *w);
int ctl_inject_remap(struct sim_tx *tx, struct words *w);
int ctl_inject_ecc(struct sim_tx *tx, struct words *w);
int ctl_inject_recovery(struct sim_tx *tx, struct words *w);

#endif
