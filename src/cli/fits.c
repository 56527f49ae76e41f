/* SPDX-License-Identifier: Apache-2.0 */
/* Would it fit: asked of this node, or of boards of the catalogue without a driver. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/model.h"
#include "cli/picture.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "plan/fit_need.h"
#include "plan/role.h"
#include "plan/step.h"

#define MOST   (BH_NODE_GPUS_MAX * BH_GIS_MAX)

/* Given to profiles of the catalogue whose ids nobody has published, to tell them apart here. */
#define OWN_ID 0x40000000U

/* The boards that are asked about, the wish, and the answer. */
struct fits {
	struct bh_gpu *gpus; /* owned; copies, so that the answer can be drawn on them */
	size_t n_gpus;
	size_t n_off;	    /* GPUs of the node that could do MIG and have it off */
	const char *origin; /* NULL: the catalogue */
	struct bh_occupancy rooms[BH_NODE_GPUS_MAX];
	struct bh_ask asks[BH_ASKS_MAX];
	size_t n_asks;
	char names[BH_ASKS_MAX][BH_NAME_SIZE];
	struct bh_need need;		    /* where --want was given; count 0: it was not */
	const struct bh_gi_profile *chosen; /* for it */
	enum bh_online_policy policy;
	struct bh_fit fit;
};

static int usage(const char *word, const char *wanted, struct bh_error *err)
{
	char shown[96];

	return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "'%s': %s is wanted",
			bh_text_show(shown, sizeof(shown), word), wanted);
}

/* "3g.40gb=2", or "3g.40gb" for one. */
static int read_ask(struct fits *f, const char *word, struct bh_error *err)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t) (equals - word) : strlen(word);
	struct bh_ask *ask = &f->asks[f->n_asks];
	char *name = f->names[f->n_asks];
	struct bh_profile_name parsed;

	*ask = (struct bh_ask){.profile = name, .count = 1};
	if (length == 0 || length >= BH_NAME_SIZE)
		return usage(word, "PROFILE=COUNT, as 3g.40gb=2,", err);
	memcpy(name, word, length);
	if (bh_profile_name_parse(name, &parsed, err) < 0)
		return -1;
	if (equals && (!bh_text_u32(equals + 1, strlen(equals + 1), MOST, &ask->count) ||
				      ask->count == 0))
		return usage(word, "a count from 1 to 512 behind '='", err);
	for (size_t i = 0; i < f->n_asks; i++) {
		if (strcmp(f->names[i], name) == 0)
			return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "%s is asked for twice",
					name);
	}
	f->n_asks++;
	return 0;
}

static int read_policy(struct fits *f, const struct cli_args *args, struct bh_error *err)
{
	const char *name = args->values[CLI_PLACEMENT_NUMBER];

	if (!name || (bh_online_policy_from_name(name, &f->policy) &&
				     f->policy <= BH_ONLINE_SPREAD))
		return 0;
	return usage(name, "scarcity, pack or spread", err);
}

static int read_asks(struct fits *f, const struct cli_args *args, struct bh_error *err)
{
	const char *want = args->values[CLI_WANT_NUMBER];

	if (want && args->n_words)
		return bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0,
				"profiles and --want exclude each other");
	if (want && bh_need_parse(want, &f->need, err) < 0)
		return -1;
	if (want && f->need.count > MOST)
		return usage(want, "a count from 1 to 512", err);
	if (want)
		return 0;
	if (args->n_words == 0) {
		bh_fail(err, BH_E_USAGE, BH_SRC_SELF, 0, "nothing is asked for");
		bh_error_next(err, "name profiles and counts: bulkhead fits 3g.40gb=1 1g.10gb=2");
		return -1;
	}
	for (size_t i = 0; i < args->n_words; i++) {
		if (read_ask(f, args->words[i], err) < 0)
			return -1;
	}
	return 0;
}

