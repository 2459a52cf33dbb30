/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * CLIENT UNBLOCK.  It is the node that lets go of the client: only it can say so without an element being lost that
 * was popped at that moment.  So the node is told, over the connection that all requests share, to unblock what it
 * knows as the client: our private connection there.  What blocks may still be on its way to the node
 * when that comes over the other connection; so it is said again, a few ms later, until the client is
 * answered.
 */

#include <stdlib.h>

#include "router/core/answer.h"
#include "router/core/block.h"
#include "router/core/errand.h"
#include "router/core/local.h"
#include "router/core/split.h"
#include "router/core/worker.h"
#include "router/upstream/private.h"
#include "router/wire/resp_write.h"

struct unblock_errand {
	struct errand e;
	uint64_t id;
	bool with_error;
	int64_t unblocked;
};

static struct client *find_blocked(const struct worker_pool *p, uint64_t id)
{
	struct client *c;
	TAILQ_FOREACH (c, &p->worker->clients, all)
		if (c->id == id && c->pool == p)
			return c->is_blocked ? c : NULL;
	return NULL;
}

/*
 * CLIENT UNBLOCK, as the node understands it.  The connection is not for anybody else afterwards: the
 * word may come when its client has long had an answer.
 */
static void tell_node(struct worker_pool *p, const struct part *blocked, bool with_error)
{
	static const struct cmd unblock = {.name = "client|unblock",
		.name_len = 14,
		.id = CMD_ID_CLIENT_UNBLOCK,
		.parent = CMD_ID_CLIENT,
		.family = FAMILY_CONNECTION};
	char digits[24];
	const struct request *r = blocked->req;
	struct upstream *up = r->view->up[blocked->node];
	enum up_why why = UP_WHY_NONE;
	if (blocked->conn == NULL || upconn_node_client(blocked->conn) == 0)
		return;
	struct upconn *conn = upstream_conn(up, up_class(p->opts->database, 2), &why);
	if (conn == NULL)
		return;
	blocked->conn->soiled = true;
	const struct span args[] = {SPAN("CLIENT"), SPAN("UNBLOCK"),
		span_of(digits, u64_to_dec((uint64_t)upconn_node_client(blocked->conn), digits)),
		with_error ? SPAN("ERROR") : SPAN("TIMEOUT")};
	size_t n = resp_request_size(args, ARRAY_LEN(args));
	struct request *mine = request_new_unseen(p, &unblock, blocked->node, DEADLINE_REQUEST);
	(void)resp_put_request(upconn_reserve(conn, n), args, ARRAY_LEN(args));
	upconn_commit(conn, &mine->part, n);
}

void unblock_tell(struct client *c)
{
	struct request *r = c->attended;
	uint32_t n = r->split != NULL ? r->split->nslots : 1;
	for (uint32_t i = 0; i < n; i++)
		tell_node(c->pool, r->split != NULL ? &r->split->slots[i].part : &r->part,
			c->unblock == UNBLOCK_ERROR);
}

static void unblock_visit(struct errand *e, struct worker_pool *p)
{
	struct unblock_errand *u = CONTAINER_OF(e, struct unblock_errand, e);
	struct client *c = find_blocked(p, u->id);
	if (c == NULL)
		return;
	if (c->unblock == UNBLOCK_NOT)
		p->worker->unblocking++;
	c->unblock = u->with_error ? UNBLOCK_ERROR : UNBLOCK_TIMEOUT;
	u->unblocked = 1;
	unblock_tell(c);
	worker_arm_sweep(p->worker);
}

static void unblock_answer(struct errand *e, struct answer *a)
{
	answer_int(a, CONTAINER_OF(e, struct unblock_errand, e)->unblocked);
}

static void unblock_free(struct errand *e)
{
	free(CONTAINER_OF(e, struct unblock_errand, e));
}

static const struct errand_ops unblock_ops = {
	.visit = unblock_visit, .answer = unblock_answer, .free = unblock_free};

void local_client_unblock(struct call *call)
{
	int64_t id = 0;
	bool with_error = call->n == 4 && span_eq_nocase(call->args[3], SPAN("error"));
	if (call->n > 4) {
		local_wrong_subcommand(call);
	} else if (call->n == 4 && !with_error && !span_eq_nocase(call->args[3], SPAN("timeout"))) {
		local_error(call, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
	} else if (!span_to_i64(call->args[2], &id)) {
		local_error(call, "ERR value is not an integer or out of range");
	} else {
		struct unblock_errand *u = local_zeroed(1, sizeof(*u));
		u->e.ops = &unblock_ops;
		u->id = (uint64_t)id;
		u->with_error = with_error;
		errand_start(call, &u->e);
	}
}
