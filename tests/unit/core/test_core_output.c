/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Replies on their way out: clients that take them slowly or not at all, and what each may cost.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/core/bed.h"

#define LIMIT 100000
#define SMALL_BUFFER 4096

static struct pump asleep;
static struct peer c;
static struct peer n[CORE_NODES];

static int setup(void **state)
{
	struct core *t = core_new();
	t->limits.output = LIMIT;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	peer_close(&c);
	for (int i = 0; i < CORE_NODES; i++)
		peer_close(&n[i]);
	core_free(*state);
	return 0;
}

/* A client that has little room in its socket, and everything connected. */
static void begin(struct core *t)
{
	char w[CORE_WORDS_MAX];
	core_start(t);
	c = core_client(t, 0, SMALL_BUFFER);
	for (uint32_t i = 0; i < CORE_NODES; i++) {
		peer_asks(&c, core_get(t, i, w));
		n[i] = node_accept(&t->nodes[i]);
		peer_is_asked(&n[i], w);
		peer_says(&n[i], "+OK\r\n");
		peer_expects(&c, "+OK\r\n");
	}
}

static char *bulk_of(size_t size, size_t *ret_len)
{
	char *b = malloc(size + 64);
	assert_non_null(b);
	size_t head = (size_t)sprintf(b, "$%zu\r\n", size);
	for (size_t i = 0; i < size; i++)
		b[head + i] = (char)('a' + (i * 7 + i / 1000) % 26);
	memcpy(b + head + size, "\r\n", 2);
	*ret_len = head + size + 2;
	return b;
}

/* Asks a node for a value of this size; the node answers.  Returns when the router has read it. */
static void bring(struct core *t, uint32_t node, size_t size)
{
	char w[CORE_WORDS_MAX];
	size_t len;
	char *bulk = bulk_of(size, &len);
	uint64_t before = core_node_count(t, node, NM_READ_BYTES);
	peer_asks(&c, core_get(t, node, w));
	peer_is_asked(&n[node], w);
	peer_say(&n[node], bulk, len);
	PUMP_UNTIL(&asleep, core_node_count(t, node, NM_READ_BYTES) == before + len);
	free(bulk);
}

static void expect_bulk(size_t size)
{
	size_t len;
	char *bulk = bulk_of(size, &len);
	peer_expect(&c, bulk, len);
	free(bulk);
}

static void a_slow_client_gets_everything_in_order(void **state)
{
	struct core *t = *state;
	begin(t);
	for (size_t i = 1; i < 10; i++)
		bring(t, (uint32_t)i % CORE_NODES, i * 1000);
	for (size_t i = 1; i < 10; i++)
		expect_bulk(i * 1000);
	core_settles(t);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_OUTPUT), 0);
}

static void a_client_that_takes_nothing_is_closed_at_the_limit(void **state)
{
	struct core *t = *state;
	struct peer other;
	begin(t);
	other = core_client(t, 0, 0);
	for (int i = 0; i < 10; i++)
		bring(t, 0, 9000); /* the last fits */
	assert_int_equal(core_state(t).clients, 2);
	char w[CORE_WORDS_MAX];
	size_t len;
	char *bulk = bulk_of(30000, &len);
	peer_asks(&c, core_get(t, 0, w));
	peer_is_asked(&n[0], w);
	peer_say(&n[0], bulk, len);
	free(bulk);
	PUMP_UNTIL(&asleep, core_state(t).clients == 1);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_OUTPUT), 1);
	core_settles(t); /* nothing of it is kept */
	peer_asks(&other, w);
	peer_is_asked(&n[0], w);
	peer_says(&n[0], "+fine\r\n");
	peer_expects(&other, "+fine\r\n");
	peer_close(&other);
}

static void one_reply_may_be_larger_than_the_limit(void **state)
{
	static const size_t sizes[] = {LIMIT, LIMIT + 1, 10 * LIMIT};
	struct core *t = *state;
	begin(t);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		bring(t, 0, sizes[i]);
		bring(t, 1, 5000); /* and something behind it */
		expect_bulk(sizes[i]);
		expect_bulk(5000);
		core_settles(t);
	}
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_OUTPUT), 0);
}

/* It waits in its request, because another reply must go first. */
static void one_reply_may_be_larger_while_it_waits(void **state)
{
	struct core *t = *state;
	char first[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 2, first));
	peer_is_asked(&n[2], first);
	bring(t, 0, 5 * LIMIT);
	bring(t, 1, 100);
	peer_hears_nothing(&c, 3);
	peer_says(&n[2], "+first\r\n");
	peer_expects(&c, "+first\r\n");
	expect_bulk(5 * LIMIT);
	expect_bulk(100);
	core_settles(t);
}

