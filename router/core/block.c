/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "router/core/wait.h"
#include "router/core/worker.h"
#include "router/upstream/private.h"

/* Longer waits are for ever, as far as we are concerned. */
#define FOREVER (UINT64_C(10) * 365 * 24 * 3600 * NS_PER_S)

bool block_until_alone(struct call *call)
{
	struct client *c = call->client;
	if (c->outstanding == 0)
		return false;
	c->barrier = true;
	call->again = true;
	return true;
}

/* ---- how long ------------------------------------------------------------------------------ */

/* Words that an option of XREAD or XREADGROUP takes, itself included; 0: the options end here. */
static size_t option_size(struct span word)
{
	if (span_eq_nocase(word, SPAN("GROUP")))
		return 3; /* whose names may be anything, BLOCK and STREAMS too */
	if (span_eq_nocase(word, SPAN("COUNT")) || span_eq_nocase(word, SPAN("BLOCK")))
		return 2;
	return span_eq_nocase(word, SPAN("NOACK")) ? 1 : 0;
}

/* XREAD and XREADGROUP: the argument behind the last BLOCK; 0: none. */
static size_t block_option(const struct call *call)
{
	size_t found = 0, size;
	for (size_t i = 1; i < call->n && (size = option_size(call->args[i])) > 0; i += size)
		if (span_eq_nocase(call->args[i], SPAN("BLOCK")) && i + 1 < call->n)
			found = i + 1;
	return found;
}

static bool is_stream(const struct cmd *cmd)
{
	return cmd->id == CMD_ID_XREAD || cmd->id == CMD_ID_XREADGROUP;
}

bool block_asked(const struct call *call)
{
	if (!(call->cmd->flags & CMD_BLOCKING))
		return false;
	return !is_stream(call->cmd) || block_option(call) != 0;
}

/* Where the command says it, and in which unit. */
static size_t time_argument(const struct call *call, double *ret_unit)
{
	*ret_unit = (double)NS_PER_S;
	if (is_stream(call->cmd)) {
		*ret_unit = (double)NS_PER_MS;
		return block_option(call);
	}
	if (call->cmd->id == CMD_ID_BLMPOP || call->cmd->id == CMD_ID_BZMPOP)
		return 1;
	return call->n - 1;
}

bool block_time(const struct call *call, uint64_t *ret_ns)
{
	char text[64];
	double unit;
	size_t at = time_argument(call, &unit);
	struct span s = call->args[at];
	if (at == 0 || s.len == 0 || s.len >= sizeof(text))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = 0;
	char *end;
	double n = strtod(text, &end);
	if (*end != 0 || !isfinite(n) || n < 0)
		return false;
	*ret_ns = n * unit >= (double)FOREVER ? 0 : (uint64_t)(n * unit);
	return true;
}

/* When nobody believes any more that the node answers. */
static uint64_t give_up_ns(const struct call *call, const struct request *r)
{
	uint64_t wait = 0;
	uint64_t patience = r->pool->opts->timeout_ns[DEADLINE_REQUEST];
	if (block_time(call, &wait) && wait == 0)
		return UINT64_MAX;
	return r->born_ns + wait + patience;
}

/* ---- the command --------------------------------------------------------------------------- */

void block_start(struct call *call, uint32_t node)
{
	struct client *c = call->client;
	enum up_why why = UP_WHY_NONE;
	if (block_until_alone(call))
		return;
	struct request *r = request_new(c, call->cmd);
	request_part_init(r, &r->part, node);
	wait_note(c, call->cmd, node);
	r->part.stuck_ns = give_up_ns(call, r);
	r->parts_out = 1;
	c->barrier = true;
	struct upconn *conn = upstream_lease(r->view->up[node], c->class_id, NULL, &why);
	if (conn == NULL) {
		request_upstream_ops.failed(&r->part, why);
		return;
	}
	client_block(c, r);
	dispatch_send(call, conn, &r->part);
}
