/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen processes make ten thousand random calls each, of every entry that the library has, with
 * right, wrong and stale arguments, while they are killed at random and start anew. Afterwards the
 * state is sound, nobody is left in it, the lock is free, and what was counted is what was called.
 *
 * What an argument may be is read off the symbol list's own text of each signature, so an entry that
 * is added there is called here. A seed gives the same order of calls and of kills; how they fall
 * together in time is the machine's, and with it the handles that one process finds from another.
 */
#include "node.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N(call)	      node.nvml.call
#define PROCESSES     16
#define CALLS_MAX     160
#define ARGUMENTS_MAX 6
#define POOL	      16
#define SCRATCH	      65536 /* of each pointer argument; no call writes as much */
#define LIMIT_S	      60
#ifdef __SANITIZE_ADDRESS__
#define CALLS_EACH 3000
#else
#define CALLS_EACH 10000
#endif

enum what {
	A_NUMBER,
	A_DEVICE,
	A_GI,
	A_CI,
	A_COUNT, /* pointer to a number of elements, in and out */
	A_DEVICE_OUT,
	A_GI_OUT,
	A_CI_OUT,
	A_PLACE,
	A_TEXT, /* read */
	A_LENGTH,
	A_BUFFER, /* any other pointer */
};

struct entry {
	const char *name;
	void *function;
	enum what arguments[ARGUMENTS_MAX];
	unsigned int n;
	bool changes, seldom; /* seldom: ends a session, switches the mode */
};

/* What all processes write. */
struct shared {
	uint64_t answered[CALLS_MAX], succeeded[CALLS_MAX];
	uint64_t done[PROCESSES];
	/* handles that calls gave out: devices, GPU instances, compute instances; living and stale */
	void *pool[3][POOL];
};

static struct node node;
static struct entry entries[CALLS_MAX];
static unsigned int n_entries;
static struct shared *shared;

/* Of one process. */
struct actor {
	uint64_t random;
	unsigned char *scratch[ARGUMENTS_MAX];
	char uuid[96], pci[32];
};

static uint64_t draw(struct actor *a, uint64_t below)
{
	a->random ^= a->random << 13;
	a->random ^= a->random >> 7;
	a->random ^= a->random << 17;
	return a->random % below;
}

/* ----- what the list says of a signature ----- */

static enum what kind_of(const char *param, size_t length)
{
	static const struct {
		const char *begins;
		enum what what;
	} kinds[] = {
			{"nvmlDevice_t *", A_DEVICE_OUT},
			{"nvmlGpuInstance_t *", A_GI_OUT},
			{"nvmlComputeInstance_t *", A_CI_OUT},
			{"nvmlDevice_t ", A_DEVICE},
			{"nvmlGpuInstance_t ", A_GI},
			{"nvmlComputeInstance_t ", A_CI},
			{"const nvmlGpuInstancePlacement_t *", A_PLACE},
			{"const nvmlComputeInstancePlacement_t *", A_PLACE},
			{"const char *", A_TEXT},
			{"unsigned int *count", A_COUNT},
			{"unsigned int *infoCount", A_COUNT},
			{"unsigned int length", A_LENGTH},
			/* how much room there is behind a pointer, and for how long to wait */
			{"unsigned int nodeSetSize", A_LENGTH},
			{"unsigned int cpuSetSize", A_LENGTH},
			{"int valuesCount", A_LENGTH},
			{"unsigned int timeoutms", A_LENGTH},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(param, kinds[i].begins, strlen(kinds[i].begins)) == 0)
			return kinds[i].what;
	}
	return memchr(param, '*', length) ? A_BUFFER : A_NUMBER;
}

static void add_entry(const char *name, void *function, const char *params, bool changes)
{
	struct entry *e = &entries[n_entries++];

	assert_true(n_entries <= CALLS_MAX);
	*e = (struct entry){.name = name,
			.function = function,
			.changes = changes,
			.seldom = strcmp(name, "nvmlShutdown") == 0 ||
				  strcmp(name, "nvmlDeviceSetMigMode") == 0 ||
				  strstr(name, "EventSetWait")};
	if (strcmp(params, "(void)") == 0)
		return;
	for (const char *p = params + 1; *p; p += strspn(p, ", )")) {
		size_t length = strcspn(p, ",)");

		assert_true(e->n < ARGUMENTS_MAX);
		e->arguments[e->n++] = kind_of(p, length);
		p += length;
	}
}

