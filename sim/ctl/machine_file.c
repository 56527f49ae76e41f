/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/machine_file.h"

#include <stdio.h>
#include <string.h>

#include "base/fields.h"
#include "base/text.h"
#include "ctl/board_file.h"
#include "ctl/chassis.h"
#include "ctl/ctl.h"
#include "ctl/links_file.h"
#include "model/topology.h"

#define VERSION "bulkhead-sim/v1"

/* One item of `gpus` while it is read. */
struct gpu_reader {
	struct ctl_file *file;
	const struct sim_board *board;
	uint32_t count;
	struct sim_identity identity;
	const struct bh_doc_node *uuid, *serial, *pci;
	struct sim_spot spot;
	bool placed; /* something is said of the spot */
};

struct file_reader {
	struct ctl_file *file;
	const char *version;
	uint32_t seed;
	bool placed; /* something is said of how GPUs hang together */
};

static int read_driver_version(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct sim_driver *driver = object;
	const char *text = bh_doc_node_text(node);

	if (text[strspn(text, "0123456789.")] || strlen(text) > 24 || text[0] == '.' ||
			strstr(text, "..") || !text[0] || text[strlen(text) - 1] == '.')
		return bh_doc_node_wrong(node, "field 'version'", "as 580.95.05", err);
	if (ctl_copy_text(node, "field 'version'", driver->version, sizeof(driver->version), err) <
			0)
		return -1;
	(void) snprintf(driver->nvml, sizeof(driver->nvml), "%u.%s", driver->cuda / 1000, text);
	return 0;
}

static int read_cuda(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct sim_driver *driver = object;
	const char *text = bh_doc_node_text(node), *dot = strchr(text, '.');
	uint32_t major, minor;

	if (!dot || !bh_text_u32(text, (size_t) (dot - text), 99, &major) ||
			!bh_text_u32(dot + 1, strlen(dot + 1), 99, &minor))
		return bh_doc_node_wrong(node, "field 'cuda'", "as \"12.8\", in quotes", err);
	driver->cuda = major * 1000 + minor * 10;
	return 0;
}

static int read_driver(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"cuda", BH_FIELD_TEXT, .read = read_cuda,
					.help = "as \"12.8\", in quotes"},
			{"version", BH_FIELD_TEXT, .read = read_driver_version, .required = true},
	};
	static const struct bh_fields fields = BH_FIELDS("the driver", rows);
	struct file_reader *reader = object;

	return bh_fields_read(&fields, node, &reader->file->machine.driver, err);
}

static int read_name(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct sim_machine *machine = &((struct file_reader *) object)->file->machine;

	return ctl_copy_text(node, "field 'name'", machine->name, sizeof(machine->name), err);
}

static int read_boards(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct ctl_file *file = ((struct file_reader *) object)->file;

	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		const struct bh_doc_node *key = bh_doc_node_key(node, i);
		struct sim_board *board = &file->boards[file->n_boards];

		if (file->n_boards == SIM_GPUS_MAX)
			return bh_doc_node_fail(key, err, "more than %d boards", SIM_GPUS_MAX);
		if (ctl_board_read(key, bh_doc_node_value(node, i), board, err) < 0)
			return -1;
		file->n_boards++;
	}
	return 0;
}

static int read_model(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gpu_reader *reader = object;
	const char *slug = bh_doc_node_text(node);

	for (uint32_t i = 0; i < reader->file->n_boards; i++) {
		if (strcmp(reader->file->boards[i].slug, slug) == 0)
			reader->board = &reader->file->boards[i];
	}
	if (reader->board)
		return 0;
	return ctl_board_known(node, &reader->board, err);
}

static int read_uuid(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	static const char shape[] = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	struct gpu_reader *reader = object;
	const char *text = bh_doc_node_text(node);
	bool right = strlen(text) == strlen(shape);

	for (size_t i = 0; right && shape[i]; i++)
		right = shape[i] == 'x' ? strchr("0123456789abcdef", text[i]) != NULL
					: text[i] == shape[i];
	if (!right)
		return bh_doc_node_wrong(node, "field 'uuid'",
				"GPU- and 32 lower-case hex digits in groups of 8, 4, 4, 4 and 12",
				err);
	reader->uuid = node;
	return ctl_copy_text(node, "field 'uuid'", reader->identity.uuid, SIM_UUID_SIZE, err);
}

static int read_serial(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gpu_reader *reader = object;

	reader->serial = node;
	return ctl_copy_text(node, "field 'serial'", reader->identity.serial,
			sizeof(reader->identity.serial), err);
}

static int read_pci(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gpu_reader *reader = object;
	struct sim_identity *id = &reader->identity;
	const char *text = bh_doc_node_text(node);
	int end = 0;

	/* the width keeps the numbers within their fields; bus 0 is the root's own */
	if (strspn(text, "0123456789abcdef:") != strlen(text) ||
			sscanf(text, "%4x:%2x:%2x%n", &id->pci_domain, &id->pci_bus,
					&id->pci_device, &end) != 3 ||
			text[end] || strlen(text) != 10 || !id->pci_bus || id->pci_device > 31)
		return bh_doc_node_wrong(node, "field 'pci'",
				"DOMAIN:BUS:DEVICE in hex as \"0000:3b:00\", not bus 0", err);
	reader->pci = node;
	return 0;
}

static int read_numa(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gpu_reader *reader = object;

	reader->placed = true;
	return ctl_read_numa(node, &reader->spot, err);
}

