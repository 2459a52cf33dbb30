/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The ring: which node owns a key.  Pure: no I/O, no clock, no threads, no logging.
 *
 * Native mode.  A node's points depend on its own name and weight only: floor(points * weight +
 * 0.5) positions XXH3_64bits(name "#" j), seed 0, j in decimal from 0.  A weight of 0 owns nothing;
 * any other owns at least one point.  A key's position is XXH3_64bits of the key or of its hash
 * tag.  Its owner is the node of the first point at or after that position, wrapping round; of
 * equal positions the smaller name in byte order comes first.
 *
 * So after any change a key whose old owner did not leave or shrink and whose new owner did not
 * join or grow keeps its owner (consistent hashing: Karger et al., STOC 1997).
 *
 * Ejection is a skip set over the ring of all members, never a rebuild: a key of an ejected node
 * goes to the next point clockwise of a node that is not; nobody else's keys move.
 *
 * Lookup is by bucket index: the top bits of the position choose a bucket, which holds the first
 * point at or after its start; a short scan follows.  ring_internal.h draws it.
 *
 * A built ring is immutable: any number of threads may read it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define RING_WEIGHT_UNIT 1000u   /* weights travel in thousandths: 1.5 is 1500 */
#define RING_WEIGHT_MAX 1000000u /* 1000.000 */
#define RING_NAME_MAX 128
#define RING_NODES_MAX 65535
#define RING_POINTS_DEFAULT 512u         /* per node of weight 1 */
#define RING_POINTS_MAX 100000u          /* per node of weight 1 */
#define RING_POINTS_TOTAL_MAX (1u << 26) /* of a whole ring: 65,535 nodes of 512 points fit */
#define RING_NONE UINT32_MAX

struct ring_node {
	struct span name;      /* 1 .. RING_NAME_MAX bytes, unique; copied */
	uint32_t weight_milli; /* thousandths, 0 .. RING_WEIGHT_MAX */
};

struct ring_opts {
	uint32_t points; /* per node of weight 1: 1 .. RING_POINTS_MAX */
};

struct ring;

/*
 * Builds a ring of `n` nodes; node i is known by its index i from here on.  n may be 0 (nothing is
 * owned).  opts == NULL: RING_POINTS_DEFAULT.  0, RW_EDUPLICATE (two nodes with one name),
 * RW_ERANGE (points, weight, name length, too many nodes or points) or -ENOMEM.
 */
int ring_build(struct ring **ret, const struct ring_node *nodes, size_t n,
	const struct ring_opts *opts) MUST_CHECK;

/*
 * The same in slices, for a thread that also has other work: ring_builder_step() works for about
 * `budget` points and returns true while there is more to do.  A point is touched four times; a
 * budget of 32,768 takes well below a millisecond.  ring_builder_new() copies and sorts the names
 * and keeps nothing of `nodes`.  ring_builder_finish() may be called once step returned false; the
 * builder is gone afterwards.  ring_builder_free() abandons it (NULL is allowed).
 */
struct ring_builder;
int ring_builder_new(struct ring_builder **ret, const struct ring_node *nodes, size_t n,
	const struct ring_opts *opts) MUST_CHECK;
bool ring_builder_step(struct ring_builder *b, size_t budget);
struct ring *ring_builder_finish(struct ring_builder *b);
void ring_builder_free(struct ring_builder *b);

/* NULL is allowed. */
void ring_free(struct ring *r);

/* Position of a key (the caller has applied the hash tag). */
uint64_t ring_hash(const void *key, size_t len);

/* Owner's index of a position, or RING_NONE when nobody owns anything. */
uint32_t ring_owner(const struct ring *r, uint64_t position);

/*
 * Distinct nodes clockwise from `position`, the owner first: the order in which they inherit the
 * key when those before them go.  Writes up to `max` indices and returns how many it wrote: fewer
 * than `max` when no more nodes own points.
 */
size_t ring_successors(const struct ring *r, uint64_t position, uint32_t *ret, size_t max);

size_t ring_node_count(const struct ring *r);
size_t ring_point_count(const struct ring *r);
struct span ring_node_name(const struct ring *r, uint32_t node); /* lives as long as the ring */
uint32_t ring_node_weight(const struct ring *r, uint32_t node);  /* thousandths */
size_t ring_memory(const struct ring *r);                        /* bytes */

/*
 * Routers with equal checksums route equally, whatever the order of their lists: XXH3_64bits, seed
 * 0, over first each node that owns points, in byte order of the names, as one byte of length and
 * the name; then each point in ring order as position and number of its node in that order, both 64
 * bits, little endian.
 */
uint64_t ring_checksum(const struct ring *r);

/* Share of all positions that a node owns (skips ignored), in [0, 1].  O(1). */
double ring_share(const struct ring *r, uint32_t node);

/* ------------------------------------------------------------------------------------------------
 * Ejected nodes: an overlay on a ring.  Immutable too, made anew for each change.
 */
struct ring_skip;

/*
 * `ejected`: one byte per node, not 0 = ejected.  All nodes ejected is allowed: then nobody owns
 * anything.  The skip set belongs to this ring alone, which must outlive it.  0 or -ENOMEM;
 * O(points).
 */
int ring_skip_build(
	struct ring_skip **ret, const struct ring *r, const uint8_t *ejected) MUST_CHECK;
void ring_skip_free(struct ring_skip *s); /* NULL is allowed */

/* Like ring_owner(), with the ejected passed over.  skip == NULL: nobody is ejected.  O(1). */
uint32_t ring_owner_skip(const struct ring *r, const struct ring_skip *skip, uint64_t position);

/* ------------------------------------------------------------------------------------------------
 * Hash tags: with tag "{}" the part of the key between the first '{' and the next '}' when it is
 * not empty; else the whole key.  tag: two characters (they may be equal), or an empty string: no
 * tags.
 */
struct span ring_key_tag(struct span key, const char *tag);

/* ------------------------------------------------------------------------------------------------
 * Difference of two rings: the arcs of positions whose owner changes, exact and in ascending order.
 */
struct ring_arc {
	uint64_t first; /* first .. last, both included; an arc that wraps is two */
	uint64_t last;
	uint32_t before; /* index in the old ring, RING_NONE: nobody */
	uint32_t after;  /* index in the new ring, RING_NONE: nobody */
};

struct ring_diff {
	struct ring_arc *arcs; /* owned */
	size_t n;
	double moved; /* share of all positions, 0 .. 1 */
};

/*
 * Nodes are the same when their names are.  Either side may have a skip set (or NULL). Neighbouring
 * arcs with the same two owners are one.  0 or -ENOMEM (then *ret is untouched).
 */
int ring_diff(struct ring_diff *ret, const struct ring *from, const struct ring_skip *from_skip,
	const struct ring *to, const struct ring_skip *to_skip) MUST_CHECK;
void ring_diff_fini(struct ring_diff *d);

/* The arc that holds a position, or NULL when it does not move.  O(log n). */
const struct ring_arc *ring_diff_find(const struct ring_diff *d, uint64_t position);
