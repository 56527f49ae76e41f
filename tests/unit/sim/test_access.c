/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device nodes and /proc: who the kernel lets through, what holder scans see, what files tell. Where
 * nodes cannot be made the tests of access skip with the node's own reason.
 */
#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define N(call) node.nvml.call
#define NOBODY	65534

static struct node node;

static const char *at(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	(void) snprintf(path[turn], sizeof(path[turn]), "%s/%s", node.dir, name);
	return path[turn];
}

/* Makes the node; skips the test where it has no device nodes. Others may enter its folder. */
static void start_with_nodes(const char *machine)
{
	json_t *shown;
	int none;

	node_start(&node, machine);
	assert_int_equal(chmod(node.dir, 0755), 0);
	shown = node_show(&node);
	none = strcmp(json_string_value(json_object_get(shown, "nodes")), "none") == 0;
	if (none)
		print_message("skipped: nodes: none: %s\n",
				json_string_value(json_object_get(shown, "nodes_why")));
	json_decref(shown);
	if (!none)
		return;
	node_stop(&node);
	skip();
}

/* Runs a check in a child, as another user if uid is not 0; its answer is the exit status. */
static int in_child(uid_t uid, int (*check)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (uid && (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
			_exit(100);
		_exit(check());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int handle_of(unsigned int index)
{
	nvmlDevice_t gpu;
	nvmlReturn_t rc = N(nvmlInit_v2)();

	if (rc != NVML_SUCCESS)
		return 50 + (int) rc;
	return (int) N(nvmlDeviceGetHandleByIndex_v2)(index, &gpu);
}

static int first_gpu(void)
{
	return handle_of(0);
}

static int second_gpu(void)
{
	return handle_of(1);
}

static int session(void)
{
	return N(nvmlInit_v2)() % 256;
}

static void nodes_are_of_majors_that_nobody_drives(void **state)
{
	static const struct {
		const char *name, *driver;
		unsigned int minor;
	} nodes[] = {{"nvidiactl", "nvidiactl", 255}, {"nvidia0", "nvidia", 0},
			{"nvidia1", "nvidia", 1}, {"nvidia-modeset", "nvidia-modeset", 254},
			{"nvidia-uvm", "nvidia-uvm", 0}, {"nvidia-uvm-tools", "nvidia-uvm", 1},
			{"nvidia-caps/nvidia-cap1", "nvidia-caps", 1},
			{"nvidia-caps/nvidia-cap2", "nvidia-caps", 2}};
	char text[512] = "", line[64], path[128];
	unsigned int ranges[3] = {256, 16, 2176};
	struct stat st, first = {0};
	FILE *file;

	start_with_nodes("h100x2");
	file = fopen(at("proc/devices"), "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	(void) fclose(file);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		(void) snprintf(path, sizeof(path), "dev/%s", nodes[i].name);
		assert_int_equal(stat(at(path), &st), 0);
		assert_true(S_ISCHR(st.st_mode));
		assert_in_range(major(st.st_rdev), 120, 127);
		if (!i)
			first = st;
		assert_int_equal(minor(st.st_rdev) %
						 ranges[major(st.st_rdev) - major(first.st_rdev)],
				nodes[i].minor);
		(void) snprintf(line, sizeof(line), "\n%3u %s\n", major(st.st_rdev),
				nodes[i].driver);
		assert_non_null(strstr(text, line));
		assert_int_equal(open(at(path), O_RDONLY), -1);
		assert_int_equal(errno, ENXIO);
	}
	node_stop(&node);
}

static void two_nodes_have_no_device_number_in_common(void **state)
{
	struct stat a, b;

	start_with_nodes("h100x1");
	assert_int_equal(stat(at("dev/nvidia0"), &a), 0);
	for (int i = 0; i < 3; i++) {
		struct node other;
		char path[128];

		node_start(&other, "h100x1");
		(void) snprintf(path, sizeof(path), "%s/dev/nvidia0", other.dir);
		assert_int_equal(stat(path, &b), 0);
		assert_int_equal(major(a.st_rdev), major(b.st_rdev));
		assert_int_not_equal(minor(a.st_rdev), minor(b.st_rdev));
		node_stop(&other);
	}
	node_stop(&node);
}

/* Counts descriptors of that node in this process, which must be close-on-exec. */
static int n_descriptors(const char *name)
{
	struct stat wanted, st;
	struct dirent *entry;
	DIR *list = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(list);
	assert_int_equal(stat(at(name), &wanted), 0);
	while ((entry = readdir(list))) {
		int fd = (int) strtol(entry->d_name, NULL, 10);

		if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != wanted.st_rdev)
			continue;
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		n++;
	}
	(void) closedir(list);
	return n;
}

static void who_has_a_gpu_open_shows_it_among_his_descriptors(void **state)
{
	nvmlDevice_t gpu;

	start_with_nodes("h100x2");
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(n_descriptors("dev/nvidiactl"), 1);
	assert_int_equal(n_descriptors("dev/nvidia0"), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu), NVML_SUCCESS);
	assert_int_equal(n_descriptors("dev/nvidia0"), 1);
	assert_int_equal(n_descriptors("dev/nvidia1"), 0);
	assert_int_equal(N(nvmlShutdown)(), NVML_SUCCESS);
	assert_int_equal(n_descriptors("dev/nvidiactl"), 0);
	assert_int_equal(n_descriptors("dev/nvidia0"), 0);
	node_stop(&node);
}

static void a_handle_of_a_former_session_opens_nothing(void **state)
{
	nvmlDevice_t gpu, again;
	char name[96];

	node_start(&node, "h100x1");
	gpu = node_gpu(&node, 0, 0);
	(void) N(nvmlShutdown)();
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	assert_int_equal(
			N(nvmlDeviceGetName)(gpu, name, sizeof(name)), NVML_ERROR_INVALID_ARGUMENT);
	assert_int_equal(N(nvmlDeviceGetHandleByIndex_v2)(0, &again), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceGetName)(gpu, name, sizeof(name)), NVML_SUCCESS);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static int second_gpu_by_other_names(void)
{
	char uuid[96];
	unsigned int count;
	nvmlDevice_t gpu;

	(void) snprintf(uuid, sizeof(uuid), "%s", getenv("BH_TEST_UUID"));
	if (N(nvmlInit_v2)() != NVML_SUCCESS)
		return 1;
	if (N(nvmlDeviceGetCount_v2)(&count) != NVML_SUCCESS || count != 2)
		return 2;
	if (N(nvmlDeviceGetHandleByUUID)(uuid, &gpu) != NVML_ERROR_NO_PERMISSION)
		return 3;
	if (N(nvmlDeviceGetHandleByPciBusId_v2)("0000:1f:00.0", &gpu) != NVML_ERROR_NO_PERMISSION)
		return 4;
	return 0;
}

static void a_gpu_whose_node_refuses_is_no_permission_and_the_others_answer(void **state)
{
	json_t *shown;

	start_with_nodes("h100x2");
	shown = node_show(&node);
	(void) setenv("BH_TEST_UUID",
			json_string_value(json_object_get(
					json_array_get(json_object_get(shown, "gpus"), 1), "uuid")),
			1);
	json_decref(shown);
	assert_int_equal(in_child(NOBODY, second_gpu), NVML_SUCCESS);
	assert_int_equal(chmod(at("dev/nvidia1"), 0600), 0);
	assert_int_equal(in_child(NOBODY, second_gpu), NVML_ERROR_NO_PERMISSION);
	assert_int_equal(in_child(NOBODY, first_gpu), NVML_SUCCESS);
	assert_int_equal(in_child(NOBODY, second_gpu_by_other_names), 0);
	assert_int_equal(in_child(0, second_gpu), NVML_SUCCESS);
	node_stop(&node);
}

static void no_session_without_the_control_node(void **state)
{
	start_with_nodes("h100x1");
	assert_int_equal(chmod(at("dev/nvidiactl"), 0600), 0);
	assert_int_equal(in_child(NOBODY, session), NVML_ERROR_NO_PERMISSION);
	assert_int_equal(in_child(0, session), NVML_SUCCESS);
	node_stop(&node);
}

static void a_missing_node_is_a_missing_driver_or_no_permission_assumed(void **state)
{
	start_with_nodes("h100x2");
	assert_int_equal(unlink(at("dev/nvidia1")), 0);
	assert_int_equal(in_child(0, second_gpu), NVML_ERROR_NO_PERMISSION);
	assert_int_equal(in_child(0, first_gpu), NVML_SUCCESS);
	assert_int_equal(unlink(at("dev/nvidiactl")), 0);
	assert_int_equal(in_child(0, session), NVML_ERROR_DRIVER_NOT_LOADED);
	node_stop(&node);
}

static void another_folder_can_stand_for_dev(void **state)
{
	struct stat st;

	start_with_nodes("h100x2");
	assert_int_equal(mkdir(at("box"), 0755), 0);
	for (int i = 0; i < 2; i++) {
		const char *from = i ? "dev/nvidia0" : "dev/nvidiactl";

		assert_int_equal(stat(at(from), &st), 0);
		assert_int_equal(mknod(at(i ? "box/nvidia0" : "box/nvidiactl"), st.st_mode,
						 st.st_rdev),
				0);
	}
	/* a file that only has the name is no node */
	(void) close(open(at("box/nvidia1"), O_CREAT | O_WRONLY, 0666));
	(void) setenv("BULKHEAD_SIM_DEV", at("box"), 1);
	assert_int_equal(in_child(0, first_gpu), NVML_SUCCESS);
	assert_int_equal(in_child(0, second_gpu), NVML_ERROR_NO_PERMISSION);
	(void) unsetenv("BULKHEAD_SIM_DEV");
	assert_int_equal(in_child(0, second_gpu), NVML_SUCCESS);
	node_stop(&node);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int) syscall(SYS_bpf, command, attr, sizeof(*attr));
}

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})

