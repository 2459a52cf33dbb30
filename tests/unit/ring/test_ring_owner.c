/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "ring/ring.h"
#include "tests/unit/ring/placed.h"

#define TOP UINT64_MAX

/* Three nodes in three different eighths of the ring, in no order. */
static const char *const three[] = {
	"m@8000000000000000", "z@2000000000000000", "a@c000000000000000"};

static const struct {
	uint64_t position;
	uint32_t owner;
} three_cases[] = {
	{0, 1},
	{UINT64_C(0x1fffffffffffffff), 1},
	{UINT64_C(0x2000000000000000), 1}, /* at the point: the point's */
	{UINT64_C(0x2000000000000001), 0},
	{UINT64_C(0x7fffffffffffffff), 0},
	{UINT64_C(0x8000000000000000), 0},
	{UINT64_C(0x8000000000000001), 2},
	{UINT64_C(0xc000000000000000), 2},
	{UINT64_C(0xc000000000000001), 1}, /* wrapped */
	{TOP, 1},
};

static void the_first_point_at_or_after_owns(void **state)
{
	(void)state;
	struct ring *r = placed_ring(three, 3);

	for (size_t i = 0; i < ARRAY_LEN(three_cases); i++)
		assert_int_equal(ring_owner(r, three_cases[i].position), three_cases[i].owner);
	ring_free(r);
}

static void shares_are_the_arcs(void **state)
{
	(void)state;
	struct ring *r = placed_ring(three, 3);

	assert_true(ring_share(r, 0) == 0.375);
	assert_true(ring_share(r, 1) == 0.375);
	assert_true(ring_share(r, 2) == 0.25);
	ring_free(r);
}

static void one_point_owns_everything(void **state)
{
	(void)state;
	static const char *const alone[] = {
		"a@0", "a@1", "a@8000000000000000", "a@ffffffffffffffff"};
	static const uint64_t positions[] = {0, 1, 2, UINT64_C(1) << 63, TOP - 1, TOP};

	for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
		struct ring *r = placed_ring(&alone[i], 1);
		for (size_t p = 0; p < ARRAY_LEN(positions); p++)
			assert_int_equal(ring_owner(r, positions[p]), 0);
		assert_true(ring_share(r, 0) == 1.0);
		ring_free(r);
	}
}

static void the_ends_of_the_ring_are_points_as_any(void **state)
{
	(void)state;
	static const char *const ends[] = {"a@0", "b@ffffffffffffffff"};
	struct ring *r = placed_ring(ends, 2);

	assert_int_equal(ring_owner(r, 0), 0);
	assert_int_equal(ring_owner(r, 1), 1);
	assert_int_equal(ring_owner(r, TOP), 1);
	ring_free(r);
}

/* In the list the smaller name stands last; bytes are unsigned; a prefix is smaller. */
static const struct {
	const char *names[2];
	uint32_t owner;
} tie_cases[] = {
	{{"b@7", "a@7"}, 1},
	{{"a@7", "b@7"}, 0},
	{{"\xc3\xa9@7", "z@7"}, 1},
	{{"z@7", "\xff@7"}, 0},
	{{"aa@7", "A@7"}, 1},
	{{"a@7", "a@07"}, 1},
	{{"node-10@7", "node-9@7"}, 0},
	{{"x@ffffffffffffffff", "w@ffffffffffffffff"}, 1},
	{{"x@0", "w@0"}, 1},
};

static void of_equal_positions_the_smaller_name_owns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tie_cases); i++) {
		struct ring *r = placed_ring(tie_cases[i].names, 2);
		uint32_t order[2];
		if (ring_owner(r, 7) != tie_cases[i].owner ||
			ring_owner(r, 8) != tie_cases[i].owner)
			fail_msg("tie %zu", i);
		assert_int_equal(ring_successors(r, 7, order, 2), 2);
		assert_true(order[0] == tie_cases[i].owner && order[1] == 1 - tie_cases[i].owner);
		ring_free(r);
	}
}

