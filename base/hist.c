/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "base/hist.h"

/*
 * Log-linear buckets: values below 8 have a bucket each; every power of two above is cut into 8
 * equal steps, so a bucket is never wider than an eighth of its smallest value.  A bucket's number
 * is (exponent, step) read as one number, which keeps the numbers in the order of the values and
 * makes finding one a shift and a mask.
 */

#include "base/check.h"

#define SUB_COUNT (1u << HIST_SUB_BITS)

static uint64_t load(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

/* Only the owner stores, so that nothing is lost between the load and the store. */
static void add(_Atomic uint64_t *v, uint64_t n)
{
	atomic_store_explicit(v, load(v) + n, memory_order_relaxed);
}

uint64_t hist_upper(unsigned bucket)
{
	CHECK(bucket < HIST_BUCKETS);
	if (bucket == HIST_BUCKETS - 1)
		return UINT64_MAX;
	if (bucket < SUB_COUNT)
		return bucket;
	unsigned shift = (bucket >> HIST_SUB_BITS) - 1;
	uint64_t step = SUB_COUNT + (bucket & (SUB_COUNT - 1));
	return ((step + 1) << shift) - 1;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	for (unsigned b = 0; b < HIST_BUCKETS; b++)
		add(&into->count[b], load(&from->count[b]));
	add(&into->sum_us, load(&from->sum_us));
}

uint64_t hist_total(const struct hist *h)
{
	uint64_t total = 0;

	for (unsigned b = 0; b < HIST_BUCKETS; b++)
		total += load(&h->count[b]);
	return total;
}

/*
 * The smallest whole rank that is not below q * total.  0.07 * 100 is a little above 7 in binary,
 * and must not become 8: a relative error of the size of rounding is forgiven.
 */
static uint64_t rank_of(double q, uint64_t total)
{
	if (!(q > 0))
		return 1;
	if (q >= 1)
		return total;
	double exact = q * (double)total;
	uint64_t rank = (uint64_t)exact;
	if ((double)rank < exact * (1 - 1e-12))
		rank++;
	return rank == 0 ? 1 : rank;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t total = hist_total(h);
	uint64_t seen = 0;

	if (total == 0)
		return 0;
	uint64_t rank = rank_of(q, total);
	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		seen += load(&h->count[b]); /* counts only grow: the rank is found even while
					       written to */
		if (seen >= rank)
			return hist_upper(b);
	}
	return UINT64_MAX;
}
