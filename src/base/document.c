/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree is built from libyaml's events with a stack of our own: no recursion, no libyaml
 * document. Children of open collections wait on one scratch stack and are copied into the arena
 * when their collection ends. Each finished node knows the size and height of its expanded subtree,
 * so an alias costs its budget when it is written, not when it is walked.
 */
#include "base/document.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/document_node.h"
#include "base/text.h"

#define NAME_MAX_SHOWN	160
#define ARENA_MAX_BYTES (64UL * 1024 * 1024)

struct anchor {
	const char *name;
	const struct bh_doc_node *node;
};

struct open_node {
	struct bh_doc_node *node;
	size_t first_child; /* index in the scratch stack */
};

struct builder {
	struct bh_document *document;
	struct bh_document_limits limits;
	yaml_parser_t parser;
	bool has_parser;
	struct open_node *open; /* limits.depth of them */
	size_t n_open;
	const struct bh_doc_node **waiting;
	size_t n_waiting, waiting_size;
	struct anchor *anchors; /* limits.anchors of them, made with the first */
	size_t n_anchors;
	size_t weight; /* nodes so far, aliases expanded */
	struct bh_error *err;
};

static void builder_end(struct builder *b)
{
	if (b->has_parser)
		yaml_parser_delete(&b->parser);
	free(b->open);
	free(b->waiting);
	free(b->anchors);
}

static BH_PRINTF(4, 5) int builder_fail(
		struct builder *b, size_t line, size_t column, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void) bh_document_fail_at(b->document, line, column, b->err, format, args);
	va_end(args);
	return -1;
}

#define MARK(mark) (mark).line + 1, (mark).column + 1

/* YAML's printable characters (1.2, 5.1), given that the UTF-8 is right. */
static bool is_printable(const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *) text;

	if (length == 1)
		return (s[0] >= 0x20 && s[0] != 0x7f) || s[0] == '\t' || s[0] == '\n' ||
		       s[0] == '\r';
	if (length == 2 && s[0] == 0xc2)
		return s[1] >= 0xa0 || s[1] == 0x85;
	if (length == 3 && s[0] == 0xef)
		return !(s[1] == 0xbb && s[2] == 0xbf) && !(s[1] == 0xbf && s[2] >= 0xbe);
	return true;
}

/* A line break as libyaml counts them; of CR LF the LF is the break. */
static bool is_break(const char *text, size_t length, size_t left)
{
	const unsigned char *s = (const unsigned char *) text;

	if (length == 1)
		return s[0] == '\n' || (s[0] == '\r' && !(left > 1 && s[1] == '\n'));
	if (length == 2)
		return s[0] == 0xc2 && s[1] == 0x85;
	return length == 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] & 0xfe) == 0xa8;
}

/*
 * Before libyaml, which would name no place for bytes that are no text, and which takes time
 * quadratic in the number of %TAG lines (25 s for 1 MiB of them, measured with 0.2.5). Tags are
 * refused anyway.
 */
static int check_bytes(struct builder *b, const char *text, size_t size)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < size;) {
		size_t left = size - i;
		size_t length = bh_text_utf8_length(text + i, left);

		if (text[i] == '\0')
			return builder_fail(b, line, column, "a NUL byte: this is no text file");
		if (!length)
			return builder_fail(b, line, column, "byte 0x%02x is not UTF-8",
					(unsigned char) text[i]);
		if (!is_printable(text + i, length))
			return builder_fail(b, line, column, "a control character");
		if (column == 1 && left >= 4 && memcmp(text + i, "%TAG", 4) == 0)
			return builder_fail(b, line, column, "'%%TAG' is not supported");
		if (is_break(text + i, length, left)) {
			line++;
			column = 1;
		} else {
			column++;
		}
		i += length;
	}
	return 0;
}