/* Puts this process into a cgroup whose device filter refuses one number; false where that cannot be. */
static int refuse(dev_t device, const char *group)
{
	const struct bpf_insn program[] = {
			INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 4, 0),
			INSN(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 4, (int) major(device)),
			INSN(BPF_LDX | BPF_MEM | BPF_W, 2, 1, 8, 0),
			INSN(BPF_JMP | BPF_JNE | BPF_K, 2, 0, 2, (int) minor(device)),
			INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
			INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1),
			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE};
	char path[256];
	int prog, cgroup, procs;

	attr.insn_cnt = sizeof(program) / sizeof(program[0]);
	attr.insns = (uint64_t) (uintptr_t) program;
	attr.license = (uint64_t) (uintptr_t) "Apache";
	prog = bpf(BPF_PROG_LOAD, &attr);
	cgroup = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void) snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	procs = open(path, O_WRONLY | O_CLOEXEC);
	if (prog < 0 || cgroup < 0 || procs < 0)
		return 0;
	attr = (union bpf_attr){.target_fd = (unsigned int) cgroup,
			.attach_bpf_fd = (unsigned int) prog,
			.attach_type = BPF_CGROUP_DEVICE};
	return bpf(BPF_PROG_ATTACH, &attr) == 0 && write(procs, "0", 1) == 1;
}

