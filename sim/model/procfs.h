/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DIR/proc: what the driver shows below /proc. Plain files, written from the state by whoever
 * changed it, before his call returns and outside the state's lock (a file lock orders writers, each
 * of whom reads the state anew, so the last one writes the latest).
 *
 * A process that is killed between its change and the files leaves them behind the state. The state
 * remembers what the files show; the next nvmlInit, change, reset or reboot by anybody who may write
 * there sees by it that they are behind, and writes them.
 * `simctl check --repair` writes them all anew.
 *
 * Sources: user guide, driver and listings of real machines for names and formats; what a file tells
 * beyond identity, version and minors is assumed.
 */
#ifndef SIM_MODEL_PROCFS_H
#define SIM_MODEL_PROCFS_H

#include "model/nodes.h"

/**
 * sim_procfs_create() - write everything, also what never changes
 * @dir: of the simulated node
 * @map: of its state
 * @err: filled on failure
 */
int sim_procfs_create(const char *dir, struct sim_map *map, struct bh_error *err) BH_MUST_CHECK;

/**
 * sim_procfs_sync() - bring the files of capabilities, and the nodes of new ones, to the state
 * @dir: of the simulated node
 * @map: of its state
 *
 * Nothing is written when nothing changed. Takes the state's lock for moments. A caller who may not
 * write there leaves it to the next one. Return: whether the files are now as the state.
 */
bool sim_procfs_sync(const char *dir, struct sim_map *map);

#endif
