/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A small seedable generator (xorshift64*, Vigna 2016), one per thread or per test.  Not for
 * secrets.
 */

#include <stdint.h>

struct rng {
	uint64_t s; /* never 0 */
};

static inline void rng_seed(struct rng *r, uint64_t seed)
{
	r->s = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	if (r->s == 0)
		r->s = 1;
}

static inline uint64_t rng_u64(struct rng *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * UINT64_C(2685821657736338717);
}

/* Uniform enough in [0, n), n > 0. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)(((rng_u64(r) >> 32) * n) >> 32);
}

/* In [0, 1). */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1.0p-53;
}