static char filter_group[128];
static const char *filter_node;
static int (*filter_check)(void);

static int behind_filter(void)
{
	struct stat st;

	if (stat(at(filter_node), &st) < 0 || !refuse(st.st_rdev, filter_group))
		return 77;
	return filter_check();
}

/* The answer of a check by root behind a device filter that refuses that node; -1: no filter here. */
static int filtered(const char *name, int (*check)(void))
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	int status = 77;

	filter_node = name;
	filter_check = check;
	for (size_t i = 0; i < 2 && status == 77; i++) {
		(void) snprintf(filter_group, sizeof(filter_group), "%s/bh-test-%d", mounts[i],
				(int) getpid());
		if (mkdir(filter_group, 0755) < 0)
			continue;
		status = in_child(0, behind_filter);
		(void) rmdir(filter_group);
	}
	return status == 77 ? -1 : status;
}

static void a_device_filter_binds_root_too(void **state)
{
	int answer;

	start_with_nodes("h100x2");
	answer = filtered("dev/nvidia1", second_gpu);
	if (answer < 0) {
		node_stop(&node);
		print_message("skipped: no device filter can be attached here\n");
		skip();
	}
	assert_int_equal(answer, NVML_ERROR_NO_PERMISSION);
	assert_int_equal(filtered("dev/nvidia1", first_gpu), NVML_SUCCESS);
	/* what containers meet after a reload, field case F77 */
	assert_int_equal(filtered("dev/nvidiactl", session), NVML_ERROR_UNKNOWN % 256);
	node_stop(&node);
}

