/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "ring/ring_internal.h"
#include "tests/unit/ring/model.h"

static struct ring *build(const struct ring_node *nodes, size_t n, uint32_t points)
{
	struct ring *r = NULL;

	assert_int_equal(ring_build(&r, nodes, n, &(struct ring_opts){points}), 0);
	return r;
}

static uint64_t checksum_of(const struct ring_node *nodes, size_t n, uint32_t points)
{
	struct ring *r = build(nodes, n, points);
	uint64_t sum = ring_checksum(r);

	ring_free(r);
	return sum;
}

/* ------------------------------------------------------------------------------------------------
 */

static const char long_name[RING_NAME_MAX + 1] = "n";

static const struct {
	const char *what;
	struct ring_node node;
	uint32_t points;
	int want;
} input_cases[] = {
	{"no points", {SPAN("a"), 1000}, 0, RW_ERANGE},
	{"most points", {SPAN("a"), 10}, RING_POINTS_MAX, 0},
	{"too many points", {SPAN("a"), 10}, RING_POINTS_MAX + 1, RW_ERANGE},
	{"largest weight", {SPAN("a"), RING_WEIGHT_MAX}, 1, 0},
	{"too large a weight", {SPAN("a"), RING_WEIGHT_MAX + 1}, 1, RW_ERANGE},
	{"no name", {SPAN(""), 1000}, 1, RW_ERANGE},
	{"longest name", {{(const uint8_t *)long_name, RING_NAME_MAX}, 1000}, 1, 0},
	{"too long a name", {{(const uint8_t *)long_name, RING_NAME_MAX + 1}, 1000}, 1, RW_ERANGE},
	{"any bytes", {SPAN("\0\xff #\n"), 1000}, 1, 0},
	{"too many in all", {SPAN("a"), RING_WEIGHT_MAX}, RING_POINTS_MAX, RW_ERANGE},
};

static void bad_input_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(input_cases); i++) {
		struct ring *r = NULL;
		struct ring_opts opts = {.points = input_cases[i].points};
		int err = ring_build(&r, &input_cases[i].node, 1, &opts);
		if (err != input_cases[i].want || (err == 0) != (r != NULL))
			fail_msg("%s: %s", input_cases[i].what, rw_strerror(err));
		ring_free(r);
	}
}

static void two_nodes_with_one_name_are_refused(void **state)
{
	(void)state;
	struct ring_node nodes[] = {{SPAN("b"), 1000}, {SPAN("a"), 1000}, {SPAN("b"), 0}};
	struct ring *r = NULL;

	assert_int_equal(ring_build(&r, nodes, 3, NULL), RW_EDUPLICATE);
	assert_null(r);
	nodes[2].name = SPAN("b\0");
	assert_int_equal(ring_build(&r, nodes, 3, NULL), 0);
	ring_free(r);
}

static const struct {
	uint32_t points;
	uint32_t weight_milli;
	size_t want;
} weight_cases[] = {
	{512, 1000, 512},
	{512, 0, 0},
	{512, 1, 1}, /* 0.512 + 0.5 */
	{512, 500, 256},
	{512, 1500, 768},
	{512, 1000000, 512000},
	{512, 999, 511}, /* 511.488 */
	{1, 1, 1},       /* 0.001: at least one */
	{1, 499, 1},
	{1, 1499, 1},
	{1, 1500, 2}, /* a half goes up */
	{3, 500, 2},  /* 1.5 */
	{5, 500, 3},  /* 2.5: not to even */
	{5, 499, 2},  /* 2.495 */
	{100, 5, 1},  /* 0.5 */
	{100, 15, 2}, /* 1.5: 100 * 0.015 is less in binary floating point */
	{1000, 1005, 1005},
	{500, 1001, 501}, /* 500.5 */
	{100000, 1001, 100100},
};

