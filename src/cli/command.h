/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands are rows of one table, and so are the options: parsing, help and completion come
 * from the same rows. A command returns an exit status of the closed list in base/error.h.
 */
#ifndef BH_CLI_COMMAND_H
#define BH_CLI_COMMAND_H

#include "base/json.h"
#include "node/node.h"

/* X(bit, long name, short name or 0, argument or NULL, help) */
#define CLI_OPTIONS(X)                                                                             \
	X(CLI_DRIVER, "driver", 0, "nvml|sim:DIR",                                                 \
			"which driver to use (default: $BULKHEAD_DRIVER, else nvml)")              \
	X(CLI_STATE, "state", 0, "DIR",                                                            \
			"where state is kept (default: $BULKHEAD_STATE, else /var/lib/bulkhead)")  \
	X(CLI_FILE, "file", 'f', "FILE",                                                           \
			"the wanted layout, in mig-parted's format; - is standard input")          \
	X(CLI_MIG_CONFIG, "mig-config", 0, "FILE", "the same as -f")                               \
	X(CLI_SELECT, "select", 0, "NAME",                                                         \
			"the configuration in it (may be left out when there is one alone)")       \
	X(CLI_STRICT, "strict", 0, NULL, "a GPU that the file does not list is an error")          \
	X(CLI_CHECK, "check", 0, NULL, "exit 10 when something would change")                      \
	X(CLI_DEADLINE, "call-deadline", 0, "SECONDS",                                             \
			"for each driver call, 1 to 3600 (default: by kind, 30 to 120)")           \
	X(CLI_MODEL, "model", 0, "MODEL",                                                          \
			"a board of the catalogue (default: those of this node)")                  \
	X(CLI_HAVE, "have", 0, "PROFILE@START",                                                    \
			"with --model: what stands on the board already; may be repeated")         \
	X(CLI_GPUS, "gpus", 0, "N",                                                                \
			"with --model: how many such boards, 1 to 64 (default: 1; --have is on "   \
			"the first)")                                                              \
	X(CLI_WANT, "want", 0, "WANT",                                                             \
			"a need instead of a profile: memory=38GiB,compute=40%, or "               \
			"profile=3g.40gb,count=2")                                                 \
	X(CLI_PLACEMENT, "placement", 0, "POLICY",                                                 \
			"which of the places that fit: scarcity (default; keeps what is "          \
			"scarce and asked for), pack or spread")                                   \
	X(CLI_FRAGMENTATION, "fragmentation", 0, NULL,                                             \
			"add how many instances the arrangement costs, and the cheapest repack")   \
	X(CLI_JSON, "json", 0, NULL, "print one JSON document")                                    \
	X(CLI_HELP, "help", 'h', NULL, "say how this is used")

#define CLI_WORDS_MAX 32 /* words of one command, and repetitions of an option */

enum cli_option_number {
#define X(bit, name, short_name, argument, help) bit##_NUMBER,
	CLI_OPTIONS(X)
#undef X
			CLI_OPTION_COUNT
};

enum cli_option {
#define X(bit, name, short_name, argument, help) bit = 1 << bit##_NUMBER,
	CLI_OPTIONS(X)
#undef X
};

struct cli_option_info {
	const char *name, *argument, *help;
	char short_name;
};

/* What was given on the command line, with defaults filled in. Texts are borrowed. */
struct cli_args {
	const char *values[CLI_OPTION_COUNT]; /* NULL = not given; flags: "" */
	const char *driver, *state_dir;
	const char *file;
	uint32_t call_deadline_ms;
	bool json;
	const char *words[CLI_WORDS_MAX], *haves[CLI_WORDS_MAX]; /* in the order given */
	size_t n_words, n_haves;
	char worker_path[4096], driver_text[4200];
};

struct cli_command {
	const char *name, *usage, *summary;
	const char *details;  /* for --help, a paragraph; may be NULL */
	bool takes_words;     /* it has arguments that are no options */
	const char *words;    /* what its first argument can be, parted by spaces; "COMMAND": any
				 command's name; NULL: no argument */
	unsigned int options; /* enum cli_option bits; 0: it takes its arguments as they are */
	int (*run)(const struct cli_args *args);
	int (*run_raw)(int argc, char **argv); /* instead of run, when options is 0 */
};

/* A name and what it means: an exit status, a variable, a file. */
struct cli_fact {
	const char *name, *text;
};

/**
 * cli_options() - the table of options
 *
 * Return: CLI_OPTION_COUNT rows.
 */
const struct cli_option_info *cli_options(void);

/**
 * cli_commands() - the table of commands
 * @ret_count: how many rows
 */
const struct cli_command *cli_commands(size_t *ret_count);

