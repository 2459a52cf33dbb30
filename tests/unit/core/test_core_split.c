/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Requests over several owners: a part for each, one reply of all.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/core/bed.h"

static struct pump asleep;

/* Keys "a1" "a2" ... of node a and so on, as many as a test may want. */
struct keys {
	char of[CORE_NODES][4][CORE_KEY_MAX];
};

static struct keys k;
static struct peer c;             /* a client */
static struct peer n[CORE_NODES]; /* the nodes, once they are connected */

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

/* Everything connected, with a client. */
static void begin(struct core *t)
{
	char w[CORE_WORDS_MAX];
	core_start(t);
	c = core_client(t, 0, 0);
	for (uint32_t i = 0; i < CORE_NODES; i++) {
		for (int j = 0; j < 4; j++)
			(void)core_key(t, i, k.of[i][j]);
		peer_asks(&c, core_get(t, i, w));
		n[i] = node_accept(&t->nodes[i]);
		peer_is_asked(&n[i], w);
		peer_says(&n[i], "+OK\r\n");
		peer_expects(&c, "+OK\r\n");
	}
}

#define A(i) k.of[0][i]
#define B(i) k.of[1][i]
#define C(i) k.of[2][i]

/* "NAME word word ..." in words, with up to six words. */
static const char *words(const char *name, const char *const *w, size_t count)
{
	static char buf[512];
	int len = snprintf(buf, sizeof(buf), "%s", name);
	for (size_t i = 0; i < count; i++)
		len += snprintf(buf + len, sizeof(buf) - (size_t)len, " %s", w[i]);
	return buf;
}

