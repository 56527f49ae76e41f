/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/links_file.h"

#include <stdio.h>
#include <string.h>

#include "base/fields.h"
#include "base/text.h"
#include "model/topology.h"

const char *const ctl_path_words[SIM_PATHS] = {
		[SIM_PATH_SYSTEM] = "system",
		[SIM_PATH_NODE] = "node",
		[SIM_PATH_BRIDGE] = "host-bridge",
		[SIM_PATH_MULTIPLE] = "multiple",
		[SIM_PATH_SINGLE] = "single",
};

const char *const ctl_fabric_words[SIM_FABRIC_STATES] = {
		[SIM_FABRIC_NONE] = "not-supported",
		[SIM_FABRIC_NOT_STARTED] = "not-started",
		[SIM_FABRIC_IN_PROGRESS] = "in-progress",
		[SIM_FABRIC_COMPLETED] = "completed",
};

static bool find_word(const char *const *words, uint32_t n, const char *text, uint32_t *ret_index)
{
	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

int ctl_read_numa(const struct bh_doc_node *node, struct sim_spot *spot, struct bh_error *err)
{
	int64_t numa;

	if (!bh_doc_node_int(node, &numa) || numa < -1 || numa > SIM_NUMA_MAX)
		return bh_doc_node_wrong(node, "field 'numa'",
				"a NUMA node from 0 to 63, or -1 where the firmware does not say",
				err);
	spot->numa = (int32_t) numa;
	return 0;
}

int ctl_read_cpus(const struct bh_doc_node *node, struct sim_spot *spot, struct bh_error *err)
{
	const char *at = bh_doc_node_text(node);
	uint64_t cpus[SIM_CPUS_MAX / 64] = {0};
	bool right = true;

	for (const char *end; right; at = end + 1) {
		const char *dash = strpbrk(at, "-,");
		uint32_t first, last;

		end = strchrnul(at, ',');
		if (!dash || dash > end || *dash == ',')
			dash = end;
		right = bh_text_u32(at, (size_t) (dash - at), SIM_CPUS_MAX - 1, &first);
		last = first;
		if (right && dash < end)
			right = bh_text_u32(dash + 1, (size_t) (end - dash - 1), SIM_CPUS_MAX - 1,
						&last) &&
				first <= last;
		for (uint32_t i = first; right && i <= last; i++)
			cpus[i / 64] |= 1ULL << i % 64;
		if (!*end)
			break;
	}
	if (!right)
		return bh_doc_node_wrong(node, "field 'cpus'",
				"a list as \"0-15,32-47\", in quotes, of CPUs from 0 to 1023", err);
	memcpy(spot->cpus, cpus, sizeof(cpus));
	return 0;
}

struct fabric_reader {
	struct sim_spot *spot;
	const struct bh_doc_node *cluster, *clique_node;
	uint32_t clique;
};

static int read_cluster(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	struct fabric_reader *reader = object;
	const char *text = bh_doc_node_text(node), digits[] = "0123456789abcdef";
	bool right = strlen(text) == strlen(shape);
	unsigned char cluster[16] = {0};
	size_t n = 0;

	for (size_t i = 0; right && shape[i]; i++) {
		const char *digit = strchr(digits, text[i]);

		if (shape[i] == '-') {
			right = text[i] == '-';
			continue;
		}
		right = digit != NULL;
		if (right)
			cluster[n / 2] = (unsigned char) (cluster[n / 2] << 4 | (digit - digits));
		n++;
	}
	if (!right)
		return bh_doc_node_wrong(node, "field 'cluster-uuid'",
				"32 lower-case hex digits in groups of 8, 4, 4, 4 and 12", err);
	memcpy(reader->spot->cluster, cluster, sizeof(cluster));
	reader->cluster = node;
	return 0;
}

static int read_clique(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct fabric_reader *reader = object;
	int64_t clique;

	if (!bh_doc_node_int(node, &clique) || clique < 0 || clique > UINT32_MAX)
		return bh_doc_node_wrong(node, "field 'clique'", "a whole number", err);
	reader->spot->clique = (uint32_t) clique;
	reader->clique_node = node;
	return 0;
}

static int read_state(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct fabric_reader *reader = object;

	if (!find_word(ctl_fabric_words, SIM_FABRIC_STATES, bh_doc_node_text(node),
			    &reader->spot->fabric))
		return bh_doc_node_wrong(node, "field 'state'",
				"not-supported, not-started, in-progress or completed", err);
	return 0;
}

int ctl_read_fabric(const struct bh_doc_node *node, struct sim_spot *spot, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"state", BH_FIELD_TEXT, .read = read_state},
			{"cluster-uuid", BH_FIELD_TEXT, .read = read_cluster,
					.help = "a text, in quotes"},
			{"clique", BH_FIELD_ANY, .read = read_clique},
	};
	static const struct bh_fields fields = BH_FIELDS("a fabric", rows);
	struct sim_spot made = *spot;
	struct fabric_reader reader = {.spot = &made};

	made.fabric = SIM_FABRIC_COMPLETED;
	if (bh_fields_read(&fields, node, &reader, err) < 0)
		return -1;
	if (made.fabric != SIM_FABRIC_COMPLETED && (reader.cluster || reader.clique_node))
		return bh_doc_node_fail(reader.cluster ? reader.cluster : reader.clique_node, err,
				"only a fabric that is completed has a cluster and a clique");
	*spot = made;
	return 0;
}

