/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session with one driver: NVML initialised once, and what never changes about a board
 * remembered for as long as the session lasts, because asking for it is slow.
 */
#ifndef BH_DRIVER_NODE_H
#define BH_DRIVER_NODE_H

#include "driver/board_facts.h"
#include "driver/nvml_library.h"
#include "gpu/inventory.h"

struct bh_driver; /* opaque */

/* One row of the list. An unreadable GPU is still there: it has its index and says why. */
struct bh_gpu_row {
	uint32_t index;
	char uuid[BH_UUID_SIZE];
	char pci[32];
	char name[BH_NAME_SIZE];
	uint32_t pci_device_id, pci_subsystem_id; /* BH_UNKNOWN if not told */
	bool readable;
	struct bh_error why; /* if not readable */
};

/**
 * bh_driver_open() - load a driver and initialise it
 * @name:       "nvml" or "sim:DIR"
 * @ret_driver: owned by the caller, freed with bh_driver_free()
 * @err:        USAGE, NO_DRIVER, or what NVML said
 */
int bh_driver_open(const char *name, struct bh_driver **ret_driver, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_driver_free() - end the session; NULL is fine
 * @driver: owned
 */
void bh_driver_free(struct bh_driver *driver);

static inline void bh_driver_freep(struct bh_driver **p)
{
	bh_driver_free(*p);
}
#define bh_auto_driver BH_CLEANUP(bh_driver_freep)

/**
 * bh_driver_version() - the driver's version; borrowed from @driver
 * @driver: borrowed
 */
const char *bh_driver_version(const struct bh_driver *driver);

/**
 * bh_driver_origin() - "nvml:VERSION" or "sim:DIR"; borrowed from @driver
 * @driver: borrowed
 */
const char *bh_driver_origin(const struct bh_driver *driver);

/**
 * bh_driver_list() - the GPUs of the node
 * @driver: borrowed
 * @rows:   receives at most @max rows, in order of index
 * @max:    rows there are
 * @ret_n:  rows written
 * @err:    what NVML said; INTERNAL when there are more than @max
 *
 * Looks each GPU up by index, which may initialise it.
 */
int bh_driver_list(struct bh_driver *driver, struct bh_gpu_row *rows, size_t max, size_t *ret_n,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_driver_nvml() - the table of calls; for the rest of this room
 * @driver: borrowed
 */
const struct bh_nvml *bh_driver_nvml(const struct bh_driver *driver);

/**
 * bh_driver_facts() - what is remembered of a board; for the rest of this room
 * @driver: borrowed
 * @uuid:   borrowed
 *
 * Return: borrowed from @driver; empty the first time; NULL when there are too many boards.
 */
struct bh_board_facts *bh_driver_facts(struct bh_driver *driver, const char *uuid);

#endif
