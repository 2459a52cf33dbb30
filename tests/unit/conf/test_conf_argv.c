/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "base/clock.h"
#include "router/conf/conf_flag.h"
#include "router/conf/conf_option.h"
#include "tests/unit/conf/run.h"

/* The least that is a configuration. */
#define L "--listen", "127.0.0.1:6380"
#define N "--node", "a=127.0.0.1:7001"

struct row {
	const char *claim;
	const char *args[12];
	enum conf_exit exit;
	const char *says[3]; /* in err; in out with CONF_EXIT_OK */
};

static const struct row rows[] = {
	{"the least configuration", {L, N}, CONF_GO_ON, {0}},
	{"--help", {"--help"}, CONF_EXIT_OK, {"--listen ADDR", "timeouts.request=1s"}},
	{"--version", {"--version"}, CONF_EXIT_OK, {"ringway 0."}},
	{"--version before the rest is looked at", {"--version", "--nonsense"}, CONF_EXIT_OK, {0}},
	{"--help between flags", {L, "--help", N}, CONF_EXIT_OK, {0}},

	{"unknown flag", {"--lisen", "x"}, CONF_EXIT_USAGE,
		{"'--lisen'", "did you mean --listen?"}},
	{"unknown flag with a value", {"--nod=x"}, CONF_EXIT_USAGE, {"'--nod'", "--node?"}},
	{"one dash too few", {"-listen", "x"}, CONF_EXIT_USAGE, {"did you mean --listen?"}},
	{"a flag like no other", {"--frobnicate"}, CONF_EXIT_USAGE, {"'--frobnicate'", "--help"}},
	{"a short flag like no other", {"--foo"}, CONF_EXIT_USAGE,
		{"unknown flag '--foo' (see --help)"}},
	{"a short flag with a slip", {"--pol"}, CONF_EXIT_USAGE, {"did you mean --pool?"}},
	{"unknown short flag", {"-x"}, CONF_EXIT_USAGE, {"'-x'"}},
	{"a flag that is not there yet is not suggested", {"--zookeepr"}, CONF_EXIT_USAGE,
		{"--help"}},
	{"a stray word", {L, N, "127.0.0.1:7002"}, CONF_EXIT_USAGE,
		{"'127.0.0.1:7002'", "not a flag"}},
	{"an empty word", {""}, CONF_EXIT_USAGE, {"''"}},
	{"two dashes alone", {"--"}, CONF_EXIT_USAGE, {"'--'"}},
	{"one dash alone", {"-"}, CONF_EXIT_USAGE, {"'-'"}},
	{"value missing at the end", {N, "--listen"}, CONF_EXIT_USAGE, {"--listen needs a value"}},
	{"value missing before a flag", {"--listen", "--node", "h:1"}, CONF_EXIT_USAGE,
		{"--listen needs a value", "ADDR"}},
	{"value given to a switch", {"--sole-router=yes"}, CONF_EXIT_USAGE,
		{"--sole-router takes no"}},
	{"value given to --help", {"--help=1"}, CONF_EXIT_USAGE, {"--help takes no value"}},
	{"--set without =", {L, N, "--set", "threads"}, CONF_EXIT_USAGE,
		{"'threads'", "KEY=VALUE"}},
	{"--pool twice", {L, N, "--pool", "a", "--pool", "b"}, CONF_EXIT_USAGE,
		{"--pool", "twice"}},
	{"wrong usage is told before a wrong value", {"--threads", "x", "--bogus"}, CONF_EXIT_USAGE,
		{"--bogus"}},

	{"-c of no file", {"-c", "/nowhere/f.yml"}, CONF_EXIT_BAD,
		{"ringway: -c '/nowhere/f.yml': No such file or directory\n"}},
	{"-c of a folder", {"-c", "/"}, CONF_EXIT_BAD, {"-c '/': Is a directory"}},
	{"-c of a device that never ends", {"-c", "/dev/zero"}, CONF_EXIT_BAD,
		{"-c '/dev/zero': larger than 8mb"}},
	{"-c of nothing", {"-c", "/dev/null", L, N}, CONF_GO_ON, {0}},
	{"-c of nothing, and no pool in flags", {"-c", "/dev/null"}, CONF_EXIT_BAD,
		{"pools: there is none"}},
	{"-c of nothing, a pool without nodes", {"-c", "/dev/null", "--pool=x"}, CONF_EXIT_BAD,
		{"pool 'x': listen: ", "pool 'x': nodes: "}},
	{"-c without a value", {"-c"}, CONF_EXIT_USAGE, {"-c needs a value: -c FILE"}},
	{"-c twice", {"-c", "/dev/null", "-c", "/dev/null", L, N}, CONF_EXIT_USAGE,
		{"-c is given twice"}},
	{"--memcached-listen", {"--memcached-listen", "h:1"}, CONF_EXIT_BAD,
		{"--memcached-listen: listening for memcached clients is not built in yet"}},
	{"--zookeeper", {"--zookeeper=h:1/x"}, CONF_EXIT_BAD,
		{"--zookeeper: membership through ZooKeeper is not built in yet"}},
	{"--nutcracker-config", {"--nutcracker-config", "f"}, CONF_EXIT_BAD,
		{"--nutcracker-config: ", "is not built in yet"}},

	{"unknown key", {L, N, "--set", "thread=1"}, CONF_EXIT_BAD,
		{"unknown key 'thread'", "did you mean threads?"}},
	{"a key like no other", {L, N, "--set", "zzz=1"}, CONF_EXIT_BAD,
		{"unknown key 'zzz'", "-t"}},
	{"an empty key", {L, N, "--set", "=1"}, CONF_EXIT_BAD, {"unknown key ''"}},
	{"a key that is a flag", {L, N, "--set", "listen=h:1"}, CONF_EXIT_BAD, {"flag --listen"}},
	{"a key of what is not there yet", {L, N, "--set", "zookeeper=h:1"}, CONF_EXIT_BAD,
		{"--set: zookeeper: membership through ZooKeeper is not built in yet"}},
	{"a pool's key of what is not there yet", {L, N, "--set", "ring.eject=x"}, CONF_EXIT_BAD,
		{"--set: ring.eject: ", " is not built in yet"}},
	{"a pool's key names its pool", {L, N, "--set", "role=x", "--pool", "p1"}, CONF_EXIT_BAD,
		{"pool 'p1': role: 'x'", "store or cache"}},
	{"a router's key", {L, N, "--threads", "0"}, CONF_EXIT_BAD, {"threads: '0'", "1 .. 256"}},
	{"every wrong value is named", {L, N, "--threads", "0", "--log-level=x", "--role="},
		CONF_EXIT_BAD, {"threads: '0'", "log_level: 'x'", "role: ''"}},
	{"a bad pool name", {L, N, "--pool", "a b"}, CONF_EXIT_BAD, {"--pool 'a b'", "A-Z"}},
	{"an empty pool name", {L, N, "--pool="}, CONF_EXIT_BAD, {"--pool ''"}},
	{"a value may hold =", {L, N, "--ready-file=/tmp/a=b"}, CONF_GO_ON, {0}},
	{"a value may begin with one dash", {L, N, "--ready-file", "-x"}, CONF_GO_ON, {0}},
	{"the last of two values counts", {L, N, "--threads=0x", "--threads=1"}, CONF_EXIT_BAD,
		{"'0x'"}},
};

