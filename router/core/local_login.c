/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * HELLO, AUTH and RESET: who the client is and which protocol it speaks.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/local.h"
#include "router/core/tx.h"
#include "router/core/worker.h"
#include "router/io/sock.h"

/* ---- names --------------------------------------------------------------------------------- */

bool local_name_ok(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < '!' || s.ptr[i] > '~')
			return false;
	return true;
}

char *local_copy(struct span s)
{
	return s.len > 0 ? span_dup(s) : NULL;
}

bool local_set_name(const struct call *call, struct span name)
{
	if (!local_name_ok(name)) {
		local_error(call, "ERR Client names cannot contain spaces, newlines or special "
				  "characters.");
		return false;
	}
	free(call->client->name);
	call->client->name = local_copy(name);
	return true;
}

/* ---- passwords ----------------------------------------------------------------------------- */

static void tell_failed(const struct client *c, struct span user)
{
	char who[80], peer[128];
	uint32_t dropped = 0;
	struct log_rate *rate = &c->pool->login_complaints;
	if (!log_rate_pass(rate, loop_now(&c->worker->loop), NS_PER_S, &dropped))
		return;
	log_warn("auth", "login failed", "pool=%s id=%" PRIu64 " peer=%s user=%s not_told=%u",
		c->pool->opts->name, c->id, client_peer(c, peer, sizeof(peer)),
		log_quote(who, sizeof(who), user.ptr, user.len), dropped);
}

/* False: an error was answered; the client is who it was. */
static bool log_in(const struct call *call, struct span name, struct span password)
{
	struct client *c = call->client;
	const struct user *u = user_set_login(c->pool->users, name, password);
	if (u == NULL) {
		tell_failed(c, name);
		local_error(call, "WRONGPASS invalid username-password pair or user is disabled.");
		return false;
	}
	gate_login(c, u);
	return true;
}

void local_auth(struct call *call)
{
	if (call->n > 3) {
		local_error(call, "ERR syntax error");
		return;
	}
	if (call->n == 2 && user_set_default(call->client->pool->users)->nopass) {
		local_error(call, "ERR AUTH <password> called without any password configured for "
				  "the default user. Are you sure your configuration is correct?");
		return;
	}
	struct span name = call->n == 3 ? call->args[1] : SPAN(USER_DEFAULT);
	if (log_in(call, name, call->args[call->n - 1]))
		answer_const(call, "+OK\r\n");
}

/* ---- HELLO --------------------------------------------------------------------------------- */

/* False: an error was answered. */
static bool hello_version(const struct call *call, int *ret_resp)
{
	int64_t version = 0;
	if (!span_to_i64(call->args[1], &version)) {
		local_error(call, "ERR Protocol version is not an integer or out of range");
		return false;
	}
	if (version != 2 && version != 3) {
		local_error(call, "NOPROTO unsupported protocol version");
		return false;
	}
	*ret_resp = (int)version;
	return true;
}

/* The option at args[*i], which takes effect at once.  False: an error was answered. */
static bool hello_option(const struct call *call, size_t *i)
{
	struct span word = call->args[*i];
	size_t more = call->n - 1 - *i;
	if (span_eq_nocase(word, SPAN("AUTH")) && more >= 2) {
		*i += 2;
		return log_in(call, call->args[*i - 1], call->args[*i]);
	}
	if (span_eq_nocase(word, SPAN("SETNAME")) && more >= 1)
		return local_set_name(call, call->args[++*i]);
	local_error(call, "ERR Syntax error in HELLO option '%.*s'", local_shown(word),
		(const char *)word.ptr);
	return false;
}

static void answer_hello(const struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	answer_map(&a, 7);
	answer_str(&a, "server");
	answer_str(&a, "redis");
	answer_str(&a, "version");
	answer_str(&a, LOCAL_REDIS_VERSION);
	answer_str(&a, "proto");
	answer_int(&a, call->client->resp);
	answer_str(&a, "id");
	answer_int(&a, (int64_t)call->client->id);
	answer_str(&a, "mode");
	answer_str(&a, "standalone");
	answer_str(&a, "role");
	answer_str(&a, "master");
	answer_str(&a, "modules");
	answer_array(&a, 0);
	answer_send(&a, call);
}

void local_hello(struct call *call)
{
	struct client *c = call->client;
	int resp = c->resp;
	if (call->n > 1 && !hello_version(call, &resp))
		return;
	for (size_t i = 2; i < call->n; i++)
		if (!hello_option(call, &i))
			return;
	if (c->special & SPECIAL_ANONYMOUS) {
		local_error(call,
			"NOAUTH HELLO must be called with the client already authenticated, "
			"otherwise the HELLO AUTH <user> <pass> option can be used to authenticate "
			"the client and select the RESP protocol version at the same time");
		return;
	}
	local_change_class(c, c->database, resp);
	answer_hello(call);
}

void local_reset(struct call *call)
{
	struct client *c = call->client;
	free(c->name);
	c->name = NULL;
	tx_forget(c);
	gate_reset(c);
	local_change_class(c, c->pool->opts->database, 2);
	answer_const(call, "+RESET\r\n");
}
