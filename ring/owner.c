/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Whose is a position?  The only part of the ring that runs for every request; any thread.
 */

#include "ring/ring.h"

#include "base/check.h"
#include "ring/ring_internal.h"

uint32_t ring_owner(const struct ring *r, uint64_t position)
{
	if (UNLIKELY(r->point_count == 0))
		return RING_NONE;
	return r->node_of_rank[ring_rank(r, ring_find(r, position))];
}

uint32_t ring_owner_skip(const struct ring *r, const struct ring_skip *skip, uint64_t position)
{
	if (skip == NULL)
		return ring_owner(r, position);
	CHECK(skip->ring == r);
	if (UNLIKELY(r->point_count == 0))
		return RING_NONE;

	uint32_t rank = ring_rank_skip(r, skip, ring_find(r, position));
	return rank == RING_RANK_NONE ? RING_NONE : r->node_of_rank[rank];
}

/* A set of ranks, on the stack: 8 KiB at most. */
struct rank_set {
	uint64_t words[(RING_NODES_MAX + 63) / 64];
};

static bool rank_set_add(struct rank_set *set, uint32_t rank)
{
	uint64_t *word = &set->words[rank / 64];
	uint64_t bit = UINT64_C(1) << (rank % 64);
	bool fresh = (*word & bit) == 0;

	*word |= bit;
	return fresh;
}

size_t ring_successors(const struct ring *r, uint64_t position, uint32_t *ret, size_t max)
{
	struct rank_set seen;
	size_t want = max < r->owner_count ? max : r->owner_count;
	size_t n = 0;

	if (want == 0)
		return 0;
	memset(seen.words, 0, (r->owner_count + 63) / 64 * sizeof(seen.words[0]));
	/* Every owner has a point, so one turn of the ring finds them all. */
	for (uint32_t i = ring_find(r, position); n < want; i++) {
		if (i >= r->point_count)
			i = 0;
		uint32_t rank = ring_rank(r, i);
		if (rank_set_add(&seen, rank))
			ret[n++] = r->node_of_rank[rank];
	}
	return n;
}
