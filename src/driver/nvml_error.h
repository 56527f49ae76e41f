/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVML's return codes mean to a caller of ours: one table. NVML's own number is kept in the
 * error. INSUFFICIENT_RESOURCES is DOES_NOT_FIT, because NVML says it when a board is full, when a
 * placement is taken and when a profile's count is used up, and does not say which.
 */
#ifndef BH_DRIVER_NVML_ERROR_H
#define BH_DRIVER_NVML_ERROR_H

#include "abi/nvml.h"
#include "base/error.h"

/**
 * bh_fail_nvml() - bh_fail() for an NVML call
 * @err:    filled; may be NULL
 * @code:   what NVML returned; not SUCCESS
 * @format: what was being done
 *
 * Sets the next step too where the table has one. Return: always -1.
 */
int bh_fail_nvml(struct bh_error *err, nvmlReturn_t code, const char *format, ...) BH_PRINTF(3, 4);

/**
 * bh_nvml_text() - NVML's words for a code
 * @code: any value
 */
const char *bh_nvml_text(nvmlReturn_t code);

#endif
