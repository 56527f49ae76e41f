/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one reader of YAML documents (JSON is a subset): a text becomes a tree of scalars, sequences
 * and mappings, each of which knows its line and column, so that every later complaint can point
 * at the place. The tree lives in one arena and is dropped whole.
 *
 * Files come from strangers, so it is strict and bounded: one document a file, keys are scalars and
 * stand once in a mapping, tags and merge keys are refused, and every quantity has a budget, that
 * of the tree with its aliases expanded among them. Plain scalars mean what YAML 1.2's core schema
 * says ("yes" is a text, 010 is ten); quoted ones are texts.
 *
 * An alias shares the nodes of its anchor: nodes are never changed, and their position is where
 * they are written.
 */
#ifndef BH_BASE_DOCUMENT_H
#define BH_BASE_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bh_document;
struct bh_doc_node; /* borrowed from its document, always */

/* Most of each; BH_DOCUMENT_LIMITS has the defaults. */
struct bh_document_limits {
	size_t bytes;	     /* of the text */
	size_t nodes;	     /* of the tree with aliases expanded; keys count too */
	size_t depth;	     /* of nesting, the root being 1 and aliases expanded; at most 1000 */
	size_t scalar_bytes; /* of one scalar */
	size_t keys;	     /* of one mapping */
	size_t anchors;	     /* of the document */
};

#define BH_DOCUMENT_LIMITS                                                                         \
	((const struct bh_document_limits){                                                        \
			.bytes = 1024 * 1024,                                                      \
			.nodes = 100000,                                                           \
			.depth = 64,                                                               \
			.scalar_bytes = 65536,                                                     \
			.keys = 10000,                                                             \
			.anchors = 250,                                                            \
	})

enum bh_doc_node_kind {
	BH_DOC_SCALAR,
	BH_DOC_SEQUENCE,
	BH_DOC_MAPPING,
};

enum bh_scalar_type {
	BH_SCALAR_TEXT,
	BH_SCALAR_NULL,
	BH_SCALAR_BOOL,
	BH_SCALAR_INT,
	BH_SCALAR_FLOAT,
};

/**
 * bh_document_parse() - read a text
 * @text:         borrowed for the call; need not end with a NUL
 * @size:         bytes of it
 * @name:         the file's name for messages, copied; a long one is shortened at its front
 * @limits:       budgets, NULL for the defaults
 * @ret_document: owned by the caller, freed with bh_document_free()
 * @err:          INVALID_FILE with a message "NAME:LINE:COLUMN: …", NO_MEMORY
 */
