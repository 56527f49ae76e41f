/* SPDX-License-Identifier: Apache-2.0 */
#include "node/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/child_wait.h"
#include "base/clock.h"
#include "gpu/catalogue.h"
#include "gpu/inventory_json.h"
#include "ledger/owned.h"
#include "node/state_dir.h"

#define READ_DEADLINE_MS   30000  /* a full handle walk takes up to ten seconds on real boards */
#define SETTLE_DEADLINE_MS 150000 /* longer than any step's own deadline */
#define SETTLE_POLL_US	   20000
#define TRIES_MAX	   3

struct bh_machine {
	sd_event *event;
	struct bh_machine_config config;
	struct bh_ledger *ledger;
	struct bh_inventory inventory;
	struct bh_child *reader, *changer;
	struct op *op; /* the one that is under way, or NULL */
};

/* One question to the changing worker. */
struct op {
	struct bh_machine *machine;
	const struct bh_gpu *known; /* borrowed from the inventory: profiles, and who it is */
	bh_answer_fn answer;
	void *userdata;
	sd_event_source *timer;
	uint64_t settle_until_ms;
	unsigned int tries;
	char what[160]; /* is being asked, for errors */
};

/* ----------------------------------------------------------------- workers */

/* A worker of another driver than the inventory's must not be asked anything. */
static void on_ready(struct bh_child *child, const json_t *hello, void *userdata)
{
	struct bh_machine *machine = userdata;
	const char *driver = json_string_value(json_object_get(hello, "driver"));

	const char *version = json_string_value(json_object_get(hello, "version"));

	if (!version || strcmp(version, machine->config.version) != 0)
		bh_child_kill(child, "the worker is of another version than this program");
	else if (machine->inventory.origin[0] &&
			(!driver || strcmp(driver, machine->inventory.origin) != 0))
		bh_child_kill(child, "the driver is not the one that the inventory came from");
}

static int spawn(struct bh_machine *machine, bool changing, struct bh_child **ret_child,
		struct bh_error *err)
{
	char *argv[] = {(char *) "bulkhead-worker", (char *) "driver", (char *) "--driver",
			(char *) machine->config.driver, changing ? NULL : (char *) "--read-only",
			NULL};
	bh_auto_close int lock = -1;
	struct bh_child_config config = {.path = machine->config.worker_path,
			.argv = argv,
			.role = "driver",
			.events = {.ready = on_ready},
			.userdata = machine};

	if (changing && bh_state_worker_lock(machine->config.state_dir, &lock, err) < 0)
		return -1;
	config.fd4 = lock;
	return bh_child_spawn(machine->event, &config, ret_child, err);
}

static void end_worker(struct bh_child **child)
{
	bh_child_free(*child);
	*child = NULL;
}

int bh_machine_new(sd_event *event, const struct bh_machine_config *config,
		struct bh_machine **ret_machine, struct bh_error *err)
{
	struct bh_machine *machine = calloc(1, sizeof(*machine));

	if (!machine)
		return bh_fail_memory(err);
	machine->event = sd_event_ref(event);
	machine->config = *config;
	*ret_machine = machine;
	return 0;
}

void bh_machine_free(struct bh_machine *machine)
{
	if (!machine)
		return;
	bh_child_free(machine->reader);
	bh_child_free(machine->changer);
	free(machine->inventory.gpus);
	sd_event_unref(machine->event);
	free(machine);
}

void bh_machine_set_ledger(struct bh_machine *machine, struct bh_ledger *ledger)
{
	machine->ledger = ledger;
}

static uint32_t deadline(const struct bh_machine *machine, uint32_t usual_ms)
{
	return machine->config.call_deadline_ms ? machine->config.call_deadline_ms : usual_ms;
}

/* ----------------------------------------------------------------- reading */

/* Fills @gpu from a reply's "gpu"; profiles stay when the reply has none, and a board that does not
 * tell its index has the one that it was listed by. */
static int take_gpu(struct bh_machine *machine, const json_t *value, uint32_t listed,
		struct bh_gpu *gpu, struct bh_error *err)
{
	const struct bh_model *model;

	if (bh_gpu_from_json(value, gpu, err) < 0)
		return bh_while(err, "the worker's observation");
	if (gpu->index == BH_UNKNOWN)
		gpu->index = listed;
	model = bh_catalogue_by_pci_device_id(gpu->pci_device_id);
	if (model)
		(void) snprintf(gpu->model, sizeof(gpu->model), "%s", model->slug);
	return bh_owned_mark(machine->ledger, gpu, err);
}

static int call_reader(struct bh_machine *machine, const json_t *request, json_t **ret_ok,
		struct bh_error *err)
{
	bh_auto_json json_t *packet = NULL;