static int syntax_error(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = p->problem ? p->problem : "not YAML";
	bool at_tab = p->buffer.pointer < p->buffer.last && *p->buffer.pointer == '\t';

	if (p->error == YAML_MEMORY_ERROR)
		return bh_fail_memory(b->err);
	if (p->error == YAML_READER_ERROR)
		return builder_fail(b, MARK(p->mark), "syntax: %s", problem);
	if (strstr(problem, "tab character") || (at_tab && strstr(problem, "start any token")))
		return builder_fail(b, MARK(p->mark),
				"a tab in the indentation; YAML indents with spaces alone");
	if (p->context)
		return builder_fail(b, MARK(p->problem_mark), "syntax: %s, %s from line %zu on",
				problem, p->context, p->context_mark.line + 1);
	return builder_fail(b, MARK(p->problem_mark), "syntax: %s", problem);
}

static struct bh_doc_node *new_node(struct builder *b, enum bh_doc_node_kind kind, yaml_mark_t mark)
{
	struct bh_doc_node *node = bh_arena_alloc(b->document->arena, 1, sizeof(*node));

	if (!node) {
		(void) bh_fail_memory(b->err);
		return NULL;
	}
	node->document = b->document;
	node->kind = kind;
	node->line = (uint32_t) mark.line + 1;
	node->column = (uint32_t) mark.column + 1;
	node->weight = node->height = 1;
	return node;
}

static int check_key(
		struct builder *b, const struct bh_doc_node *node, size_t n_keys, yaml_mark_t mark)
{
	if (node->kind != BH_DOC_SCALAR)
		return builder_fail(b, MARK(mark), "a key must be a text, not %s",
				node->kind == BH_DOC_MAPPING ? "a mapping" : "a list");
	if (!node->quoted && strcmp(node->text, "<<") == 0)
		return builder_fail(b, MARK(mark),
				"merge keys ('<<') are not supported: write the fields out");
	if (n_keys >= b->limits.keys)
		return builder_fail(
				b, MARK(mark), "more than %zu keys in one mapping", b->limits.keys);
	return 0;
}

/* Puts a node, new or an alias's, in its place: under the innermost open one, or at the root. */
static int place(struct builder *b, const struct bh_doc_node *node, yaml_mark_t mark)
{
	struct open_node *parent = b->n_open ? &b->open[b->n_open - 1] : NULL;

	if (node->height > b->limits.depth - b->n_open)
		return builder_fail(
				b, MARK(mark), "nested deeper than %zu levels", b->limits.depth);
	if (node->weight > b->limits.nodes - b->weight)
		return builder_fail(b, MARK(mark), "more than %zu nodes, aliases expanded",
				b->limits.nodes);
	b->weight += node->weight;
	if (!parent) {
		b->document->root = node;
		return 0;
	}

	if (parent->node->kind == BH_DOC_MAPPING) {
		size_t n = b->n_waiting - parent->first_child;

		if (n % 2 == 0 && check_key(b, node, n / 2, mark) < 0)
			return -1;
	}
	if (b->n_waiting == b->waiting_size) {
		size_t size = b->waiting_size ? 2 * b->waiting_size : 64;
		const struct bh_doc_node **grown = realloc(b->waiting, size * sizeof(*grown));

		if (!grown)
			return bh_fail_memory(b->err);
		b->waiting = grown;
		b->waiting_size = size;
	}
	b->waiting[b->n_waiting++] = node;
	return 0;
}

static struct anchor *find_anchor(struct builder *b, const char *name)
{
	for (size_t i = b->n_anchors; i > 0; i--) {
		if (strcmp(b->anchors[i - 1].name, name) == 0)
			return &b->anchors[i - 1];
	}
	return NULL;
}

/* An anchor may be given again: the later one counts from there on. */
static int add_anchor(struct builder *b, const yaml_char_t *name, const struct bh_doc_node *node,
		yaml_mark_t mark)
{
	struct anchor *anchor;

	if (!name)
		return 0;
	anchor = find_anchor(b, (const char *) name);
	if (anchor) {
		anchor->node = node;
		return 0;
	}
	if (b->n_anchors >= b->limits.anchors)
		return builder_fail(b, MARK(mark), "more than %zu anchors", b->limits.anchors);
	if (!b->anchors)
		b->anchors = calloc(b->limits.anchors, sizeof(*b->anchors));
	if (!b->anchors)
		return bh_fail_memory(b->err);
	anchor = &b->anchors[b->n_anchors];
	anchor->name = bh_arena_text(
			b->document->arena, (const char *) name, strlen((const char *) name));
	if (!anchor->name)
		return bh_fail_memory(b->err);
	anchor->node = node;
	b->n_anchors++;
	return 0;
}

