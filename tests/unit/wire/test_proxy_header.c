/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "router/wire/proxy_header.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V4 "\xc0\x00\x02\x07\x0a\x00\x00\x01"
#define V6 \
	"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"
#define PORTS "\xff\xfe\x18\xeb"
#define TEN "0123456789"

/* The first of them and the result, from a heap copy of just these bytes: what is read beyond them
 * shows. */
static enum proxy_status take(struct proxy_header *h, const uint8_t *bytes, size_t n, size_t *used)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, n);
	enum proxy_status st = proxy_header_take(h, copy, n, used);
	assert_true(*used <= n);
	assert_true(st != PROXY_MORE || *used == n);
	assert_true((st == PROXY_BAD) == (h->why != NULL));
	free(copy);
	return st;
}

struct outcome {
	enum proxy_status status;
	size_t used; /* in all */
	char text[PROXY_TEXT_MAX];
	const char *why;
};

/* `first` bytes, then `step` at a time (0: all the rest). */
static struct outcome take_in_steps(struct span in, size_t first, size_t step)
{
	struct proxy_header h = {0};
	struct outcome o = {.status = PROXY_MORE};
	size_t piece = first;
	for (size_t at = 0; o.status == PROXY_MORE && at < in.len; at += piece) {
		size_t used = 0;
		if (at > 0)
			piece = step > 0 && step < in.len - at ? step : in.len - at;
		o.status = take(&h, in.ptr + at, piece, &used);
		o.used += used;
	}
	if (o.status == PROXY_DONE)
		(void)proxy_header_print(&h, o.text);
	o.why = h.why;
	return o;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->used, b->used);
	assert_string_equal(a->text, b->text);
	assert_ptr_equal(a->why, b->why);
}

/* Whole, cut at every byte, byte by byte, three at a time: the same outcome, which is returned. */
static struct outcome take_in_every_way(struct span in)
{
	struct outcome whole = take_in_steps(in, in.len, 0);
	for (size_t at = 1; at < in.len; at++) {
		struct outcome split = take_in_steps(in, at, 0);
		assert_same(&whole, &split);
	}
	for (size_t step = 1; step <= 3; step += 2) {
		struct outcome steps = take_in_steps(in, step, step);
		assert_same(&whole, &steps);
	}
	return whole;
}

