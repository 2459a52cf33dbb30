/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/core/origin.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "router/core/client.h"
#include "router/core/worker.h"
#include "router/wire/proxy_header.h"

/* Only while the header is due. */
struct preface {
	struct client *client; /* borrowed */
	struct event deadline;
	struct proxy_header header;
};

static struct origin *origin_new(const char *peer)
{
	size_t size = strlen(peer) + 1;
	struct origin *o = calloc(1, sizeof(*o) + size);
	CHECK(o != NULL);
	memcpy(o->peer, peer, size);
	return o;
}

static void refuse(struct client *c, const char *why)
{
	metric_add(c->worker->m, M_CLIENTS_CLOSED_PROXY, 1);
	client_close(c, why);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct preface *p = arg;
	(void)fd;
	(void)what;
	refuse(p->client, "no PROXY header in time");
}

void origin_expect(struct client *c)
{
	uint64_t limit = c->worker->opts.limits->proxy_header_ns;
	struct timeval tv = {.tv_sec = (time_t)(limit / NS_PER_S),
		.tv_usec = (suseconds_t)(limit % NS_PER_S / NS_PER_US)};
	struct preface *p = calloc(1, sizeof(*p));
	CHECK(p != NULL);
	p->client = c;
	CHECK(evtimer_assign(&p->deadline, c->worker->loop.base, on_deadline, p) == 0);
	(void)evtimer_add(&p->deadline, &tv);
	c->origin = origin_new("");
	c->origin->preface = p;
}

void origin_free(struct client *c)
{
	struct origin *o = c->origin;
	if (o == NULL)
		return;
	if (o->preface != NULL)
		(void)evtimer_del(&o->preface->deadline);
	free(o->preface);
	free(o);
	c->origin = NULL;
}

/* A load balancer that speaks for itself leaves the client what its socket says. */
static void settle(struct client *c)
{
	char peer[PROXY_TEXT_MAX];
	(void)proxy_header_print(&c->origin->preface->header, peer);
	origin_free(c);
	if (peer[0] != '\0')
		c->origin = origin_new(peer);
}

bool origin_take(struct client *c, const uint8_t *bytes, size_t n, size_t *ret_used)
{
	*ret_used = 0;
	if (c->origin->preface == NULL)
		return true;
	struct proxy_header *h = &c->origin->preface->header;
	switch (proxy_header_take(h, bytes, n, ret_used)) {
	case PROXY_MORE:
		return false;
	case PROXY_DONE:
		settle(c);
		return true;
	case PROXY_BAD:
		refuse(c, h->why);
		return false;
	}
	UNREACHABLE();
}

const char *origin_peer(const struct client *c)
{
	return c->origin != NULL && c->origin->peer[0] != '\0' ? c->origin->peer : NULL;
}
