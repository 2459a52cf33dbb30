/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "ring/ring.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"
#include "tests/unit/conf/run.h"

/* One configuration of defaults, and what was said about it. */
struct bench {
	struct conf conf;
	struct conf_report report;
	char *err;
	size_t err_len;
};

static void bench_init(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	conf_init(&b->conf);
	(void)conf_add_pool(&b->conf, "p");
	b->report.err = open_memstream(&b->err, &b->err_len);
	assert_non_null(b->report.err);
}

static void bench_fini(struct bench *b)
{
	conf_fini(&b->conf);
	(void)fclose(b->report.err);
	free(b->err);
}

static bool bench_set(struct bench *b, const char *key, const char *value)
{
	const struct conf_option *o = conf_option_find(key);
	if (o == NULL)
		fail_msg("no option %s", key);
	rewind(b->report.err);
	bool ok = conf_option_set(o, &b->conf, &b->conf.pools[0], value, &b->report);
	(void)fputc('\0', b->report.err);
	(void)fflush(b->report.err);
	return ok;
}

static const char *bench_show(struct bench *b, const char *key, char buf[CONF_SHOWN_MAX])
{
	return conf_option_show(conf_option_find(key), &b->conf, &b->conf.pools[0], buf);
}

static void rows_are_complete_and_unique(void **state)
{
	(void)state;
	assert_true(conf_option_count > 30);
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		size_t len = strlen(o->help);
		assert_true(len > 10 && o->help[len - 1] == '.');
		assert_int_equal(strspn(o->key, "abcdefghijklmnopqrstuvwxyz_."), strlen(o->key));
		assert_ptr_equal(conf_option_find(o->key), o); /* the first of that name */
		bool number = o->type <= CONF_PERCENT;
		assert_int_equal(o->min[0] != '\0', number);
		assert_int_equal(o->max[0] != '\0', number);
		assert_true(o->unit[0] == '\0' || o->type <= CONF_THREADS);
	}
}

static void a_default_is_shown_as_the_table_has_it(void **state)
{
	(void)state;
	struct bench b;
	bench_init(&b);
	for (size_t i = 0; i < conf_option_count; i++) {
		char buf[CONF_SHOWN_MAX];
		assert_string_equal(
			bench_show(&b, conf_options[i].key, buf), conf_options[i].fallback);
	}
	bench_fini(&b);
}

/* What users rely on: changing one of these is a change of contract, not of a table. */
static void defaults_are_those_of_the_contract(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value;
	} promised[] = {
		{"threads", "1"},
		{"drain_timeout", "30s"},
		{"limits.clients", "50000"},
		{"limits.client_output_buffer", "64mb"},
		{"limits.request_size", "512mb"},
		{"limits.memory", "2gb"},
		{"limits.idle_timeout", "0"},
		{"limits.pipeline", "1024"},
		{"limits.bulk", "4mb"},
		{"limits.scripts", "16mb"},
		{"role", "store"},
		{"protocol", "redis"},
		{"ring.mode", "native"},
		{"database", "0"},
		{"multikey", "owner"},
		{"on_failure", "fail_fast"},
		{"sole_router", "false"},
		{"ring.points", "512"},
		{"ring.hash_tag", "{}"},
		{"timeouts.connect", "250ms"},
		{"timeouts.request", "1s"},
		{"timeouts.slow", "60s"},
		{"retry.reads", "1"},
		{"retry.budget", "20%"},
		{"upstream.preconnect", "true"},
		{"upstream.backoff", "50ms"},
		{"upstream.backoff_max", "1s"},
		{"upstream.stuck_floor", "3s"},
		{"upstream.private_per_node", "1024"},
		{"upstream.private_idle", "60s"},
		{"upstream.shared_per_node", "64"},
		{"upstream.shared_idle", "60s"},
		{"upstream.queue", "8192"},
	};
	for (size_t i = 0; i < ARRAY_LEN(promised); i++)
		assert_string_equal(conf_option_find(promised[i].key)->fallback, promised[i].value);
}

