/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What the RESP scanners share: the usual form of a length line, read without a call, and the
 * search for the end of a request's line.  Only resp_*.c include this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "router/wire/resp.h"

/* Off the hot path: kept out of it, so that the registers it saves and the frame it needs cost
 * nobody else. */
#define RESP_APART __attribute__((noinline))

static inline bool resp_at_crlf(const uint8_t *p)
{
	uint16_t pair;
	memcpy(&pair, p, sizeof(pair));
	return pair == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0x0a0d : 0x0d0a);
}

/*
 * Size of the line "<type>digits CR LF" at p, 0 when it isn't plainly one (cut off, signed, a
 * leading zero, more than 9 digits ...): the caller then looks closer.  The type byte is the
 * caller's to check.
 */
static inline size_t resp_plain_head(const uint8_t *p, size_t avail, size_t *ret_n)
{
	enum { LONGEST = 1 + 9 + 2 };
	if (UNLIKELY(avail < 4))
		return 0;
	size_t n = (size_t)p[1] - '0';
	if (UNLIKELY(n > 9))
		return 0;
	size_t i = 2;
	if (LIKELY(n > 0)) {
		size_t stop = (avail < LONGEST ? avail : LONGEST) - 2;
		for (size_t digit; i < stop && (digit = (size_t)p[i] - '0') <= 9; i++)
			n = n * 10 + digit;
	}
	if (UNLIKELY(!resp_at_crlf(p + i)))
		return 0;
	*ret_n = n;
	return i + 2;
}

/*
 * End of the bulk "$n CR LF n bytes CR LF" at p, NULL when it isn't plainly one that is wholly
 * here: the caller then looks closer.
 */
static inline const uint8_t *resp_plain_bulk(const uint8_t *p, const uint8_t *end, size_t *ret_n)
{
	enum { SMALLEST = 6, DIGITS = 9 };
	if (UNLIKELY(end - p < SMALLEST || p[0] != '$'))
		return NULL;
	size_t n = (size_t)p[1] - '0';
	if (UNLIKELY(n > 9))
		return NULL;
	const uint8_t *at = p + 2;
	const uint8_t *stop = end - p < 1 + DIGITS + 2 ? end - 2 : p + 1 + DIGITS;
	for (; *at != '\r' && at < stop; at++) {
		size_t digit = (size_t)*at - '0';
		if (UNLIKELY(digit > 9 || n == 0))
			return NULL;
		n = n * 10 + digit;
	}
	if (UNLIKELY(!resp_at_crlf(at)))
		return NULL;
	at += 2;
	if (UNLIKELY(!fits(2, n, (size_t)(end - at)) || !resp_at_crlf(at + n)))
		return NULL;
	*ret_n = n;
	return at + n + 2;
}

/*
 * Index of `end` in the request's line at line[0 .. len).  RESP_MORE: not there yet; RESP_BAD: the
 * line is longer than RESP_INLINE_MAX.  st->searched keeps the work done so far.
 */
enum resp_status resp_line_end(struct resp_request *st, const uint8_t *line, size_t len,
	uint8_t end, size_t *ret_at) MUST_CHECK;

/* A request that does not begin with '*', at buf[0 .. len). */
RESP_APART enum resp_status resp_inline_scan(
	struct resp_request *st, const uint8_t *buf, size_t len, struct resp_args *args) MUST_CHECK;

/* Room for one more span. */
RESP_APART void resp_args_grow(struct resp_args *args);

static inline void resp_args_push(struct resp_args *args, const uint8_t *ptr, size_t len)
{
	if (UNLIKELY(args->n == args->cap))
		resp_args_grow(args);
	args->v[args->n++] = (struct span){ptr, len};
}

static inline enum resp_status resp_request_bad(struct resp_request *st, const char *error)
{
	st->error = error;
	return RESP_BAD;
}
