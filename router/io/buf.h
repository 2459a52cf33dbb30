/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Bytes in memory: chunks, and chains of chunks.
 *
 * A chunk is one block with bytes in [start, end).  It has one owner at a time: a chain, or
 * whoever holds the pointer; handing it on moves bytes without copying them.  Chunks come in
 * four pooled sizes and, above those, at exactly the size that was asked for.  A connection
 * without bytes holds no chunk.
 *
 *	chunk   | spent |  bytes ..........  |  room  |
 *	        0     start                 end      cap         start <= end <= cap, always
 *
 * One pool per worker; nothing here is shared between threads.  `used` is what limits.memory is
 * compared with.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "base/check.h"
#include "base/compiler.h"

#define CHUNK_CLASSES 4

/* No chunk is larger. */
#define CHUNK_MAX (UINT32_MAX / 2)

struct chunk {
	struct chunk *next; /* the chain's, or the pool's while free */
	uint32_t cap;
	uint32_t start;
	uint32_t end;
	uint32_t size_class; /* CHUNK_CLASSES: not pooled */
	uint8_t data[];
};

struct bufpool {
	struct chunk *free[CHUNK_CLASSES];
	size_t free_bytes; /* in free[] */
	size_t keep_bytes; /* more than this goes back to malloc */
	size_t used;       /* bytes of chunks handed out, headers included */
};

struct chain {
	struct chunk *head;
	struct chunk *tail;
	size_t len; /* bytes in all chunks */
};

void bufpool_init(struct bufpool *p, size_t keep_bytes);
/* Frees what lies idle; every chunk must have been given back. */
void bufpool_fini(struct bufpool *p);
/* Frees idle chunks beyond `keep` bytes. */
void bufpool_trim(struct bufpool *p, size_t keep);

/* Room for at least n bytes (n <= CHUNK_MAX).  Never NULL. */
struct chunk *chunk_take(struct bufpool *p, size_t n);
/* NULL is allowed.  Its bytes are poisoned under AddressSanitizer while it lies idle. */
void chunk_give(struct bufpool *p, struct chunk *c);

static inline size_t chunk_len(const struct chunk *c)
{
	return c->end - c->start;
}

static inline size_t chunk_room(const struct chunk *c)
{
	return c->cap - c->end;
}

static inline uint8_t *chunk_bytes(struct chunk *c)
{
	return c->data + c->start;
}

/*
 * A chunk with the same bytes and room for `more` after them: c itself when it has the room,
 * else a larger one (at least doubled, so that growing is linear) and c is given back.  c may be
 * NULL.
 */
struct chunk *chunk_grow(struct bufpool *p, struct chunk *c, size_t more);

/* The same for room that was accounted for: no more than was asked for, if no pooled size serves. */
struct chunk *chunk_extend(struct bufpool *p, struct chunk *c, size_t more);

/* c's bytes followed by these.  c may be NULL; the result replaces c. */
struct chunk *chunk_append(struct bufpool *p, struct chunk *c, const void *bytes, size_t n);

static inline void chain_init(struct chain *c)
{
	c->head = c->tail = NULL;
	c->len = 0;
}

/* Room for n contiguous bytes at the end; chain_commit() says how many were written (at most n). */
uint8_t *chain_reserve_slow(struct bufpool *p, struct chain *c, size_t n);

static inline uint8_t *chain_reserve(struct bufpool *p, struct chain *c, size_t n)
{
	if (LIKELY(c->tail != NULL && chunk_room(c->tail) >= n))
		return c->tail->data + c->tail->end;
	return chain_reserve_slow(p, c, n);
}

static inline void chain_commit(struct chain *c, size_t n)
{
	c->tail->end += (uint32_t)n;
	c->len += n;
}

void chain_append_slow(struct bufpool *p, struct chain *c, const void *bytes, size_t n);
/* Copies. */
static inline void chain_append(struct bufpool *p, struct chain *c, const void *bytes, size_t n)
{
	if (LIKELY(c->tail != NULL && chunk_room(c->tail) >= n)) {
		memcpy(c->tail->data + c->tail->end, bytes, n);
		chain_commit(c, n);
	} else {
		chain_append_slow(p, c, bytes, n);
	}
}

/* Takes the chunk over.  A small one is copied into the room at the end and given back. */
void chain_push(struct bufpool *p, struct chain *c, struct chunk *chunk);
/* Takes all chunks of `from`, which is empty afterwards. */
void chain_splice(struct bufpool *p, struct chain *c, struct chain *from);
/* Forgets the first n bytes (n <= len). */
void chain_drop(struct bufpool *p, struct chain *c, size_t n);
void chain_clear(struct bufpool *p, struct chain *c);
/* Gather list of the first bytes; returns how many of `max` entries were filled. */
int chain_iov(const struct chain *c, struct iovec *iov, int max);
