/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/nvml_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define SONAME	   "libnvidia-ml.so.1" /* never the unversioned name */
#define SIM_PREFIX "sim:"

/* The product looks up no symbol whose signature nobody could compare. */
#define X(name, need, params, args, out, checked_by)                                               \
	_Static_assert(BH_ABI_##need == BH_ABI_SIM_ONLY ||                                         \
					BH_ABI_CHECKED_##checked_by != BH_ABI_CHECKED_NONE,        \
			#name " has an unchecked signature");
BH_NVML_TEXT_SYMBOLS(X)
BH_NVML_SYMBOLS(X)
#undef X

struct symbol {
	const char *name;
	enum bh_abi_need need;
	size_t offset; /* of its pointer in struct bh_nvml */
};

#define ROW_REQUIRED(name) {#name, BH_ABI_REQUIRED, offsetof(struct bh_nvml, name)},
#define ROW_OPTIONAL(name) {#name, BH_ABI_OPTIONAL, offsetof(struct bh_nvml, name)},
#define ROW_SIM_ONLY(name)

static const struct symbol symbols[] = {
#define X(name, need, params, args, out, checked_by) ROW_##need(name)
		BH_NVML_TEXT_SYMBOLS(X) BH_NVML_SYMBOLS(X)
#undef X
};

static int library_path(const char *driver, char *buffer, size_t size, struct bh_error *err)
{
	int length;

	if (strcmp(driver, "nvml") == 0) {
		length = snprintf(buffer, size, "%s", SONAME);
	} else if (strncmp(driver, SIM_PREFIX, strlen(SIM_PREFIX)) == 0 &&
			driver[strlen(SIM_PREFIX)] != '\0') {
		length = snprintf(buffer, size, "%s/lib/%s", driver + strlen(SIM_PREFIX), SONAME);
	} else {
		(void) bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "driver '%.100s' is not known",
				driver);
		bh_error_next(err, "use nvml or sim:DIR");
		return -1;
	}
	if ((size_t) length >= size)
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"the driver's folder has too long a name");
	return 0;
}

static int find_symbols(struct bh_nvml *nvml, const char *path, struct bh_error *err)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(symbols); i++) {
		void *address = dlsym(nvml->handle, symbols[i].name);

		if (!address && symbols[i].need == BH_ABI_REQUIRED)
			return bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0,
					"'%.200s' has no %s: the driver is too old", path,
					symbols[i].name);
		/* the one place where an object pointer becomes a function's, as POSIX allows */
		memcpy((char *) nvml + symbols[i].offset, &address, sizeof(address));
	}
	return 0;
}

int bh_nvml_load(const char *driver, struct bh_nvml *ret_nvml, struct bh_error *err)
{
	char path[PATH_MAX];

	memset(ret_nvml, 0, sizeof(*ret_nvml));
	if (library_path(driver, path, sizeof(path), err) < 0)
		return -1;
	ret_nvml->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!ret_nvml->handle) {
		const char *why = dlerror();

		(void) bh_fail(err, BH_E_NO_DRIVER, BH_SRC_SELF, 0, "loading NVML: %.300s",
				why ? why : path);
		bh_error_next(err, "install the NVIDIA driver, or name a simulated node with "
				   "--driver sim:DIR");
		return -1;
	}
	if (find_symbols(ret_nvml, path, err) < 0) {
		bh_nvml_unload(ret_nvml);
		return -1;
	}
	return 0;
}

void bh_nvml_unload(struct bh_nvml *nvml)
{
	if (nvml->handle)
		(void) dlclose(nvml->handle);
	memset(nvml, 0, sizeof(*nvml));
}
