/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "router/wire/resp_write.h"
#include "tests/unit/wire/resp_feed.h"

#define MB_512 "536870912"

struct row {
	struct span in;
	const char *args; /* "len:bytes," for each */
	uint32_t n;
	bool loose;
};

static void check_row(const struct row *row, struct span in)
{
	struct outcome o = feed_in_every_way(in);
	assert_int_equal(o.status, RESP_DONE);
	assert_int_equal(o.pos, row->in.len);
	assert_int_equal(o.n, row->n);
	assert_string_equal(o.args, row->args);
	assert_int_equal(o.loose, row->loose);
	assert_false(o.inline_form);
	assert_true(o.split_done); /* whole: the arguments came with the scan */
	outcome_fini(&o);
}

static void arrays_of_bulks_are_requests(void **state)
{
	static const struct row rows[] = {
		{SPAN("*1\r\n$4\r\nPING\r\n"), "4:PING,", 1, false},
		{SPAN("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), "3:GET,1:k,", 2, false},
		{SPAN("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"), "3:SET,1:k,0:,", 3, false},
		{SPAN("*2\r\n$4\r\nECHO\r\n$12\r\n\r\n$1\r\n*1\r\nab\r\n"),
			"4:ECHO,12:\r\n$1\r\n*1\r\nab,", 2, false},
		{SPAN("*10\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$"
		      "1\r\ng\r\n"
		      "$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n"),
			"1:a,1:b,1:c,1:d,1:e,1:f,1:g,1:h,1:i,1:j,", 10, false},
		{SPAN("*1\r\n$0\r\n\r\n"), "0:,", 1, false},
		/* bulks inside a bulk, wherever it is cut */
		{SPAN("*2\r\n$14\r\n$1\r\na\r\n$1\r\nb\r\n\r\n$1\r\nc\r\n"),
			"14:$1\r\na\r\n$1\r\nb\r\n,1:c,", 2, false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i], rows[i].in);
}

static void what_follows_a_request_is_left_alone(void **state)
{
	static const struct row row = {
		SPAN("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), "3:GET,1:k,", 2, false};
	(void)state;
	check_row(&row, SPAN("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*x\r\n"));
	check_row(&row, SPAN("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n\r\n"));
	check_row(&row, SPAN("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n\0"));
}

static void requests_that_are_nothing_have_no_arguments(void **state)
{
	static const struct row rows[] = {
		{SPAN("*0\r\n"), "", 0, false},
		{SPAN("*-1\r\n"), "", 0, false},
		{SPAN("*-10\r\n"), "", 0, false},
		{SPAN("*-9223372036854775808\r\n"), "", 0, false},
		{SPAN("*0\rx"), "", 0, true},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i], rows[i].in);
}

static void line_ends_that_redis_does_not_look_at_are_loose(void **state)
{
	static const struct row rows[] = {
		{SPAN("*1\rx$4\r\nPING\r\n"), "4:PING,", 1, true},
		{SPAN("*1\r\r$4\r\nPING\r\n"), "4:PING,", 1, true},
		{SPAN("*1\r\0$4\r\nPING\r\n"), "4:PING,", 1, true},
		{SPAN("*1\r\n$4\r$PING\r\n"), "4:PING,", 1, true},
		{SPAN("*1\r\n$4\r\nPING\n\r"), "4:PING,", 1, true},
		{SPAN("*1\r\n$4\r\nPING\0\0"), "4:PING,", 1, true},
		{SPAN("*1\r\n$4\r\nPING\r\r"), "4:PING,", 1, true},
		{SPAN("*2\r\n$1\r\nax\n$1\r\nb\r\n"), "1:a,1:b,", 2, true},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i], rows[i].in);
}

static const char bad_count[] = "Protocol error: invalid multibulk length";
static const char bad_bulk[] = "Protocol error: invalid bulk length";
static const struct {
	struct span in;
	const char *error;
} broken[] = {
	{SPAN("*\r\n"), bad_count},
	{SPAN("*x\r\n"), bad_count},
	{SPAN("*:\r\n"), bad_count},
	{SPAN("*/\r\n"), bad_count},
	{SPAN("*1x\r\n"), bad_count},
	{SPAN("* 1\r\n"), bad_count},
	{SPAN("*+1\r\n"), bad_count},
	{SPAN("*01\r\n"), bad_count},
	{SPAN("*-0\r\n"), bad_count},
	{SPAN("*-\r\n"), bad_count},
	{SPAN("*--1\r\n"), bad_count},
	{SPAN("*1\n$4\r\n"), bad_count},
	{SPAN("*x\r\0"), bad_count},
	{SPAN("*2147483648\r\n"), bad_count},
	{SPAN("*9223372036854775807\r\n"), bad_count},
	{SPAN("*9223372036854775808\r\n"), bad_count},
	{SPAN("*-9223372036854775809\r\n"), bad_count},
	{SPAN("*00000000000000000000001\r\n"), bad_count},
	{SPAN("*1\r\n$\r\n"), bad_bulk},
	{SPAN("*1\r\n$-1\r\n"), bad_bulk},
	{SPAN("*1\r\n$:\r\n"), bad_bulk},
	{SPAN("*1\r\n$1/\r\n"), bad_bulk},
	{SPAN("*1\r\n$1/\r\n123456789\r\n"), bad_bulk},
	{SPAN("*1\r\n$1:\r\n12345678901234567890\r\n"), bad_bulk},
	{SPAN("*1\r\n$04\r\nPING\r\n"), bad_bulk},
	{SPAN("*1\r\n$00\r\n\r\n"), bad_bulk},
	{SPAN("*1\r\n$+4\r\nPING\r\n"), bad_bulk},
	{SPAN("*1\r\n$4 \r\nPING\r\n"), bad_bulk},
	{SPAN("*1\r\n$4\n\r\n"), bad_bulk},
	{SPAN("*1\r\n$536870913\r\n"), bad_bulk},
	{SPAN("*1\r\n$9999999999\r\n"), bad_bulk},
	{SPAN("*1\r\n$18446744073709551616\r\n"), bad_bulk},
	{SPAN("*2\r\n$3\r\nGET\r\n$x\r\n"), bad_bulk},
	{SPAN("*1\r\nx\r\n"), "Protocol error: expected '$', got 'x'"},
	{SPAN("*1\r\n4\r\nPING\r\n"), "Protocol error: expected '$', got '4'"},
	{SPAN("*1\r\n*1\r\n"), "Protocol error: expected '$', got '*'"},
	{SPAN("*2\r\n$3\r\nGET\r\n:5\r\n"), "Protocol error: expected '$', got ':'"},
	{SPAN("*1\r\n\xff\x01\r\n"), "Protocol error: expected '$', got '\xff'"},
	{SPAN("*1\r\n\x01\r\n"), "Protocol error: expected '$', got '\x01'"},
	{SPAN("*1\r\n\r\n"), "Protocol error: expected '$', got ' '"},
	{SPAN("*1\r\n\n\r\n"), "Protocol error: expected '$', got ' '"},
};

static void broken_requests_get_redis_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct outcome o = feed_in_every_way(broken[i].in);
		assert_int_equal(o.status, RESP_BAD);
		assert_string_equal(o.error, broken[i].error);
	}
}

