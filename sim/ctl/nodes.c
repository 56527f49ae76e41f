/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/access.h"

#define RANGES "/run/bulkhead-sim"

static void none(struct sim_nodes *nodes, const char *format, ...) BH_PRINTF(2, 3);
static void none(struct sim_nodes *nodes, const char *format, ...)
{
	va_list args;

	memset(nodes, 0, sizeof(*nodes));
	va_start(args, format);
	(void) vsnprintf(nodes->why, sizeof(nodes->why), format, args);
	va_end(args);
}

/* Bit n: somebody drives the character major 120 + n. */
static uint32_t majors_taken(void)
{
	FILE *file = fopen("/proc/devices", "re");
	unsigned int major, taken = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file) && strncmp(line, "Block", 5) != 0) {
		if (sscanf(line, "%u", &major) == 1 && major >= SIM_MAJOR_FIRST &&
				major <= SIM_MAJOR_LAST)
			taken |= 1U << (major - SIM_MAJOR_FIRST);
	}
	if (file)
		(void) fclose(file);
	return taken;
}

static bool choose_majors(struct sim_nodes *nodes)
{
	uint32_t taken = majors_taken(), n = 0;

	for (uint32_t major = SIM_MAJOR_FIRST; major <= SIM_MAJOR_LAST && n < SIM_MAJORS; major++) {
		if (!(taken & 1U << (major - SIM_MAJOR_FIRST)))
			nodes->majors[n++] = major;
	}
	return n == SIM_MAJORS;
}

/* The DIR that a range's file names, if its nvidiactl still has that range's number. */
static bool is_taken(const struct sim_nodes *nodes, const char *file, const char *dir)
{
	bh_auto_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char owner[4200], path[4300];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, owner, sizeof(owner) - 1);
	if (n <= 0)
		return false;
	owner[n] = '\0';
	(void) snprintf(path, sizeof(path), "%s/dev/nvidiactl", owner);
	return strcmp(owner, dir) != 0 && lstat(path, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == sim_node_device(nodes, SIM_MAJOR_NVIDIA, SIM_MINOR_CTL);
}

static int take(const char *file, const char *dir)
{
	bh_auto_close int fd = -1;
	size_t n = strlen(dir);

	(void) unlink(file); /* of a node that is gone */
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, dir, n) != (ssize_t) n)
		return errno ? -errno : -EIO;
	return 0;
}

/*
 * Starts at a place that follows from the folder itself, so that machines that share a kernel but not
 * /run, such as containers, are not likely to meet.
 */
static bool choose_range(struct sim_nodes *nodes, const char *dir)
{
	struct stat st;
	uint64_t first;

	if (stat(dir, &st) < 0) {
		none(nodes, "%s: %s", dir, strerror(errno));
		return false;
	}
	first = st.st_ino * 2654435761U + st.st_dev;
	for (uint32_t i = 0; i < SIM_NODE_RANGES; i++) {
		char file[sizeof(RANGES) + 16];
		int rc;

		nodes->range = (uint32_t) ((first + i) % SIM_NODE_RANGES);
		(void) snprintf(file, sizeof(file), RANGES "/%u", nodes->range);
		if (is_taken(nodes, file, dir))
			continue;
		rc = take(file, dir);
		if (rc < 0)
			none(nodes, "%s: %s", file, strerror(-rc));
		return rc == 0;
	}
	none(nodes, "all %u ranges of minors are taken, see " RANGES, SIM_NODE_RANGES);
	return false;
}

static int lock_ranges(void)
{
	if (mkdir(RANGES, 0755) < 0 && errno != EEXIST)
		return -errno;
	return sim_nodes_lock(RANGES "/lock");
}

static int make(const char *dir, const char *name, const struct sim_nodes *nodes,
		enum sim_major major, uint32_t minor)
{
	return sim_node_make(dir, name, sim_node_device(nodes, major, minor), 0666);
}

