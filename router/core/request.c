/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/request.h"

#include <string.h>

#include "base/check.h"
#include "router/core/client.h"
#include "router/core/errors.h"
#include "router/core/script.h"
#include "router/core/split.h"
#include "router/core/stats.h"
#include "router/core/tx.h"
#include "router/core/worker.h"
#include "router/upstream/private.h"

#define B(s) (1u << (s))

static const unsigned request_edges[REQ_STATE_COUNT] = {
	[REQ_WAITING] = B(REQ_ANSWERED) | B(REQ_ABANDONED),
	[REQ_ANSWERED] = B(REQ_ABANDONED),
	[REQ_ABANDONED] = 0,
};

static void request_enter(struct request *r, enum request_state to)
{
	CHECK(request_edges[r->state] & B(to));
	r->state = (uint8_t)to;
}

static struct bufpool *bufs(const struct request *r)
{
	return &r->pool->worker->loop.pool;
}

static inline void part_start(struct request *r, struct part *p, enum deadline_class k)
{
	const struct pool_opts *o = r->pool->opts;
	uint64_t patience = 3 * o->timeout_ns[k];
	p->born_ns = r->born_ns;
	p->stuck_ns = r->born_ns + (patience > o->stuck_floor_ns ? patience : o->stuck_floor_ns);
}

static inline void part_init(
	struct request *r, struct part *p, uint32_t node, enum deadline_class k)
{
	part_start(r, p, k);
	p->req = r;
	p->conn = NULL;
	p->wire_len = 0;
	p->node = (uint16_t)node;
	p->flags = r->cmd->flags & CMD_READONLY ? PART_READONLY : 0;
	p->stage = 0;
	p->tries = 0;
}

/* Inlined: each request passes through it. */
static inline struct request *blank(struct worker_pool *pool, const struct cmd *cmd)
{
	struct worker *w = pool->worker;
	struct request *r = slab_take(&w->request_slab);
	r->pool = pool;
	r->view = pool->view;
	r->cmd = cmd;
	r->born_ns = loop_now(&w->loop);
	r->due_ns = 0;
	r->reply_bytes = 0;
	r->split = NULL;
	chain_init(&r->hold);
	r->part.conn = NULL;
	r->part.flags = 0;
	r->due_class = DEADLINE_NONE;
	r->emitted = false;
	r->parts_out = 0;
	r->inline_len = 0;
	if (r->view != NULL)
		r->view->inflight++;
	return r;
}

struct request *request_new(struct client *c, const struct cmd *cmd)
{
	struct request *r = blank(c->pool, cmd);
	r->client = c;
	r->state = REQ_WAITING;
	r->queued = true;
	r->silent = (c->special & SPECIAL_SILENT) != 0;
	STAILQ_INSERT_TAIL(&c->queue, r, order);
	c->outstanding++;
	metric_add(c->worker->m, M_REQUESTS_PENDING, 1);
	return r;
}

struct request *request_new_unseen(
	struct worker_pool *pool, const struct cmd *cmd, uint32_t node, enum deadline_class k)
{
	struct request *r = blank(pool, cmd);
	r->client = NULL;
	r->state = REQ_ABANDONED;
	r->queued = false;
	r->silent = true;
	part_init(r, &r->part, node, k);
	r->part.flags = PART_DROPPED | PART_UNSEEN;
	r->parts_out = 1;
	return r;
}

/* ---- deadlines ----------------------------------------------------------------------------- */

void request_set_deadline(struct request *r, enum deadline_class k)
{
	struct worker_pool *p = r->pool;
	r->due_ns = r->born_ns + p->opts->timeout_ns[k];
	r->due_class = (uint8_t)k;
	TAILQ_INSERT_TAIL(&p->due[k], r, due);
	uint64_t armed = p->worker->due_armed_ns;
	if (UNLIKELY(armed == 0 || r->due_ns < armed))
		worker_arm_deadline(p->worker, r->due_ns);
}

static void forget_deadline(struct request *r)
{
	if (r->due_class == DEADLINE_NONE)
		return;
	TAILQ_REMOVE(&r->pool->due[r->due_class], r, due);
	r->due_class = DEADLINE_NONE;
}

void request_part_init(struct request *r, struct part *p, uint32_t node)
{
	part_init(r, p, node, r->due_class);
}

void request_part_start(struct request *r, struct part *p)
{
	part_start(r, p, r->due_class);
}

void request_extend(struct request *r, const struct request *as)
{
	forget_deadline(r);
	r->due_ns = as->due_ns;
	r->due_class = as->due_class;
	TAILQ_INSERT_TAIL(&r->pool->due[r->due_class], r, due);
}

