/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "router/wire/resp.h"
#include "router/wire/resp_write.h"

struct verdict {
	enum resp_status status;
	size_t used; /* in all; RESP_BAD: 0 */
	uint8_t type;
};

/* A piece is a heap copy of exactly its size, so that a read beyond its end is found. */
static enum resp_status scan_piece(
	struct resp_reply *st, const uint8_t *p, size_t len, size_t *used)
{
	uint8_t *piece = malloc(len);
	assert_non_null(piece);
	memcpy(piece, p, len);
	enum resp_status r = resp_reply_scan(st, piece, len, used);
	free(piece);
	return r;
}

/* Pieces of `first` bytes, then `step`; rng: of random sizes up to `step` instead. */
static struct verdict in_pieces(struct span in, size_t first, size_t step, struct rng *rng)
{
	struct resp_reply st = {0};
	size_t at = 0;
	size_t size = first > 0 ? first : step;
	while (at < in.len) {
		if (size > in.len - at)
			size = in.len - at;
		size_t used = SIZE_MAX;
		enum resp_status r = scan_piece(&st, in.ptr + at, size, &used);
		if (r == RESP_BAD)
			return (struct verdict){r, 0, 0};
		assert_true(r == RESP_DONE ? used > 0 && used <= size : used == size);
		at += used;
		if (r == RESP_DONE)
			return (struct verdict){r, at, st.type};
		size = rng != NULL ? 1 + rng_below(rng, (uint32_t)step) : step;
	}
	return (struct verdict){RESP_MORE, at, st.type};
}

static void assert_same_verdict(struct verdict a, struct verdict b)
{
	assert_int_equal(a.status, b.status);
	assert_int_equal(a.used, b.used);
	assert_int_equal(a.type, b.type);
}

/* Whole, in two at every byte, one byte at a time, in random pieces: the same verdict, which is
 * returned. */
static struct verdict in_every_way(struct span in)
{
	struct rng rng;
	rng_seed(&rng, in.len);
	struct verdict whole = in_pieces(in, in.len, in.len, NULL);
	for (size_t at = 1; at < in.len; at++)
		assert_same_verdict(whole, in_pieces(in, at, in.len, NULL));
	assert_same_verdict(whole, in_pieces(in, 1, 1, NULL));
	for (int i = 0; i < 10; i++)
		assert_same_verdict(whole, in_pieces(in, 0, 5, &rng));
	return whole;
}

static void check_reply(struct span reply, uint8_t type)
{
	static const char tails[][8] = {"", "+", "\r\n", "*0\r\n", "$", "\n"};
	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		uint8_t *text = malloc(reply.len + sizeof(tails[i]));
		assert_non_null(text);
		memcpy(text, reply.ptr, reply.len);
		memcpy(text + reply.len, tails[i], sizeof(tails[i]));
		struct verdict v = in_every_way(span_of(text, reply.len + strlen(tails[i])));
		assert_int_equal(v.status, RESP_DONE);
		assert_int_equal(v.used, reply.len);
		assert_int_equal(v.type, type);
		free(text);
	}
	/* and nothing shorter is a reply */
	for (size_t len = 1; len < reply.len; len++) {
		struct verdict v = in_pieces(span_of(reply.ptr, len), len, len, NULL);
		assert_int_equal(v.status, RESP_MORE);
	}
}

