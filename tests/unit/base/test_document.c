/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/document.h"
#include "base/fields.h"

#define PARSE(text, limits, ret, err) bh_document_parse(text, strlen(text), "f", limits, ret, err)

static struct bh_document *parsed(const char *text)
{
	struct bh_document *document = NULL;
	struct bh_error err = {0};

	if (PARSE(text, NULL, &document, &err) < 0)
		fail_msg("%s", err.message);
	return document;
}

static const struct {
	const char *text, *message;
} refused[] = {
		{"", "f:1:1: the file is empty"},
		{"\xef\xbb\xbf", "f:1:1: the file is empty"},
		{"# a comment alone\n", "f:1:1: the file is empty"},
		{"a: 1\nb: \xff\n", "f:2:4: byte 0xff is not UTF-8"},
		{"a: \xc3\xa9\xc0\x80\n", "f:1:5: byte 0xc0 is not UTF-8"},
		{"a: \xed\xa0\x80\n", "f:1:4: byte 0xed is not UTF-8"},
		{"a: b\x1b[2J\n", "f:1:5: a control character"},
		{"a: \xc2\x9b\n", "f:1:4: a control character"},
		{"a: x\xef\xbb\xbf\n", "f:1:5: a control character"},
		{"a:\n\tb: 1\n", "f:2:1: a tab in the indentation; YAML indents with spaces alone"},
		{"a:\n  b: 1\n\tc: 2\n",
				"f:3:1: a tab in the indentation; YAML indents with spaces alone"},
		{"a: @b\n", "f:1:4: syntax: found character that cannot start any token, "
			    "while scanning for the next token from line 1 on"},
		{"a: [1, 2\nb: 3\n",
				"f:2:2: syntax: did not find expected ',' or ']', while parsing "
				"a flow sequence from line 1 on"},
		{"a: b: c\n", "f:1:5: syntax: mapping values are not allowed in this context"},
		{"a: \"b\n", "f:2:1: syntax: found unexpected end of stream, while scanning a "
			     "quoted "
			     "scalar from line 1 on"},
		{"a: 1\n---\nb: 2\n", "f:2:1: a second document begins; a file holds one"},
		{"---\n---\n", "f:2:1: a second document begins; a file holds one"},
		{"a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
				"f:5:3: key 'c' stands twice in one mapping, first at line 3"},
		{"{\"a\": 1, a: 2}",
				"f:1:10: key 'a' stands twice in one mapping, first at line 1"},
		{"a: 1\nb: 1\nb: 2\na: 2\n",
				"f:3:1: key 'b' stands twice in one mapping, first at line 2"},
		{"? [a, b]\n: 1\n", "f:1:3: a key must be a text, not a list"},
		{"{{a: 1}: 2}\n", "f:1:2: a key must be a text, not a mapping"},
		{"a: &x [1]\n*x : 2\n", "f:2:1: a key must be a text, not a list"},
		{"a: &x {b: 1}\nc:\n  <<: *x\n",
				"f:3:3: merge keys ('<<') are not supported: write the fields out"},
		{"a: *x\n", "f:1:4: alias '*x' without an anchor before it"},
		{"a: &x\n  - *x\n", "f:2:5: alias '*x' stands inside what it names"},
		{"a: !mine 7\n", "f:1:4: tag '!mine' is not supported"},
		{"a: !!int 7\n", "f:1:4: tag 'tag:yaml.org,2002:int' is not supported"},
		{"a: !!set {b: 1}\n", "f:1:4: tag 'tag:yaml.org,2002:set' is not supported"},
		{"# x\n%TAG ! tag:x,2000:\n---\na: 1\n", "f:2:1: '%TAG' is not supported"},
		{"a: 1\r\n...\r%TAG ! tag:x,2000:\n", "f:3:1: '%TAG' is not supported"},
		{"a: \"b\\0c\"\n", "f:1:4: a text with a NUL in it"},
};

