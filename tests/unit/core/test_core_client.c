/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Reading clients: requests in pieces and in heaps, large ones, ends of all sorts, and when reading
 * stops.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/core/bed.h"

static struct pump asleep;
static struct peer c;
static struct peer n[CORE_NODES];

static int setup(void **state)
{
	*state = core_new();
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

static void begin(struct core *t)
{
	char w[CORE_WORDS_MAX];
	core_start(t);
	c = core_client(t, 0, 0);
	for (uint32_t i = 0; i < CORE_NODES; i++) {
		peer_asks(&c, core_get(t, i, w));
		n[i] = node_accept(&t->nodes[i]);
		peer_is_asked(&n[i], w);
		peer_says(&n[i], "+OK\r\n");
		peer_expects(&c, "+OK\r\n");
	}
}

/* A SET of a value of this size at node a, as it goes over the wire. */
static char *large_set(struct core *t, size_t size, size_t *ret_len)
{
	char key[CORE_KEY_MAX];
	char *b = malloc(size + 128);
	assert_non_null(b);
	(void)core_key(t, 0, key);
	size_t head = (size_t)sprintf(
		b, "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(key), key, size);
	for (size_t i = 0; i < size; i++)
		b[head + i] = (char)('A' + (i * 11 + i / 4096) % 50);
	memcpy(b + head + size, "\r\n", 2);
	*ret_len = head + size + 2;
	return b;
}

static void requests_may_come_byte_by_byte(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	for (size_t piece = 1; piece < 5; piece++) {
		peer_says_slowly(&c, wire(core_set(t, 0, w)), piece);
		peer_is_asked(&n[0], w);
		peer_says(&n[0], "+OK\r\n");
		peer_expects(&c, "+OK\r\n");
	}
	peer_says_slowly(&c, "PING\r\n", 1); /* inline too */
	peer_expects(&c, "+PONG\r\n");
	core_settles(t);
}

static void many_requests_may_come_in_one_piece(void **state)
{
	enum { MANY = 500 };
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	(void)core_get(t, 0, w);
	char *all = calloc(MANY, 64);
	size_t one = strlen(wire(w));
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * one, wire(w), one);
	peer_say(&c, all, MANY * one);
	peer_expect(&n[0], all, MANY * one);
	for (int i = 0; i < MANY; i++)
		peer_says(&n[0], ":7\r\n");
	for (int i = 0; i < MANY; i++)
		peer_expects(&c, ":7\r\n");
	core_settles(t);
	free(all);
}

static void nothing_is_asked_with_nothing(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_says(&c, "\r\n\r\n*0\r\n*-1\r\n \r\nPING\r\n");
	peer_expects(&c, "+PONG\r\n");
	core_settles(t);
}

static void inline_and_loose_requests_are_written_anew(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX], line[128];
	begin(t);
	(void)core_get(t, 0, w);
	(void)snprintf(line, sizeof(line), "%s\r\n", w);
	peer_says(&c, line);
	peer_is_asked(&n[0], w);
	peer_says(&n[0], "+1\r\n");
	peer_expects(&c, "+1\r\n");
	/* the same with line ends that only Redis takes */
	(void)snprintf(line, sizeof(line), "*2\r\n$3\r\nGETxx$%zu\r\n%syy", strlen(w + 4), w + 4);
	peer_says(&c, line);
	peer_is_asked(&n[0], w);
	peer_says(&n[0], "+2\r\n");
	peer_expects(&c, "+2\r\n");
	core_settles(t);
}

static void large_requests_reach_the_node_byte_by_byte(void **state)
{
	static const size_t sizes[] = {
		16000, 32600, 32768, 65536, 262144 - 100, 262144, 300000, 1000000, 5000000};
	struct core *t = *state;
	begin(t);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		size_t len;
		char *set = large_set(t, sizes[i], &len);
		peer_say(&c, set, len);
		peer_asks(&c, "PING"); /* right behind it */
		peer_expect(&n[0], set, len);
		peer_says(&n[0], "+OK\r\n");
		peer_expects(&c, "+OK\r\n+PONG\r\n");
		core_settles(t);
		free(set);
	}
}

static void a_large_request_and_small_ones_around_it_in_pieces(void **state)
{
	enum { LARGE = 100000 };
	static const size_t pieces[] = {999, 7777, 33333, 70000};
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	size_t len;
	begin(t);
	char *set = large_set(t, LARGE, &len);
	(void)core_get(t, 0, w);
	size_t small = strlen(wire(w));
	char *all = malloc(len + 2 * small);
	memcpy(all, wire(w), small);
	memcpy(all + small, set, len);
	memcpy(all + small + len, wire(w), small);
	len += 2 * small;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		for (size_t at = 0; at < len; at += pieces[i]) {
			peer_say(&c, all + at, len - at < pieces[i] ? len - at : pieces[i]);
			pump_for(&asleep, 2);
		}
		peer_expect(&n[0], all, len);
		peer_says(&n[0], "+1\r\n+2\r\n+3\r\n");
		peer_expects(&c, "+1\r\n+2\r\n+3\r\n");
		core_settles(t);
	}
	free(all);
	free(set);
}

