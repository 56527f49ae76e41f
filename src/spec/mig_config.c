/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/mig_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/fields.h"
#include "base/text.h"

#define ARENA_MAX_BYTES (64UL * 1024 * 1024)

struct bh_mig_config {
	struct bh_document *document;
	struct bh_arena *arena;
	const char **names;
	struct bh_mig_configuration *configurations;
	size_t n_configurations;
};

/* An entry while it is read. */
struct entry_reader {
	struct bh_mig_config *config;
	struct bh_note_list *notes;
	struct bh_mig_entry entry;
	const struct bh_doc_node *mig_devices;
};

struct file_reader {
	const char *version;
	const struct bh_doc_node *configurations;
};

static BH_PRINTF(4, 5) int add_note(const struct entry_reader *reader,
		const struct bh_doc_node *node, struct bh_error *err, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return bh_note_add(reader->notes, reader->config->arena, err, "%s:%u:%u: %s",
			bh_document_name(reader->config->document), bh_doc_node_line(node),
			bh_doc_node_column(node), message);
}

/* 0xDDDDVVVV: eight hex digits, no fewer, so that a digit lost by typing is seen. */
static bool read_pci_word(const char *text, uint32_t *ret_word)
{
	uint32_t word = 0;

	if (text[0] != '0' || text[1] != 'x')
		return false;
	for (size_t i = 2; i < 10; i++) {
		static const char hex[] = "0123456789abcdef";
		char digit = text[i];
		const char *at;

		if (digit >= 'A' && digit <= 'F')
			digit = (char) (digit - 'A' + 'a');
		at = digit ? strchr(hex, digit) : NULL;
		if (!at)
			return false;
		word = word << 4 | (uint32_t) (at - hex);
	}
	*ret_word = word;
	return true;
}

static int read_filter(const struct entry_reader *reader, const struct bh_doc_node *node,
		struct bh_device_filter *ret_filter, struct bh_error *err)
{
	const uint32_t nvidia = 0x10de;
	struct bh_device_filter filter = {.any_subsystem = true};
	const char *text = bh_doc_node_text(node);
	size_t length;
	char shown[64];
	bool right;

	if (bh_doc_node_kind(node) != BH_DOC_SCALAR ||
			bh_doc_node_scalar_type(node) != BH_SCALAR_TEXT)
		return bh_doc_node_wrong(node, "an item of 'device-filter'",
				"a text in quotes, as \"0x233010DE\"", err);
	length = strlen(text);
	right = length >= 10 && read_pci_word(text, &filter.device_id);
	if (right && length > 10) {
		filter.any_subsystem = false;
		right = length == 21 && text[10] == ':' &&
			read_pci_word(text + 11, &filter.subsystem_id);
	}
	(void) bh_text_show(shown, sizeof(shown), text);
	if (!right)
		return bh_doc_node_fail(node, err,
				"device filter '%s' is malformed, expected '0xDDDDVVVV' or "
				"'0xDDDDVVVV:0xSSSSWWWW' (device and vendor, of the board and its "
				"subsystem)",
				shown);
	*ret_filter = filter;
	if ((filter.device_id & 0xffff) != nvidia)
		return add_note(reader, node, err,
				"device filter '%s' matches no NVIDIA GPU: its vendor is 0x%04X, "
				"not "
				"0x10DE",
				shown, filter.device_id & 0xffff);
	return 0;
}

static int read_device_filter(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct entry_reader *reader = object;
	bool is_list = bh_doc_node_kind(node) == BH_DOC_SEQUENCE;
	size_t n = is_list ? bh_doc_node_count(node) : 1;
	struct bh_device_filter *filters;

	if (!is_list && (bh_doc_node_kind(node) != BH_DOC_SCALAR ||
					bh_doc_node_scalar_type(node) != BH_SCALAR_TEXT))
		return bh_doc_node_wrong(node, "field 'device-filter'",
				"a text in quotes, as \"0x233010DE\", or a list of them", err);
	if (n == 0 || (!is_list && bh_doc_node_text(node)[0] == '\0'))
		return 0; /* empty matches everything, as in mig-parted */
	filters = bh_arena_alloc(reader->config->arena, n, sizeof(*filters));
	if (!filters)
		return bh_fail_memory(err);
	for (size_t i = 0; i < n; i++) {
		if (read_filter(reader, is_list ? bh_doc_node_item(node, i) : node, &filters[i],
				    err) < 0)
			return -1;
	}
	reader->entry.filters = filters;
	reader->entry.n_filters = n;
	return 0;
}

