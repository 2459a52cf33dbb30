/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A topology: which nodes a pool has, and the ring over them, at one (epoch, phase).  Made by a
 * source of membership (the static one here) on the control thread, never changed afterwards,
 * shared by all workers, freed with the last reference.
 *
 * A node is a shard: a name, which is its identity on the ring, and the address of its primary.
 * Where the address leads is not the ring's business: changing it moves nothing.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/compiler.h"
#include "ring/ring.h"

struct topology_node {
	char *name; /* owned */
	struct addr address;
	uint32_t weight_milli;
};

struct topology {
	_Atomic uint32_t refs;
	uint64_t epoch; /* grows with every change */
	uint32_t phase; /* of an ownership change; 0: stable */
	char hash_tag[3];
	struct ring *ring;      /* owned; over all members, in the order of `nodes` */
	struct ring_skip *skip; /* owned; NULL: nobody is ejected */
	size_t nnodes;
	struct topology_node *nodes; /* owned */
};

/*
 * Builds one; names and addresses are copied.  0 or what ring_build() says.  The caller holds
 * the first reference.
 */
struct topology_spec {
	uint64_t epoch;
	uint32_t phase;
	uint32_t points;
	const char *hash_tag; /* "" or two characters */
	const struct topology_node *nodes;
	size_t nnodes;
};
int topology_new(struct topology **ret, const struct topology_spec *spec) MUST_CHECK;

/* Any thread. */
struct topology *topology_ref(struct topology *t);
void topology_unref(struct topology *t);

/* Owner of a key: index of a node, or RING_NONE. */
static inline uint32_t topology_owner(const struct topology *t, struct span key)
{
	struct span tag = ring_key_tag(key, t->hash_tag);
	return ring_owner_skip(t->ring, t->skip, ring_hash(tag.ptr, tag.len));
}
