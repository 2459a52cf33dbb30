/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/metrics/metrics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/*
 * Blocks are aligned to cache lines and fill whole ones: two workers never write into one line.
 */

static_assert(sizeof(struct metric_block) % CACHE_LINE == 0, "a block fills whole lines");
static_assert(sizeof(struct node_block) % CACHE_LINE == 0, "a block fills whole lines");

static void *zeroed(size_t n, size_t size)
{
	CHECK(n > 0 && n <= SIZE_MAX / size);
	void *p = aligned_alloc(CACHE_LINE, n * size);
	CHECK(p != NULL);
	return memset(p, 0, n * size);
}

struct metric_block *metric_block_new(void)
{
	return zeroed(1, sizeof(struct metric_block));
}

void metric_block_free(struct metric_block *b)
{
	free(b);
}

struct node_block *node_blocks_new(size_t n)
{
	return zeroed(n, sizeof(struct node_block));
}

void node_blocks_free(struct node_block *b)
{
	free(b);
}

uint64_t metric_sum(struct metric_block *const *blocks, size_t n, enum metric m)
{
	uint64_t sum = 0;

	CHECK(m < METRIC_COUNT);
	for (size_t i = 0; i < n; i++)
		sum += atomic_load_explicit(&blocks[i]->v[m], memory_order_relaxed);
	return sum;
}

uint64_t node_metric_sum(const struct node_block *blocks, size_t n, enum node_metric m)
{
	uint64_t sum = 0;

	CHECK(m < NODE_METRIC_COUNT);
	for (size_t i = 0; i < n; i++)
		sum += atomic_load_explicit(&blocks[i].v[m], memory_order_relaxed);
	return sum;
}
