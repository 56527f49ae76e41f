/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/node.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "driver/nvml_error.h"

struct bh_driver {
	struct bh_nvml nvml;
	bool initialised;
	char version[64];
	char origin[512];
	struct bh_board_facts *facts; /* BH_NODE_GPUS_MAX of them */
	size_t n_facts;
};

static int initialise(struct bh_driver *driver, const char *name, struct bh_error *err)
{
	char version[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "";
	nvmlReturn_t r = driver->nvml.nvmlInit_v2();
	int length;

	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "initialising NVML");
	driver->initialised = true;
	r = driver->nvml.nvmlSystemGetDriverVersion(version, sizeof(version) - 1);
	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "reading the driver's version");
	bh_utf8_clean(version);
	(void) snprintf(driver->version, sizeof(driver->version), "%.63s", version);
	if (strcmp(name, "nvml") == 0)
		length = snprintf(
				driver->origin, sizeof(driver->origin), "nvml:%s", driver->version);
	else
		length = snprintf(driver->origin, sizeof(driver->origin), "%s", name);
	if ((size_t) length >= sizeof(driver->origin))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"the driver's folder has too long a name");
	return 0;
}

int bh_driver_open(const char *name, struct bh_driver **ret_driver, struct bh_error *err)
{
	bh_auto_driver struct bh_driver *driver = calloc(1, sizeof(*driver));

	if (!driver)
		return bh_fail_memory(err);
	driver->facts = calloc(BH_NODE_GPUS_MAX, sizeof(*driver->facts));
	if (!driver->facts)
		return bh_fail_memory(err);
	if (bh_nvml_load(name, &driver->nvml, err) < 0 || initialise(driver, name, err) < 0)
		return bh_while(err, "driver '%.200s'", name);
	*ret_driver = BH_TAKE(driver);
	return 0;
}

void bh_driver_free(struct bh_driver *driver)
{
	if (!driver)
		return;
	if (driver->initialised)
		(void) driver->nvml.nvmlShutdown(); /* nothing to be done about it */
	bh_nvml_unload(&driver->nvml);
	free(driver->facts);
	free(driver);
}

const char *bh_driver_version(const struct bh_driver *driver)
{
	return driver->version;
}

const char *bh_driver_origin(const struct bh_driver *driver)
{
	return driver->origin;
}

const struct bh_nvml *bh_driver_nvml(const struct bh_driver *driver)
{
	return &driver->nvml;
}

struct bh_board_facts *bh_driver_facts(struct bh_driver *driver, const char *uuid)
{
	struct bh_board_facts *facts;

	for (size_t i = 0; i < driver->n_facts; i++) {
		if (strcmp(driver->facts[i].uuid, uuid) == 0)
			return &driver->facts[i];
	}
	if (driver->n_facts == BH_NODE_GPUS_MAX)
		return NULL;
	facts = &driver->facts[driver->n_facts++];
	(void) snprintf(facts->uuid, sizeof(facts->uuid), "%s", uuid);
	return facts;
}

static int read_row(const struct bh_nvml *nvml, struct bh_gpu_row *row, struct bh_error *err)
{
	nvmlPciInfo_t pci = {0};
	nvmlDevice_t device;
	nvmlReturn_t r = nvml->nvmlDeviceGetHandleByIndex_v2(row->index, &device);

	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "opening GPU %u", row->index);
	r = nvml->nvmlDeviceGetPciInfo_v3(device, &pci);
	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "reading the PCI address of GPU %u", row->index);
	pci.busId[sizeof(pci.busId) - 1] = '\0';
	(void) snprintf(row->pci, sizeof(row->pci), "%s", pci.busId);
	bh_utf8_clean(row->pci);
	row->pci_device_id = pci.pciDeviceId;
	row->pci_subsystem_id = pci.pciSubSystemId;
	r = nvml->nvmlDeviceGetUUID(device, row->uuid, sizeof(row->uuid) - 1);
	if (r != NVML_SUCCESS) {
		row->uuid[0] = '\0';
		return bh_fail_nvml(err, r, "reading the UUID of GPU %u", row->index);
	}
	bh_utf8_clean(row->uuid);
	if (nvml->nvmlDeviceGetName(device, row->name, sizeof(row->name) - 1) != NVML_SUCCESS)
		row->name[0] = '\0'; /* unknown */
	bh_utf8_clean(row->name);
	return 0;
}

int bh_driver_list(struct bh_driver *driver, struct bh_gpu_row *rows, size_t max, size_t *ret_n,
		struct bh_error *err)
{
	unsigned int count = 0;
	nvmlReturn_t r = driver->nvml.nvmlDeviceGetCount_v2(&count);

	if (r != NVML_SUCCESS)
		return bh_fail_nvml(err, r, "counting the GPUs");
	if (count > max)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"the node has %u GPUs, and at most %zu are provided for", count,
				max);
	for (unsigned int i = 0; i < count; i++) {
		rows[i] = (struct bh_gpu_row){
				.index = i,
				.pci_device_id = BH_UNKNOWN,
				.pci_subsystem_id = BH_UNKNOWN,
		};
		rows[i].readable = read_row(&driver->nvml, &rows[i], &rows[i].why) == 0;
	}
	*ret_n = count;
	return 0;
}
