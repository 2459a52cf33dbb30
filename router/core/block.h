/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Commands that wait at the node until somebody else does something there: BLPOP and its like, XREAD
 * BLOCK.  On a shared connection one of them would hold up everybody, so each gets a private one, for as
 * long as it takes:
 *
 *	all before it answered --> lease --> sent --> ... --> reply --> the next request is read
 *
 * Its client is not served meanwhile, but listened to: when it goes, so does the node connection, and
 * with it the wait at the node.
 *
 * The node keeps the time; the router gives up timeouts.request after the node should have answered.
 */

#include <stdbool.h>
#include <stdint.h>

#include "router/core/dispatch.h"

/*
 * A request that may only be served when everything before it is answered, because it goes another way
 * to its node.  True: it has to wait; call->again is set and the client's barrier stands.
 */
bool block_until_alone(struct call *call);

/* CLIENT UNBLOCK was asked for this blocked client: its nodes are told, once more perhaps. */
void unblock_tell(struct client *c);

/* Serves a command that may block; its keys are the node's. */
void block_start(struct call *call, uint32_t node);

/* It would wait if there were nothing for it. */
bool block_asked(const struct call *call);

/* How long the command may wait; 0: for ever. False: it does not say, or nonsense. */
bool block_time(const struct call *call, uint64_t *ret_ns);
