/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "spec/mig_config.h"

/* A file with one configuration "c" of these entries, which begin in line 4. */
#define FILE_OF(entries) "version: v1\nmig-configs:\n  c:\n" entries
#define ON(devices)	 FILE_OF("  - devices: all\n    mig-enabled: true\n    mig-devices: " devices)

static struct bh_mig_config *parsed(const char *text)
{
	struct bh_mig_config *config = NULL;
	struct bh_error err = {0};

	if (bh_mig_config_parse(text, strlen(text), "f", &config, &err) < 0)
		fail_msg("%s", err.message);
	return config;
}

static const struct bh_mig_configuration *selected(
		const struct bh_mig_config *config, const char *name)
{
	const struct bh_mig_configuration *configuration = NULL;
	struct bh_error err = {0};

	if (bh_mig_config_select(config, name, &configuration, &err) < 0)
		fail_msg("%s", err.message);
	return configuration;
}

static const struct {
	const char *text, *message;
} refused[] = {
		{"[]", "f:1:1: a mig-parted file is a list, expected a mapping"},
		{"---\n", "f:2:1: a mig-parted file is nothing, expected a mapping"},
		{"mig-configs: {}\n", "f:1:1: field 'version' is missing in a mig-parted file, "
				      "expected 'v1'"},
		{"version: v2\n", "f:1:10: field 'version' is text 'v2', expected 'v1'"},
		{"version: 1\n", "f:1:10: field 'version' is number 1, expected 'v1'"},
		{"version: bulkhead/v1\n",
				"f:1:10: field 'version' is text 'bulkhead/v1', expected 'v1'"},
		{"version: v1\nhooks: {}\n", "f:2:1: unknown field 'hooks' in a mig-parted file, "
					     "allowed: version, mig-configs"},
		{"version: v1\nmig-config: {}\n", "f:2:1: unknown field 'mig-config' in a "
						  "mig-parted file, did you mean "
						  "'mig-configs'? allowed: version, mig-configs"},
		{"version: v1\n", "f:1:1: field 'mig-configs' is missing in a mig-parted file, "
				  "expected a mapping of names to lists of entries"},
		{"version: v1\nmig-configs:\n",
				"f:2:13: field 'mig-configs' is nothing, expected a "
				"mapping of names to lists of entries"},
		{"version: v1\nmig-configs: {}\n", "f:2:14: 'mig-configs' is empty, expected at "
						   "least one configuration"},
		{"version: v1\nmig-configs: {~: []}\n", "f:2:15: a configuration without a name"},
		{"version: v1\nmig-configs: {c: {}}\n", "f:2:18: configuration 'c' is a mapping, "
							"expected a list of entries"},
		{"version: v1\nmig-configs:\n  c:\n",
				"f:3:5: configuration 'c' is nothing, expected "
				"a list of entries"},
		{"version: v1\nmig-configs: {c: []}\n",
				"f:2:18: configuration 'c' has no entries, expected at least one"},
		{FILE_OF("  - all\n"), "f:4:5: an entry is text 'all', expected a mapping"},
		{FILE_OF("  -\n"), "f:4:4: an entry is nothing, expected a mapping"},
		{FILE_OF("  - mig-enabled: false\n"), "f:4:5: field 'devices' is missing in an "
						      "entry, expected 'all' or a "
						      "list of GPU indexes"},
		{FILE_OF("  - devices: all\n"),
				"f:4:5: field 'mig-enabled' is missing in an entry, "
				"expected true or false"},
		{FILE_OF("  - devices: all\n    mig-enabld: false\n"),
				"f:5:5: unknown field 'mig-enabld' in an entry, did you mean "
				"'mig-enabled'? allowed: device-filter, devices, mig-enabled, "
				"mig-devices"},
		{FILE_OF("  - devices: all\n    mig-enabled: yes\n"),
				"f:5:18: field 'mig-enabled' is text 'yes', expected true or "
				"false"},
		{FILE_OF("  - devices: all\n    mig-enabled: 'true'\n"),
				"f:5:18: field 'mig-enabled' is text 'true', expected true or "
				"false"},
		{FILE_OF("  - devices: all\n    mig-enabled:\n"),
				"f:5:17: field 'mig-enabled' is nothing, expected true or false"},
		{FILE_OF("  - {devices: everything, mig-enabled: false}\n"),
				"f:4:15: field 'devices' is text 'everything', expected 'all' or a "
				"list of GPU indexes"},
		{FILE_OF("  - {devices: 0, mig-enabled: false}\n"),
				"f:4:15: field 'devices' is number 0, expected 'all' or a list of "
				"GPU "
				"indexes"},
		{FILE_OF("  - {devices: ~, mig-enabled: false}\n"),
				"f:4:15: field 'devices' is nothing, expected 'all' or a list of "
				"GPU "
				"indexes"},
		{FILE_OF("  - {devices: [], mig-enabled: false}\n"),
				"f:4:15: the list of 'devices' is empty, expected 'all' or a list "
				"of "
				"GPU indexes"},
		{FILE_OF("  - {devices: [0, 64], mig-enabled: false}\n"),
				"f:4:19: an item of 'devices' is number 64, expected a GPU index "
				"from "
				"0 to 63"},
		{FILE_OF("  - {devices: [-1], mig-enabled: false}\n"),
				"f:4:16: an item of 'devices' is number -1, expected a GPU index "
				"from "
				"0 to 63"},
		{FILE_OF("  - {devices: [0-3], mig-enabled: false}\n"),
				"f:4:16: an item of 'devices' is text '0-3', expected a GPU index "
				"from "
				"0 to 63"},
		{FILE_OF("  - {devices: ['0'], mig-enabled: false}\n"),
				"f:4:16: an item of 'devices' is text '0', expected a GPU index "
				"from 0 "
				"to 63"},
		{FILE_OF("  - {devices: [1.0], mig-enabled: false}\n"),
				"f:4:16: an item of 'devices' is number 1.0, expected a GPU index "
				"from "
				"0 to 63"},
		{FILE_OF("  - {devices: [all], mig-enabled: false}\n"),
				"f:4:16: an item of 'devices' is text 'all', expected a GPU index "
				"from "
				"0 to 63"},
		{FILE_OF("  - device-filter: 0x233010DE\n    devices: all\n"
			 "    mig-enabled: false\n"),
				"f:4:20: field 'device-filter' is number 0x233010DE, expected a "
				"text "
				"in quotes, as \"0x233010DE\", or a list of them"},
		{FILE_OF("  - device-filter: {}\n    devices: all\n    mig-enabled: false\n"),
				"f:4:20: field 'device-filter' is a mapping, expected a text in "
				"quotes, as \"0x233010DE\", or a list of them"},
		{FILE_OF("  - device-filter: [0x233010DE]\n    devices: all\n"
			 "    mig-enabled: false\n"),
				"f:4:21: an item of 'device-filter' is number 0x233010DE, expected "
				"a "
				"text in quotes, as \"0x233010DE\""},
#define MALFORMED(filter, column)                                                                  \
	{                                                                                          \
		FILE_OF("  - device-filter: [\"0x233010DE\", \"" filter "\"]\n    devices: all\n"  \
			"    mig-enabled: false\n"),                                               \
				"f:4:" column ": device filter '" filter                           \
				"' is malformed, expected '0xDDDDVVVV' or "                        \
				"'0xDDDDVVVV:0xSSSSWWWW' "                                         \
				"(device and vendor, of the board and its subsystem)"              \
	}
		MALFORMED("", "35"),
		MALFORMED("0x2330", "35"),
		MALFORMED("233010DE", "35"),
		MALFORMED("0X233010DE", "35"),
		MALFORMED("0x233010DG", "35"),
		MALFORMED("0x233010DE0", "35"),
		MALFORMED("0x233010DE ", "35"),
		MALFORMED("0x233010DE:", "35"),
		MALFORMED("0x233010DE:0x16C010D", "35"),
		MALFORMED("0x233010DE:16C010DE00", "35"),
		MALFORMED("0x233010DE:0x16C010DE:0x16C010DE", "35"),
		MALFORMED("0x233010DE,0x16C010DE", "35"),
#undef MALFORMED
		{FILE_OF("  - {devices: all, mig-enabled: true}\n"),
				"f:4:5: field 'mig-devices' is missing in an entry with "
				"'mig-enabled: "
				"true'; write {} for no instances"},
		{ON("~\n"), "f:4:5: field 'mig-devices' is missing in an entry with 'mig-enabled: "
			    "true'; write {} for no instances"},
		{ON("[1g.10gb]\n"), "f:6:18: field 'mig-devices' is a list, expected a mapping of "
				    "profile names to counts"},
		{FILE_OF("  - {devices: all, mig-enabled: false, mig-devices: {1g.10gb: 1}}\n"),
				"f:4:53: field 'mig-devices' must be empty with 'mig-enabled: "
				"false'"},
		{FILE_OF("  - {mig-devices: {1g.10gb: 0}, devices: all, mig-enabled: false}\n"),
				"f:4:19: field 'mig-devices' must be empty with 'mig-enabled: "
				"false'"},
		{ON("{1g.10gb: -1}\n"),
				"f:6:28: the count of '1g.10gb' is number -1, expected a whole "
				"number from 0 to 1000"},
		{ON("{1g.10gb: 1001}\n"),
				"f:6:28: the count of '1g.10gb' is number 1001, expected a "
				"whole number from 0 to 1000"},
		{ON("{1g.10gb: 99999999999999999999}\n"),
				"f:6:28: the count of '1g.10gb' is number 99999999999999999999, "
				"expected a whole number from 0 to 1000"},
		{ON("{1g.10gb: '7'}\n"),
				"f:6:28: the count of '1g.10gb' is text '7', expected a whole "
				"number from 0 to 1000"},
		{ON("{1g.10gb: all}\n"), "f:6:28: the count of '1g.10gb' is text 'all', expected a "
					 "whole number from 0 to 1000"},
		{ON("{1g.10gb: ~}\n"),
				"f:6:28: the count of '1g.10gb' is nothing, expected a whole "
				"number from 0 to 1000"},
		{ON("{1g.10gb: 0, 2g.20gb: 0}\n"), "f:6:18: all counts in 'mig-devices' are 0; "
						   "write {} for no instances"},
		{ON("{1g.10gb: 1, 1g.10gb: 2}\n"), "f:6:31: key '1g.10gb' stands twice in one "
						   "mapping, first at line 6"},
		{ON("{'1g.10gb+me,gfx': 1, '1g.10gb+gfx,me': 2}\n"),
				"f:6:40: '1g.10gb+gfx,me' is the same profile as '1g.10gb+me,gfx' "
				"at "
				"line 6"},
		{ON("{1g.10GB: 1}\n"), "f:6:19: profile '1g.10GB': expected 'gb' at character 6, "
				       "found 'G'"},
		{ON("{1g.10gb+m: 1}\n"), "f:6:19: profile '1g.10gb+m': unknown attribute '+m' at "
					 "character 9, known are +gfx, +me, +me.all, -me"},
		{FILE_OF("  - {devices: all, mig-enabled: false}\n  d:\n  - {devices: all}\n"),
				"f:6:5: field 'mig-enabled' is missing in an entry, expected true "
				"or "
				"false"},
		{"version: v1\nmig-configs:\n  c: []\n  c: []\n",
				"f:4:3: key 'c' stands twice in one mapping, first at line 3"},
		{"version: v1\n---\nversion: v1\n",
				"f:2:1: a second document begins; a file holds one"},
};

