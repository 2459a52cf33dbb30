/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "base/rand.h"
#include "router/conf/conf_internal.h"
#include "router/conf/conf_option.h"
#include "router/conf/conf_value.h"
#include "tests/unit/conf/run.h"

/*
 * Two properties over random command lines: what -t prints, given back with --set, is the same
 * configuration; and no command line at all, however odd, does more than be refused.  Seeds are
 * fixed: a failure can be had again.
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
	static const char *const paths[] = {
		"none", "auto", "/run/r", "a b", "'#: ", "=", "\xc3\xa9"};
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
		return "fail_fast"; /* the other one is refused */
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
	static const char *const listeners[] = {"127.0.0.1:0", "[::1]:6380", "unix:/run/r", "x:6"};
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

/* One printed line as a flag. */
static void give_back(struct args *a, const char *line, size_t len)
{
	static const char node[] = "node: name=", listen[] = "listen: ", pool[] = "# pool ";
	char *copy = strndup(line, len);
	assert_non_null(copy);
	char *colon = strstr(copy, ": ");
	if (strncmp(copy, node, sizeof(node) - 1) == 0) {
		char name[TEXT_MAX], address[TEXT_MAX], weight[TEXT_MAX];
		assert_int_equal(sscanf(copy, "node: name=%255s address=%255s weight=%255s share=",
					 name, address, weight),
			3);
		args_add(a, "--node=%s=%s*%s", name, address, weight);
	} else if (strncmp(copy, listen, sizeof(listen) - 1) == 0) {
		args_add(a, "--listen=%s", copy + sizeof(listen) - 1);
	} else if (strncmp(copy, pool, sizeof(pool) - 1) == 0 && colon == NULL) {
		args_add(a, "--pool=%s", copy + sizeof(pool) - 1);
	} else if (copy[0] != '#' && colon != NULL && strncmp(copy, "at ", 3) != 0) {
		*colon = '\0';
		assert_non_null(conf_option_find(copy));
		args_add(a, "--set=%s=%s", copy, colon + 2);
	}
	free(copy);
}

static void give_all_back(struct args *a, const char *printed)
{
	const char *end;
	for (const char *line = printed; (end = strchr(line, '\n')) != NULL; line = end + 1)
		give_back(a, line, (size_t)(end - line));
}

static void expect_same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a != NULL)
		assert_string_equal(a, b);
}

static void expect_same_pool(const struct conf_pool *a, const struct conf_pool *b)
{
	struct conf_pool x = *a, y = *b;
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->nlisten, b->nlisten);
	for (size_t i = 0; i < a->nlisten; i++)
		assert_true(addr_eq(&a->listen[i], &b->listen[i]));
	assert_int_equal(a->nnodes, b->nnodes);
	for (size_t i = 0; i < a->nnodes; i++) {
		assert_string_equal(a->nodes[i].name, b->nodes[i].name);
		assert_true(addr_eq(&a->nodes[i].address, &b->nodes[i].address));
		assert_int_equal(a->nodes[i].weight_milli, b->nodes[i].weight_milli);
	}
	x.name = y.name = NULL;
	x.listen = y.listen = NULL;
	x.nodes = y.nodes = NULL;
	x.role_given = y.role_given = true;
	assert_memory_equal(&x, &y, sizeof(x));
}

static void expect_same(const struct conf *a, const struct conf *b)
{
	struct conf x, y;
	expect_same_text(a->router_name, b->router_name);
	expect_same_text(a->ready_file, b->ready_file);
	expect_same_pool(&a->pools[0], &b->pools[0]);
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	x.router_name = y.router_name = NULL;
	x.ready_file = y.ready_file = NULL;
	x.pools = y.pools = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
}

/* False: this one was refused, as random values may be. */
static bool there_and_back(struct rng *rng)
{
	struct args args = {0}, again = {0};
	struct run first, second;
	random_args(rng, &args);
	args_run(&first, &args);
	args_free(&args);
	bool good = first.exit == CONF_GO_ON;
	if (good) {
		char *printed = run_print(&first.conf);
		give_all_back(&again, printed);
		args_run(&second, &again);
		args_free(&again);
		RUN_EXPECT(second.exit == CONF_GO_ON, printed, &second);
		expect_same(&first.conf, &second.conf);
		free(printed);
		run_fini(&second);
	} else {
		RUN_EXPECT(first.exit == CONF_EXIT_BAD, "random values", &first);
	}
	run_fini(&first);
	return good;
}

static void what_is_printed_given_back_is_the_same(void **state)
{
	(void)state;
	struct rng rng;
	rng_seed(&rng, 1);
	int good = 0;
	for (int i = 0; i < 1000; i++)
		good += there_and_back(&rng);
	assert_true(good > 50);
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
		cmocka_unit_test(what_is_printed_given_back_is_the_same),
		cmocka_unit_test(odd_command_lines_are_only_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
