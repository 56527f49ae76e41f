/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/profile_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted comes back the same, and its canonical text is stable. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bh_auto_free char *text = calloc(1, size + 1);
	char canonical[BH_PROFILE_NAME_SIZE], second[BH_PROFILE_NAME_SIZE];
	struct bh_profile_name name, again;
	struct bh_error err = {0};

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	if (bh_profile_name_parse(text, &name, &err) < 0) {
		if (err.code != BH_E_USAGE || strncmp(err.message, "profile '", 9) != 0)
			abort();
		return 0;
	}
	(void) bh_profile_name_format(&name, canonical);
	if (strlen(canonical) != strlen(text) ||
			bh_profile_name_parse(canonical, &again, &err) < 0 ||
			bh_profile_name_compare(&name, &again) != 0 ||
			strcmp(bh_profile_name_format(&again, second), canonical) != 0)
		abort();
	return 0;
}
