/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/tx.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/block.h"
#include "router/core/errors.h"
#include "router/core/gate.h"
#include "router/core/local.h"
#include "router/core/local_config.h"
#include "router/core/script.h"
#include "router/core/wait.h"
#include "router/core/worker.h"
#include "router/upstream/private.h"
#include "router/wire/resp_write.h"

/* Commands without a key that are kept until there is a node, and their bytes. */
#define KEPT_MAX 4096
#define KEPT_BYTES (64u << 20)

struct tx {
	struct upconn *conn; /* leased; NULL: no node is chosen, or it was lost */
	struct upstream *up; /* whose it is */
	char *node_name;     /* owned */
	struct chunk *kept;  /* owned: commands without a key, until a node is chosen */
	uint32_t *kept_len;  /* owned: of each */
	uint32_t nkept;
	uint32_t kept_cap;
	uint32_t queued;
	uint32_t database; /* that EXEC will have selected */
	bool multi;
	bool spoiled; /* EXEC answers EXECABORT */
	bool lost;    /* the connection, with all that was done on it */
	bool selects; /* `database` counts */
	bool soiled;  /* the connection is not as it was: nobody else gets it */
	bool refused; /* the last WATCH failed, and nothing is watched */
	bool gone;    /* all that is under way makes the connection clean again */
	bool slow;    /* there is a script in it */
};

static void answer(struct call *call, const char *line)
{
	client_answer(call->client, call->cmd, line, strlen(line));
}

/* Turned away before anything was done: the transaction is spoiled as well. */
static void turn_away(struct call *call, const struct text *t)
{
	metric_add(call->client->worker->m, M_ERRORS_CLIENT, 1);
	client_reject(call->client, call->cmd, t->at, t->len);
}

/* ---- life ---------------------------------------------------------------------------------- */

static struct tx *tx_of(struct client *c)
{
	if (c->tx == NULL) {
		c->tx = calloc(1, sizeof(*c->tx));
		CHECK(c->tx != NULL);
		c->special |= SPECIAL_TX;
	}
	return c->tx;
}

static void drop_kept(struct client *c)
{
	struct tx *t = c->tx;
	chunk_give(&c->worker->loop.pool, t->kept);
	free(t->kept_len);
	t->kept = NULL;
	t->kept_len = NULL;
	t->nkept = t->kept_cap = 0;
}

/* The client is outside again; what the connection is still to answer it answers on its own. */
static void leave(struct client *c)
{
	struct tx *t = c->tx;
	drop_kept(c);
	if (t->conn != NULL) {
		t->conn->soiled = t->soiled;
		if (t->gone)
			upconn_leave_clean(t->conn);
		else
			upconn_release(t->conn);
	}
	free(t->node_name);
	free(t);
	c->tx = NULL;
	c->special &= (uint8_t)~SPECIAL_TX;
}

void tx_spoil(struct client *c)
{
	if (c->tx != NULL && c->tx->multi)
		c->tx->spoiled = true;
}

void tx_lost(void *client, enum up_why why)
{
	struct client *c = client;
	(void)why;
	CHECK_KIND(c, CLIENT_MAGIC);
	c->tx->conn = NULL;
	c->tx->lost = true;
}

int tx_queued(const struct client *c)
{
	return c->tx != NULL && c->tx->multi ? (int)c->tx->queued : -1;
}

bool tx_is_spoiled(const struct client *c)
{
	return c->tx != NULL && (c->tx->spoiled || c->tx->lost || c->tx->refused);
}

/* ---- its connection ------------------------------------------------------------------------ */

/* Index of the transaction's node in the present view. */
static uint32_t node_of(const struct client *c)
{
	const struct view *v = c->pool->view;
	size_t n = view_topology(v)->nnodes;
	for (uint32_t i = 0; i < n; i++)
		if (v->up[i] == c->tx->up)
			return i;
	return RING_NONE;
}

/* A node that has left the ring takes what it has of the transaction with it. */
static void look_for_node(struct client *c)
{
	struct tx *t = c->tx;
	if (t == NULL || t->conn == NULL || node_of(c) != RING_NONE)
		return;
	upconn_discard(t->conn);
	t->conn = NULL;
	t->lost = true;
}