#define WORDS(name, ...) \
	words(name, (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void values_come_in_the_order_asked(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_asks(&c, WORDS("MGET", B(0), A(0), C(0), A(1), B(1), A(0)));
	peer_is_asked(&n[0], WORDS("MGET", A(0), A(1), A(0)));
	peer_is_asked(&n[1], WORDS("MGET", B(0), B(1)));
	peer_is_asked(&n[2], WORDS("MGET", C(0)));
	peer_says(&n[2], "*1\r\n$-1\r\n");
	peer_says_slowly(&n[0], "*3\r\n$2\r\na0\r\n$0\r\n\r\n$2\r\na0\r\n", 4);
	peer_hears_nothing(&c, 3);
	peer_says(&n[1], "*2\r\n$4\r\n\r\n\r\n\r\n$2\r\nb1\r\n");
	peer_expects(&c,
		"*6\r\n$4\r\n\r\n\r\n\r\n$2\r\na0\r\n$-1\r\n$0\r\n\r\n$2\r\nb1\r\n$2\r\na0\r\n");
	core_settles(t);
	assert_int_equal(core_count(t, M_REQUESTS_SPLIT), 1);
}

static void pairs_go_together_and_one_ok_stands_for_all(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_asks(&c, WORDS("MSET", C(0), "1", A(0), "2", C(1), A(1)));
	peer_is_asked(&n[0], WORDS("MSET", A(0), "2"));
	peer_is_asked(&n[2], WORDS("MSET", C(0), "1", C(1), A(1)));
	peer_says(&n[0], "+OK\r\n");
	peer_says(&n[2], "+OK\r\n");
	peer_expects(&c, "+OK\r\n");
	core_settles(t);
}

static void counts_are_summed(void **state)
{
	static const char *const names[] = {"DEL", "UNLINK", "EXISTS", "TOUCH", "del", "eXists"};
	struct core *t = *state;
	begin(t);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		peer_asks(&c, WORDS(names[i], A(0), B(0), A(1)));
		peer_is_asked(&n[0], WORDS(names[i], A(0), A(1)));
		peer_is_asked(&n[1], WORDS(names[i], B(0)));
		peer_says(&n[0], ":1000000\r\n");
		peer_says(&n[1], ":1\r\n");
		peer_expects(&c, ":1000001\r\n");
	}
	core_settles(t);
}

static void keys_of_one_owner_are_not_split(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_asks(&c, WORDS("MGET", B(0), B(1)));
	peer_is_asked(&n[1], WORDS("MGET", B(0), B(1)));
	peer_says(&n[1], "whatever\r\n"); /* goes nowhere: it is no reply */
	peer_expects(&c, "-UNAVAILABLE node 'b': ");
	assert_int_equal(core_count(t, M_REQUESTS_SPLIT), 0);
}

static void of_several_errors_that_of_the_first_name_is_told(void **state)
{
	struct core *t = *state;
	begin(t);
	for (int round = 0; round < 2; round++) {
		peer_asks(&c, WORDS("DEL", C(0), B(0), A(0)));
		peer_is_asked(&n[0], WORDS("DEL", A(0)));
		peer_is_asked(&n[1], WORDS("DEL", B(0)));
		peer_is_asked(&n[2], WORDS("DEL", C(0)));
		peer_says(&n[2], "-ERR of c\r\n");
		peer_says(&n[1], "-ERR of b\r\n");
		peer_says(&n[0], round == 0 ? ":1\r\n" : "-ERR of a\r\n");
		peer_expects(&c, round == 0 ? "-ERR of b\r\n" : "-ERR of a\r\n");
	}
	core_settles(t);
}

static void a_part_that_can_not_be_sent_fails_the_whole(void **state)
{
	struct core *t = *state;
	begin(t);
	node_close(&t->nodes[1]);
	peer_close(&n[1]);
	PUMP_UNTIL(&asleep, core_node_count(t, 1, NM_CONNECTIONS) == 0);
	peer_asks(&c, WORDS("MGET", B(0), A(0)));
	peer_is_asked(&n[0], WORDS("MGET", A(0)));
	peer_says(&n[0], "*1\r\n$1\r\nx\r\n");
	peer_expects(&c, "-UNAVAILABLE node 'b': connection refused\r\n");
	core_settles(t);
}

static void all_parts_may_fail_at_once(void **state)
{
	struct core *t = *state;
	t->pools[0].upstream.backoff_ns = t->pools[0].upstream.backoff_max_ns = 60 * NS_PER_S;
	begin(t);
	for (int i = 0; i < CORE_NODES; i++) {
		node_close(&t->nodes[i]);
		peer_close(&n[i]);
		PUMP_UNTIL(&asleep, core_node_count(t, (uint32_t)i, NM_CONNECTIONS) == 0);
	}
	for (int round = 0; round < 3;
		round++) { /* at first a connect is tried, then not even that */
		peer_asks(&c, WORDS("MGET", B(0), C(0)));
		peer_expects(&c, "-UNAVAILABLE node 'b': connection refused\r\n");
		peer_asks(&c, "PING");
		peer_expects(&c, "+PONG\r\n");
	}
	core_settles(t);
}

static void a_connection_lost_fails_its_part(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_asks(&c, WORDS("DEL", A(0), B(0)));
	peer_is_asked(&n[0], WORDS("DEL", A(0)));
	peer_is_asked(&n[1], WORDS("DEL", B(0)));
	peer_says(&n[1], ":");
	peer_close(&n[1]);
	peer_hears_nothing(&c, 3);
	peer_says(&n[0], ":1\r\n");
	peer_expects(&c, "-UNAVAILABLE node 'b': connection lost, outcome unknown\r\n");
	core_settles(t);
}

static void a_part_out_of_time_is_told_and_its_late_reply_dropped(void **state)
{
	struct core *t = *state;
	t->pools[0].timeout_ns[DEADLINE_REQUEST] = 60 * NS_PER_MS;
	begin(t);
	peer_asks(&c, WORDS("MGET", A(0), B(0), C(0)));
	peer_is_asked(&n[0], WORDS("MGET", A(0)));
	peer_is_asked(&n[1], WORDS("MGET", B(0)));
	peer_is_asked(&n[2], WORDS("MGET", C(0)));
	peer_says(&n[0], "*1\r\n$1\r\na\r\n");
	peer_says(&n[1], "*1\r\n$5\r\nha"); /* begun, and no more */
	peer_expects(&c, "-UNAVAILABLE node 'b': timeout after 60 ms\r\n");
	assert_int_equal(core_state(t).held, 0);
	assert_int_equal(core_state(t).requests, 1);
	peer_says(&n[1], "lf!\r\n");
	peer_says(&n[2], "*1\r\n$-1\r\n");
	core_settles(t);
	assert_int_equal(core_node_count(t, 1, NM_LATE_REPLIES), 1);
	assert_int_equal(core_node_count(t, 2, NM_LATE_REPLIES), 1);
	assert_int_equal(core_node_count(t, 0, NM_TIMEOUTS), 0);
}

static void what_waits_is_accounted_for_to_the_byte(void **state)
{
	struct core *t = *state;
	char first[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 2, first));
	peer_asks(&c, WORDS("MGET", A(0), B(0)));
	peer_is_asked(&n[2], first);
	peer_is_asked(&n[0], WORDS("MGET", A(0)));
	peer_is_asked(&n[1], WORDS("MGET", B(0)));
	peer_says(&n[0], "*1\r\n$100\r\nhalf");
	PUMP_UNTIL(&asleep, core_state(t).held == 14);
	peer_says(&n[1], "*1\r\n$1\r\nx\r\n");
	PUMP_UNTIL(&asleep, core_state(t).held == 14 + 11);
	peer_close(&n[0]); /* an error stands for it now */
	size_t error = strlen("-UNAVAILABLE node 'a': connection lost\r\n");
	PUMP_UNTIL(&asleep, core_state(t).held == error + 11);
	peer_says(&n[2], "+first\r\n");
	peer_expects(&c, "+first\r\n-UNAVAILABLE node 'a': connection lost\r\n");
	core_settles(t);
}

