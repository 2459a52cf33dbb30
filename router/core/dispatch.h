/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * From a request that lies in memory to whoever serves it: one handler per policy of the command
 * table.
 */

#include "router/core/client.h"
#include "router/wire/cmd.h"
#include "router/wire/resp.h"

/* One request, as the client wrote it.  Borrowed: valid during the call. */
struct call {
	struct client *client;
	const struct cmd *cmd;
	const struct span *args;
	size_t n;
	const uint8_t *bytes; /* the request on the wire */
	size_t len;
	bool again;           /* out: not served yet; look at it again when the client is read on */
	bool verbatim;        /* may go to a node as it is: an array, cleanly written */
	struct chunk **chunk; /* holds exactly these bytes and may be taken over (then it becomes
				 NULL); NULL: no */
};

/* Serves a whole request.  call->cmd need not be set. */
void dispatch(struct call *call);

/* Keys of several owners. */
void dispatch_answer_crossslot(struct call *call);

/* The owner of all keys found in w->keys; RING_NONE: they have several, or there is no owner (both
 * answered). */
uint32_t dispatch_owner_of_keys(struct call *call);

/* The request's bytes into a connection, for this part. */
void dispatch_send(struct call *call, struct upconn *conn, struct part *p);

/* Without a key: whichever node the command's own name falls to.  RING_NONE: there is none (answered). */
uint32_t dispatch_any_node(struct call *call);

/* Sends the request to one node. */
void forward_one(struct call *call, uint32_t node);

/* The same with the deadline of slow commands; `send` does what dispatch_send() does, and more. */
void forward_slow(struct call *call, uint32_t node,
	void (*send)(struct call *, struct upconn *, struct part *));

/* MGET, MSET, DEL ... */
void split_start(struct call *call);

/* Commands that the router answers itself. */
void local_run(struct call *call);
