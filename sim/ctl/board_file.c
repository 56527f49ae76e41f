/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/board_file.h"

#include <stdio.h>
#include <string.h>

#include "base/fields.h"
#include "base/text.h"

#define MEMORY_MAX_MIB	(16U * 1024 * 1024)
#define SIM_GI_ENUM_MAX 17 /* as far as NVML's programs ask. Source: header */
#define SIM_CI_ENUM_MAX 7

/* A profile while it is read. */
struct gi_reader {
	const struct sim_board *board;
	struct sim_gi_row row;
	uint32_t memory_mib;
	bool numbered; /* a placement names its instance id */
};

/* A board while it is read. */
struct board_reader {
	struct sim_board board;
	const struct sim_board *like; /* NULL: none */
	uint32_t memory_mib;
	bool own_profiles;
};

struct place_reader {
	uint32_t start, size, gi, memory_mib;
};

int ctl_copy_text(const struct bh_doc_node *node, const char *what, char *to, size_t size,
		struct bh_error *err)
{
	const char *text = bh_doc_node_text(node);

	if (!text[0] || strlen(text) >= size)
		return bh_doc_node_fail(node, err, "%s has %zu bytes, expected 1 to %zu", what,
				strlen(text), size - 1);
	for (size_t i = 0; text[i]; i++) {
		if ((unsigned char) text[i] < ' ' || text[i] == 0x7f)
			return bh_doc_node_fail(node, err, "%s has a control character", what);
	}
	memcpy(to, text, strlen(text) + 1);
	return 0;
}

int ctl_board_known(const struct bh_doc_node *node, const struct sim_board **ret_board,
		struct bh_error *err)
{
	const char *slug = bh_doc_node_text(node), *names[64], *nearest;
	const struct sim_board *board = sim_board_find(slug);
	size_t n = 0;
	char shown[96];

	if (board && board->refused[0])
		return bh_doc_node_fail(node, err, "board '%s' cannot be simulated: %s", slug,
				board->refused);
	*ret_board = board;
	if (board)
		return 0;
	for (size_t i = 0; i < sim_n_boards && n < BH_ARRAY_SIZE(names); i++) {
		if (!sim_boards[i].refused[0])
			names[n++] = sim_boards[i].slug;
	}
	nearest = bh_text_nearest(slug, names, n);
	return bh_doc_node_fail(node, err, "there is no board '%s'%s%s%s",
			bh_text_show(shown, sizeof(shown), slug), nearest ? ", did you mean '" : "",
			nearest ? nearest : "", nearest ? "'?" : "");
}

/* The part of a name behind its size tells the media engines, as the vendor's names do. */
static enum sim_media media_of(const char *name)
{
	static const struct {
		const char *suffix;
		enum sim_media media;
	} suffixes[] = {
			{"+me.all", SIM_MEDIA_ALL},
			{"+me", SIM_MEDIA_EXTRA},
			{"-me", SIM_MEDIA_NONE},
	};

	for (size_t i = 0; i < BH_ARRAY_SIZE(suffixes); i++) {
		size_t length = strlen(suffixes[i].suffix);

		if (strlen(name) > length &&
				strcmp(name + strlen(name) - length, suffixes[i].suffix) == 0)
			return suffixes[i].media;
	}
	return SIM_MEDIA_PLAIN;
}

static int read_profile_name(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gi_reader *reader = object;

	if (ctl_copy_text(node, "field 'name'", reader->row.name, sizeof(reader->row.name), err) <
			0)
		return -1;
	reader->row.media = media_of(reader->row.name);
	return 0;
}

static int read_engines(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"copy", BH_FIELD_U32, .max = 64,
					.offset = offsetof(struct sim_engines, copy)},
			{"decoder", BH_FIELD_U32, .max = 64,
					.offset = offsetof(struct sim_engines, decoder)},
			{"encoder", BH_FIELD_U32, .max = 64,
					.offset = offsetof(struct sim_engines, encoder)},
			{"jpeg", BH_FIELD_U32, .max = 64,
					.offset = offsetof(struct sim_engines, jpeg)},
			{"ofa", BH_FIELD_U32, .max = 64,
					.offset = offsetof(struct sim_engines, ofa)},
	};
	static const struct bh_fields fields = BH_FIELDS("the engines", rows);
	struct gi_reader *reader = object;

	return bh_fields_read(&fields, node, &reader->row.engines, err);
}

