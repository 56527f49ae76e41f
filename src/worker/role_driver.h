/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role `driver`: observes GPUs and changes their MIG mode and instances. NVML is initialised
 * once in its life. Operations are a table; each names the GPU by UUID and PCI address.
 *
 *   list                                              {"driver", "gpus": [identity…], "unreadable"}
 *   observe     {pci, profiles}                       {"gpu": wire form}
 *   set-mig     {pci, on, leave_pending?}             {"gpu": wire form without profiles}
 *   create-gi   {pci, profile_id, start, size}        likewise, and all below
 *   destroy-gi  {pci, profile_id, start, size}
 *   create-ci   {pci, profile_id, start, size, slices, ci_start}
 *   destroy-ci  {pci, profile_id, start, size, slices, ci_start}
 *
 * A changing operation that failed says beside "error" in "gpu" what was found after it. If "gpu"
 * is missing there, the board could not be read, and what the operation did is not known.
 */
#ifndef BH_WORKER_ROLE_DRIVER_H
#define BH_WORKER_ROLE_DRIVER_H

#include "worker/worker.h"

/**
 * bh_role_driver() - serve until the parent hangs up
 * @worker: borrowed
 *
 * Return: the exit status.
 */
int bh_role_driver(const struct bh_worker *worker);

#endif