/* What SIGHUP may change, by contract with the control thread: a row that says RELOAD is applied there. */
static void what_may_be_reloaded_is_listed(void **state)
{
	(void)state;
	static const char *const reloadable[] = {"log_level", "drain_timeout", "limits.clients",
		"limits.client_output_buffer", "limits.request_size", "limits.memory",
		"limits.idle_timeout", "limits.proxy_header", "limits.pipeline", "limits.bulk",
		"limits.scripts"};
	size_t n = 0;
	for (size_t i = 0; i < conf_option_count; i++)
		n += conf_options[i].reload;
	assert_int_equal(n, ARRAY_LEN(reloadable));
	for (size_t i = 0; i < n; i++)
		assert_true(conf_option_find(reloadable[i])->reload);
}

static void points_agree_with_the_ring(void **state)
{
	(void)state;
	struct bench b;
	char max[CONF_VALUE_MAX];
	bench_init(&b);
	assert_int_equal(b.conf.pools[0].ring_points, RING_POINTS_DEFAULT);
	bench_fini(&b);
	conf_show_count(RING_POINTS_MAX, max);
	assert_string_equal(conf_option_find("ring.points")->min, "1");
	assert_string_equal(conf_option_find("ring.points")->max, max);
}

typedef int read_fn(struct span s, uint64_t *ret);
typedef void show_fn(uint64_t v, char buf[CONF_VALUE_MAX]);

static const struct {
	read_fn *read;
	show_fn *show;
} number_types[] = {
	[CONF_U32] = {conf_read_count, conf_show_count},
	[CONF_THREADS] = {conf_read_count, conf_show_count},
	[CONF_MODE] = {conf_read_mode, conf_show_mode},
	[CONF_SIZE] = {conf_read_size, conf_show_size},
	[CONF_TIME] = {conf_read_time, conf_show_time},
	[CONF_PERCENT] = {conf_read_percent, conf_show_percent},
};

static void expect_refused(struct bench *b, const struct conf_option *o, uint64_t v)
{
	char before[CONF_SHOWN_MAX], after[CONF_SHOWN_MAX], text[CONF_VALUE_MAX];
	char range[CONF_SHOWN_MAX];
	(void)snprintf(before, sizeof(before), "%s", bench_show(b, o->key, after));
	number_types[o->type].show(v, text);
	b->report.problems = 0; /* else it stops talking after some */
	if (bench_set(b, o->key, text))
		fail_msg("%s=%s is taken", o->key, text);
	assert_string_equal(bench_show(b, o->key, after), before);
	assert_non_null(strstr(b->err, o->key));
	assert_non_null(strstr(b->err, text));
	assert_non_null(strstr(b->err, "out of range"));
	(void)snprintf(range, sizeof(range), "(allowed: %s .. %s", o->min, o->max);
	assert_non_null(strstr(b->err, range));
}

static void expect_taken(struct bench *b, const struct conf_option *o, uint64_t v)
{
	char text[CONF_VALUE_MAX], shown[CONF_SHOWN_MAX];
	number_types[o->type].show(v, text);
	if (!bench_set(b, o->key, text))
		fail_msg("%s=%s: %s", o->key, text, b->err);
	assert_string_equal(bench_show(b, o->key, shown), text);
}

static void the_ends_of_every_range_are_taken_and_one_beyond_is_not(void **state)
{
	(void)state;
	struct bench b;
	bench_init(&b);
	size_t numbers = 0;
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->type > CONF_PERCENT)
			continue;
		uint64_t min = 1, max = 0;
		assert_int_equal(number_types[o->type].read(span_str(o->min), &min), 0);
		assert_int_equal(number_types[o->type].read(span_str(o->max), &max), 0);
		assert_true(min < max);
		expect_taken(&b, o, max);
		expect_taken(&b, o, min);
		expect_refused(&b, o, max + 1);
		if (min > 0)
			expect_refused(&b, o, min - 1);
		expect_refused(&b, o, UINT64_MAX);
		numbers++;
	}
	assert_true(numbers > 20);
	bench_fini(&b);
}

/* Every option that is a number, a word or a bool, and the field it must end in. */
#define ROUTER_FIELD(field) false, offsetof(struct conf, field), sizeof(((struct conf *)0)->field)
#define POOL_FIELD(field) \
	true, offsetof(struct conf_pool, field), sizeof(((struct conf_pool *)0)->field)

