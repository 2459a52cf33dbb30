/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#pragma once

/*
 * What stands between a request that is read and its being served, in Redis's order: has the client
 * logged in, may its user run the command, are clients paused; and whether its reply is wanted.
 *
 * Nearly every client is plain: nothing of it applies, client->special is 0, and dispatch() does not
 * call in here.  What is not plain is a bit of it (enum client_special).
 *
 * A paused request stays in the client's buffer and the client is not read on; when the pause ends it
 * is looked at again, so that order is kept and no loop waits.  Errors that do not depend on the pause
 * are answered at once, as Redis does.
 *
 * Worker-owned.
 */

#include <stdbool.h>
#include <stdint.h>

#include "router/core/auth.h"

struct call;
struct client;
struct worker_pool;

/* May the request be served?  False: it was answered, or call->again is set.  Where call->cmd is NULL
 * (the table does not know it) nothing is decided: ask again when it is known. */
bool gate_open(struct call *call);

/* A request begins that gate_open() does not decide. */
void gate_next(struct client *c);

/* A fresh client, and RESET: the default user, replies wanted. */
void gate_reset(struct client *c);
/* It has logged in. */
void gate_login(struct client *c, const struct user *u);

/* CLIENT REPLY. */
void gate_reply_on(struct client *c);
void gate_reply_off(struct client *c);
void gate_reply_skip(struct client *c);

/* The pool has other users.  Takes over the reference.  Clients whose user is gone are closed. */
void gate_adopt_users(struct worker_pool *p, struct user_set *users);

/* Not marked as a write by Redis either, but it may be one. */
bool gate_may_write(const struct cmd *cmd);

/* ---- pauses -------------------------------------------------------------------------------- */

enum pause_mode { PAUSE_NONE, PAUSE_WRITES, PAUSE_ALL };

struct pause {
	enum pause_mode mode;
	uint64_t until_ns;
};

/* As Redis: of two pauses the stricter mode and the later end count. */
void gate_pause(struct worker_pool *p, enum pause_mode mode, uint64_t until_ns);
void gate_unpause(struct worker_pool *p);