static const struct bh_field place_rows[] = {
		{"start", BH_FIELD_U32, .max = SIM_UNITS_MAX - 1, .required = true,
				.offset = offsetof(struct place_reader, start)},
		{"size", BH_FIELD_U32, .min = 1, .max = SIM_UNITS_MAX, .required = true,
				.offset = offsetof(struct place_reader, size)},
		/* of a GPU instance's only */
		{"gi", BH_FIELD_U32, .max = 1000, .offset = offsetof(struct place_reader, gi)},
		{"memory-mib", BH_FIELD_U32, .min = 1, .max = MEMORY_MAX_MIB,
				.offset = offsetof(struct place_reader, memory_mib)},
};
static const struct bh_fields gi_place = BH_FIELDS("a placement", place_rows);
static const struct bh_fields ci_place = {"a placement", place_rows, 2};

/* One placement of a list, checked against the one before it: of one size and in order. */
static int read_place(const struct bh_fields *fields, const struct bh_doc_node *node,
		uint32_t units, const struct place_reader *last, struct place_reader *ret_place,
		struct bh_error *err)
{
	if (bh_fields_read(fields, node, ret_place, err) < 0)
		return -1;
	if (ret_place->start + ret_place->size > units)
		return bh_doc_node_fail(node, err, "placement %u:%u ends beyond the %u %s",
				ret_place->start, ret_place->size, units,
				fields == &gi_place ? "placement units" : "compute slices");
	if (last && (ret_place->start <= last->start || ret_place->size != last->size))
		return bh_doc_node_fail(node, err,
				"placements of a profile have one size and stand in order of "
				"start");
	return 0;
}

static int read_places(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gi_reader *reader = object;
	struct place_reader places[SIM_PLACES_MAX] = {0};
	size_t n = bh_doc_node_count(node);

	if (n < 1 || n > SIM_PLACES_MAX)
		return bh_doc_node_fail(
				node, err, "a profile has 1 to %d placements", SIM_PLACES_MAX);
	for (size_t i = 0; i < n; i++) {
		struct sim_gi_place *p = &reader->row.places[i];

		places[i].gi = UINT32_MAX;
		if (read_place(&gi_place, bh_doc_node_item(node, i), reader->board->units,
				    i ? &places[i - 1] : NULL, &places[i], err) < 0)
			return -1;
		reader->numbered |= places[i].gi != UINT32_MAX;
		*p = (struct sim_gi_place){.start = places[i].start,
				.size = places[i].size,
				.node = places[i].gi,
				.memory_mib = places[i].memory_mib};
	}
	reader->row.n_places = (uint32_t) n;
	return 0;
}

static int read_ci_places(const struct bh_doc_node *node, const struct sim_gi_row *gi,
		struct sim_ci_row *ci, struct bh_error *err)
{
	struct place_reader last, place = {0};

	ci->n_places = 0;
	if (bh_doc_node_count(node) == 0)
		return bh_doc_node_fail(
				node, err, "a profile has 1 to %d placements", SIM_PLACES_MAX);
	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		last = place;
		if (i == SIM_PLACES_MAX)
			return bh_doc_node_fail(node, err, "a profile has 1 to %d placements",
					SIM_PLACES_MAX);
		if (read_place(&ci_place, bh_doc_node_item(node, i), gi->slices, i ? &last : NULL,
				    &place, err) < 0)
			return -1;
		ci->places[ci->n_places++] =
				(struct sim_ci_place){.start = place.start, .size = place.size};
	}
	return 0;
}

