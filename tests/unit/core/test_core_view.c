/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Topologies come and go while requests are under way; and the worker's end.
 */

#include <stdio.h>
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

static void a_topology_without_work_under_way_is_acked_at_once(void **state)
{
	struct core *t = *state;
	begin(t);
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 1);
	core_publish(t, CORE_NODES, 2);
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 2);
	assert_int_equal(core_state(t).views, 1);
	assert_int_equal(core_state(t).upstreams, CORE_NODES);
	for (int i = 0; i < CORE_NODES; i++)
		peer_hears_nothing(&n[i], 1); /* the connections live on */
}

static void a_topology_is_acked_when_the_last_request_by_the_old_one_is_answered(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 2, w));
	peer_is_asked(&n[2], w);
	core_publish(t, 2, 2); /* c leaves */
	pump_for(&asleep, 10);
	assert_int_equal(atomic_load(&t->acked_epoch), 1);
	assert_int_equal(core_state(t).views, 2);
	peer_hears_nothing(&n[2], 1);
	peer_says(&n[2], "+still mine\r\n");
	peer_expects(&c, "+still mine\r\n");
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 2);
	assert_int_equal(peer_sees_end(&n[2]), 0);
	assert_int_equal(core_state(t).views, 1);
	assert_int_equal(core_state(t).upstreams, 2);
	peer_asks(&c, w); /* its keys have another owner now */
	uint32_t heir = topology_owner(t->topology, span_str(w + 4));
	peer_is_asked(&n[heir], w);
	peer_says(&n[heir], "+by the heir\r\n");
	peer_expects(&c, "+by the heir\r\n");
	core_settles(t);
}

/* Its client has long been told; only the node has not answered yet. */
static void a_request_out_of_time_still_holds_its_topology(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	t->pools[0].timeout_ns[DEADLINE_REQUEST] = 40 * NS_PER_MS;
	begin(t);
	peer_asks(&c, core_get(t, 2, w));
	peer_is_asked(&n[2], w);
	core_publish(t, 2, 2);
	peer_expects(&c, "-UNAVAILABLE node 'c': timeout after 40 ms\r\n");
	pump_for(&asleep, 10);
	assert_int_equal(atomic_load(&t->acked_epoch), 1);
	peer_says(&n[2], "+late\r\n");
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 2);
	assert_int_equal(peer_sees_end(&n[2]), 0);
	core_settles(t);
}

static void several_topologies_may_be_under_way(void **state)
{
	struct core *t = *state;
	char w[4][CORE_WORDS_MAX];
	begin(t);
	for (uint64_t epoch = 2; epoch <= 5; epoch++) {
		peer_asks(&c, core_get(t, 0, w[epoch - 2]));
		peer_is_asked(&n[0], w[epoch - 2]);
		core_publish(t, epoch % 2 == 0 ? 2 : CORE_NODES, epoch);
		/* so that the next request is routed by it */
		PUMP_UNTIL(&asleep, core_state(t).views == epoch);
	}
	assert_int_equal(atomic_load(&t->acked_epoch), 1);
	peer_says(&n[0], "+2\r\n+3\r\n+4\r\n");
	peer_expects(&c, "+2\r\n+3\r\n+4\r\n");
	pump_for(&asleep, 5);
	assert_int_equal(atomic_load(&t->acked_epoch), 1);
	peer_says(&n[0], "+5\r\n");
	peer_expects(&c, "+5\r\n");
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 5);
	assert_int_equal(core_state(t).views, 1);
	core_settles(t);
}

static void a_split_request_ends_by_the_topology_it_began_with(void **state)
{
	struct core *t = *state;
	char k[CORE_NODES][CORE_KEY_MAX], words[128];
	begin(t);
	(void)snprintf(words, sizeof(words), "DEL %s %s %s", core_key(t, 0, k[0]),
		core_key(t, 1, k[1]), core_key(t, 2, k[2]));
	peer_asks(&c, words);
	for (int i = 0; i < CORE_NODES; i++) {
		(void)snprintf(words, sizeof(words), "DEL %s", k[i]);
		peer_is_asked(&n[i], words);
	}
	core_publish(t, 1, 2);
	peer_says(&n[2], "-ERR of c\r\n"); /* named by the old topology */
	peer_says(&n[1], "-ERR of b\r\n");
	peer_says(&n[0], ":1\r\n");
	peer_expects(&c, "-ERR of b\r\n");
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 2);
	(void)peer_sees_end(&n[1]);
	(void)peer_sees_end(&n[2]);
	core_settles(t);
}

