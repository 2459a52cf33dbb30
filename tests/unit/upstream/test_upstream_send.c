/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Requests on their way out: one write a turn, full sockets, and what has left when it breaks.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/rand.h"
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

static struct peer connected(struct bed *b)
{
	static struct ask a;
	assert_true(bed_ask(b, &a, GET, 0));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, GET);
	peer_says(&p, "+OK\r\n");
	BED_UNTIL(b, a.done);
	return p;
}

static uint8_t *noise(size_t n, uint64_t seed)
{
	struct rng r;
	uint8_t *bytes = malloc(n);
	assert_non_null(bytes);
	rng_seed(&r, seed);
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)rng_u64(&r);
	return bytes;
}

static void what_one_turn_brings_leaves_together(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	struct peer p = connected(b);
	for (int i = 0; i < 3; i++)
		assert_true(bed_ask(b, &a[i], GET, 0));
	pump_for(&(struct pump){0}, 5);
	char got[64];
	assert_int_equal(recv(p.fd, got, sizeof(got), 0), -1); /* not before the turn ends */
	upstream_flush_all(&b->env);
	pump_for(&(struct pump){0}, 5);
	assert_int_equal(recv(p.fd, got, sizeof(got), MSG_PEEK), 3 * strlen(GET));
	peer_expects(&p, GET GET GET);
	peer_close(&p);
}

static void a_part_in_pieces_is_one_part(void **state)
{
	struct bed *b = *state;
	static struct ask a = {0};
	struct peer p = connected(b);
	enum up_why why;
	struct upconn *c = upstream_conn(b->up, 0, &why);
	a.part.born_ns = loop_now(&b->loop);
	a.part.stuck_ns = a.part.born_ns + NS_PER_S;
	memcpy(upconn_reserve(c, 100), GET, strlen(GET));
	upconn_commit(c, &a.part, strlen(GET));
	peer_expects(&p, GET);
	peer_says(&p, "+OK\r\n");
	BED_UNTIL(b, a.done);
	assert_int_equal(sendq_held(&c->out), 0);
	peer_close(&p);
}

static void a_chunk_is_taken_over(void **state)
{
	enum { LARGE = 50000 };
	struct bed *b = *state;
	static struct ask a = {0};
	struct peer p = connected(b);
	enum up_why why;
	struct upconn *c = upstream_conn(b->up, 0, &why);
	uint8_t *bytes = noise(LARGE, 1);
	a.part.born_ns = loop_now(&b->loop);
	a.part.stuck_ns = a.part.born_ns + NS_PER_S;
	upconn_send_chunk(c, &a.part, chunk_append(&b->loop.pool, NULL, bytes, LARGE));
	peer_expect(&p, bytes, LARGE);
	peer_says(&p, "+OK\r\n");
	BED_UNTIL(b, a.done);
	assert_int_equal(b->loop.pool.used, 0);
	free(bytes);
	peer_close(&p);
}

static void a_node_that_reads_slowly_gets_every_byte_in_order(void **state)
{
	enum { PARTS = 20, LARGE = 400000 };
	static struct ask a[PARTS];
	struct bed *b = *state;
	struct peer p = connected(b);
	uint8_t *bytes[PARTS];
	for (int i = 0; i < PARTS; i++) {
		bytes[i] = noise(LARGE, (uint64_t)i);
		assert_true(bed_ask_class(b, &a[i], 0, bytes[i], LARGE, 0));
	}
	pump_for(&b->node.pump, 10);
	assert_true(bed_conn(b)->writable_armed); /* the socket is full */
	assert_true(bed_conn(b)->out.unsent > 0);
	for (int i = 0; i < PARTS; i++) {
		peer_expect(&p, bytes[i], LARGE);
		peer_says(&p, ":1\r\n");
		free(bytes[i]);
	}
	BED_UNTIL(b, a[PARTS - 1].done);
	assert_false(bed_conn(b)->writable_armed);
	assert_int_equal(b->loop.pool.used, 0);
	assert_int_equal(bed_count(b, NM_WRITE_BYTES), strlen(GET) + (uint64_t)PARTS * LARGE);
	peer_close(&p);
}

static void requests_wait_their_turn_while_the_socket_is_full(void **state)
{
	enum { LARGE = 8000000 };
	struct bed *b = *state;
	static struct ask large, small;
	struct peer p = connected(b);
	uint8_t *bytes = noise(LARGE, 1);
	assert_true(bed_ask_class(b, &large, 0, bytes, LARGE, 0));
	BED_UNTIL(b, bed_conn(b)->writable_armed);
	assert_true(bed_ask(b, &small, GET, 0));
	pump_for(&b->node.pump, 5);
	assert_true(bed_conn(b)->writable_armed);
	peer_expect(&p, bytes, LARGE);
	peer_expects(&p, GET);
	peer_says(&p, "+large\r\n+small\r\n");
	BED_UNTIL(b, small.done);
	ask_got(&large, "+large\r\n");
	ask_got(&small, "+small\r\n");
	free(bytes);
	peer_close(&p);
}