static void what_is_announced_costs_nothing(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_says(&c, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$60000000\r\nbut this is all");
	PUMP_UNTIL(&asleep, core_state(t).buffers > 0);
	assert_true(core_state(t).buffers < 4096);
	peer_says(&c, "and this");
	pump_for(&asleep, 5);
	assert_true(core_state(t).buffers < 4096);
}

static void a_request_above_the_limit_ends_the_connection_after_the_replies(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	t->limits.request_size = 1000;
	begin(t);
	peer_asks(&c, core_get(t, 0, w));
	peer_says(&c, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2000\r\nxxx");
	peer_is_asked(&n[0], w);
	peer_hears_nothing(&c, 3);
	peer_says(&n[0], "+first\r\n");
	peer_expects(&c, "+first\r\n-ERR Protocol error: too big request\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	core_settles(t);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_PROTOCOL), 1);
	assert_int_equal(core_state(t).clients, 0);
}

static void garbage_ends_the_connection_after_the_replies(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 0, w));
	peer_says(&c, "*1\r\n:3\r\nnot served any more\r\n");
	peer_is_asked(&n[0], w);
	peer_says(&n[0], "+first\r\n");
	peer_expects(&c, "+first\r\n-ERR Protocol error: expected '$', got ':'\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	core_settles(t);
}

static void a_half_closed_client_gets_its_replies(void **state)
{
	struct core *t = *state;
	char a[CORE_WORDS_MAX], b[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 0, a));
	peer_asks(&c, core_get(t, 1, b));
	peer_says(&c, "*2\r\n$3\r\nGET\r\n"); /* and half a request */
	peer_is_asked(&n[0], a);
	peer_shut(&c);
	pump_for(&asleep, 5);
	peer_says(&n[1], "+2\r\n");
	peer_says(&n[0], "+1\r\n");
	peer_expects(&c, "+1\r\n+2\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	core_settles(t);
	PUMP_UNTIL(&asleep, core_state(t).clients == 0);
}

/* ---- when reading stops -----------------------------------------------------------------------*/

static void reading_stops_at_the_pipeline_and_goes_on_at_half_of_it(void **state)
{
	enum { PIPELINE = 8, ALL = 100 };
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	t->limits.pipeline = PIPELINE;
	begin(t);
	(void)core_get(t, 0, w);
	for (int i = 0; i < ALL; i++)
		peer_asks(&c, w);
	int asked = 0, answered = 0;
	while (answered < ALL) {
		for (; asked < ALL && asked < answered + PIPELINE; asked++)
			peer_is_asked(&n[0], w);
		peer_hears_nothing(&n[0], 2);
		assert_int_equal(core_state(t).outstanding, asked - answered);
		for (int i = 0; i < PIPELINE / 2 && answered < ALL; i++, answered++) {
			peer_says(&n[0], ":1\r\n");
			peer_expects(&c, ":1\r\n");
		}
	}
	core_settles(t);
}

static void another_database_waits_for_what_is_outstanding(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	(void)core_get(t, 0, w);
	peer_asks(&c, w);
	peer_asks(&c, "SELECT 1");
	peer_asks(&c, w);
	peer_asks(&c, "SELECT 0");
	peer_asks(&c, w);
	peer_is_asked(&n[0], w);
	node_sees_nobody(&t->nodes[0], 5);
	peer_hears_nothing(&n[0], 1);
	peer_says(&n[0], "+zero\r\n");
	peer_expects(&c, "+zero\r\n+OK\r\n");
	struct peer one = node_accept(&t->nodes[0]);
	peer_is_asked(&one, "SELECT 1");
	peer_says(&one, "+OK\r\n");
	peer_is_asked(&one, w);
	peer_hears_nothing(&n[0], 3); /* the third waits for the second */
	peer_says(&one, "+one\r\n");
	peer_is_asked(&n[0], w);
	peer_says(&n[0], "+zero again\r\n");
	peer_expects(&c, "+one\r\n+OK\r\n+zero again\r\n");
	core_settles(t);
	peer_close(&one);
}

static void what_waits_behind_others_is_no_unfinished_request(void **state)
{
	enum { MANY = 1000 };
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	t->pools[0].timeout_ns[DEADLINE_SLOW] = 100 * NS_PER_MS;
	begin(t);
	(void)core_get(t, 0, w);
	static char all[64 * MANY];
	size_t len = (size_t)sprintf(all, "%s", wire(w));
	len += (size_t)sprintf(all + len, "%s", wire("SELECT 1"));
	len += (size_t)sprintf(all + len, "%s", wire("SELECT 0"));
	for (int i = 0; i < MANY; i++) /* above 16 KiB */
		len += (size_t)sprintf(all + len, "%s", wire(w));
	peer_say(&c, all, len);
	peer_is_asked(&n[0], w);
	pump_for(&asleep, 400); /* the client is silent, but it is not its turn */
	peer_says(&n[0], "+first\r\n");
	peer_expects(&c, "+first\r\n+OK\r\n+OK\r\n");
	for (int i = 0; i < MANY; i++) {
		peer_is_asked(&n[0], w);
		peer_says(&n[0], ":1\r\n");
		peer_expects(&c, ":1\r\n");
	}
	core_settles(t);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_SILENT), 0);
}

