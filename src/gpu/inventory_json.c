/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/inventory_json.h"

#include <string.h>

/* ---- Writing. A NULL on the way makes the whole NULL: json_pack and the setters see to that. ---- */

json_t *bh_number_to_json(uint32_t value)
{
	return value == BH_UNKNOWN ? json_null() : json_integer(value);
}

json_t *bh_number64_to_json(uint64_t value)
{
	return value == BH_UNKNOWN64 ? json_null() : json_integer((json_int_t) value);
}

static json_t *text(const char *value)
{
	return value[0] ? json_string(value) : json_null();
}

static json_t *mode(enum bh_mig_mode value)
{
	switch (value) {
	case BH_MIG_OFF:
		return json_string("disabled");
	case BH_MIG_ON:
		return json_string("enabled");
	default:
		return json_null();
	}
}

static json_t *profile_to_json(const struct bh_gi_profile *p)
{
	bh_auto_json json_t *placements = json_array();

	for (size_t i = 0; i < p->n_placements; i++) {
		if (json_array_append_new(placements,
				    json_pack("{s:o, s:o}", "start",
						    bh_number_to_json(p->placements[i].start),
						    "size",
						    bh_number_to_json(p->placements[i].size))) < 0)
			return NULL;
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O}", "name", text(p->name), "id",
			bh_number_to_json(p->id), "nvml_enum", bh_number_to_json(p->nvml_enum),
			"max_instances", bh_number_to_json(p->max_instances), "slice_count",
			bh_number_to_json(p->slice_count), "memory_mib",
			bh_number64_to_json(p->memory_mib), "sm", bh_number_to_json(p->sm),
			"placements", placements);
}

static json_t *ci_to_json(const struct bh_ci *ci)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "id", bh_number_to_json(ci->id),
			"profile_id", bh_number_to_json(ci->profile_id), "start",
			bh_number_to_json(ci->at.start), "size", bh_number_to_json(ci->at.size),
			"uuid", text(ci->uuid), "busy", ci->busy);
}

static json_t *gi_to_json(const struct bh_gi *gi)
{
	bh_auto_json json_t *cis = json_array();

	for (size_t i = 0; i < gi->n_cis; i++) {
		if (json_array_append_new(cis, ci_to_json(&gi->cis[i])) < 0)
			return NULL;
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:O}", "id", bh_number_to_json(gi->id),
			"profile_id", bh_number_to_json(gi->profile_id), "start",
			bh_number_to_json(gi->at.start), "size", bh_number_to_json(gi->at.size),
			"memory_mib", bh_number64_to_json(gi->memory_mib), "busy", gi->busy, "cis",
			cis);
}

static json_t *holder_to_json(const struct bh_gpu_holder *h)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", h->who.kind, "pid",
			h->who.pid ? json_integer(h->who.pid) : json_null(), "name",
			text(h->who.name), "tenant", text(h->who.tenant), "gi",
			bh_number_to_json(h->gi), "ci", bh_number_to_json(h->ci));
}

static int write_profiles(json_t *object, const struct bh_gpu *gpu)
{
	bh_auto_json json_t *profiles = json_array();

	for (size_t i = 0; i < gpu->n_profiles; i++) {
		if (json_array_append_new(profiles, profile_to_json(&gpu->profiles[i])) < 0)
			return -1;
	}
	if (json_object_set_new(object, "placement_units", json_integer(gpu->placement_units)) < 0)
		return -1;
	return json_object_set(object, "profiles", profiles);
}

json_t *bh_gpu_to_json(const struct bh_gpu *gpu, bool with_profiles)
{
	bh_auto_json json_t *gis = json_array(), *holders = json_array(), *object = NULL;

	for (size_t i = 0; i < gpu->n_gis; i++) {
		if (json_array_append_new(gis, gi_to_json(&gpu->gis[i])) < 0)
			return NULL;
	}
	for (size_t i = 0; i < gpu->n_holders; i++) {
		if (json_array_append_new(holders, holder_to_json(&gpu->holders[i])) < 0)
			return NULL;
	}
	object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:O, s:O, s:I, "
			   "s:b}",
			"index", bh_number_to_json(gpu->index), "uuid", text(gpu->uuid), "pci",
			text(gpu->pci), "name", text(gpu->name), "model", text(gpu->model),
			"pci_device_id", bh_number_to_json(gpu->pci_device_id), "pci_subsystem_id",
			bh_number_to_json(gpu->pci_subsystem_id), "memory_mib",
			bh_number64_to_json(gpu->memory_mib), "mig_capable", gpu->mig_capable,
			"mig_current", mode(gpu->mig_current), "mig_pending",
			mode(gpu->mig_pending), "gis", gis, "holders", holders, "more_holders",
			(json_int_t) gpu->more_holders, "holders_known", gpu->holders_known);
	if (!object || (with_profiles && write_profiles(object, gpu) < 0))
		return NULL;
	return BH_TAKE(object);
}

/* ---- Reading ---- */

