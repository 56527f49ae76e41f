/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/spread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NEVER	   UINT32_MAX
#define LEFT_MAX   (2 * BH_NODE_GPUS_MAX * BH_GIS_MAX) /* more than any node holds */
#define KINDS	   3
#define UNCOUNTED  (-1) /* a name that the closed form can't count */

#define UNLIMITED  UINT16_MAX /* changes of the MIG mode */

/* Past this no more states are kept. */
#define STATES_MAX (1U << 20)

/* States with what they are known to need beyond the bound; open addressing, 0 = a free slot. */
struct known {
	uint16_t *keys; /* the GPU, changes of mode allowed, then what is left of each name */
	uint32_t *needs;
	size_t n, room, stride;
};

struct search {
	const struct bh_spread_problem *problem;
	size_t n_gpus, n_names;
	uint16_t left[BH_MIX_NAMES_MAX];
	/* sums over the GPUs from one on, of each name */
	uint32_t standing[BH_NODE_GPUS_MAX + 1][BH_MIX_NAMES_MAX];
	uint32_t pinned[BH_NODE_GPUS_MAX + 1][BH_MIX_NAMES_MAX];
	/* likewise, of each kind: GPUs with the MIG mode on, and how many there are with it off */
	struct bh_fleet space[BH_NODE_GPUS_MAX + 1][KINDS];
	uint16_t off[BH_NODE_GPUS_MAX + 1][KINDS];
	int8_t kind[BH_MIX_NAMES_MAX]; /* of all boards with that name; else UNCOUNTED */
	int8_t role[BH_MIX_NAMES_MAX];
	struct known known;
	const struct bh_mix *choice[BH_NODE_GPUS_MAX];
	uint64_t budget;
	bool no_memory;
	struct bh_shortage shortage;
};

static size_t hash(const uint16_t *key, size_t n)
{
	uint64_t h = 0xCBF29CE484222325U;

	for (size_t i = 0; i < n; i++) {
		h ^= key[i];
		h *= 0x9E3779B97F4A7C15U;
		h ^= h >> 29;
	}
	return (size_t) h;
}

static size_t slot_of(const struct known *known, const uint16_t *key)
{
	size_t i = hash(key, known->stride) & (known->room - 1);

	while (known->needs[i] && memcmp(&known->keys[i * known->stride], key,
						  known->stride * sizeof(*key)) != 0)
		i = (i + 1) & (known->room - 1);
	return i;
}

static bool known_init(struct known *known, size_t room, size_t stride)
{
	*known = (struct known){.keys = calloc(room * stride, sizeof(*known->keys)),
			.needs = calloc(room, sizeof(*known->needs)),
			.room = room,
			.stride = stride};
	return known->keys && known->needs;
}

static void known_free(struct known *known)
{
	free(known->keys);
	free(known->needs);
	*known = (struct known){0};
}

static bool known_grow(struct known *known)
{
	struct known wider;

	if (!known_init(&wider, 2 * known->room, known->stride)) {
		known_free(&wider);
		return false;
	}
	for (size_t i = 0; i < known->room; i++) {
		const uint16_t *key = &known->keys[i * known->stride];
		size_t to;

		if (known->needs[i] == 0)
			continue;
		to = slot_of(&wider, key);
		memcpy(&wider.keys[to * wider.stride], key, wider.stride * sizeof(*key));
		wider.needs[to] = known->needs[i];
		wider.n++;
	}
	known_free(known);
	*known = wider;
	return true;
}

static void key_of(const struct search *s, size_t gpu, uint16_t switches, uint16_t *key)
{
	key[0] = (uint16_t) gpu;
	key[1] = switches;
	memcpy(&key[2], s->left, s->n_names * sizeof(*key));
}

static uint32_t recall(const struct search *s, size_t gpu, uint16_t switches)
{
	uint16_t key[BH_MIX_NAMES_MAX + 2];

	key_of(s, gpu, switches, key);
	return s->known.needs[slot_of(&s->known, key)];
}

static void write_down(struct search *s, size_t gpu, uint16_t switches, uint32_t need)
{
	uint16_t key[BH_MIX_NAMES_MAX + 2];
	size_t i;

	key_of(s, gpu, switches, key);
	if (2 * s->known.n >= s->known.room && !known_grow(&s->known)) {
		s->no_memory = true;
		s->budget = 0;
		return;
	}
	i = slot_of(&s->known, key);
	if (s->known.needs[i] == 0 && s->known.n >= STATES_MAX)
		return;
	s->known.n += s->known.needs[i] == 0;
	s->known.needs[i] = need;
	memcpy(&s->known.keys[i * s->known.stride], key, s->known.stride * sizeof(*key));
}