/* Every start where it fits, as far as the table reaches. */
static void place_anywhere(const struct sim_gi_row *gi, struct sim_ci_row *ci)
{
	ci->n_places = 0;
	for (uint32_t s = 0; s + ci->slices <= gi->slices && ci->n_places < SIM_PLACES_MAX; s++)
		ci->places[ci->n_places++] = (struct sim_ci_place){.start = s, .size = ci->slices};
}

static int read_ci(const struct bh_doc_node *node, const struct sim_gi_row *gi,
		struct sim_ci_row *ret_ci, struct bh_error *err)
{
	struct reader {
		struct sim_ci_row row;
		const struct bh_doc_node *places;
	} reader = {.row = {.max_instances = 1, .engines = gi->engines, .assumed = true}};
	static const struct bh_field rows[] = {
			{"enum", BH_FIELD_U32, .max = SIM_CI_ENUM_MAX, .required = true,
					.offset = offsetof(struct reader, row.number)},
			{"id", BH_FIELD_U32, .max = INT32_MAX, .required = true,
					.offset = offsetof(struct reader, row.id)},
			{"max-instances", BH_FIELD_U32, .min = 1, .max = SIM_CIS_MAX,
					.offset = offsetof(struct reader, row.max_instances)},
			{"compute-slices", BH_FIELD_U32, .min = 1, .max = SIM_UNITS_MAX,
					.required = true,
					.offset = offsetof(struct reader, row.slices)},
			{"sm", BH_FIELD_U32, .max = 100000, .required = true,
					.offset = offsetof(struct reader, row.sm)},
			{"placements", BH_FIELD_LIST, .offset = offsetof(struct reader, places)},
	};
	static const struct bh_fields fields = BH_FIELDS("a compute profile", rows);

	if (bh_fields_read(&fields, node, &reader, err) < 0)
		return -1;
	if (reader.row.slices > gi->slices)
		return bh_doc_node_fail(node, err, "%u compute slices in an instance of %u",
				reader.row.slices, gi->slices);
	place_anywhere(gi, &reader.row);
	if (reader.places && read_ci_places(reader.places, gi, &reader.row, err) < 0)
		return -1;
	*ret_ci = reader.row;
	return 0;
}

static int read_compute(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gi_reader *reader = object;

	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		struct sim_ci_row *ci = &reader->row.cis[reader->row.n_cis];
		const struct bh_doc_node *item = bh_doc_node_item(node, i);

		if (reader->row.n_cis == SIM_CI_ROWS_MAX)
			return bh_doc_node_fail(item, err, "more than %d compute profiles",
					SIM_CI_ROWS_MAX);
		if (read_ci(item, &reader->row, ci, err) < 0)
			return -1;
		for (uint32_t j = 0; j < reader->row.n_cis; j++) {
			if (reader->row.cis[j].id == ci->id ||
					reader->row.cis[j].number == ci->number)
				return bh_doc_node_fail(item, err,
						"two compute profiles with one id or enum");
		}
		reader->row.n_cis++;
	}
	return 0;
}

/* The one compute instance that fills a GPU instance whose file names none. Enums: header. */
static void add_full_ci(struct sim_gi_row *gi)
{
	static const uint32_t enums[] = {
			[1] = 0, [2] = 1, [3] = 2, [4] = 3, [6] = 6, [7] = 4, [8] = 5};
	uint32_t number = gi->slices < BH_ARRAY_SIZE(enums) ? enums[gi->slices] : 0;

	gi->cis[0] = (struct sim_ci_row){.number = number,
			.id = number,
			.max_instances = 1,
			.slices = gi->slices,
			.sm = gi->sm,
			.engines = gi->engines,
			.assumed = true};
	place_anywhere(gi, &gi->cis[0]);
	gi->n_cis = 1;
}

/* An instance is found by its id: where two profiles stand at one place they may share it. */
static bool is_node_known(
		const struct sim_board *board, const struct sim_gi_row *row, uint32_t place)
{
	const struct sim_gi_place *p = &row->places[place];
	bool known = false;

	for (uint32_t i = 0; i < place; i++)
		known |= row->places[i].node == p->node;
	for (uint32_t g = 0; g < board->n_gis; g++) {
		for (uint32_t i = 0; i < board->gis[g].n_places; i++) {
			const struct sim_gi_place *other = &board->gis[g].places[i];
			bool apart = other->start + other->size <= p->start ||
				     p->start + p->size <= other->start;

			known |= other->node == p->node && apart;
		}
	}
	return known;
}

