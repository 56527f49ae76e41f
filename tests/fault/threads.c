/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of one process that all use the NVML library of a simulated node at once: sessions begin and
 * end, instances come and go, everything is asked for. Built with ThreadSanitizer by test_threads.py.
 *
 * usage: threads LIBRARY THREADS ROUNDS
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/nvml_symbols.h"

struct nvml {
#define X(name, need, params, args, out, checked_by) __typeof__(&name) name;
	BH_NVML_SYMBOLS(X)
#undef X
};

struct job {
	const struct nvml *nvml;
	unsigned int seed, rounds;
	unsigned int done, refused; /* of calls: with success, uninitialised in between */
};

static void note(struct job *job, nvmlReturn_t rc)
{
	job->done += rc == NVML_SUCCESS;
	job->refused += rc == NVML_ERROR_UNINITIALIZED;
}

static void ask(struct job *job, nvmlDevice_t gpu)
{
	const struct nvml *n = job->nvml;
	nvmlGpuInstanceProfileInfo_t info;
	unsigned int a, b;
	nvmlMemory_t memory;
	char text[96];

	note(job, n->nvmlDeviceGetMigMode(gpu, &a, &b));
	note(job, n->nvmlDeviceGetUUID(gpu, text, sizeof(text)));
	note(job, n->nvmlDeviceGetMemoryInfo(gpu, &memory));
	note(job, n->nvmlDeviceGetGpuInstanceProfileInfo(gpu, 0, &info));
	note(job, n->nvmlDeviceGetCount_v2(&a));
	note(job, n->nvmlSystemGetDriverVersion(text, sizeof(text)));
	a = 0;
	note(job, n->nvmlDeviceGetComputeRunningProcesses_v3(gpu, &a, NULL));
}

static void change(struct job *job, nvmlDevice_t gpu)
{
	static const unsigned int ids[] = {19, 14, 9};
	const struct nvml *n = job->nvml;
	nvmlComputeInstance_t ci;
	nvmlReturn_t activation;
	nvmlGpuInstance_t gi;

	note(job, n->nvmlDeviceSetMigMode(gpu, 1, &activation));
	if (n->nvmlDeviceCreateGpuInstance(gpu, ids[rand_r(&job->seed) % 3], &gi) != NVML_SUCCESS)
		return;
	if (n->nvmlGpuInstanceCreateComputeInstance(gi, 0, &ci) == NVML_SUCCESS)
		note(job, n->nvmlComputeInstanceDestroy(ci));
	note(job, n->nvmlGpuInstanceDestroy(gi));
}

static void *work(void *argument)
{
	struct job *job = argument;
	const struct nvml *n = job->nvml;

	for (unsigned int i = 0; i < job->rounds; i++) {
		nvmlDevice_t gpu;

		note(job, n->nvmlInit_v2());
		if (n->nvmlDeviceGetHandleByIndex_v2(rand_r(&job->seed) % 2, &gpu) ==
				NVML_SUCCESS) {
			ask(job, gpu);
			change(job, gpu);
		}
		note(job, n->nvmlShutdown());
		if (rand_r(&job->seed) % 4 == 0)
			note(job, n->nvmlShutdown()); /* one too many: the others lose theirs */
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc == 4 ? (unsigned int) strtoul(argv[2], NULL, 10) : 0;
	void *library = threads ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	unsigned int done = 0, refused = 0;
	struct nvml nvml = {0};
	pthread_t ids[64];
	struct job jobs[64];

	if (!library || threads > 64) {
		(void) fprintf(stderr, "usage: threads LIBRARY THREADS ROUNDS (%s)\n",
				threads ? dlerror() : "");
		return 2;
	}
#define X(name, need, params, args, out, checked_by)                                               \
	*(void **) &nvml.name = dlsym(library, #name);                                             \
	if (!nvml.name)                                                                            \
		return 2;
	BH_NVML_SYMBOLS(X)
#undef X
	for (unsigned int i = 0; i < threads; i++) {
		jobs[i] = (struct job){.nvml = &nvml,
				.seed = i + 1,
				.rounds = (unsigned int) strtoul(argv[3], NULL, 10)};
		if (pthread_create(&ids[i], NULL, work, &jobs[i]))
			return 2;
	}
	for (unsigned int i = 0; i < threads; i++) {
		(void) pthread_join(ids[i], NULL);
		done += jobs[i].done;
		refused += jobs[i].refused;
	}
	(void) printf("%u calls done, %u without a session\n", done, refused);
	return done > 0 && refused > 0 ? 0 : 1;
}
