/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error object. It is filled where a fault is first known, wrapped on the way up, and keeps
 * who said what: the vendor's own number is never flattened into ours. Its code is a closed list
 * with one exit status each, so scripts can act on either.
 */
#ifndef BH_BASE_ERROR_H
#define BH_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* X(symbol, name in JSON, exit status of the CLI) */
#define BH_CODES(X)                                                                                \
	X(BH_E_INTERNAL, "internal", 1)                                                            \
	X(BH_E_NO_MEMORY, "no-memory", 1)                                                          \
	X(BH_E_NOT_APPLIED, "not-applied", 1)                                                      \
	X(BH_E_USAGE, "usage", 2)                                                                  \
	X(BH_E_INVALID_FILE, "invalid-file", 2)                                                    \
	X(BH_E_UNKNOWN_NAME, "unknown-name", 2)                                                    \
	X(BH_E_PROFILE_NOT_OFFERED, "profile-not-offered", 3)                                      \
	X(BH_E_DOES_NOT_FIT, "does-not-fit", 3)                                                    \
	X(BH_E_NO_SUCH_GPU, "no-such-gpu", 3)                                                      \
	X(BH_E_MIG_UNSUPPORTED, "mig-unsupported", 3)                                              \
	X(BH_E_IN_USE, "in-use", 4)                                                                \
	X(BH_E_FOREIGN, "foreign", 4)                                                              \
	X(BH_E_STATE_LOCKED, "state-locked", 4)                                                    \
	X(BH_E_NEEDS_RESET, "needs-reset", 5)                                                      \
	X(BH_E_NEEDS_REBOOT, "needs-reboot", 6)                                                    \
	X(BH_E_PARTIAL, "partial", 7)                                                              \
	X(BH_E_DENIED, "denied", 8)                                                                \
	X(BH_E_UNSUPPORTED, "unsupported", 9)                                                      \
	X(BH_E_RESET_UNSUPPORTED, "reset-unsupported", 9)                                          \
	X(BH_E_NOT_SO, "not-so", 10)                                                               \
	X(BH_E_NO_DRIVER, "no-driver", 11)                                                         \
	X(BH_E_DEADLINE, "deadline", 11)

enum bh_code {
#define X(symbol, name, exit_status) symbol,
	BH_CODES(X)
#undef X
			BH_CODE_COUNT
};

/* X(symbol, name in JSON): who said so */
#define BH_SOURCES(X)                                                                              \
	X(BH_SRC_SELF, "self")                                                                     \
	X(BH_SRC_ERRNO, "errno")                                                                   \
	X(BH_SRC_NVML, "nvml")                                                                     \
	X(BH_SRC_CUDA, "cuda")                                                                     \
	X(BH_SRC_KERNEL, "kernel")                                                                 \
	X(BH_SRC_MPS, "mps")                                                                       \
	X(BH_SRC_SQLITE, "sqlite")

enum bh_source {
#define X(symbol, name) symbol,
	BH_SOURCES(X)
#undef X
			BH_SOURCE_COUNT
};

/* Who stands in the way. An unknown pid is 0, unknown texts are empty. */
struct bh_holder {
	char kind[16]; /* process, daemon, module, agent, instance, unknown */
	pid_t pid;
	char name[64];
	char tenant[64];
};

#define BH_ERROR_HOLDERS_MAX 16

struct bh_error {
	enum bh_code code;
	enum bh_source source;
	int native;	   /* their number: errno, nvmlReturn_t, …; 0 for SELF */
	char message[512]; /* what and where; outer context first, cause last */
	char gpu[96];	   /* UUID of the GPU concerned, or empty */
	char next[256];	   /* the next step for a person, or empty */
	struct bh_holder holders[BH_ERROR_HOLDERS_MAX];
	size_t n_holders;
	size_t more_holders; /* holders that did not fit */
};

/**
 * bh_fail() - say that something failed, where it is first known
 * @err:    filled; may be NULL
 * @code:   what the caller may act on
 * @source: who said so
 * @native: their number, 0 for SELF
 * @format: one sentence without full stop: what, where
 *
 * Everything else in @err is cleared. Return: always -1, to be returned in turn.
 */
int bh_fail(struct bh_error *err, enum bh_code code, enum bh_source source, int native,
		const char *format, ...) BH_PRINTF(5, 6);

/**
 * bh_fail_errno() - bh_fail() for a failed system call; appends strerror(@error)
 * @err:    filled; may be NULL
 * @error:  the errno value, positive; ENOMEM becomes NO_MEMORY, EACCES/EPERM become DENIED, all
 *          others INTERNAL
 * @format: what was being done
 *
 * Return: always -1.
 */
int bh_fail_errno(struct bh_error *err, int error, const char *format, ...) BH_PRINTF(3, 4);

/**
 * bh_fail_memory() - an allocation failed
 * @err: filled; may be NULL
 *
 * Return: always -1.
 */
int bh_fail_memory(struct bh_error *err);

/**
 * bh_while() - wrap an error with what was being done: "CONTEXT: CAUSE"
 * @err:    an error that bh_fail() filled; may be NULL
 * @format: what was being done
 *
 * When space ends the context is cut, never the cause. Code, source, holders and next stay.
 * Return: always -1.
 */
int bh_while(struct bh_error *err, const char *format, ...) BH_PRINTF(2, 3);

/**
 * bh_error_next() - set the next step that a person can take
 * @err:    may be NULL
 * @format: an instruction, without full stop
 */
void bh_error_next(struct bh_error *err, const char *format, ...) BH_PRINTF(2, 3);

/**
 * bh_error_add_holder() - add one who stands in the way; past the maximum only counts
 * @err:    may be NULL
 * @holder: copied
 */
void bh_error_add_holder(struct bh_error *err, const struct bh_holder *holder);

/**
 * bh_code_name() - the code's name in JSON, from the one table
 * @code: any value; an unknown one gives "internal"
 */
const char *bh_code_name(enum bh_code code);

/**
 * bh_code_exit_status() - the CLI's exit status for a code, from the one table
 * @code: any value; an unknown one gives 1
 */
int bh_code_exit_status(enum bh_code code);

/**
 * bh_code_from_name() - the inverse of bh_code_name()
 * @name:     borrowed
 * @ret_code: written on success
 *
 * Return: true if there is such a code.
 */
bool bh_code_from_name(const char *name, enum bh_code *ret_code);

/**
 * bh_source_name() - the source's name in JSON
 * @source: any value; an unknown one gives "self"
 */
const char *bh_source_name(enum bh_source source);

#endif
