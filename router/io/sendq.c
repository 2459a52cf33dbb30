/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/io/sendq.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Pieces in one call; more go with the next one. */
#define IOV_BATCH 64

void sendq_clear(struct bufpool *p, struct sendq *q)
{
	chain_clear(p, &q->chain);
	memset(q, 0, sizeof(*q));
}

void sendq_ack(struct bufpool *p, struct sendq *q, size_t n)
{
	CHECK(n <= q->chain.len - q->unsent);
	/* the cursor may point into a chunk that goes now: then it is at the next one's start */
	struct chunk *k = q->chain.head;
	size_t left = n;
	while (k != NULL && chunk_len(k) <= left) {
		left -= chunk_len(k);
		if (k == q->at)
			q->at = NULL;
		k = k->next;
	}
	chain_drop(p, &q->chain, n);
	if (q->unsent == q->chain.len)
		q->at = NULL; /* nothing sent is held: the cursor is the head */
}

void sendq_discard(struct bufpool *p, struct sendq *q, size_t n)
{
	q->at = NULL;
	chain_drop(p, &q->chain, n);
	q->unsent = q->chain.len;
}

void sendq_move(struct bufpool *p, struct sendq *to, struct sendq *from, size_t n)
{
	while (n > 0) {
		struct chunk *k = from->chain.head;
		size_t now = chunk_len(k) < n ? chunk_len(k) : n;
		sendq_append(p, to, chunk_bytes(k), now);
		sendq_discard(p, from, now);
		n -= now;
	}
}

static int gather(const struct sendq *q, struct iovec *iov, int max)
{
	struct chunk *k = q->at != NULL ? q->at : q->chain.head;
	uint32_t off = q->at != NULL ? q->off : (k != NULL ? k->start : 0);
	int n = 0;
	for (; k != NULL && n < max; k = k->next, off = k != NULL ? k->start : 0) {
		if (off == k->end)
			continue;
		iov[n].iov_base = k->data + off;
		iov[n].iov_len = k->end - off;
		n++;
	}
	return n;
}

static void advance(struct sendq *q, size_t n)
{
	struct chunk *k = q->at != NULL ? q->at : q->chain.head;
	uint32_t off = q->at != NULL ? q->off : k->start;
	q->unsent -= n;
	while (n > k->end - off) {
		n -= k->end - off;
		k = k->next;
		off = k->start;
	}
	q->at = k;
	q->off = off + (uint32_t)n;
}

static ssize_t send_some(struct sendq *q, int fd)
{
	if (LIKELY(q->chain.head == q->chain.tail)) {
		uint32_t off = q->at != NULL ? q->off : q->chain.head->start;
		return send(fd, q->chain.head->data + off, q->chain.head->end - off, MSG_NOSIGNAL);
	}
	struct iovec iov[IOV_BATCH];
	int n = gather(q, iov, IOV_BATCH);
	if (n == 1)
		return send(fd, iov[0].iov_base, iov[0].iov_len, MSG_NOSIGNAL);
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)n};
	return sendmsg(fd, &m, MSG_NOSIGNAL);
}

enum sendq_result sendq_flush(
	struct bufpool *p, struct sendq *q, int fd, bool keep, size_t *ret_bytes)
{
	*ret_bytes = 0;
	while (q->unsent > 0) {
		ssize_t n = send_some(q, fd);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? SENDQ_FULL : SENDQ_ERROR;
		*ret_bytes += (size_t)n;
		if (LIKELY(!keep && (size_t)n == q->chain.len && q->chain.head == q->chain.tail)) {
			chunk_give(p, q->chain.head);
			chain_init(&q->chain);
			q->at = NULL;
			q->unsent = 0;
			return SENDQ_EMPTY;
		}
		advance(q, (size_t)n);
		if (!keep)
			sendq_ack(p, q, (size_t)n);
	}
	return SENDQ_EMPTY;
}
