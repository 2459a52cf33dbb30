/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * CLIENT PAUSE and UNPAUSE: an errand that holds, or lets go, what is to come; gate.h.
 */

#include <stdlib.h>

#include "router/core/answer.h"
#include "router/core/local.h"
#include "router/core/worker.h"

struct pause_errand {
	struct errand e;      /* first */
	enum pause_mode mode; /* PAUSE_NONE: the end of all pauses */
	uint64_t until_ns;
};

static void pause_visit(struct errand *e, struct worker_pool *p)
{
	const struct pause_errand *pause = CONTAINER_OF(e, struct pause_errand, e);
	if (pause->mode == PAUSE_NONE)
		gate_unpause(p);
	else
		gate_pause(p, pause->mode, pause->until_ns);
}

static void pause_answer(struct errand *e, struct answer *a)
{
	(void)e;
	answer_line(a, "+OK");
}

static void pause_free(struct errand *e)
{
	free(CONTAINER_OF(e, struct pause_errand, e));
}

static const struct errand_ops pause_ops = {
	.visit = pause_visit, .answer = pause_answer, .free = pause_free};

static void pause_all(const struct call *call, enum pause_mode mode, uint64_t until_ns)
{
	struct pause_errand *p = local_zeroed(1, sizeof(*p));
	p->e.ops = &pause_ops;
	p->mode = mode;
	p->until_ns = until_ns;
	errand_start(call, &p->e);
}

/* False: an error was answered. */
static bool pause_parse(const struct call *call, enum pause_mode *ret_mode, int64_t *ret_ms)
{
	*ret_mode = PAUSE_ALL;
	if (call->n > 4) {
		local_wrong_subcommand(call);
		return false;
	}
	if (call->n == 4 && span_eq_nocase(call->args[3], SPAN("write"))) {
		*ret_mode = PAUSE_WRITES;
	} else if (call->n == 4 && !span_eq_nocase(call->args[3], SPAN("all"))) {
		local_error(call, "ERR CLIENT PAUSE mode must be WRITE or ALL");
		return false;
	}
	if (!span_to_i64(call->args[2], ret_ms)) {
		local_error(call, "ERR timeout is not an integer or out of range");
		return false;
	}
	if (*ret_ms < 0) {
		local_error(call, "ERR timeout is negative");
		return false;
	}
	return true;
}

void local_client_pause(struct call *call)
{
	enum pause_mode mode;
	int64_t ms = 0;
	if (!pause_parse(call, &mode, &ms))
		return;
	uint64_t now = loop_now(&call->client->worker->loop);
	uint64_t most = (UINT64_MAX - now) / NS_PER_MS;
	if (ms > INT64_MAX - (int64_t)clock_wall_ms())
		ms = 0; /* an end that Redis's clock can't tell has gone by */
	pause_all(call, mode, now + ((uint64_t)ms < most ? (uint64_t)ms : most) * NS_PER_MS);
}

void local_client_unpause(struct call *call)
{
	pause_all(call, PAUSE_NONE, 0);
}
