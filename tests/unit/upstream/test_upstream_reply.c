/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * What a node says, and what becomes of it: pieces, errors, late replies, nonsense, silence.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/upstream/upstream_internal.h"
#include "tests/unit/upstream/bed.h"

#define GET "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"

static int setup(void **state)
{
	struct bed *b = bed_new();
	bed_start(b, false);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	bed_free(*state);
	return 0;
}

/* n parts that the node has got. */
static struct peer asked(struct bed *b, struct ask *a, int n)
{
	for (int i = 0; i < n; i++)
		assert_true(bed_ask(b, &a[i], GET, 0));
	struct peer p = node_accept(&b->node);
	for (int i = 0; i < n; i++)
		peer_expects(&p, GET);
	return p;
}

/* ---- in order, in pieces ----------------------------------------------------------------------*/

static void replies_go_to_the_parts_in_the_order_asked(void **state)
{
	static const char *const replies[] = {"+OK\r\n", "$3\r\nabc\r\n", ":42\r\n", "$-1\r\n",
		"*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "-ERR no\r\n", "*0\r\n", "$0\r\n\r\n",
		"%1\r\n+k\r\n#t\r\n", "-WRONGTYPE of key\r\n", "_\r\n", ",1.5\r\n"};
	static const size_t pieces[] = {1, 2, 3, 7, 1000};
	for (size_t k = 0; k < ARRAY_LEN(pieces); k++) {
		struct bed *b = *state;
		static struct ask a[ARRAY_LEN(replies)];
		char all[1024] = "";
		for (size_t i = 0; i < ARRAY_LEN(replies); i++)
			strcat(all, replies[i]);
		struct peer p = asked(b, a, ARRAY_LEN(replies));
		peer_says_slowly(&p, all, pieces[k]);
		BED_UNTIL(b, a[ARRAY_LEN(replies) - 1].done);
		for (size_t i = 0; i < ARRAY_LEN(replies); i++)
			ask_got(&a[i], replies[i]);
		assert_int_equal(b->up->held, 0);
		assert_int_equal(sendq_held(&bed_conn(b)->out), 0);
		peer_close(&p);
		BED_UNTIL(b, bed_conn(b)->state == UP_CLOSED);
	}
	assert_int_equal(bed_count(*state, NM_REPLIES_ERROR), 2 * ARRAY_LEN(pieces));
	assert_int_equal(bed_count(*state, NM_REQUESTS), ARRAY_LEN(replies) * ARRAY_LEN(pieces));
}

static void a_reply_is_handed_on_as_it_arrives(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = asked(b, &a, 1);
	peer_says(&p, "$10\r\nhello");
	BED_UNTIL(b, a.len == 10);
	assert_false(a.done);
	assert_true(a.part.flags & PART_BEGUN);
	peer_says(&p, "world\r\n");
	BED_UNTIL(b, a.done);
	ask_got(&a, "$10\r\nhelloworld\r\n");
	assert_true(a.pieces >= 2);
	peer_close(&p);
}

static void a_reply_larger_than_one_read_comes_whole(void **state)
{
	enum { LARGE = 3 * LOOP_SCRATCH + 17 };
	struct bed *b = *state;
	static struct ask a, after;
	char head[32];
	char *bulk = malloc(LARGE);
	assert_non_null(bulk);
	memset(bulk, 'x', LARGE);
	struct peer p = asked(b, &a, 1);
	assert_true(bed_ask(b, &after, GET, 0));
	(void)snprintf(head, sizeof(head), "$%d\r\n", LARGE);
	peer_says(&p, head);
	peer_say(&p, bulk, LARGE);
	peer_says(&p, "\r\n+next\r\n");
	BED_UNTIL(b, after.done);
	assert_int_equal(a.len, strlen(head) + LARGE + 2);
	ask_got(&after, "+next\r\n");
	free(bulk);
	peer_close(&p);
}

/* ---- errors -----------------------------------------------------------------------------------*/

static void an_error_is_handed_on_whole(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = asked(b, &a, 1);
	peer_says(&p, "-ERR half of");
	pump_for(&b->node.pump, 10);
	assert_int_equal(a.pieces, 0);
	peer_says(&p, " an error\r\n");
	BED_UNTIL(b, a.done);
	ask_got(&a, "-ERR half of an error\r\n");
	assert_int_equal(a.pieces, 1);
	peer_close(&p);
}

