/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/role_driver.h"

#include <stdlib.h>
#include <string.h>

#include "driver/mig.h"
#include "driver/node.h"
#include "gpu/inventory_json.h"

/* A request being served. */
struct turn {
	struct bh_driver *driver;
	const struct bh_request *request;
	json_t *ok;		      /* of the answer; owned until it is sent */
	struct bh_observation *after; /* of changing operations */
	struct bh_error err;
};

struct op {
	const char *name;
	bool changes;
	int (*serve)(struct turn *turn); /* negative: turn->err is filled */
};

/* ---- Reading ---- */

static json_t *row_to_json(const struct bh_gpu_row *row)
{
	return json_pack("{s:I, s:s, s:s, s:o, s:o, s:o}", "index", (json_int_t) row->index, "uuid",
			row->uuid, "pci", row->pci, "name",
			row->name[0] ? json_string(row->name) : json_null(), "pci_device_id",
			bh_number_to_json(row->pci_device_id), "pci_subsystem_id",
			bh_number_to_json(row->pci_subsystem_id));
}

static json_t *unreadable_to_json(const struct bh_gpu_row *row)
{
	return json_pack("{s:I, s:o, s:o}", "index", (json_int_t) row->index, "pci",
			row->pci[0] ? json_string(row->pci) : json_null(), "error",
			bh_error_to_json(&row->why));
}

