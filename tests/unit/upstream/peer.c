/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/support/test.h"

#include "tests/unit/upstream/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "router/io/sock.h"

void pump_once(const struct pump *p)
{
	static const struct timespec ms = {.tv_nsec = 1000000};
	if (p->run != NULL)
		p->run(p->arg);
	else
		(void)nanosleep(&ms, NULL);
}

void pump_for(const struct pump *p, int ms)
{
	uint64_t end = clock_ns() + (uint64_t)ms * NS_PER_MS;
	while (clock_ns() < end)
		pump_once(p);
}

/* ---- nodes ------------------------------------------------------------------------------------*/

void node_open(struct node *n, const char *address, struct pump pump)
{
	struct sockaddr_any where;
	const char *why = NULL;
	char text[160];
	n->pump = pump;
	assert_int_equal(addr_parse(&n->addr, address, &why), 0);
	assert_int_equal(sock_resolve(&where, &n->addr), 0);
	n->fd = sock_listen(&where, 64);
	assert_true(n->fd >= 0);
	(void)sock_local(n->fd, text, sizeof(text));
	assert_int_equal(addr_parse(&n->addr, text, &why), 0);
}

void node_close(struct node *n)
{
	if (n->fd >= 0)
		(void)close(n->fd);
	n->fd = -1;
}

struct peer node_accept(struct node *n)
{
	struct peer p = {.fd = -1, .pump = n->pump};
	PUMP_UNTIL(&n->pump, (p.fd = accept4(n->fd, NULL, NULL, SOCK_NONBLOCK)) >= 0);
	return p;
}

void node_sees_nobody(struct node *n, int ms)
{
	pump_for(&n->pump, ms);
	int fd = accept4(n->fd, NULL, NULL, SOCK_NONBLOCK);
	assert_int_equal(fd, -1);
}

/* ---- bytes ------------------------------------------------------------------------------------*/

void peer_say(struct peer *p, const void *bytes, size_t n)
{
	const char *at = bytes;
	while (n > 0) {
		ssize_t done = -1;
		PUMP_UNTIL(&p->pump,
			(done = send(p->fd, at, n, MSG_NOSIGNAL)) >= 0 || errno != EAGAIN);
		assert_true(done > 0);
		at += done;
		n -= (size_t)done;
	}
}

void peer_says(struct peer *p, const char *text)
{
	peer_say(p, text, strlen(text));
}

void peer_says_slowly(struct peer *p, const char *text, size_t piece)
{
	size_t len = strlen(text);
	for (size_t at = 0; at < len; at += piece) {
		peer_say(p, text + at, len - at < piece ? len - at : piece);
		pump_for(&p->pump, 3);
	}
}

void peer_expect(struct peer *p, const void *bytes, size_t n)
{
	char *got = malloc(n + 1);
	size_t len = 0;
	assert_non_null(got);
	while (len < n) {
		ssize_t now = -1;
		PUMP_UNTIL(&p->pump,
			(now = recv(p->fd, got + len, n - len, 0)) >= 0 || errno != EAGAIN);
		if (now <= 0)
			fail_msg("the other end closed after %zu bytes of %zu", len, n);
		len += (size_t)now;
		if (memcmp(got, bytes, len) != 0)
			fail_msg("got \"%.*s\"", (int)(len < 400 ? len : 400), got);
	}
	free(got);
}

void peer_expects(struct peer *p, const char *text)
{
	peer_expect(p, text, strlen(text));
}

void peer_hears_nothing(struct peer *p, int ms)
{
	char got[64];
	pump_for(&p->pump, ms);
	ssize_t n = recv(p->fd, got, sizeof(got), 0);
	if (n > 0)
		fail_msg("got \"%.*s\"", (int)n, got);
	assert_int_equal(n, -1);
	assert_int_equal(errno, EAGAIN);
}

size_t peer_sees_end(struct peer *p)
{
	char got[65536];
	size_t before = 0;
	for (;;) {
		ssize_t n = -1;
		PUMP_UNTIL(
			&p->pump, (n = recv(p->fd, got, sizeof(got), 0)) >= 0 || errno != EAGAIN);
		if (n <= 0)
			return before;
		before += (size_t)n;
	}
}

void peer_close(struct peer *p)
{
	if (p->fd >= 0)
		(void)close(p->fd);
	p->fd = -1;
}

void peer_shut(struct peer *p)
{
	assert_int_equal(shutdown(p->fd, SHUT_WR), 0);
}

void peer_reset(struct peer *p)
{
	const struct linger now = {.l_onoff = 1, .l_linger = 0};
	(void)setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	peer_close(p);
}