static void noauth_is_an_alarm_and_no_reply(void **state)
{
	static const size_t pieces[] = {1, 3, 7, 8, 100};
	struct bed *b = *state;
	static struct ask a[2];
	struct peer p = asked(b, a, 2);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		peer_says_slowly(&p, "-NOAUTH Authentication required.\r\n", pieces[i]);
		BED_UNTIL(b, a[0].failed);
		ask_failed(&a[0], UP_WHY_AUTH, true);
		assert_int_equal(a[0].len, 0);
		assert_int_equal(bed_count(b, NM_AUTH_ALARMS), i + 1);
		peer_says(&p, "-NOPERM this one passes\r\n"); /* the connection lives on */
		BED_UNTIL(b, a[1].done);
		ask_got(&a[1], "-NOPERM this one passes\r\n");
		assert_true(bed_ask(b, &a[0], GET, 0));
		assert_true(bed_ask(b, &a[1], GET, 0));
		peer_expects(&p, GET GET);
	}
	peer_close(&p);
	BED_UNTIL(b, a[1].failed);
}

static void an_error_without_end_ends_the_connection(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	static char much[100000];
	struct peer p = asked(b, &a, 1);
	memset(much, 'e', sizeof(much));
	peer_says(&p, "-ERR ");
	pump_for(&b->node.pump, 5);
	for (int i = 0; i < 4 && !a.failed; i++) {
		peer_say(&p, much, sizeof(much));
		pump_for(&b->node.pump, 20);
	}
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_BROKEN, true);
	peer_close(&p);
}

/* ---- nobody waits -----------------------------------------------------------------------------*/

static void a_late_reply_is_dropped_and_the_next_part_gets_its_own(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	struct peer p = asked(b, a, 3);
	ask_drop(&a[1]);
	peer_says(&p, "+first\r\n$4\r\nlate\r\n+third\r\n");
	BED_UNTIL(b, a[2].done);
	ask_got(&a[0], "+first\r\n");
	assert_true(a[1].dropped);
	assert_int_equal(a[1].len, 0);
	ask_got(&a[2], "+third\r\n");
	assert_int_equal(bed_count(b, NM_LATE_REPLIES), 1);
	peer_close(&p);
}

static void a_part_dropped_in_the_middle_of_its_reply_takes_the_rest_along(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	struct peer p = asked(b, a, 2);
	peer_says(&p, "$10\r\nhello");
	BED_UNTIL(b, a[0].len == 10);
	ask_drop(&a[0]);
	peer_says(&p, "world\r\n+mine\r\n");
	BED_UNTIL(b, a[1].done);
	assert_true(a[0].dropped);
	assert_int_equal(a[0].len, 10);
	ask_got(&a[1], "+mine\r\n");
	peer_close(&p);
}

static void a_part_dropped_in_the_middle_of_an_error_takes_all_of_it_along(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	struct peer p = asked(b, a, 3);
	peer_says(&p, "-ERR somebody else's ");
	BED_UNTIL(b, a[0].part.flags & PART_BEGUN);
	ask_drop(&a[0]);
	peer_says(&p, "secret\r\n");
	BED_UNTIL(b, a[0].dropped);
	peer_says_slowly(&p, "-ERR mine\r\n-ERR too\r\n", 3);
	BED_UNTIL(b, a[2].done);
	ask_got(&a[1], "-ERR mine\r\n");
	ask_got(&a[2], "-ERR too\r\n");
	peer_close(&p);
}

static void a_dropped_part_is_let_go_when_the_connection_is(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	struct peer p = asked(b, a, 2);
	ask_drop(&a[0]);
	peer_close(&p);
	BED_UNTIL(b, a[1].failed);
	assert_true(a[0].dropped);
	ask_failed(&a[1], UP_WHY_LOST, true);
}

/* ---- nonsense ---------------------------------------------------------------------------------*/

static void a_reply_that_nobody_asked_for_ends_the_connection(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = asked(b, &a, 1);
	peer_says(&p, "+mine\r\n+whose\r\n");
	BED_UNTIL(b, bed_conn(b)->state == UP_CLOSED);
	ask_got(&a, "+mine\r\n");
	assert_int_equal(bed_conn(b)->why, UP_WHY_BROKEN);
	peer_close(&p);
}

static void garbage_ends_the_connection_and_fails_all_parts(void **state)
{
	static const char *const garbage[] = {"HTTP/1.1 400 Bad Request\r\n", "$x\r\n",
		"$5\r\nhelloXX", "*1\r\n?\r\n", "\r\n", "$?\r\n", "$-2\r\n", "*-7\r\n"};
	struct bed *b = *state;
	for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
		static struct ask a[3];
		BED_UNTIL(b, bed_ask(b, &a[0], GET, 0));
		struct peer p = node_accept(&b->node);
		assert_true(bed_ask(b, &a[1], GET, 0));
		assert_true(bed_ask(b, &a[2], GET, 0));
		peer_expects(&p, GET GET GET);
		peer_says(&p, "+good\r\n");
		peer_says(&p, garbage[i]);
		BED_UNTIL(b, a[2].failed);
		ask_got(&a[0], "+good\r\n");
		ask_failed(&a[1], UP_WHY_BROKEN, true);
		ask_failed(&a[2], UP_WHY_BROKEN, true);
		peer_close(&p);
	}
}

