/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/errand.h"

#include <stdlib.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/worker.h"

static void open_errand(struct letter *l);

static void send_on(struct errand *e, const struct worker *from)
{
	size_t next = (from->opts.index + 1) % from->opts.facts->nworkers;
	e->letter.open = open_errand;
	e->at = from->opts.workers[next];
	mailbox_post(&e->at->inbox, &e->letter);
}

/* ---- at home ------------------------------------------------------------------------------- */

static void close_asker(const struct errand *e, struct client *c)
{
	if (e->closes_asker && c != NULL)
		client_finish(c);
}

static void come_home(struct errand *e)
{
	struct request *r = e->wait->req;
	struct answer a;
	LIST_REMOVE(e->wait, link);
	free(e->wait);
	if (r->state == REQ_WAITING) {
		struct client *asker = r->client;
		answer_begin_as(&a, e->resp);
		e->ops->answer(e, &a);
		answer_request(&a, r);
		close_asker(e, asker);
	}
	request_part_left(r);
	e->ops->free(e);
}

void errand_drop_waits(struct errand_waits *waits)
{
	struct errand_wait *wait;
	while ((wait = LIST_FIRST(waits)) != NULL) {
		LIST_REMOVE(wait, link);
		request_part_left(wait->req);
		free(wait);
	}
}

/* ---- under way ----------------------------------------------------------------------------- */

static void open_errand(struct letter *l)
{
	struct errand *e = CONTAINER_OF(l, struct errand, letter);
	struct worker *w = e->at;
	if (w->stopping) {
		e->ops->free(e);
	} else if (w->opts.index == e->origin) {
		come_home(e);
	} else {
		e->ops->visit(e, &w->pools[e->pool]);
		send_on(e, w);
	}
}

/* The request that waits for it; its guard is a part that never was in a FIFO. */
static struct errand_wait *wait_new(const struct call *call)
{
	struct client *c = call->client;
	struct errand_wait *wait = calloc(1, sizeof(*wait));
	CHECK(wait != NULL);
	wait->req = request_new(c, call->cmd);
	wait->req->parts_out = 1;
	c->barrier = true;
	LIST_INSERT_HEAD(&c->worker->errands, wait, link);
	return wait;
}

static void do_at_once(const struct call *call, struct errand *e)
{
	struct answer a;
	answer_begin(&a, call);
	e->ops->answer(e, &a);
	answer_send(&a, call);
	close_asker(e, call->client);
	e->ops->free(e);
}

void errand_start(const struct call *call, struct errand *e)
{
	struct client *c = call->client;
	struct worker *w = c->worker;
	e->origin = w->opts.index;
	e->pool = c->pool->index;
	e->asker = c->id;
	e->resp = c->resp;
	e->ops->visit(e, c->pool);
	if (w->opts.facts->nworkers == 1) {
		do_at_once(call, e);
		return;
	}
	e->wait = wait_new(call);
	send_on(e, w);
}
