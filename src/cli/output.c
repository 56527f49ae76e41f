/* SPDX-License-Identifier: Apache-2.0 */
/* Help, errors and JSON on the terminal. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/terminal.h"

static void print_title(const char *title)
{
	(void) printf("\n");
	cli_line(stdout, CLI_PLAIN, 0, "%s", title);
}

static void print_options(const struct cli_command *command)
{
	const struct cli_option_info *options = cli_options();

	for (int i = 0; i < CLI_OPTION_COUNT; i++) {
		char left[64];

		if (!(command->options & 1U << i))
			continue;
		(void) snprintf(left, sizeof(left), "%s%c%s--%s%s%s",
				options[i].short_name ? "-" : "  ",
				options[i].short_name ? options[i].short_name : ' ',
				options[i].short_name ? ", " : " ", options[i].name,
				options[i].argument ? " " : "",
				options[i].argument ? options[i].argument : "");
		cli_line(stdout, CLI_PLAIN, 31, "  %-28s %s", left, options[i].help);
	}
}

void cli_print_help(const struct cli_command *command)
{
	size_t n;
	const struct cli_command *all = cli_commands(&n);
	const struct cli_fact *facts;

	if (command) {
		cli_line(stdout, CLI_PLAIN, 7, "usage: bulkhead %s %s", command->name,
				command->usage);
		(void) printf("\n");
		cli_line(stdout, CLI_PLAIN, 0, "%s.", command->summary);
		if (command->details)
			cli_line(stdout, CLI_PLAIN, 0, "%s", command->details);
		if (command->options) {
			print_title("options:");
			print_options(command);
		}
		return;
	}
	cli_line(stdout, CLI_PLAIN, 0,
			"Bulkhead divides NVIDIA GPUs among tenants who must not affect one "
			"another.");
	(void) printf("\n");
	cli_line(stdout, CLI_PLAIN, 7, "usage: bulkhead COMMAND [options]");
	print_title("commands:");
	for (size_t i = 0; i < n; i++)
		cli_line(stdout, CLI_PLAIN, 13, "  %-10s %-34s %s", all[i].name, all[i].usage,
				all[i].summary);
	print_title("'bulkhead help COMMAND' says more. Try it without a GPU:");
	cli_line(stdout, CLI_PLAIN, 4,
			"  bulkhead sim create h100x1 --dir /tmp/node && bulkhead inventory "
			"--driver "
			"sim:/tmp/node");
	print_title("exit status:");
	facts = cli_exit_statuses(&n);
	for (size_t i = 0; i < n; i++)
		cli_line(stdout, CLI_PLAIN, 5, "  %2s %s", facts[i].name, facts[i].text);
}

static void print_holders(const struct bh_error *err)
{
	for (size_t i = 0; i < err->n_holders; i++) {
		const struct bh_holder *h = &err->holders[i];
		char pid[24] = "";

		if (h->pid)
			(void) snprintf(pid, sizeof(pid), " %d", (int) h->pid);
		cli_line(stderr, CLI_PLAIN, 4, "  held by: %s%s%s%s%s%s%s", h->kind, pid,
				h->name[0] ? " (" : "", h->name, h->name[0] ? ")" : "",
				h->tenant[0] ? " of tenant " : "", h->tenant);
	}
	if (err->more_holders)
		cli_line(stderr, CLI_PLAIN, 4, "  and %zu more", err->more_holders);
}

/* One document still, when there is no memory for a true one. @message needs no escapes. */
static int print_bare_error(enum bh_code code, const char *message)
{
	(void) printf("{\"error\": {\"code\": \"%s\", \"message\": \"%s\", \"source\": \"self\", "
		      "\"native\": 0, \"gpu\": null, \"holders\": [], \"next\": null}}\n",
			bh_code_name(code), message);
	(void) fflush(stdout); /* main() looks at the stream's state */
	return bh_code_exit_status(code);
}

int cli_fail(const struct cli_args *args, json_t *document, const struct bh_error *err)
{
	int status = bh_code_exit_status(err->code);
	bh_auto_json json_t *owned = document;
	json_t *json;

	if (args && args->json) {
		json = bh_error_to_json(err);
		if (!owned)
			owned = json_object();
		if (json && bh_json_set(owned, "error", json, NULL) == 0)
			return cli_print_json(json_incref(owned), status);
		return print_bare_error(err->code, "out of memory while saying why");
	}
	cli_line(stderr, CLI_RED, 2, "bulkhead: %s", err->message);
	print_holders(err);
	if (err->next[0])
		cli_line(stderr, CLI_PLAIN, 4, "  next: %s", err->next);
	return status;
}

void cli_complain_unprinted(void)
{
	(void) fprintf(stderr, "bulkhead: the answer could not be printed; what was done stands\n"
			       "  next: see 'bulkhead status'\n");
}

int cli_print_json(json_t *document, int status)
{
	bh_auto_json json_t *owned = document;
	bh_auto_free char *text = owned ? json_dumps(owned, JSON_INDENT(2)) : NULL;

	if (!text) {
		(void) fprintf(stderr, "bulkhead: out of memory, the answer cannot be said\n");
		return print_bare_error(BH_E_NO_MEMORY, "out of memory, the answer cannot be said");
	}
	if (printf("%s\n", text) < 0 || fflush(stdout) == EOF) {
		cli_complain_unprinted();
		return bh_code_exit_status(BH_E_INTERNAL);
	}
	return status;
}
