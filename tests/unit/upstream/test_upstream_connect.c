/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Getting connected: greetings, refusals, pauses between attempts, queues while it lasts.
 */

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "router/io/sock.h"
#include "router/upstream/upstream_internal.h"
#include "tests/unit/upstream/bed.h"

#define GET "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
#define HELLO "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
#define SELECT5 "*2\r\n$6\r\nSELECT\r\n$1\r\n5\r\n"
#define SELECT12 "*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n"
#define NOAUTH "-NOAUTH Authentication required.\r\n"

static int setup(void **state)
{
	*state = bed_new();
	return 0;
}

static int teardown(void **state)
{
	bed_free(*state);
	return 0;
}

/* ---- greetings --------------------------------------------------------------------------------*/

static void a_connection_is_made_what_its_class_says(void **state)
{
	static const struct {
		uint32_t database;
		int resp;
		const char *greeting;
		const char *answer;
	} rows[] = {
		{0, 2, "", ""},
		{0, 3, HELLO, "%1\r\n+proto\r\n:3\r\n"},
		{5, 2, SELECT5, "+OK\r\n"},
		{5, 3, HELLO SELECT5, "%1\r\n+proto\r\n:3\r\n+OK\r\n"},
		{12, 2, SELECT12, "+OK\r\n"},
	};
	struct bed *b = *state;
	static struct ask a;
	bed_start(b, false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint16_t class_id = up_class(rows[i].database, rows[i].resp);
		assert_true(bed_ask_class(b, &a, class_id, GET, strlen(GET), 0));
		struct peer p = node_accept(&b->node);
		peer_expects(&p, rows[i].greeting);
		if (rows[i].greeting[0] != 0)
			peer_hears_nothing(&p, 5); /* the request waits for the answer */
		peer_says_slowly(&p, rows[i].answer, 1);
		peer_expects(&p, GET);
		peer_says(&p, "$1\r\nv\r\n");
		BED_UNTIL(b, a.done);
		ask_got(&a, "$1\r\nv\r\n");
		peer_close(&p);
	}
}

static void a_refused_greeting_fails_what_waits(void **state)
{
	static const struct {
		const char *answer;
		size_t piece;
		enum up_why why;
		unsigned alarms;
	} rows[] = {
		{"-ERR DB index is out of range\r\n", 100, UP_WHY_GREETING, 0},
		{"-ERR DB index is out of range\r\n", 1, UP_WHY_GREETING, 0},
		{NOAUTH, 100, UP_WHY_AUTH, 1},
		{NOAUTH, 4, UP_WHY_AUTH, 1},
		{NOAUTH, 1, UP_WHY_AUTH, 1},
		{"+OK\r\n+OK\r\n", 100, UP_WHY_GREETING, 0},
		{"+OK\r\n+", 100, UP_WHY_GREETING, 0},
		{"what is this\r\n", 100, UP_WHY_GREETING, 0},
	};
	struct bed *b = *state;
	bed_start(b, false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static struct ask a, later;
		uint64_t alarms = bed_count(b, NM_AUTH_ALARMS);
		BED_UNTIL(b, bed_ask_class(b, &a, up_class(5, 2), GET, strlen(GET), 0));
		struct peer p = node_accept(&b->node);
		peer_expects(&p, SELECT5);
		peer_says_slowly(&p, rows[i].answer, rows[i].piece);
		BED_UNTIL(b, a.failed);
		ask_failed(&a, rows[i].why, false);
		assert_int_equal(bed_count(b, NM_AUTH_ALARMS) - alarms, rows[i].alarms);
		assert_int_equal(peer_sees_end(&p), 0); /* the request was not sent */
		assert_false(bed_ask_class(b, &later, up_class(5, 2), GET, strlen(GET), 0));
		assert_int_equal(later.why, rows[i].why); /* until the next attempt */
		peer_close(&p);
	}
	assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), ARRAY_LEN(rows));
	assert_int_equal(bed_count(b, NM_DISCONNECTS), 0);
}

static void a_greeting_that_is_not_answered_is_a_connect_timeout(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	b->opts.connect_timeout_ns = 40 * NS_PER_MS;
	bed_start(b, false);
	assert_true(bed_ask_class(b, &a, up_class(0, 3), GET, strlen(GET), 0));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, HELLO);
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_CONNECT_TIMEOUT, false);
	peer_close(&p);
}

