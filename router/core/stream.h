/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Requests above limits.bulk are not collected: they go on to their node as they come, over a private
 * connection, so that what the router holds of one is small whatever its size.
 *
 *	collecting --> command and key are here, more than limits.bulk is announced
 *	           --> all before it answered --> lease --> streaming <--> paused --> its reply is awaited
 *
 * Only a command with one key, which has come, from a client that nothing special is known of (gate.h,
 * tx.h): any other is collected whole.  Paused: the node does not take it as fast as it comes, so the
 * client is not read.  When the connection is lost the error is answered at once, and the rest of the
 * request is read and thrown away.
 *
 * A client that falls silent inside is closed like every other; a node that takes nothing for
 * timeouts.slow fails.  The deadline runs from the request's last byte, as always.  Worker-owned.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router/wire/resp.h"

struct chunk;
struct client;
struct worker;

/* Read at once while streaming. */
#define STREAM_READ (256u * 1024)

enum stream_try {
	STREAM_NO,    /* to be collected */
	STREAM_LATER, /* when what is outstanding is answered; the barrier stands */
	STREAM_BEGUN, /* c->scan.pos bytes are on their way; c->scan.pos is 0 again */
};

/* An unfinished request, at[0 .. n), of which more than limits.bulk is to come. */
enum stream_try stream_begin(struct client *c, const uint8_t *at, size_t n);

/*
 * More of it: at[0 .. n), perhaps in a chunk of its own, which is taken over (and NULL then) when all of
 * it goes.  *ret_used: how many bytes went.  RESP_DONE: it is complete with them.  RESP_BAD: c->scan.error.
 */
enum resp_status stream_more(
	struct client *c, const uint8_t *at, size_t n, struct chunk **chunk, size_t *ret_used);

/* Its request is answered, or failed, before it was complete or after. */
void stream_answered(struct client *c);

/* The client is gone. */
void stream_forget(struct client *c);

/* End of turn: those are read again whose node has taken enough. */
void streams_feed(struct worker *w);

/* Nodes that take nothing fail. */
void streams_sweep(struct worker *w, uint64_t now);
