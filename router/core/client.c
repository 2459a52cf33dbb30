/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/client.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "router/core/block.h"
#include "router/core/client_internal.h"
#include "router/core/client_show.h"
#include "router/core/origin.h"
#include "router/core/stats.h"
#include "router/core/stream.h"
#include "router/core/tx.h"

struct client *client_new(struct worker *w, struct worker_pool *pool, int fd, uint64_t id)
{
	struct client *c = slab_take(&w->client_slab);
	memset(c, 0, sizeof(*c));
	c->magic = CLIENT_MAGIC;
	c->fd = fd;
	c->id = id;
	c->worker = w;
	c->pool = pool;
	c->resp = 2;
	c->database = pool->opts->database;
	c->class_id = up_class(pool->opts->database, 2);
	c->since_ns = loop_now(&w->loop);
	STAILQ_INIT(&c->queue);
	c->read_ns = c->since_ns;
	TAILQ_INSERT_TAIL(&w->clients, c, all);
	CHECK(event_assign(&c->io, w->loop.base, fd, EV_READ | EV_PERSIST, client_on_io, c) == 0);
	metric_add(w->m, M_CLIENTS, 1);
	gate_reset(c);
	client_watch(c, EV_READ);
	return c;
}

void client_free(struct client *c)
{
	c->magic = 0;
	free(c->name);
	free(c->lib_name);
	free(c->lib_ver);
	slab_give(&c->worker->client_slab, c);
}

/* ---- heard of, or not ---------------------------------------------------------------------------- */

const char *client_events(const struct client *c)
{
	if (c->watching & EV_READ)
		return c->watching & EV_WRITE ? "rw" : "r";
	return c->watching & EV_WRITE ? "w" : "";
}

void client_unhold(struct client *c)
{
	if (!c->on_hold)
		return;
	c->on_hold = false;
	client_mark_resuming(c);
}

static void close_idle(struct worker *w, uint64_t now)
{
	struct client *c;
	uint64_t limit = w->opts.limits->idle_timeout_ns;
	while (limit != 0 && (c = TAILQ_FIRST(&w->clients)) != NULL && now - c->read_ns >= limit) {
		if (c->outstanding > 0 || sendq_held(&c->out) > 0 || c->on_hold || c->starved) {
			client_heard_of(c); /* it waits for us, not we for it */
			continue;
		}
		metric_add(w->m, M_CLIENTS_CLOSED_IDLE, 1);
		client_close(c, "idle");
	}
}

/* Of a blocked client that has said so much that it is not read any more. */
static bool has_gone(const struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) > 0;
}

static void close_gone(struct worker *w)
{
	struct client *c, *next;
	for (c = TAILQ_FIRST(&w->clients); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->is_blocked && !(c->watching & EV_READ) && has_gone(c))
			client_close(c, "closed by the client");
	}
}

void client_block(struct client *c, struct request *r)
{
	c->attended = r;
	c->is_blocked = true;
	metric_add(c->worker->m, M_CLIENTS_BLOCKED, 1);
}

void client_look_again(struct client *c)
{
	client_mark_resuming(c);
}

void client_attend(struct client *c)
{
	struct request *r = c->attended;
	c->attended = NULL;
	if (c->streaming) {
		stream_answered(c);
		return;
	}
	if (!c->is_blocked) {
		tx_executed(r);
		return;
	}
	c->is_blocked = false;
	if (c->unblock != UNBLOCK_NOT)
		c->worker->unblocking--;
	c->unblock = UNBLOCK_NOT;
	metric_add(c->worker->m, M_CLIENTS_BLOCKED, (uint64_t)-1);
	client_mark_resuming(c);
}

static void tell_unblocked(struct worker *w)
{
	struct client *c;
	TAILQ_FOREACH (c, &w->clients, all)
		if (c->unblock != UNBLOCK_NOT)
			unblock_tell(c);
}

void clients_sweep(struct worker *w, uint64_t now)
{
	struct client *c, *next;
	close_idle(w, now);
	if (w->unblocking > 0)
		tell_unblocked(w);
	if (atomic_load_explicit(&w->m->v[M_CLIENTS_BLOCKED], memory_order_relaxed) > 0)
		close_gone(w);
	for (c = TAILQ_FIRST(&w->inside); c != NULL; c = next) {
		next = TAILQ_NEXT(c, inside);
		if (c->stream_paused || c->starved ||
			now - c->read_ns < c->pool->opts->timeout_ns[DEADLINE_SLOW])
			continue; /* who is not listened to is not silent */
		metric_add(w->m, M_CLIENTS_CLOSED_SILENT, 1);
		client_close(c, "silent inside a request");
	}
}

void client_close(struct client *c, const char *why)
{
	struct worker *w = c->worker;
	if (c->dead)
		return;
	char peer[CLIENT_ADDRESS_MAX];
	log_debug("client", "closed", "id=%llu peer=%s why=\"%s\" outstanding=%u",
		(unsigned long long)c->id, client_peer(c, peer, sizeof(peer)), why, c->outstanding);
	c->dead = true;
	origin_free(c);
	(void)event_del(&c->io);
	(void)close(c->fd);
	struct request *r;
	while ((r = STAILQ_FIRST(&c->queue)) != NULL)
		request_abandon(r);
	tx_forget(c);
	stream_forget(c);
	sendq_clear(client_bufs(c), &c->out);
	chunk_give(client_bufs(c), c->in);
	c->in = NULL;
	c->held = 0;
	memory_leave(c);
	TAILQ_REMOVE(&w->clients, c, all);
	if (c->is_resuming)
		STAILQ_REMOVE(&w->resuming, c, client, resume_link);
	STAILQ_INSERT_TAIL(&w->dead, c, resume_link);
	metric_add(w->m, M_CLIENTS, (uint64_t)-1);
	atomic_fetch_sub_explicit(&w->nclients, 1, memory_order_relaxed);
}

void client_doom(struct client *c, const char *why)
{
	if (c->doom != NULL)
		return;
	c->doom = why;
	client_mark_dirty(c);
}