static const struct {
	const char *key;
	const char *value;
	bool pool;
	size_t offset;
	size_t size;
	uint64_t want;
} fields[] = {
	{"threads", "3", ROUTER_FIELD(threads), 3},
	{"admin_timeout", "7s", ROUTER_FIELD(admin_timeout_ns), 7 * NS_PER_S},
	{"log_level", "error", ROUTER_FIELD(log_level), LOG_ERROR},
	{"log_level", "warn", ROUTER_FIELD(log_level), LOG_WARN},
	{"log_level", "debug", ROUTER_FIELD(log_level), LOG_DEBUG},
	{"log_level", "info", ROUTER_FIELD(log_level), LOG_INFO},
	{"drain_timeout", "2m", ROUTER_FIELD(drain_timeout_ns), 120 * NS_PER_S},
	{"resolve_wait", "11ms", ROUTER_FIELD(resolve_wait_ns), 11 * NS_PER_MS},
	{"unix_socket_mode", "0660", ROUTER_FIELD(unix_socket_mode), 0660},
	{"tcp.keepalive_idle", "12s", ROUTER_FIELD(keepalive.idle_ns), 12 * NS_PER_S},
	{"tcp.keepalive_interval", "13s", ROUTER_FIELD(keepalive.interval_ns), 13 * NS_PER_S},
	{"tcp.keepalive_count", "14", ROUTER_FIELD(keepalive.count), 14},
	{"tcp.user_timeout", "15s", ROUTER_FIELD(keepalive.user_timeout_ns), 15 * NS_PER_S},
	{"limits.clients", "11", ROUTER_FIELD(limits.clients), 11},
	{"limits.client_output_buffer", "2mb", ROUTER_FIELD(limits.client_output_buffer), 2 << 20},
	{"limits.request_size", "3mb", ROUTER_FIELD(limits.request_size), 3 << 20},
	{"limits.memory", "5mb", ROUTER_FIELD(limits.memory), 5 << 20},
	{"limits.idle_timeout", "9s", ROUTER_FIELD(limits.idle_timeout_ns), 9 * NS_PER_S},
	{"limits.proxy_header", "16ms", ROUTER_FIELD(limits.proxy_header_ns), 16 * NS_PER_MS},
	{"limits.pipeline", "13", ROUTER_FIELD(limits.pipeline), 13},
	{"limits.bulk", "16kb", ROUTER_FIELD(limits.bulk), 16384},
	{"limits.scripts", "17kb", ROUTER_FIELD(limits.scripts), 17408},
	{"role", "cache", POOL_FIELD(role), ROLE_CACHE},
	{"role", "store", POOL_FIELD(role), ROLE_STORE},
	{"protocol", "memcached", POOL_FIELD(protocol), PROTOCOL_MEMCACHED},
	{"protocol", "redis", POOL_FIELD(protocol), PROTOCOL_REDIS},
	{"ring.mode", "ketama", POOL_FIELD(ring_mode), RING_MODE_KETAMA},
	{"ring.mode", "libmemcached", POOL_FIELD(ring_mode), RING_MODE_LIBMEMCACHED},
	{"ring.mode", "libmemcached_weighted", POOL_FIELD(ring_mode),
		RING_MODE_LIBMEMCACHED_WEIGHTED},
	{"ring.mode", "modula", POOL_FIELD(ring_mode), RING_MODE_MODULA},
	{"ring.mode", "native", POOL_FIELD(ring_mode), RING_MODE_NATIVE},
	{"database", "5", POOL_FIELD(database), 5},
	{"multikey", "tag", POOL_FIELD(multikey), MULTIKEY_TAG},
	{"multikey", "owner", POOL_FIELD(multikey), MULTIKEY_OWNER},
	{"on_failure", "eject", POOL_FIELD(on_failure), ON_FAILURE_EJECT},
	{"on_failure", "fail_fast", POOL_FIELD(on_failure), ON_FAILURE_FAIL_FAST},
	{"sole_router", "yes", POOL_FIELD(sole_router), true},
	{"sole_router", "off", POOL_FIELD(sole_router), false},
	{"ring.points", "160", POOL_FIELD(ring_points), 160},
	{"timeouts.connect", "50ms", POOL_FIELD(connect_timeout_ns), 50 * NS_PER_MS},
	{"timeouts.request", "30s", POOL_FIELD(request_timeout_ns), 30 * NS_PER_S},
	{"timeouts.slow", "1m", POOL_FIELD(slow_timeout_ns), 60 * NS_PER_S},
	{"retry.reads", "4", POOL_FIELD(retry_reads), 4},
	{"upstream.preconnect", "no", POOL_FIELD(preconnect), false},
	{"upstream.backoff", "2500us", POOL_FIELD(backoff_ns), 2500 * NS_PER_US},
	{"upstream.backoff_max", "8s", POOL_FIELD(backoff_max_ns), 8 * NS_PER_S},
	{"upstream.stuck_floor", "300ms", POOL_FIELD(stuck_floor_ns), 300 * NS_PER_MS},
	{"upstream.private_per_node", "17", POOL_FIELD(private_per_node), 17},
	{"upstream.private_idle", "6s", POOL_FIELD(private_idle_ns), 6 * NS_PER_S},
	{"upstream.shared_per_node", "18", POOL_FIELD(shared_per_node), 18},
	{"upstream.shared_idle", "7s", POOL_FIELD(shared_idle_ns), 7 * NS_PER_S},
	{"upstream.queue", "19", POOL_FIELD(queue), 19},
	{"upstream.resolve", "20s", POOL_FIELD(resolve_ns), 20 * NS_PER_S},
	{"upstream.resolve_pause", "21ms", POOL_FIELD(resolve_pause_ns), 21 * NS_PER_MS},
	{"upstream.keepalive_idle", "22s", POOL_FIELD(keepalive.idle_ns), 22 * NS_PER_S},
	{"upstream.keepalive_interval", "23s", POOL_FIELD(keepalive.interval_ns), 23 * NS_PER_S},
	{"upstream.keepalive_count", "24", POOL_FIELD(keepalive.count), 24},
	{"upstream.user_timeout", "25s", POOL_FIELD(keepalive.user_timeout_ns), 25 * NS_PER_S},
};

