/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

/*
 * Chains and send queues against a plain array of bytes.  Random operations, the whole state
 * compared after each of them; the socket is a socketpair with the smallest send buffer the kernel
 * gives, so that most writes are partial.  Everything is decided by the seed that is printed when a
 * run fails.
 *
 * Every byte that is ever queued has a position in one endless stream, and its value follows from
 * that position: a byte lost, doubled or swapped shows at once.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rand.h"
#include "router/io/sendq.h"

#define RUNS 60
#ifdef __SANITIZE_THREAD__
#define STEPS 40 /* each byte of large copies is looked at there */
#else
#define STEPS 400
#endif

/* The stream repeats after a prime number of bytes, which no block size and no distance divides. */
#define PERIOD 262147u

static uint8_t stream[2 * PERIOD];

static int make_stream(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stream); i++)
		stream[i] = (uint8_t)((i % PERIOD * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
	return 0;
}

static const uint8_t *stream_at(uint64_t position)
{
	return stream + position % PERIOD;
}

static void fill(uint8_t *at, uint64_t position, size_t n)
{
	memcpy(at, stream_at(position), n);
}

static bool same(const uint8_t *at, uint64_t position, size_t n)
{
	assert_true(n <= PERIOD);
	return memcmp(at, stream_at(position), n) == 0;
}

/* Mostly small, sometimes around a chunk's size, seldom large. */
static size_t some_size(struct rng *r)
{
	static const size_t edges[] = {0, 1, 487, 488, 489, 511, 512, 513, 2023, 2024, 2025, 16359,
		16360, 16361, 65767, 65768, 65769};
	switch (rng_below(r, 8)) {
	case 0:
		return edges[rng_below(r, ARRAY_LEN(edges))];
	case 1:
		return rng_below(r, 100000);
	case 2:
	case 3:
		return rng_below(r, 3000);
	default:
		return rng_below(r, 60);
	}
}

static struct chunk *some_chunk(struct bufpool *p, struct rng *r, uint64_t position, size_t n)
{
	size_t spent = rng_below(r, 2) ? rng_below(r, 40) : 0;
	struct chunk *c = chunk_take(p, spent + n + rng_below(r, 200));
	memset(c->data, 0xee, spent);
	c->start = (uint32_t)spent;
	c->end = (uint32_t)(spent + n);
	fill(chunk_bytes(c), position, n);
	return c;
}

/* The chain is the stream's [first, last), and its links are sound. */
static void chain_is(const struct chain *c, uint64_t first, uint64_t last)
{
	uint64_t at = first;
	const struct chunk *tail = NULL;
	for (struct chunk *k = c->head; k != NULL; k = k->next) {
		assert_true(k->start <= k->end && k->end <= k->cap);
		assert_true(chunk_len(k) <= last - at);
		assert_true(same(chunk_bytes(k), at, chunk_len(k)));
		at += chunk_len(k);
		tail = k;
	}
	assert_ptr_equal(tail, c->tail);
	assert_true(at == last);
	assert_int_equal(c->len, last - first);
}

/* ---- chains -----------------------------------------------------------------------------------*/

struct chain_run {
	struct rng rng;
	struct bufpool pool;
	struct chain c;
	uint64_t first, last; /* what c must hold */
};

static void splice_some(struct chain_run *t)
{
	struct chain other;
	chain_init(&other);
	for (uint32_t i = rng_below(&t->rng, 4); i > 0; i--) {
		size_t n = some_size(&t->rng);
		chain_push(&t->pool, &other, some_chunk(&t->pool, &t->rng, t->last, n));
		t->last += n;
	}
	chain_splice(&t->pool, &t->c, &other);
	assert_null(other.head);
	assert_int_equal(other.len, 0);
}

static void reserve_some(struct chain_run *t)
{
	size_t room = some_size(&t->rng);
	uint8_t *at = chain_reserve(&t->pool, &t->c, room);
	size_t n = rng_below(&t->rng, (uint32_t)room + 1);
	memset(at, 0xdd, room);
	fill(at, t->last, n);
	chain_commit(&t->c, n);
	t->last += n;
}

static void append_some(struct chain_run *t)
{
	size_t n = some_size(&t->rng);
	uint8_t *bytes = malloc(n + 1);
	fill(bytes, t->last, n);
	chain_append(&t->pool, &t->c, bytes, n);
	free(bytes);
	t->last += n;
}

static void chain_step(struct chain_run *t)
{
	size_t n;
	switch (rng_below(&t->rng, 7)) {
	case 0:
	case 1:
		append_some(t);
		break;
	case 2:
		n = some_size(&t->rng);
		chain_push(&t->pool, &t->c, some_chunk(&t->pool, &t->rng, t->last, n));
		t->last += n;
		break;
	case 3:
		reserve_some(t);
		break;
	case 4:
		splice_some(t);
		break;
	case 5:
		n = rng_below(&t->rng, (uint32_t)t->c.len + 1);
		chain_drop(&t->pool, &t->c, n);
		t->first += n;
		break;
	case 6:
		if (rng_below(&t->rng, 20) > 0)
			break;
		chain_clear(&t->pool, &t->c);
		t->first = t->last;
		break;
	}
	chain_is(&t->c, t->first, t->last);
}

static void a_chain_is_the_bytes_put_in_less_those_dropped(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++) {
		struct chain_run t = {0};
		rng_seed(&t.rng, seed);
		bufpool_init(&t.pool, rng_below(&t.rng, 2) ? 1u << 20 : 0);
		for (int i = 0; i < STEPS; i++)
			chain_step(&t);
		chain_clear(&t.pool, &t.c);
		assert_int_equal(t.pool.used, 0);
		bufpool_fini(&t.pool);
	}
}

