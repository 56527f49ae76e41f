/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One field table per object: what a mapping in a file may say is a table of rows, and one function
 * walks a mapping against it. So every file format refuses what it does not know in the same words:
 * where, what was found, what is allowed, and which legal spelling is near.
 *
 *	struct share { const char *name; uint32_t count; bool wanted; };
 *	static const struct bh_field share_rows[] = {
 *		{"name", BH_FIELD_TEXT, .required = true, .offset = offsetof(struct share, name)},
 *		{"count", BH_FIELD_U32, .min = 1, .max = 64, .offset = offsetof(struct share, count)},
 *		{"want", BH_FIELD_MAPPING, .read = read_want},
 *	};
 *	static const struct bh_fields share_fields = BH_FIELDS("a share", share_rows);
 */
#ifndef BH_BASE_FIELDS_H
#define BH_BASE_FIELDS_H

#include "base/document.h"

#define BH_FIELDS_MAX 48 /* rows of one table */

/* What a field holds, and what is stored at its offset when it has no reader of its own. */
enum bh_field_type {
	BH_FIELD_TEXT,	  /* const char *, borrowed from the document */
	BH_FIELD_BOOL,	  /* bool */
	BH_FIELD_U32,	  /* uint32_t, from min to max */
	BH_FIELD_LIST,	  /* const struct bh_doc_node *, a sequence */
	BH_FIELD_MAPPING, /* const struct bh_doc_node *, a mapping */
	BH_FIELD_ANY,	  /* const struct bh_doc_node * */
};

struct bh_field {
	const char *name;
	enum bh_field_type type;
	bool required;
	uint32_t min, max; /* of BH_FIELD_U32; both 0: no bounds */
	size_t offset;	   /* where in the object */

	/* Instead of storing at offset; called when the type is right. */
	int (*read)(const struct bh_doc_node *value, void *object, struct bh_error *err);

	/* What is legal there, to follow "expected": "'all' or a list of GPU indexes". NULL: the
	   type says it. */
	const char *help;
};

struct bh_fields {
	const char *what; /* the object with its article, for messages: "an entry" */
	const struct bh_field *rows;
	size_t n_rows;
};

#define BH_FIELDS(name, table)                                                                     \
	{                                                                                          \
		(name), (table), BH_ARRAY_SIZE(table)                                              \
	}

/**
 * bh_fields_read() - read a mapping by its table
 * @fields: the table
 * @node:   borrowed, of any kind; what is stored in @object is borrowed from its document
 * @object: starts as the caller wants fields to be that are not given
 * @err:    INVALID_FILE: no mapping, an unknown field, a value of the wrong type or out of range,
 *          a required field missing; or what a reader said
 *
 * Fields are read in the order of the table, so that a reader may rely on the rows above its own;
 * unknown ones are reported first. An optional field that says null is as one not given; a required
 * one that does is of the wrong type.
 */
int bh_fields_read(const struct bh_fields *fields, const struct bh_doc_node *node, void *object,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_doc_node_wrong() - a node is not what belongs there: "FIELD is FOUND, expected EXPECTED"
 * @node:     borrowed
 * @field:    what the node is: "field 'devices'", "an item of 'devices'"
 * @expected: what would be legal
 * @err:      filled; may be NULL
 *
 * Return: always -1.
 */
int bh_doc_node_wrong(const struct bh_doc_node *node, const char *field, const char *expected,
		struct bh_error *err);

#endif