/* "3g.40gb@4": put where the board allows it, beside what was put before. */
static int put_have(struct bh_gpu *gpu, const char *word, struct bh_error *err)
{
	const char *at = strrchr(word, '@');
	struct bh_step step = {.kind = BH_STEP_CREATE_GI};
	struct bh_occupancy room;
	uint32_t start;
	size_t p;

	if (!at || (size_t) (at - word) >= sizeof(step.profile) ||
			!bh_text_u32(at + 1, strlen(at + 1), BH_UNITS_MAX - 1, &start))
		return usage(word, "PROFILE@START, as 3g.40gb@4,", err);
	memcpy(step.profile, word, (size_t) (at - word));
	bh_occupancy_init(&room, gpu);
	if (!bh_gpu_profile_named(gpu, step.profile, &p))
		return bh_fail(err, BH_E_PROFILE_NOT_OFFERED, BH_SRC_SELF, 0,
				"--have '%s': %s does not offer %s", word, gpu->model,
				step.profile);
	for (size_t k = 0; k < gpu->profiles[p].n_placements; k++) {
		if (gpu->profiles[p].placements[k].start == start)
			step.at = gpu->profiles[p].placements[k];
	}
	if (step.at.size == 0)
		return bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"--have '%s': %s cannot stand at %u on this board", word,
				step.profile, start);
	step.profile_id = gpu->profiles[p].id;
	if (!bh_occupancy_allows(&room, p, &step.at) || bh_step_predict(&step, gpu, NULL) < 0)
		return bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"--have '%s' cannot stand beside those before it", word);
	return 0;
}

static int read_model(struct fits *f, const struct cli_args *args, struct bh_error *err)
{
	const struct bh_model *model = cli_find_model(args->values[CLI_MODEL_NUMBER], err);
	const char *count = args->values[CLI_GPUS_NUMBER];
	uint32_t n = 1;

	if (!model)
		return -1;
	if (count && (!bh_text_u32(count, strlen(count), BH_NODE_GPUS_MAX, &n) || n == 0))
		return usage(count, "a number of boards from 1 to 64", err);
	f->gpus = calloc(n, sizeof(*f->gpus));
	if (!f->gpus)
		return bh_fail_memory(err);
	for (f->n_gpus = 0; f->n_gpus < n; f->n_gpus++) {
		struct bh_gpu *gpu = &f->gpus[f->n_gpus];

		bh_model_describe(model, gpu);
		for (size_t p = 0; p < gpu->n_profiles; p++) {
			if (gpu->profiles[p].id == BH_UNKNOWN)
				gpu->profiles[p].id = OWN_ID + (uint32_t) p;
		}
		gpu->index = (uint32_t) f->n_gpus;
		gpu->mig_current = gpu->mig_pending = BH_MIG_ON;
		gpu->mig_capable = gpu->holders_known = true;
	}
	for (size_t i = 0; i < args->n_haves; i++) {
		if (put_have(&f->gpus[0], args->haves[i], err) < 0)
			return -1;
	}
	return 0;
}

/* The GPUs that are divided already; to switch another one over is a change of its own. */
static int read_node(struct fits *f, const struct bh_inventory *inventory, struct bh_error *err)
{
	f->origin = inventory->origin;
	f->gpus = calloc(inventory->n_gpus + 1, sizeof(*f->gpus));
	if (!f->gpus)
		return bh_fail_memory(err);
	for (size_t i = 0; i < inventory->n_gpus; i++) {
		const struct bh_gpu *gpu = &inventory->gpus[i];

		if (gpu->mig_capable && gpu->mig_current == BH_MIG_ON)
			f->gpus[f->n_gpus++] = *gpu;
		else
			f->n_off += gpu->mig_capable;
	}
	if (f->n_gpus > 0)
		return 0;
	bh_fail(err, BH_E_MIG_UNSUPPORTED, BH_SRC_SELF, 0, "no GPU of this node has MIG mode on%s",
			f->n_off ? "" : ", and none can");
	if (f->n_off)
		bh_error_next(err, "enable it with 'bulkhead apply', or ask with --model MODEL");
	return -1;
}

