/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/chassis.h"

/* FAMILYxN or FAMILYxN-VARIANT */
static const struct {
	const char *family, *variant, *slug;
} aliases[] = {
		{"a100", "40gb", "a100-40gb"},
		{"a100", "80gb", "a100-80gb"},
		{"a30", "", "a30-24gb"},
		{"h100", "", "h100-sxm5-80gb"},
		{"h100pcie", "", "h100-pcie-80gb"},
		{"h100nvl", "", "h100-nvl-94gb"},
		{"h200", "", "h200-141gb"},
		{"b200", "", "b200-180gb"},
		{"gh200", "", "gh200-96gb"},
		{"rtxpro6000", "", "rtx-pro-6000-blackwell-96gb"},
		{"l40s", "", "l40s-48gb"},
		{"t4", "", "t4-16gb"},
};

/* A node as no vendor sells it: every kind of board that behaves in a way of its own. */
#define MIXED "a100-40gbx2,h100-sxm5-80gbx2,a30-24gbx1,rtx-pro-6000-blackwell-96gbx1,l40s-48gbx1"

static const struct sim_board *find(const char *family, const char *variant)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(aliases); i++) {
		if (strcmp(aliases[i].family, family) == 0 &&
				strcmp(aliases[i].variant, variant) == 0)
			return sim_board_find(aliases[i].slug);
	}
	return variant[0] ? NULL : sim_board_find(family);
}

/* The last 'x' with a number behind it, up to the end or a '-'. */
static char *find_count(char *word)
{
	for (char *x = strrchr(word, 'x'); x && x > word; x--) {
		size_t digits;

		if (*x != 'x')
			continue;
		digits = strspn(x + 1, "0123456789");
		if (digits && (!x[1 + digits] || x[1 + digits] == '-'))
			return x;
	}
	return NULL;
}

static int add(struct sim_machine *machine, char *word, struct bh_error *err)
{
	char *x = find_count(word), *end = NULL;
	const struct sim_board *board;
	unsigned long n = 1;

	if (x) {
		n = strtoul(x + 1, &end, 10);
		*x = '\0';
	}
	board = find(word, end && *end == '-' ? end + 1 : "");
	if (!board)
		return bh_fail(err, BH_E_UNKNOWN_NAME, BH_SRC_SELF, 0, "there is no board '%s'",
				word);
	if (board->refused[0])
		return bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"board '%s' cannot be simulated: %s", board->slug, board->refused);
	if (n < 1 || n > SIM_GPUS_MAX - machine->n_gpus)
		return bh_fail(err, BH_E_UNKNOWN_NAME, BH_SRC_SELF, 0, "a node has 1 to %d GPUs",
				SIM_GPUS_MAX);
	while (n--)
		machine->gpus[machine->n_gpus++].board = board;
	return 0;
}

int ctl_machine_parse(const char *name, struct sim_machine *ret_machine, struct bh_error *err)
{
	struct sim_machine machine = {.driver = CTL_DRIVER};
	char words[256], *rest = words, *word;

	if (snprintf(machine.name, sizeof(machine.name), "%s", name) >= (int) sizeof(machine.name))
		return bh_fail(err, BH_E_UNKNOWN_NAME, BH_SRC_SELF, 0, "the name is too long");
	(void) snprintf(words, sizeof(words), "%s", strcmp(name, "mixed") == 0 ? MIXED : name);
	while ((word = strsep(&rest, ","))) {
		if (add(&machine, word, err) < 0)
			return bh_while(err, "machine '%s'", name);
	}
	ctl_chassis_put(&machine);
	*ret_machine = machine;
	return 0;
}

void ctl_machine_list(void)
{
	(void) fputs("possible machines (N = 1 to 16):", stderr);
	for (size_t i = 0; i < sim_n_boards; i++) {
		if (!sim_boards[i].refused[0])
			(void) fprintf(stderr, " %sxN", sim_boards[i].slug);
	}
	(void) fputs("\nand in short:", stderr);
	for (size_t i = 0; i < BH_ARRAY_SIZE(aliases); i++)
		(void) fprintf(stderr, " %sxN%s%s", aliases[i].family,
				aliases[i].variant[0] ? "-" : "", aliases[i].variant);
	(void) fputs(" mixed\nseveral with commas between them make one node, or a machine file: a "
		     "path with a '/' or ending in .yaml\n",
			stderr);
}