static int mig_changes(void)
{
	nvmlReturn_t activation;
	nvmlGpuInstance_t gi, list[8];
	unsigned int n;
	nvmlDevice_t gpu;

	if (N(nvmlInit_v2)() != NVML_SUCCESS ||
			N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu) != NVML_SUCCESS)
		return 1;
	if (N(nvmlDeviceSetMigMode)(gpu, 0, &activation) != NVML_ERROR_NO_PERMISSION)
		return 2;
	if (N(nvmlDeviceGetGpuInstances)(gpu, 0, list, &n) != NVML_SUCCESS)
		return 3;
	return N(nvmlDeviceCreateGpuInstance)(gpu, 0, &gi) == NVML_SUCCESS ? 0 : 4;
}

static int listing(void)
{
	nvmlGpuInstance_t list[8];
	unsigned int n;
	nvmlDevice_t gpu;

	if (N(nvmlInit_v2)() != NVML_SUCCESS ||
			N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu) != NVML_SUCCESS)
		return 1;
	return (int) N(nvmlDeviceGetGpuInstances)(gpu, 0, list, &n);
}

static void instances_are_made_by_who_may_open_the_configuration(void **state)
{
	start_with_nodes("h100x1");
	(void) node_gpu(&node, 0, 1);
	assert_int_equal(in_child(NOBODY, mig_changes), 4);
	assert_int_equal(chmod(at("dev/nvidia-caps/nvidia-cap1"), 0444), 0);
	assert_int_equal(in_child(NOBODY, mig_changes), 0);
	/* he could not write the file; the next one who may does */
	assert_int_not_equal(
			access(at("proc/driver/nvidia/capabilities/gpu0/mig/gi0/access"), F_OK), 0);
	assert_int_equal(in_child(0, session), NVML_SUCCESS);
	assert_int_equal(
			access(at("proc/driver/nvidia/capabilities/gpu0/mig/gi0/access"), F_OK), 0);
	assert_int_equal(access(at("dev/nvidia-caps/nvidia-cap3"), F_OK), 0);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void instances_are_listed_to_who_may_open_the_monitor(void **state)
{
	start_with_nodes("h100x1");
	(void) node_gpu(&node, 0, 1);
	assert_int_equal(in_child(NOBODY, listing), NVML_SUCCESS);
	assert_int_equal(chmod(at("dev/nvidia-caps/nvidia-cap2"), 0400), 0);
	assert_int_equal(in_child(NOBODY, listing), NVML_ERROR_NO_PERMISSION);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static char mig_uuid[2][96];

/* Which of two MIG devices this process finds, as bits; by index and by UUID alike. */
static int devices(void)
{
	nvmlDevice_t gpu, device;
	int found = 0;

	if (N(nvmlInit_v2)() != NVML_SUCCESS ||
			N(nvmlDeviceGetHandleByIndex_v2)(0, &gpu) != NVML_SUCCESS)
		return 100;
	for (unsigned int i = 0; i < 2; i++) {
		nvmlReturn_t rc = N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, i, &device);

		if (rc != NVML_SUCCESS && rc != NVML_ERROR_NOT_FOUND)
			return 101;
		if (N(nvmlDeviceGetHandleByUUID)(mig_uuid[i], &device) != rc)
			return 102;
		found |= (rc == NVML_SUCCESS) << i;
	}
	return found;
}

static void a_mig_device_is_not_found_without_its_capabilities_assumed(void **state)
{
	nvmlComputeInstance_t ci;
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu, device;
	char name[64];

	start_with_nodes("h100x1");
	gpu = node_gpu(&node, 0, 1);
	for (unsigned int i = 0; i < 2; i++) { /* 3g at 0 and at 4: ids 1 and 2 */
		assert_int_equal(node_create_at(&node, gpu, 9, 4 * i, 4, &gi), NVML_SUCCESS);
		assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 2, &ci), NVML_SUCCESS);
		assert_int_equal(N(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, i, &device),
				NVML_SUCCESS);
		assert_int_equal(N(nvmlDeviceGetUUID)(device, mig_uuid[i], sizeof(mig_uuid[i])),
				NVML_SUCCESS);
	}
	assert_int_equal(in_child(NOBODY, devices), 3);
	for (unsigned int cap = 3 + 9; cap <= 3 + 9 + 1; cap++) { /* of GI 1, of its CI 0 */
		(void) snprintf(name, sizeof(name), "dev/nvidia-caps/nvidia-cap%u", cap);
		assert_int_equal(chmod(at(name), 0), 0);
		assert_int_equal(in_child(NOBODY, devices), 2);
		assert_int_equal(in_child(0, devices), 3); /* an administrator needs none */
		assert_int_equal(chmod(at(name), 0444), 0);
	}
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void expect_file(const char *name, const char *text)
{
	char found[512] = "", path[128];
	FILE *file;

	(void) snprintf(path, sizeof(path), "proc/driver/nvidia/capabilities/%s", name);
	file = fopen(at(path), "r");
	if (!text) {
		assert_null(file);
		return;
	}
	assert_non_null(file);
	(void) !fread(found, 1, sizeof(found) - 1, file);
	(void) fclose(file);
	assert_string_equal(found, text);
}

