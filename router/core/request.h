/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * The life of one request.
 *
 *	client                        request                            node connections
 *	------                        -------                            ----------------
 *	client_take    --(a)-->  dispatch -> forward_one  ----(b)---->   upconn fifo
 *	                                  -> split_start  ----(b)---->   upconn fifo, a part per node
 *	                                  -> local_*                         |
 *	client queue   <--(d)--  request_reply_bytes, request_answered <-(c)-+
 *	  in order
 *
 * (a) the request lies whole in memory; (b) its bytes are in each node's sendq; (c) reply bytes
 * come back in pieces; (d) replies leave in the order of the requests: the head of the client's
 * queue writes straight to the client's output, the others hold their bytes until it is their
 * turn.
 *
 * States (request_edges in request.c):
 *
 *	WAITING --> ANSWERED   its reply is complete (an error counts), or it ran out of time
 *	WAITING --> ABANDONED  its client is gone
 *	ANSWERED --> ABANDONED its client went before the reply's turn came
 *
 * A request is freed when neither the client's queue nor any node connection's FIFO holds it:
 * one that ran out of time is answered at once, but its parts stay where they are until their
 * late replies come.
 *
 * Protocol is nowhere in here: replies are bytes with a beginning and an end.  Worker-owned.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/sha1.h"
#include "router/core/view.h"
#include "router/io/buf.h"
#include "router/upstream/part.h"
#include "router/wire/cmd.h"

struct client;
struct worker_pool;

enum request_state { REQ_WAITING, REQ_ANSWERED, REQ_ABANDONED, REQ_STATE_COUNT };

/* Deadlines come in classes; in each, requests expire in the order in which they came. */
enum deadline_class {
	DEADLINE_REQUEST,
	DEADLINE_SLOW,
	DEADLINE_NONE,
	DEADLINE_COUNT = DEADLINE_NONE
};

/* Replies up to this size that wait for their turn need no buffer. */
#define REQUEST_INLINE 72

struct request {
	STAILQ_ENTRY(request) order; /* the client's queue */
	TAILQ_ENTRY(request) due;    /* the deadline class's queue */
	struct client *client;       /* NULL once abandoned */
	struct worker_pool *pool;    /* borrowed */
	struct view *view;           /* routed by; NULL: by none */
	const struct cmd *cmd;       /* NULL: unknown to the table */
	uint64_t born_ns;            /* wholly read */
	uint64_t due_ns;
	uint64_t reply_bytes; /* of the reply so far */
	struct split *split;  /* owned; NULL: not split */
	struct chain hold;    /* reply bytes that wait for their turn */
	struct part part;     /* the part, when it is one */
	uint8_t state;        /* enum request_state; changed by request_enter() alone */
	uint8_t due_class;    /* enum deadline_class */
	bool queued;          /* in its client's queue */
	bool emitted;         /* bytes of the reply have gone to the client's output */
	bool silent;          /* the client does not want the reply: its bytes are dropped */
	uint32_t parts_out;   /* parts in FIFOs */
	uint8_t inline_len;   /* bytes in `small`, before those in `hold` */
	union {
		uint8_t small[REQUEST_INLINE];
		uint8_t script[SHA1_SIZE]; /* PART_ONCE: what it relies on, until a reply comes */
	};
};
STAILQ_HEAD(request_queue, request);
TAILQ_HEAD(request_due, request);

/* A request of this client, at the tail of its queue, routed by the pool's current view. */
struct request *request_new(struct client *c, const struct cmd *cmd);

/* Its deadline runs from `born_ns`. */
void request_set_deadline(struct request *r, enum deadline_class k);

/* Fills a part in for the FIFO of a connection to `node`. */
void request_part_init(struct request *r, struct part *p, uint32_t node);

/* It may take as long as another one, which was given its deadline just now. */
void request_extend(struct request *r, const struct request *as);

/* Its time runs from the request's born_ns and deadline class as they are now. */
void request_part_start(struct request *r, struct part *p);

/* A request of the router's own to `node`: in no client's queue, its reply is read and thrown away, and
 * it goes when its part does.  The part is ready for upconn_send(); the node gets `k` to answer. */
struct request *request_new_unseen(
	struct worker_pool *pool, const struct cmd *cmd, uint32_t node, enum deadline_class k);

/* Reply bytes, in pieces and in order. */
void request_reply_bytes(struct request *r, const uint8_t *bytes, size_t n);
/* The same, with the chunk taken over. */
void request_reply_chunk(struct request *r, struct chunk *chunk);
/* The reply is complete. */
void request_answered(struct request *r);
/* Drops what there is of a reply that nobody has seen yet. */
void request_forget_reply(struct request *r);

/* Its client is gone. */
void request_abandon(struct request *r);

/* The request's bytes move to the client's output: it is at the head of the queue. */
void request_emit(struct request *r);

/* Out of the client's queue: freed, or when its parts are. */
void request_leave_queue(struct request *r);
/* A part has left its FIFO. */
void request_part_left(struct request *r);

/* What upstreams call. */
extern const struct upstream_ops request_upstream_ops;

/* Expires what is due in one class; returns when the next one is, 0: none. */
uint64_t request_expire_due(struct request_due *q, uint64_t now);