static void a_reply_too_large_to_be_merged_is_refused(void **state)
{
	struct core *t = *state;
	static char large[300000];
	t->limits.memory = 500000;
	begin(t);
	memset(large, 'x', sizeof(large));
	for (int i = 0; i < 2; i++) {
		peer_asks(&c, WORDS("MGET", A(0), B(0)));
		peer_is_asked(&n[0], WORDS("MGET", A(0)));
		peer_is_asked(&n[1], WORDS("MGET", B(0)));
		peer_says(&n[0], "*1\r\n$600000\r\n");
		peer_say(&n[0], large, sizeof(large));
		peer_say(&n[0], large, sizeof(large) - 1);
		peer_says(&n[1], "*1\r\n$1\r\nb\r\n");
		peer_expects(&c, "-OVERLOADED node 'a': reply too large to be merged\r\n");
		peer_says(&n[0], "x\r\n");
		core_settles(t);
	}
	peer_asks(&c, WORDS("MGET", A(0), B(0))); /* the connection is as good as before */
	peer_is_asked(&n[0], WORDS("MGET", A(0)));
	peer_is_asked(&n[1], WORDS("MGET", B(0)));
	peer_says(&n[0], "*1\r\n$1\r\na\r\n");
	peer_says(&n[1], "*1\r\n$1\r\nb\r\n");
	peer_expects(&c, "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
	core_settles(t);
}

static void a_client_that_goes_leaves_no_part_behind(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_asks(&c, WORDS("MGET", A(0), B(0), C(0)));
	peer_is_asked(&n[0], WORDS("MGET", A(0)));
	peer_is_asked(&n[1], WORDS("MGET", B(0)));
	peer_says(&n[0], "*1\r\n$1\r\nx\r\n");
	peer_says(&n[1], "*1\r\n$10");
	PUMP_UNTIL(&asleep, core_state(t).held == 11 + 7);
	peer_close(&c);
	PUMP_UNTIL(&asleep, core_state(t).clients == 0);
	peer_says(&n[1], "\r\n0123456789\r\n");
	peer_close(&n[2]);
	core_settles(t);
}

static void nonsense_is_not_passed_on(void **state)
{
	static const struct {
		const char *name;
		const char *reply; /* of node a; b's makes sense */
	} rows[] = {
		{"MGET", "*2\r\n$1\r\nx\r\n$1\r\ny\r\n"},
		{"MGET", "*0\r\n"},
		{"MGET", "*-1\r\n"},
		{"MGET", "+OK\r\n"},
		{"MGET", ":1\r\n"},
		{"MGET", "$1\r\nx\r\n"},
		{"MGET", "~1\r\n+x\r\n"},
		{"DEL", "+OK\r\n"},
		{"DEL", ":x\r\n"},
		{"DEL", ":\r\n"},
		{"DEL", "*1\r\n:1\r\n"},
		{"DEL", "$1\r\n1\r\n"},
		{"DEL", ":9223372036854775807\r\n"}, /* and one more */
		{"DEL", ":9223372036854775808\r\n"},
	};
	struct core *t = *state;
	char want[128];
	begin(t);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool del = rows[i].name[0] == 'D';
		peer_asks(&c, WORDS(rows[i].name, A(0), B(0)));
		peer_is_asked(&n[0], WORDS(rows[i].name, A(0)));
		peer_is_asked(&n[1], WORDS(rows[i].name, B(0)));
		peer_says(&n[1], del ? ":1\r\n" : "*1\r\n$1\r\nb\r\n");
		peer_says(&n[0], rows[i].reply);
		(void)snprintf(want, sizeof(want), "-ERR a node's answer to '%s' made no sense\r\n",
			del ? "del" : "mget");
		peer_expects(&c, want);
		core_settles(t);
	}
}

