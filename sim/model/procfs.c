/* SPDX-License-Identifier: Apache-2.0 */
#include "model/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Padding is zero, so that two can be compared as bytes. */
static void read_caps(const struct sim_state *state, struct sim_caps *caps)
{
	memset(caps, 0, sizeof(*caps));
	for (uint32_t g = 0; g < state->n_gpus; g++) {
		const struct sim_mig *mig = &state->gpus[g].mig;

		caps->gpus[g].minor = state->gpus[g].minor;
		caps->gpus[g].mig = mig->current;
		for (uint32_t i = 0; i < SIM_GIS_MAX; i++) {
			const struct sim_gi *gi = &mig->gis[i];

			if (!gi->generation || gi->id >= SIM_CAP_GIS)
				continue;
			caps->gpus[g].gis |= 1U << gi->id;
			for (uint32_t j = 0; j < SIM_CIS_MAX; j++) {
				if (gi->cis[j].generation && gi->cis[j].id < SIM_CAP_CIS)
					caps->gpus[g].cis[gi->id] |=
							(uint8_t) (1U << gi->cis[j].id);
			}
		}
	}
}

/* Return: whether the files show what is there now. */
static bool look(struct sim_map *map, struct sim_caps *caps)
{
	struct sim_tx tx;
	bool same;

	sim_tx_begin(&tx, map, /* take_back= */ false);
	read_caps(tx.state, caps);
	same = !tx.state->proc_unsure && memcmp(&tx.state->proc_caps, caps, sizeof(*caps)) == 0;
	(void) sim_tx_end(&tx, SIM_OK);
	return same;
}

static int make_folder(const char *root, const char *name)
{
	char path[4400];

	(void) snprintf(path, sizeof(path), "%s/%s", root, name);
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

static bool has_text(const char *path, const char *text, size_t length)
{
	bh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	bh_auto_free char *found = fd < 0 ? NULL : malloc(length + 1);

	return found && read(fd, found, length + 1) == (ssize_t) length &&
	       memcmp(found, text, length) == 0;
}

/* A reader sees the old file, the new one or none. */
static int put(const char *root, const char *name, const char *text)
{
	char path[4400], temporary[4500];
	size_t length = strlen(text), done = 0;
	bh_auto_close int fd = -1;

	(void) snprintf(path, sizeof(path), "%s/%s", root, name);
	if (has_text(path, text, length))
		return 0;
	(void) snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0444);
	if (fd < 0)
		return -errno;
	while (done < length) {
		ssize_t n = write(fd, text + done, length - done);

		if (n < 0)
			return -errno;
		done += (size_t) n;
	}
	return fchmod(fd, 0444) < 0 || rename(temporary, path) < 0 ? -errno : 0;
}

static int put_cap(const char *root, const char *name, uint32_t minor)
{
	char text[96];

	(void) snprintf(text, sizeof(text),
			"DeviceFileMinor: %u\nDeviceFileMode: %u\nDeviceFileModify: 1\n", minor,
			minor == SIM_CAP_CONFIG ? 0400U : 0444U);
	return put(root, name, text);
}

/* The folder of an instance and its file "access"; also of a former life of that id. */
static int show_instance(const char *root, const char *folder, uint32_t minor)
{
	char name[160];
	int rc = make_folder(root, folder);

	(void) snprintf(name, sizeof(name), "%s/access", folder);
	return rc < 0 ? rc : put_cap(root, name, minor);
}

