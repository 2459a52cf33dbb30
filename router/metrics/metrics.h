/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Numbers that say what the router does.  Declared once in metric_list.h (for the whole router),
 * node_metric_list.h (per node) and histogram_list.h (latencies); /metrics, INFO and
 * docs/metrics.md derive from the tables.
 *
 * Each worker owns a block and adds to it with a plain load and store (relaxed: no locked
 * instruction); the control thread reads all blocks and sums.  Blocks of nodes hang on the server
 * they count for, one per worker, so that they grow with the fleet and go with it.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/hist.h"
#include "router/wire/cmd.h"

enum metric {
#define X(id, kind, name, help) id,
#include "router/metrics/metric_list.h"
#undef X
	METRIC_COUNT
};

enum node_metric {
#define X(id, kind, name, help) id,
#include "router/metrics/node_metric_list.h"
#undef X
	NODE_METRIC_COUNT
};

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

/* One per worker, and one for the control thread. */
struct metric_block {
	alignas(CACHE_LINE) _Atomic uint64_t v[METRIC_COUNT];
	struct hist family[CMD_FAMILY_COUNT]; /* from a request wholly read to its reply complete */
};

/* One per worker and node. */
struct node_block {
	alignas(CACHE_LINE) _Atomic uint64_t v[NODE_METRIC_COUNT];
	struct hist latency; /* from the request wholly read to the node's reply complete */
};

/* Zeroed, aligned; abort when out of memory.  n > 0. */
struct metric_block *metric_block_new(void);
void metric_block_free(struct metric_block *b);
struct node_block *node_blocks_new(size_t n);
void node_blocks_free(struct node_block *b);

/* Owner thread only.  Gauges go down by adding (uint64_t)-1. */
static inline void metric_add(struct metric_block *b, enum metric m, uint64_t n)
{
	atomic_store_explicit(&b->v[m], atomic_load_explicit(&b->v[m], memory_order_relaxed) + n,
		memory_order_relaxed);
}

static inline void node_metric_add(struct node_block *b, enum node_metric m, uint64_t n)
{
	atomic_store_explicit(&b->v[m], atomic_load_explicit(&b->v[m], memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* Sum of one number over blocks.  Any thread. */
uint64_t metric_sum(struct metric_block *const *blocks, size_t n, enum metric m);
uint64_t node_metric_sum(const struct node_block *blocks, size_t n, enum node_metric m);

/* A node as /metrics shows it. */
struct metric_node {
	const char *pool;                /* borrowed */
	const char *node;                /* borrowed */
	const char *address;             /* borrowed */
	const struct node_block *blocks; /* `workers` of them, borrowed */
	size_t workers;
};

/*
 * Prometheus text format 0.0.4 of everything.  Names begin with ringway_.  Families and nodes
 * without a sample have no histogram.  No two nodes have the same pool, node and address.  Any
 * thread; whether writing worked is ferror()'s to say.
 */
void metrics_print(FILE *out, struct metric_block *const *blocks, size_t nblocks,
	const struct metric_node *nodes, size_t nnodes);