static int on_alias(struct builder *b, const yaml_event_t *event)
{
	const char *name = (const char *) event->data.alias.anchor;
	const struct anchor *anchor = find_anchor(b, name);
	char shown[64];

	(void) bh_text_show(shown, sizeof(shown), name);
	if (!anchor)
		return builder_fail(b, MARK(event->start_mark),
				"alias '*%s' without an anchor before it", shown);
	if (!anchor->node->complete)
		return builder_fail(b, MARK(event->start_mark),
				"alias '*%s' stands inside what it names", shown);
	return place(b, anchor->node, event->start_mark);
}

static int check_tag(
		struct builder *b, const yaml_char_t *tag, const char *expected, yaml_mark_t mark)
{
	char shown[64];

	if (!tag || strcmp((const char *) tag, expected) == 0 ||
			strcmp((const char *) tag, "!") == 0)
		return 0;
	return builder_fail(b, MARK(mark), "tag '%s' is not supported",
			bh_text_show(shown, sizeof(shown), (const char *) tag));
}

static int on_scalar(struct builder *b, const yaml_event_t *event)
{
	const char *value = (const char *) event->data.scalar.value;
	size_t length = event->data.scalar.length;
	struct bh_doc_node *node;

	if (check_tag(b, event->data.scalar.tag, YAML_STR_TAG, event->start_mark) < 0)
		return -1;
	if (length > b->limits.scalar_bytes)
		return builder_fail(b, MARK(event->start_mark), "a text longer than %zu bytes",
				b->limits.scalar_bytes);
	if (memchr(value, '\0', length))
		return builder_fail(b, MARK(event->start_mark), "a text with a NUL in it");

	node = new_node(b, BH_DOC_SCALAR, event->start_mark);
	if (!node)
		return -1;
	node->text = bh_arena_text(b->document->arena, value, length);
	if (!node->text)
		return bh_fail_memory(b->err);
	node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
		       event->data.scalar.tag;
	node->type = node->quoted ? BH_SCALAR_TEXT : bh_scalar_resolve(node->text);
	node->complete = true;
	if (add_anchor(b, event->data.scalar.anchor, node, event->start_mark) < 0)
		return -1;
	return place(b, node, event->start_mark);
}