static int wrong(const char *key, const char *what, struct bh_error *err)
{
	return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0, "member '%s' %s", key, what);
}

static int read32(const json_t *object, const char *key, uint32_t *ret_value, struct bh_error *err)
{
	uint32_t value;

	if (json_is_null(json_object_get(object, key))) {
		*ret_value = BH_UNKNOWN;
		return 0;
	}
	if (bh_json_get_u32(object, key, &value, err) < 0)
		return -1;
	*ret_value = value;
	return 0;
}

static int read64(const json_t *object, const char *key, uint64_t *ret_value, struct bh_error *err)
{
	if (json_is_null(json_object_get(object, key))) {
		*ret_value = BH_UNKNOWN64;
		return 0;
	}
	return bh_json_get_u64(object, key, ret_value, err);
}

static int read_text(const json_t *object, const char *key, char *buffer, size_t size,
		struct bh_error *err)
{
	if (json_is_null(json_object_get(object, key))) {
		buffer[0] = '\0';
		return 0;
	}
	return bh_json_get_string(object, key, buffer, size, err);
}

static int read_mode(const json_t *object, const char *key, enum bh_mig_mode *ret_mode,
		struct bh_error *err)
{
	const json_t *member = json_object_get(object, key);
	const char *word = json_string_value(member);

	if (json_is_null(member))
		*ret_mode = BH_MIG_UNKNOWN;
	else if (word && strcmp(word, "enabled") == 0)
		*ret_mode = BH_MIG_ON;
	else if (word && strcmp(word, "disabled") == 0)
		*ret_mode = BH_MIG_OFF;
	else
		return wrong(key, "is not a mode", err);
	return 0;
}

static int read_placement(const json_t *object, struct bh_placement *ret_at, struct bh_error *err)
{
	if (read32(object, "start", &ret_at->start, err) < 0)
		return -1;
	return read32(object, "size", &ret_at->size, err);
}

/* Where an instance stands: what no mask can hold, the driver cannot have meant. */
static int read_stand(const json_t *object, struct bh_placement *ret_at, struct bh_error *err)
{
	if (read_placement(object, ret_at, err) < 0)
		return -1;
	if (ret_at->size < 1 || ret_at->size > BH_UNITS_MAX ||
			ret_at->start > BH_UNITS_MAX - ret_at->size)
		return wrong("start", "and 'size' are no placement on any board", err);
	return 0;
}

/* The array member @key, if it is one and has at most @most rows. */
static const json_t *rows(const json_t *object, const char *key, size_t most, struct bh_error *err)
{
	const json_t *array = json_object_get(object, key);

	if (!json_is_array(array)) {
		(void) wrong(key, "is not a list", err);
		return NULL;
	}
	if (json_array_size(array) > most) {
		(void) wrong(key, "has too many rows", err);
		return NULL;
	}
	return array;
}

static int read_profile(const json_t *json, struct bh_gi_profile *p, struct bh_error *err)
{
	const json_t *placements, *row;
	size_t i;

	if (read_text(json, "name", p->name, sizeof(p->name), err) < 0 ||
			read32(json, "id", &p->id, err) < 0 ||
			read32(json, "nvml_enum", &p->nvml_enum, err) < 0 ||
			read32(json, "max_instances", &p->max_instances, err) < 0 ||
			read32(json, "slice_count", &p->slice_count, err) < 0 ||
			read64(json, "memory_mib", &p->memory_mib, err) < 0 ||
			read32(json, "sm", &p->sm, err) < 0)
		return -1;
	placements = rows(json, "placements", BH_PLACEMENTS_MAX, err);
	if (!placements)
		return -1;
	json_array_foreach (placements, i, row) {
		if (read_placement(row, &p->placements[i], err) < 0)
			return bh_while(err, "placement %zu", i);
	}
	p->n_placements = json_array_size(placements);
	return 0;
}

static int read_ci(const json_t *json, struct bh_ci *ci, struct bh_error *err)
{
	if (read32(json, "id", &ci->id, err) < 0 ||
			read32(json, "profile_id", &ci->profile_id, err) < 0 ||
			read_stand(json, &ci->at, err) < 0 ||
			read_text(json, "uuid", ci->uuid, sizeof(ci->uuid), err) < 0)
		return -1;
	return bh_json_get_bool(json, "busy", &ci->busy, err);
}

static int read_gi(const json_t *json, struct bh_gi *gi, struct bh_error *err)
{
	const json_t *cis, *row;
	size_t i;

	if (read32(json, "id", &gi->id, err) < 0 ||
			read32(json, "profile_id", &gi->profile_id, err) < 0 ||
			read_stand(json, &gi->at, err) < 0 ||
			read64(json, "memory_mib", &gi->memory_mib, err) < 0 ||
			bh_json_get_bool(json, "busy", &gi->busy, err) < 0)
		return -1;
	cis = rows(json, "cis", BH_CIS_MAX, err);
	if (!cis)
		return -1;
	json_array_foreach (cis, i, row) {
		if (read_ci(row, &gi->cis[i], err) < 0)
			return bh_while(err, "compute instance %zu", i);
	}
	gi->n_cis = json_array_size(cis);
	return 0;
}