/* Modes: listings of real machines. */
static int make_all(const char *dir, uint32_t n_gpus, const struct sim_nodes *nodes)
{
	char name[32];
	int rc = make(dir, "nvidiactl", nodes, SIM_MAJOR_NVIDIA, SIM_MINOR_CTL);

	if (rc == 0)
		rc = make(dir, "nvidia-modeset", nodes, SIM_MAJOR_NVIDIA, SIM_MINOR_MODESET);
	if (rc == 0)
		rc = make(dir, "nvidia-uvm", nodes, SIM_MAJOR_UVM, 0);
	if (rc == 0)
		rc = make(dir, "nvidia-uvm-tools", nodes, SIM_MAJOR_UVM, 1);
	for (uint32_t i = 0; rc == 0 && i < n_gpus; i++) {
		(void) snprintf(name, sizeof(name), "nvidia%u", i);
		rc = make(dir, name, nodes, SIM_MAJOR_NVIDIA, i);
	}
	if (rc == 0)
		rc = sim_node_make_cap(dir, nodes, SIM_CAP_CONFIG);
	if (rc == 0)
		rc = sim_node_make_cap(dir, nodes, SIM_CAP_MONITOR);
	return rc;
}

/* Made nodes that the maker himself cannot reach would refuse everybody. */
static const char *try(const char *dir, const struct sim_nodes *nodes)
{
	char dev[4200];

	(void) snprintf(dev, sizeof(dev), "%s/dev", dir);
	switch (sim_access_try(dev, "nvidiactl",
			sim_node_device(nodes, SIM_MAJOR_NVIDIA, SIM_MINOR_CTL), O_RDWR, NULL)) {
	case SIM_ACCESS_ALLOWED:
		return NULL;
	case SIM_ACCESS_FILTERED:
		return "a device filter refuses them here";
	case SIM_ACCESS_REFUSED:
		return "the file system takes no device nodes (nodev)";
	case SIM_ACCESS_FREE:
	case SIM_ACCESS_ABSENT:
		return "the kernel does not answer as for nodes that nobody drives";
	}
	return "unknown";
}

static void make_in_range(const char *dir, uint32_t n_gpus, struct sim_nodes *nodes)
{
	const char *trouble;
	int rc;

	if (!choose_majors(nodes)) {
		none(nodes, "of the majors 120 to 127 not three are free");
		return;
	}
	if (!choose_range(nodes, dir))
		return;
	rc = make_all(dir, n_gpus, nodes);
	trouble = rc < 0 ? strerror(-rc) : try(dir, nodes);
	if (!trouble)
		return;
	ctl_nodes_clear(dir);
	none(nodes, "%s%s", rc < 0 ? "mknod: " : "", trouble);
}

void ctl_nodes_make(const char *dir, uint32_t n_gpus, struct sim_nodes *ret_nodes)
{
	bh_auto_close int lock = -1;
	char path[4200];

	memset(ret_nodes, 0, sizeof(*ret_nodes));
	(void) snprintf(path, sizeof(path), "%s/dev/nvidia-caps", dir);
	*strrchr(path, '/') = '\0';
	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		none(ret_nodes, "%s: %s", path, strerror(errno));
		return;
	}
	path[strlen(path)] = '/';
	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		none(ret_nodes, "%s: %s", path, strerror(errno));
		return;
	}
	lock = lock_ranges();
	if (lock < 0)
		none(ret_nodes, RANGES ": %s", strerror(-lock));
	else
		make_in_range(dir, n_gpus, ret_nodes);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void) remove(path); /* what stays is replaced or says so itself */
	return 0;
}

void ctl_nodes_clear(const char *dir)
{
	static const char *const folders[] = {"dev", "proc"};
	char path[4200];

	for (size_t i = 0; i < BH_ARRAY_SIZE(folders); i++) {
		(void) snprintf(path, sizeof(path), "%s/%s", dir, folders[i]);
		(void) nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	}
}

void ctl_nodes_text(const struct sim_nodes *nodes, char *text, size_t size)
{
	const uint32_t *m = nodes->majors;

	if (!sim_nodes_exist(nodes))
		(void) snprintf(text, size, "none");
	else if (m[2] == m[0] + 2)
		(void) snprintf(text, size, "%u-%u", m[0], m[2]);
	else
		(void) snprintf(text, size, "%u,%u,%u", m[0], m[1], m[2]);
}
