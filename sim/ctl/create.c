/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl/kern_log.h"
#include "ctl/machine_file.h"
#include "model/freezer.h"
#include "ctl/nodes.h"
#include "model/procfs.h"
#include "nvml/calls.h"

#define LIBRARY "libnvidia-ml.so.1"
#define TOOL	"nvidia-smi"

/* Beside simctl in a build, else where both are installed, whatever folder that is below. */
static int find_beside(const char *name, char *path, size_t size)
{
	static const char *const places[] = {"", SIM_INSTALLED_LIBDIR "/"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return -errno;
	self[n] = '\0';
	strrchr(self, '/')[1] = '\0';
	for (size_t i = 0; i < BH_ARRAY_SIZE(places); i++) {
		int length = snprintf(path, size, "%s%s%s", self, places[i], name);

		if (length > 0 && (size_t) length < size && access(path, R_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

static int copy_bytes(int from, int to, struct bh_error *err)
{
	char buffer[65536];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0) {
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, buffer + done, (size_t) (n - done));
			if (w < 0)
				return bh_fail_errno(err, errno, "writing");
		}
	}
	return n < 0 ? bh_fail_errno(err, errno, "reading") : 0;
}

/* Replaced by renaming: processes that have the old one loaded keep it. */
static int copy_file(const char *from, const char *to, struct bh_error *err)
{
	bh_auto_close int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	char temporary[4400];

	(void) snprintf(temporary, sizeof(temporary), "%s.new", to);
	if (in < 0)
		return bh_fail_errno(err, errno, "opening '%s'", from);
	out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (out < 0)
		return bh_fail_errno(err, errno, "creating '%s'", temporary);
	if (copy_bytes(in, out, err) < 0)
		return bh_while(err, "copying '%s' to '%s'", from, to);
	if (rename(temporary, to) < 0)
		return bh_fail_errno(err, errno, "placing '%s'", to);
	return 0;
}

static int make_dirs(const char *dir, struct bh_error *err)
{
	char path[4200];

	(void) snprintf(path, sizeof(path), "%s", dir);
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return bh_fail_errno(err, errno, "creating '%s'", path);
		*p = '/';
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return bh_fail_errno(err, errno, "creating '%s'", path);
	return 0;
}

static int copy_here(const char *dir, const char *folder, const char *name, struct bh_error *err)
{
	char from[4200], to[4200], path[4300];
	int rc = find_beside(name, from, sizeof(from));

	if (rc < 0)
		return bh_fail_errno(err, -rc, "looking for %s beside simctl", name);
	(void) snprintf(to, sizeof(to), "%s/%s", dir, folder);
	(void) snprintf(path, sizeof(path), "%s/%s", to, name);
	return make_dirs(to, err) < 0 ? -1 : copy_file(from, path, err);
}

/* Every process of the node locks a byte there, whoever it runs as. */
static int make_lock_file(const char *dir, struct bh_error *err)
{
	char path[4200];
	bh_auto_close int fd = -1;

	(void) snprintf(path, sizeof(path), "%s/clients.lock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || fchmod(fd, 0666) < 0)
		return bh_fail_errno(err, errno, "creating '%s'", path);
	return 0;
}

static int fill_proc(const char *dir, struct bh_error *err)
{
	struct sim_map map;
	int rc;

	if (sim_map_open(dir, &map, err) < 0)
		return -1;
	rc = sim_procfs_create(dir, &map, err);
	sim_map_close(&map);
	return rc;
}

static int lay_out(const char *dir, struct sim_machine *machine, struct bh_error *err)
{
	char state[4200], temporary[4300];
	bool changing[SIM_CALL_COUNT];

	(void) snprintf(state, sizeof(state), "%s/state", dir);
	(void) snprintf(temporary, sizeof(temporary), "%s.new", state);
	for (unsigned int i = 0; i < SIM_CALL_COUNT; i++)
		changing[i] = sim_call_changes(i);
	/* the lock file comes first: by it a folder is known to be a node's */
	if (make_dirs(dir, err) < 0 || make_lock_file(dir, err) < 0 ||
			copy_here(dir, "lib", LIBRARY, err) < 0 ||
			copy_here(dir, "bin", TOOL, err) < 0)
		return -1;
	ctl_nodes_clear(dir); /* of a node that is made anew */
	ctl_nodes_make(dir, machine->n_gpus, &machine->nodes);
	(void) unlink(temporary); /* left by a creation that was killed */
	if (sim_state_create(temporary, machine, sim_call_names, changing, SIM_CALL_COUNT, err) < 0)
		return -1;
	ctl_log_remove(dir);
	if (rename(temporary, state) < 0)
		return bh_fail_errno(err, errno, "placing '%s'", state);
	return fill_proc(dir, err);
}

static bool is_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	return strchr(name, '/') || strcmp(name, "-") == 0 ||
	       (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 ||
				       strcmp(dot, ".json") == 0));
}

/* Reads the machine that a word names into @file, which is NULL-initialized and then the caller's. */
static int find_machine(const char *name, struct ctl_file *file)
{
	bh_auto_document struct bh_document *document = NULL;
	struct bh_error err;

	if (is_file(name)) {
		if (bh_document_load(name, NULL, &document, &err) == 0 &&
				ctl_file_read(document, file, &err) == 0)
			return CTL_DONE;
		return ctl_complain(CTL_USAGE, "%s", err.message);
	}
	if (ctl_machine_parse(name, &file->machine, &err) == 0)
		return CTL_DONE;
	(void) ctl_complain(0, "%s", err.message);
	ctl_machine_list();
	return err.code == BH_E_DOES_NOT_FIT ? CTL_IMPOSSIBLE : CTL_USAGE;
}

/* DIR/dev and DIR/proc are made anew: only where an earlier creation at least began. */
static bool is_ours(const char *dir)
{
	static const char *const names[] = {
			"clients.lock", "dev", "proc", "lib/" LIBRARY, "bin/" TOOL};
	bool found[BH_ARRAY_SIZE(names)];
	char path[4200];

	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		(void) snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		found[i] = access(path, F_OK) == 0;
	}
	return found[0] || (!found[1] && !found[2] && !found[3] && !found[4]);
}

