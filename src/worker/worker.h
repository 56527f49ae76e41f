/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the roles of bulkhead-worker share: the socket to the parent and the words on it. A worker
 * serves one request at a time until its parent hangs up; it dies with its parent.
 */
#ifndef BH_WORKER_WORKER_H
#define BH_WORKER_WORKER_H

#include "base/json.h"
#include "base/log.h"

struct bh_worker {
	int socket;	    /* descriptor 3 */
	int lock;	    /* descriptor 4; may be closed */
	const char *role;   /* borrowed */
	const char *driver; /* "nvml" or "sim:DIR", borrowed */
	bool read_only;	    /* changing requests are refused, and no lock is needed */
	struct bh_log log;
};

/* A request that is well-formed; what its members mean is the role's business. */
struct bh_request {
	json_t *packet; /* owned; the others are borrowed from it */
	json_int_t id;
	const char *op;
	const char *gpu;    /* empty if not given */
	const json_t *args; /* an object, or NULL if not given */
};

/**
 * bh_worker_hello() - the first packet
 * @worker: borrowed
 * @driver: the origin, borrowed
 * @err:    why it could not be sent
 */
int bh_worker_hello(const struct bh_worker *worker, const char *driver, struct bh_error *err)
		BH_MUST_CHECK;

/**
 * bh_worker_next() - wait for the next well-formed request
 * @worker:      borrowed
 * @ret_request: written when 0 is returned; given back with bh_request_clear()
 *
 * Answers malformed ones itself, as far as they have an id, else under the id 0.
 * Return: 0; positive: the parent hung up; negative: the socket failed.
 */
int bh_worker_next(const struct bh_worker *worker, struct bh_request *ret_request) BH_MUST_CHECK;

/**
 * bh_request_clear() - give a request back
 * @request: borrowed; zeroed
 */
void bh_request_clear(struct bh_request *request);
#define bh_auto_request BH_CLEANUP(bh_request_clear)

/**
 * bh_worker_answer() - {"id", "ok"}
 * @worker: borrowed
 * @id:     of the request
 * @ok:     stolen; NULL is answered as an error
 * @err:    why it could not be sent
 */
int bh_worker_answer(const struct bh_worker *worker, json_int_t id, json_t *ok,
		struct bh_error *err) BH_MUST_CHECK;

/**
 * bh_worker_refuse() - {"id", "error"}, and "gpu" if it is known what was found after the attempt
 * @worker: borrowed
 * @id:     of the request; 0 if it has none, or for a worker that cannot serve
 * @why:    borrowed
 * @gpu:    stolen; may be NULL
 * @err:    why it could not be sent
 */
int bh_worker_refuse(const struct bh_worker *worker, json_int_t id, const struct bh_error *why,
		json_t *gpu, struct bh_error *err);

/**
 * bh_worker_take_lock() - hold worker.lock shared, so that nobody takes us for dead
 * @worker: borrowed
 * @err:    INTERNAL when descriptor 4 is no open file, STATE_LOCKED when somebody holds it
 *          exclusively
 *
 * The lock belongs to the open file, which the parent shares: it may hold it already.
 */
int bh_worker_take_lock(const struct bh_worker *worker, struct bh_error *err) BH_MUST_CHECK;

#endif