static void read_list(void)
{
#define X(name, need, params, args, out, checked_by)                                               \
	add_entry(#name, (void *) node.nvml.name, #params,                                         \
			!strstr(#name, "EventSet") &&                                              \
					(strstr(#name, "MigMode") || strstr(#name, "Create") ||    \
							strstr(#name, "Destroy")));
	BH_NVML_SYMBOLS(X)
#undef X
}

/* ----- one call ----- */

static uint64_t handle(struct actor *a, unsigned int kind)
{
	switch (draw(a, 12)) {
	case 0:
		return draw(a, 4) ? draw(a, UINT64_MAX) : 0;
	case 1: /* of another kind */
		kind = (unsigned int) draw(a, 3);
		/* fallthrough */
	default:
		return (uint64_t) (uintptr_t) __atomic_load_n(
				&shared->pool[kind][draw(a, POOL)], __ATOMIC_RELAXED);
	}
}

static uint64_t a_number(struct actor *a)
{
	static const unsigned int ids[] = {0, 5, 7, 9, 14, 15, 19, 20, 47};

	switch (draw(a, 8)) {
	case 0:
		return draw(a, UINT32_MAX);
	case 1:
	case 2:
	case 3:
		return ids[draw(a, sizeof(ids) / sizeof(ids[0]))];
	default:
		return draw(a, 3);
	}
}

/* A struct's version word, a placement, a count, a text: whatever will be read there. */
static uint64_t a_pointer(struct actor *a, enum what what, unsigned int position)
{
	static const unsigned int versions[] = {NVML_MEMORY_V2, NVML_GPU_INSTANCE_PROFILE_INFO_V2,
			NVML_GPU_INSTANCE_PROFILE_INFO_V3, NVML_COMPUTE_INSTANCE_PROFILE_INFO_V2,
			NVML_COMPUTE_INSTANCE_PROFILE_INFO_V3, 0, 0x1000028};
	unsigned char *at = a->scratch[position];
	unsigned int words[2] = {(unsigned int) draw(a, 9), (unsigned int) draw(a, 9)};

	if (draw(a, 25) == 0)
		return 0;
	if (what == A_COUNT)
		words[0] = (unsigned int) draw(a, 65);
	if (what == A_PLACE && draw(a, 4)) {
		words[1] = 1U << draw(a, 3);
		words[0] = words[1] * (unsigned int) draw(a, 8 / words[1]);
	}
	if (what >= A_DEVICE_OUT && what <= A_CI_OUT)
		words[0] = words[1] = 0; /* an empty list writes nothing */
	if (what == A_BUFFER)
		words[0] = versions[draw(a, sizeof(versions) / sizeof(versions[0]))];
	memcpy(at, words, sizeof(words));
	if (what == A_TEXT)
		(void) snprintf((char *) at, 96, "%s",
				draw(a, 3)   ? a->uuid
				: draw(a, 2) ? a->pci
					     : "MIG-GPU-x/1/0");
	return (uint64_t) (uintptr_t) at;
}

static uint64_t an_argument(struct actor *a, enum what what, unsigned int position)
{
	switch (what) {
	case A_NUMBER:
		return a_number(a);
	case A_LENGTH:
		return draw(a, 128);
	case A_DEVICE:
	case A_GI:
	case A_CI:
		return handle(a, what - A_DEVICE);
	default:
		return a_pointer(a, what, position);
	}
}

/* Integers and pointers pass alike in a call, on every machine that this runs on. */
typedef nvmlReturn_t (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static void keep(unsigned int kind, unsigned int at, void *given)
{
	__atomic_store_n(&shared->pool[kind][at], given, __ATOMIC_RELAXED);
}

static void call(struct actor *a, unsigned int index)
{
	const struct entry *e = &entries[index];
	uint64_t x[ARGUMENTS_MAX] = {0};
	function f;
	nvmlReturn_t rc;

	memcpy(&f, &e->function, sizeof(f));
	for (unsigned int i = 0; i < e->n; i++)
		x[i] = an_argument(a, e->arguments[i], i);
	rc = f(x[0], x[1], x[2], x[3], x[4], x[5]);
	for (unsigned int i = 0; rc == NVML_SUCCESS && i < e->n; i++) {
		enum what what = e->arguments[i];

		void *given;

		if (what < A_DEVICE_OUT || what > A_CI_OUT || !x[i])
			continue;
		memcpy(&given, a->scratch[i], sizeof(given));
		if (given)
			keep(what - A_DEVICE_OUT, (unsigned int) draw(a, POOL), given);
	}
	__atomic_fetch_add(&shared->answered[index], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->succeeded[index], rc == NVML_SUCCESS, __ATOMIC_RELAXED);
	if (rc == NVML_ERROR_TIMEOUT) /* the lock was wedged */
		_exit(3);
}

static unsigned int choose(struct actor *a)
{
	unsigned int index;

	do {
		index = (unsigned int) draw(a, n_entries);
		/* half of all change something */
	} while ((draw(a, 2) && !entries[index].changes) || (entries[index].seldom && draw(a, 16)));
	return index;
}

static void first_call(struct actor *a)
{
	nvmlPciInfo_t pci;

	for (unsigned int i = 0; i < ARGUMENTS_MAX; i++) {
		a->scratch[i] = calloc(1, SCRATCH);
		if (!a->scratch[i])
			_exit(4);
	}
	if (N(nvmlInit_v2)() != NVML_SUCCESS)
		_exit(5);
	for (unsigned int i = 0; i < 2; i++) {
		nvmlDevice_t gpu;

		if (N(nvmlDeviceGetHandleByIndex_v2)(i, &gpu) != NVML_SUCCESS)
			_exit(6);
		keep(0, i, gpu);
		if (i == 0)
			(void) N(nvmlDeviceGetUUID)(gpu, a->uuid, sizeof(a->uuid));
		else if (N(nvmlDeviceGetPciInfo_v3)(gpu, &pci) == NVML_SUCCESS)
			memcpy(a->pci, pci.busId, sizeof(a->pci));
	}
}

static pid_t start_process(unsigned int which, uint64_t seed)
{
	struct actor a = {.random = seed * 0x9E3779B97F4A7C15ULL + which + 1};
	pid_t child = fork();

	if (child)
		return child;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody */
	first_call(&a);
	while (shared->done[which] < CALLS_EACH) {
		call(&a, choose(&a));
		shared->done[which]++;
	}
	_exit(0);
}

/* ----- the whole ----- */

static json_int_t of_lock(const json_t *shown, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(shown, "lock"), key));
}

/* What was answered was counted; of what was counted a killed process answered nothing. */
static void compare_counters(const json_t *shown, unsigned int kills)
{
	const json_t *calls = json_object_get(shown, "calls"), *count;
	json_int_t all = 0, sorts, answered = 0, succeeded = 0;
	const char *name;

	for (unsigned int i = 0; i < n_entries; i++) {
		json_int_t n = json_integer_value(json_object_get(calls, entries[i].name));

		answered += (json_int_t) shared->answered[i];
		succeeded += (json_int_t) shared->succeeded[i];
		if (CALLS_EACH >= 10000 && entries[i].changes && !shared->succeeded[i])
			fail_msg("%s: never succeeded", entries[i].name);
		if (n < (json_int_t) shared->answered[i])
			fail_msg("%s: %lld counted, %llu answered", entries[i].name, (long long) n,
					(unsigned long long) shared->answered[i]);
	}
	json_object_foreach ((json_t *) calls, name, count)
		all += json_integer_value(count);
	sorts = json_integer_value(json_object_get(shown, "changing_calls")) +
		json_integer_value(json_object_get(shown, "reads"));
	print_message("%lld calls answered, %lld of them with success; %lld counted\n",
			(long long) answered, (long long) succeeded, (long long) all);
	/* one killed between the two counters leaves them apart by one */
	assert_in_range(all - sorts + kills, 0, 2 * kills);
	assert_true(answered >= (json_int_t) PROCESSES * CALLS_EACH);
}

static void run_all(uint64_t seed, unsigned int *ret_kills)
{
	struct actor fate = {.random = seed | 1};
	unsigned int running = PROCESSES, lives = 0;
	time_t until = time(NULL) + LIMIT_S;
	pid_t pids[PROCESSES];
	int status;

	*ret_kills = 0;
	for (unsigned int i = 0; i < PROCESSES; i++)
		pids[i] = start_process(i, seed);
	while (running) {
		unsigned int i = (unsigned int) draw(&fate, PROCESSES);

		(void) usleep((useconds_t) draw(&fate, 1000));
		if (time(NULL) > until)
			fail_msg("not done within %d s", LIMIT_S);
		if (pids[i] > 0) {
			(void) kill(pids[i], SIGKILL);
			(*ret_kills)++;
		}
		for (i = 0; i < PROCESSES; i++) {
			if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
				pids[i] = start_process(i, seed + ++lives * PROCESSES);
				continue;
			}
			if (status != 0)
				fail_msg("process %u ended with status %#x", i, status);
			pids[i] = 0;
			running--;
		}
	}
}

/* Nobody is left who could refuse it: no instance that cannot be removed, no session that holds. */
static void remove_everything_and_switch(unsigned int index)
{
	nvmlReturn_t activation = NVML_ERROR_UNKNOWN;
	nvmlDevice_t gpu = node_gpu(&node, index, 0);
	unsigned int current, pending;

	for (unsigned int id = 0; id < 64; id++) {
		nvmlGpuInstance_t gis[8];
		unsigned int n = 0;

		(void) N(nvmlDeviceGetGpuInstances)(gpu, id, gis, &n);
		for (unsigned int i = 0; i < n; i++) {
			for (unsigned int ci_id = 0; ci_id < 16; ci_id++) {
				nvmlComputeInstance_t cis[8];
				unsigned int m = 0;

				(void) N(nvmlGpuInstanceGetComputeInstances)(
						gis[i], ci_id, cis, &m);
				while (m)
					assert_int_equal(N(nvmlComputeInstanceDestroy)(cis[--m]),
							NVML_SUCCESS);
			}
			assert_int_equal(N(nvmlGpuInstanceDestroy)(gis[i]), NVML_SUCCESS);
		}
	}
	assert_int_equal(N(nvmlDeviceGetMigMode)(gpu, &current, &pending), NVML_SUCCESS);
	assert_int_equal(N(nvmlDeviceSetMigMode)(gpu, !current, &activation), NVML_SUCCESS);
	assert_int_equal(activation, NVML_SUCCESS);
	assert_int_equal(N(nvmlShutdown)(), NVML_SUCCESS);
}

static uint64_t seed_of_this_run(void)
{
	const char *given = getenv("BH_TEST_SEED");

	return given ? strtoull(given, NULL, 10) : (uint64_t) time(NULL) ^ (uint64_t) getpid();
}

static void sixteen_processes_killed_at_random_leave_a_sound_node(void **state)
{
	uint64_t seed = seed_of_this_run();
	unsigned int kills;
	json_t *shown;

	print_message("seed %llu (BH_TEST_SEED)\n", (unsigned long long) seed);
	node_start(&node, "h100x2");
	read_list();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
	assert_true(shared != MAP_FAILED);
	for (unsigned int i = 0; i < 2; i++) {
		(void) node_gpu(&node, i, 1);
		assert_int_equal(N(nvmlShutdown)(), NVML_SUCCESS);
	}
	/* what a dead process had open would refuse a switch of the mode */
	assert_int_equal(node_ctl(&node, "inject", "sessions hold=1"), 0);
	run_all(seed, &kills);

	assert_int_equal(node_ctl(&node, "check", ""), 0);
	shown = node_show(&node);
	assert_int_equal(json_array_size(json_object_get(shown, "clients")), 0);
	print_message("%u kills, %lld with the lock held, %lld half-way through a change\n", kills,
			(long long) of_lock(shown, "deaths"), (long long) of_lock(shown, "undone"));
	assert_true(kills > (CALLS_EACH >= 10000 ? PROCESSES : 0));
	compare_counters(shown, kills);
	json_decref(shown);

	remove_everything_and_switch(0);
	remove_everything_and_switch(1);
	assert_int_equal(node_ctl(&node, "check", ""), 0);
	node_stop(&node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(sixteen_processes_killed_at_random_leave_a_sound_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