static void nobody_owns_anything_without_nodes(void **state)
{
	static const char *const asked[] = {"GET k", "MGET k l", "MSET k v l w", "DEL k l",
		"DBSIZE", "KEYS *", "FLUSHALL", "RANDOMKEY", "SCAN 0", "MEMORY DOCTOR",
		"CONFIG GET save", "LASTSAVE", "LATENCY LATEST", "SLOWLOG GET", "NOSUCHCOMMAND x",
		"RENAME k l", "SCRIPT EXISTS abc", "PUBLISH a b", "CONFIG RESETSTAT",
		"COMMAND COUNT"};
	struct core *t = *state;
	begin(t);
	core_publish(t, 0, 2);
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 2);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		char got[4096] = "";
		peer_asks(&c, asked[i]);
		peer_asks(&c, "ECHO end");
		for (size_t len = 0; strstr(got, "$3\r\nend\r\n") == NULL;) {
			ssize_t more = -1;
			PUMP_UNTIL(&asleep,
				(more = recv(c.fd, got + len, sizeof(got) - 1 - len, 0)) > 0);
			len += (size_t)more;
		}
		if (strncmp(got, "$3\r\nend", 7) == 0)
			fail_msg("%s: not answered", asked[i]);
	}
	core_settles(t);
	core_publish(t, CORE_NODES, 3); /* and back again */
	PUMP_UNTIL(&asleep, atomic_load(&t->acked_epoch) == 3);
	char w[CORE_WORDS_MAX];
	peer_asks(&c, core_get(t, 0, w));
	struct peer again = node_accept(&t->nodes[0]);
	peer_is_asked(&again, w);
	peer_says(&again, "+OK\r\n");
	peer_expects(&c, "+OK\r\n");
	peer_close(&again);
}

/* ---- the end ----------------------------------------------------------------------------------*/

static void draining_closes_each_client_when_nothing_is_outstanding(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	struct peer idle = core_client(t, 0, 0);
	struct peer inside = core_client(t, 0, 0);
	peer_says(&inside, "*2\r\n$3\r\nGET\r\n$10\r\nunf");
	peer_asks(&c, core_get(t, 0, w));
	peer_is_asked(&n[0], w);
	PUMP_UNTIL(&asleep, core_state(t).clients == 3);
	worker_drain(t->workers[0]);
	assert_int_equal(peer_sees_end(&idle), 0);
	assert_int_equal(peer_sees_end(&inside), 0);
	assert_int_equal(atomic_load(&t->drained), 0);
	peer_asks(&c, w); /* too late */
	peer_says(&n[0], "+last\r\n");
	peer_expects(&c, "+last\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	PUMP_UNTIL(&asleep, atomic_load(&t->drained) == 1);
	struct peer late = core_client(t, 0, 0);
	assert_int_equal(peer_sees_end(&late), 0);
	core_settles(t);
	assert_int_equal(atomic_load(&t->drained), 1);
	peer_close(&late);
	peer_close(&idle);
	peer_close(&inside);
}

static void closing_clients_abandons_what_is_outstanding(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 0, w));
	peer_is_asked(&n[0], w);
	worker_drain(t->workers[0]);
	worker_close_clients(t->workers[0]);
	assert_int_equal(peer_sees_end(&c), 0);
	PUMP_UNTIL(&asleep, atomic_load(&t->drained) == 1);
	assert_int_equal(core_state(t).requests, 1);
	peer_says(&n[0], "+late\r\n");
	core_settles(t);
}

static void stopping_with_topologies_under_way_lets_go_of_all(void **state)
{
	struct core *t = *state;
	char w[CORE_WORDS_MAX];
	begin(t);
	peer_asks(&c, core_get(t, 2, w));
	peer_is_asked(&n[2], w);
	core_publish(t, 2, 2);
	PUMP_UNTIL(&asleep, core_state(t).views == 2);
	core_publish(t, CORE_NODES, 3); /* a letter that may come too late */
					/* core_free() stops it and looks */
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_topology_without_work_under_way_is_acked_at_once),
		T(a_topology_is_acked_when_the_last_request_by_the_old_one_is_answered),
		T(a_request_out_of_time_still_holds_its_topology),
		T(several_topologies_may_be_under_way),
		T(a_split_request_ends_by_the_topology_it_began_with),
		T(nobody_owns_anything_without_nodes),
		T(draining_closes_each_client_when_nothing_is_outstanding),
		T(closing_clients_abandons_what_is_outstanding),
		T(stopping_with_topologies_under_way_lets_go_of_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
