/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/inventory_json: what goes over the wire comes out the same, and nothing else comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/packet.h"
#include "gpu/inventory_json.h"

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
	return (uint32_t) (next_random(seed) % n);
}

static uint32_t random32(uint64_t *seed)
{
	return below(seed, 4) == 0 ? BH_UNKNOWN : (uint32_t) next_random(seed);
}

static uint64_t random64(uint64_t *seed)
{
	return below(seed, 4) == 0 ? BH_UNKNOWN64 : next_random(seed) >> 1;
}

static void random_text(uint64_t *seed, char *buffer, size_t size)
{
	static const char *const pieces[] = {"a", "Z", "\"", "\\", "ü", "€", " ", "{", "𝄞"};
	size_t length = below(seed, (uint32_t) size);

	buffer[0] = '\0';
	while (strlen(buffer) < length) {
		const char *piece = pieces[below(seed, BH_ARRAY_SIZE(pieces))];

		if (strlen(buffer) + strlen(piece) >= size)
			break;
		memcpy(buffer + strlen(buffer), piece, strlen(piece) + 1);
	}
}

static struct bh_placement random_placement(uint64_t *seed)
{
	return (struct bh_placement){random32(seed), random32(seed)};
}

static void random_profile(uint64_t *seed, struct bh_gi_profile *p)
{
	random_text(seed, p->name, sizeof(p->name));
	p->id = random32(seed);
	p->nvml_enum = random32(seed);
	p->max_instances = random32(seed);
	p->slice_count = random32(seed);
	p->memory_mib = random64(seed);
	p->sm = random32(seed);
	p->n_placements = below(seed, BH_PLACEMENTS_MAX + 1);
	for (size_t i = 0; i < p->n_placements; i++)
		p->placements[i] = random_placement(seed);
}

/* Where an instance can stand: within what a mask holds. */
static struct bh_placement random_stand(uint64_t *seed)
{
	uint32_t size = 1 + below(seed, BH_UNITS_MAX);

	return (struct bh_placement){below(seed, BH_UNITS_MAX - size + 1), size};
}

static void random_gi(uint64_t *seed, struct bh_gi *gi)
{
	gi->id = random32(seed);
	gi->profile_id = random32(seed);
	gi->at = random_stand(seed);
	gi->memory_mib = random64(seed);
	gi->busy = below(seed, 2);
	gi->n_cis = below(seed, BH_CIS_MAX + 1);
	for (size_t i = 0; i < gi->n_cis; i++) {
		struct bh_ci *ci = &gi->cis[i];

		ci->id = random32(seed);
		ci->profile_id = random32(seed);
		ci->at = random_stand(seed);
		random_text(seed, ci->uuid, sizeof(ci->uuid));
		ci->busy = below(seed, 2);
	}
}

static void random_holder(uint64_t *seed, struct bh_gpu_holder *h)
{
	random_text(seed, h->who.kind, sizeof(h->who.kind));
	random_text(seed, h->who.name, sizeof(h->who.name));
	random_text(seed, h->who.tenant, sizeof(h->who.tenant));
	h->who.pid = (pid_t) (next_random(seed) & INT32_MAX);
	h->gi = random32(seed);
	h->ci = random32(seed);
}

static void random_gpu(uint64_t *seed, struct bh_gpu *gpu)
{
	memset(gpu, 0, sizeof(*gpu));
	gpu->index = random32(seed);
	(void) snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-%u", below(seed, 1000));
	random_text(seed, gpu->pci, sizeof(gpu->pci));
	random_text(seed, gpu->name, sizeof(gpu->name));
	random_text(seed, gpu->model, sizeof(gpu->model));
	gpu->pci_device_id = random32(seed);
	gpu->pci_subsystem_id = random32(seed);
	gpu->memory_mib = random64(seed);
	gpu->placement_units = below(seed, BH_UNITS_MAX + 1);
	gpu->mig_capable = below(seed, 2);
	gpu->mig_current = below(seed, 3);
	gpu->mig_pending = below(seed, 3);
	gpu->n_profiles = below(seed, BH_GI_PROFILES_MAX + 1);
	for (size_t i = 0; i < gpu->n_profiles; i++)
		random_profile(seed, &gpu->profiles[i]);
	gpu->n_gis = below(seed, BH_GIS_MAX + 1);
	for (size_t i = 0; i < gpu->n_gis; i++)
		random_gi(seed, &gpu->gis[i]);
	gpu->n_holders = below(seed, BH_GPU_HOLDERS_MAX + 1);
	for (size_t i = 0; i < gpu->n_holders; i++)
		random_holder(seed, &gpu->holders[i]);
	gpu->more_holders = below(seed, 100);
	gpu->holders_known = below(seed, 2);
}