static void an_error_waits_for_the_byte_after_cr(void **state)
{
	static const struct span rows[] = {
		SPAN("*x"), SPAN("*x\r"), SPAN("*1\r\nx"), SPAN("*1\r\nx\r"), SPAN("*1\r\n$-1\r")};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = feed_in_every_way(rows[i]);
		assert_int_equal(o.status, RESP_MORE);
	}
}

static void a_nul_hides_the_end_of_a_line(void **state)
{
	static const struct span rows[] = {SPAN("*1\0\r\n$4\r\nPING\r\n"), SPAN("*\0\r\n"),
		SPAN("*1\r\n$4\0\r\nPING\r\n"), SPAN("*1\r\n\0\r\n")};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = feed_in_every_way(rows[i]);
		assert_int_equal(o.status, RESP_MORE);
	}
}

/* prefix, then `len` bytes of a line in all (its first bytes given), then tail. */
static struct span long_line(const char *prefix, const char *first, size_t len, const char *tail)
{
	size_t size = strlen(prefix) + len + strlen(tail);
	char *text = malloc(size + 1);
	assert_non_null(text);
	char *at = stpcpy(text, prefix);
	memset(at, '1', len);
	memcpy(at, first, strlen(first));
	memcpy(at + len, tail, strlen(tail));
	return span_of(text, size);
}

