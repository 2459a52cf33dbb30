/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Names: several addresses, none yet, and others than before.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "router/upstream/upstream_internal.h"
#include "tests/unit/upstream/bed.h"

#define R(k) "*2\r\n$3\r\nGET\r\n$1\r\n" k "\r\n"
#define W(k) "*2\r\n$3\r\nDEL\r\n$1\r\n" k "\r\n"

/* b->node is the first of a fleet of three. */
struct fixture {
	struct bed *bed;
	struct node others[2];
	struct addr dead; /* refuses */
};
static struct fixture fixture;
static unsigned attempts;

static void on_attempt(struct upstream_env *env, struct server *s)
{
	assert_ptr_equal(env, &fixture.bed->env);
	assert_ptr_equal(s, fixture.bed->server);
	attempts++;
}

static struct addr address_of(const char *text)
{
	struct addr a;
	const char *why = NULL;
	assert_int_equal(addr_parse(&a, text, &why), 0);
	return a;
}

/* The bed's server becomes a name. */
static void use_name(struct bed *b)
{
	char node[] = "n";
	struct topology_node one = {
		.name = node, .address = address_of("cache.example:6379"), .weight_milli = 1000};
	struct topology_spec spec = {
		.epoch = 1, .points = 8, .hash_tag = "", .nodes = &one, .nnodes = 1};
	struct topology *t = NULL;
	bed_stop(b);
	server_unref(b->server);
	assert_int_equal(topology_new(&t, &spec), 0);
	struct fleet *f = fleet_new(t, NULL, 1);
	topology_unref(t);
	b->server = server_ref(f->servers[0]);
	fleet_unref(f);
	b->up = upstream_new(&b->env, b->server, &b->opts, &b->budget);
}

static int setup(void **state)
{
	struct bed *b = bed_new();
	struct node gone;
	b->opts.backoff_ns = 2 * NS_PER_MS;
	b->opts.resolve_pause_ns = 3600 * NS_PER_S;
	b->env.attempt = on_attempt;
	bed_start(b, false);
	use_name(b);
	for (int i = 0; i < 2; i++)
		node_open(&fixture.others[i], "127.0.0.1:0", bed_pump(b));
	node_open(&gone, "127.0.0.1:0", bed_pump(b));
	fixture.dead = gone.addr;
	node_close(&gone);
	fixture.bed = b;
	attempts = 0;
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 2; i++)
		node_close(&f->others[i]);
	bed_free(f->bed);
	return 0;
}

static void leads_to(struct bed *b, const struct addr *const *a, size_t n)
{
	struct addresses *l = calloc(1, sizeof(*l) + n * sizeof(l->at[0]));
	assert_non_null(l);
	atomic_init(&l->refs, 1);
	for (size_t i = 0; i < n; i++) {
		struct addresses *one = NULL;
		assert_int_equal(addresses_of_literal(&one, a[i]), 0);
		l->at[l->n++] = one->at[0];
		addresses_unref(one);
	}
	upstream_move(b->up, l);
}
#define LEADS_TO(b, ...) \
	leads_to(b, (const struct addr *const[]){__VA_ARGS__}, \
		sizeof((const struct addr *const[]){__VA_ARGS__}) / sizeof(struct addr *))

static void read_part(struct bed *b, struct ask *a, const char *wire)
{
	assert_true(bed_ask(b, a, wire, PART_READONLY));
}

/* ---- none yet ------------------------------------------------------------------------------ */

static void a_name_that_leads_nowhere_says_so_and_is_not_connected_to(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	upstream_preconnect(b->up, 0);
	assert_false(bed_ask(b, &a, R("a"), PART_READONLY));
	assert_int_equal(a.why, UP_WHY_UNRESOLVED);
	pump_for(&(struct pump){.run = bed_turn, .arg = b}, 20);
	assert_int_equal(bed_count(b, NM_CONNECTS), 0);
	assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), 0);
	LEADS_TO(b, &b->node.addr);
	read_part(b, &a, R("a"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a"));
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.done);
	peer_close(&p);
}

