/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk for SQLite that can fail: a layer over its own file system. Writes, syncs, truncations and
 * growth of files are counted; from a chosen one on all of them fail, as on a disk that is full, or
 * just that one.
 */
#ifndef TEST_FAULTY_DISK_H
#define TEST_FAULTY_DISK_H

#include <stdbool.h>

struct faulty_disk {
	unsigned int changes; /* counted */
	unsigned int fail_at; /* from 1; 0 = never */
	bool goes_on;	      /* all after it fail, too */
	bool failed;	      /* it came so far */
	int code;	      /* SQLITE_FULL, SQLITE_IOERR_FSYNC … */
};

/* Becomes the file system of every database opened from now on. */
struct faulty_disk *faulty_disk_install(void);

#endif
