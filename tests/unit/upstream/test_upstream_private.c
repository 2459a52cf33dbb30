/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Private connections: who may have one, when somebody else may, and what a tenant is told.
 */

#include <string.h>

#include "router/upstream/private.h"
#include "router/upstream/upstream_internal.h"
#include "tests/unit/upstream/bed.h"

#define R(k) "*2\r\n$3\r\nGET\r\n$1\r\n" k "\r\n"
#define CLIENT_ID "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n"

static int setup(void **state)
{
	struct bed *b = bed_new();
	b->opts.private_per_node = 2;
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

static struct upconn *lease(struct bed *b, struct tenant *t)
{
	enum up_why why = UP_WHY_COUNT;
	struct upconn *c = upstream_lease(b->up, 0, t, &why);
	assert_non_null(c);
	assert_int_equal(why, UP_WHY_NONE);
	return c;
}

static void refused(struct bed *b, enum up_why want)
{
	enum up_why why = UP_WHY_NONE;
	assert_null(upstream_lease(b->up, 0, NULL, &why));
	assert_int_equal(why, want);
}

/* The node's side of one that was just opened. */
static struct peer greeted(struct bed *b, const char *id)
{
	struct peer p = node_accept(&b->node);
	peer_expects(&p, CLIENT_ID);
	peer_says(&p, id);
	return p;
}

static void ask_and_answer(struct bed *b, struct upconn *c, struct peer *p)
{
	static struct ask a;
	bed_ask_on(b, &a, c, R("a"), 0);
	peer_expects(p, R("a"));
	peer_says(p, "+a\r\n");
	BED_UNTIL(b, a.done);
	bed_turn(b);
}

static void one_without_a_tenant_is_idle_when_all_is_answered(void **state)
{
	struct bed *b = *state;
	static struct ask a[2];
	struct upconn *c = lease(b, NULL);
	bed_ask_on(b, &a[0], c, R("a"), 0);
	bed_ask_on(b, &a[1], c, R("b"), 0);
	assert_int_equal(bed_count(b, NM_LEASED), 1);
	struct peer p = greeted(b, ":12\r\n");
	peer_expects(&p, R("a") R("b"));
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a[0].done);
	assert_true(c->leased);
	peer_says(&p, "+b\r\n");
	BED_UNTIL(b, a[1].done);
	BED_UNTIL(b, !c->leased);
	assert_int_equal(bed_count(b, NM_LEASED), 0);
	assert_int_equal(b->up->nidle, 1);
	assert_ptr_equal(lease(b, NULL), c); /* no new one is opened */
	ask_and_answer(b, c, &p);
	assert_int_equal(bed_count(b, NM_CONNECTS), 1);
	peer_close(&p);
}

static void a_tenant_keeps_it_until_he_releases_it(void **state)
{
	struct bed *b = *state;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	ask_and_answer(b, c, &p);
	ask_and_answer(b, c, &p);
	assert_true(c->leased);
	assert_ptr_not_equal(lease(b, NULL), c);
	upconn_release(c);
	assert_true(c->leased); /* not in the middle of a turn */
	bed_turn(b);
	assert_false(c->leased);
	assert_int_equal(t.lost, 0);
	peer_close(&p);
}

static void released_with_something_under_way_it_is_idle_after_that(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	bed_ask_on(b, &a, c, R("a"), 0);
	upconn_leave_clean(c);
	assert_int_equal(bed_count(b, NM_LEASED), 0); /* its place is free */
	peer_expects(&p, R("a"));
	bed_turn(b);
	assert_true(c->leased);
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, !c->leased);
	ask_got(&a, "+a\r\n");
	assert_int_equal(bed_count(b, NM_LEASED), 0);
	peer_close(&p);
}

static void no_more_are_leased_than_may_be(void **state)
{
	struct bed *b = *state;
	static struct tenant t[2];
	struct upconn *c = lease(b, &t[0]);
	(void)lease(b, &t[1]);
	refused(b, UP_WHY_NO_PRIVATE);
	assert_int_equal(bed_count(b, NM_LEASES_REFUSED), 1);
	assert_int_equal(b->server->leased, 2);
	upconn_discard(c);
	assert_int_equal(b->server->leased, 1);
	assert_non_null(lease(b, NULL));
	refused(b, UP_WHY_NO_PRIVATE);
}

static void classes_are_not_mixed(void **state)
{
	struct bed *b = *state;
	enum up_why why;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	ask_and_answer(b, c, &p);
	upconn_change_class(c, up_class(1, 2)); /* he has sent SELECT 1 */
	upconn_release(c);
	BED_UNTIL(b, b->up->nidle == 1);
	struct upconn *other = lease(b, NULL);
	assert_ptr_not_equal(other, c);
	assert_ptr_equal(upstream_lease(b->up, up_class(1, 2), NULL, &why), c);
	peer_close(&p);
}

static void an_idle_one_is_closed_in_time(void **state)
{
	struct bed *b = *state;
	b->opts.private_idle_ns = 30 * NS_PER_MS;
	struct upconn *c = lease(b, NULL);
	static struct ask a;
	bed_ask_on(b, &a, c, R("a"), 0);
	struct peer p = greeted(b, ":12\r\n");
	peer_expects(&p, R("a"));
	peer_hears_nothing(&p, 100); /* not while it is leased */
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.done);
	assert_int_equal(peer_sees_end(&p), 0);
	assert_int_equal(b->up->nidle, 0);
	assert_int_equal(b->room.used, 0);
	assert_int_equal(bed_count(b, NM_DISCONNECTS), 0);
	peer_close(&p);
}

