/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/rand.h"

/* 32 bits of spread over all magnitudes, so that every bucket is met. */
static uint64_t any_value(struct rng *r)
{
	return rng_u64(r) >> rng_below(r, 64);
}

static void buckets_tile_the_numbers(void **state)
{
	(void)state;
	assert_int_equal(hist_bucket(0), 0);
	for (unsigned b = 0; b < HIST_BUCKETS - 1; b++) {
		uint64_t upper = hist_upper(b);
		assert_int_equal(hist_bucket(upper), b);
		assert_int_equal(hist_bucket(upper + 1), b + 1);
	}
	assert_int_equal(hist_upper(HIST_BUCKETS - 1), UINT64_MAX);
	assert_int_equal(hist_upper(HIST_BUCKETS - 2), (UINT64_C(1) << HIST_MAX_BITS) - 1);
	assert_int_equal(hist_bucket(UINT64_C(1) << HIST_MAX_BITS), HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void a_bucket_is_at_most_an_eighth_wide(void **state)
{
	(void)state;
	for (unsigned b = 1; b < HIST_BUCKETS - 1; b++) {
		uint64_t lower = hist_upper(b - 1) + 1;
		uint64_t width = hist_upper(b) - lower + 1;
		assert_true(width == 1 || width * 8 <= lower);
	}
}

static void upper_bounds_hold_for_any_value(void **state)
{
	struct rng r;
	(void)state;
	rng_seed(&r, 3);
	for (int i = 0; i < 200000; i++) {
		uint64_t v = any_value(&r);
		unsigned b = hist_bucket(v);
		assert_true(b < HIST_BUCKETS);
		assert_true(hist_upper(b) >= v);
		assert_true(b == 0 || hist_upper(b - 1) < v);
	}
}

static void an_empty_histogram_has_no_quantile(void **state)
{
	static struct hist h;
	(void)state;
	assert_int_equal(hist_total(&h), 0);
	assert_int_equal(hist_quantile(&h, 0.5), 0);
	assert_int_equal(hist_quantile(&h, 1), 0);
}

static void one_value_is_every_quantile(void **state)
{
	static const double qs[] = {1e-300, 0.001, 0.5, 0.99, 1, 2, -1, 0, (double)NAN};
	static struct hist h;
	(void)state;
	hist_add(&h, 1234);
	for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++)
		assert_int_equal(hist_quantile(&h, qs[i]), hist_upper(hist_bucket(1234)));
}

static void quantiles_of_small_numbers_are_exact(void **state)
{
	static const struct {
		double q;
		uint64_t want;
	} rows[] = {
		{0.01, 0},
		{0.07, 0},
		{0.1, 0},
		{0.100001, 1},
		{0.5, 4},
		{0.51, 5},
		{0.55, 5},
		{0.7, 6},
		{0.71, 7},
		{0.9, 8},
		{0.91, 9},
		{0.999, 9},
		{1, 9},
	};
	static struct hist h;
	(void)state;
	for (uint64_t v = 0; v < 10; v++) /* ten of each of 0..9: a bucket each */
		for (int n = 0; n < 10; n++)
			hist_add(&h, v);
	assert_int_equal(hist_total(&h), 100);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(hist_quantile(&h, rows[i].q), rows[i].want);
}

/* 0.07 * 100 is above 7 in binary: the rank must still be 7. */
static void ranks_do_not_suffer_from_rounding(void **state)
{
	(void)state;
	for (unsigned percent = 1; percent <= 100; percent++) {
		struct hist h;
		memset(&h, 0, sizeof(h));
		for (unsigned i = 0; i < percent; i++)
			hist_add(&h, 1);
		for (unsigned i = percent; i < 100; i++)
			hist_add(&h, 5);
		assert_int_equal(hist_quantile(&h, percent / 100.0), 1);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void quantiles_agree_with_a_sorted_array(void **state)
{
	enum { N = 5000 };
	static uint64_t values[N];
	static struct hist h;
	struct rng r;
	(void)state;
	rng_seed(&r, 11);
	for (int i = 0; i < N; i++) {
		values[i] = any_value(&r);
		hist_add(&h, values[i]);
	}
	qsort(values, N, sizeof(values[0]), by_value);
	for (unsigned rank = 1; rank <= N; rank++) {
		uint64_t want = hist_upper(hist_bucket(values[rank - 1]));
		assert_int_equal(hist_quantile(&h, (double)rank / N), want);
	}
}

static void merging_equals_adding_to_one(void **state)
{
	static struct hist parts[3];
	static struct hist all;
	static struct hist merged;
	struct rng r;
	(void)state;
	rng_seed(&r, 5);
	for (int i = 0; i < 30000; i++) {
		uint64_t v = any_value(&r) >> 8;
		hist_add(&parts[i % 3], v);
		hist_add(&all, v);
	}
	for (int i = 0; i < 3; i++)
		hist_merge(&merged, &parts[i]);
	for (unsigned b = 0; b < HIST_BUCKETS; b++)
		assert_int_equal(merged.count[b], all.count[b]);
	assert_int_equal(merged.sum_us, all.sum_us);
	assert_int_equal(hist_total(&merged), 30000);
}

static struct hist shared;
static _Atomic bool stop;

static void *add_until_told(void *arg)
{
	uint64_t *ret_added = arg;
	for (uint64_t i = 0; !atomic_load(&stop); i++) {
		hist_add(&shared, i & 0xfffff);
		*ret_added = i + 1;
	}
	return NULL;
}

static void readers_may_look_while_one_thread_adds(void **state)
{
	uint64_t added = 0;
	uint64_t last = 0;
	pthread_t writer;
	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, add_until_told, &added), 0);
	bool monotone = true;
	for (int i = 0; i < 2000; i++) {
		static struct hist copy;
		memset(&copy, 0, sizeof(copy));
		hist_merge(&copy, &shared);
		uint64_t total = hist_total(&copy);
		monotone &= total >= last && hist_quantile(&shared, 0.99) <= 1u << 20;
		last = total;
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_true(monotone);
	assert_int_equal(hist_total(&shared), added);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_tile_the_numbers),
		cmocka_unit_test(a_bucket_is_at_most_an_eighth_wide),
		cmocka_unit_test(upper_bounds_hold_for_any_value),
		cmocka_unit_test(an_empty_histogram_has_no_quantile),
		cmocka_unit_test(one_value_is_every_quantile),
		cmocka_unit_test(quantiles_of_small_numbers_are_exact),
		cmocka_unit_test(ranks_do_not_suffer_from_rounding),
		cmocka_unit_test(quantiles_agree_with_a_sorted_array),
		cmocka_unit_test(merging_equals_adding_to_one),
		cmocka_unit_test(readers_may_look_while_one_thread_adds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
