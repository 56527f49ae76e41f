/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which instance may stand where: the simulator's own, literal reading of the driver's rules.
 * Nothing here is derived from capacities or masks: a GPU instance is a node of the driver's span
 * tree, and two conflict exactly when one node is the other or an ancestor of it. A planner that
 * reasons in another way can be wrong against this. On a board that somebody described without
 * that tree, two conflict when they have a unit in common.
 *
 * Sources: driver (span tables and conflict table of NVIDIA/open-gpu-kernel-modules 595.45.04), the
 * user guide, and for automatic placement the rule that fits nine published sequences.
 */
#ifndef SIM_MODEL_RULES_H
#define SIM_MODEL_RULES_H

#include "model/state.h"

/**
 * sim_nodes_conflict() - do two nodes of the span tree overlap
 * @a, @b: 0 the whole; 1-2 halves; 3-6 quarters; 7-14 eighths
 */
bool sim_nodes_conflict(uint32_t a, uint32_t b);

/**
 * sim_places_conflict() - can two instances not stand there side by side
 * @board: borrowed; says whether the tree or the units decide
 * @a, @b: of its placements
 */
bool sim_places_conflict(const struct sim_board *board, const struct sim_gi_place *a,
		const struct sim_gi_place *b);

/**
 * sim_gi_row_by_id() - index of the profile with that id
 * @board:   borrowed
 * @id:      the profile id, not the enum
 * @ret_row: written on success
 *
 * Return: false when the board has none.
 */
bool sim_gi_row_by_id(const struct sim_board *board, uint32_t id, uint32_t *ret_row);

/** sim_gi_row_by_number() - likewise for the enum */
bool sim_gi_row_by_number(const struct sim_board *board, uint32_t number, uint32_t *ret_row);

/** sim_ci_row_by_id() - likewise for compute instances within a GPU instance's profile */
bool sim_ci_row_by_id(const struct sim_gi_row *gi, uint32_t id, uint32_t *ret_row);

/** sim_ci_row_by_number() - likewise for the enum */
bool sim_ci_row_by_number(const struct sim_gi_row *gi, uint32_t number, uint32_t *ret_row);

/**
 * sim_gi_fits() - may a GPU instance of that profile stand there now
 * @board: borrowed
 * @mig:   borrowed
 * @row:   of the board's profiles
 * @place: of that profile's placements
 */
bool sim_gi_fits(const struct sim_board *board, const struct sim_mig *mig, uint32_t row,
		const struct sim_gi_place *place);

/**
 * sim_gi_choose() - where the driver puts an instance for which no placement is given
 * @board: borrowed
 * @mig:   borrowed
 * @row:   of the board's profiles
 *
 * The placement after which most (profile, placement) pairs are still free; on a tie the lowest
 * start. Return: borrowed from the board; NULL when nothing fits.
 */
const struct sim_gi_place *sim_gi_choose(
		const struct sim_board *board, const struct sim_mig *mig, uint32_t row);

/**
 * sim_gi_capacity() - how many more instances of that profile could be made now
 * @board: borrowed
 * @mig:   borrowed
 * @row:   of the board's profiles
 */
uint32_t sim_gi_capacity(const struct sim_board *board, const struct sim_mig *mig, uint32_t row);

/** sim_ci_fits() - as sim_gi_fits(), within a GPU instance */
bool sim_ci_fits(const struct sim_gi_row *profile, const struct sim_gi *gi, uint32_t row,
		const struct sim_ci_place *place);

/**
 * sim_ci_choose() - as sim_gi_choose(), within a GPU instance
 *
 * Source: driver, which counts ids; counting pairs instead is assumed.
 */
const struct sim_ci_place *sim_ci_choose(
		const struct sim_gi_row *profile, const struct sim_gi *gi, uint32_t row);

/** sim_ci_capacity() - as sim_gi_capacity(), within a GPU instance */
uint32_t sim_ci_capacity(const struct sim_gi_row *profile, const struct sim_gi *gi, uint32_t row);

#endif
