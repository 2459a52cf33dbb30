/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * Commands that the router answers itself: those that are about the connection, which ends here.
 * The others are in local_info.c.
 */

#include "router/core/local.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/errors.h"
#include "router/core/worker.h"
#include "router/io/sock.h"
#include "router/wire/resp_write.h"

void local_error(const struct call *call, const char *fmt, ...)
{
	char line[400];
	struct text t;
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	error_text(&t, "%s", line);
	metric_add(call->client->worker->m, M_ERRORS_CLIENT, 1);
	client_answer(call->client, call->cmd, t.at, t.len);
}

static void answer_one_bulk(struct call *call, struct span s)
{
	struct answer a;
	answer_begin(&a, call);
	answer_bulk(&a, s);
	answer_send(&a, call);
}

static void run_ping(struct call *call)
{
	if (call->n == 1)
		answer_const(call, "+PONG\r\n");
	else if (call->n == 2)
		answer_one_bulk(call, call->args[1]);
	else
		local_error(call, "ERR wrong number of arguments for 'ping' command");
}

static void run_echo(struct call *call)
{
	answer_one_bulk(call, call->args[1]);
}

static void run_quit(struct call *call)
{
	answer_const(call, "+OK\r\n");
	client_finish(call->client);
}

static void run_time(struct call *call)
{
	struct timespec now;
	char text[32];
	struct answer a;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	answer_begin(&a, call);
	answer_array(&a, 2);
	(void)snprintf(text, sizeof(text), "%lld", (long long)now.tv_sec);
	answer_str(&a, text);
	(void)snprintf(text, sizeof(text), "%ld", now.tv_nsec / 1000);
	answer_str(&a, text);
	answer_send(&a, call);
}

static void run_role(struct call *call)
{
	answer_const(call, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
}

/* ---- database and protocol ----------------------------------------------------------------- */

/*
 * From the next request on the client uses other node connections.  Those before must be
 * answered first, so that its commands to a node take effect in the order sent.
 */
static void change_class(struct client *c, uint32_t database, int resp)
{
	uint32_t base = c->pool->opts->database;
	uint16_t to = up_class(base + database, resp);
	c->database = database;
	c->resp = (uint8_t)resp;
	if (to == c->class_id)
		return;
	c->class_id = to;
	c->barrier = true;
}

static void run_select(struct call *call)
{
	int64_t n = 0;
	if (!span_to_i64(call->args[1], &n)) {
		local_error(call, "ERR value is not an integer or out of range");
		return;
	}
	if (n < 0 || n >= LOCAL_DATABASES ||
		(uint64_t)n + call->client->pool->opts->database >= LOCAL_DATABASES) {
		local_error(call, "ERR DB index is out of range");
		return;
	}
	change_class(call->client, (uint32_t)n, call->client->resp);
	answer_const(call, "+OK\r\n");
}

/* ---- names and HELLO ----------------------------------------------------------------------- */

/* Redis: printable, no spaces. */
static bool name_ok(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < '!' || s.ptr[i] > '~')
			return false;
	return true;
}

static void set_name(struct client *c, struct span s)
{
	free(c->name);
	c->name = s.len > 0 ? strndup((const char *)s.ptr, s.len) : NULL;
	CHECK(s.len == 0 || c->name != NULL);
}

#define BAD_NAME "ERR Client names cannot contain spaces, newlines or special characters."

struct hello {
	int resp;
	bool named;
	struct span name;
};

/* What HELLO asks for.  False: an error was answered. */
static bool hello_parse(struct call *call, struct hello *h)
{
	int64_t version = 0;
	h->resp = call->client->resp;
	h->named = false;
	if (call->n == 1)
		return true;
	if (!span_to_i64(call->args[1], &version)) {
		local_error(call, "ERR Protocol version is not an integer or out of range");
		return false;
	}
	if (version != 2 && version != 3) {
		local_error(call, "NOPROTO unsupported protocol version");
		return false;
	}
	h->resp = (int)version;
	for (size_t i = 2; i < call->n; i++) {
		size_t more = call->n - 1 - i;
		if (span_eq_nocase(call->args[i], SPAN("AUTH")) && more >= 2) {
			i += 2; /* no passwords are configured: the default user takes any */
		} else if (span_eq_nocase(call->args[i], SPAN("SETNAME")) && more >= 1) {
			h->name = call->args[++i];
			h->named = true;
		} else {
			local_error(call, "ERR Syntax error in HELLO option '%.*s'",
				(int)(call->args[i].len < 128 ? call->args[i].len : 128),
				(const char *)call->args[i].ptr);
			return false;
		}
	}
	if (h->named && !name_ok(h->name)) {
		local_error(call, BAD_NAME);
		return false;
	}
	return true;
}

