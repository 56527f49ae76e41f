/* SPDX-License-Identifier: Apache-2.0 */
/* Help, errors and JSON on the terminal. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

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
		(void) printf("  %-28s %s\n", left, options[i].help);
	}
}

void cli_print_help(const struct cli_command *command)
{
	size_t n;
	const struct cli_command *all = cli_commands(&n);

	if (command) {
		(void) printf("usage: bulkhead %s %s\n\n%s.\n", command->name, command->usage,
				command->summary);
		if (command->details)
			(void) printf("%s\n", command->details);
		if (command->options) {
			(void) printf("\noptions:\n");
			print_options(command);
		}
		return;
	}
	(void) printf("Bulkhead divides NVIDIA GPUs among tenants who must not affect one "
		      "another.\n\n"
		      "usage: bulkhead COMMAND [options]\n\ncommands:\n");
	for (size_t i = 0; i < n; i++)
		(void) printf("  %-10s %-34s %s\n", all[i].name, all[i].usage, all[i].summary);
	(void) printf("\n'bulkhead help COMMAND' says more. Try it without a GPU:\n"
		      "  bulkhead sim create h100x1 --dir /tmp/node && "
		      "bulkhead inventory --driver sim:/tmp/node\n"
		      "\nexit status: 0 done, or nothing to do; 1 failed; 2 bad arguments or file; "
		      "3 cannot work\non this hardware; 4 busy; 5 needs a GPU reset; 6 needs a "
		      "reboot; "
		      "7 partly done;\n8 denied; 9 not supported; 10 not so; 11 no driver, or no "
		      "answer "
		      "in time\n");
}

static void print_holders(const struct bh_error *err)
{
	for (size_t i = 0; i < err->n_holders; i++) {
		const struct bh_holder *h = &err->holders[i];

		(void) fprintf(stderr, "  held by: %s", h->kind);
		if (h->pid)
			(void) fprintf(stderr, " %d", (int) h->pid);
		if (h->name[0])
			(void) fprintf(stderr, " (%s)", h->name);
		if (h->tenant[0])
			(void) fprintf(stderr, " of tenant %s", h->tenant);
		(void) fputc('\n', stderr);
	}
	if (err->more_holders)
		(void) fprintf(stderr, "  and %zu more\n", err->more_holders);
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
	(void) fprintf(stderr, "bulkhead: %s\n", err->message);
	print_holders(err);
	if (err->next[0])
		(void) fprintf(stderr, "  next: %s\n", err->next);
	return status;
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
		(void) fprintf(stderr, "bulkhead: the answer could not be printed\n");
		return bh_code_exit_status(BH_E_INTERNAL);
	}
	return status;
}
