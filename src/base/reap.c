/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reap.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

bool bh_reap_now(int pidfd, siginfo_t *info)
{
	memset(info, 0, sizeof(*info));
	if (waitid(P_PIDFD, (id_t) pidfd, info, WEXITED | WNOHANG) < 0)
		return true; /* somebody else reaped it: gone all the same */
	return info->si_pid != 0;
}

static int on_end(sd_event_source *source, int pidfd, uint32_t revents, void *userdata)
{
	siginfo_t info;

	(void) bh_reap_now(pidfd, &info);
	(void) sd_event_source_set_floating(source, false); /* drops it, and the descriptor */
	return 0;
}

void bh_reap_later(sd_event *event, int pidfd)
{
	sd_event_source *source = NULL;

	if (sd_event_add_io(event, &source, pidfd, EPOLLIN, on_end, NULL) < 0) {
		(void) close(pidfd); /* a zombie at worst */
		return;
	}
	(void) sd_event_source_set_io_fd_own(source, true);
	(void) sd_event_source_set_floating(source, true);
	(void) sd_event_source_unref(source);
}