static void run_hello(struct call *call)
{
	struct client *c = call->client;
	struct hello h;
	if (!hello_parse(call, &h))
		return;
	if (h.named)
		set_name(c, h.name);
	change_class(c, c->database, h.resp);
	struct answer a;
	answer_begin(&a, call);
	answer_map(&a, 7);
	answer_str(&a, "server");
	answer_str(&a, "redis");
	answer_str(&a, "version");
	answer_str(&a, LOCAL_REDIS_VERSION);
	answer_str(&a, "proto");
	answer_int(&a, h.resp);
	answer_str(&a, "id");
	answer_int(&a, (int64_t)c->id);
	answer_str(&a, "mode");
	answer_str(&a, "standalone");
	answer_str(&a, "role");
	answer_str(&a, "master");
	answer_str(&a, "modules");
	answer_array(&a, 0);
	answer_send(&a, call);
}

static void run_auth(struct call *call)
{
	if (call->n > 3)
		local_error(call, "ERR syntax error");
	else if (call->n == 3 && span_eq(call->args[1], SPAN("default")))
		answer_const(call, "+OK\r\n");
	else if (call->n == 3)
		local_error(call, "WRONGPASS invalid username-password pair or user is disabled.");
	else
		local_error(call, "ERR AUTH <password> called without any password configured for "
				  "the default "
				  "user. Are you sure your configuration is correct?");
}

static void run_reset(struct call *call)
{
	set_name(call->client, (struct span){0});
	change_class(call->client, 0, 2);
	answer_const(call, "+RESET\r\n");
}

/* ---- CLIENT -------------------------------------------------------------------------------- */

static void run_client_id(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	answer_int(&a, (int64_t)call->client->id);
	answer_send(&a, call);
}

static void run_client_getname(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	if (call->client->name != NULL)
		answer_str(&a, call->client->name);
	else
		answer_null(&a);
	answer_send(&a, call);
}

static void run_client_setname(struct call *call)
{
	if (!name_ok(call->args[2])) {
		local_error(call, BAD_NAME);
		return;
	}
	set_name(call->client, call->args[2]);
	answer_const(call, "+OK\r\n");
}

static void run_client_info(struct call *call)
{
	const struct client *c = call->client;
	char peer[128], here[128], line[512];
	int n = snprintf(line, sizeof(line),
		"id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%s age=%" PRIu64
		" idle=0 flags=N db=%u sub=0 psub=0 ssub=0 multi=-1 qbuf=%zu qbuf-free=0 "
		"argv-mem=0 multi-mem=0 "
		"obl=%zu oll=0 omem=0 tot-mem=0 events=r cmd=client|info user=default redir=-1 "
		"resp=%u\n",
		c->id, sock_peer(c->fd, peer, sizeof(peer)), sock_local(c->fd, here, sizeof(here)),
		c->fd, c->name != NULL ? c->name : "",
		(loop_now(&c->worker->loop) - c->since_ns) / NS_PER_S, c->database,
		c->in != NULL ? chunk_len(c->in) : 0, sendq_held(&c->out), c->resp);
	struct answer a;
	answer_begin(&a, call);
	answer_text(&a, span_of(line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1));
	answer_send(&a, call);
}

/* ---- the table ----------------------------------------------------------------------------- */

static void (*const local_by_id[CMD_COUNT])(struct call *) = {
	[CMD_ID_PING] = run_ping,
	[CMD_ID_ECHO] = run_echo,
	[CMD_ID_QUIT] = run_quit,
	[CMD_ID_TIME] = run_time,
	[CMD_ID_ROLE] = run_role,
	[CMD_ID_SELECT] = run_select,
	[CMD_ID_HELLO] = run_hello,
	[CMD_ID_AUTH] = run_auth,
	[CMD_ID_RESET] = run_reset,
	[CMD_ID_CLIENT_ID] = run_client_id,
	[CMD_ID_CLIENT_GETNAME] = run_client_getname,
	[CMD_ID_CLIENT_SETNAME] = run_client_setname,
	[CMD_ID_CLIENT_INFO] = run_client_info,
	[CMD_ID_INFO] = local_info,
	[CMD_ID_COMMAND] = local_command,
	[CMD_ID_COMMAND_COUNT] = local_command_count,
	[CMD_ID_COMMAND_GETKEYS] = local_command_getkeys,
	[CMD_ID_COMMAND_INFO] = local_command_info,
	[CMD_ID_COMMAND_LIST] = local_command_list,
	[CMD_ID_CONFIG_GET] = local_config_get,
};

void local_run(struct call *call)
{
	void (*run)(struct call *) = local_by_id[call->cmd->id];
	if (run != NULL)
		run(call);
	else
		local_error(call, "ERR '%s' is not served yet", call->cmd->name);
}
