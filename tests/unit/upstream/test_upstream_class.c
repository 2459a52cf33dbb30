/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Connections of classes that are not the default one: opened for a request, closed when nobody uses them, and never
 * more than there is room for.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "router/upstream/private.h"
#include "router/upstream/upstream_internal.h"
#include "tests/unit/upstream/bed.h"

#define R(k) "*2\r\n$3\r\nGET\r\n$1\r\n" k "\r\n"
#define NODES_CLIENT "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n"

static int setup(void **state)
{
	struct bed *b = bed_new();
	b->opts.shared_idle_ns = 60 * NS_PER_MS;
	b->opts.shared_per_node = 3;
	b->opts.retries = 1;
	bed_start(b, false);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	bed_free(*state);
	return 0;
}

static bool ask_class(struct bed *b, struct ask *a, unsigned database)
{
	return bed_ask_class(b, a, up_class(database, 2), R("a"), strlen(R("a")), PART_READONLY);
}

/* The node's side of a connection to this database, and what was asked there is not answered yet. */
static struct peer open_database(struct bed *b, struct ask *a, unsigned database)
{
	char select[] = "*2\r\n$6\r\nSELECT\r\n$1\r\n?\r\n";
	*strchr(select, '?') = (char)('0' + database);
	assert_true(ask_class(b, a, database));
	struct peer p = node_accept(&b->node);
	if (database != 0) {
		peer_expects(&p, select);
		peer_says(&p, "+OK\r\n");
	}
	peer_expects(&p, R("a"));
	return p;
}

static void answer(struct bed *b, struct peer *p, struct ask *a)
{
	peer_says(p, "+a\r\n");
	BED_UNTIL(b, a->done);
	bed_turn(b);
}

static struct upconn *conn_of(struct bed *b, unsigned database)
{
	uint16_t class_id = up_class(database, 2);
	return class_id < b->up->nshared ? b->up->shared[class_id] : NULL;
}

/* The same; it is there. */
static struct upconn *there(struct bed *b, unsigned database)
{
	struct upconn *c = conn_of(b, database);
	if (c == NULL)
		abort(); /* cmocka's fail() is not known not to return */
	return c;
}

static void one_that_nobody_uses_is_closed_and_forgotten(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = open_database(b, &a, 1);
	answer(b, &p, &a);
	assert_int_equal(b->room.used, 1);
	assert_int_equal(peer_sees_end(&p), 0);
	assert_null(conn_of(b, 1));
	assert_int_equal(b->room.used, 0);
	assert_int_equal(bed_count(b, NM_IDLE_CLOSED), 1);
	assert_int_equal(bed_count(b, NM_DISCONNECTS), 0);
	assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), 0);
	peer_close(&p);
	p = open_database(b, &a, 1); /* and opened again at once */
	answer(b, &p, &a);
	peer_close(&p);
}

static void the_default_one_stays(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = open_database(b, &a, 0);
	answer(b, &p, &a);
	peer_hears_nothing(&p, 200);
	assert_int_equal(bed_conn(b)->state, UP_READY);
	assert_int_equal(b->room.used, 0);
	peer_close(&p);
}

static void the_default_one_is_that_of_the_pools_database(void **state)
{
	struct bed *b = *state;
	static struct ask a, other;
	b->opts.default_class = up_class(3, 2);
	struct peer p = open_database(b, &a, 3), q = open_database(b, &other, 0);
	answer(b, &p, &a);
	answer(b, &q, &other);
	assert_int_equal(peer_sees_end(&q), 0);
	peer_hears_nothing(&p, 100);
	assert_null(conn_of(b, 0));
	assert_int_equal(there(b, 3)->state, UP_READY);
	peer_close(&p);
	peer_close(&q);
}

static void one_that_waits_for_an_answer_is_not_closed(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = open_database(b, &a, 1);
	peer_hears_nothing(&p, 200);
	answer(b, &p, &a);
	ask_got(&a, "+a\r\n");
	assert_int_equal(bed_count(b, NM_CONNECTS), 1);
	assert_int_equal(peer_sees_end(&p), 0);
	peer_close(&p);
}