static void connecting_ahead_of_need_is_made_up_for(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	b->opts.preconnect = true;
	upstream_preconnect(b->up, 0);
	LEADS_TO(b, &b->node.addr);
	struct peer p = node_accept(&b->node);
	BED_UNTIL(b, bed_count(b, NM_CONNECTIONS) == 1);
	b->opts.preconnect = false;
	peer_close(&p);
}

/* ---- several ------------------------------------------------------------------------------- */

static void an_address_that_refuses_is_passed_over_at_once(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	b->opts.backoff_ns = 3600 * NS_PER_S; /* it is no failed attempt */
	LEADS_TO(b, &f->dead, &b->node.addr);
	read_part(b, &a, R("a"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a"));
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.done);
	assert_int_equal(bed_count(b, NM_CONNECTS), 2);
	assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), 0);
	peer_close(&p);
	BED_UNTIL(b, bed_conn(b)->state == UP_CLOSED);
	read_part(b, &a, R("b")); /* the one that worked comes first now */
	p = node_accept(&b->node);
	assert_int_equal(bed_count(b, NM_CONNECTS), 3);
	peer_expects(&p, R("b"));
	peer_close(&p);
	BED_UNTIL(b, a.failed);
}

static void an_attempt_fails_when_all_addresses_refuse(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	node_close(&f->others[0]);
	LEADS_TO(b, &f->dead, &f->others[0].addr);
	read_part(b, &a, R("a"));
	BED_UNTIL(b, a.failed);
	assert_int_equal(a.why, UP_WHY_REFUSED);
	assert_int_equal(bed_count(b, NM_CONNECTS), 2);
	assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), 1);
}

/* A node whose queue of new connections is full: connects to it hang. */
struct mute {
	struct node node;
	int waiting[16];
	size_t n;
};

static void mute_open(struct mute *m)
{
	bool done = false;
	node_open(&m->node, "127.0.0.1:0", (struct pump){0});
	assert_int_equal(listen(m->node.fd, 0), 0);
	struct addresses *l = NULL;
	assert_int_equal(addresses_of_literal(&l, &m->node.addr), 0);
	for (m->n = 0; m->n < 4; m->n++)
		assert_true((m->waiting[m->n] = sock_connect(&l->at[0], &done)) >= 0);
	addresses_unref(l);
	pump_for(&(struct pump){0}, 5);
}

static void mute_close(struct mute *m)
{
	while (m->n > 0)
		(void)close(m->waiting[--m->n]);
	node_close(&m->node);
}

static void the_next_attempt_begins_behind_an_address_that_hangs(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	struct mute mute;
	mute_open(&mute);
	b->opts.connect_timeout_ns = 30 * NS_PER_MS;
	LEADS_TO(b, &mute.node.addr, &b->node.addr);
	read_part(b, &a, R("a"));
	BED_UNTIL(b, a.failed);
	assert_int_equal(a.why, UP_WHY_CONNECT_TIMEOUT);
	BED_UNTIL(b, bed_ask(b, &a, R("b"), PART_READONLY));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("b"));
	peer_says(&p, "+b\r\n");
	BED_UNTIL(b, a.done);
	assert_int_equal(bed_count(b, NM_CONNECTS), 2);
	peer_close(&p);
	mute_close(&mute);
}

/* ---- others than before -------------------------------------------------------------------- */

/* READY, proven, with nothing on its way. */
static struct peer connected(struct bed *b)
{
	static struct ask a;
	LEADS_TO(b, &b->node.addr);
	read_part(b, &a, R("0"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("0"));
	peer_says(&p, "+0\r\n");
	BED_UNTIL(b, a.done);
	return p;
}

static void a_connection_stays_while_its_address_does(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	struct peer p = connected(b);
	LEADS_TO(b, &f->others[0].addr, &b->node.addr);
	read_part(b, &a, R("a"));
	peer_expects(&p, R("a"));
	node_sees_nobody(&f->others[0], 20);
	assert_int_equal(bed_count(b, NM_MOVED), 0);
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.done);
	/* and a new one goes where that one is, not to a stranger */
	static struct ask other_class;
	assert_true(bed_ask_class(
		b, &other_class, up_class(0, 3), R("a"), strlen(R("a")), PART_READONLY));
	struct peer q = node_accept(&b->node);
	peer_close(&q);
	peer_close(&p);
	BED_UNTIL(b, other_class.failed);
}

