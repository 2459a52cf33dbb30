/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * How many requests may be sent a second time: a share of those of the last ten seconds, and at
 * least ten, so that retries help when one connection breaks and do not double the load when a node
 * is ill.  One per worker and pool.  Pure: the time is passed in.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define RETRY_SECONDS 10
#define RETRY_AT_LEAST 10

struct retry_budget {
	uint64_t second_ns; /* start of the present second; 0: never used */
	uint32_t now;       /* its place in the arrays */
	uint32_t requests[RETRY_SECONDS];
	uint32_t retries[RETRY_SECONDS];
};

/* A request was sent. */
static inline void retry_budget_count(struct retry_budget *b)
{
	b->requests[b->now]++;
}

/* Time goes on; call it now and then. */
void retry_budget_advance(struct retry_budget *b, uint64_t now_ns);

/* One more retry, if there is one left. */
bool retry_budget_take(struct retry_budget *b, double share) MUST_CHECK;
