/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/holders.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define PROCESSES_FIRST 64
#define PROCESSES_MAX	4096
#define LIST_TRIES	3

typedef nvmlReturn_t (*list_call)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *);

static void read_name(const struct bh_board *board, uint32_t pid, char *buffer, size_t size)
{
	char name[256] = "", *start = name;

	buffer[0] = '\0';
	if (!board->nvml->nvmlSystemGetProcessName ||
			board->nvml->nvmlSystemGetProcessName(pid, name, sizeof(name) - 1) !=
					NVML_SUCCESS)
		return;
	/* of a path that is too long the end tells more */
	if (strlen(name) >= size && strrchr(name, '/'))
		start = strrchr(name, '/') + 1;
	(void) snprintf(buffer, size, "%.*s", (int) size - 1, start);
	bh_utf8_clean(buffer);
}

static void mark_busy(struct bh_gpu *gpu, uint32_t gi_id, uint32_t ci_id)
{
	for (size_t i = 0; i < gpu->n_gis; i++) {
		struct bh_gi *gi = &gpu->gis[i];

		if (gi->id != gi_id)
			continue;
		gi->busy = true;
		for (size_t k = 0; k < gi->n_cis; k++)
			gi->cis[k].busy |= gi->cis[k].id == ci_id;
	}
}

static void add(const struct bh_board *board, struct bh_gpu *gpu, const nvmlProcessInfo_t *info)
{
	pid_t pid = info->pid <= INT32_MAX ? (pid_t) info->pid : 0;
	struct bh_gpu_holder *h;

	/* NVML's "no instance" is our "unknown": the same number, on purpose */
	_Static_assert(NVML_NO_INSTANCE_ID == BH_UNKNOWN, "one value for the whole GPU");
	mark_busy(gpu, info->gpuInstanceId, info->computeInstanceId);
	for (size_t i = 0; i < gpu->n_holders; i++) {
		h = &gpu->holders[i];
		if (h->who.pid == pid && h->gi == info->gpuInstanceId &&
				h->ci == info->computeInstanceId)
			return; /* in two lists */
	}
	if (gpu->n_holders == BH_GPU_HOLDERS_MAX) {
		gpu->more_holders++;
		return;
	}
	h = &gpu->holders[gpu->n_holders++];
	h->who.pid = pid;
	(void) snprintf(h->who.kind, sizeof(h->who.kind), "process");
	read_name(board, info->pid, h->who.name, sizeof(h->who.name));
	h->gi = info->gpuInstanceId;
	h->ci = info->computeInstanceId;
}

/* The list may grow between two calls: a few tries. */
static nvmlReturn_t read_list(const struct bh_board *board, list_call call, struct bh_gpu *gpu)
{
	unsigned int room = PROCESSES_FIRST;
	nvmlReturn_t r = NVML_ERROR_INSUFFICIENT_SIZE;

	for (int i = 0; i < LIST_TRIES && r == NVML_ERROR_INSUFFICIENT_SIZE; i++) {
		bh_auto_free nvmlProcessInfo_t *infos = calloc(room, sizeof(*infos));
		unsigned int n = room;

		if (!infos)
			return NVML_ERROR_MEMORY;
		r = call(board->device, &n, infos);
		if (r == NVML_SUCCESS) {
			for (unsigned int k = 0; k < n && k < room; k++)
				add(board, gpu, &infos[k]);
		} else {
			room = n < PROCESSES_MAX / 2 ? 2 * n + PROCESSES_FIRST : PROCESSES_MAX;
		}
	}
	return r;
}

void bh_holders_read(const struct bh_board *board, struct bh_gpu *gpu)
{
	const list_call calls[] = {
			board->nvml->nvmlDeviceGetComputeRunningProcesses_v3,
			board->nvml->nvmlDeviceGetGraphicsRunningProcesses_v3,
			board->nvml->nvmlDeviceGetMPSComputeRunningProcesses_v3,
	};

	gpu->holders_known = true;
	for (size_t i = 0; i < BH_ARRAY_SIZE(calls); i++) {
		nvmlReturn_t r;

		if (!calls[i])
			continue;
		r = read_list(board, calls[i], gpu);
		/* a board without graphics has no such processes; all boards compute */
		if (r != NVML_SUCCESS && !(r == NVML_ERROR_NOT_SUPPORTED && i > 0))
			gpu->holders_known = false;
	}
}

static void tell_instance(
		const char *what, uint32_t profile_id, struct bh_placement at, struct bh_error *err)
{
	struct bh_holder holder = {.kind = "instance"};

	(void) snprintf(holder.name, sizeof(holder.name), "%s of profile %u at %u:%u", what,
			profile_id, at.start, at.size);
	bh_error_add_holder(err, &holder);
}

void bh_holders_tell(const struct bh_gpu *gpu, const struct bh_gi *gi, struct bh_error *err)
{
	for (size_t i = 0; i < gpu->n_holders; i++) {
		const struct bh_gpu_holder *h = &gpu->holders[i];

		if (!gi || h->gi == gi->id || h->gi == BH_UNKNOWN)
			bh_error_add_holder(err, &h->who);
	}
	if (err && !gi)
		err->more_holders += gpu->more_holders;
}

void bh_holders_tell_instances(
		const struct bh_gpu *gpu, const struct bh_gi *gi, struct bh_error *err)
{
	for (size_t i = 0; gi && i < gi->n_cis; i++)
		tell_instance("compute instance", gi->cis[i].profile_id, gi->cis[i].at, err);
	for (size_t i = 0; !gi && i < gpu->n_gis; i++)
		tell_instance("GPU instance", gpu->gis[i].profile_id, gpu->gis[i].at, err);
}