/* What no choice for the GPUs from @gpu on can be below, whatever is on them. */
static uint32_t bound(const struct search *s, size_t gpu)
{
	uint32_t differ = 0;

	for (size_t k = 0; k < s->n_names; k++)
		differ += s->left[k] > s->standing[gpu][k] ? s->left[k] - s->standing[gpu][k]
							   : s->standing[gpu][k] - s->left[k];
	return differ;
}

static uint32_t cost_of(const struct bh_mixes *mixes, const struct bh_mix *mix)
{
	return mix->operations - mixes->others;
}

static bool take(struct search *s, const struct bh_mix *mix)
{
	for (size_t k = 0; k < s->n_names; k++) {
		if (mix->counts[k] > s->left[k])
			return false;
	}
	for (size_t k = 0; k < s->n_names; k++)
		s->left[k] = (uint16_t) (s->left[k] - mix->counts[k]);
	return true;
}

static void give_back(struct search *s, const struct bh_mix *mix)
{
	for (size_t k = 0; k < s->n_names; k++)
		s->left[k] = (uint16_t) (s->left[k] + mix->counts[k]);
}

/*
 * Could what is left stand on the GPUs from @gpu on, with so many changes of mode at most? By the
 * closed form, which is exact for boards of the two kinds and without media profiles; elsewhere it
 * lets through more than there is.
 */
static bool has_room(struct search *s, size_t gpu, uint16_t switches)
{
	struct bh_demand demand[KINDS] = {0};

	for (size_t k = 0; k < s->n_names; k++) {
		if (s->left[k] < s->pinned[gpu][k])
			return false;
		if (s->kind[k] > 0)
			demand[s->kind[k]].n[s->role[k]] += s->left[k] - s->pinned[gpu][k];
	}
	for (int i = BH_GEOMETRY_EIGHTHS; i <= BH_GEOMETRY_QUARTERS; i++) {
		enum bh_geometry_kind kind = (enum bh_geometry_kind) i;
		struct bh_fleet fleet = s->space[gpu][i];

		bh_fleet_add(&fleet, kind, 0,
				s->off[gpu][i] < switches ? s->off[gpu][i] : switches);
		if (!bh_fleet_fits(&fleet, kind, &demand[i], &s->shortage))
			return false;
	}
	return true;
}

static bool is_done(const struct search *s)
{
	for (size_t k = 0; k < s->n_names; k++) {
		if (s->left[k])
			return false;
	}
	return true;
}

static uint16_t after_switch(const struct bh_mix *mix, uint16_t switches)
{
	return switches == UNLIMITED ? switches : (uint16_t) (switches - mix->switches);
}

/*
 * Looks for an answer with at most @slack more operations than the bound, and so many changes of
 * mode. Return: what is needed beyond the bound, at least; if that is within @slack there is an
 * answer, and the choices are set. When the budget has ended it means nothing.
 */
static uint32_t descend(struct search *s, size_t gpu, uint32_t slack, uint16_t switches)
{
	const struct bh_mixes *mixes;
	uint32_t need, least = NEVER, before;

	if (gpu == s->n_gpus)
		return is_done(s) ? 0 : NEVER;
	need = recall(s, gpu, switches);
	if (need <= slack && switches != UNLIMITED)
		need = recall(s, gpu, UNLIMITED);
	if (need > slack)
		return need;
	if (!has_room(s, gpu, switches)) {
		write_down(s, gpu, switches, NEVER);
		return NEVER;
	}
	mixes = s->problem->mixes[gpu];
	before = bound(s, gpu);
	for (size_t m = 0; m < mixes->n; m++) {
		const struct bh_mix *mix = &mixes->items[m];
		uint32_t more;

		if (s->budget == 0 || --s->budget == 0)
			return NEVER;
		if (mix->switches > switches || !take(s, mix))
			continue;
		more = cost_of(mixes, mix) + bound(s, gpu + 1) - before;
		if (more <= slack) {
			need = descend(s, gpu + 1, slack - more, after_switch(mix, switches));
			more = need == NEVER ? NEVER : more + need;
		}
		give_back(s, mix);
		if (s->budget == 0)
			return NEVER;
		if (more <= slack) {
			s->choice[gpu] = mix;
			return more;
		}
		least = more < least ? more : least;
	}
	write_down(s, gpu, switches, least);
	return least;
}

