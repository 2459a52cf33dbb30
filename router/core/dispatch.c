/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/dispatch.h"

#include <ctype.h>
#include <string.h>

#include "base/check.h"
#include "router/core/block.h"
#include "router/core/errors.h"
#include "router/core/foreign.h"
#include "router/core/gate.h"
#include "router/core/gather.h"
#include "router/core/scan.h"
#include "router/core/script.h"
#include "router/core/split.h"
#include "router/core/tx.h"
#include "router/core/wait.h"
#include "router/core/worker.h"
#include "router/wire/resp_write.h"

static void answer_text(struct call *call, const struct text *t)
{
	client_answer(call->client, call->cmd, t->at, t->len);
}

static void refuse(struct call *call, const struct text *t)
{
	metric_add(call->client->worker->m, M_ERRORS_CLIENT, 1);
	client_reject(call->client, call->cmd, t->at, t->len);
}

void dispatch_answer_crossslot(struct call *call)
{
	metric_add(call->client->worker->m, M_ERRORS_CROSSSLOT, 1);
	client_answer(call->client, call->cmd, error_crossslot.ptr, error_crossslot.len);
}

static void not_served(struct call *call)
{
	struct text t;
	error_not_served(&t, call->cmd);
	refuse(call, &t);
}

/* ---- one node ------------------------------------------------------------------------------ */

/* The request's bytes into the connection: as they came, by handing the chunk over, or written
 * anew. */
static inline void send_call(struct call *call, struct upconn *conn, struct part *p)
{
	if (UNLIKELY(!call->verbatim)) {
		size_t n = resp_request_size(call->args, call->n);
		(void)resp_put_request(upconn_reserve(conn, n), call->args, call->n);
		upconn_commit(conn, p, n);
	} else if (UNLIKELY(call->chunk != NULL && *call->chunk != NULL)) {
		upconn_send_chunk(conn, p, *call->chunk);
		*call->chunk = NULL;
	} else {
		upconn_send(conn, p, call->bytes, call->len);
	}
}

void dispatch_send(struct call *call, struct upconn *conn, struct part *p)
{
	send_call(call, conn, p);
}

/* A request of one part; its bytes are sent by `send`.  Inlined where that is known. */
static inline void forward(struct call *call, uint32_t node, enum deadline_class k,
	void (*send)(struct call *, struct upconn *, struct part *))
{
	struct client *c = call->client;
	struct request *r = request_new(c, call->cmd);
	enum up_why why = UP_WHY_NONE;
	struct upconn *conn = upstream_conn(r->view->up[node], c->class_id, &why);
	request_set_deadline(r, k);
	request_part_init(r, &r->part, node);
	wait_note(c, call->cmd, node);
	r->parts_out = 1;
	if (UNLIKELY(conn == NULL)) {
		request_upstream_ops.failed(&r->part, why);
		return;
	}
	send(call, conn, &r->part);
}

void forward_one(struct call *call, uint32_t node)
{
	forward(call, node, DEADLINE_REQUEST, send_call);
}

void forward_slow(struct call *call, uint32_t node,
	void (*send)(struct call *, struct upconn *, struct part *))
{
	if (gate_may_write(call->cmd)) /* a script says nothing of what it does */
		wait_mark(call->client, node);
	forward(call, node, DEADLINE_SLOW, send);
}

/* ---- owners -------------------------------------------------------------------------------- */

static struct span tag_of(const struct topology *t, struct span key)
{
	return ring_key_tag(key, t->hash_tag);
}

/* Keys of different tags that happen to have one owner: it works today and may not after a change.
 */
static void note_untagged(struct call *call)
{
	struct worker *w = call->client->worker;
	metric_add(w->m, M_UNTAGGED_MULTIKEY, 1);
	if (w->untagged_logged[call->cmd->id])
		return;
	w->untagged_logged[call->cmd->id] = true;
	log_warn("route",
		"a multi-key command without a common hash tag happened to have one owner",
		"command=%s", call->cmd->name);
}

static bool same_tags(const struct topology *t, const struct call *call, const struct cmd_keys *k)
{
	struct span first = tag_of(t, call->args[k->at[0]]);
	for (uint32_t i = 1; i < k->n; i++)
		if (!span_eq(first, tag_of(t, call->args[k->at[i]])))
			return false;
	return true;
}