/* Through text, as over the wire. */
static void travel(const struct bh_gpu *gpu, bool with_profiles, struct bh_gpu *ret_gpu)
{
	bh_auto_json json_t *written = bh_gpu_to_json(gpu, with_profiles);
	bh_auto_json json_t *arrived = NULL;
	bh_auto_free char *text = NULL;
	struct bh_error err = {0};

	assert_non_null(written);
	assert_int_equal(bh_json_text(written, &text, &err), 0);
	assert_true(strlen(text) < BH_PACKET_MAX_BYTES);
	arrived = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(arrived);
	if (bh_gpu_from_json(arrived, ret_gpu, &err) < 0)
		fail_msg("%s", err.message);
}

static uint64_t start_seed(void)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : bh_clock_realtime_ms() | 1;

	print_message("SEED=%llu\n", (unsigned long long) seed);
	return seed;
}

static void any_gpu_comes_out_as_it_went_in(void **state)
{
	static struct bh_gpu in, out;
	uint64_t seed = start_seed();

	for (int i = 0; i < 300; i++) {
		random_gpu(&seed, &in);
		memset(&out, 0x55, sizeof(out));
		travel(&in, /* with_profiles= */ true, &out);
		/* both were zeroed before they were filled, padding included */
		assert_memory_equal(&in, &out, sizeof(in));
	}
}

static void largest_gpu_fits_in_a_packet(void **state)
{
	static struct bh_gpu in, out;
	uint64_t seed = 1;

	random_gpu(&seed, &in);
	in.n_profiles = BH_GI_PROFILES_MAX;
	for (size_t i = 0; i < in.n_profiles; i++) {
		in.profiles[i].n_placements = BH_PLACEMENTS_MAX;
		memset(in.profiles[i].name, '\x01', sizeof(in.profiles[i].name) - 1);
	}
	in.n_gis = BH_GIS_MAX;
	in.n_holders = BH_GPU_HOLDERS_MAX;
	for (size_t i = 0; i < in.n_gis; i++) {
		in.gis[i].n_cis = BH_CIS_MAX;
		in.gis[i].at = (struct bh_placement){BH_UNITS_MAX - 1, 1};
		for (size_t c = 0; c < BH_CIS_MAX; c++)
			in.gis[i].cis[c].at = in.gis[i].at;
	}
	travel(&in, /* with_profiles= */ true, &out);
}

static void absent_profiles_leave_those_that_are_there(void **state)
{
	static struct bh_gpu in, out, before;
	uint64_t seed = start_seed();

	for (int i = 0; i < 50; i++) {
		random_gpu(&seed, &in);
		random_gpu(&seed, &before);
		out = before;
		travel(&in, /* with_profiles= */ false, &out);
		assert_memory_equal(out.profiles, before.profiles, sizeof(out.profiles));
		assert_int_equal(out.n_profiles, before.n_profiles);
		assert_int_equal(out.placement_units, before.placement_units);
		assert_int_equal(out.n_gis, in.n_gis);
		assert_string_equal(out.uuid, in.uuid);
	}
}

/* A valid GPU with one of everything, in which the member at @path is replaced or removed. */
static json_t *spoiled(const char *path, const char *value)
{
	static struct bh_gpu gpu;
	char step[64];
	uint64_t seed = 7;
	json_t *whole, *at, *replacement;

	random_gpu(&seed, &gpu);
	gpu.n_profiles = gpu.n_gis = gpu.n_holders = 1;
	gpu.profiles[0].n_placements = gpu.gis[0].n_cis = 1;
	gpu.gis[0].cis[0].at = (struct bh_placement){0, 1};
	gpu.gis[0].at = (struct bh_placement){0, 1};
	whole = at = bh_gpu_to_json(&gpu, true);
	for (;;) {
		size_t length = strcspn(path, ".");

		(void) snprintf(step, sizeof(step), "%.*s", (int) length, path);
		if (path[length] == '\0')
			break;
		at = json_array_get(json_object_get(at, step), 0);
		path += length + 1;
	}
	replacement = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
	if (replacement)
		(void) json_object_set_new(at, step, replacement);
	else
		(void) json_object_del(at, step);
	return whole;
}

