/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * How a node connection comes to be READY, and how it moves to another address.
 *
 * A server has one address, or a name with several.  An attempt tries each of them once, beginning
 * with the one that worked last, until one takes the connection; the connect timeout is that of the
 * whole attempt, and the next attempt begins behind an address that used it up.
 *
 * When a name leads elsewhere, new connections go there.  A connection to an address that the name
 * still has stays.  One to an address that is gone leaves: what was sent is answered first, what
 * comes meanwhile is held back, then the socket is exchanged below the FIFO, and nobody's order is
 * disturbed:
 *
 *	leaving --> everything queued is sent --> holding --> everything sent is answered --> connect
 */

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "router/upstream/upstream_internal.h"

/* Place of an address in the list; beyond its end: it is not there. */
static uint32_t index_of(const struct addresses *l, const struct sockaddr_any *a)
{
	uint32_t i = 0;
	while (i < l->n && !sock_same(&l->at[i], a))
		i++;
	return i;
}

/* ---- the greeting -------------------------------------------------------------------------- */

/* The first words on a connection whose class is not a fresh connection's. */
static size_t greeting(const struct upconn *c, char *buf, size_t size, uint32_t *ret_due)
{
	uint32_t database = c->class_id / 2;
	int n = 0;
	*ret_due = 0;
	if (c->class_id % 2 == 1) {
		n += snprintf(buf, size, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n");
		(*ret_due)++;
	}
	if (database != 0) {
		char digits[16];
		int len = snprintf(digits, sizeof(digits), "%u", database);
		n += snprintf(buf + n, size - (size_t)n, "*2\r\n$6\r\nSELECT\r\n$%d\r\n%s\r\n", len,
			digits);
		(*ret_due)++;
	}
	return (size_t)n;
}

static void become_ready(struct upconn *c)
{
	upconn_enter(c, UP_READY);
	upconn_disarm(c);
	c->up->first = index_of(c->up->where, &c->peer) % c->up->where->n;
	c->read_ns = loop_now(upconn_loop(c));
	if (c->nfifo > 0)
		upconn_watch_oldest(c);
	log_debug("upstream", "connected", "server=%s worker=%zu class=%u",
		c->up->server->address.text, c->up->env->worker, c->class_id);
	upconn_flush(c);
}

static void on_connected(struct upconn *c)
{
	char buf[128];
	size_t n = greeting(c, buf, sizeof(buf), &c->greet_due);
	upconn_watch(c, EV_READ);
	if (n == 0) {
		become_ready(c);
		return;
	}
	upconn_enter(c, UP_GREETING);
	/* a fresh socket's buffer takes these few bytes whole, or something is wrong with it */
	if (send(c->fd, buf, n, MSG_NOSIGNAL) != (ssize_t)n)
		upconn_close(c, UP_WHY_LOST, "greeting not sent");
}

/* An error in answer to the greeting ends the connection; only when it is whole it says why. */
static void greeting_refused(struct upconn *c, const uint8_t *bytes, size_t n, bool complete)
{
	c->error = chunk_append(&upconn_loop(c)->pool, c->error, bytes, n);
	if (!complete && chunk_len(c->error) <= UPCONN_ERROR_MAX)
		return;
	bool auth = upconn_auth_error(chunk_bytes(c->error), chunk_len(c->error));
	node_metric_add(c->up->m, NM_AUTH_ALARMS, auth);
	upconn_close(c, auth ? UP_WHY_AUTH : UP_WHY_GREETING, "greeting refused");
}

/* One answer to the greeting or a piece of one.  Returns how many bytes it took; the connection may
 * be closed. */
static size_t take_greeting_reply(struct upconn *c, const uint8_t *bytes, size_t n)
{
	size_t used = 0;
	enum resp_status st = resp_reply_scan(&c->scan, bytes, n, &used);
	if (st == RESP_BAD) {
		upconn_close(c, UP_WHY_GREETING, "not a reply to the greeting");
	} else if (c->scan.type == '-') {
		greeting_refused(c, bytes, used, st == RESP_DONE);
	} else if (st == RESP_DONE) {
		memset(&c->scan, 0, sizeof(c->scan));
		c->greet_due--;
	}
	return used;
}

void upconn_take_greeting(struct upconn *c, const uint8_t *bytes, size_t n)
{
	while (n > 0 && c->greet_due > 0) {
		size_t used = take_greeting_reply(c, bytes, n);
		if (c->state != UP_GREETING)
			return;
		bytes += used;
		n -= used;
	}
	if (n > 0)
		upconn_close(c, UP_WHY_GREETING, "more than the greeting was answered");
	else if (c->greet_due == 0)
		become_ready(c);
}

/* ---- connecting ---------------------------------------------------------------------------- */

static enum up_why why_of_errno(int err)
{
	switch (-err) {
	case ECONNREFUSED:
	case ENOENT:
	case EACCES: /* a unix socket that is not for us */
	case EAGAIN: /* one whose queue is full */
		return UP_WHY_REFUSED;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EHOSTDOWN:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return UP_WHY_NO_ROUTE;
	case ETIMEDOUT:
		return UP_WHY_CONNECT_TIMEOUT;
	case EMFILE:
	case ENFILE:
		return UP_WHY_NO_FDS;
	default:
		return UP_WHY_LOST;
	}
}

/* The control thread looks the name up again, for the next attempt; this one does not wait for it. */
static void tell_attempt(struct upstream *up)
{
	uint64_t now = loop_now(up->env->loop);
	if (!server_is_named(up->server) || up->env->attempt == NULL)
		return;
	if (up->told_ns != 0 && now - up->told_ns < up->opts->resolve_pause_ns)
		return;
	up->told_ns = now;
	up->env->attempt(up->env, up->server);
}

/* An address that was not tried yet may do better, unless the fault is ours. */
static bool worth_another(const struct upconn *c, enum up_why why)
{
	return why != UP_WHY_NO_FDS && c->tried < c->up->where->n;
}

static int try_next(struct upconn *c)
{
	const struct addresses *l = c->up->where;
	bool done = false;
	c->peer = l->at[(c->up->first + c->tried++) % l->n];
	node_metric_add(c->up->m, NM_CONNECTS, 1);
	int fd = sock_connect(&c->peer, &done);
	if (fd < 0)
		return fd;
	c->fd = fd;
	sock_set_life(fd, &c->up->opts->life);
	if (done)
		on_connected(c);
	else
		upconn_watch(c, EV_WRITE);
	return 0;
}

/* r: why the address before was not it. */
static void try_others(struct upconn *c, int r)
{
	while (r < 0 && worth_another(c, why_of_errno(r)))
		r = try_next(c);
	if (r < 0)
		upconn_close(c, why_of_errno(r), rw_strerror(r));
}

void upconn_connect(struct upconn *c)
{
	CHECK(c->up->where != NULL);
	upconn_enter(c, UP_CONNECTING);
	upconn_arm(c, c->up->opts->connect_timeout_ns);
	tell_attempt(c->up);
	c->tried = 0;
	try_others(c, -ECONNREFUSED);
}

void upconn_connecting_io(struct upconn *c)
{
	int r = sock_connect_result(c->fd);
	if (r == 0) {
		on_connected(c);
		return;
	}
	(void)event_del(&c->io);
	(void)close(c->fd);
	c->fd = -1;
	try_others(c, r);
}

void upconn_rotate(struct upconn *c)
{
	struct upstream *up = c->up;
	if (index_of(up->where, &c->peer) == up->first)
		up->first = (up->first + 1) % up->where->n;
}

/* ---- moving -------------------------------------------------------------------------------- */

/* An attempt at once, for somebody or ahead of need. */
static void connect_anew(struct upconn *c)
{
	const struct upstream_opts *o = c->up->opts;
	upconn_disarm(c);
	c->backoff_ns = o->backoff_ns;
	c->retry_ns = loop_now(upconn_loop(c));
	if (o->preconnect || c->nfifo > 0)
		upconn_connect(c);
}

/* Nothing is on its way: the socket may go. */
static void exchange_socket(struct upconn *c)
{
	char from[300];
	log_info("upstream", "the name leads elsewhere: connecting anew",
		"server=%s worker=%zu class=%u from=%s", c->up->server->address.text,
		c->up->env->worker, c->class_id, sock_print(&c->peer, from, sizeof(from)));
	node_metric_add(c->up->m, NM_MOVED, 1);
	upconn_drop_socket(c);
	upconn_enter(c, UP_CLOSED);
	c->proven = false;
	connect_anew(c);
}

static bool all_answered(const struct upconn *c)
{
	return c->state != UP_READY || sendq_held(&c->out) == c->out.unsent;
}

bool upconn_leave(struct upconn *c)
{
	if (c->state == UP_CLOSED || !all_answered(c))
		return c->holding;
	exchange_socket(c);
	return true;
}

void upconn_hold(struct upconn *c)
{
	c->holding = true;
	(void)upconn_leave(c);
}

void upconn_move(struct upconn *c)
{
	if (c->state == UP_CLOSED) {
		connect_anew(c);
		return;
	}
	c->leaving = !addresses_have(c->up->where, &c->peer);
	c->holding = false;
	upconn_touch(c);
}
