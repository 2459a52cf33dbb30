/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "ring/ring.h"
#include "router/conf/conf_internal.h"
#include "tests/unit/conf/run.h"

#define L "--listen", "127.0.0.1:6380"
#define N "--node", "a=127.0.0.1:7001"
#define NAME_128 \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
#define LABEL_60 "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"

struct row {
	const char *claim;
	const char *args[14];
	const char *says[4]; /* all empty: a good configuration */
};

static const struct row rows[] = {
	{"no listener", {N}, {"pool 'main': listen: "}},
	{"no node", {L, "--pool", "p"}, {"pool 'p': nodes: "}},
	{"neither", {"--pool", "p"}, {"pool 'p': listen: ", "pool 'p': nodes: "}},

	{"a listener twice", {L, L, N}, {"pool 'main': listen: 127.0.0.1:6380 is given twice"}},
	{"a listener twice, written otherwise", {"--listen=h:1", "--listen=redis://H:1", N},
		{"listen: H:1 is given twice"}},
	{"one listener for all addresses", {"--listen=127.0.0.1:6999", "--listen=0.0.0.0:6999", N},
		{"listen: 127.0.0.1:6999 is taken by 0.0.0.0:6999 of pool 'main'"}},
	{"the same for version 6", {"--listen=[::]:6999", "--listen=[::1]:6999", N},
		{"listen: [::1]:6999 is taken by [::]:6999 of pool 'main'"}},
	{"a listener that takes admin's", {"--listen=0.0.0.0:6999", "--admin=127.0.0.1:6999", N},
		{"admin: 127.0.0.1:6999 is taken by 0.0.0.0:6999 of pool 'main'"}},
	{"admin takes a listener", {"--listen=127.0.0.1:6999", "--admin=0.0.0.0:6999", N},
		{"pool 'main': listen: 127.0.0.1:6999 is taken by admin"}},
	{"all addresses of another family, of another port",
		{"--listen=0.0.0.0:1", "--listen=[::1]:1", "--listen=h:1", "--listen=127.0.0.1:2",
			N},
		{0}},
	{"a unix listener twice", {"--listen=unix:/a", "--listen=unix:/a", N}, {"is given twice"}},
	{"port 0 twice is two ports", {"--listen=h:0", "--listen=h:0", "--admin=h:0", N}, {0}},
	{"a listener is admin too", {L, N, "--admin=127.0.0.1:6380"},
		{"127.0.0.1:6380 is the address of admin too"}},
	{"a listener with PROXY", {"--listen", "h:1 proxy", N}, {0}},
	{"a listener with something else", {"--listen", "h:1 prox", N},
		{"listen: 'h:1 prox': only `proxy` may follow an address"}},
	{"a listener with more", {"--listen", "h:1 proxy x", N}, {"only `proxy` may follow"}},
	{"a listener with a space", {"--listen", "h:1 ", N}, {"only `proxy` may follow"}},
	{"a listener that is only a word", {"--listen", " proxy", N}, {"empty address"}},
	{"a bad listener", {"--listen", "127.0.0.1", N}, {"listen: '127.0.0.1': no port"}},
	{"a memcached listener", {"--listen", "memcached://h:1", N},
		{"listening for memcached clients is not built in yet"}},
	{"TLS to listen on", {"--listen", "rediss://h:1", N}, {"TLS is not built in yet"}},

	{"two nodes of one name", {L, N, "--node", "b=h:1", "--node", "a=h:2"},
		{"pool 'main': node 'a': name: two nodes", "127.0.0.1:7001 and h:2"}},
	{"a name that is another's address", {L, "--node", "h:1", "--node", "h:1=h:2"},
		{"node 'h:1': name: two nodes", "h:1 and h:2"}},
	{"names differ in case", {L, N, "--node", "A=h:2"}, {0}},
	{"two nodes of one address", {L, N, "--node", "b=127.0.0.1:7001"},
		{"pool 'main': node 'b': address: 127.0.0.1:7001 is that of node 'a' too"}},
	{"two nodes of one address, written otherwise",
		{L, "--node=a=[::1]:1", "--node=b=[0::1]:1"},
		{"node 'b': address: [0::1]:1 is that of node 'a' too"}},
	{"a node twice", {L, "--node=h:1", "--node=h:1"},
		{"name: two nodes", "address: h:1 is that"}},
	{"a node that is a listener", {L, "--node", "a=127.0.0.1:6380"},
		{"node 'a': address: 127.0.0.1:6380 is this router's own listener"}},

	{"a node without a port", {L, "--node", "a=h"},
		{"pool 'main': node 'a=h': address: no port"}},
	{"a node of port 0", {L, "--node", "a=h:0"}, {"node 'a=h:0': address: port 0"}},
	{"a memcached node", {L, "--node", "memcached://h:1"},
		{"node 'memcached://h:1': address: memcached pools are not built in yet"}},
	{"a TLS node", {L, "--node", "rediss://h:1"}, {"address: TLS is not built in yet"}},
	{"a node's password is refused, not shown", {L, "--node", "a=redis://u:secret@h:1"},
		{"node 'a=redis://***@h:1': address: user, password"}},
	{"a path in a node's URI", {L, "--node", "redis://h:1/0"},
		{"address: user, password or path"}},
	{"an empty node", {L, "--node", ""}, {"node '': address: empty address"}},
	{"an empty address", {L, "--node", "a="}, {"node 'a=': address: empty address"}},

	{"an empty name", {L, "--node", "=h:1"}, {"node '=h:1': name: a name is 1 .. 128 of"}},
	{"a name of 128 bytes", {L, "--node", NAME_128 "=h:1"}, {0}},
	{"a name of 129 bytes", {L, "--node", NAME_128 "n=h:1"}, {"name: a name is 1 .. 128"}},
	{"a space in a name", {L, "--node", "a b=h:1"}, {"node 'a b=h:1': name: "}},
	{"a # in a name", {L, "--node", "a#1=h:1"}, {"node 'a#1=h:1': name: "}},
	{"a name of every kind of byte", {L, "--node", "aZ0._:-[]/%=h:1"}, {0}},
	{"the name of a former address", {L, "--node", "[::1]:7001=h:1"}, {0}},
	{"an IPv6 address as name", {L, "--node", "[fe80::1%eth0]:7001"}, {0}},
	{"a path as name", {L, "--node", "unix:/run/redis/a.sock"}, {0}},
	{"a path that is no name", {L, "--node", "unix:/run/a+b"},
		{"node 'unix:/run/a+b': name: this address can't be a name: give the node one"}},
	{"a path that is no name, named", {L, "--node", "a=unix:/run/a+b=c"}, {0}},
	{"an address too long to be a name", {L, "--node", LABEL_60 "." LABEL_60 "." LABEL_60 ":1"},
		{"name: this address can't be"}},
	{"a long address, named", {L, "--node", "a=" LABEL_60 "." LABEL_60 "." LABEL_60 ":1"}, {0}},

	{"weights", {L, N "*0.001", "--node=h:1*1000", "--node=h:2*0", "--node=h:3*2.125"}, {0}},
	{"a weight above 1000", {L, N "*1000.001"}, {"7001*1000.001': weight: not 0 .. 1000"}},
	{"a huge weight", {L, N "*99999999999999999999"}, {"weight: not 0 .. 1000"}},
	{"a weight of four decimals", {L, N "*1.0001"}, {"weight: not a number with at most 3"}},
	{"a negative weight", {L, N "*-1"}, {"weight: not a number"}},
	{"an empty weight", {L, N "*"}, {"weight: not a number"}},
	{"a weight that is a word", {L, N "*x"}, {"weight: not a number"}},
	{"two weights", {L, N "*1*2"}, {"address: port is not"}},
	{"a star in a path", {L, "--node=a=unix:/x*y*2"}, {0}},
	{"all weights 0", {L, N "*0", "--node=h:1*0.000"},
		{"pool 'main': weight: it is 0 for every"}},
	{"more points than a ring has", {L, N "*1000", "--set", "ring.points=100000"},
		{"pool 'main': ring.points: 100000 and these weights"}},
	{"as many points as a ring has", {L, N "*671", "--set", "ring.points=100000"}, {0}},

	{"eject in a store", {L, N, "--set", "on_failure=eject", "--sole-router"},
		{"pool 'main': on_failure: eject is refused with role store"}},
	{"eject beside other routers", {L, N, "--set", "on_failure=eject", "--role=cache"},
		{"on_failure: eject is refused without sole_router: several static routers would"}},
	{"eject alone", {L, N, "--set", "on_failure=eject", "--role=cache", "--sole-router"},
		{"on_failure: eject is not built in yet"}},
	{"a cache alone", {L, N, "--role=cache", "--sole-router"}, {0}},

	{"another protocol", {L, N, "--set", "protocol=memcached"},
		{"pool 'main': protocol: memcached is not built in yet: use redis"}},
	{"another ring", {L, N, "--set", "ring.mode=ketama"},
		{"pool 'main': ring.mode: ketama is not built in yet: use native"}},

	{"bulk above a request",
		{L, N, "--set", "limits.bulk=2mb", "--set", "limits.request_size=1mb"},
		{"limits.bulk: 2mb is more than limits.request_size, which is 1mb"}},
	{"bulk as large as a request",
		{L, N, "--set", "limits.bulk=1mb", "--set", "limits.request_size=1mb"}, {0}},
	{"backoff above its maximum", {L, N, "--set", "upstream.backoff=2s"},
		{"pool 'main': upstream.backoff: 2s is more than upstream.backoff_max, which is "
		 "1s"}},
	{"backoff at its maximum", {L, N, "--set", "upstream.backoff=1s"}, {0}},
};