static void a_node_that_goes_during_the_greeting_is_lost(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	bed_start(b, false);
	assert_true(bed_ask_class(b, &a, up_class(5, 2), GET, strlen(GET), 0));
	struct peer p = node_accept(&b->node);
	peer_close(&p);
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_LOST, false);
}

static void classes_have_connections_of_their_own(void **state)
{
	struct bed *b = *state;
	static struct ask a, c;
	bed_start(b, false);
	assert_true(bed_ask(b, &a, GET, 0));
	struct peer p = node_accept(&b->node);
	assert_true(bed_ask_class(b, &c, up_class(0, 3), GET, strlen(GET), 0));
	struct peer q = node_accept(&b->node);
	peer_expects(&p, GET);
	peer_expects(&q, HELLO);
	assert_int_equal(b->up->held, 2);
	peer_close(&p);
	peer_says(&q, "%0\r\n");
	peer_expects(&q, GET);
	BED_UNTIL(b, a.failed);
	assert_false(c.failed);
	peer_says(&q, "_\r\n");
	BED_UNTIL(b, c.done);
	peer_close(&q);
}

/* ---- refusals ---------------------------------------------------------------------------------*/

static void a_refused_connect_fails_what_waits(void **state)
{
	static const bool kinds[] = {false, true};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct bed *b = bed_new();
		static struct ask a;
		bed_start(b, kinds[i]);
		node_close(&b->node);
		if (bed_ask(b, &a, GET, 0)) {
			BED_UNTIL(b, a.failed);
			ask_failed(&a, UP_WHY_REFUSED, false);
		} else {
			assert_int_equal(a.why, UP_WHY_REFUSED); /* known at once */
		}
		assert_int_equal(bed_count(b, NM_CONNECTS), 1);
		assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), 1);
		bed_free(b);
	}
	bed_start(*state, false);
}

/* Nobody answers a connect to it: its queue of connections is full. */
static size_t fill_backlog(const struct addr *a, int *fds, size_t max)
{
	struct sockaddr_any where;
	size_t n = 0;
	bool done;
	assert_int_equal(sock_resolve(&where, a), 0);
	while (n < max && (fds[n] = sock_connect(&where, &done)) >= 0)
		n++;
	return n;
}

static void a_node_that_does_not_answer_is_a_connect_timeout(void **state)
{
	struct bed *b = *state;
	static struct ask a, later;
	int fds[8];
	b->opts.connect_timeout_ns = 50 * NS_PER_MS;
	bed_start(b, false);
	assert_int_equal(listen(b->node.fd, 0), 0);
	size_t n = fill_backlog(&b->node.addr, fds, ARRAY_LEN(fds));
	assert_true(bed_ask(b, &a, GET, 0));
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_CONNECT_TIMEOUT, false);
	assert_false(bed_ask(b, &later, GET, 0));
	assert_int_equal(later.why, UP_WHY_CONNECT_TIMEOUT);
	while (n > 0)
		(void)close(fds[--n]);
}

/* Moves the loop's clock without a turn. */
static void at_time(struct bed *b, uint64_t now)
{
	b->loop.now_ns = now;
}

static void pauses_between_attempts_double_up_to_the_longest(void **state)
{
	static const uint64_t pauses_ms[] = {20, 40, 80, 100, 100, 100};
	struct bed *b = *state;
	static struct ask a;
	bed_start(b, true);
	node_close(&b->node);
	uint64_t now = clock_ns();
	for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
		at_time(b, now);
		assert_false(bed_ask(b, &a, GET, 0)); /* an attempt */
		assert_int_equal(a.why, UP_WHY_REFUSED);
		assert_int_equal(bed_count(b, NM_CONNECTS), i + 1);
		uint64_t pause = bed_conn(b)->retry_ns - now;
		assert_in_range(
			pause, pauses_ms[i] * NS_PER_MS / 2, pauses_ms[i] * NS_PER_MS * 3 / 2);
		at_time(b, bed_conn(b)->retry_ns - 1);
		assert_false(bed_ask(b, &a, GET, 0)); /* none: too early */
		assert_int_equal(a.why, UP_WHY_REFUSED);
		assert_int_equal(bed_count(b, NM_CONNECTS), i + 1);
		now = bed_conn(b)->retry_ns;
	}
}