static int read_cpus(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gpu_reader *reader = object;

	reader->placed = true;
	return ctl_read_cpus(node, &reader->spot, err);
}

static int read_fabric(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct gpu_reader *reader = object;

	reader->placed = true;
	return ctl_read_fabric(node, &reader->spot, err);
}

/* No two GPUs may be taken for each other. */
static int check_unlike(const struct gpu_reader *reader, struct bh_error *err)
{
	const struct sim_machine *machine = &reader->file->machine;
	const struct sim_identity *a = &reader->identity;

	for (uint32_t i = 0; i < machine->n_gpus; i++) {
		const struct sim_identity *b = &machine->gpus[i].identity;

		if (reader->uuid && strcmp(a->uuid, b->uuid) == 0)
			return bh_doc_node_fail(reader->uuid, err, "GPU %u has that uuid", i);
		if (reader->serial && strcmp(a->serial, b->serial) == 0)
			return bh_doc_node_fail(reader->serial, err, "GPU %u has that serial", i);
		if (reader->pci && a->pci_domain == b->pci_domain && a->pci_bus == b->pci_bus &&
				a->pci_device == b->pci_device)
			return bh_doc_node_fail(reader->pci, err, "GPU %u is in that slot", i);
	}
	return 0;
}

static int read_gpu(const struct bh_doc_node *node, struct file_reader *whole, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"model", BH_FIELD_TEXT, .read = read_model, .required = true},
			{"count", BH_FIELD_U32, .min = 1, .max = SIM_GPUS_MAX,
					.offset = offsetof(struct gpu_reader, count)},
			{"uuid", BH_FIELD_TEXT, .read = read_uuid},
			{"serial", BH_FIELD_TEXT, .read = read_serial, .help = "a text, in quotes"},
			{"pci", BH_FIELD_TEXT, .read = read_pci},
			{"numa", BH_FIELD_ANY, .read = read_numa},
			{"cpus", BH_FIELD_TEXT, .read = read_cpus,
					.help = "a list as \"0-15,32-47\", in quotes"},
			{"fabric", BH_FIELD_MAPPING, .read = read_fabric},
	};
	static const struct bh_fields fields = BH_FIELDS("a GPU", rows);
	struct ctl_file *file = whole->file;
	struct gpu_reader reader = {.file = file, .count = 1};
	struct sim_machine *machine = &file->machine;

	if (bh_fields_read(&fields, node, &reader, err) < 0)
		return -1;
	if (reader.count > 1 && (reader.uuid || reader.serial || reader.pci))
		return bh_doc_node_fail(node, err,
				"uuid, serial and pci belong to one GPU, not to %u", reader.count);
	if (reader.count > SIM_GPUS_MAX - machine->n_gpus)
		return bh_doc_node_fail(node, err, "more than %d GPUs", SIM_GPUS_MAX);
	if (check_unlike(&reader, err) < 0)
		return -1;
	for (uint32_t i = 0; i < reader.count; i++) {
		machine->topology.spots[machine->n_gpus] = reader.spot;
		machine->gpus[machine->n_gpus++] = (struct sim_machine_gpu){
				.board = reader.board, .identity = reader.identity};
	}
	whole->placed |= reader.placed;
	return 0;
}

static int read_gpus(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct file_reader *reader = object;

	if (bh_doc_node_count(node) == 0)
		return bh_doc_node_fail(node, err, "a node has 1 to %d GPUs", SIM_GPUS_MAX);
	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		if (read_gpu(bh_doc_node_item(node, i), reader, err) < 0)
			return -1;
	}
	sim_topology_settle(&reader->file->machine.topology, reader->file->machine.n_gpus);
	return 0;
}

static int read_nvswitch(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct file_reader *reader = object;

	reader->placed = true;
	return ctl_read_nvswitch(node, &reader->file->machine, err);
}

static int read_links(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct file_reader *reader = object;

	reader->placed = true;
	return ctl_read_links(node, &reader->file->machine, err);
}

static int read_version(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	if (strcmp(bh_doc_node_text(node), VERSION) != 0)
		return bh_doc_node_wrong(node, "field 'version'", VERSION, err);
	return 0;
}

int ctl_file_read(
		const struct bh_document *document, struct ctl_file *ret_file, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"version", BH_FIELD_TEXT, .read = read_version, .required = true,
					.help = VERSION},
			{"name", BH_FIELD_TEXT, .read = read_name},
			{"seed", BH_FIELD_U32, .offset = offsetof(struct file_reader, seed)},
			{"driver", BH_FIELD_MAPPING, .read = read_driver},
			{"boards", BH_FIELD_MAPPING, .read = read_boards},
			{"gpus", BH_FIELD_LIST, .read = read_gpus, .required = true},
			/* how they hang together: see links_file.h */
			{"nvswitch", BH_FIELD_MAPPING, .read = read_nvswitch},
			{"links", BH_FIELD_LIST, .read = read_links},
	};
	static const struct bh_fields fields = BH_FIELDS("a machine file", rows);
	struct file_reader reader = {.file = ret_file};

	*ret_file = (struct ctl_file){.machine = {.name = "machine", .driver = CTL_DRIVER}};
	if (bh_fields_read(&fields, bh_document_root(document), &reader, err) < 0)
		return -1;
	ret_file->machine.seed = reader.seed;
	if (!reader.placed)
		ctl_chassis_put(&ret_file->machine);
	return 0;
}