/* The part lies in the FIFO, not a byte of it has left: the turn is not over. */
static void only_what_was_sent_is_said_to_be_sent(void **state)
{
	struct bed *b = *state;
	static struct ask a[2], unsent;
	struct peer p = asked(b, a, 2);
	assert_true(bed_ask(b, &unsent, GET, 0));
	peer_says(&p, "+one\r\n?garbage\r\n");
	pump_for(&(struct pump){0}, 5);
	assert_true(loop_turn(&b->loop)); /* reads, does not flush */
	BED_UNTIL(b, unsent.failed);
	ask_got(&a[0], "+one\r\n");
	ask_failed(&a[1], UP_WHY_BROKEN, true);
	ask_failed(&unsent, UP_WHY_BROKEN, false);
	peer_close(&p);
}

static void a_reply_before_its_request_is_no_reply(void **state)
{
	static const char *const replies[] = {"+two\r\n", "$3\r\nt", "-ERR t", "-ERR two\r\n"};
	struct bed *b = *state;
	for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
		static struct ask a, unsent;
		BED_UNTIL(b, bed_ask(b, &a, GET, 0));
		struct peer p = node_accept(&b->node);
		peer_expects(&p, GET);
		assert_true(bed_ask(b, &unsent, GET, 0));
		peer_says(&p, "+one\r\n");
		peer_says(&p, replies[i]);
		pump_for(&(struct pump){0}, 5);
		assert_true(loop_turn(&b->loop));
		BED_UNTIL(b, unsent.failed);
		ask_got(&a, "+one\r\n");
		ask_failed(&unsent, UP_WHY_BROKEN, false);
		assert_int_equal(unsent.len, 0);
		peer_close(&p);
	}
}

static void a_reply_cut_off_fails_its_part(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	struct peer p = asked(b, a, 2);
	peer_says(&p, "*3\r\n:1\r\n:2\r\n");
	BED_UNTIL(b, a[0].len == 12);
	peer_reset(&p);
	BED_UNTIL(b, a[1].failed);
	ask_failed(&a[0], UP_WHY_LOST, true);
	assert_true(a[0].part.flags & PART_BEGUN);
	ask_failed(&a[1], UP_WHY_LOST, true);
	assert_false(a[1].part.flags & PART_BEGUN);
}

static void an_error_cut_off_is_given_back(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = asked(b, &a, 1);
	peer_says(&p, "-ERR ha");
	BED_UNTIL(b, a.part.flags & PART_BEGUN);
	peer_close(&p);
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_LOST, true);
	assert_int_equal(a.len, 0);
	assert_int_equal(b->loop.pool.used, 0);
	assert_true(bed_ask(b, &a, GET, 0) || a.why == UP_WHY_LOST);
}

/* ---- silence ----------------------------------------------------------------------------------*/

static void a_connection_whose_oldest_part_is_unanswered_is_closed(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	b->opts.request_timeout_ns = b->timeout_ns = 20 * NS_PER_MS;
	struct peer p = asked(b, a, 2);
	BED_UNTIL(b, a[0].failed);
	ask_failed(&a[0], UP_WHY_BROKEN, true);
	ask_failed(&a[1], UP_WHY_BROKEN, true);
	uint64_t age = clock_ns() - a[0].part.born_ns;
	assert_true(age >= 60 * NS_PER_MS); /* three times the deadline, not earlier */
	(void)peer_sees_end(&p);
	peer_close(&p);
}

static void each_answer_gives_the_next_part_its_own_time(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	b->opts.request_timeout_ns = b->timeout_ns = 200 * NS_PER_MS; /* stuck after 600 ms */
	struct peer p = asked(b, &a[0], 1);
	pump_for(&b->node.pump, 300);
	assert_true(bed_ask(b, &a[1], GET, 0));
	peer_says(&p, "+one\r\n");
	pump_for(&b->node.pump, 400); /* past the first one's time */
	assert_int_equal(bed_conn(b)->state, UP_READY);
	assert_false(a[1].failed);
	BED_UNTIL(b, a[1].failed); /* its own time */
	assert_true(clock_ns() - a[1].part.born_ns >= 600 * NS_PER_MS);
	peer_close(&p);
}