	for (int tries = 0; tries < TRIES_MAX; tries++) {
		if (!machine->reader && spawn(machine, false, &machine->reader, err) < 0)
			return -1;
		if (bh_child_call_wait(machine->reader, request,
				    deadline(machine, READ_DEADLINE_MS), NULL, &packet, err) == 0) {
			*ret_ok = json_incref(json_object_get(packet, "ok"));
			return 0;
		}
		if (err->code == BH_E_DEADLINE)
			bh_error_next(err,
					"a driver call hangs in our worker (pid %d, ended unless "
					"it cannot "
					"be): look for Xid lines in the kernel's log, then run "
					"this again",
					(int) bh_child_pid(machine->reader));
		/* one that died, over this or before it, is replaced; its own refusal counts */
		if (err->code != BH_E_INTERNAL || bh_child_is_usable(machine->reader))
			return -1;
		end_worker(&machine->reader);
		json_decref(packet);
		packet = NULL;
	}
	return -1;
}

static int observe_index(struct bh_machine *machine, const json_t *row, struct bh_gpu *ret_gpu,
		struct bh_error *err)
{
	bh_auto_json json_t *request = NULL, *ok = NULL;
	const char *uuid = json_string_value(json_object_get(row, "uuid"));
	const char *pci = json_string_value(json_object_get(row, "pci"));
	const struct bh_model *model;

	request = json_pack("{s:s, s:s, s:{s:s, s:b}}", "op", "observe", "gpu", uuid ? uuid : "",
			"args", "pci", pci ? pci : "", "profiles", 1);
	if (!request)
		return bh_fail_memory(err);
	if (call_reader(machine, request, &ok, err) < 0 ||
			take_gpu(machine, json_object_get(ok, "gpu"),
					(uint32_t) json_integer_value(
							json_object_get(row, "index")),
					ret_gpu, err) < 0)
		return bh_while(err, "reading GPU %s", uuid ? uuid : "without a UUID");
	model = bh_catalogue_by_pci_device_id(ret_gpu->pci_device_id);
	if (ret_gpu->mig_capable && ret_gpu->n_profiles == 0 && model) {
		for (size_t i = 0; i < model->n_gi_profiles && i < BH_GI_PROFILES_MAX; i++)
			ret_gpu->profiles[ret_gpu->n_profiles++] = model->gi_profiles[i];
		if (model->placement_units != BH_UNKNOWN)
			ret_gpu->placement_units = model->placement_units;
		ret_gpu->from_catalogue = ret_gpu->n_profiles > 0;
	}
	return 0;
}

/* A board that cannot be read is not left out: its index and its instances are unknown, not absent. */
static int check_readable(const json_t *ok, struct bh_error *err)
{
	const json_t *row = json_array_get(json_object_get(ok, "unreadable"), 0);

	if (!row)
		return 0;
	bh_error_from_json(json_object_get(row, "error"), err);
	return bh_while(err, "GPU %lld cannot be read",
			(long long) json_integer_value(json_object_get(row, "index")));
}

static int read_all(
		struct bh_machine *machine, struct bh_inventory *inventory, struct bh_error *err)
{
	bh_auto_json json_t *request = json_pack("{s:s}", "op", "list"), *ok = NULL;
	const json_t *rows, *row;
	size_t i;

	if (!request)
		return bh_fail_memory(err);
	if (call_reader(machine, request, &ok, err) < 0)
		return -1;
	if (bh_json_get_string(bh_child_hello(machine->reader), "driver", inventory->origin,
			    sizeof(inventory->origin), err) < 0 ||
			bh_json_get_string(ok, "driver", inventory->driver,
					sizeof(inventory->driver), err) < 0)
		return bh_while(err, "the worker's hello and list");
	if (check_readable(ok, err) < 0)
		return -1;
	rows = json_object_get(ok, "gpus");
	if (json_array_size(rows) > BH_NODE_GPUS_MAX)
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"this node has %zu GPUs, more than %d", json_array_size(rows),
				BH_NODE_GPUS_MAX);
	inventory->gpus = calloc(json_array_size(rows) + 1, sizeof(*inventory->gpus));
	if (!inventory->gpus)
		return bh_fail_memory(err);
	json_array_foreach (rows, i, row) {
		if (observe_index(machine, row, &inventory->gpus[i], err) < 0)
			return -1;
		inventory->n_gpus++;
	}
	return 0;
}

int bh_machine_read(struct bh_machine *machine, const struct bh_inventory **ret_inv,
		struct bh_error *err)
{
	struct bh_inventory inventory = {0};
	struct bh_error mine;

	if (read_all(machine, &inventory, err ? err : &mine) < 0) {
		free(inventory.gpus);
		return -1;
	}
	free(machine->inventory.gpus);
	machine->inventory = inventory;
	*ret_inv = &machine->inventory;
	return 0;
}

