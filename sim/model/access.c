/* SPDX-License-Identifier: Apache-2.0 */
#include "model/access.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FIRST_USER_NAMESPACE 0xEFFFFFFDU /* PROC_USER_INIT_INO, the same on all kernels */

enum sim_access sim_access_try(
		const char *dev, const char *name, dev_t device, int flags, int *ret_fd)
{
	bh_auto_close int node = -1, opened = -1;
	char path[4200];
	struct stat st;

	if (ret_fd)
		*ret_fd = -1;
	if (snprintf(path, sizeof(path), "%s/%s", dev, name) >= (int) sizeof(path))
		return SIM_ACCESS_ABSENT;
	node = open(path, O_PATH | O_CLOEXEC);
	if (node < 0)
		return errno == EACCES ? SIM_ACCESS_REFUSED : SIM_ACCESS_ABSENT;
	if (fstat(node, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != device)
		return SIM_ACCESS_ABSENT;
	opened = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (opened >= 0)
		return SIM_ACCESS_FREE;
	switch (errno) {
	case ENXIO:
		if (ret_fd)
			*ret_fd = bh_take_fd(&node);
		return SIM_ACCESS_ALLOWED;
	case EPERM:
		return SIM_ACCESS_FILTERED;
	case EACCES:
		return SIM_ACCESS_REFUSED;
	default:
		return SIM_ACCESS_FREE;
	}
}

bool sim_access_is_admin(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	struct stat st;

	if (syscall(SYS_capget, &header, data) < 0 ||
			!(data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)))
		return false;
	/* without /proc the namespace cannot be told: taken for the first */
	return stat("/proc/self/ns/user", &st) < 0 || st.st_ino == FIRST_USER_NAMESPACE;
}

bool sim_access_has_cap(const char *dev, const struct sim_nodes *nodes, uint32_t cap)
{
	char name[64];

	if (!sim_nodes_exist(nodes) || sim_access_is_admin())
		return true;
	(void) snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%u", cap);
	switch (sim_access_try(
			dev, name, sim_node_device(nodes, SIM_MAJOR_CAPS, cap), O_RDONLY, NULL)) {
	case SIM_ACCESS_FREE:
	case SIM_ACCESS_ALLOWED:
		return true;
	case SIM_ACCESS_FILTERED:
	case SIM_ACCESS_REFUSED:
	case SIM_ACCESS_ABSENT:
		return false;
	}
	return false;
}
