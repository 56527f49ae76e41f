/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of reading a file, selecting and resolving fails in turn. The linker sends the
 * project's calls here (--wrap), those into an arena too, so that each fails alone and not only
 * where a block ends; libyaml's own go past.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "spec/resolve.h"

static size_t calls, fail_at; /* fail_at 0: none */

static bool fails(void)
{
	return ++calls == fail_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__real_bh_arena_alloc(struct bh_arena *arena, size_t count, size_t size);
char *__real_bh_arena_text(struct bh_arena *arena, const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);
void *__wrap_bh_arena_alloc(struct bh_arena *arena, size_t count, size_t size);
char *__wrap_bh_arena_text(struct bh_arena *arena, const char *text, size_t length);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
	return fails() ? NULL : __real_strndup(text, size);
}

void *__wrap_bh_arena_alloc(struct bh_arena *arena, size_t count, size_t size)
{
	return fails() ? NULL : __real_bh_arena_alloc(arena, count, size);
}

char *__wrap_bh_arena_text(struct bh_arena *arena, const char *text, size_t length)
{
	return fails() ? NULL : __real_bh_arena_text(arena, text, length);
}

static int read_select_resolve(
		const char *path, const struct bh_inventory *inventory, struct bh_error *err)
{
	bh_auto_mig_config struct bh_mig_config *config = NULL;
	bh_auto_wanted struct bh_wanted *wanted = NULL;
	const struct bh_mig_configuration *configuration;

	if (bh_mig_config_load(path, &config, err) < 0 ||
			bh_mig_config_select(config, "last", &configuration, err) < 0)
		return -1;
	return bh_spec_resolve(configuration, inventory, &wanted, err);
}

/* Large enough for several blocks of the arenas, with notes, anchors and a long text. */
static void write_sample(FILE *file)
{
	(void) fprintf(file, "version: v1\nmig-configs:\n");
	for (int i = 0; i < 6; i++)
		(void) fprintf(file,
				"  c%d: &a%d\n"
				"  - device-filter: [\"0x233010DE\", \"0x20B210DE:0x16C010DE\"]\n"
				"    devices: [0, 1, 1]\n"
				"    mig-enabled: true\n"
				"    mig-devices: {1g.10gb: 7, 2g.20gb: 0}\n",
				i, i);
	(void) fprintf(file, "  last:\n  - {devices: all, mig-enabled: true, mig-devices: {}}\n");
	(void) fprintf(file, "  again: *a3\n# %09000d\n", 0);
}

static void every_failed_allocation_is_an_error_and_leaks_nothing(void **state)
{
	char path[] = "/tmp/bh-no-memory-XXXXXX";
	static struct bh_gpu gpus[2] = {{.mig_capable = true}, {.index = 1}};
	const struct bh_inventory inventory = {.gpus = gpus, .n_gpus = 2};
	struct bh_error err = {0};
	int fd = mkstemp(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	size_t all;

	assert_non_null(file);
	write_sample(file);
	assert_int_equal(fclose(file), 0);

	calls = fail_at = 0;
	if (read_select_resolve(path, &inventory, &err) < 0)
		fail_msg("%s", err.message);
	all = calls;
	assert_true(all > 300);
	for (size_t i = 1; i <= all; i++) {
		memset(&err, 0, sizeof(err));
		calls = 0;
		fail_at = i;
		assert_int_equal(read_select_resolve(path, &inventory, &err), -1);
		assert_int_equal(err.code, BH_E_NO_MEMORY);
	}
	fail_at = 0;
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_failed_allocation_is_an_error_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
