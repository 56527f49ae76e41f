/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated node has a tool of its own; this only hands over to it. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

int cmd_sim(int argc, char **argv)
{
	struct bh_error err;
	char path[4096];

	cli_sibling("sim/simctl", "../libexec/bulkhead/simctl", path, sizeof(path));
	argv[0] = (char *) "bulkhead sim";
	execv(path, argv);
	bh_fail_errno(&err, errno, "starting '%s'", path);
	bh_error_next(&err, "the simulated node is a part of the build: see the README");
	return cli_fail(NULL, NULL, &err);
}
