/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/local.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "router/core/answer.h"
#include "router/core/errors.h"
#include "router/core/local_config.h"
#include "router/core/worker.h"

/* ---- errors -------------------------------------------------------------------------------- */

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

void local_syntax_error(const struct call *call)
{
	local_error(call, "ERR syntax error");
}

int local_shown(struct span s)
{
	return (int)strnlen((const char *)s.ptr, s.len < 128 ? s.len : 128);
}

void local_wrong_subcommand(const struct call *call)
{
	char container[32];
	const struct cmd *of = cmd_at(call->cmd->parent);
	size_t n = 0;
	for (; n < of->name_len && n < sizeof(container) - 1; n++)
		container[n] = (char)toupper((unsigned char)of->name[n]);
	container[n] = 0;
	local_error(call,
		"ERR unknown subcommand or wrong number of arguments for '%.*s'. Try %s HELP.",
		local_shown(call->args[1]), (const char *)call->args[1].ptr, container);
}

/* ---- the connection ------------------------------------------------------------------------ */

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

/* Redis leaves the connection open when CLIENT REPLY keeps it from saying +OK; nobody is served by
 * that. */
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

static void no_cluster(struct call *call)
{
	local_error(call, "ERR This instance has cluster support disabled");
}

/* ---- the database -------------------------------------------------------------------------- */

void local_change_class(struct client *c, uint32_t database, int resp)
{
	uint16_t to = up_class(database, resp);
	c->database = database;
	c->resp = (uint8_t)resp;
	if (to == c->class_id)
		return;
	c->class_id = to;
	c->barrier = true;
}

void local_select_known(struct client *c, uint64_t database, struct text *ret)
{
	if (database >= local_databases(c->pool)) {
		error_text(ret, "ERR DB index is out of range");
		return;
	}
	local_change_class(c, (uint32_t)database, c->resp);
	ret->len = (size_t)snprintf(ret->at, sizeof(ret->at), "+OK\r\n");
}

static void run_select(struct call *call)
{
	struct client *c = call->client;
	struct text t;
	int64_t n = 0;
	if (!span_to_i64(call->args[1], &n)) {
		local_error(call, "ERR value is not an integer or out of range");
	} else if (n < INT_MIN || n > INT_MAX) {
		local_error(call, "ERR value is out of range, value must between %d and %d",
			INT_MIN, INT_MAX);
	} else if (n > 0 && c->pool->databases == 0) {
		local_select_asking(call, (uint32_t)n);
	} else {
		local_select_known(c, n < 0 ? UINT64_MAX : (uint64_t)n, &t);
		client_answer(c, call->cmd, t.at, t.len);
	}
}

/* ---- the table ----------------------------------------------------------------------------- */

static void (*const local_by_id[CMD_COUNT])(struct call *) = {
	[CMD_ID_ACL_CAT] = local_acl_cat,
	[CMD_ID_ACL_GENPASS] = local_acl_genpass,
	[CMD_ID_ACL_WHOAMI] = local_acl_whoami,
	[CMD_ID_ASKING] = no_cluster,
	[CMD_ID_AUTH] = local_auth,
	[CMD_ID_CLIENT_CACHING] = local_client_caching,
	[CMD_ID_CLIENT_GETNAME] = local_client_getname,
	[CMD_ID_CLIENT_GETREDIR] = local_client_getredir,
	[CMD_ID_CLIENT_ID] = local_client_id,
	[CMD_ID_CLIENT_INFO] = local_client_info,
	[CMD_ID_CLIENT_KILL] = local_client_kill,
	[CMD_ID_CLIENT_LIST] = local_client_list,
	[CMD_ID_CLIENT_NO_EVICT] = local_client_no_evict,
	[CMD_ID_CLIENT_PAUSE] = local_client_pause,
	[CMD_ID_CLIENT_REPLY] = local_client_reply,
	[CMD_ID_CLIENT_SETINFO] = local_client_setinfo,
	[CMD_ID_CLIENT_SETNAME] = local_client_setname,
	[CMD_ID_CLIENT_TRACKING] = local_client_tracking,
	[CMD_ID_CLIENT_TRACKINGINFO] = local_client_trackinginfo,
	[CMD_ID_CLIENT_UNBLOCK] = local_client_unblock,
	[CMD_ID_CLIENT_UNPAUSE] = local_client_unpause,
	[CMD_ID_CLUSTER_COUNT_FAILURE_REPORTS] = no_cluster,
	[CMD_ID_CLUSTER_COUNTKEYSINSLOT] = no_cluster,
	[CMD_ID_CLUSTER_GETKEYSINSLOT] = no_cluster,
	[CMD_ID_CLUSTER_HELP] = no_cluster,
	[CMD_ID_CLUSTER_INFO] = no_cluster,
	[CMD_ID_CLUSTER_KEYSLOT] = no_cluster,
	[CMD_ID_CLUSTER_LINKS] = no_cluster,
	[CMD_ID_CLUSTER_MYID] = no_cluster,
	[CMD_ID_CLUSTER_NODES] = no_cluster,
	[CMD_ID_CLUSTER_REPLICAS] = no_cluster,
	[CMD_ID_CLUSTER_SHARDS] = no_cluster,
	[CMD_ID_CLUSTER_SLAVES] = no_cluster,
	[CMD_ID_CLUSTER_SLOTS] = no_cluster,
	[CMD_ID_COMMAND] = local_command,
	[CMD_ID_COMMAND_COUNT] = local_command_count,
	[CMD_ID_COMMAND_GETKEYS] = local_command_getkeys,
	[CMD_ID_COMMAND_INFO] = local_command_info,
	[CMD_ID_COMMAND_LIST] = local_command_list,
	[CMD_ID_CONFIG_GET] = local_config_get,
	[CMD_ID_ECHO] = run_echo,
	[CMD_ID_HELLO] = local_hello,
	[CMD_ID_INFO] = local_info,
	[CMD_ID_PING] = run_ping,
	[CMD_ID_QUIT] = run_quit,
	[CMD_ID_READONLY] = no_cluster,
	[CMD_ID_READWRITE] = no_cluster,
	[CMD_ID_RESET] = local_reset,
	[CMD_ID_ROLE] = run_role,
	[CMD_ID_SELECT] = run_select,
	[CMD_ID_TIME] = run_time,
};

void local_run(struct call *call)
{
	void (*run)(struct call *) = local_by_id[call->cmd->id];
	if (run != NULL)
		run(call);
	else
		local_error(call, "ERR '%s' is not served yet", call->cmd->name);
}
