/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Sending once more when nobody can tell: what may be, in which order, how often.
 */

#include <stdio.h>
#include <string.h>

#include "router/upstream/upstream_internal.h"
#include "tests/unit/upstream/bed.h"

#define R(k) "*2\r\n$3\r\nGET\r\n$1\r\n" k "\r\n"
#define W(k) "*2\r\n$3\r\nDEL\r\n$1\r\n" k "\r\n"

static int setup(void **state)
{
	struct bed *b = bed_new();
	b->opts.retries = 1;
	b->opts.backoff_ns = 2 * NS_PER_MS;
	bed_start(b, false);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	bed_free(*state);
	return 0;
}

static void read_part(struct bed *b, struct ask *a, const char *wire)
{
	assert_true(bed_ask(b, a, wire, PART_READONLY));
}

static void write_part(struct bed *b, struct ask *a, const char *wire)
{
	assert_true(bed_ask(b, a, wire, 0));
}

static void a_read_is_sent_again_and_a_write_is_not(void **state)
{
	struct bed *b = *state;
	static struct ask r[2], w;
	read_part(b, &r[0], R("a"));
	write_part(b, &w, W("b"));
	read_part(b, &r[1], R("c"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a") W("b") R("c"));
	peer_close(&p);
	p = node_accept(&b->node);
	peer_expects(&p, R("a") R("c"));
	ask_failed(&w, UP_WHY_LOST, true);
	peer_says(&p, "+a\r\n+c\r\n");
	BED_UNTIL(b, r[1].done);
	ask_got(&r[0], "+a\r\n");
	ask_got(&r[1], "+c\r\n");
	assert_int_equal(bed_count(b, NM_RETRIES), 2);
	assert_int_equal(bed_count(b, NM_REQUESTS), 3);
	peer_close(&p);
}

static void a_write_of_which_nothing_was_sent_is_sent_again(void **state)
{
	struct bed *b = *state;
	static struct ask sent, unsent;
	write_part(b, &sent, W("a"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, W("a"));
	write_part(b, &unsent, W("b"));
	peer_close(&p);
	pump_for(&(struct pump){0}, 5);
	while (!sent.failed)
		assert_true(loop_turn(&b->loop));
	ask_failed(&sent, UP_WHY_LOST, true);
	p = node_accept(&b->node);
	peer_expects(&p, W("b"));
	peer_says(&p, ":1\r\n");
	BED_UNTIL(b, unsent.done);
	peer_close(&p);
}

static void what_was_answered_before_is_not_sent_again(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	for (int i = 0; i < 3; i++)
		read_part(b, &a[i], i == 0 ? R("long-gone") : i == 1 ? R("b") : R("cc"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("long-gone") R("b") R("cc"));
	peer_says(&p, "+1\r\n");
	peer_close(&p); /* the reply and the end come together */
	p = node_accept(&b->node);
	peer_expects(&p, R("b") R("cc"));
	peer_says(&p, "+2\r\n+3\r\n");
	BED_UNTIL(b, a[2].done);
	ask_got(&a[0], "+1\r\n");
	ask_got(&a[1], "+2\r\n");
	ask_got(&a[2], "+3\r\n");
	peer_close(&p);
}

static void a_reply_that_has_begun_is_not_asked_for_again(void **state)
{
	struct bed *b = *state;
	static struct ask begun, after;
	read_part(b, &begun, R("a"));
	read_part(b, &after, R("b"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a") R("b"));
	peer_says(&p, "$10\r\nhe");
	peer_close(&p);
	p = node_accept(&b->node);
	peer_expects(&p, R("b"));
	ask_failed(&begun, UP_WHY_LOST, true);
	peer_says(&p, "+b\r\n");
	BED_UNTIL(b, after.done);
	peer_close(&p);
}

static void what_nobody_waits_for_is_not_sent_again(void **state)
{
	struct bed *b = *state;
	static struct ask gone, waits;
	read_part(b, &gone, R("a"));
	read_part(b, &waits, R("b"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a") R("b"));
	ask_drop(&gone);
	peer_close(&p);
	p = node_accept(&b->node);
	assert_true(gone.dropped);
	peer_expects(&p, R("b"));
	peer_says(&p, "+b\r\n");
	BED_UNTIL(b, waits.done);
	peer_close(&p);
}

static void it_is_sent_again_so_often_and_not_more(void **state)
{
	static const uint32_t limits[] = {0, 1, 3};
	struct bed *b = *state;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		static struct ask a;
		b->opts.retries = limits[i];
		BED_UNTIL(b, bed_ask(b, &a, R("a"), PART_READONLY));
		for (uint32_t n = 0; n <= limits[i]; n++) {
			struct peer p = node_accept(&b->node);
			peer_expects(&p, R("a"));
			assert_false(a.failed);
			peer_close(&p);
		}
		BED_UNTIL(b, a.failed);
		ask_failed(&a, UP_WHY_LOST, true);
	}
}

static void a_budget_used_up_denies_more(void **state)
{
	static struct ask a[15];
	struct bed *b = *state;
	unsigned failed = 0;
	for (int i = 0; i < 15; i++)
		read_part(b, &a[i], R("a"));
	struct peer p = node_accept(&b->node);
	for (int i = 0; i < 15; i++)
		peer_expects(&p, R("a"));
	peer_close(&p);
	p = node_accept(&b->node);
	for (int i = 0; i < 10; i++)
		peer_expects(&p, R("a"));
	peer_hears_nothing(&p, 5);
	for (int i = 0; i < 15; i++)
		failed += a[i].failed;
	assert_int_equal(failed, 5);
	assert_int_equal(bed_count(b, NM_RETRIES), 10);
	assert_int_equal(bed_count(b, NM_RETRIES_DENIED), 5);
	peer_close(&p);
}

static void new_requests_wait_behind_those_sent_again(void **state)
{
	struct bed *b = *state;
	static struct ask again, later;
	b->opts.backoff_ns = 30 * NS_PER_MS;
	read_part(b, &again, R("a"));
	struct peer p = node_accept(&b->node);
	BED_UNTIL(b, bed_conn(b)->state == UP_READY);
	peer_close(&p);
	BED_UNTIL(b, bed_conn(b)->state == UP_CLOSED);
	assert_int_equal(bed_conn(b)->nfifo, 1);
	write_part(b, &later, W("b")); /* between attempts, and yet not refused */
	p = node_accept(&b->node);
	peer_expects(&p, R("a") W("b"));
	peer_says(&p, "+1\r\n+2\r\n");
	BED_UNTIL(b, later.done);
	ask_got(&again, "+1\r\n");
	ask_got(&later, "+2\r\n");
	peer_close(&p);
}

static void refused_once_it_waits_refused_twice_it_fails(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	b->opts.retries = 5;
	node_close(&b->node);
	write_part(b, &a, W("a")); /* nothing of it was sent */
	BED_UNTIL(b, a.failed);
	ask_failed(&a, UP_WHY_REFUSED, false);
	assert_int_equal(bed_count(b, NM_CONNECTS), 2);
	assert_int_equal(bed_count(b, NM_RETRIES), 1);
}

static void refused_once_and_then_served(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct node again = b->node;
	b->opts.backoff_ns = 30 * NS_PER_MS;
	bed_stop(b);
	b->up = upstream_new(&b->env, b->server, &b->opts, &b->budget);
	node_close(&b->node);
	write_part(b, &a, W("a"));
	BED_UNTIL(b, bed_count(b, NM_CONNECT_FAILURES) == 1);
	assert_false(a.failed);
	node_open(&b->node, again.addr.text, again.pump);
	struct peer p = node_accept(&b->node);
	peer_expects(&p, W("a"));
	peer_says(&p, ":1\r\n");
	BED_UNTIL(b, a.done);
	peer_close(&p);
}

/* Nonsense or silence may mean that the node is ill: it does not get everything once more. */
static void a_connection_that_we_closed_is_not_retried(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	read_part(b, &a[0], R("a"));
	read_part(b, &a[1], R("b"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a") R("b"));
	peer_says(&p, "?\r\n");
	BED_UNTIL(b, a[1].failed);
	ask_failed(&a[0], UP_WHY_BROKEN, true);
	ask_failed(&a[1], UP_WHY_BROKEN, true);
	assert_int_equal(bed_count(b, NM_RETRIES), 0);
	peer_close(&p);
}

static void leaving_fails_those_that_wait_to_be_sent_again(void **state)
{
	struct bed *b = *state;
	static struct ask a, gone;
	b->opts.backoff_ns = 60 * NS_PER_S;
	read_part(b, &a, R("a"));
	read_part(b, &gone, R("b"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a") R("b"));
	peer_close(&p);
	BED_UNTIL(b, bed_conn(b)->state == UP_CLOSED);
	assert_int_equal(bed_conn(b)->nfifo, 2);
	ask_drop(&gone);
	bed_stop(b);
	ask_failed(&a, UP_WHY_BROKEN, false);
	assert_true(gone.dropped);
}

static void many_large_ones_are_sent_again_byte_by_byte(void **state)
{
	enum { PARTS = 9, LARGE = 70001 };
	static struct ask a[PARTS];
	static char bytes[PARTS][LARGE];
	struct bed *b = *state;
	for (int i = 0; i < PARTS; i++) {
		for (size_t k = 0; k < LARGE; k++)
			bytes[i][k] = (char)(k * 7 + (size_t)i * 13 + (k >> 9));
		assert_true(bed_ask_class(b, &a[i], 0, bytes[i], LARGE, PART_READONLY));
	}
	struct peer p = node_accept(&b->node);
	peer_expect(&p, bytes[0], LARGE);
	peer_says(&p, ":0\r\n");
	BED_UNTIL(b, a[0].done);
	ask_drop(&a[4]);
	peer_reset(&p);
	p = node_accept(&b->node);
	for (int i = 1; i < PARTS; i++) {
		if (i == 4)
			continue;
		peer_expect(&p, bytes[i], LARGE);
		peer_says(&p, ":1\r\n");
	}
	BED_UNTIL(b, a[PARTS - 1].done);
	assert_true(a[4].dropped);
	assert_int_equal(b->loop.pool.used, 0);
	peer_close(&p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_read_is_sent_again_and_a_write_is_not),
		T(a_write_of_which_nothing_was_sent_is_sent_again),
		T(what_was_answered_before_is_not_sent_again),
		T(a_reply_that_has_begun_is_not_asked_for_again),
		T(what_nobody_waits_for_is_not_sent_again),
		T(it_is_sent_again_so_often_and_not_more),
		T(a_budget_used_up_denies_more),
		T(new_requests_wait_behind_those_sent_again),
		T(refused_once_it_waits_refused_twice_it_fails),
		T(refused_once_and_then_served),
		T(a_connection_that_we_closed_is_not_retried),
		T(leaving_fails_those_that_wait_to_be_sent_again),
		T(many_large_ones_are_sent_again_byte_by_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
