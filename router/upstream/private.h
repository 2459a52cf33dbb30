/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Private connections: to a node, for one client alone, while it is inside WATCH or MULTI, blocks, or
 * sends a request too large to be collected.
 *
 *	          upstream_lease                     its FIFO is empty, or upconn_release
 *	idle  ---------------------->  leased  --------------------------------->  idle
 *	  |    (or a fresh connection)   |  upconn_discard, lost                     |
 *	  +-- private_idle, the node ----+--------------->  closed  <----------------+
 *
 * A lease without a tenant lasts as long as its FIFO is not empty: one request, or a few in a row.  With
 * a tenant it lasts until upconn_release(); the tenant is told when the connection is lost before that
 * (upstream_ops.lost), after its parts have failed.
 *
 * Only a connection on which nothing of its last tenant can be left goes back to the idle ones: who
 * leased it says so, and whoever vanishes inside something has it closed.  Nothing on a private
 * connection is ever sent again.
 *
 * At most upstream.private_per_node are leased at a time from a server by all workers together; up to as
 * many are kept idle, for upstream.private_idle.  Worker-owned but for that count, which is in the server.
 */

#include "router/upstream/upstream.h"

/*
 * A connection of this class for one client alone, perhaps still connecting: parts wait in its FIFO as
 * they do on a shared one.  NULL, and why: no place free, or the server is known to be down.
 */
struct upconn *upstream_lease(
	struct upstream *up, uint16_t class_id, void *tenant, enum up_why *ret_why);

/* Its tenant is done and has left nothing behind: when the FIFO is empty, at the end of the turn at the
 * earliest, the next one may have it. */
void upconn_release(struct upconn *c);

/* The same when all that is under way is what makes it clean again: its place is free at once. */
void upconn_leave_clean(struct upconn *c);

/* Closed, and whatever its client did there with it: its parts fail or are dropped.  No news to the
 * tenant.  Not from within upstream_ops.reply(). */
void upconn_discard(struct upconn *c);

/*
 * A part whose bytes come in pieces and are let go as they are sent; upconn_stream_end() after the last
 * one.  Until then nobody else can have the connection.
 */
void upconn_stream_begin(struct upconn *c, struct part *p);
void upconn_stream(struct upconn *c, const void *bytes, size_t n);
void upconn_stream_chunk(struct upconn *c, struct chunk *chunk); /* taken over */
void upconn_stream_end(struct upconn *c);

/* The node does not do its part: closed as one that ran out of time. */
void upconn_give_up(struct upconn *c, const char *why);

/* Its tenant has changed database or RESP version there. */
void upconn_change_class(struct upconn *c, uint16_t class_id);

/* What CLIENT ID says on it; 0: not known. */
static inline int64_t upconn_node_client(const struct upconn *c)
{
	return c->node_client > 0 ? c->node_client : 0;
}
