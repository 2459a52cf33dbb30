/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/sha1.h"
#include "router/core/dispatch.h"
#include "router/core/script_store.h"
#include "router/core/split.h"
#include "router/core/worker.h"
#include "router/wire/resp_write.h"

/* Seconds, to note when something was used.  Never 0. */
static uint32_t now_s(struct worker *w)
{
	return (uint32_t)(loop_now(&w->loop) / NS_PER_S) + 1;
}

static bool is_evalsha(const struct cmd *cmd)
{
	return cmd->id == CMD_ID_EVALSHA || cmd->id == CMD_ID_EVALSHA_RO;
}

/* ---- what this worker has put into the store ------------------------------------------------ */

/*
 * SHA1 takes long, XXH3 does not: a body that went by lately is known by the latter.  Somebody who makes two bodies that
 * agree in it keeps the second of them out of the store, and has to send it with EVAL.
 */
struct memo {
	uint64_t hash;
	uint64_t generation; /* of the store; 0: free */
	size_t len;
	uint32_t pool;
	uint32_t told_s; /* the store was told that it is in use */
	uint8_t sha[SHA1_SIZE];
};

#define MEMO_SETS 256
#define MEMO_WAYS 4

struct script_memo {
	struct memo v[MEMO_SETS][MEMO_WAYS];
};

void script_memo_free(struct script_memo *m)
{
	free(m);
}

static bool memo_is(const struct memo *m, const struct memo *like)
{
	return m->hash == like->hash && m->generation == like->generation && m->len == like->len &&
	       m->pool == like->pool;
}

/* The entry of such a body, or the one that is to become it: the one of its set that was used longest ago. */
static struct memo *memo_find(struct worker *w, const struct memo *like)
{
	if (w->scripts == NULL) {
		w->scripts = calloc(1, sizeof(*w->scripts));
		CHECK(w->scripts != NULL);
	}
	struct memo *set = w->scripts->v[like->hash % MEMO_SETS];
	struct memo *oldest = &set[0];
	for (unsigned i = 0; i < MEMO_WAYS; i++) {
		if (memo_is(&set[i], like))
			return &set[i];
		if (set[i].told_s < oldest->told_s)
			oldest = &set[i];
	}
	return oldest;
}

/* Which argument is the body of a script; 0: none. */
static size_t body_at(const struct cmd *cmd)
{
	if (cmd->id == CMD_ID_SCRIPT_LOAD)
		return 2;
	return cmd->id == CMD_ID_EVAL || cmd->id == CMD_ID_EVAL_RO ? 1 : 0;
}

void script_note(struct call *call)
{
	struct worker *w = call->client->worker;
	struct script_store *store = w->opts.scripts;
	size_t at = body_at(call->cmd);
	struct span body = call->args[at];
	if (at == 0 || store == NULL || !script_store_takes(store, body.len))
		return;
	struct memo fresh = {
		.hash = ring_hash(body.ptr, body.len),
		.generation = script_store_generation(store), /* as of before it is put */
		.len = body.len,
		.pool = call->client->pool->index,
		.told_s = now_s(w),
	};
	struct memo *m = memo_find(w, &fresh);
	bool known = memo_is(m, &fresh);
	if (known && m->told_s == fresh.told_s)
		return;
	if (!known) {
		sha1(body.ptr, body.len, fresh.sha);
		*m = fresh;
	}
	m->told_s = fresh.told_s;
	metric_add(w->m, M_SCRIPTS_DROPPED, script_store_put(store, m->pool, m->sha, body));
}

/* ---- EVALSHA ------------------------------------------------------------------------------- */

/* The script is in use: the store hears of it once a second. */
static void note_use(struct client *c, struct script_sight *seen)
{
	uint32_t now = now_s(c->worker);
	if (seen->told_s == now)
		return;
	seen->told_s = now;
	(void)script_store_touch(c->worker->opts.scripts, c->pool->index, seen->sha);
}

/* Right before what follows on this connection; nobody sees the answer. */
static void send_load(
	struct client *c, uint32_t node, struct upconn *conn, const struct script_body *b)
{
	const struct span args[] = {SPAN("SCRIPT"), SPAN("LOAD"), span_of(b->bytes, b->len)};
	struct request *r =
		request_new_unseen(c->pool, cmd_at(CMD_ID_SCRIPT_LOAD), node, DEADLINE_SLOW);
	size_t n = resp_request_size(args, ARRAY_LEN(args));
	(void)resp_put_request(upconn_reserve(conn, n), args, ARRAY_LEN(args));
	upconn_commit(conn, &r->part, n);
	metric_add(c->worker->m, M_SCRIPTS_LOADED, 1);
}

/* True: the script will be there when the node comes to the part. */
static bool provide(struct client *c, struct upconn *conn, const struct part *p, const uint8_t *sha)
{
	struct script_store *store = c->worker->opts.scripts;
	if (store == NULL)
		return false;
	uint64_t generation = script_store_generation(store);
	struct script_sight *seen = script_seen_find(&conn->scripts, generation, sha);
	/* what waits for a leaving connection's end goes to another server */
	if (seen != NULL && !conn->leaving) {
		note_use(c, seen);
		return true;
	}
	struct script_body *b = script_store_get(store, c->pool->index, sha);
	if (b == NULL)
		return false;
	send_load(c, p->node, conn, b);
	if (seen == NULL && !conn->leaving)
		script_seen_add(&conn->scripts, generation, sha, now_s(c->worker));
	script_body_unref(b);
	return true;
}

