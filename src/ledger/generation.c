/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/generation.h"

#include <string.h>
#include <time.h>

#include "ledger/sql.h"

void bh_generation_clear(struct bh_generation *generation)
{
	json_decref(generation->layout);
	generation->layout = NULL;
}

int bh_generation_last(struct bh_ledger *ledger, struct bh_generation *ret, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;
	struct bh_generation last = {0};
	int r;

	if (bh_sql_prepare(ledger, &stmt, err,
			    "SELECT n, at, source, selected, sha256, layout FROM generation"
			    " ORDER BY n DESC LIMIT 1",
			    "") < 0)
		return -1;
	r = bh_sql_step(ledger, stmt, err);
	if (r <= 0)
		return r < 0 ? -1 : BH_LEDGER_NONE;
	last.n = sqlite3_column_int64(stmt, 0);
	last.at = sqlite3_column_int64(stmt, 1);
	bh_sql_text(stmt, 2, last.source, sizeof(last.source));
	bh_sql_text(stmt, 3, last.selected, sizeof(last.selected));
	bh_sql_text(stmt, 4, last.sha256, sizeof(last.sha256));
	last.layout = json_loads((const char *) sqlite3_column_text(stmt, 5), 0, NULL);
	if (!json_is_array(last.layout)) {
		json_decref(last.layout);
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"generation %lld in the ledger cannot be read", (long long) last.n);
	}
	*ret = last;
	return 0;
}

static const json_t *find_gpu(const json_t *layout, const char *uuid)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach (layout, i, gpu) {
		const char *theirs = json_string_value(json_object_get(gpu, "uuid"));

		if (theirs && uuid && strcmp(theirs, uuid) == 0)
			return gpu;
	}
	return NULL;
}

/* A new reference: the new rows, then the old ones of GPUs that are not named now. */
static json_t *merge(const json_t *layout, const json_t *old)
{
	json_t *merged = json_deep_copy(layout), *gpu;
	size_t i;

	json_array_foreach (old, i, gpu) {
		if (!find_gpu(layout, json_string_value(json_object_get(gpu, "uuid"))) &&
				json_array_append(merged, gpu) < 0) {
			json_decref(merged);
			return NULL;
		}
	}
	return merged;
}

int bh_generation_propose(struct bh_ledger *ledger, const char *source, const char *selected,
		const char *sha256, const json_t *layout, int64_t *ret_n, struct bh_error *err)
{
	struct bh_generation last = {0};
	bh_auto_json json_t *merged = NULL;
	bh_auto_free char *text = NULL;
	bool same;
	int r = bh_generation_last(ledger, &last, err);

	if (r < 0)
		return -1;
	merged = merge(layout, last.layout);
	same = merged && last.layout && json_equal(merged, last.layout) &&
	       strcmp(last.sha256, sha256) == 0 && strcmp(last.selected, selected) == 0;
	bh_generation_clear(&last);
	if (!merged)
		return bh_fail_memory(err);
	if (same) {
		*ret_n = last.n;
		return 0;
	}
	if (bh_json_text(merged, &text, err) < 0 ||
			bh_sql_run(ledger, err,
					"INSERT INTO generation (n, at, source, selected, sha256, "
					"layout)"
					" VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
					"iitttt", last.n + 1, (int64_t) time(NULL), source,
					selected, sha256, text) < 0)
		return -1;
	*ret_n = last.n + 1;
	return 0;
}