static int read_holder(const json_t *json, struct bh_gpu_holder *h, struct bh_error *err)
{
	uint32_t pid;

	if (bh_json_get_string(json, "kind", h->who.kind, sizeof(h->who.kind), err) < 0 ||
			read32(json, "pid", &pid, err) < 0 ||
			read_text(json, "name", h->who.name, sizeof(h->who.name), err) < 0 ||
			read_text(json, "tenant", h->who.tenant, sizeof(h->who.tenant), err) < 0 ||
			read32(json, "gi", &h->gi, err) < 0 || read32(json, "ci", &h->ci, err) < 0)
		return -1;
	if (pid != BH_UNKNOWN && (pid == 0 || pid > INT32_MAX))
		return wrong("pid", "is out of range", err);
	h->who.pid = pid == BH_UNKNOWN ? 0 : (pid_t) pid;
	return 0;
}

static int read_identity(const json_t *json, struct bh_gpu *gpu, struct bh_error *err)
{
	if (read32(json, "index", &gpu->index, err) < 0 ||
			bh_json_get_string(json, "uuid", gpu->uuid, sizeof(gpu->uuid), err) < 0 ||
			read_text(json, "pci", gpu->pci, sizeof(gpu->pci), err) < 0 ||
			read_text(json, "name", gpu->name, sizeof(gpu->name), err) < 0 ||
			read_text(json, "model", gpu->model, sizeof(gpu->model), err) < 0 ||
			read32(json, "pci_device_id", &gpu->pci_device_id, err) < 0 ||
			read32(json, "pci_subsystem_id", &gpu->pci_subsystem_id, err) < 0 ||
			read64(json, "memory_mib", &gpu->memory_mib, err) < 0 ||
			bh_json_get_bool(json, "mig_capable", &gpu->mig_capable, err) < 0 ||
			read_mode(json, "mig_current", &gpu->mig_current, err) < 0)
		return -1;
	return read_mode(json, "mig_pending", &gpu->mig_pending, err);
}

static int read_gis(const json_t *json, struct bh_gpu *gpu, struct bh_error *err)
{
	const json_t *row, *list = rows(json, "gis", BH_GIS_MAX, err);
	size_t i;

	if (!list)
		return -1;
	json_array_foreach (list, i, row) {
		if (read_gi(row, &gpu->gis[i], err) < 0)
			return bh_while(err, "GPU instance %zu", i);
	}
	gpu->n_gis = json_array_size(list);
	return 0;
}

static int read_holders(const json_t *json, struct bh_gpu *gpu, struct bh_error *err)
{
	const json_t *row, *list = rows(json, "holders", BH_GPU_HOLDERS_MAX, err);
	uint32_t more;
	size_t i;

	if (!list)
		return -1;
	json_array_foreach (list, i, row) {
		if (read_holder(row, &gpu->holders[i], err) < 0)
			return bh_while(err, "holder %zu", i);
	}
	gpu->n_holders = json_array_size(list);
	if (bh_json_get_u32(json, "more_holders", &more, err) < 0)
		return -1;
	gpu->more_holders = more;
	return bh_json_get_bool(json, "holders_known", &gpu->holders_known, err);
}

static int read_profiles(const json_t *json, struct bh_gpu *gpu, struct bh_error *err)
{
	const json_t *row, *list = rows(json, "profiles", BH_GI_PROFILES_MAX, err);
	size_t i;

	if (!list || bh_json_get_u32(json, "placement_units", &gpu->placement_units, err) < 0)
		return -1;
	json_array_foreach (list, i, row) {
		if (read_profile(row, &gpu->profiles[i], err) < 0)
			return bh_while(err, "profile %zu", i);
	}
	gpu->n_profiles = json_array_size(list);
	return 0;
}

static void keep_profiles(struct bh_gpu *gpu, const struct bh_gpu *from)
{
	memcpy(gpu->profiles, from->profiles, sizeof(gpu->profiles));
	gpu->n_profiles = from->n_profiles;
	gpu->placement_units = from->placement_units;
}

int bh_gpu_from_json(const json_t *json, struct bh_gpu *ret_gpu, struct bh_error *err)
{
	bh_auto_free struct bh_gpu *gpu = calloc(1, sizeof(*gpu));

	if (!gpu)
		return bh_fail_memory(err);
	if (read_identity(json, gpu, err) < 0 || read_gis(json, gpu, err) < 0 ||
			read_holders(json, gpu, err) < 0)
		return bh_while(err, "reading a GPU");
	if (json_object_get(json, "profiles")) {
		if (read_profiles(json, gpu, err) < 0)
			return bh_while(err, "reading a GPU");
	} else {
		keep_profiles(gpu, ret_gpu);
	}
	*ret_gpu = *gpu;
	return 0;
}