static void every_fault_is_refused_with_its_place(void **state)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(refused); i++) {
		struct bh_document *document = NULL;
		struct bh_error err = {0};

		assert_int_equal(PARSE(refused[i].text, NULL, &document, &err), -1);
		assert_string_equal(err.message, refused[i].message);
		assert_int_equal(err.code, BH_E_INVALID_FILE);
		assert_null(document);
	}
}

static void nul_byte_is_refused(void **state)
{
	struct bh_document *document = NULL;
	struct bh_error err = {0};

	assert_int_equal(bh_document_parse("a: 1\nb: \0", 9, "f", NULL, &document, &err), -1);
	assert_string_equal(err.message, "f:2:4: a NUL byte: this is no text file");
	assert_int_equal(bh_document_parse(NULL, 0, "f", NULL, &document, &err), -1);
	assert_string_equal(err.message, "f:1:1: the file is empty");
	assert_int_equal(bh_document_parse("", 0, "f", NULL, &document, NULL), -1);
}

static void every_budget_is_kept_and_its_last_unit_is_usable(void **state)
{
	const struct {
		const char *text;
		size_t offset, enough;
		const char *message; /* one below */
	} budgets[] = {
			{"a: 1\n", offsetof(struct bh_document_limits, bytes), 5,
					"f:1:1: the file is longer than 4 bytes"},
			{"a: [1, 2]\n", offsetof(struct bh_document_limits, nodes), 5,
					"f:1:8: more than 4 nodes, aliases expanded"},
			{"a: &x [1, 2]\nb: *x\n", offsetof(struct bh_document_limits, nodes), 9,
					"f:2:4: more than 8 nodes, aliases expanded"},
			{"a: [[1]]\n", offsetof(struct bh_document_limits, depth), 4,
					"f:1:6: nested deeper than 3 levels"},
			{"a: &x [[1]]\nb: [*x]\n", offsetof(struct bh_document_limits, depth), 5,
					"f:2:5: nested deeper than 4 levels"},
			{"a: four\n", offsetof(struct bh_document_limits, scalar_bytes), 4,
					"f:1:4: a text longer than 3 bytes"},
			{"a: 1\nb: 2\nc: 3\n", offsetof(struct bh_document_limits, keys), 3,
					"f:3:1: more than 2 keys in one mapping"},
			{"- &a 1\n- &b 2\n", offsetof(struct bh_document_limits, anchors), 2,
					"f:2:3: more than 1 anchors"},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(budgets); i++) {
		struct bh_document_limits limits = BH_DOCUMENT_LIMITS;
		size_t *budget = (size_t *) ((char *) &limits + budgets[i].offset);
		struct bh_document *document = NULL;
		struct bh_error err = {0};

		*budget = budgets[i].enough;
		if (PARSE(budgets[i].text, &limits, &document, &err) < 0)
			fail_msg("%zu: %s", i, err.message);
		bh_document_free(document);
		document = NULL;
		*budget = budgets[i].enough - 1;
		assert_int_equal(PARSE(budgets[i].text, &limits, &document, &err), -1);
		assert_string_equal(err.message, budgets[i].message);
		assert_int_equal(err.code, BH_E_INVALID_FILE);
	}
}

