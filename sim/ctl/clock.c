/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/ctl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define USAGE "clock DIR real|scale=N|step=MS (N from 0.000001 to 1000000, MS up to 2147483647)"

/* What the clock is to do; false when the words do not say it. */
static bool parse(const char *word, uint64_t *ret_scale, uint32_t *ret_step_ms)
{
	const char *number = strchr(word, '=');
	char *end = NULL;
	double value;

	*ret_scale = 0;
	*ret_step_ms = 0;
	if (strcmp(word, "real") == 0)
		return true;
	if (!number || number[1] < '0' || number[1] > '9')
		return false;
	value = strtod(number + 1, &end);
	if (*end || !isfinite(value))
		return false;
	if (strncmp(word, "scale=", strlen("scale=")) == 0) {
		value = round(value * SIM_CLOCK_UNIT);
		*ret_scale = value >= 1 && value <= (double) SIM_CLOCK_SCALE_MAX ? (uint64_t) value
										 : 0;
		return *ret_scale != 0;
	}
	*ret_step_ms = value >= 1 && value <= INT32_MAX ? (uint32_t) value : 0;
	return strncmp(word, "step=", strlen("step=")) == 0 && *ret_step_ms;
}

int ctl_clock(int argc, char **argv)
{
	struct sim_clock *clock;
	struct sim_map map;
	struct sim_tx tx;
	uint64_t scale;
	uint32_t step_ms;
	int rc;

	if (argc != 3 || !parse(argv[2], &scale, &step_ms))
		return ctl_complain(CTL_USAGE, USAGE);
	rc = ctl_open(argv[1], &map);
	if (rc != CTL_DONE)
		return rc;
	sim_tx_begin(&tx, &map, /* take_back= */ false);
	clock = &tx.state->node.clock;
	sim_tx_touch(&tx, clock, sizeof(*clock));
	if (scale)
		sim_clock_scale(clock, scale);
	else if (step_ms)
		sim_clock_step(clock, step_ms);
	else
		sim_clock_real(clock);
	rc = ctl_end(&tx, SIM_OK, argv[1]);
	sim_map_close(&map);
	return rc;
}
