/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/upstream/retry.h"

#include <string.h>

#include "base/clock.h"

void retry_budget_advance(struct retry_budget *b, uint64_t now_ns)
{
	if (b->second_ns == 0 || now_ns - b->second_ns >= RETRY_SECONDS * NS_PER_S) {
		memset(b, 0, sizeof(*b));
		b->second_ns = now_ns;
		return;
	}
	while (now_ns - b->second_ns >= NS_PER_S) {
		b->second_ns += NS_PER_S;
		b->now = (b->now + 1) % RETRY_SECONDS;
		b->requests[b->now] = 0;
		b->retries[b->now] = 0;
	}
}

bool retry_budget_take(struct retry_budget *b, double share)
{
	uint64_t requests = 0;
	uint64_t retries = 0;
	for (unsigned i = 0; i < RETRY_SECONDS; i++) {
		requests += b->requests[i];
		retries += b->retries[i];
	}
	double allowed = (double)requests * share;
	if (allowed < RETRY_AT_LEAST)
		allowed = RETRY_AT_LEAST;
	if ((double)retries + 1 > allowed)
		return false;
	b->retries[b->now]++;
	return true;
}
