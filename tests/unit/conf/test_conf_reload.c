/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "ring/ring.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "tests/unit/conf/run.h"

/*
 * From one configuration to the next: what may change, and that everything else is named.
 */

#define HEAD "pools:\n- name: p\n  role: cache\n"
#define LISTEN "  listen: [h:1]\n"
#define NODES "  nodes: [{name: a, address: h:7001}, {name: b, address: h:7002}]\n"
#define BASE HEAD LISTEN NODES
#define SECOND "- name: q\n  role: store\n  listen: [h:2]\n" NODES
#define RESTART ": only a restart changes it\n"

struct row {
	const char *claim;
	const char *before, *after;
	const char *refused; /* all that conf_reload_check says */
	const char *changes; /* all that conf_print_changes says */
};

static const struct row rows[] = {
	{"nothing", BASE, BASE, "", ""},
	{"written otherwise", BASE, HEAD NODES "  listen: [\"H:1\"]\n  database: 0\n", "", ""},
	{"limits", BASE, "limits: {clients: 7, bulk: 1mb}\n" BASE, "",
		"limits.clients: 50000 -> 7\nlimits.bulk: 4mb -> 1mb\n"},
	{"the log level and the drain timeout", BASE, "log_level: debug\ndrain_timeout: 1s\n" BASE,
		"", "log_level: info -> debug\ndrain_timeout: 30s -> 1s\n"},
	{"threads", BASE, "threads: 2\n" BASE, "ringway: threads: 1 -> 2" RESTART, ""},
	{"some of each", BASE, "threads: 2\nadmin: h:9\nlimits: {memory: 1gb}\n" BASE,
		"ringway: threads: 1 -> 2" RESTART "ringway: admin: none -> h:9" RESTART,
		"limits.memory: 2gb -> 1gb\n"},
	{"options of a pool", BASE, BASE "  timeouts: {request: 2s}\n  sole_router: on\n",
		"ringway: pool 'p': sole_router: false -> true" RESTART
		"ringway: pool 'p': timeouts.request: 1s -> 2s" RESTART,
		""},
	{"a listener more", BASE, HEAD "  listen: [h:1, h:2]\n" NODES,
		"ringway: pool 'p': listen" RESTART, ""},
	{"another listener", BASE, HEAD "  listen: [h:2]\n" NODES,
		"ringway: pool 'p': listen" RESTART, ""},
	{"a listener behind a load balancer", BASE, HEAD "  listen: [h:1 proxy]\n" NODES,
		"ringway: pool 'p': listen" RESTART, ""},
	{"a node more", BASE,
		HEAD LISTEN "  nodes: [{name: a, address: h:7001}, {name: b, address: h:7002}, "
			    "{name: c, address: h:7003}]\n",
		"ringway: pool 'p': node 'c' is new" RESTART, ""},
	{"a node less", BASE, HEAD LISTEN "  nodes: [{name: b, address: h:7002}]\n",
		"ringway: pool 'p': node 'a' is gone" RESTART, ""},
	{"another name", BASE,
		HEAD LISTEN "  nodes: [{name: a, address: h:7001}, {name: c, address: h:7002}]\n",
		"ringway: pool 'p': node 'b' is gone" RESTART
		"ringway: pool 'p': node 'c' is new" RESTART,
		""},
	{"another address and another weight", BASE,
		HEAD LISTEN "  nodes: [{name: a, address: h:7003}, {name: b, address: h:7002, "
			    "weight: 0.5}]\n",
		"ringway: pool 'p': node 'a': address: h:7001 -> h:7003" RESTART
		"ringway: pool 'p': node 'b': weight: 1 -> 0.5" RESTART,
		""},
	{"another order of nodes", BASE,
		HEAD LISTEN "  nodes: [{name: b, address: h:7002}, {name: a, address: h:7001}]\n",
		"ringway: pool 'p': nodes: another order" RESTART, ""},
	{"a pool more", BASE, BASE SECOND, "ringway: pool 'q' is new" RESTART, ""},
	{"a pool less", BASE SECOND, BASE, "ringway: pool 'q' is gone" RESTART, ""},
	{"another order of pools", BASE SECOND,
		"pools:\n" SECOND "- name: p\n  role: cache\n" LISTEN NODES,
		"ringway: pools: another order" RESTART, ""},
	{"each pool by its name", BASE SECOND, BASE SECOND "  database: 3\n",
		"ringway: pool 'q': database: 0 -> 3" RESTART, ""},
	{"users", BASE "  clients: [{user: default}, {user: x}]\n",
		BASE "  clients: [{user: y}, {user: default, deny: [keys]}]\n", "",
		"pool 'p': user 'default': deny\npool 'p': user 'x' is gone\npool 'p': user 'y' is "
		"new\n"},
	{"users in another order", BASE "  clients: [{user: y}, {user: x}]\n",
		BASE "  clients: [{user: x}, {user: y}]\n", "", ""},
	{"the deny list in another way", BASE "  clients: [{user: x, deny: [keys]}]\n",
		BASE "  clients: [{user: x, deny: [KEYS, Keys]}]\n", "", ""},
	{"a password", BASE "  clients: [{user: x}]\n",
		BASE "  clients: [{user: x, password_files: [a.pw]}]\n", "",
		"pool 'p': user 'x': passwords\n"},
	{"the same password from another file", BASE "  node_auth: {password_file: a.pw}\n",
		BASE "  node_auth: {password_file: b.pw}\n", "", ""},
	{"another user at the nodes", BASE "  node_auth: {password_file: a.pw}\n",
		BASE "  node_auth: {password_file: a.pw, user: u}\n", "", "pool 'p': node_auth\n"},
	{"no login at the nodes", BASE "  node_auth: {password_file: a.pw}\n", BASE, "",
		"pool 'p': node_auth\n"},
};

