/* SPDX-License-Identifier: Apache-2.0 */
#include "board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/catalogue.h"

void board_init(struct bh_gpu *gpu, const char *slug)
{
	const struct bh_model *model = bh_catalogue_by_slug(slug);

	assert_non_null(model);
	memset(gpu, 0, sizeof(*gpu));
	bh_model_describe(model, gpu);
	(void) snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-11111111-2222-3333-4444-555555555555");
	(void) snprintf(gpu->pci, sizeof(gpu->pci), "00000000:1B:00.0");
	gpu->mig_current = gpu->mig_pending = BH_MIG_ON;
	gpu->holders_known = true;
}

void board_init_base(struct bh_gpu *gpu, const char *slug)
{
	size_t n = 0;

	board_init(gpu, slug);
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if (!strpbrk(gpu->profiles[i].name, "+-"))
			gpu->profiles[n++] = gpu->profiles[i];
	}
	gpu->n_profiles = n;
}

size_t board_profile(const struct bh_gpu *gpu, const char *name)
{
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if (strcmp(gpu->profiles[i].name, name) == 0)
			return i;
	}
	fail_msg("the board has no %s", name);
	return 0;
}

struct bh_gi *board_add_bare(struct bh_gpu *gpu, size_t profile, const struct bh_placement *at)
{
	size_t i = gpu->n_gis++;
	uint32_t id = 0;

	assert_true(i < BH_GIS_MAX);
	for (size_t g = 0; g < i; g++)
		id = gpu->gis[g].id >= id ? gpu->gis[g].id + 1 : id;
	for (; i > 0 && gpu->gis[i - 1].at.start > at->start; i--)
		gpu->gis[i] = gpu->gis[i - 1];
	gpu->gis[i] = (struct bh_gi){
			.id = id,
			.profile_id = gpu->profiles[profile].id,
			.at = *at,
			.memory_mib = gpu->profiles[profile].memory_mib,
	};
	return &gpu->gis[i];
}

struct bh_gi *board_add(struct bh_gpu *gpu, const char *name, uint32_t start)
{
	const struct bh_gi_profile *profile = &gpu->profiles[board_profile(gpu, name)];

	for (size_t k = 0; k < profile->n_placements; k++) {
		struct bh_gi *gi;

		if (profile->placements[k].start != start)
			continue;
		gi = board_add_bare(
				gpu, (size_t) (profile - gpu->profiles), &profile->placements[k]);
		(void) board_add_ci(gi, 0, profile->slice_count);
		return gi;
	}
	fail_msg("%s has no placement at %u", name, start);
	return NULL;
}

struct bh_ci *board_add_ci(struct bh_gi *gi, uint32_t start, uint32_t size)
{
	size_t i = gi->n_cis++;
	uint32_t id = 0;

	assert_true(i < BH_CIS_MAX);
	for (size_t c = 0; c < i; c++)
		id = gi->cis[c].id >= id ? gi->cis[c].id + 1 : id;
	for (; i > 0 && gi->cis[i - 1].at.start > start; i--)
		gi->cis[i] = gi->cis[i - 1];
	gi->cis[i] = (struct bh_ci){.id = id, .at = {start, size}};
	(void) snprintf(gi->cis[i].uuid, sizeof(gi->cis[i].uuid), "MIG-%u-%u", gi->id, id);
	return &gi->cis[i];
}

static void add_holder(struct bh_gpu *gpu, uint32_t gi, uint32_t ci, int pid, const char *name)
{
	struct bh_gpu_holder *holder = &gpu->holders[gpu->n_holders++];

	assert_true(gpu->n_holders <= BH_GPU_HOLDERS_MAX);
	*holder = (struct bh_gpu_holder){.who = {.kind = "process", .pid = pid}, gi, ci};
	(void) snprintf(holder->who.name, sizeof(holder->who.name), "%s", name);
}

void board_make_busy(struct bh_gpu *gpu, struct bh_gi *gi, int pid, const char *name)
{
	gi->busy = true;
	if (gi->n_cis > 0)
		gi->cis[0].busy = true;
	add_holder(gpu, gi->id, gi->n_cis > 0 ? gi->cis[0].id : BH_UNKNOWN, pid, name);
}

void board_hold_whole(struct bh_gpu *gpu, int pid, const char *name)
{
	add_holder(gpu, BH_UNKNOWN, BH_UNKNOWN, pid, name);
}

void board_want(const struct bh_gpu *gpu, const struct bh_want_row *rows, size_t n_rows,
		struct bh_gpu_want *want)
{
	struct bh_error err = {0};

	*want = (struct bh_gpu_want){.in_scope = true, .mig_on = true};
	(void) snprintf(want->source, sizeof(want->source), "wanted by layout.yaml:7");
	if (bh_want_fill(gpu, rows, n_rows, want, &err) < 0)
		fail_msg("%s", err.message);
}

void dice_init(struct dice *dice, uint64_t seed, const char *what)
{
	const char *text = getenv("BH_TEST_SEED");

	if (text)
		seed = strtoull(text, NULL, 0);
	print_message("seed of %s: BH_TEST_SEED=%" PRIu64 "\n", what, seed);
	dice->state = seed;
}

/* splitmix64 */
uint32_t dice_roll(struct dice *dice, uint32_t sides)
{
	uint64_t z = dice->state += 0x9E3779B97F4A7C15U;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
	z = (z ^ z >> 27) * 0x94D049BB133111EBU;
	return (uint32_t) ((z ^ z >> 31) >> 16) % sides;
}
