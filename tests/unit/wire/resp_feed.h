/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Feeding requests to the scanner as a connection does: the bytes so far, contiguous, again and
 * again with more of them.  Every call gets a heap copy of exactly its size, so that a read beyond
 * the end is found. Include after tests/support/test.h.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/wire/resp.h"

struct outcome {
	enum resp_status status;
	size_t pos;
	bool loose;
	bool inline_form;
	bool split_done;
	uint32_t n;
	char error[64];
	char *args; /* owned: "len:bytes," for each */
	size_t args_len;
};

static inline uint8_t *exact_copy(struct span s)
{
	uint8_t *copy = malloc(s.len ? s.len : 1);
	assert_non_null(copy);
	memcpy(copy, s.ptr, s.len);
	if (s.len == 0) {
		free(copy);
		copy = NULL;
	}
	return copy;
}

/* All arguments as one text. */
static inline char *args_text(const struct resp_args *args, size_t *ret_len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_len);
	assert_non_null(f);
	for (uint32_t i = 0; i < args->n; i++) {
		fprintf(f, "%zu:", args->v[i].len);
		fwrite(args->v[i].ptr, 1, args->v[i].len, f);
		fputc(',', f);
	}
	fclose(f);
	return text;
}

static inline void outcome_fini(struct outcome *o)
{
	free(o->args);
	o->args = NULL;
}

/* What resp_request_split() finds in a finished request must be what the scanner recorded. */
static inline void note_args(struct outcome *o, const struct resp_request *st, const uint8_t *buf,
	struct resp_args *args)
{
	if (st->split_done)
		o->args = args_text(args, &o->args_len);
	resp_request_split(buf, st->pos, args);
	if (!st->split_done) {
		o->args = args_text(args, &o->args_len);
	} else {
		size_t len;
		char *again = args_text(args, &len);
		assert_int_equal(len, o->args_len);
		assert_memory_equal(again, o->args, len);
		free(again);
	}
	o->n = args->n;
}

/* One call on in[0 .. len).  True: the request is decided, *o is filled. */
static inline bool feed(struct resp_request *st, struct span in, size_t len, struct resp_args *args,
	struct outcome *o)
{
	uint8_t *buf = exact_copy(span_of(in.ptr, len));
	*o = (struct outcome){.status = resp_request_scan(st, buf, len, args)};
	if (o->status == RESP_MORE) {
		assert_true(st->pos <= len);
		assert_true(resp_request_need(st) >= 1);
	}
	if (o->status == RESP_BAD) {
		assert_non_null(st->error);
		snprintf(o->error, sizeof(o->error), "%s", st->error);
	}
	if (o->status == RESP_DONE) {
		o->pos = st->pos;
		o->loose = st->loose;
		o->inline_form = st->inline_form;
		o->split_done = st->split_done;
		assert_true(o->pos > 0 && o->pos <= len);
		note_args(o, st, buf, args);
	}
	free(buf);
	return o->status != RESP_MORE;
}

/* The first `first` bytes, then `step` more at a time (0: all the rest). */
static inline struct outcome feed_in_steps(struct span in, size_t first, size_t step)
{
	struct resp_request st = {0};
	struct resp_args args;
	struct outcome o;
	resp_args_init(&args);
	size_t len = first;
	while (!feed(&st, in, len, &args, &o) && len < in.len)
		len = step == 0 || !fits(len, step, in.len) ? in.len : len + step;
	resp_args_fini(&args);
	return o;
}

static inline void assert_same_outcome(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->status, b->status);
	assert_string_equal(a->error, b->error);
	assert_int_equal(a->pos, b->pos);
	assert_int_equal(a->loose, b->loose);
	assert_int_equal(a->inline_form, b->inline_form);
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->args_len, b->args_len);
	if (a->args_len > 0)
		assert_memory_equal(a->args, b->args, a->args_len);
}

/* Whole, split in two at every byte, one byte at a time, three at a time: the same outcome, which
 * is returned. */
static inline struct outcome feed_in_every_way(struct span in)
{
	struct outcome whole = feed_in_steps(in, in.len, 0);
	for (size_t at = 0; at <= in.len; at++) {
		struct outcome split = feed_in_steps(in, at, 0);
		assert_same_outcome(&whole, &split);
		outcome_fini(&split);
	}
	for (size_t step = 1; step <= 3; step += 2) {
		struct outcome steps = feed_in_steps(in, 0, step);
		assert_same_outcome(&whole, &steps);
		outcome_fini(&steps);
	}
	return whole;
}
