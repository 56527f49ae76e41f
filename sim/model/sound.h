/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether what lies in a state file can be used as it is. Any process of the node may write there,
 * and a file can be damaged: before a node is opened, everything of it that is later an index, a
 * count, a shift or a text is looked at once. What is merely untrue is left to sim_check().
 *
 * A process that writes there while others have the node open can still harm them: the file is no
 * boundary.
 */
#ifndef SIM_MODEL_SOUND_H
#define SIM_MODEL_SOUND_H

#include "model/state.h"

/**
 * sim_sound_fixed() - what never changes once the node stands: counts, boards, texts, the lock's kind
 * @state: mapped; magic, version and size are right
 */
bool sim_sound_fixed(const struct sim_state *state) BH_MUST_CHECK;

/**
 * sim_sound_changing() - what changes: node, GPUs with their instances and holders, clients, faults
 * @state: mapped, sim_sound_fixed() and locked
 */
bool sim_sound_changing(const struct sim_state *state) BH_MUST_CHECK;

/**
 * sim_sound_undo() - whether the undo image can be put back
 * @undo: locked
 */
bool sim_sound_undo(const struct sim_undo *undo) BH_MUST_CHECK;

#endif