static void every_fault_in_a_file_is_refused_with_its_place(void **state)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(refused); i++) {
		struct bh_mig_config *config = NULL;
		struct bh_error err = {0};

		if (bh_mig_config_parse(refused[i].text, strlen(refused[i].text), "f", &config,
				    &err) != -1)
			fail_msg("accepted:\n%s", refused[i].text);
		assert_string_equal(err.message, refused[i].message);
		assert_int_equal(err.code, BH_E_INVALID_FILE);
		assert_int_equal(bh_code_exit_status(err.code), 2);
		assert_int_equal(bh_mig_config_parse(refused[i].text, strlen(refused[i].text), "f",
						 &config, NULL),
				-1);
		assert_null(config);
	}
}

static void entries_say_what_the_file_says(void **state)
{
	bh_auto_mig_config struct bh_mig_config *config = parsed(
			FILE_OF("  - device-filter: [\"0x233010DE\", \"0x20b210de:0x16C010DE\"]\n"
				"    devices: [7, 0, 63]\n"
				"    mig-enabled: true\n"
				"    mig-devices:\n"
				"      \"1c.3g.40gb\": 2\n"
				"      1g.10gb+me: 1\n"
				"  - device-filter: \"\"\n"
				"    devices: all\n"
				"    mig-enabled: false\n"
				"    mig-devices: {}\n"
				"  - {devices: all, mig-enabled: true, mig-devices: {}, "
				"device-filter: []}\n"
				"  - {devices: all, mig-enabled: false, mig-devices: ~, "
				"device-filter: ~}\n"));
	const struct bh_mig_configuration *c = selected(config, NULL);
	const struct bh_mig_entry *entry = &c->entries[0];

	assert_string_equal(c->name, "c");
	assert_string_equal(c->file, "f");
	assert_int_equal(c->line, 3);
	assert_int_equal(c->column, 3);
	assert_int_equal(c->n_entries, 4);
	assert_null(c->notes);
	assert_int_equal(entry->n_filters, 2);
	assert_int_equal(entry->filters[0].device_id, 0x233010de);
	assert_true(entry->filters[0].any_subsystem);
	assert_int_equal(entry->filters[1].device_id, 0x20b210de);
	assert_false(entry->filters[1].any_subsystem);
	assert_int_equal(entry->filters[1].subsystem_id, 0x16c010de);
	assert_false(entry->all_devices);
	assert_true(entry->devices == (UINT64_C(1) << 63 | 1 << 7 | 1));
	assert_true(entry->mig_enabled);
	assert_int_equal(entry->line, 4);
	assert_int_equal(entry->devices_line, 5);
	assert_int_equal(entry->n_profiles, 2);
	assert_string_equal(entry->profiles[0].text, "1c.3g.40gb");
	assert_int_equal(entry->profiles[0].name.ci_slices, 1);
	assert_int_equal(entry->profiles[0].count, 2);
	assert_int_equal(entry->profiles[0].line, 8);
	assert_int_equal(entry->profiles[0].column, 7);
	assert_int_equal(entry->profiles[1].name.attributes, BH_PROFILE_ME);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(c->entries[i].n_filters, 0);
		assert_true(c->entries[i].all_devices);
		assert_int_equal(c->entries[i].mig_enabled, i == 2);
		assert_int_equal(c->entries[i].n_profiles, 0);
	}
}

