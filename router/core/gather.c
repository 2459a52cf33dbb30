/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/client.h"
#include "router/core/errors.h"
#include "router/core/script.h"
#include "router/core/script_store.h"
#include "router/core/worker.h"
#include "router/wire/resp_elem.h"
#include "router/wire/resp_write.h"

/* ---- pieces of a merged reply ------------------------------------------------------------------ */

static void put(struct request *r, const void *bytes, size_t n)
{
	request_reply_bytes(r, bytes, n);
}

static void put_head(struct request *r, uint8_t type, int64_t n)
{
	uint8_t buf[RESP_HEAD_SIZE];
	put(r, buf, (size_t)(resp_put_head(buf, type, n) - buf));
}

static void put_error(struct request *r, const char *why)
{
	struct text t;
	error_text(&t, "ERR %s", why);
	put(r, t.at, t.len);
}

/* A node's whole reply. */
static struct span whole(const struct slot *s)
{
	return span_of(chunk_bytes(s->reply), chunk_len(s->reply));
}

/* Head of a node's reply and the bytes behind it.  False: it is not of this type. */
static bool open_reply(const struct slot *s, uint8_t type, int64_t *ret_n, struct span *ret_rest)
{
	struct resp_head head;
	struct span all = whole(s);
	if (!resp_elem_head(all.ptr, all.len, &head) || head.type != type || head.number < 0)
		return false;
	*ret_n = head.number;
	*ret_rest = span_of(all.ptr + head.size, all.len - head.size);
	return true;
}

/* Takes the next element off the front. */
static bool next_elem(struct span *rest, struct span *ret)
{
	size_t n = 0;
	if (!resp_elem_next(rest->ptr, rest->len, &n))
		return false;
	*ret = span_of(rest->ptr, n);
	*rest = span_of(rest->ptr + n, rest->len - n);
	return true;
}

static bool elem_int(struct span e, int64_t *ret)
{
	struct resp_head head;
	if (!resp_elem_head(e.ptr, e.len, &head) || head.type != ':')
		return false;
	*ret = head.number;
	return true;
}

static bool elem_bulk(struct span e, struct span *ret)
{
	struct resp_head head;
	if (!resp_elem_head(e.ptr, e.len, &head) || (head.type != '$' && head.type != '=') ||
		head.number < 0)
		return false;
	*ret = span_of(e.ptr + head.size, (size_t)head.number);
	return true;
}

static void nonsense(struct request *r)
{
	put_error(r, "the nodes' answers do not fit together");
}

/* ---- merging ------------------------------------------------------------------------------------ */

/* All said the same sort of thing: the first speaks for them. */
static void merge_first(struct request *r)
{
	struct span s = whole(&r->split->slots[0]);
	put(r, s.ptr, s.len);
}

static void merge_total(struct request *r)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		int64_t n = 0;
		if (!elem_int(whole(&r->split->slots[i]), &n) ||
			__builtin_add_overflow(sum, n, &sum)) {
			nonsense(r);
			return;
		}
	}
	put_head(r, ':', sum);
}

/* LASTSAVE: what all have saved. */
static void merge_least(struct request *r)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		int64_t n = 0;
		if (!elem_int(whole(&r->split->slots[i]), &n)) {
			nonsense(r);
			return;
		}
		least = n < least ? n : least;
	}
	put_head(r, ':', least);
}

static void merge_concat(struct request *r)
{
	int64_t n = 0, sum = 0;
	struct span rest = {0};
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		if (!open_reply(&r->split->slots[i], '*', &n, &rest)) {
			nonsense(r);
			return;
		}
		sum += n;
	}
	put_head(r, '*', sum);
	for (uint32_t i = 0; i < r->split->nslots; i++)
		if (open_reply(&r->split->slots[i], '*', &n, &rest))
			put(r, rest.ptr, rest.len);
}

