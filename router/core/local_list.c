/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
/*
 * CLIENT LIST: an errand that collects a line of every client.
 */

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/answer.h"
#include "router/core/client_show.h"
#include "router/core/local.h"
#include "router/core/worker.h"

/* Client ids in one CLIENT LIST ID; each may be shown many times. */
#define LIST_IDS_MAX 65536

struct listed {
	uint64_t id;
	char *line; /* owned */
	size_t len;
};

struct list_errand {
	struct errand e; /* first */
	bool by_kind, by_id;
	enum client_kind kind;
	int64_t *asked; /* owned; in the order asked */
	int64_t *ids;   /* owned; the same, sorted */
	size_t nids;
	struct listed *v; /* owned */
	size_t n, cap;
};

static int compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static bool is_listed(const struct list_errand *l, const struct client *c)
{
	int64_t id = (int64_t)c->id;
	if (l->by_kind && client_kind_of(c) != l->kind)
		return false;
	return !l->by_id || bsearch(&id, l->ids, l->nids, sizeof(id), compare_ids) != NULL;
}

static void list_add(struct list_errand *l, const struct client *c)
{
	if (l->n == l->cap) {
		l->cap = l->cap == 0 ? 64 : 2 * l->cap;
		l->v = reallocarray(l->v, l->cap, sizeof(*l->v));
		CHECK(l->v != NULL);
	}
	struct listed *entry = &l->v[l->n++];
	*entry = (struct listed){.id = c->id};
	FILE *out = open_memstream(&entry->line, &entry->len);
	CHECK(out != NULL);
	client_show(out, c);
	CHECK(fclose(out) == 0);
}

static void list_visit(struct errand *e, struct worker_pool *p)
{
	struct list_errand *l = CONTAINER_OF(e, struct list_errand, e);
	const struct client *c;
	TAILQ_FOREACH (c, &p->worker->clients, all)
		if (client_is_there(c, p) && is_listed(l, c))
			list_add(l, c);
}

static void put_listed(FILE *out, const struct listed *entry)
{
	if (entry != NULL)
		(void)fwrite(entry->line, 1, entry->len, out);
}

/* All by id, which is the order in which they came; those asked for in the order asked. */
static void list_answer(struct errand *e, struct answer *a)
{
	struct list_errand *l = CONTAINER_OF(e, struct list_errand, e);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	CHECK(out != NULL);
	if (l->n > 0)
		qsort(l->v, l->n, sizeof(*l->v), compare_listed);
	for (size_t i = 0; !l->by_id && i < l->n; i++)
		put_listed(out, &l->v[i]);
	for (size_t i = 0; l->n > 0 && i < l->nids; i++) {
		struct listed key = {.id = (uint64_t)l->asked[i]};
		put_listed(out, bsearch(&key, l->v, l->n, sizeof(key), compare_listed));
	}
	CHECK(fclose(out) == 0);
	answer_text(a, span_of(text, size));
	free(text);
}

static void list_free(struct errand *e)
{
	struct list_errand *l = CONTAINER_OF(e, struct list_errand, e);
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].line);
	free(l->v);
	free(l->ids);
	free(l->asked);
	free(l);
}

static const struct errand_ops list_ops = {
	.visit = list_visit, .answer = list_answer, .free = list_free};

/* ID id ...  False: an error was answered. */
static bool list_take_ids(const struct call *call, struct list_errand *l)
{
	l->by_id = true;
	l->nids = call->n - 3;
	if (l->nids > LIST_IDS_MAX) {
		local_error(call, "ERR too many client IDs");
		return false;
	}
	l->asked = local_zeroed(l->nids, sizeof(*l->asked));
	for (size_t i = 0; i < l->nids; i++) {
		if (!span_to_i64(call->args[3 + i], &l->asked[i])) {
			local_error(call, "ERR Invalid client ID");
			return false;
		}
	}
	l->ids = local_zeroed(l->nids, sizeof(*l->ids));
	memcpy(l->ids, l->asked, l->nids * sizeof(*l->ids));
	qsort(l->ids, l->nids, sizeof(*l->ids), compare_ids);
	return true;
}

/* False: an error was answered. */
static bool list_parse(const struct call *call, struct list_errand *l)
{
	if (call->n == 2)
		return true;
	if (call->n == 4 && span_eq_nocase(call->args[2], SPAN("type"))) {
		l->by_kind = true;
		return local_parse_kind(call, call->args[3], &l->kind);
	}
	if (call->n > 3 && span_eq_nocase(call->args[2], SPAN("id")))
		return list_take_ids(call, l);
	local_syntax_error(call);
	return false;
}

void local_client_list(struct call *call)
{
	struct list_errand *l = local_zeroed(1, sizeof(*l));
	l->e.ops = &list_ops;
	if (list_parse(call, l))
		errand_start(call, &l->e);
	else
		list_free(&l->e);
}