/*
 * The next mix by what it costs beyond the bound, of equals one that leaves the mode, then the first;
 * @after starts as 0.
 */
static const struct bh_mix *next_cheapest(struct search *s, size_t gpu, uint64_t *after)
{
	const struct bh_mixes *mixes = s->problem->mixes[gpu];
	const struct bh_mix *best = NULL;
	uint64_t best_rank = UINT64_MAX;

	for (size_t m = 0; m < mixes->n; m++) {
		const struct bh_mix *mix = &mixes->items[m];
		uint64_t rank;
		bool room;

		if (!take(s, mix))
			continue;
		rank = (2 * ((uint64_t) cost_of(mixes, mix) + bound(s, gpu + 1)) + mix->switches)
				       << 16 |
		       (m + 1);
		room = rank > *after && rank < best_rank && has_room(s, gpu + 1, UNLIMITED);
		give_back(s, mix);
		if (!room)
			continue;
		best_rank = rank;
		best = mix;
	}
	*after = best_rank;
	return best;
}

/* Some answer, the cheapest mix first on each GPU; false if there is none or the budget ended. */
static bool dive(struct search *s, size_t gpu)
{
	const struct bh_mix *mix;
	uint64_t after = 0;

	if (gpu == s->n_gpus)
		return is_done(s);
	if (recall(s, gpu, UNLIMITED) == NEVER)
		return false;
	while (has_room(s, gpu, UNLIMITED) && (mix = next_cheapest(s, gpu, &after))) {
		bool found;

		s->budget -= s->budget < s->problem->mixes[gpu]->n ? s->budget
								   : s->problem->mixes[gpu]->n;
		if (s->budget == 0)
			return false;
		(void) take(s, mix);
		found = dive(s, gpu + 1);
		give_back(s, mix);
		if (found)
			s->choice[gpu] = mix;
		if (found || s->budget == 0)
			return found;
	}
	write_down(s, gpu, UNLIMITED, NEVER);
	return false;
}

/* Which names the closed form can count: those that all boards with them place alike. */
static void find_roles(struct search *s)
{
	for (size_t g = 0; g < s->n_gpus; g++) {
		const struct bh_geometry *geo = s->problem->geometry[g];

		for (size_t k = 0; k < s->n_names; k++) {
			size_t p = s->problem->mixes[g]->profile[k];
			int8_t kind = UNCOUNTED, role = 0;

			if (p == BH_MIX_NO_PROFILE || s->kind[k] == UNCOUNTED)
				continue;
			if (geo && geo->kind != BH_GEOMETRY_OTHER && geo->shape_of[p] >= 0) {
				kind = (int8_t) geo->kind;
				role = (int8_t) geo->shapes[geo->shape_of[p]].role;
			}
			if (s->kind[k] != 0 && (s->kind[k] != kind || s->role[k] != role))
				kind = UNCOUNTED;
			s->kind[k] = kind;
			s->role[k] = role;
		}
	}
}

/* Can it hold anything beside what must stay? Not if nobody knows who is on it, for one. */
static bool can_take_more(const struct bh_mixes *mixes)
{
	for (size_t m = 0; m < mixes->n; m++) {
		if (memcmp(mixes->items[m].counts, mixes->pinned, sizeof(mixes->pinned)) != 0)
			return true;
	}
	return false;
}

static bool is_off(const struct bh_mixes *mixes)
{
	for (size_t m = 0; m < mixes->n; m++) {
		if (mixes->items[m].switches)
			return true;
	}
	return false;
}

static void sum_up(struct search *s)
{
	const struct bh_spread_problem *problem = s->problem;

	for (size_t k = 0; k < s->n_names; k++)
		s->left[k] = problem->names->totals[k] > LEFT_MAX
					     ? LEFT_MAX
					     : (uint16_t) problem->names->totals[k];
	for (size_t g = s->n_gpus; g-- > 0;) {
		const struct bh_mixes *mixes = problem->mixes[g];
		const struct bh_geometry *geo = problem->geometry[g];

		memcpy(s->space[g], s->space[g + 1], sizeof(s->space[g]));
		memcpy(s->off[g], s->off[g + 1], sizeof(s->off[g]));
		for (size_t k = 0; k < s->n_names; k++) {
			s->standing[g][k] = s->standing[g + 1][k] + mixes->standing[k];
			s->pinned[g][k] = s->pinned[g + 1][k] + mixes->pinned[k];
		}
		if (!geo || geo->kind == BH_GEOMETRY_OTHER || !can_take_more(mixes))
			continue;
		if (is_off(mixes))
			s->off[g][geo->kind]++;
		else
			bh_fleet_add(&s->space[g][geo->kind], geo->kind, problem->fixed[g], 1);
	}
	find_roles(s);
}