static void an_idle_one_that_the_node_closes_is_nobodys_loss(void **state)
{
	struct bed *b = *state;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	ask_and_answer(b, c, &p);
	upconn_release(c);
	BED_UNTIL(b, b->up->nidle == 1);
	peer_close(&p);
	BED_UNTIL(b, b->up->nidle == 0);
	assert_int_equal(t.lost, 0);
	assert_int_equal(bed_count(b, NM_DISCONNECTS), 0);
}

static void a_tenant_is_told_of_a_loss_after_his_parts(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	ask_and_answer(b, c, &p);
	bed_ask_on(b, &a, c, R("a"), PART_READONLY);
	a.tenant = &t; /* see on_failed() of the bed */
	peer_expects(&p, R("a"));
	peer_close(&p);
	BED_UNTIL(b, t.lost > 0);
	assert_int_equal(t.lost, 1);
	assert_int_equal(t.why, UP_WHY_LOST);
	ask_failed(&a, UP_WHY_LOST, true); /* a read, and yet not sent again */
	assert_int_equal(bed_count(b, NM_RETRIES), 0);
	assert_int_equal(b->server->leased, 0);
	node_sees_nobody(&b->node, 50);
}

static void a_tenant_is_told_that_the_connect_failed(void **state)
{
	struct bed *b = *state;
	struct tenant t = {0};
	static struct ask a;
	node_close(&b->node);
	bed_ask_on(b, &a, lease(b, &t), R("a"), PART_READONLY);
	BED_UNTIL(b, t.lost > 0);
	assert_int_equal(t.why, UP_WHY_REFUSED);
	ask_failed(&a, UP_WHY_REFUSED, false);
	node_open(&b->node, "127.0.0.1:0", bed_pump(b));
}

static void a_discarded_one_is_closed_without_a_word_to_the_tenant(void **state)
{
	struct bed *b = *state;
	static struct ask a, dropped;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	bed_ask_on(b, &a, c, R("a"), 0);
	bed_ask_on(b, &dropped, c, R("b"), 0);
	ask_drop(&dropped);
	peer_expects(&p, R("a") R("b"));
	upconn_discard(c);
	assert_true(a.failed && dropped.dropped);
	assert_int_equal(t.lost, 0);
	assert_int_equal(b->server->leased, 0);
	assert_int_equal(peer_sees_end(&p), 0);
	assert_int_equal(b->up->nidle, 0);
	peer_close(&p);
}

static void a_soiled_one_is_not_for_others(void **state)
{
	struct bed *b = *state;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	ask_and_answer(b, c, &p);
	c->soiled = true;
	upconn_release(c);
	assert_int_equal(peer_sees_end(&p), 0);
	assert_int_equal(b->up->nidle, 0);
	peer_close(&p);
}

static void the_nodes_name_for_us_is_known(void **state)
{
	static const struct {
		const char *said;
		int64_t id;
	} cases[] = {
		{":7\r\n", 7},
		{":9007199254740993\r\n", 9007199254740993},
		{"-ERR unknown subcommand\r\n", 0},
	};
	struct bed *b = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tenant t = {0};
		struct upconn *c = lease(b, &t);
		assert_int_equal(upconn_node_client(c), 0);
		struct peer p = node_accept(&b->node);
		peer_expects(&p, CLIENT_ID);
		peer_says_slowly(&p, cases[i].said, 1);
		ask_and_answer(b, c, &p);
		assert_int_equal(upconn_node_client(c), cases[i].id);
		upconn_discard(c);
		peer_close(&p);
	}
}

static void a_server_that_is_down_leases_none(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	b->opts.retries = 0;
	b->opts.backoff_ns = b->opts.backoff_max_ns = 5 * NS_PER_S;
	bed_stop(b);
	b->up = upstream_new(&b->env, b->server, &b->opts, &b->budget);
	node_close(&b->node);
	assert_true(bed_ask(b, &a, R("a"), 0));
	BED_UNTIL(b, a.failed);
	refused(b, UP_WHY_REFUSED);
	assert_int_equal(bed_count(b, NM_CONNECTS), 1);
	assert_int_equal(b->server->leased, 0);
	node_open(&b->node, "127.0.0.1:0", bed_pump(b));
}

static void the_end_of_the_server_is_told_to_tenants(void **state)
{
	struct bed *b = *state;
	static struct ask a;
	struct tenant t = {0};
	struct upconn *c = lease(b, &t);
	struct peer p = greeted(b, ":12\r\n");
	bed_ask_on(b, &a, c, R("a"), 0);
	bed_stop(b);
	assert_true(a.failed);
	assert_int_equal(t.lost, 1);
	peer_close(&p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_without_a_tenant_is_idle_when_all_is_answered),
		T(a_tenant_keeps_it_until_he_releases_it),
		T(released_with_something_under_way_it_is_idle_after_that),
		T(no_more_are_leased_than_may_be),
		T(classes_are_not_mixed),
		T(an_idle_one_is_closed_in_time),
		T(an_idle_one_that_the_node_closes_is_nobodys_loss),
		T(a_tenant_is_told_of_a_loss_after_his_parts),
		T(a_tenant_is_told_that_the_connect_failed),
		T(a_discarded_one_is_closed_without_a_word_to_the_tenant),
		T(a_soiled_one_is_not_for_others),
		T(the_nodes_name_for_us_is_known),
		T(a_server_that_is_down_leases_none),
		T(the_end_of_the_server_is_told_to_tenants),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