/* Sent, partly sent, not sent: each part knows. */
static void a_broken_connection_tells_what_had_left(void **state)
{
	enum { LARGE = 8000000 };
	struct bed *b = *state;
	static struct ask whole, partly, not_a_byte;
	struct peer p = connected(b);
	uint8_t *bytes = noise(LARGE, 1);
	assert_true(bed_ask(b, &whole, GET, 0));
	assert_true(bed_ask_class(b, &partly, 0, bytes, LARGE, 0));
	assert_true(bed_ask(b, &not_a_byte, GET, 0));
	BED_UNTIL(b, bed_conn(b)->writable_armed);
	peer_reset(&p);
	BED_UNTIL(b, not_a_byte.failed);
	ask_failed(&whole, UP_WHY_LOST, true);
	ask_failed(&partly, UP_WHY_LOST, true);
	ask_failed(&not_a_byte, UP_WHY_LOST, false);
	assert_int_equal(b->loop.pool.used, 0);
	free(bytes);
}

/* The boundary itself: everything before it was sent, nothing behind it. */
static void a_part_behind_the_last_byte_sent_is_not_sent(void **state)
{
	struct bed *b = *state;
	static struct ask answered, sent, unsent[2];
	struct peer p = connected(b);
	assert_true(bed_ask(b, &answered, GET, 0));
	assert_true(bed_ask(b, &sent, GET, 0));
	upstream_flush_all(&b->env);
	assert_true(bed_ask(b, &unsent[0], GET, 0));
	assert_true(bed_ask(b, &unsent[1], GET, 0));
	peer_says(&p, "+OK\r\n");
	peer_shut(&p);
	pump_for(&(struct pump){0}, 5);
	while (!unsent[1].failed)
		assert_true(loop_turn(&b->loop)); /* reads, does not flush */
	ask_got(&answered, "+OK\r\n");
	ask_failed(&sent, UP_WHY_LOST, true);
	ask_failed(&unsent[0], UP_WHY_LOST, false);
	ask_failed(&unsent[1], UP_WHY_LOST, false);
	peer_close(&p);
}

static void a_failed_write_ends_the_connection(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = connected(b);
	peer_reset(&p);
	pump_for(&(struct pump){0}, 5);
	assert_true(bed_ask(b, &a, GET, 0));
	upstream_flush_all(&b->env); /* before the loop has seen the reset */
	assert_true(a.failed);
	ask_failed(&a, UP_WHY_LOST, false);
	assert_int_equal(bed_conn(b)->state, UP_CLOSED);
}

static void gauges_follow_what_is_outstanding(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	struct peer p = connected(b);
	assert_int_equal(bed_count(b, NM_CONNECTIONS), 1);
	for (int i = 0; i < 3; i++)
		assert_true(bed_ask(b, &a[i], GET, 0));
	assert_int_equal(bed_count(b, NM_INFLIGHT), 3);
	assert_int_equal(b->up->held, 3);
	peer_expects(&p, GET GET GET);
	peer_says(&p, "+OK\r\n");
	BED_UNTIL(b, a[0].done);
	assert_int_equal(bed_count(b, NM_INFLIGHT), 2);
	peer_close(&p);
	BED_UNTIL(b, a[2].failed);
	assert_int_equal(bed_count(b, NM_INFLIGHT), 0);
	assert_int_equal(bed_count(b, NM_CONNECTIONS), 0);
	assert_int_equal(b->up->held, 0);
	assert_int_equal(bed_count(b, NM_READ_BYTES), 2 * strlen("+OK\r\n"));
	assert_int_equal(bed_count(b, NM_WRITE_BYTES), 4 * strlen(GET));
	assert_int_equal(hist_total(&b->server->blocks[0].latency), 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_one_turn_brings_leaves_together),
		T(a_part_in_pieces_is_one_part),
		T(a_chunk_is_taken_over),
		T(a_node_that_reads_slowly_gets_every_byte_in_order),
		T(requests_wait_their_turn_while_the_socket_is_full),
		T(a_broken_connection_tells_what_had_left),
		T(a_part_behind_the_last_byte_sent_is_not_sent),
		T(a_failed_write_ends_the_connection),
		T(gauges_follow_what_is_outstanding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
