/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright the Ringway authors */
#include "router/upstream/server.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static struct server *server_new(const struct addr *a, size_t workers)
{
	struct server *s = calloc(1, sizeof(*s));
	CHECK(s != NULL);
	atomic_init(&s->refs, 1);
	s->address = *a;
	if (addresses_of_literal(&s->fixed, a) != 0)
		s->fixed = NULL;
	s->workers = workers;
	s->blocks = node_blocks_new(workers);
	return s;
}

struct server *server_ref(struct server *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void server_unref(struct server *s)
{
	/* acq_rel: whoever frees sees every other owner's last use */
	if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	addresses_unref(s->fixed);
	node_blocks_free(s->blocks);
	free(s);
}

static struct server *find_server(const struct fleet *f, const struct addr *a)
{
	for (size_t i = 0; f != NULL && i < f->topology->nnodes; i++)
		if (f->servers[i] != NULL && addr_eq(&f->servers[i]->address, a))
			return f->servers[i];
	return NULL;
}

struct fleet *fleet_new(struct topology *t, const struct fleet *before, size_t workers)
{
	struct fleet *f = calloc(1, sizeof(*f));
	CHECK(f != NULL);
	atomic_init(&f->refs, 1);
	f->topology = topology_ref(t);
	f->servers = calloc(t->nnodes + 1, sizeof(struct server *));
	CHECK(f->servers != NULL);
	for (size_t i = 0; i < t->nnodes; i++) {
		struct server *known = find_server(before, &t->nodes[i].address);
		f->servers[i] = known != NULL ? server_ref(known)
					      : server_new(&t->nodes[i].address, workers);
	}
	return f;
}

struct fleet *fleet_ref(struct fleet *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

void fleet_unref(struct fleet *f)
{
	if (f == NULL || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < f->topology->nnodes; i++)
		server_unref(f->servers[i]);
	free(f->servers);
	topology_unref(f->topology);
	free(f);
}
