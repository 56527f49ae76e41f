/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const uint32_t widths[SIM_MAJORS] = {
		[SIM_MAJOR_NVIDIA] = 256,
		[SIM_MAJOR_UVM] = 16,
		[SIM_MAJOR_CAPS] = 2176,
};

/* Of the 32 GPUs in the driver's table only those that a node can have need numbers. */
_Static_assert(3 + 9 * SIM_CAP_GIS * SIM_GPUS_MAX <= 2176, "a range has room for all instances");
_Static_assert(SIM_NODE_RANGES * 2176 <= 1 << 20, "a major has room for all ranges");

/* After config and monitor the table goes on by GPU, GPU instance, and compute instances in it. */
uint32_t sim_cap_of_gi(uint32_t gpu_minor, uint32_t gi)
{
	return 3 + gpu_minor * SIM_CAP_GIS * (1 + SIM_CAP_CIS) + gi * (1 + SIM_CAP_CIS);
}

uint32_t sim_cap_of_ci(uint32_t gpu_minor, uint32_t gi, uint32_t ci)
{
	return sim_cap_of_gi(gpu_minor, gi) + 1 + ci;
}

bool sim_nodes_exist(const struct sim_nodes *nodes)
{
	return nodes->majors[SIM_MAJOR_NVIDIA] != 0;
}

dev_t sim_node_device(const struct sim_nodes *nodes, enum sim_major major, uint32_t minor)
{
	return makedev(nodes->majors[major], nodes->range * widths[major] + minor);
}

int sim_node_make(const char *dir, const char *name, dev_t device, mode_t mode)
{
	char path[4200];
	struct stat st;

	(void) snprintf(path, sizeof(path), "%s/dev/%s", dir, name);
	if (lstat(path, &st) == 0) {
		if (S_ISCHR(st.st_mode) && st.st_rdev == device)
			return 0; /* whoever changed its mode or owner wanted that */
		if (unlink(path) < 0)
			return -errno;
	}
	if (mknod(path, S_IFCHR | (mode & 0777), device) < 0)
		return errno == EEXIST ? 0 : -errno; /* another process made it meanwhile */
	return chmod(path, mode & 0777) < 0 ? -errno : 0;
}

int sim_node_make_cap(const char *dir, const struct sim_nodes *nodes, uint32_t cap)
{
	char name[64];

	(void) snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%u", cap);
	return sim_node_make(dir, name, sim_node_device(nodes, SIM_MAJOR_CAPS, cap),
			cap == SIM_CAP_CONFIG ? 0400 : 0444);
}

void sim_nodes_forget(const char *dir)
{
	static const char prefix[] = "nvidia-cap";
	const struct dirent *entry;
	char path[4200];
	DIR *list;

	(void) snprintf(path, sizeof(path), "%s/dev/nvidia-caps", dir);
	list = opendir(path);
	if (!list)
		return;
	while ((entry = readdir(list))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
				strtoul(entry->d_name + strlen(prefix), NULL, 10) > SIM_CAP_MONITOR)
			(void) unlinkat(dirfd(list), entry->d_name,
					0); /* the next one tries again */
	}
	(void) closedir(list);
}

int sim_nodes_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR) {
			int rc = -errno;

			(void) close(fd);
			return rc;
		}
	}
	return fd;
}
