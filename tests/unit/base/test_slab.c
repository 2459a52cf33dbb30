/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "base/slab.h"
#include "tests/unit/base/child.h"

#define MANY 20000

static void *taken[MANY];

static void take_many(struct slab *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		taken[i] = slab_take(s);
		memset(taken[i], (int)i, s->size);
	}
}

static void give_many(struct slab *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		slab_give(s, taken[i]);
}

static void sizes_are_rounded_and_blocks_hold_at_least_eight(void **state)
{
	static const struct {
		size_t size;
		uint32_t rounded;
		uint32_t block;
	} rows[] = {
		{1, 16, 16384},
		{16, 16, 16384},
		{17, 32, 16384},
		{200, 208, 16384},
		{2040, 2048, 32768}, /* eight and the header do not fit 16 KiB */
		{2032, 2032, 16384},
		{4096, 4096, 65536},
		{16384, 16384, 262144},
		{1000000, 1000000, 8388608},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct slab s;
		slab_init(&s, "test", rows[i].size, 0);
		assert_int_equal(s.size, rows[i].rounded);
		assert_int_equal(s.block_size, rows[i].block);
		assert_true(s.per_block >= 8);
		uint32_t room = s.block_size - CACHE_LINE - 16;
		assert_true(s.per_block * s.size <= room);
		assert_true((s.per_block + 1) * s.size > room);
		slab_fini(&s);
	}
}

static void objects_are_aligned_and_never_overlap(void **state)
{
	static const size_t sizes[] = {1, 16, 24, 64, 200, 4096, 20000};
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		struct slab s;
		slab_init(&s, "test", sizes[k], 0);
		take_many(&s, 500);
		for (unsigned i = 0; i < 500; i++) {
			const uint8_t *p = taken[i];
			assert_int_equal((uintptr_t)p % 16, 0);
			for (size_t b = 0; b < s.size; b++)
				assert_int_equal(p[b], (uint8_t)i);
		}
		give_many(&s, 500);
		slab_fini(&s);
	}
}

static void objects_of_whole_lines_start_on_a_line(void **state)
{
	struct slab s;
	(void)state;
	slab_init(&s, "test", 192, 0);
	for (int i = 0; i < 100; i++) {
		taken[i] = slab_take(&s);
		assert_int_equal((uintptr_t)taken[i] % CACHE_LINE, 0);
	}
	give_many(&s, 100);
	slab_fini(&s);
}

static void gauges_say_what_is_taken(void **state)
{
	struct slab s;
	(void)state;
	slab_init(&s, "test", 100, 0);
	assert_int_equal(s.live + s.free, 0);
	take_many(&s, 3);
	assert_int_equal(s.live, 3);
	assert_int_equal(s.free, s.per_block - 3);
	slab_give(&s, NULL);
	assert_int_equal(s.live, 3);
	give_many(&s, 3);
	assert_int_equal(s.live, 0);
	slab_fini(&s);
	assert_int_equal(s.free, 0);
}

static void the_object_given_last_is_taken_first(void **state)
{
	struct slab s;
	(void)state;
	slab_init(&s, "test", 64, 0);
	void *a = slab_take(&s);
	void *b = slab_take(&s);
	slab_give(&s, a);
	assert_ptr_equal(slab_take(&s), a);
	slab_give(&s, a);
	slab_give(&s, b);
	slab_fini(&s);
}

static void a_burst_goes_back_to_the_system(void **state)
{
	static const uint32_t keeps[] = {0, 100, 1000};
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(keeps); k++) {
		struct slab s;
		slab_init(&s, "test", 64, keeps[k]);
		take_many(&s, MANY);
		assert_int_equal(s.live, MANY);
		give_many(&s, MANY);
		assert_true(s.free <= keeps[k] + s.per_block);
		assert_true(s.free >= keeps[k]);
		slab_fini(&s);
	}
}

static void a_burst_goes_back_in_any_order(void **state)
{
	struct rng r;
	struct slab s;
	(void)state;
	rng_seed(&r, 2);
	slab_init(&s, "test", 64, 50);
	take_many(&s, MANY);
	for (uint32_t i = MANY - 1; i > 0; i--) {
		uint32_t j = rng_below(&r, i + 1);
		void *t = taken[i];
		taken[i] = taken[j];
		taken[j] = t;
	}
	give_many(&s, MANY);
	assert_true(s.free <= 50 + 2 * s.per_block);
	slab_fini(&s);
}

static unsigned usable_blocks(struct slab *s)
{
	unsigned n = 0;
	struct slab_block *b;
	LIST_FOREACH (b, &s->usable, link)
		n++;
	return n;
}