static json_t *found_to_json(const struct fits *f)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < f->fit.solution.n_found; i++) {
		const struct bh_found *found = &f->fit.solution.found[i];
		const struct bh_gpu *gpu = &f->gpus[found->room];
		const struct bh_gi_profile *p = &gpu->profiles[found->profile];

		if (bh_json_append(rows,
				    json_pack("{s:i, s:o, s:s, s:o, s:i, s:i}", "gpu",
						    (int) gpu->index, "uuid",
						    bh_json_text_or_null(gpu->uuid), "profile",
						    p->name, "profile_id",
						    bh_number_to_json(p->id < OWN_ID ? p->id
										     : BH_UNKNOWN),
						    "start", (int) found->at.start, "size",
						    (int) found->at.size),
				    NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *alternatives_to_json(const struct bh_fit *fit)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t i = 0; i < fit->n_alternatives; i++) {
		const struct bh_alternative *alt = &fit->alternatives[i];
		json_t *asks = json_object();

		for (size_t k = 0; k < alt->n_asks; k++) {
			if (bh_json_set(asks, alt->asks[k].profile,
					    json_integer(alt->asks[k].count), NULL) < 0) {
				json_decref(asks);
				return NULL;
			}
		}
		if (bh_json_append(rows,
				    json_pack("{s:o, s:s}", "profiles", asks, "text", alt->text),
				    NULL) < 0)
			return NULL;
	}
	return BH_TAKE(rows);
}

static json_t *move_to_json(const struct fits *f)
{
	const struct bh_fit_move *move = &f->fit.move;
	const struct bh_gpu *from = &f->gpus[move->from];

	if (!f->fit.has_move)
		return json_null();
	return json_pack("{s:i, s:s, s:i, s:i, s:i, s:b}", "gpu", (int) from->index, "profile",
			view_profile_name(from, from->gis[move->gi].profile_id), "start",
			(int) from->gis[move->gi].at.start, "to_gpu", (int) f->gpus[move->to].index,
			"to_start", (int) move->at.start, "needs_consent", 1);
}

/* Idle instances of ours of a profile that is asked for: maybe nothing needs to be made. */
static json_t *standing_to_json(const struct fits *f)
{
	bh_auto_json json_t *rows = json_array();

	for (size_t g = 0; g < f->n_gpus; g++) {
		const struct bh_gpu *gpu = &f->gpus[g];

		for (size_t i = 0; i < gpu->n_gis; i++) {
			const char *name = view_profile_name(gpu, gpu->gis[i].profile_id);
			bool asked = false;

			for (size_t a = 0; a < f->n_asks; a++)
				asked = asked || strcmp(f->asks[a].profile, name) == 0;
			if (asked && bh_gi_can_move(gpu, &gpu->gis[i]) &&
					bh_json_append(rows,
							json_pack("{s:i, s:s, s:i}", "gpu",
									(int) gpu->index, "profile",
									name, "start",
									(int) gpu->gis[i].at.start),
							NULL) < 0)
				return NULL;
		}
	}
	return BH_TAKE(rows);
}

static json_t *certificate_to_json(const struct bh_fit *fit)
{
	if (fit->fits)
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:s}", "rule", fit->certificate.rule, "needs",
			(json_int_t) fit->certificate.needs, "has",
			(json_int_t) fit->certificate.has, "text", fit->certificate.text);
}

/* What was chosen for a need, with its true capacity. */
static json_t *chosen_to_json(const struct fits *f)
{
	uint32_t all = bh_need_board_sm(f->gpus[0].profiles, f->gpus[0].n_profiles);
	char text[BH_NEED_TEXT_SIZE];

	if (!f->chosen)
		return json_null();
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "want", bh_need_format(&f->need, text),
			"profile", f->chosen->name, "count", (int) f->need.count, "memory_mib",
			bh_number64_to_json(f->chosen->memory_mib), "sm",
			bh_number_to_json(f->chosen->sm), "of_sm", bh_number_to_json(all));
}