/* A request of our own, ahead of the client's. */
static void send_unseen(struct call *call, const struct span *args, size_t n)
{
	struct client *c = call->client;
	struct request *r = request_new_unseen(c->pool, call->cmd, node_of(c), DEADLINE_REQUEST);
	size_t size = resp_request_size(args, n);
	(void)resp_put_request(upconn_reserve(c->tx->conn, size), args, n);
	upconn_commit(c->tx->conn, &r->part, size);
}

static void send_word(struct call *call, const char *word)
{
	const struct span args[] = {span_str(word)};
	send_unseen(call, args, 1);
}

/* The client has selected another database, or another RESP version, since the connection was leased. */
static void align(struct call *call)
{
	struct client *c = call->client;
	struct upconn *conn = c->tx->conn;
	char digits[24];
	const struct span hello[] = {SPAN("HELLO"), c->resp == 3 ? SPAN("3") : SPAN("2")};
	const struct span select[] = {
		SPAN("SELECT"), span_of(digits, u64_to_dec(c->database, digits))};
	if (conn->class_id == c->class_id)
		return;
	if (conn->class_id % 2 != c->class_id % 2)
		send_unseen(call, hello, ARRAY_LEN(hello));
	if (conn->class_id / 2 != c->class_id / 2)
		send_unseen(call, select, ARRAY_LEN(select));
	upconn_change_class(conn, c->class_id);
}

static bool lease(struct client *c, uint32_t node, enum up_why *ret_why)
{
	struct tx *t = c->tx;
	t->up = c->pool->view->up[node];
	free(t->node_name);
	t->node_name = strdup(view_node_name(c->pool->view, node));
	CHECK(t->node_name != NULL);
	t->conn = upstream_lease(t->up, c->class_id, c, ret_why);
	return t->conn != NULL;
}

static struct request *request_to(struct call *call, uint32_t node, enum deadline_class k)
{
	struct request *r = request_new(call->client, call->cmd);
	request_set_deadline(r, k);
	request_part_init(r, &r->part, node);
	r->parts_out = 1;
	return r;
}

/* The client's request, which there is no connection for. */
static void fail(struct call *call, uint32_t node, enum up_why why)
{
	struct request *r = request_to(call, node, DEADLINE_REQUEST);
	request_upstream_ops.failed(&r->part, why);
}

/* The client's request to the transaction's node. */
static struct request *forward(struct call *call, enum deadline_class k)
{
	struct client *c = call->client;
	struct request *r = request_to(call, node_of(c), k);
	dispatch_send(call, c->tx->conn, &r->part);
	return r;
}

/* Bodies of scripts that kept commands will need: once MULTI is sent, they would be queued too. */
static void bring_scripts_along(struct client *c)
{
	struct tx *t = c->tx;
	if (!t->slow || t->kept == NULL)
		return;
	const uint8_t *at = chunk_bytes(t->kept);
	for (uint32_t i = 0; i < t->nkept; at += t->kept_len[i++])
		script_bring_along(c, node_of(c), t->conn, span_of(at, t->kept_len[i]));
}

/* MULTI, and what was kept until there is a node. */
static void begin_at_node(struct call *call)
{
	struct client *c = call->client;
	struct tx *t = c->tx;
	if (t->nkept > 0) /* a script without keys may write, for one */
		wait_mark(c, node_of(c));
	const uint8_t *at = t->kept != NULL ? chunk_bytes(t->kept) : NULL;
	bring_scripts_along(c);
	send_word(call, "MULTI");
	for (uint32_t i = 0; i < t->nkept; i++) {
		struct request *r =
			request_new_unseen(c->pool, call->cmd, node_of(c), DEADLINE_REQUEST);
		upconn_send(t->conn, &r->part, at, t->kept_len[i]);
		at += t->kept_len[i];
	}
	drop_kept(c);
}

/* ---- WATCH and UNWATCH --------------------------------------------------------------------- */

static void watch_at(struct call *call, uint32_t node)
{
	struct client *c = call->client;
	struct tx *t = tx_of(c);
	enum up_why why = UP_WHY_NONE;
	if (t->lost) {
		answer(call, "+OK\r\n"); /* EXEC is going to fail anyway */
		return;
	}
	if (t->conn != NULL && t->up != c->pool->view->up[node]) {
		dispatch_answer_crossslot(call);
		return;
	}
	t->refused = t->conn == NULL && !lease(c, node, &why);
	if (t->refused) { /* in a pipeline the client can't see it in time: EXEC must not go through */
		fail(call, node, why);
		return;
	}
	align(call);
	(void)forward(call, DEADLINE_REQUEST);
	c->barrier = true;
}

