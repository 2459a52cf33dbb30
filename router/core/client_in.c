/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * What a client sends: bytes into requests, and each to dispatch().
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "router/core/client_internal.h"
#include "router/core/dispatch.h"
#include "router/core/errors.h"
#include "router/core/origin.h"
#include "router/core/stream.h"
#include "router/core/tx.h"

/* From this size on an unfinished request is read where it will stay, not through the scratch
 * buffer. */
#define LARGE (32u * 1024)

/* Bytes being parsed: in the scratch buffer, or in a chunk of their own. */
struct input {
	uint8_t *at;
	size_t n;
	struct chunk *chunk; /* owned; NULL: scratch */
};

void client_finish(struct client *c)
{
	c->last_read = true;
	client_watch(c, (short)(c->watching & ~EV_READ));
	if (c->outstanding == 0)
		client_mark_dirty(c);
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

/* `cmd` where it matters: in a transaction. */
static void refuse_for_memory(struct client *c, const struct cmd *cmd)
{
	static const char line[] = "-OVERLOADED memory limit\r\n";
	metric_add(c->worker->m, M_ERRORS_OVERLOADED, 1);
	gate_next(c);
	tx_turned_away(c, cmd);
	client_answer(c, NULL, line, sizeof(line) - 1);
}

/* Memory is out.  What ends a transaction ends it all the same: EXEC without carrying it out. */
static void serve_without_memory(struct call *call)
{
	struct client *c = call->client;
	const struct cmd *cmd = c->tx != NULL ? cmd_find(call->args, call->n) : NULL;
	unsigned id = cmd != NULL ? cmd->id : CMD_COUNT;
	if (id == CMD_ID_DISCARD || id == CMD_ID_UNWATCH || id == CMD_ID_RESET)
		dispatch(call);
	else
		refuse_for_memory(c, cmd);
}

/* The request is at the front of the input again. */
static void unserve(struct client *c, struct input *in, size_t len, struct chunk *own)
{
	if (own == NULL) {
		in->at -= len;
		in->n += len;
		return;
	}
	in->chunk = chunk_append(client_bufs(c), own, in->at, in->n);
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
		serve_without_memory(&call);
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
		client_mark_resuming(c);
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
	refuse_for_memory(c, NULL);
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
		chunk_give(client_bufs(c), in->chunk);
		return;
	}
	if (in->chunk != NULL && (in->n >= LARGE_REQUEST || in->chunk->cap < LARGE)) {
		in->chunk->start = (uint32_t)(in->at - in->chunk->data);
		in->chunk->end = in->chunk->start + (uint32_t)in->n;
		c->in = in->chunk;
		return;
	}
	c->in = chunk_append(client_bufs(c), NULL, in->at, in->n);
	chunk_give(client_bufs(c), in->chunk);
}

static void client_take(struct client *c, struct input *in)
{
	while (in->n > 0 && client_may_read(c))
		if (!take_request(c, in))
			break;
	keep_rest(c, in);
	client_note_inside(c);
	if (!client_listens(c))
		client_watch(c, (short)(c->watching & ~EV_READ));
}

/* Into a chunk of its own, which goes on to the node. */
static void piece_input(struct client *c, struct input *in, size_t *ret_room)
{
	in->chunk = chunk_grow(client_bufs(c), c->in, STREAM_READ);
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
	chunk_give(client_bufs(c), c->in);
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
	client_watch(c, (short)(c->watching & ~EV_READ));
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
		client_note_inside(c);
		if (n == 0)
			client_input_ended(c);
		else if (err != EAGAIN && err != EINTR)
			client_close(c, rw_strerror(-err));
		return;
	}
	client_heard_of(c);
	metric_add(c->worker->m, M_CLIENT_READ_BYTES, (uint64_t)n);
	in.n += (size_t)n;
	if (UNLIKELY(c->origin != NULL) && !skip_preface(c, &in))
		return;
	client_take(c, &in);
}

/* Reading was stopped and may go on: first what is already here. */
void client_resume(struct client *c)
{
	if (c->dead || c->last_read || !client_may_read(c))
		return;
	c->barrier = false;
	client_heard_of(c); /* it was not silent, it was not listened to */
	client_watch(c, (short)(c->watching | EV_READ));
	if (c->in == NULL)
		return;
	struct input in = {.at = chunk_bytes(c->in), .n = chunk_len(c->in), .chunk = c->in};
	c->in = NULL;
	client_take(c, &in);
}

void client_on_io(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	(void)fd;
	CHECK_KIND(c, CLIENT_MAGIC);
	if ((what & EV_WRITE) && !c->dead)
		client_flush_now(c);
	if ((what & EV_READ) && !c->dead && (c->watching & EV_READ))
		on_readable(c);
}
