/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "base/clock.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_option.h"
#include "tests/unit/conf/run.h"

/*
 * What files and flags make together, and what is said of values.
 */

#define POOL "pools:\n- name: p\n  role: cache\n  listen: [h:1]\n"
#define NODES "  nodes: [{name: a, address: h:7001}]\n"
#define GOOD POOL NODES

struct row {
	const char *claim;
	const char *text;
	const char *args[8];
	const char *says; /* all that is said; "": it is good */
};

static const struct row rows[] = {
	{"the least file", GOOD, {0}, ""},
	{"a value", "threads: soon\n" GOOD, {0},
		"f.yml:1:10: threads: 'soon' is not a whole number (allowed: 1 .. 256 or auto)\n"},
	{"a value out of range", "limits:\n  bulk: 1b\n" GOOD, {0},
		"f.yml:2:9: limits.bulk: '1b' is out of range (allowed: 1kb .. 64gb)\n"},
	{"a value of a pool", GOOD "  timeouts: {connect: 1s, request: soon}\n", {0},
		"f.yml:6:36: pool 'p': timeouts.request: 'soon' is not a time such as 250ms, 1s or "
		"2m (allowed: 1ms .. 60m)\n"},
	{"values of the second pool",
		GOOD "- name: q\n  role: x\n  ring: {hash_tag: \"{\"}\n"
		     "  nodes: [{name: b, address: h:7001, weight: x}]\n  listen: [h]\n",
		{0},
		"f.yml:7:9: pool 'q': role: 'x' is not one of its values (allowed: store or "
		"cache)\n"
		"f.yml:8:20: pool 'q': ring.hash_tag: '{' is not two characters (allowed: two "
		"characters or none)\n"
		"f.yml:10:12: pool 'q': listen: 'h': no port\n"
		"f.yml:9:46: pool 'q': node 'b': weight: 'x': not a number with at most 3 "
		"decimals\n"},
	{"a value in another line than its key", "threads:\n   soon\n" GOOD, {0},
		"f.yml:2:4: threads: 'soon' is not a whole number (allowed: 1 .. 256 or auto)\n"},
	{"a quoted empty value", "threads: \"\"\n" GOOD, {0},
		"f.yml:1:10: threads: '' is not a whole number (allowed: 1 .. 256 or auto)\n"},
	{"a block text ends with its line", "log_level: |\n  info\n" GOOD, {0},
		"f.yml:1:12: log_level: 'info\\x0a' is not one of its values (allowed: error, "
		"warn, "
		"info or debug)\n"},
	{"a pool's name", "pools: [{name: a b, role: cache}]\n", {0},
		"f.yml:1:16: pool 'a b': a name is 1 .. 128 of A-Z a-z 0-9 . _ : - [ ] / %\n"},
	{"a node's name", POOL "  nodes: [{name: a b, address: h:1}]\n", {0},
		"f.yml:5:18: pool 'p': node 'a b': name: 'a b': a name is 1 .. 128 of A-Z a-z 0-9 "
		". "
		"_ : - [ ] / %\n"},
	{"an address that is no name", POOL "  nodes: [{address: \"unix:/a+b\"}]\n", {0},
		"f.yml:5:21: pool 'p': node 'unix:/a+b': name: 'unix:/a+b': this address can't be "
		"a "
		"name: give the node one (NAME=ADDR)\n"},
	{"a node's address", POOL "  nodes: [{name: a, address: h:0}]\n", {0},
		"f.yml:5:30: pool 'p': node 'a': address: 'h:0': port 0 is only for listeners\n"},
	{"a node's password is not shown", POOL "  nodes: [{address: redis://u:secret@h:1}]\n", {0},
		"f.yml:5:21: pool 'p': node 'redis://***@h:1': address: 'redis://***@h:1': user, "
		"password or path "
		"in an address are not allowed\n"},
	{"a node's weight", POOL "  nodes: [{name: a, address: h:2, weight: 1001}]\n", {0},
		"f.yml:5:43: pool 'p': node 'a': weight: '1001': not 0 .. 1000\n"},
	{"a listener", "pools: [{name: p, role: cache, listen: [h:1, memcached://h:2]}]\n", {0},
		"f.yml:1:46: pool 'p': listen: 'memcached://h:2': listening for memcached clients "
		"is not built in yet\n"},
	{"a listener with PROXY", "pools: [{name: p, role: cache, listen: [h:1 proxy]}]\n",
		{"--node=h:2"}, ""},
	{"a listener with a slip", "pools: [{name: p, role: cache, listen: [h:1 poxy]}]\n",
		{"--node=h:2"},
		"f.yml:1:41: pool 'p': listen: 'h:1 poxy': only `proxy` may follow an address\n"},
	{"what is not built in", GOOD "  protocol: memcached\n  ring: {mode: modula}\n", {0},
		"ringway: pool 'p': protocol: memcached is not built in yet: use redis\n"
		"ringway: pool 'p': ring.mode: modula is not built in yet: use native\n"},

	{"a file must say the role", "pools: [{name: p, listen: [h:1]}]\n", {"--node=h:2"},
		"ringway: pool 'p': role: a file must say it: cache or store\n"},
	{"or the flags must", "pools: [{name: p, listen: [h:1]}]\n", {"--node=h:2", "--role=store"},
		""},
	{"no pool", "threads: 2\n", {0},
		"ringway: pools: there is none (in the file, or --listen and --node)\n"},
	{"a pool without listeners and nodes", "pools: [{name: p, role: cache}]\n", {0},
		"ringway: pool 'p': listen: no address to listen on (--listen ADDR)\n"
		"ringway: pool 'p': nodes: there is none (--node [NAME=]ADDR[*WEIGHT])\n"},
	{"two pools of one name", GOOD "- name: p\n  role: store\n  listen: [h:2]\n" NODES, {0},
		"ringway: pool 'p': name: two pools have it\n"},
	{"one listener for two pools", GOOD "- name: q\n  role: store\n  listen: [H:1]\n" NODES,
		{0}, "ringway: pool 'q': listen: H:1 is a listener of pool 'p' too\n"},
	{"one node in two pools", GOOD "- name: q\n  role: store\n  listen: [h:2]\n" NODES, {0},
		""},
	{"a node that is the listener of another pool",
		GOOD
		"- name: q\n  role: store\n  listen: [\"h:7001\"]\n  nodes: [{address: h:3}]\n",
		{0},
		"ringway: pool 'p': node 'a': address: h:7001 is this router's own listener\n"},
	{"admin and a listener of the second pool",
		"admin: h:2\n" GOOD "- name: q\n  role: store\n  listen: [h:2]\n" NODES, {0},
		"ringway: pool 'q': listen: h:2 is the address of admin too\n"},
	{"between values of the router", "limits: {bulk: 2mb, request_size: 1mb}\n" GOOD, {0},
		"ringway: limits.bulk: 2mb is more than limits.request_size, which is 1mb\n"},

	{"--pool of the file", GOOD, {"--pool=p", "--set=database=1"}, ""},
	{"--pool of no pool", GOOD, {"--pool=pp"},
		"ringway: --pool 'pp': the file has no such pool: did you mean p?\n"},
	{"--pool like no pool", GOOD, {"--pool=xyzzy"},
		"ringway: --pool 'xyzzy': the file has no such pool\n"},
	{"flags of one of two pools", GOOD "- name: q\n  role: store\n  listen: [h:2]\n" NODES,
		{"--set=database=1"},
		"ringway: the file has 2 pools: --pool NAME says which one the other flags "
		"change\n"},
	{"a switch for one of two pools", GOOD "- name: q\n  role: store\n  listen: [h:2]\n" NODES,
		{"--sole-router"},
		"ringway: the file has 2 pools: --pool NAME says which one the other flags "
		"change\n"},
	{"flags of the router with two pools",
		GOOD "- name: q\n  role: store\n  listen: [h:2]\n" NODES,
		{"--threads=3", "--set=limits.bulk=1mb", "-t"}, ""},
	{"a wrong flag beside a right file", GOOD, {"--threads=x"},
		"ringway: threads: 'x' is not a whole number (allowed: 1 .. 256 or auto)\n"},
	{"a wrong file hides the flags", "thread: 2\n", {"--threads=x"},
		"f.yml:1:1: unknown key 'thread': did you mean threads?\n"},
};