static void an_answer_that_nobody_waits_for_is_waited_for(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = open_database(b, &a, 1);
	ask_drop(&a);
	peer_hears_nothing(&p, 200);
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.dropped);
	assert_int_equal(peer_sees_end(&p), 0);
	peer_close(&p);
}

static void use_keeps_it_open(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = open_database(b, &a, 1);
	answer(b, &p, &a);
	for (int i = 0; i < 10; i++) {
		pump_for(&p.pump, 20);
		assert_true(ask_class(b, &a, 1));
		peer_expects(&p, R("a"));
		answer(b, &p, &a);
	}
	assert_int_equal(bed_count(b, NM_CONNECTS), 1);
	assert_int_equal(peer_sees_end(&p), 0);
	peer_close(&p);
}

static void only_the_default_one_is_connected_ahead_of_need(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	b->opts.preconnect = true;
	b->opts.shared_idle_ns = 60 * NS_PER_S;
	struct peer p[3];
	for (unsigned i = 0; i < 3; i++) {
		p[i] = open_database(b, &a[i], i);
		answer(b, &p[i], &a[i]);
	}
	assert_int_equal(bed_count(b, NM_CONNECTS), 3);
	for (unsigned i = 0; i < 3; i++)
		peer_reset(&p[i]);
	p[0] = node_accept(&b->node);
	node_sees_nobody(&b->node, 150);
	BED_UNTIL(b, bed_conn(b)->state == UP_READY);
	assert_int_equal(bed_count(b, NM_CONNECTS), 4);
	p[2] = open_database(b, &a[2], 2);
	answer(b, &p[2], &a[2]);
	peer_close(&p[0]);
	peer_close(&p[2]);
}

static void what_may_be_sent_again_is_a_need(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct peer p = open_database(b, &a, 1);
	peer_close(&p);
	p = node_accept(&b->node);
	peer_expects(&p, "*2\r\n$6\r\nSELECT\r\n$1\r\n1\r\n");
	peer_says(&p, "+OK\r\n");
	peer_expects(&p, R("a"));
	answer(b, &p, &a);
	peer_close(&p);
}

static void one_that_failed_is_forgotten_too(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	b->opts.retries = 0;
	node_close(&b->node);
	assert_true(ask_class(b, &a, 1));
	BED_UNTIL(b, a.failed);
	assert_non_null(conn_of(b, 1)); /* it knows when to try again */
	BED_UNTIL(b, conn_of(b, 1) == NULL);
	assert_int_equal(bed_count(b, NM_CONNECTS), 1);
	assert_int_equal(bed_count(b, NM_IDLE_CLOSED), 0);
}

static void the_one_used_least_makes_place(void **state)
{
	struct bed *b = *state;
	static struct ask a[6];
	struct peer p[6];
	b->opts.shared_idle_ns = 60 * NS_PER_S;
	for (unsigned i = 0; i < 4; i++) { /* the default one does not count */
		p[i] = open_database(b, &a[i], i);
		answer(b, &p[i], &a[i]);
		pump_for(&p[i].pump, 3);
	}
	assert_int_equal(b->up->nextra, 3);
	assert_true(ask_class(b, &a[1], 1)); /* 2 is the oldest now */
	peer_expects(&p[1], R("a"));
	answer(b, &p[1], &a[1]);
	p[4] = open_database(b, &a[4], 4);
	assert_int_equal(peer_sees_end(&p[2]), 0);
	assert_null(conn_of(b, 2));
	assert_non_null(conn_of(b, 0));
	assert_non_null(conn_of(b, 1));
	assert_int_equal(b->up->nextra, 3);
	assert_int_equal(bed_count(b, NM_IDLE_CLOSED), 1);
	answer(b, &p[4], &a[4]);
	for (unsigned i = 0; i < 5; i++)
		peer_close(&p[i]);
}

