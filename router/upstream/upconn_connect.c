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
#include "router/wire/resp_write.h"

/* Place of an address in the list; beyond its end: it is not there. */
static uint32_t index_of(const struct addresses *l, const struct sockaddr_any *a)
{
	uint32_t i = 0;
	while (i < l->n && !sock_same(&l->at[i], a))
		i++;
	return i;
}

/* ---- the greeting -------------------------------------------------------------------------- */

/* One more request of the greeting. */
static void greet(struct upconn *c, struct chunk **words, const struct span *args, size_t n)
{
	size_t size = resp_request_size(args, n);
	struct chunk *k = chunk_grow(&upconn_loop(c)->pool, *words, size);
	(void)resp_put_request(k->data + k->end, args, n);
	k->end += (uint32_t)size;
	*words = k;
	c->greet_due++;
}

static void greet_login(struct upconn *c, struct chunk **words, bool resp3)
{
	const struct node_login *l = c->up->login;
	struct span user = l->user != NULL ? span_str(l->user) : SPAN("default");
	struct span password = span_of(l->password, l->len);
	if (resp3) {
		const struct span args[] = {SPAN("HELLO"), SPAN("3"), SPAN("AUTH"), user, password};
		greet(c, words, args, ARRAY_LEN(args));
	} else if (l->user != NULL) {
		const struct span args[] = {SPAN("AUTH"), user, password};
		greet(c, words, args, ARRAY_LEN(args));
	} else {
		const struct span args[] = {SPAN("AUTH"), password};
		greet(c, words, args, ARRAY_LEN(args));
	}
}

/*
 * The first words on a connection: logging in, and what its class is that a fresh connection is not.  NULL: there is
 * nothing to say.
 */
static struct chunk *greeting(struct upconn *c)
{
	struct chunk *words = NULL;
	uint32_t database = c->class_id / 2;
	bool resp3 = c->class_id % 2 == 1;
	c->greet_due = 0;
	if (c->up->login != NULL) {
		greet_login(c, &words, resp3);
	} else if (resp3) {
		const struct span args[] = {SPAN("HELLO"), SPAN("3")};
		greet(c, &words, args, ARRAY_LEN(args));
	}
	if (database != 0) {
		char digits[24];
		const struct span args[] = {
			SPAN("SELECT"), span_of(digits, u64_to_dec(database, digits))};
		greet(c, &words, args, ARRAY_LEN(args));
	}
	if (c->is_private) { /* last: see take_node_client() */
		const struct span args[] = {SPAN("CLIENT"), SPAN("ID")};
		greet(c, &words, args, ARRAY_LEN(args));
	}
	return words;
}

static void become_ready(struct upconn *c)
{
	upconn_enter(c, UP_READY);
	upconn_disarm(c);
	c->up->first = index_of(c->up->where, &c->peer) % c->up->where->n;
	c->read_ns = loop_now(upconn_loop(c));
	if (!c->is_private)
		upconn_watch_use(c);
	if (c->nfifo > 0)
		upconn_watch_oldest(c);
	log_debug("upstream", "connected", "server=%s worker=%zu class=%u",
		c->up->server->address.text, c->up->env->worker, c->class_id);
	upconn_flush(c);
}

static void on_connected(struct upconn *c)
{
	struct chunk *words = greeting(c);
	upconn_watch(c, EV_READ);
	if (words == NULL) {
		become_ready(c);
		return;
	}
	upconn_enter(c, UP_GREETING);
	/* a fresh socket's buffer takes these few bytes whole, or something is wrong with it */
	size_t n = chunk_len(words);
	bool sent = send(c->fd, chunk_bytes(words), n, MSG_NOSIGNAL) == (ssize_t)n;
	explicit_bzero(chunk_bytes(words), n);
	chunk_give(&upconn_loop(c)->pool, words);
	if (!sent)
		upconn_close(c, UP_WHY_LOST, "greeting not sent");
}

/* The node does not know us: NOAUTH and WRONGPASS, or whatever it says to the password. */
static bool login_refused(const struct upconn *c, const struct chunk *error)
{
	const uint8_t *at = error->data + error->start;
	if (upconn_auth_error(at, chunk_len(error)))
		return true;
	if (c->up->login == NULL)
		return false;
	return memmem(at, chunk_len(error), "WRONGPASS", 9) != NULL ||
	       memmem(at, chunk_len(error), "AUTH", 4) != NULL;
}

/* An error in answer to the greeting ends the connection; only when it is whole it says why. */
static void greeting_refused(struct upconn *c, const uint8_t *bytes, size_t n, bool complete)
{
	c->error = chunk_append(&upconn_loop(c)->pool, c->error, bytes, n);
	if (!complete && chunk_len(c->error) <= UPCONN_ERROR_MAX)
		return;
	bool auth = login_refused(c, c->error);
	node_metric_add(c->up->m, NM_AUTH_ALARMS, auth);
	upconn_close(c, auth ? UP_WHY_AUTH : UP_WHY_GREETING, "greeting refused");
}

/* Digits of the answer to CLIENT ID, perhaps in pieces.  A node that does not say it is as good as any:
 * only CLIENT UNBLOCK needs it. */
static void take_node_client(struct upconn *c, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; c->scan.type == ':' && i < n; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			continue;
		if (c->node_client < 0 || c->node_client > (INT64_MAX - 9) / 10)
			c->node_client = -1; /* no number of a client */
		else
			c->node_client = c->node_client * 10 + (bytes[i] - '0');
	}
}

/* One answer to the greeting or a piece of one.  Returns how many bytes it took; the connection may
 * be closed. */
static size_t take_greeting_reply(struct upconn *c, const uint8_t *bytes, size_t n)
{
	size_t used = 0;
	enum resp_status st = resp_reply_scan(&c->scan, bytes, n, &used);
	if (st == RESP_BAD) {
		upconn_close(c, UP_WHY_GREETING, "not a reply to the greeting");
		return used;
	}
	bool names_us = c->is_private && c->greet_due == 1;
	if (names_us)
		take_node_client(c, bytes, used);
	if (c->scan.type == '-' && !names_us) {
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

/* The same address once more, with the file descriptor of a connection that nobody uses. */
static int try_with_room(struct upconn *c, int r)
{
	while (r < 0 && why_of_errno(r) == UP_WHY_NO_FDS && upstream_close_one_idle(c->up->env)) {
		c->tried--;
		r = try_next(c);
	}
	return r;
}

/* r: why the address before was not it. */
static void try_others(struct upconn *c, int r)
{
	while (r < 0 && worth_another(c, why_of_errno(r)))
		r = try_with_room(c, try_next(c));
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
	upconn_disarm(c);
	c->backoff_ns = c->up->opts->backoff_ns;
	c->retry_ns = loop_now(upconn_loop(c));
	if (upconn_is_wanted(c))
		upconn_connect(c);
	else
		upconn_plan(c);
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