static void every_file_is_taken_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run r;
		run_file(&r, rows[i].text, rows[i].args);
		RUN_EXPECT(r.exit == (rows[i].says[0] == '\0' ? CONF_GO_ON : CONF_EXIT_BAD),
			rows[i].claim, &r);
		if (strcmp(r.err, rows[i].says) != 0)
			fail_msg("%s\nwanted:\n%s\ngot:\n%s", rows[i].claim, rows[i].says, r.err);
		run_fini(&r);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Whole files
 */
static void a_whole_file_fills_the_configuration(void **state)
{
	(void)state;
	static const char text[] =
		"threads: 3\n"
		"admin: 127.0.0.1:9180\n"
		"router_name: r1\n"
		"limits: {clients: 7, memory: 3gb}\n"
		"drain_timeout: 2s\n"
		"pools:\n"
		"- name: sessions\n"
		"  role: cache\n"
		"  listen: [127.0.0.1:0, \"[::1]:6380\", unix:/run/r.sock proxy]\n"
		"  sole_router: yes\n"
		"  ring: {points: 100, hash_tag: \"<>\"}\n"
		"  timeouts: {request: 30s}\n"
		"  nodes:\n"
		"  - {name: a, address: 127.0.0.1:7001, weight: 1.5}\n"
		"  - address: cache-2:7002\n"
		"- name: store\n"
		"  role: store\n"
		"  database: 5\n"
		"  listen: [h:9]\n"
		"  nodes: [{name: b, address: h:1}]\n";
	struct run r;
	run_file(&r, text, NULL);
	RUN_EXPECT(r.exit == CONF_GO_ON, "whole file", &r);
	const struct conf *c = &r.conf;
	assert_string_equal(c->file, RUN_FILE);
	assert_int_equal(c->threads, 3);
	assert_true(c->admin_given);
	assert_string_equal(c->router_name, "r1");
	assert_int_equal(c->limits.clients, 7);
	assert_true(c->limits.memory == UINT64_C(3) << 30);
	assert_int_equal(c->limits.pipeline, 1024);
	assert_true(c->drain_timeout_ns == 2 * NS_PER_S);
	assert_int_equal(c->npools, 2);

	const struct conf_pool *p = &c->pools[0];
	assert_string_equal(p->name, "sessions");
	assert_int_equal(p->role, ROLE_CACHE);
	assert_true(p->role_given && p->from_file && p->sole_router);
	assert_int_equal(p->nlisten, 3);
	assert_int_equal(p->listen[2].address.family, ADDR_UNIX);
	assert_true(p->listen[2].proxy && !p->listen[1].proxy);
	assert_int_equal(p->ring_points, 100);
	assert_string_equal(p->ring_hash_tag, "<>");
	assert_true(p->request_timeout_ns == 30 * NS_PER_S);
	assert_true(p->connect_timeout_ns == 250 * NS_PER_MS);
	assert_int_equal(p->nnodes, 2);
	assert_string_equal(p->nodes[0].name, "a");
	assert_true(p->nodes[0].named);
	assert_int_equal(p->nodes[0].weight_milli, 1500);
	assert_string_equal(p->nodes[1].name, "cache-2:7002");
	assert_false(p->nodes[1].named);
	assert_int_equal(p->access->nusers, 1);
	assert_string_equal(p->access->users[0].name, "default");

	p = &c->pools[1];
	assert_string_equal(p->name, "store");
	assert_int_equal(p->role, ROLE_STORE);
	assert_int_equal(p->database, 5);
	assert_int_equal(p->ring_points, 512);
	run_fini(&r);
}