static char *said_by(unsigned (*ask)(const struct conf *, const struct conf *, FILE *),
	const struct conf *a, const struct conf *b)
{
	char *text;
	size_t len, lines = 0;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	unsigned n = ask(a, b, f);
	(void)fclose(f);
	for (const char *p = text; *p != '\0'; p++)
		lines += *p == '\n';
	assert_int_equal(n, lines);
	return text;
}

static unsigned check(const struct conf *a, const struct conf *b, FILE *f)
{
	return conf_reload_check(a, b, f);
}

static void every_difference_is_of_one_kind_and_named(void **state)
{
	(void)state;
	run_write("a.pw", "x\n", 2);
	run_write("b.pw", "x\n", 2);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run before, after;
		run_file(&before, rows[i].before, NULL);
		RUN_EXPECT(before.exit == CONF_GO_ON, rows[i].claim, &before);
		run_file(&after, rows[i].after, NULL);
		RUN_EXPECT(after.exit == CONF_GO_ON, rows[i].claim, &after);
		char *refused = said_by(check, &before.conf, &after.conf);
		char *changes = said_by(conf_print_changes, &before.conf, &after.conf);
		if (strcmp(refused, rows[i].refused) != 0 || strcmp(changes, rows[i].changes) != 0)
			fail_msg("%s\nwanted:\n%s+\n%s\ngot:\n%s+\n%s", rows[i].claim,
				rows[i].refused, rows[i].changes, refused, changes);
		free(refused);
		free(changes);
		run_fini(&before);
		run_fini(&after);
	}
}

/* One option at a time: it is refused or it is a change, as its row says. */
static void every_option_is_refused_or_applied(void **state)
{
	(void)state;
	static const char *const values[] = {"2", "3mb", "5mb", "7s", "77%", "no", "yes", "cache",
		"tag", "debug", "h:9", "r1", "##"};
	size_t tried = 0;
	FILE *null = fopen("/dev/null", "we");
	assert_non_null(null);
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		bool found = false;
		for (size_t k = 0; k < ARRAY_LEN(values) && !found; k++) {
			char pair[96];
			struct run a, b;
			(void)snprintf(pair, sizeof(pair), "%s=%s", o->key, values[k]);
			run_args(&a, (const char *const[]){"--listen=h:1", "--node=h:2",
					     "--set=upstream.backoff_max=10m", NULL});
			run_args(
				&b, (const char *const[]){"--listen=h:1", "--node=h:2",
					    "--set=upstream.backoff_max=10m", "--set", pair, NULL});
			if (b.exit == CONF_GO_ON) {
				unsigned refused = conf_reload_check(&a.conf, &b.conf, null);
				unsigned changes = conf_print_changes(&a.conf, &b.conf, null);
				found = refused + changes == 1 && changes == o->reload;
				assert_true(refused + changes <= 1);
			}
			run_fini(&a);
			run_fini(&b);
		}
		tried += found;
	}
	(void)fclose(null);
	/* all but those that have one value: protocol, ring.mode, on_failure */
	assert_int_equal(tried, conf_option_count - 3);
}

