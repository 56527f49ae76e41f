/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion scripts, printed from the tables of commands.c and options.c. What an option's value
 * can be follows from how the table names its argument: FILE, DIR, NAME, MODEL, or words parted by
 * '|'. The names of a file's configurations are asked of this program: completion names FILE.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "gpu/catalogue.h"
#include "spec/mig_config.h"

static const char bash_head[] =
		"# bash completion for bulkhead: source <(bulkhead completion bash)\n"
		"_bulkhead_paths()\n"
		"{\n"
		"\tcompopt -o filenames 2>/dev/null\n"
		"\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
		"}\n"
		"\n"
		"_bulkhead_names()\n"
		"{\n"
		"\tlocal file= name i\n"
		"\n"
		"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
		"\t\tcase ${COMP_WORDS[i]} in\n"
		"\t\t@FILES@)\n"
		"\t\t\tfile=${COMP_WORDS[i+1]}\n"
		"\t\t\t[ \"$file\" = = ] && file=${COMP_WORDS[i+2]}\n"
		"\t\t\t;;\n"
		"\t\tesac\n"
		"\tdone\n"
		"\tfile=${file//[\\\\\\\"\\']/}\n"
		"\tfile=${file/#\\~\\//$HOME/}\n"
		"\twhile IFS= read -r name; do\n"
		"\t\t[[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$name\")\")\n"
		"\tdone < <(\"${COMP_WORDS[0]}\" completion names \"$file\" </dev/null "
		"2>/dev/null)\n"
		"}\n"
		"\n"
		"_bulkhead()\n"
		"{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tlocal options= words=\n"
		"\tlocal IFS=$' \\t\\n'\n"
		"\n"
		"\tCOMPREPLY=()\n"
		"\tif [ \"$COMP_CWORD\" -le 1 ]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"@COMMANDS@\" -- \"$cur\")\n"
		"\t\treturn\n"
		"\tfi\n"
		"\t# '=' and ':' are words of their own here\n"
		"\tif [ \"$cur\" = = ]; then\n"
		"\t\tcur=\n"
		"\telif [ \"$prev\" = = ]; then\n"
		"\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
		"\telif [ \"$cur\" = : ]; then\n"
		"\t\tcur= prev=:\n"
		"\tfi\n"
		"\tif [ \"$prev\" = : ]; then\n"
		"\t\t_bulkhead_paths -d\n"
		"\t\treturn\n"
		"\tfi\n"
		"\tcase ${COMP_WORDS[1]} in\n";

static const char zsh_head[] =
		"#compdef bulkhead\n"
		"_bulkhead_names()\n"
		"{\n"
		"\tlocal file i\n"
		"\tlocal -a names\n"
		"\n"
		"\tfor ((i = 2; i < $#words; i++)); do\n"
		"\t\tcase $words[i] in\n"
		"\t\t(@FILES@) file=$words[i+1] ;;\n"
		"\t\t(--*=*) [[ ${words[i]%%=*} == (@FILES@) ]] && file=${words[i]#*=} ;;\n"
		"\t\tesac\n"
		"\tdone\n"
		"\tnames=(${(f)\"$($program completion names ${(Q)file} </dev/null "
		"2>/dev/null)\"})\n"
		"\tcompadd -a names\n"
		"}\n"
		"\n"
		"# words; after one that ends in a colon, a folder\n"
		"_bulkhead_alternatives()\n"
		"{\n"
		"\tlocal one\n"
		"\n"
		"\tfor one; do\n"
		"\t\tif [[ $one == *: ]] && compset -P \"$one\"; then\n"
		"\t\t\t_files -/\n"
		"\t\t\treturn\n"
		"\t\tfi\n"
		"\tdone\n"
		"\tfor one; do\n"
		"\t\tif [[ $one == *: ]]; then\n"
		"\t\t\tcompadd -S '' -- $one\n"
		"\t\telse\n"
		"\t\t\tcompadd -- $one\n"
		"\t\tfi\n"
		"\tdone\n"
		"}\n"
		"\n"
		"_bulkhead()\n"
		"{\n"
		"\tlocal program=$words[1]\n"
		"\tlocal -a commands\n"
		"\n"
		"\tcommands=(\n";

static bool is_argument(int option, const char *name)
{
	const char *argument = cli_options()[option].argument;

	return argument && strcmp(argument, name) == 0;
}

static void put_slugs(void)
{
	for (size_t i = 0; i < bh_catalogue_count(); i++)
		(void) printf("%s%s", i ? " " : "", bh_catalogue_at(i)->slug);
}