static void odd_but_harmless_things_are_noted(void **state)
{
	static const char *const expected[] = {
			("f:4:21: device filter '0x10DE2330' matches no NVIDIA GPU: its vendor is "
			 "0x2330, not 0x10DE"),
			"f:5:18: GPU index 0 stands twice in 'devices'",
			"f:7:19: '1g.10gb: 0' beside positive counts is dropped",
			"f:7:43: '3g.40gb: 0' beside positive counts is dropped",
	};
	bh_auto_mig_config struct bh_mig_config *config =
			parsed(FILE_OF("  - device-filter: [\"0x10DE2330\"]\n"
				       "    devices: [0, 0]\n"
				       "    mig-enabled: true\n"
				       "    mig-devices: {1g.10gb: 0, 2g.20gb: 1, 3g.40gb: 0}\n"
				       "  d:\n"
				       "  - {devices: all, mig-enabled: false}\n"));
	const struct bh_mig_configuration *c = selected(config, "c");
	const struct bh_note *note = c->notes;

	for (size_t i = 0; i < BH_ARRAY_SIZE(expected); i++) {
		assert_non_null(note);
		assert_string_equal(note->text, expected[i]);
		note = note->next;
	}
	assert_null(note);
	assert_int_equal(c->entries[0].n_profiles, 1);
	assert_string_equal(c->entries[0].profiles[0].text, "2g.20gb");
	assert_null(selected(config, "d")->notes);
}