static void again_reads_what_the_first_time_read(void **state)
{
	(void)state;
	struct run r;
	struct conf fresh;
	run_file(&r, BASE, (const char *const[]){"--set=limits.clients=9", "--threads=2", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "first", &r);
	assert_int_equal(conf_again(&fresh, &r.conf, stderr), CONF_GO_ON);
	assert_int_equal(conf_reload_check(&r.conf, &fresh, stderr), 0);
	assert_int_equal(conf_print_changes(&r.conf, &fresh, stderr), 0);
	conf_fini(&fresh);

	static const char next[] = "limits: {clients: 5, memory: 1gb}\n" BASE;
	run_write(RUN_FILE, next, strlen(next));
	assert_int_equal(conf_again(&fresh, &r.conf, stderr), CONF_GO_ON);
	assert_int_equal(fresh.limits.clients, 9); /* flags still win */
	assert_true(fresh.limits.memory == 1 << 30);
	assert_int_equal(fresh.threads, 2);

	struct conf third; /* from the one that was read again */
	assert_int_equal(conf_again(&third, &fresh, stderr), CONF_GO_ON);
	assert_int_equal(conf_print_changes(&fresh, &third, stderr), 0);
	conf_fini(&third);
	conf_fini(&fresh);
	run_fini(&r);
}

static void a_bad_file_is_told_and_leaves_nothing(void **state)
{
	(void)state;
	static const struct conf empty;
	struct run r;
	struct conf fresh;
	char *err;
	size_t len;
	run_file(&r, BASE, NULL);
	RUN_EXPECT(r.exit == CONF_GO_ON, "first", &r);
	run_write(RUN_FILE, "thread: 1\n", 10);
	FILE *f = open_memstream(&err, &len);
	assert_int_equal(conf_again(&fresh, &r.conf, f), CONF_EXIT_BAD);
	(void)fclose(f);
	assert_string_equal(err, "f.yml:1:1: unknown key 'thread': did you mean threads?\n");
	assert_memory_equal(&fresh, &empty, sizeof(empty));
	free(err);

	assert_int_equal(unlink(RUN_FILE), 0);
	f = open_memstream(&err, &len);
	assert_int_equal(conf_again(&fresh, &r.conf, f), CONF_EXIT_BAD);
	(void)fclose(f);
	assert_string_equal(err, "ringway: -c 'f.yml': No such file or directory\n");
	free(err);
	run_fini(&r);
}

static void flags_alone_can_be_read_again(void **state)
{
	(void)state;
	struct run r;
	struct conf fresh;
	run_args(&r, (const char *const[]){"--listen=h:1", "--node=h:2", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "flags", &r);
	assert_null(r.conf.file);
	assert_int_equal(conf_again(&fresh, &r.conf, stderr), CONF_GO_ON);
	assert_int_equal(conf_reload_check(&r.conf, &fresh, stderr), 0);
	conf_fini(&fresh);
	run_fini(&r);
}

/* Reversed lists of the largest pool: not quadratic. */
static void large_pools_are_compared_soon(void **state)
{
	(void)state;
	struct conf c[2];
	struct conf_report r = {.err = stderr};
	for (int k = 0; k < 2; k++) {
		conf_init(&c[k]);
		struct conf_pool *p = conf_add_pool(&c[k], "p");
		for (unsigned i = 0; i < RING_NODES_MAX; i++) {
			char text[64];
			unsigned at = k == 0 ? i : RING_NODES_MAX - 1 - i;
			(void)snprintf(text, sizeof(text), "n%u=h:%u", at, at + 1);
			conf_add_node(p, text, &r);
		}
	}
	assert_int_equal(r.problems, 0);
	char *said = said_by(check, &c[0], &c[1]);
	assert_string_equal(said, "ringway: pool 'p': nodes: another order" RESTART);
	free(said);
	conf_fini(&c[0]);
	conf_fini(&c[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_difference_is_of_one_kind_and_named),
		cmocka_unit_test(every_option_is_refused_or_applied),
		cmocka_unit_test(again_reads_what_the_first_time_read),
		cmocka_unit_test(a_bad_file_is_told_and_leaves_nothing),
		cmocka_unit_test(flags_alone_can_be_read_again),
		cmocka_unit_test(large_pools_are_compared_soon),
	};
	return cmocka_run_group_tests(tests, run_enter_folder, run_leave_folder);
}
