/* SPDX-License-Identifier: Apache-2.0 */
#include "faulty_disk.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>

struct faulty_file {
	sqlite3_file base;
	sqlite3_file *real; /* behind this struct */
};

static struct faulty_disk disk;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;
static sqlite3_io_methods methods;

static sqlite3_file *real(sqlite3_file *file)
{
	return ((struct faulty_file *) file)->real;
}

static bool fails(void)
{
	bool now = ++disk.changes == disk.fail_at ||
		   (disk.goes_on && disk.fail_at && disk.changes > disk.fail_at);

	disk.failed = disk.failed || now;
	return now;
}

static int do_close(sqlite3_file *file)
{
	return real(file)->pMethods->xClose(real(file));
}

static int do_read(sqlite3_file *file, void *data, int n, sqlite3_int64 at)
{
	return real(file)->pMethods->xRead(real(file), data, n, at);
}

static int do_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
	return fails() ? disk.code : real(file)->pMethods->xWrite(real(file), data, n, at);
}

static int do_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return fails() ? SQLITE_IOERR_TRUNCATE : real(file)->pMethods->xTruncate(real(file), size);
}

static int do_sync(sqlite3_file *file, int flags)
{
	return fails() ? SQLITE_IOERR_FSYNC : real(file)->pMethods->xSync(real(file), flags);
}

static int do_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	return real(file)->pMethods->xFileSize(real(file), size);
}

static int do_lock(sqlite3_file *file, int level)
{
	return real(file)->pMethods->xLock(real(file), level);
}

static int do_unlock(sqlite3_file *file, int level)
{
	return real(file)->pMethods->xUnlock(real(file), level);
}

static int do_check(sqlite3_file *file, int *reserved)
{
	return real(file)->pMethods->xCheckReservedLock(real(file), reserved);
}

static int do_control(sqlite3_file *file, int op, void *arg)
{
	return real(file)->pMethods->xFileControl(real(file), op, arg);
}

static int do_sector_size(sqlite3_file *file)
{
	return real(file)->pMethods->xSectorSize(real(file));
}

static int do_characteristics(sqlite3_file *file)
{
	return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int do_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **ret)
{
	return real(file)->pMethods->xShmMap(real(file), page, size, extend, ret);
}

static int do_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
	return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}

static void do_shm_barrier(sqlite3_file *file)
{
	real(file)->pMethods->xShmBarrier(real(file));
}

static int do_shm_unmap(sqlite3_file *file, int delete)
{
	return real(file)->pMethods->xShmUnmap(real(file), delete);
}

static int do_open(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags, int *ret)
{
	struct faulty_file *mine = (struct faulty_file *) file;
	int r;

	memset(mine, 0, sizeof(*mine));
	mine->real = (sqlite3_file *) (mine + 1);
	r = real_vfs->xOpen(real_vfs, name, mine->real, flags, ret);
	if (mine->real->pMethods)
		mine->base.pMethods = &methods;
	return r;
}

struct faulty_disk *faulty_disk_install(void)
{
	if (real_vfs)
		return &disk;
	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs;
	vfs.zName = "faulty";
	vfs.pNext = NULL;
	vfs.szOsFile = (int) sizeof(struct faulty_file) + real_vfs->szOsFile;
	vfs.xOpen = do_open;
	methods = (sqlite3_io_methods){
			.iVersion = 2,
			.xClose = do_close,
			.xRead = do_read,
			.xWrite = do_write,
			.xTruncate = do_truncate,
			.xSync = do_sync,
			.xFileSize = do_file_size,
			.xLock = do_lock,
			.xUnlock = do_unlock,
			.xCheckReservedLock = do_check,
			.xFileControl = do_control,
			.xSectorSize = do_sector_size,
			.xDeviceCharacteristics = do_characteristics,
			.xShmMap = do_shm_map,
			.xShmLock = do_shm_lock,
			.xShmBarrier = do_shm_barrier,
			.xShmUnmap = do_shm_unmap,
	};
	sqlite3_vfs_register(&vfs, /* makeDflt= */ 1);
	disk.code = SQLITE_FULL;
	return &disk;
}