static void silence_counts_from_when_a_client_is_read_again(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	size_t len, set_len;
	t->pools[0].timeout_ns[DEADLINE_SLOW] = 200 * NS_PER_MS;
	begin(t);
	char *set = large_set(t, 50000, &set_len);
	char *all = malloc(set_len + 1000);
	len = (size_t)sprintf(all, "%s", wire(core_get(t, 0, w)));
	len += (size_t)sprintf(all + len, "%s", wire("SELECT 1"));
	len += (size_t)sprintf(all + len, "%s", wire("SELECT 0"));
	memcpy(all + len, set, 20000);
	peer_say(&c, all, len + 20000);
	peer_is_asked(&n[0], w);
	pump_for(&asleep, 400);
	peer_says(&n[0], "+first\r\n");
	peer_expects(&c, "+first\r\n+OK\r\n+OK\r\n");
	pump_for(&asleep, 100);
	peer_say(&c, set + 20000, set_len - 20000);
	peer_expect(&n[0], set, set_len);
	peer_says(&n[0], "+OK\r\n");
	peer_expects(&c, "+OK\r\n");
	core_settles(t);
	free(all);
	free(set);
}

static void a_client_silent_inside_a_large_request_is_closed(void **state)
{
	struct core *t = *state;
	size_t len;
	t->pools[0].timeout_ns[DEADLINE_SLOW] = 100 * NS_PER_MS;
	begin(t);
	char *set = large_set(t, 50000, &len);
	peer_say(&c, set, 30000);
	for (int i = 0; i < 5; i++) { /* slow, but not silent */
		pump_for(&asleep, 60);
		peer_say(&c, set + 30000 + i, 1);
	}
	assert_int_equal(core_state(t).clients, 1);
	(void)peer_sees_end(&c);
	core_settles(t);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_SILENT), 1);
	free(set);
}

static void without_memory_requests_are_read_and_refused(void **state)
{
	struct core *t = *state;
	static char large[250000];
	char w[CORE_WORDS_MAX], first[CORE_WORDS_MAX];
	t->limits.memory = 200000;
	begin(t);
	struct peer hog = core_client(t, 0, 0);
	memset(large, 'x', sizeof(large));
	peer_asks(&hog, core_get(t, 0, first));
	peer_is_asked(&n[0], first);
	peer_asks(&hog, core_get(t, 1, w));
	peer_is_asked(&n[1], w);
	peer_says(&n[1], "$249998\r\n"); /* it waits for the first one's reply */
	peer_say(&n[1], large, sizeof(large) - 2);
	peer_says(&n[1], "\r\n");
	PUMP_UNTIL(&asleep, core_state(t).buffers > t->limits.memory);
	peer_asks(&c, core_get(t, 0, w));
	peer_expects(&c, "-OVERLOADED memory limit\r\n");
	peer_asks(&c, "PING");
	peer_expects(&c, "-OVERLOADED memory limit\r\n");
	peer_close(&hog);
	PUMP_UNTIL(&asleep, core_state(t).buffers < t->limits.memory);
	peer_says(&n[0], "+OK\r\n"); /* the one that was given up */
	core_settles(t);
	peer_asks(&c, w);
	peer_is_asked(&n[0], w);
	peer_says(&n[0], "+OK\r\n");
	peer_expects(&c, "+OK\r\n");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(requests_may_come_byte_by_byte),
		T(many_requests_may_come_in_one_piece),
		T(nothing_is_asked_with_nothing),
		T(inline_and_loose_requests_are_written_anew),
		T(large_requests_reach_the_node_byte_by_byte),
		T(a_large_request_and_small_ones_around_it_in_pieces),
		T(what_is_announced_costs_nothing),
		T(a_request_above_the_limit_ends_the_connection_after_the_replies),
		T(garbage_ends_the_connection_after_the_replies),
		T(a_half_closed_client_gets_its_replies),
		T(reading_stops_at_the_pipeline_and_goes_on_at_half_of_it),
		T(another_database_waits_for_what_is_outstanding),
		T(what_waits_behind_others_is_no_unfinished_request),
		T(silence_counts_from_when_a_client_is_read_again),
		T(a_client_silent_inside_a_large_request_is_closed),
		T(without_memory_requests_are_read_and_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