static void when_all_are_busy_another_is_refused_and_the_default_is_not(void **state)
{
	struct bed *b = *state;
	static struct ask a[5];
	struct peer p[5];
	for (unsigned i = 1; i < 4; i++)
		p[i] = open_database(b, &a[i], i);
	assert_false(ask_class(b, &a[4], 4));
	assert_int_equal(a[4].why, UP_WHY_NO_SHARED);
	assert_int_equal(bed_count(b, NM_SHARED_REFUSED), 1);
	assert_null(conn_of(b, 4));
	p[0] = open_database(b, &a[0], 0);
	answer(b, &p[0], &a[0]);
	for (unsigned i = 1; i < 4; i++)
		answer(b, &p[i], &a[i]);
	p[4] = open_database(b, &a[4], 4); /* nothing is held against it */
	answer(b, &p[4], &a[4]);
	for (unsigned i = 0; i < 5; i++)
		peer_close(&p[i]);
}

static void one_whose_answers_are_being_read_is_not_idle(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	b->room.limit = 1;
	struct peer p = open_database(b, &a[1], 1);
	peer_says(&p, "+a\r\n");
	while (!a[1].done) /* no end of the turn: as if asked from within the reply */
		assert_true(loop_turn(&b->loop));
	struct upconn *c = there(b, 1);
	sendq_append(&b->loop.pool, &c->out, "x", 1); /* not acknowledged */
	assert_false(ask_class(b, &a[2], 2));
	sendq_discard(&b->loop.pool, &c->out, 1);
	assert_int_equal(a[2].why, UP_WHY_NO_SHARED);
	peer_close(&p);
}

static void without_room_an_idle_one_goes_and_a_private_one_first(void **state)
{
	struct bed *b = *state;
	static struct ask a[4];
	struct peer p[4];
	enum up_why why;
	b->opts.shared_idle_ns = 60 * NS_PER_S;
	b->room.limit = 3; /* two and a bit for private ones */
	p[1] = open_database(b, &a[1], 1);
	answer(b, &p[1], &a[1]);
	struct upconn *mine = upstream_lease(b->up, 0, NULL, &why);
	bed_ask_on(b, &a[0], mine, R("b"), 0);
	p[0] = node_accept(&b->node);
	peer_expects(&p[0], NODES_CLIENT);
	peer_says(&p[0], ":7\r\n");
	peer_expects(&p[0], R("b"));
	peer_says(&p[0], "+b\r\n");
	BED_UNTIL(b, b->up->nidle == 1);
	p[2] = open_database(b, &a[2], 2);
	answer(b, &p[2], &a[2]);
	assert_int_equal(b->room.used, 3);
	p[3] = open_database(b, &a[3], 3);
	assert_int_equal(peer_sees_end(&p[0]), 0);
	assert_int_equal(b->up->nidle, 0);
	assert_non_null(conn_of(b, 1));
	answer(b, &p[3], &a[3]);
	assert_non_null(upstream_lease(b->up, 0, NULL, &why)); /* now it is 1's turn */
	assert_int_equal(peer_sees_end(&p[1]), 0);
	assert_int_equal(b->room.used, 3);
	for (unsigned i = 0; i < 4; i++)
		peer_close(&p[i]);
}

static void one_that_a_tenant_has_is_in_use(void **state)
{
	struct bed *b = *state;
	static struct ask a, other;
	struct tenant t = {0};
	enum up_why why;
	b->room.limit = 1;
	struct upconn *c = upstream_lease(b->up, 0, &t, &why);
	bed_ask_on(b, &a, c, R("b"), 0);
	struct peer p = node_accept(&b->node);
	peer_expects(&p, NODES_CLIENT);
	peer_says(&p, ":7\r\n");
	peer_expects(&p, R("b"));
	answer(b, &p, &a);
	assert_int_equal(c->nfifo, 0); /* he is between two commands of a transaction */
	assert_false(ask_class(b, &other, 1));
	assert_int_equal(other.why, UP_WHY_NO_SHARED);
	c->read_ns -= 2 * NS_PER_S;
	upstream_give_way(&b->env);
	peer_hears_nothing(&p, 10);
	assert_int_equal(c->state, UP_READY);
	assert_ptr_equal(c->tenant, &t);
	upconn_discard(c);
	peer_close(&p);
}