#define DEVICES_EXPECTED "'all' or a list of GPU indexes"

static int read_devices(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct entry_reader *reader = object;
	struct bh_mig_entry *entry = &reader->entry;

	entry->devices_line = bh_doc_node_line(node);
	entry->devices_column = bh_doc_node_column(node);
	if (bh_doc_node_kind(node) == BH_DOC_SCALAR && strcmp(bh_doc_node_text(node), "all") == 0) {
		entry->all_devices = true;
		return 0;
	}
	if (bh_doc_node_kind(node) != BH_DOC_SEQUENCE)
		return bh_doc_node_wrong(node, "field 'devices'", DEVICES_EXPECTED, err);
	if (bh_doc_node_count(node) == 0)
		return bh_doc_node_fail(node, err, "the list of 'devices' is empty, expected %s",
				DEVICES_EXPECTED);
	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		const struct bh_doc_node *item = bh_doc_node_item(node, i);
		char expected[64];
		int64_t index;

		(void) snprintf(expected, sizeof(expected), "a GPU index from 0 to %d",
				BH_MIG_CONFIG_INDEX_MAX);
		if (!bh_doc_node_int(item, &index) || index < 0 || index > BH_MIG_CONFIG_INDEX_MAX)
			return bh_doc_node_wrong(item, "an item of 'devices'", expected, err);
		if (entry->devices >> index & 1 &&
				add_note(reader, item, err,
						"GPU index %u stands twice in 'devices'",
						(unsigned int) index) < 0)
			return -1;
		entry->devices |= UINT64_C(1) << index;
	}
	return 0;
}

static const struct bh_field entry_rows[] = {
		{"device-filter", BH_FIELD_ANY, .read = read_device_filter},
		{"devices", BH_FIELD_ANY, .required = true, .read = read_devices,
				.help = DEVICES_EXPECTED},
		{"mig-enabled", BH_FIELD_BOOL, .required = true,
				.offset = offsetof(struct entry_reader, entry.mig_enabled)},
		{"mig-devices", BH_FIELD_MAPPING,
				.offset = offsetof(struct entry_reader, mig_devices),
				.help = "a mapping of profile names to counts"},
};
static const struct bh_fields entry_fields = BH_FIELDS("an entry", entry_rows);

static int read_count(const struct bh_doc_node *key, const struct bh_doc_node *value,
		uint32_t *ret_count, struct bh_error *err)
{
	char shown[64], what[96], expected[64];
	int64_t count;

	(void) snprintf(what, sizeof(what), "the count of '%s'",
			bh_text_show(shown, sizeof(shown), bh_doc_node_text(key)));
	(void) snprintf(expected, sizeof(expected), "a whole number from 0 to %d",
			BH_MIG_CONFIG_COUNT_MAX);
	if (!bh_doc_node_int(value, &count) || count < 0 || count > BH_MIG_CONFIG_COUNT_MAX)
		return bh_doc_node_wrong(value, what, expected, err);
	*ret_count = (uint32_t) count;
	return 0;
}

static int read_profile(const struct entry_reader *reader, const struct bh_doc_node *key,
		const struct bh_doc_node *value, struct bh_wanted_profile *ret_profile,
		struct bh_error *err)
{
	struct bh_wanted_profile profile = {
			.text = bh_doc_node_text(key),
			.line = bh_doc_node_line(key),
			.column = bh_doc_node_column(key),
	};

	if (bh_profile_name_parse(profile.text, &profile.name, err) < 0) {
		if (err)
			err->code = BH_E_INVALID_FILE;
		return bh_while(err, "%s:%u:%u", bh_document_name(reader->config->document),
				profile.line, profile.column);
	}
	if (read_count(key, value, &profile.count, err) < 0)
		return -1;
	for (size_t i = 0; i < reader->entry.n_profiles; i++) {
		const struct bh_wanted_profile *other = &reader->entry.profiles[i];

		if (bh_profile_name_compare(&other->name, &profile.name) == 0)
			return bh_doc_node_fail(key, err,
					"'%s' is the same profile as '%s' at line %u", profile.text,
					other->text, other->line);
	}
	*ret_profile = profile;
	return 0;
}

