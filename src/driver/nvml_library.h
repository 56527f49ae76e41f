/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML, found at run time. The table of pointers, the loader and the compiler's check of each type
 * grow from the one symbol list of abi/. A simulated node's library is loaded by the same code from
 * another place; nothing here or above knows the difference.
 */
#ifndef BH_DRIVER_NVML_LIBRARY_H
#define BH_DRIVER_NVML_LIBRARY_H

#include "abi/nvml_symbols.h"
#include "base/error.h"

#define BH_NVML_POINTER_REQUIRED(name) __typeof__(&name) name;
#define BH_NVML_POINTER_OPTIONAL(name) __typeof__(&name) name; /* NULL where it is missing */
#define BH_NVML_POINTER_SIM_ONLY(name)

struct bh_nvml {
	void *handle;
#define X(name, need, params, args, out, checked_by) BH_NVML_POINTER_##need(name)
	BH_NVML_TEXT_SYMBOLS(X) BH_NVML_SYMBOLS(X)
#undef X
};

/**
 * bh_nvml_load() - load the library that a driver's name stands for
 * @driver:   "nvml" for the system's, "sim:DIR" for DIR/lib/libnvidia-ml.so.1
 * @ret_nvml: filled on success, zeroed on failure; to be given back with bh_nvml_unload()
 * @err:      USAGE for another name, NO_DRIVER when the library or a required symbol, which is
 *            named, is missing
 *
 * Loads only; does not initialise NVML. A missing optional symbol is a NULL pointer.
 */
int bh_nvml_load(const char *driver, struct bh_nvml *ret_nvml, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_nvml_unload() - give the library back and zero the table; fine on a zeroed one
 * @nvml: borrowed
 */
void bh_nvml_unload(struct bh_nvml *nvml);

#endif
