/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/* Between upstream.c (which connection), upconn.c (what happens on it) and upconn_connect.c (how it
 * comes to be). */

#include <string.h>

#include "router/upstream/upstream.h"

/* No error line of a sane server is longer. */
#define UPCONN_ERROR_MAX (64u * 1024)

static inline struct loop *upconn_loop(const struct upconn *c)
{
	return c->up->env->loop;
}

static inline bool upconn_auth_error(const uint8_t *p, size_t n)
{
	return n >= 7 && memcmp(p, "-NOAUTH", 7) == 0;
}

/* Not the one that every server has. */
static inline bool upconn_is_extra(const struct upconn *c)
{
	return c->is_private || c->class_id != c->up->opts->default_class;
}

/* CLOSED: somebody waits for it, or it is to be there ahead of need. */
static inline bool upconn_is_wanted(const struct upconn *c)
{
	return c->nfifo > 0 || (c->up->opts->preconnect && !upconn_is_extra(c));
}

/* ---- upconn.c ------------------------------------------------------------------------------ */

struct upconn *upconn_new(struct upstream *up, uint16_t class_id);
void upconn_free(struct upconn *c);

/* Drops the connection; every part in it fails. */
void upconn_close(struct upconn *c, enum up_why why, const char *detail);

/* The same without a word in the log. */
void upconn_end(struct upconn *c, enum up_why why);

/* Writes what is waiting; at the end of the turn. */
void upconn_flush(struct upconn *c);

/* Nothing has come for longer than a request may take, though something is due. */
bool upconn_silent(const struct upconn *c, uint64_t now);

/* The only one that changes the state. */
void upconn_enter(struct upconn *c, enum up_state to);

/* CLOSED: the next attempt is made in time if it is wanted; if not, it is forgotten some day. */
void upconn_plan(struct upconn *c);

/* READY and shared: it is looked at when nothing may have come for long enough. */
void upconn_watch_use(struct upconn *c);

/* What the connection's event and timer wait for. */
void upconn_watch(struct upconn *c, short what);
void upconn_watch_oldest(struct upconn *c);
void upconn_arm(struct upconn *c, uint64_t after_ns);
void upconn_disarm(struct upconn *c);

/* Closes the socket and forgets what belonged to it; parts and what is to be sent stay. */
void upconn_drop_socket(struct upconn *c);

/* It is flushed at the end of the turn. */
void upconn_touch(struct upconn *c);

/* ---- private.c ----------------------------------------------------------------------------- */

/* The lease ends if it has no tenant and nothing is under way. */
void upconn_settle_lease(struct upconn *c);

/* A closed one: freed at the end of the turn; its tenant is told. */
void upconn_bury(struct upconn *c);
void upconn_free_dead(struct upstream_env *env);

/* The server leads elsewhere: idle ones to where it led go. */
void upstream_discard_moved(struct upstream *up);
void upstream_abandon_private(struct upstream *up);

/* ---- room.c -------------------------------------------------------------------------------- */

/* An extra connection may be opened; for that an idle one may have been closed. */
bool upstream_make_room(struct upstream_env *env, bool for_private) MUST_CHECK;
/* The same for the shared ones of this server. */
bool upstream_make_place(struct upstream *up) MUST_CHECK;
bool upstream_close_one_idle(struct upstream_env *env) MUST_CHECK;

/* A shared one with an empty FIFO: closed and out of its class; freed at the end of the turn. */
void upconn_retire(struct upconn *c);

/* It is open; it is closed. */
void upconn_count_extra(struct upconn *c);
void upconn_uncount_extra(struct upconn *c);

/* ---- upconn_connect.c ---------------------------------------------------------------------- */

/* CLOSED -> CONNECTING, READY, or CLOSED again when it fails at once.  The server leads somewhere.
 */
void upconn_connect(struct upconn *c);

/* CONNECTING: the socket has news. */
void upconn_connecting_io(struct upconn *c);

/* GREETING: what the node answers. */
void upconn_take_greeting(struct upconn *c, const uint8_t *bytes, size_t n);

/* The next attempt begins behind the address that is being tried. */
void upconn_rotate(struct upconn *c);

/* The server leads elsewhere, or to more addresses, or to fewer. */
void upconn_move(struct upconn *c);

/* Of one that is leaving.  True: nothing may be sent now, or it has gone already. */
bool upconn_leave(struct upconn *c);

/* Of one that is leaving: all that it had to send is sent. */
void upconn_hold(struct upconn *c);