static int hide_instance(const char *root, const char *folder)
{
	static const char *const names[] = {"/access", "/access.new", ""};
	char path[4400];

	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		(void) snprintf(path, sizeof(path), "%s/%s%s", root, folder, names[i]);
		if (remove(path) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

static bool is_folder(const char *root, const char *name)
{
	char path[4400];

	(void) snprintf(path, sizeof(path), "%s/%s", root, name);
	return access(path, F_OK) == 0;
}

static int write_gi(const char *root, uint32_t minor, uint32_t gi, bool there, uint8_t cis)
{
	char folder[64], inner[96];
	int rc = 0;

	(void) snprintf(folder, sizeof(folder), "gpu%u/mig/gi%u", minor, gi);
	if (!there && !is_folder(root, folder))
		return 0;
	if (there)
		rc = show_instance(root, folder, sim_cap_of_gi(minor, gi));
	for (uint32_t ci = 0; rc == 0 && ci < SIM_CAP_CIS; ci++) {
		(void) snprintf(inner, sizeof(inner), "%s/ci%u", folder, ci);
		if (cis & 1U << ci)
			rc = show_instance(root, inner, sim_cap_of_ci(minor, gi, ci));
		else if (is_folder(root, inner))
			rc = hide_instance(root, inner);
	}
	return rc == 0 && !there ? hide_instance(root, folder) : rc;
}

/* Nodes of what there is; those of what is gone stay. */
static int make_nodes(
		const char *dir, const struct sim_nodes *nodes, const struct sim_gpu_caps *gpu)
{
	int rc = 0;

	for (uint32_t gi = 0; rc == 0 && gi < SIM_CAP_GIS; gi++) {
		if (!(gpu->gis & 1U << gi))
			continue;
		rc = sim_node_make_cap(dir, nodes, sim_cap_of_gi(gpu->minor, gi));
		for (uint32_t ci = 0; rc == 0 && ci < SIM_CAP_CIS; ci++) {
			if (gpu->cis[gi] & 1U << ci)
				rc = sim_node_make_cap(
						dir, nodes, sim_cap_of_ci(gpu->minor, gi, ci));
		}
	}
	return rc;
}

/* @old is what the files show of the GPU, or NULL when that is not known. */
static int write_gpu(const char *dir, const struct sim_nodes *nodes, const struct sim_gpu_caps *gpu,
		const struct sim_gpu_caps *old)
{
	char root[4200], folder[64];
	int rc = 0;

	(void) snprintf(root, sizeof(root), "%s/proc/driver/nvidia/capabilities", dir);
	for (int level = 0; gpu->mig && rc == 0 && level < 2; level++) {
		(void) snprintf(folder, sizeof(folder), "gpu%u%s", gpu->minor, level ? "/mig" : "");
		rc = make_folder(root, folder);
	}
	for (uint32_t gi = 0; rc == 0 && gi < SIM_CAP_GIS; gi++) {
		bool there = gpu->gis & 1U << gi;

		if (!old || there != !!(old->gis & 1U << gi) || gpu->cis[gi] != old->cis[gi])
			rc = write_gi(root, gpu->minor, gi, there, gpu->cis[gi]);
	}
	for (int level = 1; !gpu->mig && rc == 0 && level >= 0; level--) {
		(void) snprintf(folder, sizeof(folder), "gpu%u%s", gpu->minor, level ? "/mig" : "");
		rc = hide_instance(root, folder);
	}
	return rc == 0 && sim_nodes_exist(nodes) ? make_nodes(dir, nodes, gpu) : rc;
}

/* Held until closed. Only those who may write there can open it. */
static int lock_files(const char *dir)
{
	char path[4200];

	(void) snprintf(path, sizeof(path), "%s/proc/.lock", dir);
	return sim_nodes_lock(path);
}

/*
 * While files are written, and after a writer was killed, nothing is known of what they show, and
 * everything is looked at.
 */
static int write_locked(const char *dir, struct sim_map *map)
{
	struct sim_state *s = map->state;
	struct sim_caps caps, old;
	struct sim_tx tx;
	bool unsure;
	int rc = 0;

	if (look(map, &caps))
		return 0;
	sim_tx_begin(&tx, map, /* take_back= */ false);
	unsure = tx.state->proc_unsure;
	old = tx.state->proc_caps;
	tx.state->proc_unsure = 1;
	(void) sim_tx_end(&tx, SIM_OK);
	for (uint32_t g = 0; rc == 0 && g < s->n_gpus; g++) {
		if (unsure || memcmp(&caps.gpus[g], &old.gpus[g], sizeof(caps.gpus[g])) != 0)
			rc = write_gpu(dir, &s->nodes, &caps.gpus[g], unsure ? NULL : &old.gpus[g]);
	}
	if (rc < 0)
		return rc;
	sim_tx_begin(&tx, map, /* take_back= */ false);
	tx.state->proc_caps = caps;
	tx.state->proc_unsure = 0;
	(void) sim_tx_end(&tx, SIM_OK);
	return 0;
}

bool sim_procfs_sync(const char *dir, struct sim_map *map)
{
	bh_auto_close int lock = -1;
	struct sim_caps caps;

	if (look(map, &caps))
		return true;
	lock = lock_files(dir);
	return lock >= 0 && write_locked(dir, map) == 0;
}

static int put_text(const char *root, const char *name, const char *format, ...) BH_PRINTF(3, 4);
static int put_text(const char *root, const char *name, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return put(root, name, text);
}

/* Source: the order of the driver's table, static for 32 GPUs; two published values agree. */
static int put_minors(const char *root)
{
	const size_t size = 160 * 1024;
	bh_auto_free char *text = malloc(size);
	size_t n;

	if (!text)
		return -ENOMEM;
	n = (size_t) snprintf(
			text, size, "config %d\nmonitor %d\n", SIM_CAP_CONFIG, SIM_CAP_MONITOR);
	for (uint32_t g = 0; g < SIM_CAP_GPUS; g++) {
		for (uint32_t i = 0; i < SIM_CAP_GIS; i++) {
			n += (size_t) snprintf(text + n, size - n, "gpu%u/gi%u/access %u\n", g, i,
					sim_cap_of_gi(g, i));
			for (uint32_t j = 0; j < SIM_CAP_CIS; j++)
				n += (size_t) snprintf(text + n, size - n,
						"gpu%u/gi%u/ci%u/access %u\n", g, i, j,
						sim_cap_of_ci(g, i, j));
		}
	}
	return put(root, "driver/nvidia-caps/mig-minors", text);
}

/* As in the kernel's file: the number right-aligned to three, in order. */
static int put_devices(const char *root, const struct sim_nodes *nodes)
{
	if (!sim_nodes_exist(nodes))
		return put(root, "devices", "Character devices:\n\nBlock devices:\n");
	return put_text(root, "devices",
			"Character devices:\n%3u nvidia\n%3u nvidia-modeset\n%3u nvidiactl\n"
			"%3u nvidia-uvm\n%3u nvidia-caps\n\nBlock devices:\n",
			nodes->majors[SIM_MAJOR_NVIDIA], nodes->majors[SIM_MAJOR_NVIDIA],
			nodes->majors[SIM_MAJOR_NVIDIA], nodes->majors[SIM_MAJOR_UVM],
			nodes->majors[SIM_MAJOR_CAPS]);
}

static int put_gpu(const char *root, const struct sim_map *map, uint32_t g)
{
	const struct sim_gpu *gpu = &map->state->gpus[g];
	char pci[32], name[96];
	int rc;

	(void) snprintf(pci, sizeof(pci), "%04x:%02x:%02x.0", gpu->identity.pci_domain,
			gpu->identity.pci_bus, gpu->identity.pci_device);
	(void) snprintf(name, sizeof(name), "driver/nvidia/gpus/%s", pci);
	rc = make_folder(root, name);
	(void) snprintf(name, sizeof(name), "driver/nvidia/gpus/%s/information", pci);
	return rc < 0 ? rc
		      : put_text(root, name,
					"Model: \t\t %s\nIRQ:   \t\t %u\nGPU UUID: \t %s\n"
					"Video BIOS: \t ??.??.??.??.??\nBus Type: \t PCIe\n"
					"DMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n"
					"Bus Location: \t %s\nDevice Minor: \t %u\n"
					"GPU Firmware: \t %s\nGPU Excluded:\t No\n",
					map->boards[g]->name, 64 + g, gpu->identity.uuid, pci,
					gpu->minor, map->state->driver.version);
}

static int put_driver(const char *root, const struct sim_map *map)
{
	int rc = put_text(root, "driver/nvidia/version",
			"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release "
			"Build  (simulated)\nGCC version:  none\n",
			map->state->driver.version);

	if (rc == 0)
		rc = put(root, "driver/nvidia/params",
				"DeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"
				"ModifyDeviceFiles: 1\nPreserveVideoMemoryAllocations: 0\n"
				"RegistryDwords: \"\"\nRegistryDwordsPerDevice: \"\"\n");
	if (rc == 0)
		rc = put_cap(root, "driver/nvidia/capabilities/mig/config", SIM_CAP_CONFIG);
	if (rc == 0)
		rc = put_cap(root, "driver/nvidia/capabilities/mig/monitor", SIM_CAP_MONITOR);
	return rc;
}

int sim_procfs_create(const char *dir, struct sim_map *map, struct bh_error *err)
{
	static const char *const folders[] = {"", "driver", "driver/nvidia", "driver/nvidia/gpus",
			"driver/nvidia/capabilities", "driver/nvidia/capabilities/mig",
			"driver/nvidia-caps"};
	bh_auto_close int lock = -1;
	char root[4200];
	int rc = 0;

	(void) snprintf(root, sizeof(root), "%s/proc", dir);
	for (size_t i = 0; rc == 0 && i < BH_ARRAY_SIZE(folders); i++)
		rc = make_folder(root, folders[i]);
	if (rc == 0)
		lock = lock_files(dir);
	if (rc == 0 && lock < 0)
		rc = lock;
	if (rc == 0)
		rc = put_devices(root, &map->state->nodes);
	if (rc == 0)
		rc = put_driver(root, map);
	if (rc == 0)
		rc = put_minors(root);
	for (uint32_t g = 0; rc == 0 && g < map->state->n_gpus; g++)
		rc = put_gpu(root, map, g);
	map->state->proc_unsure = 1;
	if (rc == 0)
		rc = write_locked(dir, map);
	return rc < 0 ? bh_fail_errno(err, -rc, "writing '%s'", root) : 0;
}