static void points_follow_the_weight(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(weight_cases); i++) {
		struct ring_node node = {SPAN("a"), weight_cases[i].weight_milli};
		struct ring *r = build(&node, 1, weight_cases[i].points);
		if (ring_point_count(r) != weight_cases[i].want)
			fail_msg("%u points, weight %u: %zu", weight_cases[i].points,
				weight_cases[i].weight_milli, ring_point_count(r));
		assert_int_equal(ring_node_weight(r, 0), weight_cases[i].weight_milli);
		ring_free(r);
	}
}

static void without_options_a_node_has_512_points(void **state)
{
	(void)state;
	struct ring_node node = {SPAN("a"), 1000};
	struct ring *r = NULL;

	assert_int_equal(ring_build(&r, &node, 1, NULL), 0);
	assert_int_equal(ring_point_count(r), 512);
	ring_free(r);
}

/* ------------------------------------------------------------------------------------------------
 */

static void an_empty_ring_owns_nothing(void **state)
{
	(void)state;
	const struct ring_node idle[] = {{SPAN("a"), 0}, {SPAN("b"), 0}};
	const uint8_t ejected[] = {0, 1};
	uint32_t successor;

	for (size_t n = 0; n <= 2; n++) {
		struct ring *r = build(idle, n, 512);
		struct ring_skip *skip = NULL;
		assert_int_equal(ring_skip_build(&skip, r, ejected), 0);
		assert_int_equal(ring_node_count(r), n);
		assert_int_equal(ring_point_count(r), 0);
		assert_int_equal(ring_owner(r, 0), RING_NONE);
		assert_int_equal(ring_owner(r, UINT64_MAX), RING_NONE);
		assert_int_equal(ring_owner_skip(r, skip, 5), RING_NONE);
		assert_int_equal(ring_successors(r, 5, &successor, 1), 0);
		ring_skip_free(skip);
		ring_free(r);
	}
}

static void zero_weight_owns_nothing_and_changes_nothing(void **state)
{
	(void)state;
	const struct ring_node nodes[] = {{SPAN("a"), 0}, {SPAN("b"), 1000}, {SPAN("c"), 1000}};
	struct ring *r = build(nodes, 3, 64);
	struct ring *without = build(nodes + 1, 2, 64);

	for (uint64_t k = 0; k < 1000; k++) {
		uint32_t owner = ring_owner(r, ring_hash(&k, sizeof(k)));
		assert_int_not_equal(owner, 0);
		assert_int_equal(owner - 1, ring_owner(without, ring_hash(&k, sizeof(k))));
	}
	assert_true(ring_share(r, 0) == 0.0);
	assert_true(ring_checksum(r) == ring_checksum(without));
	ring_free(r);
	ring_free(without);
}

static void names_are_copied(void **state)
{
	(void)state;
	uint8_t text[] = {'a', 'b', 'c'};
	struct ring_node nodes[] = {{{text, 1}, 1000}, {{text + 1, 2}, 500}};
	struct ring *r = build(nodes, 2, 8);

	memset(text, 'z', sizeof(text));
	memset(nodes, 0, sizeof(nodes));
	assert_true(span_eq(ring_node_name(r, 0), SPAN("a")));
	assert_true(span_eq(ring_node_name(r, 1), SPAN("bc")));
	ring_free(r);
}

/* ------------------------------------------------------------------------------------------------
 */

static void same_ring(const struct ring *a, const struct ring *b)
{
	assert_true(ring_checksum(a) == ring_checksum(b));
	assert_int_equal(ring_point_count(a), ring_point_count(b));
	assert_memory_equal(a->entries, b->entries, (a->point_count + 1) * sizeof(a->entries[0]));
	assert_memory_equal(a->starts, b->starts, (a->bucket_count + 1) * sizeof(a->starts[0]));
	for (uint32_t i = 0; i < ring_node_count(a); i++)
		assert_true(ring_share(a, i) == ring_share(b, i));
}

static const struct ring_node five[] = {
	{SPAN("e"), 1000}, {SPAN("d"), 1}, {SPAN("c"), 0}, {SPAN("b"), 2500}, {SPAN("a"), 1000}};