static void elements_of_any_kind_are_told_apart(void **state)
{
	struct core *t = *state;
	begin(t);
	peer_asks(&c, WORDS("MGET", A(0), B(0), A(1), B(1)));
	peer_is_asked(&n[0], WORDS("MGET", A(0), A(1)));
	peer_is_asked(&n[1], WORDS("MGET", B(0), B(1)));
	peer_says(&n[0], "*2\r\n*2\r\n:1\r\n*0\r\n:2\r\n");
	peer_says(&n[1], "*2\r\n-ERR inside\r\n%1\r\n+k\r\n*1\r\n_\r\n");
	peer_expects(&c, "*4\r\n*2\r\n:1\r\n*0\r\n-ERR inside\r\n:2\r\n%1\r\n+k\r\n*1\r\n_\r\n");
	core_settles(t);
}

/* More than fits the usual buffers, and one that is asked for again and again. */
static void thousands_of_keys_find_their_places(void **state)
{
	enum { KEYS = 20000 };
	struct core *t = *state;
	begin(t);
	char *request = malloc(64 * KEYS);
	char *replies[CORE_NODES] = {malloc(32 * KEYS), malloc(32 * KEYS), malloc(32 * KEYS)};
	char *want = malloc(32 * KEYS);
	size_t counts[CORE_NODES] = {0}, lens[CORE_NODES] = {0};
	size_t len = (size_t)sprintf(request, "*%d\r\n$4\r\nMGET\r\n", KEYS + 1);
	size_t want_len = (size_t)sprintf(want, "*%d\r\n", KEYS);
	for (int i = 0; i < KEYS; i++) {
		char key[CORE_KEY_MAX];
		int n_key = snprintf(key, sizeof(key), "many%d", i);
		uint32_t node = topology_owner(t->topology, span_of(key, (size_t)n_key));
		len += (size_t)sprintf(request + len, "$%d\r\n%s\r\n", n_key, key);
		counts[node]++;
		lens[node] +=
			(size_t)sprintf(replies[node] + lens[node], "$%d\r\n%s\r\n", n_key, key);
		want_len += (size_t)sprintf(want + want_len, "$%d\r\n%s\r\n", n_key, key);
	}
	peer_say(&c, request, len);
	for (int i = CORE_NODES - 1; i >= 0; i--) {
		char head[64];
		int n_head = snprintf(head, sizeof(head), "*%zu\r\n$4\r\nMGET\r\n", counts[i] + 1);
		peer_expects(&n[i], head);
		peer_expect(&n[i], replies[i], lens[i]); /* the keys look like the values */
		n_head = snprintf(head, sizeof(head), "*%zu\r\n", counts[i]);
		peer_say(&n[i], head, (size_t)n_head);
		peer_say(&n[i], replies[i], lens[i]);
		free(replies[i]);
	}
	peer_expect(&c, want, want_len);
	core_settles(t);
	free(want);
	free(request);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(values_come_in_the_order_asked),
		T(pairs_go_together_and_one_ok_stands_for_all),
		T(counts_are_summed),
		T(keys_of_one_owner_are_not_split),
		T(of_several_errors_that_of_the_first_name_is_told),
		T(a_part_that_can_not_be_sent_fails_the_whole),
		T(all_parts_may_fail_at_once),
		T(a_connection_lost_fails_its_part),
		T(a_part_out_of_time_is_told_and_its_late_reply_dropped),
		T(what_waits_is_accounted_for_to_the_byte),
		T(a_reply_too_large_to_be_merged_is_refused),
		T(a_client_that_goes_leaves_no_part_behind),
		T(nonsense_is_not_passed_on),
		T(elements_of_any_kind_are_told_apart),
		T(thousands_of_keys_find_their_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
