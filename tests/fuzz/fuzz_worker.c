/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's loop on packets from anywhere, over a driver that is played here: each line of the
 * input but the first byte is one packet. Every packet gets exactly one answer, which says ok or
 * error, and a read-only worker reaches no changing call.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"
#include "driver/mig.h"
#include "gpu/catalogue.h"
#include "worker/role_driver.h"

#define PACKETS_MAX 8
#define UUID	    "GPU-00000000-0000-0000-0000-000000000001"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_only;

int bh_driver_open(const char *name, struct bh_driver **ret_driver, struct bh_error *err)
{
	static char nobody;

	*ret_driver = (struct bh_driver *) &nobody;
	return 0;
}

void bh_driver_free(struct bh_driver *driver)
{
}

const char *bh_driver_version(const struct bh_driver *driver)
{
	return "1";
}

const char *bh_driver_origin(const struct bh_driver *driver)
{
	return "fuzz:1";
}

int bh_driver_list(struct bh_driver *driver, struct bh_gpu_row *rows, size_t max, size_t *ret_n,
		struct bh_error *err)
{
	rows[0] = (struct bh_gpu_row){.uuid = UUID, .pci = "0", .readable = true};
	rows[1] = (struct bh_gpu_row){.index = 1, .pci_device_id = BH_UNKNOWN};
	(void) bh_fail(&rows[1].why, BH_E_INTERNAL, BH_SRC_NVML, 15, "lost");
	*ret_n = 2;
	return 0;
}

int bh_board_open(struct bh_driver *driver, const char *pci, const char *uuid,
		struct bh_board *ret_board, struct bh_error *err)
{
	*ret_board = (struct bh_board){.driver = driver};
	if (strcmp(uuid, UUID) != 0)
		return bh_fail(err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0, "there is no %s at %s", uuid,
				pci);
	memcpy(ret_board->uuid, UUID, sizeof(UUID));
	return 0;
}

int bh_board_observe(const struct bh_board *board, bool with_profiles, struct bh_gpu *ret_gpu,
		struct bh_error *err)
{
	bh_model_describe(bh_catalogue_at(0), ret_gpu);
	memcpy(ret_gpu->uuid, UUID, sizeof(UUID));
	return 0;
}

/* Succeeds, fails known, or fails unknown, as the number says. */
static int change(struct bh_board *board, uint32_t how, struct bh_observation *after,
		struct bh_error *err)
{
	if (read_only)
		abort();
	after->known = how % 3 != 2 && bh_board_observe(board, false, &after->gpu, err) == 0;
	if (how % 3 == 0)
		return 0;
	return bh_fail(err, BH_E_IN_USE, BH_SRC_NVML, 19, "how %u", how);
}

int bh_mig_set_mode(struct bh_board *board, bool on, bool leave_pending,
		struct bh_observation *after, struct bh_error *err)
{
	return change(board, on + leave_pending, after, err);
}

int bh_mig_create_gi(struct bh_board *board, const struct bh_gi_name *gi,
		struct bh_observation *after, struct bh_error *err)
{
	return change(board, gi->profile_id, after, err);
}

int bh_mig_destroy_gi(struct bh_board *board, const struct bh_gi_name *gi,
		struct bh_observation *after, struct bh_error *err)
{
	return change(board, gi->at.start, after, err);
}

int bh_mig_create_ci(struct bh_board *board, const struct bh_ci_name *ci,
		struct bh_observation *after, struct bh_error *err)
{
	return change(board, ci->slices, after, err);
}

int bh_mig_destroy_ci(struct bh_board *board, const struct bh_ci_name *ci,
		struct bh_observation *after, struct bh_error *err)
{
	return change(board, ci->start, after, err);
}

/* An empty packet would be the end, so there is none. Gives how many were sent. */
static size_t send_lines(int fd, const char *text, size_t size)
{
	size_t n = 0;

	while (size && n < PACKETS_MAX) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t) (end - text) : size;

		if (length && send(fd, text, length, MSG_DONTWAIT) == (ssize_t) length)
			n++;
		size -= length + (end ? 1 : 0);
		text += length + (end ? 1 : 0);
	}
	return n;
}

static void check_answers(int fd, size_t n_sent)
{
	struct bh_error err;
	json_t *packet;

	if (bh_packet_receive(fd, &packet, &err) != 0 || !json_object_get(packet, "hello"))
		abort();
	json_decref(packet);
	for (size_t i = 0; i < n_sent; i++) {
		bool ok;

		if (bh_packet_receive(fd, &packet, &err) != 0)
			abort();
		ok = json_is_object(json_object_get(packet, "ok"));
		if (!json_is_integer(json_object_get(packet, "id")) ||
				ok == json_is_object(json_object_get(packet, "error")))
			abort();
		if (!ok) {
			bh_error_from_json(json_object_get(packet, "error"), &err);
			if (!err.message[0])
				abort();
		}
		json_decref(packet);
	}
	if (bh_packet_receive(fd, &packet, &err) != BH_PACKET_NONE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int lock = -1, silent = -1;
	struct bh_worker worker = {.role = "driver", .driver = "fuzz"};
	struct bh_error err;
	size_t n_sent;
	int ours;

	if (lock < 0) {
		lock = memfd_create("lock", MFD_CLOEXEC);
		silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	if (size == 0 || bh_packet_pair(&ours, &worker.socket, &err) < 0)
		return 0;
	worker.lock = lock;
	worker.log = (struct bh_log){.fd = silent, .most = BH_LOG_WARNING, .name = "fuzz"};
	worker.read_only = read_only = data[0] & 1;
	n_sent = send_lines(ours, (const char *) data + 1, size - 1);
	(void) shutdown(ours, SHUT_WR);
	if (bh_role_driver(&worker) != EXIT_SUCCESS)
		abort();
	check_answers(ours, n_sent);
	(void) close(ours);
	(void) close(worker.socket);
	return 0;
}