/* What a placement leaves open: the memory is the profile's, ids are given in order. */
static int finish_places(const struct bh_doc_node *node, struct gi_reader *reader,
		uint32_t first_id, struct bh_error *err)
{
	for (uint32_t i = 0; i < reader->row.n_places; i++) {
		struct sim_gi_place *p = &reader->row.places[i];

		if (!p->memory_mib)
			p->memory_mib = reader->row.memory_mib;
		if (p->memory_mib > reader->board->memory_mib)
			return bh_doc_node_fail(node, err,
					"an instance of %llu MiB on a board of %llu",
					(unsigned long long) p->memory_mib,
					(unsigned long long) reader->board->memory_mib);
		if (reader->numbered && p->node == UINT32_MAX)
			return bh_doc_node_fail(node, err,
					"'gi' is given for all placements of a profile or for "
					"none");
		if (!reader->numbered)
			p->node = first_id + i;
		if (is_node_known(reader->board, &reader->row, i))
			return bh_doc_node_fail(node, err, "two placements have the instance id %u",
					p->node);
	}
	return 0;
}

static int read_profile(
		const struct bh_doc_node *node, struct sim_board *board, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"name", BH_FIELD_TEXT, .read = read_profile_name, .required = true},
			{"enum", BH_FIELD_U32, .max = SIM_GI_ENUM_MAX, .required = true,
					.offset = offsetof(struct gi_reader, row.number)},
			{"id", BH_FIELD_U32, .max = INT32_MAX, .required = true,
					.offset = offsetof(struct gi_reader, row.id)},
			{"max-instances", BH_FIELD_U32, .min = 1, .max = SIM_GIS_MAX,
					.required = true,
					.offset = offsetof(struct gi_reader, row.max_instances)},
			{"compute-slices", BH_FIELD_U32, .min = 1, .max = SIM_UNITS_MAX,
					.required = true,
					.offset = offsetof(struct gi_reader, row.slices)},
			{"memory-mib", BH_FIELD_U32, .min = 1, .max = MEMORY_MAX_MIB,
					.required = true,
					.offset = offsetof(struct gi_reader, memory_mib)},
			{"sm", BH_FIELD_U32, .max = 100000, .required = true,
					.offset = offsetof(struct gi_reader, row.sm)},
			{"p2p", BH_FIELD_U32, .max = 1,
					.offset = offsetof(struct gi_reader, row.p2p)},
			{"gfx", BH_FIELD_U32, .max = 1,
					.offset = offsetof(struct gi_reader, row.gfx)},
			{"engines", BH_FIELD_MAPPING, .read = read_engines},
			{"placements", BH_FIELD_LIST, .read = read_places, .required = true},
			{"compute", BH_FIELD_LIST, .read = read_compute},
	};
	static const struct bh_fields fields = BH_FIELDS("a profile", rows);
	struct gi_reader reader = {.board = board};

	if (board->n_gis == SIM_GI_ROWS_MAX)
		return bh_doc_node_fail(node, err, "more than %d profiles", SIM_GI_ROWS_MAX);
	if (bh_fields_read(&fields, node, &reader, err) < 0)
		return -1;
	reader.row.memory_mib = reader.memory_mib;
	if (reader.row.slices > board->slices)
		return bh_doc_node_fail(node, err, "%u compute slices on a board of %u",
				reader.row.slices, board->slices);
	for (uint32_t i = 0; i < board->n_gis; i++) {
		if (board->gis[i].id == reader.row.id ||
				board->gis[i].number == reader.row.number ||
				strcmp(board->gis[i].name, reader.row.name) == 0)
			return bh_doc_node_fail(
					node, err, "two profiles with one name, id or enum");
	}
	if (finish_places(node, &reader, board->n_gis * SIM_PLACES_MAX, err) < 0)
		return -1;
	if (!reader.row.n_cis)
		add_full_ci(&reader.row);
	board->gis[board->n_gis++] = reader.row;
	return 0;
}

