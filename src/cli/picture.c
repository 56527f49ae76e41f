/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/picture.h"

#include <string.h>

#include "cli/terminal.h"
#include "cli/view.h"

#define CELL_MIN 3 /* a bar and two marks */

/* Columns of one unit with its bar: a board within 80 columns, or within the terminal. */
static int cell_width(const struct bh_gpu *gpu)
{
	int columns = cli_terminal_of(stdout).columns, units = (int) gpu->placement_units;
	int cell = units <= 8 ? 9 : 6;

	if (columns > 0 && units > 0 && (columns - 3) / units < cell)
		cell = (columns - 3) / units;
	return cell < CELL_MIN ? CELL_MIN : cell;
}

static enum cli_tone tone_of(const struct bh_gi *gi, bool stranded)
{
	if (!gi)
		return stranded ? CLI_RED : CLI_FAINT;
	if (view_is_foreign(gi))
		return CLI_MAGENTA;
	return gi->busy ? CLI_YELLOW : CLI_GREEN;
}

/* Where the picture had no room for them. */
static void print_names(const struct bh_gpu *gpu)
{
	char text[BH_GIS_MAX * (BH_NAME_SIZE + 16)] = "";
	size_t used = 0;

	for (size_t g = 0; g < gpu->n_gis && used < sizeof(text); g++)
		used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%s at %u",
				g ? ", " : "", view_profile_name(gpu, gpu->gis[g].profile_id),
				gpu->gis[g].at.start);
	cli_line(stdout, CLI_PLAIN, 4, "  (%s)", text);
}

void picture_units(const struct bh_gpu *gpu)
{
	uint64_t stranded = view_stranded_units(gpu);
	int cell = cell_width(gpu);
	bool is_cut = false;
	uint32_t unit = 0;

	cli_span(stdout, CLI_PLAIN, "  |");
	while (unit < gpu->placement_units) {
		const struct bh_gi *here = NULL;
		char text[BH_NAME_SIZE + 8];
		uint32_t size;
		int width, length;

		for (size_t g = 0; g < gpu->n_gis; g++) {
			if (gpu->gis[g].at.start == unit)
				here = &gpu->gis[g];
		}
		if (here)
			(void) snprintf(text, sizeof(text), "%s%s%s", here->busy ? "*" : "",
					view_is_foreign(here) ? "!" : "",
					view_profile_name(gpu, here->profile_id));
		else
			(void) snprintf(text, sizeof(text), "%s", stranded >> unit & 1 ? "x" : ".");
		size = here && here->at.size < gpu->placement_units - unit ? here->at.size
		       : here ? gpu->placement_units - unit
			      : 1;
		width = (int) size * cell - 1;
		length = (int) strlen(text);
		is_cut = is_cut || length > width;
		if (length > width)
			text[length = width] = '\0';
		cli_span(stdout, tone_of(here, stranded >> unit & 1), text);
		(void) printf("%*s|", width - length, "");
		unit += size;
	}
	(void) printf("\n");
	if (is_cut)
		print_names(gpu);
}

static bool is_whole(const struct bh_gpu_holder *holder)
{
	return holder->gi == BH_UNKNOWN;
}

/* "  1g.10gb at 2: in use by process 4242 (train)", and who holds the GPU as a whole */
void picture_holders(const struct bh_gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_holders; i++) {
		const struct bh_gpu_holder *h = &gpu->holders[i];

		if (is_whole(h))
			cli_line(stdout, CLI_PLAIN, 4, "  the whole GPU: held by %s %d (%s)",
					h->who.kind, (int) h->who.pid, h->who.name);
		for (size_t g = 0; g < gpu->n_gis; g++) {
			if (!is_whole(h) && gpu->gis[g].id == h->gi)
				cli_line(stdout, CLI_PLAIN, 4, "  %s at %u: in use by %s %d (%s)",
						view_profile_name(gpu, gpu->gis[g].profile_id),
						gpu->gis[g].at.start, h->who.kind, (int) h->who.pid,
						h->who.name);
		}
	}
	if (gpu->more_holders)
		cli_line(stdout, CLI_PLAIN, 4, "  and %zu holders more", gpu->more_holders);
	if (!gpu->holders_known)
		cli_line(stdout, CLI_YELLOW, 4, "  who holds it cannot be read");
}