/* Verbatim strings of RESP3 tell their kind first: "txt:". */
static struct span bare_text(const struct slot *s, struct span text)
{
	size_t kind = whole(s).ptr[0] == '=' && text.len >= 4 ? 4 : 0;
	return span_of(text.ptr + kind, text.len - kind);
}

/* Text for people: each node's under its name. */
static void merge_text(struct request *r)
{
	bool verbatim = whole(&r->split->slots[0]).ptr[0] == '=';
	size_t total = verbatim ? strlen("txt:") : 0;
	struct span text = {0};
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		if (!elem_bulk(whole(s), &text)) {
			nonsense(r);
			return;
		}
		total += strlen("# node \n\n") + strlen(view_node_name(r->view, s->part.node)) +
			 bare_text(s, text).len;
	}
	put_head(r, verbatim ? '=' : '$', (int64_t)total);
	if (verbatim)
		put(r, "txt:", strlen("txt:"));
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		const char *name = view_node_name(r->view, s->part.node);
		(void)elem_bulk(whole(s), &text);
		text = bare_text(s, text);
		put(r, "# node ", strlen("# node "));
		put(r, name, strlen(name));
		put(r, "\n", 1);
		put(r, text.ptr, text.len);
		put(r, "\n", 1);
	}
	put(r, "\r\n", 2);
}

/* A key that the answering node does not own is a leftover of an earlier ring: nobody can read it. */
static bool owned_by(const struct request *r, const struct slot *s, struct span elem)
{
	struct span key;
	return elem_bulk(elem, &key) && topology_owner(view_topology(r->view), key) == s->part.node;
}

static void merge_keys(struct request *r)
{
	int64_t n = 0, sum = 0;
	struct span rest = {0}, e = {0};
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		if (!open_reply(s, '*', &n, &rest)) {
			nonsense(r);
			return;
		}
		while (next_elem(&rest, &e))
			sum += owned_by(r, s, e);
	}
	put_head(r, '*', sum);
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		(void)open_reply(s, '*', &n, &rest);
		while (next_elem(&rest, &e))
			if (owned_by(r, s, e))
				put(r, e.ptr, e.len);
	}
}

static void merge_random_key(struct request *r)
{
	uint32_t n = r->split->nslots;
	uint32_t first = rng_below(&r->pool->worker->rng, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct slot *s = &r->split->slots[(first + i) % n];
		if (!owned_by(r, s, whole(s)))
			continue;
		put(r, whole(s).ptr, whole(s).len);
		return;
	}
	uint8_t buf[8];
	put(r, buf, (size_t)(resp_put_null(buf, (int)r->split->argument) - buf));
}

/* Entries of arrays whose element `field` is a time: the latest first, or the earliest. */
struct timed {
	int64_t at;
	struct span elem;
};

static int later_first(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;
	return (x->at < y->at) - (x->at > y->at);
}

static int earlier_first(const void *a, const void *b)
{
	return later_first(b, a);
}

static int64_t elem_time(struct span e, unsigned field)
{
	struct resp_head head;
	struct span f;
	int64_t at = 0;
	if (!resp_elem_head(e.ptr, e.len, &head) || head.type != '*')
		return 0;
	struct span rest = span_of(e.ptr + head.size, e.len - head.size);
	for (unsigned i = 0; i <= field; i++)
		if (!next_elem(&rest, &f))
			return 0;
	return elem_int(f, &at) ? at : 0;
}

static size_t count_elems(const struct request *r)
{
	size_t sum = 0;
	int64_t n = 0;
	struct span rest = {0};
	for (uint32_t i = 0; i < r->split->nslots; i++)
		if (open_reply(&r->split->slots[i], '*', &n, &rest))
			sum += (size_t)n;
	return sum;
}

