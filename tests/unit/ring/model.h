/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The ring once more, as simple as can be, for tests to compare with: a list of points in no order;
 * the owner is found by looking at each.  Shares no code with ring/.
 */

#include <stddef.h>
#include <stdint.h>

#include "ring/ring_internal.h"

#define MODEL_NODES_MAX 16u
#define MODEL_POINTS_MAX 512u

struct model {
	const struct ring_node *nodes; /* borrowed */
	size_t n;
	struct model_point {
		uint64_t position;
		uint32_t node;
	} points[MODEL_POINTS_MAX];
	size_t point_count;
};

void model_init(struct model *m, const struct ring_node *nodes, size_t n, uint32_t points,
	ring_hash_fn *hash);

/* Owner of a position among the nodes that are not excluded (one byte each; NULL: none is), or
 * RING_NONE. */
uint32_t model_owner(const struct model *m, uint64_t position, const uint8_t *excluded);

/* Owner, heir, heir of the heir ... as ring_successors(). */
size_t model_successors(const struct model *m, uint64_t position, uint32_t *ret, size_t max);

/* XXH3 as the library has it. */
uint64_t hash_xxh3(const void *bytes, size_t len);
