/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static int member_wrong(
		const char *key, const char *expected, const json_t *found, struct bh_error *err)
{
	return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "member '%s' %s, expected %s", key,
			found ? "has another type or range" : "is missing", expected);
}

int bh_json_get_string(const json_t *object, const char *key, char *buffer, size_t size,
		struct bh_error *err)
{
	const json_t *member = json_object_get(object, key);

	if (!json_is_string(member) || json_string_length(member) >= size)
		return member_wrong(key, "a text", member, err);
	memcpy(buffer, json_string_value(member), json_string_length(member) + 1);
	return 0;
}

int bh_json_get_u32(
		const json_t *object, const char *key, uint32_t *ret_value, struct bh_error *err)
{
	const json_t *member = json_object_get(object, key);

	if (!json_is_integer(member) || json_integer_value(member) < 0 ||
			json_integer_value(member) > UINT32_MAX)
		return member_wrong(key, "a whole number", member, err);
	*ret_value = (uint32_t) json_integer_value(member);
	return 0;
}

int bh_json_get_u64(
		const json_t *object, const char *key, uint64_t *ret_value, struct bh_error *err)
{
	const json_t *member = json_object_get(object, key);

	if (!json_is_integer(member) || json_integer_value(member) < 0)
		return member_wrong(key, "a whole number", member, err);
	*ret_value = (uint64_t) json_integer_value(member);
	return 0;
}

int bh_json_get_bool(const json_t *object, const char *key, bool *ret_value, struct bh_error *err)
{
	const json_t *member = json_object_get(object, key);

	if (!json_is_boolean(member))
		return member_wrong(key, "true or false", member, err);
	*ret_value = json_is_true(member);
	return 0;
}

int bh_json_set(json_t *object, const char *key, json_t *value, struct bh_error *err)
{
	return json_object_set_new(object, key, value) < 0 ? bh_fail_memory(err) : 0;
}

int bh_json_append(json_t *array, json_t *value, struct bh_error *err)
{
	return json_array_append_new(array, value) < 0 ? bh_fail_memory(err) : 0;
}

int bh_json_text(const json_t *value, char **ret_text, struct bh_error *err)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	if (!text)
		return bh_fail_memory(err);
	*ret_text = text;
	return 0;
}

json_t *bh_json_text_or_null(const char *text)
{
	char *clean;
	json_t *json;

	if (!text[0])
		return json_null();
	json = json_string(text);
	if (json)
		return json;
	clean = strdup(text);
	if (!clean)
		return NULL;
	bh_utf8_clean(clean);
	json = json_string(clean);
	free(clean);
	return json;
}

json_t *bh_error_to_json(const struct bh_error *err)
{
	bh_auto_json json_t *holders = json_array();

	for (size_t i = 0; i < err->n_holders; i++) {
		const struct bh_holder *h = &err->holders[i];
		json_t *pid = h->pid ? json_integer(h->pid) : json_null();

		if (json_array_append_new(holders,
				    json_pack("{s:s, s:o, s:o, s:o}", "kind", h->kind, "pid", pid,
						    "name", bh_json_text_or_null(h->name), "tenant",
						    bh_json_text_or_null(h->tenant))) < 0)
			return NULL;
	}
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:O, s:o}", "code", bh_code_name(err->code),
			"message",
			err->message[0] ? bh_json_text_or_null(err->message)
					: json_string("no reason given"),
			"source", bh_source_name(err->source), "native", err->native, "gpu",
			bh_json_text_or_null(err->gpu), "holders", holders, "next",
			bh_json_text_or_null(err->next));
}

static void copy_text(const json_t *object, const char *key, char *buffer, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	(void) snprintf(buffer, size, "%s", text ? text : "");
	bh_utf8_clean(buffer); /* it may have been cut within a character */
}

/* What fits no int is not known: 0. */
static int number_or_zero(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value >= INT_MIN && value <= INT_MAX ? (int) value : 0;
}

void bh_error_from_json(const json_t *value, struct bh_error *err)
{
	const char *code = json_string_value(json_object_get(value, "code"));
	const char *source = json_string_value(json_object_get(value, "source"));
	const json_t *holder;
	size_t i;

	memset(err, 0, sizeof(*err));
	err->code = BH_E_INTERNAL;
	if (code)
		(void) bh_code_from_name(code, &err->code);
	for (unsigned int s = 0; source && s < BH_SOURCE_COUNT; s++) {
		if (strcmp(source, bh_source_name(s)) == 0)
			err->source = s;
	}
	err->native = number_or_zero(value, "native");
	copy_text(value, "message", err->message, sizeof(err->message));
	copy_text(value, "gpu", err->gpu, sizeof(err->gpu));
	copy_text(value, "next", err->next, sizeof(err->next));
	json_array_foreach (json_object_get(value, "holders"), i, holder) {
		struct bh_holder h = {.pid = number_or_zero(holder, "pid")};

		if (h.pid < 0)
			h.pid = 0;
		copy_text(holder, "kind", h.kind, sizeof(h.kind));
		copy_text(holder, "name", h.name, sizeof(h.name));
		copy_text(holder, "tenant", h.tenant, sizeof(h.tenant));
		bh_error_add_holder(err, &h);
	}
}
