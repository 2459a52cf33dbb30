/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/gate.h"

#include <string.h>

#include "router/core/client.h"
#include "router/core/dispatch.h"
#include "router/core/errors.h"
#include "router/core/worker.h"

/* ---- whose reply is wanted ----------------------------------------------------------------- */

/* CLIENT REPLY SKIP is about the request after it: NEXT turns into NOW, NOW is over. */
void gate_next(struct client *c)
{
	bool next = (c->special & SPECIAL_SKIP_NEXT) != 0;
	c->special &= (uint8_t) ~(SPECIAL_SKIP_NEXT | SPECIAL_SKIP_NOW);
	if (next)
		c->special |= SPECIAL_SKIP_NOW;
}

void gate_reply_on(struct client *c)
{
	c->special &= (uint8_t) ~(SPECIAL_REPLY_OFF | SPECIAL_SKIP_NEXT | SPECIAL_SKIP_NOW);
}

void gate_reply_off(struct client *c)
{
	c->special |= SPECIAL_REPLY_OFF;
}

void gate_reply_skip(struct client *c)
{
	if (!(c->special & SPECIAL_REPLY_OFF))
		c->special |= SPECIAL_SKIP_NEXT;
}

/* ---- users --------------------------------------------------------------------------------- */

static void set_special(struct client *c, uint8_t bit, bool on)
{
	c->special = (uint8_t)(on ? c->special | bit : c->special & ~bit);
}

static void note_user(struct client *c)
{
	bool anonymous = !c->logged_in && !user_set_is_open(c->pool->users);
	set_special(c, SPECIAL_ANONYMOUS, anonymous);
	set_special(c, SPECIAL_LIMITED, c->user->limited);
	c->scan.anonymous = anonymous;
}

void gate_reset(struct client *c)
{
	c->user = user_set_default(c->pool->users);
	c->logged_in = user_set_is_open(c->pool->users);
	c->special &= (uint8_t) ~(SPECIAL_REPLY_OFF | SPECIAL_SKIP_NEXT);
	set_special(c, SPECIAL_PAUSED, c->pool->pause.mode != PAUSE_NONE);
	note_user(c);
}

void gate_login(struct client *c, const struct user *u)
{
	c->user = u;
	c->logged_in = true;
	note_user(c);
}

/* Its user as the new set has it. */
static void move_client(struct client *c, const struct user_set *users)
{
	const struct user *u = user_set_find(users, span_str(c->user->name));
	if (c->logged_in && (u == NULL || !u->enabled)) {
		c->user = user_set_default(users);
		c->logged_in = false;
		client_doom(c, "its user is gone");
	} else {
		c->user = u != NULL ? u : user_set_default(users);
	}
	note_user(c);
}

void gate_adopt_users(struct worker_pool *p, struct user_set *users)
{
	struct user_set *old = p->users;
	struct client *c;
	p->users = users;
	TAILQ_FOREACH (c, &p->worker->clients, all)
		if (c->pool == p)
			move_client(c, users);
	user_set_unref(old);
}

/* ---- pauses -------------------------------------------------------------------------------- */

static void mark_clients(struct worker_pool *p, bool paused)
{
	struct client *c;
	TAILQ_FOREACH (c, &p->worker->clients, all) {
		if (c->pool != p)
			continue;
		set_special(c, SPECIAL_PAUSED, paused);
		if (!paused)
			client_unhold(c);
	}
}

void gate_pause(struct worker_pool *p, enum pause_mode mode, uint64_t until_ns)
{
	if (until_ns <= loop_now(&p->worker->loop))
		return;
	if (mode > p->pause.mode)
		p->pause.mode = mode;
	if (until_ns > p->pause.until_ns)
		p->pause.until_ns = until_ns;
	mark_clients(p, true);
	worker_arm_pause(p);
}

void gate_unpause(struct worker_pool *p)
{
	if (p->pause.mode == PAUSE_NONE)
		return;
	p->pause = (struct pause){.mode = PAUSE_NONE};
	mark_clients(p, false);
}

/* Not marked as writes, but they may change something or reach other servers.  A transaction is held
 * whatever is in it. */
bool gate_may_write(const struct cmd *cmd)
{
	static const uint16_t others[] = {CMD_ID_EVAL, CMD_ID_EVALSHA, CMD_ID_FCALL, CMD_ID_PFCOUNT,
		CMD_ID_PUBLISH, CMD_ID_SPUBLISH, CMD_ID_EXEC};
	if (cmd->flags & CMD_WRITE)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (cmd->id == others[i])
			return true;
	return false;
}

static bool is_held(const struct client *c, const struct cmd *cmd)
{
	enum pause_mode mode = c->pool->pause.mode;
	return mode == PAUSE_ALL || (mode == PAUSE_WRITES && gate_may_write(cmd));
}

/* ---- the gate ------------------------------------------------------------------------------ */

/* A request that makes no sense is answered by dispatch(), whoever sent it. */
static bool is_sound(const struct call *call)
{
	const struct cmd *cmd = call->cmd;
	if (cmd == NULL || !cmd_arity_ok(cmd, call->n))
		return false;
	return !cmd->has_subs || call->n == 1 || cmd->policy == POLICY_REFUSED;
}

static void answer_error(struct call *call, const struct text *t)
{
	metric_add(call->client->worker->m, M_ERRORS_CLIENT, 1);
	client_reject(call->client, call->cmd, t->at, t->len);
}

/* The error for a client that may not do this; false: it may. */
static bool is_refused(const struct call *call, struct text *ret)
{
	const struct client *c = call->client;
	if (call->cmd->flags & CMD_NO_AUTH)
		return false;
	if (c->special & SPECIAL_ANONYMOUS) {
		error_text(ret, "NOAUTH Authentication required.");
		return true;
	}
	if (!(c->special & SPECIAL_LIMITED) || !cmd_set_has(&c->user->deny, call->cmd->id))
		return false;
	error_text(ret, "NOPERM this user has no permissions to run the '%s' command",
		call->cmd->name);
	return true;
}

bool gate_open(struct call *call)
{
	struct client *c = call->client;
	struct text t;
	if (call->cmd == NULL)
		return true;
	bool sound = is_sound(call);
	bool refused = sound && is_refused(call, &t);
	if (sound && !refused && (c->special & SPECIAL_PAUSED) && is_held(c, call->cmd)) {
		c->on_hold = true;
		call->again = true;
		return false;
	}
	gate_next(c);
	if (refused)
		answer_error(call, &t);
	return !refused;
}
