/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Builds a ring: a counting sort by bucket, then a small sort inside each.  In slices, so that a
 * loop that builds one is never away for long.
 *
 *     COUNT    hash every "name#j", count the points of each bucket in starts[]
 *     SUM      starts[b] becomes the end of bucket b
 *     PLACE    hash again; each point goes before that end, which moves down to the start
 *     SORT     order each bucket; feed the checksum and the shares
 *     DONE
 *
 * Hashing twice costs less than keeping half a million positions aside in between, and the builder
 * needs no memory but the ring's own.  After Knuth, The Art of Computer Programming 3, 5.2 D
 * and 5.2.5.
 *
 * Thread: whoever calls; nothing is shared before ring_builder_finish().
 */

#include "ring/ring.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"
#include "ring/ring_internal.h"

#define CHUNK 64u           /* points hashed at a time: their cache misses overlap */
#define SMALL_BUCKET 24u    /* above this, insertion sort would show */
#define POINT_DIGITS_MAX 20 /* of u64_to_dec() */

enum build_stage { BUILD_COUNT, BUILD_SUM, BUILD_PLACE, BUILD_SORT, BUILD_DONE };

struct ring_builder {
	struct ring *ring; /* owned until finished */
	ring_hash_fn *hash;
	enum build_stage stage;
	uint32_t rank;   /* COUNT, PLACE: the next point is the one with this `number` ... */
	uint32_t number; /* ... of the node of this rank */
	uint32_t bucket; /* SUM, SORT: the next bucket */

	/* SORT */
	uint64_t previous;         /* position of the point before */
	XXH3_state_t *sum;         /* owned: the checksum so far, but for ... */
	uint64_t words[2 * CHUNK]; /* ... these, little endian */
	uint32_t word_count;
};

