/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Replies: any bytes, any pieces.  Byte 0 seeds the sizes of the pieces; the rest is what a node
 * sends.
 *
 * Every reply in it is read whole and in pieces, from heap copies of exactly each piece: verdict,
 * end and type must agree.  A complete reply must also agree with a second opinion: the recursive
 * reader below, which is written from the protocol's text and cares neither for speed nor for
 * pieces.
 */

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rand.h"
#include "router/wire/resp.h"
#include "router/wire/resp_elem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum resp_status scan_piece(
	struct resp_reply *st, const uint8_t *p, size_t len, size_t *used)
{
	uint8_t *piece = malloc(len);
	CHECK(piece != NULL);
	memcpy(piece, p, len);
	enum resp_status r = resp_reply_scan(st, piece, len, used);
	CHECK(r != RESP_MORE || *used == len);
	CHECK(r != RESP_DONE || (*used > 0 && *used <= len && st->due == 0 && st->left == 0));
	free(piece);
	return r;
}

static enum resp_status scan_in_pieces(
	struct resp_reply *st, const uint8_t *p, size_t len, size_t *ret_end, struct rng *rng)
{
	size_t most = 1 + rng_below(rng, 2) * rng_below(rng, 64);
	enum resp_status r = RESP_MORE;
	size_t at = 0;
	for (size_t used = 0; at < len && r == RESP_MORE; at += used) {
		size_t piece = 1 + rng_below(rng, (uint32_t)most);
		r = scan_piece(st, p + at, piece < len - at ? piece : len - at, &used);
	}
	*ret_end = at;
	return r;
}

/* Bytes up to behind the first CR LF; 0: none. */
static size_t line_size(const uint8_t *p, size_t len)
{
	const uint8_t *end = len > 0 ? memmem(p, len, "\r\n", 2) : NULL;
	return end != NULL ? (size_t)(end - p) + 2 : 0;
}

/* Size of the reply at p, which the scanner took; depth is bounded by the caller. */
static size_t second_opinion(const uint8_t *p, size_t len, unsigned depth)
{
	size_t at = line_size(p, len);
	CHECK(at >= 3);
	if (strchr("+-:_,#(", p[0]) != NULL)
		return at;
	int64_t n;
	CHECK(span_to_i64(span_of(p + 1, at - 3), &n));
	if (n < 0)
		return at;
	if (strchr("$!=", p[0]) != NULL) {
		CHECK(memcmp(p + at + n, "\r\n", 2) == 0);
		return at + (size_t)n + 2;
	}
	CHECK(depth > 0);
	int64_t members = p[0] == '%' ? 2 * n : p[0] == '|' ? 2 * n + 1 : n;
	for (int64_t i = 0; i < members; i++)
		at += second_opinion(p + at, len - at, depth - 1);
	return at;
}

/* Most aggregates open at once: at most this, so that the second opinion may recurse. */
static unsigned heads_in(const uint8_t *p, size_t len)
{
	unsigned heads = 0;
	for (size_t i = 0; i < len; i++)
		heads += strchr("*%~>|", p[i]) != NULL;
	return heads;
}

/* A complete reply is what a merge walks: the head, then each member. */
static void check_elements(const uint8_t *p, size_t len, uint8_t type)
{
	size_t size;
	CHECK(resp_elem_next(p, len, &size) && size == len);
	struct resp_head head;
	if (!resp_elem_head(p, len, &head)) {
		CHECK(strchr("+-:,#(_", type) != NULL);
		return;
	}
	CHECK(head.type == type && head.size <= len);
	if (strchr("*~>%", type) == NULL || head.number < 0)
		return;
	size_t at = head.size;
	int64_t members = type == '%' ? 2 * head.number : head.number;
	for (int64_t i = 0; i < members; i++, at += size)
		CHECK(resp_elem_next(p + at, len - at, &size));
	CHECK(at == len);
}

/* Size of the reply at p; 0 when there is no complete one. */
static size_t check_reply(const uint8_t *p, size_t len, struct rng *rng)
{
	struct resp_reply whole = {0};
	struct resp_reply pieces = {0};
	size_t used = 0;
	size_t end;
	enum resp_status r = scan_piece(&whole, p, len, &used);
	CHECK(scan_in_pieces(&pieces, p, len, &end, rng) == r);
	if (r == RESP_BAD)
		return 0;
	CHECK(used == end);
	CHECK(whole.type == pieces.type && whole.due == pieces.due && whole.left == pieces.left);
	if (r == RESP_MORE)
		return 0;
	unsigned depth = heads_in(p, used);
	if (depth < 2000)
		CHECK(second_opinion(p, used, depth) == used);
	check_elements(p, used, whole.type);
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct rng rng;
	rng_seed(&rng, data[0]);
	size_t one = 1;
	for (size_t at = 1; at < size && one > 0; at += one)
		one = check_reply(data + at, size - at, &rng);
	return 0;
}
