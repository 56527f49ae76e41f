/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/refuse.h"

#include <stdio.h>
#include <string.h>

#include "plan/step.h"
#include "plan/want.h"

void bh_gi_name(const struct bh_gpu *gpu, const struct bh_gi *gi, char *buffer, size_t size)
{
	const struct bh_gi_profile *profile = bh_gpu_find_profile(gpu, gi->profile_id);

	if (profile)
		(void) snprintf(buffer, size, "%s at %u", profile->name, gi->at.start);
	else
		(void) snprintf(buffer, size, "profile %u at %u", gi->profile_id, gi->at.start);
}

void bh_refuse_add_holders(const struct bh_gpu *gpu, const struct bh_gi *gi, struct bh_error *err)
{
	size_t found = 0;

	for (size_t i = 0; i < gpu->n_holders; i++) {
		if (gpu->holders[i].gi != gi->id)
			continue;
		bh_error_add_holder(err, &gpu->holders[i].who);
		found++;
	}
	if (!found)
		bh_error_add_holder(err, &(struct bh_holder){.kind = "unknown"});
}

void bh_refuse_describe_users(
		const struct bh_gpu *gpu, const struct bh_gi *gi, char *buffer, size_t size)
{
	const struct bh_gpu_holder *first = NULL;
	size_t others = 0;
	char more[32] = "";

	for (size_t i = 0; i < gpu->n_holders; i++) {
		if (gpu->holders[i].gi != gi->id)
			continue;
		if (first)
			others++;
		else
			first = &gpu->holders[i];
	}
	if (!first) {
		(void) snprintf(buffer, size, "in use by a holder the driver does not name");
		return;
	}
	if (others)
		(void) snprintf(more, sizeof(more), " and %zu more", others);
	(void) snprintf(buffer, size, "used by pid %d (%s)%s", (int) first->who.pid,
			first->who.name[0] ? first->who.name : "name unknown", more);
}

/* "instance 3g.40gb at 4", or "compute instance of 1 slice at 0 in 3g.40gb at 4" if only that is. */
static void describe_foreign(
		const struct bh_gpu *gpu, const struct bh_gi *gi, char *buffer, size_t size)
{
	char name[128];
	size_t c = 0;

	bh_gi_name(gpu, gi, name, sizeof(name));
	while (c < gi->n_cis && !gi->cis[c].foreign)
		c++;
	if (gi->foreign || c == gi->n_cis)
		(void) snprintf(buffer, size, "instance %s", name);
	else
		(void) snprintf(buffer, size, "compute instance of %u slice%s at %u in %s",
				gi->cis[c].at.size, gi->cis[c].at.size == 1 ? "" : "s",
				gi->cis[c].at.start, name);
}

int bh_refuse_instance(const struct bh_gpu *gpu, const struct bh_gi *gi, bool foreign,
		const char *what, struct bh_error *err)
{
	char label[160], name[192], users[160];

	bh_gpu_label(gpu, label, sizeof(label));
	if (foreign) {
		struct bh_holder holder = {.kind = "instance"};

		describe_foreign(gpu, gi, name, sizeof(name));
		bh_fail(err, BH_E_FOREIGN, BH_SRC_SELF, 0,
				"%s: %s: blocked by %s, which was not made with this state "
				"directory",
				label, what, name);
		(void) snprintf(holder.name, sizeof(holder.name), "%s",
				strncmp(name, "instance ", 9) == 0 ? name + 9 : name);
		bh_error_add_holder(err, &holder);
		bh_error_next(err,
				"if it was made with another state directory, name that one with "
				"--state; else have its owner remove it (nvidia-smi mig -dci, then "
				"-dgi), then run this again");
	} else {
		bh_gi_name(gpu, gi, name, sizeof(name));
		bh_refuse_describe_users(gpu, gi, users, sizeof(users));
		bh_fail(err, BH_E_IN_USE, BH_SRC_SELF, 0, "%s: %s: blocked by instance %s, %s",
				label, what, name, users);
		bh_refuse_add_holders(gpu, gi, err);
		bh_error_next(err, "end that work, or wait for it, then run this again");
	}
	if (err)
		(void) snprintf(err->gpu, sizeof(err->gpu), "%s", gpu->uuid);
	return -1;
}

