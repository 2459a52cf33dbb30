/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * A finished ring: what it says about itself, and its end.  build.c makes one, owner.c asks it.
 */

#include "ring/ring.h"

#include <stdlib.h>

#include "base/check.h"
#include "ring/ring_internal.h"

void ring_free(struct ring *r)
{
	if (r == NULL)
		return;
	free(r->entries);
	free(r->starts);
	free(r->node_of_rank);
	free(r->members);
	free(r->names);
	free(r);
}

size_t ring_node_count(const struct ring *r)
{
	return r->node_count;
}

size_t ring_point_count(const struct ring *r)
{
	return r->point_count;
}

struct span ring_node_name(const struct ring *r, uint32_t node)
{
	CHECK(node < r->node_count);
	return r->members[node].name;
}

uint32_t ring_node_weight(const struct ring *r, uint32_t node)
{
	CHECK(node < r->node_count);
	return r->members[node].weight_milli;
}

double ring_share(const struct ring *r, uint32_t node)
{
	CHECK(node < r->node_count);
	return r->members[node].share;
}

size_t ring_memory(const struct ring *r)
{
	return r->memory;
}

uint64_t ring_checksum(const struct ring *r)
{
	return r->checksum;
}
