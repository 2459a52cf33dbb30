/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */

/*
 * Requests: any bytes, any pieces.  Byte 0 seeds the sizes of the pieces and its top bit says
 * whether the client has logged in; the rest is what the client sends.
 *
 * Every request in it is read whole and in pieces, from heap copies of exactly the bytes so far.
 * Both ways must agree on the verdict, the error, the end, the flags and the arguments, and a
 * request written anew from its arguments must read back as the same arguments.
 */

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rand.h"
#include "router/wire/resp.h"
#include "router/wire/resp_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *exact_copy(const uint8_t *p, size_t len)
{
	uint8_t *copy = malloc(len);
	CHECK(copy != NULL || len == 0);
	if (len > 0)
		memcpy(copy, p, len);
	return copy;
}

static void check_same_args(const struct resp_args *a, const struct resp_args *b)
{
	CHECK(a->n == b->n);
	for (uint32_t i = 0; i < a->n; i++)
		CHECK(span_eq(a->v[i], b->v[i]));
}

static void check_written_anew(const struct resp_args *args)
{
	size_t size = resp_request_size(args->v, args->n);
	uint8_t *wire = malloc(size);
	CHECK(wire != NULL);
	CHECK(resp_put_request(wire, args->v, args->n) == wire + size);
	struct resp_args again = {0};
	resp_request_split(wire, size, &again);
	check_same_args(args, &again);
	resp_args_fini(&again);
	free(wire);
}

/* The request at p, found complete: its arguments, recorded and split again. */
static void check_args(
	const struct resp_request *st, const uint8_t *p, const struct resp_args *args)
{
	struct resp_args split = {0};
	uint8_t *copy = exact_copy(p, st->pos);
	resp_request_split(copy, st->pos, &split);
	check_same_args(args, &split);
	check_written_anew(&split);
	resp_args_fini(&split);
	free(copy);
}

/* Calls with ever more bytes until the request is decided or they run out. */
static enum resp_status scan_in_pieces(struct resp_request *st, const uint8_t *p, size_t len,
	struct resp_args *args, struct rng *rng)
{
	size_t most = 1 + rng_below(rng, 2) * rng_below(rng, 64);
	for (size_t have = 0;;) {
		have += 1 + rng_below(rng, (uint32_t)most);
		if (have > len)
			have = len;
		uint8_t *copy = exact_copy(p, have);
		enum resp_status r = resp_request_scan(st, copy, have, args);
		CHECK(r == RESP_BAD || st->pos <= have);
		CHECK(r != RESP_MORE || resp_request_need(st) > 0);
		if (r == RESP_DONE && st->split_done)
			check_args(st, copy, args);
		free(copy);
		if (r != RESP_MORE || have == len)
			return r;
	}
}

/* Size of the request at p; 0 when there is no complete one. */
static size_t check_request(const uint8_t *p, size_t len, bool anonymous, struct rng *rng)
{
	struct resp_request whole = {.anonymous = anonymous};
	struct resp_request pieces = {.anonymous = anonymous};
	struct resp_args args = {0};
	struct resp_args other = {0};
	uint8_t *copy = exact_copy(p, len);
	enum resp_status r = resp_request_scan(&whole, copy, len, &args);
	CHECK(scan_in_pieces(&pieces, p, len, &other, rng) == r);
	if (r == RESP_BAD) {
		CHECK(strcmp(whole.error, pieces.error) == 0);
	} else {
		CHECK(whole.pos == pieces.pos);
		CHECK(whole.loose == pieces.loose && whole.inline_form == pieces.inline_form);
		CHECK(resp_request_need(&whole) == resp_request_need(&pieces));
	}
	CHECK(r != RESP_DONE || whole.split_done);
	if (r == RESP_DONE)
		check_args(&whole, copy, &args);
	free(copy);
	resp_args_fini(&args);
	resp_args_fini(&other);
	return r == RESP_DONE ? whole.pos : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct rng rng;
	rng_seed(&rng, data[0] & 0x7f);
	for (size_t at = 1, one = 1; one > 0; at += one)
		one = check_request(data + at, size - at, data[0] >> 7, &rng);
	return 0;
}
