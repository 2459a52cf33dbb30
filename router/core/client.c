/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/client.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "router/core/client_show.h"
#include "router/core/dispatch.h"
#include "router/core/errors.h"
#include "router/core/memory.h"
#include "router/core/origin.h"
#include "router/core/stats.h"
#include "router/core/stream.h"
#include "router/core/tx.h"
#include "router/core/worker.h"
#include "router/io/sock.h"

/* From this size on an unfinished request is read where it will stay, not through the scratch
 * buffer. */
#define LARGE (32u * 1024)

/* A reply piece of this size goes to the socket at once when nothing waits before it: it need not
 * be copied. */
#define WRITE_THROUGH (16u * 1024)

static void on_io(evutil_socket_t fd, short what, void *arg);

static struct bufpool *bufs(const struct client *c)
{
	return &c->worker->loop.pool;
}

static void watch(struct client *c, short what)
{
	if (c->watching == (uint8_t)what)
		return;
	(void)event_del(&c->io);
	c->watching = (uint8_t)what;
	if (what == 0)
		return;
	CHECK(event_assign(&c->io, c->worker->loop.base, c->fd, (short)(what | EV_PERSIST), on_io,
		      c) == 0);
	(void)event_add(&c->io, NULL);
}

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
	CHECK(event_assign(&c->io, w->loop.base, fd, EV_READ | EV_PERSIST, on_io, c) == 0);
	metric_add(w->m, M_CLIENTS, 1);
	gate_reset(c);
	watch(c, EV_READ);
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

static void mark_dirty(struct client *c)
{
	if (c->is_dirty || c->dead)
		return;
	c->is_dirty = true;
	STAILQ_INSERT_TAIL(&c->worker->dirty, c, dirty_link);
}

static void mark_resuming(struct client *c)
{
	if (c->is_resuming || c->dead)
		return;
	c->is_resuming = true;
	STAILQ_INSERT_TAIL(&c->worker->resuming, c, resume_link);
}

/* ---- heard of, or not ---------------------------------------------------------------------------- */

/* What it sent last waits for those before to be answered. */
static bool held_back(const struct client *c)
{
	if (UNLIKELY(c->streaming))
		return c->stream_paused;
	return (c->barrier && c->outstanding > 0) ||
	       c->outstanding >= c->worker->opts.limits->pipeline;
}

static bool may_read(const struct client *c)
{
	return !c->last_read && !c->starved && !c->on_hold && c->doom == NULL && !held_back(c);
}

static void note_inside(struct client *c)
{
	if (UNLIKELY(c->in != NULL || c->is_inside || c->streaming))
		memory_note(c, !c->on_hold && !held_back(c));
}

/* A blocked client is not served, but listened to, up to some bytes: so its end is noticed. */
static bool listens(const struct client *c)
{
	if (may_read(c))
		return true;
	return c->is_blocked && !c->last_read && c->doom == NULL &&
	       (c->in == NULL || chunk_len(c->in) < LARGE_REQUEST);
}

static void heard_of(struct client *c)
{
	struct worker *w = c->worker;
	c->read_ns = loop_now(&w->loop);
	if (TAILQ_NEXT(c, all) == NULL)
		return;
	TAILQ_REMOVE(&w->clients, c, all);
	TAILQ_INSERT_TAIL(&w->clients, c, all);
}

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
	mark_resuming(c);
}

