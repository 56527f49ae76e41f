/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>

bool bh_fd_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

int bh_fd_dup_above(int fd, int lowest, int *ret_fd, struct bh_error *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, lowest);

	if (copy < 0)
		return bh_fail_errno(err, errno, "duplicating descriptor %d", fd);
	*ret_fd = copy;
	return 0;
}

int bh_fd_set_nonblocking(int fd, struct bh_error *err)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return bh_fail_errno(err, errno, "making descriptor %d non-blocking", fd);
	return 0;
}
