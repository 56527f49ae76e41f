/* SPDX-License-Identifier: Apache-2.0 */
#include "base/child_wait.h"

static int turn(struct bh_child *child, struct bh_error *err)
{
	int r = sd_event_run(bh_child_event(child), UINT64_MAX);

	if (r >= 0)
		return 0;
	bh_child_abandon(child, "the event loop failed");
	return bh_fail_errno(err, -r, "running the event loop");
}

int bh_child_wait_ready(struct bh_child *child, struct bh_error *err)
{
	/* the cause is exact only once it is reaped, or will not be */
	while (!bh_child_has_ended(child) && !bh_child_is_stuck(child) &&
			(bh_child_cause(child) || !bh_child_hello(child))) {
		if (turn(child, err) < 0)
			return -1;
	}
	if (!bh_child_cause(child))
		return 0;
	if (err)
		*err = *bh_child_cause(child);
	return -1;
}

struct waiter {
	bool over;
	enum bh_child_outcome outcome;
	json_t *packet;
	struct bh_error err;
};

static void on_reply(struct bh_child *child, const struct bh_child_reply *reply, void *userdata)
{
	struct waiter *waiter = userdata;

	waiter->over = true;
	waiter->outcome = reply->outcome;
	waiter->packet = json_incref((json_t *) reply->packet);
	waiter->err = reply->err;
}

int bh_child_call_wait(struct bh_child *child, const json_t *request, uint32_t deadline_ms,
		enum bh_child_outcome *ret_outcome, json_t **ret_packet, struct bh_error *err)
{
	struct waiter waiter = {0};
	bh_auto_json json_t *packet = NULL;

	if (bh_child_call(child, request, deadline_ms, on_reply, &waiter, err) < 0)
		return -1;
	while (!waiter.over) {
		if (turn(child, err) < 0) {
			if (ret_outcome)
				*ret_outcome = BH_CHILD_UNKNOWN;
			return -1;
		}
	}
	packet = waiter.packet;
	if (ret_outcome)
		*ret_outcome = waiter.outcome;
	if (ret_packet && packet)
		*ret_packet = BH_TAKE(packet);
	if (waiter.outcome == BH_CHILD_DONE)
		return 0;
	if (err)
		*err = waiter.err;
	return -1;
}
