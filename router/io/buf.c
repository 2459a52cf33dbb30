/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/io/buf.h"

#include <stdlib.h>
#include <string.h>

#include "base/slab.h"
#include "base/str.h"

/*
 * Sizes, headers included.  512: an error or a few small replies; 2 KiB: one value of a
 * kilobyte; 16 KiB: a pipeline; 64 KiB: what one read of a fast peer brings.
 */
static const uint32_t class_size[CHUNK_CLASSES] = {512, 2048, 16384, 65536 + 256};

/* Below this, bytes are copied into existing room rather than linked as a chunk of their own. */
#define COPY_BELOW 512

void bufpool_init(struct bufpool *p, size_t keep_bytes)
{
	memset(p, 0, sizeof(*p));
	p->keep_bytes = keep_bytes;
}

void bufpool_trim(struct bufpool *p, size_t keep)
{
	for (int k = CHUNK_CLASSES - 1; k >= 0; k--) {
		while (p->free[k] != NULL && p->free_bytes > keep) {
			struct chunk *c = p->free[k];
			p->free[k] = c->next;
			p->free_bytes -= class_size[k];
			SLAB_UNPOISON(c->data, c->cap);
			free(c);
		}
	}
}

void bufpool_fini(struct bufpool *p)
{
	CHECK(p->used == 0);
	bufpool_trim(p, 0);
}

static struct chunk *chunk_alloc(size_t total)
{
	struct chunk *c = malloc(total);
	CHECK(c != NULL);
	c->cap = (uint32_t)(total - sizeof(*c));
	return c;
}

static struct chunk *chunk_take_class(struct bufpool *p, unsigned k)
{
	struct chunk *c = p->free[k];
	if (LIKELY(c != NULL)) {
		p->free[k] = c->next;
		p->free_bytes -= class_size[k];
		SLAB_UNPOISON(c->data, c->cap);
	} else {
		c = chunk_alloc(class_size[k]);
	}
	c->size_class = k;
	return c;
}

struct chunk *chunk_take(struct bufpool *p, size_t n)
{
	CHECK(n <= CHUNK_MAX);
	size_t total = n + sizeof(struct chunk);
	unsigned k = 0;
	while (k < CHUNK_CLASSES && class_size[k] < total)
		k++;
	struct chunk *c;
	if (k < CHUNK_CLASSES) {
		c = chunk_take_class(p, k);
	} else {
		c = chunk_alloc(total);
		c->size_class = CHUNK_CLASSES;
	}
	c->next = NULL;
	c->start = c->end = 0;
	p->used += c->cap + sizeof(*c);
	return c;
}

void chunk_give(struct bufpool *p, struct chunk *c)
{
	if (c == NULL)
		return;
	CHECK(c->start <= c->end && c->end <= c->cap);
	p->used -= c->cap + sizeof(*c);
	unsigned k = c->size_class;
	if (k == CHUNK_CLASSES || p->free_bytes + class_size[k] > p->keep_bytes) {
		free(c);
		return;
	}
	c->next = p->free[k];
	p->free[k] = c;
	p->free_bytes += class_size[k];
	SLAB_POISON(c->data, c->cap);
}

/* Room for exactly `want` bytes.  A block that malloc made is enlarged where it lies if possible, so
 * that a large one is not there twice, not even for a moment. */
static struct chunk *chunk_resize(struct bufpool *p, struct chunk *c, size_t want)
{
	size_t len = chunk_len(c);
	if (c->size_class == CHUNK_CLASSES && want + sizeof(*c) > class_size[CHUNK_CLASSES - 1]) {
		memmove(c->data, chunk_bytes(c), len);
		p->used += want - c->cap;
		c = realloc(c, want + sizeof(*c));
		CHECK(c != NULL);
		c->cap = (uint32_t)want;
		c->start = 0;
		c->end = (uint32_t)len;
		return c;
	}
	struct chunk *bigger = chunk_take(p, want);
	memcpy(bigger->data, chunk_bytes(c), len);
	bigger->end = (uint32_t)len;
	chunk_give(p, c);
	return bigger;
}