static int on_start(struct builder *b, const yaml_event_t *event)
{
	bool mapping = event->type == YAML_MAPPING_START_EVENT;
	const yaml_char_t *anchor = mapping ? event->data.mapping_start.anchor
					    : event->data.sequence_start.anchor;
	const yaml_char_t *tag =
			mapping ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	struct bh_doc_node *node;

	if (check_tag(b, tag, mapping ? YAML_MAP_TAG : YAML_SEQ_TAG, event->start_mark) < 0)
		return -1;
	node = new_node(b, mapping ? BH_DOC_MAPPING : BH_DOC_SEQUENCE, event->start_mark);
	if (!node || add_anchor(b, anchor, node, event->start_mark) < 0 ||
			place(b, node, event->start_mark) < 0)
		return -1;
	b->open[b->n_open++] = (struct open_node){node, b->n_waiting};
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct bh_doc_node *x = *(const struct bh_doc_node *const *) a;
	const struct bh_doc_node *y = *(const struct bh_doc_node *const *) b;
	int order = strcmp(x->text, y->text);

	if (order)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

static int check_duplicates(struct builder *b, const struct bh_doc_node *mapping)
{
	size_t n_keys = mapping->n_children / 2;
	const struct bh_doc_node *second = NULL, *first = NULL;
	bh_auto_free const struct bh_doc_node **keys = NULL;
	char shown[96];

	if (n_keys < 2)
		return 0;
	keys = calloc(n_keys, sizeof(*keys));
	if (!keys)
		return bh_fail_memory(b->err);
	for (size_t i = 0; i < n_keys; i++)
		keys[i] = mapping->children[2 * i];
	qsort(keys, n_keys, sizeof(*keys), compare_keys);
	for (size_t i = 1; i < n_keys; i++) {
		if (strcmp(keys[i - 1]->text, keys[i]->text) != 0)
			continue;
		if (!second || keys[i]->line < second->line) {
			first = keys[i - 1];
			second = keys[i];
		}
	}
	if (!second)
		return 0;
	return bh_doc_node_fail(second, b->err,
			"key '%s' stands twice in one mapping, first at line %u",
			bh_text_show(shown, sizeof(shown), second->text), first->line);
}

static int on_end(struct builder *b)
{
	struct open_node *open = &b->open[--b->n_open];
	struct bh_doc_node *node = open->node;
	size_t n = b->n_waiting - open->first_child;

	node->children = bh_arena_alloc(b->document->arena, n, sizeof(*node->children));
	if (!node->children)
		return bh_fail_memory(b->err);
	node->n_children = n;
	for (size_t i = 0; i < n; i++) {
		const struct bh_doc_node *child = b->waiting[open->first_child + i];

		node->children[i] = child;
		node->weight += child->weight;
		if (child->height >= node->height)
			node->height = child->height + 1;
	}
	b->n_waiting = open->first_child;
	node->complete = true;
	return node->kind == BH_DOC_MAPPING ? check_duplicates(b, node) : 0;
}

static int on_event(struct builder *b, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->document->root)
			return builder_fail(b, MARK(event->start_mark),
					"a second document begins; a file holds one");
		return 0;
	case YAML_ALIAS_EVENT:
		return on_alias(b, event);
	case YAML_SCALAR_EVENT:
		return on_scalar(b, event);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return on_start(b, event);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return on_end(b);
	case YAML_STREAM_END_EVENT:
		return b->document->root ? 0 : builder_fail(b, 1, 1, "the file is empty");
	default:
		return 0;
	}
}