static void an_idle_connection_goes_at_once(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	b->opts.preconnect = true;
	struct peer p = connected(b);
	LEADS_TO(b, &f->others[0].addr);
	struct peer q = node_accept(&f->others[0]);
	assert_int_equal(peer_sees_end(&p), 0);
	BED_UNTIL(b, bed_count(b, NM_CONNECTIONS) == 1);
	assert_int_equal(bed_count(b, NM_MOVED), 1);
	assert_int_equal(bed_count(b, NM_DISCONNECTS), 0);
	b->opts.preconnect = false;
	peer_close(&p);
	peer_close(&q);
}

static void without_need_there_is_no_new_connection(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	struct peer p = connected(b);
	LEADS_TO(b, &f->others[0].addr);
	assert_int_equal(peer_sees_end(&p), 0);
	node_sees_nobody(&f->others[0], 20);
	peer_close(&p);
}

static void what_was_sent_is_answered_before_anything_is_sent_elsewhere(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a[5];
	struct peer p = connected(b);
	assert_true(bed_ask(b, &a[0], W("a"), 0));
	read_part(b, &a[1], R("b"));
	peer_expects(&p, W("a") R("b"));
	LEADS_TO(b, &f->others[0].addr);
	bed_turn(b);
	assert_true(bed_ask(b, &a[2], W("c"), 0));
	read_part(b, &a[3], R("d"));
	peer_hears_nothing(&p, 20);
	node_sees_nobody(&f->others[0], 20);
	peer_says(&p, ":1\r\n+");
	BED_UNTIL(b, a[0].done);
	peer_hears_nothing(&p, 5);
	node_sees_nobody(&f->others[0], 5); /* half a reply is none */
	peer_says(&p, "b\r\n");
	struct peer q = node_accept(&f->others[0]);
	read_part(b, &a[4], R("e"));
	peer_expects(&q, W("c") R("d") R("e"));
	assert_int_equal(peer_sees_end(&p), 0);
	peer_says(&q, ":2\r\n+d\r\n+e\r\n");
	BED_UNTIL(b, a[4].done);
	ask_got(&a[0], ":1\r\n");
	ask_got(&a[1], "+b\r\n");
	ask_got(&a[2], ":2\r\n");
	ask_got(&a[4], "+e\r\n");
	assert_int_equal(bed_count(b, NM_RETRIES) + bed_count(b, NM_DISCONNECTS), 0);
	peer_close(&p);
	peer_close(&q);
}

/* In the turn of the move itself: it is on its way already, or as good as. */
static void what_is_queued_at_that_moment_is_not_lost(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask sent, queued;
	struct peer p = connected(b);
	read_part(b, &sent, R("a"));
	peer_expects(&p, R("a"));
	read_part(b, &queued, R("b"));
	LEADS_TO(b, &f->others[0].addr);
	peer_expects(&p, R("b"));
	peer_says(&p, "+a\r\n+b\r\n");
	BED_UNTIL(b, queued.done);
	assert_int_equal(peer_sees_end(&p), 0);
	peer_close(&p);
}

