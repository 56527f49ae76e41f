/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/resolve.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"

#define ARENA_MAX_BYTES (4UL * 1024 * 1024)
#define RANGES_SIZE	192
#define NAME_SHOWN_SIZE 96

void bh_wanted_free(struct bh_wanted *wanted)
{
	if (wanted)
		bh_arena_free(wanted->arena); /* which it lives in itself */
}

static uint64_t index_bit(const struct bh_gpu *gpu)
{
	return gpu->index < 64 ? UINT64_C(1) << gpu->index : 0;
}

static uint64_t all_indexes(const struct bh_inventory *inventory)
{
	uint64_t set = 0;

	for (size_t i = 0; i < inventory->n_gpus; i++)
		set |= index_bit(&inventory->gpus[i]);
	return set;
}

/* A word that is not known equals none, whatever number stands for "not known". */
static bool is_word(uint32_t found, uint32_t wanted)
{
	return found != BH_UNKNOWN && found == wanted;
}

static bool filter_matches(const struct bh_mig_entry *entry, const struct bh_gpu *gpu)
{
	for (size_t i = 0; i < entry->n_filters; i++) {
		const struct bh_device_filter *f = &entry->filters[i];

		if (!is_word(gpu->pci_device_id, f->device_id))
			continue;
		if (f->any_subsystem || is_word(gpu->pci_subsystem_id, f->subsystem_id))
			return true;
	}
	return entry->n_filters == 0;
}

/* Before anything else: a file for another node must not be half right. */
static int check_indexes(const struct bh_mig_configuration *configuration,
		const struct bh_inventory *inventory, struct bh_error *err)
{
	uint64_t here = all_indexes(inventory), missing = 0;
	char wanted[RANGES_SIZE], has[RANGES_SIZE], shown[NAME_SHOWN_SIZE];
	const struct bh_mig_entry *first = NULL;

	for (size_t i = 0; i < configuration->n_entries; i++) {
		const struct bh_mig_entry *entry = &configuration->entries[i];

		if (!first && entry->devices & ~here)
			first = entry;
		missing |= entry->devices & ~here;
	}
	if (!first)
		return 0;
	return bh_fail(err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0,
			"%s:%u:%u: configuration '%s' names GPU %s; this node has %s%s",
			configuration->file, first->devices_line, first->devices_column,
			bh_text_show(shown, sizeof(shown), configuration->name),
			bh_text_ranges(wanted, sizeof(wanted), missing), here ? "GPU " : "",
			here ? bh_text_ranges(has, sizeof(has), here) : "none");
}

/* The entry that decides about a GPU, or none. Sets @ret_skipped to the last that passed it by. */
static const struct bh_mig_entry *deciding_entry(const struct bh_mig_configuration *configuration,
		const struct bh_gpu *gpu, const struct bh_mig_entry **ret_skipped)
{
	const struct bh_mig_entry *deciding = NULL;

	for (size_t i = 0; i < configuration->n_entries; i++) {
		const struct bh_mig_entry *entry = &configuration->entries[i];

		if (!filter_matches(entry, gpu))
			continue;
		if (entry->all_devices && !gpu->mig_capable)
			*ret_skipped = entry;
		else if (entry->all_devices || entry->devices & index_bit(gpu))
			deciding = entry;
	}
	return deciding;
}

static int check_matched(const struct bh_mig_configuration *configuration,
		const struct bh_inventory *inventory, size_t n_matched, uint64_t skipped,
		struct bh_error *err)
{
	char ranges[RANGES_SIZE], shown[NAME_SHOWN_SIZE];

	if (n_matched)
		return 0;
	(void) bh_text_show(shown, sizeof(shown), configuration->name);
	if (skipped)
		return bh_fail(err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0,
				"%s:%u:%u: configuration '%s' matches no GPU of this node; GPU %s "
				"cannot do MIG",
				configuration->file, configuration->line, configuration->column,
				shown, bh_text_ranges(ranges, sizeof(ranges), skipped));
	return bh_fail(err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0,
			"%s:%u:%u: configuration '%s' matches no GPU of this node, which has %zu",
			configuration->file, configuration->line, configuration->column, shown,
			inventory->n_gpus);
}

