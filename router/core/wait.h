/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * WAIT: how many replicas have the client's writes, on the node where that is the fewest.
 *
 * A node counts from the offset that its replication had after the last command of the connection that
 * asks.  The client's writes went over shared connections, and are answered; so a private one asks,
 * with a PING before it that brings it to the present offset: PING, WAIT.
 *
 * Asked are the nodes that the client has written to; all of them when it has written to none, and when
 * it is no longer known to which because the ring has changed.  With more than 64 nodes several share a
 * bit, and some may be asked that it has not written to.
 */

#include "router/core/dispatch.h"

#define WROTE_EVERYWHERE UINT64_MAX

/* The client may have changed something at this node. */
static inline void wait_mark(struct client *c, uint32_t node)
{
	c->wrote |= UINT64_C(1) << (node % 64);
}

/* The same when the command is a write; of one that does not say, wait_mark(). */
static inline void wait_note(struct client *c, const struct cmd *cmd, uint32_t node)
{
	c->wrote |= (uint64_t)((cmd->flags & CMD_WRITE) != 0) << (node % 64);
}

/* Serves WAIT. */
void wait_start(struct call *call);

/* The pool's nodes have other indexes now. */
void wait_forget_nodes(struct worker_pool *p);
