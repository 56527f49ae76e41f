/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml/calls.h"

const char *const sim_call_names[SIM_CALL_COUNT] = {
#define X(name, need, params, args, out, checked_by) #name,
		BH_NVML_SYMBOLS(X)
#undef X
};

const enum bh_abi_checked sim_call_checked[SIM_CALL_COUNT] = {
#define X(name, need, params, args, out, checked_by) BH_ABI_CHECKED_##checked_by,
		BH_NVML_SYMBOLS(X)
#undef X
};

bool sim_call_changes(unsigned int call)
{
	switch (call) {
	case SIM_CALL_nvmlDeviceSetMigMode:
	case SIM_CALL_nvmlDeviceCreateGpuInstance:
	case SIM_CALL_nvmlDeviceCreateGpuInstanceWithPlacement:
	case SIM_CALL_nvmlGpuInstanceDestroy:
	case SIM_CALL_nvmlGpuInstanceCreateComputeInstance:
	case SIM_CALL_nvmlGpuInstanceCreateComputeInstanceWithPlacement:
	case SIM_CALL_nvmlComputeInstanceDestroy:
		return true;
	default:
		return false;
	}
}
