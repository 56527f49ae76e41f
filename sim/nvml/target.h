/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPUs a call touches, by what it was called with: those of its handles, or the one that it
 * looks up. Source: header, which lets a look-up fail when the GPU is lost, and one by UUID when
 * any is; facts/platform: a look-up by UUID may initialise other GPUs on the way.
 */
#ifndef SIM_NVML_TARGET_H
#define SIM_NVML_TARGET_H

#include "nvml/calls.h"

/* One of a call's first two arguments. */
struct sim_argument {
	uintptr_t value;
	bool is_handle;
};

/* SIM_ARGUMENTS (device, count): an initializer for two of them, whatever the call takes. */
#define SIM_ARGUMENTS(...) SIM_ARGUMENTS_(, ##__VA_ARGS__, 0, 0)
#define SIM_ARGUMENTS_(nothing, first, second, ...)                                                \
	{                                                                                          \
		SIM_ARGUMENT(first), SIM_ARGUMENT(second)                                          \
	}
/* clang-format off */
#define SIM_ARGUMENT(argument)                                                                     \
	{                                                                                          \
		(uintptr_t) (argument), _Generic((argument), nvmlDevice_t: true,                   \
			nvmlGpuInstance_t: true, nvmlComputeInstance_t: true, default: false)      \
	}
/* clang-format on */

/**
 * sim_target_gpus() - the GPUs that a call touches
 * @tx:        begun
 * @call:      which
 * @arguments: the first two
 *
 * Return: bit n = GPU n; 0 for calls that touch none.
 */
uint32_t sim_target_gpus(const struct sim_tx *tx, enum sim_nvml_call call,
		const struct sim_argument arguments[2]);

/**
 * sim_target_parse_bus_id() - a PCI bus id as NVML takes it
 * @text: with or without domain, of four or eight digits; the function is 0 (header)
 * @domain, @bus, @device: written in any case, to be used on success
 */
bool sim_target_parse_bus_id(const char *text, unsigned int *domain, unsigned int *bus,
		unsigned int *device) BH_MUST_CHECK;

#endif
