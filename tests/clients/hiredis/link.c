/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "tests/clients/hiredis/link.h"

#include <stdlib.h>
#include <sys/time.h>

#include <event2/event.h>
#include <hiredis/adapters/libevent.h>
#include <hiredis/async.h>

/* A reply of the asynchronous interface that nobody has asked for yet. */
struct waiting {
	struct waiting *next;
	redisReply *reply; /* owned; NULL: the connection ended first */
};

struct link {
	redisContext *sync;
	redisAsyncContext *async; /* NULL once hiredis has freed it */
	struct event_base *base;
	redisReplyObjectFunctions keep; /* hiredis's own, but replies are ours to free */
	struct waiting *head, **tail;
	struct timeval timeout;
};

static void keep_reply(void *reply)
{
	(void)reply;
}

static void on_reply(redisAsyncContext *ac, void *reply, void *arg)
{
	struct link *l = arg;
	struct waiting *w = calloc(1, sizeof(*w));
	(void)ac;
	if (w == NULL)
		abort();
	w->reply = reply;
	*l->tail = w;
	l->tail = &w->next;
	(void)event_base_loopbreak(l->base);
}

static void on_end(const redisAsyncContext *ac, int status)
{
	struct link *l = ac->data;
	(void)status;
	l->async = NULL;
	(void)event_base_loopbreak(l->base);
}

static void on_start(const redisAsyncContext *ac, int status)
{
	if (status != REDIS_OK)
		on_end(ac, status);
}

static bool open_async(struct link *l, const char *host, int port)
{
	l->base = event_base_new();
	l->async = redisAsyncConnect(host, port);
	if (l->base == NULL || l->async == NULL || l->async->err)
		return false;
	l->async->data = l;
	l->keep = *l->async->c.reader->fn;
	l->keep.freeObject = keep_reply;
	l->async->c.reader->fn = &l->keep;
	return redisLibeventAttach(l->async, l->base) == REDIS_OK &&
	       redisAsyncSetConnectCallback(l->async, on_start) == REDIS_OK &&
	       redisAsyncSetDisconnectCallback(l->async, on_end) == REDIS_OK;
}

static bool open_sync(struct link *l, const char *host, int port)
{
	l->sync = redisConnectWithTimeout(host, port, l->timeout);
	return l->sync != NULL && !l->sync->err && redisSetTimeout(l->sync, l->timeout) == REDIS_OK;
}

struct link *link_open(bool async, const char *host, int port, int timeout_s)
{
	struct link *l = calloc(1, sizeof(*l));
	if (l == NULL)
		abort();
	l->tail = &l->head;
	l->timeout.tv_sec = timeout_s;
	if (async ? open_async(l, host, port) : open_sync(l, host, port))
		return l;
	link_close(l);
	return NULL;
}

static redisReply *first_waiting(struct link *l)
{
	struct waiting *w = l->head;
	redisReply *reply = w->reply;
	l->head = w->next;
	if (l->head == NULL)
		l->tail = &l->head;
	free(w);
	return reply;
}

void link_close(struct link *l)
{
	if (l->sync != NULL)
		redisFree(l->sync);
	if (l->async != NULL)
		redisAsyncFree(l->async);
	while (l->head != NULL)
		freeReplyObject(first_waiting(l));
	if (l->base != NULL)
		event_base_free(l->base);
	free(l);
}

void link_send(struct link *l, int n, const char **argv, const size_t *lens)
{
	if (l->sync != NULL)
		(void)redisAppendCommandArgv(l->sync, n, argv, lens);
	else if (l->async != NULL)
		(void)redisAsyncCommandArgv(l->async, on_reply, l, n, argv, lens);
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	(void)fd;
	(void)what;
	if (l->async != NULL)
		redisAsyncFree(l->async); /* calls what waits with NULL, then on_end() */
}

redisReply *link_reply(struct link *l)
{
	void *reply = NULL;
	if (l->sync != NULL)
		return redisGetReply(l->sync, &reply) == REDIS_OK ? reply : NULL;
	struct event *late = evtimer_new(l->base, on_timeout, l);
	if (late == NULL || evtimer_add(late, &l->timeout) != 0)
		abort();
	while (l->head == NULL && l->async != NULL)
		(void)event_base_loop(l->base, EVLOOP_ONCE);
	event_free(late);
	return l->head != NULL ? first_waiting(l) : NULL;
}
