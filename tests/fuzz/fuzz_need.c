/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/catalogue.h"
#include "plan/needs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const struct bh_need *a, const struct bh_need *b)
{
	return a->memory_mib == b->memory_mib && a->compute_permille == b->compute_permille &&
	       a->by_name == b->by_name && a->count == b->count &&
	       (!a->by_name || bh_profile_name_compare(&a->profile, &b->profile) == 0);
}

/* A profile that is chosen by size has it. */
static void check_fits(const struct bh_need *need)
{
	for (size_t m = 0; m < bh_catalogue_count(); m++) {
		const struct bh_model *model = bh_catalogue_at(m);
		uint32_t sm = bh_need_board_sm(model->gi_profiles, model->n_gi_profiles);
		struct bh_need_fit fit;

		if (!bh_need_fit(model->gi_profiles, model->n_gi_profiles, need, &fit) ||
				need->by_name)
			continue;
		if (need->memory_mib && (fit.profile->memory_mib == BH_UNKNOWN64 ||
							fit.profile->memory_mib < need->memory_mib))
			abort();
		if (need->compute_permille &&
				(fit.profile->sm == BH_UNKNOWN || sm == BH_UNKNOWN ||
						fit.profile->sm * UINT64_C(1000) <
								(uint64_t) sm * need->compute_permille))
			abort();
	}
}

/* What is accepted comes back the same from its canonical text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bh_auto_free char *text = calloc(1, size + 1);
	char canonical[BH_NEED_TEXT_SIZE];
	struct bh_need need, again;
	struct bh_error err = {0};

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	if (bh_need_parse(text, &need, &err) < 0) {
		if (err.code != BH_E_USAGE || strncmp(err.message, "need '", 6) != 0)
			abort();
		return 0;
	}
	(void) bh_need_format(&need, canonical);
	if (bh_need_parse(canonical, &again, &err) < 0 || !is_same(&need, &again))
		abort();
	check_fits(&need);
	return 0;
}
