/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * What a client gets: replies in the order of its requests, gathered and written once a turn, and what
 * happens when it does not take them.
 */

#include <errno.h>
#include <sys/socket.h>

#include "router/core/client_internal.h"
#include "router/core/stats.h"
#include "router/core/tx.h"

/* A reply piece of this size goes to the socket at once when nothing waits before it: it need not
 * be copied. */
#define WRITE_THROUGH (16u * 1024)

static size_t waiting(const struct client *c)
{
	return sendq_held(&c->out) + c->held;
}

/* One reply may be as large as it is; all else that waits counts against the limit. */
static void check_output(struct client *c)
{
	uint64_t limit = c->worker->opts.limits->output;
	size_t free_of_charge = c->biggest > limit ? c->biggest : 0;
	if (LIKELY(waiting(c) <= limit + free_of_charge) || c->doom != NULL)
		return;
	metric_add(c->worker->m, M_CLIENTS_CLOSED_OUTPUT, 1);
	client_doom(c, "replies not taken");
}

void client_account(struct client *c, size_t added_to_held, uint64_t reply_bytes)
{
	c->held += added_to_held;
	if (reply_bytes > c->biggest)
		c->biggest = reply_bytes;
	if (UNLIKELY(waiting(c) > c->worker->opts.limits->output))
		check_output(c);
}

/* The socket takes it, or some of it, without a copy.  Returns how much; errors show at the next
 * flush. */
static size_t write_through(struct client *c, const uint8_t *bytes, size_t n)
{
	ssize_t done = send(c->fd, bytes, n, MSG_NOSIGNAL);
	if (done <= 0)
		return 0;
	metric_add(c->worker->m, M_CLIENT_WRITE_BYTES, (uint64_t)done);
	return (size_t)done;
}

void client_write(struct client *c, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	if (c->doom != NULL)
		return;
	if (n >= WRITE_THROUGH && sendq_held(&c->out) == 0) {
		size_t done = write_through(c, at, n);
		at += done;
		n -= done;
	}
	if (n > 0) {
		sendq_append(client_bufs(c), &c->out, at, n);
		client_mark_dirty(c);
	}
	if (UNLIKELY(waiting(c) > c->worker->opts.limits->output)) {
		struct request *r = STAILQ_FIRST(&c->queue);
		if (r != NULL && r->reply_bytes > c->biggest)
			c->biggest = r->reply_bytes;
		check_output(c);
	}
}

void client_write_chunk(struct client *c, struct chunk *chunk)
{
	if (c->doom != NULL) {
		chunk_give(client_bufs(c), chunk);
		return;
	}
	sendq_push(client_bufs(c), &c->out, chunk);
	client_mark_dirty(c);
}

/* All that could be written is; of what waits in requests one may still be larger than the limit. */
static void forget_biggest(struct client *c)
{
	struct request *r;
	c->biggest = 0;
	if (LIKELY(c->held <= c->worker->opts.limits->output))
		return;
	STAILQ_FOREACH (r, &c->queue, order)
		if (r->reply_bytes > c->biggest)
			c->biggest = r->reply_bytes;
}

static bool ends_here(const struct client *c)
{
	return c->last_read && c->outstanding == 0 && sendq_held(&c->out) == 0;
}

void client_flush_now(struct client *c)
{
	size_t n = 0;
	enum sendq_result r = sendq_flush(client_bufs(c), &c->out, c->fd, false, &n);
	metric_add(c->worker->m, M_CLIENT_WRITE_BYTES, n);
	if (r == SENDQ_ERROR) {
		client_close(c, "write failed");
		return;
	}
	if (r == SENDQ_FULL) {
		client_watch(c, (short)(c->watching | EV_WRITE));
		return;
	}
	forget_biggest(c);
	client_watch(c, (short)(c->watching & ~EV_WRITE));
	if (ends_here(c))
		client_close(c, "finished");
}

void client_flush(struct client *c)
{
	if (c->dead)
		return;
	if (c->doom != NULL)
		client_close(c, c->doom);
	else if (!(c->watching & EV_WRITE))
		client_flush_now(c);
}

/* ---- the queue ----------------------------------------------------------------------------- */

/* Room for more requests again: not before half the pipeline is free, so that it does not flap. */
static bool worth_resuming(const struct client *c)
{
	if (c->outstanding == 0)
		return true;
	return !c->barrier && c->outstanding <= c->worker->opts.limits->pipeline / 2;
}

void client_advance(struct client *c)
{
	struct request *r;
	while ((r = STAILQ_FIRST(&c->queue)) != NULL) {
		request_emit(r);
		if (r->state != REQ_ANSWERED)
			break;
		request_leave_queue(r);
	}
	if (UNLIKELY(!(c->watching & EV_READ)) && !c->last_read && worth_resuming(c))
		client_mark_resuming(c);
	if (UNLIKELY(c->last_read) && c->outstanding == 0)
		client_mark_dirty(c); /* the flush closes it */
}

static void put_answer(struct client *c, const struct cmd *cmd, const void *bytes, size_t n)
{
	metric_add(c->worker->m, M_REQUESTS_LOCAL, 1);
	if (UNLIKELY(c->special & SPECIAL_SILENT))
		return;
	if (c->outstanding == 0) {
		client_write(c, bytes, n);
		return;
	}
	struct request *r = request_new(c, cmd);
	request_reply_bytes(r, bytes, n);
	request_answered(r);
}

void client_answer(struct client *c, const struct cmd *cmd, const void *bytes, size_t n)
{
	struct stats *s = c->worker->stats;
	if (cmd != NULL && c->outstanding == 0)
		stats_called(s, cmd, 0); /* else when its turn comes */
	if (*(const uint8_t *)bytes == '-')
		stats_failed(s, cmd, bytes, n);
	put_answer(c, cmd, bytes, n);
}

void client_reject(struct client *c, const struct cmd *cmd, const void *error, size_t n)
{
	stats_rejected(c->worker->stats, cmd, error, n);
	if (UNLIKELY(c->special & SPECIAL_TX))
		tx_turned_away(c, cmd);
	put_answer(c, NULL, error, n);
}