static void what_is_wrong_together_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run r;
		run_args(&r, rows[i].args);
		bool good = rows[i].says[0] == NULL;
		RUN_EXPECT(r.exit == (good ? CONF_GO_ON : CONF_EXIT_BAD), rows[i].claim, &r);
		for (size_t k = 0; k < ARRAY_LEN(rows[i].says) && rows[i].says[k] != NULL; k++) {
			if (strstr(r.err, rows[i].says[k]) == NULL)
				fail_msg("%s: no \"%s\" in: %s", rows[i].claim, rows[i].says[k],
					r.err);
		}
		RUN_EXPECT(strstr(r.err, "secret") == NULL, rows[i].claim, &r);
		run_fini(&r);
	}
}

static size_t count_lines(const char *text)
{
	size_t n = 0;
	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

static void one_problem_is_one_line(void **state)
{
	(void)state;
	static const struct {
		const char *args[14];
		size_t lines;
	} cases[] = {
		{{L, N, "--node=b=h:1", "--node=c=h:1", "--node=d=h:1"}, 2},
		{{L, N, "--node=a=h:1", "--node=a=h:2"}, 2},
		{{L, L, L, N}, 2},
		{{L, N, "--node=\n"}, 1},
		{{"--node", "a=127.0.0.1:6380", L, "--node=b*1=h:1"}, 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct run r;
		run_args(&r, cases[i].args);
		RUN_EXPECT(count_lines(r.err) == cases[i].lines, cases[i].args[3], &r);
		run_fini(&r);
	}
}

static void more_nodes_than_a_ring_has_are_refused(void **state)
{
	(void)state;
	struct conf c;
	struct conf_report r = {0};
	char *err;
	size_t len;
	r.err = open_memstream(&err, &len);
	assert_non_null(r.err);
	conf_init(&c);
	conf_add_listener(conf_add_pool(&c, "p"), "h:1", &r);
	c.pools[0].nnodes = RING_NODES_MAX + 1; /* counted before anybody looks at them */
	conf_check(&c, &r);
	c.pools[0].nnodes = 0;
	conf_fini(&c);
	(void)fclose(r.err);
	assert_int_equal(r.problems, 1);
	assert_string_equal(err, "ringway: pool 'p': nodes: more than 65535\n");
	free(err);
}

/* As many as a ring takes, and every address wrong: the checks may not be quadratic. */
static void the_checks_of_many_nodes_end_soon(void **state)
{
	(void)state;
	struct conf c;
	char *err;
	size_t len;
	struct conf_report r = {.err = open_memstream(&err, &len)};
	assert_non_null(r.err);
	conf_init(&c);
	struct conf_pool *p = conf_add_pool(&c, "p");
	p->ring_points = 1;
	conf_add_listener(p, "h:1", &r);
	for (unsigned i = 0; i < RING_NODES_MAX; i++) {
		char text[64];
		(void)snprintf(text, sizeof(text), "n%u=[::%x]:6379", i, i < 2 ? 1 : i);
		conf_add_node(p, text, &r);
	}
	conf_check(&c, &r);
	conf_fini(&c);
	(void)fclose(r.err);
	assert_string_equal(err,
		"ringway: pool 'p': node 'n1': address: [::1]:6379 is that of node 'n0' too\n");
	free(err);
}

static void the_first_problems_are_shown_and_all_are_counted(void **state)
{
	(void)state;
	struct conf c;
	char *err;
	size_t len;
	struct conf_report r = {.err = open_memstream(&err, &len)};
	assert_non_null(r.err);
	conf_init(&c);
	struct conf_pool *p = conf_add_pool(&c, "p");
	for (unsigned i = 0; i < 1000; i++)
		conf_add_node(p, "x", &r);
	conf_fini(&c);
	(void)fclose(r.err);
	assert_int_equal(r.problems, 1000);
	assert_int_equal(count_lines(err), CONF_PROBLEMS_SHOWN + 1);
	assert_non_null(strstr(err, "\nringway: more problems are not shown\n"));
	free(err);
}

static void many_nodes_are_kept_in_order(void **state)
{
	(void)state;
	struct conf c;
	struct conf_report r = {.err = stderr};
	conf_init(&c);
	struct conf_pool *p = conf_add_pool(&c, "p");
	conf_add_listener(p, "h:1", &r);
	for (unsigned i = 0; i < 1000; i++) {
		char text[64];
		(void)snprintf(
			text, sizeof(text), "n%u=10.0.%u.%u:7001*%u", i, i / 256, i % 256, i % 100);
		conf_add_node(p, text, &r);
	}
	conf_check(&c, &r);
	assert_int_equal(r.problems, 0);
	assert_int_equal(p->nnodes, 1000);
	for (unsigned i = 0; i < 1000; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "n%u", i);
		assert_string_equal(p->nodes[i].name, name);
		assert_int_equal(p->nodes[i].weight_milli, i % 100 * 1000);
	}
	conf_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_together_is_refused),
		cmocka_unit_test(one_problem_is_one_line),
		cmocka_unit_test(more_nodes_than_a_ring_has_are_refused),
		cmocka_unit_test(the_checks_of_many_nodes_end_soon),
		cmocka_unit_test(the_first_problems_are_shown_and_all_are_counted),
		cmocka_unit_test(many_nodes_are_kept_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