static int build(struct builder *b, const char *text, size_t size)
{
	bool ended = false;

	if (size > b->limits.bytes)
		return builder_fail(b, 1, 1, "the file is longer than %zu bytes", b->limits.bytes);
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
		text += 3;
		size -= 3;
	}
	if (size == 0)
		return builder_fail(b, 1, 1, "the file is empty");
	if (check_bytes(b, text, size) < 0)
		return -1;
	b->open = calloc(b->limits.depth, sizeof(*b->open));
	if (!b->open || !yaml_parser_initialize(&b->parser))
		return bh_fail_memory(b->err);
	b->has_parser = true;
	yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&b->parser, (const unsigned char *) text, size);

	while (!ended) {
		yaml_event_t event;
		int r;

		if (!yaml_parser_parse(&b->parser, &event))
			return syntax_error(b);
		r = on_event(b, &event);
		ended = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The end of a long path says more than its front. */
static const char *keep_name(struct bh_arena *arena, const char *name)
{
	char shown[4 * NAME_MAX_SHOWN + 8], *kept;
	size_t length = strlen(name), size, skip = 0;

	if (length > NAME_MAX_SHOWN)
		skip = length - NAME_MAX_SHOWN;
	while (skip && ((unsigned char) name[skip] & 0xc0) == 0x80)
		skip++;
	(void) bh_text_show(shown, sizeof(shown), name + skip);
	length = strlen(shown);
	size = length + sizeof("\xe2\x80\xa6");
	kept = bh_arena_alloc(arena, size, 1);
	if (kept)
		(void) snprintf(kept, size, "%s%s", skip ? "\xe2\x80\xa6" : "", shown);
	return kept;
}

int bh_document_parse(const char *text, size_t size, const char *name,
		const struct bh_document_limits *limits, struct bh_document **ret_document,
		struct bh_error *err)
{
	bh_auto_document struct bh_document *document = calloc(1, sizeof(*document));
	BH_CLEANUP(builder_end) struct builder b = {.err = err};

	if (!document)
		return bh_fail_memory(err);
	document->arena = bh_arena_new(ARENA_MAX_BYTES);
	if (!document->arena)
		return bh_fail_memory(err);
	document->name = keep_name(document->arena, name);
	if (!document->name)
		return bh_fail_memory(err);
	b.document = document;
	b.limits = limits ? *limits : BH_DOCUMENT_LIMITS;
	assert(b.limits.depth > 0 && b.limits.depth <= 1000 && b.limits.anchors > 0);
	if (build(&b, text, size) < 0)
		return -1;
	*ret_document = BH_TAKE(document);
	return 0;
}

void bh_document_free(struct bh_document *document)
{
	if (!document)
		return;
	bh_arena_free(document->arena);
	free(document);
}

/* What a person meant to name was not there or is no file: exit 2, like a fault in the file. */
static int fail_open(const char *name, int error, struct bh_error *err)
{
	char shown[2 * NAME_MAX_SHOWN];

	(void) bh_text_show(shown, sizeof(shown), name);
	(void) bh_fail_errno(err, error, "file '%s'", shown);
	if (err && err->code == BH_E_INTERNAL)
		err->code = BH_E_INVALID_FILE;
	return -1;
}

static int open_file(const char *path, int *ret_fd, struct bh_error *err)
{
	bh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *what = NULL;
	char shown[2 * NAME_MAX_SHOWN];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_open(path, errno, err);
	if (S_ISDIR(st.st_mode))
		what = "a directory";
	else if (S_ISFIFO(st.st_mode))
		what = "a pipe ('-' reads standard input)";
	else if (!S_ISREG(st.st_mode))
		what = "a device or socket";
	if (what)
		return bh_fail(err, BH_E_INVALID_FILE, BH_SRC_SELF, 0,
				"file '%s' is %s, not a regular file",
				bh_text_show(shown, sizeof(shown), path), what);
	*ret_fd = bh_take_fd(&fd);
	return 0;
}

/* Reads until the end or until one byte more than @max, which is then too much. */
static int read_all(int fd, const char *name, size_t max, char **ret_text, size_t *ret_size,
		struct bh_error *err)
{
	bh_auto_free char *text = NULL;
	size_t used = 0, size = 0;

	for (;;) {
		ssize_t n;

		if (used == size) {
			char *grown;

			if (size == max + 1)
				break;
			size = size ? 2 * size : 16384;
			if (size > max + 1)
				size = max + 1;
			grown = realloc(text, size);
			if (!grown)
				return bh_fail_memory(err);
			text = grown;
		}
		n = read(fd, text + used, size - used);
		if (n == 0)
			break;
		if (n > 0) {
			used += (size_t) n;
		} else if (errno == EAGAIN && fd == STDIN_FILENO) {
			struct pollfd waiting = {.fd = fd, .events = POLLIN};

			(void) poll(&waiting, 1, -1); /* read() says what is wrong */
		} else if (errno != EINTR) {
			return fail_open(name, errno, err);
		}
	}
	*ret_text = BH_TAKE(text);
	*ret_size = used;
	return 0;
}

int bh_document_read(const char *path, size_t max, char **ret_text, size_t *ret_size,
		const char **ret_name, struct bh_error *err)
{
	bool from_stdin = strcmp(path, "-") == 0;
	const char *name = from_stdin ? "stdin" : path;
	bh_auto_close int opened = -1;

	if (!from_stdin && open_file(path, &opened, err) < 0)
		return -1;
	if (read_all(from_stdin ? STDIN_FILENO : opened, name, max, ret_text, ret_size, err) < 0)
		return -1;
	*ret_name = name;
	return 0;
}

int bh_document_load(const char *path, const struct bh_document_limits *limits,
		struct bh_document **ret_document, struct bh_error *err)
{
	bh_auto_free char *text = NULL;
	const char *name;
	size_t size;

	if (bh_document_read(path, limits ? limits->bytes : BH_DOCUMENT_LIMITS.bytes, &text, &size,
			    &name, err) < 0)
		return -1;
	return bh_document_parse(text, size, name, limits, ret_document, err);
}
