/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wanted of each GPU of one node, whichever file said it: whether the GPU is in scope at
 * all, whether MIG is to be on, and how many instances of which profile, each with the line that
 * asks for it. GPUs out of scope are left as found.
 */
#ifndef BH_SPEC_WANTED_H
#define BH_SPEC_WANTED_H

#include "gpu/profile_name.h"
#include "spec/note.h"

struct bh_wanted_profile {
	struct bh_profile_name name;
	const char *text;      /* as written */
	uint32_t count;	       /* at least 1 */
	uint32_t line, column; /* of the name */
};

struct bh_wanted_gpu {
	bool in_scope; /* false: nothing below counts */
	bool mig;
	const struct bh_wanted_profile *profiles; /* each profile once, in the file's order */
	size_t n_profiles;			  /* 0 with MIG on: no instances wanted */
	uint32_t line, column;			  /* of the entry that decided */
};

/* Borrows texts and profiles from the file that it was made of, which must live longer. */
struct bh_wanted {
	const char *file, *name;    /* for "FILE:LINE", and the configuration's name */
	struct bh_wanted_gpu *gpus; /* as many and in the same order as in the inventory */
	size_t n_gpus;
	const struct bh_note *notes; /* for the caller to print */
	struct bh_arena *arena;	     /* all of the above lives here */
};

/**
 * bh_wanted_free() - drop it whole
 * @wanted: NULL is fine
 */
void bh_wanted_free(struct bh_wanted *wanted);

static inline void bh_wanted_freep(struct bh_wanted **p)
{
	bh_wanted_free(*p);
}
#define bh_auto_wanted BH_CLEANUP(bh_wanted_freep)

#endif