static void run_watch(struct call *call)
{
	struct client *c = call->client;
	if (c->tx != NULL && c->tx->multi) {
		answer(call, "-ERR WATCH inside MULTI is not allowed\r\n");
		return;
	}
	if (block_until_alone(call))
		return;
	CHECK(cmd_get_keys(call->cmd, call->args, call->n, &c->worker->keys) == CMD_KEYS_OK);
	uint32_t node = dispatch_owner_of_keys(call);
	if (node != RING_NONE)
		watch_at(call, node);
}

static void queue_command(struct call *call);

/* It ends what there is at the node. */
static void end_at_node(struct call *call)
{
	struct client *c = call->client;
	(void)forward(call, DEADLINE_REQUEST);
	leave(c);
	c->barrier = true;
}

static void run_unwatch(struct call *call)
{
	struct client *c = call->client;
	if (c->tx != NULL && c->tx->multi) {
		queue_command(call);
	} else if (c->tx != NULL && c->tx->conn != NULL) {
		end_at_node(call);
	} else {
		if (c->tx != NULL)
			leave(c);
		answer(call, "+OK\r\n");
	}
}

/* ---- MULTI and DISCARD --------------------------------------------------------------------- */

static void run_multi(struct call *call)
{
	struct client *c = call->client;
	if (c->tx != NULL && c->tx->multi) {
		answer(call, "-ERR MULTI calls can not be nested\r\n");
		return;
	}
	struct tx *t = tx_of(c);
	t->multi = true;
	if (t->conn != NULL) {
		align(call);
		(void)forward(call, DEADLINE_REQUEST);
	} else {
		answer(call, "+OK\r\n");
	}
}

static void run_discard(struct call *call)
{
	struct client *c = call->client;
	if (c->tx == NULL || !c->tx->multi) {
		answer(call, "-ERR DISCARD without MULTI\r\n");
	} else if (c->tx->conn != NULL) {
		end_at_node(call);
	} else {
		leave(c);
		answer(call, "+OK\r\n");
	}
}

/* The node forgets it too, behind what is still under way there. */
static void clean_up(struct client *c)
{
	static const struct span discard = SPAN("DISCARD"), unwatch = SPAN("UNWATCH");
	struct call call = {.client = c, .cmd = cmd_at(CMD_ID_DISCARD)};
	if (c->tx->conn != NULL)
		send_unseen(&call, c->tx->multi ? &discard : &unwatch, 1);
	leave(c);
}

void tx_forget(struct client *c)
{
	struct tx *t = c->tx;
	if (t == NULL)
		return;
	look_for_node(c);
	if (t->conn != NULL && (t->conn->state != UP_READY || t->conn->nfifo > 0)) {
		upconn_discard(t->conn); /* nobody waits for what is under way */
		t->conn = NULL;
	}
	t->gone = true;
	clean_up(c);
}

void tx_turned_away(struct client *c, const struct cmd *cmd)
{
	if (cmd != NULL && cmd->id == CMD_ID_EXEC)
		tx_abort(c);
	else
		tx_spoil(c);
}

void tx_abort(struct client *c)
{
	if (c->tx == NULL)
		return;
	look_for_node(c);
	clean_up(c);
}

/* ---- EXEC ---------------------------------------------------------------------------------- */

static void abort_it(struct call *call)
{
	struct text text;
	struct client *c = call->client;
	struct tx *t = c->tx;
	if (t->refused && !t->spoiled)
		error_text(&text, "EXECABORT Transaction discarded because WATCH failed.");
	else if (t->lost && !t->spoiled)
		error_text(&text,
			"EXECABORT Transaction discarded because of node '%s': connection lost",
			t->node_name);
	else
		error_text(&text, "EXECABORT Transaction discarded because of previous errors.");
	clean_up(c);
	client_answer(c, call->cmd, text.at, text.len);
}

/*
 * In a pipeline a node writes what it answered to the commands inside only when EXEC is done, so they,
 * and what was sent ahead of them, get as long as EXEC.
 */
