/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/packet.h"
#include "base/utf8.h"

static int send_and_drop(const struct bh_worker *worker, json_t *packet, struct bh_error *err)
{
	bh_auto_json json_t *owned = packet;

	if (!owned)
		return bh_fail_memory(err);
	return bh_packet_send(worker->socket, owned, err);
}

int bh_worker_hello(const struct bh_worker *worker, const char *driver, struct bh_error *err)
{
	return send_and_drop(worker,
			json_pack("{s:s, s:s, s:s}", "hello", worker->role, "version", BH_VERSION,
					"driver", driver),
			err);
}

/* An error's texts may have been cut within a character, and JSON takes none of that. */
static json_t *error_to_json(const struct bh_error *why)
{
	struct bh_error clean = *why;

	bh_utf8_clean(clean.message);
	bh_utf8_clean(clean.gpu);
	bh_utf8_clean(clean.next);
	for (size_t i = 0; i < clean.n_holders; i++) {
		bh_utf8_clean(clean.holders[i].name);
		bh_utf8_clean(clean.holders[i].tenant);
	}
	return bh_error_to_json(&clean);
}

int bh_worker_refuse(const struct bh_worker *worker, json_int_t id, const struct bh_error *why,
		json_t *gpu, struct bh_error *err)
{
	json_t *packet;

	if (gpu)
		packet = json_pack("{s:I, s:o, s:o}", "id", id, "error", error_to_json(why), "gpu",
				gpu);
	else
		packet = json_pack("{s:I, s:o}", "id", id, "error", error_to_json(why));
	return send_and_drop(worker, packet, err);
}

int bh_worker_answer(
		const struct bh_worker *worker, json_int_t id, json_t *ok, struct bh_error *err)
{
	struct bh_error why;

	if (!ok) {
		(void) bh_fail(&why, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"the answer cannot be written as JSON");
		return bh_worker_refuse(worker, id, &why, NULL, err);
	}
	return send_and_drop(worker, json_pack("{s:I, s:o}", "id", id, "ok", ok), err);
}

static int malformed(struct bh_error *err, const char *what)
{
	return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "malformed request: %s", what);
}

/* Fills what it can, so that the answer can carry the id. */
static int read_request(json_t *packet, struct bh_request *request, struct bh_error *err)
{
	const json_t *id = json_object_get(packet, "id");
	const json_t *gpu = json_object_get(packet, "gpu");
	const json_t *deadline = json_object_get(packet, "deadline_ms");

	request->packet = packet;
	if (!json_is_integer(id) || json_integer_value(id) <= 0)
		return malformed(err, "'id' is not a positive number");
	request->id = json_integer_value(id);
	request->op = json_string_value(json_object_get(packet, "op"));
	if (!request->op)
		return malformed(err, "'op' is not a text");
	if (gpu && !json_is_string(gpu))
		return malformed(err, "'gpu' is not a text");
	request->gpu = gpu ? json_string_value(gpu) : "";
	request->args = json_object_get(packet, "args");
	if (request->args && !json_is_object(request->args))
		return malformed(err, "'args' is not an object");
	if (deadline && (!json_is_integer(deadline) || json_integer_value(deadline) < 0))
		return malformed(err, "'deadline_ms' is not a number");
	return 0;
}

int bh_worker_next(const struct bh_worker *worker, struct bh_request *ret_request)
{
	struct bh_error err;

	for (;;) {
		bh_auto_request struct bh_request request = {0};
		json_t *packet;
		int r = bh_packet_receive(worker->socket, &packet, &err);

		if (r == 0)
			r = read_request(packet, &request, &err);
		else if (r == BH_PACKET_END)
			return 1;
		else if (r < 0)
			return -1;
		if (r == 0) {
			*ret_request = request;
			memset(&request, 0, sizeof(request));
			return 0;
		}
		bh_log(&worker->log, BH_LOG_WARNING, "ignoring a request: %s", err.message);
		if (bh_worker_refuse(worker, request.id, &err, NULL, NULL) < 0)
			return -1;
	}
}

void bh_request_clear(struct bh_request *request)
{
	json_decref(request->packet);
	memset(request, 0, sizeof(*request));
}

int bh_worker_take_lock(const struct bh_worker *worker, struct bh_error *err)
{
	struct stat st;

	if (fstat(worker->lock, &st) < 0 || !S_ISREG(st.st_mode))
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"descriptor %d is not worker.lock, and without it nothing may be "
				"changed",
				worker->lock);
	if (flock(worker->lock, LOCK_SH | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return bh_fail_errno(err, errno, "locking worker.lock");
	return bh_fail(err, BH_E_STATE_LOCKED, BH_SRC_ERRNO, errno,
			"worker.lock is held exclusively by somebody else");
}
