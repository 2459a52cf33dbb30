/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/* Between client.c (its life), client_in.c (what it sends) and client_out.c (what it gets). */

#include <event2/event.h>

#include "base/check.h"
#include "router/core/memory.h"
#include "router/core/worker.h"

/* A blocked client is listened to until so much of what it says is kept. */
#define LISTEN_MAX (16u << 20)

/* Its socket has news. */
void client_on_io(evutil_socket_t fd, short what, void *arg);

/* Writes what is waiting; the client may be closed then. */
void client_flush_now(struct client *c);

static inline struct bufpool *client_bufs(const struct client *c)
{
	return &c->worker->loop.pool;
}

static inline void client_watch(struct client *c, short what)
{
	if (c->watching == (uint8_t)what)
		return;
	(void)event_del(&c->io);
	c->watching = (uint8_t)what;
	if (what == 0)
		return;
	CHECK(event_assign(&c->io, c->worker->loop.base, c->fd, (short)(what | EV_PERSIST),
		      client_on_io, c) == 0);
	(void)event_add(&c->io, NULL);
}

static inline void client_mark_dirty(struct client *c)
{
	if (c->is_dirty || c->dead)
		return;
	c->is_dirty = true;
	STAILQ_INSERT_TAIL(&c->worker->dirty, c, dirty_link);
}

static inline void client_mark_resuming(struct client *c)
{
	if (c->is_resuming || c->dead)
		return;
	c->is_resuming = true;
	STAILQ_INSERT_TAIL(&c->worker->resuming, c, resume_link);
}

/* What it sent last waits for those before to be answered. */
static inline bool client_held_back(const struct client *c)
{
	if (UNLIKELY(c->streaming))
		return c->stream_paused;
	return (c->barrier && c->outstanding > 0) ||
	       c->outstanding >= c->worker->opts.limits->pipeline;
}

static inline bool client_may_read(const struct client *c)
{
	return !c->last_read && !c->starved && !c->on_hold && c->doom == NULL &&
	       !client_held_back(c);
}

static inline void client_note_inside(struct client *c)
{
	if (UNLIKELY(c->in != NULL || c->is_inside || c->streaming))
		memory_note(c, !c->on_hold && !client_held_back(c));
}

/* A blocked client is not served, but listened to, up to some bytes: so its end is noticed. */
static inline bool client_listens(const struct client *c)
{
	if (client_may_read(c))
		return true;
	return c->is_blocked && !c->last_read && c->doom == NULL &&
	       (c->in == NULL || (chunk_len(c->in) < LISTEN_MAX && c->worker->memory == MEMORY_OK));
}

static inline void client_heard_of(struct client *c)
{
	struct worker *w = c->worker;
	c->read_ns = loop_now(&w->loop);
	if (TAILQ_NEXT(c, all) == NULL)
		return;
	TAILQ_REMOVE(&w->clients, c, all);
	TAILQ_INSERT_TAIL(&w->clients, c, all);
}