/* "nvml|sim:DIR" as "nvml sim:", with @escape before each colon */
static void put_alternatives(const char *argument, const char *escape)
{
	for (const char *c = argument; *c; c++) {
		if (strncmp(c, "DIR", 3) == 0)
			c += 2;
		else
			(void) printf("%s%c", *c == ':' ? escape : "", *c == '|' ? ' ' : *c);
	}
}

static void put_commands(void)
{
	size_t n;
	const struct cli_command *commands = cli_commands(&n);

	for (size_t i = 0; i < n; i++)
		(void) printf("%s%s", i ? " " : "", commands[i].name);
}

/* The option in both its spellings, as a shell's pattern. */
static void put_pattern(int option)
{
	const struct cli_option_info *info = &cli_options()[option];

	if (info->short_name)
		(void) printf("-%c|", info->short_name);
	(void) printf("--%s", info->name);
}

static void put_file_options(void)
{
	bool first = true;

	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		if (!is_argument(i, "FILE"))
			continue;
		if (!first)
			(void) fputc('|', stdout);
		put_pattern(i);
		first = false;
	}
}

static void put_words(const struct cli_command *command)
{
	if (strcmp(command->words, "COMMAND") == 0)
		put_commands();
	else
		(void) fputs(command->words, stdout);
}

/* A script's head, with what stands for the tables filled in. */
static void put_head(const char *text)
{
	while (*text) {
		if (strncmp(text, "@FILES@", 7) == 0) {
			put_file_options();
			text += 7;
		} else if (strncmp(text, "@COMMANDS@", 10) == 0) {
			put_commands();
			text += 10;
		} else
			(void) fputc(*text++, stdout);
	}
}

static void bash_command(const struct cli_command *command)
{
	bool first = true;

	(void) printf("\t%s)\n", command->name);
	if (command->words) {
		(void) fputs("\t\twords=\"", stdout);
		put_words(command);
		(void) fputs("\"\n", stdout);
	}
	if (command->options) {
		(void) fputs("\t\toptions=\"", stdout);
		for (int i = 0; i < CLI_OPTION_COUNT; i++) {
			if (!(command->options & 1U << i))
				continue;
			(void) printf("%s--%s", first ? "" : " ", cli_options()[i].name);
			if (cli_options()[i].short_name)
				(void) printf(" -%c", cli_options()[i].short_name);
			first = false;
		}
		(void) fputs("\"\n", stdout);
	}
	(void) fputs("\t\t;;\n", stdout);
}

static void bash_option(int option)
{
	const char *argument = cli_options()[option].argument;

	if (!argument)
		return;
	(void) fputs("\t", stdout);
	put_pattern(option);
	(void) fputs(")\n\t\t", stdout);
	if (is_argument(option, "FILE"))
		(void) fputs("_bulkhead_paths -f\n", stdout);
	else if (is_argument(option, "DIR"))
		(void) fputs("_bulkhead_paths -d\n", stdout);
	else if (is_argument(option, "NAME"))
		(void) fputs("_bulkhead_names\n", stdout);
	else if (is_argument(option, "MODEL") || strchr(argument, '|')) {
		(void) fputs("mapfile -t COMPREPLY < <(compgen -W \"", stdout);
		if (strchr(argument, '|'))
			put_alternatives(argument, "");
		else
			put_slugs();
		(void) fputs("\" -- \"$cur\")\n", stdout);
		if (strchr(argument, ':'))
			(void) fputs("\t\t[[ ${COMPREPLY[*]} == *: ]] && "
				     "compopt -o nospace 2>/dev/null\n",
					stdout);
	} else
		(void) fputs(":\n", stdout);
	(void) fputs("\t\treturn\n\t\t;;\n", stdout);
}

static void print_bash(void)
{
	size_t n;
	const struct cli_command *commands = cli_commands(&n);

	put_head(bash_head);
	for (size_t i = 0; i < n; i++)
		bash_command(&commands[i]);
	(void) fputs("\tesac\n\tcase $prev in\n", stdout);
	for (int i = 0; i < CLI_OPTION_COUNT; i++)
		bash_option(i);
	(void) fputs("\tesac\n"
		     "\t[ \"$COMP_CWORD\" -eq 2 ] && options=\"$words $options\"\n"
		     "\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
		     "}\n\ncomplete -F _bulkhead bulkhead\n",
			stdout);
}