static void capabilities_appear_and_go_with_their_instances(void **state)
{
	nvmlComputeInstance_t ci;
	nvmlReturn_t activation;
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	node_start(&node, "h100x2");
	expect_file("mig/config", "DeviceFileMinor: 1\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
	expect_file("mig/monitor",
			"DeviceFileMinor: 2\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
	gpu = node_gpu(&node, 1, 1);
	/* 3 + 135 + 9 * 12: GI 12 is the eighth at 5 */
	assert_int_equal(node_create_at(&node, gpu, 19, 5, 1, &gi), NVML_SUCCESS);
	expect_file("gpu1/mig/gi12/access",
			"DeviceFileMinor: 246\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
	expect_file("gpu1/mig/gi12/ci0/access", NULL);
	assert_int_equal(N(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &ci), NVML_SUCCESS);
	expect_file("gpu1/mig/gi12/ci0/access",
			"DeviceFileMinor: 247\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
	expect_file("gpu0/mig/gi12/access", NULL);
	assert_int_equal(N(nvmlComputeInstanceDestroy)(ci), NVML_SUCCESS);
	expect_file("gpu1/mig/gi12/ci0/access", NULL);
	expect_file("gpu1/mig/gi12/access",
			"DeviceFileMinor: 246\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_SUCCESS);
	assert_int_not_equal(access(at("proc/driver/nvidia/capabilities/gpu1/mig/gi12"), F_OK), 0);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, 0, &activation), NVML_SUCCESS);
	assert_int_not_equal(access(at("proc/driver/nvidia/capabilities/gpu1"), F_OK), 0);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void the_table_of_minors_is_the_drivers(void **state)
{
	static const char *const lines[] = {"config 1\n", "monitor 2\n", "gpu0/gi0/access 3\n",
			"gpu0/gi11/access 102\n", "gpu4/gi7/access 606\n",
			"gpu31/gi14/ci7/access 4322\n"};
	char line[64];
	unsigned int n = 0, seen = 0;
	FILE *file;

	node_start(&node, "h100x1");
	file = fopen(at("proc/driver/nvidia-caps/mig-minors"), "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		n++;
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
			seen += strcmp(line, lines[i]) == 0;
	}
	(void) fclose(file);
	assert_int_equal(seen, 6);
	assert_int_equal(n, 4322);
	node_stop(&node);
}

static int create_whole(void)
{
	nvmlDevice_t gpu = node_gpu(&node, 0, 0);

	return node_create(&node, gpu, 0) ? 0 : 1;
}

/* A writer waits for the files' lock after his change; killed there, he leaves them behind it. */
static void files_that_a_killed_process_left_behind_are_put_right(void **state)
{
	static const char file[] = "gpu0/mig/gi0/access";
	const char *text = "DeviceFileMinor: 3\nDeviceFileMode: 292\nDeviceFileModify: 1\n";
	json_t *shown;
	size_t n = 0;
	pid_t child;
	int lock;

	node_start(&node, "h100x1");
	(void) node_gpu(&node, 0, 1);
	(void) N(nvmlShutdown)();
	lock = open(at("proc/.lock"), O_RDWR | O_CLOEXEC);
	assert_true(lock >= 0);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	child = fork();
	if (child == 0)
		_exit(create_whole());
	for (int i = 0; i < 500 && !n; i++) {
		(void) usleep(10000);
		shown = node_show(&node);
		n = json_array_size(json_object_get(
				json_array_get(json_object_get(shown, "gpus"), 0), "instances"));
		json_decref(shown);
	}
	assert_int_equal(n, 1);
	(void) kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	(void) close(lock);
	expect_file(file, NULL);
	assert_int_equal(N(nvmlInit_v2)(), NVML_SUCCESS);
	expect_file(file, text);
	/* what somebody else spoiled only a repair finds */
	assert_int_equal(unlink(at("proc/driver/nvidia/capabilities/gpu0/mig/gi0/access")), 0);
	assert_int_equal(node_ctl(&node, "check", ""), 0);
	expect_file(file, NULL);
	assert_int_equal(node_ctl(&node, "check", "--repair"), 0);
	expect_file(file, text);
	(void) N(nvmlShutdown)();
	node_stop(&node);
}

static void nodes_of_instances_stay_until_a_reboot(void **state)
{
	nvmlGpuInstance_t gi;
	nvmlDevice_t gpu;

	start_with_nodes("h100x1");
	gpu = node_gpu(&node, 0, 1);
	gi = node_create(&node, gpu, 0);
	assert_non_null(gi);
	assert_int_equal(access(at("dev/nvidia-caps/nvidia-cap3"), F_OK), 0);
	assert_int_equal(N(nvmlGpuInstanceDestroy)(gi), NVML_SUCCESS);
	assert_int_equal(access(at("dev/nvidia-caps/nvidia-cap3"), F_OK), 0);
	(void) N(nvmlShutdown)();
	assert_int_equal(node_ctl(&node, "reboot", ""), 0);
	assert_int_not_equal(access(at("dev/nvidia-caps/nvidia-cap3"), F_OK), 0);
	assert_int_equal(access(at("dev/nvidia-caps/nvidia-cap2"), F_OK), 0);
	node_stop(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(nodes_are_of_majors_that_nobody_drives),
			cmocka_unit_test(two_nodes_have_no_device_number_in_common),
			cmocka_unit_test(who_has_a_gpu_open_shows_it_among_his_descriptors),
			cmocka_unit_test(a_handle_of_a_former_session_opens_nothing),
			cmocka_unit_test(
					a_gpu_whose_node_refuses_is_no_permission_and_the_others_answer),
			cmocka_unit_test(no_session_without_the_control_node),
			cmocka_unit_test(
					a_missing_node_is_a_missing_driver_or_no_permission_assumed),
			cmocka_unit_test(another_folder_can_stand_for_dev),
			cmocka_unit_test(a_device_filter_binds_root_too),
			cmocka_unit_test(instances_are_made_by_who_may_open_the_configuration),
			cmocka_unit_test(instances_are_listed_to_who_may_open_the_monitor),
			cmocka_unit_test(
					a_mig_device_is_not_found_without_its_capabilities_assumed),
			cmocka_unit_test(capabilities_appear_and_go_with_their_instances),
			cmocka_unit_test(the_table_of_minors_is_the_drivers),
			cmocka_unit_test(files_that_a_killed_process_left_behind_are_put_right),
			cmocka_unit_test(nodes_of_instances_stay_until_a_reboot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