static void check_texts(const struct row *row, const struct run *r)
{
	const char *said = row->exit == CONF_EXIT_OK ? r->out : r->err;
	for (size_t i = 0; i < ARRAY_LEN(row->says) && row->says[i] != NULL; i++) {
		if (strstr(said, row->says[i]) == NULL)
			fail_msg("%s: no \"%s\" in: %s", row->claim, row->says[i], said);
	}
	bool refused = row->exit == CONF_EXIT_USAGE || row->exit == CONF_EXIT_BAD;
	RUN_EXPECT((r->err[0] != '\0') == refused, row->claim, r);
	RUN_EXPECT((r->out[0] != '\0') == (row->exit == CONF_EXIT_OK), row->claim, r);
}

static void every_command_line_ends_as_it_should(void **state)
{
	(void)state;
	static const struct conf empty;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run r;
		run_args(&r, rows[i].args);
		RUN_EXPECT(r.exit == rows[i].exit, rows[i].claim, &r);
		check_texts(&rows[i], &r);
		if (r.exit != CONF_GO_ON)
			RUN_EXPECT(memcmp(&r.conf, &empty, sizeof(empty)) == 0, rows[i].claim, &r);
		run_fini(&r);
	}
}

static void no_arguments_ask_for_listener_and_node(void **state)
{
	(void)state;
	struct run r;
	run_args(&r, (const char *const[]){NULL});
	assert_int_equal(r.exit, CONF_EXIT_BAD);
	assert_non_null(strstr(r.err, "--listen ADDR"));
	assert_non_null(strstr(r.err, "--node [NAME=]ADDR[*WEIGHT]"));
	run_fini(&r);

	struct conf c; /* not even a program's name */
	char *err;
	size_t len;
	FILE *f = open_memstream(&err, &len);
	assert_int_equal(conf_from_argv(&c, 0, NULL, stdout, f), CONF_EXIT_BAD);
	conf_fini(&c);
	(void)fclose(f);
	free(err);
}