/* These have tests of their own below. */
static const char *const other_keys[] = {
	"admin", "router_name", "ready_file", "ring.hash_tag", "retry.budget"};

static void every_value_lands_in_its_field(void **state)
{
	(void)state;
	struct bench b;
	bench_init(&b);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		assert_true(bench_set(&b, fields[i].key, fields[i].value));
		const char *owner =
			fields[i].pool ? (const char *)b.conf.pools : (const char *)&b.conf;
		uint64_t got = 0;
		memcpy(&got, owner + fields[i].offset, fields[i].size); /* little endian */
		if (got != fields[i].want)
			fail_msg("%s=%s: %ju", fields[i].key, fields[i].value, (uintmax_t)got);
	}
	bench_fini(&b);
}

static void no_option_is_left_out_above(void **state)
{
	(void)state;
	for (size_t i = 0; i < conf_option_count; i++) {
		bool known = false;
		for (size_t k = 0; k < ARRAY_LEN(fields); k++)
			known = known || strcmp(fields[k].key, conf_options[i].key) == 0;
		for (size_t k = 0; k < ARRAY_LEN(other_keys); k++)
			known = known || strcmp(other_keys[k], conf_options[i].key) == 0;
		if (!known)
			fail_msg("%s has no row in fields[]", conf_options[i].key);
	}
}

static void a_share_is_kept_between_0_and_1(void **state)
{
	(void)state;
	struct bench b;
	bench_init(&b);
	const double *budget = &b.conf.pools[0].retry_budget;
	assert_true(*budget == 0.2);
	assert_true(bench_set(&b, "retry.budget", "100%"));
	assert_true(*budget == 1.0);
	assert_true(bench_set(&b, "retry.budget", "12.5%"));
	assert_true(*budget == 0.125);
	bench_fini(&b);

	for (uint64_t v = 0; v <= 100000; v += 7) { /* thousandths of a percent */
		char text[CONF_VALUE_MAX], shown[CONF_SHOWN_MAX];
		conf_show_percent(v, text);
		bench_init(&b);
		assert_true(bench_set(&b, "retry.budget", text));
		assert_string_equal(bench_show(&b, "retry.budget", shown), text);
		bench_fini(&b);
	}
}

static void admin_is_an_address_or_none(void **state)
{
	(void)state;
	struct bench b;
	char buf[CONF_SHOWN_MAX];
	bench_init(&b);
	assert_true(bench_set(&b, "admin", "[::1]:9180"));
	assert_string_equal(b.conf.admin.host, "::1");
	assert_int_equal(b.conf.admin.port, 9180);
	assert_string_equal(bench_show(&b, "admin", buf), "[::1]:9180");
	assert_true(bench_set(&b, "admin", "127.0.0.1:0"));
	assert_true(bench_set(&b, "admin", "unix:/run/admin.sock"));
	assert_string_equal(bench_show(&b, "admin", buf), "unix:/run/admin.sock");
	assert_false(bench_set(&b, "admin", "redis://127.0.0.1:1"));
	assert_non_null(strstr(b.err, "without a scheme"));
	assert_false(bench_set(&b, "admin", "127.0.0.1"));
	assert_non_null(strstr(b.err, "no port"));
	assert_false(bench_set(&b, "admin", ""));
	assert_string_equal(bench_show(&b, "admin", buf), "unix:/run/admin.sock");
	assert_true(bench_set(&b, "admin", "none"));
	assert_string_equal(b.conf.admin.text, "");
	bench_fini(&b);
}