/* ---- the end of a request ------------------------------------------------------------------ */

static void request_free(struct request *r)
{
	forget_deadline(r);
	if (UNLIKELY(r->hold.head != NULL))
		chain_clear(bufs(r), &r->hold);
	if (r->split != NULL)
		split_free(bufs(r), r->split);
	struct worker_pool *p = r->pool;
	struct view *v = r->view;
	slab_give(&p->worker->request_slab, r);
	if (v != NULL && --v->inflight == 0 && !v->current)
		worker_view_done(p);
}

static inline void maybe_free(struct request *r)
{
	if (!r->queued && r->parts_out == 0)
		request_free(r);
}

void request_leave_queue(struct request *r)
{
	STAILQ_REMOVE_HEAD(&r->client->queue, order);
	if (UNLIKELY(r->client->attended == r))
		client_attend(r->client);
	r->client->outstanding--;
	metric_add(r->pool->worker->m, M_REQUESTS_PENDING, (uint64_t)-1);
	r->queued = false;
	maybe_free(r);
}

void request_part_left(struct request *r)
{
	CHECK(r->parts_out > 0);
	r->parts_out--;
	maybe_free(r);
}

/* Nobody waits for it.  A private connection ends with it, and what it started at the node. */
static void drop_part(struct part *p)
{
	struct upconn *conn = p->conn;
	p->flags |= PART_DROPPED;
	if (UNLIKELY(conn != NULL && conn->is_private && conn->tenant == NULL))
		upconn_discard(conn);
}

/* Nobody waits for the parts that are still in FIFOs. */
static void drop_parts(struct request *r)
{
	if (r->split == NULL) {
		drop_part(&r->part);
		return;
	}
	for (uint32_t i = 0; i < r->split->nslots; i++)
		drop_part(&r->split->slots[i].part);
}

void request_abandon(struct request *r)
{
	request_enter(r, REQ_ABANDONED);
	forget_deadline(r);
	drop_parts(r);
	request_leave_queue(r);
}

/* ---- the reply ----------------------------------------------------------------------------- */

static bool its_turn(const struct request *r)
{
	return STAILQ_FIRST(&r->client->queue) == r;
}

static void hold_bytes(struct request *r, const uint8_t *bytes, size_t n)
{
	if (r->hold.head == NULL && n <= sizeof(r->small) - r->inline_len) {
		memcpy(r->small + r->inline_len, bytes, n);
		r->inline_len = (uint8_t)(r->inline_len + n);
	} else {
		chain_append(bufs(r), &r->hold, bytes, n);
	}
	client_account(r->client, n, r->reply_bytes);
}

void request_reply_bytes(struct request *r, const uint8_t *bytes, size_t n)
{
	r->reply_bytes += n;
	if (UNLIKELY(r->silent))
		return;
	if (!its_turn(r)) {
		hold_bytes(r, bytes, n);
		return;
	}
	r->emitted = true;
	client_write(r->client, bytes, n);
}

void request_reply_chunk(struct request *r, struct chunk *chunk)
{
	size_t n = chunk_len(chunk);
	if (UNLIKELY(r->silent)) {
		chunk_give(bufs(r), chunk);
		return;
	}
	r->reply_bytes += n;
	if (its_turn(r)) {
		r->emitted = true;
		client_write_chunk(r->client, chunk);
		return;
	}
	chain_push(bufs(r), &r->hold, chunk);
	client_account(r->client, n, r->reply_bytes);
}

static void take_from_held(struct client *c, size_t n)
{
	CHECK(n <= c->held);
	c->held -= n;
}

void request_emit(struct request *r)
{
	struct client *c = r->client;
	if (r->inline_len > 0) {
		take_from_held(c, r->inline_len);
		client_write(c, r->small, r->inline_len);
		r->inline_len = 0;
		r->emitted = true;
	}
	if (r->hold.head != NULL) {
		take_from_held(c, r->hold.len);
		struct chunk *k = r->hold.head;
		chain_init(&r->hold);
		while (k != NULL) {
			struct chunk *next = k->next;
			client_write_chunk(c, k);
			k = next;
		}
		r->emitted = true;
	}
	if (r->split != NULL && r->state == REQ_ANSWERED)
		split_merge(r);
}

void request_forget_reply(struct request *r)
{
	CHECK(!r->emitted);
	take_from_held(r->client, r->inline_len + r->hold.len);
	r->inline_len = 0;
	chain_clear(bufs(r), &r->hold);
	r->reply_bytes = 0;
}

static void count_answer(struct request *r)
{
	struct worker *w = r->pool->worker;
	if (r->cmd == NULL)
		return;
	uint64_t usec = (loop_now(&w->loop) - r->born_ns) / NS_PER_US;
	hist_add(&w->m->family[r->cmd->family], usec);
	stats_called(w->stats, r->cmd, usec);
}

