/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mig-parted's configuration files ("version: v1"), read as operators have them on their nodes: a
 * file names configurations, a configuration is a list of entries, an entry says for some GPUs
 * whether MIG is on and how many instances of which profile they carry.
 *
 * Everything in a file is checked, also in the configurations that nobody selects. What that tool
 * takes silently although it cannot be meant (a device filter that is no number, a profile given
 * twice) is refused or noted here.
 */
#ifndef BH_SPEC_MIG_CONFIG_H
#define BH_SPEC_MIG_CONFIG_H

#include "base/document.h"
#include "spec/note.h"
#include "spec/wanted.h"

#define BH_MIG_CONFIG_INDEX_MAX 63   /* of a GPU in a list of devices */
#define BH_MIG_CONFIG_COUNT_MAX 1000 /* of one profile; no board holds more than a few */

/* NVML's words: device << 16 | vendor. */
struct bh_device_filter {
	uint32_t device_id;
	bool any_subsystem;
	uint32_t subsystem_id; /* unless any */
};

struct bh_mig_entry {
	const struct bh_device_filter *filters;
	size_t n_filters; /* 0: every GPU; else one of them must match */
	bool all_devices;
	uint64_t devices; /* unless all: bit n stands for GPU index n */
	bool mig_enabled;
	const struct bh_wanted_profile *profiles;
	size_t n_profiles;
	uint32_t line, column;
	uint32_t devices_line, devices_column;
};

/* Borrowed from its bh_mig_config. */
struct bh_mig_configuration {
	const char *file, *name;
	const struct bh_mig_entry *entries;
	size_t n_entries;
	const struct bh_note *notes; /* what was dropped or is odd in it, for the caller to print */
	uint32_t line, column;
};

struct bh_mig_config; /* a whole file */

/**
 * bh_mig_config_parse() - read a text
 * @text:       borrowed for the call
 * @size:       bytes of it
 * @name:       the file's name for messages
 * @ret_config: owned by the caller, freed with bh_mig_config_free()
 * @err:        INVALID_FILE with "NAME:LINE:COLUMN: …", NO_MEMORY
 */
int bh_mig_config_parse(const char *text, size_t size, const char *name,
		struct bh_mig_config **ret_config, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_mig_config_load() - read a file
 * @path:       of a regular file, or "-" for standard input
 * @ret_config: owned by the caller, freed with bh_mig_config_free()
 * @err:        as bh_document_load() and bh_mig_config_parse()
 */
int bh_mig_config_load(const char *path, struct bh_mig_config **ret_config, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_mig_config_free() - drop it with all its configurations
 * @config: NULL is fine
 */
void bh_mig_config_free(struct bh_mig_config *config);

static inline void bh_mig_config_freep(struct bh_mig_config **p)
{
	bh_mig_config_free(*p);
}
#define bh_auto_mig_config BH_CLEANUP(bh_mig_config_freep)

/**
 * bh_mig_config_names() - the configurations' names in the file's order
 * @config:    borrowed
 * @ret_count: how many, at least 1
 *
 * Return: borrowed from @config.
 */
const char *const *bh_mig_config_names(const struct bh_mig_config *config, size_t *ret_count);

/**
 * bh_mig_config_select() - one configuration
 * @config:            borrowed
 * @name:              its name; NULL where the file has one alone
 * @ret_configuration: borrowed from @config
 * @err:               UNKNOWN_NAME with the nearest and the existing names; USAGE when @name is
 *                     NULL and there are several
 */
int bh_mig_config_select(const struct bh_mig_config *config, const char *name,
		const struct bh_mig_configuration **ret_configuration, struct bh_error *err)
		BH_MUST_CHECK;

#endif