static int read_profiles(struct entry_reader *reader, struct bh_error *err)
{
	const struct bh_doc_node *node = reader->mig_devices;
	size_t n = bh_doc_node_count(node), n_kept = 0;
	struct bh_wanted_profile *profiles;

	profiles = bh_arena_alloc(reader->config->arena, n, sizeof(*profiles));
	if (!profiles)
		return bh_fail_memory(err);
	reader->entry.profiles = profiles;
	for (size_t i = 0; i < n; i++) {
		if (read_profile(reader, bh_doc_node_key(node, i), bh_doc_node_value(node, i),
				    &profiles[i], err) < 0)
			return -1;
		reader->entry.n_profiles = i + 1;
	}

	/* The zeros go only now, when it is known that they are not all. */
	for (size_t i = 0; i < n; i++)
		n_kept += profiles[i].count > 0;
	if (n > 0 && n_kept == 0)
		return bh_doc_node_fail(node, err,
				"all counts in 'mig-devices' are 0; write {} for no instances");
	n_kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (profiles[i].count > 0)
			profiles[n_kept++] = profiles[i];
		else if (add_note(reader, bh_doc_node_key(node, i), err,
					 "'%s: 0' beside positive counts is dropped",
					 profiles[i].text) < 0)
			return -1;
	}
	reader->entry.n_profiles = n_kept;
	return 0;
}

static int read_entry(struct bh_mig_config *config, struct bh_note_list *notes,
		const struct bh_doc_node *node, struct bh_mig_entry *ret_entry,
		struct bh_error *err)
{
	struct entry_reader reader = {.config = config, .notes = notes};

	reader.entry.line = bh_doc_node_line(node);
	reader.entry.column = bh_doc_node_column(node);
	if (bh_fields_read(&entry_fields, node, &reader, err) < 0)
		return -1;
	if (reader.entry.mig_enabled && !reader.mig_devices)
		return bh_doc_node_fail(node, err,
				"field 'mig-devices' is missing in an entry with 'mig-enabled: "
				"true'; "
				"write {} for no instances");
	if (!reader.entry.mig_enabled && reader.mig_devices &&
			bh_doc_node_count(reader.mig_devices) > 0)
		return bh_doc_node_fail(reader.mig_devices, err,
				"field 'mig-devices' must be empty with 'mig-enabled: false'");
	if (reader.entry.mig_enabled && read_profiles(&reader, err) < 0)
		return -1;
	*ret_entry = reader.entry;
	return 0;
}

static int read_configuration(struct bh_mig_config *config, const struct bh_doc_node *key,
		const struct bh_doc_node *value, struct bh_mig_configuration *ret_configuration,
		struct bh_error *err)
{
	struct bh_mig_configuration configuration = {
			.file = bh_document_name(config->document),
			.name = bh_doc_node_text(key),
			.n_entries = bh_doc_node_count(value),
			.line = bh_doc_node_line(key),
			.column = bh_doc_node_column(key),
	};
	struct bh_note_list notes = {0};
	struct bh_mig_entry *entries;
	char shown[96], what[128];

	(void) snprintf(what, sizeof(what), "configuration '%s'",
			bh_text_show(shown, sizeof(shown), configuration.name));
	if (bh_doc_node_is_null(key))
		return bh_doc_node_fail(key, err, "a configuration without a name");
	if (bh_doc_node_kind(value) != BH_DOC_SEQUENCE)
		return bh_doc_node_wrong(value, what, "a list of entries", err);
	if (configuration.n_entries == 0)
		return bh_doc_node_fail(
				value, err, "%s has no entries, expected at least one", what);

	entries = bh_arena_alloc(config->arena, configuration.n_entries, sizeof(*entries));
	if (!entries)
		return bh_fail_memory(err);
	for (size_t i = 0; i < configuration.n_entries; i++) {
		if (read_entry(config, &notes, bh_doc_node_item(value, i), &entries[i], err) < 0)
			return -1;
	}
	configuration.entries = entries;
	configuration.notes = notes.first;
	*ret_configuration = configuration;
	return 0;
}

static int read_version(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	if (strcmp(bh_doc_node_text(node), "v1") != 0)
		return bh_doc_node_wrong(node, "field 'version'", "'v1'", err);
	return 0;
}

