/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/client.h"
#include "router/core/dispatch.h"
#include "router/core/errors.h"
#include "router/core/foreign.h"
#include "router/core/gather.h"
#include "router/core/scan.h"
#include "router/core/wait.h"
#include "router/core/worker.h"
#include "router/upstream/private.h"
#include "router/wire/resp_elem.h"
#include "router/wire/resp_write.h"

/* What is gathered about the owners of one request's keys.  One per worker, grown as needed. */
struct owners {
	uint16_t *of_key; /* slot of each key, in the order asked */
	size_t keys_cap;
	uint32_t nslots;
	uint32_t *node;         /* by slot */
	uint32_t *keys;         /* by slot */
	size_t *bytes;          /* by slot: of the keys (and values) as bulks */
	uint8_t **at;           /* by slot: where the next key goes */
	uint32_t *slot_of_node; /* by node; UINT32_MAX: none */
	size_t nodes_cap;
};

static void *grown(void *p, size_t n, size_t size)
{
	void *q = reallocarray(p, n, size);
	CHECK(q != NULL);
	return q;
}

static struct owners *owners_ready(struct worker *w, size_t nkeys, size_t nnodes)
{
	struct owners *o = w->owners;
	if (o == NULL) {
		o = calloc(1, sizeof(*o));
		CHECK(o != NULL);
		w->owners = o;
	}
	if (nkeys > o->keys_cap) {
		o->keys_cap = nkeys * 2;
		o->of_key = grown(o->of_key, o->keys_cap, sizeof(*o->of_key));
	}
	if (nnodes > o->nodes_cap) {
		o->nodes_cap = nnodes;
		o->node = grown(o->node, nnodes, sizeof(*o->node));
		o->keys = grown(o->keys, nnodes, sizeof(*o->keys));
		o->bytes = grown(o->bytes, nnodes, sizeof(*o->bytes));
		o->at = grown(o->at, nnodes, sizeof(*o->at));
		o->slot_of_node = grown(o->slot_of_node, nnodes, sizeof(*o->slot_of_node));
		memset(o->slot_of_node, 0xff, nnodes * sizeof(*o->slot_of_node));
	}
	o->nslots = 0;
	return o;
}

void split_scratch_free(void *scratch)
{
	struct owners *o = scratch;
	if (o == NULL)
		return;
	free(o->of_key);
	free(o->node);
	free(o->keys);
	free(o->bytes);
	free(o->at);
	free(o->slot_of_node);
	free(o);
}

/* Ready for the next request; a vector that one huge request made is given back. */
static void owners_reset(struct owners *o)
{
	for (uint32_t s = 0; s < o->nslots; s++)
		o->slot_of_node[o->node[s]] = UINT32_MAX;
	if (o->keys_cap > 64 * 1024) {
		free(o->of_key);
		o->of_key = NULL;
		o->keys_cap = 0;
	}
}

/* Keys are args[1], args[1 + step], ... ; a pair's value goes with its key. */
static size_t call_step(const struct call *call)
{
	return call->cmd->policy == POLICY_SPLIT_PAIRS ? 2 : 1;
}

static uint32_t slot_for(struct owners *o, uint32_t node)
{
	CHECK(o->slot_of_node != NULL); /* a node was found, so there is room for one */
	uint32_t s = o->slot_of_node[node];
	if (s == UINT32_MAX) {
		s = o->nslots++;
		o->slot_of_node[node] = s;
		o->node[s] = node;
		o->keys[s] = 0;
		o->bytes[s] = 0;
	}
	return s;
}

static inline const uint8_t *arg_end(const struct call *call, size_t i)
{
	return call->args[i].ptr + call->args[i].len + 2;
}