static void check_long_line(const char *prefix, const char *first, size_t len, const char *tail,
	enum resp_status status, const char *error)
{
	static const size_t steps[][2] = {
		{SIZE_MAX, 0}, {0, 8191}, {65530, 1}, {65535, 1}, {10, 0}};
	struct span in = long_line(prefix, first, len, tail);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		size_t start = steps[i][0] < in.len ? steps[i][0] : in.len;
		struct outcome o = feed_in_steps(in, start, steps[i][1]);
		assert_int_equal(o.status, status);
		assert_string_equal(o.error, error);
		outcome_fini(&o);
	}
	uint8_t *bytes = NULL;
	memcpy(&bytes, &in.ptr, sizeof(bytes));
	free(bytes);
}

static void length_lines_end_within_64_kib(void **state)
{
	static const char too_many[] = "Protocol error: too big mbulk count string";
	static const char too_big[] = "Protocol error: too big bulk count string";
	static const char count[] = "Protocol error: invalid multibulk length";
	static const char bulk[] = "Protocol error: invalid bulk length";
	(void)state;
	check_long_line("", "*", 65535, "", RESP_MORE, "");
	check_long_line("", "*", 65536, "", RESP_MORE, "");
	check_long_line("", "*", 65537, "", RESP_BAD, too_many);
	check_long_line("", "*", 65536, "\r", RESP_MORE, "");
	check_long_line("", "*", 65536, "\r\n", RESP_BAD, count);
	check_long_line("", "*", 65537, "\r\n", RESP_BAD, too_many);
	check_long_line("*1\r\n", "$", 65535, "", RESP_MORE, "");
	check_long_line("*1\r\n", "$", 65536, "", RESP_MORE, "");
	check_long_line("*1\r\n", "$", 65537, "", RESP_BAD, too_big);
	check_long_line("*1\r\n", "$", 65536, "\r\n", RESP_BAD, bulk);
	check_long_line("*1\r\n", "$", 65537, "\r\n", RESP_BAD, too_big);
	/* the '$' is looked at only once the line has an end */
	check_long_line("*1\r\n", "x", 65537, "", RESP_BAD, too_big);
	check_long_line("*2\r\n$1\r\na\r\n", "$", 65537, "", RESP_BAD, too_big);
}

static void a_hidden_line_ends_at_64_kib(void **state)
{
	(void)state;
	struct span in = long_line("*1\r\n", "$4\x01\r\n", 65537, "");
	uint8_t *bytes = NULL;
	memcpy(&bytes, &in.ptr, sizeof(bytes));
	bytes[6] = 0; /* behind "*1\r\n$4" */
	struct outcome o = feed_in_steps(span_of(bytes, in.len - 1), 5, 1000);
	assert_int_equal(o.status, RESP_MORE);
	o = feed_in_steps(in, 5, 1000);
	assert_int_equal(o.status, RESP_BAD);
	assert_string_equal(o.error, "Protocol error: too big bulk count string");
	free(bytes);
}

static void announced_numbers_cost_nothing(void **state)
{
	static const struct span rows[] = {SPAN("*2147483647\r\n"),
		SPAN("*2147483647\r\n$1\r\na\r\n$1"), SPAN("*2\r\n$" MB_512 "\r\nabc")};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct resp_request st = {0};
		struct resp_args args;
		resp_args_init(&args);
		assert_int_equal(
			resp_request_scan(&st, rows[i].ptr, rows[i].len, &args), RESP_MORE);
		assert_true(args.cap <= 64);
		assert_int_equal(args.unescaped_cap, 0);
		resp_args_fini(&args);
	}
}

