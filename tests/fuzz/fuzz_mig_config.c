/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct bh_mig_entry *entry)
{
	if (!entry->all_devices && !entry->devices)
		abort();
	if (!entry->mig_enabled && entry->n_profiles)
		abort();
	for (size_t i = 0; i < entry->n_profiles; i++) {
		const struct bh_wanted_profile *p = &entry->profiles[i];

		if (p->count == 0 || p->count > BH_MIG_CONFIG_COUNT_MAX || p->line == 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bh_gpu gpus[3] = {
			{.pci_device_id = 0x233010de, .mig_capable = true},
			{.index = 1, .pci_device_id = 0x20b210de, .mig_capable = true},
			{.index = 2, .pci_device_id = 0x1eb810de},
	};
	const struct bh_inventory inventory = {.gpus = gpus, .n_gpus = 3};
	bh_auto_mig_config struct bh_mig_config *config = NULL;
	struct bh_error err = {0};
	const char *const *names;
	size_t n;

	if (bh_mig_config_parse((const char *) data, size, "f", &config, &err) < 0) {
		if (err.code != BH_E_INVALID_FILE || strncmp(err.message, "f:", 2) != 0)
			abort();
		return 0;
	}
	names = bh_mig_config_names(config, &n);
	for (size_t i = 0; i < n; i++) {
		bh_auto_wanted struct bh_wanted *wanted = NULL;
		const struct bh_mig_configuration *c;

		if (bh_mig_config_select(config, names[i], &c, &err) < 0)
			abort();
		for (size_t j = 0; j < c->n_entries; j++)
			check_entry(&c->entries[j]);
		if (bh_spec_resolve(c, &inventory, &wanted, &err) < 0 &&
				err.code != BH_E_NO_SUCH_GPU && err.code != BH_E_MIG_UNSUPPORTED)
			abort();
	}
	return 0;
}