/* First visit.  False: nobody owns a key. */
static bool find_owners(struct call *call, struct owners *o)
{
	const struct topology *t = view_topology(call->client->pool->view);
	size_t step = call_step(call);
	CHECK(o->of_key != NULL); /* the arity says that there are keys */
	for (size_t i = 1, k = 0; i < call->n; i += step, k++) {
		uint32_t node = topology_owner(t, call->args[i]);
		if (node == RING_NONE)
			return false;
		uint32_t s = slot_for(o, node);
		o->of_key[k] = (uint16_t)s;
		o->keys[s]++;
		if (LIKELY(call->verbatim)) {
			o->bytes[s] += (size_t)(arg_end(call, i + step - 1) - arg_end(call, i - 1));
			continue;
		}
		for (size_t j = 0; j < step; j++)
			o->bytes[s] += resp_bulk_size(call->args[i + j].len);
	}
	return true;
}

static void slot_fail(struct request *r, struct slot *slot, enum up_why why);

/* ---- starting ------------------------------------------------------------------------------ */

/* `nslots` parts and, where replies must be put in order, the slot of each key, in one chunk. */
static struct split *split_new(
	struct request *r, uint32_t nslots, size_t nkeys, const uint16_t *of_key)
{
	size_t slots = nslots * sizeof(struct slot);
	size_t order = of_key != NULL ? nkeys * sizeof(uint16_t) : 0;
	struct chunk *k =
		chunk_take(&r->pool->worker->loop.pool, sizeof(struct split) + slots + order);
	struct split *s = (struct split *)(void *)k->data;
	s->self = k;
	s->nslots = s->open = nslots;
	s->nkeys = (uint32_t)nkeys;
	s->order = NULL;
	s->argument = 0;
	s->merge = NULL;
	s->question = NULL;
	s->baggage = NULL;
	s->hidden = false;
	if (of_key != NULL) {
		uint8_t *at = k->data + sizeof(struct split) + slots;
		memcpy(at, of_key, order);
		s->order = (const uint16_t *)(void *)at;
	}
	return s;
}

/* A part for one node; the connection to send it on, or NULL: it has failed. */
static struct upconn *slot_start(struct request *r, struct slot *slot, uint32_t node, bool aside)
{
	enum up_why why = UP_WHY_NONE;
	struct upstream *up = r->view->up[node];
	slot->reply = NULL;
	slot->failed = false;
	slot->keys = 0;
	request_part_init(r, &slot->part, node);
	wait_note(r->client, r->cmd, node);
	struct upconn *conn =
		LIKELY(!aside) ? upstream_conn(up, r->client->class_id, &why)
			       : upstream_lease(up, up_class(0, r->client->resp), NULL, &why);
	if (conn == NULL) {
		slot_fail(r, slot, why);
		r->parts_out--;
	}
	return conn;
}

/* Room for one node's command, its head written. */
static uint8_t *begin_part(
	struct call *call, struct owners *o, uint32_t s, struct upconn *conn, size_t *ret_size)
{
	struct span name = call->args[0];
	int64_t argc = 1 + (int64_t)o->keys[s] * (int64_t)call_step(call);
	size_t most = RESP_HEAD_SIZE + resp_bulk_size(name.len) + o->bytes[s];
	uint8_t *start = upconn_reserve(conn, most);
	uint8_t *at = resp_put_head(start, '*', argc);
	at = resp_put_bulk(at, name);
	*ret_size = (size_t)(at - start) + o->bytes[s];
	return at;
}

/* Second visit: each key, as the client wrote it, to where its node's command has got to. */
static void copy_keys(struct call *call, struct owners *o)
{
	size_t step = call_step(call), n = call->n;
	const uint16_t *of_key = o->of_key;
	uint8_t **to = o->at;
	CHECK(of_key != NULL && to != NULL); /* keys were found, so there is room for them */
	const uint8_t *from = arg_end(call, 0);
	const struct span *last = &call->args[step];
	for (size_t i = 1; i < n; i += step, last += step) {
		const uint8_t *end = last->ptr + last->len + 2;
		size_t len = (size_t)(end - from);
		uint8_t **at = &to[*of_key++];
		if (*at != NULL) {
			memcpy(*at, from, len);
			*at += len;
		}
		from = end;
	}
}