static void a_request_of_which_a_part_was_sent_is_finished_there(void **state)
{
	enum { SIZE = 16 << 20 };
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask big, after;
	static char wire[SIZE];
	struct peer p = connected(b);
	memset(wire, 'x', sizeof(wire));
	assert_true(bed_ask_class(b, &big, 0, wire, sizeof(wire), 0));
	bed_turn(b);
	assert_true(b->up->shared[0]->writable_armed); /* the socket is full */
	LEADS_TO(b, &f->others[0].addr);
	bed_turn(b);
	peer_expect(&p, wire, SIZE / 2);
	assert_int_equal(bed_count(b, NM_MOVED), 0);
	peer_expect(&p, wire, SIZE - SIZE / 2);
	bed_turn(b);
	read_part(b, &after, R("b"));
	peer_hears_nothing(&p, 10);
	peer_says(&p, "+big\r\n");
	struct peer q = node_accept(&f->others[0]);
	peer_expects(&q, R("b"));
	peer_says(&q, "+b\r\n");
	BED_UNTIL(b, after.done);
	ask_got(&big, "+big\r\n");
	peer_close(&p);
	peer_close(&q);
}

static void a_reply_that_nobody_waits_for_is_awaited_too(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask dropped, after;
	struct peer p = connected(b);
	read_part(b, &dropped, R("a"));
	peer_expects(&p, R("a"));
	ask_drop(&dropped);
	LEADS_TO(b, &f->others[0].addr);
	bed_turn(b);
	read_part(b, &after, R("b"));
	node_sees_nobody(&f->others[0], 10);
	peer_says(&p, "+a\r\n");
	struct peer q = node_accept(&f->others[0]);
	peer_expects(&q, R("b"));
	assert_true(dropped.dropped);
	peer_close(&q);
	peer_close(&p);
	BED_UNTIL(b, after.failed);
}

static void a_name_that_leads_back_keeps_its_connection(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask sent, held;
	struct peer p = connected(b);
	read_part(b, &sent, R("a"));
	peer_expects(&p, R("a"));
	LEADS_TO(b, &f->others[0].addr);
	bed_turn(b);
	read_part(b, &held, R("b"));
	peer_hears_nothing(&p, 10);
	LEADS_TO(b, &f->others[0].addr, &b->node.addr);
	peer_expects(&p, R("b"));
	peer_says(&p, "+a\r\n+b\r\n");
	BED_UNTIL(b, held.done);
	node_sees_nobody(&f->others[0], 5);
	assert_int_equal(bed_count(b, NM_MOVED), 0);
	peer_close(&p);
}

static void a_connection_lost_while_leaving_is_made_anew_elsewhere(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask sent, held;
	b->opts.retries = 1;
	struct peer p = connected(b);
	assert_true(bed_ask(b, &sent, W("a"), 0));
	peer_expects(&p, W("a"));
	LEADS_TO(b, &f->others[0].addr);
	bed_turn(b);
	assert_true(bed_ask(b, &held, W("b"), 0));
	peer_hears_nothing(&p, 5);
	peer_close(&p);
	struct peer q = node_accept(&f->others[0]);
	peer_expects(&q, W("b"));
	ask_failed(&sent, UP_WHY_LOST, true);
	peer_says(&q, ":1\r\n");
	BED_UNTIL(b, held.done);
	assert_false(bed_conn(b)->leaving || bed_conn(b)->holding);
	assert_int_equal(bed_count(b, NM_MOVED), 0);
	peer_close(&q);
}

static void an_attempt_at_an_address_that_is_gone_goes_over(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	struct mute mute;
	mute_open(&mute);
	LEADS_TO(b, &mute.node.addr);
	read_part(b, &a, R("a"));
	bed_turn(b);
	assert_int_equal(bed_conn(b)->state, UP_CONNECTING);
	LEADS_TO(b, &b->node.addr);
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a"));
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.done);
	assert_int_equal(bed_count(b, NM_CONNECT_FAILURES), 0);
	peer_close(&p);
	mute_close(&mute);
}

static void a_greeting_is_said_again_at_the_new_address(void **state)
{
	static const char hello[] = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	LEADS_TO(b, &b->node.addr);
	assert_true(bed_ask_class(b, &a, up_class(0, 3), R("a"), strlen(R("a")), PART_READONLY));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, hello);
	LEADS_TO(b, &f->others[0].addr);
	struct peer q = node_accept(&f->others[0]);
	peer_expects(&q, hello);
	peer_says(&q, "%0\r\n");
	peer_expects(&q, R("a"));
	peer_says(&q, "+a\r\n");
	BED_UNTIL(b, a.done);
	peer_close(&p);
	peer_close(&q);
}

