/* SPDX-License-Identifier: Apache-2.0 */
/* The exported entries, all from the one list and all through the one gate. */
#include "nvml/gate.h"
#include "nvml/impl.h"

#define EXPORT __attribute__((visibility("default")))

/* `out` is NULL for most: sizeof(*NULL) is 1 and not used. */
#define X(name, need, params, args, out_pointer, checked_by)                                       \
	EXPORT nvmlReturn_t name params                                                            \
	{                                                                                          \
		const struct sim_argument arguments[2] = SIM_ARGUMENTS args;                       \
		struct sim_gate gate;                                                              \
                                                                                                   \
		if (!sim_gate_enter(&gate, SIM_CALL_##name, arguments, (void *) (out_pointer),     \
				    sizeof(*(out_pointer))))                                       \
			return gate.result;                                                        \
		return sim_gate_leave(&gate, sim_##name args);                                     \
	}
BH_NVML_SYMBOLS(X)
#undef X

EXPORT const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
#define X(name, number, text)                                                                      \
	case NVML_##name:                                                                          \
		return text;
		BH_NVML_RETURNS(X)
#undef X
	}
	return "Unknown Error";
}
