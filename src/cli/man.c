/* SPDX-License-Identifier: Apache-2.0 */
/* bulkhead(1) in man(7) format, from the tables of commands.c and options.c. */
#include <stdio.h>

#include "cli/command.h"

/* A roff text: no hyphen may become a dash, no line a request. */
static void put(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '\\')
			(void) fputs("\\e", stdout);
		else if (*c == '-')
			(void) fputs("\\-", stdout);
		else if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n'))
			(void) printf("\\&%c", *c);
		else if ((unsigned char) *c == 0xe2 && (unsigned char) c[1] == 0x80 &&
				(unsigned char) c[2] == 0xa6) {
			(void) fputs("...", stdout); /* an ellipsis, for terminals without one */
			c += 2;
		} else
			(void) fputc(*c, stdout);
	}
}

static void put_line(const char *text)
{
	put(text);
	(void) fputc('\n', stdout);
}

static void put_option(const struct cli_option_info *option)
{
	(void) fputs(".TP\n\\fB", stdout);
	if (option->short_name)
		(void) printf("\\-%c\\fR, \\fB", option->short_name);
	put("--");
	put(option->name);
	(void) fputs("\\fR", stdout);
	if (option->argument) {
		(void) fputs(" \\fI", stdout);
		put(option->argument);
		(void) fputs("\\fR", stdout);
	}
	(void) fputc('\n', stdout);
	put_line(option->help);
}

static void put_usage(const struct cli_command *command)
{
	(void) printf(".B bulkhead %s\n", command->name);
	if (command->usage[0])
		put_line(command->usage);
}

static void put_command(const struct cli_command *command)
{
	(void) printf(".SS %s\n", command->name);
	put_usage(command);
	(void) fputs(".PP\n", stdout);
	put(command->summary);
	(void) fputs(".\n", stdout);
	if (command->details)
		put_line(command->details);
	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		if (command->options & 1U << i)
			put_option(&cli_options()[i]);
	}
}

static void put_facts(const char *title, const struct cli_fact *facts, size_t n)
{
	(void) printf(".SH %s\n", title);
	for (size_t i = 0; i < n; i++) {
		(void) fputs(".TP\n.B ", stdout);
		put_line(facts[i].name);
		put_line(facts[i].text);
	}
}

int cmd_man(int argc, char **argv)
{
	size_t n_commands, n;
	const struct cli_command *commands = cli_commands(&n_commands);
	const struct cli_fact *facts;

	if (argc > 1) {
		struct bh_error err;

		bh_fail(&err, BH_E_USAGE, BH_SRC_SELF, 0, "'man' takes no argument '%s'", argv[1]);
		return cli_usage_failed(cli_find_command("man"), argc, argv, &err);
	}
	(void) printf(".TH BULKHEAD 1 \"\" \"Bulkhead " BH_VERSION "\" \"User Commands\"\n"
		      ".SH NAME\nbulkhead \\- divide NVIDIA GPUs among tenants\n.SH SYNOPSIS\n");
	for (size_t i = 0; i < n_commands; i++) {
		put_usage(&commands[i]);
		(void) fputs(".br\n", stdout);
	}
	(void) printf(".SH DESCRIPTION\nBulkhead divides NVIDIA GPUs among tenants who must not "
		      "affect one another.\nOn a real driver it needs root.\n"
		      ".SH COMMANDS\n");
	for (size_t i = 0; i < n_commands; i++)
		put_command(&commands[i]);
	facts = cli_exit_statuses(&n);
	put_facts("EXIT STATUS", facts, n);
	facts = cli_variables(&n);
	put_facts("ENVIRONMENT", facts, n);
	facts = cli_files(&n);
	put_facts("FILES", facts, n);
	return 0;
}
