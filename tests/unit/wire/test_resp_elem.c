/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "router/wire/resp_elem.h"
#include "router/wire/resp_write.h"

static void heads_are_read(void **state)
{
	static const struct {
		struct span in;
		uint8_t type;
		int64_t number;
		size_t size;
	} rows[] = {
		{SPAN(":0\r\n"), ':', 0, 4},
		{SPAN(":12\r\n:1\r\n"), ':', 12, 5},
		{SPAN(":-1\r\n"), ':', -1, 5},
		{SPAN(":9223372036854775807\r\n"), ':', INT64_MAX, 22},
		{SPAN(":-9223372036854775808\r\n"), ':', INT64_MIN, 23},
		{SPAN("*3\r\n:1\r\n:2\r\n:3\r\n"), '*', 3, 4},
		{SPAN("*0\r\n"), '*', 0, 4},
		{SPAN("*-1\r\n"), '*', -1, 5},
		{SPAN("$-1\r\n"), '$', -1, 5},
		{SPAN("_\r\n"), '_', -1, 3},
		{SPAN("$3\r\nabc\r\n"), '$', 3, 4},
		{SPAN("!3\r\nabc\r\n"), '!', 3, 4},
		{SPAN("=5\r\ntxt:a\r\n"), '=', 5, 4},
		{SPAN("~1\r\n:1\r\n"), '~', 1, 4},
		{SPAN(">1\r\n:1\r\n"), '>', 1, 4},
		{SPAN("%1\r\n:1\r\n:2\r\n"), '%', 1, 4},
		{SPAN("|1\r\n+a\r\n:5\r\n*2\r\n:1\r\n:2\r\n"), '*', 2, 16},
		{SPAN("|0\r\n|1\r\n+a\r\n*1\r\n:5\r\n:7\r\n"), ':', 7, 24},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct resp_head head;
		assert_true(resp_elem_head(rows[i].in.ptr, rows[i].in.len, &head));
		assert_int_equal(head.type, rows[i].type);
		assert_int_equal(head.number, rows[i].number);
		assert_int_equal(head.size, rows[i].size);
	}
}

static void other_lines_have_no_head(void **state)
{
	static const struct span rows[] = {SPAN(""), SPAN("+OK\r\n"), SPAN("-ERR x\r\n"),
		SPAN("#t\r\n"), SPAN(",1.5\r\n"), SPAN("(12\r\n"), SPAN(":\r\n"), SPAN(":x\r\n"),
		SPAN(":01\r\n"), SPAN(":1.5\r\n"), SPAN(":9223372036854775808\r\n"), SPAN(":1"),
		SPAN(":1\r"), SPAN(":1\rx"), SPAN("*"), SPAN("\0\r\n"), SPAN("\0005\r\n"),
		SPAN("|1\r\n+a\r\n:5\r\n"), SPAN("|1\r\n+a\r\n"), SPAN("|-1\r\n:1\r\n"),
		SPAN("|1\r\n+a\r\n:5\r\n+OK\r\n")};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct resp_head head = {.type = 'u'};
		uint8_t *copy = malloc(rows[i].len);
		assert_non_null(copy);
		memcpy(copy, rows[i].ptr, rows[i].len);
		assert_false(resp_elem_head(copy, rows[i].len, &head));
		assert_int_equal(head.type, 'u'); /* untouched */
		free(copy);
	}
}

static void elements_of_an_array_are_walked_one_by_one(void **state)
{
	struct span in =
		SPAN("*5\r\n$1\r\na\r\n$-1\r\n*2\r\n:1\r\n:2\r\n|1\r\n+k\r\n+v\r\n:3\r\n_\r\n");
	static const size_t sizes[] = {7, 5, 12, 16, 3};
	struct resp_head head;
	(void)state;
	assert_true(resp_elem_head(in.ptr, in.len, &head));
	assert_int_equal(head.number, ARRAY_LEN(sizes));
	size_t at = head.size;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		size_t size;
		assert_true(resp_elem_next(in.ptr + at, in.len - at, &size));
		assert_int_equal(size, sizes[i]);
		at += size;
	}
	assert_int_equal(at, in.len);
}

static void half_an_element_is_none(void **state)
{
	struct span in = SPAN("*2\r\n$3\r\nabc\r\n:1\r\n");
	size_t size = 99;
	(void)state;
	for (size_t len = 0; len < in.len; len++)
		assert_false(resp_elem_next(in.ptr, len, &size));
	assert_false(resp_elem_next(SPAN("x\r\n").ptr, 3, &size));
	assert_int_equal(size, 99);
	assert_true(resp_elem_next(in.ptr, in.len, &size));
	assert_int_equal(size, in.len);
}

/* Quadratic walking of a million elements would not end. */
static void a_million_elements_take_linear_time(void **state)
{
	enum { N = 1000000 };
	uint8_t *buf = malloc(RESP_HEAD_SIZE + (size_t)N * 8);
	assert_non_null(buf);
	uint8_t *end = resp_put_head(buf, '*', N);
	for (int i = 0; i < N; i++)
		end = resp_put_bulk(end, SPAN("ab"));
	struct resp_head head;
	(void)state;
	assert_true(resp_elem_head(buf, (size_t)(end - buf), &head));
	const uint8_t *p = buf + head.size;
	size_t walked = 0;
	for (size_t size; resp_elem_next(p, (size_t)(end - p), &size); p += size)
		walked++;
	assert_int_equal(walked, N);
	assert_ptr_equal(p, end);
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_read),
		cmocka_unit_test(other_lines_have_no_head),
		cmocka_unit_test(elements_of_an_array_are_walked_one_by_one),
		cmocka_unit_test(half_an_element_is_none),
		cmocka_unit_test(a_million_elements_take_linear_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
