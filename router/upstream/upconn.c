/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * One shared connection to a node.  Requests are written in the order in which they come and
 * answered in that order, so the head of the FIFO is always the part whose reply is being read:
 *
 *	upconn_add -> fifo tail        out: | sent, kept for a retry | not sent |
 *	                                                              upconn_flush, once a turn
 *	on_read -> take_replies -> take_reply -> ops->reply / ops->dropped    <- fifo head
 *
 * A reply is handed on as it arrives; only an error reply is held until it is whole, because a
 * node's NOAUTH is never shown to a client.
 */

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "router/upstream/private.h"
#include "router/upstream/upstream_internal.h"

#define B(s) (1u << (s))

static const unsigned upconn_edges[UP_STATE_COUNT] = {
	[UP_CLOSED] = B(UP_CONNECTING),
	[UP_CONNECTING] = B(UP_GREETING) | B(UP_READY) | B(UP_CLOSED),
	[UP_GREETING] = B(UP_READY) | B(UP_CLOSED),
	[UP_READY] = B(UP_CLOSED),
};

static void on_io(evutil_socket_t fd, short what, void *arg);
static void on_timer(evutil_socket_t fd, short what, void *arg);

void upconn_enter(struct upconn *c, enum up_state to)
{
	CHECK(upconn_edges[c->state] & B(to));
	if (c->state == UP_READY)
		node_metric_add(c->up->m, NM_CONNECTIONS, (uint64_t)-1);
	if (to == UP_READY)
		node_metric_add(c->up->m, NM_CONNECTIONS, 1);
	if (c->state == UP_CLOSED && upconn_is_extra(c))
		upconn_count_extra(c);
	if (to == UP_CLOSED && upconn_is_extra(c))
		upconn_uncount_extra(c);
	c->state = (uint8_t)to;
}

