/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

static bool wants_json(int argc, char **argv)
{
	bool wants = false;

	for (int i = 1; i < argc; i++)
		wants = wants || strcmp(argv[i], "--json") == 0;
	return wants;
}

static int no_such_command(const char *name, bool json)
{
	struct cli_args args = {.json = json};
	struct bh_error err;

	bh_fail(&err, BH_E_USAGE, BH_SRC_SELF, 0, "there is no command '%s'", name);
	bh_error_next(&err, "'bulkhead help' lists the commands");
	return cli_fail(&args, NULL, &err);
}

int cmd_help(int argc, char **argv)
{
	const struct cli_command *command = argc > 1 ? cli_find_command(argv[1]) : NULL;

	if (argc > 1 && !command)
		return no_such_command(argv[1], wants_json(argc, argv));
	if (command && command->run == NULL && command->run_raw == cmd_sim)
		return cmd_sim(2, (char *[]){(char *) "sim", (char *) "--help", NULL});
	cli_print_help(command);
	return 0;
}

int cmd_version(int argc, char **argv)
{
	(void) printf("bulkhead %s\n", BH_VERSION);
	return 0;
}

/* A failed parse still answers in the form that was asked for. */
int cli_usage_failed(const struct cli_command *command, int argc, char **argv, struct bh_error *err)
{
	struct cli_args args = {.json = wants_json(argc, argv)};

	if (!err->next[0])
		bh_error_next(err, "'bulkhead help %s' says how it is used", command->name);
	return cli_fail(&args, NULL, err);
}

static int dispatch(int argc, char **argv)
{
	const struct cli_command *command;
	struct bh_error err;
	struct cli_args args;

	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		cli_print_help(NULL);
		return argc < 2 ? bh_code_exit_status(BH_E_USAGE) : 0;
	}
	if (strcmp(argv[1], "--version") == 0)
		return cmd_version(argc - 1, argv + 1);
	command = cli_find_command(argv[1]);
	if (!command)
		return no_such_command(argv[1], wants_json(argc, argv));
	if (command->run_raw && command->run_raw != cmd_sim && argc == 3 &&
			(strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
		cli_print_help(command);
		return 0;
	}
	if (command->run_raw)
		return command->run_raw(argc - 1, argv + 1);
	if (cli_parse(command, argc - 1, argv + 1, &args, &err) < 0)
		return cli_usage_failed(command, argc - 1, argv + 1, &err);
	if (args.values[CLI_HELP_NUMBER]) {
		cli_print_help(command);
		return 0;
	}
	return command->run(&args);
}

/* Descriptors 0 to 2 must be taken before anything else is opened, or a file would become stdout. */
static void fill_standard_descriptors(void)
{
	int fd = open("/dev/null", O_RDWR);

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = dup(fd);
	if (fd > STDERR_FILENO)
		(void) close(fd);
}

int main(int argc, char **argv)
{
	bool had_stdout = fcntl(STDOUT_FILENO, F_GETFD) >= 0 || errno != EBADF;
	int status;

	fill_standard_descriptors();
	(void) signal(SIGPIPE, SIG_IGN);
	(void) signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is a full disk, and told as one */
	(void) signal(SIGCHLD, SIG_DFL); /* a parent that ignores it would hide our workers' ends */
	status = dispatch(argc, argv);
	/* an answer that nobody got is no success */
	if ((fflush(stdout) == EOF || ferror(stdout) || !had_stdout) && status == 0) {
		cli_complain_unprinted();
		status = bh_code_exit_status(BH_E_INTERNAL);
	}
	return status;
}
