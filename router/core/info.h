/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * INFO: the router's own numbers and, where they are at hand, those of the pool's nodes, in Redis's
 * sections and under Redis's names.  What a router can't say is left out rather than made up.
 */

#include <stdint.h>
#include <stdio.h>

#include "router/core/info_sum.h"

struct worker_pool;

/* The sections that INFO's arguments ask for, a bit each; 0: none that exists. */
uint32_t info_sections(const struct span *args, size_t n);

/* What the nodes are to be asked for these sections: one of theirs, or "default"; NULL: nothing. */
const char *info_node_section(uint32_t bits);

/* Their text.  `nodes` may be of no node at all. */
void info_print(FILE *out, struct worker_pool *p, uint32_t bits, const struct info_sum *nodes);