static void positions_that_differ_in_the_last_bit_are_different(void **state)
{
	(void)state;
	static const char *const close[] = {"b@123456789abcdef0", "a@123456789abcdef1"};
	struct ring *r = placed_ring(close, 2);

	assert_int_equal(ring_owner(r, UINT64_C(0x123456789abcdef0)), 0);
	assert_int_equal(ring_owner(r, UINT64_C(0x123456789abcdef1)), 1);
	assert_int_equal(ring_owner(r, UINT64_C(0x123456789abcdef2)), 0);
	ring_free(r);
}

static void successors_are_distinct_and_clockwise(void **state)
{
	(void)state;
	struct ring *r = placed_ring(three, 3);
	uint32_t order[5] = {77, 77, 77, 77, 77};

	assert_int_equal(ring_successors(r, TOP, order, 5), 3);
	assert_true(order[0] == 1 && order[1] == 0 && order[2] == 2 && order[3] == 77);
	assert_int_equal(ring_successors(r, UINT64_C(0x8000000000000001), order, 2), 2);
	assert_true(order[0] == 2 && order[1] == 1 && order[2] == 2);
	assert_int_equal(ring_successors(r, 0, order, 0), 0);
	ring_free(r);
}

/* ------------------------------------------------------------------------------------------------
 * Ejected nodes
 */

static const struct {
	uint64_t position;
	uint32_t owner;
	uint8_t ejected[3];
} skip_cases[] = {
	{0, 1, {0, 0, 0}},
	{0, 0, {0, 1, 0}},
	{0, 0, {0, 255, 0}}, /* any value but 0 */
	{0, 2, {1, 1, 0}},
	{TOP, 2, {1, 1, 0}},
	{TOP, 0, {0, 1, 0}}, /* past the end and past the first point */
	{0, RING_NONE, {1, 1, 1}},
	{UINT64_C(0x8000000000000000), 2, {1, 0, 0}},
	{UINT64_C(0x2000000000000000), 1, {1, 0, 0}},
	{UINT64_C(0x8000000000000001), 1, {0, 0, 1}},
};

static void the_ejected_are_passed_over(void **state)
{
	(void)state;
	struct ring *r = placed_ring(three, 3);

	for (size_t i = 0; i < ARRAY_LEN(skip_cases); i++) {
		struct ring_skip *skip = NULL;
		assert_int_equal(ring_skip_build(&skip, r, skip_cases[i].ejected), 0);
		uint32_t owner = ring_owner_skip(r, skip, skip_cases[i].position);
		if (owner != skip_cases[i].owner)
			fail_msg("case %zu: %u", i, owner);
		ring_skip_free(skip);
	}
	ring_free(r);
}

static void without_a_skip_set_nobody_is_ejected(void **state)
{
	(void)state;
	struct ring *r = placed_ring(three, 3);

	assert_int_equal(ring_owner_skip(r, NULL, 0), 1);
	ring_free(r);
}

static void of_a_tie_the_next_name_inherits(void **state)
{
	(void)state;
	static const char *const tied[] = {"c@7", "a@7", "b@7", "d@9"};
	static const uint8_t first[] = {0, 1, 0, 0};
	struct ring *r = placed_ring(tied, 4);
	struct ring_skip *skip = NULL;

	assert_int_equal(ring_skip_build(&skip, r, first), 0);
	assert_int_equal(ring_owner_skip(r, skip, 7), 2);
	assert_int_equal(ring_owner_skip(r, skip, 8), 3);
	assert_int_equal(ring_owner_skip(r, skip, 10), 2);
	ring_skip_free(skip);
	ring_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_point_at_or_after_owns),
		cmocka_unit_test(shares_are_the_arcs),
		cmocka_unit_test(one_point_owns_everything),
		cmocka_unit_test(the_ends_of_the_ring_are_points_as_any),
		cmocka_unit_test(of_equal_positions_the_smaller_name_owns),
		cmocka_unit_test(positions_that_differ_in_the_last_bit_are_different),
		cmocka_unit_test(successors_are_distinct_and_clockwise),
		cmocka_unit_test(the_ejected_are_passed_over),
		cmocka_unit_test(without_a_skip_set_nobody_is_ejected),
		cmocka_unit_test(of_a_tie_the_next_name_inherits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
