/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * An errand: a request that concerns the clients of every worker (CLIENT LIST, KILL, PAUSE).  It is a
 * letter that visits each worker in turn, does there what it has to do on that worker's own thread,
 * and comes home, where the request is answered.  No worker ever touches another's clients, and no
 * lock is needed.
 *
 *	asked --> visit(own worker) --letter--> visit(next) --letter--> ... --letter--> home: answer
 *
 * Meanwhile the request waits in its client's queue with one part out, as if at a node, so that it
 * stays when the client goes; a barrier keeps the client's next request until the answer.  With one
 * worker all of it happens at once.
 *
 * Who owns what: the errand belongs to whoever opens its letter; what stays at home (errand_wait)
 * belongs to the worker that it started from.  A worker that stops drops the errands it is sent, and
 * its own waits at its end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/mailbox.h"

struct answer;
struct call;
struct errand;
struct request;
struct worker;
struct worker_pool;

struct errand_ops {
	/* On each worker's thread: its side of the asker's pool. */
	void (*visit)(struct errand *e, struct worker_pool *p);
	/* At home, also when the asker has gone: the reply. */
	void (*answer)(struct errand *e, struct answer *a);
	void (*free)(struct errand *e);
};

struct errand_wait;

struct errand {
	struct letter letter; /* first */
	const struct errand_ops *ops;
	struct worker *at;        /* whose letter it is */
	struct errand_wait *wait; /* the origin's; looked at there alone */
	size_t origin;            /* index of the worker that it started from */
	uint32_t pool;
	uint64_t asker; /* the client's id */
	int resp;
	bool closes_asker; /* set by a visit: the asker is closed after the answer */
};

/* Takes the errand over.  Its first members but `ops` are filled in here. */
void errand_start(const struct call *call, struct errand *e);

/* A request whose errand is under way. */
struct errand_wait {
	LIST_ENTRY(errand_wait) link;
	struct request *req;
};
LIST_HEAD(errand_waits, errand_wait);

/* The worker's end: no letter will come any more. */
void errand_drop_waits(struct errand_waits *waits);
