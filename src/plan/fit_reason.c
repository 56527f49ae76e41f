/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fit_reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/refuse.h"
#include "plan/role.h"
#include "plan/step.h"
#include "plan/want.h"

/* A place that the failing profile could have, and what is in its way. */
struct obstacle {
	size_t room;
	const struct bh_placement *at;
	uint32_t held, n; /* instances in the way: of them those that cannot go; all */
};

static BH_PRINTF(2, 3) void say(struct bh_certificate *to, const char *format, ...)
{
	size_t used = strlen(to->text);
	va_list args;

	va_start(args, format);
	(void) vsnprintf(to->text + used, sizeof(to->text) - used, format, args);
	va_end(args);
}

static bool overlap(const struct bh_placement *a, const struct bh_placement *b)
{
	return (bh_placement_mask(a) & bh_placement_mask(b)) != 0;
}

/* The place with the least in its way; false when one is free, so that the wider ones take it. */
static bool find_obstacle(const struct bh_reason *reason, struct obstacle *ret)
{
	struct obstacle best = {.n = UINT32_MAX};

	for (size_t r = 0; r < reason->n_rooms; r++) {
		const struct bh_gpu *gpu = reason->rooms[r].gpu;
		size_t p;

		if (!bh_gpu_profile_named(gpu, reason->asks[reason->failing].profile, &p))
			continue;
		for (size_t k = 0; k < gpu->profiles[p].n_placements; k++) {
			struct obstacle now = {.room = r, .at = &gpu->profiles[p].placements[k]};

			for (size_t g = 0; g < gpu->n_gis; g++) {
				if (!overlap(&gpu->gis[g].at, now.at))
					continue;
				now.n++;
				now.held += !bh_gi_can_move(gpu, &gpu->gis[g]);
			}
			if (now.held < best.held || best.n == UINT32_MAX ||
					(now.held == best.held && now.n < best.n))
				best = now;
		}
	}
	*ret = best;
	return best.n != UINT32_MAX && best.n > 0;
}

static void say_obstacle(const struct obstacle *obstacle, const struct bh_reason *reason,
		struct bh_certificate *to)
{
	const struct bh_gpu *gpu = reason->rooms[obstacle->room].gpu;
	const char *comma = "";

	if (obstacle->at->size == 1)
		say(to, "; nearest is unit %u", obstacle->at->start);
	else
		say(to, "; nearest are units %u-%u", obstacle->at->start,
				obstacle->at->start + obstacle->at->size - 1);
	if (reason->n_rooms > 1)
		say(to, " of GPU %u", gpu->index);
	say(to, ", taken by ");
	for (size_t g = 0; g < gpu->n_gis; g++) {
		const struct bh_gi *gi = &gpu->gis[g];
		char name[128], users[160] = "idle";

		if (!overlap(&gi->at, obstacle->at))
			continue;
		bh_gi_name(gpu, gi, name, sizeof(name));
		if (!gpu->holders_known)
			(void) snprintf(users, sizeof(users), "who uses it cannot be read");
		else if (gi->foreign && !gi->busy)
			(void) snprintf(users, sizeof(users), "not made by us");
		else if (bh_gi_role(gi) != BH_GI_IDLE)
			bh_refuse_describe_users(gpu, gi, users, sizeof(users));
		say(to, "%s%s (%s)", comma, name, users);
		comma = ", ";
	}
}

/* Those that are placed before the failing one: "2 x 3g.40gb, 1 x 2g.20gb". */
static void say_wider(const struct bh_reason *reason, struct bh_certificate *to)
{
	for (size_t i = 0; i < reason->failing; i++)
		say(to, "%s%u x %s", i ? ", " : " beside ", reason->asks[i].count,
				reason->asks[i].profile);
}

/* How many more of a profile the boards' own limit allows, wherever they could stand. */
static uint64_t allowed(const struct bh_reason *reason, const char *name, bool of_media)
{
	uint64_t n = 0;

	for (size_t r = 0; r < reason->n_rooms; r++) {
		const struct bh_occupancy *room = &reason->rooms[r];
		size_t p;

		if (!bh_gpu_profile_named(room->gpu, name, &p))
			continue;
		if (of_media)
			n += room->media.extended == 0;
		else if (room->gpu->profiles[p].max_instances > room->standing[p])
			n += room->gpu->profiles[p].max_instances - room->standing[p];
	}
	return n;
}

/* A place is free, and the rules about media engines are all that keep the profile from it. */
static bool media_matter(const struct bh_reason *reason)
{
	bool matter = false;

	for (size_t i = 0; i <= reason->failing; i++) {
		struct bh_gi_profile named = {0};

		(void) snprintf(named.name, sizeof(named.name), "%s", reason->asks[i].profile);
		matter = matter || bh_media_is_extended(&named);
	}
	for (size_t r = 0; r < reason->n_rooms; r++)
		matter = matter || reason->rooms[r].media.all > 0;
	return matter && !reason->has_shortage;
}

static void set_rule(struct bh_certificate *ret, const char *rule, uint64_t needs, uint64_t has)
{
	(void) snprintf(ret->rule, sizeof(ret->rule), "%s", rule);
	ret->needs = needs;
	ret->has = has;
}

void bh_reason_write(const struct bh_reason *reason, struct bh_certificate *ret)
{
	const struct bh_ask *ask = &reason->asks[reason->failing];
	bool media = strstr(ask->profile, "+me") != NULL;
	uint64_t most = allowed(reason, ask->profile, /* of_media= */ false);
	uint64_t free_of_media = allowed(reason, ask->profile, /* of_media= */ true);
	struct obstacle obstacle;

	*ret = (struct bh_certificate){.needs = ask->count, .has = reason->found};
	say(ret, "%u x %s: ", ask->count, ask->profile);
	if (media && free_of_media < ask->count) {
		set_rule(ret, "media-engines", ask->count, free_of_media);
		say(ret,
				"a board has one instance with media extensions, and %llu of these "
				"boards "
				"%s none yet",
				(unsigned long long) free_of_media,
				free_of_media == 1 ? "has" : "have");
		return;
	}
	if (reason->has_shortage) {
		set_rule(ret, "places", reason->shortage.needs, reason->shortage.has);
		say(ret, "needs %llu %s, %llu exist%s", (unsigned long long) ret->needs,
				reason->shortage.what, (unsigned long long) ret->has,
				ret->has == 1 ? "s" : "");
	} else if (most < ask->count) {
		set_rule(ret, "max-instances", ask->count, most);
		say(ret, "the boards allow %llu more of this profile", (unsigned long long) most);
		return;
	} else {
		set_rule(ret, "places", ask->count, reason->found);
		say(ret, "%llu find%s a place", (unsigned long long) reason->found,
				reason->found == 1 ? "s" : "");
	}
	say_wider(reason, ret);
	if (media_matter(reason)) {
		(void) snprintf(ret->rule, sizeof(ret->rule), "media-engines");
		say(ret, "; a board has at most one instance with media extensions, and beside one "
			 "with all media engines only those without any (-me)");
	}
	if (find_obstacle(reason, &obstacle))
		say_obstacle(&obstacle, reason, ret);
}