static void close_idle(struct worker *w, uint64_t now)
{
	struct client *c;
	uint64_t limit = w->opts.limits->idle_timeout_ns;
	while (limit != 0 && (c = TAILQ_FIRST(&w->clients)) != NULL && now - c->read_ns >= limit) {
		if (c->outstanding > 0 || sendq_held(&c->out) > 0 || c->on_hold || c->starved) {
			heard_of(c); /* it waits for us, not we for it */
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
	mark_resuming(c);
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
	metric_add(c->worker->m, M_CLIENTS_BLOCKED, (uint64_t)-1);
	mark_resuming(c);
}

void clients_sweep(struct worker *w, uint64_t now)
{
	struct client *c, *next;
	close_idle(w, now);
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
	sendq_clear(bufs(c), &c->out);
	chunk_give(bufs(c), c->in);
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
	mark_dirty(c);
}

/* ---- writing ------------------------------------------------------------------------------- */

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
		sendq_append(bufs(c), &c->out, at, n);
		mark_dirty(c);
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
		chunk_give(bufs(c), chunk);
		return;
	}
	sendq_push(bufs(c), &c->out, chunk);
	mark_dirty(c);
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

static void flush_now(struct client *c)
{
	size_t n = 0;
	enum sendq_result r = sendq_flush(bufs(c), &c->out, c->fd, false, &n);
	metric_add(c->worker->m, M_CLIENT_WRITE_BYTES, n);
	if (r == SENDQ_ERROR) {
		client_close(c, "write failed");
		return;
	}
	if (r == SENDQ_FULL) {
		watch(c, (short)(c->watching | EV_WRITE));
		return;
	}
	forget_biggest(c);
	watch(c, (short)(c->watching & ~EV_WRITE));
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
		flush_now(c);
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
		mark_resuming(c);
	if (UNLIKELY(c->last_read) && c->outstanding == 0)
		mark_dirty(c); /* the flush closes it */
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
		tx_spoil(c);
	put_answer(c, NULL, error, n);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Bytes being parsed: in the scratch buffer, or in a chunk of their own. */
struct input {
	uint8_t *at;
	size_t n;
	struct chunk *chunk; /* owned; NULL: scratch */
};

void client_finish(struct client *c)
{
	c->last_read = true;
	watch(c, (short)(c->watching & ~EV_READ));
	if (c->outstanding == 0)
		mark_dirty(c);
}

static void protocol_error(struct client *c, const char *what)
{
	struct text t;
	metric_add(c->worker->m, M_CLIENTS_CLOSED_PROTOCOL, 1);
	gate_next(c);
	error_text(&t, "ERR %s", what);
	client_answer(c, NULL, t.at, t.len);
	client_finish(c);
}

/* The whole request as the only content of the input's chunk; what follows it moves to the scratch
 * buffer. */
static void isolate(struct client *c, struct input *in, size_t len)
{
	size_t rest = in->n - len;
	CHECK(rest <= LOOP_SCRATCH);
	memcpy(c->worker->loop.scratch, in->at + len, rest);
	in->chunk->start = (uint32_t)(in->at - in->chunk->data);
	in->chunk->end = in->chunk->start + (uint32_t)len;
	in->at = c->worker->loop.scratch;
	in->n = rest;
}

static void refuse_for_memory(struct client *c)
{
	static const char line[] = "-OVERLOADED memory limit\r\n";
	metric_add(c->worker->m, M_ERRORS_OVERLOADED, 1);
	gate_next(c);
	tx_spoil(c);
	client_answer(c, NULL, line, sizeof(line) - 1);
}

/* The request is at the front of the input again. */
static void unserve(struct client *c, struct input *in, size_t len, struct chunk *own)
{
	if (own == NULL) {
		in->at -= len;
		in->n += len;
		return;
	}
	in->chunk = chunk_append(bufs(c), own, in->at, in->n);
	in->at = chunk_bytes(in->chunk);
	in->n = chunk_len(in->chunk);
}

/* False: not served yet; it is still at the front of the input. */
static bool serve(struct client *c, struct input *in, size_t len)
{
	struct worker *w = c->worker;
	struct chunk *own = NULL;
	uint8_t special = c->special;
	struct call call = {
		.client = c,
		.args = w->args.v,
		.n = w->args.n,
		.bytes = in->at,
		.len = len,
		.verbatim = !c->scan.inline_form && !c->scan.loose,
	};
	if (in->chunk != NULL && len >= LARGE && in->n - len <= LOOP_SCRATCH &&
		!(c->special & SPECIAL_PAUSED)) {
		isolate(c, in, len);
		own = in->chunk;
		in->chunk = NULL;
		call.chunk = &own;
	} else {
		in->at += len;
		in->n -= len;
	}
	if (UNLIKELY(w->memory == MEMORY_OUT))
		refuse_for_memory(c);
	else
		dispatch(&call);
	if (UNLIKELY(call.again)) {
		unserve(c, in, len, own);
		c->special = special; /* as if it had not been looked at */
		return false;
	}
	chunk_give(&w->loop.pool, own);
	metric_add(w->m, M_REQUESTS, 1);
	return true;
}

/* What it waits for may have failed at once: then nothing else will wake it. */
static bool look_again(struct client *c)
{
	resp_request_reset(&c->scan);
	if (c->outstanding == 0)
		mark_resuming(c);
	return false;
}

/* A request lies whole in one chunk, with what came behind it. */
static size_t size_limit(const struct worker *w)
{
	uint64_t limit = w->opts.limits->request_size;
	return limit < CHUNK_MAX - LARGE ? (size_t)limit : CHUNK_MAX - LARGE;
}

/* A piece of a large request that goes on as it comes.  False: as take_request(). */
static bool take_piece(struct client *c, struct input *in)
{
	size_t used = 0;
	enum resp_status st = stream_more(c, in->at, in->n, &in->chunk, &used);
	in->at += used;
	in->n -= used;
	if (st == RESP_BAD) {
		c->streaming = false;
		protocol_error(c, c->scan.error);
	}
	return st == RESP_DONE && in->n > 0;
}

/* More is announced than is to be collected. */
static void try_stream(struct client *c, struct input *in)
{
	size_t n = c->scan.pos;
	if (stream_begin(c, in->at, in->n) != STREAM_BEGUN)
		return;
	in->at += n;
	in->n -= n;
}

/* More of a request that was given up for want of memory.  False: as take_request(). */
static bool throw_away(struct client *c, struct input *in)
{
	struct worker *w = c->worker;
	enum resp_status st = resp_request_scan(&c->scan, in->at, in->n, &w->args);
	size_t used = c->scan.pos;
	in->at += used;
	in->n -= used;
	c->scan.pos = 0;
	c->discarded += used;
	if (st == RESP_BAD || c->discarded > size_limit(w)) {
		protocol_error(
			c, st == RESP_BAD ? c->scan.error : "Protocol error: too big request");
		return false;
	}
	if (st == RESP_MORE)
		return false;
	c->discarding = false;
	resp_request_reset(&c->scan);
	metric_add(w->m, M_REQUESTS, 1);
	refuse_for_memory(c);
	return in->n > 0;
}

/* One request, when it is whole.  False: no more can be done with these bytes now. */
static bool take_request(struct client *c, struct input *in)
{
	struct worker *w = c->worker;
	if (UNLIKELY(c->streaming))
		return take_piece(c, in);
	if (UNLIKELY(c->discarding))
		return throw_away(c, in);
	if (c->outstanding == 0)
		c->barrier = false;
	enum resp_status st = resp_request_scan(&c->scan, in->at, in->n, &w->args);
	size_t len = c->scan.pos;
	if (st == RESP_BAD) {
		protocol_error(c, c->scan.error);
		return false;
	}
	size_t need = st == RESP_MORE ? resp_request_need(&c->scan) : 0;
	if (!fits(len, need, size_limit(w))) {
		protocol_error(c, "Protocol error: too big request");
		return false;
	}
	if (st == RESP_MORE) {
		if (UNLIKELY(len + need > w->opts.limits->bulk))
			try_stream(c, in);
		return false;
	}
	if (!c->scan.split_done)
		resp_request_split(in->at, len, &w->args);
	if (w->args.n > 0) {
		if (UNLIKELY(!serve(c, in, len)))
			return look_again(c);
		if (len >= LARGE_REQUEST) {
			resp_args_trim(&w->args);
			memory_leave(c);
		}
	} else {
		gate_next(c);
		in->at += len;
		in->n -= len;
	}
	resp_request_reset(&c->scan);
	return in->n > 0;
}

/* What was not served stays with the client. */
static void keep_rest(struct client *c, struct input *in)
{
	if (c->last_read || c->doom != NULL || in->n == 0) {
		chunk_give(bufs(c), in->chunk);
		return;
	}
	if (in->chunk != NULL && (in->n >= LARGE_REQUEST || in->chunk->cap < LARGE)) {
		in->chunk->start = (uint32_t)(in->at - in->chunk->data);
		in->chunk->end = in->chunk->start + (uint32_t)in->n;
		c->in = in->chunk;
		return;
	}
	c->in = chunk_append(bufs(c), NULL, in->at, in->n);
	chunk_give(bufs(c), in->chunk);
}

static void client_take(struct client *c, struct input *in)
{
	while (in->n > 0 && may_read(c))
		if (!take_request(c, in))
			break;
	keep_rest(c, in);
	note_inside(c);
	if (!listens(c))
		watch(c, (short)(c->watching & ~EV_READ));
}

/* Into a chunk of its own, which goes on to the node. */
static void piece_input(struct client *c, struct input *in, size_t *ret_room)
{
	in->chunk = chunk_grow(bufs(c), c->in, STREAM_READ);
	in->at = chunk_bytes(in->chunk);
	in->n = chunk_len(in->chunk);
	*ret_room = STREAM_READ;
	c->in = NULL;
}

/* Where the next bytes go: behind a large unfinished request, or into scratch behind a copy of a
 * small one. */
static struct input next_input(struct client *c, size_t *ret_room)
{
	struct loop *l = &c->worker->loop;
	struct input in = {.at = l->scratch, .n = 0, .chunk = NULL};
	*ret_room = LOOP_SCRATCH;
	if (UNLIKELY(c->streaming)) {
		piece_input(c, &in, ret_room);
		return in;
	}
	if (c->in == NULL)
		return in;
	size_t len = chunk_len(c->in);
	if (len >= LARGE_REQUEST) {
		size_t need = resp_request_need(&c->scan);
		size_t most = need < LARGE ? LARGE : need;
		in.chunk = c->in;
		in.at = chunk_bytes(c->in);
		*ret_room = most < chunk_room(c->in) ? most : chunk_room(c->in);
	} else {
		memcpy(l->scratch, chunk_bytes(c->in), len);
		chunk_give(&l->pool, c->in);
		*ret_room = LOOP_SCRATCH - len;
	}
	in.n = len;
	c->in = NULL;
	return in;
}

void client_input_ended(struct client *c)
{
	chunk_give(bufs(c), c->in);
	c->in = NULL;
	memory_leave(c);
	if ((c->outstanding == 0 && sendq_held(&c->out) == 0) || c->is_blocked || c->streaming)
		client_close(c, "closed by the client");
	else
		client_finish(c); /* half closed: it still gets its replies */
}

/* What a load balancer says first.  Nothing is kept of a client before that is complete. */
static bool skip_preface(struct client *c, struct input *in)
{
	size_t used;
	if (!origin_take(c, in->at, in->n, &used))
		return false;
	in->at += used;
	in->n -= used;
	return true;
}

static bool may_grow(struct client *c)
{
	if (memory_make_room(c))
		return true;
	watch(c, (short)(c->watching & ~EV_READ));
	return false;
}

static void on_readable(struct client *c)
{
	size_t room;
	if (UNLIKELY(c->in != NULL || c->streaming) && !may_grow(c))
		return;
	struct input in = next_input(c, &room);
	ssize_t n = recv(c->fd, in.at + in.n, room, 0);
	if (n <= 0) {
		int err = errno;
		keep_rest(c, &in);
		note_inside(c);
		if (n == 0)
			client_input_ended(c);
		else if (err != EAGAIN && err != EINTR)
			client_close(c, rw_strerror(-err));
		return;
	}
	heard_of(c);
	metric_add(c->worker->m, M_CLIENT_READ_BYTES, (uint64_t)n);
	in.n += (size_t)n;
	if (UNLIKELY(c->origin != NULL) && !skip_preface(c, &in))
		return;
	client_take(c, &in);
}

/* Reading was stopped and may go on: first what is already here. */
void client_resume(struct client *c)
{
	if (c->dead || c->last_read || !may_read(c))
		return;
	c->barrier = false;
	heard_of(c); /* it was not silent, it was not listened to */
	watch(c, (short)(c->watching | EV_READ));
	if (c->in == NULL)
		return;
	struct input in = {.at = chunk_bytes(c->in), .n = chunk_len(c->in), .chunk = c->in};
	c->in = NULL;
	client_take(c, &in);
}

static void on_io(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	(void)fd;
	CHECK_KIND(c, CLIENT_MAGIC);
	if ((what & EV_WRITE) && !c->dead)
		flush_now(c);
	if ((what & EV_READ) && !c->dead && (c->watching & EV_READ))
		on_readable(c);
}
