/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/nvml_error.h"

#include <stdarg.h>
#include <stdio.h>

struct meaning {
	nvmlReturn_t native;
	enum bh_code code;
	const char *next;
};

#define NEXT_HOLDERS                                                                               \
	"end what holds the GPU; see `fuser -v /dev/nvidia*` for what NVML does not list"
#define NEXT_LOST     "see the kernel log for Xid 79; a GPU that fell off the bus needs a reboot"
#define NEXT_MISMATCH "library and kernel module differ: reload the module or reboot"
#define NEXT_RESET    "reset the GPU with `nvidia-smi --gpu-reset -i PCI`, or reboot"

/* Codes that are not here are INTERNAL: something that we did not expect to be told. */
static const struct meaning meanings[] = {
		{NVML_ERROR_NOT_SUPPORTED, BH_E_UNSUPPORTED, NULL},
		{NVML_ERROR_NO_PERMISSION, BH_E_DENIED, "run as root on the host"},
		{NVML_ERROR_NOT_FOUND, BH_E_NOT_SO, NULL},
		{NVML_ERROR_DRIVER_NOT_LOADED, BH_E_NO_DRIVER, "load the NVIDIA kernel module"},
		{NVML_ERROR_LIBRARY_NOT_FOUND, BH_E_NO_DRIVER, "install the NVIDIA driver"},
		{NVML_ERROR_LIB_RM_VERSION_MISMATCH, BH_E_NO_DRIVER, NEXT_MISMATCH},
		{NVML_ERROR_TIMEOUT, BH_E_DEADLINE, NULL},
		{NVML_ERROR_FUNCTION_NOT_FOUND, BH_E_UNSUPPORTED, NULL},
		{NVML_ERROR_GPU_IS_LOST, BH_E_NEEDS_REBOOT, NEXT_LOST},
		{NVML_ERROR_GPU_NOT_FOUND, BH_E_NO_SUCH_GPU, NULL},
		{NVML_ERROR_RESET_REQUIRED, BH_E_NEEDS_RESET, NEXT_RESET},
		{NVML_ERROR_OPERATING_SYSTEM, BH_E_DENIED, NULL},
		{NVML_ERROR_IN_USE, BH_E_IN_USE, NEXT_HOLDERS},
		{NVML_ERROR_MEMORY, BH_E_NO_MEMORY, NULL},
		{NVML_ERROR_NO_DATA, BH_E_UNSUPPORTED, NULL},
		{NVML_ERROR_INSUFFICIENT_RESOURCES, BH_E_DOES_NOT_FIT, NULL},
		{NVML_ERROR_ARGUMENT_VERSION_MISMATCH, BH_E_UNSUPPORTED, NULL},
		{NVML_ERROR_DEPRECATED, BH_E_UNSUPPORTED, NULL},
		{NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, BH_E_RESET_UNSUPPORTED, NULL},
};

const char *bh_nvml_text(nvmlReturn_t code)
{
	switch ((int) code) {
#define X(name, number, text)                                                                      \
	case number:                                                                               \
		return text;
		BH_NVML_RETURNS(X)
#undef X
	default:
		return "a code that is not known here";
	}
}

int bh_fail_nvml(struct bh_error *err, nvmlReturn_t native, const char *format, ...)
{
	const struct meaning *meaning = NULL;
	char context[sizeof(((struct bh_error *) NULL)->message)];
	va_list args;

	for (size_t i = 0; i < BH_ARRAY_SIZE(meanings) && !meaning; i++) {
		if (meanings[i].native == native)
			meaning = &meanings[i];
	}
	va_start(args, format);
	(void) vsnprintf(context, sizeof(context), format, args);
	va_end(args);
	(void) bh_fail(err, meaning ? meaning->code : BH_E_INTERNAL, BH_SRC_NVML, (int) native,
			"NVML says '%s' (%d)", bh_nvml_text(native), (int) native);
	if (meaning && meaning->next)
		bh_error_next(err, "%s", meaning->next);
	return bh_while(err, "%s", context);
}
