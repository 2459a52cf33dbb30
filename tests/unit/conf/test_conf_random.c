/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "base/rand.h"
#include "router/conf/conf_access.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"
#include "tests/unit/conf/run.h"

/*
 * Properties over random configurations: what -t prints is a file that makes the same one, whether
 * it came from flags or from a file; and no command line at all, however odd, does more than be
 * refused.  Seeds are fixed: a failure can be had again.
 */

#define TEXT_MAX 256

struct args {
	char *text[RUN_ARGS_MAX + 1];
	int n;
};

static void args_add(struct args *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void args_add(struct args *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	assert_true(a->n < RUN_ARGS_MAX);
	assert_true(vasprintf(&a->text[a->n++], fmt, ap) >= 0);
	a->text[a->n] = NULL;
	va_end(ap);
}

static void args_free(struct args *a)
{
	for (int i = 0; i < a->n; i++)
		free(a->text[i]);
	memset(a, 0, sizeof(*a));
}

static void args_run(struct run *r, const struct args *a)
{
	run_args(r, (const char *const *)(const void *)a->text);
}

static const char *pick(struct rng *rng, const char *const *from, size_t n)
{
	return from[rng_below(rng, (uint32_t)n)];
}
#define PICK(rng, from) pick(rng, from, ARRAY_LEN(from))

/* ------------------------------------------------------------------------------------------------
 * There and back
 */
static const struct {
	int (*read)(struct span s, uint64_t *ret);
	void (*show)(uint64_t v, char buf[CONF_VALUE_MAX]);
} number_types[] = {
	[CONF_U32] = {conf_read_count, conf_show_count},
	[CONF_THREADS] = {conf_read_count, conf_show_count},
	[CONF_MODE] = {conf_read_mode, conf_show_mode},
	[CONF_SIZE] = {conf_read_size, conf_show_size},
	[CONF_TIME] = {conf_read_time, conf_show_time},
	[CONF_PERCENT] = {conf_read_percent, conf_show_percent},
};

/* Anywhere in the range, small values as likely as large ones. */
static const char *random_number(struct rng *rng, const struct conf_option *o, char buf[TEXT_MAX])
{
	uint64_t min, max;
	assert_int_equal(number_types[o->type].read(span_str(o->min), &min), 0);
	assert_int_equal(number_types[o->type].read(span_str(o->max), &max), 0);
	uint64_t v = rng_u64(rng) >> rng_below(rng, 64);
	v = min + v % (max - min + 1);
	if (strcmp(o->key, "ring.points") == 0)
		v = min + v % 1000; /* printing builds the ring */
	char text[CONF_VALUE_MAX];
	number_types[o->type].show(v, text);
	(void)snprintf(buf, TEXT_MAX, "%s", text);
	return buf;
}

static const char *random_value(struct rng *rng, const struct conf_option *o, char buf[TEXT_MAX])
{
	static const char *const bools[] = {"true", "false", "yes", "no", "on", "off"};
	static const char *const roles[] = {"store", "cache"};
	static const char *const multikeys[] = {"owner", "tag"};
	static const char *const levels[] = {"error", "warn", "info", "debug"};
	static const char *const addresses[] = {
		"none", "127.0.0.1:9180", "[::1]:0", "unix:/a=b", "h:1"};
	static const char *const names[] = {
		"auto", "none", "r1", "127.0.0.1:6380", "[::1]:1", "%/"};
	static const char *const paths[] = {"none", "auto", "/run/r", "a b", "'#: ", "=",
		"\xc3\xa9", "null", "~", "a\\\"b", "- x", "\xf0\x9f\x98\x80", " ", "@x", "{a: b}",
		"[]", "a:", "#", "!x", "&a", "*a", "%a", "|", ">", "? a", "\xef\xbb\xbf",
		"\xef\xbf\xbe", "\xe2\x80\xa8"};
	static const char *const tags[] = {"none", "{}", "$$", "::", "# ", "==", "%s", "\"'"};
	switch (o->type) {
	case CONF_U32:
	case CONF_THREADS:
	case CONF_MODE:
	case CONF_SIZE:
	case CONF_TIME:
	case CONF_PERCENT:
		return random_number(rng, o, buf);
	case CONF_BOOL:
		return PICK(rng, bools);
	case CONF_ROLE:
		return PICK(rng, roles);
	case CONF_MULTIKEY:
		return PICK(rng, multikeys);
	case CONF_ON_FAILURE:
	case CONF_PROTOCOL:
	case CONF_RING_MODE:
		return o->fallback; /* the others are refused */
	case CONF_LOG_LEVEL:
		return PICK(rng, levels);
	case CONF_ADDR:
		return PICK(rng, addresses);
	case CONF_NAME:
		return PICK(rng, names);
	case CONF_PATH:
		return PICK(rng, paths);
	case CONF_TAG:
		return PICK(rng, tags);
	case CONF_TYPE_COUNT:
		break;
	}
	fail();
	return NULL;
}

static void random_args(struct rng *rng, struct args *a)
{
	static const char *const listeners[] = {
		"127.0.0.1:0", "[::1]:6380", "unix:/run/r", "x:6 proxy"};
	char buf[TEXT_MAX], weight[CONF_VALUE_MAX];
	for (size_t i = 0; i < conf_option_count; i++) {
		if (rng_below(rng, 3) > 0)
			args_add(a, "--set=%s=%s", conf_options[i].key,
				random_value(rng, &conf_options[i], buf));
	}
	if (rng_below(rng, 2))
		args_add(a, "--pool=p%u", rng_below(rng, 9));
	for (uint32_t i = 0; i <= rng_below(rng, ARRAY_LEN(listeners)); i++)
		args_add(a, "--listen=%s", listeners[i]);
	for (uint32_t i = 0; i <= rng_below(rng, 6); i++) {
		conf_show_decimal(rng_below(rng, 3000), weight);
		args_add(a, "--node=%s10.0.0.%u:7001*%s",
			rng_below(rng, 2) ? ""
			: i % 2           ? "n="
					  : "m=",
			i, weight);
	}
}

static void expect_same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a != NULL)
		assert_string_equal(a, b);
}