static void the_largest_numbers_are_taken(void **state)
{
	struct resp_request st = {0};
	struct resp_args args = {0};
	struct span in = SPAN("*2147483647\r\n$" MB_512 "\r\nab");
	(void)state;
	assert_int_equal(resp_request_scan(&st, in.ptr, in.len, &args), RESP_MORE);
	assert_int_equal(st.args_due, INT_MAX);
	assert_int_equal(st.bulk_left, RESP_BULK_MAX);
	assert_int_equal(st.pos, in.len);
}

static void need_says_what_is_surely_missing(void **state)
{
	static const struct {
		struct span in;
		size_t need;
	} rows[] = {
		{SPAN(""), 1},
		{SPAN("*"), 1},
		{SPAN("*2\r\n"), 6},
		{SPAN("*2\r\n$3"), 6},
		{SPAN("*2\r\n$3\r\n"), 5},
		{SPAN("*2\r\n$3\r\nGET"), 2},
		{SPAN("*2\r\n$3\r\nGET\r"), 1},
		{SPAN("*2\r\n$3\r\nGET\r\n"), 6},
		{SPAN("*2\r\n$3\r\nGET\r\n$" MB_512 "\r\n"), RESP_BULK_MAX + 2},
		{SPAN("*2\r\n$3\r\nGET\r\n$100000\r\n0123456789"), 99992},
		{SPAN("GET k"), 1},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct resp_request st = {0};
		struct resp_args args = {0};
		assert_int_equal(
			resp_request_scan(&st, rows[i].in.ptr, rows[i].in.len, &args), RESP_MORE);
		assert_int_equal(resp_request_need(&st), rows[i].need);
		/* the same when the bytes came one by one */
		resp_request_reset(&st);
		for (size_t len = 0; len <= rows[i].in.len; len++)
			assert_int_equal(
				resp_request_scan(&st, rows[i].in.ptr, len, &args), RESP_MORE);
		assert_int_equal(resp_request_need(&st), rows[i].need);
		resp_args_fini(&args);
	}
}

static enum resp_status scan_as(bool anonymous, struct span in, const char **ret_error)
{
	struct resp_request st = {.anonymous = anonymous};
	struct resp_args args = {0};
	enum resp_status r = resp_request_scan(&st, in.ptr, in.len, &args);
	*ret_error = st.error;
	resp_request_reset(&st);
	assert_int_equal(st.anonymous, anonymous);
	resp_args_fini(&args);
	return r;
}

static void check_whole_anonymous(size_t len, enum resp_status status)
{
	uint8_t *value = calloc(1, len);
	uint8_t *wire = malloc(len + 64);
	assert_non_null(value);
	assert_non_null(wire);
	struct span v[] = {SPAN("AUTH"), span_of(value, len)};
	const char *error;
	size_t size = (size_t)(resp_put_request(wire, v, 2) - wire);
	assert_int_equal(scan_as(true, span_of(wire, size), &error), status);
	assert_int_equal(scan_as(false, span_of(wire, size), &error), RESP_DONE);
	free(wire);
	free(value);
}

static void clients_that_have_not_logged_in_may_send_little(void **state)
{
	static const struct {
		struct span in;
		const char *error;
	} rows[] = {
		{SPAN("*10\r\n"), NULL},
		{SPAN("*11\r\n"), "Protocol error: unauthenticated multibulk length"},
		{SPAN("*2147483648\r\n"), "Protocol error: invalid multibulk length"},
		{SPAN("*2\r\n$16384\r\n"), NULL},
		{SPAN("*2\r\n$16384\rx"), NULL},
		{SPAN("*2\r\n$16385\r\n"), "Protocol error: unauthenticated bulk length"},
		{SPAN("*2\r\n$4\r\nAUTH\r\n$16385\r\n"),
			"Protocol error: unauthenticated bulk length"},
		{SPAN("*2\r\n$536870913\r\n"), "Protocol error: invalid bulk length"},
	};
	const char *error;
	(void)state;
	check_whole_anonymous(16384, RESP_DONE);
	check_whole_anonymous(16385, RESP_BAD);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].error == NULL) {
			assert_int_equal(scan_as(true, rows[i].in, &error), RESP_MORE);
		} else {
			assert_int_equal(scan_as(true, rows[i].in, &error), RESP_BAD);
			assert_string_equal(error, rows[i].error);
		}
	}
	assert_int_equal(scan_as(false, SPAN("*11\r\n"), &error), RESP_MORE);
	assert_int_equal(scan_as(false, SPAN("*2\r\n$16385\r\n"), &error), RESP_MORE);
}