/* ---- send queues ------------------------------------------------------------------------------*/

struct sendq_run {
	struct rng rng;
	struct bufpool pool;
	struct sendq q;
	bool keep;
	int fd, peer;
	uint64_t acked, sent, last; /* positions in the stream: acked <= sent <= last */
	uint64_t seen;              /* what the peer has read */
};

static void check_sendq(const struct sendq_run *t)
{
	chain_is(&t->q.chain, t->acked, t->last);
	assert_int_equal(t->q.unsent, t->last - t->sent);
	assert_int_equal(sendq_held(&t->q), t->last - t->acked);
	assert_true(t->keep || t->acked == t->sent);
}

static void read_peer(struct sendq_run *t, size_t most)
{
	static uint8_t buf[200000];
	while (most > 0) {
		ssize_t n = recv(t->peer, buf, most < sizeof(buf) ? most : sizeof(buf), 0);
		if (n < 0 && errno == EAGAIN)
			return;
		assert_true(n > 0);
		assert_true(t->seen + (uint64_t)n <= t->sent);
		assert_true(same(buf, t->seen, (size_t)n));
		t->seen += (uint64_t)n;
		most -= (size_t)n;
	}
}

static void flush_some(struct sendq_run *t)
{
	size_t n = 0;
	enum sendq_result r = sendq_flush(&t->pool, &t->q, t->fd, t->keep, &n);
	t->sent += n;
	if (!t->keep)
		t->acked = t->sent;
	assert_int_equal(r, t->sent == t->last ? SENDQ_EMPTY : SENDQ_FULL);
}

static void queue_some(struct sendq_run *t)
{
	size_t n = some_size(&t->rng);
	size_t more = rng_below(&t->rng, 100);
	uint8_t *bytes;
	switch (rng_below(&t->rng, 3)) {
	case 0:
		bytes = malloc(n + 1);
		fill(bytes, t->last, n);
		sendq_append(&t->pool, &t->q, bytes, n);
		free(bytes);
		break;
	case 1:
		sendq_push(&t->pool, &t->q, some_chunk(&t->pool, &t->rng, t->last, n));
		break;
	case 2:
		bytes = sendq_reserve(&t->pool, &t->q, n + more);
		fill(bytes, t->last, n);
		sendq_commit(&t->q, n);
		break;
	}
	t->last += n;
}

static void sendq_step(struct sendq_run *t)
{
	uint64_t n;
	switch (rng_below(&t->rng, 8)) {
	case 0:
	case 1:
	case 2:
		queue_some(t);
		break;
	case 3:
	case 4:
		flush_some(t);
		break;
	case 5:
		read_peer(t, some_size(&t->rng));
		break;
	case 6:
		if (!t->keep)
			break;
		n = rng_below(&t->rng, 3) == 0
			    ? t->sent - t->acked
			    : rng_below(&t->rng, (uint32_t)(t->sent - t->acked) + 1);
		sendq_ack(&t->pool, &t->q, n);
		t->acked += n;
		break;
	case 7:
		if (rng_below(&t->rng, 30) > 0)
			break;
		sendq_clear(&t->pool, &t->q);
		/* what was not sent never comes: the stream goes on where the socket is */
		t->last = t->acked = t->sent;
		break;
	}
	check_sendq(t);
}

static void sendq_run(uint64_t seed, bool keep)
{
	struct sendq_run t = {.keep = keep};
	int fds[2];
	int tiny = 1;
	rng_seed(&t.rng, seed);
	bufpool_init(&t.pool, rng_below(&t.rng, 2) ? 1u << 20 : 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	t.fd = fds[0];
	t.peer = fds[1];
	assert_int_equal(setsockopt(t.fd, SOL_SOCKET, SO_SNDBUF, &tiny, sizeof(tiny)), 0);
	for (int i = 0; i < STEPS; i++)
		sendq_step(&t);
	while (t.seen < t.last) {
		flush_some(&t);
		read_peer(&t, SIZE_MAX);
	}
	check_sendq(&t);
	sendq_ack(&t.pool, &t.q, t.sent - t.acked);
	assert_int_equal(sendq_held(&t.q), 0);
	assert_int_equal(t.pool.used, 0); /* acked to the last byte: no chunk is held */
	sendq_clear(&t.pool, &t.q);
	bufpool_fini(&t.pool);
	(void)close(t.fd);
	(void)close(t.peer);
}

static void a_queue_that_lets_go_sends_each_byte_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++)
		sendq_run(seed, false);
}

static void a_queue_that_keeps_sends_each_byte_once_and_holds_the_unacked(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++)
		sendq_run(seed, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_the_bytes_put_in_less_those_dropped),
		cmocka_unit_test(a_queue_that_lets_go_sends_each_byte_once),
		cmocka_unit_test(a_queue_that_keeps_sends_each_byte_once_and_holds_the_unacked),
	};
	return cmocka_run_group_tests(tests, make_stream, NULL);
}