/* The same for a request that is not an array, or not cleanly written. */
static void write_keys(struct call *call, struct owners *o)
{
	size_t step = call_step(call);
	for (size_t i = 1, k = 0; i < call->n; i += step, k++) {
		uint32_t s = o->of_key[k];
		if (o->at[s] == NULL)
			continue;
		for (size_t j = 0; j < step; j++)
			o->at[s] = resp_put_bulk(o->at[s], call->args[i + j]);
	}
}

static void start_parts(struct call *call, struct request *r, struct owners *o)
{
	r->parts_out = o->nslots;
	for (uint32_t s = 0; s < o->nslots; s++) {
		struct slot *slot = &r->split->slots[s];
		struct upconn *conn = slot_start(r, slot, o->node[s], false);
		o->at[s] = NULL;
		slot->keys = o->keys[s];
		if (conn == NULL)
			continue;
		size_t size = 0;
		o->at[s] = begin_part(call, o, s, conn, &size);
		upconn_commit(conn, &slot->part, size);
	}
	if (LIKELY(call->verbatim))
		copy_keys(call, o);
	else
		write_keys(call, o);
}

static void answer_when_complete(struct request *r);

static void start_split(struct call *call, struct owners *o)
{
	struct request *r = request_new(call->client, call->cmd);
	metric_add(call->client->worker->m, M_REQUESTS_SPLIT, 1);
	request_set_deadline(r, DEADLINE_REQUEST);
	bool ordered = call->cmd->policy == POLICY_SPLIT_VALUES;
	r->split = split_new(
		r, o->nslots, (call->n - 1) / call_step(call), ordered ? o->of_key : NULL);
	start_parts(call, r, o);
	answer_when_complete(r);
}

void split_start(struct call *call)
{
	struct worker *w = call->client->worker;
	const struct view *v = call->client->pool->view;
	size_t nkeys = (call->n - 1) / call_step(call);
	struct owners *o = owners_ready(w, nkeys, view_topology(v)->nnodes);
	if (!find_owners(call, o)) {
		struct text t;
		metric_add(w->m, M_ERRORS_UNAVAILABLE, 1);
		error_text(&t, "UNAVAILABLE no node owns this key");
		client_answer(call->client, call->cmd, t.at, t.len);
	} else if (o->nslots == 1) {
		forward_one(call, o->node[0]);
	} else {
		start_split(call, o);
	}
	owners_reset(o);
}

/* The same request to nodes first .. first + n - 1. */
static struct request *ask_nodes(
	struct call *call, uint32_t first, uint32_t n, enum deadline_class k, bool aside)
{
	struct request *r = request_new(call->client, call->cmd);
	request_set_deadline(r, k);
	r->split = split_new(r, n, 0, NULL);
	r->parts_out = n;
	for (uint32_t i = 0; i < n; i++) {
		struct upconn *conn = slot_start(r, &r->split->slots[i], first + i, aside);
		if (conn == NULL)
			continue;
		size_t size = resp_request_size(call->args, call->n);
		(void)resp_put_request(upconn_reserve(conn, size), call->args, call->n);
		upconn_commit(conn, &r->split->slots[i].part, size);
	}
	return r;
}

void split_broadcast(struct call *call, int64_t argument, void *baggage, bool aside)
{
	uint32_t n = (uint32_t)view_topology(call->client->pool->view)->nnodes;
	struct request *r = ask_nodes(call, 0, n, DEADLINE_SLOW, aside);
	r->split->argument = argument;
	r->split->baggage = baggage;
	answer_when_complete(r);
}

void split_collect(struct call *call, int64_t argument, void (*merge)(struct request *r))
{
	uint32_t n = (uint32_t)view_topology(call->client->pool->view)->nnodes;
	struct request *r = ask_nodes(call, 0, n, DEADLINE_REQUEST, false);
	r->split->argument = argument;
	r->split->merge = merge;
	answer_when_complete(r);
}