/* What goes out before it does not make the router forget how large it is. */
static void a_large_reply_that_waits_survives_small_ones_before_it(void **state)
{
	struct core *t = *state;
	char first[CORE_WORDS_MAX], second[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 2, first));
	peer_asks(&c, core_get(t, 2, second));
	peer_is_asked(&n[2], first);
	bring(t, 0, 5 * LIMIT);
	peer_says(&n[2], "+first\r\n");
	peer_expects(&c, "+first\r\n"); /* all written: the output is empty */
	bring(t, 1, 100);
	pump_for(&asleep, 5);
	assert_int_equal(core_state(t).clients, 1);
	peer_says(&n[2], "+second\r\n");
	peer_expects(&c, "+second\r\n");
	expect_bulk(5 * LIMIT);
	expect_bulk(100);
	core_settles(t);
}

/* One value of a split reply, larger than the limit. */
static void one_value_of_many_may_be_larger_than_the_limit(void **state)
{
	struct core *t = *state;
	char a[CORE_KEY_MAX], b[CORE_KEY_MAX], words[128];
	size_t len;
	begin(t);
	char *bulk = bulk_of(3 * LIMIT, &len);
	(void)snprintf(words, sizeof(words), "MGET %s %s", core_key(t, 0, a), core_key(t, 1, b));
	peer_asks(&c, words);
	(void)snprintf(words, sizeof(words), "MGET %s", b);
	peer_is_asked(&n[1], words);
	peer_says(&n[1], "*1\r\n");
	peer_say(&n[1], bulk, len);
	(void)snprintf(words, sizeof(words), "MGET %s", a);
	peer_is_asked(&n[0], words);
	peer_says(&n[0], "*1\r\n$-1\r\n");
	peer_expects(&c, "*2\r\n$-1\r\n");
	expect_bulk(3 * LIMIT);
	core_settles(t);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_OUTPUT), 0);
	free(bulk);
}

/* Part of it waits to be written, part of it in requests: the limit is for both together. */
static void what_waits_anywhere_counts(void **state)
{
	struct core *t = *state;
	char first[CORE_WORDS_MAX];
	begin(t);
	bring(t, 0, LIMIT * 7 / 10);
	peer_asks(&c, core_get(t, 2, first));
	peer_is_asked(&n[2], first);
	char w[CORE_WORDS_MAX];
	size_t len;
	char *bulk = bulk_of(LIMIT * 7 / 10, &len);
	peer_asks(&c, core_get(t, 1, w));
	peer_is_asked(&n[1], w);
	peer_say(&n[1], bulk, len);
	free(bulk);
	PUMP_UNTIL(&asleep, core_state(t).clients == 0);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_OUTPUT), 1);
	peer_says(&n[2], "+late\r\n");
	core_settles(t);
}

/* Large pieces go to the socket without being copied: what it does not take must follow. */
static void large_pieces_keep_their_order(void **state)
{
	static const size_t sizes[] = {16383, 16384, 16385, 40000, 65536, 90000};
	struct core *t = *state;
	t->limits.output = 1u << 20;
	begin(t);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		bring(t, (uint32_t)i % CORE_NODES, sizes[i]);
	peer_asks(&c, "PING");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		expect_bulk(sizes[i]);
	peer_expects(&c, "+PONG\r\n");
	core_settles(t);
}

static void replies_already_written_reach_a_client_that_said_quit(void **state)
{
	struct core *t = *state;
	begin(t);
	bring(t, 0, 60000);
	peer_says(&c, "*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n");
	expect_bulk(60000);
	peer_expects(&c, "+OK\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	PUMP_UNTIL(&asleep, core_state(t).clients == 0);
	core_settles(t);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_slow_client_gets_everything_in_order),
		T(a_client_that_takes_nothing_is_closed_at_the_limit),
		T(one_reply_may_be_larger_than_the_limit),
		T(one_reply_may_be_larger_while_it_waits),
		T(a_large_reply_that_waits_survives_small_ones_before_it),
		T(one_value_of_many_may_be_larger_than_the_limit),
		T(what_waits_anywhere_counts),
		T(large_pieces_keep_their_order),
		T(replies_already_written_reach_a_client_that_said_quit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