static void pauses_are_jittered(void **state)
{
	struct bed *b = *state;
	uint64_t pauses[4];
	b->opts.backoff_max_ns = b->opts.backoff_ns;
	bed_start(b, true);
	node_close(&b->node);
	uint64_t now = clock_ns();
	for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
		static struct ask a;
		at_time(b, now);
		assert_false(bed_ask(b, &a, GET, 0));
		pauses[i] = bed_conn(b)->retry_ns - now;
		now = bed_conn(b)->retry_ns;
	}
	assert_true(pauses[0] != pauses[1] && pauses[1] != pauses[2] && pauses[2] != pauses[3]);
}

static void a_connection_that_answered_is_replaced_at_once(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	bed_start(b, false);
	assert_true(bed_ask(b, &a, GET, 0));
	struct peer p = node_accept(&b->node);
	peer_says(&p, "+OK\r\n");
	BED_UNTIL(b, a.done);
	peer_close(&p);
	BED_UNTIL(b, bed_conn(b)->state == UP_CLOSED);
	assert_true(bed_ask(b, &a, GET, 0));
	p = node_accept(&b->node);
	peer_expects(&p, GET);
	peer_close(&p);
	assert_int_equal(bed_count(b, NM_DISCONNECTS), 1);
}

static void a_connection_that_never_answered_is_not(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	b->opts.backoff_ns = 60 * NS_PER_S;
	bed_start(b, false);
	assert_true(bed_ask(b, &a, GET, 0));
	struct peer p = node_accept(&b->node);
	BED_UNTIL(b, bed_conn(b)->state == UP_READY);
	peer_close(&p);
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_LOST, true);
	assert_false(bed_ask(b, &a, GET, 0)); /* it accepts, but it is of no use */
	assert_int_equal(a.why, UP_WHY_LOST);
	node_sees_nobody(&b->node, 10);
}

/* ---- ahead of need ----------------------------------------------------------------------------*/

static void preconnect_connects_and_comes_back_by_itself(void **state)
{
	struct bed *b = *state;
	b->opts.preconnect = true;
	bed_start(b, false);
	upstream_preconnect(b->up, 0);
	struct peer p = node_accept(&b->node);
	BED_UNTIL(b, bed_conn(b)->state == UP_READY);
	upstream_preconnect(b->up, 0); /* it is there: nothing to do */
	node_sees_nobody(&b->node, 5);
	peer_close(&p);
	p = node_accept(&b->node); /* nobody asked for anything */
	BED_UNTIL(b, bed_conn(b)->state == UP_READY);
	assert_int_equal(bed_count(b, NM_CONNECTIONS), 1);
	peer_close(&p);
}

static void preconnect_keeps_trying_while_refused(void **state)
{
	struct bed *b = *state;
	b->opts.preconnect = true;
	b->opts.backoff_ns = 2 * NS_PER_MS;
	b->opts.backoff_max_ns = 4 * NS_PER_MS;
	bed_start(b, false);
	struct node again = b->node;
	node_close(&b->node);
	upstream_preconnect(b->up, 0);
	BED_UNTIL(b, bed_count(b, NM_CONNECT_FAILURES) >= 4);
	node_open(&b->node, again.addr.text, b->node.pump);
	struct peer p = node_accept(&b->node);
	BED_UNTIL(b, bed_conn(b)->state == UP_READY);
	peer_close(&p);
}

static void without_preconnect_nobody_connects_unasked(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	bed_start(b, false);
	node_sees_nobody(&b->node, 10);
	assert_true(bed_ask(b, &a, GET, 0));
	struct peer p = node_accept(&b->node);
	peer_close(&p);
	BED_UNTIL(b, a.failed);
	node_sees_nobody(&b->node, 60);
}

/* ---- the queue --------------------------------------------------------------------------------*/