static void send_ping(struct request *r, const struct slot *slot, struct upconn *conn)
{
	static const char ping[] = "*1\r\n$4\r\nPING\r\n";
	struct request *own =
		request_new_unseen(r->pool, r->cmd, slot->part.node, DEADLINE_REQUEST);
	upconn_send(conn, &own->part, ping, sizeof(ping) - 1);
}

static bool is_among(uint64_t nodes, uint32_t node)
{
	return (nodes >> (node % 64)) & 1;
}

/* The slot of a node, and its part on its way. */
static void wait_at(
	struct call *call, struct request *r, struct slot *slot, uint32_t node, uint64_t give_up_ns)
{
	struct upconn *conn = slot_start(r, slot, node, true);
	slot->part.stuck_ns = give_up_ns;
	if (conn == NULL)
		return;
	send_ping(r, slot, conn);
	size_t size = resp_request_size(call->args, call->n);
	(void)resp_put_request(upconn_reserve(conn, size), call->args, call->n);
	upconn_commit(conn, &slot->part, size);
}

void split_wait(
	struct call *call, uint64_t nodes, uint64_t give_up_ns, void (*merge)(struct request *r))
{
	struct client *c = call->client;
	uint32_t all = (uint32_t)view_topology(c->pool->view)->nnodes, n = 0;
	for (uint32_t i = 0; i < all; i++)
		n += is_among(nodes, i);
	struct request *r = request_new(c, call->cmd);
	r->split = split_new(r, n, 0, NULL);
	r->split->merge = merge;
	r->parts_out = n;
	struct slot *slot = r->split->slots;
	for (uint32_t i = 0; i < all; i++)
		if (is_among(nodes, i))
			wait_at(call, r, slot++, i, give_up_ns);
	c->barrier = true;
	client_block(c, r);
	answer_when_complete(r);
}

void split_ask(struct call *call, uint32_t node)
{
	answer_when_complete(ask_nodes(call, node, 1, DEADLINE_REQUEST, false));
}

void split_question(struct call *call, uint32_t node, struct foreign_name *about)
{
	struct request *r = ask_nodes(call, node, 1, DEADLINE_REQUEST, false);
	r->split->question = about;
	answer_when_complete(r);
}

void split_hidden(struct call *call, uint32_t node, void *baggage, void (*merge)(struct request *r))
{
	struct request *r = ask_nodes(call, node, 1, DEADLINE_SLOW, false);
	r->split->baggage = baggage;
	r->split->hidden = true;
	r->split->merge = merge;
	answer_when_complete(r);
}

/* ---- collecting ---------------------------------------------------------------------------- */

static struct bufpool *bufs(const struct request *r)
{
	return &r->pool->worker->loop.pool;
}

static void slot_append(struct request *r, struct slot *slot, const void *bytes, size_t n)
{
	slot->reply = chunk_append(bufs(r), slot->reply, bytes, n);
	r->reply_bytes += n;
	client_account(r->client, n, r->reply_bytes);
}

static void slot_forget(struct request *r, struct slot *slot)
{
	if (slot->reply == NULL)
		return;
	r->client->held -= chunk_len(slot->reply);
	chunk_give(bufs(r), slot->reply);
	slot->reply = NULL;
}

/* An error stands for the reply. */
static void slot_error(struct request *r, struct slot *slot, const struct text *t)
{
	slot_forget(r, slot);
	slot_append(r, slot, t->at, t->len);
	slot->failed = true;
	slot->part.flags |= PART_DONE;
	r->split->open--;
}

static void slot_fail(struct request *r, struct slot *slot, enum up_why why)
{
	struct text t;
	error_unavailable(&t, r, &slot->part, why);
	slot_error(r, slot, &t);
}