void upconn_arm(struct upconn *c, uint64_t after_ns)
{
	c->timer_ns = loop_now(upconn_loop(c)) + after_ns;
	struct timeval tv = {.tv_sec = (time_t)(after_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(after_ns % NS_PER_S / NS_PER_US)};
	(void)evtimer_add(&c->timer, &tv);
}

void upconn_disarm(struct upconn *c)
{
	c->timer_ns = UINT64_MAX;
	(void)evtimer_del(&c->timer);
}

void upconn_watch(struct upconn *c, short what)
{
	(void)event_del(&c->io);
	CHECK(event_assign(&c->io, upconn_loop(c)->base, c->fd, (short)(what | EV_PERSIST), on_io,
		      c) == 0);
	(void)event_add(&c->io, NULL);
	c->writable_armed = (what & EV_WRITE) != 0;
}

/*
 * When nothing of the oldest part's reply has come for too long.  A node that has just answered
 * another one gets the time of a request for it, however old it has become behind a slow one.
 */
static uint64_t stuck_at(const struct upconn *c, const struct part *p)
{
	uint64_t patience =
		p->flags & PART_BEGUN ? p->stuck_ns - p->born_ns : c->up->opts->request_timeout_ns;
	uint64_t since_read = c->read_ns + patience;
	return since_read > p->stuck_ns ? since_read : p->stuck_ns;
}

/* Rings in time for the oldest part.  Usually that of an older one comes first and looks on. */
void upconn_watch_oldest(struct upconn *c)
{
	const struct part *p = STAILQ_FIRST(&c->fifo);
	if (p == NULL || LIKELY(p->stuck_ns >= c->timer_ns))
		return;
	uint64_t now = loop_now(upconn_loop(c));
	uint64_t due = stuck_at(c, p);
	if (due < c->timer_ns)
		upconn_arm(c, due > now ? due - now : 0);
}

struct upconn *upconn_new(struct upstream *up, uint16_t class_id)
{
	struct upconn *c = calloc(1, sizeof(*c));
	CHECK(c != NULL);
	c->magic = UPCONN_MAGIC;
	c->up = up;
	c->class_id = class_id;
	c->fd = -1;
	c->timer_ns = UINT64_MAX;
	c->backoff_ns = up->opts->backoff_ns;
	STAILQ_INIT(&c->fifo);
	CHECK(event_assign(&c->io, upconn_loop(c)->base, -1, 0, on_io, c) == 0);
	CHECK(evtimer_assign(&c->timer, upconn_loop(c)->base, on_timer, c) == 0);
	return c;
}

/* ---- failing and closing ------------------------------------------------------------------- */

static void fail_part(struct upconn *c, struct part *p, enum up_why why)
{
	p->conn = NULL;
	c->up->held--;
	node_metric_add(c->up->m, NM_INFLIGHT, (uint64_t)-1);
	if (p->flags & PART_DROPPED)
		c->up->env->ops->dropped(p);
	else
		c->up->env->ops->failed(p, why);
}

/* Sent again only when nobody can tell: no reply byte came, and the node has nothing of a write. */
static bool may_retry(const struct upconn *c, const struct part *p, enum up_why why)
{
	/* refused more than once: the node is down, and waiting for it again helps nobody */
	bool first_refusal = why == UP_WHY_REFUSED && c->backoff_ns == c->up->opts->backoff_ns;
	if ((why != UP_WHY_LOST && !first_refusal) || c->is_private)
		return false;
	if (p->flags & (PART_DROPPED | PART_BEGUN | PART_ONCE))
		return false;
	if (p->tries >= c->up->opts->retries)
		return false;
	return (p->flags & PART_READONLY) || !(p->flags & PART_SENT);
}

static bool take_retry(struct upconn *c)
{
	bool ok = retry_budget_take(c->up->budget, c->up->opts->retry_share);
	node_metric_add(c->up->m, ok ? NM_RETRIES : NM_RETRIES_DENIED, 1);
	return ok;
}

/* Back into the FIFO, with its bytes, in its old place among those that stay. */
static void keep_part(struct upconn *c, struct part *p, struct sendq *bytes)
{
	p->tries++;
	p->flags &= (uint8_t)~PART_SENT;
	sendq_move(&upconn_loop(c)->pool, &c->out, bytes, p->wire_len);
	STAILQ_INSERT_TAIL(&c->fifo, p, link);
	c->nfifo++;
}

/*
 * The connection is gone.  Parts that may be sent again stay, in their order; the others are put
 * into `failed`.
 */
static void sort_parts(struct upconn *c, enum up_why why, struct part_fifo *failed)
{
	struct bufpool *pool = &upconn_loop(c)->pool;
	struct sendq bytes = c->out;
	size_t sent = sendq_held(&bytes) - bytes.unsent;
	struct part_fifo parts = STAILQ_HEAD_INITIALIZER(parts);
	struct part *p;
	memset(&c->out, 0, sizeof(c->out));
	STAILQ_CONCAT(&parts, &c->fifo);
	c->nfifo = 0;
	for (size_t at = 0; (p = STAILQ_FIRST(&parts)) != NULL; at += p->wire_len) {
		STAILQ_REMOVE_HEAD(&parts, link);
		if (at < sent)
			p->flags |= PART_SENT;
		if (may_retry(c, p, why) && take_retry(c)) {
			keep_part(c, p, &bytes);
		} else {
			sendq_discard(pool, &bytes, p->wire_len);
			STAILQ_INSERT_TAIL(failed, p, link);
		}
	}
	sendq_clear(pool, &bytes);
}

static void settle_parts(struct upconn *c, enum up_why why)
{
	struct part_fifo failed = STAILQ_HEAD_INITIALIZER(failed);
	struct part *p;
	sort_parts(c, why, &failed);
	while ((p = STAILQ_FIRST(&failed)) != NULL) {
		STAILQ_REMOVE_HEAD(&failed, link);
		fail_part(c, p, why);
	}
}

static const char *const why_names[UP_WHY_COUNT] = {
	[UP_WHY_NONE] = "none",
	[UP_WHY_REFUSED] = "refused",
	[UP_WHY_CONNECT_TIMEOUT] = "connect timeout",
	[UP_WHY_LOST] = "lost",
	[UP_WHY_BROKEN] = "broken",
	[UP_WHY_TIMEOUT] = "timeout",
	[UP_WHY_AUTH] = "authentication",
	[UP_WHY_NO_ROUTE] = "no route",
	[UP_WHY_GREETING] = "handshake",
	[UP_WHY_QUEUE_FULL] = "queue full",
	[UP_WHY_UNRESOLVED] = "name does not resolve",
	[UP_WHY_NO_FDS] = "out of file descriptors",
	[UP_WHY_NO_PRIVATE] = "no private connection",
	[UP_WHY_NO_SHARED] = "no shared connection",
};

static void log_closed(struct upconn *c, enum up_why why, const char *detail)
{
	uint32_t dropped = 0;
	if (!log_rate_pass(&c->up->complaints, loop_now(upconn_loop(c)), NS_PER_S, &dropped))
		return;
	char q[256];
	log_warn("upstream", "connection closed",
		"server=%s worker=%zu class=%u why=\"%s\" detail=%s requests=%u unsaid=%u",
		c->up->server->address.text, c->up->env->worker, c->class_id, why_names[why],
		log_quote(q, sizeof(q), detail, strlen(detail)), c->nfifo, dropped);
}

void upconn_plan(struct upconn *c)
{
	uint64_t now = loop_now(upconn_loop(c));
	if (upconn_is_wanted(c))
		upconn_arm(c, c->retry_ns > now ? c->retry_ns - now : 0);
	else if (upconn_is_extra(c))
		upconn_arm(c, c->up->opts->shared_idle_ns);
}

/* When the next attempt may be made: at once after a connection that worked, else after a growing,
 * jittered pause. */
static void plan_retry(struct upconn *c)
{
	const struct upstream_opts *o = c->up->opts;
	uint64_t now = loop_now(upconn_loop(c));
	if (c->proven) {
		c->backoff_ns = o->backoff_ns;
		c->retry_ns = now;
	} else {
		uint64_t pause = c->backoff_ns / 2 +
				 (uint64_t)((double)c->backoff_ns * rng_unit(&c->up->env->rng));
		c->retry_ns = now + pause;
		c->backoff_ns = c->backoff_ns * 2 < o->backoff_max_ns ? c->backoff_ns * 2
								      : o->backoff_max_ns;
	}
	c->proven = false;
	upconn_plan(c);
}

/* Behind the next one may be a server that was started anew. */
static void forget_scripts(struct upconn *c)
{
	script_seen_clear(&c->scripts);
	if (c->is_private)
		return;
	script_seen_clear(&c->up->scripts);
	c->up->closings++;
}

void upconn_drop_socket(struct upconn *c)
{
	forget_scripts(c);
	(void)event_del(&c->io);
	upconn_disarm(c);
	if (c->fd >= 0)
		(void)close(c->fd);
	c->fd = -1;
	c->writable_armed = false;
	c->leaving = c->holding = false;
	c->read_ns = 0;
	c->greet_due = 0;
	chunk_give(&upconn_loop(c)->pool, c->error);
	c->error = NULL;
	memset(&c->scan, 0, sizeof(c->scan));
}

void upconn_end(struct upconn *c, enum up_why why)
{
	c->why = (uint8_t)why;
	upconn_drop_socket(c);
	upconn_enter(c, UP_CLOSED);
	settle_parts(c, why);
	if (c->is_private)
		upconn_bury(c);
	else
		plan_retry(c);
}

void upconn_close(struct upconn *c, enum up_why why, const char *detail)
{
	if (c->is_private && !c->leased) { /* nobody's loss */
		upconn_discard(c);
		return;
	}
	log_closed(c, why, detail);
	node_metric_add(c->up->m, c->state == UP_READY ? NM_DISCONNECTS : NM_CONNECT_FAILURES, 1);
	upconn_end(c, why);
}

void upconn_free(struct upconn *c)
{
	if (c == NULL)
		return;
	if (c->state != UP_CLOSED) {
		log_debug("upstream", "connection closed: its node is not served any more",
			"server=%s worker=%zu class=%u requests=%u", c->up->server->address.text,
			c->up->env->worker, c->class_id, c->nfifo);
		upconn_end(c, UP_WHY_BROKEN);
	}
	settle_parts(c, UP_WHY_BROKEN); /* those that waited to be sent again */
	script_seen_clear(&c->scripts);
	upconn_disarm(c);
	if (c->is_dirty)
		STAILQ_REMOVE(&c->up->env->dirty, c, upconn, dirty_link);
	c->magic = 0;
	free(c);
}

/* ---- sending ------------------------------------------------------------------------------- */

void upconn_touch(struct upconn *c)
{
	if (c->is_dirty)
		return;
	c->is_dirty = true;
	STAILQ_INSERT_TAIL(&c->up->env->dirty, c, dirty_link);
}

void upconn_add(struct upconn *c, struct part *p, size_t wire_len)
{
	p->conn = c;
	p->wire_len = (uint32_t)wire_len;
	STAILQ_INSERT_TAIL(&c->fifo, p, link);
	if (c->nfifo++ == 0 && c->state == UP_READY)
		upconn_watch_oldest(c);
	c->up->held++;
	retry_budget_count(c->up->budget);
	node_metric_add(c->up->m, NM_REQUESTS, 1);
	node_metric_add(c->up->m, NM_INFLIGHT, 1);
	upconn_touch(c);
}

void upconn_send(struct upconn *c, struct part *p, const void *bytes, size_t n)
{
	sendq_append(&upconn_loop(c)->pool, &c->out, bytes, n);
	upconn_add(c, p, n);
}

void upconn_send_chunk(struct upconn *c, struct part *p, struct chunk *chunk)
{
	size_t n = chunk_len(chunk);
	sendq_push(&upconn_loop(c)->pool, &c->out, chunk);
	upconn_add(c, p, n);
}

void upconn_flush(struct upconn *c)
{
	if (UNLIKELY(c->leaving) && upconn_leave(c))
		return;
	if (c->state != UP_READY || c->writable_armed)
		return;
	size_t n = 0;
	enum sendq_result r = sendq_flush(&upconn_loop(c)->pool, &c->out, c->fd, !c->streaming, &n);
	node_metric_add(c->up->m, NM_WRITE_BYTES, n);
	if (r == SENDQ_FULL)
		upconn_watch(c, EV_READ | EV_WRITE);
	else if (r == SENDQ_ERROR)
		upconn_close(c, UP_WHY_LOST, "write failed");
	else if (UNLIKELY(c->leaving))
		upconn_hold(c);
}

static void on_writable(struct upconn *c)
{
	c->writable_armed = false;
	upconn_flush(c);
	if (c->state == UP_READY && !c->writable_armed)
		upconn_watch(c, EV_READ);
}

/* ---- receiving ----------------------------------------------------------------------------- */

static void finish_part(struct upconn *c, struct part *p)
{
	STAILQ_REMOVE_HEAD(&c->fifo, link);
	c->nfifo--;
	c->up->held--;
	p->conn = NULL;
	c->proven = true;
	node_metric_add(c->up->m, NM_INFLIGHT, (uint64_t)-1);
	upconn_watch_oldest(c);
}

/* An error reply, whole. */
static void hand_over_error(struct upconn *c, struct part *p, const uint8_t *bytes, size_t n)
{
	const struct upstream_ops *ops = c->up->env->ops;
	node_metric_add(c->up->m, NM_REPLIES_ERROR, 1);
	if (upconn_auth_error(bytes, n)) {
		node_metric_add(c->up->m, NM_AUTH_ALARMS, 1);
		p->flags |= PART_SENT;
		ops->failed(p, UP_WHY_AUTH);
	} else {
		ops->reply(p, bytes, n, '-', true);
	}
}

static void deliver_error(struct upconn *c, struct part *p, const uint8_t *bytes, size_t n)
{
	struct bufpool *pool = &upconn_loop(c)->pool;
	if (c->error == NULL) {
		hand_over_error(c, p, bytes, n);
		return;
	}
	struct chunk *whole = chunk_append(pool, c->error, bytes, n);
	c->error = NULL;
	hand_over_error(c, p, chunk_bytes(whole), chunk_len(whole));
	chunk_give(pool, whole);
}

/* What came of an error before nobody waited for it any more. */
static void forget_error(struct upconn *c)
{
	chunk_give(&upconn_loop(c)->pool, c->error);
	c->error = NULL;
}

/* A piece of the head part's reply; `complete`: it ends here. */
static void deliver(struct upconn *c, struct part *p, const uint8_t *bytes, size_t n, bool complete)
{
	const struct upstream_ops *ops = c->up->env->ops;
	uint8_t type = c->scan.type;
	p->flags |= PART_BEGUN;
	if (complete) {
		hist_add(&c->up->m->latency, (loop_now(upconn_loop(c)) - p->born_ns) / NS_PER_US);
		finish_part(c, p);
	}
	if (UNLIKELY(p->flags & PART_DROPPED)) {
		if (complete) {
			node_metric_add(c->up->m, NM_LATE_REPLIES, !(p->flags & PART_UNSEEN));
			forget_error(c);
			ops->dropped(p);
		}
	} else if (LIKELY(type != '-')) {
		ops->reply(p, bytes, n, type, complete);
	} else if (complete) {
		deliver_error(c, p, bytes, n);
	} else {
		c->error = chunk_append(&upconn_loop(c)->pool, c->error, bytes, n);
	}
}

/* Nonsense: the connection ends, and what was answered before it is not among what it fails. */
static size_t break_off(struct upconn *c, size_t acked, const char *detail)
{
	sendq_ack(&upconn_loop(c)->pool, &c->out, acked);
	upconn_close(c, UP_WHY_BROKEN, detail);
	return 0;
}

/* One reply or a piece of one.  Returns how many bytes it took, 0: the connection was closed. */
static size_t take_reply(struct upconn *c, const uint8_t *bytes, size_t n, size_t *acked)
{
	struct part *p = STAILQ_FIRST(&c->fifo);
	if (p == NULL)
		return break_off(c, *acked, "a reply that nobody asked for");
	size_t used = 0;
	enum resp_status st = resp_reply_scan(&c->scan, bytes, n, &used);
	if (st == RESP_BAD || (c->error != NULL && chunk_len(c->error) > UPCONN_ERROR_MAX))
		return break_off(c, *acked, "not a reply");
	if (*acked + p->wire_len > sendq_held(&c->out) - c->out.unsent)
		return break_off(c, *acked, "a reply before its request was sent");
	*acked += st == RESP_DONE ? p->wire_len : 0;
	deliver(c, p, bytes, used, st == RESP_DONE);
	if (st == RESP_DONE)
		memset(&c->scan, 0, sizeof(c->scan));
	return used;
}

static void take_replies(struct upconn *c, const uint8_t *bytes, size_t n)
{
	size_t acked = 0;
	while (n > 0) {
		size_t used = take_reply(c, bytes, n, &acked);
		if (used == 0)
			return; /* closed */
		bytes += used;
		n -= used;
	}
	sendq_ack(&upconn_loop(c)->pool, &c->out, acked);
	if (UNLIKELY(c->is_private))
		upconn_settle_lease(c);
	else if (UNLIKELY(c->leaving))
		upconn_touch(c); /* was it the last one? */
}

static void on_readable(struct upconn *c)
{
	struct loop *l = upconn_loop(c);
	ssize_t n = recv(c->fd, l->scratch, LOOP_SCRATCH, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		upconn_close(c, UP_WHY_LOST, n == 0 ? "closed by the node" : rw_strerror(-errno));
		return;
	}
	c->read_ns = loop_now(l);
	node_metric_add(c->up->m, NM_READ_BYTES, (uint64_t)n);
	if (c->state == UP_GREETING)
		upconn_take_greeting(c, l->scratch, (size_t)n);
	else
		take_replies(c, l->scratch, (size_t)n);
}

static void on_io(evutil_socket_t fd, short what, void *arg)
{
	struct upconn *c = arg;
	(void)fd;
	CHECK_KIND(c, UPCONN_MAGIC);
	if (c->state == UP_CONNECTING) {
		upconn_connecting_io(c);
		return;
	}
	if ((what & EV_WRITE) && c->state == UP_READY)
		on_writable(c);
	if ((what & EV_READ) && c->state != UP_CLOSED)
		on_readable(c);
}

/* ---- time ---------------------------------------------------------------------------------- */

bool upconn_silent(const struct upconn *c, uint64_t now)
{
	const struct part *p = STAILQ_FIRST(&c->fifo);
	if (p == NULL)
		return false;
	uint64_t since = c->read_ns > p->born_ns ? c->read_ns : p->born_ns;
	return now - since > c->up->opts->request_timeout_ns;
}

void upconn_watch_use(struct upconn *c)
{
	if (!upconn_is_extra(c))
		return;
	uint64_t now = loop_now(upconn_loop(c));
	uint64_t until = c->read_ns + c->up->opts->shared_idle_ns;
	if (now < until)
		upconn_arm(c, until - now);
	else
		upconn_retire(c);
}

static void check_idle(struct upconn *c)
{
	if (!c->is_private)
		upconn_watch_use(c);
	else if (!c->leased)
		upconn_discard(c); /* idle for long enough */
}

static void check_stuck(struct upconn *c)
{
	const struct part *p = STAILQ_FIRST(&c->fifo);
	if (p == NULL) {
		check_idle(c);
		return;
	}
	if (loop_now(upconn_loop(c)) >= stuck_at(c, p))
		upconn_close(c, c->is_private ? UP_WHY_TIMEOUT : UP_WHY_BROKEN,
			"stuck: the oldest request is unanswered");
	else
		upconn_watch_oldest(c);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct upconn *c = arg;
	(void)fd;
	(void)what;
	CHECK_KIND(c, UPCONN_MAGIC);
	c->timer_ns = UINT64_MAX;
	switch ((enum up_state)c->state) {
	case UP_CLOSED:
		if (upconn_is_wanted(c))
			upconn_connect(c);
		else
			upconn_retire(c);
		return;
	case UP_CONNECTING:
		upconn_rotate(c);
		upconn_close(c, UP_WHY_CONNECT_TIMEOUT, "no connection in time");
		return;
	case UP_GREETING:
		upconn_close(c, UP_WHY_CONNECT_TIMEOUT, "no connection in time");
		return;
	case UP_READY:
		check_stuck(c);
		return;
	case UP_STATE_COUNT:
		break;
	}
	UNREACHABLE();
}