static void flags_fill_the_configuration(void **state)
{
	(void)state;
	struct run r;
	run_args(&r,
		(const char *const[]){"--listen", "127.0.0.1:0", "--listen=redis://[::1]:6380",
			"--listen", "unix:/run/r.sock", "--admin", "127.0.0.1:9180", "--pool",
			"sessions", "--node", "a=127.0.0.1:7001*1.5", "--node=redis://cache-2:7002",
			"--node", "unix:/run/n.sock*0", "--role", "cache", "--sole-router",
			"--threads=3", "--set", "timeouts.request=30s", "--ready-file",
			"/run/ready", "--log-level=debug", "-t", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "all flags", &r);
	const struct conf *c = &r.conf;
	assert_int_equal(c->threads, 3);
	assert_true(c->admin_given);
	assert_string_equal(c->admin.host, "127.0.0.1");
	assert_int_equal(c->admin.port, 9180);
	assert_null(c->router_name);
	assert_string_equal(c->ready_file, "/run/ready");
	assert_int_equal(c->log_level, LOG_DEBUG);
	assert_true(c->test_only);
	assert_int_equal(c->npools, 1);

	const struct conf_pool *p = &c->pools[0];
	assert_string_equal(p->name, "sessions");
	assert_int_equal(p->role, ROLE_CACHE);
	assert_true(p->role_given);
	assert_int_equal(p->protocol, PROTOCOL_REDIS);
	assert_true(p->sole_router);
	assert_int_equal(p->on_failure, ON_FAILURE_FAIL_FAST);
	assert_true(p->request_timeout_ns == 30 * NS_PER_S);
	assert_int_equal(p->nlisten, 3);
	assert_int_equal(p->listen[0].address.port, 0);
	assert_string_equal(p->listen[1].address.host, "::1");
	assert_int_equal(p->listen[2].address.family, ADDR_UNIX);

	assert_int_equal(p->nnodes, 3);
	assert_string_equal(p->nodes[0].name, "a");
	assert_true(p->nodes[0].named);
	assert_int_equal(p->nodes[0].weight_milli, 1500);
	assert_string_equal(p->nodes[0].address.host, "127.0.0.1");
	assert_int_equal(p->nodes[0].address.port, 7001);
	assert_string_equal(p->nodes[1].name, "cache-2:7002");
	assert_false(p->nodes[1].named);
	assert_int_equal(p->nodes[1].weight_milli, 1000);
	assert_string_equal(p->nodes[2].name, "unix:/run/n.sock");
	assert_int_equal(p->nodes[2].weight_milli, 0);
	run_fini(&r);
}

static void what_is_not_given_has_its_default(void **state)
{
	(void)state;
	struct run r;
	run_args(&r, (const char *const[]){L, N, NULL});
	assert_int_equal(r.exit, CONF_GO_ON);
	assert_int_equal(r.conf.threads, 1);
	assert_false(r.conf.admin_given);
	assert_null(r.conf.ready_file);
	assert_false(r.conf.test_only);
	assert_int_equal(r.conf.log_level, LOG_INFO);
	const struct conf_pool *p = &r.conf.pools[0];
	assert_string_equal(p->name, "main");
	assert_int_equal(p->role, ROLE_STORE);
	assert_false(p->role_given);
	assert_int_equal(p->ring_points, 512);
	assert_string_equal(p->ring_hash_tag, "{}");
	assert_true(p->preconnect);
	assert_true(p->stuck_floor_ns == 3 * NS_PER_S);
	assert_int_equal(r.conf.limits.clients, 50000);
	assert_true(r.conf.limits.memory == UINT64_C(2) << 30);
	run_fini(&r);
}

static void a_flag_and_set_do_the_same(void **state)
{
	(void)state;
	static const struct {
		const char *flag, *value, *pair;
	} same[] = {
		{"--admin", "127.0.0.1:1", "admin=127.0.0.1:1"},
		{"--role", "cache", "role=cache"},
		{"--threads", "5", "threads=5"},
		{"--ready-file", "/x", "ready_file=/x"},
		{"--log-level", "warn", "log_level=warn"},
		{"--sole-router", NULL, "sole_router=yes"},
	};
	size_t setting = 0;
	for (size_t i = 0; i < conf_flag_count; i++)
		setting += conf_flags[i].kind == FLAG_OPTION || conf_flags[i].kind == FLAG_SWITCH;
	assert_int_equal(setting, ARRAY_LEN(same));

	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		char joined[64];
		const char *value = same[i].value != NULL ? same[i].value : "";
		(void)snprintf(joined, sizeof(joined), "%s%s%s", same[i].flag,
			value[0] != '\0' ? "=" : "", value);
		const char *const lines[][7] = {
			{L, N, same[i].flag, same[i].value},
			{L, N, joined},
			{L, N, "--set", same[i].pair},
		};
		char *printed[3];
		for (int k = 0; k < 3; k++) {
			struct run r;
			run_args(&r, lines[k]);
			RUN_EXPECT(r.exit == CONF_GO_ON, same[i].pair, &r);
			printed[k] = run_print(&r.conf);
			run_fini(&r);
		}
		assert_string_equal(printed[0], printed[1]);
		assert_string_equal(printed[0], printed[2]);
		for (int k = 0; k < 3; k++)
			free(printed[k]);
	}
}