static void merge_timed(
	struct request *r, unsigned field, int64_t most, int (*order)(const void *, const void *))
{
	size_t room = count_elems(r), n = 0;
	struct timed *all = calloc(room + 1, sizeof(*all));
	struct span rest = {0}, e = {0};
	int64_t count;
	CHECK(all != NULL);
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		if (!open_reply(&r->split->slots[i], '*', &count, &rest))
			continue;
		while (n < room && next_elem(&rest, &e))
			all[n++] = (struct timed){.at = elem_time(e, field), .elem = e};
	}
	qsort(all, n, sizeof(*all), order);
	if (most >= 0 && (size_t)most < n)
		n = (size_t)most;
	put_head(r, '*', (int64_t)n);
	for (size_t i = 0; i < n; i++)
		put(r, all[i].elem.ptr, all[i].elem.len);
	free(all);
}

/* [id, time, ...]: as many as were asked for, 10 if nothing was said, -1: all. */
static void merge_slowlog(struct request *r)
{
	merge_timed(r, 1, r->split->argument, later_first);
}

/* [time, latency] */
static void merge_latency_history(struct request *r)
{
	merge_timed(r, 0, -1, earlier_first);
}

/* ---- CONFIG SET --------------------------------------------------------------------------------- */

/* The router's connections to its nodes depend on these. */
static const char *const config_fixed[] = {"requirepass", "masterauth", "masteruser", "port",
	"bind", "tls-*", "unixsocket", "unixsocketperm", "aclfile", "maxclients"};

static bool config_set_allowed(struct call *call)
{
	for (size_t i = 2; i < call->n; i += 2) {
		for (size_t k = 0; k < ARRAY_LEN(config_fixed); k++) {
			if (!span_glob(span_str(config_fixed[k]), call->args[i], true))
				continue;
			struct text t;
			error_text(&t,
				"ERR CONFIG SET %.*s is refused: the router's connections to the "
				"nodes depend on it",
				(int)(call->args[i].len < 64 ? call->args[i].len : 64),
				(const char *)call->args[i].ptr);
			client_answer(call->client, call->cmd, t.at, t.len);
			return false;
		}
	}
	return true;
}

/* ---- scripts ------------------------------------------------------------------------------------ */

static bool keep_script(struct call *call)
{
	script_note(call);
	return true;
}

/* Known to the router from now on, or not, as far as SCRIPT EXISTS asks. */
struct kept {
	size_t n;
	bool is[];
};

static void *which_are_kept(const struct call *call)
{
	struct script_store *store = call->client->worker->opts.scripts;
	struct kept *k = calloc(1, sizeof(*k) + call->n);
	uint8_t sha[SHA1_SIZE];
	CHECK(k != NULL);
	k->n = call->n - 2;
	for (size_t i = 0; i < k->n && store != NULL; i++)
		k->is[i] = sha1_of_hex(call->args[2 + i], sha) &&
			   script_store_touch(store, call->client->pool->index, sha);
	return k;
}

/* The next answer of each node: how many of them are yes; -1: nonsense. */
static int64_t take_votes(struct span *rest, uint32_t n)
{
	int64_t sum = 0, vote = 0;
	struct span e;
	for (uint32_t i = 0; i < n; i++) {
		if (!next_elem(&rest[i], &e) || !elem_int(e, &vote))
			return -1;
		sum += vote == 1;
	}
	return sum;
}

/*
 * A script exists when every node has it, or when one has it and the router knows the body: then the others get it in
 * time.  The router alone does not count: it can't tell whether a body is a script.
 */
static void put_votes(struct request *r, const struct kept *k, struct span *rest)
{
	uint32_t n = r->split->nslots;
	put_head(r, '*', (int64_t)k->n);
	for (size_t i = 0; i < k->n; i++) {
		int64_t yes = take_votes(rest, n);
		put_head(r, ':', yes == n || (yes > 0 && k->is[i]));
	}
}

static void merge_script_exists(struct request *r)
{
	const struct kept *k = r->split->baggage;
	struct span *rest = calloc(r->split->nslots, sizeof(*rest));
	int64_t count = 0;
	bool fit = true;
	CHECK(rest != NULL);
	for (uint32_t i = 0; i < r->split->nslots; i++)
		fit = fit && open_reply(&r->split->slots[i], '*', &count, &rest[i]) &&
		      count == (int64_t)k->n;
	if (fit)
		put_votes(r, k, rest);
	else
		nonsense(r);
	free(rest);
}