static void expect_same_users(const struct conf_access *a, const struct conf_access *b)
{
	assert_int_equal(a->nusers, b->nusers);
	for (size_t i = 0; i < a->nusers; i++) {
		const struct conf_user *x = &a->users[i], *y = &b->users[i];
		assert_string_equal(x->name, y->name);
		assert_int_equal(x->npasswords, y->npasswords);
		for (size_t k = 0; k < x->npasswords; k++) {
			assert_string_equal(x->passwords[k].file, y->passwords[k].file);
			assert_string_equal(x->passwords[k].text, y->passwords[k].text);
		}
		assert_memory_equal(x->denied, y->denied, sizeof(x->denied));
	}
	expect_same_text(a->node_user, b->node_user);
	expect_same_text(a->node_password.file, b->node_password.file);
}

static void expect_same_pool(const struct conf_pool *a, const struct conf_pool *b)
{
	struct conf_pool x = *a, y = *b;
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->nlisten, b->nlisten);
	for (size_t i = 0; i < a->nlisten; i++) {
		assert_true(addr_eq(&a->listen[i].address, &b->listen[i].address));
		assert_int_equal(a->listen[i].proxy, b->listen[i].proxy);
	}
	assert_int_equal(a->nnodes, b->nnodes);
	for (size_t i = 0; i < a->nnodes; i++) {
		assert_string_equal(a->nodes[i].name, b->nodes[i].name);
		assert_int_equal(a->nodes[i].named, b->nodes[i].named);
		assert_true(addr_eq(&a->nodes[i].address, &b->nodes[i].address));
		assert_int_equal(a->nodes[i].weight_milli, b->nodes[i].weight_milli);
	}
	expect_same_users(a->access, b->access);
	x.name = y.name = NULL;
	x.listen = y.listen = NULL;
	x.nodes = y.nodes = NULL;
	x.access = y.access = NULL;
	x.role_given = y.role_given = true;
	x.from_file = y.from_file = true;
	assert_memory_equal(&x, &y, sizeof(x));
}

static void expect_same(const struct conf *a, const struct conf *b)
{
	struct conf x, y;
	expect_same_text(a->router_name, b->router_name);
	expect_same_text(a->ready_file, b->ready_file);
	assert_int_equal(a->npools, b->npools);
	for (size_t i = 0; i < a->npools; i++)
		expect_same_pool(&a->pools[i], &b->pools[i]);
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	x.router_name = y.router_name = NULL;
	x.ready_file = y.ready_file = NULL;
	x.file = y.file = NULL;
	x.argc = y.argc = 0;
	x.argv = y.argv = NULL;
	x.pools = y.pools = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
}

