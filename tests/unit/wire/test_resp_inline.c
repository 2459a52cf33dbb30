/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "tests/unit/wire/resp_feed.h"

static void check_line(struct span in, uint32_t n, const char *args)
{
	struct outcome o = feed_in_every_way(in);
	assert_int_equal(o.status, RESP_DONE);
	assert_int_equal(o.pos, in.len);
	assert_int_equal(o.n, n);
	assert_string_equal(o.args, args);
	assert_true(o.inline_form);
	assert_true(o.split_done);
	assert_false(o.loose);
	outcome_fini(&o);
}

static void lines_are_split_as_redis_splits_them(void **state)
{
	static const struct {
		struct span in;
		uint32_t n;
		const char *args;
	} rows[] = {
		{SPAN("PING\r\n"), 1, "4:PING,"},
		{SPAN("PING\n"), 1, "4:PING,"},
		{SPAN("SET k v\r\n"), 3, "3:SET,1:k,1:v,"},
		{SPAN("  SET \t k\f\v  v \t\r\n"), 3, "3:SET,3:k\f\v,1:v,"},
		{SPAN("\v\fPING\r\n"), 1, "4:PING,"},
		{SPAN("a\vb\r\n"), 1, "3:a\vb,"},
		{SPAN("a\rb\r\n"), 2, "1:a,1:b,"},
		{SPAN("a\r\r\n"), 1, "1:a,"},
		{SPAN("$4\r\n"), 1, "2:$4,"},
		{SPAN("\xff\x80 \x01\r\n"), 2, "2:\xff\x80,1:\x01,"},
		/* double quotes */
		{SPAN("ECHO \"two words\"\r\n"), 2, "4:ECHO,9:two words,"},
		{SPAN("ECHO \"\"\r\n"), 2, "4:ECHO,0:,"},
		{SPAN("\"\" \"\"\r\n"), 2, "0:,0:,"},
		{SPAN("ECHO \"\\n\\r\\t\\b\\a\"\r\n"), 2, "4:ECHO,5:\n\r\t\b\a,"},
		{SPAN("ECHO \"\\x41\\xfF\\xZ1\\x4\"\r\n"), 2, "4:ECHO,7:A\xffxZ1x4,"},
		{SPAN("ECHO \"\\x4\"\r\n"), 2, "4:ECHO,2:x4,"},
		{SPAN("ECHO \"\\\"\\\\\\q\\'\"\r\n"), 2, "4:ECHO,4:\"\\q',"},
		{SPAN("ECHO \"it's\"\r\n"), 2, "4:ECHO,4:it's,"},
		{SPAN("ECHO x\"y z\"\r\n"), 2, "4:ECHO,4:xy z,"},
		{SPAN("ECHO \"a\"\vb\r\n"), 3, "4:ECHO,1:a,1:b,"},
		{SPAN("ECHO \"a\"\r\n"), 2, "4:ECHO,1:a,"},
		{SPAN("ECHO \"a\"\rb\n"), 3, "4:ECHO,1:a,1:b,"},
		/* single quotes */
		{SPAN("ECHO 'two words'\r\n"), 2, "4:ECHO,9:two words,"},
		{SPAN("ECHO ''\r\n"), 2, "4:ECHO,0:,"},
		{SPAN("ECHO 'it\\'s \\n \\x41 \\\\ '\r\n"), 2, "4:ECHO,16:it's \\n \\x41 \\\\ ,"},
		{SPAN("ECHO '\"'\r\n"), 2, "4:ECHO,1:\","},
		{SPAN("ECHO x'y z'\r\n"), 2, "4:ECHO,4:xy z,"},
		/* a backslash outside quotes is a byte like any other */
		{SPAN("ECHO a\\nb \\\"c\"\r\n"), 3, "4:ECHO,4:a\\nb,2:\\c,"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_line(rows[i].in, rows[i].n, rows[i].args);
}

static void empty_lines_are_nothing(void **state)
{
	static const struct span rows[] = {
		SPAN("\n"), SPAN("\r\n"), SPAN("   \r\n"), SPAN(" \t\v\f\r \n"), SPAN("\r\r\n")};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_line(rows[i], 0, "");
}

static void quotes_must_balance(void **state)
{
	static const struct span rows[] = {SPAN("ECHO \"a\r\n"), SPAN("ECHO 'a\r\n"),
		SPAN("ECHO \"\r\n"), SPAN("ECHO '\r\n"), SPAN("ECHO \"a\\\r\n"),
		SPAN("ECHO \"a\\\"\r\n"), SPAN("ECHO 'a\\'\r\n"), SPAN("ECHO \"a\"b\r\n"),
		SPAN("ECHO 'a'b\r\n"), SPAN("ECHO \"a\"\"b\"\r\n"), SPAN("ECHO \"\\x4\r\n"),
		SPAN("\"\n"), SPAN("a'\n"), SPAN("ECHO 'a\\\\'\r\n")};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = feed_in_every_way(rows[i]);
		assert_int_equal(o.status, RESP_BAD);
		assert_string_equal(o.error, "Protocol error: unbalanced quotes in request");
	}
}

static void only_the_first_line_is_taken(void **state)
{
	struct outcome o = feed_in_every_way(SPAN("GET k\r\n\"GET\r\n"));
	(void)state;
	assert_int_equal(o.status, RESP_DONE);
	assert_int_equal(o.pos, 7);
	assert_string_equal(o.args, "3:GET,1:k,");
	outcome_fini(&o);
}

static void a_line_without_an_end_waits(void **state)
{
	static const struct span rows[] = {SPAN("GET k"), SPAN("GET k\r"), SPAN("\"unbalanced"),
		SPAN("PI\0NG\r\nPING\r\n"), SPAN("\0\r\n")};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = feed_in_every_way(rows[i]);
		assert_int_equal(o.status, RESP_MORE);
	}
}