static int make_room(struct ring *r)
{
	r->bits = 1; /* a shift by 64 has no meaning */
	while ((UINT32_C(1) << r->bits) < r->point_count)
		r->bits++;
	r->bucket_count = UINT32_C(1) << r->bits;
	r->rank_mask = r->bucket_count - 1;

	r->entries = calloc((size_t)r->point_count + 2, sizeof(r->entries[0]));
	r->starts = calloc((size_t)r->bucket_count + 1, sizeof(r->starts[0]));
	if (r->entries == NULL || r->starts == NULL)
		return -ENOMEM;
	r->memory += ((size_t)r->point_count + 2) * sizeof(r->entries[0]) +
		     ((size_t)r->bucket_count + 1) * sizeof(r->starts[0]);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * COUNT and PLACE
 */

/* Positions of the next points, all of one node; 0: no more points. */
static size_t next_positions(
	struct ring_builder *b, uint64_t *ret_positions, size_t max, uint32_t *ret_rank)
{
	uint8_t text[RING_NAME_MAX + 1 + POINT_DIGITS_MAX + 1];
	const struct ring *r = b->ring;
	size_t n = 0;

	if (b->rank == r->owner_count)
		return 0;
	const struct ring_member *m = &r->members[r->node_of_rank[b->rank]];
	memcpy(text, m->name.ptr, m->name.len);
	text[m->name.len] = '#';
	size_t prefix = m->name.len + 1;
	while (n < max && b->number < m->points) {
		size_t digits = u64_to_dec(b->number++, (char *)text + prefix);
		ret_positions[n++] = b->hash(text, prefix + digits);
	}
	*ret_rank = b->rank;
	if (b->number == m->points) {
		b->rank++;
		b->number = 0;
	}
	return n;
}

static void enter(struct ring_builder *b, enum build_stage stage)
{
	b->stage = stage;
	b->rank = 0;
	b->number = 0;
	b->bucket = 0;
}

static size_t step_count(struct ring_builder *b, size_t max)
{
	struct ring *r = b->ring;
	uint64_t positions[CHUNK];
	uint32_t rank;
	size_t n = next_positions(b, positions, max < CHUNK ? max : CHUNK, &rank);

	if (n == 0)
		enter(b, BUILD_SUM);
	for (size_t k = 0; k < n; k++)
		r->starts[positions[k] >> (64 - r->bits)]++;
	return n;
}

static size_t step_sum(struct ring_builder *b, size_t max)
{
	struct ring *r = b->ring;
	size_t n = 0;

	for (; n < max && b->bucket < r->bucket_count; n++, b->bucket++) {
		if (b->bucket > 0)
			r->starts[b->bucket] += r->starts[b->bucket - 1];
	}
	if (b->bucket == r->bucket_count) {
		r->starts[r->bucket_count] = r->point_count;
		enter(b, BUILD_PLACE);
	}
	return n;
}

static size_t step_place(struct ring_builder *b, size_t max)
{
	struct ring *r = b->ring;
	uint64_t positions[CHUNK];
	uint32_t rank;
	size_t n = next_positions(b, positions, max < CHUNK ? max : CHUNK, &rank);

	if (n == 0)
		enter(b, BUILD_SORT);
	for (size_t k = 0; k < n; k++) {
		uint32_t at = --r->starts[positions[k] >> (64 - r->bits)];
		r->entries[at] = (positions[k] << r->bits) | rank;
	}
	return n;
}

/* ------------------------------------------------------------------------------------------------
 * SORT
 */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_entries(uint64_t *entries, size_t n)
{
	if (n > SMALL_BUCKET) { /* not with names that occur: a bucket holds one point on average */
		qsort(entries, n, sizeof(entries[0]), by_value);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		uint64_t entry = entries[i];
		size_t at = i;
		for (; at > 0 && entries[at - 1] > entry; at--)
			entries[at] = entries[at - 1];
		entries[at] = entry;
	}
}

static void sum_flush(struct ring_builder *b)
{
	(void)XXH3_64bits_update(b->sum, b->words, b->word_count * sizeof(b->words[0]));
	b->word_count = 0;
}

static void sum_names(struct ring_builder *b)
{
	const struct ring *r = b->ring;

	for (uint32_t rank = 0; rank < r->owner_count; rank++) {
		struct span name = r->members[r->node_of_rank[rank]].name;
		uint8_t len = (uint8_t)name.len;
		(void)XXH3_64bits_update(b->sum, &len, 1);
		(void)XXH3_64bits_update(b->sum, name.ptr, name.len);
	}
}

/* Points come by in ring order: the checksum takes each, its owner gets the way from the one
 * before. */
static void account(struct ring_builder *b, uint64_t position, uint32_t rank)
{
	struct ring *r = b->ring;

	b->words[b->word_count++] = htole64(position);
	b->words[b->word_count++] = htole64(rank);
	if (b->word_count == ARRAY_LEN(b->words))
		sum_flush(b);

	r->members[r->node_of_rank[rank]].share += (double)(position - b->previous) * 0x1p-64;
	b->previous = position;
}

/* The first point has got the way from 0; what lies behind the last point is its as well. */
static void account_end(struct ring_builder *b)
{
	struct ring *r = b->ring;

	sum_flush(b);
	r->checksum = XXH3_64bits_digest(b->sum);
	if (r->point_count == 0)
		return;
	struct ring_member *m = &r->members[r->node_of_rank[ring_rank(r, 0)]];
	m->share += 1.0 - (double)b->previous * 0x1p-64;
	if (m->share > 1.0) /* rounding */
		m->share = 1.0;
	r->entries[r->point_count] = r->entries[0];
}

static size_t sort_bucket(struct ring_builder *b, uint32_t bucket)
{
	struct ring *r = b->ring;
	uint32_t start = r->starts[bucket];
	uint32_t end = r->starts[bucket + 1];

	sort_entries(&r->entries[start], end - start);
	for (uint32_t i = start; i < end; i++)
		account(b, ring_position(r, bucket, r->entries[i]), ring_rank(r, i));
	return end - start;
}

static size_t step_sort(struct ring_builder *b, size_t max)
{
	size_t n = 0;

	while (n < max && b->bucket < b->ring->bucket_count)
		n += 1 + sort_bucket(b, b->bucket++);
	if (b->bucket == b->ring->bucket_count) {
		account_end(b);
		enter(b, BUILD_DONE);
	}
	return n;
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

int ring_builder_new_hashed(struct ring_builder **ret, const struct ring_node *nodes, size_t n,
	const struct ring_opts *opts, ring_hash_fn *hash)
{
	uint32_t points = opts != NULL ? opts->points : RING_POINTS_DEFAULT;
	int err = -ENOMEM;
	struct ring_builder *b = calloc(1, sizeof(*b));
	if (b == NULL)
		return err;
	b->hash = hash;
	b->ring = calloc(1, sizeof(*b->ring));
	b->sum = XXH3_createState();
	if (b->ring == NULL || b->sum == NULL)
		goto out;
	b->ring->memory = sizeof(*b->ring);
	err = ring_set_members(b->ring, nodes, n, points);
	if (err == 0)
		err = make_room(b->ring);
	if (err != 0)
		goto out;
	(void)XXH3_64bits_reset(b->sum);
	sum_names(b);
	*ret = b;
	return 0;
out:
	ring_builder_free(b);
	return err;
}

int ring_builder_new(struct ring_builder **ret, const struct ring_node *nodes, size_t n,
	const struct ring_opts *opts)
{
	return ring_builder_new_hashed(ret, nodes, n, opts, ring_hash);
}

bool ring_builder_step(struct ring_builder *b, size_t budget)
{
	static size_t (*const steps[])(struct ring_builder *, size_t) = {
		[BUILD_COUNT] = step_count,
		[BUILD_SUM] = step_sum,
		[BUILD_PLACE] = step_place,
		[BUILD_SORT] = step_sort,
	};
	size_t left = budget > 0 ? budget : 1;

	while (b->stage != BUILD_DONE && left > 0) {
		size_t did = steps[b->stage](b, left);
		left -= did < left ? did : left;
	}
	return b->stage != BUILD_DONE;
}

struct ring *ring_builder_finish(struct ring_builder *b)
{
	CHECK(b->stage == BUILD_DONE);
	struct ring *r = b->ring;

	b->ring = NULL;
	ring_builder_free(b);
	return r;
}

void ring_builder_free(struct ring_builder *b)
{
	if (b == NULL)
		return;
	ring_free(b->ring);
	(void)XXH3_freeState(b->sum);
	free(b);
}

int ring_build(
	struct ring **ret, const struct ring_node *nodes, size_t n, const struct ring_opts *opts)
{
	struct ring_builder *b;
	int err = ring_builder_new(&b, nodes, n, opts);
	if (err != 0)
		return err;
	while (ring_builder_step(b, SIZE_MAX))
		;
	*ret = ring_builder_finish(b);
	return 0;
}