int ctl_read_nvswitch(
		const struct bh_doc_node *node, struct sim_machine *machine, struct bh_error *err)
{
	struct values {
		uint32_t nvlinks, switches;
	} v = {0};
	static const struct bh_field rows[] = {
			{"nvlinks", BH_FIELD_U32, .required = true, .min = 1, .max = SIM_LINKS_MAX,
					.offset = offsetof(struct values, nvlinks)},
			{"switches", BH_FIELD_U32, .required = true, .min = 1,
					.max = SIM_SWITCHES_MAX,
					.offset = offsetof(struct values, switches)},
	};
	static const struct bh_fields fields = BH_FIELDS("the nvswitch", rows);

	if (bh_fields_read(&fields, node, &v, err) < 0)
		return -1;
	if (machine->n_gpus < 2)
		return bh_doc_node_fail(node, err, "one GPU alone is joined to none by switches");
	machine->topology.switches = v.switches;
	for (uint32_t a = 0; a < machine->n_gpus; a++) {
		for (uint32_t b = 0; b < machine->n_gpus; b++)
			machine->topology.links[a][b] = a != b ? (uint8_t) v.nvlinks : 0;
	}
	return 0;
}

/* One row of `links` while it is read. */
struct pair_reader {
	struct sim_machine *machine;
	uint32_t from, to, nvlinks, back, path;
	const struct bh_doc_node *to_node, *nvlinks_node, *back_node, *path_node;
};

static int read_end(const struct bh_doc_node *node, const char *field,
		const struct pair_reader *reader, uint32_t *ret_gpu, struct bh_error *err)
{
	int64_t gpu;

	if (!bh_doc_node_int(node, &gpu) || gpu < 0)
		return bh_doc_node_wrong(node, field, "the index of a GPU", err);
	if (gpu >= reader->machine->n_gpus)
		return bh_doc_node_fail(node, err, "there is no GPU %lld, the last is %u",
				(long long) gpu, reader->machine->n_gpus - 1);
	*ret_gpu = (uint32_t) gpu;
	return 0;
}

static int read_from(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct pair_reader *reader = object;

	return read_end(node, "field 'from'", reader, &reader->from, err);
}

static int read_to(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct pair_reader *reader = object;

	reader->to_node = node;
	return read_end(node, "field 'to'", reader, &reader->to, err);
}

static int read_number(const struct bh_doc_node *node, const char *field, uint32_t *ret_n,
		struct bh_error *err)
{
	int64_t n;

	if (!bh_doc_node_int(node, &n) || n < 0 || n > SIM_LINKS_MAX)
		return bh_doc_node_wrong(node, field, "a whole number from 0 to 18", err);
	*ret_n = (uint32_t) n;
	return 0;
}