static void replies_of_every_type_are_found(void **state)
{
	static const struct {
		struct span in;
		uint8_t type;
	} rows[] = {
		{SPAN("+OK\r\n"), '+'},
		{SPAN("+\r\n"), '+'},
		{SPAN("-ERR wrong\r\n"), '-'},
		{SPAN("-ERR a line longer than what is looked at byte by byte, on the fast "
		      "path\r\n"),
			'-'},
		{SPAN(":0\r\n"), ':'},
		{SPAN(":-9223372036854775808\r\n"), ':'},
		{SPAN("$0\r\n\r\n"), '$'},
		{SPAN("$3\r\nabc\r\n"), '$'},
		{SPAN("$12\r\n\r\n$1\r\n\r\n+OK\r\r\n"), '$'},
		{SPAN("$-1\r\n"), '$'},
		{SPAN("*-1\r\n"), '*'},
		{SPAN("*0\r\n"), '*'},
		{SPAN("*2\r\n$1\r\na\r\n$-1\r\n"), '*'},
		{SPAN("*3\r\n:1\r\n+a\r\n-ERR x\r\n"), '*'},
		{SPAN("*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n$1\r\nx\r\n"), '*'},
		{SPAN("*2\r\n*-1\r\n*1\r\n*1\r\n*0\r\n"), '*'},
		/* RESP3 */
		{SPAN("_\r\n"), '_'},
		{SPAN("#t\r\n"), '#'},
		{SPAN(",3.14\r\n"), ','},
		{SPAN(",-inf\r\n"), ','},
		{SPAN("(3492890328409238509324850943850943825024385\r\n"), '('},
		{SPAN("!7\r\nERR a\rb\r\n"), '!'},
		{SPAN("!0\r\n\r\n"), '!'},
		{SPAN("=8\r\ntxt:abcd\r\n"), '='},
		{SPAN("%0\r\n"), '%'},
		{SPAN("%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*1\r\n_\r\n"), '%'},
		{SPAN("~3\r\n:1\r\n:2\r\n#f\r\n"), '~'},
		{SPAN(">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n"), '>'},
		{SPAN("*1\r\n%1\r\n~1\r\n:1\r\n*2\r\n_\r\n,1\r\n"), '*'},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_reply(rows[i].in, rows[i].type);
}

static void attributes_belong_to_the_reply_behind_them(void **state)
{
	static const struct {
		struct span in;
		uint8_t type;
	} rows[] = {
		{SPAN("|0\r\n+OK\r\n"), '+'},
		{SPAN("|1\r\n+a\r\n:1\r\n:42\r\n"), ':'},
		{SPAN("|1\r\n+a\r\n*2\r\n:1\r\n:2\r\n$1\r\nx\r\n"), '$'},
		{SPAN("|1\r\n%1\r\n+a\r\n+b\r\n*0\r\n*1\r\n_\r\n"), '*'},
		{SPAN("|1\r\n+a\r\n:1\r\n|2\r\n+b\r\n:2\r\n+c\r\n:3\r\n~1\r\n:9\r\n"), '~'},
		{SPAN("|1\r\n+a\r\n|1\r\n+b\r\n:1\r\n:2\r\n-ERR x\r\n"), '-'},
		{SPAN("*2\r\n|1\r\n+a\r\n:1\r\n:42\r\n:43\r\n"), '*'},
		{SPAN("*1\r\n|0\r\n|0\r\n:42\r\n"), '*'},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_reply(rows[i].in, rows[i].type);
}

static void the_type_of_an_attributed_reply_is_unknown_before_the_value(void **state)
{
	struct span in = SPAN("|1\r\n+a\r\n:1\r\n%0\r\n");
	struct resp_reply st = {0};
	size_t used;
	(void)state;
	for (size_t i = 0; i < in.len; i++) {
		enum resp_status r = resp_reply_scan(&st, in.ptr + i, 1, &used);
		assert_int_equal(r, i == in.len - 1 ? RESP_DONE : RESP_MORE);
		assert_int_equal(st.type, i < in.len - 4 ? 0 : '%');
	}
}

static void a_line_ends_at_its_first_cr_lf(void **state)
{
	(void)state;
	check_reply(SPAN("+a\rb\nc\r\r\n"), '+');
	check_reply(SPAN("-\n\n\r\n"), '-');
	check_reply(SPAN("+a\0b\r\n"), '+');
	check_reply(SPAN("*2\r\n+\r\r\r\n:1\r\n"), '*');
}

static void what_is_no_reply_is_bad(void **state)
{
	static const struct span rows[] = {
		SPAN("x"),
		SPAN("\r\n"),
		SPAN("\0"),
		SPAN(";1\r\n"),
		SPAN(".\r\n"),
		SPAN("5\r\n"),
		SPAN("$\r\n"),
		SPAN("$x\r\n"),
		SPAN("$1x\r\n"),
		SPAN("$ 1\r\n"),
		SPAN("$+1\r\n"),
		SPAN("$01\r\na\r\n"),
		SPAN("$1/\r\n123456789\r\n"),
		SPAN("$1:\r\n12345678901234567890\r\n"),
		SPAN("$00\r\n\r\n"),
		SPAN("$-\r\n"),
		SPAN("$--1\r\n"),
		SPAN("$-0\r\n"),
		SPAN("$-2\r\n"),
		SPAN("$-10\r\n"),
		SPAN("$1-\r\n"),
		SPAN("*-2\r\n"),
		SPAN("%-1\r\n"),
		SPAN("~-1\r\n"),
		SPAN(">-1\r\n"),
		SPAN("|-1\r\n"),
		SPAN("!-1\r\n"),
		SPAN("=-1\r\n"),
		SPAN("$?\r\n"),
		SPAN("*?\r\n"),
		SPAN("%?\r\n"),
		SPAN("$1\rxa\r\n"),
		SPAN("$1\n"),
		SPAN("*1\r\r\n"),
		SPAN("$1\r\nab\r\n"),
		SPAN("$1\r\na\rb"),
		SPAN("$1\r\na\n\r"),
		SPAN("$0\r\nx"),
		SPAN("$3\r\nab\r\n\r\n+"),
		SPAN("*2\r\n$1\r\na\r\nx"),
		SPAN("*1\r\n\r\n"),
		SPAN("|1\r\n+a\r\n+b\r\nx"),
		SPAN("$1099511627777\r\n"),
		SPAN("$10000000000000\r\n"),
		SPAN("*99999999999999999999999\r\n"),
		SPAN("$18446744073709551617\r\na\r\n"),
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct verdict v = in_every_way(rows[i]);
		assert_int_equal(v.status, RESP_BAD);
	}
}

/* 2^40 elements in all; maps and attributes count their pairs twice, an attribute its value as
 * well. */
static void announced_elements_are_bounded(void **state)
{
	static const struct {
		struct span in;
		enum resp_status status;
	} rows[] = {
		{SPAN("*1099511627776\r\n"), RESP_MORE},
		{SPAN("*1099511627777\r\n"), RESP_BAD},
		{SPAN("%549755813888\r\n"), RESP_MORE},
		{SPAN("%549755813889\r\n"), RESP_BAD},
		{SPAN("|549755813887\r\n"), RESP_MORE},
		{SPAN("|549755813888\r\n"), RESP_BAD},
		{SPAN("%1099511627776\r\n"), RESP_BAD},
		{SPAN("|1099511627776\r\n"), RESP_BAD},
		/* one element is being read, so one more may be due inside it */
		{SPAN("*1099511627776\r\n*1\r\n:1\r\n"), RESP_MORE},
		{SPAN("*1099511627776\r\n*2\r\n"), RESP_BAD},
		{SPAN("*1099511627776\r\n|0\r\n"), RESP_MORE},
		{SPAN("*1099511627776\r\n%1\r\n"), RESP_BAD},
		{SPAN("*549755813888\r\n*549755813889\r\n"), RESP_MORE},
		{SPAN("*549755813888\r\n*549755813890\r\n"), RESP_BAD},
		{SPAN("$1099511627776\r\n"), RESP_MORE},
		{SPAN("=1099511627776\r\n"), RESP_MORE},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct verdict v = in_every_way(rows[i].in);
		assert_int_equal(v.status, rows[i].status);
	}
}

static void bulk_left_counts_down(void **state)
{
	struct span in = SPAN("*2\r\n$5\r\nhello\r\n:1\r\n");
	static const uint64_t left[] = {0, 0, 0, 0, 0, 0, 0, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0};
	struct resp_reply st = {0};
	size_t used;
	(void)state;
	assert_int_equal(ARRAY_LEN(left), in.len);
	for (size_t i = 0; i < in.len; i++) {
		(void)!resp_reply_scan(&st, in.ptr + i, 1, &used);
		assert_int_equal(resp_reply_bulk_left(&st), left[i]);
	}
}

/* In place: a heap copy for each of millions of pieces would take all the time. */
static enum resp_status scan_steps(const uint8_t *p, size_t len, size_t step, size_t *ret_end)
{
	struct resp_reply st = {0};
	enum resp_status r = RESP_MORE;
	size_t at = 0;
	for (size_t used; at < len && r == RESP_MORE; at += used)
		r = resp_reply_scan(&st, p + at, step < len - at ? step : len - at, &used);
	*ret_end = at;
	return r;
}

/* `n` times `head`, then `tail`, in pieces of `step`: DONE with the last byte, not before. */
static void check_deep(const char *head, const char *tail, size_t n, size_t step)
{
	size_t one = strlen(head);
	size_t size = n * one + strlen(tail);
	uint8_t *text = malloc(size);
	assert_non_null(text);
	for (size_t i = 0; i < n; i++)
		memcpy(text + i * one, head, one);
	memcpy(text + n * one, tail, strlen(tail));
	size_t end;
	assert_int_equal(scan_steps(text, size, step, &end), RESP_DONE);
	assert_int_equal(end, size);
	assert_int_equal(scan_steps(text, size - 1, step, &end), RESP_MORE);
	free(text);
}

static void a_million_levels_need_no_stack(void **state)
{
	static const size_t steps[] = {1, 16 << 20};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		check_deep("*1\r\n", ":1\r\n", 1000000, steps[i]);
		check_deep("*1\r\n", "*0\r\n", 1000000, steps[i]);
		check_deep("%1\r\n:1\r\n", "$1\r\nx\r\n", 1000000, steps[i]);
		check_deep("|1\r\n:1\r\n:2\r\n", "$-1\r\n", 1000000, steps[i]);
	}
}

static uint8_t *put_random(struct rng *rng, uint8_t *at, unsigned depth);

static uint8_t *put_aggregate(struct rng *rng, uint8_t *at, unsigned depth)
{
	static const char types[] = "*~>%|";
	uint8_t type = (uint8_t)types[rng_below(rng, 5)];
	unsigned n = rng_below(rng, 4);
	at = resp_put_head(at, type, n);
	unsigned members = type == '%' ? 2 * n : type == '|' ? 2 * n + 1 : n;
	for (unsigned i = 0; i < members; i++)
		at = put_random(rng, at, depth - 1);
	return at;
}

/* A random reply, made by recursion (bounded by depth): what the scanner's one counter must agree
 * with. */
static uint8_t *put_random(struct rng *rng, uint8_t *at, unsigned depth)
{
	static const char lines[][16] = {"+OK\r\n", "-ERR no\r\n", ":-12\r\n", "_\r\n", "#t\r\n",
		",1.5\r\n", "(12345678901\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n",
		"!3\r\nbad\r\n"};
	uint32_t pick = rng_below(rng, 16);
	if (depth > 0 && pick < 6)
		return put_aggregate(rng, at, depth);
	if (pick < 12) {
		const char *line = lines[rng_below(rng, ARRAY_LEN(lines))];
		memcpy(at, line, strlen(line));
		return at + strlen(line);
	}
	static const uint8_t noise[200] = {
		'\r', '\n', '$', '1', '\r', '\n', '*', [100] = '\r', [101] = '\n'};
	return resp_put_bulk(at, span_of(noise, rng_below(rng, sizeof(noise))));
}

static void random_replies_end_where_they_were_made_to(void **state)
{
	struct rng rng;
	rng_seed(&rng, 42);
	uint8_t *buf = malloc(4 << 20);
	assert_non_null(buf);
	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t size = (size_t)(put_random(&rng, buf, 5) - buf);
		buf[size] = '+';
		struct verdict whole = in_pieces(span_of(buf, size + 1), size + 1, 1, NULL);
		assert_int_equal(whole.status, RESP_DONE);
		assert_int_equal(whole.used, size);
		assert_same_verdict(whole, in_pieces(span_of(buf, size + 1), 1, 1, NULL));
		assert_same_verdict(whole, in_pieces(span_of(buf, size + 1), 0, 40, &rng));
	}
	free(buf);
}

static void replies_in_a_row_are_told_apart(void **state)
{
	struct span in = SPAN("+OK\r\n$3\r\nabc\r\n*2\r\n:1\r\n:2\r\n$-1\r\n:7\r\n");
	static const size_t sizes[] = {5, 9, 12, 5, 4};
	size_t at = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct resp_reply st = {0};
		size_t used;
		assert_int_equal(resp_reply_scan(&st, in.ptr + at, in.len - at, &used), RESP_DONE);
		assert_int_equal(used, sizes[i]);
		at += used;
	}
	assert_int_equal(at, in.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies_of_every_type_are_found),
		cmocka_unit_test(attributes_belong_to_the_reply_behind_them),
		cmocka_unit_test(the_type_of_an_attributed_reply_is_unknown_before_the_value),
		cmocka_unit_test(a_line_ends_at_its_first_cr_lf),
		cmocka_unit_test(what_is_no_reply_is_bad),
		cmocka_unit_test(announced_elements_are_bounded),
		cmocka_unit_test(bulk_left_counts_down),
		cmocka_unit_test(a_million_levels_need_no_stack),
		cmocka_unit_test(random_replies_end_where_they_were_made_to),
		cmocka_unit_test(replies_in_a_row_are_told_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
