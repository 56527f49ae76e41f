/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/machine_file.h"
#include "model/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ctl_file file; /* large */
	bh_auto_document struct bh_document *document = NULL;
	struct bh_error err = {0};
	const struct sim_machine *machine = &file.machine;

	if (bh_document_parse((const char *) data, size, "f", NULL, &document, &err) < 0)
		return 0;
	if (ctl_file_read(document, &file, &err) < 0) {
		if (err.code != BH_E_INVALID_FILE || strncmp(err.message, "f:", 2) != 0)
			abort();
		return 0;
	}
	if (machine->n_gpus < 1 || machine->n_gpus > SIM_GPUS_MAX || !machine->driver.version[0])
		abort();
	if (!sim_topology_is_sound(&machine->topology, machine->n_gpus))
		abort();
	for (uint32_t i = 0; i < machine->n_gpus; i++) {
		const struct sim_identity *a = &machine->gpus[i].identity;

		if (!sim_board_is_sound(machine->gpus[i].board))
			abort();
		for (uint32_t j = 0; j < i; j++) {
			const struct sim_identity *b = &machine->gpus[j].identity;

			if (a->uuid[0] && strcmp(a->uuid, b->uuid) == 0)
				abort();
		}
	}
	return 0;
}