static int read_nvlinks(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct pair_reader *reader = object;

	reader->nvlinks_node = node;
	return read_number(node, "field 'nvlinks'", &reader->nvlinks, err);
}

static int read_back(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct pair_reader *reader = object;

	reader->back_node = node;
	return read_number(node, "field 'back'", &reader->back, err);
}

static int read_pcie(const struct bh_doc_node *node, void *object, struct bh_error *err)
{
	struct pair_reader *reader = object;

	reader->path_node = node;
	if (!find_word(ctl_path_words, SIM_PATHS, bh_doc_node_text(node), &reader->path))
		return bh_doc_node_wrong(node, "field 'pcie'",
				"single, multiple, host-bridge, node or system", err);
	return 0;
}

static int check_pair(const struct bh_doc_node *node, const struct pair_reader *reader,
		struct bh_error *err)
{
	if (reader->from == reader->to)
		return bh_doc_node_fail(reader->to_node, err, "a GPU has no link to itself");
	if (!reader->nvlinks_node && !reader->path_node)
		return bh_doc_node_fail(node, err, "a pair has 'nvlinks', 'pcie' or both");
	if (reader->back_node && !reader->nvlinks_node)
		return bh_doc_node_fail(reader->back_node, err,
				"'back' is how many of 'nvlinks' the other GPU has");
	if (reader->nvlinks_node && reader->machine->topology.switches)
		return bh_doc_node_fail(reader->nvlinks_node, err,
				"'nvswitch' says how many NVLinks every pair has");
	return 0;
}

static int put_pair(const struct bh_doc_node *node, const struct pair_reader *reader,
		struct bh_error *err)
{
	struct sim_topology *t = &reader->machine->topology;
	const uint32_t ends[] = {reader->from, reader->to};

	if (reader->path_node)
		t->paths[reader->from][reader->to] = t->paths[reader->to][reader->from] =
				(uint8_t) reader->path;
	if (!reader->nvlinks_node)
		return 0;
	t->links[reader->from][reader->to] = (uint8_t) reader->nvlinks;
	t->links[reader->to][reader->from] =
			(uint8_t) (reader->back_node ? reader->back : reader->nvlinks);
	for (size_t i = 0; i < BH_ARRAY_SIZE(ends); i++) {
		uint32_t n = sim_topology_n_links(t, ends[i]);

		if (n > SIM_LINKS_MAX)
			return bh_doc_node_fail(node, err,
					"GPU %u has %u NVLinks now, a GPU has at most %d", ends[i],
					n, SIM_LINKS_MAX);
	}
	return 0;
}

int ctl_read_links(
		const struct bh_doc_node *node, struct sim_machine *machine, struct bh_error *err)
{
	static const struct bh_field rows[] = {
			{"from", BH_FIELD_ANY, .read = read_from, .required = true},
			{"to", BH_FIELD_ANY, .read = read_to, .required = true},
			{"nvlinks", BH_FIELD_ANY, .read = read_nvlinks},
			{"back", BH_FIELD_ANY, .read = read_back},
			{"pcie", BH_FIELD_TEXT, .read = read_pcie},
	};
	static const struct bh_fields fields = BH_FIELDS("a pair", rows);
	bool seen[SIM_GPUS_MAX][SIM_GPUS_MAX] = {{false}};

	for (size_t i = 0; i < bh_doc_node_count(node); i++) {
		const struct bh_doc_node *item = bh_doc_node_item(node, i);
		struct pair_reader reader = {.machine = machine};

		if (bh_fields_read(&fields, item, &reader, err) < 0 ||
				check_pair(item, &reader, err) < 0)
			return -1;
		if (seen[reader.from][reader.to] || seen[reader.to][reader.from])
			return bh_doc_node_fail(item, err,
					"the pair of GPU %u and GPU %u stands there twice",
					reader.from, reader.to);
		seen[reader.from][reader.to] = true;
		if (put_pair(item, &reader, err) < 0)
			return -1;
	}
	return 0;
}
