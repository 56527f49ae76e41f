/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static const struct cli_option_info options[CLI_OPTION_COUNT] = {
#define X(bit, long_name, letter, arg, text)                                                       \
	[bit##_NUMBER] = {.name = long_name, .argument = arg, .help = text, .short_name = letter},
		CLI_OPTIONS(X)
#undef X
};

const struct cli_option_info *cli_options(void)
{
	return options;
}

void cli_sibling(const char *in_build, const char *installed, char *buffer, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	(void) snprintf(buffer, size, "%s/%s", self, in_build);
	if (access(buffer, X_OK) < 0)
		(void) snprintf(buffer, size, "%s/%s", self, installed);
}

/* Finds "--name", "--name=value" or "-f"; @ret_value is NULL unless it was glued on. */
static int find_option(const char *word, const char **ret_value)
{
	*ret_value = NULL;
	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		size_t n = strlen(options[i].name);

		if (word[0] == '-' && word[1] && word[1] == options[i].short_name && !word[2])
			return i;
		if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, options[i].name, n) != 0)
			continue;
		if (word[2 + n] == '=')
			*ret_value = word + 3 + n;
		if (word[2 + n] == '=' || !word[2 + n])
			return i;
	}
	return -1;
}

static int keep(const char *word, const char **list, size_t *n, struct bh_error *err)
{
	if (*n == CLI_WORDS_MAX)
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "'%s': more than %d of these", word,
				CLI_WORDS_MAX);
	list[(*n)++] = word;
	return 0;
}

static int parse_words(const struct cli_command *command, int argc, char **argv,
		struct cli_args *args, struct bh_error *err)
{
	for (int i = 1; i < argc; i++) {
		const char *value;
		int number = find_option(argv[i], &value);

		if (argv[i][0] != '-' && command->takes_words) {
			if (keep(argv[i], args->words, &args->n_words, err) < 0)
				return -1;
			continue;
		}
		if (number < 0 || !(command->options & 1U << number))
			return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "'%s' takes no %s '%s'",
					command->name, argv[i][0] == '-' ? "option" : "argument",
					argv[i]);
		if (args->values[number] && number != CLI_HAVE_NUMBER)
			return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "--%s is given twice",
					options[number].name);
		if (!options[number].argument && value)
			return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "--%s takes no value",
					options[number].name);
		if (options[number].argument && !value) {
			if (i + 1 == argc)
				return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
						"--%s wants a value: %s", options[number].name,
						options[number].argument);
			value = argv[++i];
		}
		if (number == CLI_HAVE_NUMBER && keep(value, args->haves, &args->n_haves, err) < 0)
			return -1;
		args->values[number] = value ? value : "";
	}
	return 0;
}

static int read_deadline(struct cli_args *args, struct bh_error *err)
{
	const char *text = args->values[CLI_DEADLINE_NUMBER];
	unsigned long seconds;
	char *end;

	if (!text)
		return 0;
	seconds = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || seconds < 1 || seconds > 3600)
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"--call-deadline '%s': a whole number of seconds from 1 to 3600 is "
				"wanted",
				text);
	args->call_deadline_ms = (uint32_t) seconds * 1000;
	return 0;
}

static const char *first_of(const char *given, const char *variable, const char *fallback)
{
	const char *value = given ? given : getenv(variable);

	return value && (given || value[0]) ? value : fallback;
}

/* One node, one name, from wherever it is called. */
static const char *real_driver(const char *driver, char *buffer, size_t size)
{
	char path[PATH_MAX];

	if (strncmp(driver, "sim:", 4) != 0 || !realpath(driver + 4, path))
		return driver;
	(void) snprintf(buffer, size, "sim:%s", path);
	return buffer;
}

static int fill_defaults(
		const struct cli_command *command, struct cli_args *args, struct bh_error *err)
{
	args->json = args->values[CLI_JSON_NUMBER] != NULL;
	args->driver = first_of(args->values[CLI_DRIVER_NUMBER], "BULKHEAD_DRIVER", "nvml");
	args->state_dir = first_of(
			args->values[CLI_STATE_NUMBER], "BULKHEAD_STATE", "/var/lib/bulkhead");
	args->file = args->values[CLI_FILE_NUMBER] ? args->values[CLI_FILE_NUMBER]
						   : args->values[CLI_MIG_CONFIG_NUMBER];
	if (args->values[CLI_HELP_NUMBER])
		return 0;
	if (strcmp(args->driver, "nvml") != 0 &&
			(strncmp(args->driver, "sim:", 4) != 0 || !args->driver[4]))
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"there is no driver '%s': nvml or sim:DIR is wanted", args->driver);
	args->driver = real_driver(args->driver, args->driver_text, sizeof(args->driver_text));
	if (!args->state_dir[0])
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "--state is empty");
	if (args->values[CLI_FILE_NUMBER] && args->values[CLI_MIG_CONFIG_NUMBER])
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"-f and --mig-config are both given: one layout is wanted");
	if (command->options & CLI_FILE && !args->file)
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "'%s' wants a layout: -f FILE",
				command->name);
	cli_sibling("bulkhead-worker", "../libexec/bulkhead/bulkhead-worker", args->worker_path,
			sizeof(args->worker_path));
	return read_deadline(args, err);
}

int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *ret_args,
		struct bh_error *err)
{
	memset(ret_args, 0, sizeof(*ret_args));
	if (parse_words(command, argc, argv, ret_args, err) < 0)
		return -1;
	return fill_defaults(command, ret_args, err);
}
