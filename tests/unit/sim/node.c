/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <dlfcn.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int run(char *const argv[])
{
	posix_spawn_file_actions_t actions;
	int status;
	pid_t pid;

	(void) posix_spawn_file_actions_init(&actions);
	(void) posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0);
	assert_int_equal(posix_spawn(&pid, SIMCTL, &actions, NULL, argv, environ), 0);
	(void) posix_spawn_file_actions_destroy(&actions);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

int node_ctl(const struct node *node, const char *command, const char *words)
{
	char text[256], *rest = text,
			*argv[20] = {(char *) SIMCTL, (char *) command, (char *) node->dir};
	int n = 3;

	(void) snprintf(text, sizeof(text), "%s", words);
	while (words[0] && n < 19 && (argv[n] = strsep(&rest, " ")))
		n++;
	argv[n] = NULL;
	return run(argv);
}

json_t *node_show(const struct node *node)
{
	char *argv[] = {(char *) SIMCTL, (char *) "show", (char *) node->dir, (char *) "--json",
			NULL};
	int ends[2], status;
	json_t *value;
	FILE *out;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void) dup2(ends[1], STDOUT_FILENO);
		(void) close(ends[0]);
		execv(argv[0], argv);
		_exit(127);
	}
	(void) close(ends[1]);
	out = fdopen(ends[0], "r");
	assert_non_null(out);
	value = json_loadf(out, 0, NULL);
	(void) fclose(out);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_non_null(value);
	return value;
}

void node_start(struct node *node, const char *machine)
{
	char path[128], *argv[] = {(char *) SIMCTL, (char *) "create", (char *) machine,
					(char *) "--dir", node->dir, NULL};

	memset(node, 0, sizeof(*node));
	(void) snprintf(node->dir, sizeof(node->dir), "/tmp/bh-sim-test-XXXXXX");
	assert_non_null(mkdtemp(node->dir));
	assert_int_equal(run(argv), 0);
	(void) snprintf(path, sizeof(path), "%s/lib/libnvidia-ml.so.1", node->dir);
	node->nvml.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(node->nvml.handle);
#define X(name, need, params, args, out, checked_by)                                               \
	node->nvml.name = (__typeof__(node->nvml.name)) dlsym(node->nvml.handle, #name);           \
	assert_non_null(node->nvml.name);
	BH_NVML_SYMBOLS(X)
	BH_NVML_TEXT_SYMBOLS(X)
#undef X
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

void node_stop(struct node *node)
{
	(void) dlclose(node->nvml.handle);
	(void) nftw(node->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

nvmlDevice_t node_gpu(struct node *node, unsigned int index, int mig)
{
	nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
	nvmlDevice_t gpu;

	assert_int_equal(node->nvml.nvmlInit_v2(), NVML_SUCCESS);
	assert_int_equal(node->nvml.nvmlDeviceGetHandleByIndex_v2(index, &gpu), NVML_SUCCESS);
	if (mig) {
		assert_int_equal(
				node->nvml.nvmlDeviceSetMigMode(gpu, 1, &activation), NVML_SUCCESS);
		assert_int_equal(activation, NVML_SUCCESS);
	}
	return gpu;
}

nvmlGpuInstance_t node_create(struct node *node, nvmlDevice_t gpu, unsigned int profile_id)
{
	nvmlGpuInstance_t gi = NULL;

	return node->nvml.nvmlDeviceCreateGpuInstance(gpu, profile_id, &gi) == NVML_SUCCESS ? gi
											    : NULL;
}

nvmlReturn_t node_create_at(struct node *node, nvmlDevice_t gpu, unsigned int profile_id,
		unsigned int start, unsigned int size, nvmlGpuInstance_t *ret_gi)
{
	nvmlGpuInstancePlacement_t place = {start, size};

	return node->nvml.nvmlDeviceCreateGpuInstanceWithPlacement(gpu, profile_id, &place, ret_gi);
}

nvmlGpuInstanceInfo_t node_info(struct node *node, nvmlGpuInstance_t gi)
{
	nvmlGpuInstanceInfo_t info = {0};

	assert_int_equal(node->nvml.nvmlGpuInstanceGetInfo(gi, &info), NVML_SUCCESS);
	return info;
}