/* False: this one was refused, as random values may be. */
static bool there_and_back(const struct run *first)
{
	struct run second;
	if (first->exit != CONF_GO_ON) {
		RUN_EXPECT(first->exit == CONF_EXIT_BAD, "random values", first);
		return false;
	}
	char *printed = run_print(&first->conf);
	run_file(&second, printed, NULL);
	RUN_EXPECT(second.exit == CONF_GO_ON, printed, &second);
	expect_same(&first->conf, &second.conf);
	assert_int_equal(conf_reload_check(&first->conf, &second.conf, stderr), 0);
	assert_int_equal(conf_print_changes(&first->conf, &second.conf, stderr), 0);
	char *again = run_print(&second.conf);
	assert_string_equal(printed, again);
	free(again);
	free(printed);
	run_fini(&second);
	return true;
}

static void what_flags_make_is_printed_as_a_file_that_makes_the_same(void **state)
{
	(void)state;
	struct rng rng;
	rng_seed(&rng, 1);
	int good = 0;
	for (int i = 0; i < 1000; i++) {
		struct args args = {0};
		struct run r;
		random_args(&rng, &args);
		args_run(&r, &args);
		args_free(&args);
		good += there_and_back(&r);
		run_fini(&r);
	}
	assert_true(good > 50);
}

/* ------------------------------------------------------------------------------------------------
 * Random files
 */

/* In quotes, all that YAML could take for something else escaped. */
static void put_quoted(FILE *f, const char *text)
{
	(void)fputc('"', f);
	for (; *text != '\0'; text++)
		(void)fprintf(f, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	(void)fputc('"', f);
}

static void put_options(FILE *f, struct rng *rng, enum conf_scope scope, const char *indent)
{
	char buf[TEXT_MAX], open[32] = "";
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		const char *dot = strchr(o->key, '.');
		if (o->scope != scope || (o->type != CONF_ROLE && rng_below(rng, 3) > 0))
			continue;
		if (dot != NULL && strncmp(open, o->key, (size_t)(dot - o->key + 1)) != 0) {
			(void)snprintf(open, sizeof(open), "%.*s.", (int)(dot - o->key), o->key);
			(void)fprintf(f, "%s%.*s:\n", indent, (int)(dot - o->key), o->key);
		}
		(void)fprintf(f, "%s%s%s: ", indent, dot != NULL ? "   " : "",
			dot != NULL ? dot + 1 : o->key);
		put_quoted(f, random_value(rng, o, buf));
		(void)fputc('\n', f);
	}
}

static void put_users(FILE *f, struct rng *rng)
{
	static const char *const deny[] = {
		"", ", deny: [KEYS]", ", deny: []", ", deny: [config|set, \"@dangerous\", get]"};
	static const char *const files[] = {"", ", password_files: [a.pw]",
		", password_files: [b.pw, a.pw]", ", password_files: [\"o d:d#.pw\"]"};
	if (rng_below(rng, 2))
		return;
	(void)fputs("    clients:\n", f);
	for (uint32_t i = 0; i <= rng_below(rng, 4); i++)
		(void)fprintf(f, "    - {user: \"%s%u\"%s%s}\n", rng_below(rng, 2) ? "u" : "%{'#",
			i, PICK(rng, deny), PICK(rng, files));
	if (rng_below(rng, 2))
		(void)fprintf(f, "    node_auth: {password_file: a.pw%s}\n",
			rng_below(rng, 2) ? ", user: \"n:\"" : "");
}

static void put_pool(FILE *f, struct rng *rng, unsigned at)
{
	char weight[CONF_VALUE_MAX];
	(void)fprintf(f, "  - name: \"%s%u\"\n", rng_below(rng, 2) ? "p" : "[%/", at);
	put_options(f, rng, CONF_POOL, "    ");
	(void)fprintf(f, "    listen: [\"[::1]:%u\", h:0 proxy]\n", 100 + at);
	put_users(f, rng);
	(void)fputs("    nodes:\n", f);
	for (uint32_t i = 0; i <= rng_below(rng, 5); i++) {
		conf_show_decimal(rng_below(rng, 3000), weight);
		(void)fprintf(f, "    - {%saddress: %s%u:7001, weight: %s}\n",
			rng_below(rng, 2) ? ""
			: i % 2           ? "name: \"n:\", "
					  : "name: null_, ",
			rng_below(rng, 2) ? "redis://h" : "10.0.0.", i, weight);
	}
}