/**
 * cli_find_command() - the row of a command
 * @name: borrowed
 *
 * Return: a constant, NULL if there is none.
 */
const struct cli_command *cli_find_command(const char *name);

/**
 * cli_exit_statuses() - the table of exit statuses
 * @ret_count: how many rows, one for each status
 */
const struct cli_fact *cli_exit_statuses(size_t *ret_count);

/**
 * cli_variables() - the table of environment variables
 * @ret_count: how many rows
 */
const struct cli_fact *cli_variables(size_t *ret_count);

/**
 * cli_files() - the table of files
 * @ret_count: how many rows
 */
const struct cli_fact *cli_files(size_t *ret_count);

/**
 * cli_usage_failed() - print that a command was used wrongly, and give its exit status
 * @command: whose help is pointed to
 * @argc:    the command's words, for --json among them
 * @argv:    likewise
 * @err:     borrowed; a next step is added if it has none
 */
int cli_usage_failed(
		const struct cli_command *command, int argc, char **argv, struct bh_error *err);

/**
 * cli_parse() - read a command's arguments by its row
 * @command:  borrowed
 * @argc:     as main() has it, from the command's name on
 * @argv:     likewise; borrowed for the life of @ret_args
 * @ret_args: written on success
 * @err:      USAGE
 */
int cli_parse(const struct cli_command *command, int argc, char **argv, struct cli_args *ret_args,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * cli_print_help() - all commands, or one
 * @command: NULL for all
 */
void cli_print_help(const struct cli_command *command);

/**
 * cli_sibling() - a program that was built or installed beside this one
 * @in_build:  its path from this program's folder in the build tree
 * @installed: its path from this program's folder when installed
 * @buffer:    receives the path
 * @size:      bytes in @buffer
 */
void cli_sibling(const char *in_build, const char *installed, char *buffer, size_t size);

/**
 * cli_fail() - print an error as --json or for people, and give its exit status
 * @args:     borrowed; NULL for people
 * @document: with --json the document that the error is added to, stolen; NULL for none
 * @err:      borrowed
 */
int cli_fail(const struct cli_args *args, json_t *document, const struct bh_error *err);

/** cli_complain_unprinted() - say on stderr that nobody got the answer, and where it is to be had */
void cli_complain_unprinted(void);

/**
 * cli_print_json() - print a document and give the exit status
 * @document: stolen; NULL (out of memory) is an internal failure
 * @status:   the exit status if it could be printed
 */
int cli_print_json(json_t *document, int status);

/**
 * cli_node_config() - what the common options say of the node
 * @args: borrowed, and for the life of the result
 */
static inline struct bh_node_config cli_node_config(const struct cli_args *args)
{
	return (struct bh_node_config){
			.driver = args->driver,
			.state_dir = args->state_dir,
			.worker_path = args->worker_path,
			.version = BH_VERSION,
			.call_deadline_ms = args->call_deadline_ms,
	};
}

/**
 * cmd_sim() - hand over to the simulated node's own tool
 * @argc: from the command's name on
 * @argv: likewise
 */
int cmd_sim(int argc, char **argv);

/**
 * cmd_help() - print help
 * @argc: from the command's name on
 * @argv: likewise
 */
int cmd_help(int argc, char **argv);

/**
 * cmd_version() - print the version
 * @argc: unused
 * @argv: unused
 */
int cmd_version(int argc, char **argv);

/**
 * cmd_completion() - print a completion script
 * @argc: from the command's name on
 * @argv: likewise
 */
int cmd_completion(int argc, char **argv);

/**
 * cmd_man() - print the manual page
 * @argc: from the command's name on
 * @argv: likewise
 */
int cmd_man(int argc, char **argv);

/**
 * cmd_inventory() - print what the node has
 * @args: borrowed
 */
int cmd_inventory(const struct cli_args *args);

/**
 * cmd_profiles() - print what boards offer
 * @args: borrowed
 */
int cmd_profiles(const struct cli_args *args);

/**
 * cmd_fits() - say whether a wish fits, where, or why not
 * @args: borrowed
 */
int cmd_fits(const struct cli_args *args);

/**
 * cmd_plan() - print what apply would do
 * @args: borrowed
 */
int cmd_plan(const struct cli_args *args);

/**
 * cmd_apply() - bring the node to the wanted layout
 * @args: borrowed
 */
int cmd_apply(const struct cli_args *args);

/**
 * cmd_assert() - compare the node with a layout
 * @args: borrowed
 */
int cmd_assert(const struct cli_args *args);

/**
 * cmd_status() - print who holds what and how the last change ended
 * @args: borrowed
 */
int cmd_status(const struct cli_args *args);

#endif