static const struct bh_field file_rows[] = {
		{"version", BH_FIELD_TEXT, .required = true, .read = read_version, .help = "'v1'"},
		{"mig-configs", BH_FIELD_MAPPING, .required = true,
				.offset = offsetof(struct file_reader, configurations),
				.help = "a mapping of names to lists of entries"},
};
static const struct bh_fields file_fields = BH_FIELDS("a mig-parted file", file_rows);

static int read_file(struct bh_mig_config *config, struct bh_error *err)
{
	struct file_reader file = {0};
	const struct bh_doc_node *node;
	size_t n;

	if (bh_fields_read(&file_fields, bh_document_root(config->document), &file, err) < 0)
		return -1;
	node = file.configurations;
	n = bh_doc_node_count(node);
	if (n == 0)
		return bh_doc_node_fail(node, err,
				"'mig-configs' is empty, expected at least one "
				"configuration");
	config->names = bh_arena_alloc(config->arena, n, sizeof(*config->names));
	config->configurations = bh_arena_alloc(config->arena, n, sizeof(*config->configurations));
	if (!config->names || !config->configurations)
		return bh_fail_memory(err);
	for (size_t i = 0; i < n; i++) {
		if (read_configuration(config, bh_doc_node_key(node, i), bh_doc_node_value(node, i),
				    &config->configurations[i], err) < 0)
			return -1;
		config->names[i] = config->configurations[i].name;
	}
	config->n_configurations = n;
	return 0;
}

/* Takes the document. */
static int from_document(struct bh_document **document, struct bh_mig_config **ret_config,
		struct bh_error *err)
{
	bh_auto_mig_config struct bh_mig_config *config = calloc(1, sizeof(*config));

	if (!config)
		return bh_fail_memory(err);
	config->document = BH_TAKE(*document);
	config->arena = bh_arena_new(ARENA_MAX_BYTES);
	if (!config->arena)
		return bh_fail_memory(err);
	if (read_file(config, err) < 0)
		return -1;
	*ret_config = BH_TAKE(config);
	return 0;
}

int bh_mig_config_parse(const char *text, size_t size, const char *name,
		struct bh_mig_config **ret_config, struct bh_error *err)
{
	bh_auto_document struct bh_document *document = NULL;

	if (bh_document_parse(text, size, name, NULL, &document, err) < 0)
		return -1;
	return from_document(&document, ret_config, err);
}

int bh_mig_config_load(const char *path, struct bh_mig_config **ret_config, struct bh_error *err)
{
	bh_auto_document struct bh_document *document = NULL;

	if (bh_document_load(path, NULL, &document, err) < 0)
		return -1;
	return from_document(&document, ret_config, err);
}

void bh_mig_config_free(struct bh_mig_config *config)
{
	if (!config)
		return;
	bh_arena_free(config->arena);
	bh_document_free(config->document);
	free(config);
}

const char *const *bh_mig_config_names(const struct bh_mig_config *config, size_t *ret_count)
{
	*ret_count = config->n_configurations;
	return config->names;
}

int bh_mig_config_select(const struct bh_mig_config *config, const char *name,
		const struct bh_mig_configuration **ret_configuration, struct bh_error *err)
{
	const char *file = bh_document_name(config->document), *nearest;
	char shown[96], near[96], names[224];

	if (!name && config->n_configurations == 1) {
		*ret_configuration = &config->configurations[0];
		return 0;
	}
	for (size_t i = 0; name && i < config->n_configurations; i++) {
		if (strcmp(config->names[i], name) == 0) {
			*ret_configuration = &config->configurations[i];
			return 0;
		}
	}

	(void) bh_text_join(names, sizeof(names), config->names, config->n_configurations);
	if (!name)
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"%s has %zu configurations, one must be selected: %s", file,
				config->n_configurations, names);
	(void) bh_text_show(shown, sizeof(shown), name);
	nearest = bh_text_nearest(name, config->names, config->n_configurations);
	if (nearest)
		return bh_fail(err, BH_E_UNKNOWN_NAME, BH_SRC_SELF, 0,
				"%s has no configuration '%s', did you mean '%s'? it has: %s", file,
				shown, bh_text_show(near, sizeof(near), nearest), names);
	return bh_fail(err, BH_E_UNKNOWN_NAME, BH_SRC_SELF, 0,
			"%s has no configuration '%s', it has: %s", file, shown, names);
}
