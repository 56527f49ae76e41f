/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml/target.h"

#include <stdio.h>

#include "nvml/impl.h"

bool sim_target_parse_bus_id(
		const char *text, unsigned int *domain, unsigned int *bus, unsigned int *device)
{
	unsigned int function = 0;
	int end = 0;

	if (sscanf(text, "%8x:%2x:%2x.%1x%n", domain, bus, device, &function, &end) == 4 &&
			!text[end])
		return function == 0;
	*domain = 0;
	end = 0;
	return sscanf(text, "%2x:%2x.%1x%n", bus, device, &function, &end) == 3 && !text[end] &&
	       function == 0;
}

static uint32_t at_bus_id(const struct sim_state *s, const char *text)
{
	unsigned int domain, bus, device;
	uint32_t gpus = 0;

	if (!text || !sim_target_parse_bus_id(text, &domain, &bus, &device))
		return 0;
	for (uint32_t i = 0; i < s->n_gpus; i++) {
		const struct sim_identity *id = &s->gpus[i].identity;

		if (id->pci_domain == domain && id->pci_bus == bus && id->pci_device == device)
			gpus |= 1U << i;
	}
	return gpus;
}

uint32_t sim_target_gpus(const struct sim_tx *tx, enum sim_nvml_call call,
		const struct sim_argument arguments[2])
{
	const struct sim_state *s = tx->state;
	uint32_t gpus = 0, gpu;

	switch (call) {
	case SIM_CALL_nvmlDeviceGetHandleByIndex_v2:
		return arguments[0].value < s->n_gpus ? 1U << arguments[0].value : 0;
	case SIM_CALL_nvmlDeviceGetHandleByUUID:
		return (1U << s->n_gpus) - 1;
	case SIM_CALL_nvmlDeviceGetHandleByPciBusId_v2:
		return at_bus_id(s, (const char *) arguments[0].value);
	default:
		break;
	}
	for (int i = 0; i < 2; i++) {
		if (arguments[i].is_handle &&
				sim_handle_belongs(tx, (const void *) arguments[i].value, &gpu))
			gpus |= 1U << gpu;
	}
	return gpus;
}