/* A reply is merged when it lies whole in one chunk, and in the memory that there is. */
static bool slot_has_room(const struct request *r, const struct slot *slot, size_t n)
{
	size_t len = slot->reply != NULL ? chunk_len(slot->reply) : 0;
	uint64_t memory = r->pool->worker->opts.limits->memory;
	return fits(len, n, memory < CHUNK_MAX ? (size_t)memory : CHUNK_MAX);
}

static void slot_overflow(struct request *r, struct slot *slot)
{
	struct text t;
	metric_add(r->pool->worker->m, M_ERRORS_OVERLOADED, 1);
	error_text(&t, "OVERLOADED node '%s': reply too large to be merged",
		view_node_name(r->view, slot->part.node));
	slot_error(r, slot, &t);
}

static void answer_when_complete(struct request *r)
{
	if (r->split->open == 0 && r->state == REQ_WAITING)
		request_answered(r);
}

void split_reply(struct request *r, struct part *p, const uint8_t *bytes, size_t n, bool complete,
	bool is_error)
{
	struct slot *slot = CONTAINER_OF(p, struct slot, part);
	if (UNLIKELY(!slot_has_room(r, slot, n))) {
		p->flags |= PART_DROPPED; /* the rest, if there is more */
		slot_overflow(r, slot);
	} else {
		slot_append(r, slot, bytes, n);
		if (!complete)
			return;
		slot->failed = is_error;
		p->flags |= PART_DONE;
		r->split->open--;
	}
	answer_when_complete(r);
	if (complete)
		request_part_left(r);
}

void split_failed(struct request *r, struct part *p, enum up_why why)
{
	slot_fail(r, CONTAINER_OF(p, struct slot, part), why);
	answer_when_complete(r);
	request_part_left(r);
}

void split_expire(struct request *r)
{
	struct split *s = r->split;
	for (uint32_t i = 0; i < s->nslots; i++) {
		struct slot *slot = &s->slots[i];
		if (slot->part.flags & PART_DONE)
			continue;
		node_metric_add(r->view->up[slot->part.node]->m, NM_TIMEOUTS, 1);
		slot->part.flags |= PART_DROPPED | PART_SENT;
		slot_fail(r, slot, UP_WHY_TIMEOUT);
	}
	answer_when_complete(r);
}

size_t split_held(const struct split *s)
{
	size_t n = 0;
	for (uint32_t i = 0; i < s->nslots; i++)
		n += s->slots[i].reply != NULL ? chunk_len(s->slots[i].reply) : 0;
	return n;
}

/* ---- merging ------------------------------------------------------------------------------- */

const struct slot *split_first_error(const struct request *r)
{
	const struct slot *first = NULL;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		if (!s->failed)
			continue;
		if (first == NULL || strcmp(view_node_name(r->view, s->part.node),
					     view_node_name(r->view, first->part.node)) < 0)
			first = s;
	}
	return first;
}

static void merge_nonsense(struct request *r)
{
	struct text t;
	error_text(&t, "ERR a node's answer to '%s' made no sense", r->cmd->name);
	request_reply_bytes(r, (const uint8_t *)t.at, t.len);
}

static void merge_sum(struct request *r)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		struct chunk *k = r->split->slots[i].reply;
		struct resp_head head;
		if (!resp_elem_head(chunk_bytes(k), chunk_len(k), &head) || head.type != ':' ||
			__builtin_add_overflow(sum, head.number, &sum)) {
			merge_nonsense(r);
			return;
		}
	}
	uint8_t buf[RESP_HEAD_SIZE];
	uint8_t *end = resp_put_head(buf, ':', sum);
	request_reply_bytes(r, buf, (size_t)(end - buf));
}

/* Skips each part's array head.  False: not an array of as many elements as the node was asked for.
 */
