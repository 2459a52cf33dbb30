/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "ring/ring.h"
#include "router/conf/conf_option.h"
#include "tests/unit/conf/run.h"

static const char *const three_nodes[] = {"--listen", "127.0.0.1:0", "--listen", "unix:/r",
	"--node", "a=127.0.0.1:7001*0.5", "--node", "redis://[::1]:7002", "--node",
	"c=unix:/n.sock*0", "--threads=3", "--set", "ring.points=100", NULL};

static char *print_args(const char *const *args)
{
	struct run r;
	run_args(&r, args);
	RUN_EXPECT(r.exit == CONF_GO_ON, "printing", &r);
	char *text = run_print(&r.conf);
	run_fini(&r);
	return text;
}

static void options_are_printed_in_the_order_of_the_table(void **state)
{
	(void)state;
	char *text = print_args(three_nodes);
	const char *at = text;
	assert_int_equal(strncmp(text, "# ringway 0.", 12), 0);
	for (size_t i = 0; i < conf_option_count; i++) {
		char line[96];
		const char *dot = strrchr(conf_options[i].key, '.');
		bool pool = conf_options[i].scope == CONF_POOL;
		(void)snprintf(line, sizeof(line), "\n%s%s%s: ", pool ? "    " : "",
			dot != NULL ? "  " : "", dot != NULL ? dot + 1 : conf_options[i].key);
		at = strstr(at, line);
		if (at == NULL)
			fail_msg("%s is missing or out of order", conf_options[i].key);
		at++;
	}
	free(text);
}

static void nodes_are_printed_with_their_share(void **state)
{
	(void)state;
	struct ring *ring;
	const struct ring_node nodes[] = {
		{SPAN("a"), 500}, {SPAN("[::1]:7002"), 1000}, {SPAN("c"), 0}};
	assert_int_equal(ring_build(&ring, nodes, 3, &(struct ring_opts){.points = 100}), 0);
	char first[200], second[200];
	(void)snprintf(first, sizeof(first),
		"\n    nodes: # 3\n"
		"      - {name: a, address: 127.0.0.1:7001, weight: 0.5} # %.2f%% of the keys\n",
		ring_share(ring, 0) * 100);
	(void)snprintf(second, sizeof(second),
		"\n      - {address: \"[::1]:7002\", weight: 1} # %.2f%% of the keys\n"
		"        # ^ changing the address moves its keys: give it a name\n",
		ring_share(ring, 1) * 100);
	ring_free(ring);

	char *text = print_args(three_nodes);
	assert_non_null(strstr(text, first));
	assert_non_null(strstr(text, second));
	assert_non_null(
		strstr(text, "\n      - {name: c, address: unix:/n.sock, weight: 0} # 0.00% of"));
	assert_non_null(strstr(text, "\n    listen:\n      - 127.0.0.1:0\n      - unix:/r\n"));
	free(text);
}

static void connections_follow_threads_and_preconnect(void **state)
{
	(void)state;
	static const char *const lazy[] = {"--listen=h:1", "--node=h:2", "--pool=p", "--threads=2",
		"--set=upstream.preconnect=false", NULL};
	char *text = print_args(three_nodes);
	assert_non_null(
		strstr(text, "\n    # at start: 3\n    # at most: 3 (threads) x (1 + 64 shared"));
	free(text);
	text = print_args(lazy);
	assert_non_null(strstr(text, "\n    # at start: 0\n    # at most: 2 (threads) x"));
	assert_non_null(strstr(text, "\npools:\n  - name: p\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_printed_in_the_order_of_the_table),
		cmocka_unit_test(nodes_are_printed_with_their_share),
		cmocka_unit_test(connections_follow_threads_and_preconnect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