static json_t *to_json(const struct fits *f, const struct view_stranded *stranded)
{
	return json_pack("{s:o, s:o, s:s?, s:b, s:o, s:o, s:{s:i, s:o}, s:o, s:o, s:o, s:o}",
			"idle", standing_to_json(f), "chosen", chosen_to_json(f), "placement",
			f->fit.by_policy ? bh_online_policy_name(f->policy) : NULL, "fits",
			f->fit.fits, "model", bh_json_text_or_null(f->gpus[0].model), "placements",
			found_to_json(f), "stranded", "memory_units", (int) stranded->units,
			"compute_slices", bh_number_to_json(stranded->slices), "certificate",
			certificate_to_json(&f->fit), "alternatives", alternatives_to_json(&f->fit),
			"move", move_to_json(f), "gpus_needed",
			f->fit.gpus_needed ? json_integer((json_int_t) f->fit.gpus_needed)
					   : json_null());
}

/* The boards as they would be with what was found. */
static int put_found(struct fits *f, struct bh_error *err)
{
	for (size_t i = 0; i < f->fit.solution.n_found; i++) {
		const struct bh_found *found = &f->fit.solution.found[i];
		struct bh_gpu *gpu = &f->gpus[found->room];
		struct bh_step step = {.kind = BH_STEP_CREATE_GI,
				.profile_id = gpu->profiles[found->profile].id,
				.at = found->at};

		if (bh_step_predict(&step, gpu, err) < 0)
			return -1;
	}
	return 0;
}

static void print_chosen(const struct fits *f)
{
	char memory[24] = "unknown", sm[24] = "unknown", text[BH_NEED_TEXT_SIZE];

	if (!f->chosen)
		return;
	if (f->chosen->memory_mib != BH_UNKNOWN64)
		(void) snprintf(memory, sizeof(memory), "%llu",
				(unsigned long long) f->chosen->memory_mib);
	if (f->chosen->sm != BH_UNKNOWN)
		(void) snprintf(sm, sizeof(sm), "%u", f->chosen->sm);
	cli_line(stdout, CLI_PLAIN, 4, "%s: %s, which has %s MiB and %s SMs",
			bh_need_format(&f->need, text), f->chosen->name, memory, sm);
}

static void print_fit(const struct fits *f, const struct view_stranded *stranded)
{
	char slices[24] = "unknown";

	print_chosen(f);
	for (size_t g = 0; g < f->n_gpus; g++) {
		const struct bh_gpu *gpu = &f->gpus[g];
		char text[640] = "";
		size_t used = 0;

		for (size_t i = 0; i < f->fit.solution.n_found && used < sizeof(text); i++) {
			const struct bh_found *found = &f->fit.solution.found[i];

			if (found->room == g)
				used += (size_t) snprintf(text + used, sizeof(text) - used,
						"%s%s at %u", used ? ", " : "",
						gpu->profiles[found->profile].name,
						found->at.start);
		}
		if (!used)
			continue;
		cli_line(stdout, CLI_GREEN, 4, "fits on GPU %u %s: %s", gpu->index, gpu->name,
				text);
		picture_units(gpu);
	}
	if (stranded->slices != BH_UNKNOWN)
		(void) snprintf(slices, sizeof(slices), "%u", stranded->slices);
	cli_line(stdout, CLI_PLAIN, 4, "  stranded then: placement units %u, compute slices %s",
			stranded->units, slices);
}

static void print_standing(const struct fits *f)
{
	bh_auto_json json_t *rows = standing_to_json(f);
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		cli_line(stdout, CLI_PLAIN, 4, "  there already, and idle: %s at %lld on GPU %lld",
				json_string_value(json_object_get(row, "profile")),
				(long long) json_integer_value(json_object_get(row, "start")),
				(long long) json_integer_value(json_object_get(row, "gpu")));
}