static void alias_bomb_is_refused(void **state)
{
	char text[2048] = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
	struct bh_document *document = NULL;
	struct bh_error err = {0};

	for (int i = 1; i < 12; i++) {
		size_t used = strlen(text);

		(void) snprintf(text + used, sizeof(text) - used,
				"l%d: &l%d [*l%d, *l%d, *l%d, *l%d, *l%d, *l%d, *l%d, *l%d]\n", i,
				i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	}
	assert_int_equal(PARSE(text, NULL, &document, &err), -1);
	assert_string_equal(err.message, "f:6:15: more than 100000 nodes, aliases expanded");
}

static void deep_nesting_is_refused_and_not_recursed_into(void **state)
{
	static char text[200001];
	struct bh_document *document = NULL;
	struct bh_error err = {0};

	memset(text, '[', sizeof(text) - 1);
	assert_int_equal(PARSE(text, NULL, &document, &err), -1);
	assert_string_equal(err.message, "f:1:65: nested deeper than 64 levels");
}

static void plain_scalars_mean_what_the_core_schema_says(void **state)
{
	static const struct {
		const char *text;
		enum bh_scalar_type type;
	} scalars[] = {
			{"null", BH_SCALAR_NULL},
			{"~", BH_SCALAR_NULL},
			{"NULL", BH_SCALAR_NULL},
			{"nUll", BH_SCALAR_TEXT},
			{"true", BH_SCALAR_BOOL},
			{"False", BH_SCALAR_BOOL},
			{"TRUE", BH_SCALAR_BOOL},
			{"yes", BH_SCALAR_TEXT},
			{"on", BH_SCALAR_TEXT},
			{"y", BH_SCALAR_TEXT},
			{"0", BH_SCALAR_INT},
			{"-19", BH_SCALAR_INT},
			{"+7", BH_SCALAR_INT},
			{"010", BH_SCALAR_INT},
			{"0x3F", BH_SCALAR_INT},
			{"0o17", BH_SCALAR_INT},
			{"0x", BH_SCALAR_TEXT},
			{"0o8", BH_SCALAR_TEXT},
			{"-0x1", BH_SCALAR_TEXT},
			{"-", BH_SCALAR_TEXT},
			{"1_000", BH_SCALAR_TEXT},
			{"12:30:45", BH_SCALAR_TEXT},
			{"0.", BH_SCALAR_FLOAT},
			{"-.5", BH_SCALAR_FLOAT},
			{"12e03", BH_SCALAR_FLOAT},
			{"-2E+05", BH_SCALAR_FLOAT},
			{".inf", BH_SCALAR_FLOAT},
			{"-.Inf", BH_SCALAR_FLOAT},
			{".nan", BH_SCALAR_FLOAT},
			{"-.nan", BH_SCALAR_TEXT},
			{".", BH_SCALAR_TEXT},
			{"1e", BH_SCALAR_TEXT},
			{"1.2.3", BH_SCALAR_TEXT},
			{"3g.40gb", BH_SCALAR_TEXT},
			{"\"7\"", BH_SCALAR_TEXT},
			{"'true'", BH_SCALAR_TEXT},
			{"!!str 7", BH_SCALAR_TEXT},
			{"|\n 7", BH_SCALAR_TEXT},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(scalars); i++) {
		char text[64];

		(void) snprintf(text, sizeof(text), "[a, %s]", scalars[i].text);
		if (strchr(scalars[i].text, '\n') || scalars[i].text[0] == '-')
			(void) snprintf(text, sizeof(text), "- a\n- %s%s\n", scalars[i].text,
					strcmp(scalars[i].text, "-") == 0 ? "-" : "");
		bh_auto_document struct bh_document *d = parsed(text);
		const struct bh_doc_node *node = bh_doc_node_item(bh_document_root(d), 1);

		if (bh_doc_node_scalar_type(node) != scalars[i].type)
			fail_msg("'%s' is of type %d", scalars[i].text,
					bh_doc_node_scalar_type(node));
	}
}

static void numbers_and_booleans_have_their_values(void **state)
{
	bh_auto_document struct bh_document *d = parsed(
			"[-9223372036854775808, 9223372036854775808, 0x10, 0o10, 010, +3, True, "
			"false, '1', [1]]");
	const int64_t values[] = {INT64_MIN, 0, 16, 8, 10, 3};
	const struct bh_doc_node *root = bh_document_root(d);
	int64_t value;
	bool flag = false;

	for (size_t i = 0; i < BH_ARRAY_SIZE(values); i++) {
		if (i == 1) {
			assert_false(bh_doc_node_int(bh_doc_node_item(root, i), &value));
			continue;
		}
		assert_true(bh_doc_node_int(bh_doc_node_item(root, i), &value));
		assert_int_equal(value, values[i]);
	}
	assert_true(bh_doc_node_bool(bh_doc_node_item(root, 6), &flag));
	assert_true(flag);
	assert_true(bh_doc_node_bool(bh_doc_node_item(root, 7), &flag));
	assert_false(flag);
	assert_false(bh_doc_node_int(bh_doc_node_item(root, 8), &value));
	assert_false(bh_doc_node_int(bh_doc_node_item(root, 9), &value));
	assert_false(bh_doc_node_bool(bh_doc_node_item(root, 9), &flag));
}

static void every_node_knows_its_place(void **state)
{
	bh_auto_document struct bh_document *d = parsed(
			"# h\n\xc3\xa9: x\nlist:\n  - one\n  - k: v\n    'q': \"w\"\nnone:\n");
	const struct bh_doc_node *root = bh_document_root(d), *entry;

	assert_int_equal(bh_doc_node_kind(root), BH_DOC_MAPPING);
	assert_int_equal(bh_doc_node_count(root), 3);
	assert_int_equal(bh_doc_node_line(root), 2);
	assert_int_equal(bh_doc_node_column(bh_doc_node_value(root, 0)),
			4); /* characters, not bytes */
	entry = bh_doc_node_item(bh_doc_node_find(root, "list"), 1);
	assert_int_equal(bh_doc_node_line(entry), 5);
	assert_int_equal(bh_doc_node_column(entry), 5);
	assert_string_equal(bh_doc_node_text(bh_doc_node_key(entry, 1)), "q");
	assert_true(bh_doc_node_is_quoted(bh_doc_node_key(entry, 1)));
	assert_int_equal(bh_doc_node_line(bh_doc_node_value(entry, 1)), 6);
	assert_int_equal(bh_doc_node_column(bh_doc_node_value(entry, 1)), 10);
	assert_true(bh_doc_node_is_null(bh_doc_node_find(root, "none")));
	assert_null(bh_doc_node_find(root, "absent"));
	assert_null(bh_doc_node_find(entry, "one"));
	assert_null(bh_doc_node_text(entry));
}

static void json_is_read_tabs_and_all(void **state)
{
	bh_auto_document struct bh_document *d =
			parsed("\xef\xbb\xbf{\n\t\"a\":1,\n\t\"b\": [true,null, "
			       "\"x\\/\\u00e9\"],\n\t\"c\": {}\n}");
	const struct bh_doc_node *list = bh_doc_node_find(bh_document_root(d), "b");

	assert_int_equal(bh_doc_node_count(list), 3);
	assert_true(bh_doc_node_is_null(bh_doc_node_item(list, 1)));
	assert_string_equal(bh_doc_node_text(bh_doc_node_item(list, 2)), "x/\xc3\xa9");
	assert_int_equal(bh_doc_node_count(bh_doc_node_find(bh_document_root(d), "c")), 0);
}

static void alias_shares_what_its_anchor_named_last(void **state)
{
	bh_auto_document struct bh_document *d =
			parsed("a: &x [1, 2]\nb: *x\nc: &x three\nd: *x\n*x : e\n");
	const struct bh_doc_node *root = bh_document_root(d);

	assert_ptr_equal(bh_doc_node_find(root, "b"), bh_doc_node_find(root, "a"));
	assert_string_equal(bh_doc_node_text(bh_doc_node_find(root, "d")), "three");
	assert_string_equal(bh_doc_node_text(bh_doc_node_find(root, "three")), "e");
}

static void long_file_name_keeps_its_end(void **state)
{
	char name[301];
	struct bh_document *document = NULL;
	struct bh_error err = {0};

	memset(name, 'x', sizeof(name));
	memcpy(name + 300 - 9, "/end.yaml", 10);
	assert_int_equal(bh_document_parse("a: [", 4, name, NULL, &document, &err), -1);
	if (!strstr(err.message, "/end.yaml:2:1: syntax: "))
		fail_msg("%s", err.message);
	assert_int_equal(strncmp(err.message, "\xe2\x80\xa6xxx", 6), 0);
}

static int lowest_free_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	return fd;
}