static const struct {
	const char *path, *value; /* NULL: removed */
} spoils[] = {
		{"uuid", "null"},
		{"uuid", "7"},
		{"uuid", NULL},
		{"pci", "\"00000000:00:00.00000000000000000000000000\""},
		{"index", "-1"},
		{"index", "4294967296"},
		{"index", "1.5"},
		{"index", "\"0\""},
		{"memory_mib", "-5"},
		{"memory_mib", "true"},
		{"mig_capable", "1"},
		{"mig_current", "\"on\""},
		{"mig_pending", NULL},
		{"gis", NULL},
		{"gis", "{}"},
		{"gis", "[1,2,3,4,5,6,7,8,9]"},
		{"gis", "[[]]"},
		{"gis.cis", "null"},
		{"gis.cis", "[0,0,0,0,0,0,0,0,0]"},
		{"gis.start", "-1"},
		{"gis.start", "64"},
		{"gis.start", "null"},
		{"gis.size", "0"},
		{"gis.size", "4294967295"},
		{"gis.cis.size", "65"},
		{"gis.busy", "0"},
		{"gis.cis.busy", "null"},
		{"gis.cis.uuid", "[]"},
		{"holders", "3"},
		{"holders.pid", "0"},
		{"holders.pid", "2147483648"},
		{"holders.kind", "\"much longer than a kind\""},
		{"more_holders", "null"},
		{"holders_known", NULL},
		{"profiles", "null"},
		{"profiles", "[{}]"},
		{"profiles.placements", "7"},
		{"profiles.placements", "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"},
		{"profiles.placements.start", "\"0\""},
		{"profiles.sm", NULL},
		{"placement_units", NULL},
};

static void whatever_does_not_fit_is_refused_and_changes_nothing(void **state)
{
	static struct bh_gpu out, before;

	memset(&before, 0x33, sizeof(before));
	for (size_t i = 0; i < BH_ARRAY_SIZE(spoils); i++) {
		bh_auto_json json_t *json = spoiled(spoils[i].path, spoils[i].value);
		struct bh_error err = {0};

		out = before;
		if (bh_gpu_from_json(json, &out, &err) == 0)
			fail_msg("%s = %s was taken", spoils[i].path,
					spoils[i].value ? spoils[i].value : "(absent)");
		assert_true(err.message[0] != '\0');
		assert_memory_equal(&out, &before, sizeof(out));
	}
}

/* Puts copies of the first row behind it until there are @n. */
static void repeat(json_t *object, const char *key, size_t n)
{
	json_t *array = json_object_get(object, key);

	while (json_array_size(array) < n)
		assert_int_equal(json_array_append_new(
						 array, json_deep_copy(json_array_get(array, 0))),
				0);
}

static void one_row_too_many_is_refused_everywhere(void **state)
{
	static const struct {
		const char *outer, *key;
		size_t most;
	} lists[] = {
			{NULL, "gis", BH_GIS_MAX},
			{"gis", "cis", BH_CIS_MAX},
			{NULL, "holders", BH_GPU_HOLDERS_MAX},
			{NULL, "profiles", BH_GI_PROFILES_MAX},
			{"profiles", "placements", BH_PLACEMENTS_MAX},
	};
	static struct bh_gpu out;

	for (size_t i = 0; i < BH_ARRAY_SIZE(lists); i++) {
		bh_auto_json json_t *json = spoiled("nothing", "0");
		json_t *object = json;
		struct bh_error err = {0};

		if (lists[i].outer)
			object = json_array_get(json_object_get(json, lists[i].outer), 0);
		repeat(object, lists[i].key, lists[i].most);
		if (bh_gpu_from_json(json, &out, &err) < 0)
			fail_msg("%s", err.message);
		repeat(object, lists[i].key, lists[i].most + 1);
		assert_int_equal(bh_gpu_from_json(json, &out, &err), -1);
		assert_non_null(strstr(err.message, "too many rows"));
	}
}

static void gpu_with_a_text_that_is_not_utf8_is_not_written(void **state)
{
	static struct bh_gpu gpu;

	(void) snprintf(gpu.uuid, sizeof(gpu.uuid), "%s", "GPU-1");
	(void) snprintf(gpu.name, sizeof(gpu.name), "%s", "half \xc3");
	assert_null(bh_gpu_to_json(&gpu, true));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(any_gpu_comes_out_as_it_went_in),
			cmocka_unit_test(largest_gpu_fits_in_a_packet),
			cmocka_unit_test(absent_profiles_leave_those_that_are_there),
			cmocka_unit_test(whatever_does_not_fit_is_refused_and_changes_nothing),
			cmocka_unit_test(one_row_too_many_is_refused_everywhere),
			cmocka_unit_test(gpu_with_a_text_that_is_not_utf8_is_not_written),
	};

	return cmocka_run_group_tests_name("inventory_json", tests, NULL, NULL);
}
