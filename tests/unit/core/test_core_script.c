/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "router/core/dispatch.h"
#include "router/core/script.h"
#include "tests/unit/core/bed.h"

#define BODY "body"
#define SHA_OF_BODY "02083f4579e08a612425c0c1a17ee47add783b94"
#define NOSCRIPT "-NOSCRIPT No matching script.\r\n"
#define LOADED "$40\r\n" SHA_OF_BODY "\r\n"

static int setup(void **state)
{
	struct core *t = core_new();
	t->pools[0].upstream.retries = 1;
	t->pools[0].upstream.retry_share = 1;
	core_start(t);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	core_free(*state);
	return 0;
}

/* "EVALSHA_RO hash 1 key" with a key of that node. */
static const char *evalsha(struct core *t, uint32_t node, char words[2 * CORE_WORDS_MAX])
{
	char key[CORE_KEY_MAX];
	(void)snprintf(words, 2 * CORE_WORDS_MAX, "EVALSHA_RO " SHA_OF_BODY " 1 %s",
		core_key(t, node, key));
	return words;
}

/* The router knows BODY now; the connection to node 0. */
static struct peer teach(struct core *t, struct peer *c)
{
	char key[CORE_KEY_MAX], words[CORE_WORDS_MAX];
	(void)snprintf(words, sizeof(words), "EVAL " BODY " 1 %s", core_key(t, 0, key));
	peer_asks(c, words);
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, words);
	peer_says(&n, ":1\r\n");
	peer_expects(c, ":1\r\n");
	return n;
}