static void the_queue_is_capped_while_connecting(void **state)
{
	struct bed *b = *state;
	static struct ask a[4];
	b->opts.queue = 3;
	bed_start(b, false);
	for (int i = 0; i < 3; i++)
		assert_true(bed_ask(b, &a[i], GET, 0));
	assert_int_equal(bed_conn(b)->state, UP_CONNECTING);
	assert_false(bed_ask(b, &a[3], GET, 0));
	assert_int_equal(a[3].why, UP_WHY_QUEUE_FULL);
	assert_int_equal(bed_count(b, NM_QUEUE_FULL), 1);
	struct peer p = node_accept(&b->node);
	peer_expects(&p, GET GET GET);
	assert_true(bed_ask(b, &a[3], GET, 0)); /* connected, and silent for a moment only */
	peer_expects(&p, GET);
	peer_close(&p);
}

static void the_queue_is_capped_while_the_node_is_silent(void **state)
{
	struct bed *b = *state;
	static struct ask a[4];
	b->opts.queue = 2;
	b->opts.request_timeout_ns = 30 * NS_PER_MS;
	bed_start(b, false);
	assert_true(bed_ask(b, &a[0], GET, 0));
	assert_true(bed_ask(b, &a[1], GET, 0));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, GET GET);
	pump_for(&b->node.pump, 40);
	assert_false(bed_ask(b, &a[2], GET, 0));
	assert_int_equal(a[2].why, UP_WHY_QUEUE_FULL);
	peer_says(&p, "+"); /* it lives */
	BED_UNTIL(b, bed_conn(b)->read_ns + 20 * NS_PER_MS > loop_now(&b->loop) &&
			     bed_ask(b, &a[2], GET, 0));
	peer_expects(&p, GET);
	peer_close(&p);
}

static void a_node_that_answers_has_no_cap(void **state)
{
	static struct ask a[200];
	struct bed *b = *state;
	b->opts.queue = 2;
	bed_start(b, false);
	assert_true(bed_ask(b, &a[0], GET, 0));
	struct peer p = node_accept(&b->node);
	BED_UNTIL(b, bed_conn(b)->state == UP_READY);
	for (int i = 1; i < 200; i++)
		assert_true(bed_ask(b, &a[i], GET, 0));
	for (int i = 0; i < 200; i++)
		peer_expects(&p, GET);
	for (int i = 0; i < 200; i++)
		peer_says(&p, ":1\r\n");
	BED_UNTIL(b, a[199].done);
	peer_close(&p);
}

static void leaving_fails_what_waits_in_every_state(void **state)
{
	struct bed *b = *state;
	static struct ask connecting, greeting, ready;
	bed_start(b, false);
	assert_true(bed_ask_class(b, &greeting, up_class(1, 2), GET, strlen(GET), 0));
	struct peer p = node_accept(&b->node);
	assert_true(bed_ask_class(b, &ready, 0, GET, strlen(GET), 0));
	struct peer q = node_accept(&b->node);
	peer_expects(&q, GET);
	assert_true(bed_ask_class(b, &connecting, up_class(2, 2), GET, strlen(GET), 0));
	assert_int_equal(b->up->held, 3);
	bed_stop(b);
	ask_failed(&connecting, UP_WHY_BROKEN, false);
	ask_failed(&greeting, UP_WHY_BROKEN, false);
	ask_failed(&ready, UP_WHY_BROKEN, true);
	peer_close(&p);
	peer_close(&q);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_connection_is_made_what_its_class_says),
		T(a_refused_greeting_fails_what_waits),
		T(a_greeting_that_is_not_answered_is_a_connect_timeout),
		T(a_node_that_goes_during_the_greeting_is_lost),
		T(classes_have_connections_of_their_own),
		T(a_refused_connect_fails_what_waits),
		T(a_node_that_does_not_answer_is_a_connect_timeout),
		T(pauses_between_attempts_double_up_to_the_longest),
		T(pauses_are_jittered),
		T(a_connection_that_answered_is_replaced_at_once),
		T(a_connection_that_never_answered_is_not),
		T(preconnect_connects_and_comes_back_by_itself),
		T(preconnect_keeps_trying_while_refused),
		T(without_preconnect_nobody_connects_unasked),
		T(the_queue_is_capped_while_connecting),
		T(the_queue_is_capped_while_the_node_is_silent),
		T(a_node_that_answers_has_no_cap),
		T(leaving_fails_what_waits_in_every_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