static void names_paths_and_tags_have_a_word_for_unset(void **state)
{
	(void)state;
	struct bench b;
	char path[5000];
	bench_init(&b);
	assert_null(b.conf.router_name);
	assert_true(bench_set(&b, "router_name", "r1"));
	assert_true(bench_set(&b, "router_name", "[::1]:6380"));
	assert_string_equal(b.conf.router_name, "[::1]:6380");
	assert_false(bench_set(&b, "router_name", ""));
	assert_false(bench_set(&b, "router_name", "a b"));
	assert_non_null(strstr(b.err, "is not a name"));
	assert_string_equal(b.conf.router_name, "[::1]:6380");
	assert_true(bench_set(&b, "router_name", "auto"));
	assert_null(b.conf.router_name);

	assert_null(b.conf.ready_file);
	memset(path, 'p', sizeof(path));
	path[4096] = '\0';
	assert_false(bench_set(&b, "ready_file", path));
	path[4095] = '\0';
	assert_true(bench_set(&b, "ready_file", path));
	assert_string_equal(b.conf.ready_file, path);
	static const char *const no_paths[] = {"/tmp/a\nb", "\x7f", "\xff", "\xc3", "a\xc3(",
		"\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf",
		"\xf5\x80\x80\x80", "\xc2\x85", "\x80", "\xe2\x82"};
	for (size_t i = 0; i < ARRAY_LEN(no_paths); i++)
		assert_false(bench_set(&b, "ready_file", no_paths[i]));
	static const char *const odd_paths[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		"\xc2\xa0", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf", " ", "a b"};
	for (size_t i = 0; i < ARRAY_LEN(odd_paths); i++) {
		assert_true(bench_set(&b, "ready_file", odd_paths[i]));
		assert_string_equal(b.conf.ready_file, odd_paths[i]);
	}
	assert_false(bench_set(&b, "ready_file", ""));
	assert_true(bench_set(&b, "ready_file", "none"));
	assert_null(b.conf.ready_file);

	const char *tag = b.conf.pools[0].ring_hash_tag;
	assert_string_equal(tag, "{}");
	assert_true(bench_set(&b, "ring.hash_tag", "$$"));
	assert_string_equal(tag, "$$");
	static const char *const bad[] = {"", "{", "{}{", "{ ", " }", "\x7f}", "\xc3\xa9", "{\n"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(bench_set(&b, "ring.hash_tag", bad[i]));
	assert_string_equal(tag, "$$");
	assert_true(bench_set(&b, "ring.hash_tag", "none"));
	assert_string_equal(tag, "");
	bench_fini(&b);
}

static void auto_threads_are_the_cpus_of_the_process(void **state)
{
	(void)state;
	struct bench b;
	cpu_set_t set;
	bench_init(&b);
	assert_true(bench_set(&b, "threads", "auto"));
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	int cpus = CPU_COUNT(&set);
	assert_int_equal(b.conf.threads, cpus > 256 ? 256 : cpus);
	bench_fini(&b);
}

static void a_wrong_type_says_what_is_right(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value, *what, *range;
	} rows[] = {
		{"threads", "x", "'x' is not a whole number", "1 .. 256 or auto"},
		{"timeouts.request", "10", "'10' is not a time such as 250ms", "1ms .. 60m"},
		{"limits.bulk", "4k", "'4k' is not a size such as 16kb", "1kb .. 64gb"},
		{"retry.budget", "0.2", "'0.2' is not a share such as 20%", "0% .. 100%"},
		{"sole_router", "maybe", "'maybe' is not one of its values", "true or false"},
		{"role", "cach", "'cach' is not one of its values", "store or cache"},
		{"log_level", "INFO", "'INFO' is not one of its values",
			"error, warn, info or debug"},
		{"multikey", "", "'' is not one of its values", "owner or tag"},
		{"ring.hash_tag", "{", "'{' is not two characters", "two characters or none"},
		{"router_name", "a b", "'a b' is not a name", "- [ ] / % or auto"},
		{"ready_file", "", "'' is not a path", "a path or none"},
		{"admin", "h", "'h' is not an address: no port", "host:port, [v6]:port"},
		{"database", "-1", "'-1' is not a whole number", "0 .. 1023"},
		{"admin", "user:secret@h:1", "'***@h:1'", "host:port"},
		{"router_name", "a\x1b[2Jb", "'a\\x1b[2Jb'", "auto"},
	};
	struct bench b;
	bench_init(&b);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_false(bench_set(&b, rows[i].key, rows[i].value));
		if (strstr(b.err, rows[i].key) == NULL || strstr(b.err, rows[i].what) == NULL ||
			strstr(b.err, rows[i].range) == NULL || strncmp(b.err, "ringway: ", 9) != 0)
			fail_msg("%s=%s: %s", rows[i].key, rows[i].value, b.err);
		assert_null(strstr(b.err, "secret"));
		assert_int_equal(b.report.problems, i + 1);
	}
	bench_fini(&b);
}

