/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope-owned things: a variable with one of these attributes starts empty and is given back when
 * its scope ends; ownership leaves it only by BH_TAKE(), so that it can be seen in the text.
 */
#ifndef BH_BASE_CLEANUP_H
#define BH_BASE_CLEANUP_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define BH_MUST_CHECK	__attribute__((warn_unused_result))
#define BH_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define BH_CLEANUP(fn)	__attribute__((cleanup(fn)))
#define BH_TAKE(p)                                                                                 \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})
#define BH_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void bh_freep(void *p)
{
	free(*(void **) p);
}
#define bh_auto_free BH_CLEANUP(bh_freep)

/* Closes and keeps errno; a descriptor variable starts as -1. */
static inline void bh_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void) close(*fd);
	errno = saved;
}
#define bh_auto_close BH_CLEANUP(bh_closep)

static inline int bh_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
