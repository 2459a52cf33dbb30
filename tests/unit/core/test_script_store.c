/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "router/core/script_store.h"

/* A body of n bytes that nothing else is, and its hash. */
struct script {
	uint8_t sha[SHA1_SIZE];
	uint8_t bytes[512];
	size_t len;
};

static struct script script(unsigned id, size_t n)
{
	struct script s = {.len = n};
	memset(s.bytes, 'x', sizeof(s.bytes));
	memcpy(s.bytes, &id, sizeof(id));
	sha1(s.bytes, n, s.sha);
	return s;
}

static uint32_t put(struct script_store *s, uint32_t pool, const struct script *x)
{
	return script_store_put(s, pool, x->sha, span_of(x->bytes, x->len));
}

static bool has(struct script_store *s, uint32_t pool, const struct script *x)
{
	struct script_body *b = script_store_get(s, pool, x->sha);
	bool here = b != NULL;
	if (here)
		assert_true(span_eq(span_of(b->bytes, b->len), span_of(x->bytes, x->len)));
	script_body_unref(b);
	return here;
}

static void what_was_put_is_found(void **state)
{
	struct script_store *s = script_store_new(1 << 20);
	struct script a = script(1, 100), b = script(2, 100), empty = script(3, 0);
	(void)state;
	assert_false(has(s, 0, &a));
	assert_int_equal(put(s, 0, &a), 0);
	assert_int_equal(put(s, 0, &empty), 0);
	assert_true(has(s, 0, &a));
	assert_true(has(s, 0, &empty));
	assert_false(has(s, 0, &b));
	assert_true(script_store_touch(s, 0, a.sha));
	assert_false(script_store_touch(s, 0, b.sha));
	script_store_free(s);
}

static void the_same_one_is_kept_once(void **state)
{
	struct script_store *s = script_store_new(1 << 20);
	struct script a = script(1, 100);
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(put(s, 0, &a), 0);
	assert_int_equal(script_store_size(s).bodies, 1);
	assert_int_equal(script_store_size(s).bytes, 100 + SCRIPT_OVERHEAD);
	script_store_free(s);
}

static void pools_do_not_see_each_others(void **state)
{
	struct script_store *s = script_store_new(1 << 20);
	struct script a = script(1, 100);
	(void)state;
	(void)put(s, 1, &a);
	assert_false(has(s, 0, &a));
	assert_true(has(s, 1, &a));
	(void)put(s, 0, &a);
	script_store_flush(s, 1);
	assert_true(has(s, 0, &a));
	assert_false(has(s, 1, &a));
	script_store_free(s);
}

/* Twenty fit. */
#define ROOM 20
#define LEN ((size_t)100)
#define LIMIT ((LEN + SCRIPT_OVERHEAD) * ROOM)

static void fill(struct script_store *s, unsigned first, unsigned n)
{
	for (unsigned id = first; id < first + n; id++) {
		struct script x = script(id, LEN);
		assert_int_equal(put(s, 0, &x), 0);
	}
}

static void the_one_used_longest_ago_goes(void **state)
{
	static const enum use {
		USE_GET,
		USE_TOUCH,
		USE_PUT
	} uses[] = {USE_GET, USE_TOUCH, USE_PUT};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		struct script_store *s = script_store_new(LIMIT);
		struct script first = script(0, LEN), second = script(1, LEN),
			      more = script(99, LEN);
		fill(s, 0, ROOM);
		if (uses[i] == USE_GET)
			assert_true(has(s, 0, &first));
		else if (uses[i] == USE_TOUCH)
			assert_true(script_store_touch(s, 0, first.sha));
		else
			assert_int_equal(put(s, 0, &first), 0);
		assert_int_equal(put(s, 0, &more), 1);
		assert_true(has(s, 0, &first));
		assert_false(has(s, 0, &second));
		assert_true(has(s, 0, &more));
		script_store_free(s);
	}
}

static void it_never_holds_more_than_the_limit(void **state)
{
	struct script_store *s = script_store_new(LIMIT);
	struct rng rng;
	uint32_t gone = 0, kept = 0;
	(void)state;
	rng_seed(&rng, 1);
	for (unsigned id = 0; id < 500; id++) {
		struct script x = script(id, 4 + rng_below(&rng, 100));
		gone += put(s, 0, &x);
		kept++;
		assert_true(has(s, 0, &x));
		assert_true(script_store_size(s).bytes <= LIMIT);
		assert_int_equal(script_store_size(s).bodies, kept - gone);
	}
	assert_true(gone > 0);
	script_store_free(s);
}

