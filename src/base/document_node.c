/* SPDX-License-Identifier: Apache-2.0 */
#include "base/document_node.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool is_one_of(const char *text, const char *const *words, size_t n_words)
{
	for (size_t i = 0; i < n_words; i++) {
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

static bool is_int(const char *text)
{
	if (strncmp(text, "0x", 2) == 0)
		return text[2] && !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")];
	if (strncmp(text, "0o", 2) == 0)
		return text[2] && !text[2 + strspn(text + 2, "01234567")];
	text += *text == '+' || *text == '-';
	return *text && !text[digits(text)];
}

static bool is_float(const char *text)
{
	static const char *const infinite[] = {".inf", ".Inf", ".INF"};
	static const char *const none[] = {".nan", ".NaN", ".NAN"};
	size_t whole, part = 0;

	if (is_one_of(text, none, BH_ARRAY_SIZE(none)))
		return true;
	text += *text == '+' || *text == '-';
	if (is_one_of(text, infinite, BH_ARRAY_SIZE(infinite)))
		return true;
	whole = digits(text);
	text += whole;
	if (*text == '.') {
		part = digits(++text);
		text += part;
	}
	if (whole + part == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		if (!digits(text))
			return false;
		text += digits(text);
	}
	return *text == '\0';
}

/* YAML 1.2.2, 10.3.2: the core schema. */
enum bh_scalar_type bh_scalar_resolve(const char *text)
{
	static const char *const nothing[] = {"", "~", "null", "Null", "NULL"};
	static const char *const booleans[] = {"true", "True", "TRUE", "false", "False", "FALSE"};

	if (is_one_of(text, nothing, BH_ARRAY_SIZE(nothing)))
		return BH_SCALAR_NULL;
	if (is_one_of(text, booleans, BH_ARRAY_SIZE(booleans)))
		return BH_SCALAR_BOOL;
	if (is_int(text))
		return BH_SCALAR_INT;
	return is_float(text) ? BH_SCALAR_FLOAT : BH_SCALAR_TEXT;
}

int bh_document_fail_at(const struct bh_document *document, size_t line, size_t column,
		struct bh_error *err, const char *format, va_list args)
{
	char message[sizeof(((struct bh_error *) NULL)->message)];

	(void) vsnprintf(message, sizeof(message), format, args);
	return bh_fail(err, BH_E_INVALID_FILE, BH_SRC_SELF, 0, "%s:%zu:%zu: %s", document->name,
			line, column, message);
}

int bh_doc_node_fail(const struct bh_doc_node *node, struct bh_error *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void) bh_document_fail_at(node->document, node->line, node->column, err, format, args);
	va_end(args);
	return -1;
}

const struct bh_doc_node *bh_document_root(const struct bh_document *document)
{
	return document->root;
}

const char *bh_document_name(const struct bh_document *document)
{
	return document->name;
}

enum bh_doc_node_kind bh_doc_node_kind(const struct bh_doc_node *node)
{
	return node->kind;
}

uint32_t bh_doc_node_line(const struct bh_doc_node *node)
{
	return node->line;
}

uint32_t bh_doc_node_column(const struct bh_doc_node *node)
{
	return node->column;
}

const char *bh_doc_node_text(const struct bh_doc_node *node)
{
	return node->text;
}

bool bh_doc_node_is_quoted(const struct bh_doc_node *node)
{
	return node->quoted;
}

static bool is_scalar_of(const struct bh_doc_node *node, enum bh_scalar_type type)
{
	return node->kind == BH_DOC_SCALAR && node->type == type;
}

bool bh_doc_node_is_null(const struct bh_doc_node *node)
{
	return is_scalar_of(node, BH_SCALAR_NULL);
}

enum bh_scalar_type bh_doc_node_scalar_type(const struct bh_doc_node *node)
{
	assert(node->kind == BH_DOC_SCALAR);
	return node->type;
}

bool bh_doc_node_bool(const struct bh_doc_node *node, bool *ret_value)
{
	if (!is_scalar_of(node, BH_SCALAR_BOOL))
		return false;
	*ret_value = node->text[0] == 't' || node->text[0] == 'T';
	return true;
}

bool bh_doc_node_int(const struct bh_doc_node *node, int64_t *ret_value)
{
	const char *digits_from = node->text;
	int base = 10, saved = errno;
	long long value;

	if (!is_scalar_of(node, BH_SCALAR_INT))
		return false;
	if (strncmp(node->text, "0x", 2) == 0)
		base = 16;
	else if (strncmp(node->text, "0o", 2) == 0)
		base = 8;
	if (base != 10)
		digits_from += 2;
	errno = 0;
	value = strtoll(digits_from, NULL, base);
	if (errno == ERANGE) {
		errno = saved;
		return false;
	}
	errno = saved;
	*ret_value = value;
	return true;
}

size_t bh_doc_node_count(const struct bh_doc_node *node)
{
	return node->kind == BH_DOC_MAPPING ? node->n_children / 2 : node->n_children;
}

const struct bh_doc_node *bh_doc_node_item(const struct bh_doc_node *node, size_t index)
{
	assert(node->kind == BH_DOC_SEQUENCE && index < node->n_children);
	return node->children[index];
}

const struct bh_doc_node *bh_doc_node_key(const struct bh_doc_node *node, size_t index)
{
	assert(node->kind == BH_DOC_MAPPING && index < node->n_children / 2);
	return node->children[2 * index];
}

const struct bh_doc_node *bh_doc_node_value(const struct bh_doc_node *node, size_t index)
{
	assert(node->kind == BH_DOC_MAPPING && index < node->n_children / 2);
	return node->children[2 * index + 1];
}

const struct bh_doc_node *bh_doc_node_find(const struct bh_doc_node *node, const char *key)
{
	for (size_t i = 0; node->kind == BH_DOC_MAPPING && i < node->n_children; i += 2) {
		if (strcmp(node->children[i]->text, key) == 0)
			return node->children[i + 1];
	}
	return NULL;
}

const char *bh_doc_node_describe(const struct bh_doc_node *node, char *buffer, size_t size)
{
	char shown[96];

	if (node->kind != BH_DOC_SCALAR || node->type == BH_SCALAR_NULL) {
		(void) snprintf(buffer, size, "%s",
				node->kind == BH_DOC_SEQUENCE  ? "a list"
				: node->kind == BH_DOC_MAPPING ? "a mapping"
							       : "nothing");
		return buffer;
	}
	(void) bh_text_show(
			shown, size - 16 < sizeof(shown) ? size - 16 : sizeof(shown), node->text);
	if (node->type == BH_SCALAR_TEXT)
		(void) snprintf(buffer, size, "text '%s'", shown);
	else if (node->type == BH_SCALAR_BOOL)
		(void) snprintf(buffer, size, "%s", shown);
	else
		(void) snprintf(buffer, size, "number %s", shown);
	return buffer;
}