int bh_refuse_gpu_holders(const struct bh_gpu *gpu, const char *what, struct bh_error *err)
{
	const struct bh_gpu_holder *first = NULL;
	char label[160];

	bh_gpu_label(gpu, label, sizeof(label));
	for (size_t i = 0; i < gpu->n_holders && !first; i++) {
		if (gpu->holders[i].gi == BH_UNKNOWN)
			first = &gpu->holders[i];
	}
	bh_fail(err, BH_E_IN_USE, BH_SRC_SELF, 0, "%s: %s: held by %s %s (pid %d)", label, what,
			first ? first->who.kind : "unknown",
			first && first->who.name[0] ? first->who.name : "without a name",
			first ? (int) first->who.pid : 0);
	for (size_t i = 0; i < gpu->n_holders; i++) {
		if (gpu->holders[i].gi == BH_UNKNOWN)
			bh_error_add_holder(err, &gpu->holders[i].who);
	}
	bh_error_next(err, "end these processes, or wait for them, then run this again");
	if (err)
		(void) snprintf(err->gpu, sizeof(err->gpu), "%s", gpu->uuid);
	return -1;
}

int bh_refuse_unknown(const struct bh_gpu *gpu, struct bh_error *err)
{
	char label[160];

	bh_gpu_label(gpu, label, sizeof(label));
	bh_fail(err, BH_E_IN_USE, BH_SRC_SELF, 0,
			"%s: the driver does not say who is on it, and unknown is not nobody",
			label);
	bh_error_add_holder(err, &(struct bh_holder){.kind = "unknown"});
	bh_error_next(err, "find out why the driver's process list cannot be read, then run this "
			   "again");
	if (err)
		(void) snprintf(err->gpu, sizeof(err->gpu), "%s", gpu->uuid);
	return -1;
}

static void list_free_units(const struct bh_gpu *gpu, uint64_t occupied, char *buffer, size_t size)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (uint32_t unit = 0; unit < gpu->placement_units && unit < BH_UNITS_MAX && used < size;
			unit++) {
		if (!(occupied >> unit & 1))
			used += (size_t) snprintf(
					buffer + used, size - used, "%s%u", used ? ", " : "", unit);
	}
	if (!used)
		(void) snprintf(buffer, size, "none");
}

/* Leaves out one instance of each profile in turn, the smallest first, to name what is left over. */
int bh_refuse_size(const struct bh_place_problem *problem, struct bh_error *err)
{
	const struct bh_gpu *gpu = problem->gpu;
	struct bh_place_problem bare = *problem;
	struct bh_place_solution solution;
	char label[160], wanted[256] = "", units[128];
	size_t left = gpu->n_profiles, used = 0;

	bh_gpu_label(gpu, label, sizeof(label));
	for (size_t g = 0; g < gpu->n_gis; g++)
		bare.roles[g] = BH_GI_IDLE;
	for (size_t i = 0; i < gpu->n_profiles; i++) {
		struct bh_place_problem fewer = bare;

		if (problem->counts[i] == 0)
			continue;
		if (used < sizeof(wanted))
			used += (size_t) snprintf(wanted + used, sizeof(wanted) - used, "%s%u x %s",
					used ? ", " : "", problem->counts[i],
					gpu->profiles[i].name);
		fewer.counts[i]--;
		if (bh_place(&fewer, &solution, NULL) == 0 &&
				(left == gpu->n_profiles ||
						gpu->profiles[i].memory_mib <
								gpu->profiles[left].memory_mib)) {
			left = i;
			list_free_units(gpu, solution.occupied, units, sizeof(units));
		}
	}
	if (problem->budget && *problem->budget == 0)
		return bh_place_give_up(gpu, err);
	if (!bh_place_media_rules_hold(&bare))
		bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"%s cannot hold %s: one instance with media extensions at most, "
				"and "
				"beside +me.all only profiles without media engines",
				label, wanted);
	else if (left == gpu->n_profiles)
		bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"%s cannot hold %s: more than one instance is left over", label,
				wanted);
	else
		bh_fail(err, BH_E_DOES_NOT_FIT, BH_SRC_SELF, 0,
				"%s cannot hold %s: with the others placed, one %s is left over "
				"and "
				"the free units are: %s",
				label, wanted, gpu->profiles[left].name, units);
	bh_error_next(err, "ask for fewer or smaller instances on this GPU");
	if (err)
		(void) snprintf(err->gpu, sizeof(err->gpu), "%s", gpu->uuid);
	return -1;
}