static int serve_list(struct turn *turn)
{
	bh_auto_free struct bh_gpu_row *rows = calloc(BH_NODE_GPUS_MAX, sizeof(*rows));
	bh_auto_json json_t *gpus = json_array(), *unreadable = json_array();
	size_t n;

	if (!rows || !gpus || !unreadable)
		return bh_fail_memory(&turn->err);
	if (bh_driver_list(turn->driver, rows, BH_NODE_GPUS_MAX, &n, &turn->err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		bool fine = rows[i].readable;

		if (bh_json_append(fine ? gpus : unreadable,
				    fine ? row_to_json(&rows[i]) : unreadable_to_json(&rows[i]),
				    &turn->err) < 0)
			return -1;
	}
	turn->ok = json_pack("{s:s, s:O, s:O}", "driver", bh_driver_version(turn->driver), "gpus",
			gpus, "unreadable", unreadable);
	return 0;
}

static int open_board(struct turn *turn, struct bh_board *ret_board)
{
	char pci[sizeof(ret_board->pci)];
	int r;

	if (bh_json_get_string(turn->request->args, "pci", pci, sizeof(pci), &turn->err) < 0)
		return bh_while(&turn->err, "args");
	if (!turn->request->gpu[0] || strlen(turn->request->gpu) >= sizeof(ret_board->uuid))
		return bh_fail(&turn->err, BH_E_USAGE, BH_SRC_SELF, 0, "'gpu' is not a GPU's UUID");
	r = bh_board_open(turn->driver, pci, turn->request->gpu, ret_board, &turn->err);
	if (r < 0)
		memcpy(turn->err.gpu, turn->request->gpu, strlen(turn->request->gpu) + 1);
	return r;
}
_Static_assert(sizeof(((struct bh_error *) NULL)->gpu) >= BH_UUID_SIZE, "a UUID fits");

static int serve_observe(struct turn *turn)
{
	bh_auto_free struct bh_gpu *gpu = calloc(1, sizeof(*gpu));
	struct bh_board board;
	bool profiles;

	if (!gpu)
		return bh_fail_memory(&turn->err);
	if (bh_json_get_bool(turn->request->args, "profiles", &profiles, &turn->err) < 0)
		return bh_while(&turn->err, "args");
	if (open_board(turn, &board) < 0)
		return -1;
	if (bh_board_observe(&board, profiles, gpu, &turn->err) < 0) {
		memcpy(turn->err.gpu, board.uuid, sizeof(board.uuid));
		return -1;
	}
	turn->ok = json_pack("{s:o}", "gpu", bh_gpu_to_json(gpu, profiles));
	return 0;
}

/* ---- Changing ---- */

static int read_gi_name(struct turn *turn, struct bh_gi_name *gi)
{
	const json_t *args = turn->request->args;

	if (bh_json_get_u32(args, "profile_id", &gi->profile_id, &turn->err) < 0 ||
			bh_json_get_u32(args, "start", &gi->at.start, &turn->err) < 0 ||
			bh_json_get_u32(args, "size", &gi->at.size, &turn->err) < 0)
		return bh_while(&turn->err, "args");
	return 0;
}

static int read_ci_name(struct turn *turn, struct bh_ci_name *ci)
{
	const json_t *args = turn->request->args;

	if (read_gi_name(turn, &ci->gi) < 0)
		return -1;
	if (bh_json_get_u32(args, "slices", &ci->slices, &turn->err) < 0 ||
			bh_json_get_u32(args, "ci_start", &ci->start, &turn->err) < 0)
		return bh_while(&turn->err, "args");
	return 0;
}

static int serve_set_mig(struct turn *turn)
{
	const json_t *args = turn->request->args;
	struct bh_board board;
	bool on, leave_pending = false;

	if (bh_json_get_bool(args, "on", &on, &turn->err) < 0 ||
			(json_object_get(args, "leave_pending") &&
					bh_json_get_bool(args, "leave_pending", &leave_pending,
							&turn->err) < 0))
		return bh_while(&turn->err, "args");
	if (open_board(turn, &board) < 0)
		return -1;
	return bh_mig_set_mode(&board, on, leave_pending, turn->after, &turn->err);
}

static int serve_gi(struct turn *turn, int (*act)(struct bh_board *, const struct bh_gi_name *,
						       struct bh_observation *, struct bh_error *))
{
	struct bh_gi_name gi;
	struct bh_board board;

	if (read_gi_name(turn, &gi) < 0 || open_board(turn, &board) < 0)
		return -1;
	return act(&board, &gi, turn->after, &turn->err);
}

static int serve_ci(struct turn *turn, int (*act)(struct bh_board *, const struct bh_ci_name *,
						       struct bh_observation *, struct bh_error *))
{
	struct bh_ci_name ci;
	struct bh_board board;

	if (read_ci_name(turn, &ci) < 0 || open_board(turn, &board) < 0)
		return -1;
	return act(&board, &ci, turn->after, &turn->err);
}

static int serve_create_gi(struct turn *turn)
{
	return serve_gi(turn, bh_mig_create_gi);
}

static int serve_destroy_gi(struct turn *turn)
{
	return serve_gi(turn, bh_mig_destroy_gi);
}

static int serve_create_ci(struct turn *turn)
{
	return serve_ci(turn, bh_mig_create_ci);
}

static int serve_destroy_ci(struct turn *turn)
{
	return serve_ci(turn, bh_mig_destroy_ci);
}

/* ---- Serving ---- */

static const struct op ops[] = {
		{"list", false, serve_list},
		{"observe", false, serve_observe},
		{"set-mig", true, serve_set_mig},
		{"create-gi", true, serve_create_gi},
		{"destroy-gi", true, serve_destroy_gi},
		{"create-ci", true, serve_create_ci},
		{"destroy-ci", true, serve_destroy_ci},
};

static int run_op(const struct bh_worker *worker, struct turn *turn)
{
	for (size_t i = 0; i < BH_ARRAY_SIZE(ops); i++) {
		const struct op *op = &ops[i];

		if (strcmp(op->name, turn->request->op) != 0)
			continue;
		if (op->changes && worker->read_only)
			return bh_fail(&turn->err, BH_E_DENIED, BH_SRC_SELF, 0,
					"a read-only worker does not serve '%s'", op->name);
		if (op->serve(turn) < 0)
			return -1;
		if (op->changes)
			turn->ok = json_pack("{s:o}", "gpu",
					bh_gpu_to_json(&turn->after->gpu,
							/* with_profiles= */ false));
		return 0;
	}
	return bh_fail(&turn->err, BH_E_USAGE, BH_SRC_SELF, 0, "there is no operation '%.40s'",
			turn->request->op);
}

static int serve(const struct bh_worker *worker, struct bh_driver *driver,
		const struct bh_request *request, struct bh_error *err)
{
	bh_auto_free struct bh_observation *after = calloc(1, sizeof(*after));
	struct turn turn = {.driver = driver, .request = request, .after = after};
	json_t *gpu = NULL;

	if (!after)
		return bh_fail_memory(err);
	if (run_op(worker, &turn) == 0)
		return bh_worker_answer(worker, request->id, turn.ok, err);
	if (after->known)
		gpu = bh_gpu_to_json(&after->gpu, /* with_profiles= */ false);
	return bh_worker_refuse(worker, request->id, &turn.err, gpu, err);
}

int bh_role_driver(const struct bh_worker *worker)
{
	bh_auto_driver struct bh_driver *driver = NULL;
	struct bh_error err;
	int r;

	if ((!worker->read_only && bh_worker_take_lock(worker, &err) < 0) ||
			bh_driver_open(worker->driver, &driver, &err) < 0) {
		bh_log(&worker->log, BH_LOG_ERROR, "%s", err.message);
		(void) bh_worker_refuse(worker, /* id= */ 0, &err, NULL, NULL);
		return EXIT_FAILURE;
	}
	r = bh_worker_hello(worker, bh_driver_origin(driver), &err);
	while (r == 0) {
		bh_auto_request struct bh_request request = {0};

		r = bh_worker_next(worker, &request);
		if (r > 0)
			return EXIT_SUCCESS; /* the parent hung up */
		if (r == 0)
			r = serve(worker, driver, &request, &err);
	}
	return EXIT_FAILURE;
}