/* Within single quotes, for _arguments and _describe. */
static void zsh_text(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '\'')
			(void) fputs("'\\''", stdout);
		else if (strchr("[]:\\", *c))
			(void) printf("\\%c", *c);
		else
			(void) fputc(*c, stdout);
	}
}

static void zsh_option(int option, bool is_short)
{
	const struct cli_option_info *info = &cli_options()[option];

	(void) fputs(" \\\n\t\t\t'", stdout);
	if (info->short_name)
		(void) printf("(-%c --%s)", info->short_name, info->name);
	if (is_short)
		(void) printf("-%c[", info->short_name);
	else
		(void) printf("--%s%s[", info->name, info->argument ? "=" : "");
	zsh_text(info->help);
	(void) fputc(']', stdout);
	if (info->argument) {
		(void) fputc(':', stdout);
		zsh_text(info->argument);
		if (is_argument(option, "FILE"))
			(void) fputs(":_files", stdout);
		else if (is_argument(option, "DIR"))
			(void) fputs(":_files -/", stdout);
		else if (is_argument(option, "NAME"))
			(void) fputs(":_bulkhead_names", stdout);
		else if (is_argument(option, "MODEL")) {
			(void) fputs(":(", stdout);
			put_slugs();
			(void) fputc(')', stdout);
		} else if (strchr(info->argument, '|')) {
			(void) fputs(": _bulkhead_alternatives ", stdout);
			put_alternatives(info->argument, "\\");
		} else
			(void) fputs(": ", stdout);
	}
	(void) fputc('\'', stdout);
}

static void zsh_command(const struct cli_command *command)
{
	(void) printf("\t(%s)\n", command->name);
	if (command->words) {
		(void) fputs("\t\t((CURRENT == 3)) && compadd ", stdout);
		put_words(command);
		(void) fputc('\n', stdout);
	}
	if (command->options) {
		(void) fputs("\t\tshift words; ((CURRENT--))\n\t\t_arguments", stdout);
		for (int i = 0; i < CLI_OPTION_COUNT; i++) {
			if (!(command->options & 1U << i))
				continue;
			if (cli_options()[i].short_name)
				zsh_option(i, /* is_short= */ true);
			zsh_option(i, /* is_short= */ false);
		}
		(void) fputc('\n', stdout);
	}
	(void) fputs("\t\t;;\n", stdout);
}

static void print_zsh(void)
{
	size_t n;
	const struct cli_command *commands = cli_commands(&n);

	put_head(zsh_head);
	for (size_t i = 0; i < n; i++) {
		(void) printf("\t\t'%s:", commands[i].name);
		zsh_text(commands[i].summary);
		(void) fputs("'\n", stdout);
	}
	(void) fputs("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n"
		     "\t\treturn\n\tfi\n\tcase $words[2] in\n",
			stdout);
	for (size_t i = 0; i < n; i++)
		zsh_command(&commands[i]);
	(void) fputs("\tesac\n}\n\n"
		     "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
		     "\t_bulkhead \"$@\"\nelse\n\tcompdef _bulkhead bulkhead\nfi\n",
			stdout);
}

/* One name a line; a script that completes has nobody to tell of errors. */
/* Such a name is not to be typed, and would act on the terminal that it is shown on. */
static bool has_control(const char *name)
{
	while (*name && (unsigned char) *name >= ' ' && *name != 0x7f)
		name++;
	return *name != '\0';
}

static int print_names(const char *path)
{
	bh_auto_mig_config struct bh_mig_config *config = NULL;
	struct bh_error err = {0};
	const char *const *names;
	size_t n;

	if (strcmp(path, "-") == 0)
		return 0; /* standard input is the person's */
	if (bh_mig_config_load(path, &config, &err) < 0)
		return cli_fail(NULL, NULL, &err);
	names = bh_mig_config_names(config, &n);
	for (size_t i = 0; i < n; i++)
		if (!has_control(names[i]))
			(void) puts(names[i]);
	return 0;
}

int cmd_completion(int argc, char **argv)
{
	struct bh_error err;

	if (argc == 2 && strcmp(argv[1], "bash") == 0)
		print_bash();
	else if (argc == 2 && strcmp(argv[1], "zsh") == 0)
		print_zsh();
	else if (argc == 3 && strcmp(argv[1], "names") == 0)
		return print_names(argv[2]);
	else {
		bh_fail(&err, BH_E_USAGE, BH_SRC_SELF, 0,
				"'completion' wants a shell: bash or zsh");
		return cli_usage_failed(cli_find_command("completion"), argc, argv, &err);
	}
	return 0;
}
