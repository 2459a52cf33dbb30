/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Latency histogram: log-linear buckets, mergeable, 8 steps per power of two (at most 12.5 % wide).
 * Values are microseconds; 0 .. 2^26 us (67 s), larger ones count in the last bucket.
 *
 * One thread adds, any thread may read a block while it is written to: every field is a relaxed
 * atomic, so a reader sees each number whole but not all of them of one instant.
 */

#include <stdatomic.h>
#include <stdint.h>

#define HIST_SUB_BITS 3
#define HIST_MAX_BITS 26
#define HIST_BUCKETS (((HIST_MAX_BITS - HIST_SUB_BITS + 1) << HIST_SUB_BITS) + 1)

struct hist {
	_Atomic uint64_t count[HIST_BUCKETS];
	_Atomic uint64_t sum_us;
};

/* Bucket of a value. */
static inline unsigned hist_bucket(uint64_t us)
{
	if (us < (1u << HIST_SUB_BITS))
		return (unsigned)us;
	unsigned top = 63u - (unsigned)__builtin_clzll(us);
	if (top >= HIST_MAX_BITS)
		return HIST_BUCKETS - 1;
	unsigned shift = top - HIST_SUB_BITS;
	unsigned step = (unsigned)(us >> shift) & ((1u << HIST_SUB_BITS) - 1);
	return ((shift + 1) << HIST_SUB_BITS) + step;
}

/* The largest value that a bucket holds, in us; UINT64_MAX for the last. */
uint64_t hist_upper(unsigned bucket);

/* Owner thread only: a plain load and store, no locked instruction. */
static inline void hist_add(struct hist *h, uint64_t us)
{
	_Atomic uint64_t *c = &h->count[hist_bucket(us)];
	uint64_t count = atomic_load_explicit(c, memory_order_relaxed);
	uint64_t sum = atomic_load_explicit(&h->sum_us, memory_order_relaxed);
	atomic_store_explicit(c, count + 1, memory_order_relaxed);
	atomic_store_explicit(&h->sum_us, sum + us, memory_order_relaxed);
}

/* Adds every count of `from` to `into` (which nobody else writes).  Any thread may own `from`. */
void hist_merge(struct hist *into, const struct hist *from);

/* All values. */
uint64_t hist_total(const struct hist *h);

/* Upper bound of the bucket that holds the q-th quantile (0 < q <= 1); 0 when empty. */
uint64_t hist_quantile(const struct hist *h, double q);
