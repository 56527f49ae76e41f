/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/solver.h"

#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 512 /* of one class of GPUs; known boards have less than 100 */
#define FAILED_SIZE 65536

/* What one GPU could take: how many of each ask, and where. */
struct option {
	uint8_t counts[BH_ASKS_MAX];
	struct bh_found at[BH_GIS_MAX]; /* room left open */
	uint32_t n, open;
};

/* GPUs of the same board with the same on them can take the same. */
struct class
{
	const struct bh_occupancy *room; /* one of them */
	struct option *options; /* owned; none is less than another; the largest come first */
	size_t n_options, room_for;
	uint8_t best[BH_ASKS_MAX]; /* of any option */
};

/* A state that leads nowhere: this GPU is next, its first options are tried, so much is left. */
struct failed {
	uint32_t room, option; /* room + 1; 0 = no entry */
	uint8_t left[BH_ASKS_MAX];
};

struct search {
	const struct bh_occupancy *rooms;
	const struct bh_ask *asks;
	size_t n_rooms, n_asks;
	uint32_t *budget;
	uint32_t order[BH_NODE_GPUS_MAX];    /* the fullest first */
	uint32_t class_of[BH_NODE_GPUS_MAX]; /* in that order */
	struct class classes[BH_NODE_GPUS_MAX];
	size_t n_classes;
	struct failed *failed; /* owned; a table by hash, where the newer wins; NULL for one GPU */
	uint32_t left[BH_ASKS_MAX];
	uint32_t chosen[BH_NODE_GPUS_MAX];	      /* option of each GPU, in that order */
	uint8_t taken[BH_NODE_GPUS_MAX][BH_ASKS_MAX]; /* how many of it */
	size_t depth;
	uint32_t after[BH_NODE_GPUS_MAX + 1]
		      [BH_ASKS_MAX]; /* most that the GPUs from there on take */
};

/* An option while it grows. */
struct growth {
	struct search *search;
	struct class *class;
	struct bh_occupancy room;
	struct option option;
	bool no_room; /* more options than may be */
	bool no_memory;
};

static bool covers(const struct option *a, const struct option *b, size_t n_asks)
{
	for (size_t i = 0; i < n_asks; i++) {
		if (a->counts[i] < b->counts[i])
			return false;
	}
	return true;
}

/* Looking at options costs more than a step. */
static void spend(uint32_t *budget, size_t steps)
{
	*budget -= steps < *budget ? (uint32_t) steps : *budget;
}

static bool make_room(struct growth *g)
{
	struct class *class = g->class;
	size_t more = class->room_for ? 2 * class->room_for : 16;
	struct option *larger;

	if (g->no_room || g->no_memory)
		return false;
	if (class->n_options < class->room_for)
		return true;
	larger = realloc(class->options, more * sizeof(*larger));
	g->no_memory = !larger;
	if (!larger)
		return false;
	class->options = larger;
	class->room_for = more;
	return true;
}

/* Keeps an option unless another is as good; drops those that are not as good as it. */
static void keep_option(struct growth *g)
{
	struct class *class = g->class;
	size_t n = 0;

	spend(g->search->budget, 1 + class->n_options / 8);
	g->option.open = bh_occupancy_open(&g->room);
	for (size_t i = 0; i < class->n_options; i++) {
		const struct option *other = &class->options[i];
		bool as_much = covers(other, &g->option, g->search->n_asks);

		if (as_much && (!covers(&g->option, other, g->search->n_asks) ||
					       other->open >= g->option.open))
			return;
	}
	for (size_t i = 0; i < class->n_options; i++) {
		if (!covers(&g->option, &class->options[i], g->search->n_asks))
			class->options[n++] = class->options[i];
	}
	class->n_options = n;
	g->no_room = g->no_room || n == OPTIONS_MAX;
	if (make_room(g))
		class->options[class->n_options++] = g->option;
}

/* Adds instances of the k-th ask from its placement @from on, then of the others. */
static void grow(struct growth *g, size_t k, size_t from)
{
	struct search *s = g->search;
	const struct bh_gi_profile *profile;
	bool full = true;
	size_t p;

	if (*s->budget == 0 || --*s->budget == 0)
		return;
	if (k == s->n_asks) {
		keep_option(g);
		return;
	}
	if (s->asks[k].count > g->option.counts[k] &&
			bh_gpu_profile_named(g->room.gpu, s->asks[k].profile, &p)) {
		profile = &g->room.gpu->profiles[p];
		for (size_t j = from; j < profile->n_placements; j++) {
			const struct bh_placement *at = &profile->placements[j];

			if (!bh_occupancy_allows(&g->room, p, at))
				continue;
			full = false;
			g->option.at[g->option.n++] = (struct bh_found){.profile = p, .at = *at};
			g->option.counts[k]++;
			bh_occupancy_add(&g->room, p, at);
			grow(g, k, j + 1);
			bh_occupancy_remove(&g->room, p, at);
			g->option.counts[k]--;
			g->option.n--;
		}
	}
	/* leaving one out is of use only to another ask */
	if (full || k + 1 < s->n_asks || from > 0)
		grow(g, k + 1, 0);
}

