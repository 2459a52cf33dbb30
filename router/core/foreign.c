/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "router/core/client.h"
#include "router/core/dispatch.h"
#include "router/core/split.h"
#include "router/core/worker.h"
#include "router/wire/resp_elem.h"

/* uthash's own hash falls through a switch, which the compiler is told to refuse. */
#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)ring_hash(key, len))
#include <uthash.h>

/* Names kept; beyond that, those that no node knows make room. */
#define NAMES_MAX 1024

/* Questions in one second. */
#define QUESTIONS_PER_S 20

/* For so long nobody is asked again about a name that a node did not know, or did not say. */
#define UNKNOWN_FOR (10 * NS_PER_S)
#define FAILED_FOR NS_PER_S
#define BEING_ASKED UINT64_MAX

struct foreign_name {
	char name[FOREIGN_NAME_MAX + 1]; /* lower case: the hash key */
	bool known;
	uint64_t until_ns; /* not known: ask again after this */
	struct cmd cmd;
	UT_hash_handle hh;
};

struct foreign {
	struct foreign_name *names; /* uthash */
	uint64_t second_ns;
	uint32_t asked; /* in that second */
};

static struct foreign *table_of(struct worker *w)
{
	if (w->foreign == NULL) {
		w->foreign = calloc(1, sizeof(*w->foreign));
		CHECK(w->foreign != NULL);
	}
	return w->foreign;
}

/* NOLINTBEGIN(readability-function-size,clang-analyzer-unix.Malloc): what uthash expands to */

void foreign_free(struct foreign *f)
{
	struct foreign_name *e, *next;
	if (f == NULL)
		return;
	HASH_ITER(hh, f->names, e, next)
	{
		HASH_DEL(f->names, e);
		free(e);
	}
	free(f);
}

static void fold(char *to, struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		to[i] = (char)ascii_lower(name.ptr[i]);
	to[name.len] = 0;
}

static struct foreign_name *entry_find(struct foreign *f, const char *name)
{
	struct foreign_name *e = NULL;
	HASH_FIND_STR(f->names, name, e);
	return e;
}

/* Known ones stay: requests may point to them. */
static bool make_room(struct foreign *f)
{
	struct foreign_name *e, *next;
	if (HASH_COUNT(f->names) < NAMES_MAX)
		return true;
	HASH_ITER(hh, f->names, e, next)
	{
		if (e->known || e->until_ns == BEING_ASKED)
			continue;
		HASH_DEL(f->names, e);
		free(e);
		return true;
	}
	return false;
}

static struct foreign_name *entry_new(struct foreign *f, const char *name)
{
	struct foreign_name *e = calloc(1, sizeof(*e));
	CHECK(e != NULL);
	memcpy(e->name, name, strlen(name) + 1);
	HASH_ADD_STR(f->names, name, e);
	return e;
}

/* NOLINTEND(readability-function-size,clang-analyzer-unix.Malloc) */

static bool may_ask(struct foreign *f, uint64_t now)
{
	if (now - f->second_ns >= NS_PER_S) {
		f->second_ns = now;
		f->asked = 0;
	}
	return f->asked++ < QUESTIONS_PER_S;
}

/* COMMAND INFO name, to the node that the name falls to; its answer comes to foreign_learn(). */
static void ask(struct call *call, struct foreign_name *e)
{
	static const struct cmd question = {.name = "command|info",
		.name_len = 12,
		.id = CMD_ID_COMMAND_INFO,
		.parent = CMD_ID_COMMAND,
		.flags = CMD_READONLY,
		.policy = POLICY_ANY,
		.family = FAMILY_SERVER};
	const struct span args[3] = {SPAN("COMMAND"), SPAN("INFO"), span_str(e->name)};
	struct call mine = *call;
	mine.cmd = &question;
	mine.args = args;
	mine.n = 3;
	uint32_t node = topology_owner(view_topology(call->client->pool->view), args[2]);
	call->client->barrier = true;
	split_question(&mine, node, e);
}

enum foreign_result foreign_find(struct call *call, const struct cmd **ret)
{
	struct foreign *f = table_of(call->client->worker);
	uint64_t now = loop_now(&call->client->worker->loop);
	char name[FOREIGN_NAME_MAX + 1];
	/* "config|get" is a name in COMMAND INFO, but not that of a command */
	if (call->args[0].len > FOREIGN_NAME_MAX ||
		memchr(call->args[0].ptr, 0, call->args[0].len) != NULL ||
		memchr(call->args[0].ptr, '|', call->args[0].len) != NULL)
		return FOREIGN_UNKNOWN;
	fold(name, call->args[0]);
	struct foreign_name *e = entry_find(f, name);
	if (e != NULL && e->known) {
		*ret = &e->cmd;
		return FOREIGN_KNOWN;
	}
	if (e != NULL && now < e->until_ns)
		return FOREIGN_UNKNOWN;
	/* a large request has been taken out of the client's buffer: it can't be looked at again */
	if (call->chunk != NULL || call->client->pool->view == NULL ||
		view_topology(call->client->pool->view)->nnodes == 0 || !may_ask(f, now))
		return FOREIGN_UNKNOWN;
	if (e == NULL) {
		if (!make_room(f))
			return FOREIGN_UNKNOWN;
		e = entry_new(f, name);
	}
	e->until_ns =
		BEING_ASKED; /* being asked: others don't ask too, and are told that it is unknown */
	ask(call, e);
	return FOREIGN_ASKED;
}