static void one_that_is_too_large_is_not_kept(void **state)
{
	struct script_store *s = script_store_new(16 * (200 + SCRIPT_OVERHEAD));
	struct script largest = script(1, 200), larger = script(2, 201);
	(void)state;
	assert_true(script_store_takes(s, 200));
	assert_false(script_store_takes(s, 201));
	assert_false(script_store_takes(s, SIZE_MAX));
	(void)put(s, 0, &largest);
	(void)put(s, 0, &larger);
	assert_true(has(s, 0, &largest));
	assert_false(has(s, 0, &larger));
	script_store_free(s);
}

static void a_lower_limit_takes_effect_at_once(void **state)
{
	struct script_store *s = script_store_new(LIMIT);
	struct script last = script(ROOM - 1, LEN), more = script(99, LEN);
	(void)state;
	fill(s, 0, ROOM);
	script_store_set_limit(s, 5 * (LEN + SCRIPT_OVERHEAD));
	assert_int_equal(script_store_size(s).bodies, 5);
	assert_true(has(s, 0, &last));
	script_store_set_limit(s, 0);
	assert_int_equal(script_store_size(s).bodies, 0);
	assert_int_equal(script_store_size(s).bytes, 0);
	(void)put(s, 0, &more);
	assert_false(has(s, 0, &more));
	script_store_free(s);
}

static void a_flush_begins_a_generation(void **state)
{
	struct script_store *s = script_store_new(LIMIT);
	struct script a = script(1, LEN);
	(void)state;
	assert_int_equal(script_store_generation(s), 1);
	(void)put(s, 0, &a);
	script_store_begin_generation(s);
	assert_int_equal(script_store_generation(s), 2);
	assert_true(has(s, 0, &a));
	script_store_flush(s, 0);
	assert_int_equal(script_store_generation(s), 3);
	assert_false(has(s, 0, &a));
	assert_int_equal(script_store_size(s).bytes, 0);
	script_store_free(s);
}

static void a_body_outlives_its_place(void **state)
{
	struct script_store *s = script_store_new(LIMIT);
	struct script a = script(1, LEN);
	(void)state;
	(void)put(s, 0, &a);
	struct script_body *b = script_store_get(s, 0, a.sha);
	assert_non_null(b);
	script_store_flush(s, 0);
	script_store_free(s);
	assert_true(span_eq(span_of(b->bytes, b->len), span_of(a.bytes, a.len)));
	script_body_unref(b);
}

/* ---- threads ------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 3000
#define SCRIPTS 60

static void *hammer(void *arg)
{
	struct script_store *s = arg;
	struct rng rng;
	rng_seed(&rng, (uint64_t)(uintptr_t)&rng);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct script x = script(rng_below(&rng, SCRIPTS), LEN);
		(void)put(s, 0, &x);
		(void)has(s, 0, &x);
		(void)script_store_generation(s);
		if (i % 500 == 0)
			script_store_flush(s, 0);
		if (i % 700 == 0)
			script_store_set_limit(s, i % 1400 == 0 ? LIMIT / 2 : LIMIT);
	}
	return NULL;
}

static void threads_share_it(void **state)
{
	struct script_store *s = script_store_new(LIMIT);
	pthread_t threads[THREADS];
	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, s), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(script_store_generation(s), 1 + THREADS * (ROUNDS / 500));
	assert_true(script_store_size(s).bytes <= LIMIT);
	script_store_flush(s, 0);
	assert_int_equal(script_store_size(s).bytes, 0);
	script_store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_found),
		cmocka_unit_test(the_same_one_is_kept_once),
		cmocka_unit_test(pools_do_not_see_each_others),
		cmocka_unit_test(the_one_used_longest_ago_goes),
		cmocka_unit_test(it_never_holds_more_than_the_limit),
		cmocka_unit_test(one_that_is_too_large_is_not_kept),
		cmocka_unit_test(a_lower_limit_takes_effect_at_once),
		cmocka_unit_test(a_flush_begins_a_generation),
		cmocka_unit_test(a_body_outlives_its_place),
		cmocka_unit_test(threads_share_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