/* Nobody sits in a freezer of a node that is gone: nothing would let him out again. */
static void end_freezers(const char *dir)
{
	struct bh_error err;
	struct sim_map map;

	if (sim_map_open(dir, &map, NULL) < 0)
		return;
	for (uint32_t i = 0; i < map.state->n_gpus; i++) {
		uint64_t freezer = map.state->gpus[i].trouble.freezer;

		if (freezer && sim_freezer_end(freezer, &err) < 0)
			(void) ctl_complain(0, "%s", err.message);
	}
	sim_map_close(&map);
}

static int create(const char *given, struct sim_machine *machine, bool force)
{
	char dir[4000], state[4200], nodes[64];
	struct bh_error err;

	if (!ctl_dir(given, dir, sizeof(dir)))
		return ctl_complain(CTL_USAGE, "the path is too long");
	if (strchr(dir, ':'))
		return ctl_complain(CTL_USAGE,
				"'%s' has a ':', which parts the folders of LD_LIBRARY_PATH", dir);
	(void) snprintf(state, sizeof(state), "%s/state", dir);
	if (!force && access(state, F_OK) == 0)
		return ctl_complain(
				CTL_USAGE, "'%s' already holds a node; --force makes it anew", dir);
	if (!is_ours(dir))
		return ctl_complain(CTL_USAGE,
				"'%s' has a dev, proc, lib or bin that is no simulated node's",
				dir);
	if (force)
		end_freezers(dir);
	/* without it there is no node: one that is killed from here on leaves none, and not half of one */
	if (unlink(state) < 0 && errno != ENOENT)
		return ctl_complain(CTL_FAILED, "removing '%s': %s", state, strerror(errno));
	if (lay_out(dir, machine, &err) < 0)
		return ctl_complain(CTL_FAILED, "%s", err.message);
	ctl_nodes_text(&machine->nodes, nodes, sizeof(nodes));
	(void) printf("%s: %u GPU%s in %s (nodes: %s%s%s)\n", machine->name, machine->n_gpus,
			machine->n_gpus == 1 ? "" : "s", dir, nodes,
			machine->nodes.why[0] ? ": " : "", machine->nodes.why);
	return CTL_DONE;
}

int ctl_create(int argc, char **argv)
{
	static const struct option options[] = {
			{"dir", required_argument, NULL, 'd'},
			{"seed", required_argument, NULL, 's'},
			{"force", no_argument, NULL, 'f'},
			{0},
	};
	const char *dir = NULL;
	bool force = false, seeded = false;
	struct ctl_file *file;
	uint64_t seed = 0;
	char *end = NULL;
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			dir = optarg;
			break;
		case 's':
			errno = 0;
			seed = strtoumax(optarg, &end, 0);
			seeded = true;
			if (end == optarg || *end || errno || optarg[0] == '-')
				return ctl_complain(CTL_USAGE, "--seed takes a number");
			break;
		case 'f':
			force = true;
			break;
		default:
			return CTL_USAGE;
		}
	}
	if (!dir || optind != argc - 1) {
		(void) ctl_complain(0, "create MACHINE|FILE --dir DIR [--seed N] [--force]");
		ctl_machine_list();
		return CTL_USAGE;
	}
	file = calloc(1, sizeof(*file));
	if (!file)
		return ctl_complain(CTL_FAILED, "out of memory");
	rc = find_machine(argv[optind], file);
	if (seeded)
		file->machine.seed = seed;
	if (rc == CTL_DONE)
		rc = create(dir, &file->machine, force);
	free(file);
	return rc;
}