static void a_pause_ends_when_the_name_leads_elsewhere(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	b->opts.backoff_ns = b->opts.backoff_max_ns = 3600 * NS_PER_S;
	LEADS_TO(b, &f->dead);
	read_part(b, &a, R("a"));
	BED_UNTIL(b, a.failed);
	assert_false(bed_ask(b, &a, R("a"), PART_READONLY));
	LEADS_TO(b, &b->node.addr);
	read_part(b, &a, R("a"));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a"));
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.done);
	peer_close(&p);
}

static void the_same_addresses_in_another_order_change_nothing(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	LEADS_TO(b, &b->node.addr, &f->others[0].addr);
	const struct addresses *before = b->up->where;
	LEADS_TO(b, &f->others[0].addr, &b->node.addr);
	assert_ptr_equal(b->up->where, before);
}

/* ---- telling of attempts ------------------------------------------------------------------- */

static void attempts_are_told_but_not_too_often(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	LEADS_TO(b, &f->dead);
	for (int i = 0; i < 3; i++) {
		BED_UNTIL(b, bed_ask(b, &a, R("a"), PART_READONLY));
		BED_UNTIL(b, a.failed);
	}
	assert_int_equal(attempts, 1);
	b->opts.resolve_pause_ns = 0;
	for (int i = 0; i < 3; i++) {
		BED_UNTIL(b, bed_ask(b, &a, R("a"), PART_READONLY));
		BED_UNTIL(b, a.failed);
	}
	assert_int_equal(attempts, 4);
}

/* ---- descriptors --------------------------------------------------------------------------- */

static void without_descriptors_a_connect_fails_and_is_made_later(void **state)
{
	struct fixture *f = *state;
	struct bed *b = f->bed;
	static struct ask a;
	struct rlimit before, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	int lowest = dup(0);
	(void)close(lowest);
	none = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
	LEADS_TO(b, &b->node.addr, &f->others[0].addr);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	bool asked = bed_ask(b, &a, R("a"), PART_READONLY);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_false(asked);
	assert_int_equal(a.why, UP_WHY_NO_FDS);
	assert_int_equal(bed_count(b, NM_CONNECTS), 1); /* the other address would not help */
	BED_UNTIL(b, bed_ask(b, &a, R("a"), PART_READONLY));
	struct peer p = node_accept(&b->node);
	peer_expects(&p, R("a"));
	peer_says(&p, "+a\r\n");
	BED_UNTIL(b, a.done);
	peer_close(&p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_name_that_leads_nowhere_says_so_and_is_not_connected_to),
		T(connecting_ahead_of_need_is_made_up_for),
		T(an_address_that_refuses_is_passed_over_at_once),
		T(an_attempt_fails_when_all_addresses_refuse),
		T(the_next_attempt_begins_behind_an_address_that_hangs),
		T(a_connection_stays_while_its_address_does),
		T(an_idle_connection_goes_at_once),
		T(without_need_there_is_no_new_connection),
		T(what_was_sent_is_answered_before_anything_is_sent_elsewhere),
		T(what_is_queued_at_that_moment_is_not_lost),
		T(a_request_of_which_a_part_was_sent_is_finished_there),
		T(a_reply_that_nobody_waits_for_is_awaited_too),
		T(a_name_that_leads_back_keeps_its_connection),
		T(a_connection_lost_while_leaving_is_made_anew_elsewhere),
		T(an_attempt_at_an_address_that_is_gone_goes_over),
		T(a_greeting_is_said_again_at_the_new_address),
		T(a_pause_ends_when_the_name_leads_elsewhere),
		T(the_same_addresses_in_another_order_change_nothing),
		T(attempts_are_told_but_not_too_often),
		T(without_descriptors_a_connect_fails_and_is_made_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
