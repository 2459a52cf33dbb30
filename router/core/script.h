/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * Scripts and functions.  They go where their keys are, and without keys to any node, over the connections that all
 * requests share, with the deadline of slow commands.
 *
 * EVALSHA names a script by its SHA1, and which of the nodes has its body depends on where EVAL happened to take it.  So
 * bodies that go by in EVAL and SCRIPT LOAD are kept (script_store.h), and a connection that has not seen a known one is
 * sent SCRIPT LOAD just before the EVALSHA:
 *
 *	EVAL body    --> noted in the store, forwarded
 *	EVALSHA hash --> seen on this connection?  forwarded
 *	                 body known?               SCRIPT LOAD, whose answer nobody sees, and right behind it the EVALSHA
 *	                 neither                   forwarded: the node says NOSCRIPT
 *
 * What a connection has seen (script_seen.h) is forgotten when it closes, when scripts are flushed, and for one hash when
 * the node did not take the script after all.  An EVALSHA that relies on it is not sent again on another connection.
 *
 * Worker-owned, but for the store.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct call;
struct client;
struct request;
struct upconn;
struct script_memo; /* a worker's: bodies that it has put into the store lately */

/* Serves EVAL, EVALSHA, FCALL and their kin. */
void script_start(struct call *call);

/* EVAL, SCRIPT LOAD: the body is kept.  Other commands have none. */
void script_note(struct call *call);

/*
 * Inside MULTI: the body that this EVALSHA needs is not known to be at `node`: it is being loaded there over the shared
 * connection and the call is to be looked at again (call->again is set, the client's barrier stands).  False: go on.
 */
bool script_ahead(struct call *call, uint32_t node);

/*
 * A request as it is on the wire is about to be queued on this connection behind a MULTI that is not sent yet: if it is an
 * EVALSHA of a body that is known, the body goes there first.
 */
void script_bring_along(struct client *c, uint32_t node, struct upconn *conn, struct span request);

/* The node answered one of these with an error. */
void script_failed(struct request *r, const uint8_t *error, size_t n);

/* NULL is allowed. */
void script_memo_free(struct script_memo *m);
