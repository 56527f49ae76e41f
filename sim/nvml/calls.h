/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's entries as the model counts them: a number, a name, and whether the call changes. */
#ifndef SIM_NVML_CALLS_H
#define SIM_NVML_CALLS_H

#include <stdbool.h>

#include "abi/nvml_symbols.h"
#include "model/state.h"

enum sim_nvml_call {
#define X(name, need, params, args, out, checked_by) SIM_CALL_##name,
	BH_NVML_SYMBOLS(X)
#undef X
			SIM_CALL_COUNT
};
_Static_assert(SIM_CALL_COUNT <= SIM_CALLS_MAX, "the state counts every call");

extern const char *const sim_call_names[SIM_CALL_COUNT];
extern const enum bh_abi_checked sim_call_checked[SIM_CALL_COUNT];

/**
 * sim_call_changes() - does that call change the node
 * @call: enum sim_nvml_call
 *
 * SetMigMode, every creation and every destruction of an instance do.
 */
bool sim_call_changes(unsigned int call);

#endif
