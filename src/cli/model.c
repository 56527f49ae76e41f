/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/model.h"

#include <stdio.h>
#include <string.h>

/* "h100" is far from every slug by letters, yet it is clear what is meant. */
static const char *nearest_slug(const char *slug)
{
	const char *nearest = bh_catalogue_nearest_slug(slug);

	for (size_t i = 0; slug[0] && !nearest && i < bh_catalogue_count(); i++) {
		if (strncmp(bh_catalogue_at(i)->slug, slug, strlen(slug)) == 0)
			nearest = bh_catalogue_at(i)->slug;
	}
	return nearest;
}

const struct bh_model *cli_find_model(const char *slug, struct bh_error *err)
{
	const struct bh_model *model = bh_catalogue_by_slug(slug);
	const char *nearest;
	char list[400] = "";
	size_t used = 0;

	if (model)
		return model;
	for (size_t i = 0; i < bh_catalogue_count() && used < sizeof(list); i++)
		used += (size_t) snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
				bh_catalogue_at(i)->slug);
	bh_fail(err, BH_E_UNKNOWN_NAME, BH_SRC_SELF, 0,
			"the catalogue has no model '%.60s'; it has %s", slug, list);
	nearest = nearest_slug(slug);
	if (nearest)
		bh_error_next(err, "perhaps --model %s was meant", nearest);
	return NULL;
}
