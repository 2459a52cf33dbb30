/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * RESP2 and RESP3, read without I/O, without allocation and without recursion.  Pure: any thread.
 *
 * Requests.  A request is handled once it lies whole in contiguous memory.  The scanner finds where
 * it ends.  When it sees the request from its first byte in one call (nearly always) it records the
 * arguments on the way; when the bytes come in pieces it keeps a few numbers of state, so that what
 * a client announces costs nothing, and resp_request_split() walks the finished request once more.
 *
 * Replies.  They are passed on as they arrive, so the reply scanner works on any pieces: it says
 * how many of the given bytes belong to the present reply and whether that reply is complete. Depth
 * is one counter of elements still due.
 *
 * Limits and texts are those of Redis 7.0 (networking.c: processMultibulkBuffer,
 * processInlineBuffer): 64 KiB on a length line or an inline request, INT_MAX arguments, 512 MB a
 * bulk. Its habits too: a line ends at CR whatever byte follows (inline: at LF), the two bytes
 * after a bulk are not looked at, and a NUL hides the rest of a line, its end included.  One
 * difference: how long a line Redis takes depends on how much one read() brought; here the end must
 * be among the first 65,537 bytes of the line (the limit when Redis gets them one by one), so that
 * pieces never change the verdict.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

#define RESP_INLINE_MAX (64 * 1024)
#define RESP_BULK_MAX (512u * 1024 * 1024)

enum resp_status {
	RESP_MORE, /* nothing wrong so far; more bytes are needed */
	RESP_DONE, /* complete */
	RESP_BAD,  /* protocol error; the stream can't go on */
};

/* Arguments of one request: a growable vector, owned by whoever parses (one per worker). */
struct resp_args {
	struct span *v; /* owned array; spans point into the request (or `unescaped`) */
	uint32_t n;
	uint32_t cap;
	uint8_t *unescaped; /* owned: bytes of an inline request after its quotes are taken away */
	size_t unescaped_cap;
};

void resp_args_init(struct resp_args *a);
void resp_args_fini(struct resp_args *a);
/* Gives memory above a small working size back, and the arguments with it: call it now and then. */
void resp_args_trim(struct resp_args *a);

/* All zero = at the start of a request. */
struct resp_request {
	size_t pos;        /* bytes of this request that are scanned */
	int64_t args_due;  /* arguments still to come (<= 0: none), valid once `multibulk` */
	int64_t bulk_left; /* of the present bulk and its CR LF; -1: its length line is due */
	uint32_t searched; /* bytes of a line, its end missing, that need no second look */
	bool multibulk;    /* the '*' line was read */

	/* in, kept by resp_request_reset(): the client has yet to log in.  Redis then takes at most
	 * 10 arguments of at most 16 KiB each. */
	bool anonymous;

	/* out, RESP_DONE: the arguments of this finished request are already in `args`. */
	bool split_done;
	/* out, RESP_DONE: not an array; must be written anew from its arguments for a node. */
	bool inline_form;
	/* out, RESP_DONE: Redis reads it, but not every server would (a line end that is not
	 * CR LF); must be written anew from its arguments. */
	bool loose;

	/* out, RESP_BAD: Redis's text without "-ERR " and CR LF; static or in `error_buf`. */
	const char *error;
	char error_buf[40];
};

/*
 * Scans buf[0 .. len), whose first byte is the first byte of a request and which holds at least the
 * bytes that earlier calls saw (len >= st->pos).  RESP_DONE: the request is buf[0 .. st->pos), and
 * when st->split_done its arguments are in `args`; else call resp_request_split().  A request that
 * is nothing (an empty line, "*0", "*-1") is DONE with args->n == 0 and split_done set.
 *
 * RESP_MORE leaves in `args` the arguments that are complete so far if the call began at the first
 * byte (st->pos was 0); otherwise `args` is not touched.  Once st->multibulk, what lies before
 * st->pos is not looked at again: who does not need it may give it away and set st->pos to 0 (a CR
 * before an LF may then go with it: the request counts as loose).  The caller sets *st to all zero
 * before the next request (resp_request_reset()).
 */
enum resp_status resp_request_scan(
	struct resp_request *st, const uint8_t *buf, size_t len, struct resp_args *args) MUST_CHECK;

static inline void resp_request_reset(struct resp_request *st)
{
	st->pos = 0;
	st->args_due = 0;
	st->bulk_left = 0;
	st->searched = 0;
	st->multibulk = st->split_done = st->inline_form = st->loose = false;
	st->error = NULL;
}

/* Arguments of a request that resp_request_scan() found complete: buf[0 .. len) is all of it. */
void resp_request_split(const uint8_t *buf, size_t len, struct resp_args *args);

/*
 * How many more bytes the request certainly needs beyond st->pos to finish the present line or bulk
 * (at least 1): a hint for the size of the next read.  What is announced beyond that bulk does not
 * count.  Meaningful after RESP_MORE.
 */
size_t resp_request_need(const struct resp_request *st);

/* ---- Replies ---- */

/* All zero = at the start of a reply. */
struct resp_reply {
	uint64_t due;   /* elements still to come after the one being read (0 before the first) */
	uint64_t left;  /* bytes of the present bulk and its CR LF still to come */
	int64_t number; /* digits of the present length line read so far */
	uint8_t digits; /* how many */
	bool negative;  /* it began with '-' */
	uint8_t state;  /* the scanner's own */
	uint8_t line_type; /* type byte of the line being read */

	/* out: type byte of the whole reply, one of + - : $ * _ , # ! = ( % ~ >.  Attributes ('|')
	 * before it are skipped over.  0 until known. */
	uint8_t type;
};

/* Elements that one reply may announce in all, and bytes of one bulk: beyond it nobody means it. */
#define RESP_REPLY_MAX (UINT64_C(1) << 40)

/*
 * Scans piece p[0 .. len), len > 0.  *used: how many bytes belong to this reply.  RESP_DONE: it is
 * complete with them (the rest begins the next reply); RESP_MORE: all of them are of this reply
 * (*used == len); RESP_BAD: not a reply (*used is then untouched).  After DONE the caller resets
 * *st to all zero for the next reply.
 *
 * Lengths are taken in Redis's strict form; "$-1" and "*-1" are the only negative ones.  What a
 * line says ("+...", ":...", ",...") is not looked at: it ends at its first CR LF.  Streamed types
 * ("$?", "*?") are BAD.  Fast for what caches send: "$n\r\n...", "+...\r\n", ":n\r\n" lying whole
 * in the piece.
 */
enum resp_status resp_reply_scan(
	struct resp_reply *st, const uint8_t *p, size_t len, size_t *used) MUST_CHECK;

/* Inside a bulk: how many bytes are certainly still to come for it.  0: not inside one. */
static inline uint64_t resp_reply_bulk_left(const struct resp_reply *st)
{
	return st->left;
}