static void headers_tell_who_the_client_is(void **state)
{
	static const struct {
		struct span in;
		size_t size;
		const char *text;
	} rows[] = {
		{SPAN(SIGNATURE "\x21\x11\0\x0c" V4 PORTS), 28, "192.0.2.7:65534"},
		{SPAN(SIGNATURE "\x21\x11\0\x0c" V4 PORTS "PING\r\n"), 28, "192.0.2.7:65534"},
		{SPAN(SIGNATURE "\x21\x11\0\x0c" V4 "\0\0\0\0"), 28, "192.0.2.7:0"},
		{SPAN(SIGNATURE "\x21\x11\0\x16" V4 PORTS TEN "+"), 38, "192.0.2.7:65534"},
		{SPAN(SIGNATURE "\x21\x21\0\x24" V6 PORTS "x"), 52, "[2001:db8::9]:65534"},
		{SPAN(SIGNATURE "\x21\x21\0\x25" V6 PORTS "xy"), 53, "[2001:db8::9]:65534"},
		{SPAN(SIGNATURE "\x20\x00\0\0"), 16, ""},
		{SPAN(SIGNATURE "\x20\x00\0\0\r\n"), 16, ""},
		{SPAN(SIGNATURE "\x20\x11\0\x0c" V4 PORTS), 28, ""},
		{SPAN(SIGNATURE "\x20\xff\0\x03"
				"abcd"),
			19, ""},
		{SPAN(SIGNATURE "\x21\x00\0\0"), 16, ""},
		{SPAN(SIGNATURE "\x21\x00\0\x0a" TEN TEN), 26, ""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = take_in_every_way(rows[i].in);
		assert_int_equal(o.status, PROXY_DONE);
		assert_int_equal(o.used, rows[i].size);
		assert_string_equal(o.text, rows[i].text);
	}
}

static void what_is_no_header_is_refused_at_the_byte_that_says_so(void **state)
{
	static const struct {
		struct span in;
		size_t used;
		const char *says;
	} rows[] = {
		{SPAN("PROXY TCP4 192.0.2.7 10.0.0.1 5 6\r\n"), 1, "signature"},
		{SPAN("*1\r\n$4\r\nPING\r\n"), 1, "signature"},
		{SPAN("\r\nPING\r\n"), 3, "signature"},
		{SPAN("\r\n\r\nPING\r\n"), 5, "signature"},
		{SPAN("\r\n\r\n\0\r\nQUIT\r\n"), 12, "signature"},
		{SPAN(SIGNATURE "\x11\x11\0\x0c" V4 PORTS), 13, "version"},
		{SPAN(SIGNATURE "\x31\x11\0\x0c" V4 PORTS), 13, "version"},
		{SPAN(SIGNATURE "\x22\x11\0\x0c" V4 PORTS), 13, "command"},
		{SPAN(SIGNATURE "\x2f\x11\0\x0c" V4 PORTS), 13, "command"},
		{SPAN(SIGNATURE "\x21\x12\0\x0c" V4 PORTS), 14, "family"},
		{SPAN(SIGNATURE "\x21\x10\0\x0c" V4 PORTS), 14, "family"},
		{SPAN(SIGNATURE "\x21\x01\0\x0c" V4 PORTS), 14, "family"},
		{SPAN(SIGNATURE "\x21\x22\0\x24" V6 PORTS), 14, "family"},
		{SPAN(SIGNATURE "\x21\x32\0\xd8" TEN), 14, "family"},
		{SPAN(SIGNATURE "\x21\x41\0\x0c" V4 PORTS), 14, "family"},
		{SPAN(SIGNATURE "\x21\x11\0\x0b" V4 PORTS), 16, "short"},
		{SPAN(SIGNATURE "\x21\x11\0\0" V4 PORTS), 16, "short"},
		{SPAN(SIGNATURE "\x21\x21\0\x23" V6 PORTS), 16, "short"},
		{SPAN(SIGNATURE "\x21\x31\0\xd7" TEN), 16, "short"},
		{SPAN(SIGNATURE "\x21\x11\x0f\xf1" V4 PORTS), 16, "long"},
		{SPAN(SIGNATURE "\x20\x00\xff\xff" TEN), 16, "long"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = take_in_every_way(rows[i].in);
		assert_int_equal(o.status, PROXY_BAD);
		assert_int_equal(o.used, rows[i].used);
		assert_non_null(strstr(o.why, rows[i].says));
	}
}

static void half_a_header_is_none_yet(void **state)
{
	struct span in = SPAN(SIGNATURE "\x21\x11\0\x16" V4 PORTS TEN);
	(void)state;
	for (size_t len = 0; len < in.len; len++) {
		struct proxy_header h = {0};
		size_t used = 99;
		assert_int_equal(take(&h, in.ptr, len, &used), PROXY_MORE);
		assert_int_equal(used, len);
	}
}

/* Nothing is taken once the verdict is known. */
static void a_verdict_is_final(void **state)
{
	struct span in = SPAN(SIGNATURE "\x21\x11\0\x0c" V4 PORTS);
	struct proxy_header h = {0};
	size_t used = 99;
	(void)state;
	assert_int_equal(take(&h, in.ptr, in.len, &used), PROXY_DONE);
	assert_int_equal(take(&h, in.ptr, in.len, &used), PROXY_DONE);
	assert_int_equal(used, 0);
	memset(&h, 0, sizeof(h));
	assert_int_equal(take(&h, (const uint8_t *)"P", 1, &used), PROXY_BAD);
	assert_int_equal(take(&h, in.ptr, in.len, &used), PROXY_BAD);
	assert_int_equal(used, 0);
}

/* Signature, PROXY over a unix stream, and 216 bytes of two paths. */
static size_t unix_header(uint8_t *buf, const char *path, size_t len)
{
	static const char head[] = SIGNATURE "\x21\x31\0\xd8";
	memset(buf, 'd', 16 + 216);
	memcpy(buf, head, 16);
	memset(buf + 16, 0, PROXY_PATH_MAX);
	memcpy(buf + 16, path, len);
	return 16 + 216;
}

static void unix_paths_are_shown(void **state)
{
	static const struct {
		struct span path;
		const char *text;
	} rows[] = {
		{SPAN("/run/client"), "unix:/run/client"},
		{SPAN(""), "unix:"},
		{SPAN("/a b\nc\x80\x7f"), "unix:/a?b?c??"},
		{SPAN("/a\0b"), "unix:/a"},
	};
	uint8_t buf[16 + 216];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = unix_header(buf, (const char *)rows[i].path.ptr, rows[i].path.len);
		struct outcome o = take_in_every_way(span_of(buf, n));
		assert_int_equal(o.status, PROXY_DONE);
		assert_string_equal(o.text, rows[i].text);
	}
}

static void the_longest_path_fits(void **state)
{
	char path[PROXY_PATH_MAX];
	uint8_t buf[16 + 216];
	(void)state;
	memset(path, 'p', sizeof(path));
	struct outcome o = take_in_every_way(span_of(buf, unix_header(buf, path, sizeof(path))));
	assert_int_equal(o.status, PROXY_DONE);
	assert_int_equal(strlen(o.text), 5 + sizeof(path));
	assert_memory_equal(o.text + 5, path, sizeof(path));
}

static void the_largest_header_is_taken_and_one_byte_more_is_not(void **state)
{
	static uint8_t buf[PROXY_HEADER_MAX + 1];
	size_t length = PROXY_HEADER_MAX - 16;
	(void)state;
	memcpy(buf, SIGNATURE "\x21\x11", 14);
	memcpy(buf + 16, V4 PORTS, 12);
	buf[14] = (uint8_t)(length >> 8);
	buf[15] = (uint8_t)length;
	struct outcome o = take_in_every_way(span_of(buf, sizeof(buf)));
	assert_int_equal(o.status, PROXY_DONE);
	assert_int_equal(o.used, PROXY_HEADER_MAX);
	assert_string_equal(o.text, "192.0.2.7:65534");
	buf[15]++;
	o = take_in_every_way(span_of(buf, sizeof(buf)));
	assert_int_equal(o.status, PROXY_BAD);
	assert_int_equal(o.used, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_tell_who_the_client_is),
		cmocka_unit_test(what_is_no_header_is_refused_at_the_byte_that_says_so),
		cmocka_unit_test(half_a_header_is_none_yet),
		cmocka_unit_test(a_verdict_is_final),
		cmocka_unit_test(unix_paths_are_shown),
		cmocka_unit_test(the_longest_path_fits),
		cmocka_unit_test(the_largest_header_is_taken_and_one_byte_more_is_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