static void wait_as_long(struct client *c, const struct request *exec)
{
	struct request *r;
	struct part *p;
	STAILQ_FOREACH (p, &c->tx->conn->fifo, link)
		p->stuck_ns = exec->part.stuck_ns;
	STAILQ_FOREACH (r, &c->queue, order)
		if (r->part.conn == c->tx->conn && r != exec && r->state == REQ_WAITING)
			request_extend(r, exec);
}

static void exec_at_node(struct call *call)
{
	struct client *c = call->client;
	struct tx *t = c->tx;
	struct request *r = forward(call, t->slow ? DEADLINE_SLOW : DEADLINE_REQUEST);
	wait_as_long(c, r);
	if (t->selects) {
		c->attended = r;
		c->then_database = t->database;
	}
	leave(c);
	c->barrier = true;
}

/* Wholly without keys: any node, but not the same one for everybody. */
static void exec_anywhere(struct call *call)
{
	struct client *c = call->client;
	char digits[24];
	enum up_why why = UP_WHY_NONE;
	struct span some = span_of(digits, u64_to_dec(c->id, digits));
	if (block_until_alone(call))
		return;
	uint32_t node = topology_owner(view_topology(c->pool->view), some);
	if (node == RING_NONE) {
		tx_spoil(c);
		abort_it(call);
	} else if (lease(c, node, &why)) {
		begin_at_node(call);
		exec_at_node(call);
	} else {
		leave(c);
		fail(call, node, why);
	}
}

static void run_exec(struct call *call)
{
	struct tx *t = call->client->tx;
	if (t == NULL || !t->multi) {
		answer(call, "-ERR EXEC without MULTI\r\n");
	} else if (t->spoiled || t->lost || t->refused) {
		abort_it(call);
	} else if (t->conn != NULL) {
		exec_at_node(call);
	} else if (t->nkept > 0) {
		exec_anywhere(call);
	} else {
		leave(call->client);
		answer(call, "*0\r\n");
	}
}

void tx_executed(struct request *r)
{
	struct client *c = r->client;
	/* more than a nil: it was carried out, and its last SELECT counts */
	if (!(r->part.flags & PART_ERROR) && r->reply_bytes > 5)
		local_change_class(c, c->then_database, c->resp);
}

void tx_start(struct call *call)
{
	look_for_node(call->client);
	switch (call->cmd->id) {
	case CMD_ID_WATCH:
		run_watch(call);
		return;
	case CMD_ID_UNWATCH:
		run_unwatch(call);
		return;
	case CMD_ID_MULTI:
		run_multi(call);
		return;
	case CMD_ID_DISCARD:
		run_discard(call);
		return;
	default:
		CHECK(call->cmd->id == CMD_ID_EXEC);
		run_exec(call);
	}
}

/* ---- commands inside ----------------------------------------------------------------------- */

/* What would change the node's connection, or the node, in ways that the router answers for. */
static bool has_no_place(const struct cmd *cmd, struct text *ret)
{
	if (cmd->flags & CMD_NO_MULTI) {
		error_text(ret, "ERR Command not allowed inside a transaction");
		return true;
	}
	if (cmd->policy == POLICY_ALL || cmd->policy == POLICY_SCAN) {
		error_text(ret, "ERR '%s' is about every node, a transaction about one", cmd->name);
		return true;
	}
	bool own = cmd->id == CMD_ID_HELLO || cmd->id == CMD_ID_AUTH ||
		   cmd->parent == CMD_ID_CLIENT || cmd->parent == CMD_ID_RINGWAY ||
		   (cmd->policy == POLICY_LOCAL && (cmd->flags & CMD_ADMIN) &&
			   cmd->id != CMD_ID_CONFIG_GET);
	if (own)
		error_text(ret, "ERR '%s' is not served inside a transaction", cmd->name);
	return own;
}

static void note(struct call *call)
{
	struct tx *t = call->client->tx;
	int64_t n = 0;
	t->queued++;
	if (t->up != NULL && gate_may_write(call->cmd))
		wait_mark(call->client, node_of(call->client));
	if (call->cmd->policy == POLICY_SCRIPT)
		t->slow = true;
	if (call->cmd->id != CMD_ID_SELECT)
		return;
	t->soiled = true;
	if (span_to_i64(call->args[1], &n) && n >= 0 && n < local_databases(call->client->pool)) {
		t->selects = true;
		t->database = (uint32_t)n;
	}
}

