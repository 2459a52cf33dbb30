/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What goes out on one connection.  Bytes stay after they were sent until sendq_ack() lets them
 * go, so that a request can be sent once more elsewhere:
 *
 *	   | acked, gone |  sent, kept  |  not sent  |
 *	                 ^ chain head   ^ (at, off)
 *
 * A connection that never sends anything twice (a client's) acks as it sends.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "router/io/buf.h"

struct sendq {
	struct chain chain;
	struct chunk *at; /* the first byte not sent is in this chunk at data[off]; NULL: at the
			     head's start */
	uint32_t off;
	size_t unsent;
};

static inline uint8_t *sendq_reserve(struct bufpool *p, struct sendq *q, size_t n)
{
	return chain_reserve(p, &q->chain, n);
}

static inline void sendq_commit(struct sendq *q, size_t n)
{
	chain_commit(&q->chain, n);
	q->unsent += n;
}

static inline void sendq_append(struct bufpool *p, struct sendq *q, const void *bytes, size_t n)
{
	chain_append(p, &q->chain, bytes, n);
	q->unsent += n;
}

/* Takes the chunk over. */
static inline void sendq_push(struct bufpool *p, struct sendq *q, struct chunk *c)
{
	q->unsent += chunk_len(c);
	chain_push(p, &q->chain, c);
}

/* Bytes held, sent or not. */
static inline size_t sendq_held(const struct sendq *q)
{
	return q->chain.len;
}

void sendq_clear(struct bufpool *p, struct sendq *q);

/* Moves the first n held bytes of `from` to the end of `to`, where they count as not sent. */
void sendq_move(struct bufpool *p, struct sendq *to, struct sendq *from, size_t n);

/* Forgets the first n held bytes, sent or not; what is left counts as not sent. */
void sendq_discard(struct bufpool *p, struct sendq *q, size_t n);

/* Lets the first n bytes go; they must have been sent. */
void sendq_ack(struct bufpool *p, struct sendq *q, size_t n);

enum sendq_result {
	SENDQ_EMPTY, /* everything was taken by the kernel */
	SENDQ_FULL,  /* the socket is full: wait until it is writable */
	SENDQ_ERROR, /* the connection is gone */
};

/*
 * Writes what is not sent.  *ret_bytes: how many bytes went out.  keep: sent bytes stay until
 * they are acked; else they are let go at once.
 */
enum sendq_result sendq_flush(
	struct bufpool *p, struct sendq *q, int fd, bool keep, size_t *ret_bytes);
