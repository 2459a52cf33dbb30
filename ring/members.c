/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * The nodes of a ring: input checked, names copied, points counted, ranks given.  The first part of
 * building; a ring that fails here is only freed.
 */

#include "ring/ring.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "ring/ring_internal.h"

static uint64_t points_of(const struct ring_node *node, uint32_t points)
{
	/* floor(points * weight + 0.5), in thousandths: exact, the same on every machine. */
	uint64_t n =
		((uint64_t)points * node->weight_milli + RING_WEIGHT_UNIT / 2) / RING_WEIGHT_UNIT;

	return n == 0 && node->weight_milli > 0 ? 1 : n;
}

static int check_nodes(const struct ring_node *nodes, size_t n, uint32_t points, size_t *ret_bytes)
{
	size_t total = 0;
	size_t bytes = 0;

	if (n > RING_NODES_MAX || points == 0 || points > RING_POINTS_MAX)
		return RW_ERANGE;
	for (size_t i = 0; i < n; i++) {
		const struct ring_node *node = &nodes[i];
		if (node->name.len == 0 || node->name.len > RING_NAME_MAX ||
			node->weight_milli > RING_WEIGHT_MAX)
			return RW_ERANGE;
		uint64_t own = points_of(node, points);
		if (!fits(total, own, RING_POINTS_TOTAL_MAX))
			return RW_ERANGE;
		total += own;
		bytes += node->name.len;
	}
	*ret_bytes = bytes;
	return 0;
}

static int copy_nodes(struct ring *r, const struct ring_node *nodes, size_t n, uint32_t points)
{
	size_t bytes = 0;
	int err = check_nodes(nodes, n, points, &bytes);
	if (err != 0)
		return err;

	r->members = calloc(n + 1, sizeof(r->members[0]));
	r->names = malloc(bytes + 1);
	if (r->members == NULL || r->names == NULL)
		return -ENOMEM;
	r->memory += (n + 1) * sizeof(r->members[0]) + bytes + 1;
	uint8_t *name = r->names;
	for (size_t i = 0; i < n; i++) {
		memcpy(name, nodes[i].name.ptr, nodes[i].name.len);
		r->members[i] = (struct ring_member){
			.name = span_of(name, nodes[i].name.len),
			.weight_milli = nodes[i].weight_milli,
			.points = (uint32_t)points_of(&nodes[i], points),
		};
		r->point_count += r->members[i].points;
		name += nodes[i].name.len;
	}
	r->node_count = (uint32_t)n;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct ring_member *const *x = a;
	const struct ring_member *const *y = b;

	return span_cmp((*x)->name, (*y)->name);
}

/* Gives those with points their ranks. */
static int rank_sorted(struct ring *r, struct ring_member *const *sorted)
{
	for (uint32_t i = 0; i < r->node_count; i++) {
		if (i > 0 && span_eq(sorted[i - 1]->name, sorted[i]->name))
			return RW_EDUPLICATE;
		if (sorted[i]->points == 0)
			continue;
		r->node_of_rank[r->owner_count++] = (uint16_t)(sorted[i] - r->members);
	}
	return 0;
}

static int rank_nodes(struct ring *r)
{
	size_t n = r->node_count;
	int err = -ENOMEM;
	struct ring_member **sorted = calloc(n + 1, sizeof(struct ring_member *));
	r->node_of_rank = calloc(n + 1, sizeof(r->node_of_rank[0]));
	if (sorted == NULL || r->node_of_rank == NULL)
		goto out;
	r->memory += (n + 1) * sizeof(r->node_of_rank[0]);
	for (size_t i = 0; i < n; i++)
		sorted[i] = &r->members[i];
	qsort(sorted, n, sizeof(struct ring_member *), by_name);
	err = rank_sorted(r, sorted);
out:
	free(sorted);
	return err;
}

int ring_set_members(struct ring *r, const struct ring_node *nodes, size_t n, uint32_t points)
{
	int err = copy_nodes(r, nodes, n, points);

	return err != 0 ? err : rank_nodes(r);
}
