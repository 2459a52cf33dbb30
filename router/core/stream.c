/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/stream.h"

#include "base/check.h"
#include "router/core/block.h"
#include "router/core/wait.h"
#include "router/core/worker.h"
#include "router/upstream/private.h"

/* Bytes that may wait for a node before its client is paused, and below which it is read again. */
#define STREAM_HIGH (1024u * 1024)
#define STREAM_LOW (256u * 1024)

/* Where it goes; NULL: nowhere any more. */
static struct upconn *conn_of(const struct client *c)
{
	return c->attended != NULL ? c->attended->part.conn : NULL;
}

/* ---- beginning ----------------------------------------------------------------------------- */

/* The command, when it may be streamed, and its key, which is among the arguments that have come. */
static const struct cmd *streamable(
	const struct client *c, const uint8_t *at, size_t n, struct span *ret_key)
{
	struct resp_args *args = &c->worker->args;
	struct resp_request again = {0};
	if (resp_request_scan(&again, at, n, args) != RESP_MORE || args->n == 0)
		return NULL;
	const struct cmd *cmd = cmd_find(args->v, args->n);
	if (cmd == NULL || cmd->policy != POLICY_ONE || !cmd_one_key(cmd))
		return NULL;
	if ((uint32_t)cmd->first_key >= args->n ||
		!cmd_arity_ok(cmd, args->n + (size_t)again.args_due))
		return NULL;
	*ret_key = args->v[cmd->first_key];
	return cmd;
}

static void start(struct client *c, const struct cmd *cmd, uint32_t node, const uint8_t *at)
{
	enum up_why why = UP_WHY_NONE;
	struct request *r = request_new(c, cmd);
	request_part_init(r, &r->part, node);
	wait_note(c, cmd, node);
	r->part.stuck_ns = UINT64_MAX; /* until it is complete */
	r->parts_out = 1;
	c->streaming = true;
	c->streamed = c->scan.pos;
	c->attended = r;
	struct upconn *conn = upstream_lease(r->view->up[node], c->class_id, NULL, &why);
	if (conn == NULL) {
		request_upstream_ops.failed(&r->part, why);
		return;
	}
	upconn_stream_begin(conn, &r->part);
	upconn_stream(conn, at, c->scan.pos);
}

enum stream_try stream_begin(struct client *c, const uint8_t *at, size_t n)
{
	struct worker *w = c->worker;
	struct span key;
	if (c->special != 0 || c->pool->view == NULL || w->memory == MEMORY_OUT)
		return STREAM_NO;
	const struct cmd *cmd = streamable(c, at, n, &key);
	if (cmd == NULL)
		return STREAM_NO;
	uint32_t node = topology_owner(view_topology(c->pool->view), key);
	if (node == RING_NONE)
		return STREAM_NO;
	if (c->outstanding > 0) {
		c->barrier = true;
		return STREAM_LATER;
	}
	c->last_cmd = cmd;
	metric_add(w->m, M_REQUESTS_STREAMED, 1);
	start(c, cmd, node, at);
	c->scan.pos = 0;
	return STREAM_BEGUN;
}

/* ---- going on ------------------------------------------------------------------------------ */

static void pause_it(struct client *c)
{
	if (c->stream_paused)
		return;
	c->stream_paused = true;
	c->paused_ns = loop_now(&c->worker->loop);
	LIST_INSERT_HEAD(&c->worker->streams, c, stream_link);
}

static void resume_it(struct client *c)
{
	if (!c->stream_paused)
		return;
	c->stream_paused = false;
	LIST_REMOVE(c, stream_link);
	client_look_again(c);
}

static void pass_on(
	struct client *c, const uint8_t *at, size_t used, size_t n, struct chunk **chunk)
{
	struct upconn *conn = conn_of(c);
	if (conn == NULL || used == 0)
		return;
	if (*chunk != NULL && used == n) {
		(*chunk)->start = (uint32_t)(at - (*chunk)->data);
		(*chunk)->end = (*chunk)->start + (uint32_t)used;
		upconn_stream_chunk(conn, *chunk);
		*chunk = NULL;
	} else {
		upconn_stream(conn, at, used);
	}
	if (conn->out.unsent > STREAM_HIGH)
		pause_it(c);
}

/* Wholly read: from here on it is a request like any other. */
static void complete(struct client *c)
{
	struct worker *w = c->worker;
	struct request *r = c->attended;
	c->streaming = false;
	resume_it(c);
	resp_request_reset(&c->scan);
	metric_add(w->m, M_REQUESTS, 1);
	c->attended = NULL;
	if (r == NULL)
		return;
	c->barrier = true;
	r->born_ns = loop_now(&w->loop);
	request_set_deadline(r, DEADLINE_REQUEST);
	request_part_start(r, &r->part);
	upconn_stream_end(r->part.conn);
}

enum resp_status stream_more(
	struct client *c, const uint8_t *at, size_t n, struct chunk **chunk, size_t *ret_used)
{
	enum resp_status st = resp_request_scan(&c->scan, at, n, &c->worker->args);
	size_t used = c->scan.pos;
	*ret_used = used;
	c->scan.pos = 0;
	c->streamed += used;
	if (st != RESP_BAD && c->streamed > c->worker->opts.limits->request_size) {
		c->scan.error = "Protocol error: too big request";
		st = RESP_BAD;
	}
	if (st == RESP_BAD) {
		if (c->attended != NULL)
			request_abandon(c->attended); /* the protocol error is its answer */
		return st;
	}
	pass_on(c, at, used, n, chunk);
	if (st == RESP_DONE)
		complete(c);
	return st;
}

/* ---- the end ------------------------------------------------------------------------------- */

void stream_answered(struct client *c)
{
	resume_it(c); /* what is left of the request is thrown away */
}

void stream_forget(struct client *c)
{
	if (c->stream_paused)
		LIST_REMOVE(c, stream_link);
	c->stream_paused = c->streaming = false;
}

void streams_feed(struct worker *w)
{
	struct client *c, *next;
	for (c = LIST_FIRST(&w->streams); c != NULL; c = next) {
		next = LIST_NEXT(c, stream_link);
		const struct upconn *conn = conn_of(c);
		if (conn == NULL || conn->out.unsent < STREAM_LOW)
			resume_it(c);
	}
}

void streams_sweep(struct worker *w, uint64_t now)
{
	struct client *c, *next;
	for (c = LIST_FIRST(&w->streams); c != NULL; c = next) {
		next = LIST_NEXT(c, stream_link);
		struct upconn *conn = conn_of(c);
		if (conn != NULL && now - c->paused_ns >= c->pool->opts->timeout_ns[DEADLINE_SLOW])
			upconn_give_up(conn, "it does not take a large request");
	}
}
