/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "router/core/client.h"
#include "router/core/gate.h"
#include "router/core/worker.h"

const struct span error_crossslot = {
	(const uint8_t *)"-CROSSSLOT Keys in request don't hash to the same slot\r\n",
	sizeof("-CROSSSLOT Keys in request don't hash to the same slot\r\n") - 1,
};

/* One line, whatever was put into it. */
static void finish_line(struct text *t)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->at[i] == '\r' || t->at[i] == '\n')
			t->at[i] = ' ';
	memcpy(t->at + t->len, "\r\n", 2);
	t->len += 2;
}

static __attribute__((format(printf, 2, 0))) void append(
	struct text *t, const char *fmt, va_list ap)
{
	size_t room = sizeof(t->at) - 2 - t->len;
	int n = vsnprintf(t->at + t->len, room, fmt, ap);
	if (n > 0)
		t->len += (size_t)n < room ? (size_t)n : room - 1;
}

static PRINTF_LIKE(2, 3) void add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	append(t, fmt, ap);
	va_end(ap);
}

void error_text(struct text *t, const char *fmt, ...)
{
	va_list ap;
	t->len = 1;
	t->at[0] = '-';
	va_start(ap, fmt);
	append(t, fmt, ap);
	va_end(ap);
	finish_line(t);
}

/* One without a deadline is given up when its connection is stuck. */
static uint64_t allowed_ns(const struct request *r, const struct part *p)
{
	return (r->due_ns != 0 ? r->due_ns : p->stuck_ns) - r->born_ns;
}

/* Why, as people read it; times come from the pool's options. */
static void add_why(struct text *t, const struct request *r, const struct part *p, enum up_why why)
{
	const struct pool_opts *o = r->pool->opts;
	switch (why) {
	case UP_WHY_REFUSED:
		add(t, "connection refused");
		return;
	case UP_WHY_CONNECT_TIMEOUT:
		add(t, "connect timeout after %llu ms",
			(unsigned long long)(o->upstream.connect_timeout_ns / NS_PER_MS));
		return;
	case UP_WHY_LOST:
	case UP_WHY_BROKEN:
		add(t, "connection lost");
		return;
	case UP_WHY_TIMEOUT:
		add(t, "timeout after %llu ms", (unsigned long long)(allowed_ns(r, p) / NS_PER_MS));
		return;
	case UP_WHY_AUTH:
		add(t, "authentication failed");
		return;
	case UP_WHY_NO_ROUTE:
		add(t, "no route");
		return;
	case UP_WHY_GREETING:
		add(t, "handshake failed");
		return;
	case UP_WHY_QUEUE_FULL:
		add(t, "queue full");
		return;
	case UP_WHY_UNRESOLVED:
		add(t, "name does not resolve");
		return;
	case UP_WHY_NO_FDS:
		add(t, "the router is out of file descriptors");
		return;
	case UP_WHY_NO_PRIVATE:
		add(t, "no private connection free");
		return;
	case UP_WHY_NO_SHARED:
		add(t, "no shared connection free");
		return;
	case UP_WHY_NONE:
	case UP_WHY_COUNT:
		break;
	}
	UNREACHABLE();
}

/* A write that may or may not have been carried out. */
static bool outcome_unknown(const struct request *r, const struct part *p, enum up_why why)
{
	if (!gate_may_write(r->cmd) || !(p->flags & PART_SENT))
		return false;
	return why == UP_WHY_TIMEOUT || why == UP_WHY_LOST || why == UP_WHY_BROKEN;
}

void error_unavailable(
	struct text *t, const struct request *r, const struct part *p, enum up_why why)
{
	struct worker *w = r->pool->worker;
	bool full = why == UP_WHY_QUEUE_FULL || why == UP_WHY_NO_PRIVATE || why == UP_WHY_NO_SHARED;
	metric_add(w->m, full ? M_ERRORS_OVERLOADED : M_ERRORS_UNAVAILABLE, 1);
	if (!full)
		node_metric_add(r->view->up[p->node]->m, NM_UNAVAILABLE, 1);
	t->len = 0;
	add(t, "-%s node '%s': ", full ? "OVERLOADED" : "UNAVAILABLE",
		view_node_name(r->view, p->node));
	add_why(t, r, p, why);
	if (outcome_unknown(r, p, why))
		add(t, ", outcome unknown");
	finish_line(t);
}

void error_never_sent(
	struct text *t, const struct request *r, const struct part *p, enum up_why why)
{
	metric_add(r->pool->worker->m, M_ERRORS_UNAVAILABLE, 1);
	node_metric_add(r->view->up[p->node]->m, NM_UNAVAILABLE, 1);
	t->len = 0;
	add(t, "-EXECABORT Transaction discarded because of node '%s': ",
		view_node_name(r->view, p->node));
	add_why(t, r, p, why);
	finish_line(t);
}

/* Redis cuts names and arguments at 128 bytes, and a C string at its first NUL. */
#define SHOWN 128

static int shown_len(struct span s, size_t max)
{
	size_t n = s.len < max ? s.len : max;
	return (int)strnlen((const char *)s.ptr, n);
}

void error_unknown_command(struct text *t, const struct span *args, size_t n)
{
	char list[SHOWN * 2 + 8];
	size_t len = 0;
	list[0] = 0;
	for (size_t i = 1; i < n && len < SHOWN; i++) {
		int shown = shown_len(args[i], SHOWN - len);
		len += (size_t)snprintf(list + len, sizeof(list) - len, "'%.*s' ", shown,
			(const char *)args[i].ptr);
	}
	error_text(t, "ERR unknown command '%.*s', with args beginning with: %s",
		shown_len(args[0], SHOWN), (const char *)args[0].ptr, list);
}

void error_arity(struct text *t, const struct cmd *cmd)
{
	error_text(t, "ERR wrong number of arguments for '%s' command", cmd->name);
}

void error_not_served(struct text *t, const struct cmd *cmd)
{
	error_text(t, "ERR '%s' is not served yet", cmd->name);
}
