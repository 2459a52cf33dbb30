/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Requests with one owner: to the node and back, in the client's order, and what the client is told
 * when there is no reply.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/core/bed.h"

static int setup(void **state)
{
	*state = core_new();
	return 0;
}

static int teardown(void **state)
{
	core_free(*state);
	return 0;
}

static struct pump asleep;

static void a_request_goes_to_its_owner_and_its_reply_comes_back(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	for (uint32_t i = 0; i < CORE_NODES; i++) {
		peer_asks(&c, core_get(t, i, w));
		struct peer n = node_accept(&t->nodes[i]);
		peer_is_asked(&n, w);
		peer_says_slowly(&n, "$5\r\nhello\r\n", 2);
		peer_expects(&c, "$5\r\nhello\r\n");
		core_settles(t);
		peer_close(&n);
	}
	peer_close(&c);
}

static void replies_wait_for_those_before_them(void **state)
{
	struct core *t = *state;
	char a[CORE_WORDS_MAX], b[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, a));
	peer_asks(&c, core_get(t, 1, b));
	peer_asks(&c, "PING");
	struct peer na = node_accept(&t->nodes[0]);
	struct peer nb = node_accept(&t->nodes[1]);
	peer_is_asked(&na, a);
	peer_is_asked(&nb, b);
	peer_says(&nb, "$6\r\nsecond\r\n");
	PUMP_UNTIL(&asleep, core_state(t).held == strlen("$6\r\nsecond\r\n+PONG\r\n"));
	peer_hears_nothing(&c, 3);
	peer_says(&na, "$5\r\nfirst\r\n");
	peer_expects(&c, "$5\r\nfirst\r\n$6\r\nsecond\r\n+PONG\r\n");
	core_settles(t);
	peer_close(&c);
}

/* Small replies wait inside the request, larger ones in buffers, and half a reply in both. */
static void replies_of_any_size_wait_whole_or_in_part(void **state)
{
	static const size_t sizes[] = {0, 1, 60, 66, 67, 72, 73, 500, 3000, 70000, 300000};
	struct core *t = *state;
	char a[CORE_WORDS_MAX], b[CORE_WORDS_MAX], head[32];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, a));
	peer_asks(&c, core_get(t, 1, b));
	struct peer na = node_accept(&t->nodes[0]);
	struct peer nb = node_accept(&t->nodes[1]);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char *value = malloc(sizes[i] + 1);
		memset(value, 'a' + (int)i, sizes[i] + 1);
		peer_is_asked(&na, a);
		peer_is_asked(&nb, b);
		size_t n = (size_t)sprintf(head, "$%zu\r\n", sizes[i]);
		peer_says(&nb, head);
		PUMP_UNTIL(&asleep, core_state(t).held == n);
		peer_say(&nb, value, sizes[i] / 2);
		PUMP_UNTIL(&asleep, core_state(t).held == n + sizes[i] / 2);
		if (i % 2 == 0) { /* its turn comes in the middle, or at the end */
			peer_says(&na, "+first\r\n");
			peer_expects(&c, "+first\r\n");
		}
		peer_say(&nb, value + sizes[i] / 2, sizes[i] - sizes[i] / 2);
		peer_says(&nb, "\r\n");
		if (i % 2 == 1) {
			PUMP_UNTIL(&asleep, core_state(t).held == n + sizes[i] + 2);
			peer_says(&na, "+first\r\n");
			peer_expects(&c, "+first\r\n");
		}
		peer_expects(&c, head);
		peer_expect(&c, value, sizes[i]);
		peer_expects(&c, "\r\n");
		core_settles(t);
		peer_asks(&c, a);
		peer_asks(&c, b);
		free(value);
	}
	peer_close(&c);
}

static void a_node_that_refuses_is_named(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	node_close(&t->nodes[1]);
	peer_asks(&c, core_set(t, 1, w));
	peer_expects(&c, "-UNAVAILABLE node 'b': connection refused\r\n");
	peer_asks(&c, "PING");
	peer_expects(&c, "+PONG\r\n");
	core_settles(t);
	assert_int_equal(core_count(t, M_ERRORS_UNAVAILABLE), 1);
	assert_int_equal(core_node_count(t, 1, NM_UNAVAILABLE), 1);
	peer_close(&c);
}

static void the_outcome_of_a_lost_write_is_unknown(void **state)
{
	struct core *t = *state;
	char r[CORE_WORDS_MAX], w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, r));
	peer_asks(&c, core_set(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, r);
	peer_is_asked(&n, w);
	peer_close(&n);
	peer_expects(&c, "-UNAVAILABLE node 'a': connection lost\r\n"
			 "-UNAVAILABLE node 'a': connection lost, outcome unknown\r\n");
	core_settles(t);
	peer_close(&c);
}

static void noauth_is_not_shown_to_clients(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_set(t, 0, w));
	struct peer n = node_accept(&t->nodes[0]);
	peer_is_asked(&n, w);
	peer_says_slowly(&n, "-NOAUTH Authentication required.\r\n", 5);
	peer_expects(&c, "-UNAVAILABLE node 'a': authentication failed\r\n");
	core_settles(t);
	peer_close(&c);
}