static void the_body_goes_ahead_once_and_its_answer_is_swallowed(void **state)
{
	struct core *t = *state;
	char words[2 * CORE_WORDS_MAX], get[CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	peer_asks(&c, core_get(t, 0, get));
	peer_asks(&c, evalsha(t, 0, words));
	peer_asks(&c, words);
	peer_is_asked(&n, get);
	peer_is_asked(&n, "SCRIPT LOAD " BODY);
	peer_is_asked(&n, words);
	peer_is_asked(&n, words);
	peer_says(&n, "$1\r\nx\r\n" LOADED ":2\r\n:3\r\n");
	peer_expects(&c, "$1\r\nx\r\n:2\r\n:3\r\n");
	assert_int_equal(core_count(t, M_SCRIPTS_LOADED), 1);
	assert_int_equal(core_node_count(t, 0, NM_LATE_REPLIES), 0);
	core_settles(t);
	peer_close(&c);
	peer_close(&n);
}

static void an_answer_in_pieces_is_swallowed_too(void **state)
{
	struct core *t = *state;
	char words[2 * CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	peer_asks(&c, evalsha(t, 0, words));
	peer_is_asked(&n, "SCRIPT LOAD " BODY);
	peer_is_asked(&n, words);
	peer_says_slowly(&n, "-ERR Error compiling script\r\n" NOSCRIPT, 1);
	peer_expects(&c, NOSCRIPT);
	core_settles(t);
	peer_close(&c);
	peer_close(&n);
}

static void a_script_that_is_missing_is_sent_again(void **state)
{
	static const struct {
		const char *answer;
		bool again;
	} rows[] = {
		{NOSCRIPT, true},
		{"-BUSY Redis is busy\r\n", true},
		{"-LOADING Redis is loading\r\n", true},
		{"-ERR user_script:1: boom\r\n", false},
		{":1\r\n", false},
	};
	struct core *t = *state;
	char words[2 * CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	bool told = false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		peer_asks(&c, evalsha(t, 0, words));
		if (!told) {
			peer_is_asked(&n, "SCRIPT LOAD " BODY);
			peer_says(&n, LOADED);
		}
		peer_is_asked(&n, words);
		peer_says(&n, rows[i].answer);
		peer_expects(&c, rows[i].answer);
		told = !rows[i].again;
	}
	peer_close(&c);
	peer_close(&n);
}

static void what_relies_on_a_lost_connection_is_not_sent_again(void **state)
{
	struct core *t = *state;
	char words[2 * CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	peer_asks(&c, evalsha(t, 0, words));
	peer_is_asked(&n, "SCRIPT LOAD " BODY);
	peer_is_asked(&n, words);
	peer_close(&n);
	peer_expects(&c, "-UNAVAILABLE node 'a': connection lost\r\n");
	peer_asks(&c, words);
	n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, "SCRIPT LOAD " BODY);
	peer_is_asked(&n, words);
	peer_says(&n, LOADED ":1\r\n");
	peer_expects(&c, ":1\r\n");
	peer_close(&c);
	peer_close(&n);
}

static void close_client(struct worker *w, void *arg)
{
	(void)arg;
	client_close(TAILQ_FIRST(&w->clients), "it is time");
}

static void a_client_may_go_in_between(void **state)
{
	struct core *t = *state;
	char words[2 * CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	peer_asks(&c, evalsha(t, 0, words));
	peer_is_asked(&n, "SCRIPT LOAD " BODY);
	peer_is_asked(&n, words);
	core_look(t, close_client, NULL);
	assert_int_equal(core_count(t, M_CLIENTS), 0);
	peer_says(&n, LOADED ":1\r\n");
	core_settles(t);
	peer_close(&c);
	peer_close(&n);
}

static void the_same_body_is_hashed_and_kept_once(void **state)
{
	struct core *t = *state;
	char key[CORE_KEY_MAX], words[CORE_WORDS_MAX];
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(words, sizeof(words), "EVAL " BODY " 1 %s", core_key(t, 0, key));
		peer_asks(&c, words);
		peer_is_asked(&n, words);
		peer_says(&n, ":1\r\n");
		peer_expects(&c, ":1\r\n");
	}
	assert_int_equal(script_store_size(t->scripts).bodies, 1);
	peer_close(&c);
	peer_close(&n);
}

/* ---- ahead of a transaction's EVALSHA ------------------------------------------------------- */

struct ahead {
	const char *sha;
	bool waits; /* out */
	bool again; /* out */
};

/* As if the only client had sent this inside MULTI. */
static void look_ahead(struct worker *w, void *arg)
{
	struct ahead *a = arg;
	const struct span args[] = {SPAN("EVALSHA"), span_str(a->sha), SPAN("1"), SPAN("k")};
	struct call call = {
		.client = TAILQ_FIRST(&w->clients),
		.cmd = cmd_find(args, ARRAY_LEN(args)),
		.args = args,
		.n = ARRAY_LEN(args),
	};
	a->waits = script_ahead(&call, 0);
	a->again = call.again;
}

static bool ahead(struct core *t, const char *sha)
{
	struct ahead a = {.sha = sha};
	core_look(t, look_ahead, &a);
	assert_int_equal(a.waits, a.again);
	return a.waits;
}

static void a_transaction_waits_for_its_script_once(void **state)
{
	struct core *t = *state;
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	assert_true(ahead(t, SHA_OF_BODY));
	peer_is_asked(&n, "SCRIPT LOAD " BODY);
	peer_asks(&c, "PING"); /* behind the barrier */
	peer_hears_nothing(&c, 20);
	peer_says(&n, LOADED);
	peer_expects(&c, "+PONG\r\n");
	assert_false(ahead(t, SHA_OF_BODY)); /* looked at again */
	assert_false(ahead(t, SHA_OF_BODY)); /* the next one */
	peer_hears_nothing(&n, 20);
	peer_close(&c);
	peer_close(&n);
}

static void a_load_that_failed_lets_it_go_on_and_is_tried_again(void **state)
{
	struct core *t = *state;
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(ahead(t, SHA_OF_BODY));
		peer_is_asked(&n, "SCRIPT LOAD " BODY);
		peer_says(&n, "-BUSY Redis is busy\r\n");
		core_settles(t);
		assert_false(ahead(t, SHA_OF_BODY));
	}
	peer_hears_nothing(&c, 20); /* it sees nothing of all that */
	peer_close(&c);
	peer_close(&n);
}

static void a_node_that_is_down_does_not_hold_it_up(void **state)
{
	struct core *t = *state;
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	node_close(&t->nodes[0]);
	peer_close(&n);
	PUMP_UNTIL(&n.pump, core_node_count(t, 0, NM_CONNECTIONS) == 0);
	assert_true(ahead(t, SHA_OF_BODY));
	core_settles(t);
	assert_false(ahead(t, SHA_OF_BODY));
	peer_asks(&c, "PING");
	peer_expects(&c, "+PONG\r\n");
	peer_close(&c);
}

static void a_lost_connection_and_a_flush_make_it_wait_again(void **state)
{
	struct core *t = *state;
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(ahead(t, SHA_OF_BODY));
		if (i == 1)
			n = node_accept(&t->nodes[0]);
		peer_is_asked(&n, "SCRIPT LOAD " BODY);
		peer_says(&n, LOADED);
		core_settles(t);
		assert_false(ahead(t, SHA_OF_BODY));
		assert_false(ahead(t, SHA_OF_BODY));
		if (i == 0) {
			peer_close(&n);
			PUMP_UNTIL(&n.pump, core_node_count(t, 0, NM_CONNECTIONS) == 0);
		} else {
			script_store_begin_generation(t->scripts);
		}
	}
	peer_close(&c);
	peer_close(&n);
}

static void what_nobody_knows_is_not_waited_for(void **state)
{
	struct core *t = *state;
	struct peer c = core_client(t, 0, 0);
	struct peer n = teach(t, &c);
	assert_false(ahead(t, "ffffffffffffffffffffffffffffffffffffffff"));
	assert_false(ahead(t, "short"));
	script_store_flush(t->scripts, 0);
	assert_false(ahead(t, SHA_OF_BODY));
	peer_hears_nothing(&n, 20);
	peer_close(&c);
	peer_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(the_body_goes_ahead_once_and_its_answer_is_swallowed),
		CASE(an_answer_in_pieces_is_swallowed_too),
		CASE(a_script_that_is_missing_is_sent_again),
		CASE(what_relies_on_a_lost_connection_is_not_sent_again),
		CASE(a_client_may_go_in_between),
		CASE(the_same_body_is_hashed_and_kept_once),
		CASE(a_transaction_waits_for_its_script_once),
		CASE(a_load_that_failed_lets_it_go_on_and_is_tried_again),
		CASE(a_node_that_is_down_does_not_hold_it_up),
		CASE(a_lost_connection_and_a_flush_make_it_wait_again),
		CASE(what_nobody_knows_is_not_waited_for),
#undef CASE
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
