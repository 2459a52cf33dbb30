/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/* Between info.c (the sections, and those about the router) and info_nodes.c (those about the nodes). */

#include <stdio.h>

#include "router/core/info.h"
#include "router/core/stats.h"
#include "router/metrics/metrics.h"

struct router_facts;
struct worker;

/* What the printers of sections get. */
struct info {
	FILE *out;
	const struct worker_pool *pool;
	const struct worker *worker;
	const struct router_facts *facts;
	const struct info_sum *nodes;
};

/* A line: name, colon, value. */
void info_put(const struct info *i, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
void info_put_number(const struct info *i, const char *name, uint64_t n);

/* Of all workers. */
uint64_t info_metric(const struct info *i, enum metric m);
/* Counts of every worker; to be freed. */
const struct stats **info_stats(const struct info *i);

void info_print_memory(const struct info *i);
void info_print_persistence(const struct info *i);
void info_print_stats(const struct info *i);
void info_print_keyspace(const struct info *i);
