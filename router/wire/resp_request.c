/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Requests as arrays: "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n".
 *
 *     '*' line --> args_due = n --> '$' line --> bulk_left = bytes + 2 --> the bytes --.
 *                                      ^                                               |
 *                                      '---------------- args_due - 1 <----------------'
 *
 * done when args_due is 0; another first byte than '*' goes to resp_inline.c.
 *
 * Nearly every request arrives whole and plain.  So lines and bulks are first read by
 * resp_plain_head() and resp_plain_bulk(), which know only the usual form, with position and
 * counters in registers; whatever they refuse (cut off, wrong, huge, odd line end) goes through
 * count_careful() and take_bulk(), which know every rule and every error.
 */

#include "router/wire/resp.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "router/wire/resp_internal.h"

enum {
	ARGS_FIRST = 16,       /* spans of a new vector */
	ARGS_KEEP = 1024,      /* spans that a trim leaves */
	UNESCAPED_KEEP = 4096, /* bytes that a trim leaves */
	ANONYMOUS_ARGS = 10,
	ANONYMOUS_BULK =
		16384, /* also where the fast path ends: above it, a closer look costs nothing */
	SMALLEST_BULK = 6, /* "$0\r\n\r\n" */
};

void resp_args_init(struct resp_args *a)
{
	*a = (struct resp_args){0};
}

void resp_args_fini(struct resp_args *a)
{
	free(a->v);
	free(a->unescaped);
	resp_args_init(a);
}

void resp_args_trim(struct resp_args *a)
{
	if (a->cap > ARGS_KEEP) {
		free(a->v);
		a->v = NULL;
		a->cap = 0;
	}
	if (a->unescaped_cap > UNESCAPED_KEEP) {
		free(a->unescaped);
		a->unescaped = NULL;
		a->unescaped_cap = 0;
	}
	a->n = 0;
}

void resp_args_grow(struct resp_args *args)
{
	CHECK(args->cap <= UINT32_MAX / 2);
	uint32_t cap = args->cap ? args->cap * 2 : ARGS_FIRST;
	struct span *v = realloc(args->v, cap * sizeof(*v));
	CHECK(v != NULL);
	args->v = v;
	args->cap = cap;
}

enum resp_status resp_line_end(
	struct resp_request *st, const uint8_t *line, size_t len, uint8_t end, size_t *ret_at)
{
	size_t window = len <= RESP_INLINE_MAX ? len : RESP_INLINE_MAX + 1;
	CHECK(st->searched <= window);
	const uint8_t *from = line + st->searched;
	const uint8_t *hit = memchr(from, end, window - st->searched);
	size_t at = hit != NULL ? (size_t)(hit - line) : window;
	const uint8_t *nul = memchr(from, 0, at - st->searched);
	if (hit != NULL && nul == NULL) {
		st->searched = (uint32_t)at;
		*ret_at = at;
		return RESP_DONE;
	}
	/* The search goes on at the NUL, where it ends again. */
	st->searched = (uint32_t)(nul != NULL ? (size_t)(nul - line) : window);
	return len > RESP_INLINE_MAX ? RESP_BAD : RESP_MORE;
}

/*
 * A length line at line[0 .. len), read with care.  RESP_DONE: *ret_size bytes, their last two
 * being CR and a byte that is not looked at.
 */
static enum resp_status length_line(
	struct resp_request *st, const uint8_t *line, size_t len, size_t *ret_size)
{
	size_t at;
	enum resp_status found = resp_line_end(st, line, len, '\r', &at);
	if (found != RESP_DONE)
		return found;
	if (len - at < 2)
		return RESP_MORE;
	st->searched = 0;
	if (line[at + 1] != '\n')
		st->loose = true;
	*ret_size = at + 2;
	return RESP_DONE;
}

/* The number of a length line of `size` bytes, its type byte left out. */
static bool line_number(const uint8_t *line, size_t size, int64_t *ret)
{
	return span_to_i64(span_of(line + 1, size - 3), ret);
}

static RESP_APART enum resp_status count_careful(
	struct resp_request *st, const uint8_t *buf, size_t len)
{
	size_t size = 0;
	enum resp_status found = length_line(st, buf, len, &size);
	if (found == RESP_MORE)
		return RESP_MORE;
	if (found == RESP_BAD)
		return resp_request_bad(st, "Protocol error: too big mbulk count string");
	int64_t n = 0;
	if (!line_number(buf, size, &n) || n > INT_MAX)
		return resp_request_bad(st, "Protocol error: invalid multibulk length");
	if (st->anonymous && n > ANONYMOUS_ARGS)
		return resp_request_bad(st, "Protocol error: unauthenticated multibulk length");
	st->pos = size;
	st->args_due = n;
	return RESP_DONE;
}

/* The '*' line: sets pos and args_due. */
static inline enum resp_status read_count(struct resp_request *st, const uint8_t *buf, size_t len)
{
	size_t n;
	size_t size = resp_plain_head(buf, len, &n);
	if (LIKELY(size > 0 && (n <= ANONYMOUS_ARGS || !st->anonymous))) {
		st->pos = size;
		st->args_due = (int64_t)n;
		st->searched = 0;
	} else {
		enum resp_status r = count_careful(st, buf, len);
		if (r != RESP_DONE)
			return r;
	}
	st->multibulk = true;
	st->bulk_left = -1;
	return RESP_DONE;
}

