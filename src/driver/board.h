/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One GPU, opened by its PCI address and held to its UUID: the address touches no other GPU, the
 * UUID proves that it is still the same card. Instances are named by profile and placement; NVML's
 * handles live only within one operation.
 */
#ifndef BH_DRIVER_BOARD_H
#define BH_DRIVER_BOARD_H

#include "driver/node.h"

/* A plain value; its pointers are borrowed from the driver. */
struct bh_board {
	struct bh_driver *driver;
	const struct bh_nvml *nvml;
	struct bh_board_facts *facts;
	nvmlDevice_t device;
	char uuid[BH_UUID_SIZE];
	char pci[32];
};

/* A GPU instance by what it is and where it is. */
struct bh_gi_name {
	uint32_t profile_id;
	struct bh_placement at;
};

/**
 * bh_board_open() - open a GPU
 * @driver:    borrowed for as long as @ret_board is used
 * @pci:       its PCI address
 * @uuid:      what it must be
 * @ret_board: written on success
 * @err:       NO_SUCH_GPU when nothing or another card is there, or what NVML said
 */
int bh_board_open(struct bh_driver *driver, const char *pci, const char *uuid,
		struct bh_board *ret_board, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_board_read_mode() - the MIG mode
 * @board:       borrowed
 * @ret_current: written on success
 * @ret_pending: written on success
 * @err:         MIG_UNSUPPORTED for a board without MIG, or what NVML said
 */
int bh_board_read_mode(const struct bh_board *board, enum bh_mig_mode *ret_current,
		enum bh_mig_mode *ret_pending, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_board_read_gi_rows() - make sure that facts->gis is read
 * @board: borrowed
 * @err:   what NVML said
 *
 * A board that offers none (older ones do not while MIG is off) is no error; then it is read again
 * the next time.
 */
int bh_board_read_gi_rows(const struct bh_board *board, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_board_gi_row() - one row of facts->gis
 * @board:      borrowed
 * @profile_id: any
 *
 * Return: borrowed; NULL if the board does not offer it.
 */
struct bh_gi_row *bh_board_gi_row(const struct bh_board *board, uint32_t profile_id);

/**
 * bh_board_read_ci_rows() - make sure that a row's compute instance profiles are read
 * @board: borrowed
 * @gi:    a GPU instance of that profile
 * @row:   filled
 * @err:   what NVML said
 */
int bh_board_read_ci_rows(const struct bh_board *board, nvmlGpuInstance_t gi, struct bh_gi_row *row,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_board_find_gi() - the handle of a GPU instance
 * @board:      borrowed
 * @name:       which
 * @ret_handle: written on success; valid until something is destroyed or reset
 * @err:        NOT_SO when there is none, or what NVML said
 */
int bh_board_find_gi(const struct bh_board *board, const struct bh_gi_name *name,
		nvmlGpuInstance_t *ret_handle, struct bh_error *err) BH_MUST_CHECK;

#endif