static void lengths_are_read_right_on_both_paths(void **state)
{
	static const size_t sizes[] = {0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10000, 16383, 16384,
		16385, 65536, 99999, 100000, 1000000};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint8_t *value = calloc(1, sizes[i] + 1);
		assert_non_null(value);
		struct span v[] = {SPAN("SET"), SPAN("k"), span_of(value, sizes[i])};
		size_t size = resp_request_size(v, 3);
		uint8_t *wire = malloc(size);
		assert_non_null(wire);
		assert_ptr_equal(resp_put_request(wire, v, 3), wire + size);
		struct outcome whole = feed_in_steps(span_of(wire, size), size, 0);
		struct outcome parts = feed_in_steps(span_of(wire, size), 7, size / 3 + 1);
		assert_int_equal(whole.status, RESP_DONE);
		assert_int_equal(whole.n, 3);
		assert_int_equal(whole.pos, size);
		assert_true(whole.args_len > sizes[i]);
		assert_same_outcome(&whole, &parts);
		outcome_fini(&whole);
		outcome_fini(&parts);
		free(wire);
		free(value);
	}
}

/* "*n\r\n" and n bulks of one byte. */
static struct span many_bulks(uint32_t n)
{
	uint8_t *text = malloc(RESP_HEAD_SIZE + (size_t)n * 7);
	assert_non_null(text);
	uint8_t *at = resp_put_head(text, '*', n);
	for (uint32_t i = 0; i < n; i++)
		at = resp_put_bulk(at, SPAN("x"));
	return span_of(text, (size_t)(at - text));
}

static void check_many(struct span in, uint32_t n, size_t step)
{
	struct resp_request st = {0};
	struct resp_args args = {0};
	enum resp_status r = RESP_MORE;
	for (size_t len = step; r == RESP_MORE; len = fits(len, step, in.len) ? len + step : in.len)
		r = resp_request_scan(&st, in.ptr, len, &args);
	assert_int_equal(r, RESP_DONE);
	assert_int_equal(st.pos, in.len);
	if (!st.split_done)
		resp_request_split(in.ptr, st.pos, &args);
	assert_int_equal(args.n, n);
	assert_true(args.cap < 2 * n + 16);
	for (uint32_t i = 0; i < n; i++)
		assert_true(args.v[i].len == 1 && args.v[i].ptr[0] == 'x');
	resp_args_trim(&args);
	assert_true(args.cap <= 1024);
	resp_args_fini(&args);
}

/* Were any call not to go on where the last one stopped, the byte-wise feeding of 7 MB would never
 * end. */
static void a_million_arguments_take_linear_time(void **state)
{
	static const uint32_t counts[] = {10000, 1000000};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct span in = many_bulks(counts[i]);
		check_many(in, counts[i], in.len);
		check_many(in, counts[i], 4096);
		check_many(in, counts[i], 1);
		uint8_t *bytes = NULL;
		memcpy(&bytes, &in.ptr, sizeof(bytes));
		free(bytes);
	}
}

static void the_first_call_leaves_the_complete_arguments(void **state)
{
	struct span in = SPAN("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nabc");
	struct resp_request st = {0};
	struct resp_args args = {0};
	(void)state;
	assert_int_equal(resp_request_scan(&st, in.ptr, in.len, &args), RESP_MORE);
	assert_int_equal(args.n, 2);
	assert_true(span_eq(args.v[1], SPAN("k")));
	assert_int_equal(resp_request_scan(&st, in.ptr, in.len, &args), RESP_MORE);
	assert_int_equal(args.n, 2);
	resp_args_fini(&args);
}