static void unknown_name_lists_names_and_the_nearest(void **state)
{
	bh_auto_mig_config struct bh_mig_config *config =
			parsed("version: v1\nmig-configs:\n"
			       "  all-1g.10gb: &a [{devices: all, mig-enabled: false}]\n"
			       "  all-disabled: *a\n");
	const struct bh_mig_configuration *c = NULL;
	const char *const *names;
	struct bh_error err = {0};
	size_t n;

	names = bh_mig_config_names(config, &n);
	assert_int_equal(n, 2);
	assert_string_equal(names[1], "all-disabled");
	assert_string_equal(selected(config, "all-disabled")->name, "all-disabled");

	assert_int_equal(bh_mig_config_select(config, "all-1g.5gb", &c, &err), -1);
	assert_int_equal(err.code, BH_E_UNKNOWN_NAME);
	assert_string_equal(err.message, "f has no configuration 'all-1g.5gb', did you mean "
					 "'all-1g.10gb'? it has: all-1g.10gb, all-disabled");
	assert_int_equal(bh_mig_config_select(config, "balanced", &c, &err), -1);
	assert_string_equal(err.message, "f has no configuration 'balanced', it has: all-1g.10gb, "
					 "all-disabled");
	assert_int_equal(bh_mig_config_select(config, NULL, &c, &err), -1);
	assert_int_equal(err.code, BH_E_USAGE);
	assert_string_equal(err.message, "f has 2 configurations, one must be selected: "
					 "all-1g.10gb, all-disabled");
	assert_null(c);
}