/* Asks with a deadline of its own. */
static void ask_patiently(struct bed *b, struct ask *a, uint64_t timeout_ns)
{
	uint64_t usual = b->timeout_ns;
	b->timeout_ns = timeout_ns;
	assert_true(bed_ask(b, a, GET, 0));
	b->timeout_ns = usual;
}

static void a_slow_part_before_does_not_hide_that_one_is_stuck(void **state)
{
	struct bed *b = *state;
	static struct ask slow, quick;
	b->opts.request_timeout_ns = b->timeout_ns = 20 * NS_PER_MS;
	ask_patiently(b, &slow, 60 * NS_PER_S);
	struct peer p = node_accept(&b->node);
	peer_expects(&p, GET);
	peer_says(&p, "+slow\r\n");
	BED_UNTIL(b, slow.done);
	assert_true(bed_ask(b, &quick, GET, 0)); /* the connection was idle */
	BED_UNTIL(b, quick.failed);
	ask_failed(&quick, UP_WHY_BROKEN, true);
	peer_close(&p);
}

static void a_part_behind_a_slow_one_is_stuck_in_its_own_time(void **state)
{
	struct bed *b = *state;
	static struct ask slow, quick;
	b->opts.request_timeout_ns = b->timeout_ns = 20 * NS_PER_MS;
	ask_patiently(b, &slow, 60 * NS_PER_S);
	assert_true(bed_ask(b, &quick, GET, 0));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, GET GET);
	pump_for(&b->node.pump, 80);
	assert_false(quick.failed); /* not before it is the oldest */
	peer_says(&p, "+slow\r\n");
	BED_UNTIL(b, slow.done);
	pump_for(&b->node.pump, 5);
	assert_false(quick.failed); /* the node gets a moment for it */
	BED_UNTIL(b, quick.failed);
	ask_failed(&quick, UP_WHY_BROKEN, true);
	peer_close(&p);
}

static void a_reply_that_trickles_in_is_not_stuck(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	b->opts.request_timeout_ns = b->timeout_ns = 20 * NS_PER_MS;
	struct peer p = asked(b, &a, 1);
	peer_says(&p, "$10\r\n");
	for (int i = 0; i < 10; i++) {
		pump_for(&b->node.pump, 20); /* 200 ms in all, stuck would be 60 */
		peer_says(&p, "x");
	}
	peer_says(&p, "\r\n");
	BED_UNTIL(b, a.done || a.failed);
	assert_true(a.done);
	/* but one that stops is */
	assert_true(bed_ask(b, &a, GET, 0));
	peer_expects(&p, GET);
	peer_says(&p, "$10\r\nx");
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_BROKEN, true);
	peer_close(&p);
}

static void an_idle_connection_is_left_alone(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	b->opts.request_timeout_ns = b->timeout_ns = 10 * NS_PER_MS;
	struct peer p = asked(b, &a, 1);
	peer_says(&p, "+OK\r\n");
	BED_UNTIL(b, a.done);
	pump_for(&b->node.pump, 100);
	assert_int_equal(bed_conn(b)->state, UP_READY);
	peer_hears_nothing(&p, 1);
	peer_close(&p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(replies_go_to_the_parts_in_the_order_asked),
		T(a_reply_is_handed_on_as_it_arrives),
		T(a_reply_larger_than_one_read_comes_whole),
		T(an_error_is_handed_on_whole),
		T(noauth_is_an_alarm_and_no_reply),
		T(an_error_without_end_ends_the_connection),
		T(a_late_reply_is_dropped_and_the_next_part_gets_its_own),
		T(a_part_dropped_in_the_middle_of_its_reply_takes_the_rest_along),
		T(a_part_dropped_in_the_middle_of_an_error_takes_all_of_it_along),
		T(a_dropped_part_is_let_go_when_the_connection_is),
		T(a_reply_that_nobody_asked_for_ends_the_connection),
		T(garbage_ends_the_connection_and_fails_all_parts),
		T(only_what_was_sent_is_said_to_be_sent),
		T(a_reply_before_its_request_is_no_reply),
		T(a_reply_cut_off_fails_its_part),
		T(an_error_cut_off_is_given_back),
		T(a_connection_whose_oldest_part_is_unanswered_is_closed),
		T(each_answer_gives_the_next_part_its_own_time),
		T(a_slow_part_before_does_not_hide_that_one_is_stuck),
		T(a_part_behind_a_slow_one_is_stuck_in_its_own_time),
		T(a_reply_that_trickles_in_is_not_stuck),
		T(an_idle_connection_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
