/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/wait.h"

#include "router/core/answer.h"
#include "router/core/block.h"
#include "router/core/split.h"
#include "router/core/worker.h"
#include "router/wire/resp_elem.h"

/* The fewest. */
static void merge_fewest(struct request *r)
{
	int64_t fewest = INT64_MAX;
	struct answer a;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		struct resp_head h;
		if (s->failed || !resp_elem_head(chunk_bytes(s->reply), chunk_len(s->reply), &h)) {
			request_reply_bytes(r, chunk_bytes(s->reply), chunk_len(s->reply));
			return;
		}
		fewest = h.number < fewest ? h.number : fewest;
	}
	answer_begin_as(&a, r->client->resp);
	answer_int(&a, fewest);
	answer_merged(&a, r);
}

/* When nobody believes any more that a node answers; 0 means for ever, nonsense is answered at once. */
static uint64_t give_up_ns(const struct call *call)
{
	const struct client *c = call->client;
	int64_t ms = 0;
	uint64_t now = loop_now(&c->worker->loop);
	bool told = span_to_i64(call->args[2], &ms);
	if (told && ms == 0)
		return UINT64_MAX;
	if (!told || ms < 0)
		ms = 0;
	uint64_t wait = (uint64_t)ms < UINT64_MAX / 4 / NS_PER_MS ? (uint64_t)ms * NS_PER_MS
								  : UINT64_MAX / 4;
	return now + wait + c->pool->opts->timeout_ns[DEADLINE_REQUEST];
}

void wait_start(struct call *call)
{
	struct client *c = call->client;
	if (block_until_alone(call))
		return;
	uint64_t nodes = c->wrote != 0 ? c->wrote : WROTE_EVERYWHERE;
	split_wait(call, nodes, give_up_ns(call), merge_fewest);
}

void wait_forget_nodes(struct worker_pool *p)
{
	struct client *c;
	TAILQ_FOREACH (c, &p->worker->clients, all)
		if (c->pool == p && c->wrote != 0)
			c->wrote = WROTE_EVERYWHERE;
}