/* The router forgets at once; what connections learn until the last node has forgotten does not hold either. */
static bool flush_scripts(struct call *call)
{
	struct script_store *store = call->client->worker->opts.scripts;
	bool plain = call->n == 2;
	bool mode = call->n == 3 && (span_eq_nocase(call->args[2], SPAN("ASYNC")) ||
					    span_eq_nocase(call->args[2], SPAN("SYNC")));
	if (store != NULL && (plain || mode))
		script_store_flush(store, call->client->pool->index);
	return true; /* anything else the nodes refuse */
}

static void merge_script_flush(struct request *r)
{
	struct script_store *store = r->pool->worker->opts.scripts;
	if (store != NULL)
		script_store_begin_generation(store);
	merge_first(r);
}

/* How much a node's answer to SCRIPT KILL says; the one that says most is the answer. */
static int weight_of_kill(const struct slot *s)
{
	struct span e = whole(s);
	if (!s->failed)
		return 3; /* one was killed */
	if (span_begins(e, SPAN("-UNKILLABLE")))
		return 2;
	return span_begins(e, SPAN("-NOTBUSY")) ? 0 : 1;
}

static void merge_kill(struct request *r)
{
	const struct slot *most = split_first_error(r);
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		if (most == NULL || weight_of_kill(s) > weight_of_kill(most))
			most = s;
	}
	put(r, whole(most).ptr, whole(most).len);
}

/* ["running_script", null or what runs, ...], in RESP3 a map. */
static bool runs_a_script(const struct slot *s)
{
	int64_t n = 0;
	struct span rest, name, script;
	struct resp_head head;
	if (s->failed || (!open_reply(s, '*', &n, &rest) && !open_reply(s, '%', &n, &rest)))
		return false;
	return next_elem(&rest, &name) && next_elem(&rest, &script) &&
	       resp_elem_head(script.ptr, script.len, &head) && head.number >= 0;
}

