/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Deadlines: who is told what and when, and what becomes of replies that come too late.
 */

#include <string.h>

#include "tests/unit/core/bed.h"

#define LIMIT (60 * NS_PER_MS)
#define TIMED_OUT "-UNAVAILABLE node 'a': timeout after 60 ms\r\n"

static int setup(void **state)
{
	struct core *t = core_new();
	t->pools[0].timeout_ns[DEADLINE_REQUEST] = LIMIT;
	t->pools[0].upstream.request_timeout_ns = LIMIT;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	core_free(*state);
	return 0;
}

static struct pump asleep;

static void a_late_reply_is_dropped_and_the_next_is_right(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	uint64_t start = clock_ns();
	peer_asks(&c, core_get(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_expects(&c, TIMED_OUT);
	assert_true(clock_ns() - start >= LIMIT);
	assert_int_equal(core_state(t).requests, 1); /* its place in the connection is kept */
	peer_asks(&c, w);
	peer_is_asked(&n, w);
	peer_says(&n, "+late\r\n+mine\r\n");
	peer_expects(&c, "+mine\r\n");
	core_settles(t);
	assert_int_equal(core_node_count(t, 0, NM_LATE_REPLIES), 1);
	assert_int_equal(core_node_count(t, 0, NM_TIMEOUTS), 1);
	assert_int_equal(core_count(t, M_ERRORS_TIMEOUT), 1);
	peer_close(&c);
}

static void the_outcome_of_a_write_out_of_time_is_unknown(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_set(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_expects(&c, "-UNAVAILABLE node 'a': timeout after 60 ms, outcome unknown\r\n");
	peer_says(&n, "+OK\r\n");
	core_settles(t);
	peer_close(&c);
}

static void half_an_error_that_came_too_late_is_nobody_elses(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	struct peer other = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_says(&n, "-ERR half");
	/* it has begun, so it is given the time of a request from there */
	peer_expects(&c, "-UNAVAILABLE node 'a': timeout after ");
	peer_asks(&other, w);
	peer_is_asked(&n, w);
	peer_says(&n, " of it\r\n-ERR other\r\n");
	peer_expects(&other, "-ERR other\r\n");
	core_settles(t);
	peer_close(&c);
	peer_close(&other);
}

static void a_reply_that_goes_on_arriving_may_take_longer(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_says(&n, "$10\r\n");
	for (int i = 0; i < 10; i++) {
		pump_for(&asleep, 30);
		peer_says(&n, "x");
	}
	peer_says(&n, "\r\n");
	peer_expects(&c, "$10\r\nxxxxxxxxxx\r\n");
	core_settles(t);
	peer_close(&c);
}

/* Its beginning is with the client already. */
static void a_reply_that_stops_in_the_middle_closes_its_client_alone(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	struct peer other = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_says(&n, "$10\r\nhello");
	peer_expects(&c, "$10\r\nhello");
	(void)peer_sees_end(&c);
	peer_asks(&other, w); /* on the same connection, in order */
	peer_is_asked(&n, w);
	peer_says(&n, "world\r\n+mine\r\n");
	peer_expects(&other, "+mine\r\n");
	core_settles(t);
	peer_close(&c);
	peer_close(&other);
}

static void a_reply_that_stops_before_its_turn_becomes_an_error(void **state)
{
	struct core *t = *state;
	char a[CORE_WORDS_MAX], b[CORE_WORDS_MAX];
	t->pools[0].timeout_ns[DEADLINE_REQUEST] = 200 * NS_PER_MS;
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 1, b));
	struct peer nb = node_accept(&t->nodes[1]);
	peer_is_asked(&nb, b);
	pump_for(&asleep, 120);
	peer_asks(&c, core_get(t, 0, a));
	struct peer na = node_accept(&t->nodes[0]);
	peer_is_asked(&na, a);
	peer_says(&na, "$10\r\nhello");
	peer_expects(&c, "-UNAVAILABLE node 'b': timeout after 200 ms\r\n");
	/* now it is its turn, and its beginning goes out */
	peer_expects(&c, "$10\r\nhello");
	peer_says(&na, "world\r\n");
	peer_expects(&c, "world\r\n");
	peer_says(&nb, "+late\r\n");
	core_settles(t);
	peer_close(&c);
}

static void requests_run_out_one_by_one(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c[4];
	for (int i = 0; i < 4; i++) {
		c[i] = core_client(t, 0, 0);
		peer_asks(&c[i], core_get(t, 0, w));
		pump_for(&asleep, 15);
	}
	struct peer n = node_accept(&t->nodes[0]);
	peer_expects(&c[0], TIMED_OUT);
	peer_expects(&c[1], TIMED_OUT);
	peer_expects(&c[2], TIMED_OUT);
	peer_expects(&c[3], TIMED_OUT);
	peer_says(&n, "+1\r\n+2\r\n+3\r\n+4\r\n");
	core_settles(t);
	for (int i = 0; i < 4; i++)
		peer_close(&c[i]);
}

static void a_slow_command_does_not_hold_up_the_deadline_of_others(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer slow = core_client(t, 0, 0);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&slow, "DBSIZE"); /* asks every node, and may take 20 s */
	struct peer n[CORE_NODES];
	for (uint32_t i = 0; i < CORE_NODES; i++) {
		n[i] = node_accept(&t->nodes[i]);
		peer_is_asked(&n[i], "DBSIZE");
	}
	uint64_t start = clock_ns();
	peer_asks(&c, core_get(t, 0, w));
	peer_expects(&c, TIMED_OUT);
	assert_true(clock_ns() - start < 5 * NS_PER_S);
	for (uint32_t i = 0; i < CORE_NODES; i++)
		peer_says(&n[i], ":2\r\n");
	peer_expects(&slow, ":6\r\n");
	peer_says(&n[0], "+late\r\n");
	core_settles(t);
	peer_close(&slow);
	peer_close(&c);
}