int bh_machine_quiesce(struct bh_machine *machine, struct bh_error *err)
{
	uint64_t until;

	if (!machine->reader)
		return 0;
	bh_child_kill(machine->reader, "the machine is to be changed");
	until = bh_clock_monotonic_ms() + deadline(machine, 10000);
	while (!bh_child_has_ended(machine->reader)) {
		if (bh_child_is_stuck(machine->reader) || bh_clock_monotonic_ms() >= until)
			return bh_fail(err, BH_E_DEADLINE, BH_SRC_SELF, 0,
					"our own reading worker (pid %d) cannot be ended: it is in "
					"a "
					"driver call that does not return",
					(int) bh_child_pid(machine->reader));
		if (sd_event_run(machine->event, 100000) < 0)
			break;
	}
	end_worker(&machine->reader);
	return 0;
}

/* ---------------------------------------------------------------- changing */

static void op_free(struct op *op)
{
	op->machine->op = NULL;
	sd_event_source_disable_unref(op->timer);
	free(op);
}

static void op_answer(struct op *op, const struct bh_answer *answer)
{
	bh_answer_fn fn = op->answer;
	void *userdata = op->userdata;

	op_free(op);
	fn(answer, userdata);
}

static void op_fail(struct op *op, bool stuck, const struct bh_error *err)
{
	struct bh_answer answer = {.outcome = BH_ANSWER_UNKNOWN, .stuck = stuck, .err = *err};

	op_answer(op, &answer);
}

/* Which call it was, and who is stuck in it. */
static void say_unknown(const struct op *op, const struct bh_child *child,
		const struct bh_child_reply *reply, struct bh_error *err)
{
	if (reply->stuck) {
		bh_fail(err, BH_E_DEADLINE, BH_SRC_SELF, 0,
				"%s: worker %d cannot be killed, its driver call does not return",
				op->what, (int) bh_child_pid(child));
		bh_error_next(err,
				"wait for process %d to end, or reboot the node, then run this "
				"again",
				(int) bh_child_pid(child));
	} else {
		bh_while(err, "%s", op->what);
	}
	(void) snprintf(err->gpu, sizeof(err->gpu), "%s", op->known->uuid);
}

static void on_reply(struct bh_child *child, const struct bh_child_reply *reply, void *userdata)
{
	struct op *op = userdata;
	struct bh_machine *machine = op->machine;
	struct bh_gpu *gpu = malloc(sizeof(*gpu));
	const json_t *value = NULL;
	struct bh_answer answer = {
			.outcome = BH_ANSWER_UNKNOWN,
			.sent = reply->sent,
			.stuck = reply->stuck,
			.err = reply->err,
	};

	if (reply->outcome == BH_CHILD_FAILED)
		bh_while(&answer.err, "%s", op->what);
	else if (reply->outcome == BH_CHILD_UNKNOWN)
		say_unknown(op, child, reply, &answer.err);
	if (reply->outcome == BH_CHILD_DONE) {
		answer.outcome = BH_ANSWER_DONE;
		value = json_object_get(reply->ok, "gpu");
	} else if (reply->outcome == BH_CHILD_FAILED) {
		answer.outcome = BH_ANSWER_FAILED;
		value = json_object_get(reply->packet, "gpu");
	}
	if (gpu && value) {
		*gpu = *op->known;
		if (take_gpu(machine, value, op->known->index, gpu, NULL) == 0)
			answer.gpu = gpu;
	}
	if (reply->outcome == BH_CHILD_UNKNOWN || !bh_child_is_usable(child))
		end_worker(&machine->changer);
	op_answer(op, &answer);
	free(gpu);
}

static json_t *step_args(const struct bh_step *step)
{
	switch (step->kind) {
	case BH_STEP_SET_MIG:
		return json_pack("{s:s, s:b}", "pci", step->pci, "on", step->on);
	case BH_STEP_CREATE_GI:
	case BH_STEP_DESTROY_GI:
		return json_pack("{s:s, s:I, s:i, s:i}", "pci", step->pci, "profile_id",
				(json_int_t) step->profile_id, "start", step->at.start, "size",
				step->at.size);
	case BH_STEP_CREATE_CI:
	case BH_STEP_DESTROY_CI:
		return json_pack("{s:s, s:I, s:i, s:i, s:i, s:i}", "pci", step->pci, "profile_id",
				(json_int_t) step->profile_id, "start", step->at.start, "size",
				step->at.size, "slices", step->ci.size, "ci_start", step->ci.start);
	case BH_STEP_QUIESCE:
	case BH_STEP_KIND_COUNT:
		break;
	}
	return NULL;
}

static int new_op(struct bh_machine *machine, const char *gpu, bh_answer_fn answer, void *userdata,
		struct op **ret_op, struct bh_error *err)
{
	const struct bh_gpu *known = bh_inventory_find_gpu(&machine->inventory, gpu);
	struct op *op;

