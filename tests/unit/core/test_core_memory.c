/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * When memory is short: who waits, who is given up, and that nobody else notices.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/core/bed.h"

/* What unfinished requests may fill is nine tenths of it. */
#define LIMIT 1000000

static struct pump asleep;
static struct peer c;
static struct peer n;
static struct peer hog[4];

static int setup(void **state)
{
	struct core *t = core_new();
	t->limits.memory = LIMIT;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	peer_close(&c);
	peer_close(&n);
	for (size_t i = 0; i < ARRAY_LEN(hog); i++)
		peer_close(&hog[i]);
	core_free(*state);
	return 0;
}

/* The small client, whose requests are always served. */
static void is_served(struct core *t)
{
	char w[CORE_WORDS_MAX];
	peer_asks(&c, core_get(t, 0, w));
	peer_is_asked(&n, w);
	peer_says(&n, "+OK\r\n");
	peer_expects(&c, "+OK\r\n");
}

static void begin(struct core *t)
{
	char w[CORE_WORDS_MAX];
	core_start(t);
	c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, w));
	n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_says(&n, "+OK\r\n");
	peer_expects(&c, "+OK\r\n");
	for (size_t i = 0; i < ARRAY_LEN(hog); i++)
		hog[i] = core_client(t, 0, 0);
}

struct large {
	char *at;
	size_t len;
};

static struct large set_of(struct core *t, size_t size)
{
	char key[CORE_KEY_MAX];
	struct large l = {.at = malloc(size + 128)};
	assert_non_null(l.at);
	(void)core_key(t, 0, key);
	size_t head = (size_t)sprintf(
		l.at, "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(key), key, size);
	for (size_t i = 0; i < size; i++)
		l.at[head + i] = (char)('A' + (i * 11 + i / 4096) % 50);
	memcpy(l.at + head + size, "\r\n", 2);
	l.len = head + size + 2;
	return l;
}

static void is_done(struct peer *p, const struct large *l)
{
	peer_expect(&n, l->at, l->len);
	peer_says(&n, "+OK\r\n");
	peer_expects(p, "+OK\r\n");
}

static void count_starved(struct worker *w, void *arg)
{
	*(uint32_t *)arg = w->starved;
}

static uint32_t starved(struct core *t)
{
	uint32_t count = 0;
	core_look(t, count_starved, &count);
	assert_true(core_state(t).buffers <= LIMIT / 10 * 9);
	return count;
}

static uint64_t given_up(const struct core *t)
{
	return core_count(t, M_REQUESTS_GIVEN_UP);
}

static void who_does_not_fit_waits_until_the_other_is_done(void **state)
{
	struct core *t = *state;
	begin(t);
	struct large a = set_of(t, 700000), b = set_of(t, 400000);
	peer_say(&hog[0], a.at, a.len - 1);
	peer_say(&hog[1], b.at, 150000);
	PUMP_UNTIL(&asleep, core_state(t).buffers > 800000);
	peer_say(&hog[1], b.at + 150000, 100000);
	PUMP_UNTIL(&asleep, starved(t) == 1);
	is_served(t);
	peer_say(&hog[0], a.at + a.len - 1, 1);
	is_done(&hog[0], &a);
	PUMP_UNTIL(&asleep, starved(t) == 0);
	peer_say(&hog[1], b.at + 250000, b.len - 250000);
	is_done(&hog[1], &b);
	assert_int_equal(given_up(t), 0);
	core_settles(t);
	free(a.at);
	free(b.at);
}

static void who_is_not_read_is_not_silent(void **state)
{
	struct core *t = *state;
	t->pools[0].timeout_ns[DEADLINE_SLOW] = 200 * NS_PER_MS;
	begin(t);
	struct large a = set_of(t, 700000), b = set_of(t, 400000);
	peer_say(&hog[0], a.at, 699000);
	peer_say(&hog[1], b.at, 150000);
	PUMP_UNTIL(&asleep, core_state(t).buffers > 800000);
	peer_say(&hog[1], b.at + 150000, 100000);
	PUMP_UNTIL(&asleep, starved(t) == 1);
	for (size_t i = 0; i < 6; i++) { /* slow, but not silent */
		pump_for(&asleep, 60);
		peer_say(&hog[0], a.at + 699000 + i, 1);
	}
	assert_int_equal(starved(t), 1);
	peer_say(&hog[0], a.at + 699006, a.len - 699006);
	is_done(&hog[0], &a);
	peer_say(&hog[1], b.at + 250000, b.len - 250000);
	is_done(&hog[1], &b);
	assert_int_equal(core_count(t, M_CLIENTS_CLOSED_SILENT), 0);
	core_settles(t);
	free(a.at);
	free(b.at);
}

/* Each has grown to 300,000 and needs as much again. */
static void of_those_who_wait_for_each_other_the_last_is_given_up(void **state)
{
	struct core *t = *state;
	begin(t);
	struct large l[3];
	for (size_t i = 0; i < 3; i++) {
		l[i] = set_of(t, 590000);
		peer_say(&hog[i], l[i].at, 150000);
		PUMP_UNTIL(&asleep, core_state(t).buffers > i * 150000 + 149000);
	}
	for (size_t i = 0; i < 3; i++)
		peer_say(&hog[i], l[i].at + 150000, 140000);
	for (size_t i = 0; i < 3; i++) {
		is_served(t);
		peer_say(&hog[i], l[i].at + 290000, 100000);
	}
	PUMP_UNTIL(&asleep, given_up(t) > 0);
	peer_say(&hog[0], l[0].at + 390000, l[0].len - 390000);
	is_done(&hog[0], &l[0]);
	peer_say(&hog[2], l[2].at + 390000, l[2].len - 390000);
	peer_asks(&hog[2], "PING"); /* in step: right behind it */
	peer_expects(&hog[2], "-OVERLOADED memory limit\r\n+PONG\r\n");
	peer_say(&hog[1], l[1].at + 390000, l[1].len - 390000);
	is_done(&hog[1], &l[1]);
	assert_int_equal(given_up(t), 1);
	core_settles(t);
	for (size_t i = 0; i < 3; i++)
		free(l[i].at);
}

static void who_holds_much_and_does_not_go_on_is_given_up(void **state)
{
	struct core *t = *state;
	begin(t);
	struct large a = set_of(t, 700000), b = set_of(t, 400000);
	peer_asks(&hog[0], "PING");
	peer_say(&hog[0], a.at, 600000);
	peer_say(&hog[1], b.at, 150000);
	PUMP_UNTIL(&asleep, core_state(t).buffers > 800000);
	peer_say(&hog[1], b.at + 150000, 100000);
	PUMP_UNTIL(&asleep, starved(t) == 1);
	PUMP_UNTIL(&asleep, given_up(t) == 1);
	peer_say(&hog[1], b.at + 250000, b.len - 250000);
	is_done(&hog[1], &b);
	core_settles(t); /* nothing is kept of it */
	peer_expects(&hog[0], "+PONG\r\n");
	peer_hears_nothing(&hog[0], 20);
	peer_say(&hog[0], a.at + 600000, a.len - 600000);
	peer_expects(&hog[0], "-OVERLOADED memory limit\r\n");
	core_settles(t);
	free(a.at);
	free(b.at);
}

static void what_can_never_fit_is_read_and_refused(void **state)
{
	static const size_t pieces[] = {1, 2, 3, 1000, 300000};
	struct core *t = *state;
	begin(t);
	struct large a = set_of(t, 2000000);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		size_t end = a.len - 2 * pieces[i]; /* its last bytes in two pieces */
		peer_say(&hog[0], a.at, end);
		PUMP_UNTIL(&asleep, given_up(t) == i + 1);
		core_settles(t);
		is_served(t);
		peer_say(&hog[0], a.at + end, pieces[i]);
		core_settles(t);
		peer_say(&hog[0], a.at + end + pieces[i], pieces[i]);
		peer_asks(&hog[0], "PING");
		peer_expects(&hog[0], "-OVERLOADED memory limit\r\n+PONG\r\n");
	}
	assert_int_equal(core_count(t, M_ERRORS_OVERLOADED), ARRAY_LEN(pieces));
	core_settles(t);
	free(a.at);
}