static int check_capable(const struct bh_mig_configuration *configuration,
		const struct bh_inventory *inventory, const struct bh_wanted *wanted,
		struct bh_error *err)
{
	const struct bh_gpu *first = NULL;
	const struct bh_wanted_gpu *by = NULL;
	char ranges[RANGES_SIZE], shown[NAME_SHOWN_SIZE];
	uint64_t unable = 0;

	for (size_t i = 0; i < inventory->n_gpus; i++) {
		const struct bh_gpu *gpu = &inventory->gpus[i];

		if (gpu->mig_capable || !wanted->gpus[i].in_scope || !wanted->gpus[i].mig)
			continue;
		unable |= index_bit(gpu);
		if (!first) {
			first = gpu;
			by = &wanted->gpus[i];
		}
	}
	if (!first)
		return 0;
	(void) bh_fail(err, BH_E_MIG_UNSUPPORTED, BH_SRC_SELF, 0,
			"%s:%u:%u: configuration '%s' wants MIG on GPU %s, which cannot do MIG "
			"(%s)",
			configuration->file, by->line, by->column,
			bh_text_show(shown, sizeof(shown), configuration->name),
			bh_text_ranges(ranges, sizeof(ranges), unable), first->name);
	if (err)
		(void) snprintf(err->gpu, sizeof(err->gpu), "%s", first->uuid);
	return -1;
}

static struct bh_wanted *new_wanted(const struct bh_mig_configuration *configuration, size_t n_gpus)
{
	bh_auto_arena struct bh_arena *arena = bh_arena_new(ARENA_MAX_BYTES);
	struct bh_wanted *wanted = arena ? bh_arena_alloc(arena, 1, sizeof(*wanted)) : NULL;

	if (!wanted)
		return NULL;
	wanted->gpus = bh_arena_alloc(arena, n_gpus, sizeof(*wanted->gpus));
	if (!wanted->gpus)
		return NULL;
	wanted->n_gpus = n_gpus;
	wanted->file = configuration->file;
	wanted->name = configuration->name;
	wanted->arena = BH_TAKE(arena);
	return wanted;
}

int bh_spec_resolve(const struct bh_mig_configuration *configuration,
		const struct bh_inventory *inventory, struct bh_wanted **ret_wanted,
		struct bh_error *err)
{
	bh_auto_wanted struct bh_wanted *wanted = new_wanted(configuration, inventory->n_gpus);
	uint64_t skipped = 0;
	size_t n_matched = 0;
	struct bh_note_list notes = {0};

	if (!wanted)
		return bh_fail_memory(err);
	if (check_indexes(configuration, inventory, err) < 0)
		return -1;
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		const struct bh_gpu *gpu = &inventory->gpus[i];
		const struct bh_mig_entry *passed = NULL;
		const struct bh_mig_entry *entry = deciding_entry(configuration, gpu, &passed);

		if (entry) {
			wanted->gpus[i] = (struct bh_wanted_gpu){
					.in_scope = true,
					.mig = entry->mig_enabled,
					.profiles = entry->profiles,
					.n_profiles = entry->n_profiles,
					.line = entry->line,
					.column = entry->column,
			};
			n_matched++;
		} else if (passed) {
			skipped |= index_bit(gpu);
			if (bh_note_add(&notes, wanted->arena, err,
					    "%s:%u:%u: GPU %u (%s) cannot do MIG: 'devices: all' "
					    "passes it by",
					    configuration->file, passed->devices_line,
					    passed->devices_column, gpu->index, gpu->name) < 0)
				return -1;
		}
	}
	wanted->notes = notes.first;
	if (check_matched(configuration, inventory, n_matched, skipped, err) < 0 ||
			check_capable(configuration, inventory, wanted, err) < 0)
		return -1;
	*ret_wanted = BH_TAKE(wanted);
	return 0;
}