static void many_names_are_listed_within_bounds(void **state)
{
	static char text[40000];
	size_t used = (size_t) snprintf(text, sizeof(text), "version: v1\nmig-configs:\n");
	struct bh_mig_config *config;
	const struct bh_mig_configuration *c;
	size_t listed = 0, more = 0;
	struct bh_error err = {0};

	for (int i = 0; i < 500; i++)
		used += (size_t) snprintf(text + used, sizeof(text) - used,
				"  name-%d: [{devices: all, mig-enabled: false}]\n", i);
	config = parsed(text);
	assert_int_equal(bh_mig_config_select(config, "name-500", &c, &err), -1);
	assert_non_null(strstr(err.message, "did you mean 'name-50'? it has: name-0, name-1, "));
	for (const char *at = strstr(err.message, "has: "); at; at = strstr(at + 1, "name-"))
		listed++;
	assert_int_equal(sscanf(strstr(err.message, " and "), " and %zu more", &more), 1);
	assert_int_equal(listed - 1 + more, 500);
	assert_true(listed > 10);
	bh_mig_config_free(config);
}

/* The operators' files lie outside the project; without them there is nothing to read. */
static int operators_file(char *path, size_t size, const char *name)
{
	const char *folder = getenv("BULKHEAD_MIG_CONFIGS");
	struct stat st;

	(void) snprintf(path, size, "%s/%s", folder ? folder : BULKHEAD_MIG_CONFIGS_DEFAULT, name);
	if (stat(path, &st) == 0)
		return 0;
	(void) printf("skipped: no file %s (BULKHEAD_MIG_CONFIGS names the folder)\n", path);
	return -1;
}

static void operators_files_are_read_whole_and_every_name_is_selectable(void **state)
{
	static const struct {
		const char *name;
		size_t n_configurations;
	} files[] = {
			{"mig-parted-config-default.yaml", 0},
			{"mig-parted-config.yaml", 9},
			{"mig-parted-dgx-station-80gb-config.yaml", 9},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(files); i++) {
		bh_auto_mig_config struct bh_mig_config *config = NULL;
		const struct bh_mig_configuration *c = NULL;
		const char *const *names;
		struct bh_error err = {0};
		char path[4096];
		size_t n;

		if (operators_file(path, sizeof(path), files[i].name) < 0)
			skip();
		if (bh_mig_config_load(path, &config, &err) < 0)
			fail_msg("%s", err.message);
		names = bh_mig_config_names(config, &n);
		assert_true(n == files[i].n_configurations || files[i].n_configurations == 0);
		for (size_t j = 0; j < n; j++) {
			c = selected(config, names[j]);
			assert_string_equal(c->name, names[j]);
			assert_true(c->n_entries > 0);
			assert_null(c->notes);
		}
	}
}

static void hooks_file_is_no_configuration_file(void **state)
{
	struct bh_mig_config *config = NULL;
	bh_auto_document struct bh_document *document = NULL;
	struct bh_error err = {0};
	char path[4096];

	if (operators_file(path, sizeof(path), "mig-parted-hooks-default.yaml") < 0)
		skip();
	assert_int_equal(bh_document_load(path, NULL, &document, &err), 0);
	assert_int_equal(bh_mig_config_load(path, &config, &err), -1);
	assert_non_null(strstr(err.message,
			".yaml:2:1: unknown field 'hooks' in a mig-parted file, "
			"allowed: version, mig-configs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_fault_in_a_file_is_refused_with_its_place),
			cmocka_unit_test(entries_say_what_the_file_says),
			cmocka_unit_test(odd_but_harmless_things_are_noted),
			cmocka_unit_test(unknown_name_lists_names_and_the_nearest),
			cmocka_unit_test(many_names_are_listed_within_bounds),
			cmocka_unit_test(
					operators_files_are_read_whole_and_every_name_is_selectable),
			cmocka_unit_test(hooks_file_is_no_configuration_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
