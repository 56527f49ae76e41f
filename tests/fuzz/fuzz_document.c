/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Walks no deeper than a document may be; touches every accessor. */
static size_t walk(const struct bh_doc_node *node, size_t depth)
{
	char described[64];
	size_t n = 1;
	int64_t number;
	bool flag;

	if (depth > 64 || bh_doc_node_line(node) == 0 || bh_doc_node_column(node) == 0)
		abort();
	if (strlen(bh_doc_node_describe(node, described, sizeof(described))) >= sizeof(described))
		abort();
	(void) !bh_doc_node_int(node, &number);
	(void) !bh_doc_node_bool(node, &flag);
	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		if (bh_doc_node_kind(node) == BH_DOC_SEQUENCE) {
			n += walk(bh_doc_node_item(node, i), depth + 1);
			continue;
		}
		if (i < 100 && bh_doc_node_find(node, bh_doc_node_text(bh_doc_node_key(node, i))) !=
						bh_doc_node_value(node, i))
			abort();
		n += walk(bh_doc_node_key(node, i), depth + 1) +
		     walk(bh_doc_node_value(node, i), depth + 1);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bh_auto_document struct bh_document *document = NULL;
	struct bh_error err = {0};

	if (bh_document_parse((const char *) data, size, "f", NULL, &document, &err) < 0) {
		if (err.code != BH_E_INVALID_FILE || strncmp(err.message, "f:", 2) != 0)
			abort();
		return 0;
	}
	if (walk(bh_document_root(document), 1) > BH_DOCUMENT_LIMITS.nodes)
		abort();
	return 0;
}