static void slices_build_the_same_ring(void **state)
{
	(void)state;
	static const size_t budgets[] = {0, 1, 2, 63, 64, 65, 100, 1000, SIZE_MAX};
	struct ring *whole = build(five, 5, 100);

	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		struct ring_builder *b = NULL;
		size_t steps = 1;
		assert_int_equal(ring_builder_new(&b, five, 5, &(struct ring_opts){100}), 0);
		while (ring_builder_step(b, budgets[i]))
			steps++;
		assert_false(ring_builder_step(b, 1));
		struct ring *r = ring_builder_finish(b);
		same_ring(whole, r);
		/* 451 points and 512 buckets: a small budget does mean many steps. */
		size_t budget = budgets[i] > 0 ? budgets[i] : 1;
		assert_true(steps >= 3 * ring_point_count(r) / budget);
		ring_free(r);
	}
	ring_free(whole);
}

static void a_builder_can_be_abandoned_at_any_time(void **state)
{
	(void)state;
	bool more = true;

	for (int steps = 0; more; steps++) {
		struct ring_builder *b = NULL;
		more = true;
		assert_int_equal(ring_builder_new(&b, five, 5, &(struct ring_opts){20}), 0);
		for (int i = 0; i < steps && more; i++)
			more = ring_builder_step(b, 16);
		ring_builder_free(b);
	}
}

/* ------------------------------------------------------------------------------------------------
 */

static void the_order_of_the_list_does_not_matter(void **state)
{
	(void)state;
	struct ring_node turned[5];
	struct ring *r = build(five, 5, 100);

	for (size_t i = 0; i < 5; i++)
		turned[i] = five[(i * 3 + 2) % 5];
	struct ring *t = build(turned, 5, 100);
	assert_true(ring_checksum(r) == ring_checksum(t));
	for (uint64_t k = 0; k < 1000; k++) {
		uint64_t position = ring_hash(&k, sizeof(k));
		assert_true(span_eq(ring_node_name(r, ring_owner(r, position)),
			ring_node_name(t, ring_owner(t, position))));
	}
	ring_free(r);
	ring_free(t);
}

static void the_checksum_tells_rings_apart(void **state)
{
	(void)state;
	const struct ring_node base[] = {{SPAN("a"), 1000}, {SPAN("b"), 1000}};
	const struct ring_node renamed[] = {{SPAN("a"), 1000}, {SPAN("c"), 1000}};
	const struct ring_node weighted[] = {{SPAN("a"), 1000}, {SPAN("b"), 1100}};
	uint64_t sums[] = {
		checksum_of(base, 2, 100),
		checksum_of(base, 2, 101),
		checksum_of(base, 1, 100),
		checksum_of(base, 0, 100),
		checksum_of(renamed, 2, 100),
		checksum_of(weighted, 2, 100),
	};

	for (size_t i = 0; i < ARRAY_LEN(sums); i++)
		for (size_t j = 0; j < i; j++)
			assert_true(sums[i] != sums[j]);
	assert_true(sums[0] == checksum_of(base, 2, 100));
}

static uint64_t constant_hash(const void *bytes, size_t len)
{
	(void)bytes;
	(void)len;
	return UINT64_C(0x123456789abcdef0);
}

static void the_checksum_covers_names_not_only_points(void **state)
{
	(void)state;
	const struct ring_node names[] = {{SPAN("a"), 1000}, {SPAN("b"), 1000}};
	uint64_t sums[2];

	for (int i = 0; i < 2; i++) {
		struct ring_builder *b = NULL;
		assert_int_equal(ring_builder_new_hashed(
					 &b, &names[i], 1, &(struct ring_opts){10}, constant_hash),
			0);
		while (ring_builder_step(b, 100))
			;
		struct ring *r = ring_builder_finish(b);
		sums[i] = ring_checksum(r);
		ring_free(r);
	}
	assert_true(sums[0] != sums[1]);
}