static void a_pool_does_not_hold_up_the_deadline_of_another(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	t->npools = 2;
	t->pools[1].timeout_ns[DEADLINE_REQUEST] = 20 * NS_PER_S;
	core_start(t);
	struct peer patient = core_client(t, 1, 0);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&patient, core_get(t, 0, w));
	struct peer np = node_accept(&t->nodes[0]);
	peer_is_asked(&np, w);
	uint64_t start = clock_ns();
	peer_asks(&c, w);
	peer_expects(&c, TIMED_OUT);
	assert_true(clock_ns() - start < 5 * NS_PER_S);
	peer_says(&np, "+patient\r\n");
	peer_expects(&patient, "+patient\r\n");
	struct peer n = node_accept(&t->nodes[0]);
	peer_says(&n, "+late\r\n");
	core_settles(t);
	peer_close(&patient);
	peer_close(&c);
}

static void a_frozen_node_loses_its_connection_and_all_requests_are_let_go(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	t->pools[0].stuck_floor_ns = 100 * NS_PER_MS;
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, w));
	peer_asks(&c, core_set(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_expects(&c, TIMED_OUT);
	peer_expects(&c, "-UNAVAILABLE node 'a': timeout after 60 ms, outcome unknown\r\n");
	(void)peer_sees_end(&n);
	core_settles(t);
	peer_close(&n);
	peer_close(&c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_late_reply_is_dropped_and_the_next_is_right),
		T(the_outcome_of_a_write_out_of_time_is_unknown),
		T(half_an_error_that_came_too_late_is_nobody_elses),
		T(a_reply_that_goes_on_arriving_may_take_longer),
		T(a_reply_that_stops_in_the_middle_closes_its_client_alone),
		T(a_reply_that_stops_before_its_turn_becomes_an_error),
		T(requests_run_out_one_by_one),
		T(a_slow_command_does_not_hold_up_the_deadline_of_others),
		T(a_pool_does_not_hold_up_the_deadline_of_another),
		T(a_frozen_node_loses_its_connection_and_all_requests_are_let_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