static uint32_t sum(const struct option *option)
{
	return option->n;
}

static int compare_options(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	if (sum(x) != sum(y))
		return sum(x) > sum(y) ? -1 : 1;
	return memcmp(y->counts, x->counts, sizeof(x->counts));
}

static bool are_alike(const struct bh_occupancy *a, const struct bh_occupancy *b)
{
	return a->occupied == b->occupied && a->n_gis == b->n_gis &&
	       memcmp(a->standing, b->standing, sizeof(a->standing)) == 0 &&
	       bh_gpu_offers_same(a->gpu, b->gpu);
}

static int add_class(struct search *s, const struct bh_occupancy *room, struct bh_error *err)
{
	struct class *class = &s->classes[s->n_classes++];
	struct growth g = {.search = s, .class = class, .room = *room};

	class->room = room;
	grow(&g, 0, 0);
	if (g.no_memory)
		return bh_fail_memory(err);
	if (g.no_room)
		*s->budget = 0;
	for (size_t o = 0; o < class->n_options; o++) {
		for (size_t i = 0; i < s->n_asks; i++) {
			if (class->options[o].counts[i] > class->best[i])
				class->best[i] = class->options[o].counts[i];
		}
	}
	qsort(class->options, class->n_options, sizeof(*class->options), compare_options);
	return 0;
}

static int compare_rooms(const struct search *s, uint32_t a, uint32_t b)
{
	int x = __builtin_popcountll(s->rooms[a].occupied),
	    y = __builtin_popcountll(s->rooms[b].occupied);

	if (x != y)
		return y - x;
	if (s->rooms[a].occupied != s->rooms[b].occupied)
		return s->rooms[a].occupied < s->rooms[b].occupied ? -1 : 1;
	return a < b ? -1 : 1;
}

static int classify(struct search *s, struct bh_error *err)
{
	for (uint32_t i = 0; i < s->n_rooms; i++) {
		uint32_t k = i;

		for (; k > 0 && compare_rooms(s, i, s->order[k - 1]) < 0; k--)
			s->order[k] = s->order[k - 1];
		s->order[k] = i;
	}
	for (size_t i = 0; i < s->n_rooms; i++) {
		const struct bh_occupancy *room = &s->rooms[s->order[i]];
		size_t c = 0;

		while (c < s->n_classes && !are_alike(s->classes[c].room, room))
			c++;
		if (c == s->n_classes && add_class(s, room, err) < 0)
			return -1;
		s->class_of[i] = (uint32_t) c;
	}
	for (size_t r = s->n_rooms; r > 0; r--) {
		for (size_t i = 0; i < s->n_asks; i++)
			s->after[r - 1][i] =
					s->after[r][i] + s->classes[s->class_of[r - 1]].best[i];
	}
	return 0;
}

static struct failed *slot_of(const struct search *s, size_t room, size_t option)
{
	uint64_t hash = 1469598103934665603ULL ^ room * 1099511628211ULL ^ option * 40503ULL;

	for (size_t i = 0; i < s->n_asks; i++)
		hash = (hash ^ s->left[i]) * 1099511628211ULL;
	return &s->failed[(hash ^ hash >> 29) % FAILED_SIZE];
}

static bool is_known_to_fail(const struct search *s, size_t room, size_t option)
{
	const struct failed *f = s->failed ? slot_of(s, room, option) : NULL;

	if (!f || f->room != room + 1 || f->option != option)
		return false;
	for (size_t i = 0; i < s->n_asks; i++) {
		if (f->left[i] != s->left[i])
			return false;
	}
	return true;
}

static void note_failure(const struct search *s, size_t room, size_t option)
{
	struct failed *f = s->failed ? slot_of(s, room, option) : NULL;

	for (size_t i = 0; f && i < s->n_asks; i++) {
		if (s->left[i] > UINT8_MAX)
			return;
		f->left[i] = (uint8_t) s->left[i];
	}
	if (!f)
		return;
	f->room = (uint32_t) room + 1;
	f->option = (uint32_t) option;
}

/* Could what is left be taken by the GPUs from @room on, each ask for itself? */
static bool is_hopeless(const struct search *s, size_t room)
{
	for (size_t i = 0; i < s->n_asks; i++) {
		if (s->left[i] > s->after[room][i])
			return true;
	}
	return false;
}

