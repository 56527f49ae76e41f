/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int exit_status;
} codes[BH_CODE_COUNT] = {
#define X(symbol, code_name, status) [symbol] = {code_name, status},
		BH_CODES(X)
#undef X
};

static const char *const source_names[BH_SOURCE_COUNT] = {
#define X(symbol, source_name) [symbol] = source_name,
		BH_SOURCES(X)
#undef X
};

static void start_error(struct bh_error *err, enum bh_code code, enum bh_source source, int native)
{
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->source = source;
	err->native = native;
}

int bh_fail(struct bh_error *err, enum bh_code code, enum bh_source source, int native,
		const char *format, ...)
{
	va_list args;

	if (!err)
		return -1;
	start_error(err, code, source, native);
	va_start(args, format);
	(void) vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	return -1;
}

int bh_fail_errno(struct bh_error *err, int error, const char *format, ...)
{
	enum bh_code code = BH_E_INTERNAL;
	char context[sizeof(((struct bh_error *) NULL)->message)];
	va_list args;

	if (!err)
		return -1;
	if (error == ENOMEM)
		code = BH_E_NO_MEMORY;
	else if (error == EACCES || error == EPERM)
		code = BH_E_DENIED;
	start_error(err, code, BH_SRC_ERRNO, error);
	va_start(args, format);
	(void) vsnprintf(context, sizeof(context), format, args);
	va_end(args);
	(void) snprintf(err->message, sizeof(err->message), "%s", strerror(error));
	return bh_while(err, "%s", context);
}

int bh_fail_memory(struct bh_error *err)
{
	return bh_fail(err, BH_E_NO_MEMORY, BH_SRC_ERRNO, ENOMEM, "out of memory");
}

int bh_while(struct bh_error *err, const char *format, ...)
{
	char context[sizeof(err->message)], cause[sizeof(err->message)];
	size_t cause_len, room;
	va_list args;

	if (!err)
		return -1;
	va_start(args, format);
	(void) vsnprintf(context, sizeof(context), format, args);
	va_end(args);

	memcpy(cause, err->message, sizeof(cause));
	cause_len = strlen(cause);
	room = sizeof(err->message) - 1 - cause_len; /* for the context and ": " */
	if (room <= 2)
		return -1;
	context[room - 2 < strlen(context) ? room - 2 : strlen(context)] = '\0';
	memcpy(err->message, context, strlen(context));
	memcpy(err->message + strlen(context), ": ", 2);
	memcpy(err->message + strlen(context) + 2, cause, cause_len + 1);
	return -1;
}

void bh_error_next(struct bh_error *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	(void) vsnprintf(err->next, sizeof(err->next), format, args);
	va_end(args);
}

void bh_error_add_holder(struct bh_error *err, const struct bh_holder *holder)
{
	if (!err)
		return;
	if (err->n_holders < BH_ERROR_HOLDERS_MAX)
		err->holders[err->n_holders++] = *holder;
	else
		err->more_holders++;
}

const char *bh_code_name(enum bh_code code)
{
	return (unsigned int) code < BH_CODE_COUNT ? codes[code].name : codes[BH_E_INTERNAL].name;
}

int bh_code_exit_status(enum bh_code code)
{
	return (unsigned int) code < BH_CODE_COUNT ? codes[code].exit_status
						   : codes[BH_E_INTERNAL].exit_status;
}

bool bh_code_from_name(const char *name, enum bh_code *ret_code)
{
	for (unsigned int i = 0; i < BH_CODE_COUNT; i++) {
		if (strcmp(codes[i].name, name) == 0) {
			*ret_code = i;
			return true;
		}
	}
	return false;
}

const char *bh_source_name(enum bh_source source)
{
	return (unsigned int) source < BH_SOURCE_COUNT ? source_names[source]
						       : source_names[BH_SRC_SELF];
}