void request_answered(struct request *r)
{
	request_enter(r, REQ_ANSWERED);
	forget_deadline(r);
	count_answer(r);
	client_advance(r->client);
}

/* An error of the router's own instead of a reply. */
static void answer_text(struct request *r, const struct text *t)
{
	if (r->emitted) {
		/* half a reply has gone out: the client can't make sense of anything after it */
		client_doom(r->client, "the node's reply broke off");
		forget_deadline(r);
		return;
	}
	request_forget_reply(r);
	r->part.flags |= PART_ERROR;
	if (UNLIKELY(r->client->special & SPECIAL_TX))
		tx_spoil(r->client);
	stats_failed(r->pool->worker->stats, r->cmd, t->at, t->len);
	request_reply_bytes(r, (const uint8_t *)t->at, t->len);
	request_answered(r);
}

/* ---- what upstreams call ------------------------------------------------------------------- */

/* An error comes whole. */
static void on_error(struct request *r, const uint8_t *bytes, size_t n)
{
	stats_failed(r->pool->worker->stats, r->cmd, bytes, n);
	if (r->part.flags & PART_ONCE)
		script_failed(r, bytes, n);
}

static void on_reply(struct part *p, const uint8_t *bytes, size_t n, uint8_t type, bool complete)
{
	struct request *r = p->req;
	if (r->split != NULL) {
		split_reply(r, p, bytes, n, complete, type == '-');
		return;
	}
	if (UNLIKELY(type == '-')) {
		p->flags |= PART_ERROR;
		on_error(r, bytes, n);
	}
	request_reply_bytes(r, bytes, n);
	if (LIKELY(complete)) {
		request_answered(r);
		request_part_left(r);
	}
}

static void on_failed(struct part *p, enum up_why why)
{
	struct request *r = p->req;
	if (r->split != NULL) {
		split_failed(r, p, why);
		return;
	}
	struct text t;
	if (UNLIKELY(r->cmd->id == CMD_ID_EXEC) && !(p->flags & PART_SENT))
		error_never_sent(&t, r, p, why);
	else
		error_unavailable(&t, r, p, why);
	answer_text(r, &t);
	request_part_left(r);
}

static void on_dropped(struct part *p)
{
	request_part_left(p->req);
}

const struct upstream_ops request_upstream_ops = {
	.reply = on_reply,
	.failed = on_failed,
	.lost = tx_lost,
	.dropped = on_dropped,
};

/* ---- running out of time ------------------------------------------------------------------- */

/* When the bytes of its reply that came last leave it until; 0: none have come. */
static uint64_t part_until(const struct part *p, uint64_t patience)
{
	if (p->conn == NULL || !(p->flags & PART_BEGUN))
		return 0;
	return upconn_last_read(p->conn) + patience;
}

/* A large reply that is still arriving, in each part that is due, may take as long as a slow command. */
static uint64_t extended(const struct request *r)
{
	const struct pool_opts *o = r->pool->opts;
	uint64_t patience = o->timeout_ns[DEADLINE_REQUEST];
	uint64_t until = r->born_ns + o->timeout_ns[DEADLINE_SLOW];
	if (r->split == NULL) {
		uint64_t part = part_until(&r->part, patience);
		return part < until ? part : until;
	}
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct part *p = &r->split->slots[i].part;
		uint64_t part = p->flags & PART_DONE ? until : part_until(p, patience);
		until = part < until ? part : until;
	}
	return until;
}

static void expire(struct request *r)
{
	struct text t;
	metric_add(r->pool->worker->m, M_ERRORS_TIMEOUT, 1);
	if (r->split != NULL) {
		split_expire(r);
		return;
	}
	node_metric_add(r->view->up[r->part.node]->m, NM_TIMEOUTS, 1);
	r->part.flags |= PART_SENT;
	drop_part(&r->part);
	error_unavailable(&t, r, &r->part, UP_WHY_TIMEOUT);
	answer_text(r, &t);
}

uint64_t request_expire_due(struct request_due *q, uint64_t now)
{
	struct request *r;
	while ((r = TAILQ_FIRST(q)) != NULL && r->due_ns <= now) {
		uint64_t later = extended(r);
		if (later > now) {
			/* behind the younger ones: it may expire a little late, never early */
			r->due_ns = later;
			TAILQ_REMOVE(q, r, due);
			TAILQ_INSERT_TAIL(q, r, due);
			if (TAILQ_FIRST(q) == r)
				break;
			continue;
		}
		expire(r);
	}
	return r != NULL ? r->due_ns : 0;
}