/* Takes from the GPUs from @room on; of alike ones the later takes a later option. */
static bool take(struct search *s, size_t room, size_t first)
{
	const struct class *class;
	uint32_t left = 0;

	for (size_t i = 0; i < s->n_asks; i++)
		left += s->left[i];
	if (left == 0) {
		s->depth = room;
		return true;
	}
	if (room == s->n_rooms || *s->budget == 0 || --*s->budget == 0 ||
			is_known_to_fail(s, room, first) || is_hopeless(s, room))
		return false;
	class = &s->classes[s->class_of[room]];
	for (size_t o = first; o < class->n_options; o++) {
		const struct option *option = &class->options[o];
		bool alike = room + 1 < s->n_rooms && s->class_of[room + 1] == s->class_of[room];

		for (size_t i = 0; i < s->n_asks; i++) {
			s->taken[room][i] = (uint8_t) (option->counts[i] < s->left[i]
								       ? option->counts[i]
								       : s->left[i]);
			s->left[i] -= s->taken[room][i];
		}
		s->chosen[room] = (uint32_t) o;
		if (take(s, room + 1, alike ? o : 0))
			return true;
		for (size_t i = 0; i < s->n_asks; i++)
			s->left[i] += s->taken[room][i];
	}
	if (*s->budget)
		note_failure(s, room, first);
	return false;
}

static int compare_found(const void *a, const void *b)
{
	const struct bh_found *x = a, *y = b;

	if (x->room != y->room)
		return x->room < y->room ? -1 : 1;
	return (x->at.start > y->at.start) - (x->at.start < y->at.start);
}

void bh_solution_sort(struct bh_solution *solution)
{
	qsort(solution->found, solution->n_found, sizeof(*solution->found), compare_found);
}

static int write_down(const struct search *s, struct bh_solution *ret, struct bh_error *err)
{
	struct bh_solution solution = {
			.found = calloc(s->depth * BH_GIS_MAX + 1, sizeof(*solution.found))};

	if (!solution.found)
		return bh_fail_memory(err);
	for (size_t r = 0; r < s->depth; r++) {
		const struct option *option = &s->classes[s->class_of[r]].options[s->chosen[r]];
		uint8_t left[BH_ASKS_MAX];

		memcpy(left, s->taken[r], sizeof(left));
		for (size_t i = 0; i < option->n; i++) {
			struct bh_found found = option->at[i];
			size_t a = 0;

			while (strcmp(s->asks[a].profile,
					       s->rooms[s->order[r]]
							       .gpu->profiles[found.profile]
							       .name) != 0)
				a++;
			if (left[a] == 0)
				continue;
			left[a]--;
			found.room = s->order[r];
			solution.found[solution.n_found++] = found;
		}
	}
	bh_solution_sort(&solution);
	*ret = solution;
	return 0;
}

static void search_free(struct search *s)
{
	for (size_t i = 0; i < s->n_classes; i++)
		free(s->classes[i].options);
	free(s->failed);
	free(s);
}

static int give_up(struct bh_error *err)
{
	bh_fail(err, BH_E_DEADLINE, BH_SRC_SELF, 0,
			"whether it fits could not be found out in the time that a question may "
			"take");
	bh_error_next(err, "ask for fewer kinds of profiles at once, or about fewer cards");
	return -1;
}

int bh_solve(const struct bh_occupancy *rooms, size_t n_rooms, const struct bh_ask *asks,
		size_t n_asks, uint32_t *budget, struct bh_solution *ret_solution,
		struct bh_error *err)
{
	struct search *s = calloc(1, sizeof(*s));
	int r = -1;

	if (!s)
		return bh_fail_memory(err);
	*s = (struct search){.rooms = rooms,
			.n_rooms = n_rooms,
			.asks = asks,
			.n_asks = n_asks,
			.budget = budget};
	for (size_t i = 0; i < n_asks; i++)
		s->left[i] = asks[i].count;
	if (n_rooms > 1)
		s->failed = calloc(FAILED_SIZE, sizeof(*s->failed));
	if (n_rooms > 1 && !s->failed)
		(void) bh_fail_memory(err);
	else if (classify(s, err) == 0)
		r = take(s, 0, 0) ? 0 : BH_SOLVE_NONE;
	if (r >= 0 && *budget == 0)
		r = give_up(err);
	if (r == 0 && ret_solution)
		r = write_down(s, ret_solution, err);
	search_free(s);
	return r;
}

void bh_solution_free(struct bh_solution *solution)
{
	free(solution->found);
	*solution = (struct bh_solution){0};
}