static void beyond_the_queue_is_overloaded(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	t->pools[0].upstream.queue = 2;
	core_start(t);
	assert_int_equal(listen(t->nodes[0].fd, 0), 0);
	struct peer c = core_client(t, 0, 0);
	char all[512] = "";
	for (int i = 0; i < 3; i++)
		strcat(all, wire(core_get(t, 0, w)));
	peer_says(&c, all); /* in one turn: it is connecting */
	struct peer n = node_accept(&t->nodes[0]);
	pump_for(&asleep, 5);
	peer_says(&n, "+1\r\n+2\r\n");
	peer_expects(&c, "+1\r\n+2\r\n-OVERLOADED node 'a': queue full\r\n");
	core_settles(t);
	assert_int_equal(core_count(t, M_ERRORS_OVERLOADED), 1);
	assert_int_equal(core_node_count(t, 0, NM_UNAVAILABLE), 0);
	peer_close(&c);
}

/* Half of it has gone out: no error can be put in its place. */
static void a_reply_that_breaks_off_closes_its_client(void **state)
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
	peer_close(&n);
	(void)peer_sees_end(&c);
	peer_asks(&other, "PING");
	peer_expects(&other, "+PONG\r\n");
	core_settles(t);
	assert_int_equal(core_state(t).clients, 1);
	peer_close(&c);
	peer_close(&other);
}

static void a_reply_that_breaks_off_before_its_turn_becomes_an_error(void **state)
{
	struct core *t = *state;
	char a[CORE_WORDS_MAX], b[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, a));
	peer_asks(&c, core_get(t, 1, b));
	struct peer na = node_accept(&t->nodes[0]);
	struct peer nb = node_accept(&t->nodes[1]);
	peer_is_asked(&nb, b);
	peer_says(&nb, "$100000\r\nhello");
	PUMP_UNTIL(&asleep, core_state(t).held == 14);
	peer_close(&nb);
	PUMP_UNTIL(&asleep, core_count(t, M_ERRORS_UNAVAILABLE) == 1);
	assert_int_equal(core_state(t).held, strlen("-UNAVAILABLE node 'b': connection lost\r\n"));
	peer_is_asked(&na, a);
	peer_says(&na, "+first\r\n");
	peer_expects(&c, "+first\r\n-UNAVAILABLE node 'b': connection lost\r\n");
	core_settles(t);
	peer_close(&c);
}

static void a_client_that_goes_leaves_nothing_behind(void **state)
{
	struct core *t = *state;
	char a[CORE_WORDS_MAX], b[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	struct peer other = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, a));
	peer_asks(&c, core_get(t, 1, b));
	struct peer na = node_accept(&t->nodes[0]);
	struct peer nb = node_accept(&t->nodes[1]);
	peer_is_asked(&na, a);
	peer_is_asked(&nb, b);
	peer_says(&nb, "$4\r\nheld\r\n$5\r\n");
	PUMP_UNTIL(&asleep, core_state(t).held > 0);
	peer_close(&c);
	PUMP_UNTIL(&asleep, core_state(t).clients == 1);
	peer_asks(&other, a);
	peer_is_asked(&na, a);
	peer_says(&na, "+for the one that went\r\n+mine\r\n");
	peer_expects(&other, "+mine\r\n");
	core_settles(t);
	assert_int_equal(core_node_count(t, 0, NM_LATE_REPLIES), 1);
	peer_close(&other);
}

static void errors_of_the_router_keep_their_place(void **state)
{
	struct core *t = *state;
	char a[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, a));
	peer_asks(&c, "GET");
	peer_asks(&c, "SHUTDOWN");
	peer_asks(&c, "ECHO end");
	struct peer na = node_accept(&t->nodes[0]);
	peer_is_asked(&na, a);
	peer_hears_nothing(&c, 3);
	peer_says(&na, "+first\r\n");
	peer_expects(&c, "+first\r\n-ERR wrong number of arguments for 'get' command\r\n-ERR ");
	char rest[512] = "";
	size_t len = 0;
	PUMP_UNTIL(&asleep, (len += (size_t)(recv(c.fd, rest + len, sizeof(rest) - 1 - len, 0) +
					     1)) < sizeof(rest) &&
				    strstr(rest, "$3\r\nend\r\n") != NULL);
	core_settles(t);
	peer_close(&c);
}

static void stopping_lets_go_of_everything(void **state)
{
	struct core *t = *state;
	char a[CORE_WORDS_MAX], b[CORE_WORDS_MAX];
	core_start(t);
	struct peer c = core_client(t, 0, 0);
	peer_asks(&c, core_get(t, 0, a));
	peer_asks(&c, core_get(t, 1, b));
	peer_says(&c, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nunfinished");
	struct peer nb = node_accept(&t->nodes[1]);
	peer_is_asked(&nb, b);
	peer_says(&nb, "$4000\r\nhalf of it");
	PUMP_UNTIL(&asleep, core_state(t).held > 0);
	/* core_free() stops it and looks */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_request_goes_to_its_owner_and_its_reply_comes_back),
		T(replies_wait_for_those_before_them),
		T(replies_of_any_size_wait_whole_or_in_part),
		T(a_node_that_refuses_is_named),
		T(the_outcome_of_a_lost_write_is_unknown),
		T(noauth_is_not_shown_to_clients),
		T(beyond_the_queue_is_overloaded),
		T(a_reply_that_breaks_off_closes_its_client),
		T(a_reply_that_breaks_off_before_its_turn_becomes_an_error),
		T(a_client_that_goes_leaves_nothing_behind),
		T(errors_of_the_router_keep_their_place),
		T(stopping_lets_go_of_everything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
