/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * CLIENT, as far as it is about the client itself.
 */

#include <limits.h>
#include <stdlib.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/client_show.h"
#include "router/core/local.h"
#include "router/core/worker.h"

static void answer_number(const struct call *call, int64_t n)
{
	struct answer a;
	answer_begin(&a, call);
	answer_int(&a, n);
	answer_send(&a, call);
}

bool local_parse_kind(const struct call *call, struct span name, enum client_kind *ret)
{
	if (client_kind_parse(name, ret))
		return true;
	local_error(
		call, "ERR Unknown client type '%.*s'", local_shown(name), (const char *)name.ptr);
	return false;
}

void *local_zeroed(size_t n, size_t size)
{
	void *p = calloc(n > 0 ? n : 1, size);
	CHECK(p != NULL);
	return p;
}

/* ---- who it is ----------------------------------------------------------------------------- */

void local_client_id(struct call *call)
{
	answer_number(call, (int64_t)call->client->id);
}

void local_client_getname(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	if (call->client->name != NULL)
		answer_str(&a, call->client->name);
	else
		answer_null(&a);
	answer_send(&a, call);
}

void local_client_setname(struct call *call)
{
	if (local_set_name(call, call->args[2]))
		answer_const(call, "+OK\r\n");
}

/* Of Redis 7.2: the name and version of the client's library. */
void local_client_setinfo(struct call *call)
{
	struct client *c = call->client;
	struct span option = call->args[2];
	char **field = span_eq_nocase(option, SPAN("lib-name"))  ? &c->lib_name
		       : span_eq_nocase(option, SPAN("lib-ver")) ? &c->lib_ver
								 : NULL;
	if (field == NULL) {
		local_error(call, "ERR Unrecognized option '%.*s'", local_shown(option),
			(const char *)option.ptr);
		return;
	}
	if (!local_name_ok(call->args[3])) {
		local_error(call, "ERR %.*s cannot contain spaces, newlines or special characters.",
			local_shown(option), (const char *)option.ptr);
		return;
	}
	free(*field);
	*field = local_copy(call->args[3]);
	answer_const(call, "+OK\r\n");
}

void local_client_info(struct call *call)
{
	char *line = NULL;
	size_t size = 0;
	struct answer a;
	FILE *out = open_memstream(&line, &size);
	CHECK(out != NULL);
	client_show(out, call->client);
	CHECK(fclose(out) == 0);
	answer_begin(&a, call);
	answer_text(&a, span_of(line, size));
	answer_send(&a, call);
	free(line);
}

/* ---- switches ------------------------------------------------------------------------------ */

void local_client_no_evict(struct call *call)
{
	bool on = span_eq_nocase(call->args[2], SPAN("on"));
	if (!on && !span_eq_nocase(call->args[2], SPAN("off"))) {
		local_syntax_error(call);
		return;
	}
	call->client->no_evict = on;
	answer_const(call, "+OK\r\n");
}

void local_client_reply(struct call *call)
{
	struct client *c = call->client;
	if (span_eq_nocase(call->args[2], SPAN("on"))) {
		gate_reply_on(c);
		answer_const(call, "+OK\r\n");
	} else if (span_eq_nocase(call->args[2], SPAN("off"))) {
		gate_reply_off(c);
	} else if (span_eq_nocase(call->args[2], SPAN("skip"))) {
		gate_reply_skip(c);
	} else {
		local_syntax_error(call);
	}
}

/* ---- tracking, which nobody can turn on ---------------------------------------------------- */

/* How many arguments the option takes, itself included; 0: it is none. */
static size_t tracking_option(struct span word)
{
	static const char *const plain[] = {"bcast", "optin", "optout", "noloop"};
	if (span_eq_nocase(word, SPAN("redirect")) || span_eq_nocase(word, SPAN("prefix")))
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (span_eq_nocase(word, span_str(plain[i])))
			return 1;
	return 0;
}

/* False: an error was answered. */
static bool tracking_options_ok(const struct call *call)
{
	int64_t id;
	size_t takes;
	for (size_t i = 3; i < call->n; i += takes) {
		takes = tracking_option(call->args[i]);
		if (takes == 0 || takes > call->n - i) {
			local_syntax_error(call);
			return false;
		}
		if (span_eq_nocase(call->args[i], SPAN("redirect")) &&
			!span_to_i64(call->args[i + 1], &id)) {
			local_error(call, "ERR value is not an integer or out of range");
			return false;
		}
	}
	return true;
}

void local_client_tracking(struct call *call)
{
	if (!tracking_options_ok(call))
		return;
	if (span_eq_nocase(call->args[2], SPAN("off")))
		answer_const(call, "+OK\r\n");
	else if (span_eq_nocase(call->args[2], SPAN("on")))
		local_error(call, "ERR 'client|tracking' ON is refused: nodes tell of changed keys "
				  "on their own connections only, which clients share");
	else
		local_syntax_error(call);
}

void local_client_trackinginfo(struct call *call)
{
	struct answer a;
	answer_begin(&a, call);
	answer_map(&a, 3);
	answer_str(&a, "flags");
	answer_set(&a, 1);
	answer_str(&a, "off");
	answer_str(&a, "redirect");
	answer_int(&a, -1);
	answer_str(&a, "prefixes");
	answer_array(&a, 0);
	answer_send(&a, call);
}

void local_client_caching(struct call *call)
{
	local_error(call,
		"ERR CLIENT CACHING can be called only when the client is in tracking mode "
		"with OPTIN or OPTOUT mode enabled");
}

void local_client_getredir(struct call *call)
{
	answer_number(call, -1);
}