/* 'a' * len, `tail` behind them. */
static struct outcome feed_long(size_t len, const char *tail, size_t first, size_t step)
{
	size_t size = len + strlen(tail);
	uint8_t *text = malloc(size);
	assert_non_null(text);
	memset(text, 'a', len);
	memcpy(text + len, tail, strlen(tail));
	struct outcome o = feed_in_steps(span_of(text, size), first < size ? first : size, step);
	free(text);
	return o;
}

static void a_line_ends_within_64_kib(void **state)
{
	static const struct {
		size_t len;
		const char *tail;
		enum resp_status status;
	} rows[] = {
		{65535, "", RESP_MORE},
		{65536, "", RESP_MORE},
		{65537, "", RESP_BAD},
		{65535, "\n", RESP_DONE},
		{65535, "\r\n", RESP_DONE},
		{65536, "\n", RESP_DONE},
		{65536, "\r\n", RESP_BAD},
		{65537, "\n", RESP_BAD},
	};
	static const size_t steps[][2] = {{SIZE_MAX, 0}, {65530, 1}, {0, 4099}, {65536, 0}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(steps); i++) {
		const size_t row = i / ARRAY_LEN(steps);
		const size_t *step = steps[i % ARRAY_LEN(steps)];
		struct outcome o = feed_long(rows[row].len, rows[row].tail, step[0], step[1]);
		assert_int_equal(o.status, rows[row].status);
		if (o.status == RESP_BAD)
			assert_string_equal(o.error, "Protocol error: too big inline request");
		if (o.status == RESP_DONE)
			assert_int_equal(o.args_len, rows[row].len + strlen("65535:,"));
		outcome_fini(&o);
	}
}

static void spans_stay_valid_while_the_buffer_grows(void **state)
{
	struct resp_args args = {0};
	char line[20001];
	(void)state;
	for (size_t len = 2; len <= 20000; len *= 10) {
		for (size_t i = 0; i < len; i += 2)
			memcpy(line + i, i % 4 == 0 ? "a " : "b ", 2);
		line[len - 1] = '\n';
		struct resp_request st = {0};
		assert_int_equal(resp_request_scan(&st, (uint8_t *)line, len, &args), RESP_DONE);
		assert_int_equal(args.n, len / 2);
		assert_true(args.unescaped_cap <= RESP_INLINE_MAX);
		for (uint32_t i = 0; i < args.n; i++)
			assert_true(span_eq(args.v[i], i % 2 == 0 ? SPAN("a") : SPAN("b")));
	}
	resp_args_trim(&args);
	assert_true(args.unescaped_cap <= 4096);
	resp_args_fini(&args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_split_as_redis_splits_them),
		cmocka_unit_test(empty_lines_are_nothing),
		cmocka_unit_test(quotes_must_balance),
		cmocka_unit_test(only_the_first_line_is_taken),
		cmocka_unit_test(a_line_without_an_end_waits),
		cmocka_unit_test(a_line_ends_within_64_kib),
		cmocka_unit_test(spans_stay_valid_while_the_buffer_grows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