	if (!known)
		return bh_fail(err, BH_E_NO_SUCH_GPU, BH_SRC_SELF, 0,
				"GPU %s is not on this node (any more)", gpu);
	if (!machine->config.state_dir)
		return bh_fail(err, BH_E_DENIED, BH_SRC_SELF, 0, "this reader may change nothing");
	op = calloc(1, sizeof(*op));
	if (!op)
		return bh_fail_memory(err);
	*op = (struct op){
			.machine = machine, .known = known, .answer = answer, .userdata = userdata};
	machine->op = op;
	*ret_op = op;
	return 0;
}

int bh_machine_carry_out(struct bh_machine *machine, const struct bh_step *step,
		bh_answer_fn answer, void *userdata, struct bh_error *err)
{
	const struct bh_step_kind_info *info = bh_step_kind_info(step->kind);
	bh_auto_json json_t *request = json_pack("{s:s, s:s, s:o}", "op", info->name, "gpu",
			step->gpu, "args", step_args(step));
	struct op *op;

	if (!request)
		return bh_fail_memory(err);
	if (new_op(machine, step->gpu, answer, userdata, &op, err) < 0)
		return -1;
	bh_step_describe(step, op->what, sizeof(op->what));
	if ((!machine->changer && spawn(machine, true, &machine->changer, err) < 0) ||
			bh_child_call(machine->changer, request,
					deadline(machine, info->deadline_ms), on_reply, op,
					err) < 0) {
		end_worker(&machine->changer);
		op_free(op);
		return -1;
	}
	return 0;
}

/* --------------------------------------------------- observing with a fresh one */

static void settle(struct op *op);

static void on_observed(struct bh_child *child, const struct bh_child_reply *reply, void *userdata)
{
	struct op *op = userdata;

	/* reading changes nothing, so a worker that died over it is simply replaced */
	if (reply->outcome == BH_CHILD_UNKNOWN && !reply->stuck && ++op->tries < TRIES_MAX)
		settle(op);
	else
		on_reply(child, reply, op);
}

static void ask_fresh(struct op *op)
{
	struct bh_machine *machine = op->machine;
	bh_auto_json json_t *request = json_pack("{s:s, s:s, s:{s:s, s:b}}", "op", "observe", "gpu",
			op->known->uuid, "args", "pci", op->known->pci, "profiles", 0);
	struct bh_error err;

	if (!request)
		bh_fail_memory(&err);
	else if (spawn(machine, true, &machine->changer, &err) == 0 &&
			bh_child_call(machine->changer, request,
					deadline(machine, READ_DEADLINE_MS), on_observed, op,
					&err) == 0)
		return;
	end_worker(&machine->changer);
	op_fail(op, /* stuck= */ false, &err);
}

static int on_settle_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct op *op = userdata;
	struct bh_error err;
	int r = bh_state_try_settle(op->machine->config.state_dir, &err);

	if (r == 0) {
		ask_fresh(op);
	} else if (r < 0) {
		op_fail(op, /* stuck= */ false, &err);
	} else if (bh_clock_monotonic_ms() >= op->settle_until_ms) {
		bh_state_settle_failed(op->machine->config.state_dir, &err);
		op_fail(op, /* stuck= */ true, &err);
	} else if (sd_event_source_set_time_relative(source, SETTLE_POLL_US) < 0 ||
			sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) < 0) {
		bh_fail_memory(&err);
		op_fail(op, /* stuck= */ false, &err);
	}
	return 0;
}

static void settle(struct op *op)
{
	struct bh_machine *machine = op->machine;
	struct bh_error err;
	int r;

	end_worker(&machine->changer);
	op->settle_until_ms = bh_clock_monotonic_ms() + SETTLE_DEADLINE_MS;
	op->timer = sd_event_source_disable_unref(op->timer);
	r = sd_event_add_time_relative(
			machine->event, &op->timer, CLOCK_MONOTONIC, 0, 1, on_settle_timer, op);
	if (r < 0) {
		bh_fail_errno(&err, -r, "setting a timer");
		op_fail(op, /* stuck= */ false, &err);
	}
}

int bh_machine_observe(struct bh_machine *machine, const char *gpu, const char *pci,
		bh_answer_fn answer, void *userdata, struct bh_error *err)
{
	struct op *op;

	if (new_op(machine, gpu, answer, userdata, &op, err) < 0)
		return -1;
	(void) snprintf(op->what, sizeof(op->what), "reading GPU %u", op->known->index);
	settle(op);
	return 0;
}

void bh_machine_give_up(struct bh_machine *machine)
{
	end_worker(&machine->changer);
	if (machine->op)
		op_free(machine->op);
}