static size_t kept_bytes_max(const struct client *c)
{
	uint64_t limit = c->worker->opts.limits->request_size;
	return limit < KEPT_BYTES ? (size_t)limit : KEPT_BYTES;
}

/* Without a key, before there is a node. */
static void keep(struct call *call)
{
	struct client *c = call->client;
	struct tx *t = c->tx;
	size_t n = resp_request_size(call->args, call->n);
	size_t held = t->kept != NULL ? chunk_len(t->kept) : 0;
	if (t->nkept == KEPT_MAX || held + n > kept_bytes_max(c)) {
		struct text text;
		error_text(&text, "OVERLOADED too much in the transaction before its first key");
		turn_away(call, &text);
		return;
	}
	if (t->nkept == t->kept_cap) {
		t->kept_cap = t->kept_cap > 0 ? 2 * t->kept_cap : 8;
		t->kept_len = reallocarray(t->kept_len, t->kept_cap, sizeof(*t->kept_len));
		CHECK(t->kept_len != NULL);
	}
	t->kept = chunk_grow(&c->worker->loop.pool, t->kept, n);
	(void)resp_put_request(t->kept->data + t->kept->end, call->args, call->n);
	t->kept->end += (uint32_t)n;
	t->kept_len[t->nkept++] = (uint32_t)n;
	note(call);
	answer(call, "+QUEUED\r\n");
}

/* Its keys are the transaction's first: that chooses the node. False: not now, or not at all. */
static bool choose_node(struct call *call, uint32_t node)
{
	struct client *c = call->client;
	enum up_why why = UP_WHY_NONE;
	if (block_until_alone(call))
		return false;
	if (!lease(c, node, &why)) {
		tx_spoil(c);
		fail(call, node, why);
		return false;
	}
	begin_at_node(call);
	return true;
}

static void queue_at(struct call *call, uint32_t node)
{
	struct client *c = call->client;
	struct tx *t = c->tx;
	if (t->conn != NULL && t->up != c->pool->view->up[node]) {
		tx_spoil(c);
		dispatch_answer_crossslot(call);
		return;
	}
	if (call->cmd->policy == POLICY_SCRIPT && script_ahead(call, node))
		return;
	if (t->conn == NULL && !choose_node(call, node))
		return;
	note(call);
	(void)forward(call, t->slow ? DEADLINE_SLOW : DEADLINE_REQUEST);
}

/* The node of its keys; RING_NONE: it has none, or it was answered (then *ret_done). */
static uint32_t find_node(struct call *call, bool *ret_done)
{
	struct client *c = call->client;
	struct cmd_keys *k = &c->worker->keys;
	*ret_done = false;
	if (cmd_get_keys(call->cmd, call->args, call->n, k) == CMD_KEYS_BAD || k->n == 0)
		return RING_NONE;
	uint32_t node = dispatch_owner_of_keys(call);
	if (node == RING_NONE) {
		tx_spoil(c);
		*ret_done = true;
	}
	return node;
}

static void queue_command(struct call *call)
{
	struct client *c = call->client;
	struct tx *t = c->tx;
	bool done;
	uint32_t node = find_node(call, &done);
	if (done)
		return;
	script_note(call);
	if (t->spoiled || t->lost || t->refused) {
		t->queued++;
		answer(call, "+QUEUED\r\n");
	} else if (node != RING_NONE) {
		queue_at(call, node);
	} else if (t->conn == NULL) {
		keep(call);
	} else {
		queue_at(call, node_of(c));
	}
}

static bool goes_its_own_way(const struct cmd *cmd)
{
	return cmd->policy == POLICY_TX || cmd->policy == POLICY_REFUSED ||
	       (cmd->policy == POLICY_PUBSUB && cmd->id != CMD_ID_PUBLISH) ||
	       cmd->id == CMD_ID_QUIT;
}

void tx_run(struct call *call, void (*run)(struct call *))
{
	struct client *c = call->client;
	struct text t;
	look_for_node(c);
	if (call->cmd->id == CMD_ID_RESET && block_until_alone(call))
		return;
	if (goes_its_own_way(call->cmd) || call->cmd->id == CMD_ID_RESET) {
		run(call);
	} else if (!c->tx->multi) {
		run(call);
		c->barrier = true;
	} else if (has_no_place(call->cmd, &t)) {
		turn_away(call, &t);
	} else {
		queue_command(call);
	}
}