static int read_like(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct board_reader *reader = object;
	const struct sim_board *known;
	char slug[SIM_NAME_SIZE];

	if (ctl_board_known(node, &known, err) < 0)
		return -1;
	memcpy(slug, reader->board.slug, sizeof(slug));
	reader->board = *known;
	reader->like = known;
	memcpy(reader->board.slug, slug, sizeof(slug));
	reader->memory_mib = (uint32_t) known->memory_mib;
	return 0;
}

static int read_board_name(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct sim_board *board = &((struct board_reader *) object)->board;

	return ctl_copy_text(node, "field 'name'", board->name, sizeof(board->name), err);
}

static int read_architecture(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	static const char *const names[] = {[SIM_UNKNOWN] = "unknown",
			[SIM_TURING] = "turing",
			[SIM_AMPERE] = "ampere",
			[SIM_ADA] = "ada",
			[SIM_HOPPER] = "hopper",
			[SIM_BLACKWELL] = "blackwell"};
	struct board_reader *reader = object;

	for (size_t i = 0; i < BH_ARRAY_SIZE(names); i++) {
		if (strcmp(bh_doc_node_text(node), names[i]) == 0) {
			reader->board.architecture = (enum sim_architecture) i;
			return 0;
		}
	}
	return bh_doc_node_wrong(node, "field 'architecture'",
			"turing, ampere, ada, hopper, blackwell or unknown", err);
}

static int read_capability(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct sim_board *board = &((struct board_reader *) object)->board;
	const char *text = bh_doc_node_text(node), *dot = strchr(text, '.');
	uint32_t major, minor;

	if (!dot || !bh_text_u32(text, (size_t) (dot - text), 99, &major) ||
			!bh_text_u32(dot + 1, strlen(dot + 1), 9, &minor))
		return bh_doc_node_wrong(
				node, "field 'compute-capability'", "as \"8.0\", in quotes", err);
	board->cc_major = (int) major;
	board->cc_minor = (int) minor;
	return 0;
}

/* Own profiles replace all that the board began with; without instance ids of the driver's span
 * tree, what conflicts is told by the units. */
static int read_profiles(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct board_reader *reader = object;

	if (!reader->board.mig_capable)
		return bh_doc_node_fail(node, err, "profiles on a board without MIG");
	if (!reader->board.units || !reader->board.slices)
		return bh_doc_node_fail(node, err,
				"'units' and 'compute-slices' of the board come with 'profiles'");
	reader->board.memory_mib = reader->memory_mib;
	reader->board.n_gis = 0;
	reader->board.tree = false;
	reader->own_profiles = true;
	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		if (read_profile(bh_doc_node_item(node, i), &reader->board, err) < 0)
			return -1;
	}
	return 0;
}

static int read_rename(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct sim_board *board = &((struct board_reader *) object)->board;

	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		const struct bh_doc_node *key = bh_doc_node_key(node, i);
		const struct bh_doc_node *value = bh_doc_node_value(node, i);
		struct sim_gi_row *row = NULL;
		char shown[96];

		for (uint32_t j = 0; j < board->n_gis; j++) {
			if (strcmp(board->gis[j].name, bh_doc_node_text(key)) == 0)
				row = &board->gis[j];
		}
		if (!row)
			return bh_doc_node_fail(key, err, "the board has no profile '%s'",
					bh_text_show(shown, sizeof(shown), bh_doc_node_text(key)));
		if (bh_doc_node_kind(value) != BH_DOC_SCALAR ||
				bh_doc_node_scalar_type(value) != BH_SCALAR_TEXT)
			return bh_doc_node_wrong(value, "the new name", "a text", err);
		for (uint32_t j = 0; j < board->n_gis; j++) {
			if (row != &board->gis[j] &&
					strcmp(board->gis[j].name, bh_doc_node_text(value)) == 0)
				return bh_doc_node_fail(value, err, "two profiles with one name");
		}
		if (ctl_copy_text(value, "the new name", row->name, sizeof(row->name), err) < 0)
			return -1;
		row->media = media_of(row->name);
	}
	return 0;
}