static bool open_arrays(struct request *r)
{
	struct split *s = r->split;
	for (uint32_t i = 0; i < s->nslots; i++) {
		struct chunk *k = s->slots[i].reply;
		struct resp_head head;
		if (!resp_elem_head(chunk_bytes(k), chunk_len(k), &head))
			return false;
		if (head.type != '*' || head.number != (int64_t)s->slots[i].keys)
			return false;
		r->client->held -= head.size;
		k->start += (uint32_t)head.size;
	}
	return true;
}

/* Replies that fit into one piece of the client's output: room is made once. */
#define MERGE_AT_ONCE (16u * 1024)

/* The next element of the part that key i went to. */
static struct span take_element(struct split *s, uint32_t i)
{
	struct chunk *k = s->slots[s->order[i]].reply;
	size_t n = 0;
	/* open_arrays() has counted them, and the scanner has seen each of them whole */
	CHECK(resp_elem_next(chunk_bytes(k), chunk_len(k), &n));
	struct span e = span_of(chunk_bytes(k), n);
	k->start += (uint32_t)n;
	return e;
}

static void merge_at_once(struct request *r, size_t total)
{
	struct client *c = r->client;
	uint8_t *at = sendq_reserve(bufs(r), &c->out, total);
	for (uint32_t i = 0; i < r->split->nkeys; i++) {
		struct span e = take_element(r->split, i);
		memcpy(at, e.ptr, e.len);
		at += e.len;
	}
	sendq_commit(&c->out, total);
	c->held -= total;
}

static void merge_one_by_one(struct request *r)
{
	for (uint32_t i = 0; i < r->split->nkeys; i++) {
		struct span e = take_element(r->split, i);
		r->client->held -= e.len; /* first: it must not count twice */
		client_write(r->client, e.ptr, e.len);
	}
}

static void merge_values(struct request *r)
{
	if (!open_arrays(r)) {
		merge_nonsense(r);
		return;
	}
	uint8_t buf[RESP_HEAD_SIZE];
	uint8_t *end = resp_put_head(buf, '*', r->split->nkeys);
	request_reply_bytes(r, buf, (size_t)(end - buf)); /* the client will be flushed */
	size_t total = split_held(r->split);
	if (total <= MERGE_AT_ONCE && r->client->doom == NULL)
		merge_at_once(r, total);
	else
		merge_one_by_one(r);
}

void split_merge(struct request *r)
{
	bool lenient = r->cmd->policy == POLICY_ALL && gather_tolerates(r->cmd);
	const struct slot *error = lenient ? NULL : split_first_error(r);
	if (r->split->question != NULL)
		foreign_learn(r, chunk_bytes(r->split->slots[0].reply),
			chunk_len(r->split->slots[0].reply), error != NULL);
	else if (UNLIKELY(r->silent) && !r->split->hidden)
		(void)0; /* nobody wants it */
	else if (r->split->merge != NULL)
		r->split->merge(r);
	else if (error != NULL)
		request_reply_bytes(r, chunk_bytes(error->reply), chunk_len(error->reply));
	else if (r->cmd->policy == POLICY_ALL)
		gather_merge(r);
	else if (r->cmd->policy == POLICY_SCAN)
		scan_merge(r);
	else if (r->cmd->policy == POLICY_SPLIT_VALUES)
		merge_values(r);
	else if (r->cmd->policy == POLICY_SPLIT_SUM)
		merge_sum(r);
	else
		request_reply_bytes(r, chunk_bytes(r->split->slots[0].reply),
			chunk_len(r->split->slots[0].reply));
	r->client->held -= split_held(r->split);
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		chunk_give(bufs(r), r->split->slots[i].reply);
		r->split->slots[i].reply = NULL;
	}
}

void split_free(struct bufpool *pool, struct split *s)
{
	for (uint32_t i = 0; i < s->nslots; i++)
		chunk_give(pool, s->slots[i].reply);
	if (s->question != NULL)
		foreign_asked(s->question);
	free(s->baggage);
	chunk_give(pool, s->self);
}