static void private_ones_leave_room_to_others(void **state)
{
	struct bed *b = *state;
	static struct ask a, of_default;
	enum up_why why;
	struct tenant t = {0};
	b->room.limit = 4;
	for (int i = 0; i < 3; i++)
		assert_non_null(upstream_lease(b->up, 0, &t, &why));
	assert_null(upstream_lease(b->up, 0, &t, &why));
	assert_int_equal(why, UP_WHY_NO_PRIVATE);
	assert_int_equal(bed_count(b, NM_LEASES_REFUSED), 1);
	assert_int_equal(bed_count(b, NM_LEASED), 3);
	assert_true(ask_class(b, &a, 1));
	assert_int_equal(b->room.used, 4);
	assert_true(ask_class(b, &of_default, 0)); /* has its place whatever there is */
	bed_stop(b);
	assert_int_equal(t.lost, 3);
}

static void others_close_what_they_do_not_use_when_asked(void **state)
{
	struct bed *b = *state;
	static struct ask a[3];
	b->opts.shared_idle_ns = 60 * NS_PER_S;
	struct peer p = open_database(b, &a[1], 1), q = open_database(b, &a[2], 2);
	answer(b, &p, &a[1]);
	upstream_give_way(&b->env);
	peer_hears_nothing(&p, 10); /* nobody asked */
	there(b, 1)->read_ns -= 2 * NS_PER_S;
	there(b, 2)->read_ns -= 2 * NS_PER_S;
	b->room.refused++;
	upstream_give_way(&b->env);
	assert_int_equal(peer_sees_end(&p), 0);
	assert_null(conn_of(b, 1));
	answer(b, &q, &a[2]); /* was in use */
	there(b, 2)->read_ns -= 2 * NS_PER_S;
	upstream_give_way(&b->env); /* once for each asking */
	peer_hears_nothing(&q, 10);
	b->room.refused++;
	there(b, 2)->read_ns = loop_now(&b->loop);
	upstream_give_way(&b->env); /* used just now */
	peer_hears_nothing(&q, 10);
	peer_close(&p);
	peer_close(&q);
}

static void the_default_one_gets_the_descriptor_of_an_idle_one(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	struct rlimit before, none;
	b->opts.shared_idle_ns = 60 * NS_PER_S;
	struct peer p = open_database(b, &a[1], 1);
	answer(b, &p, &a[1]);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	int lowest = dup(0);
	(void)close(lowest);
	none = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	bool asked = ask_class(b, &a[0], 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(asked);
	assert_int_equal(peer_sees_end(&p), 0);
	assert_null(conn_of(b, 1));
	peer_close(&p);
	p = node_accept(&b->node);
	peer_expects(&p, R("a"));
	answer(b, &p, &a[0]);
	assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), 0);
	peer_close(&p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_that_nobody_uses_is_closed_and_forgotten),
		T(the_default_one_stays),
		T(the_default_one_is_that_of_the_pools_database),
		T(one_that_waits_for_an_answer_is_not_closed),
		T(an_answer_that_nobody_waits_for_is_waited_for),
		T(use_keeps_it_open),
		T(only_the_default_one_is_connected_ahead_of_need),
		T(what_may_be_sent_again_is_a_need),
		T(one_that_failed_is_forgotten_too),
		T(the_one_used_least_makes_place),
		T(when_all_are_busy_another_is_refused_and_the_default_is_not),
		T(one_whose_answers_are_being_read_is_not_idle),
		T(without_room_an_idle_one_goes_and_a_private_one_first),
		T(one_that_a_tenant_has_is_in_use),
		T(private_ones_leave_room_to_others),
		T(others_close_what_they_do_not_use_when_asked),
		T(the_default_one_gets_the_descriptor_of_an_idle_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