/* Of a node that runs one, if there is one. */
static void merge_function_stats(struct request *r)
{
	const struct slot *best = NULL;
	for (uint32_t i = 0; i < r->split->nslots; i++) {
		const struct slot *s = &r->split->slots[i];
		if (s->failed)
			continue;
		if (best == NULL || (!runs_a_script(best) && runs_a_script(s)))
			best = s;
	}
	if (best == NULL)
		best = split_first_error(r);
	put(r, whole(best).ptr, whole(best).len);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static const struct gather_rule rules[] = {
	{.cmd = CMD_ID_BGREWRITEAOF, .merge = merge_first},
	{.cmd = CMD_ID_BGSAVE, .merge = merge_first},
	{.cmd = CMD_ID_CONFIG_RESETSTAT, .merge = merge_first},
	{.cmd = CMD_ID_CONFIG_REWRITE, .merge = merge_first},
	{.cmd = CMD_ID_CONFIG_SET, .merge = merge_first, .allowed = config_set_allowed},
	{.cmd = CMD_ID_DBSIZE, .merge = merge_total},
	{.cmd = CMD_ID_DEBUG_SLEEP, .merge = merge_first},
	{.cmd = CMD_ID_FLUSHALL, .merge = merge_first},
	{.cmd = CMD_ID_FLUSHDB, .merge = merge_first},
	{.cmd = CMD_ID_FUNCTION_DELETE, .merge = merge_first},
	{.cmd = CMD_ID_FUNCTION_FLUSH, .merge = merge_first},
	{.cmd = CMD_ID_FUNCTION_KILL, .merge = merge_kill, .tolerant = true, .aside = true},
	{.cmd = CMD_ID_FUNCTION_LOAD, .merge = merge_first},
	{.cmd = CMD_ID_FUNCTION_RESTORE, .merge = merge_first},
	{.cmd = CMD_ID_FUNCTION_STATS,
		.merge = merge_function_stats,
		.tolerant = true,
		.aside = true},
	{.cmd = CMD_ID_KEYS, .merge = merge_keys},
	{.cmd = CMD_ID_LASTSAVE, .merge = merge_least},
	{.cmd = CMD_ID_LATENCY_DOCTOR, .merge = merge_text},
	{.cmd = CMD_ID_LATENCY_GRAPH, .merge = merge_text},
	{.cmd = CMD_ID_LATENCY_HISTORY, .merge = merge_latency_history},
	{.cmd = CMD_ID_LATENCY_LATEST, .merge = merge_concat},
	{.cmd = CMD_ID_LATENCY_RESET, .merge = merge_total},
	{.cmd = CMD_ID_MEMORY_DOCTOR, .merge = merge_text},
	{.cmd = CMD_ID_MEMORY_MALLOC_STATS, .merge = merge_text},
	{.cmd = CMD_ID_MEMORY_PURGE, .merge = merge_first},
	{.cmd = CMD_ID_RANDOMKEY, .merge = merge_random_key},
	{.cmd = CMD_ID_SAVE, .merge = merge_first},
	{.cmd = CMD_ID_SCRIPT_EXISTS, .merge = merge_script_exists, .pack = which_are_kept},
	{.cmd = CMD_ID_SCRIPT_FLUSH, .merge = merge_script_flush, .allowed = flush_scripts},
	{.cmd = CMD_ID_SCRIPT_KILL, .merge = merge_kill, .tolerant = true, .aside = true},
	{.cmd = CMD_ID_SCRIPT_LOAD, .merge = merge_first, .allowed = keep_script},
	{.cmd = CMD_ID_SLOWLOG_GET, .merge = merge_slowlog},
	{.cmd = CMD_ID_SLOWLOG_LEN, .merge = merge_total},
	{.cmd = CMD_ID_SLOWLOG_RESET, .merge = merge_first},
};

static const struct gather_rule *rule_of(const struct cmd *cmd)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].cmd == cmd->id)
			return &rules[i];
	return NULL;
}

bool gather_tolerates(const struct cmd *cmd)
{
	const struct gather_rule *rule = rule_of(cmd);
	return rule != NULL && rule->tolerant;
}

void gather_merge(struct request *r)
{
	const struct gather_rule *rule = rule_of(r->cmd);
	CHECK(rule != NULL); /* or it would not have been started */
	rule->merge(r);
}

/* What the merging needs: how many entries SLOWLOG GET wants, which protocol a null is written in. */
static int64_t wanted(const struct call *call)
{
	int64_t n = 10;
	if (call->cmd->id == CMD_ID_RANDOMKEY)
		return call->client->resp; /* as of now: HELLO may follow in the same write */
	if (call->cmd->id == CMD_ID_SLOWLOG_GET && call->n == 3)
		(void)!span_to_i64(call->args[2], &n);
	return n;
}

void gather_start(struct call *call)
{
	struct text t;
	const struct gather_rule *rule = rule_of(call->cmd);
	if (rule == NULL) {
		metric_add(call->client->worker->m, M_ERRORS_CLIENT, 1);
		error_not_served(&t, call->cmd);
		client_answer(call->client, call->cmd, t.at, t.len);
		return;
	}
	if (rule->allowed != NULL && !rule->allowed(call))
		return;
	if (view_topology(call->client->pool->view)->nnodes == 0) {
		metric_add(call->client->worker->m, M_ERRORS_UNAVAILABLE, 1);
		error_text(&t, "UNAVAILABLE the pool has no nodes");
		client_answer(call->client, call->cmd, t.at, t.len);
		return;
	}
	split_broadcast(
		call, wanted(call), rule->pack != NULL ? rule->pack(call) : NULL, rule->aside);
}
