/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * What moves between two rings.  Both lists of points are walked together from position 0 up;
 * between two neighbouring points of either list neither owner changes, so comparing once per such
 * stretch is exact.  O(points of both).
 *
 *     from   ----a------a-------b---->      a point owns what lies before it, back to the
 *     to     ----a--c---a-------b---->      point before; beyond the last, the first does
 *     arcs        [.]                       a -> c
 *
 * Neighbouring arcs with the same two owners are one.
 *
 * Owners are compared by number: the names of both rings are sorted already, so one merge finds
 * each node's twin.
 */

#include "ring/ring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "ring/ring_internal.h"

/* One ring on the way from position 0 to the last. */
struct side {
	const struct ring *ring;      /* borrowed */
	const struct ring_skip *skip; /* borrowed, or NULL */
	uint32_t i;      /* point that owns the stretch; point_count: the first, by wrapping */
	uint32_t bucket; /* of point i */
};

/* Arcs so far; the first failure of malloc sticks. */
struct arcs {
	struct ring_arc *at; /* owned */
	size_t n;
	size_t room;
	int err;
};

static struct side side_at_start(const struct ring *r, const struct ring_skip *skip)
{
	CHECK(skip == NULL || skip->ring == r);
	return (struct side){.ring = r, .skip = skip};
}

/* Last position of the stretch that point i owns. */
static uint64_t side_last(struct side *s)
{
	const struct ring *r = s->ring;

	if (s->i == r->point_count)
		return UINT64_MAX;
	while (s->i >= r->starts[s->bucket + 1])
		s->bucket++;
	return ring_position(r, s->bucket, r->entries[s->i]);
}

/* On to the first point after `position`; of points at one position the first has owned all there
 * was. */
static void side_pass(struct side *s, uint64_t position)
{
	while (s->i < s->ring->point_count && side_last(s) <= position)
		s->i++;
}

static uint32_t side_rank(const struct side *s)
{
	if (s->ring->point_count == 0)
		return RING_RANK_NONE;
	return ring_rank_skip(s->ring, s->skip, s->i);
}

static uint32_t side_node(const struct side *s, uint32_t rank)
{
	return rank == RING_RANK_NONE ? RING_NONE : s->ring->node_of_rank[rank];
}

static struct span name_of_rank(const struct ring *r, uint32_t rank)
{
	return r->members[r->node_of_rank[rank]].name;
}

/* For each rank of `from` the rank of the same name in `to`, or RING_RANK_NONE.  NULL: out of
 * memory. */
static uint16_t *find_twins(const struct ring *from, const struct ring *to)
{
	uint16_t *twins = calloc((size_t)from->owner_count + 1, sizeof(*twins));
	if (twins == NULL)
		return NULL;
	uint32_t t = 0;
	for (uint32_t f = 0; f < from->owner_count; f++) {
		struct span name = name_of_rank(from, f);
		while (t < to->owner_count && span_cmp(name_of_rank(to, t), name) < 0)
			t++;
		bool same = t < to->owner_count && span_eq(name_of_rank(to, t), name);
		twins[f] = same ? (uint16_t)t : RING_RANK_NONE;
	}
	return twins;
}

static bool arcs_grow(struct arcs *a)
{
	size_t room = a->room > 0 ? a->room * 2 : 64;
	struct ring_arc *at = realloc(a->at, room * sizeof(*at));
	if (at == NULL) {
		a->err = -ENOMEM;
		return false;
	}
	a->at = at;
	a->room = room;
	return true;
}

static void arcs_add(struct arcs *a, struct ring_arc arc)
{
	struct ring_arc *prev = a->n > 0 ? &a->at[a->n - 1] : NULL;

	if (prev != NULL && prev->last + 1 == arc.first && prev->before == arc.before &&
		prev->after == arc.after) {
		prev->last = arc.last;
		return;
	}
	if (a->n == a->room && !arcs_grow(a))
		return;
	a->at[a->n++] = arc;
}

static void compare(struct arcs *arcs, struct side *from, struct side *to, const uint16_t *twins)
{
	uint64_t first = 0;

	while (arcs->err == 0) {
		uint64_t from_last = side_last(from);
		uint64_t to_last = side_last(to);
		uint64_t last = from_last < to_last ? from_last : to_last;
		uint32_t before = side_rank(from);
		uint32_t after = side_rank(to);

		uint32_t twin = before == RING_RANK_NONE ? RING_RANK_NONE : twins[before];
		bool same =
			twin == after && (before == RING_RANK_NONE) == (after == RING_RANK_NONE);
		if (!same)
			arcs_add(arcs, (struct ring_arc){first, last, side_node(from, before),
					       side_node(to, after)});
		if (last == UINT64_MAX)
			return;
		side_pass(from, last);
		side_pass(to, last);
		first = last + 1;
	}
}

static double moved_share(const struct arcs *arcs)
{
	unsigned __int128 sum = 0; /* all positions are 2^64, one more than 64 bits hold */

	for (size_t i = 0; i < arcs->n; i++)
		sum += (unsigned __int128)(arcs->at[i].last - arcs->at[i].first) + 1;
	return (double)sum * 0x1p-64;
}

int ring_diff(struct ring_diff *ret, const struct ring *from, const struct ring_skip *from_skip,
	const struct ring *to, const struct ring_skip *to_skip)
{
	struct side a = side_at_start(from, from_skip);
	struct side b = side_at_start(to, to_skip);
	struct arcs arcs = {0};
	uint16_t *twins = find_twins(from, to);
	if (twins == NULL)
		return -ENOMEM;

	compare(&arcs, &a, &b, twins);
	free(twins);
	if (arcs.err != 0) {
		free(arcs.at);
		return arcs.err;
	}
	*ret = (struct ring_diff){.arcs = arcs.at, .n = arcs.n, .moved = moved_share(&arcs)};
	return 0;
}

void ring_diff_fini(struct ring_diff *d)
{
	free(d->arcs);
	*d = (struct ring_diff){0};
}

const struct ring_arc *ring_diff_find(const struct ring_diff *d, uint64_t position)
{
	size_t low = 0;
	size_t high = d->n;

	/* The first arc that does not end before the position. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (d->arcs[mid].last < position)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->n && d->arcs[low].first <= position ? &d->arcs[low] : NULL;
}