int bh_document_parse(const char *text, size_t size, const char *name,
		const struct bh_document_limits *limits, struct bh_document **ret_document,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_document_read() - the bytes of a file, for those who need them beside the tree
 * @path:     of a regular file; "-" is standard input
 * @max:      bytes; at most one more is read, so that the parser can say that it is too much
 * @ret_text: owned by the caller, freed with free(); not a string, it has no NUL
 * @ret_size: bytes in it
 * @ret_name: what messages call the file: @path itself, or "stdin"
 * @err:      INVALID_FILE with the errno where there is no such file or it is a directory, a pipe
 *            or a device, DENIED where it may not be read
 *
 * Does not hang on a pipe or a device; from standard input it reads until its end.
 */
int bh_document_read(const char *path, size_t max, char **ret_text, size_t *ret_size,
		const char **ret_name, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_document_load() - bh_document_read() and bh_document_parse() in one
 * @path:         as for bh_document_read()
 * @limits:       budgets, NULL for the defaults; never more than limits.bytes + 1 are read
 * @ret_document: owned by the caller, freed with bh_document_free()
 * @err:          as both
 */
int bh_document_load(const char *path, const struct bh_document_limits *limits,
		struct bh_document **ret_document, struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_document_free() - drop the whole tree
 * @document: NULL is fine
 */
void bh_document_free(struct bh_document *document);

static inline void bh_document_freep(struct bh_document **p)
{
	bh_document_free(*p);
}
#define bh_auto_document BH_CLEANUP(bh_document_freep)

/**
 * bh_document_root() - the node that everything is in
 * @document: borrowed
 */
const struct bh_doc_node *bh_document_root(const struct bh_document *document);

/**
 * bh_document_name() - the file's name as messages say it
 * @document: borrowed
 */
const char *bh_document_name(const struct bh_document *document);

/**
 * bh_doc_node_kind() - scalar, sequence or mapping
 * @node: borrowed
 */
enum bh_doc_node_kind bh_doc_node_kind(const struct bh_doc_node *node);

/**
 * bh_doc_node_line() - where the node begins, counted from 1
 * @node: borrowed
 */
uint32_t bh_doc_node_line(const struct bh_doc_node *node);

/**
 * bh_doc_node_column() - where the node begins, in characters counted from 1
 * @node: borrowed
 */
uint32_t bh_doc_node_column(const struct bh_doc_node *node);

/**
 * bh_doc_node_text() - a scalar's text, without quotes; it holds no NUL
 * @node: borrowed
 *
 * Return: borrowed from the document; NULL for a sequence or mapping.
 */
const char *bh_doc_node_text(const struct bh_doc_node *node);

/**
 * bh_doc_node_is_quoted() - whether a scalar was written in quotes or as a block, and so is a text
 * @node: borrowed
 */
bool bh_doc_node_is_quoted(const struct bh_doc_node *node);

/**
 * bh_doc_node_is_null() - whether nothing is written there: an empty plain scalar, ~ or null
 * @node: borrowed
 */
bool bh_doc_node_is_null(const struct bh_doc_node *node);

/**
 * bh_doc_node_scalar_type() - what a scalar means
 * @node: borrowed; a scalar
 *
 * An integer may still be too large for bh_doc_node_int().
 */
enum bh_scalar_type bh_doc_node_scalar_type(const struct bh_doc_node *node);

/**
 * bh_doc_node_bool() - a scalar that is true or false
 * @node:      borrowed, of any kind
 * @ret_value: written on success
 *
 * Return: true if it is one.
 */
bool bh_doc_node_bool(const struct bh_doc_node *node, bool *ret_value) BH_MUST_CHECK;

/**
 * bh_doc_node_int() - a scalar that is a whole number (decimal, 0x…, 0o…)
 * @node:      borrowed, of any kind
 * @ret_value: written on success
 *
 * Return: true if it is one and fits.
 */
bool bh_doc_node_int(const struct bh_doc_node *node, int64_t *ret_value) BH_MUST_CHECK;

/**
 * bh_doc_node_count() - items of a sequence, pairs of a mapping, 0 for a scalar
 * @node: borrowed
 */
size_t bh_doc_node_count(const struct bh_doc_node *node);

/**
 * bh_doc_node_item() - one item of a sequence
 * @node:  borrowed; a sequence
 * @index: below bh_doc_node_count()
 */
const struct bh_doc_node *bh_doc_node_item(const struct bh_doc_node *node, size_t index);

/**
 * bh_doc_node_key() - one key of a mapping, a scalar, in the order written
 * @node:  borrowed; a mapping
 * @index: below bh_doc_node_count()
 */
const struct bh_doc_node *bh_doc_node_key(const struct bh_doc_node *node, size_t index);

/**
 * bh_doc_node_value() - the value of one key of a mapping
 * @node:  borrowed; a mapping
 * @index: below bh_doc_node_count()
 */
const struct bh_doc_node *bh_doc_node_value(const struct bh_doc_node *node, size_t index);

/**
 * bh_doc_node_find() - the value of a key
 * @node: borrowed, of any kind
 * @key:  its text
 *
 * Return: NULL if @node is no mapping or has no such key.
 */
const struct bh_doc_node *bh_doc_node_find(const struct bh_doc_node *node, const char *key);

/**
 * bh_doc_node_describe() - what was found there, for a message: "text 'yes'", "a list", "nothing"
 * @node:   borrowed
 * @buffer: receives the text with its NUL
 * @size:   bytes in @buffer, at least 32
 *
 * Return: @buffer.
 */
const char *bh_doc_node_describe(const struct bh_doc_node *node, char *buffer, size_t size);

/**
 * bh_doc_node_fail() - INVALID_FILE with "FILE:LINE:COLUMN: " of a node before the message
 * @node:   borrowed
 * @err:    filled; may be NULL
 * @format: one sentence without full stop
 *
 * Return: always -1.
 */
int bh_doc_node_fail(const struct bh_doc_node *node, struct bh_error *err, const char *format, ...)
		BH_PRINTF(3, 4);

#endif
