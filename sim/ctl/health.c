/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/health.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl/kern_log.h"

#define EVENTS_SHOWN 16
#define LINES_SHOWN  16

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t) n);
}

static json_t *errors_json(const uint64_t errors[SIM_ERROR_TYPES])
{
	return json_pack("{s:o, s:o}", "corrected", number(errors[SIM_CORRECTED]), "uncorrected",
			number(errors[SIM_UNCORRECTED]));
}

json_t *ctl_health_json(const struct sim_gpu *gpu)
{
	const struct sim_health *h = &gpu->health;

	return json_pack("{s:{s:b, s:b, s:o, s:o}, s:{s:o, s:o, s:o, s:b}, s:s}", "ecc", "current",
			(int) h->ecc_current, "pending", (int) h->ecc_pending, "volatile",
			errors_json(h->ecc_volatile), "aggregate", errors_json(h->ecc_aggregate),
			"remap", "corrected", number(h->remapped_rows[SIM_CORRECTED]),
			"uncorrected", number(h->remapped_rows[SIM_UNCORRECTED]), "pending",
			number(h->remap_pending), "failure", (int) h->remap_failed, "recovery",
			h->recovery < SIM_RECOVERIES ? sim_recoveries[h->recovery] : "?");
}

static json_t *id_or_null(uint32_t id)
{
	return id == SIM_NO_INSTANCE ? json_null() : number(id);
}

json_t *ctl_events_json(const struct sim_state *state)
{
	const struct sim_events *events = &state->events;
	uint64_t from = events->last > EVENTS_SHOWN ? events->last - EVENTS_SHOWN : 0;
	json_t *list = json_array();

	if (from < events->forgotten)
		from = events->forgotten;
	for (uint64_t n = from + 1; n <= events->last; n++) {
		const struct sim_event *e = &events->ring[n % SIM_EVENTS_MAX];

		if (e->kind >= SIM_EVENT_KINDS)
			continue;
		json_array_append_new(list,
				json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "number",
						number(e->number), "time_us", number(e->time_us),
						"gpu", number(e->gpu), "kind",
						sim_event_kinds[e->kind], "data", number(e->data),
						"gi", id_or_null(e->gi), "ci", id_or_null(e->ci)));
	}
	return list;
}

json_t *ctl_log_json(const char *dir)
{
	char text[LINES_SHOWN * CTL_LOG_LINE_MAX], *rest = text, *line;
	json_t *list = json_array();

	ctl_log_last(dir, text, sizeof(text), LINES_SHOWN);
	while ((line = strsep(&rest, "\n"))) {
		if (line[0]) /* not UTF-8: left out */
			json_array_append_new(list, json_string(line));
	}
	return list;
}

static long long at(const json_t *object, const char *key)
{
	return (long long) json_integer_value(json_object_get(object, key));
}

void ctl_health_print(const json_t *health)
{
	const json_t *ecc = json_object_get(health, "ecc"),
		     *remap = json_object_get(health, "remap");
	const json_t *errors = json_object_get(ecc, "volatile");
	const json_t *ever = json_object_get(ecc, "aggregate");
	const char *action = json_string_value(json_object_get(health, "recovery"));
	bool on = json_is_true(json_object_get(ecc, "current"));

	if (at(ever, "corrected") || at(ever, "uncorrected"))
		(void) printf("  memory errors: %lld corrected, %lld uncorrected (ever %lld, "
			      "%lld)\n",
				at(errors, "corrected"), at(errors, "uncorrected"),
				at(ever, "corrected"), at(ever, "uncorrected"));
	if (!on || !json_is_true(json_object_get(ecc, "pending")))
		(void) printf("  ECC %s, %s after a reboot\n", on ? "on" : "off",
				json_is_true(json_object_get(ecc, "pending")) ? "on" : "off");
	if (at(remap, "corrected") || at(remap, "uncorrected") || at(remap, "pending"))
		(void) printf("  rows remapped: %lld, pending %lld\n",
				at(remap, "corrected") + at(remap, "uncorrected"),
				at(remap, "pending"));
	if (json_is_true(json_object_get(remap, "failure")))
		(void) printf("  remapping has failed\n");
	if (action && strcmp(action, "none") != 0)
		(void) printf("  recovery action: %s\n", action);
}

void ctl_events_print(const json_t *events)
{
	const json_t *row;
	size_t i;

	json_array_foreach (events, i, row) {
		time_t second = (time_t) (at(row, "time_us") / 1000000);
		const json_t *gi = json_object_get(row, "gi"), *ci = json_object_get(row, "ci");
		char day[32] = "";
		struct tm utc;

		if (gmtime_r(&second, &utc))
			(void) strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%SZ", &utc);
		(void) printf("event %lld  %s  GPU %lld  %s", at(row, "number"), day,
				at(row, "gpu"), json_string_value(json_object_get(row, "kind")));
		if (at(row, "data"))
			(void) printf(" %lld", at(row, "data"));
		if (json_is_integer(gi))
			(void) printf(", GI %lld", at(row, "gi"));
		if (json_is_integer(ci))
			(void) printf(", CI %lld", at(row, "ci"));
		(void) putchar('\n');
	}
}
