/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * WATCH, MULTI, EXEC: a client inside a transaction.
 *
 * A transaction has one node, that of the first key in it, and a private connection there:
 *
 *	         WATCH k                MULTI
 *	nothing ----------> watching ----------> queueing --- EXEC, DISCARD --> nothing
 *	    |                  |   UNWATCH            ^
 *	    |                  +---------> nothing    |
 *	    +------------------------ MULTI ----------+
 *
 * Watching: every request is answered before the next one is read, so that whichever connection serves
 * it, all take effect in the order sent.
 *
 * Queueing: commands go to the private connection, whose node answers QUEUED.  Before the first key is
 * seen no node is chosen: commands without a key are checked and kept here, and sent, with MULTI ahead
 * of them, when it is.  A transaction wholly without keys runs on any node.
 *
 * A request that was turned away, or got no answer, spoils the transaction: EXEC says EXECABORT.  So it
 * does when the connection is lost before EXEC was sent; after that nobody knows what became of it.
 *
 * With EXEC or DISCARD on its way the client lets go of the connection, which is free again when they are
 * answered.  Worker-owned.
 */

#include "router/core/dispatch.h"
#include "router/upstream/upstream.h"

struct tx;

/* Serves a command of POLICY_TX. */
void tx_start(struct call *call);

/* Serves any other of a client inside a transaction (SPECIAL_TX); `run` is what serves it elsewhere. */
void tx_run(struct call *call, void (*run)(struct call *));

/* A request of a client inside a transaction failed. */
void tx_spoil(struct client *c);

/* One was turned away: with EXEC the transaction is over, whatever the reason. */
void tx_turned_away(struct client *c, const struct cmd *cmd);

/* It ends without being carried out. */
void tx_abort(struct client *c);

/* The same when nobody waits for anything that it has under way: RESET, and the client's end. */
void tx_forget(struct client *c);

/* upstream_ops.lost: the connection of this client's transaction. */
void tx_lost(void *client, enum up_why why);

/* An EXEC that the client waits for is answered. */
void tx_executed(struct request *r);

/* For CLIENT LIST: commands queued, -1 outside MULTI; and whether EXEC is known to fail. */
int tx_queued(const struct client *c);
bool tx_is_spoiled(const struct client *c);