/* The geometry of a board "like" another belongs to its profiles: it changes only with them. */
static int check_geometry(const struct bh_doc_node *node, const struct board_reader *reader,
		struct bh_error *err)
{
	if (reader->board.mig_capable && reader->board.n_gis == 0)
		return bh_doc_node_fail(node, err,
				"a board with MIG needs 'profiles', or 'like' one that has them");
	if (reader->like && !reader->own_profiles &&
			(reader->board.units != reader->like->units ||
					reader->board.slices != reader->like->slices ||
					reader->board.memory_mib < reader->like->memory_mib))
		return bh_doc_node_fail(node, err,
				"units, compute slices and less memory than the board that it is "
				"like "
				"has need 'profiles' that go with them");
	if (!reader->board.memory_mib)
		return bh_doc_node_fail(node, err, "field 'memory-mib' is missing in a board");
	return 0;
}

int ctl_board_read(const struct bh_doc_node *key, const struct bh_doc_node *node,
		struct sim_board *ret_board, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"like", BH_FIELD_TEXT, .read = read_like},
			{"name", BH_FIELD_TEXT, .read = read_board_name},
			{"architecture", BH_FIELD_TEXT, .read = read_architecture},
			{"compute-capability", BH_FIELD_TEXT, .read = read_capability,
					.help = "as \"8.0\", in quotes"},
			{"pci-device", BH_FIELD_U32, .min = 1, .max = 0xffff,
					.offset = offsetof(struct board_reader, board.pci_device)},
			{"memory-mib", BH_FIELD_U32, .min = 1, .max = MEMORY_MAX_MIB,
					.offset = offsetof(struct board_reader, memory_mib)},
			{"sm", BH_FIELD_U32, .max = 100000,
					.offset = offsetof(struct board_reader, board.sm)},
			{"mig", BH_FIELD_BOOL,
					.offset = offsetof(struct board_reader, board.mig_capable)},
			{"compute-slices", BH_FIELD_U32, .min = 1, .max = SIM_UNITS_MAX,
					.offset = offsetof(struct board_reader, board.slices)},
			{"units", BH_FIELD_U32, .min = 1, .max = SIM_UNITS_MAX,
					.offset = offsetof(struct board_reader, board.units)},
			{"enable-needs-reset", BH_FIELD_BOOL,
					.offset = offsetof(struct board_reader,
							board.enable_needs_reset)},
			{"mode-survives-reboot", BH_FIELD_BOOL,
					.offset = offsetof(struct board_reader,
							board.mode_survives_reboot)},
			{"mode-survives-reload", BH_FIELD_BOOL,
					.offset = offsetof(struct board_reader,
							board.mode_survives_reload)},
			{"profiles", BH_FIELD_LIST, .read = read_profiles},
			{"rename", BH_FIELD_MAPPING, .read = read_rename},
	};
	static const struct bh_fields fields = BH_FIELDS("a board", rows);
	struct board_reader reader = {.board = {.name = "NVIDIA Unknown"}};

	if (ctl_copy_text(key, "the board's name", reader.board.slug, sizeof(reader.board.slug),
			    err) < 0)
		return -1;
	if (sim_board_find(reader.board.slug))
		return bh_doc_node_fail(key, err, "'%s' is a board of the simulator's own table",
				reader.board.slug);
	if (bh_fields_read(&fields, node, &reader, err) < 0)
		return -1;
	reader.board.memory_mib = reader.memory_mib;
	reader.board.assumed++;
	if (!reader.board.mig_capable)
		reader.board.n_gis = 0;
	if (check_geometry(node, &reader, err) < 0)
		return -1;
	*ret_board = reader.board;
	return 0;
}