static void load_refuses_what_is_no_regular_file(void **state)
{
	char directory[] = "/tmp/bh-document-XXXXXX", path[64];
	struct bh_document *document = NULL;
	struct bh_document_limits limits = BH_DOCUMENT_LIMITS;
	struct bh_error err = {0};
	int lowest = lowest_free_descriptor();
	FILE *file;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(bh_document_load(directory, NULL, &document, &err), -1);
	assert_non_null(strstr(err.message, "is a directory, not a regular file"));
	assert_int_equal(err.code, BH_E_INVALID_FILE);

	(void) snprintf(path, sizeof(path), "%s/f", directory);
	assert_int_equal(bh_document_load(path, NULL, &document, &err), -1);
	assert_int_equal(err.code, BH_E_INVALID_FILE);
	assert_int_equal(err.native, ENOENT);
	assert_non_null(strstr(err.message, "/f': No such file or directory"));

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(bh_document_load(path, NULL, &document, &err), -1);
	assert_non_null(strstr(err.message, "is a pipe ('-' reads standard input)"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(bh_document_load("/dev/zero", NULL, &document, &err), -1);
	assert_non_null(strstr(err.message, "is a device or socket"));

	file = fopen(path, "w");
	assert_non_null(file);
	for (int i = 0; i < 20000; i++)
		(void) fprintf(file, "- %d\n", i);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(bh_document_load(path, NULL, &document, &err), 0);
	assert_int_equal(bh_doc_node_count(bh_document_root(document)), 20000);
	bh_document_free(document);
	document = NULL;
	limits.bytes = 20000;
	assert_int_equal(bh_document_load(path, &limits, &document, &err), -1);
	assert_non_null(strstr(err.message, "f:1:1: the file is longer than 20000 bytes"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(lowest_free_descriptor(), lowest);
}

static void dash_reads_standard_input_to_its_end(void **state)
{
	struct bh_document *document = NULL;
	struct bh_error err = {0};
	int saved = dup(STDIN_FILENO), ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "a: [\n", 5), 5);
	assert_int_equal(close(ends[1]), 0);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	assert_int_equal(bh_document_load("-", NULL, &document, &err), -1);
	assert_int_equal(strncmp(err.message, "stdin:2:1: ", 11), 0);
	assert_true(dup2(saved, STDIN_FILENO) >= 0);
	assert_int_equal(close(saved), 0);
	assert_int_equal(close(ends[0]), 0);
}

struct share {
	const char *name;
	uint32_t count, any;
	bool wanted;
	const struct bh_doc_node *list, *extra;
};

static const struct bh_field share_rows[] = {
		{"name", BH_FIELD_TEXT, .required = true, .offset = offsetof(struct share, name)},
		{"count", BH_FIELD_U32, .min = 1, .max = 64,
				.offset = offsetof(struct share, count)},
		{"any", BH_FIELD_U32, .offset = offsetof(struct share, any)},
		{"wanted", BH_FIELD_BOOL, .offset = offsetof(struct share, wanted)},
		{"list", BH_FIELD_LIST, .offset = offsetof(struct share, list),
				.help = "a list of things"},
		{"extra", BH_FIELD_MAPPING, .offset = offsetof(struct share, extra)},
};
static const struct bh_fields share_fields = BH_FIELDS("a share", share_rows);

static void fields_are_stored_where_their_rows_say(void **state)
{
	bh_auto_document struct bh_document *d =
			parsed("{name: a, count: 64, any: 4294967295, wanted: true, list: [], "
			       "extra: ~}");
	struct share share = {.extra = NULL};
	struct bh_error err = {0};

	assert_int_equal(bh_fields_read(&share_fields, bh_document_root(d), &share, &err), 0);
	assert_string_equal(share.name, "a");
	assert_int_equal(share.count, 64);
	assert_int_equal(share.any, UINT32_MAX);
	assert_true(share.wanted);
	assert_ptr_equal(share.list, bh_doc_node_find(bh_document_root(d), "list"));
	assert_null(share.extra);
}

static void every_wrong_field_is_refused_with_what_is_allowed(void **state)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
			{"[a]", "f:1:1: a share is a list, expected a mapping"},
			{"'a'", "f:1:1: a share is text 'a', expected a mapping"},
			{"count: 1\n", "f:1:1: field 'name' is missing in a share, expected a "
				       "text"},
			{"name: x\ncuont: 1\n",
					"f:2:1: unknown field 'cuont' in a share, did you mean "
					"'count'? allowed: name, count, any, wanted, list, extra"},
			{"name: x\nColor: 1\n", "f:2:1: unknown field 'Color' in a share, allowed: "
						"name, count, "
						"any, wanted, list, extra"},
			{"NAME: x\n", "f:1:1: unknown field 'NAME' in a share, did you mean "
				      "'name'? "
				      "allowed: name, count, any, wanted, list, extra"},
			{"\"\\e[1m\": x\n", "f:1:1: unknown field '\\x1b[1m' in a share, allowed: "
					    "name, count, any, wanted, list, extra"},
			{"name: 7\n", "f:1:7: field 'name' is number 7, expected a text"},
			{"name:\n", "f:1:6: field 'name' is nothing, expected a text"},
			{"name: [x]\n", "f:1:7: field 'name' is a list, expected a text"},
			{"name: x\ncount: 65\n",
					"f:2:8: field 'count' is number 65, expected a whole "
					"number from 1 to 64"},
			{"name: x\ncount: 0\n",
					"f:2:8: field 'count' is number 0, expected a whole "
					"number from 1 to 64"},
			{"name: x\ncount: 1.5\n", "f:2:8: field 'count' is number 1.5, expected a "
						  "whole number from 1 to 64"},
			{"name: x\ncount: '1'\n",
					"f:2:8: field 'count' is text '1', expected a whole "
					"number from 1 to 64"},
			{"name: x\nany: -1\n", "f:2:6: field 'any' is number -1, expected a whole "
					       "number from 0 to 4294967295"},
			{"name: x\nany: 4294967296\n",
					"f:2:6: field 'any' is number 4294967296, "
					"expected a whole number from 0 to 4294967295"},
			{"name: x\nwanted: yes\n", "f:2:9: field 'wanted' is text 'yes', expected "
						   "true or false"},
			{"name: x\nlist: {}\n", "f:2:7: field 'list' is a mapping, expected a list "
						"of things"},
			{"name: x\nextra: true\n",
					"f:2:8: field 'extra' is true, expected a mapping"},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(wrong); i++) {
		bh_auto_document struct bh_document *d = parsed(wrong[i].text);
		struct share share = {.name = NULL};
		struct bh_error err = {0};

		assert_int_equal(bh_fields_read(&share_fields, bh_document_root(d), &share, &err),
				-1);
		assert_string_equal(err.message, wrong[i].message);
		assert_int_equal(err.code, BH_E_INVALID_FILE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_fault_is_refused_with_its_place),
			cmocka_unit_test(nul_byte_is_refused),
			cmocka_unit_test(every_budget_is_kept_and_its_last_unit_is_usable),
			cmocka_unit_test(alias_bomb_is_refused),
			cmocka_unit_test(deep_nesting_is_refused_and_not_recursed_into),
			cmocka_unit_test(plain_scalars_mean_what_the_core_schema_says),
			cmocka_unit_test(numbers_and_booleans_have_their_values),
			cmocka_unit_test(every_node_knows_its_place),
			cmocka_unit_test(json_is_read_tabs_and_all),
			cmocka_unit_test(alias_shares_what_its_anchor_named_last),
			cmocka_unit_test(long_file_name_keeps_its_end),
			cmocka_unit_test(load_refuses_what_is_no_regular_file),
			cmocka_unit_test(dash_reads_standard_input_to_its_end),
			cmocka_unit_test(fields_are_stored_where_their_rows_say),
			cmocka_unit_test(every_wrong_field_is_refused_with_what_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
