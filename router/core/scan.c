/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/scan.h"

#include "router/core/client.h"
#include "router/core/errors.h"
#include "router/core/split.h"
#include "router/core/worker.h"
#include "router/wire/resp_elem.h"
#include "router/wire/resp_write.h"

#define SCAN_IDS 65536

/* What Redis says to the largest cursor, which is its reading of -1: the last bucket is behind. */
static const char end_of_scan[] = "*2\r\n$1\r\n0\r\n*0\r\n";

static void answer_error(struct call *call, const char *what)
{
	struct text t;
	metric_add(call->client->worker->m, M_ERRORS_CLIENT, 1);
	error_text(&t, "ERR %s", what);
	client_answer(call->client, call->cmd, t.at, t.len);
}

/* As strtoul() reads it, which is what Redis uses: with a sign, -1 being the largest; nothing is 0. */
static bool read_cursor(struct span s, uint64_t *ret)
{
	bool negative = s.len > 1 && s.ptr[0] == '-';
	*ret = 0;
	if (s.len == 0)
		return true;
	if (negative || (s.len > 1 && s.ptr[0] == '+'))
		s = span_of(s.ptr + 1, s.len - 1);
	while (s.len > 1 && s.ptr[0] == '0')
		s = span_of(s.ptr + 1, s.len - 1);
	if (!span_to_u64(s, UINT64_MAX, ret))
		return false;
	if (negative)
		*ret = -*ret;
	return true;
}

/* What is wrong with the options; NULL: nothing.  No node is asked about a cursor of nobody's. */
static const char *wrong_options(const struct call *call)
{
	int64_t count;
	for (uint32_t i = 2; i < call->n; i += 2) {
		bool is_count = span_eq_nocase(call->args[i], span_str("count"));
		if (i + 1 == call->n ||
			(!is_count && !span_eq_nocase(call->args[i], span_str("match")) &&
				!span_eq_nocase(call->args[i], span_str("type"))))
			return "syntax error";
		if (!is_count)
			continue;
		if (!span_to_i64(call->args[i + 1], &count))
			return "value is not an integer or out of range";
		if (count < 1)
			return "syntax error";
	}
	return NULL;
}

/* A cursor of no node that there is. */
static void answer_stray(struct call *call, uint64_t cursor)
{
	const char *wrong = wrong_options(call);
	if (wrong != NULL)
		answer_error(call, wrong);
	else if (cursor == UINT64_MAX)
		client_answer(call->client, call->cmd, end_of_scan, sizeof(end_of_scan) - 1);
	else
		answer_error(call, "invalid cursor");
}

void scan_start(struct call *call)
{
	struct worker *w = call->client->worker;
	uint64_t cursor = 0;
	size_t nodes = view_topology(call->client->pool->view)->nnodes;
	if (!read_cursor(call->args[1], &cursor)) {
		answer_error(call, "invalid cursor");
		return;
	}
	uint32_t id = (uint32_t)(cursor % SCAN_IDS);
	if (id >= nodes) {
		answer_stray(call, cursor);
		return;
	}
	char text[24];
	size_t n = u64_to_dec(cursor / SCAN_IDS, text);
	/* the vector of arguments is this worker's, and this call's to change */
	w->args.v[1] = span_of(text, n);
	split_ask(call, id);
}

/* [cursor, [keys]]: the cursor, and what is behind the second head.  False: it looks different. */
static bool open_scan(struct span all, uint64_t *ret_cursor, struct span *ret_keys)
{
	struct resp_head h;
	if (!resp_elem_head(all.ptr, all.len, &h) || h.type != '*' || h.number != 2)
		return false;
	all = span_of(all.ptr + h.size, all.len - h.size);
	if (!resp_elem_head(all.ptr, all.len, &h) || h.type != '$' || h.number < 0)
		return false;
	if (!span_to_u64(span_of(all.ptr + h.size, (size_t)h.number), UINT64_MAX, ret_cursor))
		return false;
	size_t bulk = h.size + (size_t)h.number + 2;
	all = span_of(all.ptr + bulk, all.len - bulk);
	if (!resp_elem_head(all.ptr, all.len, &h) || h.type != '*' || h.number < 0)
		return false;
	*ret_keys = span_of(all.ptr + h.size, all.len - h.size);
	return true;
}

static uint64_t next_cursor(const struct request *r, uint64_t node_cursor, uint32_t id)
{
	if (node_cursor != 0)
		return node_cursor * SCAN_IDS + id;
	return id + 1 < view_topology(r->view)->nnodes ? id + 1 : 0;
}

/* Writes the owned keys, or only counts them. */
static size_t owned_keys(struct request *r, struct span rest, uint32_t node, bool write)
{
	size_t n, count = 0;
	struct resp_head h;
	while (rest.len > 0 && resp_elem_next(rest.ptr, rest.len, &n)) {
		if (!resp_elem_head(rest.ptr, n, &h) || h.number < 0)
			break;
		struct span key = span_of(rest.ptr + h.size, (size_t)h.number);
		if (topology_owner(view_topology(r->view), key) == node) {
			count++;
			if (write)
				request_reply_bytes(r, rest.ptr, n);
		}
		rest = span_of(rest.ptr + n, rest.len - n);
	}
	return count;
}

void scan_merge(struct request *r)
{
	const struct slot *s = &r->split->slots[0];
	uint32_t node = s->part.node;
	uint64_t cursor = 0;
	struct span keys;
	if (!open_scan(span_of(chunk_bytes(s->reply), chunk_len(s->reply)), &cursor, &keys)) {
		struct text t;
		error_text(&t, "ERR the node's answer to SCAN made no sense");
		request_reply_bytes(r, (const uint8_t *)t.at, t.len);
		return;
	}
	char digits[24];
	uint8_t head[2 * RESP_HEAD_SIZE + 32];
	size_t n = u64_to_dec(next_cursor(r, cursor, node), digits);
	uint8_t *at = resp_put_head(head, '*', 2);
	at = resp_put_bulk(at, span_of(digits, n));
	at = resp_put_head(at, '*', (int64_t)owned_keys(r, keys, node, false));
	request_reply_bytes(r, head, (size_t)(at - head));
	(void)owned_keys(r, keys, node, true);
}
