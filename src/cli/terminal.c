/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/utf8.h"

#define NARROWEST 20 /* a terminal that says less is not believed */

static const char *const codes[] = {[CLI_PLAIN] = "",
		[CLI_FAINT] = "\033[2m",
		[CLI_STRONG] = "\033[1m",
		[CLI_RED] = "\033[31m",
		[CLI_GREEN] = "\033[32m",
		[CLI_YELLOW] = "\033[33m",
		[CLI_MAGENTA] = "\033[35m"};

static int width_of_terminal(int fd)
{
	const char *text = getenv("COLUMNS");
	long asked = text ? strtol(text, NULL, 10) : 0;
	struct winsize size = {0};
	int columns = 80;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		columns = size.ws_col;
	else if (asked > columns && asked < 10000)
		columns = (int) asked;
	if (asked > 0 && asked < columns)
		columns = (int) asked;
	return columns < NARROWEST ? NARROWEST : columns;
}

struct cli_terminal cli_terminal_of(FILE *stream)
{
	const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
	int fd = fileno(stream);

	if (fd < 0 || !isatty(fd))
		return (struct cli_terminal){0};
	return (struct cli_terminal){
			.columns = width_of_terminal(fd),
			.colour = !(no_colour && no_colour[0]) && kind && kind[0] &&
				  strcmp(kind, "dumb") != 0,
	};
}

/* Names come from strangers and from command lines: they shall not drive the terminal. */
static void clean(char *text)
{
	for (char *c = text; *c; c++) {
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	}
	bh_utf8_clean(text);
}

/* Columns of one byte: what is not ASCII may be two columns wide. */
static int width_of(char c)
{
	return (unsigned char) c < 0x80 ? 1 : (unsigned char) c >= 0xc0 ? 2 : 0;
}

/* How many bytes of @text go into a line of @columns: up to a space, or cut where there is none. */
static size_t fitting(const char *text, int columns)
{
	size_t space = 0, n = 0;
	bool has_word = false;

	for (int used = 0; text[n]; n++) {
		used += width_of(text[n]);
		if (text[n] == ' ' && has_word)
			space = n;
		if (used > columns)
			return space ? space : n ? n : 1;
		has_word = has_word || text[n] != ' ';
	}
	return n;
}

static void put(FILE *stream, enum cli_tone tone, const char *text, size_t size)
{
	bool colour = tone != CLI_PLAIN && cli_terminal_of(stream).colour;

	(void) fprintf(stream, "%s%.*s%s", colour ? codes[tone] : "", (int) size, text,
			colour ? "\033[0m" : "");
}

void cli_span(FILE *stream, enum cli_tone tone, const char *text)
{
	put(stream, tone, text, strlen(text));
}

void cli_line(FILE *stream, enum cli_tone tone, int hang, const char *format, ...)
{
	struct cli_terminal terminal = cli_terminal_of(stream);
	bh_auto_free char *text = NULL;
	int left = terminal.columns;
	va_list args;
	char *at;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	clean(text);
	if (hang > left / 2)
		hang = left / 2;
	at = text;
	while (left > 0 && at[fitting(at, left)]) {
		size_t n = fitting(at, left), end = n;

		while (end > 0 && at[end - 1] == ' ')
			end--;
		put(stream, tone, at, end);
		at += n;
		while (*at == ' ')
			at++;
		left = terminal.columns - hang;
		if (!*at)
			break;
		(void) fprintf(stream, "\n%*s", hang, "");
	}
	cli_span(stream, tone, at);
	(void) fputc('\n', stream);
}