#define MOVE_TEXT_SIZE 160

static const char *say_move(const struct fits *f, char buffer[MOVE_TEXT_SIZE])
{
	const struct bh_fit_move *move = &f->fit.move;
	const struct bh_gpu *from = &f->gpus[move->from];
	char leaves[24] = "";

	if (move->from != move->to)
		(void) snprintf(leaves, sizeof(leaves), " on GPU %u", from->index);
	(void) snprintf(buffer, MOVE_TEXT_SIZE, "%s from %u%s to %u on GPU %u",
			view_profile_name(from, from->gis[move->gi].profile_id),
			from->gis[move->gi].at.start, leaves, move->at.start,
			f->gpus[move->to].index);
	return buffer;
}

static bool could_move(const struct fits *f)
{
	for (size_t g = 0; g < f->n_gpus; g++) {
		for (size_t i = 0; i < f->gpus[g].n_gis; i++) {
			if (bh_gi_can_move(&f->gpus[g], &f->gpus[g].gis[i]))
				return true;
		}
	}
	return false;
}

static void print_what_could_be_done(const struct fits *f)
{
	const struct bh_fit *fit = &f->fit;
	char move[MOVE_TEXT_SIZE];

	for (size_t i = 0; i < fit->n_alternatives; i++)
		cli_line(stdout, CLI_PLAIN, 4, "  fits instead: %s", fit->alternatives[i].text);
	if (fit->has_move)
		cli_line(stdout, CLI_PLAIN, 4,
				"  one move would make room: %s (it is idle; it comes back with a "
				"new "
				"UUID)",
				say_move(f, move));
	else if (fit->move_unknown)
		cli_line(stdout, CLI_PLAIN, 4, "  whether one move would make room: not found out");
	else
		cli_line(stdout, CLI_PLAIN, 4,
				"  no single move of an idle instance would make room%s",
				f->origin && could_move(f) ? "; 'inventory --fragmentation' tells "
							     "what several would do"
							   : "");
	if (fit->gpus_needed > f->n_gpus)
		cli_line(stdout, CLI_PLAIN, 4,
				"  with nothing moved it needs %llu card%s more, like GPU %u (%s): "
				"%llu in "
				"all",
				(unsigned long long) (fit->gpus_needed - f->n_gpus),
				fit->gpus_needed - f->n_gpus == 1 ? "" : "s",
				f->gpus[fit->card_like].index, f->gpus[fit->card_like].name,
				(unsigned long long) fit->gpus_needed);
	else
		cli_line(stdout, CLI_PLAIN, 4, "  how many cards it would need was not found out");
	print_standing(f);
	if (f->n_off)
		cli_line(stdout, CLI_PLAIN, 4,
				"  not counted: %zu GPU%s of this node with MIG mode off", f->n_off,
				f->n_off == 1 ? "" : "s");
}

/* What gives all that was asked for comes before what gives less. */
static void set_next(const struct fits *f, struct bh_error *err)
{
	const struct bh_fit *fit = &f->fit;
	char move[MOVE_TEXT_SIZE];

	if (fit->has_move)
		bh_error_next(err,
				"one move makes room: %s, which ends what is in it and changes its "
				"UUID",
				say_move(f, move));
	else if (fit->gpus_needed > f->n_gpus && fit->gpus_needed - f->n_gpus <= f->n_off)
		bh_error_next(err,
				"%llu GPU%s more like GPU %u would do, and %zu of this node %s MIG "
				"mode off: a layout with 'mig-enabled: true' for them switches it "
				"on",
				(unsigned long long) (fit->gpus_needed - f->n_gpus),
				fit->gpus_needed - f->n_gpus == 1 ? "" : "s",
				f->gpus[fit->card_like].index, f->n_off,
				f->n_off == 1 ? "has" : "have");
	else if (fit->n_alternatives)
		bh_error_next(err, "ask for %s", fit->alternatives[0].text);
	else if (fit->gpus_needed > f->n_gpus)
		bh_error_next(err, "it needs %llu cards in all, with nothing moved",
				(unsigned long long) fit->gpus_needed);
}