static void a_refused_request_has_a_size_limit_too(void **state)
{
	struct core *t = *state;
	t->limits.request_size = 3000000;
	begin(t);
	struct large a = set_of(t, 2000000);
	a.at[1] = '9'; /* five more arguments */
	peer_say(&hog[0], a.at, a.len);
	PUMP_UNTIL(&asleep, given_up(t) == 1);
	peer_say(&hog[0], strstr(a.at, "$2000000"), 1000000);
	peer_expects(&hog[0], "-ERR Protocol error: too big request\r\n");
	(void)peer_sees_end(&hog[0]);
	core_settles(t);
	free(a.at);
}

static void who_has_gone_is_not_waited_for(void **state)
{
	struct core *t = *state;
	begin(t);
	struct large a = set_of(t, 700000), b = set_of(t, 400000);
	peer_say(&hog[0], a.at, a.len - 1);
	peer_say(&hog[1], b.at, 150000);
	PUMP_UNTIL(&asleep, core_state(t).buffers > 800000);
	peer_say(&hog[1], b.at + 150000, 100000);
	PUMP_UNTIL(&asleep, starved(t) == 1);
	peer_close(&hog[1]);
	PUMP_UNTIL(&asleep, core_state(t).clients == 4);
	assert_int_equal(given_up(t), 0);
	assert_int_equal(starved(t), 0);
	peer_say(&hog[0], a.at + a.len - 1, 1);
	is_done(&hog[0], &a);
	core_settles(t);
	free(a.at);
	free(b.at);
}

/* It has ended, but all of its request is there. */
static void who_has_said_all_is_waited_for(void **state)
{
	struct core *t = *state;
	begin(t);
	struct large a = set_of(t, 700000), b = set_of(t, 250000);
	peer_say(&hog[0], a.at, a.len - 1);
	peer_say(&hog[1], b.at, 150000);
	PUMP_UNTIL(&asleep, core_state(t).buffers > 800000);
	peer_say(&hog[1], b.at + 150000, b.len - 150000);
	PUMP_UNTIL(&asleep, starved(t) == 1);
	peer_shut(&hog[1]);
	pump_for(&asleep, 100);
	assert_int_equal(starved(t), 1);
	peer_say(&hog[0], a.at + a.len - 1, 1);
	is_done(&hog[0], &a);
	is_done(&hog[1], &b);
	(void)peer_sees_end(&hog[1]);
	core_settles(t);
	free(a.at);
	free(b.at);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_does_not_fit_waits_until_the_other_is_done),
		T(who_is_not_read_is_not_silent),
		T(of_those_who_wait_for_each_other_the_last_is_given_up),
		T(who_holds_much_and_does_not_go_on_is_given_up),
		T(what_can_never_fit_is_read_and_refused),
		T(a_refused_request_has_a_size_limit_too),
		T(who_has_gone_is_not_waited_for),
		T(who_has_said_all_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
