/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Out of memory at each allocation in turn: the error comes back, nothing is written, nothing leaks
 * (the last is AddressSanitizer's to see).
 */

#include <errno.h>
#include <stdlib.h>

#include "ring/ring.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

static int allocations_left = -1; /* -1: as many as wanted */

static bool may_allocate(void)
{
	if (allocations_left == 0)
		return false;
	if (allocations_left > 0)
		allocations_left--;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return may_allocate() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return may_allocate() ? __real_realloc(ptr, size) : NULL;
}

static const struct ring_opts opts = {.points = 100};

static struct ring *ring_of(size_t n)
{
	const struct ring_node nodes[] = {
		{SPAN("a"), 1000}, {SPAN("b"), 2000}, {SPAN("c"), 0}, {SPAN("d"), 1000}};
	struct ring *r = NULL;

	assert_int_equal(ring_build(&r, nodes, n, &opts), 0);
	return r;
}

/* Lets 0, 1, 2 ... allocations pass until `attempt` succeeds; returns how many failed. */
static int fail_each(int (*attempt)(void))
{
	int failures = 0;

	for (int err = -ENOMEM; err != 0; failures++) {
		allocations_left = failures;
		err = attempt();
		allocations_left = -1;
		if (err != 0)
			assert_int_equal(err, -ENOMEM);
		assert_true(failures < 64);
	}
	return failures - 1;
}

static struct ring *from, *to;

static int attempt_build(void)
{
	const struct ring_node nodes[] = {{SPAN("a"), 1000}, {SPAN("b"), 1}};
	struct ring *r = NULL;
	int err = ring_build(&r, nodes, ARRAY_LEN(nodes), &opts);

	assert_true((err == 0) == (r != NULL));
	ring_free(r);
	return err;
}

static int attempt_skip(void)
{
	const uint8_t ejected[] = {0, 1, 0, 0};
	struct ring_skip *s = NULL;
	int err = ring_skip_build(&s, from, ejected);

	assert_true((err == 0) == (s != NULL));
	ring_skip_free(s);
	return err;
}

static int attempt_diff(void)
{
	struct ring_diff d = {.n = 77};
	int err = ring_diff(&d, from, NULL, to, NULL);

	if (err != 0) {
		assert_true(d.n == 77 && d.arcs == NULL);
		return err;
	}
	assert_true(d.n > 64); /* else nothing had to grow */
	ring_diff_fini(&d);
	return 0;
}

static void building_survives_the_lack_of_memory(void **state)
{
	(void)state;
	assert_int_equal(fail_each(attempt_build), 9);
}

static void a_skip_set_survives_the_lack_of_memory(void **state)
{
	(void)state;
	from = ring_of(3);
	assert_int_equal(fail_each(attempt_skip), 3);
	ring_free(from);
}

static void comparing_survives_the_lack_of_memory(void **state)
{
	(void)state;
	from = ring_of(3);
	to = ring_of(4);
	assert_int_equal(fail_each(attempt_diff), 3);
	ring_free(from);
	ring_free(to);
}

static void nothing_can_be_freed(void **state)
{
	(void)state;
	ring_free(NULL);
	ring_skip_free(NULL);
	ring_builder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(building_survives_the_lack_of_memory),
		cmocka_unit_test(a_skip_set_survives_the_lack_of_memory),
		cmocka_unit_test(comparing_survives_the_lack_of_memory),
		cmocka_unit_test(nothing_can_be_freed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