struct chunk *chunk_grow(struct bufpool *p, struct chunk *c, size_t more)
{
	if (c == NULL)
		return chunk_take(p, more);
	if (chunk_room(c) >= more)
		return c;
	size_t len = chunk_len(c);
	CHECK(fits(len, more, CHUNK_MAX));
	size_t want = len + more;
	if (want < 2 * len)
		want = 2 * len < CHUNK_MAX ? 2 * len : CHUNK_MAX;
	return chunk_resize(p, c, want);
}

struct chunk *chunk_extend(struct bufpool *p, struct chunk *c, size_t more)
{
	if (chunk_room(c) >= more)
		return c;
	CHECK(fits(chunk_len(c), more, CHUNK_MAX));
	return chunk_resize(p, c, chunk_len(c) + more);
}

struct chunk *chunk_append(struct bufpool *p, struct chunk *c, const void *bytes, size_t n)
{
	c = chunk_grow(p, c, n);
	memcpy(c->data + c->end, bytes, n);
	c->end += (uint32_t)n;
	return c;
}

/* A chunk for n more bytes of a chain: the fuller the chain, the larger its next chunk. */
static struct chunk *chain_next_chunk(struct bufpool *p, const struct chain *c, size_t n)
{
	size_t want = n;
	if (c->len >= 16384)
		want = class_size[3] - sizeof(struct chunk);
	else if (c->len > 0)
		want = class_size[2] - sizeof(struct chunk);
	return chunk_take(p, want > n ? want : n);
}

static void chain_link(struct chain *c, struct chunk *chunk)
{
	chunk->next = NULL;
	if (c->tail == NULL)
		c->head = chunk;
	else
		c->tail->next = chunk;
	c->tail = chunk;
}

uint8_t *chain_reserve_slow(struct bufpool *p, struct chain *c, size_t n)
{
	struct chunk *chunk = chain_next_chunk(p, c, n);
	chain_link(c, chunk);
	return chunk->data;
}

void chain_append_slow(struct bufpool *p, struct chain *c, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	if (c->tail != NULL) {
		size_t room = chunk_room(c->tail);
		size_t now = n < room ? n : room;
		memcpy(c->tail->data + c->tail->end, at, now);
		chain_commit(c, now);
		at += now;
		n -= now;
	}
	while (n > 0) {
		size_t now = n < class_size[3] - sizeof(struct chunk)
				     ? n
				     : class_size[3] - sizeof(struct chunk);
		chain_link(c, chain_next_chunk(p, c, now));
		memcpy(c->tail->data, at, now);
		chain_commit(c, now);
		at += now;
		n -= now;
	}
}

void chain_push(struct bufpool *p, struct chain *c, struct chunk *chunk)
{
	size_t len = chunk_len(chunk);
	if (len < COPY_BELOW && c->tail != NULL && chunk_room(c->tail) >= len) {
		memcpy(c->tail->data + c->tail->end, chunk_bytes(chunk), len);
		chain_commit(c, len);
		chunk_give(p, chunk);
		return;
	}
	chain_link(c, chunk);
	c->len += len;
}

void chain_splice(struct bufpool *p, struct chain *c, struct chain *from)
{
	struct chunk *next;
	for (struct chunk *k = from->head; k != NULL; k = next) {
		next = k->next;
		chain_push(p, c, k);
	}
	chain_init(from);
}

void chain_drop(struct bufpool *p, struct chain *c, size_t n)
{
	CHECK(n <= c->len);
	c->len -= n;
	while (c->head != NULL && chunk_len(c->head) <= n) {
		struct chunk *k = c->head;
		n -= chunk_len(k);
		c->head = k->next;
		if (c->head == NULL)
			c->tail = NULL;
		chunk_give(p, k);
	}
	if (n > 0) {
		CHECK(c->head != NULL); /* n was within the chain */
		c->head->start += (uint32_t)n;
	}
}

void chain_clear(struct bufpool *p, struct chain *c)
{
	struct chunk *next;
	for (struct chunk *k = c->head; k != NULL; k = next) {
		next = k->next;
		chunk_give(p, k);
	}
	chain_init(c);
}

int chain_iov(const struct chain *c, struct iovec *iov, int max)
{
	int n = 0;
	for (struct chunk *k = c->head; k != NULL && n < max; k = k->next) {
		if (chunk_len(k) == 0)
			continue;
		iov[n].iov_base = chunk_bytes(k);
		iov[n].iov_len = chunk_len(k);
		n++;
	}
	return n;
}
