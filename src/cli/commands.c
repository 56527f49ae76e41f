/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that parsing, help, completion and the manual page are made of. */
#include <string.h>

#include "cli/command.h"

#define CLI_LAYOUT                                                                                 \
	(CLI_DRIVER | CLI_STATE | CLI_FILE | CLI_MIG_CONFIG | CLI_SELECT | CLI_STRICT |            \
			CLI_DEADLINE | CLI_JSON | CLI_HELP)
#define CLI_READS (CLI_DRIVER | CLI_STATE | CLI_DEADLINE | CLI_JSON | CLI_HELP)

/* clang-format off */
static const struct cli_command commands[] = {
	{.name = "sim", .usage = "create|env|inject|show|reboot|…",
	 .summary = "make and drive a simulated node",
	 .details = "All arguments go to the tool of the simulated node; 'bulkhead sim' alone lists them.",
	 .words = "create env show inject reboot check clock", .run_raw = cmd_sim},
	{.name = "inventory", .usage = "[--fragmentation] [--json]",
	 .summary = "what GPUs there are, and what is on them",
	 .details = "With --fragmentation also, for each board: how many instances of each profile can be "
		    "added now, if idle ones moved, and if all did; what units and compute slices nothing "
		    "can reach; and the fewest moves that help the profile that loses most.",
	 .options = CLI_READS | CLI_FRAGMENTATION, .run = cmd_inventory},
	{.name = "profiles", .usage = "[--model MODEL]",
	 .summary = "what instances a board offers, and where they can stand",
	 .details = "Of this node's boards, as the driver says; with --model of one in the catalogue, "
		    "without a driver.",
	 .options = CLI_READS | CLI_MODEL, .run = cmd_profiles},
	{.name = "fits", .usage = "[--model MODEL] PROFILE=COUNT…",
	 .summary = "would this fit, and where; or why not, and what would",
	 .details = "On this node beside what stands there, with nothing moved; or, with --model, on a "
		    "board of the catalogue, without a driver. Exit 0 if it fits, 3 if not: then with "
		    "the condition that fails, what is in the way, what fits instead, the one move that "
		    "would make room, and how many cards would be needed.",
	 .takes_words = true,
	 .options = CLI_READS | CLI_MODEL | CLI_HAVE | CLI_GPUS | CLI_WANT | CLI_PLACEMENT,
	 .run = cmd_fits},
	{.name = "plan", .usage = "-f FILE [--select NAME]",
	 .summary = "what apply would do, and why",
	 .details = "Reads only. Exit 0, or 3 or 4 with the reason when it cannot be done.",
	 .options = CLI_LAYOUT | CLI_CHECK, .run = cmd_plan},
	{.name = "apply", .usage = "-f FILE [--select NAME]",
	 .summary = "bring the node to the wanted layout",
	 .details = "First finishes or takes back what an interrupted command left open. Instances in use "
		    "and instances of others stay; what cannot be done beside them is refused before "
		    "anything is touched. What was done is read back; what fails is taken back.",
	 .options = CLI_LAYOUT, .run = cmd_apply},
	{.name = "assert", .usage = "-f FILE [--select NAME]",
	 .summary = "does the node hold this layout",
	 .details = "Exit 0 if so, 10 if not. Judges the GPUs that the file names.",
	 .options = CLI_LAYOUT, .run = cmd_assert},
	{.name = "status", .usage = "[--json]",
	 .summary = "who holds which unit, and how the last change ended",
	 .options = CLI_READS, .run = cmd_status},
	{.name = "completion", .usage = "bash|zsh",
	 .summary = "print a script that completes commands in a shell",
	 .details = "For bash: source <(bulkhead completion bash). For zsh, in a folder of $fpath: "
		    "bulkhead completion zsh > _bulkhead.",
	 .words = "bash zsh", .run_raw = cmd_completion},
	{.name = "man", .usage = "", .summary = "print the manual page",
	 .details = "In man(7) format: bulkhead man | man -l -", .run_raw = cmd_man},
	{.name = "help", .usage = "[COMMAND]", .summary = "say how a command is used",
	 .words = "COMMAND", .run_raw = cmd_help},
	{.name = "version", .usage = "", .summary = "say which version this is",
	 .run_raw = cmd_version},
};

static const struct cli_fact exit_statuses[] = {
	{"0", "done, or nothing to do"},
	{"1", "failed; what was begun is taken back"},
	{"2", "bad arguments or file"},
	{"3", "cannot work on this hardware; nothing touched"},
	{"4", "busy; the holders are listed"},
	{"5", "needs a GPU reset"},
	{"6", "needs a reboot"},
	{"7", "partly done, listed"},
	{"8", "denied"},
	{"9", "not supported by this driver, kernel or GPU"},
	{"10", "not so (assert, plan --check, --strict)"},
	{"11", "no driver, or no answer in time"},
};

static const struct cli_fact variables[] = {
	{"BULKHEAD_DRIVER", "which driver to use where --driver does not say it"},
	{"BULKHEAD_STATE", "where state is kept where --state does not say it"},
	{"NO_COLOR", "if not empty: no colours; they are for terminals only, and not where TERM is dumb"},
	{"COLUMNS", "a width for the terminal that is less than its own"},
};

static const struct cli_fact files[] = {
	{"/var/lib/bulkhead", "the state directory, one for each machine"},
	{"/var/lib/bulkhead/ledger.db", "the journal of changes, what is ours, the wanted layouts"},
	{"/var/lib/bulkhead/lock", "held by the one command that changes the machine"},
};
/* clang-format on */

const struct cli_command *cli_commands(size_t *ret_count)
{
	*ret_count = BH_ARRAY_SIZE(commands);
	return commands;
}

const struct cli_command *cli_find_command(const char *name)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

const struct cli_fact *cli_exit_statuses(size_t *ret_count)
{
	*ret_count = BH_ARRAY_SIZE(exit_statuses);
	return exit_statuses;
}

const struct cli_fact *cli_variables(size_t *ret_count)
{
	*ret_count = BH_ARRAY_SIZE(variables);
	return variables;
}

const struct cli_fact *cli_files(size_t *ret_count)
{
	*ret_count = BH_ARRAY_SIZE(files);
	return files;
}
