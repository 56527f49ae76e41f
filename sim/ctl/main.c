/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/mig.h"
#include "model/nodes.h"
#include "model/procfs.h"

static const struct {
	const char *name, *arguments, *purpose;
	int (*run)(int argc, char **argv);
} commands[] = {
		{"create", "MACHINE|FILE --dir DIR [--seed N] [--force]",
				"lay out a simulated node", ctl_create},
		{"env", "DIR", "print shell lines that point programs at it", ctl_env},
		{"show", "DIR [--json]", "what it has, who is there, what was called", ctl_show},
		{"inject", "DIR WHAT [KEY=VALUE]…",
				"holders, faults, delays; without WHAT: the list", ctl_inject},
		{"reboot", "DIR [--module-reload]", "start it anew, or only the driver",
				ctl_reboot},
		{"check", "DIR [--repair]",
				"whether its state is sound: 0, or 1 if not, or 2 if it is none",
				ctl_check},
		{"clock", "DIR real|scale=N|step=MS",
				"the clock that it runs on: the machine's, N times as fast, or "
				"forwards at once",
				ctl_clock},
};

int ctl_complain(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void) fputs("bulkhead sim: ", stderr);
	(void) vfprintf(stderr, format, args);
	(void) fputc('\n', stderr);
	va_end(args);
	return status;
}

bool ctl_dir(const char *path, char *buffer, size_t size)
{
	char here[4000] = "";
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (path[0] != '/' && !getcwd(here, sizeof(here)))
		return false;
	return snprintf(buffer, size, "%s%s%.*s", here, here[0] ? "/" : "", (int) n, path) <
	       (int) size;
}

int ctl_open(const char *path, struct sim_map *ret_map)
{
	struct bh_error err;
	char dir[4000];

	if (!ctl_dir(path, dir, sizeof(dir)))
		return ctl_complain(CTL_USAGE, "the path is too long");
	if (sim_map_open(dir, ret_map, &err) < 0)
		return ctl_complain(err.code == BH_E_NO_DRIVER ? CTL_USAGE : CTL_FAILED, "%s",
				err.message);
	return CTL_DONE;
}

int ctl_wedged(const char *path)
{
	struct bh_error err;

	(void) sim_wedged(path, &err);
	return ctl_complain(CTL_FAILED, "%s", err.message);
}

int ctl_end(struct sim_tx *tx, enum sim_result result, const char *path)
{
	return sim_tx_end(tx, result) == SIM_WEDGED ? ctl_wedged(path) : CTL_DONE;
}

static bool is_plain(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789/._-+:@%")] == '\0';
}

static void print_export(const char *name, const char *prefix, const char *dir, const char *suffix)
{
	if (is_plain(dir)) {
		(void) printf("export %s=%s%s%s\n", name, prefix, dir, suffix);
		return;
	}
	(void) printf("export %s='%s", name, prefix);
	for (; *dir; dir++)
		(void) (*dir == '\'' ? printf("'\\''") : putchar(*dir));
	(void) printf("'%s\n", suffix); /* which quotes itself what must be */
}

int ctl_env(int argc, char **argv)
{
	struct sim_map map;
	char dir[4000];
	int rc;

	if (argc != 2 || !ctl_dir(argv[1], dir, sizeof(dir)))
		return ctl_complain(CTL_USAGE, "env DIR");
	rc = ctl_open(dir, &map);
	if (rc != CTL_DONE)
		return rc;
	sim_map_close(&map);
	print_export("LD_LIBRARY_PATH", "", dir, "/lib");
	print_export("BULKHEAD_DRIVER", "sim:", dir, "");
	print_export("BULKHEAD_SIM", "", dir, "");
	print_export("PATH", "", dir, "/bin:\"$PATH\"");
	return CTL_DONE;
}

int ctl_reboot(int argc, char **argv)
{
	bool reload = argc == 3 && strcmp(argv[2], "--module-reload") == 0;
	enum sim_result result;
	struct sim_map map;
	struct sim_tx tx;
	char dir[4000];
	int rc;

	if (argc < 2 || argc > 3 || (argc == 3 && !reload) || !ctl_dir(argv[1], dir, sizeof(dir)))
		return ctl_complain(CTL_USAGE, "reboot DIR [--module-reload]");
	rc = ctl_open(argv[1], &map);
	if (rc != CTL_DONE)
		return rc;
	sim_tx_begin(&tx, &map, /* take_back= */ false);
	result = sim_tx_end(&tx, sim_reboot(&tx, reload));
	if (result == SIM_OK && !reload)
		sim_nodes_forget(dir);
	if (result == SIM_OK)
		(void) sim_procfs_sync(dir, &map); /* or the next one who may */
	sim_map_close(&map);
	if (result == SIM_WEDGED)
		return ctl_wedged(argv[1]);
	if (result == SIM_IN_USE)
		return ctl_complain(CTL_BUSY, "the module is in use: a GPU is held");
	return CTL_DONE;
}

int ctl_check(int argc, char **argv)
{
	bool repair = argc == 3 && strcmp(argv[2], "--repair") == 0, sound;
	char text[256] = "sound", dir[4000];
	struct sim_map map;
	struct bh_error err;
	struct sim_tx tx;
	int rc;

	if (argc < 2 || argc > 3 || (argc == 3 && !repair) || !ctl_dir(argv[1], dir, sizeof(dir)))
		return ctl_complain(CTL_USAGE, "check DIR [--repair]");
	rc = ctl_open(argv[1], &map);
	if (rc != CTL_DONE)
		return rc;
	sim_tx_begin(&tx, &map, /* take_back= */ false);
	sound = sim_check(&tx, text, sizeof(text));
	rc = ctl_end(&tx, SIM_OK, argv[1]);
	if (rc != CTL_DONE) {
		sim_map_close(&map);
		return rc;
	}
	rc = repair && sound ? sim_procfs_create(dir, &map, &err) : 0;
	sim_map_close(&map);
	if (rc < 0)
		return ctl_complain(CTL_FAILED, "%s", err.message);
	(void) printf("%s\n", text);
	return sound ? CTL_DONE : CTL_FAILED;
}

static void print_usage(FILE *to)
{
	(void) fputs("usage:\n", to);
	for (size_t i = 0; i < BH_ARRAY_SIZE(commands); i++)
		(void) fprintf(to, "  bulkhead sim %s %s\n\t%s\n", commands[i].name,
				commands[i].arguments, commands[i].purpose);
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && is_help(argv[1])) {
		print_usage(stdout);
		return CTL_DONE;
	}
	for (size_t i = 0; argc > 1 && i < BH_ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (argc > 2 && is_help(argv[2])) {
			(void) printf("usage: bulkhead sim %s %s\n  %s\n", commands[i].name,
					commands[i].arguments, commands[i].purpose);
			return CTL_DONE;
		}
		return commands[i].run(argc - 1, argv + 1);
	}
	if (argc > 1)
		(void) ctl_complain(CTL_USAGE, "there is no command '%s'", argv[1]);
	print_usage(stderr);
	return CTL_USAGE;
}