static uint32_t operations_of(const struct search *s)
{
	uint32_t sum = 0;

	for (size_t g = 0; g < s->n_gpus; g++)
		sum += s->choice[g]->operations;
	return sum;
}

static uint16_t switches_of(const struct search *s)
{
	uint16_t sum = 0;

	for (size_t g = 0; g < s->n_gpus; g++)
		sum = (uint16_t) (sum + s->choice[g]->switches);
	return sum;
}

static void keep(const struct search *s, struct bh_spread *spread)
{
	memcpy(spread->choice, s->choice, s->n_gpus * sizeof(const struct bh_mix *));
	spread->operations = operations_of(s);
}

/* Of the answers within @slack, which is the least, the one with the fewest changes of mode. */
static void find_fewest_switches(struct search *s, uint32_t slack, struct bh_spread *spread)
{
	uint16_t most = switches_of(s), n = 0;

	while (n < most && !has_room(s, 0, n))
		n++;
	for (; n < most; n++) {
		uint32_t need = descend(s, 0, slack, n);

		if (s->budget == 0)
			return;
		if (need > slack)
			continue;
		keep(s, spread);
		return;
	}
}

/* The budget has ended: what costs a little more may be found in an instant. */
static void find_better(struct search *s, uint32_t least, struct bh_spread *spread)
{
	for (uint32_t more = 1; spread->least_operations + more < spread->operations; more *= 2) {
		s->budget = s->problem->budget / 8 + 1;
		if (descend(s, 0, least + more, UNLIMITED) <= least + more && s->budget > 0) {
			keep(s, spread);
			return;
		}
	}
}

/* The first answer is greedy; then the cheapest, or what the budget has shown of it. */
static int find(struct search *s, struct bh_spread *spread)
{
	uint32_t slack = 0, least = bound(s, 0), need;

	s->budget = s->problem->budget;
	if (!dive(s, 0))
		return s->budget == 0 ? -1 : BH_SPREAD_NONE;
	keep(s, spread);
	if (s->problem->any)
		return 0;
	for (size_t g = 0; g < s->n_gpus; g++)
		least += s->problem->mixes[g]->others;
	s->budget = s->problem->budget;
	while ((need = descend(s, 0, slack, UNLIMITED)) > slack && s->budget > 0) {
		assert(need != NEVER); /* there is an answer */
		slack = need;
	}
	spread->least_operations = least + slack;
	if (s->budget == 0) {
		find_better(s, slack, spread);
		return 0;
	}
	keep(s, spread);
	find_fewest_switches(s, slack, spread);
	return 0;
}

int bh_spread(const struct bh_spread_problem *problem, struct bh_spread *ret_spread,
		struct bh_shortage *ret_shortage, struct bh_error *err)
{
	struct search s = {.problem = problem,
			.n_gpus = problem->n_gpus,
			.n_names = problem->names->n};
	struct bh_spread spread = {
			.choice = calloc(problem->n_gpus + 1, sizeof(const struct bh_mix *))};
	struct bh_shortage shortage = {0};
	int r;

	if (!spread.choice || !known_init(&s.known, 16, s.n_names + 2)) {
		known_free(&s.known);
		bh_spread_free(&spread);
		return bh_fail_memory(err);
	}
	sum_up(&s);
	if (!has_room(&s, 0, UNLIMITED))
		shortage = s.shortage;
	r = find(&s, &spread);
	known_free(&s.known);
	if (r == 0 && !s.no_memory) {
		*ret_spread = spread;
		return 0;
	}
	bh_spread_free(&spread);
	if (s.no_memory)
		return bh_fail_memory(err);
	if (r < 0)
		return bh_fail(err, BH_E_INTERNAL, BH_SRC_SELF, 0,
				"how to divide what is wanted among these GPUs was not found "
				"within "
				"the search's budget");
	if (ret_shortage)
		*ret_shortage = shortage;
	return r;
}

void bh_spread_free(struct bh_spread *spread)
{
	free(spread->choice);
	*spread = (struct bh_spread){0};
}