static void send_evalsha(struct call *call, struct upconn *conn, struct part *p)
{
	uint8_t sha[SHA1_SIZE];
	if (sha1_of_hex(call->args[1], sha) && provide(call->client, conn, p, sha)) {
		memcpy(p->req->script, sha, SHA1_SIZE);
		p->flags |= PART_ONCE;
	}
	dispatch_send(call, conn, p);
}

/* Answers that say that the script is not there, or that SCRIPT LOAD may have got too. */
static bool never_ran(struct span error)
{
	static const char *const codes[] = {"-NOSCRIPT ", "-BUSY ", "-LOADING ", "-NOPERM "};
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (span_begins(error, span_str(codes[i])))
			return true;
	return false;
}

void script_failed(struct request *r, const uint8_t *error, size_t n)
{
	struct upstream *up = r->view->up[r->part.node];
	uint16_t class_id = r->client->class_id;
	if (!never_ran(span_of(error, n)))
		return;
	script_seen_forget(&up->scripts, r->script);
	if (class_id < up->nshared && up->shared[class_id] != NULL)
		script_seen_forget(&up->shared[class_id]->scripts, r->script);
}

/* ---- inside MULTI -------------------------------------------------------------------------- */

/* What is remembered while a script is being loaded ahead of a transaction's EVALSHA. */
struct errand_of_load {
	uint8_t sha[SHA1_SIZE];
	uint64_t generation;
	uint32_t closings;
};

/* The node has answered, or never will: the client's request may go on, whatever the answer. */
static void loaded(struct request *r)
{
	const struct slot *slot = &r->split->slots[0];
	const struct errand_of_load *e = r->split->baggage;
	struct upstream *up = r->view->up[slot->part.node];
	const struct script_store *store = r->pool->worker->opts.scripts;
	r->client->script_asked = true;
	if (slot->failed || e->closings != up->closings ||
		e->generation != script_store_generation(store) ||
		script_seen_find(&up->scripts, e->generation, e->sha) != NULL)
		return;
	script_seen_add(&up->scripts, e->generation, e->sha, now_s(r->pool->worker));
}

static void load_ahead(
	struct call *call, uint32_t node, const uint8_t *sha, const struct script_body *b)
{
	const struct span args[] = {SPAN("SCRIPT"), SPAN("LOAD"), span_of(b->bytes, b->len)};
	struct client *c = call->client;
	struct errand_of_load *e = calloc(1, sizeof(*e));
	CHECK(e != NULL);
	memcpy(e->sha, sha, SHA1_SIZE);
	e->generation = script_store_generation(c->worker->opts.scripts);
	e->closings = c->pool->view->up[node]->closings;
	struct call mine = *call;
	mine.cmd = cmd_at(CMD_ID_SCRIPT_LOAD);
	mine.args = args;
	mine.n = ARRAY_LEN(args);
	call->again = true;
	c->barrier = true;
	metric_add(c->worker->m, M_SCRIPTS_LOADED, 1);
	split_hidden(&mine, node, e, loaded);
}

bool script_ahead(struct call *call, uint32_t node)
{
	struct client *c = call->client;
	struct script_store *store = c->worker->opts.scripts;
	uint8_t sha[SHA1_SIZE];
	bool asked = c->script_asked;
	c->script_asked = false;
	if (asked || !is_evalsha(call->cmd) || store == NULL || !sha1_of_hex(call->args[1], sha))
		return false;
	struct script_sight *seen = script_seen_find(
		&c->pool->view->up[node]->scripts, script_store_generation(store), sha);
	if (seen != NULL) {
		note_use(c, seen);
		return false;
	}
	struct script_body *b = script_store_get(store, c->pool->index, sha);
	if (b == NULL)
		return false;
	load_ahead(call, node, sha, b);
	script_body_unref(b);
	return true;
}

static void bring_script(struct client *c, uint32_t node, struct upconn *conn, struct span hex)
{
	struct script_store *store = c->worker->opts.scripts;
	uint8_t sha[SHA1_SIZE];
	if (store == NULL || !sha1_of_hex(hex, sha))
		return;
	struct script_body *b = script_store_get(store, c->pool->index, sha);
	if (b != NULL)
		send_load(c, node, conn, b);
	script_body_unref(b);
}

void script_bring_along(struct client *c, uint32_t node, struct upconn *conn, struct span request)
{
	struct resp_args args; /* the worker's are in use */
	resp_args_init(&args);
	resp_request_split(request.ptr, request.len, &args);
	const struct cmd *cmd = cmd_find(args.v, args.n);
	if (cmd != NULL && is_evalsha(cmd))
		bring_script(c, node, conn, args.v[1]);
	resp_args_fini(&args);
}

/* ---- routing ------------------------------------------------------------------------------- */

void script_start(struct call *call)
{
	struct cmd_keys *k = &call->client->worker->keys;
	/* of arguments that make no sense any node says in which way */
	bool keyed = cmd_get_keys(call->cmd, call->args, call->n, k) == CMD_KEYS_OK && k->n > 0;
	uint32_t node = keyed ? dispatch_owner_of_keys(call) : dispatch_any_node(call);
	if (node == RING_NONE)
		return;
	script_note(call);
	forward_slow(call, node, is_evalsha(call->cmd) ? send_evalsha : dispatch_send);
}
