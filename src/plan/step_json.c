/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON form of a step: what the journal keeps, what plan --json shows, what a worker is sent. */
#include "plan/step.h"

#include <string.h>

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *number_if(bool applies, uint32_t number)
{
	return applies ? json_integer(number) : json_null();
}

/* The two conditions, for readers; they follow from kind and target, so they are not read back. */
static json_t *condition(const struct bh_step *step, bool after)
{
	const struct bh_step_kind_info *info = bh_step_kind_info(step->kind);
	const char *there = info->makes == after ? "present" : "absent";

	switch (info->target) {
	case BH_TARGET_GPU:
		return json_object();
	case BH_TARGET_MODE:
		return json_pack("{s:s}", "mig", step->on == after ? "enabled" : "disabled");
	case BH_TARGET_GI:
		return json_pack("{s:s}", "gi", there);
	case BH_TARGET_CI:
		return json_pack("{s:s}", "ci", there);
	}
	return NULL;
}

static json_t *undo_to_json(const struct bh_step *step)
{
	const struct bh_step_kind_info *info = bh_step_kind_info(step->kind);

	if (!info->has_undo)
		return json_pack("{s:n, s:s}", "op", "why", info->undo_why);
	return json_pack("{s:s, s:b, s:o}", "op", bh_step_kind_info(info->undo)->name, "exact",
			info->undo_exact, "why", text_or_null(info->undo_why));
}

json_t *bh_step_to_json(const struct bh_step *step)
{
	const struct bh_step_kind_info *info = bh_step_kind_info(step->kind);
	bool gi = info->target >= BH_TARGET_GI, ci = info->target == BH_TARGET_CI;

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:n, s:n, s:o, s:o, s:o,"
			 " s:s, s:o, s:o, s:o, s:o, s:I}",
			"op", info->name, "gpu", step->gpu, "pci", step->pci, "on",
			info->target == BH_TARGET_MODE ? json_boolean(step->on) : json_null(),
			"profile", gi ? json_string(step->profile) : json_null(), "profile_id",
			number_if(gi, step->profile_id), "start", number_if(gi, step->at.start),
			"size", number_if(gi, step->at.size), "gi", "ci", "slices",
			number_if(ci, step->ci.size), "ci_start", number_if(ci, step->ci.start),
			"uuid", text_or_null(step->uuid), "reason", step->reason, "disturbs",
			text_or_null(step->disturbs), "was", condition(step, false), "want",
			condition(step, true), "undo", undo_to_json(step), "deadline_ms",
			(json_int_t) info->deadline_ms);
}

static int kind_from_json(const json_t *value, enum bh_step_kind *ret_kind, struct bh_error *err)
{
	const char *op = json_string_value(json_object_get(value, "op"));

	for (int i = 0; op && i < BH_STEP_KIND_COUNT; i++) {
		if (strcmp(bh_step_kind_info((enum bh_step_kind) i)->name, op) == 0) {
			*ret_kind = (enum bh_step_kind) i;
			return 0;
		}
	}
	return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "a step of unknown kind '%s'",
			op ? op : "(none)");
}

static int placement_from_json(const json_t *value, const char *start_key, const char *size_key,
		struct bh_placement *ret_at, struct bh_error *err)
{
	struct bh_placement at;

	if (bh_json_get_u32(value, start_key, &at.start, err) < 0 ||
			bh_json_get_u32(value, size_key, &at.size, err) < 0)
		return -1;
	if (at.size == 0 || at.size > BH_UNITS_MAX || at.start > BH_UNITS_MAX - at.size)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"a step's placement %u+%u is outside any board", at.start, at.size);
	*ret_at = at;
	return 0;
}

/* Texts that decide nothing: null or absent means empty. */
static int note_from_json(const json_t *value, const char *key, char *buffer, size_t size,
		struct bh_error *err)
{
	const json_t *note = json_object_get(value, key);

	if (note && !json_is_null(note))
		return bh_json_get_string(value, key, buffer, size, err);
	buffer[0] = '\0';
	return 0;
}

int bh_step_from_json(const json_t *value, struct bh_step *ret_step, struct bh_error *err)
{
	struct bh_step step = {0};
	enum bh_step_target target;

	if (kind_from_json(value, &step.kind, err) < 0 ||
			bh_json_get_string(value, "gpu", step.gpu, sizeof(step.gpu), err) < 0 ||
			bh_json_get_string(value, "pci", step.pci, sizeof(step.pci), err) < 0)
		return bh_while(err, "reading a step");
	target = bh_step_kind_info(step.kind)->target;
	if (target == BH_TARGET_MODE && bh_json_get_bool(value, "on", &step.on, err) < 0)
		return bh_while(err, "reading a step");
	if (target >= BH_TARGET_GI && (bh_json_get_string(value, "profile", step.profile,
						       sizeof(step.profile), err) < 0 ||
						      bh_json_get_u32(value, "profile_id",
								      &step.profile_id, err) < 0 ||
						      placement_from_json(value, "start", "size",
								      &step.at, err) < 0))
		return bh_while(err, "reading a step");
	if (target == BH_TARGET_CI &&
			placement_from_json(value, "ci_start", "slices", &step.ci, err) < 0)
		return bh_while(err, "reading a step");
	if (note_from_json(value, "uuid", step.uuid, sizeof(step.uuid), err) < 0 ||
			note_from_json(value, "reason", step.reason, sizeof(step.reason), err) <
					0 ||
			note_from_json(value, "disturbs", step.disturbs, sizeof(step.disturbs),
					err) < 0)
		return bh_while(err, "reading a step");
	*ret_step = step;
	return 0;
}
