/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a document and its nodes are made of, for the two files that make and read them
 * (document.c, document_node.c); everybody else uses document.h.
 */
#ifndef BH_BASE_DOCUMENT_NODE_H
#define BH_BASE_DOCUMENT_NODE_H

#include <stdarg.h>

#include "base/arena.h"
#include "base/document.h"

struct bh_doc_node {
	const struct bh_document *document;
	enum bh_doc_node_kind kind;
	enum bh_scalar_type type;
	bool quoted;
	bool complete; /* false while its end has not been seen */
	uint32_t line, column;
	size_t weight; /* nodes of the expanded subtree, itself included */
	size_t height; /* levels of the expanded subtree, itself included */
	const char *text;
	const struct bh_doc_node **children; /* of a mapping: key, value, key, value … */
	size_t n_children;
};

struct bh_document {
	struct bh_arena *arena;
	const char *name;
	const struct bh_doc_node *root;
};

/**
 * bh_scalar_resolve() - what a plain scalar means in YAML 1.2's core schema
 * @text: borrowed
 */
enum bh_scalar_type bh_scalar_resolve(const char *text);

/**
 * bh_document_fail_at() - INVALID_FILE with "FILE:LINE:COLUMN: " before the message
 * @document: borrowed; only its name is used
 * @line:     from 1
 * @column:   from 1
 * @err:      filled; may be NULL
 * @format:   one sentence without full stop
 * @args:     its arguments
 *
 * Return: always -1.
 */
int bh_document_fail_at(const struct bh_document *document, size_t line, size_t column,
		struct bh_error *err, const char *format, va_list args) BH_PRINTF(5, 0);

#endif
