/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * CONFIG GET, and how many databases there are: what the nodes say, but for what is the router's own.
 */

#include "router/core/local_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/errors.h"
#include "router/core/local.h"
#include "router/core/split.h"
#include "router/core/worker.h"
#include "router/wire/resp_elem.h"

/* ---- a node's answer --------------------------------------------------------------------------- */

/* Pairs of a map, or of an array in RESP2. */
struct pairs {
	struct span rest;
	size_t n;
};

static bool pairs_open(const struct slot *s, struct pairs *ret)
{
	struct resp_head head;
	if (s->failed || !resp_elem_head(chunk_bytes(s->reply), chunk_len(s->reply), &head))
		return false;
	if ((head.type != '*' && head.type != '%') || head.number < 0)
		return false;
	ret->n = (size_t)head.number / (head.type == '*' ? 2 : 1);
	ret->rest = span_of(chunk_bytes(s->reply) + head.size, chunk_len(s->reply) - head.size);
	return true;
}

static bool take_bulk(struct span *rest, struct span *ret)
{
	struct resp_head head;
	size_t n = 0;
	if (!resp_elem_next(rest->ptr, rest->len, &n) || !resp_elem_head(rest->ptr, n, &head) ||
		head.type != '$' || head.number < 0)
		return false;
	*ret = span_of(rest->ptr + head.size, (size_t)head.number);
	*rest = span_of(rest->ptr + n, rest->len - n);
	return true;
}

static bool pairs_next(struct pairs *p, struct span *name, struct span *value)
{
	return p->n-- > 0 && take_bulk(&p->rest, name) && take_bulk(&p->rest, value);
}

/* The first, by name, of the nodes that answered; NULL: none did. */
static const struct slot *first_answer(const struct request *r)
{
	const struct slot *first = NULL;
	struct pairs p;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		if (pairs_open(s, &p) &&
			(first == NULL || strcmp(view_node_name(r->view, s->part.node),
						  view_node_name(r->view, first->part.node)) < 0))
			first = s;
	}
	return first;
}

/* The smallest number that a node gives under this name; 0: none gives one. */
static uint64_t smallest(const struct request *r, const char *wanted)
{
	uint64_t least = 0;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		struct pairs p;
		struct span name = {0}, value = {0};
		uint64_t n = 0;
		if (!pairs_open(&r->split->slots[i], &p))
			continue;
		while (pairs_next(&p, &name, &value))
			if (span_eq_nocase(name, span_str(wanted)) &&
				span_to_u64(value, UINT64_MAX, &n) && n > 0 &&
				(least == 0 || n < least))
				least = n;
	}
	return least;
}

/* ---- CONFIG GET --------------------------------------------------------------------------------- */

/* A node's passwords are no client's business. */
static const char *const config_secrets[] = {
	"requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass"};

/* The value that stands for the node's; false: the node's is right. */
static bool config_own(const struct request *r, struct span name, char *buf, size_t size)
{
	const struct worker *w = r->pool->worker;
	uint64_t n;
	for (size_t i = 0; i < ARRAY_LEN(config_secrets); i++) {
		if (span_eq_nocase(name, span_str(config_secrets[i]))) {
			buf[0] = 0;
			return true;
		}
	}
	if (span_eq_nocase(name, SPAN("maxclients")))
		n = w->opts.limits->clients;
	else if (span_eq_nocase(name, SPAN("port")))
		n = w->opts.facts->port;
	else if (span_eq_nocase(name, SPAN("timeout")))
		n = w->opts.limits->idle_timeout_ns / NS_PER_S;
	else if (span_eq_nocase(name, SPAN("databases")))
		n = smallest(r, "databases");
	else
		return false;
	(void)snprintf(buf, size, "%llu", (unsigned long long)n);
	return true;
}

static void merge_config(struct request *r)
{
	const struct slot *first = first_answer(r);
	struct pairs p;
	struct span name = {0}, value = {0};
	char own[32];
	struct answer a;
	if (r->split->nslots == 0) {
		struct text t;
		error_text(&t, "UNAVAILABLE there is no node to ask");
		request_reply_bytes(r, (const uint8_t *)t.at, t.len);
		return;
	}
	if (first == NULL || !pairs_open(first, &p)) {
		const struct chunk *error = r->split->slots[0].reply;
		request_reply_bytes(r, error->data + error->start, chunk_len(error));
		return;
	}
	answer_begin_as(&a, (int)r->split->argument);
	answer_map(&a, p.n);
	while (pairs_next(&p, &name, &value)) {
		answer_bulk(&a, name);
		if (config_own(r, name, own, sizeof(own)))
			answer_str(&a, own);
		else
			answer_bulk(&a, value);
	}
	answer_merged(&a, r);
}

void local_config_get(struct call *call)
{
	split_collect(call, call->client->resp, merge_config);
}

/* ---- how many databases ------------------------------------------------------------------------- */

uint32_t local_databases(const struct worker_pool *p)
{
	return p->databases != 0 ? p->databases : LOCAL_DATABASES;
}

static void merge_databases(struct request *r)
{
	uint64_t n = smallest(r, "databases");
	if (n != 0) /* else nobody said: it is asked again next time */
		r->pool->databases = n < LOCAL_DATABASES_MAX ? (uint32_t)n : LOCAL_DATABASES_MAX;
	struct text t;
	local_select_known(r->client, (uint64_t)r->split->argument, &t);
	request_reply_bytes(r, (const uint8_t *)t.at, t.len);
}

void local_select_asking(struct call *call, uint32_t database)
{
	static const struct span args[] = {SPAN("CONFIG"), SPAN("GET"), SPAN("databases")};
	struct call ours = *call;
	ours.args = args;
	ours.n = ARRAY_LEN(args);
	call->client->barrier = true; /* what comes after it uses the database that it chooses */
	split_collect(&ours, database, merge_databases);
}