static void answer_untagged(struct call *call)
{
	struct text t;
	error_text(&t, "CROSSSLOT Keys in request have no common hash tag");
	metric_add(call->client->worker->m, M_ERRORS_CROSSSLOT, 1);
	answer_text(call, &t);
}

static void answer_no_owner(struct call *call)
{
	struct text t;
	metric_add(call->client->worker->m, M_ERRORS_UNAVAILABLE, 1);
	error_text(&t, "UNAVAILABLE no node owns this key");
	answer_text(call, &t);
}

uint32_t dispatch_owner_of_keys(struct call *call)
{
	const struct worker_pool *p = call->client->pool;
	const struct cmd_keys *k = &call->client->worker->keys;
	const struct topology *t = view_topology(p->view);
	uint32_t owner = topology_owner(t, call->args[k->at[0]]);
	for (uint32_t i = 1; i < k->n; i++) {
		if (topology_owner(t, call->args[k->at[i]]) != owner) {
			dispatch_answer_crossslot(call);
			return RING_NONE;
		}
	}
	if (owner == RING_NONE) {
		answer_no_owner(call);
	} else if (k->n > 1 && !same_tags(t, call, k)) {
		if (p->opts->tagged_multikey) {
			answer_untagged(call);
			return RING_NONE;
		}
		note_untagged(call);
	}
	return owner;
}

/* ---- policies ------------------------------------------------------------------------------ */

static void run_one_key(struct call *call)
{
	const struct topology *t = view_topology(call->client->pool->view);
	uint32_t owner = topology_owner(t, call->args[call->cmd->first_key]);
	if (UNLIKELY(owner == RING_NONE))
		answer_no_owner(call);
	else
		forward_one(call, owner);
}

/* Pairs that do not pair up: Redis says so before it looks at anything else, but when they are run. */
static bool odd_pairs(const struct call *call)
{
	return (call->cmd->id == CMD_ID_MSET || call->cmd->id == CMD_ID_MSETNX) &&
	       call->n % 2 == 0 && tx_queued(call->client) < 0;
}

uint32_t dispatch_any_node(struct call *call)
{
	uint32_t any = topology_owner(view_topology(call->client->pool->view), call->args[0]);
	if (any == RING_NONE)
		answer_no_owner(call);
	return any;
}

static void run_any(struct call *call)
{
	uint32_t any = dispatch_any_node(call);
	if (any != RING_NONE)
		forward_one(call, any);
}

static void run_some_keys(struct call *call)
{
	struct cmd_keys *k = &call->client->worker->keys;
	enum cmd_keys_result found = cmd_get_keys(call->cmd, call->args, call->n, k);
	if (found == CMD_KEYS_BAD) {
		run_any(call); /* the arguments make no sense: any node says in which way */
		return;
	}
	if (k->n == 0) {
		not_served(call);
		return;
	}
	uint32_t owner = dispatch_owner_of_keys(call);
	if (owner == RING_NONE)
		return;
	if (block_asked(call))
		block_start(call, owner);
	else
		forward_one(call, owner);
}

static void run_one(struct call *call)
{
	if (cmd_one_key(call->cmd))
		run_one_key(call);
	else
		run_some_keys(call);
}

/* Not served yet, but keys of several owners are told first. */
static void run_later(struct call *call)
{
	struct cmd_keys *k = &call->client->worker->keys;
	if (cmd_get_keys(call->cmd, call->args, call->n, k) == CMD_KEYS_OK && k->n > 0 &&
		dispatch_owner_of_keys(call) == RING_NONE)
		return;
	not_served(call);
}

/* What blocks needs a connection of its own; WAIT several. */
static void run_private(struct call *call)
{
	if (call->cmd->id == CMD_ID_WAIT)
		wait_start(call);
	else if (call->cmd->keys == KEYS_NONE)
		not_served(call);
	else
		run_some_keys(call);
}

static void run_refused(struct call *call)
{
	struct text t;
	/* databases of several nodes can't be swapped at one instant; those of one can */
	if (call->cmd->id == CMD_ID_SWAPDB &&
		view_topology(call->client->pool->view)->nnodes == 1) {
		forward_one(call, 0);
		return;
	}
	error_text(&t, "ERR '%s' is refused: %s", call->cmd->name,
		call->cmd->reason != NULL ? call->cmd->reason
					  : "it makes no sense through a router");
	refuse(call, &t);
}

