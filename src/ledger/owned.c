/* SPDX-License-Identifier: Apache-2.0 */
#include "ledger/owned.h"

#include <string.h>

#include "ledger/sql.h"

int bh_owned_add_gi(struct bh_ledger *ledger, const char *gpu, uint32_t profile_id,
		const struct bh_placement *at, struct bh_error *err)
{
	/* what was ours at that place before is gone, or this one could not be there */
	if (bh_sql_run(ledger, err, "DELETE FROM owned_ci WHERE gpu = ?1 AND gi_start = ?2", "ti",
			    gpu, (int64_t) at->start) < 0)
		return -1;
	return bh_sql_run(ledger, err,
			"INSERT OR REPLACE INTO owned_gi (gpu, start, size, profile_id)"
			" VALUES (?1, ?2, ?3, ?4)",
			"tiii", gpu, (int64_t) at->start, (int64_t) at->size, (int64_t) profile_id);
}

int bh_owned_drop_gi(struct bh_ledger *ledger, const char *gpu, const struct bh_placement *at,
		struct bh_error *err)
{
	if (bh_sql_run(ledger, err, "DELETE FROM owned_ci WHERE gpu = ?1 AND gi_start = ?2", "ti",
			    gpu, (int64_t) at->start) < 0)
		return -1;
	return bh_sql_run(ledger, err, "DELETE FROM owned_gi WHERE gpu = ?1 AND start = ?2", "ti",
			gpu, (int64_t) at->start);
}

int bh_owned_add_ci(struct bh_ledger *ledger, const char *gpu, const struct bh_placement *gi_at,
		const struct bh_ci *ci, struct bh_error *err)
{
	return bh_sql_run(ledger, err,
			"INSERT OR REPLACE INTO owned_ci (gpu, gi_start, ci_start, ci_size, uuid)"
			" VALUES (?1, ?2, ?3, ?4, ?5)",
			"tiiit", gpu, (int64_t) gi_at->start, (int64_t) ci->at.start,
			(int64_t) ci->at.size, ci->uuid);
}

int bh_owned_drop_ci(struct bh_ledger *ledger, const char *gpu, const struct bh_placement *gi_at,
		const struct bh_placement *ci_at, struct bh_error *err)
{
	return bh_sql_run(ledger, err,
			"DELETE FROM owned_ci WHERE gpu = ?1 AND gi_start = ?2 AND ci_start = ?3",
			"tii", gpu, (int64_t) gi_at->start, (int64_t) ci_at->start);
}

int bh_owned_drop_gpu(struct bh_ledger *ledger, const char *gpu, struct bh_error *err)
{
	if (bh_sql_run(ledger, err, "DELETE FROM owned_ci WHERE gpu = ?1", "t", gpu) < 0)
		return -1;
	return bh_sql_run(ledger, err, "DELETE FROM owned_gi WHERE gpu = ?1", "t", gpu);
}

static int owns_gi(struct bh_ledger *ledger, const struct bh_gpu *gpu, const struct bh_gi *gi,
		struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;

	if (bh_sql_prepare(ledger, &stmt, err,
			    "SELECT 1 FROM owned_gi WHERE gpu = ?1 AND start = ?2 AND size = ?3"
			    " AND profile_id = ?4",
			    "tiii", gpu->uuid, (int64_t) gi->at.start, (int64_t) gi->at.size,
			    (int64_t) gi->profile_id) < 0)
		return -1;
	return bh_sql_step(ledger, stmt, err);
}

static int owns_ci(struct bh_ledger *ledger, const struct bh_gpu *gpu, const struct bh_gi *gi,
		const struct bh_ci *ci, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;

	if (bh_sql_prepare(ledger, &stmt, err,
			    "SELECT 1 FROM owned_ci WHERE gpu = ?1 AND gi_start = ?2 AND"
			    " ci_start = ?3 AND ci_size = ?4 AND uuid = ?5",
			    "tiiit", gpu->uuid, (int64_t) gi->at.start, (int64_t) ci->at.start,
			    (int64_t) ci->at.size, ci->uuid) < 0)
		return -1;
	return bh_sql_step(ledger, stmt, err);
}

/* How many MIG devices of ours were made in that GPU instance and not taken back. */
static int count_kept_cis(struct bh_ledger *ledger, const struct bh_gpu *gpu,
		const struct bh_gi *gi, size_t *ret_count, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *stmt = NULL;

	if (bh_sql_prepare(ledger, &stmt, err,
			    "SELECT COUNT(*) FROM owned_ci WHERE gpu = ?1 AND gi_start = ?2", "ti",
			    gpu->uuid, (int64_t) gi->at.start) < 0 ||
			bh_sql_step(ledger, stmt, err) < 0)
		return -1;
	*ret_count = (size_t) sqlite3_column_int64(stmt, 0);
	return 0;
}

