/* SPDX-License-Identifier: Apache-2.0 */
#include "base/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

int bh_packet_pair(int *ret_ours, int *ret_theirs, struct bh_error *err)
{
	int ends[2], size = 2 * (int) BH_PACKET_MAX_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return bh_fail_errno(err, errno, "making a socket pair");
	/* A hint only: where the host allows less, the default is usually enough for one packet. */
	for (int i = 0; i < 2; i++)
		(void) setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (bh_fd_set_nonblocking(ends[0], err) < 0) {
		(void) close(ends[0]);
		(void) close(ends[1]);
		return -1;
	}
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	return 0;
}

int bh_packet_send(int fd, const json_t *object, struct bh_error *err)
{
	bh_auto_free char *text = NULL;
	size_t length;
	ssize_t sent;

	if (bh_json_text(object, &text, err) < 0)
		return -1;
	length = strlen(text);
	if (length > BH_PACKET_MAX_BYTES)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"a packet of %zu bytes is over the limit of %u", length,
				BH_PACKET_MAX_BYTES);
	do {
		sent = send(fd, text, length, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return bh_fail_errno(err, errno, "sending a packet");
	return 0;
}

int bh_packet_receive(int fd, json_t **ret_object, struct bh_error *err)
{
	bh_auto_free char *buffer = malloc(BH_PACKET_MAX_BYTES);
	json_error_t why;
	json_t *object;
	ssize_t length;

	if (!buffer)
		return bh_fail_memory(err);
	do {
		/* with MSG_TRUNC the length is the packet's, also where the buffer is shorter */
		length = recv(fd, buffer, BH_PACKET_MAX_BYTES, MSG_TRUNC);
	} while (length < 0 && errno == EINTR);
	if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return BH_PACKET_NONE;
	if (length == 0 || (length < 0 && errno == ECONNRESET))
		return BH_PACKET_END;
	if (length < 0)
		return bh_fail_errno(err, errno, "receiving a packet");
	if ((size_t) length > BH_PACKET_MAX_BYTES) {
		(void) bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"a packet of %zd bytes is over the limit of %u", length,
				BH_PACKET_MAX_BYTES);
		return BH_PACKET_MALFORMED;
	}

	object = json_loadb(buffer, (size_t) length, JSON_REJECT_DUPLICATES, &why);
	if (!object) {
		(void) bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"a packet is not a JSON object (byte %d)", why.position);
		return BH_PACKET_MALFORMED;
	}
	if (!json_is_object(object)) {
		json_decref(object);
		(void) bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"a packet is JSON, but not an object");
		return BH_PACKET_MALFORMED;
	}
	*ret_object = object;
	return 0;
}
