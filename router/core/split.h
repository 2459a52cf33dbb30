/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * A request over several owners: one part per node, replies merged when all have come.
 *
 * Keys are visited twice: once to find their owners and how much room each node's command takes,
 * once to write them there.  Nothing is allocated per key; one chunk holds the parts and, for
 * MGET, which part each key went to.
 */

#include "router/core/request.h"

struct foreign_name;

struct slot {
	struct part part;    /* first: a part of a split request is its slot */
	struct chunk *reply; /* owned: the node's reply, or the error that stands for it */
	uint32_t keys;       /* how many were asked of this node */
	bool failed;         /* `reply` is an error */
};

struct split {
	struct chunk *self; /* the chunk that this lies in */
	uint32_t nslots;
	uint32_t open; /* slots without an answer */
	uint32_t nkeys;
	const uint16_t *order;            /* MGET: slot of each key */
	int64_t argument;                 /* of a broadcast: what its merging needs to know */
	void (*merge)(struct request *r); /* split_collect(); else NULL */
	struct foreign_name
		*question; /* asked by the router for itself; the client sees nothing of it */
	void *baggage;     /* owned, from malloc(): what else the merging needs; NULL: nothing */
	bool hidden; /* the client sees nothing of it: `merge` takes note, and makes no reply */
	struct slot slots[];
};

/*
 * The request as it is to every node; gather_merge() makes one reply of theirs.  The baggage is taken over.  aside: not
 * over the shared connections, on which a script may be running.  Deadline: slow.
 */
struct call;
void split_broadcast(struct call *call, int64_t argument, void *baggage, bool aside);

/*
 * The call's arguments to every node, and `merge` makes the reply of what they answer, some of them
 * perhaps with errors.  Deadline: request.
 */
void split_collect(struct call *call, int64_t argument, void (*merge)(struct request *r));

/*
 * The request to those nodes whose bit (index % 64) is set in `nodes`, over connections of its own, with a PING ahead of
 * it; `merge` makes the reply, errors among the answers too.  The client is blocked; what is unanswered at give_up_ns
 * (UINT64_MAX: never) fails.  There is a node.
 */
void split_wait(
	struct call *call, uint64_t nodes, uint64_t give_up_ns, void (*merge)(struct request *r));

/* The request, its arguments written anew, to one node; scan_merge() makes the reply. */
void split_ask(struct call *call, uint32_t node);

/* A question of the router's own, in the client's place in the order; its answer goes to foreign_learn(). */
void split_question(struct call *call, uint32_t node, struct foreign_name *about);

/* Arguments of the router's own to one node, in the client's place in the order; `merge` takes note of the answer. */
void split_hidden(
	struct call *call, uint32_t node, void *baggage, void (*merge)(struct request *r));

/* A piece of a part's reply; when it is the last of the last part, the request is answered. */
void split_reply(struct request *r, struct part *p, const uint8_t *bytes, size_t n, bool complete,
	bool is_error);
void split_failed(struct request *r, struct part *p, enum up_why why);

/* Out of time: parts that have no answer get a time-out for one. */
void split_expire(struct request *r);

/* Of the parts that failed the first by node name, or NULL. */
const struct slot *split_first_error(const struct request *r);

/* Bytes buffered in the parts. */
size_t split_held(const struct split *s);

/* The merged reply goes out through request_reply_bytes(). */
void split_merge(struct request *r);
void split_free(struct bufpool *pool, struct split *s);

/* Frees worker->owners. */
void split_scratch_free(void *scratch);