static void arguments_come_with_the_scan_only_when_it_saw_all_of_them(void **state)
{
	struct span in = SPAN("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
	(void)state;
	for (size_t first = 0; first <= in.len; first++) {
		struct outcome o = feed_in_steps(in, first, 0);
		bool from_the_start = first < 4 || first == in.len; /* 4: the '*' line was taken */
		assert_int_equal(o.split_done, from_the_start);
		outcome_fini(&o);
	}
}

/* in[0 .. end) in pieces, of which nothing is kept that was scanned; each in memory of just its size. */
static enum resp_status scan_giving_away(struct span in, size_t piece, size_t *ret_end)
{
	struct resp_request st = {0};
	struct resp_args args = {0};
	enum resp_status r = RESP_MORE;
	size_t from = 0, end = 0;
	while (r == RESP_MORE && end < in.len) {
		end = end + piece < in.len ? end + piece : in.len;
		uint8_t *copy = malloc(end - from);
		assert_non_null(copy);
		memcpy(copy, in.ptr + from, end - from);
		r = resp_request_scan(&st, copy, end - from, &args);
		free(copy);
		if (st.multibulk) {
			from += st.pos;
			st.pos = 0;
		}
	}
	*ret_end = from;
	resp_args_fini(&args);
	return r;
}

static void what_was_scanned_may_be_given_away(void **state)
{
	static const struct span rows[] = {
		SPAN("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\n\r\n$1\r\r\n"),
		SPAN("*4\r\n$0\r\n\r\n$0\r\n\r\n$12\r\n*1\r\n$0\r\n\r\nxx\r\n$1\rxyzz"),
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t piece = 1; piece <= rows[i].len; piece++) {
			size_t end;
			assert_int_equal(scan_giving_away(rows[i], piece, &end), RESP_DONE);
			assert_int_equal(end, rows[i].len);
		}
	}
}

static void trimming_keeps_a_working_size(void **state)
{
	struct resp_args args = {0};
	struct resp_request st = {0};
	struct span in = SPAN("*1\r\n$4\r\nPING\r\n");
	(void)state;
	assert_int_equal(resp_request_scan(&st, in.ptr, in.len, &args), RESP_DONE);
	const struct span *v = args.v;
	resp_args_trim(&args);
	assert_ptr_equal(args.v, v);
	assert_int_equal(args.n, 0);
	resp_args_fini(&args);
	assert_null(args.v);
	resp_args_fini(&args);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_of_bulks_are_requests),
		cmocka_unit_test(what_follows_a_request_is_left_alone),
		cmocka_unit_test(requests_that_are_nothing_have_no_arguments),
		cmocka_unit_test(line_ends_that_redis_does_not_look_at_are_loose),
		cmocka_unit_test(broken_requests_get_redis_words),
		cmocka_unit_test(an_error_waits_for_the_byte_after_cr),
		cmocka_unit_test(a_nul_hides_the_end_of_a_line),
		cmocka_unit_test(length_lines_end_within_64_kib),
		cmocka_unit_test(a_hidden_line_ends_at_64_kib),
		cmocka_unit_test(announced_numbers_cost_nothing),
		cmocka_unit_test(the_largest_numbers_are_taken),
		cmocka_unit_test(need_says_what_is_surely_missing),
		cmocka_unit_test(clients_that_have_not_logged_in_may_send_little),
		cmocka_unit_test(lengths_are_read_right_on_both_paths),
		cmocka_unit_test(a_million_arguments_take_linear_time),
		cmocka_unit_test(the_first_call_leaves_the_complete_arguments),
		cmocka_unit_test(arguments_come_with_the_scan_only_when_it_saw_all_of_them),
		cmocka_unit_test(what_was_scanned_may_be_given_away),
		cmocka_unit_test(trimming_keeps_a_working_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
