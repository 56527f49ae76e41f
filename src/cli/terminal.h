/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people. On a terminal a line is folded to its width and may have a colour; anywhere else
 * (pipes, files) it is left whole and plain, so that what reads it sees no difference. Colour says
 * nothing that the text does not say too.
 */
#ifndef BH_CLI_TERMINAL_H
#define BH_CLI_TERMINAL_H

#include <stdio.h>

#include "base/error.h"

enum cli_tone {
	CLI_PLAIN,
	CLI_FAINT,
	CLI_STRONG,
	CLI_RED,
	CLI_GREEN,
	CLI_YELLOW,
	CLI_MAGENTA,
};

struct cli_terminal {
	int columns; /* 0: no limit */
	bool colour;
};

/**
 * cli_terminal_of() - what a stream can show
 * @stream: borrowed
 *
 * The width is the terminal's, or $COLUMNS where that is less. Colours are for terminals, unless
 * NO_COLOR is set and not empty, or TERM is "dumb" or not set.
 */
struct cli_terminal cli_terminal_of(FILE *stream);

/**
 * cli_line() - print one line, folded at spaces
 * @stream: borrowed
 * @tone:   its colour
 * @hang:   how far the lines after a fold are indented
 * @format: without newline; control characters in it are shown as '?'
 */
void cli_line(FILE *stream, enum cli_tone tone, int hang, const char *format, ...) BH_PRINTF(4, 5);

/**
 * cli_span() - print a part of a line, neither folded nor cut
 * @stream: borrowed
 * @tone:   its colour
 * @text:   borrowed; printed as it is
 */
void cli_span(FILE *stream, enum cli_tone tone, const char *text);

#endif
