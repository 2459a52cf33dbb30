/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Errands, with a second worker that runs only when the test says so: until then every errand is
 * stuck in its mailbox.
 */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/core/bed.h"

struct pair {
	struct core *t;
	struct worker *both[2];
	bool runs; /* the second one */
};

static void join_up(struct worker *w, void *arg)
{
	struct pair *p = arg;
	w->opts.workers = p->both;
	p->t->facts.nworkers = 2;
}

static int setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	assert_non_null(p);
	p->t = core_new();
	core_start(p->t);
	struct worker_opts opts = p->t->workers[0]->opts;
	opts.index = 1;
	opts.workers = p->both;
	opts.metrics = p->t->blocks[1];
	opts.listener = (struct worker_listener){0};
	assert_int_equal(worker_new(&p->both[1], &opts), 0);
	worker_publish(p->both[1], 0, fleet_new(p->t->topology, NULL, 2));
	p->both[0] = p->t->workers[0];
	core_look(p->t, join_up, p);
	*state = p;
	return 0;
}

static void run_second(struct pair *p)
{
	assert_int_equal(worker_start(p->both[1]), 0);
	p->runs = true;
}

static int teardown(void **state)
{
	struct pair *p = *state;
	if (p->runs) {
		worker_stop(p->both[1]);
		worker_join(p->both[1]);
	}
	worker_free(p->both[1]);
	core_free(p->t);
	free(p);
	return 0;
}

static struct peer client_of_second(struct pair *p)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	worker_add_client(p->both[1], 0, fds[0], ++p->t->next_id, false);
	return (struct peer){.fd = fds[1]};
}

static void nothing_is_read_behind_an_errand(void **state)
{
	struct pair *p = *state;
	struct peer c = core_client(p->t, 0, 0);
	peer_asks(&c, "CLIENT KILL ID 99");
	peer_asks(&c, "PING");
	peer_hears_nothing(&c, 50);
	assert_int_equal(core_count(p->t, M_REQUESTS), 1);
	assert_int_equal(core_state(p->t).outstanding, 1);
	run_second(p);
	peer_expects(&c, ":0\r\n+PONG\r\n");
	peer_close(&c);
}

static void one_worker_s_errands_do_not_hold_up_its_other_clients(void **state)
{
	struct pair *p = *state;
	struct peer c = core_client(p->t, 0, 0), d = core_client(p->t, 0, 0);
	peer_asks(&c, "CLIENT LIST");
	peer_asks(&d, "PING");
	peer_expects(&d, "+PONG\r\n");
	peer_close(&c);
	peer_close(&d);
}

static void a_request_outlives_its_client_until_the_errand_is_home(void **state)
{
	struct pair *p = *state;
	struct peer c = core_client(p->t, 0, 0);
	peer_asks(&c, "CLIENT LIST");
	peer_hears_nothing(&c, 20);
	peer_reset(&c);
	struct peer other = core_client(p->t, 0, 0);
	peer_asks(&other, "CLIENT KILL ID 1"); /* the end of it is not noticed while it waits */
	peer_hears_nothing(&other, 20);
	assert_int_equal(core_state(p->t).clients, 1);
	assert_int_equal(core_state(p->t).requests, 2);
	run_second(p);
	peer_expects(&other, ":1\r\n");
	core_settles(p->t);
	peer_close(&other);
}

static void a_worker_that_stops_drops_what_is_under_way(void **state)
{
	struct pair *p = *state;
	struct peer c = core_client(p->t, 0, 0), d = core_client(p->t, 0, 0);
	peer_asks(&c, "CLIENT LIST");
	peer_asks(&d, "CLIENT PAUSE 1000 WRITE");
	peer_hears_nothing(&c, 20);
	peer_close(&d);
	peer_close(&c);
	/* teardown: the second worker never runs; what is left over aborts, leaks are seen by a
	 * sanitizer */
}

static void errands_do_their_work_at_every_worker(void **state)
{
	struct pair *p = *state;
	struct peer c = core_client(p->t, 0, 0), far = client_of_second(p);
	run_second(p);
	peer_asks(&far, "CLIENT KILL ID 1 TYPE normal");
	peer_expects(&far, ":1\r\n");
	assert_int_equal(peer_sees_end(&c), 0);
	struct peer again = core_client(p->t, 0, 0);
	peer_asks(&again, "CLIENT KILL ID 2");
	peer_expects(&again, ":1\r\n");
	assert_int_equal(peer_sees_end(&far), 0);
	peer_asks(&again, "CLIENT KILL ID 3 SKIPME no");
	peer_expects(&again, ":1\r\n");
	assert_int_equal(peer_sees_end(&again), 0);
	peer_close(&again);
	peer_close(&far);
	peer_close(&c);
}

static void a_pause_is_everywhere_when_it_is_answered(void **state)
{
	struct pair *p = *state;
	char w[CORE_WORDS_MAX];
	struct peer c = core_client(p->t, 0, 0), far = client_of_second(p);
	run_second(p);
	peer_asks(&c, "CLIENT PAUSE 100000 WRITE");
	peer_expects(&c, "+OK\r\n");
	peer_asks(&far, "CLIENT GETNAME");
	peer_asks(&far, core_set(p->t, 0, w));
	peer_expects(&far, "$-1\r\n");
	node_sees_nobody(&p->t->nodes[0], 20);
	peer_asks(&c, "CLIENT UNPAUSE");
	peer_expects(&c, "+OK\r\n");
	struct peer n = node_accept(&p->t->nodes[0]);
	peer_is_asked(&n, w);
	peer_close(&n);
	peer_close(&far);
	peer_close(&c);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nothing_is_read_behind_an_errand),
		T(one_worker_s_errands_do_not_hold_up_its_other_clients),
		T(a_request_outlives_its_client_until_the_errand_is_home),
		T(a_worker_that_stops_drops_what_is_under_way),
		T(errands_do_their_work_at_every_worker),
		T(a_pause_is_everywhere_when_it_is_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
