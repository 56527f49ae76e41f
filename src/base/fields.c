/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fields.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *expected_of(const struct bh_field *field, char *buffer, size_t size)
{
	static const char *const words[] = {
			[BH_FIELD_TEXT] = "a text",
			[BH_FIELD_BOOL] = "true or false",
			[BH_FIELD_U32] = "a whole number",
			[BH_FIELD_LIST] = "a list",
			[BH_FIELD_MAPPING] = "a mapping",
			[BH_FIELD_ANY] = "a value",
	};

	if (field->help)
		return field->help;
	if (field->type == BH_FIELD_U32) {
		(void) snprintf(buffer, size, "a whole number from %u to %u", field->min,
				field->max || field->min ? field->max : UINT32_MAX);
		return buffer;
	}
	return words[field->type];
}

int bh_doc_node_wrong(const struct bh_doc_node *node, const char *field, const char *expected,
		struct bh_error *err)
{
	char found[128];

	return bh_doc_node_fail(node, err, "%s is %s, expected %s", field,
			bh_doc_node_describe(node, found, sizeof(found)), expected);
}

/* Reads the value if it is of the field's type, and stores it if there is nobody else to do so. */
static bool accept(const struct bh_field *field, const struct bh_doc_node *value, void *object)
{
	void *at = (char *) object + field->offset;
	uint32_t max = field->max || field->min ? field->max : UINT32_MAX;
	int64_t number;
	bool flag;

	switch (field->type) {
	case BH_FIELD_TEXT:
		if (bh_doc_node_kind(value) != BH_DOC_SCALAR ||
				bh_doc_node_scalar_type(value) != BH_SCALAR_TEXT)
			return false;
		if (!field->read)
			*(const char **) at = bh_doc_node_text(value);
		return true;
	case BH_FIELD_BOOL:
		if (!bh_doc_node_bool(value, &flag))
			return false;
		if (!field->read)
			*(bool *) at = flag;
		return true;
	case BH_FIELD_U32:
		if (!bh_doc_node_int(value, &number) || number < field->min || number > max)
			return false;
		if (!field->read)
			*(uint32_t *) at = (uint32_t) number;
		return true;
	case BH_FIELD_LIST:
	case BH_FIELD_MAPPING:
		if (bh_doc_node_kind(value) !=
				(field->type == BH_FIELD_LIST ? BH_DOC_SEQUENCE : BH_DOC_MAPPING))
			return false;
		break;
	case BH_FIELD_ANY:
		break;
	}
	if (!field->read)
		*(const struct bh_doc_node **) at = value;
	return true;
}

static int read_field(const struct bh_field *field, const struct bh_doc_node *value, void *object,
		struct bh_error *err)
{
	char expected[64], name[96];

	if (bh_doc_node_is_null(value) && !field->required)
		return 0;
	if ((field->required && bh_doc_node_is_null(value)) || !accept(field, value, object)) {
		(void) snprintf(name, sizeof(name), "field '%s'", field->name);
		return bh_doc_node_wrong(
				value, name, expected_of(field, expected, sizeof(expected)), err);
	}
	return field->read ? field->read(value, object, err) : 0;
}

static int unknown_field(
		const struct bh_fields *fields, const struct bh_doc_node *key, struct bh_error *err)
{
	const char *names[BH_FIELDS_MAX], *nearest;
	char shown[96], allowed[256];

	for (size_t i = 0; i < fields->n_rows; i++)
		names[i] = fields->rows[i].name;
	nearest = bh_text_nearest(bh_doc_node_text(key), names, fields->n_rows);
	(void) bh_text_show(shown, sizeof(shown), bh_doc_node_text(key));
	(void) bh_text_join(allowed, sizeof(allowed), names, fields->n_rows);
	if (nearest)
		return bh_doc_node_fail(key, err,
				"unknown field '%s' in %s, did you mean '%s'? allowed: %s", shown,
				fields->what, nearest, allowed);
	return bh_doc_node_fail(key, err, "unknown field '%s' in %s, allowed: %s", shown,
			fields->what, allowed);
}

int bh_fields_read(const struct bh_fields *fields, const struct bh_doc_node *node, void *object,
		struct bh_error *err)
{
	assert(fields->n_rows <= BH_FIELDS_MAX);
	if (bh_doc_node_kind(node) != BH_DOC_MAPPING)
		return bh_doc_node_wrong(node, fields->what, "a mapping", err);
	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		const struct bh_doc_node *key = bh_doc_node_key(node, i);
		size_t row = 0;

		while (row < fields->n_rows &&
				strcmp(fields->rows[row].name, bh_doc_node_text(key)) != 0)
			row++;
		if (row == fields->n_rows)
			return unknown_field(fields, key, err);
	}
	for (size_t i = 0; i < fields->n_rows; i++) {
		const struct bh_field *field = &fields->rows[i];
		const struct bh_doc_node *value = bh_doc_node_find(node, field->name);
		char expected[64];

		if (!value && field->required)
			return bh_doc_node_fail(node, err,
					"field '%s' is missing in %s, expected %s", field->name,
					fields->what,
					expected_of(field, expected, sizeof(expected)));
		if (value && read_field(field, value, object, err) < 0)
			return -1;
	}
	return 0;
}
