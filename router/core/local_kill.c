/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * CLIENT KILL: an errand that closes the clients that all its filters fit.
 */

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/client_show.h"
#include "router/core/local.h"
#include "router/core/worker.h"

struct kill_errand {
	struct errand e; /* first */
	bool old_form;   /* an address alone: +OK, or an error when nobody has it */
	bool skip_me;
	bool by_kind;
	enum client_kind kind;
	uint64_t id; /* 0: any */
	char *addr;  /* owned; NULL: any */
	char *laddr; /* owned */
	char *user;  /* owned */
	int64_t killed;
};

static bool is_at(const char *wanted, const char *address)
{
	return wanted == NULL || strcmp(wanted, address) == 0;
}

static bool is_to_die(const struct kill_errand *k, const struct client *c)
{
	char buf[CLIENT_ADDRESS_MAX];
	if (k->id != 0 && c->id != k->id)
		return false;
	if (k->by_kind && client_kind_of(c) != k->kind)
		return false;
	if (k->user != NULL && strcmp(k->user, c->user->name) != 0)
		return false;
	if (c->id == k->e.asker && k->skip_me)
		return false;
	return (k->addr == NULL || is_at(k->addr, client_peer(c, buf, sizeof(buf)))) &&
	       (k->laddr == NULL || is_at(k->laddr, client_local(c, buf, sizeof(buf))));
}

static void kill_visit(struct errand *e, struct worker_pool *p)
{
	struct kill_errand *k = CONTAINER_OF(e, struct kill_errand, e);
	struct client *c;
	TAILQ_FOREACH (c, &p->worker->clients, all) {
		if (!client_is_there(c, p) || !is_to_die(k, c))
			continue;
		k->killed++;
		if (c->id == e->asker)
			e->closes_asker = true;
		else
			client_doom(c, "killed by another client");
	}
}

static void kill_answer(struct errand *e, struct answer *a)
{
	struct kill_errand *k = CONTAINER_OF(e, struct kill_errand, e);
	if (!k->old_form)
		answer_int(a, k->killed);
	else
		answer_line(a, k->killed > 0 ? "+OK" : "-ERR No such client");
}

static void kill_free(struct errand *e)
{
	struct kill_errand *k = CONTAINER_OF(e, struct kill_errand, e);
	free(k->addr);
	free(k->laddr);
	free(k->user);
	free(k);
}

static const struct errand_ops kill_ops = {
	.visit = kill_visit, .answer = kill_answer, .free = kill_free};

static char *text_of(char *old, struct span s)
{
	char *copy = span_dup(s);
	free(old);
	return copy;
}

static bool kill_id(const struct call *call, struct kill_errand *k, struct span value)
{
	int64_t id = 0;
	if (!span_to_i64(value, &id) || id < 1) {
		local_error(call, "ERR client-id should be greater than 0");
		return false;
	}
	k->id = (uint64_t)id;
	return true;
}

static bool kill_user(const struct call *call, struct kill_errand *k, struct span value)
{
	if (user_set_find(call->client->pool->users, value) == NULL) {
		local_error(call, "ERR No such user '%.*s'", local_shown(value),
			(const char *)value.ptr);
		return false;
	}
	k->user = text_of(k->user, value);
	return true;
}

/* One option and its value.  False: an error was answered. */
static bool kill_option(
	const struct call *call, struct kill_errand *k, struct span option, struct span value)
{
	if (span_eq_nocase(option, SPAN("id")))
		return kill_id(call, k, value);
	if (span_eq_nocase(option, SPAN("user")))
		return kill_user(call, k, value);
	if (span_eq_nocase(option, SPAN("type"))) {
		k->by_kind = true;
		return local_parse_kind(call, value, &k->kind);
	}
	if (span_eq_nocase(option, SPAN("addr"))) {
		k->addr = text_of(k->addr, value);
	} else if (span_eq_nocase(option, SPAN("laddr"))) {
		k->laddr = text_of(k->laddr, value);
	} else if (span_eq_nocase(option, SPAN("skipme")) && span_eq_nocase(value, SPAN("yes"))) {
		k->skip_me = true;
	} else if (span_eq_nocase(option, SPAN("skipme")) && span_eq_nocase(value, SPAN("no"))) {
		k->skip_me = false;
	} else {
		local_syntax_error(call);
		return false;
	}
	return true;
}

/* False: an error was answered. */
static bool kill_parse(const struct call *call, struct kill_errand *k)
{
	k->old_form = call->n == 3;
	k->skip_me = !k->old_form;
	if (k->old_form) {
		k->addr = text_of(NULL, call->args[2]);
		return true;
	}
	for (size_t i = 2; i < call->n; i += 2) {
		if (i + 1 == call->n) {
			local_syntax_error(call);
			return false;
		}
		if (!kill_option(call, k, call->args[i], call->args[i + 1]))
			return false;
	}
	return true;
}

void local_client_kill(struct call *call)
{
	struct kill_errand *k = local_zeroed(1, sizeof(*k));
	k->e.ops = &kill_ops;
	if (kill_parse(call, k))
		errand_start(call, &k->e);
	else
		kill_free(&k->e);
}