static void swinging_around_an_edge_keeps_the_block(void **state)
{
	struct slab s;
	(void)state;
	slab_init(&s, "test", 64, 0);
	take_many(&s, s.per_block); /* the first block is full */
	void *extra = slab_take(&s);
	const struct slab_block *second = LIST_FIRST(&s.usable);
	for (int i = 0; i < 100; i++) {
		slab_give(&s, extra);
		assert_ptr_equal(LIST_FIRST(&s.usable), second);
		assert_int_equal(s.free, s.per_block);
		extra = slab_take(&s);
	}
	slab_give(&s, extra);
	give_many(&s, s.per_block);
	assert_int_equal(usable_blocks(&s), 1);
	slab_fini(&s);
}

static void full_blocks_are_off_the_list_and_come_back(void **state)
{
	struct slab s;
	(void)state;
	slab_init(&s, "test", 64, 0);
	uint32_t n = s.per_block;
	take_many(&s, 2 * n);
	assert_int_equal(usable_blocks(&s), 0);
	slab_give(&s, taken[0]);
	assert_int_equal(usable_blocks(&s), 1);
	slab_give(&s, taken[n]);
	assert_int_equal(usable_blocks(&s), 2);
	assert_ptr_equal(slab_take(&s), taken[n]);
	assert_ptr_equal(slab_take(&s), taken[0]);
	assert_int_equal(usable_blocks(&s), 0);
	give_many(&s, 2 * n);
	slab_fini(&s);
}

/* Random taking and giving against a plain count, every object stamped. */
static void any_order_of_calls_keeps_objects_apart(void **state)
{
	struct rng r;
	struct slab s;
	unsigned n = 0;
	(void)state;
	rng_seed(&r, 8);
	slab_init(&s, "test", 40, 64);
	for (int step = 0; step < 200000; step++) {
		bool grow = rng_below(&r, 100) < (step / 20000 % 2 == 0 ? 70u : 30u);
		if ((grow || n == 0) && n < MANY) {
			uint64_t *p = slab_take(&s);
			*p = (uint64_t)(uintptr_t)p;
			taken[n++] = p;
		} else {
			unsigned i = rng_below(&r, n);
			const uint64_t *p = taken[i];
			assert_int_equal(*p, (uint64_t)(uintptr_t)p);
			slab_give(&s, taken[i]);
			taken[i] = taken[--n];
		}
		assert_int_equal(s.live, n);
	}
	give_many(&s, n);
	slab_fini(&s);
}

static void give_to_the_wrong_slab(void)
{
	struct slab a;
	struct slab b;
	slab_init(&a, "a", 64, 0);
	slab_init(&b, "b", 64, 0);
	slab_give(&b, slab_take(&a));
}

static void leave_one_taken(void)
{
	struct slab a;
	slab_init(&a, "a", 64, 0);
	(void)slab_take(&a);
	slab_fini(&a);
}

static void leave_a_full_block_taken(void)
{
	struct slab a;
	slab_init(&a, "a", 64, 0);
	take_many(&a, a.per_block);
	slab_fini(&a);
}

static void misuse_aborts(void **state)
{
	char said[4096];
	(void)state;
	assert_true(child_aborts(give_to_the_wrong_slab, said, sizeof(said)));
	assert_non_null(strstr(said, "owner == s"));
	assert_true(child_aborts(leave_one_taken, said, sizeof(said)));
	assert_non_null(strstr(said, "live == 0"));
	assert_true(child_aborts(leave_a_full_block_taken, said, sizeof(said)));
	assert_non_null(strstr(said, "live == 0"));
}

static void free_objects_are_poisoned_under_asan(void **state)
{
	(void)state;
#ifdef SLAB_ASAN
	struct slab s;
	slab_init(&s, "test", 64, 0);
	char *a = slab_take(&s);
	char *b = slab_take(&s);
	assert_null(__asan_region_is_poisoned(a, 64));
	assert_true(__asan_address_is_poisoned(b + 64)); /* a free neighbour */
	slab_give(&s, a);
	for (int i = 0; i < 64; i++)
		assert_true(__asan_address_is_poisoned(a + i));
	assert_null(__asan_region_is_poisoned(b, 64));
	assert_ptr_equal(slab_take(&s), a);
	assert_null(__asan_region_is_poisoned(a, 64));
	slab_give(&s, a);
	slab_give(&s, b);
	slab_fini(&s);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_rounded_and_blocks_hold_at_least_eight),
		cmocka_unit_test(objects_are_aligned_and_never_overlap),
		cmocka_unit_test(objects_of_whole_lines_start_on_a_line),
		cmocka_unit_test(gauges_say_what_is_taken),
		cmocka_unit_test(the_object_given_last_is_taken_first),
		cmocka_unit_test(a_burst_goes_back_to_the_system),
		cmocka_unit_test(a_burst_goes_back_in_any_order),
		cmocka_unit_test(swinging_around_an_edge_keeps_the_block),
		cmocka_unit_test(full_blocks_are_off_the_list_and_come_back),
		cmocka_unit_test(any_order_of_calls_keeps_objects_apart),
		cmocka_unit_test(misuse_aborts),
		cmocka_unit_test(free_objects_are_poisoned_under_asan),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