static enum resp_status expected_dollar(struct resp_request *st, uint8_t got)
{
	static const char text[] = "Protocol error: expected '$', got 'x'";
	_Static_assert(sizeof(text) <= sizeof(st->error_buf), "the text fits");
	memcpy(st->error_buf, text, sizeof(text));
	/* The only bytes that would break the reply's line; a NUL can't come, it hides the line's
	 * end. */
	st->error_buf[sizeof(text) - 3] = (char)(got == '\r' || got == '\n' ? ' ' : got);
	return resp_request_bad(st, st->error_buf);
}

/* The '$' line at st->pos: sets pos and bulk_left. */
static enum resp_status bulk_head(struct resp_request *st, const uint8_t *buf, size_t len)
{
	const uint8_t *line = buf + st->pos;
	size_t size;
	enum resp_status found = length_line(st, line, len - st->pos, &size);
	if (found == RESP_MORE)
		return RESP_MORE;
	if (found == RESP_BAD)
		return resp_request_bad(st, "Protocol error: too big bulk count string");
	if (line[0] != '$')
		return expected_dollar(st, line[0]);
	int64_t n = 0;
	if (!line_number(line, size, &n) || n < 0 || n > RESP_BULK_MAX)
		return resp_request_bad(st, "Protocol error: invalid bulk length");
	if (st->anonymous && n > ANONYMOUS_BULK)
		return resp_request_bad(st, "Protocol error: unauthenticated bulk length");
	st->pos += size;
	st->bulk_left = n + 2;
	return RESP_DONE;
}

/* One bulk, or the rest of one: whatever its form and however much of it is there. */
static RESP_APART enum resp_status take_bulk(
	struct resp_request *st, const uint8_t *buf, size_t len, struct resp_args *args)
{
	if (st->bulk_left < 0) {
		enum resp_status r = bulk_head(st, buf, len);
		if (r != RESP_DONE)
			return r;
	}
	size_t left = (size_t)st->bulk_left;
	if (left > len - st->pos) {
		st->bulk_left -= (int64_t)(len - st->pos);
		st->pos = len;
		return RESP_MORE;
	}
	st->pos += left;
	/* the CR may be among the bytes that were given away */
	if (st->pos < 2 || !resp_at_crlf(buf + st->pos - 2))
		st->loose = true;
	if (args != NULL)
		resp_args_push(args, buf + st->pos - left, left - 2);
	st->bulk_left = -1;
	st->args_due--;
	return RESP_DONE;
}

/* As many bulks as lie whole at st->pos in their usual form. */
static inline void take_plain_bulks(
	struct resp_request *st, const uint8_t *buf, size_t len, struct resp_args *args)
{
	const uint8_t *p = buf + st->pos;
	const uint8_t *end = buf + len;
	int64_t due = st->args_due;
	for (; due > 0; due--) {
		size_t n;
		const uint8_t *next = resp_plain_bulk(p, end, &n);
		if (UNLIKELY(next == NULL || n > ANONYMOUS_BULK))
			break;
		if (LIKELY(args != NULL))
			resp_args_push(args, next - 2 - n, n);
		p = next;
	}
	if (p != buf + st->pos)
		st->searched = 0;
	st->pos = (size_t)(p - buf);
	st->args_due = due;
}

/* Bulks from st->pos on, recorded when args isn't NULL. */
static enum resp_status scan_bulks(
	struct resp_request *st, const uint8_t *buf, size_t len, struct resp_args *args)
{
	for (;;) {
		if (LIKELY(st->bulk_left < 0))
			take_plain_bulks(st, buf, len, args);
		if (LIKELY(st->args_due <= 0))
			break;
		enum resp_status r = take_bulk(st, buf, len, args);
		if (r != RESP_DONE)
			return r;
	}
	st->split_done = args != NULL;
	return RESP_DONE;
}

enum resp_status resp_request_scan(
	struct resp_request *st, const uint8_t *buf, size_t len, struct resp_args *args)
{
	if (UNLIKELY(st->multibulk))
		return scan_bulks(st, buf, len, NULL);
	args->n = 0;
	if (UNLIKELY(len == 0))
		return RESP_MORE;
	if (UNLIKELY(buf[0] != '*'))
		return resp_inline_scan(st, buf, len, args);
	enum resp_status r = read_count(st, buf, len);
	if (r != RESP_DONE)
		return r;
	return scan_bulks(st, buf, len, args);
}

void resp_request_split(const uint8_t *buf, size_t len, struct resp_args *args)
{
	struct resp_request st = {0};
	enum resp_status r = resp_request_scan(&st, buf, len, args);
	CHECK(r == RESP_DONE && st.split_done && st.pos == len);
}

size_t resp_request_need(const struct resp_request *st)
{
	if (!st->multibulk)
		return 1;
	size_t present = st->bulk_left > 0 ? (size_t)st->bulk_left : SMALLEST_BULK;
	return present;
}
