/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Inside of a ring, for ring's own files and their tests.
 *
 * The top `bits` bits of a position choose a bucket; there are as many buckets as points, or up to
 * twice as many, so a bucket holds one point on average.  All points of a bucket share those bits,
 * so they need not be stored: their room in a 64-bit entry holds the owner, and one cache line
 * answers "which point" and "whose" together.
 *
 *     position   | bucket: bits | low: 64 - bits            |
 *     entry      | low: 64 - bits            | rank: bits   |
 *
 *     starts[b]  = number of the first entry of bucket b; starts[b + 1] is its end
 *     entries    = |bucket 0|bucket 1||bucket 3| ... |entry 0 again: the wrap|
 *
 * A node's rank is its place, in byte order of the names, among the nodes that own points.  Each
 * has at least one point and there are at most 2^bits of those, so a rank always fits.  Entries
 * sorted as plain integers are therefore points sorted by position and, at one position, by name:
 * the tie rule costs nothing.
 *
 * Memory: 8 bytes a point and 4 a bucket: 6.2 MB for 1,000 nodes of 512 points.
 */

#include <stdint.h>

#include "ring/ring.h"

#define RING_RANK_NONE UINT16_MAX /* ranks are below RING_NODES_MAX */

struct ring_member {
	struct span name; /* points into ring.names */
	uint32_t weight_milli;
	uint32_t points;
	double share;
};

struct ring {
	/* What a lookup reads, in one cache line. */
	uint64_t *entries; /* owned; [point_count + 2]: the first again, then one to read past */
	uint32_t *starts;  /* owned; [bucket_count + 1] */
	uint16_t *node_of_rank; /* owned; [owner_count] */
	uint64_t rank_mask;     /* the low `bits` bits */
	uint32_t bits;          /* 1 .. 26 */
	uint32_t point_count;   /* 0: nobody owns anything */

	uint32_t bucket_count;
	uint32_t node_count;
	uint32_t owner_count;
	struct ring_member *members; /* owned; [node_count] */
	uint8_t *names;              /* owned; all names, one after the other */
	size_t memory;
	uint64_t checksum;
};

struct ring_skip {
	const struct ring *ring; /* borrowed, outlives us */
	uint16_t *heirs;  /* owned; [point_count + 1]: rank of who gets a key of that point */
	uint8_t *ejected; /* owned; [owner_count], by rank */
};

/*
 * Tests place points where they want them, to have many on one position: the hash of names
 * ("name#j") is a parameter here.  ring_builder_new() is this with ring_hash().
 */
typedef uint64_t ring_hash_fn(const void *bytes, size_t len);
int ring_builder_new_hashed(struct ring_builder **ret, const struct ring_node *nodes, size_t n,
	const struct ring_opts *opts, ring_hash_fn *hash) MUST_CHECK;

/*
 * Fills a zeroed ring's nodes, ranks and point_count.  Errors as ring_build(); the ring is to be
 * freed whatever it returns.
 */
int ring_set_members(
	struct ring *r, const struct ring_node *nodes, size_t n, uint32_t points) MUST_CHECK;

/*
 * Number of the point that owns a position; point_count stands for the first one, reached by
 * wrapping.
 *
 * Nine buckets in ten hold at most two points: those are counted without a branch, which nothing
 * could predict.  An entry of the next bucket may be read, but does not count.
 */
static inline uint32_t ring_find(const struct ring *r, uint64_t position)
{
	const uint32_t *start = &r->starts[position >> (64 - r->bits)];
	uint64_t want = position << r->bits;
	uint32_t i = start[0];
	uint32_t n = start[1] - i;
	const uint64_t *entry = &r->entries[i];

	i += (uint32_t)((n > 0) & (entry[0] < want));
	i += (uint32_t)((n > 1) & (entry[1] < want));
	if (UNLIKELY(n > 2)) {
		while (i < start[1] && r->entries[i] < want)
			i++;
	}
	return i;
}

/* Rank of the owner of point i, the wrapping one included. */
static inline uint32_t ring_rank(const struct ring *r, uint32_t i)
{
	return (uint32_t)(r->entries[i] & r->rank_mask);
}

/* The same with a skip set, or NULL; RING_RANK_NONE: all are ejected. */
static inline uint32_t ring_rank_skip(
	const struct ring *r, const struct ring_skip *skip, uint32_t i)
{
	uint32_t rank = ring_rank(r, i);

	return skip != NULL && skip->ejected[rank] ? skip->heirs[i] : rank;
}

/* Position of an entry, given its bucket. */
static inline uint64_t ring_position(const struct ring *r, uint32_t bucket, uint64_t entry)
{
	return ((uint64_t)bucket << (64 - r->bits)) | (entry >> r->bits);
}