static void the_later_of_two_values_wins(void **state)
{
	(void)state;
	struct run r;
	run_args(&r, (const char *const[]){L, N, "--threads", "2", "--set", "threads=4", "--set",
			     "ready_file=/a", "--ready-file=/b", "--admin=h:1", "--set",
			     "admin=none", NULL});
	RUN_EXPECT(r.exit == CONF_GO_ON, "twice", &r);
	assert_int_equal(r.conf.threads, 4);
	assert_string_equal(r.conf.ready_file, "/b");
	assert_false(r.conf.admin_given);
	run_fini(&r);
}

static void flags_name_options_that_exist(void **state)
{
	(void)state;
	for (size_t i = 0; i < conf_flag_count; i++) {
		const struct conf_flag *f = &conf_flags[i];
		bool sets = f->kind == FLAG_OPTION || f->kind == FLAG_SWITCH;
		assert_int_equal(f->key[0] != '\0', sets);
		if (sets)
			assert_non_null(conf_option_find(f->key));
		if (f->kind == FLAG_SWITCH)
			assert_int_equal(conf_option_find(f->key)->type, CONF_BOOL);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(conf_flags[k].name, f->name);
	}
}

static void help_lists_what_works_and_nothing_else(void **state)
{
	(void)state;
	struct run r;
	run_args(&r, (const char *const[]){"--help", NULL});
	assert_int_equal(r.exit, CONF_EXIT_OK);
	for (size_t i = 0; i < conf_flag_count; i++) {
		char line[64];
		const struct conf_flag *f = &conf_flags[i];
		(void)snprintf(line, sizeof(line), "\n  %s%s%s", f->name,
			f->argument[0] != '\0' ? " " : "", f->argument);
		bool there = strstr(r.out, line) != NULL;
		RUN_EXPECT(there == (f->kind != FLAG_LATER), f->name, &r);
	}
	for (size_t i = 0; i < conf_option_count; i++) {
		char line[128];
		(void)snprintf(line, sizeof(line), "\n  %s=%s", conf_options[i].key,
			conf_options[i].fallback);
		RUN_EXPECT(strstr(r.out, line) != NULL, line, &r);
	}
	const char *line = r.out;
	for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		assert_true(end - line <= 100);
		assert_true(end == line || end[-1] != ' ');
	}
	assert_string_equal(line, ""); /* the last line ends too */
	run_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_line_ends_as_it_should),
		cmocka_unit_test(no_arguments_ask_for_listener_and_node),
		cmocka_unit_test(flags_fill_the_configuration),
		cmocka_unit_test(what_is_not_given_has_its_default),
		cmocka_unit_test(a_flag_and_set_do_the_same),
		cmocka_unit_test(the_later_of_two_values_wins),
		cmocka_unit_test(flags_name_options_that_exist),
		cmocka_unit_test(help_lists_what_works_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