static int mark_gi(struct bh_ledger *ledger, const struct bh_gpu *gpu, struct bh_gi *gi,
		struct bh_error *err)
{
	int owned = ledger ? owns_gi(ledger, gpu, gi, err) : 0;
	size_t ours = 0, kept = 0;

	if (owned < 0 || (owned && count_kept_cis(ledger, gpu, gi, &kept, err) < 0))
		return -1;
	for (size_t c = 0; c < gi->n_cis; c++) {
		int owned_ci = owned ? owns_ci(ledger, gpu, gi, &gi->cis[c], err) : 0;

		if (owned_ci < 0)
			return -1;
		gi->cis[c].foreign = !owned_ci;
		ours += (size_t) owned_ci;
	}
	gi->foreign = !owned || (ours == 0 && (kept > 0 || gi->n_cis > 0));
	return 0;
}

int bh_owned_mark(struct bh_ledger *ledger, struct bh_gpu *gpu, struct bh_error *err)
{
	for (size_t g = 0; g < gpu->n_gis; g++) {
		if (mark_gi(ledger, gpu, &gpu->gis[g], err) < 0)
			return bh_while(err, "looking up what is ours on %s", gpu->uuid);
	}
	return 0;
}

static const struct bh_gi *find_ours(const struct bh_gpu *gpu, uint32_t start)
{
	for (size_t g = 0; g < gpu->n_gis; g++) {
		if (gpu->gis[g].at.start == start && !gpu->gis[g].foreign)
			return &gpu->gis[g];
	}
	return NULL;
}

static bool holds_uuid(const struct bh_gi *gi, const char *uuid)
{
	for (size_t c = 0; c < gi->n_cis; c++) {
		if (strcmp(gi->cis[c].uuid, uuid) == 0)
			return true;
	}
	return false;
}

/* Places of rows that the observation does not bear out; reading ends before anything is changed. */
static int find_stale(struct bh_ledger *ledger, const struct bh_gpu *gpu, struct bh_placement *gis,
		size_t *ret_gis, struct bh_placement *cis, size_t *ret_cis, struct bh_error *err)
{
	bh_auto_stmt sqlite3_stmt *of_gis = NULL, *of_cis = NULL;
	size_t n_gis = 0, n_cis = 0;
	int r;

	if (bh_sql_prepare(ledger, &of_gis, err, "SELECT start FROM owned_gi WHERE gpu = ?1", "t",
			    gpu->uuid) < 0 ||
			bh_sql_prepare(ledger, &of_cis, err,
					"SELECT gi_start, ci_start, uuid FROM owned_ci WHERE gpu = "
					"?1",
					"t", gpu->uuid) < 0)
		return -1;
	while ((r = bh_sql_step(ledger, of_gis, err)) > 0 && n_gis < BH_UNITS_MAX) {
		uint32_t start = (uint32_t) sqlite3_column_int64(of_gis, 0);

		if (!find_ours(gpu, start))
			gis[n_gis++] = (struct bh_placement){.start = start};
	}
	if (r < 0)
		return -1;
	while ((r = bh_sql_step(ledger, of_cis, err)) > 0 && n_cis < BH_UNITS_MAX) {
		uint32_t start = (uint32_t) sqlite3_column_int64(of_cis, 0);
		const struct bh_gi *gi = find_ours(gpu, start);
		char uuid[BH_UUID_SIZE];

		bh_sql_text(of_cis, 2, uuid, sizeof(uuid));
		if (gi && !holds_uuid(gi, uuid)) /* of those without, the GPU instance's row tells */
			cis[n_cis++] = (struct bh_placement){
					start, (uint32_t) sqlite3_column_int64(of_cis, 1)};
	}
	*ret_gis = n_gis;
	*ret_cis = n_cis;
	return r < 0 ? -1 : 0;
}

int bh_owned_forget(struct bh_ledger *ledger, const struct bh_gpu *gpu, bool only_look,
		bool *ret_stale, struct bh_error *err)
{
	struct bh_placement gis[BH_UNITS_MAX], cis[BH_UNITS_MAX]; /* of cis: {GI start, CI start} */
	size_t n_gis, n_cis;

	if (find_stale(ledger, gpu, gis, &n_gis, cis, &n_cis, err) < 0)
		return bh_while(err, "looking for what is gone from %s", gpu->uuid);
	*ret_stale = n_gis + n_cis > 0;
	for (size_t i = 0; !only_look && i < n_gis; i++) {
		if (bh_owned_drop_gi(ledger, gpu->uuid, &gis[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; !only_look && i < n_cis; i++) {
		if (bh_owned_drop_ci(ledger, gpu->uuid, &(struct bh_placement){cis[i].start, 0},
				    &(struct bh_placement){cis[i].size, 0}, err) < 0)
			return -1;
	}
	return 0;
}