static void (*const policy_run[CMD_POLICY_COUNT])(struct call *) = {
	[POLICY_ONE] = run_one,
	[POLICY_SPLIT_VALUES] = split_start,
	[POLICY_SPLIT_PAIRS] = split_start,
	[POLICY_SPLIT_SUM] = split_start,
	[POLICY_LOCAL] = local_run,
	[POLICY_ANY] = run_any,
	[POLICY_ALL] = gather_start,
	[POLICY_PRIVATE] = run_private,
	[POLICY_SCRIPT] = script_start,
	[POLICY_TX] = tx_start,
	[POLICY_PUBSUB] = run_later,
	[POLICY_SCAN] = scan_start,
	[POLICY_REFUSED] = run_refused,
};

/* A browser that was talked into sending a POST to us: Redis hangs up, so do we. */
static bool is_cross_protocol(const struct span *args)
{
	return span_eq_nocase(args[0], SPAN("POST")) || span_eq_nocase(args[0], SPAN("Host:"));
}

static void serve(struct call *call)
{
	void (*run)(struct call *) = policy_run[call->cmd->policy];
	if (UNLIKELY(call->client->special & SPECIAL_TX))
		tx_run(call, run);
	else
		run(call);
}

static void run_foreign(struct call *call)
{
	struct text t;
	if (UNLIKELY(call->client->special != 0) && !gate_open(call))
		return;
	if (cmd_arity_ok(call->cmd, call->n)) {
		serve(call);
		return;
	}
	error_arity(&t, call->cmd);
	refuse(call, &t);
}

/* The nodes are asked for nobody who has yet to log in. */
static enum foreign_result look_abroad(struct call *call)
{
	if (UNLIKELY(call->client->special & SPECIAL_ANONYMOUS))
		return FOREIGN_UNKNOWN;
	return foreign_find(call, &call->cmd);
}

static void unknown(struct call *call)
{
	struct text t;
	if (is_cross_protocol(call->args)) {
		log_warn("client", "possible cross-protocol attack: a client speaks HTTP",
			"id=%llu", (unsigned long long)call->client->id);
		client_doom(call->client, "speaks HTTP");
		return;
	}
	switch (look_abroad(call)) {
	case FOREIGN_KNOWN:
		run_foreign(call);
		return;
	case FOREIGN_ASKED:
		call->again = true;
		return;
	case FOREIGN_UNKNOWN:
		gate_next(call->client);
		error_unknown_command(&t, call->args, call->n);
		refuse(call, &t);
		return;
	}
	UNREACHABLE();
}

static void unknown_subcommand(struct call *call)
{
	struct text t;
	char upper[32];
	size_t n = 0;
	for (; n < call->cmd->name_len && n < sizeof(upper) - 1; n++)
		upper[n] = (char)toupper((unsigned char)call->cmd->name[n]);
	upper[n] = 0;
	call->client->last_cmd = NULL;
	error_text(&t, "ERR unknown subcommand '%.*s'. Try %s HELP.",
		(int)(call->args[1].len < 128 ? call->args[1].len : 128),
		(const char *)call->args[1].ptr, upper);
	refuse(call, &t);
}

static void wrong_arity(struct call *call)
{
	struct text t;
	error_arity(&t, call->cmd);
	if (call->cmd->id == CMD_ID_EXEC) /* which ends the transaction all the same */
		error_text(&t,
			"EXECABORT Transaction discarded because of: wrong number of arguments "
			"for 'exec' command");
	refuse(call, &t);
}

void dispatch(struct call *call)
{
	call->cmd = cmd_find(call->args, call->n);
	call->client->last_cmd = call->cmd;
	if (UNLIKELY(call->client->special != 0) && !gate_open(call))
		return;
	if (UNLIKELY(call->cmd == NULL)) {
		unknown(call);
		return;
	}
	if (UNLIKELY(call->cmd->has_subs && call->n > 1 && call->cmd->policy != POLICY_REFUSED)) {
		unknown_subcommand(call);
		return;
	}
	if (UNLIKELY(!cmd_arity_ok(call->cmd, call->n) || odd_pairs(call))) {
		wrong_arity(call);
		return;
	}
	if (UNLIKELY(call->client->pool->view == NULL)) {
		answer_no_owner(call);
		return;
	}
	serve(call);
}
