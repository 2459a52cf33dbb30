/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * What one request or reply costs in the RESP scanners and writers, in nanoseconds.
 *
 *     bench_resp [--count N] [--only NAME]
 *
 * Each case is a buffer of many copies of one message, walked as a worker walks what it has read.
 * By default each case runs half a second, in 7 rounds, and the fastest round counts; with a count
 * it handles exactly that many messages, once: a fixed amount of work for callgrind.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "router/wire/resp.h"
#include "router/wire/resp_elem.h"
#include "router/wire/resp_write.h"

enum { COPIES = 64, ROUNDS = 7 };

struct bench {
	const char *name;
	struct span message;
	/* Handles the COPIES messages in buf once. */
	void (*run)(struct bench *b, const uint8_t *buf, size_t len);
	struct resp_args args;
	uint8_t *out;
	uint64_t sink;
};

static void run_requests(struct bench *b, const uint8_t *buf, size_t len)
{
	struct resp_request st = {0};
	for (size_t at = 0; at < len; at += st.pos) {
		resp_request_reset(&st);
		CHECK(resp_request_scan(&st, buf + at, len - at, &b->args) == RESP_DONE);
		b->sink += b->args.v[b->args.n - 1].len;
	}
}

static void run_replies(struct bench *b, const uint8_t *buf, size_t len)
{
	for (size_t at = 0, used; at < len; at += used) {
		struct resp_reply st = {0};
		CHECK(resp_reply_scan(&st, buf + at, len - at, &used) == RESP_DONE);
		b->sink += st.type;
	}
}

/* Elements of an array, as a merge walks them. */
static void run_elements(struct bench *b, const uint8_t *buf, size_t len)
{
	for (size_t at = 0, size; at < len;) {
		struct resp_head head;
		CHECK(resp_elem_head(buf + at, len - at, &head));
		at += head.size;
		for (int64_t i = 0; i < head.number; i++, at += size)
			CHECK(resp_elem_next(buf + at, len - at, &size));
		b->sink += at;
	}
}

/* A request written anew from its arguments. */
static void run_write(struct bench *b, const uint8_t *buf, size_t len)
{
	size_t one = len / COPIES;
	resp_request_split(buf, one, &b->args);
	for (int i = 0; i < COPIES; i++) {
		CHECK(resp_request_size(b->args.v, b->args.n) == one);
		b->sink += (size_t)(resp_put_request(b->out, b->args.v, b->args.n) - b->out);
	}
}

#define VALUE_32 "0123456789abcdefghijklmnopqrstuv"

static struct span array_of_32(char type, int n)
{
	char *text = malloc(16 + (size_t)n * 48);
	CHECK(text != NULL);
	int len = sprintf(text, "%c%d\r\n", type, n);
	for (int i = 0; i < n; i++)
		len += sprintf(text + len, "$32\r\n" VALUE_32 "\r\n");
	return span_of(text, (size_t)len);
}

static struct span bulk_of(int n)
{
	char *text = malloc(32 + (size_t)n);
	CHECK(text != NULL);
	int len = sprintf(text, "$%d\r\n", n);
	memset(text + len, 'x', (size_t)n);
	memcpy(text + len + n, "\r\n", 2);
	return span_of(text, (size_t)(len + n + 2));
}

static uint8_t *copies_of(struct span message, size_t *ret_len)
{
	*ret_len = message.len * COPIES;
	uint8_t *buf = malloc(*ret_len);
	CHECK(buf != NULL);
	for (int i = 0; i < COPIES; i++)
		memcpy(buf + (size_t)i * message.len, message.ptr, message.len);
	return buf;
}

static double timed(struct bench *b, const uint8_t *buf, size_t len, uint64_t turns)
{
	uint64_t start = clock_ns();
	for (uint64_t i = 0; i < turns; i++)
		b->run(b, buf, len);
	return (double)(clock_ns() - start) / (double)(turns * COPIES);
}

static double fastest(struct bench *b, const uint8_t *buf, size_t len)
{
	const double round_ns = 0.5e9 / ROUNDS;
	uint64_t turns = (uint64_t)(round_ns / (timed(b, buf, len, 100) * COPIES)) + 1;
	double best = timed(b, buf, len, turns);
	for (int i = 1; i < ROUNDS; i++) {
		double ns = timed(b, buf, len, turns);
		best = ns < best ? ns : best;
	}
	return best;
}

static void measure(struct bench *b, uint64_t count)
{
	size_t len;
	uint8_t *buf = copies_of(b->message, &len);
	b->out = malloc(b->message.len);
	CHECK(b->out != NULL);
	resp_args_init(&b->args);
	double ns = count > 0 ? timed(b, buf, len, (count + COPIES - 1) / COPIES)
			      : fastest(b, buf, len);
	printf("%-24s %7zu bytes %10.1f ns   (%llu)\n", b->name, b->message.len, ns,
		(unsigned long long)b->sink);
	resp_args_fini(&b->args);
	free(b->out);
	free(buf);
}

static struct span get_20 = SPAN("*2\r\n$3\r\nGET\r\n$20\r\nuser:0000000000:name\r\n");
static struct span set_60 =
	SPAN("*3\r\n$3\r\nSET\r\n$12\r\nuser:0000001\r\n$16\r\n0123456789abcdef\r\n");
static struct span inline_get = SPAN("GET user:0000000000:name\r\n");

int main(int argc, char **argv)
{
	uint64_t count = 0;
	const char *only = "";
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--count") == 0)
			count = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--only") == 0)
			only = argv[i + 1];
	}
	struct bench benches[] = {
		{.name = "request_get", .message = get_20, .run = run_requests},
		{.name = "request_set", .message = set_60, .run = run_requests},
		{.name = "request_100_args", .message = array_of_32('*', 100), .run = run_requests},
		{.name = "request_inline", .message = inline_get, .run = run_requests},
		{.name = "reply_ok", .message = SPAN("+OK\r\n"), .run = run_replies},
		{.name = "reply_number", .message = SPAN(":12345\r\n"), .run = run_replies},
		{.name = "reply_nil", .message = SPAN("$-1\r\n"), .run = run_replies},
		{.name = "reply_bulk_32", .message = bulk_of(32), .run = run_replies},
		{.name = "reply_bulk_1024", .message = bulk_of(1024), .run = run_replies},
		{.name = "reply_array_100", .message = array_of_32('*', 100), .run = run_replies},
		{.name = "elements_100", .message = array_of_32('*', 100), .run = run_elements},
		{.name = "write_set", .message = set_60, .run = run_write},
		{.name = "write_100_args", .message = array_of_32('*', 100), .run = run_write},
	};
	for (size_t i = 0; i < ARRAY_LEN(benches); i++)
		if (*only == '\0' || strcmp(only, benches[i].name) == 0)
			measure(&benches[i], count);
	return 0;
}