static void what_files_make_is_printed_as_a_file_that_makes_the_same(void **state)
{
	(void)state;
	struct rng rng;
	rng_seed(&rng, 3);
	run_write("a.pw", "one", 3);
	run_write("b.pw", "two", 3);
	run_write("o d:d#.pw", "three", 5);
	int good = 0;
	for (int i = 0; i < 1000; i++) {
		char *text;
		size_t len;
		FILE *f = open_memstream(&text, &len);
		assert_non_null(f);
		put_options(f, &rng, CONF_ROUTER, "");
		(void)fputs("pools:\n", f);
		for (uint32_t k = 0; k <= rng_below(&rng, 3); k++)
			put_pool(f, &rng, k);
		(void)fclose(f);
		struct run r;
		run_file(&r, text, NULL);
		good += there_and_back(&r);
		run_fini(&r);
		free(text);
	}
	assert_true(good > 200);
}

/* ------------------------------------------------------------------------------------------------
 * Anything at all
 */
static const char *const scraps[] = {"--listen", "--node", "--set", "--admin", "--pool", "--role",
	"--threads", "--sole-router", "--ready-file", "--log-level", "-t", "--help", "--version",
	"-c", "--zookeeper", "=", "*", ":", "[", "]", "::1", "127.0.0.1", "h", "unix:", "/",
	"redis://", "memcached://", "rediss://", "u:p@", "7001", "0", "65536", "1", "1000", "0.5",
	"-1", "18446744073709551616", "ms", "kb", "%", "auto", "none", "cache", "store", "eject",
	"{}", "threads", "timeouts.request", "limits.bulk", "ring.points", "on_failure", ".", "--",
	"-", " ", "\n", "\x7f", "\xff", "%s%n", "a", "b"};

/* Flags that take any text as value: the way to what comes after cutting. */
static const char *const starts[] = {"--listen", "--node", "--node=a", "--admin", "--pool",
	"--role", "--set=threads", "--set=timeouts.request", "--set=limits.bulk",
	"--set=retry.budget", "--set=ring.hash_tag", "--set=router_name", "--set=ready_file",
	"--set"};

static void random_text(struct rng *rng, char *buf, size_t size)
{
	size_t n = 0;
	buf[0] = '\0';
	for (uint32_t left = rng_below(rng, 7); left > 0 && n < size - 32; left--) {
		if (rng_below(rng, 12) == 0)
			n += (size_t)snprintf(
				buf + n, size - n, "%c", 1 + (int)rng_below(rng, 255));
		else
			n += (size_t)snprintf(buf + n, size - n, "%s", PICK(rng, scraps));
	}
}

static void one_odd_line(struct rng *rng, size_t ends[4])
{
	static const struct conf empty;
	struct args args = {0};
	char text[TEXT_MAX];
	if (rng_below(rng, 2)) /* half of them need little more to be right */
		args_add(&args, "--listen=h:%u", rng_below(rng, 3));
	if (rng_below(rng, 2))
		args_add(&args, "--node=n=h:%u*%u", rng_below(rng, 3), rng_below(rng, 3));
	for (uint32_t left = rng_below(rng, 6); left > 0; left--) {
		random_text(rng, text, sizeof(text));
		if (rng_below(rng, 8) == 0)
			args_add(&args, "%s", PICK(rng, scraps));
		else if (rng_below(rng, 8) == 0)
			args_add(&args, "%s", text);
		else
			args_add(&args, "%s=%s", PICK(rng, starts), text);
	}
	struct run r;
	args_run(&r, &args);
	args_free(&args);
	assert_true(r.exit <= CONF_EXIT_BAD);
	ends[r.exit]++;
	bool refused = r.exit == CONF_EXIT_BAD || r.exit == CONF_EXIT_USAGE;
	RUN_EXPECT((r.err[0] != '\0') == refused, "odd line", &r);
	for (const char *p = r.err; *p != '\0'; p++)
		RUN_EXPECT(*p == '\n' || (*p >= 0x20 && *p < 0x7f), "odd line", &r);
	if (r.exit != CONF_GO_ON)
		RUN_EXPECT(memcmp(&r.conf, &empty, sizeof(empty)) == 0, "odd line", &r);
	else
		free(run_print(&r.conf));
	run_fini(&r);
}

static void odd_command_lines_are_only_refused(void **state)
{
	(void)state;
	struct rng rng;
	size_t ends[4] = {0};
	rng_seed(&rng, 2);
	for (int i = 0; i < 20000; i++)
		one_odd_line(&rng, ends);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (ends[i] < 100) /* else the lines are not odd in enough ways */
			fail_msg("exit %zu: only %zu of 20000", i, ends[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_flags_make_is_printed_as_a_file_that_makes_the_same),
		cmocka_unit_test(what_files_make_is_printed_as_a_file_that_makes_the_same),
		cmocka_unit_test(odd_command_lines_are_only_refused),
	};
	return cmocka_run_group_tests(tests, run_enter_folder, run_leave_folder);
}