/* More than a bucket's worth: the other way to sort. */
static void many_points_at_one_position_belong_to_the_smallest_name(void **state)
{
	(void)state;
	const struct ring_node nodes[] = {{SPAN("c"), 1000}, {SPAN("b"), 1000}, {SPAN("d"), 1000}};
	struct ring_builder *b = NULL;
	uint32_t order[3];

	assert_int_equal(
		ring_builder_new_hashed(&b, nodes, 3, &(struct ring_opts){50}, constant_hash), 0);
	while (ring_builder_step(b, 10))
		;
	struct ring *r = ring_builder_finish(b);
	assert_int_equal(ring_owner(r, 0), 1);
	assert_int_equal(ring_owner(r, UINT64_MAX), 1);
	assert_true(ring_share(r, 1) == 1.0);
	assert_true(ring_share(r, 0) == 0.0);
	assert_int_equal(ring_successors(r, 7, order, 3), 3);
	assert_true(order[0] == 1 && order[1] == 0 && order[2] == 2);
	ring_free(r);
}

/* ------------------------------------------------------------------------------------------------
 */

static struct ring *crowd(size_t n, uint32_t points)
{
	static struct ring_node nodes[RING_NODES_MAX + 1];
	static char names[RING_NODES_MAX + 1][24];
	struct ring *r = NULL;

	assert_true(n <= ARRAY_LEN(nodes));
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "n%zu", i);
		nodes[i] = (struct ring_node){span_str(names[i]), 1000};
	}
	int err = ring_build(&r, nodes, n, &(struct ring_opts){points});
	assert_int_equal(err, n > RING_NODES_MAX ? RW_ERANGE : 0);
	return r;
}

static void a_thousand_nodes_take_less_than_12_mb(void **state)
{
	(void)state;
	struct ring *r = crowd(1000, 512);

	assert_int_equal(ring_point_count(r), 512000);
	assert_true(ring_memory(r) >= 512000 * sizeof(uint64_t));
	assert_true(ring_memory(r) <= 12 * 1000 * 1000);
	ring_free(r);
}

/* 512 points: a node's share spreads by about 1 / sqrt(512), 4.4 % of itself. */
static void shares_add_up_and_are_fair(void **state)
{
	(void)state;
	struct ring *r = crowd(100, 512);
	double sum = 0;

	for (uint32_t i = 0; i < 100; i++) {
		double share = ring_share(r, i);
		assert_true(share > 0.008 && share < 0.012);
		sum += share;
	}
	assert_true(sum > 1 - 1e-12 && sum < 1 + 1e-12);
	ring_free(r);
}

static void the_largest_number_of_nodes_works(void **state)
{
	(void)state;
	struct ring *r = crowd(RING_NODES_MAX, 1);
	uint8_t *seen = calloc(RING_NODES_MAX, 1);

	assert_non_null(seen);
	for (uint32_t i = 0; i < r->point_count; i++)
		seen[r->node_of_rank[ring_rank(r, i)]] = 1;
	assert_null(memchr(seen, 0, RING_NODES_MAX));
	free(seen);
	ring_free(r);
	assert_null(crowd(RING_NODES_MAX + 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_input_is_refused),
		cmocka_unit_test(two_nodes_with_one_name_are_refused),
		cmocka_unit_test(points_follow_the_weight),
		cmocka_unit_test(without_options_a_node_has_512_points),
		cmocka_unit_test(an_empty_ring_owns_nothing),
		cmocka_unit_test(zero_weight_owns_nothing_and_changes_nothing),
		cmocka_unit_test(names_are_copied),
		cmocka_unit_test(slices_build_the_same_ring),
		cmocka_unit_test(a_builder_can_be_abandoned_at_any_time),
		cmocka_unit_test(the_order_of_the_list_does_not_matter),
		cmocka_unit_test(the_checksum_tells_rings_apart),
		cmocka_unit_test(the_checksum_covers_names_not_only_points),
		cmocka_unit_test(many_points_at_one_position_belong_to_the_smallest_name),
		cmocka_unit_test(a_thousand_nodes_take_less_than_12_mb),
		cmocka_unit_test(shares_add_up_and_are_fair),
		cmocka_unit_test(the_largest_number_of_nodes_works),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
