/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "ring/ring.h"
#include "tests/unit/ring/placed.h"

#define TOP UINT64_MAX
#define NODES_MAX 4u
#define TEXT_MAX 128u

/* A pool is its nodes, as placed_hash() wants them; ! before a name: ejected. */
static const struct {
	const char *what;
	const char *from;
	const char *to;
	size_t n;
	struct ring_arc arcs[3];
	double moved;
} diff_cases[] = {
	{"the same", "a@1 b@5", "a@1 b@5", 0, {{0}}, 0},
	{"the same, listed otherwise", "a@1 b@5", "b@5 a@1", 0, {{0}}, 0},
	{"both empty", "", "", 0, {{0}}, 0},
	{"from nothing", "", "a@5", 1, {{0, TOP, RING_NONE, 0}}, 1},
	{"to nothing", "a@5", "", 1, {{0, TOP, 0, RING_NONE}}, 1},
	{"another name at one place", "a@5", "b@5", 1, {{0, TOP, 0, 0}}, 1},
	{"one joins in the middle", "a@4000000000000000 b@c000000000000000",
		"a@4000000000000000 b@c000000000000000 c@8000000000000000", 1,
		{{UINT64_C(0x4000000000000001), UINT64_C(0x8000000000000000), 1, 2}}, 0.25},
	{"one joins past the last", "a@4000000000000000 b@8000000000000000",
		"c@c000000000000000 a@4000000000000000 b@8000000000000000", 1,
		{{UINT64_C(0x8000000000000001), UINT64_C(0xc000000000000000), 0, 0}}, 0.25},
	{"an arc over the end is two", "a@4000000000000000 b@c000000000000000",
		"b@c000000000000000", 2,
		{{0, UINT64_C(0x4000000000000000), 0, 0},
			{UINT64_C(0xc000000000000001), TOP, 0, 0}},
		0.5},
	{"neighbours with other owners are two arcs", "a@1 x@4 y@8", "a@1", 2,
		{{2, 4, 1, 0}, {5, 8, 2, 0}}, 0x7p-64},
	{"neighbours with the same owners are one arc", "a@1 !x@4 y@8", "a@1", 1, {{2, 8, 2, 0}},
		0x7p-64},
	{"a tie taken by the smaller name", "b@5 z@9", "b@5 z@9 a@5", 2,
		{{0, 5, 0, 2}, {10, TOP, 0, 2}}, 1 - 0x4p-64},
	{"a tie lost to the smaller name", "a@5 z@9", "a@5 z@9 b@5", 0, {{0}}, 0},
	{"the last position alone", "a@fffffffffffffffe b@ffffffffffffffff", "a@fffffffffffffffe",
		1, {{TOP, TOP, 1, 0}}, 0x1p-64},
	{"the first position alone", "a@0 b@ffffffffffffffff", "b@ffffffffffffffff", 1,
		{{0, 0, 0, 0}}, 0x1p-64},
	{"one ejected", "a@4000000000000000 b@8000000000000000 c@c000000000000000",
		"a@4000000000000000 !b@8000000000000000 c@c000000000000000", 1,
		{{UINT64_C(0x4000000000000001), UINT64_C(0x8000000000000000), 1, 2}}, 0.25},
	{"one returns, another is out", "!a@5 b@9", "a@5 !b@9", 1, {{0, TOP, 1, 0}}, 1},
	{"all ejected", "a@5 b@9", "!a@5 !b@9", 3,
		{{0, 5, 0, RING_NONE}, {6, 9, 1, RING_NONE}, {10, TOP, 0, RING_NONE}}, 1},
	{"ejected, then removed: nothing moves", "!a@5 b@9", "b@9", 0, {{0}}, 0},
};

static struct ring *build(const char *pool, struct ring_skip **ret_skip)
{
	char text[TEXT_MAX];
	const char *names[NODES_MAX];
	uint8_t ejected[NODES_MAX] = {0};
	size_t n = 0;
	char *rest = NULL;

	assert_true(strlen(pool) < sizeof(text));
	memcpy(text, pool, strlen(pool) + 1);
	for (char *w = strtok_r(text, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest)) {
		assert_true(n < NODES_MAX);
		ejected[n] = w[0] == '!';
		names[n] = w + ejected[n];
		n++;
	}
	struct ring *r = placed_ring(names, n);
	assert_int_equal(ring_skip_build(ret_skip, r, ejected), 0);
	return r;
}

static void same_arcs(
	const char *what, const struct ring_diff *d, const struct ring_arc *want, size_t n)
{
	if (d->n != n)
		fail_msg("%s: %zu arcs", what, d->n);
	for (size_t i = 0; i < n; i++) {
		const struct ring_arc *got = &d->arcs[i];
		if (got->first != want[i].first || got->last != want[i].last ||
			got->before != want[i].before || got->after != want[i].after)
			fail_msg("%s: arc %zu is %jx..%jx %u->%u", what, i, (uintmax_t)got->first,
				(uintmax_t)got->last, got->before, got->after);
	}
}

static void arcs_are_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(diff_cases); i++) {
		struct ring_skip *from_skip = NULL;
		struct ring_skip *to_skip = NULL;
		struct ring_diff d;
		struct ring *from = build(diff_cases[i].from, &from_skip);
		struct ring *to = build(diff_cases[i].to, &to_skip);

		assert_int_equal(ring_diff(&d, from, from_skip, to, to_skip), 0);
		same_arcs(diff_cases[i].what, &d, diff_cases[i].arcs, diff_cases[i].n);
		if (d.moved != diff_cases[i].moved)
			fail_msg("%s: moved %g", diff_cases[i].what, d.moved);
		ring_diff_fini(&d);
		assert_true(d.arcs == NULL && d.n == 0);
		ring_skip_free(from_skip);
		ring_skip_free(to_skip);
		ring_free(from);
		ring_free(to);
	}
}

static void a_position_finds_its_arc(void **state)
{
	(void)state;
	struct ring_arc arcs[] = {{0, 5, 1, 2}, {6, 6, 3, 4}, {10, 20, 5, 6}, {TOP, TOP, 7, 8}};
	struct ring_diff d = {.arcs = arcs, .n = ARRAY_LEN(arcs)};
	static const struct {
		uint64_t position;
		int arc; /* -1: none */
	} cases[] = {{0, 0}, {5, 0}, {6, 1}, {7, -1}, {9, -1}, {10, 2}, {15, 2}, {20, 2}, {21, -1},
		{TOP - 1, -1}, {TOP, 3}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct ring_arc *want = cases[i].arc < 0 ? NULL : &arcs[cases[i].arc];
		assert_ptr_equal(ring_diff_find(&d, cases[i].position), want);
	}
	assert_null(ring_diff_find(&(struct ring_diff){0}, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arcs_are_exact),
		cmocka_unit_test(a_position_finds_its_arc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