static int answer(const struct cli_args *args, struct fits *f)
{
	struct view_stranded stranded;
	struct bh_error err = {0};

	if (put_found(f, &err) < 0 || view_strand(f->gpus, f->n_gpus, &stranded, &err) < 0)
		return cli_fail(args, NULL, &err);
	if (f->fit.fits) {
		if (args->json)
			return cli_print_json(to_json(f, &stranded), 0);
		print_fit(f, &stranded);
		return 0;
	}
	bh_fail(&err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0, "%s", f->fit.certificate.text);
	set_next(f, &err);
	if (args->json)
		return cli_fail(args, to_json(f, &stranded), &err);
	(void) cli_fail(args, NULL, &err);
	print_chosen(f);
	print_what_could_be_done(f);
	return bh_code_exit_status(BH_E_DOES_NOT_FIT);
}

static int ask(struct fits *f, struct bh_error *err)
{
	const struct bh_fit_question question = {.rooms = f->rooms,
			.n_rooms = f->n_gpus,
			.asks = f->asks,
			.n_asks = f->n_asks,
			.policy = f->policy};

	return bh_fit_find(&question, &f->fit, err);
}

static int ask_for_need(struct fits *f, struct bh_error *err)
{
	if (bh_fit_need(f->rooms, f->n_gpus, &f->need, f->policy, &f->chosen, &f->fit, err) < 0)
		return -1;
	f->asks[0] = (struct bh_ask){f->chosen->name, f->need.count};
	f->n_asks = 1;
	return 0;
}

static int find_answer(struct fits *f, struct bh_error *err)
{
	if (f->gpus[0].n_profiles == 0 || f->gpus[0].placement_units == 0)
		return bh_fail(err, BH_E_UNSUPPORTED, BH_SRC_SELF, 0,
				"where the profiles of %s can stand is not known%s",
				f->gpus[0].name,
				f->origin ? "" : "; the driver of a real board tells");
	for (size_t i = 0; i < f->n_gpus; i++)
		bh_occupancy_init(&f->rooms[i], &f->gpus[i]);
	return f->need.count ? ask_for_need(f, err) : ask(f, err);
}

static int run(const struct cli_args *args, struct fits *f)
{
	struct bh_node_config config = cli_node_config(args);
	bh_auto_node struct bh_node *node = NULL;
	const struct bh_inventory *inventory;
	struct bh_error err = {0};
	bool offline = args->values[CLI_MODEL_NUMBER];

	if (read_asks(f, args, &err) < 0 || read_policy(f, args, &err) < 0)
		return cli_fail(args, NULL, &err);
	if (!offline && (args->n_haves || args->values[CLI_GPUS_NUMBER])) {
		bh_fail(&err, BH_E_USAGE, BH_SRC_SELF, 0,
				"--have and --gpus go with --model: a node says itself what it "
				"has");
		return cli_fail(args, NULL, &err);
	}
	if (offline ? read_model(f, args, &err) < 0
		    : bh_node_open(&config, NULL, &node, &err) < 0 ||
							bh_node_read(node, &inventory, &err) < 0 ||
							read_node(f, inventory, &err) < 0)
		return cli_fail(args, NULL, &err);
	if (find_answer(f, &err) < 0)
		return cli_fail(args, NULL, &err);
	return answer(args, f);
}

int cmd_fits(const struct cli_args *args)
{
	struct fits *f = calloc(1, sizeof(*f));
	struct bh_error err;
	int status;

	if (!f) {
		bh_fail_memory(&err);
		return cli_fail(args, NULL, &err);
	}
	status = run(args, f);
	bh_fit_free(&f->fit);
	free(f->gpus);
	free(f);
	return status;
}