/* ---- the node's answer -------------------------------------------------------------------------- */

struct cursor {
	struct span rest;
	bool ok;
};

static int64_t take_head(struct cursor *c, const char *types)
{
	struct resp_head h;
	if (!c->ok || !resp_elem_head(c->rest.ptr, c->rest.len, &h) ||
		strchr(types, h.type) == NULL) {
		c->ok = false;
		return -1;
	}
	c->rest = span_of(c->rest.ptr + h.size, c->rest.len - h.size);
	return h.number;
}

/* A bulk or a simple string. */
static struct span take_text(struct cursor *c)
{
	size_t n = 0;
	if (!c->ok || !resp_elem_next(c->rest.ptr, c->rest.len, &n) || n < 3) {
		c->ok = false;
		return (struct span){0};
	}
	struct span all = span_of(c->rest.ptr, n);
	c->rest = span_of(c->rest.ptr + n, c->rest.len - n);
	if (all.ptr[0] == '+')
		return span_of(all.ptr + 1, n - 3);
	struct resp_head h;
	c->ok = resp_elem_head(all.ptr, all.len, &h) && h.type == '$' && h.number >= 0;
	return c->ok ? span_of(all.ptr + h.size, (size_t)h.number) : (struct span){0};
}

static uint32_t flag_named(struct span s)
{
#define X(id, text) \
	if (span_eq(s, SPAN(text))) \
		return CMD_##id;
	CMD_FLAGS(X)
#undef X
	return 0;
}

/* [name, arity, flags, first, last, step, ...].  False: no node knows it, or not that much of it. */
static bool parse_info(struct cmd *c, struct span reply)
{
	struct cursor at = {.rest = reply, .ok = true};
	if (take_head(&at, "*") != 1 || take_head(&at, "*") < 6)
		return false;
	(void)take_text(&at);
	int64_t arity = take_head(&at, ":");
	int64_t flags = take_head(&at, "*~");
	for (int64_t i = 0; i < flags && at.ok; i++)
		c->flags |= flag_named(take_text(&at));
	int64_t first = take_head(&at, ":");
	int64_t last = take_head(&at, ":");
	int64_t step = take_head(&at, ":");
	if (!at.ok || arity < INT8_MIN || arity > INT8_MAX || first < 0 || first > INT16_MAX ||
		last < INT16_MIN || last > INT16_MAX || step < 0 || step > INT8_MAX)
		return false;
	c->arity = (int8_t)arity;
	c->first_key = (int16_t)first;
	c->last_key = (int16_t)last;
	c->step = (int8_t)step;
	return true;
}

static void fill_cmd(struct foreign_name *e)
{
	struct cmd *c = &e->cmd;
	c->name = e->name;
	c->name_len = (uint8_t)strlen(e->name);
	c->id = c->parent = CMD_COUNT;
	c->family = FAMILY_SERVER;
	c->own = true;
	if (c->flags & CMD_MOVABLEKEYS) {
		c->policy = POLICY_REFUSED;
		c->reason = "where its keys are can't be told from COMMAND INFO";
	} else if (c->flags & CMD_BLOCKING) {
		c->policy = POLICY_PRIVATE;
	} else {
		c->policy = c->first_key > 0 ? POLICY_ONE : POLICY_ANY;
	}
	c->keys = c->first_key > 0 ? KEYS_RANGE : KEYS_NONE;
}

void foreign_asked(struct foreign_name *e)
{
	if (e->until_ns == BEING_ASKED)
		e->until_ns = 0; /* whoever asked has gone */
}

void foreign_learn(struct request *r, const uint8_t *reply, size_t n, bool failed)
{
	struct foreign_name *e = r->split->question;
	uint64_t now = loop_now(&r->pool->worker->loop);
	memset(&e->cmd, 0, sizeof(e->cmd));
	e->known = !failed && parse_info(&e->cmd, span_of(reply, n));
	e->until_ns = now + (failed ? FAILED_FOR : UNKNOWN_FOR);
	if (e->known)
		fill_cmd(e);
}