static void the_nearest_key_is_the_one_that_was_meant(void **state)
{
	(void)state;
	static const struct {
		const char *written, *meant; /* NULL: no idea */
	} rows[] = {
		{"thread", "threads"},
		{"timeouts.requst", "timeouts.request"},
		{"timeout.request", "timeouts.request"},
		{"request", "timeouts.request"},
		{"points", "ring.points"},
		{"ring.pionts", "ring.points"},
		{"limit.bulk", "limits.bulk"},
		{"upstream.stuck-floor", "upstream.stuck_floor"},
		{"on-failure", "on_failure"},
		{"drain", NULL},
		{"zookeeper.root", NULL},
		{"", NULL},
		{".", NULL},
		{"x", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_null(conf_option_find(rows[i].written));
		const struct conf_option *o = conf_option_nearest(rows[i].written);
		const char *got = o == NULL ? "(none)" : o->key;
		const char *want = rows[i].meant == NULL ? "(none)" : rows[i].meant;
		if (strcmp(got, want) != 0)
			fail_msg("%s: %s, not %s", rows[i].written, got, want);
	}
}

static void long_texts_are_cut_in_messages(void **state)
{
	(void)state;
	for (size_t len = 0; len < 700; len++) {
		for (int what = 0; what < 3; what++) {
			char *text = malloc(len + 1);
			char *buf = malloc(CONF_QUOTED_MAX); /* exact, for the sanitizer */
			assert_true(text != NULL && buf != NULL);
			memset(text, what == 0 ? 'a' : '\x01', len);
			text[len] = '\0';
			if (what == 2 && len > 4) {
				text[len / 2 - 1] = ':';
				text[len / 2] = '@';
			}
			conf_quote(buf, text);
			size_t n = strlen(buf);
			assert_true(n >= 2 && n < CONF_QUOTED_MAX);
			assert_true(buf[0] == '\'' && buf[n - 1] == '\'');
			for (size_t i = 0; i < n; i++)
				assert_true(buf[i] >= 0x20 && buf[i] < 0x7f);
			if (what == 0 && len < 300)
				assert_int_equal(n, len + 2);
			free(buf);
			free(text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_complete_and_unique),
		cmocka_unit_test(a_default_is_shown_as_the_table_has_it),
		cmocka_unit_test(defaults_are_those_of_the_contract),
		cmocka_unit_test(what_may_be_reloaded_is_listed),
		cmocka_unit_test(points_agree_with_the_ring),
		cmocka_unit_test(the_ends_of_every_range_are_taken_and_one_beyond_is_not),
		cmocka_unit_test(every_value_lands_in_its_field),
		cmocka_unit_test(no_option_is_left_out_above),
		cmocka_unit_test(a_share_is_kept_between_0_and_1),
		cmocka_unit_test(admin_is_an_address_or_none),
		cmocka_unit_test(names_paths_and_tags_have_a_word_for_unset),
		cmocka_unit_test(auto_threads_are_the_cpus_of_the_process),
		cmocka_unit_test(a_wrong_type_says_what_is_right),
		cmocka_unit_test(the_nearest_key_is_the_one_that_was_meant),
		cmocka_unit_test(long_texts_are_cut_in_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
