/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/unit/ring/model.h"

#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

uint64_t hash_xxh3(const void *bytes, size_t len)
{
	return XXH3_64bits(bytes, len);
}

/* Rounds halves up: 2 * points * weight + 1, halved. */
static uint64_t rounded(uint64_t points, uint64_t weight_milli)
{
	uint64_t doubled = (2 * points * weight_milli + 1000) / 2000;

	return weight_milli > 0 && doubled == 0 ? 1 : doubled;
}

void model_init(struct model *m, const struct ring_node *nodes, size_t n, uint32_t points,
	ring_hash_fn *hash)
{
	char text[RING_NAME_MAX + 16];

	m->nodes = nodes;
	m->n = n;
	m->point_count = 0;
	for (uint32_t node = 0; node < n; node++) {
		size_t len = nodes[node].name.len;
		uint64_t own = rounded(points, nodes[node].weight_milli);
		memcpy(text, nodes[node].name.ptr, len);
		for (uint64_t j = 0; j < own; j++) {
			int more = snprintf(text + len, sizeof(text) - len, "#%ju", (uintmax_t)j);
			if (m->point_count == MODEL_POINTS_MAX)
				abort();
			m->points[m->point_count++] =
				(struct model_point){hash(text, len + (size_t)more), node};
		}
	}
}

/* Unsigned bytes; what is a prefix comes first. */
static bool name_before(struct span a, struct span b)
{
	size_t i = 0;

	while (i < a.len && i < b.len && a.ptr[i] == b.ptr[i])
		i++;
	if (i == a.len || i == b.len)
		return a.len < b.len;
	return a.ptr[i] < b.ptr[i];
}

uint32_t model_owner(const struct model *m, uint64_t position, const uint8_t *excluded)
{
	const struct model_point *best = NULL;

	for (size_t i = 0; i < m->point_count; i++) {
		const struct model_point *p = &m->points[i];
		if (excluded != NULL && excluded[p->node])
			continue;
		/* How far clockwise: 64-bit arithmetic wraps as the ring does. */
		uint64_t way = p->position - position;
		uint64_t shortest = best != NULL ? best->position - position : 0;
		if (best == NULL || way < shortest ||
			(way == shortest &&
				name_before(m->nodes[p->node].name, m->nodes[best->node].name)))
			best = p;
	}
	return best != NULL ? best->node : RING_NONE;
}

size_t model_successors(const struct model *m, uint64_t position, uint32_t *ret, size_t max)
{
	uint8_t seen[MODEL_NODES_MAX] = {0};
	size_t n = 0;

	while (n < max) {
		uint32_t node = model_owner(m, position, seen);
		if (node == RING_NONE)
			break;
		seen[node] = 1;
		ret[n++] = node;
	}
	return n;
}