static void flags_win_over_the_file(void **state)
{
	(void)state;
	static const char text[] = "threads: 3\nlog_level: warn\n" POOL NODES
				   "  database: 4\n  retry: {reads: 3, budget: 1%}\n";
	struct run r;
	run_file(&r, text,
		(const char *const[]){"--threads=2", "--set", "database=7", "--set=retry.reads=0",
			"--listen=h:2", "--listen=h:3", "--node=x=h:4", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "flags", &r);
	assert_int_equal(r.conf.threads, 2);
	assert_int_equal(r.conf.log_level, LOG_WARN);
	const struct conf_pool *p = &r.conf.pools[0];
	assert_string_equal(p->name, "p");
	assert_int_equal(p->role, ROLE_CACHE);
	assert_int_equal(p->database, 7);
	assert_int_equal(p->retry_reads, 0);
	assert_true(p->retry_budget == 0.01);
	assert_int_equal(p->nlisten, 2); /* the flags' and none of the file's */
	assert_int_equal(p->listen[0].address.port, 2);
	assert_int_equal(p->nnodes, 1);
	assert_string_equal(p->nodes[0].name, "x");
	run_fini(&r);
}

static void one_list_in_flags_leaves_the_other(void **state)
{
	(void)state;
	struct run r;
	run_file(&r, GOOD, (const char *const[]){"--listen=h:2", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "--listen", &r);
	assert_int_equal(r.conf.pools[0].listen[0].address.port, 2);
	assert_string_equal(r.conf.pools[0].nodes[0].name, "a");
	run_fini(&r);
	run_file(&r, GOOD, (const char *const[]){"--node=x=h:4", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "--node", &r);
	assert_int_equal(r.conf.pools[0].nlisten, 1);
	assert_int_equal(r.conf.pools[0].listen[0].address.port, 1);
	assert_string_equal(r.conf.pools[0].nodes[0].name, "x");
	run_fini(&r);
}

static void pool_names_the_pool_that_flags_change(void **state)
{
	(void)state;
	struct run r;
	run_file(&r, GOOD "- name: q\n  role: store\n  listen: [h:2]\n" NODES,
		(const char *const[]){
			"--set=database=7", "--pool=q", "--node=z=h:5", "--role=cache", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "--pool", &r);
	assert_int_equal(r.conf.npools, 2);
	assert_int_equal(r.conf.pools[0].database, 0);
	assert_string_equal(r.conf.pools[0].nodes[0].name, "a");
	assert_int_equal(r.conf.pools[1].database, 7);
	assert_int_equal(r.conf.pools[1].role, ROLE_CACHE);
	assert_string_equal(r.conf.pools[1].nodes[0].name, "z");
	run_fini(&r);
}

static void a_file_without_pools_takes_one_from_flags(void **state)
{
	(void)state;
	struct run r;
	run_file(&r, "threads: 2\n", (const char *const[]){"--listen=h:1", "--node=h:2", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "flags' pool", &r);
	assert_int_equal(r.conf.threads, 2);
	assert_int_equal(r.conf.npools, 1);
	assert_string_equal(r.conf.pools[0].name, "main");
	assert_false(r.conf.pools[0].from_file);
	assert_int_equal(r.conf.pools[0].role, ROLE_STORE); /* as without a file */
	run_fini(&r);
	run_file(&r, "pools: []\n",
		(const char *const[]){"--listen=h:1", "--node=h:2", "--pool=x", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "flags' pool by name", &r);
	assert_string_equal(r.conf.pools[0].name, "x");
	run_fini(&r);
}

/* ------------------------------------------------------------------------------------------------
 * Each option
 */
static const char *another_value(const struct conf_option *o)
{
	switch (o->type) {
	case CONF_U32:
	case CONF_THREADS:
	case CONF_SIZE:
	case CONF_TIME:
	case CONF_MODE:
		return strcmp(o->min, o->fallback) != 0 ? o->min : o->max;
	case CONF_PERCENT:
		return "12.5%";
	case CONF_BOOL:
		return strcmp(o->fallback, "true") == 0 ? "off" : "yes";
	case CONF_ROLE:
		return "cache";
	case CONF_MULTIKEY:
		return "tag";
	case CONF_PROTOCOL: /* the only one that is built in */
	case CONF_RING_MODE:
	case CONF_ON_FAILURE:
		return o->fallback;
	case CONF_LOG_LEVEL:
		return "debug";
	case CONF_ADDR:
		return "[::1]:0";
	case CONF_NAME:
		return "127.0.0.1:1";
	case CONF_PATH:
		return "/run/a: b#c";
	case CONF_TAG:
		return "#'";
	case CONF_TYPE_COUNT:
		break;
	}
	fail();
	return NULL;
}

/* The option's line in a file that is right without it. */
static void file_with(char *buf, size_t size, const struct conf_option *o, const char *value)
{
	bool pool = o->scope == CONF_POOL;
	const char *dot = strchr(o->key, '.');
	char pair[160];
	if (dot != NULL)
		(void)snprintf(pair, sizeof(pair), "%.*s: {%s: \"%s\"}", (int)(dot - o->key),
			o->key, dot + 1, value);
	else
		(void)snprintf(pair, sizeof(pair), "%s: \"%s\"", o->key, value);
	(void)snprintf(buf, size,
		"%s\npools:\n- name: p\n  listen: [h:1]\n  %s\n  %s\n  nodes: [{name: a, address: "
		"h:7001}]\n",
		pool ? "" : pair, pool ? pair : "",
		strcmp(o->key, "role") == 0 ? "" : "role: cache");
}

/* With what goes with the extreme values. */
#define TOGETHER "--set=limits.request_size=64gb", "--set=upstream.backoff_max=10m"

static void every_option_in_a_file_does_what_set_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (strcmp(o->key, "limits.request_size") == 0 ||
			strcmp(o->key, "upstream.backoff_max") == 0)
			continue; /* they stand in TOGETHER */
		char text[512], pair[160];
		const char *value = another_value(o);
		struct run in_file, in_flag, without;
		file_with(text, sizeof(text), o, value);
		run_file(&in_file, text, (const char *const[]){TOGETHER, NULL});
		RUN_EXPECT(in_file.exit == CONF_GO_ON, o->key, &in_file);
		(void)snprintf(pair, sizeof(pair), "%s=%s", o->key, value);
		run_file(&in_flag, GOOD, (const char *const[]){TOGETHER, "--set", pair, NULL});
		RUN_EXPECT(in_flag.exit == CONF_GO_ON, o->key, &in_flag);
		run_file(&without, GOOD, (const char *const[]){TOGETHER, NULL});
		char *a = run_print(&in_file.conf), *b = run_print(&in_flag.conf);
		char *c = run_print(&without.conf);
		assert_string_equal(a, b);
		bool same = o->type == CONF_PROTOCOL || o->type == CONF_RING_MODE ||
			    o->type == CONF_ON_FAILURE || o->type == CONF_ROLE;
		assert_true(same || strcmp(a, c) != 0);
		assert_int_equal(conf_reload_check(&in_file.conf, &in_flag.conf, stderr), 0);
		free(a);
		free(b);
		free(c);
		run_fini(&in_file);
		run_fini(&in_flag);
		run_fini(&without);
	}
}

/* Not larger: under a sanitizer libcyaml's growing lists are copied with each entry. */
static void a_large_file_is_read_to_its_end(void **state)
{
	(void)state;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	(void)fputs("pools:\n- name: p\n  role: cache\n  listen: [h:1]\n  nodes:\n", f);
	for (unsigned i = 0; i < 10000; i++)
		(void)fprintf(f, "  - {name: n%u, address: h%u:1, weight: 0.001}\n", i, i);
	(void)fputs("  ring: {points: x}\n", f);
	(void)fclose(f);
	struct run r;
	run_file(&r, text, NULL);
	RUN_EXPECT(r.exit == CONF_EXIT_BAD, "large file", &r);
	assert_string_equal(r.err, "f.yml:10006:18: pool 'p': ring.points: 'x' is not a whole "
				   "number (allowed: 1 .. 100000)\n");
	run_fini(&r);
	free(text);

	run_write("big.yml", "", 0);
	assert_int_equal(truncate("big.yml", 10 << 20), 0);
	run_args(&r, (const char *const[]){"-c", "big.yml", NULL});
	RUN_EXPECT(r.exit == CONF_EXIT_BAD, "too large", &r);
	assert_string_equal(r.err, "ringway: -c 'big.yml': larger than 8mb\n");
	run_fini(&r);
}

static void a_files_name_may_be_odd(void **state)
{
	(void)state;
	struct run r;
	static const char name[] = "a\n\xff\x1b.yml";
	run_write(name, "x: 1\n", 5);
	run_args(&r, (const char *const[]){"-c", name, NULL});
	assert_int_equal(r.exit, CONF_EXIT_BAD);
	assert_int_equal(strncmp(r.err, "a???.yml:1:1: unknown key 'x'", 29), 0);
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_is_taken_or_refused),
		cmocka_unit_test(a_whole_file_fills_the_configuration),
		cmocka_unit_test(flags_win_over_the_file),
		cmocka_unit_test(one_list_in_flags_leaves_the_other),
		cmocka_unit_test(pool_names_the_pool_that_flags_change),
		cmocka_unit_test(a_file_without_pools_takes_one_from_flags),
		cmocka_unit_test(every_option_in_a_file_does_what_set_does),
		cmocka_unit_test(a_large_file_is_read_to_its_end),
		cmocka_unit_test(a_files_name_may_be_odd),
	};
	return cmocka_run_group_tests(tests, run_enter_folder, run_leave_folder);
}
